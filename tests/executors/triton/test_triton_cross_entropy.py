"""Cross entropy by Triton, under Triton's interpreter: loss and gradient are torch's."""

import itertools

import pytest

pytest.importorskip("triton", reason="the extra 'triton' is not installed", exc_type=ImportError)
torch = pytest.importorskip("torch", exc_type=ImportError)

import triton  # noqa: E402

import tnp  # noqa: E402

pytestmark = pytest.mark.skipif(not triton.knobs.runtime.interpret, reason="TRITON_INTERPRET is off")


def operations(f):
    return {b.sym.name for b in tnp.last_traces(f)[-1].bound_symbols}


CASES = list(itertools.product(("mean", "sum", "none"), (0.0, 0.1), (False, True), (-100, 2)))


@pytest.mark.parametrize(("reduction", "smoothing", "weighted", "ignored"), CASES)
def test_loss_and_gradient(reduction, smoothing, weighted, ignored):
    torch.manual_seed(0)
    x = torch.randn(6, 37, dtype=torch.float64) * 5
    target = torch.tensor([0, 36, 2, 7, 2, 11])
    weight = torch.rand(37, dtype=torch.float64) if weighted else None
    up = torch.rand(6, dtype=torch.float64) if reduction == "none" else torch.tensor(1.5, dtype=torch.float64)

    def loss(x):
        return torch.nn.functional.cross_entropy(
            x, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=smoothing
        )

    def total(x):
        return (loss(x) * up).sum()

    forward = tnp.jit(loss, executors=["triton_cross_entropy"])
    torch.testing.assert_close(forward(x), loss(x))
    assert "triton_crossentropy" in operations(forward)
    backward = tnp.jit(tnp.value_and_grad(total), executors=["triton_cross_entropy"])
    value, found = backward(x)
    assert "triton_crossentropy_backward" in operations(backward)
    eager = x.clone().requires_grad_()
    total(eager).backward()
    torch.testing.assert_close(value, total(x))
    torch.testing.assert_close(found, eager.grad)


def test_many_classes_in_float32():
    torch.manual_seed(0)
    x = torch.randn(3, 5000) * 5
    target = torch.tensor([4999, 0, 123])

    def loss(x):
        return torch.nn.functional.cross_entropy(x, target)

    value, found = tnp.jit(tnp.value_and_grad(loss), executors=["triton_cross_entropy"])(x)
    eager = x.clone().requires_grad_()
    loss(eager).backward()
    torch.testing.assert_close(value, loss(x))
    torch.testing.assert_close(found, eager.grad)


def test_rows_that_are_all_ignored():
    def loss(x):
        return torch.nn.functional.cross_entropy(x, torch.tensor([1, 1]), ignore_index=1, reduction="sum")

    value, found = tnp.jit(tnp.value_and_grad(loss), executors=["triton_cross_entropy"])(torch.full((2, 3), 1e9))
    assert value == 0
    assert not found.any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_half_precision(dtype, reduction):
    torch.manual_seed(0)
    x = (torch.randn(4, 37) * 3).to(dtype).requires_grad_()
    target, weight = torch.tensor([0, 36, 2, 7]), torch.rand(37).to(dtype)

    def loss(x, weight):
        return torch.nn.functional.cross_entropy(x, target, weight, label_smoothing=0.1, reduction=reduction)

    f = tnp.jit(loss, executors=["triton_cross_entropy"])
    value, expected = f(x, weight), loss(x.float(), weight.float())
    assert "triton_crossentropy" in operations(f)
    torch.testing.assert_close(value.float(), expected, rtol=2e-2, atol=2e-2)
    g = torch.ones_like(expected)
    (found,) = torch.autograd.grad(value, x, g.to(dtype))
    (wanted,) = torch.autograd.grad(expected, x, g)
    torch.testing.assert_close(found, wanted, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(("reduction", "smoothing", "weighted", "ignored"), CASES)
def test_a_gradient_is_differentiated_again(reduction, smoothing, weighted, ignored):
    torch.manual_seed(0)
    target = torch.tensor([0, 9, 2, 7, 2])
    weight = torch.rand(10, dtype=torch.float64) if weighted else None
    x = torch.randn(5, 10, dtype=torch.float64, requires_grad=True)

    def loss(x):
        return torch.nn.functional.cross_entropy(
            x * x, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=smoothing
        )

    def twice(f):
        (g,) = torch.autograd.grad((f(x) ** 2).sum(), x, create_graph=True)
        return torch.autograd.grad((g**3).sum(), x)[0]

    f = tnp.jit(loss, executors=["triton_cross_entropy"])
    torch.testing.assert_close(twice(f), twice(loss))
    assert "triton_crossentropy" in operations(f)


def test_a_target_that_is_no_class_raises():
    f = tnp.jit(torch.nn.functional.cross_entropy, executors=["triton_cross_entropy"])
    with pytest.raises(IndexError, match="is out of bounds"):
        f(torch.zeros(2, 3), torch.tensor([0, 3]))
