"""``sum``, ``max``, ``min``, ``any`` and ``all`` of arrays: one operation each, with Python's results."""

import time

import numpy as np
import pytest

import tnp
from tests.eager_checks import check
from tnp.testing import assert_same

FUNCTIONS = {
    "sum": lambda x: sum(x),
    "max": lambda x: max(x),
    "min": lambda x: min(x),
    "any": lambda x: any(x),
    "all": lambda x: all(x),
    "any of a comparison": lambda x: any(x > 2),
    "all of a comparison": lambda x: all(x < 2),
    "a start": lambda x: sum(x, 1.5),
    "a start of a map": lambda x: sum(map(abs, x), 3),
    "a start of a generator": lambda x: sum((v * 2 for v in x), 0.5),
    "a map to numbers": lambda x: np.fromiter(map(abs, x), dtype=np.float32),
    "a key": lambda x: max(x, key=abs),
    "a default": lambda x: min(x, default=3.0),
}


def numbers(n, dtype):
    x = (np.random.default_rng(n).standard_normal(n) * 2).astype(dtype)
    return x if dtype is not bool else x > 1


@pytest.mark.parametrize("dtype", [float, np.float32, np.float16, np.int64, np.int32, np.uint8, bool, complex])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_dtypes(name, dtype):
    for n in (0, 1, 5, 70):
        check(FUNCTIONS[name], numbers(n, dtype))


@pytest.mark.parametrize("name", ["sum", "max", "min", "any", "all"])
def test_nans_and_zeros(name):
    x = numbers(60, float)
    for places in ([0], [7], [0, 59], range(60), range(1, 60)):
        y = x.copy()
        y[list(places)] = np.nan
        check(FUNCTIONS[name], y)
    for y in (x * 0.0, np.full(60, -0.0), np.full(60, -np.inf), np.full(60, np.inf), np.arange(60.0) * 0):
        check(lambda y: (FUNCTIONS[name](y), np.copysign(1.0, FUNCTIONS[name](y))), y)


@pytest.mark.parametrize("name", ["sum", "max", "min", "any", "all"])
def test_matrices(name):
    check(FUNCTIONS[name], np.arange(120.0).reshape(40, 3))
    check(FUNCTIONS[name], np.arange(40.0).reshape(40, 1))
    check(FUNCTIONS[name], np.float64(3.0))


def test_a_sum_is_of_its_own():
    def f(x):
        y = sum(x)
        y += 1
        return y

    check(f, np.arange(120.0).reshape(40, 3))


@pytest.mark.parametrize("name", ["sum", "max", "min", "any", "all"])
def test_one_program_for_any_length(name):
    jitted = tnp.jit(FUNCTIONS[name])
    for n in (100, 101, 2000, 30000):
        x = numbers(n, float)
        assert_same(jitted(x), FUNCTIONS[name](x))
    assert tnp.cache_info(jitted).misses == 2


def test_positions_of_a_mask():
    def last(x):
        return max(np.where(x > 0)[0])

    jitted = tnp.jit(last)
    for n in (100, 101, 3000):
        x = numbers(n, float)
        assert_same(jitted(x), last(x))
    with pytest.raises(ValueError, match=r"max\(\) (iterable argument is empty|arg is an empty sequence)"):
        jitted(-np.ones(3000))
    assert tnp.cache_info(jitted).misses <= 3


def test_thousands_of_elements_compile_at_once():
    start = time.perf_counter()
    x = numbers(5000, float)
    assert tnp.jit(lambda x: max(x) - min(x) + sum(x * x))(x) == max(x) - min(x) + sum(x * x)
    assert time.perf_counter() - start < 5


def test_in_a_loop():
    def peaks(x):
        y = np.zeros(len(x) - 40)
        for i in range(len(y)):
            window = x[i : i + 40]
            if any(window > 2):
                y[i] = max(window) - sum(window)
        return y

    check(peaks, numbers(300, float))


def test_gradients():
    x = numbers(50, float)
    np.testing.assert_allclose(tnp.grad(lambda x: sum(x * x))(x), 2 * x)
    np.testing.assert_array_equal(tnp.grad(lambda x: max(x))(x), np.arange(50) == x.argmax())


def _counted(f, *calls):
    """How many programs the calls of ``f`` need, with results as eager's."""
    jitted = tnp.jit(f)
    for args in calls:
        assert_same(jitted(*args), f(*args))
    return tnp.cache_info(jitted).misses


def test_any_and_all_of_few_are_conditions_of_one_program():
    def of_an_array(x):
        x = x * 2
        if not any(x):
            x[0] = 1.0
        return x / sum(x) if all(x) else -x

    def of_lists(a, b):
        if any([a[0] > 0, b]):
            return a + 1
        return a - b if all((a[0], b, True)) else a * 2

    assert _counted(of_an_array, *[(np.arange(4.0) * k + k % 2,) for k in range(4)]) == 1
    assert _counted(of_lists, *[(np.array([k - 1.0]), k - 1.5) for k in range(4)]) == 1


def test_any_and_all_of_lists_of_other_things():
    def f(x, y):
        return (
            any([x > 0, True]),
            all([x > 0, False]),
            any([]),
            all(()),
            any([x, y, 0]),
            all(["a", y > x]),
            any(["", x]),
        )

    for x, y in ((1.0, 2.0), (0.0, 0.0), (-1.0, -2.0)):
        check(f, np.float64(x), np.float64(y))
    check(lambda x: any([x, x]), np.arange(3.0))
    check(lambda x: all([x[0], x]), np.zeros(3))


def test_what_a_library_asks_for_is_guarded_by_its_truth():
    def f(x):
        return list(filter(None, [x[0], x[1]])), x * 2

    assert _counted(f, *[(np.array([0.0, k]),) for k in range(1, 5)]) <= 2
