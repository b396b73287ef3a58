"""What a step of training keeps and computes again, and where its large products lie."""

import sys
import weakref

import pytest

import tnp

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from tnp.executors.torch import matmul  # noqa: E402


def perceptrons(x, a, b):
    for _ in range(2):
        h = x @ a
        x = (h * h + h) @ b
    return x.square().sum()


def weights(*shapes, **options):
    torch.manual_seed(0)
    return [torch.randn(*s, **options).mul_(0.1).requires_grad_() for s in shapes]


def gradients(f, args):
    return torch.autograd.grad(f(*args), args)


def test_what_is_computed_again_is_part_of_the_region_that_reads_it():
    args = weights((40, 30), (30, 1200), (1200, 30))
    jitted = tnp.jit(perceptrons)
    torch.testing.assert_close(gradients(jitted, args), gradients(perceptrons, args))
    body = tnp.last_backward_traces(jitted)[-1].body
    again = [b for b in body if [p.shape for p in b.flat_outputs[:1]] == [(40, 1200)] and "fusion" in b.sym.name]
    # Each region recomputes the second product's operand for the weight's gradient. It writes the first cotangent over
    # the second one. Nothing else goes through memory.
    assert [(len(b.flat_outputs), len(b.sym.updates)) for b in again] == [(1, 1)] * 2, body
    first = body.index(again[0])
    assert "matmul" in {b.sym.name for b in body[:first]}, "not before the cotangent is there"


def test_cotangents_of_parts_that_fill_an_array_are_joined():
    def f(x):
        a, b, c = (x * 2).split([3, 1, 4], dim=1)
        return (a.sum(1) * b.sum(1) * c.sum(1)).sum()

    args = weights((5, 8))
    jitted = tnp.jit(f)
    torch.testing.assert_close(gradients(jitted, args), gradients(f, args))
    backward = str(tnp.last_backward_traces(jitted)[0])
    assert "concatenate" in backward and "full(" not in backward, backward


def alive_at_each_line(program, values):
    """How many of the tensors in the list ``values`` are alive as each line of ``program`` begins."""
    known, found = [weakref.ref(t) for t in values], []

    def watch(frame, event, arg):
        if frame.f_code is program.__code__:
            found.append(sum(r() is not None for r in known))
            return watch
        return None

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        program(values)
    finally:
        sys.settrace(before)
    return found


def test_what_was_saved_goes_when_it_has_been_read():
    args = weights((40, 30), (30, 50), (50, 30))
    jitted = tnp.jit(perceptrons)
    gradients(jitted, args)
    trace = tnp.last_backward_traces(jitted)[-1]
    values = [torch.randn([int(n) for n in p.shape]) for p in trace.args]
    alive = alive_at_each_line(trace.emptying_callable([p.name for p in trace.args]), values)
    assert not values and alive[0] == len(trace.args)
    assert alive[-1] == 0 and sorted(alive, reverse=True) == alive


def test_a_graph_that_is_kept_can_be_gone_through_again():
    args = weights((4, 3), (3, 5), (5, 3))
    loss = tnp.jit(perceptrons)(*args)
    once = torch.autograd.grad(loss, args, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(loss, args), once, rtol=0, atol=0)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(loss, args)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products_in_the_pool_are_torchs_to_the_last_bit(dtype):
    for shape, n in (((2, 150, 40), 900), ((300, 40), 900), ((1, 3, 1), 100_000), ((300, 7), 1000)):
        x, w, b = (t.detach() for t in weights(shape, (n, shape[-1]), (n,), dtype=dtype))
        assert torch.equal(matmul.linear(x, w, b), F.linear(x, w, b))
        assert torch.equal(matmul.linear(x, w), F.linear(x, w))
        turned = x.transpose(0, 1).contiguous().transpose(0, 1)
        assert torch.equal(matmul.linear(turned, w, b), F.linear(turned, w, b))
        rows = x.reshape(-1, shape[-1])
        assert torch.equal(matmul.matmul(rows, w.T), rows @ w.T)


