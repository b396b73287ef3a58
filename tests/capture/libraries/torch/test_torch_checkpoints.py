"""``torch.utils.checkpoint``: what is saved, what is computed again, and which functions run eagerly."""

import copy
import re
from contextlib import nullcontext
from functools import partial

import pytest

import tnp

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint, checkpoint_sequential, create_selective_checkpoint_contexts  # noqa: E402

from tests.lang.torch.test_torch_language import _close, randn  # noqa: E402

again = partial(checkpoint, use_reentrant=False)


class _Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(4, 16), nn.Linear(16, 4)

    def forward(self, x):
        return x + self.down(F.dropout(torch.tanh(self.up(x)), 0.25))


class _Stack(nn.Module):
    def __init__(self, checkpointed):
        super().__init__()
        self.blocks = nn.ModuleList([_Block() for _ in range(3)])
        self.checkpointed = checkpointed

    def forward(self, x):
        for block in self.blocks:
            x = again(block, x) if self.checkpointed else block(x)
        return x.square().mean()


def _saved(jitted):
    """The shapes of the arrays that a program saves for the backward."""
    lines = tnp.explain(jitted).splitlines()
    begin = next(i for i, line in enumerate(lines) if "saved for backward" in line)
    shapes = (re.fullmatch(r"\s+\w+: cpu \w+\[(.*)\]", line) for line in lines[begin + 1 :])
    return [s.group(1) for s in shapes if s is not None]


def test_blocks_save_what_they_begin_with_and_what_they_draw():
    torch.manual_seed(0)
    mine = _Stack(True)
    eager, jitted = copy.deepcopy(mine), tnp.jit(mine, executors=["numpy"])
    for seed in range(2):
        states = []
        for model in (jitted, eager):
            torch.manual_seed(seed)
            model(torch.ones(5, 4)).backward()
            states.append(torch.get_rng_state())
        assert torch.equal(*states)
    for p, q in zip(mine.parameters(), eager.parameters()):
        _close(p.grad, q.grad)
    assert tnp.cache_info(jitted) == (1, 1, 1)
    assert sorted(_saved(jitted)) == ["5, 16"] * 3 + ["5, 4"] * 3  # masks, and the results of blocks
    mine.checkpointed = False
    jitted(torch.ones(5, 4))
    whole = tnp.jit(_Stack(False), executors=["numpy"])
    whole(torch.ones(5, 4))
    assert len(_saved(whole)) > 6


def _updates(y, w):
    z = y @ w
    z[0] = 1
    z[1:] *= y[1:]
    return z @ w, {"first": z[0], "given": y}


def _of_views(y, w):
    return (y @ w).sin()[:2].T


def _of_conditions(y, w):
    return (y @ w).sin() if y.sum() > 0 else (y @ w).cos() @ w


def _nested(y, w):
    return again(_of_views, y @ w, w).sum(0) * w[:2, :2].sum()


def _of_attention(y, w):
    return F.scaled_dot_product_attention(y[None], w[None], y[None], dropout_p=0.1)


@pytest.mark.parametrize("f", [_updates, _of_views, _of_conditions, _nested, _of_attention], ids=lambda f: f.__name__)
def test_gradients_and_gradients_of_gradients(f):
    def loss(x, w):
        found = again(f, x * 2, w=w)
        found = [*found[1].values(), found[0]] if isinstance(found, tuple) else [found]
        return sum((t.sin() * torch.arange(1, t.numel() + 1).view(t.shape)).sum() for t in found)

    args = [randn(3, 3, dtype=torch.float64).requires_grad_() for _ in range(2)]
    jitted, found = tnp.jit(loss, executors=["numpy"]), []
    for g in (jitted, loss):
        torch.manual_seed(0)
        first = torch.autograd.grad(g(*args), args, create_graph=f is not _of_attention)
        found.append(
            [
                *first,
                *(torch.autograd.grad(sum(t.square().sum() for t in first), args) if f is not _of_attention else ()),
            ]
        )
    for mine, eager in zip(*found):
        _close(mine.detach(), eager.detach())
    assert tnp.last_backward_traces(jitted), tnp.explain(jitted)


def test_sequences():
    torch.manual_seed(0)
    model = nn.Sequential(*(m for _ in range(5) for m in (nn.Linear(3, 3), nn.Tanh())))
    x = randn(2, 3).requires_grad_()

    def f(x, segments):
        return checkpoint_sequential(model, segments, x, use_reentrant=False)

    jitted = tnp.jit(f, executors=["numpy"])
    for segments in (1, 3, 4):
        _close(*(torch.autograd.grad(g(x, segments).sum(), x)[0] for g in (jitted, f)))
    assert len(tnp.last_traces(jitted)) and "eager" not in tnp.explain(jitted)


class _Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.calls = nn.BatchNorm1d(3), 0

    def count(self, x):
        self.calls += 1
        return x * self.calls

    def forward(self, x, way):
        return _WAYS[way](self, x)


def _writing(self, x):
    def f(y):
        self.norm.num_batches_tracked.add_(1)
        return y * 2

    return again(f, x)


#: ways to checkpoint that a program does not go
_WAYS = {
    "statistics": lambda self, x: again(self.norm, x),
    "attributes": lambda self, x: again(self.count, x),
    "writes": _writing,
    "draws": lambda self, x: again(F.dropout, x, preserve_rng_state=False),
    "reentrant": lambda self, x: checkpoint(F.silu, x, use_reentrant=True),
    "contexts": lambda self, x: again(F.silu, x, context_fn=partial(create_selective_checkpoint_contexts, [])),
}


@pytest.mark.parametrize("way", _WAYS)
def test_what_a_second_run_would_change_runs_eagerly(way):
    mine = _Counted()
    eager, jitted, x = copy.deepcopy(mine), tnp.jit(mine, executors=["numpy"]), randn(4, 3).requires_grad_()
    for seed in range(2):
        found = []
        for model in (jitted, eager):
            torch.manual_seed(seed)
            x.grad = None
            with (
                pytest.warns(tnp.EagerFallbackWarning, match="checkpoints")
                if model is jitted and not seed
                else nullcontext()
            ):
                result = model(x, way)
            result.square().sum().backward()
            found.append(
                [result.detach(), x.grad, torch.get_rng_state(), mine.calls if model is jitted else eager.calls]
            )
        _close(found[0][:2], found[1][:2])
        assert torch.equal(found[0][2], found[1][2]) and found[0][3] == found[1][3]
    _close(dict(mine.state_dict()), dict(eager.state_dict()))
