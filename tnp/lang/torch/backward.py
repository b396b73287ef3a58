"""Functions whose backward torch has whole: its kernels are faster than the parts, and save less.

Where a gradient is not differentiated again, these take the place of rules
(:attr:`~tnp.core.symbol.Symbol.pulls_back`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tnp.core.proxies import TensorProxy
from tnp.core.symbol import OpTags, Symbol, flat_proxies
from tnp.lang.torch.opaque import pulling
from tnp.lang.torch.registry import language, symbol_of

__all__: list[str] = []


#: the tensors that a convolution takes, in order
_TENSORS = ("input", "weight", "bias")


def _convolution(rank: int) -> Any:
    """``torch.convolution_backward`` for a convolution of ``rank`` spatial dimensions, called as ``F.conv2d`` is."""

    def tuple_of(x: Any) -> list[int]:
        return [x] * rank if isinstance(x, int) else list(x) * (rank // len(x))

    def arguments(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1
    ) -> tuple[Any, ...]:
        found = padding if isinstance(padding, str) else tuple_of(padding)
        return input, weight, bias, tuple_of(stride), found, tuple_of(dilation), groups

    def pull(cotangents: Any, wanted: Sequence[int], args: Any, kwargs: Any) -> list[torch.Tensor]:
        input, weight, bias, stride, padding, dilation, groups = arguments(*args, **kwargs)
        batched = input if input.ndim == rank + 2 else input[None]
        if isinstance(padding, str):
            needed = [d * (k - 1) * (padding == "same") for d, k in zip(dilation, weight.shape[2:])]
            padding = [n // 2 for n in needed]
            batched = F.pad(batched, [n for more in reversed(needed) for n in (0, more % 2)])
        g = cotangents[0] if input.ndim == rank + 2 else cotangents[0][None]
        given = [n for n, a in (*zip(_TENSORS, args), *kwargs.items()) if isinstance(a, torch.Tensor)]
        names = [given[i] for i in wanted]
        mask = [n in names for n in _TENSORS]
        sizes = None if bias is None else list(bias.shape)
        found = torch.ops.aten.convolution_backward(
            g, batched, weight, sizes, stride, padding, dilation, False, [0] * rank, groups, mask
        )
        if found[0] is not None:
            kept = found[0][(..., *(slice(n) for n in input.shape[-rank:]))]
            found = (kept.reshape(input.shape), *found[1:])
        return [found[_TENSORS.index(n)] for n in names]

    pull.__name__ = f"backward_of_conv{rank}d"
    return pull


def _operation(function: Any) -> Symbol:
    def meta(cotangents: Any, wanted: Sequence[int], args: Any, kwargs: Any) -> list[TensorProxy]:
        tensors = [p for p in flat_proxies((args, kwargs)) if isinstance(p, TensorProxy)]
        return [TensorProxy(like=tensors[i], lang=language) for i in wanted]

    return Symbol(
        function.__name__, meta, id=f"torch_opaque.private.{function.__name__}", is_prim=True, tags=(OpTags.MAY_RAISE,),
        language=language, fn=function,
    )  # fmt: skip


for _rank, _function in ((1, F.conv1d), (2, F.conv2d), (3, F.conv3d)):
    _symbol = symbol_of(_function)
    assert _symbol is not None
    _symbol.pulls_back = _operation(_convolution(_rank))

_attention = symbol_of(F.scaled_dot_product_attention)
assert _attention is not None
_attention.pulls_back = pulling(
    "nn.functional.scaled_dot_product_attention_whole", "attention", F.scaled_dot_product_attention
)
