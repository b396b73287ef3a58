"""Scatters in the llvm executor: results, arguments and errors as eager NumPy leaves them, and where they are written."""

import numpy as np
import pytest

import tnp
from tests.sampling import some_of
from tnp.executors import llvm
from tnp.testing import assert_same

pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="no native code here")

DTYPES = ("float64", "float32", "float16", "int64", "int8", "uint16", "bool", "complex64", "complex128")


def rng(seed=0):
    return np.random.default_rng(seed)


def array(shape, dtype="float64", seed=0):
    """Random multiples of a quarter: products of them are exact."""
    found = np.round(rng(seed).uniform(-4, 4, shape) * 4) / 4
    if np.dtype(dtype).kind == "c":
        found = found + 1j * array(shape, seed=seed + 1)
    return found.astype(np.int64).astype(dtype) if dtype in ("uint16", "bool") else found.astype(dtype)


def outcome(f, args):
    """What a call returns, or raises, and what becomes of its arguments, which are copied as they lie in memory."""
    own = [_copy(a) for a in args]
    try:
        return f(*own), None, own
    except Exception as error:
        return None, error, own


def _copy(a):
    if not isinstance(a, np.ndarray):
        return a
    if a.base is None:
        return a.copy("K")
    whole = a.base.copy("K")
    offset = a.__array_interface__["data"][0] - a.base.__array_interface__["data"][0]
    return np.ndarray(a.shape, a.dtype, whole, offset, a.strides)


def compare(f, *args, native=True, calls=2):
    """Compares a jitted function with eager, bit by bit; the jitted function. ``native``: no operation is left to NumPy."""
    jitted = tnp.jit(f, executors=["llvm[everything]"])
    for _ in range(calls):
        expected, error, eagers = outcome(f, args)
        found, raised, mine = outcome(jitted, args)
        assert type(raised) is type(error) and str(raised) == str(error)
        if error is None:
            assert_same(found, expected, exact=True)
        assert_same(mine, eagers, exact=True, what="arguments")
    if native:
        names = operations(jitted)
        assert names and all("llvm" in n for n in names), names
        assert "one by one" not in str(tnp.explain(jitted))
    return jitted


def operations(f):
    return [b.sym.name for b in tnp.last_traces(f)[-1].body if b.sym.name not in ("python_del", "python_return")]


def loops(f):
    """What ``explain`` says of a function's regions, line by line."""
    return [line.strip() for line in str(tnp.explain(f)).splitlines() if line.startswith("      ")]


REPEATED = np.array([3, 0, 3, -1, 2, 3, -5, 0])


# What is written


def store(x, i, v):
    x[i] = v


def store_computed(x, i, v):
    x[i] = v * v + 1
    return x + x


def store_at_computed(x, i, v):
    x[(i * 2) % 4 - 1] = v
    return x[::-1] * 1


def add(x, i, v):
    x[i] += v
    return x * x


def add_at(x, i, v):
    np.add.at(x, i, v)
    return x + 0


def subtract_at(x, i, v):
    np.subtract.at(x, i, v * v)


FUNCTIONS = (store, store_computed, store_at_computed, add, add_at, subtract_at)
#: NumPy has no subtraction of bools
CASES = [(f, d) for f in FUNCTIONS for d in DTYPES if (f, d) != (subtract_at, "bool")]


@pytest.mark.parametrize(("function", "dtype"), CASES)
def test_one_dimension(function, dtype):
    # np.add.at of bools is a call of NumPy: its language has it for numbers
    native = not (dtype == "bool" and function is add_at)
    compare(function, array(5, dtype), REPEATED, array(8, dtype, 1), native=native)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64"])
def test_dtypes_of_indices(dtype):
    i = (REPEATED % 5 if dtype[0] == "u" else REPEATED).astype(dtype)
    compare(store_computed, array(5), i, array(8, seed=1))
    compare(add_at, array(5), i, array(8, seed=1))


@pytest.mark.parametrize("value", [2, 2.5, True, np.float32(1.5), np.array(3.0)], ids=repr)
@pytest.mark.parametrize("function", [store, add, add_at])
def test_one_value_for_all(function, value):
    compare(function, array(5), REPEATED, value)


