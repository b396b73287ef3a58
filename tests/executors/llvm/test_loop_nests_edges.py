"""Edges of whole loops in native code: what must not be assumed, and what must raise as in eager."""

import numpy as np
import pytest

import tnp
from tests.executors.llvm.test_loop_nests import EVERYTHING, native, whole
from tests.flow_checks import same_as_eager
from tnp.testing import assert_same


def test_indices_that_were_positions_and_were_changed():
    def f(x, n, by):
        total = 0.0
        for i in range(n):
            where = np.nonzero(x > 0)[0]
            where[0] = i * by
            total += x[where].sum()
        return total

    native(f, lambda: [whole(8, 1), 3, 1], lambda: [whole(8, 1), 3, 10**9])


@pytest.mark.parametrize("dtype", ["u1", "i1", "i4", "u4", "u8", "i8"])
def test_numbers_that_an_array_of_integers_does_not_hold(dtype):
    def whole_numbers(x, n, k):
        for i in range(n):
            x[i] = k + i

    def floats(x, n, k):
        for i in range(n):
            x[i] = i * k

    ends = [np.iinfo(dtype).min, np.iinfo(dtype).max]
    native(whole_numbers, *(lambda k=k: [np.zeros(4, dtype), 4, k] for k in (3, -2, 300, ends[0] + 1, ends[1] - 1)))
    float_ends = [-0.3, -0.4, 50.9, 99.5, ends[0] / 3, ends[1] / 3, np.inf, np.nan, 2.0**61, 2.0**63]
    native(floats, *(lambda k=float(k): [np.zeros(4, dtype), 4, k] for k in float_ends))


def test_elements_that_share_a_place():
    def rolled(a, b, n):
        for i in range(n):
            for j in range(n):
                a[i, j] += b[j, i]
            a[i] += b[i]

    def straight(a, b, n):
        a += b * n
        a[1, 1] += b[0, 1]

    for strides in ((0, 8), (16, 8), (8, 0)):
        for f in (rolled, straight):

            def make(strides=strides):
                return [np.lib.stride_tricks.as_strided(whole(16), (4, 4), strides), whole((4, 4), 1), 4]

            expected, args = make(), make()
            f(*expected)
            tnp.jit(f, executors=EVERYTHING)(*args)
            assert_same(args, expected)


def test_steps_beyond_which_no_index_is():
    def f(x, start, stop):
        for i in range(start, stop, 2**63 - 1):
            x[i] += 1

    for start in (0, 5):
        expected, x = whole(12), whole(12)
        f(expected, start, 10)
        tnp.jit(f, executors=EVERYTHING)(x, start, 10)
        assert_same(x, expected)


def test_what_is_restored_of_an_empty_array():
    def f(x, y, c):
        for i in range(len(y)):
            x[i:] = 2.0
            y[i] += c
            c = c * 3
        return c

    native(f, lambda: [np.zeros(0), whole(4), 2**60], lambda: [np.zeros((0, 3)), whole(4), 2**60])


def test_temporaries_whose_bound_is_more_memory_than_there_is():
    def f(x, y, n):
        total = x[0]
        for i in range(2, n):
            y[0] += 1
            table = np.exp(x[:i, None] * x[None, :i])  # at most 58 GB, as far as the compiler knows
            for j in range(i):
                total = total + table[j].sum()
            total = total + table.max()
        return total

    native(f, lambda: [np.full(85_000, 0.5), np.zeros(1), 5])


def test_shapes_that_do_not_fit_are_named_as_in_eager():
    def store(x, y):
        for i in range(2, len(x)):
            x[:i] = y[: i + 1]

    def add(x, y):
        for i in range(2, len(x)):
            x[:i] = x[:i] + y[: i + 1]

    def block(x, y):
        for i in range(2, len(x)):
            x[:i, 1:3] = y[1 : i + 2, :2]

    for f in (store, add):
        native(f, lambda: [np.zeros(20), np.ones(20)])
    native(block, lambda: [np.zeros((20, 20)), np.ones((20, 20))])


