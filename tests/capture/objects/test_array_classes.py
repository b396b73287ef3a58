"""Subclasses of ndarray written in Python: as arguments, as ``self``, and made by the program."""

import contextlib
import functools
import warnings

import numpy as np
import pytest

import tnp
from tests.eager_checks import compiled_whole, not_compiled_whole
from tests.whole_programs.checks import EXECUTORS
from tnp.testing import assert_same

X = np.arange(1.0, 5.0)


class Info(np.ndarray):
    unit = "m"

    def __new__(cls, x, info=None):
        made = np.asarray(x).view(cls)
        made.info = info
        return made

    def __array_finalize__(self, of):
        if of is None:
            return
        self.info = getattr(of, "info", None)

    @property
    def half(self):
        return self * 0.5

    def scaled(self, k):
        return Info(np.asarray(self) * k, info=self.info)


class Points(np.ndarray):
    @property
    def x(self):
        return self[..., 0]

    def centre(self):
        return np.asarray(self).mean(axis=0)

    def __mul__(self, other):
        return np.array(self) * np.array(other) if isinstance(other, Points) else super().__mul__(other)


class Versor(np.ndarray):
    """On the memory of an attribute, as ``np.ndarray.__new__`` makes it."""

    def __new__(subtype, q):
        q = np.array(q, dtype=float)
        q /= np.linalg.norm(q)
        made = super().__new__(subtype, q.shape, float, q)
        made.A = q
        return made

    def __array_finalize__(self, of):
        if of is None:
            return
        self.A = getattr(of, "A", np.array([1.0, 0.0, 0.0, 0.0]))

    @property
    def w(self):
        return self.A[0]

    def __add__(self, p):
        return Versor(self.A + p)

    def product(self, q):
        a, b, c, d = q
        return np.array([self.w * a - self.A[1] * b, self.w * c + d])

    def normalize(self):
        self.A /= np.linalg.norm(self.A)


class Mixed:
    def twice(self):
        return self * 2


class Named(Mixed, np.ndarray):
    names = ("x", "y", "z", "w")

    def __new__(cls, *xs, **kwargs):
        made = np.ndarray.__new__(cls, (len(xs),), dtype=float)
        made[:] = xs
        made.tag = kwargs.get("tag")
        return made

    def __init__(self, *xs, **kwargs):
        self.count = len(xs)

    @classmethod
    def of(cls, x):
        return np.asarray(x, dtype=float).view(cls)

    @property
    def x(self):
        return self[0]

    @x.setter
    def x(self, value):
        self[0] = value

    @functools.cached_property
    def length(self):
        return float(np.linalg.norm(self))

    def __getitem__(self, key):
        return super().__getitem__(self.names.index(key) if isinstance(key, str) else key)

    def __eq__(self, other):
        return bool(np.all(np.asarray(self) == np.asarray(other)))

    def __rmul__(self, other):
        return "reflected", np.asarray(self) * other

    def copy(self):
        made = super().copy()
        made.tag = "copied"
        return made

    def __array_finalize__(self, of):
        super().__array_finalize__(of)
        self.tag = getattr(of, "tag", "none")


def as_parts(x):
    """``x`` with each array of a class replaced by the class, the elements and the attributes."""
    if isinstance(x, np.ndarray) and type(x) is not np.ndarray:
        return [type(x), np.array(x), as_parts(vars(x))]
    if isinstance(x, (list, tuple)):
        return type(x)(map(as_parts, x))
    return {k: as_parts(v) for k, v in x.items()} if isinstance(x, dict) else x


def again(x):
    """A copy of an argument."""
    if isinstance(x, Versor):
        return Versor(x)
    made = x.copy() if type(x) is np.ndarray else np.array(x).view(type(x))
    made.__dict__.update(vars(x)) if type(x) is not np.ndarray else None
    return made


def changed(a):
    a.info, a[0] = "new", 7.0
    a += 1.0
    a.other = a[1:]


def halved(a):
    for _ in range(30):
        a = a * 0.5
    return a


