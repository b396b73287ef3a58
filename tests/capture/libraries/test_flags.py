"""Arrays that the program makes read-only."""

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
