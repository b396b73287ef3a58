"""Set operations (``np.unique``, ``np.union1d``, ``np.isin``) on arrays whose length is known only at run time."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import EXECUTORS, check_in_turn, functions_of

RNG = np.random.default_rng(0)
ARRAYS = (*(RNG.standard_normal(n) * 2 for n in (5, 40, 1, 2)), -np.ones(4), np.ones(20), np.zeros(0), np.zeros(3))


def distinct(x):
    return np.unique(np.floor(x[x > 0]))


def counted(x):
    return np.unique((x[x > 0] * 3).astype(int), return_index=True, return_inverse=True, return_counts=True)


def with_nan(x):
    y = np.where(x[x > 0] > 1, np.nan, x[x > 0])
    return np.unique(y), np.unique(y, equal_nan=False), np.isin(x, y), np.isin(y, y)


def bools(x):
    return np.unique(x[x > 0] > 1)


def sets(x):
    i, j = np.nonzero(x > 0)[0], np.where(np.diff(x) > 0)[0]
    return np.union1d(i, j), np.intersect1d(i, j), np.setdiff1d(i, j), np.unique(np.hstack((i, j)))


def members(x):
    some = np.nonzero(x > 0)[0]
    return np.isin(some, some[1:]), np.isin(np.arange(5), some, invert=True), np.isin(some - 1, [0, 2])


FUNCTIONS = functions_of(globals(), "x")


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_eager(f, executor):
    check_in_turn(f, executor, ARRAYS)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_one_program(f):
    jitted = tnp.jit(f, strict=True)
    for x in ARRAYS:
        jitted(x)
    assert "for the value" not in str(tnp.explain(jitted))
