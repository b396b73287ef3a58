"""Jitted programs of tensors that require gradients: torch's autograd goes through them as through eager ones."""

import copy

import numpy as np
import pytest

import tnp

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from tests import torch_programs as programs  # noqa: E402
from tests.lang.torch.test_torch_language import _close, randn  # noqa: E402


def wanted(*shape, dtype=torch.float64):
    return randn(*shape, dtype=dtype).requires_grad_()


def leaves(x):
    if isinstance(x, torch.Tensor):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [leaf for y in x for leaf in leaves(y)] if isinstance(x, (tuple, list)) else []


def gradients(f, args):
    """The result, and the gradients of a fixed combination of its elements by the arguments that require them."""
    torch.manual_seed(0)
    result = f(*args)
    seeds = [
        (y, torch.cos(torch.arange(y.numel(), dtype=y.dtype).reshape(y.shape))) for y in leaves(result) if y.grad_fn
    ]
    inputs = [x for x in leaves(args) if x.requires_grad]
    ys, gs = zip(*seeds)
    found = torch.autograd.grad(ys, inputs, gs, allow_unused=True)
    return result, found


def flags(x):
    return [(y.requires_grad, y.is_leaf) for y in leaves(x)]


def compare(f, *args, compiled=True):
    """Results, which of them require gradients, and gradients, jitted and eager, twice."""
    jitted = tnp.jit(f)
    for _ in range(2):
        expected, expected_gradients = gradients(f, list(args))
        got, got_gradients = gradients(jitted, list(args))
        _close(got, expected)
        assert flags(got) == flags(expected)
        assert [g is None for g in got_gradients] == [g is None for g in expected_gradients]
        for a, b in zip(got_gradients, expected_gradients):
            if b is not None:
                _close(a, b)
    if compiled:
        assert tnp.last_traces(jitted), tnp.explain(jitted)
        assert tnp.last_backward_traces(jitted)
        assert tnp.cache_info(jitted) == (1, 1, 1)
    return jitted


def network(x, w, b):
    h = torch.tanh(F.linear(x, w, b))
    return (h * h).mean(-1), h


def several_results(x, w):
    y = torch.sin(x)
    return {"sum": (y * w).sum(), "sorted": [y.sort(-1).values, y.argmax()], "same": y, "also": y, "none": None}


def kinds_of_results(x, w):
    return (
        x,
        w,
        x.view(-1),
        x.T,
        x.detach() * 2,
        (x > 0),
        w.sum() + x.sum(),
        3,
        x.shape,
        torch.floor(x),
        x.requires_grad,
    )


def without_gradients(x, w):
    with torch.no_grad():
        scale = (x * w).sum() + 1
        kept = w * 2
    y = x * scale + kept
    return y, kept, scale, y.detach().sum() * x


def decorated(x, w):
    @torch.no_grad()
    def statistics(y):
        return y.mean(), y.std()

    mean, std = statistics(x)
    return (x - mean) / std * w


def in_place(x, w):
    y = x * 2
    y[0] = w[0] * w[1]
    y[:, 1:].mul_(w[:, 1:])
    y += x.T @ x
    z = F.relu(y, inplace=True)
    return z, y.sum()


def views_written(x, w):
    buffer = torch.zeros(4, 4, dtype=x.dtype)
    buffer[1:3] = x[:2] * w[:2]
    buffer.view(-1)[::5] = w.diagonal()
    return buffer.sum(0), buffer


def indexing(x, w):
    rows = torch.tensor([0, 2, 2])
    y = x[rows] * w[:3]
    return (
        y,
        torch.index_select(w, 0, rows),
        x.gather(1, torch.argsort(w, 1)),
        x.masked_fill(w > 0, 0.5),
        x[w > 0].sum(),
    )


def reductions(x, w):
    return (
        x.amax(0),
        w.max(1).values,
        x.std(0),
        w.var(),
        x.prod(1),
        x.norm(),
        torch.logsumexp(x, 0),
        x.cumsum(1),
        x.median(),
    )


def loop(x, w):
    for i in range(5):
        x = torch.tanh(x @ w) + i
    return x


def with_numbers(x, w, n=2.5):
    return x**n + w * n, x.sum() * 2


def items(x, w):
    return x * w.sum().item() + torch.full_like(x, 2.0), x.clone() * w


PAIRS = [
    several_results, without_gradients, decorated, in_place, views_written, reductions, loop, with_numbers, items, kinds_of_results,
]  # fmt: skip


@pytest.mark.parametrize("f", PAIRS, ids=lambda f: f.__name__)
def test_programs(f):
    compare(f, wanted(4, 4), wanted(4, 4).detach().flip(0).requires_grad_())


@pytest.mark.parametrize("f", PAIRS, ids=lambda f: f.__name__)
def test_programs_of_which_one_argument_requires(f):
    compare(f, wanted(4, 4), randn(4, 4, dtype=torch.float64).flip(0))


