"""tnp's own kernel for products of matrices against torch's."""

import itertools

import pytest

import tnp

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from tnp.executors.shared.cpu_kernels import matmul  # noqa: E402
from tnp.executors.shared.cpu_kernels.code import is_available  # noqa: E402

# The kernels are for these vectors alone: on other processors programs call torch's, as the tests of the torch executor have it.
pytestmark = pytest.mark.skipif(not is_available(), reason="there are no vectors of 512 bits, or no compiler")

#: rows, columns, length of the sums: tiles and strips that are whole or not, one of them, several parts of the inner dimension
SIZES = [(48, 64, 64), (13, 33, 17), (1, 40, 30), (61, 1, 100), (97, 31, 513), (50, 70, 1), (100, 130, 1555)]


#: of the left and the right operand: whether it is contiguous across the sums
ACROSS = list(itertools.product((False, True), repeat=2))


def operands(m, n, k, across):
    torch.manual_seed(0)
    a = torch.randn(k, m).t() if across[0] else torch.randn(m, k)
    b = torch.randn(k, n) if across[1] else torch.randn(n, k).t()
    return a, b, torch.randn(n)


def multiplied(a, b, start):
    """The product, in memory with something else on both sides."""
    m, n = a.shape[0], b.shape[1]
    around = torch.full((m + 2, n + 5), 7.0)
    out = around[1:-1, 2:-3]
    assert matmul.multiply(a, b, start, out)
    found = out.clone()
    out.fill_(7.0)
    assert (around == 7.0).all()
    return found


@pytest.mark.parametrize("across", ACROSS, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products(size, across):
    a, b, start = operands(*size, across)
    expected = start.double() + a.double() @ b.double()
    found = multiplied(a, b, start)
    error = (found - expected).abs().max()
    assert error <= 2 * (torch.addmm(start, a, b) - expected).abs().max() + 1e-6 * expected.abs().max()


@pytest.mark.parametrize("across", ACROSS, ids=str)
def test_same_bits_for_any_number_of_threads(across):
    given = operands(210, 90, 700, across)
    before = tnp.get_num_threads()
    try:
        found = []
        for n in (1, 2, 3, 16):
            tnp.set_num_threads(n)
            found.append(multiplied(*given))
    finally:
        tnp.set_num_threads(before)
    assert all(torch.equal(found[0], other) for other in found[1:])


def test_infinities_and_nan_stay_in_their_rows_and_columns():
    a, b, start = operands(30, 50, 19, (False, True))
    a[3, 18], a[7, 0], b[5, 49] = torch.inf, torch.nan, torch.nan
    expected = torch.addmm(start, a, b)
    torch.testing.assert_close(multiplied(a, b, start), expected, equal_nan=True)
    assert not expected.isfinite().all() and expected.isfinite().any()


def test_operands_without_contiguous_lines_are_left_alone():
    a, out = torch.ones(128, 128), torch.full((64, 64), 7.0)
    assert not matmul.multiply(a[::2, ::2], a[::2, :64].t(), torch.zeros(64), out)
    assert (out == 7.0).all()


def test_linear_layers_and_their_gradients(monkeypatch):
    """Where the kernel is the one to take, a program calls it for every product."""
    calls = []

    def counted(a, b, start, out):
        calls.append((*a.shape, b.shape[1]))
        return real(a, b, start, out)

    real = matmul.multiply
    monkeypatch.setattr(matmul, "is_preferred", lambda: True)
    monkeypatch.setattr(matmul, "multiply", counted)
    torch.manual_seed(0)
    x, w, b = torch.randn(3, 100, 160), torch.randn(130, 160), torch.randn(130)

    def loss(x, w, b):
        return (F.linear(x, w, b).tanh() * (x @ w.t()).sum(1, keepdim=True)).square().mean()

    given = [t.clone().requires_grad_() for t in (x, w, b)]
    jitted = tnp.jit(loss)
    for function in (loss, jitted):
        value = function(*given)
        value.backward()
        found = value.detach(), [t.grad for t in given]
        for t in given:
            t.grad = None
        if function is loss:
            expected = found
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert {(300, 160, 130), (300, 130, 160)} <= set(calls) and len(calls) >= 4
    calls.clear()
    narrow = tnp.jit(F.linear)
    torch.testing.assert_close(narrow(x, w, b[:1]), F.linear(x, w, b[:1]))
    torch.testing.assert_close(narrow(x.double(), w.double()), F.linear(x.double(), w.double()))
    assert not calls
