"""Functions of torch that have gradient rules of their own, or whose parts have: first and second derivatives by differences in float64.

Each case is also beside torch's autograd, first and second order. One is run alone with ``pytest tests/transforms/test_torch_rules.py -k NAME``.
"""

import zlib

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import tnp  # noqa: E402
from tests.compile.test_torch_second_gradients import orders  # noqa: E402


def parts_of_eigh(a):
    values, vectors = torch.linalg.eigh(a @ a.mT + torch.diag(torch.arange(3.0, dtype=a.dtype)))
    return values, vectors.square()


def parts_of_svd(a):
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    return s, u.square() @ torch.diag(s), vh.square()


def parts_of_qr(a):
    q, r = torch.linalg.qr(a)
    return q.square(), r.square()


def positive(a):
    return a @ a.mT + torch.eye(3, dtype=a.dtype)


LABELS, WEIGHTS = torch.tensor([2, 0, 1]), torch.tensor([0.5, 1.0, 2.0, 3.0], dtype=torch.float64)
#: name: the function, and the shapes of its arguments
CASES = {
    "softmax": (lambda x: torch.softmax(x, 0), [(3, 4)]),
    "log_softmax": (lambda x: F.log_softmax(x, -1), [(3, 4)]),
    "logsumexp": (lambda x: torch.logsumexp(x, 1), [(3, 4)]),
    "cross_entropy": (lambda x: F.cross_entropy(x, LABELS, reduction="none"), [(3, 4)]),
    "cross_entropy-weighted": (lambda x: F.cross_entropy(x, LABELS, WEIGHTS, ignore_index=0), [(3, 4)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), [(3, 4), (4,), (4,)]),
    "norm": (lambda x: torch.linalg.vector_norm(x, dim=1), [(3, 4)]),
    "norm-nuclear": (lambda x: torch.linalg.matrix_norm(x, "nuc"), [(3, 4)]),
    "matmul": (lambda a, b: a @ b, [(2, 3, 4), (4, 2)]),
    "einsum": (lambda a, b: torch.einsum("bij,bjk->ik", a, b), [(2, 3, 4), (2, 4, 2)]),
    "cholesky": (lambda a: torch.linalg.cholesky(positive(a)), [(3, 3)]),
    "solve": (lambda a, b: torch.linalg.solve(positive(a), b), [(3, 3), (3, 2)]),
    "slogdet": (lambda a: torch.linalg.slogdet(positive(a)).logabsdet, [(3, 3)]),
    "eigh": (parts_of_eigh, [(3, 3)]),
    "svd": (parts_of_svd, [(4, 3)]),
    "qr": (parts_of_qr, [(4, 3)]),
    "fft": (lambda x: torch.view_as_real(torch.fft.fft(x.sin())), [(3, 4)]),
    "rfft": (lambda x: torch.fft.rfft(x, dim=0).abs(), [(5, 2)]),
    "irfft": (lambda x: torch.fft.irfft(torch.complex(x, x.sin()), 5), [(3,)]),
    "sort": (lambda x: torch.sort(x, dim=0).values ** 2, [(4, 3)]),
    "topk": (lambda x: torch.topk(x, 2).values ** 2, [(3, 5)]),
    "cumprod": (lambda x: torch.cumprod(x, 0), [(4, 2)]),
    "logcumsumexp": (lambda x: torch.logcumsumexp(x, 1), [(3, 4)]),
    "cummax": (lambda x: torch.cummax(x * x, 1).values, [(3, 4)]),
    "sqrt": (lambda x: torch.where(x > 0, x.abs().sqrt(), x), [(6,)]),
}  # fmt: skip


def arguments(name, shapes):
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    return [torch.randn(s, dtype=torch.float64, generator=generator).requires_grad_() for s in shapes]


@pytest.mark.parametrize("name", CASES)
def test_first_and_second_derivatives(name):
    f, shapes = CASES[name]
    inputs = arguments(name, shapes)
    jitted = tnp.jit(f, executors=["numpy"])  # native code is for the other tests
    torch.testing.assert_close(orders(jitted, inputs, 2), orders(f, inputs, 2))
    # in random directions: all elements at once
    assert torch.autograd.gradcheck(jitted, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(jitted, inputs, fast_mode=True, atol=1e-4)
    assert tnp.last_traces(jitted), tnp.explain(jitted)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_first_of_equals_has_the_gradient_of_max_pool(rank):
    pool = getattr(F, f"max_pool{rank}d")
    a = torch.randint(0, 3, (2, 3, *(9, 7, 6)[:rank]), generator=torch.Generator().manual_seed(0)).float()
    weights = torch.rand(pool(a, 3, 2, 1).shape)
    found, expected = a.clone().requires_grad_(), a.clone().requires_grad_()
    jitted = tnp.jit(lambda x: (pool(x, 3, 2, 1) * weights).sum())
    jitted(found).backward()
    (pool(expected, 3, 2, 1) * weights).sum().backward()
    torch.testing.assert_close(found.grad, expected.grad)
