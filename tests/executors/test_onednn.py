"""Convolutions with packed weights: what is one call, what lies channels last, and that a weight that changes is packed again."""

import pytest

import tnp

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from tnp.executors.onednn import _missing, executor  # noqa: E402
from tnp.executors.onednn.fingerprints import fingerprint  # noqa: E402

pytestmark = pytest.mark.skipif(executor.unavailable() is not None, reason=f"{executor.unavailable()}")


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def made(module):
    """``module`` with numbers in its buffers that are not 0 and 1."""
    torch.manual_seed(0)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
            nn.init.normal_(part.weight)
            nn.init.normal_(part.bias)
    return module.eval()


def calls(jitted):
    return [
        b.sym.name.rstrip("_0123456789") for b in tnp.last_traces(jitted)[-1].body if b.sym.id.startswith("onednn.")
    ]


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.second, self.other = nn.Conv2d(8, 8, 3, padding=1, groups=2), nn.Conv2d(3, 8, 1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = F.max_pool2d(self.relu(self.norm(self.first(x))), 3, 2, 1)
        z = self.second(y)
        z += F.avg_pool2d(self.other(x), 2)
        return self.relu(z), y


@torch.no_grad()
def test_what_is_one_call_and_what_lies_channels_last():
    module, x = made(Residual()), torch.randn(2, 3, 8, 10)
    jitted = tnp.jit(module)
    for found, expected in zip(jitted(x), module(x)):
        close(found, expected)
        assert found.is_contiguous(), "what is read outside is in C's order"
    # Normalisation and relu are part of the first convolution, the sum and relu of the second; the third's result is read by a mean.
    once = ["max_pool", "onednn_convolution", "onednn_convolution", "onednn_convolution", "row_major", "row_major"]
    assert sorted(calls(jitted)) == once
    assert "batch_norm" not in [b.sym.name for b in tnp.last_traces(jitted)[-1].body]
    close(jitted(x.to(memory_format=torch.channels_last))[0], module(x)[0])


@torch.no_grad()
def test_weights_that_change_are_packed_again():
    module, x = made(Residual()), torch.randn(1, 3, 6, 6)
    jitted = tnp.jit(module)

    def by_data():
        module.first.weight.data[0, 0, 0, 0] += 1

    def in_place():
        module.second.weight.mul_(2)

    def through_an_array():
        module.norm.bias.detach().numpy()[3] -= 2

    def by_swapping():
        w = module.second.bias.data
        w[[0, 1]] = w[[1, 0]]

    def by_another_tensor():
        module.first.weight = nn.Parameter(torch.randn(8, 3, 3, 3))

    def loaded():
        module.load_state_dict({k: v + 1 for k, v in module.state_dict().items()})

    jitted(x)
    for change in (by_data, in_place, through_an_array, by_swapping, by_another_tensor, loaded):
        before = module(x)[0]
        change()
        expected = module(x)[0]
        assert not torch.equal(before, expected)
        close(jitted(x)[0], expected)
        close(jitted(x)[0], expected)
    assert tnp.cache_info(jitted).misses == 1


@torch.no_grad()
def test_weights_that_change_at_every_call_are_used_as_they_are():
    module, x = made(Residual()), torch.randn(1, 3, 6, 6)
    jitted = tnp.jit(module)
    jitted(x)
    convolutions = [b.sym.fn for b in tnp.last_traces(jitted)[-1].body if "convolution" in b.sym.name]
    for _ in range(25):
        module.first.weight += 0.01
        close(jitted(x), module(x))
    first = next(c for c in convolutions if c.eps is not None)
    assert first.packed is None
    assert all(c.packed is not None for c in convolutions if c is not first)
    for _ in range(40):
        jitted(x)
    assert first.packed is not None, "it is packed when it does not change any more"
    close(jitted(x), module(x))


def test_steps_of_training_are_left_alone():
    module, x = made(Residual()), torch.randn(2, 3, 6, 6)
    jitted = tnp.jit(module)
    found, expected = jitted(x)[0].sum(), module(x)[0].sum()
    assert not calls(jitted)
    close(
        torch.autograd.grad(found, list(module.parameters())), torch.autograd.grad(expected, list(module.parameters()))
    )


def written_between(x, w):
    y = F.conv2d(x, w)
    x.add_(1)
    return torch.relu(y), F.conv2d(x, w).relu_()


def of_values(x, w, v, shift):
    a = F.conv2d(x, w * 2, padding=1)
    b = F.conv2d(a, v, shift, stride=2, dilation=2, padding=2)
    c = F.conv2d(b + b, v)
    return a.mean(), torch.relu(b), c.add(c), F.conv2d(b, v).sub(1)


@torch.no_grad()
@pytest.mark.parametrize("executors", [None, ["numpy"]])
def test_what_is_between_convolutions(executors):
    x, w, v, shift = (torch.randn(*s) for s in ((1, 4, 9, 9), (4, 4, 3, 3), (4, 4, 3, 3), (4,)))
    for f, args in ((written_between, (x, w)), (of_values, (x, w, v, shift))):
        jitted = tnp.jit(f, executors=executors)
        theirs = [a.clone() for a in args]
        for found, expected in zip(jitted(*args), f(*theirs)):
            close(found, expected)
        close(args[0], theirs[0])
        assert "onednn_convolution" in calls(jitted)


@torch.no_grad()
def test_what_it_does_not_take(monkeypatch):
    cases = [
        (torch.randn(4, 9, 9), torch.randn(4, 4, 3, 3)),
        [torch.randn(1, 4, 9, 9).double(), torch.randn(4, 4, 3, 3).double()],
    ]
    for x, w in cases:
        jitted = tnp.jit(lambda x, w: torch.relu(F.conv2d(x, w)))
        close(jitted(x, w), torch.relu(F.conv2d(x, w)))
        assert not calls(jitted)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    _missing.cache_clear()
    jitted = tnp.jit(written_between)
    jitted(torch.randn(1, 4, 9, 9), torch.randn(4, 4, 3, 3))
    assert not calls(jitted) and "without oneDNN" in executor.unavailable()
    _missing.cache_clear()


@pytest.mark.parametrize("n", [0, 1, 7, 100_003])
def test_fingerprints(n):
    a, b = torch.randn(n), torch.randn(5)
    before = fingerprint(a, None, b)
    threads = tnp.get_num_threads()
    tnp.set_num_threads(1)
    assert fingerprint(a, None, b) == before
    tnp.set_num_threads(threads)
    assert fingerprint(b, None, a) != before and fingerprint(a, b) != before
    seen = {before}
    for i in {0, n // 2, n - 1} if n else ():
        a[i] = -a[i]
        seen.add(fingerprint(a, None, b))
        a[i] = -a[i]
    assert len(seen) == 1 + len({0, n // 2, n - 1} if n else ())
    assert fingerprint(a, None, b) == before
