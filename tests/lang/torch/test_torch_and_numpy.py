"""Tensors and arrays in one function: what crosses from one library to the other, in whose memory, and what operators give."""

import warnings

import numpy as np
import pytest

import tnp

torch = pytest.importorskip("torch")

X, A = torch.linspace(0.1, 1.2, 12).reshape(3, 4), np.linspace(1.0, 2.0, 4)


def address(x):
    return x.data_ptr() if isinstance(x, torch.Tensor) else x.__array_interface__["data"][0]


def same(mine, eager):
    assert type(mine) is type(eager)
    if isinstance(eager, (torch.Tensor, np.ndarray, np.generic)):
        assert mine.dtype == eager.dtype and mine.shape == eager.shape
        np.testing.assert_allclose(np.asarray(mine), np.asarray(eager), rtol=1e-6)
    else:
        assert mine == eager


#: functions of NumPy alone on the memory of a tensor, of which no native code is made
ALONE = {
    "concatenate": lambda x: np.concatenate([x.numpy(), x.numpy()]),
    "sort": lambda x: np.sort(x.numpy(), axis=0),
    "svd": lambda x: np.linalg.svd(x.numpy())[1],
    "matmul": lambda x: np.matmul(x.numpy(), x.numpy().T),
    "allclose": lambda x: np.allclose(x.numpy(), x.numpy()),
    "back": lambda x: torch.from_numpy(np.sort(x.numpy(), axis=None)).sort().values,
    "fft": lambda x: torch.as_tensor(np.fft.rfft(x.numpy()).real),
}


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("executors", [None, ["numpy"]], ids=["default", "numpy"])
def test_functions_of_numpy_on_tensors(name, executors):
    f = ALONE[name]
    jitted = tnp.jit(f, executors=executors)
    for _ in range(2):
        same(jitted(X), f(X))
    assert tnp.last_traces(jitted)


#: what gives another object on the same memory, for a tensor and for an array
CROSSINGS = {
    "numpy": (lambda t: t.numpy(), X),
    "asarray": (lambda t: np.asarray(t), X),
    "np.from_dlpack": (lambda t: np.from_dlpack(t), X),
    "np.from_dlpack of an array": (lambda a: np.from_dlpack(a), A),
    "from_numpy": (lambda a: torch.from_numpy(a), A),
    "as_tensor": (lambda a: torch.as_tensor(a), A),
    "torch.asarray": (lambda a: torch.asarray(a), A),
    "torch.from_dlpack": (lambda a: torch.from_dlpack(a), A),
    "torch.from_dlpack of a tensor": (lambda t: torch.from_dlpack(t), X),
    "there and back": (lambda t: torch.from_numpy(np.from_dlpack(t)), X),
}


@pytest.mark.parametrize("name", CROSSINGS)
def test_crossings_share_memory(name):
    f, x = CROSSINGS[name]
    jitted = tnp.jit(f, strict=True)
    mine = jitted(x)
    same(mine, f(x))
    assert address(mine) == address(x) and mine is not x


def writes_through_both(t, a):
    b = np.from_dlpack(t)
    b[1:] *= 2
    c = torch.from_dlpack(b)
    c.add_(1)
    np.add(t.numpy(), a, out=t.numpy())
    torch.from_numpy(a).neg_()
    return t.sum() + c.mean()


def test_writes_are_seen_on_both_sides():
    tensors, arrays = [X.clone() for _ in range(2)], [A.astype(np.float32) for _ in range(2)]
    for f, t, a in zip((tnp.jit(writes_through_both, strict=True), writes_through_both), tensors, arrays):
        result = f(t, a)
    same(*tensors)
    same(*arrays)
    same(result, writes_through_both(X.clone(), A.astype(np.float32)))


def test_read_only_arrays_stay_so():
    a = A.copy()
    a.flags.writeable = False

    def f(a):
        np.from_dlpack(a)[0] = 1

    with pytest.raises(ValueError, match="read-only"), warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        tnp.jit(f)(a)


TWO, THREE = np.float64(2), np.int64(3)
#: a NumPy scalar on the left leaves an operator to a tensor, to which it is a number
SCALARS_ON_THE_LEFT = {
    "made": lambda x: np.float64(2) * x - np.sqrt(2 / np.pi) ** x,
    "global": lambda x: (TWO / x, THREE + x.long(), TWO * x.long()),
    "narrow": lambda x: np.float64(2) * x.half(),
    "compared": lambda x: (np.float64(0.5) < x, TWO * 0.3 >= x, THREE == x.long()),
    "element": lambda x: np.arange(3.0)[1] * x,
}


@pytest.mark.parametrize("name", SCALARS_ON_THE_LEFT)
def test_scalars_of_numpy_on_the_left_of_tensors(name):
    f = SCALARS_ON_THE_LEFT[name]
    jitted = tnp.jit(f)
    mine, eager = jitted(X), f(X)
    for m, e in zip(mine, eager) if isinstance(eager, tuple) else [(mine, eager)]:
        same(m, e)
    assert tnp.last_traces(jitted)


def across(x, a):
    y = np.sin(x) * a
    return (torch.from_dlpack(y) * x).sum() + torch.as_tensor(np.linalg.norm(y, axis=0)).sum()


def test_gradients_flow_across():
    x = X.double().requires_grad_()
    jitted = tnp.jit(across, executors=["numpy"])
    jitted(x, A).backward()
    y = torch.sin(x) * torch.as_tensor(A)
    (expected,) = torch.autograd.grad((y * x).sum() + torch.linalg.vector_norm(y, dim=0).sum(), x)
    torch.testing.assert_close(x.grad, expected)
    torch.testing.assert_close(tnp.grad(jitted)(x.detach(), A), expected)
    by_array = tnp.jacobian(tnp.jit(lambda x, a: torch.from_dlpack(np.cumsum(a)) * x[0], executors=["numpy"]), 1)(
        x.detach(), A
    )
    expected = np.tril(np.ones((4, 4))) * x.detach().numpy()[0][:, None]
    np.testing.assert_allclose(by_array, expected)
