"""What is stored before an error, the order of errors, and numbers that do not fit: what random programs (``tests/fuzzing/run.py``) found
to be wrong."""

import operator
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import tnp
from tests.whole_programs.checks import X, check, outcome
from tnp.testing import assert_same


def test_writes_stay_behind_errors_of_other_regions():
    """A region for any size has the write, another one, or NumPy, what raises."""

    def take(a, x, i):
        first = second = np.take(x, i)
        a **= 2
        np.bitwise_or.reduce(first != second)

    def read_then_put(a, x, i):
        y = a[i]
        np.put(a, [0], 7)
        return y

    def put_then_read(a, x, i):
        np.put(a, [0], 7)
        return a[i]

    calls = [(np.full((3, n), 1.5), 3, i) for n in (4, 5, 6, 7) for i in (0, np.array([0, 9]))]
    for f in (take, read_then_put, put_then_read):
        check(f, *calls)


def test_put_into_a_scalar_does_nothing():
    def f(a, s):
        np.put(s, 0, 3)
        return a + s

    def raises(a, s):
        np.put(s, 5, 3)
        return a + s

    for g in (f, raises):
        check(g, (np.ones(2), np.complex128(2)), (np.ones(2), np.float32(3)))


def test_weights_that_may_not_fit():
    def f(a, w):
        w = np.average(a[a > 0], weights=w)
        a **= 2
        return w

    check(f, *((np.array([0.0, *range(n)]), np.arange(1.0, 4)) for n in (4, 3, 4, 5)))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_what_nothing_reads_raises_in_loops_under_errstate():
    def f(a, k):
        with np.errstate(divide="raise"):
            i = 0
            while i < k and (a < 9).any():
                i += 1
                np.sum(a) / a
        return i

    def g(a, k):
        with np.errstate(all="raise"):
            for _ in range(k):
                np.log(a)

    for function in (f, g):
        check(function, *((a, k) for a in (np.ones(3), np.array([1.0, 0, 3]), np.zeros(4)) for k in (0, 2, 40)))


def test_what_is_printed_before_a_product_is_too_large(capsys):
    def f(a, b):
        first = a[0]
        print(f"{b}")
        first * (first.item(0) * first.item(0) * first.item(0))
        return first + 1

    jitted = tnp.jit(f)
    for value in (3, 5, 2**40):
        said = []
        for function in (f, jitted):
            try:
                function(np.full((1, 4), value), X)
            except OverflowError as error:
                print(error)
            said.append(capsys.readouterr().out)
        assert said[1] == said[0]


def test_a_number_beyond_int64_in_an_operation_whose_result_nobody_reads():
    def subtracted(x):
        n = 7 - x.item(0)
        n %= x

    def incremented(x, n):
        x + (n + 1)
        return x + 1

    check(subtracted, *((np.array([i, 3, 4]),) for i in (1, -(2**63))))
    check(incremented, *((np.array([1, 3]), i) for i in (1, 2**63 - 1)))


def test_a_handler_reads_what_a_statement_binds_before_it_raises():
    def named(a, n):
        try:
            a += (w := a[n:6])
        except ValueError:
            return w

    def subscript(a, n):
        try:
            a[(w := n)] += a[n:6]
        except ValueError:
            return w

    def targets(a, n):
        w = 0
        try:
            a += a[n:6]
            w = (p, q) = a[n:6]
        except ValueError:
            return w, a
        return p, q

    x = np.arange(5.0)[:, None]
    for f in (named, subscript, targets):
        check(f, *((x, n) for n in (5, 2, 4, -2, 0)))


def test_what_is_written_before_a_number_that_may_not_fit_is_stored():
    """An argument is stored to before the conversion, which comes after an assignment to an attribute."""

    def f(a, box, n):
        a ^= 1
        box.value = np.prod(a, axis=1)
        box.value[...] = n
        return a

    jitted = tnp.jit(f)
    for n in (1, 7, 2**63):
        (a, box), (b, other) = (
            (np.arange(6, dtype=np.uint32).reshape(2, 3), SimpleNamespace(value=None)) for _ in "ab"
        )
        assert_same(jitted(a, box, n), f(b, other, n))
        assert_same([a, box.value], [b, other.value])


