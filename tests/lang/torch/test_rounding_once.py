"""Functions of half precision that torch computes in float32 and rounds once: their parts do the same where they are compiled."""

import pytest

import tnp

torch = pytest.importorskip("torch")

from tnp.core.devices import DeviceType  # noqa: E402
from tnp.lang.torch import registry  # noqa: E402

F = torch.nn.functional

FUNCTIONS = {
    "sigmoid": (torch.sigmoid, 1), "gelu": (F.gelu, 1), "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), 1),
    "silu": (F.silu, 1), "elu": (F.elu, 1), "selu": (F.selu, 1), "celu": (lambda x: F.celu(x, 1.3), 1), "mish": (F.mish, 1),
    "softplus": (F.softplus, 1), "hardswish": (F.hardswish, 1), "hardsigmoid": (F.hardsigmoid, 1), "logsigmoid": (F.logsigmoid, 1),
    "leaky_relu": (F.leaky_relu, 1), "softshrink": (F.softshrink, 1), "glu": (F.glu, 1), "sinc": (torch.sinc, 1),
    "logit": (lambda x: torch.logit(torch.sigmoid(x / 4)), 1), "xlogy": (lambda x, y: torch.xlogy(x, y.abs() + 1), 2),
    "addcmul": (lambda x, y, z: torch.addcmul(x, y, z, value=0.3), 3), "addcdiv": (lambda x, y, z: torch.addcdiv(x, y, z.abs() + 1), 3),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.3), 2), "softmax": (lambda x: torch.softmax(x, -1), 1), "log_softmax": (lambda x: F.log_softmax(x, dim=0), 1),
    "layer_norm": (lambda x: F.layer_norm(x, (8,)), 1), "sum": (lambda x: x.sum(0), 1), "mean": (lambda x: x.mean((0, 1)), 1),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.arange(6)), 1), "nll_loss": (lambda x: F.nll_loss(x, torch.arange(6)), 1),
}  # fmt: skip


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    monkeypatch.setattr(registry, "SINGLE_ON", frozenset((DeviceType.CPU,)))


def samples(count, dtype):
    generator = torch.Generator().manual_seed(1)
    return [
        (torch.randn(6, 8, generator=generator) * 3).to(dtype).requires_grad_(dtype is not None) for _ in range(count)
    ]


def steps(a, b):
    """How many numbers of its dtype lie between elements of ``a`` and ``b``, at most; those near 0 as far as 1 of a thousandth."""
    ulp = torch.finfo(b.dtype).eps * b.float().abs().clamp(min=1e-3)
    return ((a.float() - b.float()).abs() / ulp).max().item()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_parts_round_once(name, dtype):
    function, count = FUNCTIONS[name]
    args = samples(count, dtype)
    f = tnp.jit(function, executors=["torch_functions[prims]"], strict=True)
    mine, eager = f(*args), function(*args)
    assert mine.dtype is dtype
    assert steps(mine, eager) <= 2 or name == "logit"  # which torch rounds at each step on the CPU alone
    exact = function(*(a.detach().double() for a in args))
    assert (mine.double() - exact).norm() <= 1.5 * (eager.double() - exact).norm() + 1e-3 * exact.norm()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_round_once(name, dtype):
    function, count = FUNCTIONS[name]
    args = samples(count, dtype)
    doubles = [a.detach().double().requires_grad_() for a in args]
    f = tnp.jit(function, executors=["torch_functions[prims]"], strict=True)
    found = []
    for g, given in ((f, args), (function, args), (function, doubles)):
        out = g(*given)
        weights = torch.linspace(-1, 2, out.numel(), dtype=torch.float64).reshape(out.shape).to(out.dtype)
        found.append(torch.autograd.grad(out, given, weights))
    for mine, eager, exact in zip(*found):
        assert mine.dtype is dtype
        error, eagers = ((x.double() - exact).norm() / exact.norm() for x in (mine, eager))
        assert error <= 1.5 * eagers + 2e-3


def test_another_dtype_that_is_asked_for():
    x = samples(1, torch.bfloat16)[0].detach()
    f = tnp.jit(lambda x: (torch.softmax(x, 0, dtype=torch.float32), x.float().sum(dtype=torch.bfloat16)))
    for mine, eager in zip(f(x), (torch.softmax(x, 0, dtype=torch.float32), x.float().sum(dtype=torch.bfloat16))):
        torch.testing.assert_close(mine, eager)


def test_numbers_of_two_dtypes_are_left_to_torch():
    x, y = samples(1, torch.bfloat16)[0].detach(), torch.ones(6, 8)
    assert tnp.jit(torch.xlogy)(x, y).dtype is torch.float32
    torch.testing.assert_close(tnp.jit(torch.xlogy)(x, y), torch.xlogy(x, y))
