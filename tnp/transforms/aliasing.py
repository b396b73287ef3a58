"""Whose memory an operation's results look at, and whether they lie in C order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tnp.core import prims, sizes, symbols
from tnp.core.prims.control_flow import stored
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.subtraces import is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags, leaves_of
from tnp.core.trace import Trace
from tnp.transforms.bridge import kind_of
from tnp.transforms.claim import Update

__all__ = ["c_ordered", "makes_scalar", "may_repeat", "may_view"]


def may_view(b: BoundSymbol) -> bool:
    """Whether a result may look at an argument's memory. A subscript with arrays of indices copies, and so does what ends with a copy, such as
    ``np.array(a)``."""
    if OpTags.VIEW not in b.sym.tags:
        return False
    if b.subsymbols and all(_is_copied(p, b.subsymbols) for p in b.flat_outputs):
        return False
    if OpTags.SUBSCRIPT in b.sym.tags and b.subsymbols:
        return any(s.has_tag_inside(OpTags.VIEW) for s in b.subsymbols)
    return True


def _is_copied(result: Proxy, parts: Sequence[BoundSymbol]) -> bool:
    """Whether the last of some operations that gives ``result`` copies."""
    leaves = [leaf for part in parts for leaf in leaves_of(part)]
    made = next((leaf for leaf in reversed(leaves) if any(p.name == result.name for p in leaf.flat_outputs)), None)
    return made is not None and made.sym is prims.clone


def makes_scalar(b: BoundSymbol, trace: Trace) -> bool:
    """Whether the operation gives scalars, which view nothing: elements of an array, as NumPy's subscripts do, or a sum."""
    made = b.flat_outputs
    if not made or not all(isinstance(p, TensorProxy) and p.scalar and kind_of(b, p, trace) == "numpy" for p in made):
        return False
    if OpTags.SUBSCRIPT in b.sym.tags or OpTags.PRODUCT in b.sym.tags:
        return True
    return all(
        s.operation is prims.select and s.args[0].ndim == 1
        for s in ([b] if isinstance(b.output, TensorProxy) else b.subsymbols)
    )


def may_repeat(view: TensorProxy, source: TensorProxy) -> bool:
    """Whether a view has more elements than what it looks at, or might have. NumPy writes to no broadcast array, be it empty."""
    if sizes.is_known(view.shape) and sizes.is_known(source.shape):
        return math.prod(view.shape) > math.prod(source.shape) or (0 in view.shape and view.shape != source.shape)
    if None in map(symbols.value_of, (*view.shape, *source.shape)):
        return sizes.shapes_equal(view.shape, source.shape) is not True
    ours, theirs = (sorted(map(symbols.provable, a.shape), key=str) for a in (view, source))  # which adds no relations
    return ours != theirs


def c_ordered(trace: Trace) -> set[str]:
    """The arrays that are known to be in C order. NumPy allocates the result of an operation on them C-contiguous."""
    found = set(trace.row_major)
    for b in trace.bound_symbols:
        p = b.output
        if is_control_flow(b):
            found.update(name for name, init in stored(b).items() if init.name in found)
        if not isinstance(p, TensorProxy):
            continue
        arrays = [x for x in b.flat_inputs if isinstance(x, TensorProxy) and x.ndim]
        if OpTags.TAKES_OUT in b.sym.tags or isinstance(b, Update):
            keeps = all(x.name in found for x in arrays)
        elif OpTags.SUBSCRIPT in b.sym.tags:
            keeps = b.args[0].name in found and _is_forward_key(b.args[1])
        else:
            keeps = OpTags.FACTORY in b.sym.tags and "order" not in b.kwargs and all(x.name in found for x in arrays)
        if keeps:
            found.add(p.name)
    return found


def _is_forward_key(key: Any) -> bool:
    """Whether a key takes numbers, new axes, and slices that run forward."""
    return all(
        k is None or k is Ellipsis or type(k) is int
        or (type(k) is slice and (k.step is None or (type(k.step) is int and k.step > 0)))
        for k in (key if isinstance(key, tuple) else (key,))
    )  # fmt: skip
