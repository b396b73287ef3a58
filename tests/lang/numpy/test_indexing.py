"""Subscripts by all of NumPy's rules: reads and writes, compared with eager for each executor."""

import copy
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tnp
from tnp.testing import assert_same
from tnp.testing.opinfo import EXECUTORS as ALL_EXECUTORS

EXECUTORS = {name: ALL_EXECUTORS[name] for name in ("numpy", "numpy[prims]")}
pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")

A = np.arange(24.0).reshape(2, 3, 4)
V = np.arange(10)
M = np.arange(24).reshape(2, 3, 4) % 3 == 0


def compare(function, *args, executors=EXECUTORS, calls=2):
    """Calls ``function`` eagerly and compiled on copies of the arguments: results, errors and arguments must agree."""
    for executor in executors:
        jitted = tnp.jit(function, executors=ALL_EXECUTORS[executor])
        for _ in range(calls):
            expected_args, actual_args = copy.deepcopy(args), copy.deepcopy(args)
            try:
                expected = function(*expected_args)
            except Exception as error:
                with pytest.raises(type(error)):
                    jitted(*actual_args)
            else:
                assert_same(jitted(*actual_args), expected, exact=True)
            assert_same(actual_args, expected_args, exact=True, what="arguments")


BASIC_KEYS = [
    0, -1, (0, 1), (1, -1, 2), (), ..., (..., 0), (0, ...), (0, ..., 1), None, (None, 0), (..., None), (0, None, 1, None),
    np.s_[:], np.s_[1:], np.s_[::-1], np.s_[::2], np.s_[:, ::-2], np.s_[-1:0:-1], np.s_[5:], np.s_[:, 2:1], np.s_[::-1, 1, ::3],
    np.s_[0, :, 1:3], np.s_[..., -2:], np.s_[:, None, 1], (np.int64(1), np.int8(-1)), np.s_[np.int64(1):, 0, 0], (1, 2, 3, ...),
]  # fmt: skip
ADVANCED_KEYS = [
    [0], [0, 1, 0], [-1, 0], [], np.array([1, 0]), np.array([[0, 1], [1, 1]]), np.array(1), np.zeros((2, 0), int), range(2),
    ([0, 1], [2, 0]), ([0, 1], 1), (0, [1, 2]), ([[0], [1]], [0, 2]), ([0, 1], [0, 1], [3, 2]), (np.array([0], np.uint8), 1),
    np.s_[:, [0, 2]], np.s_[..., [0, 2]], np.s_[[0, 1], :, [1, 2]], np.s_[0, :, [1, 2]], np.s_[:, [0, 1], [1, 3]],
    np.s_[[1], ..., [1, 2]], np.s_[[1], None, [1, 2]], np.s_[None, [1, 0]], np.s_[:, 1, [0, 3]], np.s_[::-1, [0, 2], 1:3],
    np.s_[1:, [[0, 1], [2, 0]], ::2], ((0, 1), (2, 1)), np.ix_([0, 1], [2, 0], [1, 3]), (np.array(1), [0, 1]), (np.array(1), 1, 2),
    (np.array(0), np.array(1), np.array(2)), (..., np.array(1)), np.s_[[0, 1], [1, 2], ...], np.s_[[0, 1], ..., [1, 2], 0],
]  # fmt: skip
BOOLEAN_KEYS = [
    M, M[0, 0:1, 0].repeat(2), M[:, :, 0], np.zeros((2, 3, 4), bool), np.ones((2, 3), bool), [True, False], (0, M[0]),
    np.s_[:, M[0]], np.s_[:, M[0, :, 0]], np.s_[..., M[0, 0]], np.s_[1:, M[0, :, 1], 0], np.s_[0, M[0, :, 1], ::2],
    (M[:, 0, 0], [0]), np.s_[M[:, 0, 0], :, [1]], np.s_[None, M[:, 0, 0]], True, False, np.True_, np.s_[:, True], (True, [0, 1]),
    np.s_[False, ..., 0], np.s_[[0, 1], True, 1], np.array(True), np.s_[True, :, [0, 1]], (0, True, 1, False),
]  # fmt: skip
WRONG_KEYS = [
    2, -3, (0, 3), (0, 0, 0, 0), (..., ...), 1.0, "a", [0.5], [2], ([0, 1], [0, 1, 2]), np.ones(3, bool), np.ones((2, 4), bool),
    np.s_[1.5:], np.s_[::0], (0, None, 5), np.array([1.0]), (M, 0), [[0, 1], [5, 0]],
]  # fmt: skip


