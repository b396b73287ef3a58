"""Dimensions, flags, limits and other parameters of torch's functions, of kinds that they take and of kinds that they refuse."""

import numpy as np
import pytest

from tests.lang.outcomes import with_each

torch = pytest.importorskip("torch")
F = torch.nn.functional

X = torch.tensor([[1.0, 2, 3, 4.5], [2, 1, 0.5, 3], [0.3, 4, 1, 1], [1, 1, 2, 7]])
INDICES = torch.tensor([[1, 2, 0], [0, 1, 3]])
TARGETS = torch.tensor([0, 1, 2, 3])


def _stored(a, value):
    a[0] = value
    return a


FUNCTIONS = {
    "add": lambda x, n: torch.add(INDICES, INDICES, alpha=n),
    "all": lambda x, n: (x > 1).all(n),
    "clamp": lambda x, n: INDICES.clamp(n),
    "cross_entropy": lambda x, n: F.cross_entropy(x, TARGETS, ignore_index=n),
    "div": lambda x, n: torch.div(x, 2, rounding_mode=n),
    "dropout": lambda x, n: F.dropout(x, n, False),
    "embedding": lambda x, n: F.embedding(INDICES, x, n),
    "eq": lambda x, n: x == n,
    "eye": lambda x, n: torch.eye(n),
    "huber_loss": lambda x, n: F.huber_loss(x, 2 * x, delta=n),
    "integers_plus": lambda x, n: INDICES + n,
    "layer_norm": lambda x, n: F.layer_norm(x, (4,), eps=n),
    "leaky_relu": lambda x, n: F.leaky_relu(x, n),
    "lerp": lambda x, n: torch.lerp(x, x + 1, n),
    "linspace": lambda x, n: torch.linspace(0, n, 3),
    "logsumexp": lambda x, n: x.logsumexp(n),
    "max": lambda x, n: torch.max(x, n),
    "minus": lambda x, n: x - n,
    "nan_to_num": lambda x, n: x.nan_to_num(n),
    "rms_norm": lambda x, n: F.rms_norm(x, (4,), eps=n),
    "roll": lambda x, n: x.roll(1, n),
    "setitem": lambda x, n: _stored(INDICES.clone(), n),
    "slice": lambda x, n: x[n:],
    "subscript": lambda x, n: x[:, n],
    "sum_dim": lambda x, n: x.sum(n),
    "sum_keepdim": lambda x, n: x.sum(0, keepdim=n),
    "threshold": lambda x, n: F.threshold(x, n, 2.0),
    "to": lambda x, n: x.to(n),
    "trapezoid": lambda x, n: torch.trapezoid(x, dx=n),
    "var": lambda x, n: x.var(0, correction=n),
    "where": lambda x, n: torch.where(INDICES > 0, INDICES, n),
}
KINDS = (
    0, 1, -1, True, False, 1.0, 2.5, float("nan"), 1j, None, "floor", [1], (0, 1), [], torch.Size([2]), torch.float64,
    np.float64(1), np.float32(2), np.int64(2), np.True_, np.array(1), torch.tensor(1), torch.tensor(2.0), torch.tensor(True),
    torch.tensor([1]), torch.tensor([1.0, 2, 3, 4]),
)  # fmt: skip


def _same(a, b):
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, torch.Tensor):
        same = type(b) is type(a) and a.dtype is b.dtype and a.shape == b.shape
        return same and torch.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True)
    return type(a) is type(b) if isinstance(a, Exception) else a == b and type(a) is type(b)


@pytest.mark.filterwarnings("ignore")  # torch warns of invalid arguments, tnp of calls that run eagerly
@pytest.mark.parametrize("name", FUNCTIONS)
def test_kinds(name):
    for kind, expected, found in with_each(FUNCTIONS[name], X, KINDS, list(FUNCTIONS).index(name)):
        assert _same(expected, found), f"{kind!r}: {found!r} instead of {expected!r}"
