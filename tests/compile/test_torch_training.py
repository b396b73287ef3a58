"""What training is made of, jitted against eager: layers with state and draws, losses, subgradients at kinks."""

import copy
import inspect

import pytest

import tnp

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="torch's operator database needs it")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from tests.compile.test_torch_gradients import gradients  # noqa: E402
from tests.lang.torch.test_torch_language import _close, randn  # noqa: E402
from tnp.lang import torch as ltorch  # noqa: E402
from tnp.lang.torch.registry import by_id  # noqa: E402
from tnp.testing.torch_gradients import differentiable_operators, gradient_outcomes  # noqa: E402
from tnp.transforms.autodiff import grad_rules  # noqa: E402


def activations_at_kinks(x):
    return (
        F.relu(x), F.relu6(x), F.hardtanh(x), F.hardsigmoid(x), F.hardswish(x), F.leaky_relu(x), F.elu(x), F.hardshrink(x),
        F.softshrink(x), F.threshold(x, 0.5, 0.1), F.logsigmoid(x), x.clamp(-1, 1), x.clamp(min=0), x.clamp_max(1), F.relu_(x * 1),
        torch.clamp(x, torch.zeros_like(x), torch.ones_like(x)), x.abs(), torch.sign(x), F.silu(x), torch.sigmoid(x),
    )  # fmt: skip


def extremes_of_equals(x):
    y = x.clamp(-1, 1)
    rows = y.view(3, 4)
    zero = torch.zeros_like(x)
    return (
        torch.maximum(x, zero), torch.minimum(x, zero), torch.fmax(x, zero), torch.fmin(zero, x), y.amax(), y.max(), rows.max(0).values,
        rows.min(1).values, y.sort().values, y.cummax(0).values, y.topk(3).values, y.median(), torch.atan2(x, zero), (x * 0).norm(),
        torch.linalg.vector_norm(rows * 0, dim=1), x.prod(), F.hinge_embedding_loss(x, torch.sign(x.detach()) * 2 + 1),
        F.margin_ranking_loss(x, x.detach() * 0 + 1, torch.ones_like(x)), F.smooth_l1_loss(x, zero), F.l1_loss(x, zero),
    )  # fmt: skip


@pytest.mark.parametrize("f", [activations_at_kinks, extremes_of_equals], ids=lambda f: f.__name__)
def test_subgradients_are_torchs(f):
    x = torch.tensor([-3.0, -1, -0.5, 0, 0.5, 1, 3, 6, -6, 20, 0.0, -0.0], dtype=torch.float64).requires_grad_()
    jitted = tnp.jit(f)
    names = inspect.getsource(f).partition("return (")[2]
    for i, (mine, eager) in enumerate(zip(jitted(x), f(x))):
        found = [torch.autograd.grad(y.sum(), x, retain_graph=True)[0] for y in (mine, eager)]
        assert torch.allclose(*found, rtol=1e-6), f"result {i} of {names}: {found}"
    assert tnp.last_backward_traces(jitted), tnp.explain(jitted)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, stride=2)
        self.batch_norm = nn.BatchNorm2d(8)
        self.dropout = nn.Dropout(0.3)
        self.dropout_of_channels = nn.Dropout2d(0.2)
        self.turned = nn.ConvTranspose2d(8, 4, 2, 2)
        self.embedding = nn.Embedding(10, 4)
        self.layer_norm = nn.LayerNorm(4)
        self.linear = nn.Linear(4, 5)

    def forward(self, x, words):
        h = self.dropout_of_channels(F.relu(self.batch_norm(self.conv(x)), inplace=True))
        h = F.avg_pool2d(F.max_pool2d(self.turned(h), 2), 2).mean((2, 3)) + self.embedding(words).mean(1)
        q = self.layer_norm(h)[:, None, None, :]
        h = F.scaled_dot_product_attention(q, q * 2, q).flatten(1) + h
        return F.cross_entropy(self.linear(self.dropout(h)), words[:, 0] % 5)


def test_layers_with_state_and_draws():
    torch.manual_seed(0)
    mine = Layers().double()
    eager = copy.deepcopy(mine)
    jitted = tnp.jit(mine)
    x, words = randn(4, 3, 8, 8, dtype=torch.float64), torch.arange(12).view(4, 3) % 10
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (mine, eager)]
    for seed in range(3):
        for model, optimizer in zip((jitted, eager), optimizers):
            torch.manual_seed(seed)
            optimizer.zero_grad()
            loss = model(x, words)
            loss.backward()
            optimizer.step()
            if model is jitted:
                mine_loss, state = loss.detach(), torch.get_rng_state()
        _close(mine_loss, loss.detach())
        assert torch.equal(state, torch.get_rng_state())
    _close(dict(mine.state_dict()), dict(eager.state_dict()))
    assert tnp.cache_info(jitted) == (2, 1, 1)
    mine.eval(), eager.eval()
    _close(jitted(x, words).detach(), eager(x, words).detach())