def test_lengths_known_at_run_time():
    compare(indexing, wanted(4, 4), wanted(4, 4))


def test_what_is_saved_and_shown():
    jitted = compare(network, randn(5, 4, dtype=torch.float64), wanted(3, 4), wanted(3))
    assert "saved for backward: 2 arrays, of which 1 (120 bytes)" in tnp.explain(jitted)
    assert "def backward(" in str(tnp.last_backward_traces(jitted)[-1])
    jitted(randn(2, 4), randn(3, 4), randn(3))
    assert tnp.last_backward_traces(jitted) == []


# Grad mode, flags and other guards


def test_grad_mode_and_flags_are_guarded():
    def f(x, w):
        return (x * w).sum()

    jitted, x, w = tnp.jit(f), randn(3), randn(3).requires_grad_()
    with torch.no_grad():
        assert not jitted(x, w).requires_grad
    with torch.inference_mode():
        assert not jitted(x, w).requires_grad
    assert jitted(x, w).requires_grad
    x.requires_grad_()
    jitted(x, w).backward()
    _close(x.grad, w.detach())
    w.requires_grad_(False)
    (found,) = torch.autograd.grad(jitted(x, w), x)
    _close(found, w)
    assert tnp.cache_info(jitted).misses == 4
    with torch.no_grad():
        assert not jitted(x, w.requires_grad_()).requires_grad


def test_cotangents_of_some_results_only():
    def f(x, w):
        return torch.sqrt(x), x * w, w.sin()

    jitted = tnp.jit(f)
    for chosen in ([1], [0, 2], [2], [0, 1, 2]):
        x, w = torch.tensor([0.0, 4.0], requires_grad=True), torch.tensor([1.0, 2.0], requires_grad=True)
        for g in (jitted, f):
            x.grad = w.grad = None
            results = g(x, w)
            torch.autograd.backward([results[i] for i in chosen], [torch.ones(2) for _ in chosen])
            found = x.grad, w.grad
            if g is jitted:
                expected = found
        assert [a is None for a in found] == [a is None for a in expected]
        for a, b in zip(expected, found):
            _close(a, b) if b is not None else None


def test_saved_values_are_guarded_against_writes_and_freed():
    def f(x, w):
        return torch.tanh(x * w)

    jitted, x, w = tnp.jit(f), randn(3), randn(3).requires_grad_()
    y = jitted(x, w)
    y.detach().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = jitted(x, w)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = jitted(x, w).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_writes_to_leaves_are_torchs_own_error():
    def f(x):
        x.mul_(2)
        return x.sum()

    with pytest.warns(tnp.EagerFallbackWarning), pytest.raises(RuntimeError, match="leaf Variable"):
        tnp.jit(f)(randn(3).requires_grad_())


def test_what_autograd_sees_otherwise_runs_eagerly():
    def overwrites_unseen(x):
        y = x * 2
        y.detach()[0] = 0
        return y * y

    def writes_to_an_argument(x, buffer):
        buffer.copy_(x)
        return buffer * 2

    def writes_unseen(x):
        y = x * 1
        with torch.no_grad():
            y[0] = 5
        return y.sum()

    for f, *args in ((overwrites_unseen,), (writes_to_an_argument, torch.zeros(3)), (writes_unseen,)):
        x = randn(3).requires_grad_()
        with pytest.warns(tnp.EagerFallbackWarning):
            got = tnp.jit(f)(x, *(a.clone() for a in args))
        expected = f(x, *(a.clone() for a in args))
        _close(got, expected)
        assert got.requires_grad == expected.requires_grad


class _StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, g):
        return g * 3


def test_functions_of_the_users_and_opaque_calls():
    def f(x):
        y = _StraightThrough.apply(x)
        values, places = torch.mode(y * x)
        return y, values, places, F.max_pool1d(x[None], 2)

    compare(f, wanted(4, 4))


# Modules


def test_training_with_an_optimizer():
    torch.manual_seed(0)
    mine = programs.Network(6).eval()
    eager = copy.deepcopy(mine)
    jitted = tnp.jit(mine)
    optimizers = [torch.optim.AdamW(m.parameters(), lr=0.05) for m in (mine, eager)]
    x, y = randn(7, 6), randn(7, 3)
    for _ in range(4):
        losses = []
        for model, optimizer in zip((jitted, eager), optimizers):
            optimizer.zero_grad()
            out = model(x)
            loss = F.mse_loss(out["y"], y) + out["z"].square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        _close(*losses)
    assert losses[0] < 10
    for p, q in zip(mine.parameters(), eager.parameters()):
        torch.testing.assert_close(p, q, rtol=1e-4, atol=1e-5)
    assert tnp.cache_info(jitted) == (3, 1, 1)
    for p in mine.blocks.parameters():
        p.requires_grad_(False)
    jitted(x)["y"].sum().backward()
    assert tnp.cache_info(jitted).misses == 2