def test_large_products_of_steps_of_training_are_in_the_pool(monkeypatch):
    # tnp's own kernel, whose results lie there too, adds up in another order
    monkeypatch.setattr("tnp.executors.shared.cpu_kernels.matmul.is_preferred", lambda: False)
    layer = torch.nn.Linear(64, 1024)
    jitted = tnp.jit(layer)
    x = torch.randn(512, 64, requires_grad=True)
    assert torch.equal(jitted(x), layer(x))
    jitted(x).sum().backward()
    assert "torch_linear(" in str(tnp.last_traces(jitted)[-1])
    found = [p.grad.clone() for p in layer.parameters()]
    layer.zero_grad()
    layer(x).sum().backward()
    torch.testing.assert_close(found, [p.grad for p in layer.parameters()])
    with torch.no_grad():
        inference = tnp.jit(layer)
        assert torch.equal(inference(x), layer(x))
    assert "torch_linear(" not in str(tnp.last_traces(inference)[-1]), (
        "the pool is for the many sizes of a step of training"
    )
    few = tnp.jit(lambda x: F.linear(x, layer.weight.detach()))
    few(x[:3].detach())
    assert "torch_linear(" not in str(tnp.last_traces(few)[-1])


def layers(x, w, b):
    h = F.gelu(F.linear(x, w, b))
    return F.linear(h, w, bias=b), F.linear(x, w, b).chunk(2, 1)


@torch.no_grad()
def test_a_bias_is_added_by_the_region_that_reads_the_result():
    x, w, b = torch.randn(200, 100), torch.randn(100, 100), torch.randn(100)
    jitted = tnp.jit(layers)
    torch.testing.assert_close(jitted(x, w, b), layers(x, w, b), rtol=1e-4, atol=1e-4)
    body = tnp.last_traces(jitted)[-1].body
    assert [len(p.flat_inputs) for p in body if p.sym.name == "linear"] == [2, 3, 3], (
        "what is returned or viewed has its bias at once"
    )
    assert "gelu" in [s.sym.name for p in body if "fusion" in p.sym.name for s in p.subsymbols]


def over_products(x, w, b):
    h = F.linear(x, w, b)
    part = h[:, 1:3]
    y = F.gelu(h)
    k = F.linear(x, w)
    return y, part * 2, torch.sigmoid(k) + k, torch.relu(F.linear(y, w))


@torch.no_grad()
def test_what_is_computed_of_a_product_is_written_over_it():
    x, w, b = torch.randn(200, 100), torch.randn(100, 100), torch.randn(100)
    jitted = tnp.jit(over_products)
    for _ in range(2):
        torch.testing.assert_close(jitted(x, w, b), over_products(x, w, b), rtol=1e-4, atol=1e-4)
    regions = [b for b in tnp.last_traces(jitted)[-1].body if "fusion" in b.sym.name]
    assert any(not b.flat_outputs for b in regions), "one returns nothing: its result is in its argument"


def complement(x, mask):
    return x * (1 - mask)


def widened(x, mask):
    return x * mask.exp().expand(4, 3)  # a copy of the mask is the least to save


def with_its_mask(x, mask):
    found = x.detach() * mask
    return x * found[0].exp().expand(4, 3), found


def with_what_it_adds_to(x, mask):
    y = torch.sin(x - mask)
    return y * 2, y + 1


def over_a_view(x, mask):
    return (x * (2 - mask.flip(0)[None])).sum(0), mask[1:]


@pytest.mark.parametrize(
    "f", [complement, widened, with_its_mask, with_what_it_adds_to, over_a_view], ids=lambda f: f.__name__
)
def test_what_autograd_does_not_keep_may_be_written_to_before_the_backward_pass(f):
    def step(f):
        x = torch.linspace(-1, 1, 12).reshape(4, 3).requires_grad_()
        mask = torch.tensor([0.5, 1.0, 0.25])
        made = f(x * 1, mask)
        first, *others = made if isinstance(made, tuple) else (made,)
        mask.mul_(3)
        for y in others:
            y.add_(1)
        (first.sum() + sum(y.sum() for y in others if y.requires_grad)).backward()
        return x.grad

    jitted = tnp.jit(f)
    for _ in range(2):
        torch.testing.assert_close(step(jitted), step(f))


def test_what_autograd_keeps_may_not_be_written_to():
    def f(x, w):
        return (x * w).exp()

    for g in (f, tnp.jit(f)):
        x, w = torch.ones(3, requires_grad=True), torch.ones(3)
        y = g(x, w)
        w.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
