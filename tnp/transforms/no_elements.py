"""Empty arrays: an elementwise operation on them becomes ``prims.empty``."""

from __future__ import annotations

from tnp.core import prims
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.core.trace import Trace
from tnp.transforms.dce import may_raise

__all__ = ["without_elements"]


def without_elements(trace: Trace) -> Trace:
    """The trace with these operations replaced; their operands become dead code."""
    lines = [_made_empty(b) if _has_no_elements(b) else b for b in trace.bound_symbols]
    return trace if lines == trace.bound_symbols else Trace.like(trace, lines)


def _has_no_elements(b: BoundSymbol) -> bool:
    made = b.output
    if OpTags.ELEMENTWISE not in b.sym.tags or not isinstance(made, TensorProxy) or made.lang.name != "numpy":
        return False
    return all(type(n) is int for n in made.shape) and 0 in made.shape and not may_raise(b)


def _made_empty(b: BoundSymbol) -> BoundSymbol:
    made = prims.empty.bind(b.output.shape, device=b.output.device, dtype=b.output.dtype, output=b.output)
    made.location = b.location
    return made