# Arrays that are bound anew from other places of themselves


def test_values_made_of_the_last_one_change_buffers():
    def f(x, n):
        u = x
        for i in range(n):
            u = u[::-1] * 0.5 + x * i
        return u

    native(f, *(lambda n=n: [whole((11,)), n] for n in (1, 2, 5)))


def test_a_loop_inside_of_a_loop_begins_in_its_first_buffer_again():
    def f(x, out, n):
        for j in range(out.shape[0]):
            u, v = x * j, x + j
            for _i in range(n):
                u, v = u[::-1] * 0.5 + v, np.cumsum(v[::-1])[::-1] + u
                if u[0] > 40:
                    break
            out[j] = u - v

    native(f, *(lambda n=n: [whole((11,)), whole((12, 11)), n] for n in (1, 2, 3)))


def test_what_a_condition_and_a_branch_read_is_in_the_buffer_of_that_round():
    def f(x, n):
        u, i, total = x, 0, 0.0
        while i < n and u.sum() < 60:
            u = u[::-1] + 1
            if u[0] > 2:
                total += u[-1]
            else:
                u = u[::-1] * 2
            i += 1
        return total, u

    same_as_eager(f, *(lambda n=n: [whole((7,), n), n] for n in (1, 2, 9)), executors=(EVERYTHING,))


def test_masked_arrays_that_become_shorter():
    def f(x, out, n):
        z, k = x, np.arange(len(x))
        for i in range(n):
            keep = z > i
            out[i] = k[keep].sum()
            z, k = z[keep], k[keep]
        return out

    same_as_eager(
        f, lambda: [whole((50,)), np.zeros(5), 5], lambda: [whole((50,)), np.zeros(5), 3], executors=(EVERYTHING,)
    )


# Rows and columns that are read while the whole is written


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda a: a[::-1, ::-1]])
def test_a_row_and_a_column_are_copied_before_the_whole_is_written(layout):
    def f(a, n):
        for k in range(n):
            a[:] = np.minimum(a, np.add.outer(a[:, k], a[k, :]))
            a[1:] += a[0] * 2 - a[1:, k : k + 1]
            a[:, 1:] -= a[:, :1] * (a[k, 1] > 0)

    native(f, lambda: [layout(whole((12, 12))), 9])


def test_more_than_a_row_is_read_of_what_is_written():
    def f(a, n):
        for k in range(n):
            a[:] = a[::-1] + a[:, ::-1] * 0.5 + a[k]
            a[2:5] = a[:3] * a[k : k + 3].sum(axis=0)
            a[:, 0] = a @ a[0]

    native(f, lambda: [whole((12, 12)), 4])


# Reductions whose neighbours stay


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i2", "?", "c16"])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
def test_reductions_of_rows_that_stay(dtype, layout):
    def f(a, out, n):
        for i in range(n):
            out[i] = a[i : i + 3].sum(axis=0)[1] + (a * a[:, i : i + 1]).sum(axis=(0, 1))
            out[i] += a.prod(axis=1)[i] + a.any(axis=0)[1]
            out[i] -= a.sum(axis=2)[i, 2] > i

    native(f, lambda: [layout(whole((5, 6, 7)).astype(dtype)), whole((3, 7)).astype(complex), 3])


def test_extremes_of_rows_that_stay():
    def f(a, out, n):
        for i in range(n):
            out[i] = a.max(axis=0) - a[i:].min(axis=0) + np.abs(a).max(axis=1)[i]

    native(f, lambda: [whole((6, 6)), whole((3, 6)), 3])


# Lengths that do not fit


