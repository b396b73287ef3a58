"""Masked values: where the elements that a mask selects need not be gathered, and where they must be."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tnp.executors import llvm
from tnp.testing import assert_same, make_array

pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="no native code here")


def prims_of(f):
    """The names of the prims that ran, those inside of regions included."""

    def names(bsyms):
        for b in bsyms:
            if b.subsymbols:
                yield from names(b.subsymbols)
            else:
                yield b.sym.name

    return list(names(tnp.last_traces(f)[-1].body))


def compare(f, *args, gathers=False, calls=2, exact=False):
    """Compares results and arguments with eager; ``gathers`` says whether elements are gathered on the way."""
    jitted = tnp.jit(f)
    for _ in range(calls):
        mine, eagers = [np.copy(a) for a in args], [np.copy(a) for a in args]
        with np.errstate(all="ignore"):
            expected = f(*eagers)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = jitted(*mine)
        assert_same(found, expected, exact=exact)
        assert_same(mine, eagers, exact=exact, what="arguments")
    assert ("nonzero" in prims_of(jitted)) is gathers, tnp.last_traces(jitted)[-1]
    return jitted


def x_and_y(shape=(40,), dtype="float64"):
    return make_array(shape, dtype=dtype), make_array(shape, dtype=dtype, seed=1)


def test_a_masked_assignment_is_one_region():
    def f(x, y):
        m = x < y
        x[m] = y[m] * 0.5 + 1

    g = compare(f, *x_and_y())
    assert tnp.last_traces(g)[-1].body[0].sym.name == "llvm_fusion0"
    assert "index_put" not in prims_of(g)


def test_an_update_under_a_mask():
    def f(x, y):
        x[x > 0] += 2
        x[y > 0] *= y[y > 0]
        x[(x < 0) & (y < 0)] -= 1.5
        return x + y

    compare(f, *x_and_y())
    compare(f, *x_and_y((5, 7)))


def test_the_logarithm_of_what_is_positive_warns_of_nothing():
    def f(x):
        out = np.zeros_like(x)
        m = x > 0
        out[m] = np.log(x[m])
        return out

    compare(f, x_and_y()[0])


def test_a_division_by_what_is_not_zero():
    def f(a, b):
        m = b != 0
        a[m] //= b[m]
        return a

    compare(f, *x_and_y(dtype="int32"), exact=True)


def test_rows():
    def f(x, y, keep):
        x[keep] = y[keep] * 2 + np.arange(4.0)
        return x[keep].sum(axis=0), x[keep].sum(axis=1).sum(), x[keep].max(axis=1).sum()

    compare(f, *x_and_y((6, 4)), np.array([True, False, True, True, False, False]))


def test_a_mask_of_the_leading_dimensions():
    def f(x, y, m):
        x[m] = y[m] - 1
        x[m] += np.arange(3.0)
        return x[m].sum()

    compare(f, *x_and_y((4, 5, 3)), make_array((4, 5), dtype="bool"))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex128"])
def test_reductions(dtype):
    def f(x, m):
        return x[m].sum(), x[m].prod(), x[m].any(), x[m].all(), x[m].mean()

    x, m = make_array((50,), dtype=dtype, low=None if dtype == "bool" else 0, high=2), make_array((50,), dtype="bool")
    jitted = tnp.jit(f)
    for mask in (m, ~m, m & False, m | True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns of the mean of nothing
            expected = f(x, mask)
            found = jitted(x, mask)
        assert_same(found, expected, exact=False)


def test_the_sum_of_negative_zeros():
    def f(x, m):
        return x[m].sum()

    x = np.array([-0.0, 1.0, -0.0])
    assert np.signbit(tnp.jit(f)(x, x == 0)) == np.signbit(f(x, x == 0))


def test_how_many_there_are():
    def f(x):
        m = x > 0
        return x[m].size, len(x[m]), np.count_nonzero(m), x[m].sum() / x[m].size

    compare(f, x_and_y()[0])


def test_what_is_returned_is_gathered():
    def f(x, y):
        m = x > 0
        kept = x[m] * 2
        y[m] = kept
        return kept

    compare(f, *x_and_y(), gathers=True)


def test_what_is_gathered_does_not_spoil_the_rest():
    def f(x, y):
        m = x > 0
        y[y > 1] = 1
        y[m] = x[m] + 1
        return x[m][:2], y

    g = compare(f, *x_and_y(), gathers=True)
    assert "index_put" not in prims_of(g)


@pytest.mark.parametrize("function", [np.max, np.min])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "int64", "float16", "float32", "float64"])
def test_extremes(dtype, function):
    def f(x, y, m):
        return function(x[m]), function(x[m] - y[m] if x.dtype != bool else x[m])

    x, y = x_and_y((50,), dtype)
    limits = np.finfo(dtype) if x.dtype.kind == "f" else None if dtype == "bool" else np.iinfo(dtype)
    for k, extreme in enumerate([True, False] if limits is None else [limits.min, limits.max]):
        x[k] = extreme
    m = make_array((50,), dtype="bool")
    jitted = compare(f, x, y, m, exact=True)
    only = np.zeros(50, dtype=bool)
    for k in (0, 1, 7):
        only[:], only[k] = False, True
        with np.errstate(all="ignore"):
            assert_same(jitted(x, y, only), f(x, y, only), exact=True)
    if x.dtype.kind == "f":
        x[2] = np.nan
        only[:3] = True
        assert np.isnan(jitted(x, y, only)[0])
        x[:] = function(np.array([-np.inf, np.inf])) * -1  # what never wins, and is all there is
        assert_same(jitted(x, y * 0, m), f(x, y * 0, m), exact=True)


def test_the_maximum_of_nothing_is_an_error():
    def f(x, y):
        y += 1
        x[x < -5] = 0
        top = x[x > 0].max()
        y += top
        return top

    compare(f, *x_and_y())
    for g in (f, tnp.jit(f)):
        x, y = -np.arange(9.0), np.zeros(3)
        with pytest.raises(ValueError, match="zero-size array to reduction operation maximum which has no identity"):
            g(x, y)
        assert np.array_equal(y, np.ones(3)) and np.array_equal(x[6:], np.zeros(3))


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_variances(dtype):
    def f(x, m):
        return x[m].var(), x[m].std(), x[m].var(ddof=1), (x[m] * 2).std(ddof=3)

    x, m = make_array((50,), dtype=dtype), make_array((50,), dtype="bool")
    jitted = compare(f, x, m)
    few = np.zeros(50, dtype=bool)
    for n in range(4):
        few[:n] = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns of the variance of nothing
            expected, found = f(x, few), jitted(x, few)
        assert_same(found, expected, exact=False)


def test_reductions_of_rows():
    def f(x, m):
        return x[m].max(axis=0), x[m].min(axis=1).sum(), x[m].var(axis=0), x[m].var(axis=1).sum(), x[m].std()

    compare(f, make_array((12, 5), dtype="float64"), make_array((12,), dtype="bool"))
    compare(f, make_array((4, 3, 5), dtype="float64"), make_array((4, 3), dtype="bool"))


def test_a_mask_that_nonzero_makes():
    def f(x, y):
        x[np.nonzero(y)] = 1
        y[y.nonzero()] += 2
        return x[np.nonzero(x > 1)].sum()

    x, y = make_array((9,), dtype="int64"), make_array((9,), dtype="int64", seed=1)
    y[::2] = 0
    compare(f, x, y)


def test_the_first_and_the_last_position_are_extremes():
    def ends(x, limit):
        found = np.nonzero(x > limit)[0]
        return found[0], found[-1], x[found].sum(), np.flatnonzero(x)[0], x[found[0] :].sum()

    x = np.array([0.0, 3.0, -1.0, 2.0, np.nan, 5.0, 0.0])
    jitted = compare(ends, x, np.array(1.0))
    for limit in (-2.0, 2.5, 4.0):
        assert_same(jitted(x, np.array(limit)), ends(x, np.array(limit)))
    for at in (0, -1):
        for g in (f := lambda x: np.nonzero(x > 9)[0][at], tnp.jit(f)):
            with pytest.raises(IndexError, match=rf"index {at} is out of bounds for axis 0 with size 0"):
                g(x)


def test_the_first_position_is_a_scalar_where_it_is_converted():
    def f(x):
        total = 0.0
        for v in x:
            total += v * 2
        return np.nonzero(x > total / 100)[0][0].astype(np.int64), total

    compare(f, np.linspace(0, 1, 50))


def test_positions_that_are_made_anyhow_have_their_first_read():
    def f(x):
        found = np.nonzero(x > 0)[0]
        return found[0], found * 2, found[1]

    compare(f, x_and_y()[0], gathers=True)
    compare(lambda x: (np.nonzero(x > 0)[0][-1], np.nonzero(x[:0])), x_and_y()[0], gathers=True)


def test_groups_of_equal_elements():
    def groups(x, y):
        values, tops, i = np.zeros(0), np.zeros(0), 0
        for _ in range(len(x)):
            equal = np.nonzero(x == x[i])[0]
            values, tops = np.hstack((values, x[i])), np.hstack((tops, y[equal].max()))
            i = equal[-1] + 1
            if i >= len(x):
                break
        return values, tops

    x, y = x_and_y((60,))
    compare(groups, np.sort(np.round(x * 4)), y)


def test_extremes_of_complex_numbers_are_gathered():
    compare(lambda x, m: x[m].max(), make_array((9,), dtype="complex128"), make_array((9,), dtype="bool"), gathers=True)


def test_values_of_another_mask():
    def f(x, y, m, k):
        x[m] = y[k]
        return x

    x, y = x_and_y((6,))
    m, k = np.array([1, 1, 0, 0, 1, 0], bool), np.array([0, 1, 1, 1, 0, 0], bool)
    compare(f, x, y, m, k, gathers=True)
    with pytest.raises(ValueError, match="cannot assign"):
        tnp.jit(f)(x, y, m, k & False | (np.arange(6) < 2))
    g = tnp.jit(f)
    g(x, y, m, k)
    mine = x.copy()
    with pytest.raises(ValueError, match="NumPy boolean array indexing assignment"):
        g(mine, y, m, np.arange(6) < 2)
    assert_same(mine, x)


def test_a_mask_that_changes():
    def f(x):
        m = x > 0
        x[m] -= 1
        m[::2] = False
        x[m] += 10
        return x[m].sum()

    compare(f, x_and_y()[0])


def test_all_of_what_was_selected_is_replaced():
    def f(x, m):
        z = x[m]
        z[:] = 3
        z += 1
        x[m] = z

    compare(f, x_and_y()[0], make_array((40,), dtype="bool"))


def test_what_is_made_for_as_many():
    def f(x, m):
        z = x[m]
        x[m] = np.arange(len(z)) * 2.0
        z[:] = x[m] + np.zeros(z.size)
        return z.sum(), np.ones(z.size)

    compare(f, x_and_y()[0], make_array((40,), dtype="bool"), gathers=True)


def test_few_are_selected_from_much_work():
    def f(x, m):
        x[m] = np.exp(np.sin(np.cos(np.tan(np.log(np.exp(np.tanh(np.arctan(x[m]))) + 2)))))

    compare(f, x_and_y()[0], make_array((40,), dtype="bool"), gathers=True)


def test_the_numpy_executor_gathers():
    def f(x):
        x[x > 0] = np.sqrt(x[x > 0])
        return x

    jitted = tnp.jit(f, executors=["numpy"])
    x = x_and_y()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(jitted(x.copy()), f(x.copy()))


def test_arrays_that_native_code_does_not_take():
    def f(x, y):
        m = x > 0
        x[m] = np.sqrt(x[m]) + y[m]
        return x

    jitted = tnp.jit(f)
    raw = np.zeros(8 * 20 + 1, np.uint8)[1:].view(np.float64)
    raw[:] = np.linspace(-3, 3, 20)
    y = np.arange(20.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = f(raw.copy(), y)
        assert_same(jitted(raw, y), expected)


def test_stores_that_nobody_could_see_are_left_out():
    def f(x, y):
        x[x > 0] = 1
        x[y > 0] = 2
        x[x == 2] = y[x == 2]

    g = compare(f, *x_and_y())
    assert [b.sym.name for b in tnp.last_traces(g)[-1].body].count("copy_") == 0
    regions = [b for b in tnp.last_traces(g)[-1].body if b.sym.name.startswith("llvm_fusion")]
    assert len(regions) == 1


def test_a_store_before_an_error_is_kept():
    def f(x, i):
        x[x > 0] = 1
        x[i] = 5
        x[x == 1] = 2

    x = np.array([1.0, -1.0, 3.0])
    for i in (np.array([0]), np.array([7])):
        mine, eagers = x.copy(), x.copy()
        jitted = tnp.jit(f)
        if i[0] == 0:
            jitted(mine, i), f(eagers, i)
        else:
            for g, a in ((jitted, mine), (f, eagers)):
                with pytest.raises(IndexError):
                    g(a, i)
        assert_same(mine, eagers)


@pytest.mark.parametrize("i", [1, 7])
def test_errors_of_what_is_unread_in_a_branch_are_kept(i):
    def f(x, flag, i):
        x[x >= 2] += 1
        if flag:
            np.array([2.0, 1])[[1, i]]
        return x

    for flag in (np.float32(0), np.float32(1)):
        mine, eagers = np.arange(4.0), np.arange(4.0)
        if i == 7 and flag:
            for g, a in ((tnp.jit(f), mine), (f, eagers)):
                with pytest.raises(IndexError, match="index 7 is out of bounds"):
                    g(a, flag, i)
        else:
            tnp.jit(f)(mine, flag, i), f(eagers, flag, i)
        assert_same(mine, eagers)


def test_unread_errors_of_floating_point_are_kept():
    def f(x, y):
        with np.errstate(invalid="raise"):
            np.sum(x, dtype="uint8")
        return y[y > 1].sum()

    for x in (np.ones(3), np.array([1.0, np.nan, 2.0])):
        outcomes = []
        for g in (tnp.jit(f), f):
            try:
                outcomes.append(g(x, np.arange(4.0)))
            except FloatingPointError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


OPERATIONS = ("x[m] = y[m] * 2", "x[m] += y[m]", "x[~m] = 0", "x[k] -= x[k] / 2", "y[m] = x[m]", "s = s + x[k].sum()",
              "m = m & (x > y)", "x[m] = -x[m]", "s = s + x[m].max(initial=0.0)", "s = s + x[x >= x.min()].min()", "y = y + x", "t = x[m]", "x[0] = x[k].size", "y[1:] = x[:-1]",
              "x[m & k] = y[m & k] + 1", "y[k] = s", "m[2:] = k[2:]", "x[m] = x[m][::-1]")  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=8), st.integers(0, 5))
def test_programs(tmp_path_factory, lines, seed):
    source = "\n    ".join(["def f(x, y, m, k):", "s, t = 0.0, x", *lines, "return s, t, x.sum(), m"])
    path = tmp_path_factory.mktemp("masks") / "program.py"
    path.write_text(source + "\n")
    scope = {}
    exec(compile(source + "\n", str(path), "exec"), scope)
    f = scope["f"]
    args = (*x_and_y((9,)), make_array((9,), dtype="bool", seed=seed), make_array((9,), dtype="bool", seed=seed + 1))
    mine, eagers = [a.copy() for a in args], [a.copy() for a in args]
    assert_same(tnp.jit(f)(*mine), f(*eagers), exact=False)
    assert_same(mine, eagers, exact=False)


def test_lengths_that_are_equal_and_not_the_same_symbol():
    shifts, others = np.arange(7.0), [np.arange(7.0)]

    def f(x, y):
        y -= shifts
        return np.add.outer(y[0][np.nonzero(x >= 0.5)], others[0])

    jitted = tnp.jit(f)
    for n, k in ((7, 7), (7, 7), (8, 8), (7, 8)):
        others[0] = np.arange(float(k))
        x = np.arange(2.0 * n)[::2]
        if n == 8:
            with pytest.raises(ValueError, match="broadcast"):
                jitted(x, np.ones((1, n)))
        else:
            assert_same(jitted(x, np.ones((1, n))), f(x, np.ones((1, n))))


def test_a_body_that_comes_to_read_a_size_of_the_program():
    def f(a):
        if a.all():
            for k in range(4, 1, -1):
                a[a > 3] += k
            np.unique(a.reshape(-1), return_counts=True)

    jitted = tnp.jit(f)
    for n in (3, 4, 5, 6):
        mine, theirs = np.arange(1, n + 1), np.arange(1, n + 1)
        jitted(mine)
        f(theirs)
        assert_same(mine, theirs)
