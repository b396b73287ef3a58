"""Functions with a backward kernel in torch, which is faster than their decomposition and saves less memory.

These replace gradient rules if the gradient is not differentiated again (:attr:`~tnp.core.symbol.Symbol.pulls_back`).
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


#: the parameters of a convolution, and those of a transposed one, which have another order
_PARAMETERS = (*_TENSORS, "stride", "padding", "dilation", "groups")
_OF_TRANSPOSED = (*_TENSORS, "stride", "padding", "output_padding", "groups", "dilation")
_DEFAULTS = {"bias": None, "stride": 1, "padding": 0, "dilation": 1, "groups": 1, "output_padding": 0}


def _convolution(rank: int, *, is_transposed: bool) -> Any:
    """``torch.convolution_backward`` for a convolution of ``rank`` spatial dimensions."""
    parameters = _OF_TRANSPOSED if is_transposed else _PARAMETERS

    def tuple_of(x: Any) -> list[int]:
        return [x] * rank if isinstance(x, int) else list(x) * (rank // len(x))

    def pull(cotangents: Any, wanted: Sequence[int], args: Any, kwargs: Any) -> list[torch.Tensor]:
        call = {**_DEFAULTS, **dict(zip(parameters, args)), **kwargs}
        input, weight, bias, padding = call["input"], call["weight"], call["bias"], call["padding"]
        stride, dilation, more = (tuple_of(call[name]) for name in ("stride", "dilation", "output_padding"))
        padding = padding if isinstance(padding, str) else tuple_of(padding)
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
            g, batched, weight, sizes, stride, padding, dilation, is_transposed, more, call["groups"], mask
        )
        if found[0] is not None:
            kept = found[0][(..., *(slice(n) for n in input.shape[-rank:]))]
            found = (kept.reshape(input.shape), *found[1:])
        return [found[_TENSORS.index(n)] for n in names]

    pull.__name__ = f"backward_of_conv_transpose{rank}d" if is_transposed else f"backward_of_conv{rank}d"
    return pull


def _operation(function: Any) -> Symbol:
    def meta(cotangents: Any, wanted: Sequence[int], args: Any, kwargs: Any) -> list[TensorProxy]:
        tensors = [p for p in flat_proxies((args, kwargs)) if isinstance(p, TensorProxy)]
        return [TensorProxy(like=tensors[i], lang=language) for i in wanted]

    return Symbol(
        function.__name__, meta, id=f"torch_opaque.private.{function.__name__}", is_prim=True, tags=(OpTags.MAY_RAISE,),
        language=language, fn=function,
    )  # fmt: skip


for _is_transposed, _functions in (
    (False, (F.conv1d, F.conv2d, F.conv3d)),
    (True, (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)),
):
    for _rank, _function in enumerate(_functions, 1):
        _symbol = symbol_of(_function)
        assert _symbol is not None
        _symbol.pulls_back = _operation(_convolution(_rank, is_transposed=_is_transposed))

_attention = symbol_of(F.scaled_dot_product_attention)
assert _attention is not None
_attention.pulls_back = pulling(
    "nn.functional.scaled_dot_product_attention_whole", "attention", F.scaled_dot_product_attention
)