@pytest.mark.parametrize("own", [np.int8, np.uint64, np.float32, np.complex64])
def test_results_that_are_cast_into_some_of_an_array(own):
    """What a mask leaves out keeps its bits: int64 and uint64 have no dtype in common that holds both."""

    def f(a, out, mask):
        np.negative(a, out=out, casting="unsafe", where=mask)
        return np.add(a, a, out=out, casting="unsafe", where=~mask)

    with np.errstate(invalid="ignore"):
        a = np.array([3.5, np.nan, 200, 2]).astype(own)
    mask = np.array([True, False, False, True])
    for out in (np.array([2**62 + 3, -5, 2**53 + 1, 4]), np.array([2**63 + 5, 1, 2, 3], np.uint64), np.ones(4, bool)):
        check(f, (a, out, mask), (a, out, ~mask))


@pytest.mark.parametrize(
    "initial", [np.int64(300), np.uint64(2**63 + 1), np.int8(-3), np.float64(2.7), 300, 2.5, np.inf]
)
@pytest.mark.parametrize("own", [np.int8, np.uint8, np.int64, np.uint64, bool])
def test_initial_values_that_may_not_fit(own, initial):
    a = np.array([1, 2, 3]).astype(own)
    for name in ("sum", "max", "nanmin", "prod"):
        check(lambda a, initial: getattr(np, name)(a, initial=initial), (a, initial))
    check(lambda a, initial: np.maximum.reduce(a, initial=initial, where=a > 1), (a, initial))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_what_a_loop_wrote_before_it_raised_is_there_if_more_is_written_behind_it():
    def f(x, m):
        k = 0
        while k < 3:
            k += 1
            x *= x
            x[1:, k] = 1
        x[x == 2] = m

    def g(x, m):
        if x[0, 0] > 0:
            x *= x
            x[0, m] = 5
        x[x == 2] = 7

    for function in (f, g):
        check(function, *((np.array([[1, 2, 1, 1][:n]]), m) for n in (4, 4, 3, 2, 4) for m in (1, 3)))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("dynamic", [None, True])
def test_arrays_of_two_dimensions_where_a_mask_takes_a_row(dynamic):
    def once(x, v):
        x[x % 2 == 0] = v

    def in_a_tuple(x, v):
        x[(x % 2 == 0,)] = v

    def often(x, v):
        for _ in range(1, x.size):
            x[x % 2 == 0] = v

    for f in (once, in_a_tuple, often):
        jitted = tnp.jit(f, dynamic=dynamic)
        for shape in ((3,), (1, 3), (1, 2), (2, 2), (1, 1)):
            x, y = np.arange(np.prod(shape)).reshape(shape), np.arange(np.prod(shape)).reshape(shape)
            for v in (x.copy(), x[..., :1].copy(), np.array([7]), np.array(7)):
                assert_same(outcome(jitted, (x, v))[0], outcome(f, (y, v))[0])
                assert_same(x, y)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_an_index_is_out_of_bounds_before_a_number_does_not_fit():
    def f(x, numbers, small):
        x[np.array(4)] |= numbers.item(0) + small

    def g(x, numbers, small):
        return x[numbers], numbers.item(0) + small

    x, small = np.arange(3, dtype=np.int32), np.array(5, np.uint8)
    for function in (f, g):
        check(function, *((x, np.array([n, 1]), small) for n in (-4, 4, 1)))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_names_that_a_handler_binds_before_it_raises_are_bound_in_finally():
    def in_handler(a):
        try:
            np + 2
        except Exception:
            v = a + 1
            a[1] -= a
        finally:
            v[1] = 3.25

    def in_else(a):
        try:
            a[0] = 1
        except Exception:
            pass
        else:
            v = a[...]
            a[1] -= a
        finally:
            v[1] = 3.25

    for f in (in_handler, in_else):
        check(f, (np.arange(3),), (np.arange(1),), (np.arange(4),))


