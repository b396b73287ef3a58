"""Programs of tensors, and of tensors and arrays, that the tests of the torch language run: functions with source."""

import copy
import dataclasses
from collections import OrderedDict

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def activations(x, w, b):
    h = F.gelu(F.linear(x, w, b))
    return F.silu(h) * torch.sigmoid(h) + torch.tanh(h).mean(-1, keepdim=True)


def in_place(x, n):
    x[1:-1] += n
    x.mul_(2).clamp_(max=50)
    x.t()[0].zero_()
    return x.mean()


def views(x):
    flat = x.view(-1)
    flat[0] = 5
    first, second = x.chunk(2)
    second.add_(first)
    x.transpose(0, 1)[0, 1:] = torch.arange(x.shape[0] - 1)
    return x, flat.sum()


def masked(x):
    x = x.clone()
    x[x < 0] = 0
    y = x.masked_fill(x > 1, 1.0)
    y.masked_fill_(y == 0, -1)
    return torch.where(y < 0.5, x, y), x


def factories(n):
    grid = torch.arange(n, dtype=torch.float32) / n
    return torch.stack([grid, torch.zeros(n), torch.ones_like(grid)]), torch.full((2, n), 3), torch.eye(n)


def promotion(a, b):
    return a + b, a * 2.5, a / 2, a + True, b * 2, (a > b), torch.add(a, b, alpha=2), 2**b, 1 - a, a // 2.0


def loop(x, n):
    s = torch.zeros(())
    for i in range(n):
        x = torch.tanh(x) + i
        s = s + x.sum()
    return s, x


def branch(x):
    if x.shape[0] > 2:
        return F.relu(x)
    return -x


def functional_in_place(x):
    y = F.relu(x, inplace=True)
    F.dropout(y, 0.5, False, True)
    torch.sigmoid_(y)
    return y


def out_argument(x, y):
    torch.add(x, 1, out=y)
    return y


def both_languages(a, t):
    spectrum = np.sqrt(a) + t.numpy()
    return spectrum, torch.from_numpy(a) * t, torch.as_tensor(spectrum).sum(), np.asarray(t).max()


def array_meets_tensor(a, t):
    return t + a, t * a[0]


def write_through_numpy(t):
    t.numpy()[1] = 7
    torch.from_numpy(t.numpy()[::2]).add_(1)
    return t * 2


def opaque(x):
    values, indices = torch.mode(x)
    return values, indices, F.max_pool1d(x[None], 2)


def draws(x):
    return x + torch.rand(x.shape), F.dropout(x, 0.5), torch.randn_like(x)


def attributes(x):
    described = x.dim(), x.size(0), x.numel(), x.dtype, x.is_floating_point(), x.is_contiguous(), x.T.is_contiguous()
    return x.T + 1, described, isinstance(x, torch.Tensor), type(x) is torch.Tensor, x.stride()


class Block(nn.Module):
    def __init__(self, width, iterations=2):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, 2 * width)
        self.outer = nn.Linear(2 * width, width)
        self.iterations = iterations
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, x):
        for _ in range(self.iterations):
            x = x + self.scale * self.outer(F.gelu(self.inner(self.norm(x))))
        return x


class Network(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.blocks = nn.ModuleList([Block(width) for _ in range(2)])
        self.head = nn.Sequential(nn.Linear(width, 4), nn.ReLU(), nn.Dropout(0.3), nn.Linear(4, 3))
        self.tied = self.head[0]

    def forward(self, x, *, twice=False):
        for block in self.blocks:
            x = block(x)
        y = self.head(x)
        return {"y": 2 * y if twice else y, "z": self.tied(x)}


class Statistics(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(3))
        self.last = None

    def forward(self, x):
        self.calls.add_(1)
        self.mean.lerp_(x.mean(0), 0.5)
        self.last = x[0]
        return x - self.mean


class Attention(nn.Module):
    def __init__(self, width=16, heads=2):
        super().__init__()
        self.both = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.heads = heads
        self.register_buffer("mask", torch.tril(torch.ones(8, 8)))

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.both(x).split(c, dim=2))
        scores = (q @ k.transpose(-2, -1)) * k.size(-1) ** -0.5
        scores = scores.masked_fill(self.mask[:t, :t] == 0, float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        y = y + F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).contiguous().view(b, t, c))


class Residual(nn.Module):
    def __init__(self, channels=4):
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(3, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(inplace=True)
        )
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.head = nn.Linear(channels, 2)

    def forward(self, x):
        y = self.first(x)
        y += self.second(y)
        return self.head(torch.flatten(F.adaptive_avg_pool2d(F.max_pool2d(y, 2), 1), 1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.LSTM(3, 4, 2, batch_first=True)
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x):
        y, (h, _) = self.layers(x)
        state = h[-1]
        for t in range(y.shape[1]):
            state = self.cell(y[:, t], state)
        return state


@dataclasses.dataclass
class Output(OrderedDict):
    """A dict of its fields that are not ``None``, as libraries of models return them."""

    hidden: torch.Tensor = None
    cache: object = None
    extra: object = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is not None:
                self[field.name] = getattr(self, field.name)


class Cache:
    def __init__(self, settings):
        self.layers = []
        self.width = settings.width

    def update(self, x):
        self.layers.append(Layer(x))
        return torch.cat([layer.keys for layer in self.layers])


class Layer:
    def __init__(self, keys):
        self.keys = keys


class Settings:
    """Attributes have other names."""

    names = {"size": "width"}  # noqa: RUF012

    def __init__(self, width, kinds=("a", "b")):
        self.width = width
        self.kinds = list(kinds)

    def __getattribute__(self, name):
        return super().__getattribute__({"size": "width"}.get(name, name))

    def __setattr__(self, name, value):
        super().__setattr__({"size": "width"}.get(name, name), value)


class Configured(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.settings = settings
        self.inner = nn.Linear(settings.size, settings.size)

    def forward(self, x, *, scaled=False, **rest):
        settings = copy.deepcopy(self.settings)
        settings.size = 2 * self.settings.width
        cache = Cache(settings)
        x = cache.update(self.inner(x)) * settings.width + len(rest)
        if scaled and "width" in settings.__dict__:
            x = x / self.settings.size
        return Output(hidden=x, cache=cache)
