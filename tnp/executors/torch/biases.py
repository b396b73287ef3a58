"""Linear layers whose bias is added by what comes behind them.

BLAS adds to what is in the result's memory, so torch first copies the bias there, row by row: the result goes through
memory once more, and the product reads it. A compiled region that reads the result anyway adds the bias for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnp.core import clang, sizes
from tnp.core.languages import language_context
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.core.trace import Trace, tracing

__all__ = ["LINEAR", "with_biases_apart"]

LINEAR = "torch.nn.functional.linear"
#: results of fewer elements are not worth it
_LARGE = 1 << 14


def with_biases_apart(trace: Trace, executors: Sequence[Any]) -> Trace:
    """``trace`` with large linear layers as a product and a sum, where regions of fusing ``executors`` will read the sum; itself if
    there are none."""
    fusers = [e for e in executors if e.is_fusing]
    layers = [b for b in trace.bound_symbols if b.sym.id == LINEAR and _has_bias(b)] if fusers else []
    if not layers:
        return trace
    readers: dict[str, list[BoundSymbol]] = {b.output.name: [] for b in layers}
    for b in trace.bound_symbols:
        for p in b.flat_inputs:
            if p.name in readers:
                readers[p.name].append(b)
    chosen = {
        id(b) for b in layers if readers[b.output.name] and all(_computes(r, fusers) for r in readers[b.output.name])
    }
    if not chosen:
        return trace
    new = Trace.like(trace)
    for b in trace.bound_symbols:
        new.bound_symbols += _apart(b, new) if id(b) in chosen else [b]
    return new


def _has_bias(b: BoundSymbol) -> bool:
    out = b.output
    is_large = isinstance(out, TensorProxy) and out.ndim > 1 and sizes.is_known(out.shape) and out.numel >= _LARGE
    return is_large and out.dtype.bits >= 32 and isinstance(_bias(b), TensorProxy)


def _bias(b: BoundSymbol) -> Any:
    return b.args[2] if len(b.args) > 2 else b.kwargs.get("bias")


def _computes(b: BoundSymbol, fusers: Sequence[Any]) -> bool:
    """Whether a statement will be part of a region, and is no view, which would be taken out of it."""
    if b.sym.executor is not None or OpTags.PROGRAM in b.sym.tags or all(OpTags.VIEW in p.sym.tags for p in _prims(b)):
        return False
    return any(f.can_fuse(b) for f in fusers)


def _prims(b: BoundSymbol) -> list[BoundSymbol]:
    return [p for s in b.subsymbols for p in _prims(s)] if b.subsymbols else [b]


def _apart(b: BoundSymbol, names: Trace) -> list[BoundSymbol]:
    scratch = Trace.like(names)
    with tracing(scratch), language_context(b.output.lang):
        product = b.sym(*b.args[:2], **{k: v for k, v in b.kwargs.items() if k != "bias"})
        result = clang.add(product, clang.broadcast_to(_bias(b), product.shape))
    names.take_names(scratch)
    for made in scratch.bound_symbols:
        made.location = b.location
    return [made.substitute({result.name: b.output}) for made in scratch.bound_symbols]
