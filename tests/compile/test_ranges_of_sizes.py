"""``range(n)`` as an array, where ``n`` varies: NumPy's functions, operators and subscripts take it as ``np.arange``."""

import numpy as np
import pytest

import tnp
from tests.compile.test_symbolic_functions import MAKERS
from tnp.api import programs_of
from tnp.testing import assert_same

ONE_PROGRAM = {
    "grids": lambda a: (*np.ix_(range(len(a)), [0, 1]), *np.meshgrid(range(len(a)), range(3))),
    "interp": lambda x: (np.interp(range(len(x)), [0, 5, 9], [1.0, 2.0, 3.0]), np.interp(2.5, range(len(x)), x)),
    "operators": lambda x: (x + range(len(x)), range(1, len(x) + 1) * x, x > range(len(x)), x**2 - range(0, 2 * len(x), 2)),
    "in place": lambda x: in_place(x.copy()),
    "ufuncs": lambda x: (np.exp(range(len(x))), np.power(0.5, range(len(x))), np.multiply(range(len(x)), x)),
    "products": lambda a: (np.dot(range(len(a)), a), np.outer(range(len(a)), range(4)), np.polyfit(range(len(a)), a[:, 0], 1)),
    "sums": lambda x: (np.sum(range(len(x))), np.cumsum(range(len(x))), np.mean(range(len(x))), np.trapezoid(x, range(len(x)))),
    "joined": lambda x: (np.column_stack([range(len(x)), x]), np.vstack([range(len(x)), x]), np.concatenate((range(len(x)), x))),
    "subscripts": lambda a: (a[:, range(len(a) - 1)], a[range(1, len(a), 2)], np.take(a, range(len(a) - 2), axis=0)),
    "length": lambda x: np.zeros((len(range(0, len(x), 2)), len(range(len(x))))),
    "counts": lambda x: (np.bincount(range(len(x))), np.isin(range(len(x)), [1, 2]), np.repeat(range(len(x)), 2)),
    "edges": lambda x: np.histogram(x * 9, range(0, len(x), 2)),
    "others": lambda a: (np.reshape(range(2 * len(a)), (2, -1)), np.roll(range(len(a)), 1), np.argmax(range(len(a)))),
}  # fmt: skip


def in_place(x):
    x += range(len(x))
    return x


@pytest.mark.parametrize("name", ONE_PROGRAM)
def test_one_program_for_all_sizes(name):
    function = ONE_PROGRAM[name]
    jitted = tnp.jit(function, dynamic=True, strict=True)
    maker = function.__code__.co_varnames[0]
    for n in (9, 16, 13, 26):
        mine, theirs = (MAKERS[maker](np.random.default_rng(n), n) for _ in range(2))
        assert_same(jitted(mine), function(theirs), what=f"size {n}")
    assert len(programs_of(jitted)) == 1


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_short_ranges(n):
    def function(x):
        return np.ix_(range(len(x)))[0], np.zeros(3)[range(len(x))], np.sum(range(len(x))), len(range(1, len(x)))

    jitted = tnp.jit(function, dynamic=True)
    for k in (3, n, 2, n):
        assert_same(jitted(np.ones(k)), function(np.ones(k)))


def test_decompositions_of_matrices_of_all_sizes():
    """Those whose results depend on values, and ranks, too."""

    def function(a):
        square = a[:, :-2]
        values = np.linalg.eigvals(square @ square.T)
        return np.sort(values), np.linalg.slogdet(square), np.linalg.matrix_rank(a), np.linalg.multi_dot([a, a.T, a])

    jitted = tnp.jit(function, dynamic=True, strict=True)
    for n in (9, 16, 13):
        a = MAKERS["a"](np.random.default_rng(n), n)
        assert_same(jitted(a), function(a), rtol=1e-9)
    assert len(programs_of(jitted)) == 1
