"""Shared code of the executors of attention kernels: the arguments of ``F.scaled_dot_product_attention``, and
unsupported cases.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from tnp.core import symbols
from tnp.core.proxies import TensorProxy
from tnp.executors.base import Refusal, value_of

__all__ = ["FUNCTION", "Call", "additive", "call_of", "refusal_of", "scale_of", "transposed_like"]

FUNCTION = "torch.nn.functional.scaled_dot_product_attention"


class Call(NamedTuple):
    """The arguments of a call: ``query`` [batch, heads, length, head], ``key`` and ``value`` [batch, heads, length of keys, head]."""

    query: Any
    key: Any
    value: Any
    attn_mask: Any = None
    dropout_p: Any = 0.0
    is_causal: Any = False
    scale: Any = None
    enable_gqa: Any = False

    @property
    def score_shape(self) -> tuple[int, ...]:
        return (*self.query.shape[:-1], self.key.shape[-2])


def call_of(*args: Any, **kwargs: Any) -> Call:
    """A call with names for its arguments, flags as bools."""
    call = Call(*args, **kwargs)
    return call._replace(
        dropout_p=value_of(call.dropout_p),
        is_causal=bool(value_of(call.is_causal)),
        enable_gqa=bool(value_of(call.enable_gqa)),
    )


def refusal_of(call: Call, *, any_size: bool = False) -> Refusal | None:
    """Why no kernel takes the call; ``None`` if one may. ``any_size``: kernels take batches and lengths that are symbolic."""
    tensors = [call.query, call.key, call.value, *([] if call.attn_mask is None else [call.attn_mask])]
    if not all(isinstance(t, TensorProxy) for t in tensors):
        return Refusal("an argument is no tensor")
    query, key, value, *masks = tensors
    lengths = {t.shape[-1] for t in tensors[:3] if t.ndim} if any_size else {n for t in tensors for n in t.shape}
    if any(type(n) is not int for n in lengths) or any(
        symbols.value_of(n) in (0, None) for t in tensors for n in t.shape
    ):
        return Refusal("a length that is 0 or known at run time only")
    if len({t.device for t in tensors}) > 1:
        return Refusal("tensors of several devices")
    if not query.ndim == key.ndim == value.ndim == 4:
        return Refusal("it takes tensors of 4 dimensions")
    if len({t.dtype for t in (query, key, value)}) > 1:
        return Refusal("tensors of several dtypes")
    if call.dropout_p != 0:
        return Refusal("dropout, whose random numbers torch itself draws")
    if call.enable_gqa:
        return Refusal("heads that several queries share")
    q, k, v = (tuple(map(symbols.provable, t.shape)) for t in (query, key, value))
    if q[:2] != k[:2] or k[:3] != v[:3] or q[3] != k[3]:
        return Refusal("shapes that do not fit without broadcasting")
    for mask in masks:
        if call.is_causal:
            return Refusal("a mask and is_causal at once")
        if mask.dtype.kind != "b" and mask.dtype is not query.dtype:
            return Refusal(f"a mask of {mask.dtype}")
        fits = all(
            n == 1 or symbols.provable(n) == symbols.provable(m)
            for n, m in zip(mask.shape[::-1], call.score_shape[::-1])
        )
        if mask.ndim > 4 or not fits:
            return Refusal("a mask that does not fit the scores")
    return None


def scale_of(call: Call) -> float:
    """The factor of the scores. The value of a run-time number is guarded."""
    return 1 / math.sqrt(call.query.shape[-1]) if call.scale is None else float(value_of(call.scale))


def additive(mask: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor | None:
    """A mask as what is added to scores: bools that are false as minus infinity."""
    if mask is None or mask.dtype is not torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, -math.inf)


def transposed_like(query: torch.Tensor, head: int) -> torch.Tensor:
    """Memory for a result, with the heads of a position side by side: the layout of torch's own kernels."""
    batch, heads, length, _ = query.shape
    return query.new_empty((batch, length, heads, head)).transpose(1, 2)
