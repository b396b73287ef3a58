"""Kernels of tnp's own for the CPU against torch's."""

import math

import pytest

import tnp

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from tnp.executors.cpu_kernels import attention, code  # noqa: E402

pytestmark = pytest.mark.skipif(not code.is_available(), reason="there are no vectors of 512 bits, or no compiler")


def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.2)


def heads(*shape):
    """Heads of a layer's result: not contiguous."""
    b, h, t, d = shape
    return torch.randn(b, t, h, d).transpose(1, 2)


def names(jitted):
    return [b.sym.name for b in tnp.last_traces(jitted)[-1].body]


#: batch, heads, queries, keys, numbers of a head: tiles that do not fit, one key, strips of keys that do not fit
SHAPES = [
    (2, 3, 64, 64, 64),
    (1, 2, 37, 53, 32),
    (1, 1, 53, 37, 48),
    (2, 1, 5, 1, 112),
    (1, 2, 7, 130, 128),
    (1, 1, 12, 300, 96),
]


@torch.no_grad()
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function", [attend, causal], ids=lambda f: f.__name__)
def test_attention(function, shape):
    torch.manual_seed(0)
    b, h, queries, keys, d = shape
    q, k, v = heads(b, h, queries, d), heads(b, h, keys, d), heads(b, h, keys, d)
    jitted = tnp.jit(function)
    torch.testing.assert_close(jitted(q, k, v), function(q, k, v), rtol=1e-4, atol=2e-6)
    assert "attention" in names(jitted)
    large = q * 30, k, v
    exact = function(*(a.double() for a in large))
    mine, torchs = ((f(*large) - exact).abs().max().item() for f in (jitted, function))
    assert mine < 4 * torchs + 1e-5


def test_its_gradient_is_torchs_kernel():
    torch.manual_seed(0)
    args = [heads(2, 2, 20, 32).requires_grad_() for _ in range(3)]
    jitted = tnp.jit(causal)
    found, expected = (torch.autograd.grad(f(*args).square().sum(), args) for f in (jitted, causal))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert "attention_with_rows" in names(jitted)


@torch.no_grad()
def test_numbers_that_are_none():
    q, k, v = heads(1, 1, 12, 32), heads(1, 1, 12, 32), heads(1, 1, 12, 32)
    jitted = tnp.jit(attend)
    for place, number in ((0, math.nan), (1, math.nan), (2, math.inf)):
        given = [a.clone() for a in (q, k, v)]
        given[place][0, 0, 3, 5] = number
        torch.testing.assert_close(jitted(*given), attend(*given), equal_nan=True, rtol=1e-4, atol=2e-6)


@torch.no_grad()
def test_what_the_kernel_does_not_take():
    for shape, dtype in (
        ((1, 1, 12, 16), torch.float32),
        ((1, 1, 12, 40), torch.float32),
        ((1, 1, 12, 32), torch.float64),
    ):
        args = [heads(*shape).to(dtype) for _ in range(3)]
        jitted = tnp.jit(attend)
        torch.testing.assert_close(jitted(*args), attend(*args))
        assert "cpu_flash_attention" in names(jitted)
    assert not attention.takes(64, 3, 8) and not attention.takes(64, 8, 1 << 14)