class _Running(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("mean", torch.zeros(3))
        self.last = None

    def forward(self, x):
        with torch.no_grad():
            self.mean.lerp_((x * self.weight).mean(0), 0.5)
        y = (x - self.mean) * self.weight
        self.last = y.sum()
        return y * self.mean


def test_buffers_and_attributes_are_written():
    mine, eager = _Running(), _Running()
    jitted, x = tnp.jit(mine), randn(4, 3)
    for _ in range(3):
        for model in (jitted, eager):
            y = model(x)
            (y.sum() + model.last).backward()
        _close(mine.weight.grad, eager.weight.grad)
        _close(mine.mean, eager.mean)
        assert mine.last.requires_grad and not mine.mean.requires_grad
    assert tnp.cache_info(jitted) == (2, 1, 1)


@pytest.mark.parametrize(
    ("make", "shape"),
    [(programs.Attention, (2, 6, 16)), (programs.Recurrent, (2, 5, 3))], ids=["attention", "recurrent"],
)  # fmt: skip
def test_kinds_of_models(make, shape):
    torch.manual_seed(0)
    model = make()
    other = copy.deepcopy(model)
    jitted, x = tnp.jit(model), randn(*shape)
    for _ in range(2):
        for m in (jitted, other):
            m.zero_grad()
            m(x).square().mean().backward()
        for p, q in zip(model.parameters(), other.parameters()):
            torch.testing.assert_close(p.grad, q.grad, rtol=1e-4, atol=1e-6)
    assert tnp.last_backward_traces(jitted), tnp.explain(jitted)


def test_numpy_between_tensors():
    def f(x, a):
        y = np.sin(x) * a
        return torch.as_tensor(y).sum() + x.sum(), y

    x, a = wanted(3), np.arange(3.0)
    loss, y = tnp.jit(f)(x, a)
    assert type(y) is np.ndarray
    loss.backward()
    _close(x.grad, torch.cos(x.detach()) * torch.from_numpy(a) + 1)


# What is left to torch, and what changes between calls


class _OfTheUsers(torch.Tensor):
    pass


@pytest.mark.parametrize(
    ("reason", "make"),
    [
        ("sparse, quantised or nested", lambda: torch.eye(3).to_sparse()),
        ("sparse, quantised or nested", lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8)),
        ("sparse, quantised or nested", lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])),
        ("a subclass of Tensor", lambda: torch.ones(3).as_subclass(_OfTheUsers)),
    ],
    ids=["sparse", "quantised", "nested", "subclass"],
)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning", "ignore:torch.quantize_per_tensor")
def test_other_tensors_run_eagerly(reason, make):
    def f(a, w):
        return a.dequantize() if a.is_quantized else a + a, w * 2

    w = randn(3).requires_grad_()
    with pytest.warns(tnp.EagerFallbackWarning, match=reason):
        _, y = tnp.jit(f)(make(), w)
    y.sum().backward()
    assert w.grad.tolist() == [2, 2, 2]


def test_parameters_that_are_replaced_or_resized():
    model = nn.Linear(4, 2)
    jitted, x = tnp.jit(model), torch.ones(3, 4)
    jitted(x).sum().backward()
    model.weight.data = torch.full((2, 4), 2.0)
    model.bias = nn.Parameter(torch.zeros(2))
    assert torch.equal(jitted(x), torch.full((3, 2), 8.0))
    assert tnp.cache_info(jitted).misses == 1
    model.weight, model.bias = nn.Parameter(torch.ones(5, 4)), nn.Parameter(torch.zeros(5))
    jitted(x).sum().backward()
    assert torch.equal(model.weight.grad, torch.full((5, 4), 3.0))
    assert tnp.cache_info(jitted).misses == 2


class _Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        y = self.inner(x)
        if y.sum() > 0:
            return y * 2
        return y - 1


def test_control_flow_on_data():
    mine = _Branching()
    eager = copy.deepcopy(mine)
    jitted = tnp.jit(mine)
    for sign in (1, -1):
        x = torch.ones(2, 4) * sign
        for model in (jitted, eager):
            model.zero_grad()
            model(x).square().sum().backward()
        torch.testing.assert_close(mine.inner.weight.grad, eager.inner.weight.grad)
    assert tnp.cache_info(jitted).misses == 1


def test_gradients_are_memory_of_their_own():
    def f(x, y):
        return (x.T + y).sum() + (x + y).sum(), x.T + 1

    x, y, g = randn(2, 2).requires_grad_(), randn(2, 2).requires_grad_(), torch.ones(2, 2)
    loss, turned = tnp.jit(f)(x, y)
    torch.autograd.backward([loss, turned], [None, g])
    x.grad.zero_()
    assert torch.equal(y.grad, torch.full((2, 2), 2.0)) and torch.equal(g, torch.ones(2, 2))


