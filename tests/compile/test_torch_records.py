"""Opaque calls in training: torch's autograd remembers what they did, so that the backward does not run them again."""

import gc

import pytest

import tnp

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from tests.lang.torch.test_torch_language import _close, randn  # noqa: E402
from tnp.lang.torch import opaque  # noqa: E402

_calls = []


class _Counted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        _calls.append("forward")
        ctx.factor = torch.rand(())
        return x * ctx.factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor * 3


def test_functions_of_the_users_run_forward_once():
    x, f = randn(3).requires_grad_(), lambda x: _Counted.apply(x * 2).sum()
    jitted, found = tnp.jit(f), []
    jitted(x)  # its dry runs are made
    for g in (jitted, f):
        _calls.clear()
        torch.manual_seed(0)
        found.append(torch.autograd.grad(g(x), x)[0])
        assert _calls == ["forward"]
    _close(*found)


def _records():
    gc.collect()
    return sum(type(x) is opaque._Record for x in gc.get_objects())


def test_what_is_remembered_goes_with_the_way_back():
    torch.manual_seed(0)
    model, x = nn.GRU(3, 3), randn(4, 2, 3, dtype=torch.float32).requires_grad_()
    jitted = tnp.jit(model)
    before = _records()
    loss = jitted(x)[0].sum()
    assert _records() == before + 1
    assert "what torch's autograd remembers of 1 call" in tnp.explain(jitted)
    (first,) = torch.autograd.grad(loss, x, retain_graph=True)
    loss.backward()
    _close(x.grad, first)
    _close(first, torch.autograd.grad(model(x)[0].sum(), x)[0])
    assert _records() == before  # while there is a loss
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


recurrent = nn.GRU(3, 3).double().requires_grad_(False)


def _argument_changed(x, apart, h):
    y = x * 2
    o, _ = recurrent(y.clone() if apart else y)
    y[0] = 5
    y *= 3
    return o, y


def _result_changed(x, apart, h):
    o, last = recurrent(x * 2)
    o = o.clone() if apart else o
    z = o * 2
    o[0] = 0
    return o, z, last


def _argument_of_the_callers_changed(x, apart, h):
    o, _ = recurrent(x, (h.clone() if apart else h)[None])
    h.mul_(2)
    return o, h * 1


@pytest.mark.parametrize(
    "f", [_argument_changed, _result_changed, _argument_of_the_callers_changed], ids=lambda f: f.__name__
)
def test_memory_that_is_looked_at_is_left_alone(f):
    """Eager raises for what is not set apart."""
    x, jitted, found = randn(4, 2, 3, dtype=torch.float64).requires_grad_(), tnp.jit(f), []
    for g, apart in ((f, True), (jitted, False), (jitted, False)):
        results = g(x, apart, torch.ones(2, 3, dtype=torch.float64))
        found.append(torch.autograd.grad(sum((y.sin() * y).sum() for y in results), x)[0])
    _close(found[0], found[1])
    _close(found[0], found[2])
    assert tnp.cache_info(jitted) == (1, 1, 1) and tnp.last_traces(jitted)


def test_arguments_that_the_caller_changes_are_noticed():
    model, x = nn.GRU(3, 3), torch.ones(4, 2, 3)
    loss = tnp.jit(model)(x)[0].sum()
    with torch.no_grad():
        model.weight_hh_l0.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_chains_in_half_precision():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2), nn.Softmax(-1)).half()
    jitted, x = tnp.jit(model), torch.linspace(-1, 1, 12).view(3, 4).half()
    found = [torch.autograd.grad(f(x)[:, 0].sum(), list(model.parameters())) for f in (jitted, jitted, model)]
    for mine, again, eager in zip(*found):
        torch.testing.assert_close(mine, eager)
        assert torch.equal(mine, again)
    assert tnp.cache_info(jitted) == (1, 1, 1) and tnp.last_traces(jitted)
