"""A perceptron, a ResNet-18 (He et al. 2015) and a U-Net (Ronneberger et al. 2015)."""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.models.base import Model

__all__ = ["MLP", "MODELS", "ResNet18", "UNet"]


class MLP(nn.Module):
    def __init__(self, *widths: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class BasicBlock(nn.Module):
    """Two convolutions, and what came in added to what comes out."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.downsample = None
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class ResNet18(nn.Module):
    """Four stages of two blocks of ``width``, ``2 * width``, … channels."""

    def __init__(self, width: int = 64, classes: int = 1000) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )
        channels, stages = width, []
        for i in range(4):
            after = width * 2**i
            stages.append(nn.Sequential(BasicBlock(channels, after, 1 if i == 0 else 2), BasicBlock(after, after, 1)))
            channels = after
        self.stages = nn.Sequential(*stages)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.flatten(self.pool(self.stages(self.stem(x))), 1))


class Twice(nn.Sequential):
    """Two convolutions, each with its normalisation."""

    def __init__(self, before: int, after: int) -> None:
        parts: list[nn.Module] = []
        for channels in (before, after):
            parts += [nn.Conv2d(channels, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
        super().__init__(*parts)


class UNet(nn.Module):
    """``depth`` times down and up again, with bridges between what has the same size."""

    def __init__(self, channels: int = 3, classes: int = 2, width: int = 8, depth: int = 3) -> None:
        super().__init__()
        widths = [width * 2**i for i in range(depth + 1)]
        self.first = Twice(channels, width)
        self.down = nn.ModuleList([Twice(a, b) for a, b in pairwise(widths)])
        self.larger = nn.ModuleList([nn.ConvTranspose2d(b, a, 2, 2) for a, b in pairwise(widths)])
        self.up = nn.ModuleList([Twice(2 * a, a) for a in widths[:-1]])
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        bridges = [self.first(x)]
        for down in self.down:
            bridges.append(down(F.max_pool2d(bridges[-1], 2)))
        y = bridges.pop()
        for larger, up in zip(reversed(self.larger), reversed(self.up)):
            y = up(torch.cat([bridges.pop(), larger(y)], dim=1))
        return self.head(y)


MODELS = (
    Model("MLP", lambda: MLP(8, 16, 16, 4), lambda: {"x": torch.randn(3, 8)}),
    Model("ResNet-18", lambda: ResNet18(width=4, classes=5), lambda: {"x": torch.randn(4, 3, 64, 64)}),
    Model("U-Net", lambda: UNet(width=4, depth=1), lambda: {"x": torch.randn(2, 3, 16, 16)}),
)