INFO, MATRIX, POINTS = Info(X, "kg"), Info(X.reshape(2, 2), "kg"), np.arange(12.0).reshape(4, 3).view(Points)
CASES = {
    "made": (lambda x: Info(x, "s"), X),
    "a property": (lambda a: (a.half, a.half.half.info, a.unit), INFO),
    "a method": (lambda a: a.scaled(2.0), INFO),
    "operators": (lambda a, x: (a + x, x + a, 2 * a, -a, a**2, a > 2, x[0] * a), INFO, X),
    "its size": (lambda a, b: (abs(a), abs(b * -2), abs(b[0])), INFO, -POINTS),
    "found once": (lambda a, p: (np.unique(a), np.unique(p), np.unique(p[0] * 0.0)), Info([3, 1, 3, 2], "s"), POINTS),
    "flags": (
        lambda a, p: (
            a.flags.writeable,
            a.flags["C"],
            a.T.flags.f_contiguous,
            a.ravel().flags.c_contiguous,
            p.flags.aligned,
        ),
        Info(X, "kg"),
        POINTS,
    ),
    "ufuncs": (lambda a, x: (np.sin(a), np.hypot(x, a)), INFO, X),
    "elements": (lambda a: (a[0], a[-1], float(a[1]), a[1:], list(a), a.item(2), a.tolist()), INFO),
    "rows": (lambda a: (a[0], a.T, a[:, 0], a.reshape(-1), a @ a.T, a[[1, 0]], a[None]), MATRIX),
    "reductions": (lambda a: (a.sum(), a.sum(axis=0), np.max(a, axis=1), a.mean(axis=0), np.any(a)), MATRIX),
    "plain": (
        lambda a: (np.asarray(a), np.array(a), a.view(np.ndarray), np.linalg.norm(a), np.concatenate([a, a])),
        INFO,
    ),
    "what it is": (
        lambda a: (type(a) is Info, isinstance(a, np.ndarray), a.shape, len(a), a.dtype, hasattr(a, "none")),
        INFO,
    ),
    "changed": (changed, INFO),
    "in a condition": (lambda a: a * 2 if a.sum() > 3 else a, INFO),
    "in a loop": (halved, INFO),
    "without a __new__": (lambda p: (p.centre(), p.x, p * p, p * 2.0, 2.0 * p, np.vstack([p, p])), POINTS),
    "a view": (lambda x: x.view(Points) * 2, X),
    "of a shape": (lambda x: Points((2, 3)).shape, X),
    "over a buffer": (lambda x: Versor(x), X),
    "an attribute": (lambda b: (b.w, b.A, b[1:]), Versor(X)),
    "an operator of its own": (lambda b, x: (b + x, b + b, x + b), Versor(X), X),
    "unpacked": (lambda b: b.product(b), Versor(X)),
    "an attribute in place": (lambda b: b.normalize(), Versor(X)),
    "initialised": (lambda x: (lambda a: (a.count, a.tag, a.x, a["y"]))(Named(*x, tag="t")), X),
    "a class method": (lambda x: ([Named.of(x * k) for k in range(3)], Named.of(x).twice()), X),
    "special methods": (
        lambda a, x: (a == x, x == a, x * a, 2.0 * a, x[0] * a, a["z"], a.copy(), a.length),
        Named(*X, tag="t"),
        X,
    ),
    "a setter": (lambda a: setattr(a, "x", 7.0), Named(*X)),
}


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize("name", CASES)
def test_programs_do_what_eager_does(name, executors):
    function, *args = CASES[name]
    jitted = tnp.jit(function, executors=executors, strict=True)
    for _ in range(2):
        mine, theirs = [again(a) for a in args], [again(a) for a in args]
        assert_same(as_parts(jitted(*mine)), as_parts(function(*theirs)))
        assert_same(as_parts(mine), as_parts(theirs))


def test_what_is_made_shares_memory_as_eagers_does():
    jitted = tnp.jit(lambda x: (Versor(x), x.view(Points), Info(x), x), strict=True)
    for _ in range(2):
        versor, points, info, x = jitted(X)
        assert np.shares_memory(versor, versor.A) and not np.shares_memory(versor, X)
        assert np.shares_memory(points, X) and np.shares_memory(info, X) and x is X
        versor.A[0] = 9.0
        assert versor[0] == 9.0


def test_memory_that_is_reached_in_two_ways():
    def f(b):
        b.A *= 2.0
        return np.asarray(b).sum()

    mine, theirs = Versor(X), Versor(X)
    with not_compiled_whole("overlap"):
        jitted = tnp.jit(f)
        for _ in range(3):
            assert_same(jitted(mine), f(theirs))
            assert_same(as_parts(mine), as_parts(theirs))


def test_one_program_for_arrays_of_each_class():
    jitted = tnp.jit(lambda a: a + 1)
    for a in (
        X,
        Info(X, 1),
        X.view(Points),
        X,
        Info(X[1:], 2),
        Info(X[2:], 3),
        np.ma.masked_array(X),
        np.arange(3.0).view(np.matrix),
    ):
        is_pythons = isinstance(a, (np.matrix, np.ma.MaskedArray))
        with not_compiled_whole() if is_pythons else contextlib.nullcontext():
            found = jitted(a)
        assert type(found) is type(a)
        assert_same(as_parts(np.asarray(found)), np.asarray(a) + 1)