def _id(key):
    return repr(key).replace("\n", "").replace("slice(None, None, None)", ":")[:60]


@pytest.mark.parametrize("key", BASIC_KEYS + ADVANCED_KEYS + BOOLEAN_KEYS, ids=_id)
def test_reads(key):
    compare(lambda a, k: a[k], A, key)
    compare(lambda a: a[key] * 2, A)


@pytest.mark.parametrize("key", BASIC_KEYS + ADVANCED_KEYS + BOOLEAN_KEYS, ids=_id)
def test_writes(key):
    def store(a, k, v):
        a[k] = v
        return a.sum()

    compare(store, A, key, 7)
    compare(store, A, key, -A[key])
    compare(store, A, key, np.float32(2.5))

    def add(a, k):
        a[k] += 1
        return a[0]

    compare(add, A, key)


@pytest.mark.parametrize("key", WRONG_KEYS, ids=_id)
def test_wrong_keys_raise_what_numpy_raises(key):
    def store(a, k):
        a[0] = 1
        a[k] = 2

    compare(lambda a, k: a[k], A, key, calls=1)
    compare(store, A, key, calls=1)


def test_zero_dimensional_arrays():
    for key in ((), ..., None, True, False, np.array(True), (None, ...)):
        compare(lambda a, k: a[k], np.array(3.0), key)

        def store(a, k):
            a[k] = 5
            return a

        compare(store, np.array(3.0), key)
    compare(lambda a: a[0], np.array(3.0), calls=1)


def test_indices_that_are_values():
    compare(lambda y: y[y.argmax()], V[::-1])
    compare(lambda y, i: y[i[0] : i[1]], V, np.array([2, 5]))
    compare(lambda y, i: y[i[0] :: -1], V, np.array([2, 5]))
    compare(lambda y, i: y[: -i[0]], V, np.array([2, 5]))
    compare(lambda y, i: y[i[0], i[1] :, 1], A, np.array([1, 1]))
    compare(lambda y, i: y[i[0], [0, 1]], A, np.array([1, 1]))
    compare(lambda y, i: y[i[0]], V, np.array([99]), calls=1)
    compare(lambda y, i: y[i.astype(np.int8)], V, np.array([1, -1]))

    def store(y, i):
        y[0] = 1
        y[i[0]] = 5
        y[i[1] :] += 1
        return y

    compare(store, V, np.array([2, 5]))
    compare(store, V, np.array([-3, -1]))
    compare(store, V, np.array([20, 1]), calls=1)


def test_indices_that_are_arguments():
    for i in (1, -1, True, np.int64(1), np.uint8(1), np.True_):
        compare(lambda a, i: a[i], A, i)
        compare(lambda a, i: a[:, i], A, i)
    compare(lambda a, i, j: a[i : i + 2, j - 1 : j + 1], np.eye(5), 1, 2)
    compare(lambda a, i: a[i > 0], A, 1)


def test_masks_in_programs():
    def select(x, y):
        m = x > 3
        x[m] = y[m]
        x[~m] *= 2
        return x[m], (x[m] + y[m]).sum(), len(x[m]) if False else x[m].size

    compare(select, V.astype(float), -V.astype(float))

    def vector(x, v):
        x[x % 2 == 0] = v
        return x

    compare(vector, V, np.arange(5))
    compare(vector, V, np.array([9]))
    compare(vector, V, np.arange(4), calls=1)
    compare(lambda x: x[x > 100], V)
    compare(lambda x: x[x > 4][1:3], V)
    compare(lambda x: x[x > 4][::-1], V)
    compare(lambda x: x[x > 4][-1], V)
    compare(lambda x: x[x > 4].reshape(-1, 1) * x[x > 4], V)
    compare(lambda x: x[x > 4].reshape(-1, 1) * np.ones(3), V)


