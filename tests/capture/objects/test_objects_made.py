"""Objects that a program makes by ``__new__``, and those of classes whose methods NumPy calls."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import as_plain, not_compiled_whole
from tnp.testing import assert_same

X = np.arange(1.0, 5)


class Made:
    def __new__(cls, *args, **kwargs):
        made = super().__new__(cls)
        made.kind = cls.__name__
        return made

    def __init__(self, v, w=1):
        self.v = v * w

    def __add__(self, other):
        return Made(self.v + other.v)

    def __len__(self):
        return 3

    @classmethod
    def bare(cls, v):
        made = cls.__new__(cls)
        made.v = v
        return made


class Maybe(Made):
    def __new__(cls, v):
        return object.__new__(cls) if v is not None else 3

    def __init__(self, v):
        self.v = v


class Plain:
    def __init__(self, v):
        self.v = v

    def __mul__(self, k):
        made = object.__new__(type(self))
        made.v = self.v * k
        return made

    def __sub__(self, k):
        made = self.__class__.__new__(self.__class__)
        made.__dict__.update(self.__dict__)
        made.v = made.v - k
        return made


def by_new(x):
    return (Made(x) + Made(x, w=2)).v, Made(x).kind, len(Made(x)), Made(x)


def by_classes(x):
    return Maybe(x).v, Maybe(None), type(Maybe(x)) is Maybe, isinstance(Maybe(x), Made), Maybe(x)


def bare(x):
    return Made.bare(x) + Made.bare(x), Made.bare(x), (Plain(x) * 2).v, Plain(x) * 3, Plain(x) - 1


@pytest.mark.parametrize("f", [by_new, by_classes, bare])
def test_objects_made_by_new(f):
    jitted = tnp.jit(f, strict=True)
    for x in (X, X * 2):
        assert_same(as_plain(jitted(x)), as_plain(f(x)))


def test_arguments_that_make_others():
    def f(p, m):
        return p * 2, (p - 1).v, m + m

    jitted = tnp.jit(f, strict=True)
    for x in (X, X * 2):
        assert_same(as_plain(jitted(Plain(x), Made(x))), as_plain(f(Plain(x), Made(x))))


def test_a_class_that_changes(monkeypatch):
    def f(x):
        return Made.bare(x) + Made.bare(x)

    jitted = tnp.jit(f, strict=True)
    assert_same(as_plain(jitted(X)), as_plain(f(X)))
    monkeypatch.setattr(Made, "__add__", lambda self, other: self.v * 10)
    assert_same(as_plain(jitted(X)), as_plain(f(X)))


class First:
    __array_priority__ = 20

    def __init__(self, v):
        self.v = v

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.v)

    def __mul__(self, other):
        return First(self.v * (other.v if isinstance(other, First) else other))

    def __rmul__(self, other):
        return First(self.v * other * 10)


class Never:
    __array_ufunc__ = None

    def __init__(self, v):
        self.v = v

    def __rmul__(self, other):
        return Never(self.v * other * 10)


class Asked:
    def __init__(self, v):
        self.v = v

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return Asked(getattr(ufunc, method)(*(x.v if isinstance(x, Asked) else x for x in inputs), **kwargs))


def test_operators_of_classes_that_numpy_asks():
    def f(x):
        return (First(x) * First(x)).v, (x * First(x)).v, First(x) * 2, (x * Never(x)).v

    assert_same(as_plain(tnp.jit(f, strict=True)(X)), as_plain(f(X)))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sin(First(x)) + 1,
        lambda x: np.asarray(First(x)) + 1,
        lambda x: np.stack([First(x), First(x)]) + 1,
        lambda x: np.add(Asked(x), x).v + 1,
        lambda x: (x * Asked(x)).v + 1,
    ],
)
def test_what_numpy_asks_is_pythons(f):
    with not_compiled_whole():
        assert_same(tnp.jit(f)(X), f(X))
