"""What a program writes to may share no memory with what else it uses."""

import copy
import itertools

import numpy as np
import pytest

import tnp
from tnp.capture.guards.memory import lie_apart

torch = pytest.importorskip("torch")


def apart_in_pairs(written, others):
    """As :func:`lie_apart`, by comparing each two."""
    pairs = itertools.chain(itertools.combinations(written, 2), itertools.product(written, others))
    return not any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] and a[1] < a[2] and b[1] < b[2] for a, b in pairs)


def test_extents_that_meet_are_found():
    random = np.random.default_rng(0)
    found = set()
    for _ in range(3000):
        extents = []
        for _ in range(random.integers(1, 6)):
            start = int(random.integers(0, 30))
            extents.append((int(random.integers(0, 2)), start, start + int(random.integers(0, 6))))
        n = int(random.integers(0, len(extents) + 1))
        expected = apart_in_pairs(extents[:n], extents[n:])
        assert lie_apart(extents[:n], extents[n:]) == expected
        found.add(expected)
    assert found == {False, True}


class Statistics(torch.nn.Module):
    """Layers with running statistics."""

    def __init__(self, layers):
        super().__init__()
        self.layers = torch.nn.Sequential(
            *(torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.BatchNorm1d(6)) for _ in range(layers))
        )

    def forward(self, x):
        return self.layers(x)


def test_one_guard_compares_all_tensors():
    torch.manual_seed(0)
    mine = Statistics(4).train()
    left = copy.deepcopy(mine)
    jitted = tnp.jit(mine, strict=True)
    for _ in range(3):
        x = torch.randn(5, 6)
        torch.testing.assert_close(jitted(x), left(x))
        for a, b in zip(mine.buffers(), left.buffers()):
            torch.testing.assert_close(a, b)
    assert str(tnp.explain(jitted)).count("overlap") == 1


@pytest.mark.filterwarnings("ignore:.* runs eagerly:tnp.EagerFallbackWarning")
@pytest.mark.parametrize("shared", ["another's statistics", "a weight", "the input"])
def test_statistics_that_share_memory(shared):
    torch.manual_seed(0)
    mine = Statistics(2).train()
    x = torch.randn(5, 6)
    jitted = tnp.jit(mine)
    jitted(x)

    def share(model, x):
        first, second = (layer[1] for layer in model.layers)
        with torch.no_grad():
            if shared == "a weight":
                second.weight.data = first.running_var
            else:
                first.running_mean = second.running_mean if shared == "another's statistics" else x[0]

    left, y = copy.deepcopy((mine, x))
    share(mine, x)
    share(left, y)
    for _ in range(2):
        torch.testing.assert_close(jitted(x), left(y))
        for a, b in zip((x, *mine.buffers()), (y, *left.buffers())):
            torch.testing.assert_close(a, b)