def test_repeated_indices():
    def store(x, i, v):
        x[i] = v
        x[i] += 1
        return x

    compare(store, V.astype(float), np.array([1, 1, 2]), np.array([5.0, 6.0, 7.0]))


def test_values_are_converted_and_broadcast():
    def store(x, v):
        x[0] = v
        x[1, [0, 1]] = v
        x[:, ::-1][0, :2] = v
        return x

    for dtype in (np.int32, np.float32, np.complex64):
        for v in (1, np.array([3, 4]), [1, 2], np.array([[5.0, 6.0]]), np.float64(2.5), True):
            compare(store, np.zeros((2, 2), dtype), v)
    compare(store, np.zeros((2, 2)), np.zeros(3), calls=1)

    def element(x, v):
        x[0, 1] = v

    compare(element, np.zeros((2, 2)), np.array(3))
    compare(element, np.zeros((2, 2)), np.array([3]), calls=1)
    compare(element, np.zeros((2, 2)), [3], calls=1)


def test_writes_through_views_are_seen_by_all():
    def program(x):
        rows = x[::2]
        corner = rows[1:, ::-1][0]
        corner[:] = 1
        rows[0] = 5
        t = x.T
        t[1] -= 3
        x[x > 4] = 0
        flat = x.reshape(-1)
        flat[[0, -1]] = 8
        every = x[:]
        every[1, 1] = 9
        copied = x[[0, 1]]
        copied[0] = 77
        return rows, corner, t.sum(), copied, flat[3]

    compare(program, np.arange(15.0).reshape(5, 3))


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
def test_a_view_of_everything_is_another_array():
    def program(x):
        y = x[:]
        y.shape = (6,)
        y[0] = 9
        return x.shape, y

    compare(program, np.zeros((2, 3)))


def test_setting_a_shape_warns_as_eager_does():
    def program(x):
        y = x[:]
        y.shape = (6,)

    with warnings.catch_warnings(record=True) as eager:
        warnings.simplefilter("always")
        program(np.zeros((2, 3)))
    with warnings.catch_warnings(record=True) as compiled:
        warnings.simplefilter("always")
        tnp.jit(program)(np.zeros((2, 3)))
    assert [(w.category, str(w.message), w.filename, w.lineno) for w in compiled] == [
        (w.category, str(w.message), w.filename, w.lineno) for w in eager
    ]


def test_the_shape_of_an_argument_is_set():
    def program(x):
        x.shape = (6,)

    x = np.zeros((2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tnp.jit(program)(x)
    assert x.shape == (6,)


def test_assignment_overlaps():
    def shift(x):
        x[1:] = x[:-1]
        x[:, 1:] += x[:, :-1]
        x[[0, 1]] = x[[1, 0]]
        x[...] = x[::-1]
        return x

    compare(shift, np.arange(12.0).reshape(4, 3))


def test_flat():
    def program(x):
        x.flat[1] = 10
        x.flat[::3] = [1, 2]
        x.flat[[2, 4]] = 7
        y = x.T
        y.flat[0] = -1
        total = 0
        for v in x.flat:
            total = total + v
        x.T.flat = 3 * np.ones(2)
        return total, x.flat[3], x.flat[1:4], y

    compare(program, np.arange(12.0).reshape(3, 4))


@st.composite
def _part(draw, n):
    """An index, a slice or an array for a dimension of length ``n``."""
    kind = draw(st.sampled_from(["slice", "int", "array", "mask"]))
    if kind == "int" and n:
        return draw(st.integers(-n, n - 1))
    if kind == "array":
        shape = draw(st.sampled_from([(), (1,), (2,), (2, 1), (0,)] if n else [(0,)]))
        size = int(np.prod(shape))
        found = draw(st.lists(st.integers(-n, max(n - 1, -n)), min_size=size, max_size=size))
        return np.array(found, int).reshape(shape)
    if kind == "mask":
        return np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    bound = st.none() | st.integers(-n - 1, n + 1)
    return slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1, -2])))