def test_no_dimensions():
    compare(store, array(5), np.array(-2), np.array(7.0), native=False)
    compare(add_at, array((5, 3)), np.array(-2), array(3), native=False)
    compare(store_pairs, array((5, 3)), np.array(-2), np.array([0, 0, 1]), array(3))


@pytest.mark.parametrize("function", [store, add, add_at])
@pytest.mark.parametrize("shapes", [((0,), (0,)), ((5,), (0,)), ((5, 0), (3,))], ids=str)
def test_empty(function, shapes):
    x, i = np.ones(shapes[0]), np.zeros(shapes[1], int)
    compare(function, x, i, 1.0, native=False)


def test_sums_are_in_the_order_of_elements():
    """In any other order, float32 would round differently."""
    v = rng().random(1000, "float32") * np.float32(10) ** rng().integers(-6, 6, 1000).astype("float32")
    i = rng(1).integers(0, 3, 1000)
    compare(add_at, np.zeros(3, "float32"), i, v)
    compare(add_at, np.zeros(3, "float16"), i, (v % 4).astype("float16"))
    compare(add_at, np.zeros((3, 4), "float32"), i, np.stack([v, v[::-1], v * 2, -v], 1))
    compare(add_at, np.zeros(1, "float32"), i * 0, v)
    compare(add_at, np.zeros(3, "float32"), i.reshape(20, 50), v.reshape(50, 20).T)


def histogram(i, weights):
    counts = np.zeros(7, np.int64)
    np.add.at(counts, i, 1)
    total = np.zeros(7)
    np.add.at(total, i, weights * 2)
    return counts, total / np.maximum(counts, 1)


def test_histogram():
    f = compare(histogram, rng().integers(0, 7, 500), array(500))
    assert operations(f) == ["llvm_everything_fusion0"]


def histogram_of_rows(i):
    counts = np.zeros((20, 7), np.int64)
    np.add.at(counts, (np.arange(20)[:, None], i), 1)
    return counts


def means_of_groups(x, group):
    total = np.zeros((4, x.shape[1]))
    np.add.at(total, group, x)
    count = np.zeros(4)
    np.add.at(count, group, 1)
    return total / np.maximum(count, 1)[:, None]


def forces(x, i, j):
    distance = x[i] - x[j]
    pull = distance / ((distance * distance).sum(axis=1)[:, None] + 1)
    total = np.zeros_like(x)
    np.add.at(total, i, pull)
    np.subtract.at(total, j, pull)
    return total


def one_hot(i):
    made = np.zeros((i.shape[0], 10))
    made[np.arange(i.shape[0]), i] = 1
    return made


def test_programs_with_scatters_are_one_region():
    i, j = rng().integers(0, 4, (2, 60))
    for f in (
        compare(means_of_groups, array((60, 3)), i),
        compare(forces, array((4, 3)), i, j),
        compare(one_hot, i),
    ):
        assert operations(f) == ["llvm_everything_fusion0"]


def test_rows_are_independent():
    f = compare(histogram_of_rows, rng().integers(0, 7, (20, 50)))
    assert "for i0 in 0..20 parallel" in loops(f) and "for i1 in 0..50" in loops(f)


# Several dimensions


def store_pairs(x, i, j, v):
    x[i, j] = v


def add_pairs(x, i, j, v):
    x[i, j] += v
    np.add.at(x, (j, i), v * 2)
    return x.sum(axis=0)


def mixed(x, i, j, v):
    x[i, 0] = v[1:, 0]
    x[1, j] += 1
    x[:, i] = v[:, :1]
    x[1:-1, j] -= 2.0
    x[::-1][i] = 7
    x.T[j] = v[:3]


def slices(x, i, v):
    x[1:-1][i] = v
    x[:, ::2][i, 1] = 5
    x.T[1:][i % 2] += 1.0


def ellipsis(x, i, v):
    x[..., i] = v
    x[i, ...] = 1
    x[:, i, :] += 2
    x[i, :, i] = 3
    x[:, i, i] = 4
    x[None, i] = 5
    x[i[:, None], i] = -1.0


