"""Dead code: operations on empty arrays, and ``np.errstate`` blocks that hold no operation."""

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

FUNCTIONS = {
    "functions": lambda x, y: (np.sin(x) * y + 1, x > y, np.sqrt(x) / 2),
    "other dtypes": lambda x, y: (x.astype(np.float32) * np.float32(2), (x + 1j) * y, np.isnan(x) & (y > 0)),
    "reductions": lambda x, y: ((x * 2).sum(), np.prod(np.cos(x)), (x + y).sum(axis=0), np.any(x > y)),
    "updates": lambda x, y: (np.multiply(x, 2, out=x), x + y),
}


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results(name, shape):
    f = FUNCTIONS[name]
    jitted = tnp.jit(f)
    for _ in range(2):
        assert_same(jitted(np.zeros(shape), np.ones(shape)), f(np.zeros(shape), np.ones(shape)))
    assert_same(jitted(np.full(5, 0.5), np.full(5, 2.0)), f(np.full(5, 0.5), np.full(5, 2.0)), rtol=1e-6)


def test_nothing_is_computed():
    jitted = tnp.jit(FUNCTIONS["functions"])
    jitted(np.zeros(0), np.zeros(0))
    computed = str(tnp.last_traces(jitted)[-1])
    assert computed.count("np.empty") == 3 and "sin" not in computed and "sqrt" not in computed, computed


def test_sizes_that_vary_beside():
    def f(x):
        return np.sin(x[:0] * 2), x.sum()

    jitted = tnp.jit(f)
    for n in (3, 4, 5, 1):
        x = np.arange(3.0 * n).reshape(3, n)
        assert_same(jitted(x), f(x))


def test_errors_are_raised():
    def f(x, y):
        return np.sin(x) + y

    with pytest.raises(ValueError, match="could not be broadcast"):
        tnp.jit(f)(np.zeros(0), np.zeros(2))


def test_gradients():
    g = tnp.grad(lambda x: (np.sin(x) * 2).sum())
    assert_same(g(np.zeros(0)), np.zeros(0))


def test_blocks_of_errstate_around_fused_operations_are_gone():
    def f(a, b):
        with np.errstate(divide="ignore"):
            c = a / b
        with np.errstate(all="ignore"):
            d = np.log(a)
            with np.errstate(over="ignore"):
                e = np.exp(d)
        return c + d + e

    def strict(a, b):
        with np.errstate(divide="raise"):
            return a / b

    a = np.linspace(0.5, 2, 50)
    jitted = tnp.jit(f, executors=["llvm"])
    assert_same(jitted(a, a), f(a, a), rtol=1e-12)
    assert "seterr" not in str(tnp.last_traces(jitted)[-1])
    with pytest.raises(FloatingPointError):
        tnp.jit(strict)(a, a * 0)


def test_states_in_a_loop_that_is_written_out():
    """Of blocks one behind the other, each has a state of its own to put back."""

    def f(x, n):
        for _ in range(4):
            if x.any():
                with np.errstate():
                    n = np.pad(x, 1)
        return n

    x = np.array([3, 2], dtype="u4")
    np.testing.assert_array_equal(tnp.jit(f)(x, 0), f(x, 0))
