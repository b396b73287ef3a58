"""Gradients of gradients of jitted programs (``create_graph=True``), against eager's."""

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import tnp  # noqa: E402

torch.manual_seed(0)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def cube(x):
    return (x**3).sum()


def several(x, w):
    a = torch.tanh(x @ w)
    return a, a * x.exp(), x.sum()


def unused(x, w):
    return (x * 2).sin() + w, w.sum()


def written(x, w):
    y = x * w
    y[0] = x[1] ** 2
    y += x
    return y


def softmaxes(x, w):
    return F.log_softmax(x @ w, -1).diagonal().sum() + torch.softmax(x, 0).square().sum()


def normalised(x, w):
    return F.layer_norm(x @ w, (3,), w[0], w[1]).pow(3).sum()


def convolved(x, w):
    return F.conv2d(x[None, None], w[None, None, :2, :2]).sigmoid().sum()


def attention(x, w):
    q = (x @ w)[None]
    return F.scaled_dot_product_attention(q, x[None], w[None]).tanh().sum()


def looped(x, w):
    for _ in range(12):
        x = x.sin() * w
    return x


def gathered(x, w):
    return x[torch.tensor([0, 0, 2])] * w.cumsum(0)


def linear_in(x, w):
    return x * 2 + w


def orders(f, inputs, order):
    """The results, and their derivatives up to an order, of a combination of the elements each time."""
    found = []
    values = f(*inputs)
    for k in range(order + 1):
        values = [v for v in (values if isinstance(values, (tuple, list)) else (values,)) if v is not None]
        found += [v.detach() for v in values]
        total = sum((v * torch.cos(torch.arange(v.numel(), dtype=v.dtype)).reshape(v.shape)).sum() for v in values)
        if k == order or not total.requires_grad:
            return found
        values = torch.autograd.grad(total, inputs, create_graph=True, allow_unused=True)


PROGRAMS = [several, unused, written, softmaxes, normalised, convolved, attention, gathered, linear_in]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(f):
    inputs = [randn(3, 3).requires_grad_() for _ in range(2)]
    jitted = tnp.jit(f, executors=["numpy"])  # native code is for the other tests
    torch.testing.assert_close(orders(jitted, inputs, 2), orders(f, inputs, 2))
    assert tnp.last_traces(jitted)


def test_third_derivatives_and_hessians():
    x = randn(3).requires_grad_()
    jitted = tnp.jit(cube)
    torch.testing.assert_close(orders(jitted, [x], 3), orders(cube, [x], 3))
    hessian = torch.autograd.functional.hessian(jitted, x)
    torch.testing.assert_close(hessian, torch.diag(6 * x.detach()))
    assert torch.autograd.gradcheck(jitted, x) and torch.autograd.gradgradcheck(jitted, x)


def test_a_penalty_on_gradients_trains_as_in_eager():
    x = torch.randn(5, 4)
    found = []
    for compiled in (True, False):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Softplus(), torch.nn.Linear(8, 1))
        f = tnp.jit(model) if compiled else model
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            given = x.clone().requires_grad_()
            (slope,) = torch.autograd.grad(f(given).sum(), given, create_graph=True)
            optimizer.zero_grad()
            ((slope.norm(dim=1) - 1) ** 2).mean().backward()
            optimizer.step()
        found.append([p.detach() for p in model.parameters()])
    torch.testing.assert_close(*found)


def opaque(x, w):
    return torch.special.i0e(x) * torch.special.entr(w.exp()), torch.cummax(x * w, 0).values.sum()


def test_opaque_calls_have_gradients_of_every_order():
    inputs = [randn(3).requires_grad_() for _ in range(2)]
    jitted = tnp.jit(opaque)
    torch.testing.assert_close(orders(jitted, inputs, 3), orders(opaque, inputs, 3))
    assert "recorded_i0e" in str(tnp.last_traces(jitted)[-1])
    total = lambda x: sum(y.sum() for y in opaque(x, inputs[1].detach()))  # noqa: E731
    x = inputs[0].detach()
    torch.testing.assert_close(tnp.hessian(total)(x), torch.autograd.functional.hessian(total, x))


def test_rolled_loops_have_no_second_gradient_by_autograd():
    x, w = randn(3).requires_grad_(), randn(3).requires_grad_()
    y = tnp.jit(looped)(x, w)
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    torch.testing.assert_close(slope, *torch.autograd.grad(looped(x, w).sum(), x))
    with pytest.raises(RuntimeError, match=r"no gradients of its gradients here .* more than was saved"):
        slope.sum().backward()