@st.composite
def keys(draw):
    """A shape and a key for it; most keys are right, some do not broadcast."""
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)))
    count = draw(st.integers(0, len(shape)))
    skips = draw(st.integers(0, len(shape) - count))
    before = draw(st.integers(0, count))
    dims = [*range(before), *range(before + skips, before + skips + count - before)]
    parts = [draw(_part(shape[d])) for d in dims]
    if skips or draw(st.booleans()):
        parts.insert(before, Ellipsis)
    for extra in draw(st.lists(st.sampled_from([None, True, False]), max_size=1)):
        parts.insert(draw(st.integers(0, len(parts))), extra)
    return shape, parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)


_SETTINGS = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)


def _outcome(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return function(*args), None
        except (IndexError, ValueError) as error:
            return None, error


@pytest.mark.parametrize("executor", EXECUTORS)
@_SETTINGS
@given(keys())
def test_random_reads(executor, shape_and_key):
    shape, key = shape_and_key
    a = np.arange(int(np.prod(shape))).reshape(shape)
    expected, error = _outcome(lambda a, k: a[k], a, key)
    jitted = tnp.jit(lambda a, k: a[k], executors=EXECUTORS[executor])
    if error is not None:
        with pytest.raises((IndexError, ValueError)):
            jitted(a, key)
    else:
        assert_same(jitted(a, key), expected, exact=True)


@pytest.mark.parametrize("executor", EXECUTORS)
@_SETTINGS
@given(keys(), st.booleans())
def test_random_writes(executor, shape_and_key, wide):
    shape, key = shape_and_key
    a = np.arange(int(np.prod(shape))).reshape(shape)
    selected, error = _outcome(lambda a, k: a[k], a, key)
    if error is not None:
        return
    value = -1 - np.arange(selected.size).reshape(selected.shape) if wide else -1
    if wide and isinstance(key, np.ndarray) and key.dtype == bool and key.ndim == a.ndim:
        value = value.ravel()

    def store(a, k, v):
        a[k] = v
        return a.sum()

    expected, actual = a.copy(), a.copy()
    expected_sum = store(expected, key, value)
    jitted = tnp.jit(store, executors=EXECUTORS[executor])
    assert_same(jitted(actual, key, value), expected_sum, exact=True)
    assert_same(actual, expected, exact=True)


#: masks of known length, on arrays whose length only the program knows: 3, 3 and 2
OF_POSITIVE = [lambda a: a[a > 0], lambda a: np.unique(np.abs(a)), lambda a: np.flatnonzero(a > 0)]
MASKS = [np.array(m) for m in ([True, False, True], [True, True], [False] * 3)]


@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("make", OF_POSITIVE)
def test_masks_of_known_length_on_arrays_of_unknown_length(make, mask):
    """The lengths are compared when the program runs."""

    def read(a, m):
        return make(a)[m] * 2

    def write(a, m):
        w = make(a)
        w[m] = 0
        return w

    def update(a, m):
        w = make(a)
        w[m] += w[m] ** 2
        return w, w[m].sum()

    for a in (np.array([1.0, -1, 2, 1]), np.array([1.0, -1, -1])):
        for function in (read, write, update):
            compare(function, a, mask, executors=(*EXECUTORS, "llvm"), calls=1)


@pytest.mark.parametrize("executors", (None, ["numpy"], ["numpy[prims]"]))
@pytest.mark.parametrize(
    "mask", (np.zeros(0, bool), np.zeros((0, 2), bool), np.zeros((4, 0), bool), np.zeros((3, 0), bool))
)
def test_a_mask_without_elements_fits_any_length(executors, mask):
    def known(x, mask):
        y = x * 2
        y[mask] *= 3
        return y, x[mask]

    def at_run_time(x, mask):
        return x[mask[~mask]]

    x = np.ones((4, 2))
    for f in (known, at_run_time):
        jitted = tnp.jit(f, executors=executors)
        if f is known and len(mask) == 3:
            with pytest.raises(IndexError, match="size of axis is 4 but size of corresponding boolean axis is 3"):
                jitted(x, mask)
        else:
            assert_same(jitted(x, mask), f(x, mask))
