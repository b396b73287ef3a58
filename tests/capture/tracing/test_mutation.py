"""Writes: through views, to arguments, to arguments that overlap; and that eager's errors leave eager's effects."""

import copy

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same


def aliases(results, arrays):
    """Which pairs of arrays share memory."""
    flat = [x for x in (*results, *arrays) if isinstance(x, np.ndarray)]
    return [[np.shares_memory(a, b) for b in flat] for a in flat]


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def same(f, *args, executors=None):
    """Runs ``f`` eagerly and jitted, twice, on copies; compares results, arguments, and who shares memory with whom."""
    g = tnp.jit(f, executors=executors)
    for _ in range(2):
        eager, jitted = copy.deepcopy(args), copy.deepcopy(args)
        expected, actual = f(*eager), g(*jitted)
        assert_same(actual, expected, exact=executors is None)
        assert_same(jitted, eager, exact=executors is None, what="arguments")
        assert aliases(as_tuple(actual), jitted) == aliases(as_tuple(expected), eager)
    assert tnp.last_traces(g), "it ran eagerly"
    return g


def a34():
    return np.arange(12.0).reshape(3, 4)


def chain_of_views(x):
    x[1:, ::2].T[0] = -1
    return x


def in_place_on_argument(x):
    x += 1
    x *= 2
    return None


def view_sees_later_write(x):
    v = x[1]
    x += 10
    return v + 0, v


def write_through_view_of_result(x):
    y = x * 2
    v = y[:, 1]
    v -= 100
    return y


def returns_views_of_argument(x):
    return x[1:], x.T, x


def returns_array_and_its_view(x):
    y = x + 1
    return y, y[0]


def overlapping_source(x):
    x[1:] = x[:-1]
    x[:, 1:] += x[:, :-1]
    return x


def copies_are_apart(x):
    y = x.copy()
    y[0] = 5
    x[1] = y[0]
    return y


def old_value_is_kept(x):
    old = x + 0
    x[0] = 1
    return old - x


def swap_rows(x):
    x[0], x[1] = x[1].copy(), x[0].copy()
    return x


def swap_rows_wrongly(x):
    x[0], x[1] = x[1], x[0]
    return x


def tuple_store(x):
    x[0] = x[-1] = 7
    x[1, 0], x[1, 1] = 3, 4
    return x


def chained_store(x):
    x[1:][0] += 3
    x[:2][1][2:] = 0
    return x


def out_argument(x, y):
    np.add(x, 1, out=y)
    r = np.multiply(y, 2, out=y[...])
    return r


def out_with_where(x, y):
    return np.sqrt(x, where=x > 4, out=y)


def flat_store(x):
    x.flat[::3] = -1
    x.ravel()[1] = 50
    x.reshape(-1)[2] = 60
    return x


def reshape_of_transpose_copies(x):
    y = x.T.reshape(-1)
    y[0] = 99
    return y


def scalar_is_not_a_view(x):
    s = x[0, 0]
    s += 100
    return s


def scalar_taken_before_a_write(x):
    first = x[0]
    corner = first[0]
    x += 1
    return corner, x[1, 1]


def zero_d_array(x):
    total = np.zeros(())
    for i in range(3):
        total += x[i].sum()
    v = x[1, 2, ...]
    v += 5
    return total


def mask_writes(x):
    x[x > 5] = 0
    x[x == 0] += 2
    x[[0, 2], 1] *= 3
    return x


def fill_sort_put(x):
    x[2].fill(9)
    x[0, ::-1].sort()
    np.put(x, [0, 5], [-1, -2])
    np.fill_diagonal(x, 0.5)
    return x


def casts_on_store(i, x):
    i[0] = x[0]
    i[1:, 1] = 2.9
    return i


def diagonal_write(x):
    d = np.einsum("ii->i", x[:, :3])
    return d + 0


def both_arguments(x, y):
    x, y = y, x
    x += 1
    y -= 1
    return x, y


def write_then_read_many_views(x):
    a, b, c = x[0], x[:, 0], x[::2, ::2]
    a += 1
    b += 10
    c += 100
    return a + 0, b + 0, c + 0


@pytest.mark.parametrize("executors", [None, ("numpy[prims]",)], ids=["numpy", "numpy[prims]"])
@pytest.mark.parametrize(
    "f",
    [
        chain_of_views, in_place_on_argument, view_sees_later_write, write_through_view_of_result,
        returns_views_of_argument, returns_array_and_its_view, overlapping_source, copies_are_apart, old_value_is_kept,
        swap_rows, swap_rows_wrongly, tuple_store, chained_store, flat_store, reshape_of_transpose_copies,
        scalar_is_not_a_view,
        scalar_taken_before_a_write, zero_d_array, mask_writes, fill_sort_put, write_then_read_many_views,
    ],
)  # fmt: skip
def test_one_array(f, executors):
    same(f, a34(), executors=executors)


