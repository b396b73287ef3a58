"""Kernels of tnp's own for the CPU against torch's."""

import math

import pytest

import tnp

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from tnp.executors.shared.cpu_kernels import attention, code  # noqa: E402

# The kernels are for these vectors alone: on other processors programs call torch's, as the tests of the torch executor have it.
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


def gradients(function, args, g):
    args = [a.clone(memory_format=torch.preserve_format).requires_grad_() for a in args]
    return torch.autograd.grad(function(*args), args, g)


def both(jitted):
    return names(jitted), [b.sym.name for b in tnp.last_backward_traces(jitted)[-1].body]


@pytest.mark.parametrize("shape", [(1, 2, 210, 250, 64), SHAPES[1], *SHAPES[4:]], ids=str)
@pytest.mark.parametrize("function", [attend, causal], ids=lambda f: f.__name__)
def test_its_gradient(function, shape):
    torch.manual_seed(0)
    b, h, queries, keys, d = shape
    q, k, v, g = heads(b, h, queries, d), heads(b, h, keys, d), heads(b, h, keys, d), heads(b, h, queries, d)
    jitted = tnp.jit(function)
    found, expected = (gradients(f, (q, k, v), g) for f in (jitted, function))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    forward, backward = both(jitted)
    assert "attention_with_rows" in forward and "attention_backward" in backward
    assert [a.stride() for a in found] == [a.stride() for a in expected]
    large = q * 30, k, v
    exact = gradients(function, [a.double() for a in large], g.double())
    mine, torchs = (
        [(a - e).abs().max().item() for a, e in zip(gradients(f, large, g), exact)] for f in (jitted, function)
    )
    assert all(a < 4 * b + 1e-5 for a, b in zip(mine, torchs))


def of_a_layer(x):
    """Attention as models have it: queries, keys and values are parts of one tensor."""
    q, k, v = (part.view(*x.shape[:2], 2, 32).transpose(1, 2) for part in x.split(64, 2))
    return causal(q, k, v).transpose(1, 2).reshape(*x.shape[:2], 64)


def test_its_gradient_in_a_layer_on_one_and_two_threads():
    torch.manual_seed(0)
    x, g = torch.randn(3, 57, 192), torch.randn(64, 57, 3).transpose(0, 2)  # whose last dimension is not contiguous
    jitted = tnp.jit(of_a_layer)
    of_tnp, of_torch = tnp.get_num_threads(), torch.get_num_threads()
    found = []
    for n in (1, 2):
        tnp.set_num_threads(n)
        torch.set_num_threads(n)
        found += gradients(jitted, [x], g)
    tnp.set_num_threads(of_tnp)
    torch.set_num_threads(of_torch)
    assert torch.equal(*found)
    torch.testing.assert_close(found[:1], list(gradients(of_a_layer, [x], g)), rtol=1e-4, atol=1e-5)
    assert "attention_backward" in both(jitted)[1]


@pytest.mark.parametrize("keys", [12, 40])
def test_gradients_of_numbers_that_are_none(keys):
    """A row of NaN, of minus infinities, one NaN among keys, infinity among values, NaN among cotangents."""
    torch.manual_seed(0)
    given = heads(1, 1, 12, 32), heads(1, 1, keys, 32), heads(1, 1, keys, 32), heads(1, 1, 12, 32)
    jitted = tnp.jit(attend)
    for place, number in ((0, math.nan), (0, math.inf), (1, math.nan), (2, math.inf), (3, math.nan)):
        q, k, v, g = changed = [a.clone() for a in given]
        k[..., 5] = -1
        changed[place][0, 0, 3, 5] = number
        torch.testing.assert_close(jitted(q, k, v), attend(q, k, v), equal_nan=True, rtol=1e-4, atol=2e-6)
        found, expected = (gradients(f, (q, k, v), g) for f in (jitted, attend))
        torch.testing.assert_close(found, expected, equal_nan=True, rtol=1e-4, atol=1e-5)


def test_keys_that_no_query_sees_have_no_gradient():
    """Whatever there is in the cache behind the scores: what the call before left there is large."""
    torch.manual_seed(0)
    jitted = tnp.jit(causal, dynamic=False)
    for queries, scale in ((100, 1e4), (16, 1), (20, 1)):
        q, k, v, g = heads(1, 1, queries, 64), heads(1, 1, 300, 64), heads(1, 1, 300, 64), heads(1, 1, queries, 64)
        v[:, :, queries:] = math.nan
        _, dk, dv = gradients(jitted, (q, k, v), g * scale)
        assert not dk[:, :, queries:].any() and not dv[:, :, queries:].any()
        assert dk.isfinite().all() and dv.isfinite().all()


def test_gradients_of_nothing():
    jitted = tnp.jit(attend)
    for shape in ((0, 2, 12, 32), (1, 2, 0, 32)):
        args = [torch.zeros(shape) for _ in range(3)]
        torch.testing.assert_close(*(gradients(f, args, torch.zeros(shape)) for f in (jitted, attend)))


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