@pytest.mark.parametrize("order", ["C", "F", "inner", "flipped"])
def test_several_dimensions(order):
    def laid(a):
        if order == "inner":
            return np.pad(a, 2)[tuple(slice(2, -2) for _ in a.shape)]
        if order == "flipped":
            return np.ascontiguousarray(a[::-1])[::-1]
        return np.asarray(a, order=order)

    i, j = np.array([0, 2, 2, -1]), np.array([1, 1, 0])
    compare(store_pairs, laid(array((5, 5))), i[:3], j, array(3))
    compare(store_pairs, laid(array((5, 5))), i[:, None], j, laid(array((4, 3))))
    compare(add_pairs, laid(array((5, 5))), i[:, None], j, array((4, 3)))
    compare(mixed, laid(array((5, 3))), i % 3, j, laid(array((5, 5))))
    compare(slices, laid(array((6, 6))), i, array(6))
    compare(ellipsis, laid(array((4, 4, 4))), i, array((4, 4, 4)))


def along(x, i, v):
    np.put_along_axis(x, i, v * 2, 1)
    np.put_along_axis(x, i[:1], 7, 0)


def positions(v):
    x = np.zeros((4, 4))
    x[np.arange(4), np.arange(4)[::-1]] = v
    x[np.arange(-4, 0)[:, None], -1] += v[:, None]
    x[np.zeros((3, 1), int), np.arange(2)] *= 3
    np.add.at(x, np.arange(3), 2)
    np.add.at(x, (np.arange(4).astype(np.uint8), 1), v)
    return x * 1


def test_positions_along_an_axis():
    f = compare(along, array((6, 3)), rng().integers(0, 3, (6, 3)), array((6, 3)))
    assert "for i0 in 0..6 parallel" in loops(f)
    f = compare(positions, array(4))
    assert not any("any=" in line for line in loops(f))  # indices that are known are not looked at


TURNS = (lambda a: a, np.asfortranarray, lambda a: a[::-1], lambda a: a[::-1, ::-1].T, lambda a: a[:, ::-1])
TURNS_OF_VALUES = (lambda a: a, np.asfortranarray, lambda a: a[::-1], lambda a: a.T)


@pytest.mark.parametrize("turn", range(len(TURNS)))
@pytest.mark.parametrize("turn_value", range(len(TURNS_OF_VALUES)))
def test_which_of_equals_wins(turn, turn_value):
    """NumPy goes through indices and values as they lie in memory. Each way to turn them has each way to write."""
    turned = TURNS_OF_VALUES[turn_value]
    i, v = TURNS[turn](rng().integers(0, 3, (5, 5))), turned(np.arange(25.0).reshape(5, 5))
    writes = (
        (store, np.zeros(3), i, v),
        (store_pairs, np.zeros((3, 3)), i, turned(i), v),
        (add_at, np.zeros(3, "float32"), i, (v / 3).astype("float32")),
        (store, np.zeros((3, 2)), i, np.stack([v, -v], 2)),
        (store_pairs, np.zeros((3, 3)), i[0], i[1], v[2]),
        (along, np.zeros((5, 3)), i[:, :3], v[:, :3]),
    )
    for write in some_of(writes, turn + turn_value, 2):
        compare(*write)


# Values and indices that lie in what is written


def swap(x, i):
    x[i] = x[::-1]


def permute(x, i):
    x[i] = x
    x[i] = x[i] + x[i[::-1]]


def add_own(x, i):
    np.add.at(x, i, x)
    np.add.at(x, i, x[i])


def through_own(x, v):
    x[x % 4] = v
    x[x[::-1] % 4] += x


def read_before(x, i, v):
    doubled, part = x * 2, x[1:3]
    x[i] = v
    np.add.at(x, i, doubled)
    return doubled, part + 0, x - doubled


def chained(i, v):
    x = np.zeros(6)
    x[i] = v
    y = x * 2
    x[i[::-1]] += y[1:]
    np.add.at(x, i, np.cumsum(v))
    return x, y, x.sum()


def test_values_from_the_target():
    i = np.array([2, 0, 2, 4, 4])
    compare(swap, np.arange(5.0), i)
    compare(permute, np.arange(5.0), i)
    compare(add_own, np.arange(5.0), i)
    compare(through_own, np.array([3, 1, 2, 0, 7]), np.arange(5))
    compare(read_before, np.arange(5.0), i, array(5))
    compare(chained, i, array(5))