QUESTIONS = (
    "__array__",
    "__len__",
    "__index__",
    "__array_interface__",
    "__class__",
    "is_integer",
    "dtype",
    "mT",
    "argmax",
    "nonsense",
)


@pytest.mark.parametrize("name", QUESTIONS)
def test_attributes_of_what_is_a_scalar_or_a_number(name):
    """A branch decides whether a value is NumPy's scalar or a number of Python's."""

    def number_or_sum(x, k):
        v = abs(k - x.sum()) if (x > k).all() else 3.25
        return hasattr(v, name), getattr(v, name, None) is None, v.__class__.__name__

    def bool_or_any(x, k):
        v = True if (x > k).all() else x.any()
        return hasattr(v, name), v.__class__.__name__

    def scalar(x, k):
        return hasattr(x.any(), name), hasattr(x.argmax(), name), hasattr(x, name)

    for f in (number_or_sum, bool_or_any, scalar):
        check(f, (np.ones(3), 2), (np.ones(3), 0), (np.full(3, 5.0), 2))


COUNTED = {
    "np.diff": lambda x, n: np.diff(x, n=n),
    "np.tril": np.tril,
    "np.split": np.split,
    "x.var": lambda x, n: x.var(ddof=n),
    "np.nanvar": lambda x, n: np.nanvar(x, ddof=n),
    "np.resize": np.resize,
    "np.identity": lambda x, n: np.identity(n),
    "np.cov": lambda x, n: np.cov(x, ddof=n),
    "np.polyder": lambda x, n: np.polyder(x[0], n),
    "np.linalg.norm": lambda x, n: np.linalg.norm(x, axis=n),
    "np.roll": np.roll,
}
COUNTS = {
    "bool": lambda x: (x == x)[0, 0],
    "float": lambda x: x[0, 1],
    "complex": lambda x: (x * 1j)[0, 1],
    "unsigned": lambda x: x.astype(np.uint64)[0, 1],
    "Python's": lambda x: float(x[0, 1]),
    "0-d": lambda x: np.asarray(x[0, 2].astype(int)),
    "1-d": lambda x: x[0, 1:2].astype(int),
    "list": lambda x: [1],
    "NaN": lambda x: float("nan"),
}


@pytest.mark.filterwarnings(
    "ignore::RuntimeWarning", "ignore::DeprecationWarning", "ignore::numpy.exceptions.ComplexWarning"
)
@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", COUNTED)
def test_counts_that_are_computed_and_no_integers(name, count):
    def f(x):
        return COUNTED[name](x, COUNTS[count](x))

    check(f, (np.arange(12.0).reshape(3, 4),))


OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.pow, operator.truediv, operator.lt,
    operator.and_, divmod, lambda a, b: -a, lambda a, b: abs(a), np.multiply,
)  # fmt: skip
OPERANDS = (
    np.uint8(200),
    np.int8(-128),
    np.uint64(2**63),
    np.float32(3e38),
    np.bool_(True),
    np.array([200], np.uint8),
    200,
    2.5,
)


@pytest.mark.parametrize("function", OPERATORS)
def test_scalars_that_overflow_under_errstate(function):
    def f(a, b):
        with np.errstate(all="raise"):
            return function(a, b)

    jitted = tnp.jit(f)
    for a in OPERANDS:
        for b in OPERANDS:
            if isinstance(a, np.generic) or isinstance(b, np.generic):
                expected, found = outcome(f, (a, b)), outcome(jitted, (a, b))
                assert not found[2]
                assert_same(found[0], expected[0], what=f"{a!r} and {b!r}")


def test_names_that_an_error_at_run_time_binds():
    def f(x):
        try:
            if x[1].sum():
                raise ValueError
        except Exception:
            found = x * 2
        return found

    jitted = tnp.jit(f)
    for x in (np.ones((2, 3)), np.ones(1), np.zeros((2, 3))):
        with warnings.catch_warnings(action="ignore", category=tnp.EagerFallbackWarning):
            mine = outcome(jitted, (x,))
        assert_same(mine[0], outcome(f, (x,))[0])
