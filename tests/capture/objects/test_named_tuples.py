"""Named tuples whose classes have special methods, properties or a ``__new__`` of the user's."""

from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.testing import assert_same

XS = np.arange(1.0, 5.0)
SCALE = [1.0]


class Vector(namedtuple("Vector", "x y")):
    __slots__ = ()

    def __add__(self, other):
        return Vector(self.x + other.x * SCALE[0], self.y + other.y)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    __rmul__ = __mul__

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __abs__(self):
        return np.sqrt(self.x**2 + self.y**2) * SCALE[0]

    def __matmul__(self, other):
        return (self.x * other.x + self.y * other.y).sum()

    def __call__(self, t):
        return self.x + t * self.y

    def __lt__(self, other):
        return bool(abs(self).sum() < abs(other).sum())

    def __repr__(self):
        return f"({self.x.shape}, {SCALE[0]})"

    def part(self, where):
        return Vector(self.x[where], self.y[where])


class Scaled(namedtuple("Scaled", "x n")):
    """A ``__new__`` that computes, which neither ``_replace`` nor a result of a program runs again."""

    def __new__(cls, x, n=2):
        return super().__new__(cls, np.asarray(x) * SCALE[0], n)

    def __add__(self, other):
        return type(self)(self.x + other.x, self.n)

    @classmethod
    def of_pair(cls, x):
        return cls._make((x, 3))


class Grown(Scaled):
    def __hash__(self):
        return 3

    def __eq__(self, other):
        return type(other) is type(self) and bool(np.all(self.x == other.x))


class Sample(NamedTuple):
    x: np.ndarray
    weight: float = 2.0

    def __add__(self, other):
        return Sample(self.x + other.x, self.weight)

    @property
    def weighted(self):
        return self.x * self.weight * SCALE[0]


class Noted(namedtuple("Noted", "x y")):
    def note(self):
        self.twice = self.x * 2
        return self


class Counted(namedtuple("Counted", "x y")):
    def __init__(self, x, y):
        self.total = x + y


class Backwards(namedtuple("Backwards", "x y")):
    """Another container than its items, which Python makes and reads."""

    def __iter__(self):
        return iter((self.y, self.x))

    def __len__(self):
        return 7


def operators(v):
    return v + v * 2, -(3 * v), abs(v), v @ v, v(2.0)


def methods(v):
    return v.part(slice(1, None)), v._replace(y=v.x), v._asdict(), Vector._make([v.x, v.y])


def as_a_tuple(v):
    x, y = v
    return x * y, v[0], v[::-1], len(v), [a + 1 for a in v], np.hypot(*v), np.stack(v), (v, v)


def compared(v):
    return v < 2 * v, max([v, 2 * v], key=lambda u: u.x[0]), isinstance(v, Vector), type(v) is Vector


def written_as_text(v):
    return repr(v), f"{v}", "%s" % (v,), str([v])  # noqa: UP031 (the operator is what is tested)


def in_loops(v):
    for i in range(3):
        v = Vector(v.x * 2, v.y + i)
    steps = 0
    while v.x.sum() < 500:
        v = v + v
        steps += 1
    return v, steps


def in_branches(v):
    return v * 2 if v.x.sum() > 3 else -v


def summed(v):
    return sum([v, v, v], Vector(0.0, 0.0))


def made(x):
    return Scaled(x), Scaled(x, 1) + Scaled(x), Scaled.of_pair(x), Grown(x, n=4)


def replaced(s):
    return s._replace(n=5), s + s, s


def compared_by_eq(x):
    g = Grown(x)
    return g == Grown(x), g == Grown(2 * x), {g: 1}[g]


def of_a_typed_class(s):
    return s + s, s.weighted


def noted(p):
    return p.note().twice + 1


def returns_noted(x):
    return Noted(x, x).note()


def counted(x):
    return Counted(x, x).total * 2


def backwards(b):
    x, y = b
    return x * 2, y, len(b)


def makes_backwards(x):
    x, y = Backwards(x, x * 2)
    return x * 2, y


V = Vector(XS, XS[::-1].copy())


def check(f, arg, jitted):
    """``f`` gives what eager gives at each of three calls, between which a global that methods read changes."""
    for scale in (1.0, 2.0, 1.0):
        SCALE[0] = scale
        ours, theirs = (tuple.__new__(type(arg), arg) if type(arg) is Noted else arg for _ in range(2))
        assert_same(jitted(ours), f(theirs))
        assert_same(getattr(ours, "__dict__", None), getattr(theirs, "__dict__", None))
    SCALE[0] = 1.0


@pytest.mark.parametrize(
    ("f", "arg"),
    [
        (operators, V), (methods, V), (as_a_tuple, V), (compared, V), (written_as_text, V), (in_loops, V), (in_branches, V), (summed, V),
        (made, XS), (replaced, Scaled(XS)), (compared_by_eq, XS), (of_a_typed_class, Sample(XS)),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_named_tuples_are_compiled(f, arg):
    check(f, arg, tnp.jit(f, strict=True))


@pytest.mark.parametrize(
    ("f", "arg", "reason"),
    [
        (noted, Noted(XS, XS), "it assigns an attribute of a Noted"),
        (returns_noted, XS, "it returns a Noted with attributes"),
        (counted, XS, "it makes a Counted, which is more than its items"),
        (backwards, Backwards(XS, XS), "a Backwards, which may change unseen"),
        (makes_backwards, XS, "it makes a Backwards, whose __iter__ is not a tuple's"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_is_more_than_its_items_is_left_to_python(f, arg, reason):
    with not_compiled_whole(reason):
        check(f, arg, tnp.jit(f))


def test_transforms_keep_classes():
    gradient = tnp.grad(lambda v: (v @ v) + abs(v * 2).sum())(V)
    assert type(gradient) is Vector
    assert_same(gradient.x, 2 * V.x + 2 * V.x / np.hypot(*V))
    gradient = tnp.grad(lambda s: (s.x**2).sum())(Grown(XS, n=1.0))
    assert type(gradient) is Grown
    assert_same(gradient.x, 2 * XS)
    norms = tnp.vmap(lambda v: abs(v))(V)
    assert_same(norms, abs(V))