def through_written(c, x, i):
    c[i] = 0
    x[c] += 1
    return x[1:] * c


def test_indices_that_were_written():
    compare(through_written, np.array([1, 2, 3]), np.arange(4.0), np.array([0, 2, 0]))


def in_turn(x, i):
    for k in range(3):
        x[i[k:]] += k
        x[i] = x[::-1]
    return x * 2


def test_one_after_another():
    f = compare(in_turn, np.arange(4.0), np.array([1, 3, 1, 0]), calls=3)
    assert "x: f64[4] inout" in loops(f)[0]


# Errors


def put(x, i, v):
    np.put(x, i, v)
    np.put(x, i + 1, 5, mode="wrap")


def two(x, y, i, j):
    x[i] = 1
    np.add.at(y, j, x[:2])
    return y * 2


def store_then_read(x, y, i, j):
    y += 1
    z = x[i] * 2
    y[j] = 5
    return z


@pytest.mark.parametrize("i", [[0, 1], [0, 5], [-5, -6]])
@pytest.mark.parametrize("j", [[0, 0], [-1, 9], [2**40, 0]])
def test_out_of_bounds(i, j):
    x, y = np.arange(5.0), np.arange(6.0)
    compare(two, x, y, np.array(i), np.array(j))
    compare(store_then_read, x, y, np.array(i), np.array(j))
    compare(store_pairs, array((5, 6)), np.array(i), np.array(j), array(2))
    compare(slices, array((6, 6)), np.array(i), array((2, 6)))
    compare(along, array((2, 2)), np.array([i, j]), array((2, 2)))
    compare(put, array((2, 3)), np.array([*i, *j]), array(4))


def local(i, j, v):
    made = np.zeros(5)
    made[i] = v
    made = np.sort(made)
    made[i] += 1
    return made[j] * 2


def test_out_of_bounds_after_a_local_array_was_written():
    good, bad = np.array([0, -1]), np.array([7, 0])
    for i, j in ((good, good), (good, bad), (bad, good)):
        compare(local, i, j, array(2), native=False)


def test_a_value_that_does_not_fit_raises_as_numpy_does():
    compare(store, np.zeros(5), np.array([0, 1]), np.ones(3), native=False)
    compare(add_at, np.zeros(5, np.int64), np.array([0, 1]), np.ones(2), native=False)
    compare(store, np.zeros(5), np.array([0.0, 1]), np.ones(2), native=False)


def test_a_read_only_array_is_refused():
    x = np.zeros(5)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        tnp.jit(store)(x, np.array([0]), 1.0)


# Where it is written


def test_scatters_are_written_to_the_caller():
    for function in (store_computed, add, add_at, mixed, slices):
        args = {
            mixed: (array((5, 3)), np.array([0, 2, 2, 1]), np.array([1, 1, 0]), array((5, 5))),
            slices: (array((6, 6)), np.array([0, 2]), array(6)),
        }.get(function, (array(5), REPEATED, array(8)))
        f = compare(function, *args)
        assert "inout" in loops(f)[0], function


@pytest.mark.parametrize("threads", [1, 2])
def test_many(threads):
    before = tnp.get_num_threads()
    try:
        tnp.set_num_threads(threads)
        i = rng().integers(-3000, 3000, 40_000)
        compare(store_computed, array(3000), i, array(40_000))
        compare(add_at, array(3000), i, array(40_000))
        compare(add_at, array((3000, 7), "float32"), i, array((40_000, 7), "float32"))
        compare(ellipsis, array((60, 60, 60)), i[:60] % 60, array((60, 60, 60)))
    finally:
        tnp.set_num_threads(before)


def expensive(x, i, v):
    x[i] = np.exp(np.sin(v))


def test_what_is_dear_is_computed_before_it_is_scattered():
    """A loop in a fixed order has neither vectors nor threads."""
    f = tnp.jit(expensive, executors=["llvm[everything]"])
    x, i, v = np.zeros(50), rng().integers(0, 50, 300), array(300)
    f(x, i, v)
    y = np.zeros(50)
    expensive(y, i, v)
    np.testing.assert_allclose(x, y, rtol=1e-14)
    (line,) = (line for line in loops(f) if "exp" in line)
    assert line.startswith("t") and line.endswith("= exp(sin(v[i0]))")
