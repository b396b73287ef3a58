"""Arrays that the program makes read-only."""

import warnings

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

X = np.arange(6.0).reshape(2, 3)


class Fixed:
    """An object that gives out its arrays, and lets nobody write to them."""

    def __init__(self, x):
        self.x = np.copy(x)
        self.x.setflags(write=False)
        self.y = x * 2
        self.y.flags.writeable = False


def of_its_own(x):
    fixed = Fixed(x)
    return fixed.x, fixed.y, fixed.x[1:], fixed.x * fixed.y


def views_before(x):
    y = np.zeros(3)
    view = y[:]
    y.flags["WRITEABLE"] = False
    view[0] = 3
    return y, view, y[1:]


def of_a_view(x):
    row = x[1]
    row.setflags(write=0)
    return row, row.flags.writeable, x * 2


def asked(x):
    y = x + 1
    y.setflags(write=False)
    return y * 2 if y.flags.writeable else y.sum()


@pytest.mark.parametrize("f", [of_its_own, views_before, of_a_view, asked], ids=lambda f: f.__name__)
def test_flags_and_bases(f):
    jitted = tnp.jit(f, strict=True)
    for _ in range(3):
        x = X.copy()
        wanted, found = f(x), jitted(x)
        assert_same(found, wanted)
        for a, e in zip(found, wanted) if isinstance(wanted, tuple) else ():
            if isinstance(e, np.ndarray):
                assert a.flags.writeable == e.flags.writeable and (a.base is None) == (e.base is None)
        assert x.flags.writeable


def test_writes_are_refused():
    def f(x):
        y = x * 2
        y.setflags(write=False)
        y[0] = 1
        return y

    for g in (f, tnp.jit(f)):
        with pytest.raises(ValueError, match="read-only"):
            g(X)


@pytest.mark.filterwarnings("ignore:.* runs ")
def test_arrays_of_the_caller():
    def f(x):
        x.setflags(write=False)
        return x * 2

    jitted, x = tnp.jit(f), X.copy()
    assert_same(jitted(x), X * 2)
    assert not x.flags.writeable


@pytest.mark.parametrize(
    "made",
    [
        lambda x: x + 1,
        lambda x: (x + 1).T,
        lambda x: x.T,
        lambda x: x[:, 1:],
        lambda x: x[1:],
        lambda x: (x * 2)[::-1],
        lambda x: (x * 2)[:, :1],
        lambda x: (x * 2)[:0],
        lambda x: (x * 2)[None, :, None],
        lambda x: np.ascontiguousarray((x * 2).T),
        lambda x: np.ascontiguousarray(x, dtype=np.float32),
        lambda x: np.ascontiguousarray(x.T),
        lambda x: (x + 1)[:, None].swapaxes(0, 2),
    ],
)
def test_orders(made):
    """Flags follow from strides, which are known for results of row-major arrays."""

    def f(x):
        a = made(x)
        return a.flags.c_contiguous, a.flags["F_CONTIGUOUS"], 2 * a if a.flags["C"] else a + 1

    jitted = tnp.jit(f, strict=True)
    for x in (X, X[:, :2].copy(), np.arange(12.0).reshape(4, 3), X[:1]):
        assert_same(jitted(x), f(x))
    jitted = tnp.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        for x in (X, X.T, np.asfortranarray(X), np.arange(24.0).reshape(4, 6)[::2, ::2]):
            assert_same(jitted(x), f(x))


class Tracked(np.ndarray):
    """An array of a class of the program's."""


def test_orders_of_arrays_of_classes():
    def f(x):
        a = np.ascontiguousarray(x, dtype=np.float64).view(Tracked)
        assert a.flags["C_CONTIGUOUS"]
        return a * 2

    jitted = tnp.jit(f, strict=True)
    for x in (X, X.astype("f"), X.T):
        assert_same(jitted(x), f(x))


@pytest.mark.parametrize("join", [np.stack, np.dstack, np.column_stack])
def test_arrays_that_are_joined_lie_in_rows(join):
    """The shape of a part of them can be set."""

    def f(a, b):
        made = join([a, b])
        part = made[0]
        part.shape = part.size
        return part, made.flags.c_contiguous

    for shape in ((3, 4), (1, 5), (6, 1)):
        a, b = np.arange(float(np.prod(shape))).reshape(shape), np.ones(shape)
        assert_same(tnp.jit(f)(a, b), f(a, b))
