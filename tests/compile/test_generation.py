"""Text written token by token with a cache of keys and values that grows: the model jitted, and the whole function."""

import re

import pytest

import tnp
from tnp.testing import assert_same

torch = pytest.importorskip("torch")
nn = torch.nn
F = nn.functional


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.both, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads

    def forward(self, x, cache):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.both(x).split(c, 2))
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        seen = torch.ones(t, k.shape[2], dtype=torch.bool).tril(k.shape[2] - t)
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~seen, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c)), (k, v)


class Model(nn.Module):
    def __init__(self, vocabulary=41, width=32, heads=2, layers=4):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(64, width)
        self.layers = nn.ModuleList(Attention(width, heads) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width)) for _ in range(layers)
        )
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens, caches):
        past = 0 if caches is None else caches[0][0].shape[2]
        x = self.tokens(tokens) + self.positions(torch.arange(past, past + tokens.shape[1]))
        found = []
        for i, (layer, norm, mlp) in enumerate(zip(self.layers, self.norms, self.mlps)):
            y, cache = layer(norm(x), None if caches is None else caches[i])
            found.append(cache)
            x = x + y
            x = x + mlp(x)
        return self.head(x[:, -1]), found


def generated(model, tokens, count):
    caches, current = None, tokens
    with torch.no_grad():
        for _ in range(count):
            logits, caches = model(current, caches)
            current = logits.argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, current], 1)
    return tokens


def _prompt(length):
    return torch.randint(0, 41, (1, length), generator=torch.Generator().manual_seed(length))


@pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
def test_a_jitted_model():
    """One prompt needs at most four programs: the prompt, the first token, the second one, and all others. Prompts of any length need two
    more, and one for each length: the cache that a prompt leaves has gaps in memory."""
    torch.manual_seed(0)
    model = Model().eval()
    jitted = tnp.jit(model)
    assert_same(generated(jitted, _prompt(6), 20), generated(model, _prompt(6), 20))
    assert tnp.cache_info(jitted).misses <= 4
    for length, count in ((9, 30), (4, 12), (13, 25)):
        assert_same(generated(jitted, _prompt(length), count), generated(model, _prompt(length), count))
    assert tnp.cache_info(jitted).misses <= 4 + 2 + 3


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_a_jitted_function():
    """The loop is Python's, its body is compiled: in no more programs than the model has, however many tokens are written."""
    torch.manual_seed(0)
    model = Model().eval()
    jitted = tnp.jit(generated)
    for length, count in ((6, 20), (6, 21), (9, 30), (4, 25)):
        assert_same(jitted(model, _prompt(length), count), generated(model, _prompt(length), count))
    told = str(tnp.explain(jitted))
    found = re.findall(r"compiled, lines \d+ to \d+:\n +generated: (\d+) programs", told)
    assert len(found) == 1 and 2 <= int(found[0]) <= 8, told[:2000]