@pytest.mark.parametrize("executors", [None, ("numpy[prims]",)], ids=["numpy", "numpy[prims]"])
@pytest.mark.parametrize("f", [out_argument, out_with_where, both_arguments])
def test_two_arrays(f, executors):
    same(f, a34(), a34() * 2, executors=executors)


def test_stores_convert_as_assignment_does():
    same(casts_on_store, np.arange(6).reshape(2, 3), np.array([1.5, 2.7, -3.2]))


def test_a_stencil_is_not_copied():
    def f(u, v):
        v[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u += v

    g = same(f, np.arange(9.0), np.ones(9))
    program = tnp.last_traces(g)[-1].python()
    assert "np.array(" not in program and "copy" not in program and "[...]" not in program


def test_the_same_array_twice():
    def f(x, y):
        x[1:] += y[:-1]
        return y

    g = tnp.jit(f)
    for alias in (lambda: (lambda a: (a, a))(np.arange(5.0)), lambda: (np.arange(5.0), np.arange(5.0))):
        x, y = alias()
        ex, ey = alias()
        np.testing.assert_array_equal(g(x, y), f(ex, ey))
        np.testing.assert_array_equal(x, ex)
    assert tnp.cache_info(g).misses == 2


def test_overlapping_views_as_arguments():
    def f(x, y):
        x += 1
        y *= 2
        return x - y

    g = tnp.jit(f)
    a, b = np.arange(6.0), np.arange(6.0)
    np.testing.assert_array_equal(g(a[:3].copy(), a[3:].copy()), f(b[:3].copy(), b[3:].copy()))
    with pytest.warns(tnp.EagerFallbackWarning, match="overlap"):
        np.testing.assert_array_equal(g(a[:4], a[2:]), f(b[:4], b[2:]))
    np.testing.assert_array_equal(a, b)


def test_an_argument_that_is_also_a_closure_variable():
    shared = np.arange(4.0)

    def f(x):
        x += 1
        return shared * 2

    g = tnp.jit(f)
    np.testing.assert_array_equal(g(np.zeros(4)), np.arange(4.0) * 2)
    np.testing.assert_array_equal(g(shared), np.arange(1.0, 5.0) * 2)


def test_read_only_arguments_raise_what_numpy_raises():
    x = np.zeros(3)
    x.flags.writeable = False

    def f(x):
        x[0] = 1

    with pytest.raises(ValueError, match="assignment destination is read-only"):
        tnp.jit(f)(x)


def test_a_program_for_writable_memory_is_not_used_for_read_only_memory():
    def f(x):
        x += 1

    g = tnp.jit(f)
    g(np.zeros(3))
    x = np.zeros(3)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        g(x)
    assert x[0] == 0


@pytest.mark.parametrize("stop_at", [0, 1, 2])
def test_an_error_of_the_program_leaves_what_eager_leaves(stop_at):
    def f(x, indices):
        x[0] = 1
        for k in range(3):
            x[1] += x[indices[k]]
        x[2] = 9

    indices = np.zeros(3, int)
    x, e = np.arange(4.0), np.arange(4.0)
    g = tnp.jit(f)
    g(x.copy(), indices)
    indices[stop_at] = 10
    for run, a in ((f, e), (g, x)):
        with pytest.raises(IndexError, match="index 10 is out of bounds"):
            run(a, indices)
    np.testing.assert_array_equal(x, e)


def test_a_refused_call_leaves_its_arguments_untouched():
    def f(x, y):
        x[0] = 1
        return y + x

    x = np.zeros(3)
    with pytest.raises(tnp.TraceError):
        tnp.jit(f, strict=True)(x, np.array(["a", "b", "c"]))
    assert x[0] == 0


def test_linear_algebra_errors_come_at_their_place():
    def f(x, m):
        x[0] = 1
        y = np.linalg.inv(m)
        x[1] = 2
        return y

    g = tnp.jit(f)
    g(np.zeros(2), np.eye(2))
    x = np.zeros(2)
    with pytest.raises(np.linalg.LinAlgError):
        g(x, np.zeros((2, 2)))
    np.testing.assert_array_equal(x, [1, 0])


def test_a_bool_array_squared_is_int8_as_in_numpy():
    a = np.array([True, False])
    for executors in (None, ["numpy"], ["llvm[everything]"]):
        f = tnp.jit(lambda a: (a**2, a**3, np.power(a, 2)), executors=executors)
        assert_same(f(a), (a**2, a**3, np.power(a, 2)), exact=True)


def test_comparisons_of_flat_iterators_are_arrays():
    def f(x, y):
        first = np.where(x.flat != 0)[0]
        return first, x.flat == y, x.T.flat > 1, 2 >= x.flat, x.flat < y.flat, (x.flat <= 1).sum()

    x = np.arange(6).reshape(2, 3) % 4
    jitted = tnp.jit(f)
    for y in (x.ravel()[::-1], np.ones(6, int)):
        assert_same(jitted(x, y), f(x, y))