def test_complex_tensors():
    z = torch.tensor([1 + 2j, 3 - 1j]).requires_grad_()
    f = lambda z: (z * z).abs().sum()  # noqa: E731
    _close(torch.autograd.grad(tnp.jit(f)(z), z), torch.autograd.grad(f(z), z))


def of_a_view_of_what_is_made(x):
    return (x.sigmoid() * 2).t()


def of_several_views(x):
    values, places = x.topk(k=1, dim=-1)
    return values.squeeze(-1), places.squeeze(-1), values * 2


def of_a_view_that_is_saved(x):
    return x.exp().t()


@pytest.mark.parametrize("f", [of_a_view_of_what_is_made, of_several_views, of_a_view_that_is_saved])
def test_results_that_are_views_may_be_changed_in_place(f):
    jitted = tnp.jit(f, strict=True)
    start = torch.linspace(-1, 1, 12).reshape(3, 4)
    found = []
    for g in (f, jitted):
        x = start.clone().requires_grad_()
        made = g(x)
        first, *others = made if isinstance(made, tuple) else (made,)
        first *= 3
        try:
            sum(y.float().sum() for y in (first, *others)).backward()
        except RuntimeError as error:  # the backward pass needs what was changed
            found.append(str(error)[:60])
        else:
            found.append(x.grad)
    if f is of_a_view_that_is_saved:
        assert type(found[0]) is str and found[0] == found[1]
    else:
        torch.testing.assert_close(found[1], found[0])


def of_two_views_of_one(x):
    made = x.sigmoid() * 2
    return made, made.t()


def of_views_alone(x):
    made = x.sigmoid() * 2
    return made[:, 1:].cos_(), made[:, :2], made.view(-1)


def of_parts_and_rows(x):
    made = x.sigmoid() * 2
    return made, *made.chunk(2, 1), made[0].expand(2, 4)


def of_parts_alone(x):
    return (x.sigmoid() * 2).chunk(2, 1)


@pytest.mark.parametrize("f", [of_two_views_of_one, of_views_alone, of_parts_and_rows, of_parts_alone])
@pytest.mark.parametrize("written", [0, 1])
def test_views_of_one_tensor_may_be_changed_in_place(f, written):
    jitted = tnp.jit(f, strict=True)
    found = []
    for g in (f, jitted, jitted):
        x = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
        made = g(x)
        try:
            made[written].mul_(3)
            sum((y * y).sum() for y in made).backward()
        except RuntimeError as error:  # torch.chunk gives what nobody may change
            found.append("modified inplace" in str(error))
        else:
            found.append(([y.detach() for y in made], x.grad))
    assert type(found[0]) is tuple or found[0]
    for other in found[1:]:
        torch.testing.assert_close(other, found[0])


def made_to_require(x):
    loss = torch.zeros(1)
    loss.requires_grad_()
    return loss + x.sum(), loss.requires_grad, (loss * 2).requires_grad


def of_a_factory(x):
    loss = torch.tensor([1.0], requires_grad=True)
    return (loss * x).sum(), loss.detach() + 1


def returned_leaf(x):
    return torch.zeros(2, requires_grad=True), x * 2


def a_leaf_that_is_written(x):
    loss = torch.zeros(1, requires_grad=True)
    loss += x.sum()
    return loss


def a_leaf_that_was_read(x):
    loss = torch.zeros(1)
    before = loss * 2
    loss.requires_grad_()
    return before, before.requires_grad, loss + x.sum()


def an_argument(x):
    return x.requires_grad_() * 2


LEAVES = [made_to_require, of_a_factory, returned_leaf, a_leaf_that_is_written, a_leaf_that_was_read, an_argument]


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("f", LEAVES)
@pytest.mark.parametrize("requires", [False, True])
@pytest.mark.parametrize("on", [False, True])
def test_tensors_that_the_program_makes_require_gradients(f, requires, on):
    jitted, found = tnp.jit(f), []
    for g in (f, jitted, jitted):
        x = torch.linspace(-1, 1, 3).requires_grad_(requires)
        with torch.set_grad_enabled(on):
            try:
                made = g(x)
            except RuntimeError as error:
                found.append(str(error))
                continue
            if on and leaves(made)[0].requires_grad:
                leaves(made)[0].sum().backward()
        found.append(([y.detach() for y in leaves(made)], flags(made), x.requires_grad, x.grad))
    for other in found[1:]:
        if type(found[0]) is str:
            assert other == found[0]
        else:
            torch.testing.assert_close(other, found[0])
    if requires and on and f in (made_to_require, of_a_factory, an_argument):
        assert tnp.last_traces(jitted), tnp.explain(jitted)
