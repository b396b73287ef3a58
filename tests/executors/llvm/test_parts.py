"""Loops in parts of a fixed length: every length gives every element, once where twice would be wrong."""

import numpy as np
import pytest

import tnp
from tnp.executors import llvm
from tnp.executors.llvm.loop_ir import strips
from tnp.testing import assert_same

pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="no native code here")

#: around a vector, the vectors taken at a time, and a part
LENGTHS = (7, 8, 13, 33, 100, 4097, 5000)


def affine(x, y):
    return x * 2.0 + y


def accumulate(x, y):
    y *= 0.5
    y += x


@pytest.mark.parametrize("n", LENGTHS)
def test_every_length(n):
    r = np.random.default_rng(n)
    for x, y in ((r.random(n), r.random(n)), (r.random((3, n + 2))[:, 1:-1], r.random((3, n)))):
        assert np.array_equal(tnp.jit(affine)(x, y), affine(x, y))
        mine, eagers = y.copy(), y.copy()
        tnp.jit(accumulate)(x, mine)
        accumulate(x, eagers)
        assert np.array_equal(mine, eagers)


def backwards(x, y):
    x += x
    return np.sqrt(abs(x)) + y[::-1], np.arange(len(x))[::-1] * x


@pytest.mark.parametrize("n", (2, 340, *LENGTHS))
@pytest.mark.parametrize("dtype", ["int8", "int16", "float64"])
def test_loops_backwards_through_memory(n, dtype):
    """They are run from the last position on; on 340 int16 of 512 bits LLVM ended the process."""
    base = (np.arange(n) % 50).astype(dtype)
    mine, eagers = base.copy()[::-1], base.copy()[::-1]
    for result, expected in zip(tnp.jit(backwards)(mine, base), backwards(eagers, base), strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=1e-3 if dtype == "int8" else 1e-6)
    assert np.array_equal(mine, eagers)


def scanned(x):
    return np.cumsum(x), np.cumprod(x), np.exp(1j * x), np.arcsin(x * 1j), x.sum(), np.arctan2(x, x + 1), x**x, x % 0.3


def test_nothing_is_written_about_loops_backwards(capfd, monkeypatch):
    """LLVM remarks on loops that it is told the length of vectors of and does not vectorise."""
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")
    for n in (11, 40, 400):
        x = np.random.default_rng(n).random(n)[::-1]
        for result, expected in zip(tnp.jit(scanned)(x), scanned(x), strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-12)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("columns", [7, 104, 2049, 5000])
@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_every_number_of_columns(columns, dtype):
    """Tiles of columns, of which the last begins early, and the rows of their sums."""
    x = np.random.default_rng(columns).integers(-9, 9, (300, columns)).astype(dtype)  # sums are exact in any order

    def f(x):
        return x.sum(axis=0), x.max(axis=0), x.argmin(axis=0), (x * 2).reshape(3, 100, -1).sum(axis=1)

    for made, expected in zip(tnp.jit(f, executors=["llvm[everything]"])(x), f(x), strict=True):
        assert np.array_equal(made, expected) and made.dtype == expected.dtype


def reduced(x):
    doubled = x * 2
    return doubled, doubled.sum(axis=1), (x * x).sum(axis=1), x.max(axis=1), (x < 9).all(axis=1), (x > 8).any(axis=1)


@pytest.mark.parametrize("n", [33, 104, 127, 4101, 5000])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_every_length_of_rows_that_are_reduced(n, dtype):
    """What fills no vectors counts once."""
    x = np.random.default_rng(n).integers(-9, 9, (7, n)).astype(dtype)  # sums are exact in any order
    if dtype == "float16":
        x[:] = np.sign(x)
    x[0, 0], x[1, -1], x[2, n - n % 32 - 1], x[3, -2:] = 9, 9, np.nan, (np.inf, -np.inf)
    with np.errstate(invalid="ignore"):
        expected = reduced(x)
    for made, eager in zip(tnp.jit(reduced, executors=["llvm[everything]"])(x), expected, strict=True):
        assert np.array_equal(made, eager, equal_nan=made.dtype.kind == "f") and made.dtype == eager.dtype


def whole(x):
    doubled = x * 2
    return doubled, doubled.sum(), (x * x).sum(), x.argmax(), (x > 0).sum()


@pytest.mark.parametrize("n", [4096, 4097, 8229, 99_991])
def test_every_length_of_a_whole(n):
    """What is left by blocks of one length is added once, at the end, for any number of threads."""
    x = np.random.default_rng(n).integers(-9, 9, n).astype("float64")
    x[n - 3] = 10
    before = tnp.get_num_threads()
    try:
        for threads in (1, 2):
            tnp.set_num_threads(threads)
            for made, eager in zip(tnp.jit(whole)(x), whole(x), strict=True):
                assert np.array_equal(made, eager)
    finally:
        tnp.set_num_threads(before)


@pytest.mark.parametrize("vector", [4, 8, 64])
@pytest.mark.parametrize("repeats", [False, True])
def test_parts_cover_a_loop(monkeypatch, vector, repeats):
    monkeypatch.setattr(strips, "vector_length", lambda _: vector)
    monkeypatch.setattr(strips, "may_repeat", lambda _: repeats)
    for limit in (*range(1, 600), 4096, 4099, 10_000, 999_983, 1_000_000):
        length, count = strips.parts_of([], limit)
        assert length <= min(limit, strips.CHUNK)
        assert (count - 1) * length < limit <= count * length
        twice = count * length - limit
        if twice and repeats and limit > vector:
            assert length % vector == 0
            assert twice < max(2 * vector, limit / 4), "little is computed twice"


def over_rows(x):
    return x.sum(axis=1), x.max(axis=1), (x > 0).any(axis=1), (x * x).sum(), x.sum(axis=0), x.min(axis=0)


@pytest.mark.parametrize("dtype", ["int8", "int32", "float16", "float32", "float64"])
def test_reductions_of_rows_of_every_length(dtype):
    """Each length fills some lanes of the accumulators; those that are left over count once."""
    of_any_size = tnp.jit(over_rows, dynamic=True)
    for n in (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 129, 257):
        x = np.random.default_rng(n).integers(-3, 4, (9, n)).astype(dtype)  # sums are exact in any order
        for jitted in (of_any_size, tnp.jit(over_rows)):
            assert_same(jitted(x), over_rows(x))


def test_not_a_number_in_every_lane():
    of_any_size = tnp.jit(over_rows, dynamic=True)
    for n in (5, 37, 150):
        for i in range(n):
            x = np.ones((2, n), "float32")
            x[1, i] = np.nan
            assert_same(of_any_size(x), over_rows(x))


@pytest.mark.parametrize("columns", [2, 3, 4, 6])
@pytest.mark.parametrize("dtype", ["bool", "int16", "int32", "float32", "float64"])
def test_few_rows_backwards(columns, dtype):
    """LLVM ended the process: of the vectors of 23 rows of 2 int32, or 4 float32, it estimated the cost in two ways."""

    def f(x):
        return x[::-1].sum(axis=1), x[::-1].max(axis=1), x[::-1].sum(axis=0), (x[::-1] * x).sum(axis=1)

    x = (np.arange(23 * columns) % 7).reshape(23, columns).astype(dtype)
    assert_same(tnp.jit(f)(x), f(x))
