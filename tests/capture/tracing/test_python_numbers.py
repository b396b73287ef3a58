"""Functions of :mod:`math` and conversions of numbers: one program for all values, and eager's results, types and errors."""

import math

import numpy as np
import pytest

import tnp
from tnp.api import programs_of
from tnp.testing import assert_same

FUNCTIONS = {
    "round": lambda a: round(a),
    "floor": lambda a: math.floor(a),
    "ceil": lambda a: math.ceil(a),
    "trunc": lambda a: math.trunc(a),
    "log": lambda a: math.log(a),
    "log2": lambda a: math.log2(a),
    "log10": lambda a: math.log10(a),
    "log to base 10": lambda a: math.log(a, 10),
    "log to a base": lambda a: math.log(10, a),
    "degrees": lambda a: math.degrees(a),
    "radians": lambda a: math.radians(a),
    "fabs": lambda a: math.fabs(a),
    "pow": lambda a: math.pow(a, 3),
    "sqrt": lambda a: math.sqrt(a),
    "sin": lambda a: math.sin(a),
    "hypot": lambda a: math.hypot(a, 0.5),
    "atanh": lambda a: math.atanh(a / 16),
    "acosh": lambda a: math.acosh(a),
    "ldexp": lambda a: math.ldexp(a, -3),
    "isnan": lambda a: math.isnan(a),
    "isclose": lambda a: (math.isclose(a, 2.5), math.isclose(2.4, a, rel_tol=0.1), math.isclose(a, math.inf)),
    "is_integer": lambda a: a.is_integer(),
}
FLOATS = [
    0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999999999999994, -0.49999999999999994, 2.5 + 1e-10, 1e15 + 0.5, 2.0**52 + 0.5,
    2.0**53 + 1, 1e300, -1e300, math.inf, -math.inf, math.nan, 1e-320, 7.999999999999999, -7.999999999999999, 10.0, 1.0,
]  # fmt: skip
INTEGERS = [3, -7, 0, True, 2**62, 2**70]
SCALARS = [
    np.float64(2.5),
    np.float32(-2.5),
    np.float16(1.5),
    np.int64(-5),
    np.int64(2**62 + 1),
    np.uint8(7),
    np.bool_(True),
]
ARRAYS = [np.array(2.5), np.array([1.0, 2.0]), np.complex128(1)]


def outcome(f, a):
    try:
        found = f(a)
    except Exception as error:
        return type(error), str(error)
    return found


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_math_are_python_s(name):
    f = FUNCTIONS[name]
    for values in (FLOATS, INTEGERS, *([x] for x in (*SCALARS, *ARRAYS))):
        jitted = tnp.jit(f)
        for value in values:
            with np.errstate(all="ignore"):
                assert_same(outcome(jitted, value), outcome(f, value), what=f"{name} of {value!r}")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_program_for_all_values(name):
    for make in (float, np.float64):
        jitted = tnp.jit(FUNCTIONS[name], strict=True)
        for value in (1.25, 2.5, 3.75, 10.5):
            assert_same(jitted(make(value)), FUNCTIONS[name](make(value)))
        assert len(programs_of(jitted)) == 1


def test_elements_in_loops():
    def f(x, counts):
        for i in range(len(x)):
            k = math.floor(x[i] * 3)
            counts[k] += 1
            counts[round(x[i])] += math.ceil(x[i] / 2)
            x[i] = math.log(math.fabs(x[i]) + 1) + math.radians(x[i])
        return x, counts

    x = np.abs(np.random.default_rng(0).normal(size=500))
    mine, eagers = ([x.copy(), np.zeros(20, int)] for _ in range(2))
    assert_same(tnp.jit(f, strict=True)(*mine), f(*eagers))
    assert_same(mine, eagers)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_other_numbers_of_arguments():
    for f in (
        lambda a: math.hypot(a, a, a),
        lambda a: math.hypot(a),
        lambda a: math.sin(a, a),
        lambda a: math.pow(a, 0.5),
    ):
        for value in (0.5, 2.0):
            assert_same(outcome(tnp.jit(f), value), outcome(f, value))


def looked_up(x, t):
    i = int(t * 4)
    rest = t * 4 - i
    return x[i] * (1 - rest) + x[i + 1] * rest


def stored(x, t):
    x[int(t * 4)] += 1
    x[math.floor(t * 3),] = 2
    return x.reshape(2, -1)[round(t), int(t * 2)]


@pytest.mark.parametrize("f", [looked_up, stored])
def test_indices_that_are_computed_of_floats(f):
    jitted = tnp.jit(f, strict=True)
    for t in (0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 0.05, -0.3, 30.0, 1e30, math.inf, math.nan):
        mine, eagers = np.arange(6.0) ** 2, np.arange(6.0) ** 2
        assert_same(outcome(lambda x: jitted(x, t), mine), outcome(lambda x: f(x, t), eagers), what=f"at {t}")
        assert_same(mine, eagers, what=f"at {t}")
    assert len(programs_of(jitted)) == 1