def test_batch_norm_of_one_element_is_torchs_error():
    jitted = tnp.jit(nn.BatchNorm1d(3))
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        jitted(torch.ones(1, 3))


def losses(x, target, w):
    picked = (
        F.cross_entropy(x, target, ignore_index=2),
        F.cross_entropy(x, target, reduction="sum"),
        F.cross_entropy(x, target, reduction="none"),
    )
    smooth = (
        F.cross_entropy(x, target, label_smoothing=0.1),
        F.cross_entropy(x, target, weight=w.detach()),
        F.nll_loss(F.log_softmax(x, 1), target),
    )
    layer = (
        F.layer_norm(x, (3,), weight=w, bias=w),
        F.layer_norm(x, x.shape),
        F.rms_norm(x, (3,), w),
        F.softmax(x, 0),
        F.group_norm(x[..., None], 3, w),
    )
    return picked, smooth, layer, F.embedding(target, x, padding_idx=1), torch.logsumexp(x, 1)  # fmt: skip


def test_losses_and_normalisation():
    args = (
        randn(4, 3, dtype=torch.float64).requires_grad_(),
        torch.tensor([0, 2, 1, 1]),
        randn(3, dtype=torch.float64).abs(),
    )
    args[2].requires_grad_()
    jitted = tnp.jit(losses)
    (expected, eager), (got, mine) = gradients(losses, args), gradients(jitted, args)
    _close(got, expected)
    for a, b in zip(mine, eager):
        _close(a, b)
    assert tnp.last_backward_traces(jitted), tnp.explain(jitted)


@pytest.mark.parametrize("op", differentiable_operators()[2::16], ids=lambda op: op.formatted_name)
def test_gradients_of_operators(op):
    for found in gradient_outcomes(op, limit=1):
        assert found.kind != "wrong", found.reason


def test_every_rule_is_of_a_function():
    ids = {i for i in grad_rules if isinstance(i, str) and i.startswith("torch.")}
    assert ids and not ids - set(by_id)


def chain(x, w):
    y = x @ w
    for i in range(3):
        y = F.gelu(y * 1.5 + i) - F.silu(y)
    return (torch.relu(y) * torch.sigmoid(y)).sum()


def test_less_is_saved_by_computing_again():
    x, w = randn(20, 10, dtype=torch.float64).requires_grad_(), randn(10, 30, dtype=torch.float64).requires_grad_()
    jitted = tnp.jit(chain)
    (_, mine), (_, eager) = gradients(jitted, (x, w)), gradients(chain, (x, w))
    for a, b in zip(mine, eager):
        _close(a, b)
    assert "saved for backward: 3 arrays, of which 1 (4.688 KiB) the program makes" in tnp.explain(
        jitted
    )  # x, w and x @ w
    kept_by_torch = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept_by_torch.append(t.numel()) or t, lambda t: t):
        chain(x, w)
    assert sum(kept_by_torch) > 10 * 600


def drawn(x):
    return F.dropout(torch.exp(x) * 2, 0.5) * torch.rand_like(x)


def test_draws_are_saved_and_not_made_again():
    x = randn(50, dtype=torch.float64).requires_grad_()
    jitted = tnp.jit(drawn)
    (_, mine), (_, eager) = gradients(jitted, (x,)), gradients(drawn, (x,))
    _close(mine[0], eager[0])
    assert "bernoulli" not in str(tnp.last_backward_traces(jitted)[-1]) and "dropout_mask" not in str(
        tnp.last_backward_traces(jitted)[-1]
    )


def layers(x, w, b, v):
    return torch.tanh(F.linear(x, w, b)) @ v


def test_weights_of_stacks_get_one_product_of_all_rows():
    args = [randn(*s, dtype=torch.float64).requires_grad_() for s in ((2, 3, 5, 4), (6, 4), (6,), (6, 2))]
    jitted = tnp.jit(layers)
    (expected, eager), (got, mine) = gradients(layers, args), gradients(jitted, args)
    _close(got, expected)
    for a, b in zip(mine, eager):
        _close(a, b)
    backward = tnp.last_backward_traces(jitted)[-1]
    products = [b.output.shape for b in backward.body if "matmul" in b.sym.name]
    assert sorted(products) == [(6, 2), (6, 4), (30, 4), (30, 6)], backward


