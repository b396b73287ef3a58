"""The arrays of a trace that are C-contiguous, as far as their operations say."""

from __future__ import annotations

from typing import Any

from tnp.core.prims.control_flow import stored
from tnp.core.proxies import TensorProxy
from tnp.core.subtraces import is_control_flow
from tnp.core.symbol import OpTags
from tnp.core.trace import Trace
from tnp.transforms.claim import Update

__all__ = ["c_ordered"]


def c_ordered(trace: Trace) -> set[str]:
    """The arrays whose axes surely stand in C order in memory, so that what is computed of them alone is C-contiguous."""
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