def test_arrays_of_indices_that_do_not_fit_raise_as_in_numpy():
    def of_values(x, k, v, n):
        for i in range(n):
            x[k[: i + 2]] = v[: i + 3]

    def of_indices(m, k, v, n):
        for i in range(n):
            m[k[: i + 2], k[: i + 3]] = v[0]

    def of_what_is_read(m, k, v, n):
        for i in range(n):
            v[i] = m[k[: i + 2], k[: i + 3]].sum()

    k = np.arange(5)
    same_as_eager(of_values, lambda: [whole((9,)), k, whole((9,)), 3], executors=(EVERYTHING,))
    same_as_eager(of_indices, lambda: [whole((9, 9)), k, whole((9,)), 3], executors=(EVERYTHING,))
    same_as_eager(of_what_is_read, lambda: [whole((9, 9)), k, whole((9,)), 3], executors=(EVERYTHING,))


def test_a_large_array_of_which_rows_are_read_is_written_without_a_copy_of_it():
    def f(a, n):
        for k in range(n):
            a[:] = np.minimum(a, np.add.outer(a[:, k], a[k, :]))

    native(f, lambda: [np.abs(whole((200, 200))), 4], executors=None)


def test_branches_on_bits_are_computed_on_both_sides(monkeypatch, tmp_path):
    monkeypatch.setenv("TNP_DUMP", "opt")
    monkeypatch.setenv("TNP_DUMP_DIR", str(tmp_path))
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")

    def f(x, poly):
        crc = 0xFFFF
        for b in x:
            for _ in range(8):
                if (crc & 1) ^ (b & 1):
                    crc = (crc >> 1) ^ poly
                else:
                    crc >>= 1
                b >>= 1
        return crc

    x = np.arange(50, dtype=np.uint8)
    jitted = tnp.jit(f)
    assert_same(jitted(x, 0x8408), f(x, 0x8408))
    texts = [path.read_text() for path in tmp_path.glob("llvm_fusion0*")]
    assert len(texts) == 1 and texts[0].count("!unpredictable") == 8  # of selects: they have become no branches


@pytest.mark.parametrize("low", [0.0, 9.0])
def test_a_loop_that_ends_with_a_view_leaves_the_callers_own_array_if_it_does_not_run(low):
    def halved(a):
        while a[0, 0] > 5:
            a = (a * 0.5).T.copy().T
        return a

    def both(a):
        v = a
        while a.flat[-1] > 5:
            a, v = (a * 0.5)[:, ::-1], a
        return a, v

    for x in (np.full((5, 8), low), np.full((5, 16), low)[:, ::2], np.full((8, 5), low).T):
        jitted = tnp.jit(halved, strict=True)
        assert_same(jitted(x), halved(x))
        assert (jitted(x) is x) == (halved(x) is x)
        assert "the whole while_loop is native" in str(tnp.explain(jitted))
        found, expected = tnp.jit(both, strict=True)(x), both(x)
        assert_same(found, expected)
        assert [y is x for y in found] == [y is x for y in expected]


def test_only_loops_that_are_short_as_a_whole_are_written_out(monkeypatch, tmp_path):
    """Written out, three nested loops over 4 x 6 x 6 elements are 22,000 instructions, which LLVM takes seconds to compile."""
    monkeypatch.setenv("TNP_DUMP", "ir")
    monkeypatch.setenv("TNP_DUMP_DIR", str(tmp_path))
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")

    def diffuse(u, n):
        u = u.copy()
        d, f = np.zeros_like(u), np.zeros_like(u)
        for _ in range(n):
            d[:-1] = np.diff(u, axis=0)
            f[:] = np.exp(-(d**2)) * d
            f[:, 1:] -= f[:, :-1] * 0.5
            u += 0.1 * f
        return u

    u = np.random.default_rng(0).random((4, 6, 6))
    assert_same(tnp.jit(diffuse, executors=EVERYTHING)(u, 3), diffuse(u, 3))
    texts = [path.read_text() for path in tmp_path.iterdir()]
    assert texts and max(text.count("\n") for text in texts) < 1000
