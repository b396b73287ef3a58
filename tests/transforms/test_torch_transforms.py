"""tnp.grad and its like on functions of tensors, and of tensors and arrays: results are what the arguments are."""

import numpy as np
import pytest

import tnp

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from tests.lang.torch.test_torch_language import _close, randn  # noqa: E402


def energy(x, w):
    return (torch.tanh(x @ w) ** 2).sum()


def mixed(x, a):
    return (torch.as_tensor(np.sin(x) * a) * x).sum()


def vector(x):
    return torch.sin(x) * x.sum()


def half_detached(x):
    with torch.no_grad():
        scale = x.sum()
    return (x * scale).sum() + x.detach().sum() * x[0, 0] + torch.mode(x)[0].sum()


X, W, A = randn(3, 4, dtype=torch.float64), randn(4, 2, dtype=torch.float64), np.arange(12.0).reshape(3, 4)


def by_torch(f, *args):
    variables = [x.clone().requires_grad_() for x in args]
    return torch.autograd.grad(f(*variables), variables)


def test_first_derivatives():
    of_x, of_w = by_torch(energy, X, W)
    _close(tnp.grad(energy, (0, 1))(X, W), (of_x, of_w))
    value, found = tnp.value_and_grad(energy)(X, W)
    _close((value, found), (energy(X, W), of_x))
    value, pull = tnp.vjp(energy, X, W)
    _close(pull(torch.tensor(2.0, dtype=torch.float64)), (2 * of_x, 2 * of_w))
    _close(tnp.jvp(energy, (X, W), (torch.ones_like(X), torch.zeros_like(W))), (energy(X, W), of_x.sum()))


def test_of_tensors_and_arrays():
    _close(tnp.grad(mixed)(X, A), torch.from_numpy(A) * (torch.sin(X) + X * torch.cos(X)))
    _close(tnp.grad(mixed, 1)(X, A), np.sin(X.numpy()) * X.numpy())


def test_jacobians_and_maps():
    x = X[0].clone()
    _close(tnp.jacobian(vector)(x), torch.autograd.functional.jacobian(vector, x))
    total = lambda x: vector(x).sum()  # noqa: E731
    _close(tnp.hessian(total)(x), torch.autograd.functional.hessian(total, x))
    _close(tnp.vmap(lambda x: F.softmax(x * 2, 0))(X), F.softmax(X * 2, 1))


@pytest.mark.parametrize("outside", [torch.no_grad, torch.enable_grad])
def test_gradients_that_are_off_inside_a_function(outside):
    (expected,) = by_torch(half_detached, X)
    with outside():
        _close(tnp.grad(half_detached)(X), expected)
    with torch.no_grad():
        _close(tnp.grad(half_detached)(X.clone().requires_grad_()), expected)


def test_derivatives_are_differentiated_by_autograd():
    x = X.clone().requires_grad_()
    (found,) = torch.autograd.grad(tnp.grad(energy)(x, W).sum(), x)
    (first,) = torch.autograd.grad(energy(x, W), x, create_graph=True)
    _close(found, torch.autograd.grad(first.sum(), x)[0])


def test_integers_are_refused():
    with pytest.raises(tnp.GradientError, match="int64"):
        tnp.grad(energy)(X.long(), W)