def test_a_class_that_is_changed():
    class Scaled(np.ndarray):
        scale = 2.0

        def f(self):
            return np.asarray(self) * self.scale

    jitted, making = tnp.jit(lambda a: a.f(), strict=True), tnp.jit(lambda x: x.view(Scaled).f(), strict=True)

    def check(expected):
        for _ in range(2):
            assert_same(jitted(X.view(Scaled)), expected)
            assert_same(making(X), expected)

    check(X * 2)
    Scaled.scale = 3.0
    check(X * 3)
    Scaled.f = lambda self: np.asarray(self) - 1
    check(X - 1)
    in_parts = tnp.jit(lambda a: (a.f(), np.sin(X) * 2 + X)[0])
    assert_same(in_parts(X.view(Scaled)), X - 1)
    Scaled.__array_priority__ = 5.0  # from now on NumPy may ask it
    with not_compiled_whole("Scaled"):
        assert_same(in_parts(X.view(Scaled)), X - 1)


def test_array_finalize_is_called_as_often_as_eager_calls_it():
    shapes = []

    class Told(np.ndarray):
        def __array_finalize__(self, of):
            shapes.append(self.shape)

    a = np.arange(6.0).reshape(2, 3).view(Told)
    uses = [
        lambda a: a.T,
        lambda a: a * 2,
        lambda a: a.copy(),
        lambda a: a.sum(0),
        lambda a: a[0],
        lambda a: a.reshape(-1),
        lambda a: np.sin(a),
        lambda a: a[0, 1],
    ]
    for use in uses:
        jitted = tnp.jit(use, strict=True)
        del shapes[:]
        use(a)
        expected = list(shapes)
        for _ in range(2):
            del shapes[:]
            jitted(a)
            assert shapes == expected


@pytest.mark.parametrize("use", [
    lambda a: a.std(), lambda a: np.dot(a, a), lambda a: a.round(1), lambda a: np.clip(a, 0, 1), lambda a: np.linalg.inv(np.outer(a, a) + np.eye(4)) @ a,
    lambda a: np.add(a, 1, out=np.empty(4)), lambda a: a + a.view(Points), lambda a: np.isclose(a, 1), lambda a: np.sort(a),
])  # fmt: skip
def test_the_class_of_what_else_is_done_is_eagers(use):
    def f(a, x):
        return use(a), np.sin(x) * 2 + x

    jitted = tnp.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        for _ in range(3):
            assert_same(as_parts(jitted(Info(X, "kg"), X)), as_parts(f(Info(X, "kg"), X)))


@pytest.mark.parametrize(
    "member", ["__array_ufunc__", "__array_function__", "__getattr__", "__array_priority__", "__array_prepare__"]
)
def test_classes_with_protocols_are_pythons(member):
    def method(self, *args, **kwargs):
        return NotImplemented if member != "__getattr__" else 3

    kind = type("Speaking", (np.ndarray,), {member: 5.0 if member == "__array_priority__" else method})

    def f(a, x):
        return np.asarray(a).sum(), np.sin(x) * 2 + x

    with not_compiled_whole():
        jitted = tnp.jit(f)
        for _ in range(2):
            assert_same(jitted(X.view(kind), X), f(X.view(kind), X))


@pytest.mark.parametrize(
    "f",
    [
        lambda a: (a.flags.owndata, np.sin(a)),
        lambda a: (setattr((b := a * 2).flags, "writeable", False), b, b.flags.writeable),
        lambda a: np.unique(a, return_inverse=True),
    ],
    ids=["whose memory it is", "made read-only", "places"],
)
def test_what_only_numpy_knows_of_an_array_of_a_class(f):
    for a in (Info(X, "kg"), X.view(Points), Info(X, "kg").copy()):
        with not_compiled_whole():
            found = tnp.jit(f)(a)
        assert_same(as_parts(found), as_parts(f(a)))


def test_a_class_with_methods_that_unique_calls():
    class Upwards(np.ndarray):
        def flatten(self):
            return super().flatten() + 1

    def f(a):
        return np.unique(a) * 2

    a = np.array([3, 1, 3]).view(Upwards)
    with not_compiled_whole("unique"):
        found = tnp.jit(f)(a)
    assert_same(as_parts(found), as_parts(f(a)))


def test_methods_are_jitted():
    jitted = tnp.jit(Info.scaled)
    for k in (2.0, 3.0):
        assert_same(as_parts(jitted(Info(X, k), k)), as_parts(Info(X, k).scaled(k)))
    assert compiled_whole(jitted)


def test_what_compares_an_array_with_none():
    def f(a, x):
        return a.__class__ is Info, [v is None for v in a != None], np.sin(x) * 2 + x  # noqa: E711 (an array is asked)

    with not_compiled_whole("NoneType"):
        jitted = tnp.jit(f)
        assert_same(jitted(Info(X), X), f(Info(X), X))