def convolutions(x, w, b):
    one = F.conv2d(x, bias=b, weight=w, stride=2, padding=(1, 0)), F.conv2d(x[0], w, None, 1, 1, 2)
    return *one, F.conv1d(x[:, :, 0], w[:, :2, 0], groups=2), F.conv3d(x[:, :, None], w[:, :, None], b, padding=1)


def test_convolutions_and_attention():
    args = [randn(*s, dtype=torch.float64).requires_grad_() for s in ((2, 4, 6, 6), (4, 4, 3, 3), (4,))]
    attention = lambda q, k, mask: F.scaled_dot_product_attention(q, k * 2, k, attn_mask=mask) * 2  # noqa: E731
    others = [randn(*s, dtype=torch.float64).requires_grad_() for s in ((2, 2, 5, 4), (2, 2, 5, 4), (5, 5))]
    for f, given in ((convolutions, args), (attention, others)):
        jitted = tnp.jit(f)
        (expected, eager), (got, mine) = gradients(f, given), gradients(jitted, given)
        _close(got, expected)
        for a, b in zip(mine, eager):
            _close(a, b)
        assert "backward_of_" in str(tnp.last_backward_traces(jitted)[-1])


def attended_and_more(q, k):
    return F.scaled_dot_product_attention(q, k * 2, k, is_causal=True), q * k


def test_what_a_rule_saves_serves_every_way_back():
    """A rule of an executor computes something besides the results: of one output's cotangent alone, the same is used."""
    args = [randn(2, 2, 5, 4, dtype=torch.float64).requires_grad_() for _ in range(2)]
    jitted = tnp.jit(attended_and_more)
    for which in (slice(0, 1), slice(0, 2), slice(1, 2)):
        mine, eager = (
            torch.autograd.grad([y.sin().sum() for y in f(*args)[which]], args) for f in (jitted, attended_and_more)
        )
        for a, b in zip(mine, eager):
            _close(a, b)
    assert "cpu_flash_attention_backward(" in str(tnp.last_backward_traces(jitted)[-1])


def test_a_rule_that_is_registered_stands_before_torchs_own_way_back():
    x, w = randn(1, 2, 5).requires_grad_(), randn(2, 2, 3).requires_grad_()
    jitted = tnp.jit(lambda x, w: F.conv1d(x, w).sum())
    _close(torch.autograd.grad(jitted(x, w), w), torch.autograd.grad(F.conv1d(x, w).sum(), w))

    def sevens(input, weight, *options):
        out = ltorch.conv1d(input, weight, *options)
        g = tnp.get_grad(out).sum()
        tnp.put_grads((input, weight), (input * 0 + g, weight * 0 + 7))
        return out

    tnp.register_grad(ltorch.conv1d, sevens)
    try:
        of_x, of_w = torch.autograd.grad(jitted(x, w), (x, w))
    finally:
        del grad_rules[ltorch.conv1d.id]
    assert (of_x == 6).all() and (of_w == 7).all()


class _FailsBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        raise ValueError("it has no way back")


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_a_function_whose_way_back_raises():
    jitted = tnp.jit(lambda x: _FailsBackward.apply(x) + 1)
    x = torch.ones(3, requires_grad=True)
    for _ in range(2):
        y = jitted(x)
        assert (y == 3).all()
        with pytest.raises(ValueError, match="it has no way back"):
            y.sum().backward()


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_gradients_are_clipped_in_a_jitted_function():
    def clipped(parameters):
        return nn.utils.clip_grad_norm_(parameters, 1.0)

    found = []
    for f in (clipped, tnp.jit(clipped)):
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        model(torch.ones(4, 3)).sum().backward()
        found.append((f(list(model.parameters())), model.weight.grad))
    for a, b in zip(*found):
        _close(a, b)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_a_jitted_module_under_a_transform_of_torch_func():
    model = nn.Linear(3, 2)
    jitted, x = tnp.jit(model), torch.ones(4, 3)
    parameters = dict(model.named_parameters())

    def of(module):
        return torch.func.grad(lambda p: torch.func.functional_call(module, p, (x,)).sum())(parameters)

    for _ in range(2):
        for name, g in of(jitted).items():
            _close(g, of(model)[name])
    _close(jitted(x), model(x))
    assert tnp.last_traces(jitted)  # compiled, outside of the transform
