"""What ``np.einsum`` is compiled to: sums of a few products fuse, long sums are matrix products."""

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

RNG = np.random.default_rng(0)


def reals(*shape):
    return RNG.normal(size=shape)


SMALL = {
    "rotations": (lambda a, b: np.einsum("ij...,jk...->ik...", a, b) + 1, [reals(3, 3, 60), reals(3, 3, 60)]),
    "three rotations": (lambda a, b, c: np.einsum("ij...,jk...,kl...->il...", a, b, c), [reals(3, 3, 60), reals(3, 3, 60), reals(3, 3)]),
    "quadratic forms": (lambda x, a: np.sqrt(abs(np.einsum("ti,ij,tj->t", x, a, x))), [reals(60, 4), reals(4, 4)]),
    "matrices of a batch": (lambda a, b: np.einsum("tij,tjk->tik", a, b), [reals(60, 3, 3), reals(60, 3, 3)]),
    "long rows of a batch": (lambda a, b: np.einsum("tij,tj->ti", a, b), [reals(20, 3, 90), reals(20, 90)]),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_few_products_are_one_kernel(name):
    function, arrays = SMALL[name]
    f = tnp.jit(function)
    assert_same(f(*arrays), function(*arrays), rtol=1e-12)
    text = str(tnp.explain(f))
    assert "llvm_fusion0" in text and "executors: llvm 1\n" in text, text


def test_long_sums_are_matrix_products():
    def f(a, b):
        return np.einsum("ij,jk->ik", a, b), np.einsum("it,jt->ij", a, a)

    jitted = tnp.jit(f)
    arguments = reals(200, 200), reals(200, 200)
    assert_same(jitted(*arguments), f(*arguments), rtol=1e-10)
    assert "np.einsum" not in str(tnp.last_traces(jitted)[-1])
    assert "matmul" in str(tnp.last_traces(jitted)[-1])


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "complex64"])
def test_few_products_of_other_dtypes(dtype):
    def f(a, b):
        return np.einsum("ti,ti->t", a, b), np.einsum("ti,tj->ij", a[:8], b[:8]), np.einsum("ti,jk->", a[:8], b[:3])

    numbers = RNG.integers(1, 90, size=(2, 60, 4)) / (1 if dtype == "int8" else 50)  # whose sums do not cancel
    a, b = numbers.astype(dtype)
    assert_same(tnp.jit(f)(a, b), f(a, b), rtol=3e-3 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("selected", [5, 1, 3, 0])
@pytest.mark.parametrize("subscripts", ["i,i->", "i,ij->j", "i,ji->ij", "i,i,ij->i"])
def test_a_length_that_is_known_at_run_time_beside_one_that_is_known(subscripts, selected):
    rng = np.random.default_rng(0)
    x, mask = rng.random(9), np.arange(9) < selected
    others = [rng.random([{"i": 5, "j": 4}[c] for c in term]) for term in subscripts.split("->")[0].split(",")[1:]]

    def f(x, mask, *others):
        return np.einsum(subscripts, x[mask], *others)

    jitted = tnp.jit(f, strict=True)
    for _ in range(2):
        if selected in (1, 5):
            assert_same(jitted(x, mask, *others), f(x, mask, *others), rtol=1e-14)
            continue
        with pytest.raises(ValueError, match="could not be broadcast together"):
            f(x, mask, *others)
        with pytest.raises(ValueError, match="could not be broadcast together"):
            jitted(x, mask, *others)


@pytest.mark.parametrize("n, m", [(40, 7), (60, 9)])
def test_lengths_that_the_program_computes(n, m):
    def f(x, y):
        a, b = x[x > 0], y[y > 0]
        square = np.einsum("i,j->ij", a, b)
        return (
            np.einsum("ij,j->i", square, b),
            np.einsum("ij,i->", square, np.sqrt(x[x > 0])),
            np.einsum("i,i", b, y[y > 0]),
        )

    jitted = tnp.jit(f)
    arguments = reals(n), reals(m)
    assert_same(jitted(*arguments), f(*arguments), rtol=1e-12)


def test_lengths_that_turn_out_to_differ():
    def f(x):
        return np.einsum("i,i->i", x[x > 0], x[x > 1])

    jitted = tnp.jit(f)
    for x in (np.array([-1.0, 2.0, 0.5]), np.array([3.0, 4.0, -1.0])):
        assert_same(jitted(x), f(x))  # one of them is 1, or both are equal
    with pytest.raises(ValueError, match="broadcast"):
        jitted(np.array([2.0, 3.0, 0.5]))
