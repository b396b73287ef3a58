"""``as_strided`` and strides of arrays whose layout is known, and in-place variants of NumPy's functions."""

import warnings

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tnp
from tests.eager_checks import whole
from tnp.testing import assert_same

X = np.linspace(0.0, 3.0, 40)
TABLE = np.arange(30.0).reshape(6, 5)


def not_whole(f, *args):
    jitted = tnp.jit(f)
    mine, theirs = ([np.array(a) for a in args] for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        assert_same(jitted(*mine), f(*theirs))
    assert_same(mine, theirs)
    assert "eager" in str(tnp.explain(jitted)) or "in parts" in str(tnp.explain(jitted))


def framed(y, length, hop):
    count = 1 + (len(y) - length) // hop
    return as_strided(y, shape=(length, count), strides=(y.itemsize, hop * y.itemsize)) * 2


@pytest.mark.parametrize(
    "f",
    [
        lambda x: as_strided(x, (36, 5), (x.strides[0], x.strides[0])).sum(axis=1),
        lambda x: as_strided(x * 2, (36, 5), (8, 8)).max(axis=1),
        lambda x: as_strided(x, (10, 4), (32, 8)),
        lambda x: as_strided(x, (3, 40), (0, 8)) + 1,
        lambda x: as_strided(x, (10,), (32,)) * 2,
        lambda x: as_strided(x[5:], (20,), (8,)) + 1,
        lambda x: as_strided(x[::2], (5, 4), x[::2].strides * 2) + 1,
        lambda x: as_strided(x, (1, 5), (8, 8)) + 1,
        lambda x: as_strided(x, writeable=False) + 1,
        lambda x: framed(x, 16, 4),
        lambda x: framed(x.astype(np.float32), 16, 4),
    ],
)
def test_windows_of_vectors(f):
    whole(f, X)


def test_windows_of_tables():
    def f(a):
        s = a.strides
        steps = tuple(np.array(a.shape) - np.array((2, 2)) + 1)
        return as_strided(a, (5, 4, 2, 2), s + s).mean(axis=(2, 3)), as_strided(a, steps + (2, 2), a.strides * 2)

    whole(f, TABLE)

    def turned(a):
        b = a.T
        return as_strided(b, (4, 5, 2, 2), b.strides * 2) + 0, b.strides

    whole(turned, TABLE)


def test_windows_see_what_is_written():
    def f(x):
        w = as_strided(x, (36, 5), (8, 8))
        x[3] = 100
        return w.sum(axis=1)

    whole(f, X)


def test_strides_of_arrays_of_one_row_are_guarded():
    def f(a):
        return a.strides, a.sum()

    jitted = tnp.jit(f)
    for a in (X[None], np.ones((1, 40)), TABLE[:1], np.ones((40, 1))[:, 0][None]) * 2:
        assert_same(jitted(a), f(a))


def test_what_is_written_through_windows_is_pythons():
    def f(x):
        w = as_strided(x, (36, 5), (8, 8))
        w[3] = 7
        return x

    not_whole(f, X)


def test_elements_beyond_are_pythons():
    not_whole(lambda x: as_strided(x[:10], (20,), (8,)) + 0, X)
    not_whole(lambda x: as_strided(x[10:], (5,), (-8,)) + 0, X)


# In place


@pytest.mark.parametrize(
    "x", [np.array([1, np.nan, np.inf, -np.inf]), np.array([1 + 1j, np.nan]), np.arange(3)], ids=str
)
def test_nan_to_num_in_place(x):
    def f(x):
        y = np.nan_to_num(x, copy=False, nan=5.0)
        part = np.nan_to_num(x[1:], False)
        return y is x, part, np.nan_to_num(x)

    whole(f, x)


def test_ranges_in_subscripts():
    def f(x, n):
        a = x.min()
        return (
            np.r_[a : a + 2 : 0.25],
            np.r_[a : x.max() : 7j],
            np.r_[0 : int(x.sum()), 5, x],
            np.c_[np.arange(3), np.r_[a : a + 3]],
            np.r_[0:n],
            np.r_[a, 1:n],
        )

    whole(f, X, 3)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_delete_of_computed_positions(axis):
    def f(a):
        found = np.where(a[0, 1:] == a[0, :-1])
        return np.delete(a, found, axis), np.delete(a, found[0] - 1, axis), np.delete(a, np.argsort(a[:, 0])[:2], axis)

    table = TABLE.copy()
    table[0, 2:4] = table[0, 1]
    whole(f, table)
    whole(lambda a: np.delete(a, a[:, 0] > 3, 0), table)


def test_delete_beyond_the_end_raises():
    jitted = tnp.jit(lambda x, k: np.delete(x, k + 1))
    assert_same(jitted(X, np.array([3, 4])), np.delete(X, [4, 5]))
    with pytest.raises(IndexError):
        jitted(X, np.array([3, 400]))
    jitted = tnp.jit(lambda x: np.delete(x, x[1:] > 3))
    with pytest.raises(ValueError, match="boolean array argument"):
        jitted(X)


def test_strides_that_are_read_of_arrays_whose_sizes_varied():
    def f(x, k):
        x = np.sqrt(np.pad(x, ((0, -x.shape[0] % k), (0, -x.shape[1] % k))))
        shape = tuple(np.array(x.shape) // k) + (k, k)
        steps = tuple(np.array(x.strides) * k) + x.strides
        return np.lib.stride_tricks.as_strided(x, shape, steps).mean(axis=(2, 3))

    jitted = tnp.jit(f)
    for n in (9, 13, 18, 22):
        x = np.random.default_rng(n).random((n, n + 3))
        assert_same(jitted(x, 4), f(x, 4))


def test_flags_that_a_program_reads():
    def f(x, y):
        z = np.sin(y)
        found = [
            x.flags.c_contiguous,
            x.flags["F_CONTIGUOUS"],
            y.flags.owndata,
            y.flags["W"],
            y.flags.forc,
            x[0].flags.c_contiguous,
        ]
        return x * 2, found, [z.flags.contiguous, z[::2].flags["F"], z[1:].flags.c_contiguous]

    x = TABLE.copy()
    calls = [
        (x, X.copy()),
        (x.T, X.copy()),
        (x[::2], X[1:]),
        (x, X[::2]),
        (x[:, :1], X.copy()),
        (x[:4], np.arange(5.0)),
    ]
    jitted = tnp.jit(f, strict=True)
    for args in (*calls, *calls):
        assert_same(jitted(*args), f(*args))
    assert tnp.cache_info(jitted).misses <= len(calls)

    def sets(x):
        x.flags.writeable = False
        return x * 2

    not_whole(sets, X)
    with pytest.raises(AttributeError, match="no attribute 'wide'"):
        tnp.jit(lambda x: x.flags.wide)(X.copy())
