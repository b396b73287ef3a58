"""Convolutions by oneDNN's kernels, with weights kept as these lay them out.

A plain convolution of torch's on the CPU is three reorders around one kernel: of the input, of the weight, and of the
result, at each call. Here the weight is reordered once. Channels that lie last (``channels_last``) are an order that
the kernels take as it is, and a batch normalisation by running statistics, a residual and ``relu`` are done on what is
in the registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F

from tnp.executors.onednn.fingerprints import fingerprint, is_dense

__all__ = ["Convolution", "Geometry", "channels_last", "max_pool", "row_major"]

_mkldnn = torch.ops.mkldnn

#: how often in a row a weight may have changed between calls before it is used as it is for a while
_PATIENCE = 3
#: calls with weights as they are before the next one is packed: twice as many each time, up to the second number
_FIRST_WAIT, _LONGEST_WAIT = 16, 1024


class Geometry(NamedTuple):
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int


class _Packed(NamedTuple):
    """A weight in a kernel's own layout, the numbers that are added a channel, and the fingerprint of what both were made of."""

    weight: torch.Tensor
    bias: torch.Tensor | None
    key: tuple[object, ...]


@dataclass
class Convolution:
    """One convolution of a program: ``relu(batch_norm(conv2d(x, weight, bias), mean, variance, scale, shift) + other)``, of which all but
    the convolution may be missing.

    It is called with tensors of one shape each. Weights are packed when they are first seen, and again when the memory that they are in
    holds something else (:mod:`tnp.executors.onednn.fingerprints`). Where that happens call after call, they are not packed.
    """

    geometry: Geometry
    shape: tuple[int, ...]
    eps: float | None
    adds: bool
    relu: bool
    #: whether what it is called with and what it returns lies channels last
    channels_last: bool

    def __post_init__(self) -> None:
        self.packed: _Packed | None = None
        self._changes = 0
        #: calls to come without packing, and how many after that if the weight goes on changing
        self._wait, self._next_wait = 0, _FIRST_WAIT

    def __call__(
        self,
        x: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None = None,
        mean: torch.Tensor | None = None,
        variance: torch.Tensor | None = None,
        scale: torch.Tensor | None = None,
        shift: torch.Tensor | None = None,
        other: torch.Tensor | None = None,
    ) -> torch.Tensor:
        if self.channels_last:
            x = channels_last(x)
            other = None if other is None else channels_last(other)
        made = self._weights(weight, bias, mean, variance, scale, shift)
        if made is None:
            return self._plainly(x, weight, bias, mean, variance, scale, shift, other)
        g = self.geometry
        if other is None:
            after = "relu" if self.relu else "none"
            return _mkldnn._convolution_pointwise(
                x, made.weight, made.bias, g.padding, g.stride, g.dilation, g.groups, after, [], ""
            )
        after = "relu" if self.relu else None
        return _mkldnn._convolution_pointwise.binary(
            x, other, made.weight, made.bias, g.padding, g.stride, g.dilation, g.groups, "add", 1.0, after, [], None
        )

    def _weights(self, weight: torch.Tensor, *others: torch.Tensor | None) -> _Packed | None:
        """What was packed of these tensors, packed now if it was not; ``None`` if it had better not be."""
        if self._wait:
            self._wait -= 1
            return None
        given = (weight, *others)
        if not all(t is None or is_dense(t) for t in given):
            return None
        key = (fingerprint(*given), weight.stride())
        if self.packed is not None and self.packed.key == key:
            self._changes, self._next_wait = 0, _FIRST_WAIT
            return self.packed
        self._changes += self.packed is not None
        if self._changes >= _PATIENCE:
            self.packed, self._changes = None, 0
            self._wait, self._next_wait = self._next_wait, min(2 * self._next_wait, _LONGEST_WAIT)
            return None
        made = self._pack(weight, *others)
        self.packed = _Packed(*made, key)
        return self.packed

    def _pack(
        self,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        mean: torch.Tensor | None,
        variance: torch.Tensor | None,
        scale: torch.Tensor | None,
        shift: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The weight in the kernel's layout and the bias, with the normalisation folded in: its factors are computed in double precision."""
        weight = weight.detach()
        bias = None if bias is None else bias.detach().clone()
        if self.eps is not None:
            assert mean is not None and variance is not None
            factor = torch.rsqrt(variance.detach().double() + self.eps)
            factor = factor if scale is None else factor * scale.detach().double()
            constant = -mean.detach().double() if bias is None else bias.double() - mean.detach().double()
            constant = constant * factor if shift is None else constant * factor + shift.detach().double()
            weight = (weight.double() * factor.view(-1, 1, 1, 1)).to(weight.dtype)
            bias = constant.to(weight.dtype)
        g = self.geometry
        plain = weight.contiguous()
        size = list(self.shape)
        return _mkldnn._reorder_convolution_weight(plain, g.padding, g.stride, g.dilation, g.groups, size), bias

    def _plainly(
        self,
        x: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        mean: torch.Tensor | None,
        variance: torch.Tensor | None,
        scale: torch.Tensor | None,
        shift: torch.Tensor | None,
        other: torch.Tensor | None,
    ) -> torch.Tensor:
        """As eager does it."""
        g = self.geometry
        y = F.conv2d(x, weight, bias, g.stride, g.padding, g.dilation, g.groups)
        if self.eps is not None:
            y = F.batch_norm(y, mean, variance, scale, shift, False, 0.0, self.eps)
        if other is not None:
            y = y + other
        y = torch.relu(y) if self.relu else y
        return channels_last(y) if self.channels_last else y.contiguous()


def channels_last(x: torch.Tensor) -> torch.Tensor:
    """``x`` [n, c, height, width] with the channels of a pixel side by side, itself if they are."""
    return x.contiguous(memory_format=torch.channels_last)


def row_major(x: torch.Tensor) -> torch.Tensor:
    """A copy of ``x`` in C's order."""
    return x.clone(memory_format=torch.contiguous_format)


def max_pool(
    x: torch.Tensor, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...], ceil_mode: bool
) -> torch.Tensor:  # fmt: skip
    """``F.max_pool2d`` of what lies channels last, which its result does, too."""
    return F.max_pool2d(channels_last(x), kernel, stride, padding, dilation, ceil_mode)
