"""``locals()`` and ``vars()`` in functions of the program."""

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

X = np.arange(12.0).reshape(4, 3)


def columns_of(names, name):
    return names[name].shape[1]


def of_arguments(x, k=2.0):
    return x * columns_of(locals(), "x") * k


def in_branches(x, y):
    if x.ndim == 1:
        n = len(locals())
        return x * n
    elif y.ndim == 2:
        n = columns_of(locals(), "x")
        m = columns_of(locals(), "y") + len(locals())
        return x * n + y * m
    return x


def by_keywords(x):
    scale = 3.0
    return scaled(**locals())


def scaled(x, scale):
    return x * scale


def as_text(x):
    n = x.shape[0]
    return x * 2, "%(n)d rows" % locals()  # noqa: UP031 (names by themselves)


def kept(x):
    y = x + 1  # noqa: F841 (it is read by its name)
    names = vars()
    z = names["y"] * 2
    return z, list(names)


def with_cells(x):
    k = 2.0

    def inner(y):
        return y * k

    return inner(x), sorted(locals())


COMPILED = [of_arguments, in_branches, by_keywords, as_text, kept, with_cells]


@pytest.mark.parametrize("f", COMPILED, ids=lambda f: f.__name__)
def test_names_that_are_surely_bound(f):
    args = (X, X + 1) if f is in_branches else (X,)
    jitted = tnp.jit(f, strict=True)
    for rows in (4, 3, 2):
        cut = tuple(a[:rows] for a in args)
        assert_same(jitted(*cut), f(*cut))
    if f is in_branches:
        assert_same(jitted(X[0], X), f(X[0], X))


def maybe_bound(x):
    if x.sum() > 20:
        k = 3
    found = sorted(locals())
    return x * 2 + len(found), found


def deleted(x):
    y = x * 2
    del x
    return y, sorted(locals())


def in_a_loop(x):
    found = []
    for i in range(2):
        found.append(sorted(locals()))
        y = x * i
    return y, found


def twice(x):
    first = locals()
    y = x + 1
    second = locals()
    return y, first is second, sorted(first)


def stored(x):
    locals()["y"] = 1
    return x * 2, sorted(locals())


def caught(x):
    try:
        y = x[7]
    except IndexError:
        y = x[0]
        found = sorted(locals())
    return y, found, error_of(locals())


def error_of(names):
    return "error" in names


LEFT = [maybe_bound, deleted, in_a_loop, twice, stored, caught]


@pytest.mark.filterwarnings("ignore:.* runs ")
@pytest.mark.parametrize("f", LEFT, ids=lambda f: f.__name__)
def test_others_are_pythons(f):
    jitted = tnp.jit(f)
    for rows in (4, 3, 2, 1, 4, 3, 2, 1):
        assert_same(jitted(X[:rows].copy()), f(X[:rows].copy()))


@pytest.mark.filterwarnings("ignore:.* runs ")
def test_another_function_of_that_name():
    def locals():
        return {"x": 5.0}

    def f(x):
        return x * locals()["x"]

    assert_same(tnp.jit(f)(X), f(X))


class Private:
    """Private names of parameters and variables."""

    def __init__(self):
        self.__scale = 2.0

    def scaled(self, __x, *, __k=3.0):
        __y = __x * self.__scale

        def plus(__z):
            return __z + __y

        return sum([plus(__row) for __row in __x]) * __k


def test_private_variables():
    private = Private()
    jitted = tnp.jit(private.scaled, strict=True)
    for _ in range(2):
        assert_same(jitted(X), private.scaled(X))
