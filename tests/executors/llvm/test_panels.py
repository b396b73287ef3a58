"""Products of matrices made by panels, with what follows them."""

import numpy as np
import pytest

import tnp
from tests.kernel_bounds import within_bounds
from tnp.executors import llvm

pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="no native code here")


def rectified(a, b, bias):
    return np.maximum(a @ b + bias, 0)


def normalised(a, b, bias):
    scores = a @ b + bias
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def with_product(a, b, bias):
    product = a @ b
    return product, product.T + bias[:, None], product.sum(axis=0)


def with_sums(a, b, bias):
    product = a @ b
    return product, product + bias, product.sum(axis=0)


def operands(m, n, k, dtype="float64"):
    r = np.random.default_rng(m)
    return tuple(r.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n), n))


def assert_close(got, expected):
    for g, e in zip(*(x if isinstance(x, tuple) else (x,) for x in (got, expected)), strict=True):
        assert g.dtype == e.dtype and g.strides == e.strides
        np.testing.assert_allclose(
            g, e, rtol=1e-5 if g.dtype == "f4" else 1e-12, atol=1e-5 if g.dtype == "f4" else 1e-12
        )


def is_fused(jitted):
    return "llvm_fusion" in str(tnp.last_traces(jitted)[-1]) and not any(
        line.split(" = ")[-1].startswith(("np.matmul", "lnp.matmul"))
        for line in map(str.strip, str(tnp.last_traces(jitted)[-1]).splitlines())
        if not line.startswith("#")
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(8, 8, 2), (13, 33, 7), (37, 100, 20), (97, 31, 130), (301, 40, 5)])
def test_shapes(shape, dtype):
    """Fewer rows and columns than a tile has, some more, and several panels."""
    args = operands(*shape, dtype)
    jitted = tnp.jit(rectified)
    with within_bounds():
        made = jitted(*args)
    assert_close(made, rectified(*args))
    assert is_fused(jitted)


@pytest.mark.parametrize("function", [normalised, with_product])
def test_what_follows(function):
    """Reductions along the rows, and a product that others than its rows' followers read."""
    args = operands(101, 70, 30)
    jitted = tnp.jit(function)
    assert_close(jitted(*args), function(*args))
    assert is_fused(jitted)


def test_strides():
    a, b, bias = operands(60, 50, 40)
    jitted = tnp.jit(rectified)
    for left, right in (
        (np.asfortranarray(a), b),
        (a[:, ::-1], np.asfortranarray(b)),
        (np.repeat(a, 2, 0)[::2], b[::-1]),
    ):
        assert_close(jitted(left, right, bias), rectified(left, right, bias))


def test_operands_that_are_written():
    """Rows of an operand are written when the product has read them; an operand of which all is needed again later is not."""

    def by_rows(a, b):
        a[:] = np.maximum(a @ b, 0) - a

    def all_of_it(a, b):
        b += a @ b

    for function in (by_rows, all_of_it):
        args = [operands(200, 200, 200)[k] / 10 for k in range(2)]
        mine = [x.copy() for x in args]
        tnp.jit(function)(*mine)
        function(*args)
        for x, y in zip(mine, args):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)


def test_any_number_of_threads_gives_the_same_bits():
    args = operands(500, 120, 60)
    jitted = tnp.jit(rectified)
    before, found = tnp.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            tnp.set_num_threads(threads)
            found.append(jitted(*args))
    finally:
        tnp.set_num_threads(before)
    assert all(np.array_equal(x, found[0]) for x in found)


def test_special_values():
    a, b, bias = operands(20, 40, 10)
    a[3, 4], a[7, 1], b[2, 5] = np.nan, np.inf, -np.inf
    np.testing.assert_allclose(tnp.jit(rectified)(a, b, bias), rectified(a, b, bias), rtol=1e-12)


@pytest.mark.parametrize("shape", [(200, 20, 600), (4, 300, 10), (300, 4, 10)])
def test_what_is_left_to_a_library(shape):
    """Long sums, and few rows or columns; and a product that nothing follows."""
    args = operands(*shape)
    jitted = tnp.jit(rectified)
    assert_close(jitted(*args), rectified(*args))
    assert not is_fused(jitted)
    alone = tnp.jit(np.matmul)
    assert_close(alone(*operands(50, 50, 50)[:2]), np.matmul(*operands(50, 50, 50)[:2]))
    assert "llvm" not in str(tnp.last_traces(alone)[-1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [rectified, normalised, with_sums])
def test_any_size(function, dtype):
    """One program for any size. Sizes may be less than a tile; of those that are too large for panels NumPy multiplies."""
    jitted = tnp.jit(function, dynamic=True)
    for shape in ((150, 60, 40), (2, 2, 2), (3, 100, 5), (100, 3, 7), (13, 33, 700), (301, 40, 2), (9, 3000, 400)):
        args = operands(*shape, dtype)
        with within_bounds():
            made = jitted(*args)
        assert_close(made, function(*args))
        assert is_fused(jitted)
    assert tnp.cache_info(jitted).misses == 1


def test_any_number_of_rows():
    """The matrix on the right has one size, as weights have."""
    _, weights, bias = operands(1, 50, 30)
    jitted = tnp.jit(rectified)
    for rows in (40, 100, 2, 7, 12, 513):
        a = operands(rows, 50, 30)[0]
        with within_bounds():
            made = jitted(a, weights, bias)
        assert_close(made, rectified(a, weights, bias))
    assert tnp.cache_info(jitted).misses == 2
    assert is_fused(jitted)


def test_any_size_has_the_same_bits_on_any_number_of_threads():
    jitted, before, found = tnp.jit(rectified, dynamic=True), tnp.get_num_threads(), []
    jitted(*operands(200, 100, 50))
    try:
        for threads in (1, 2, 3):
            tnp.set_num_threads(threads)
            found.append(jitted(*operands(511, 130, 61)))
    finally:
        tnp.set_num_threads(before)
    assert tnp.cache_info(jitted).misses == 1
    assert all(np.array_equal(x, found[0]) for x in found)


def test_any_size_of_a_product_that_nothing_follows():
    jitted = tnp.jit(np.matmul, dynamic=True)
    assert_close(jitted(*operands(50, 50, 50)[:2]), np.matmul(*operands(50, 50, 50)[:2]))
    assert "llvm" not in str(tnp.last_traces(jitted)[-1])
