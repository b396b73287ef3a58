"""Loops over constants run while tracing, so their results are constants, too.

``ns = [4]; for i in range(27): ns.append(int(4 * 1.2**i))`` makes a list of numbers that is the same at each call. As an operation of the
trace it would be a list of unknown length, and loops over it could be neither written out nor compiled for its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.symbol import OpTags

if TYPE_CHECKING:
    from tnp.capture.control_flow.iterables import Iterations
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["MOST_NOW", "own_names", "takes_constants"]

#: iterations of loops that run while tracing
MOST_NOW = 1000

_OUTSIDE = (OpTags.EFFECT, OpTags.RANDOM, OpTags.BARRIER, OpTags.ASSIGNS, OpTags.LATE_GUARD)


def own_names(
    iterations: Iterations, index: Proxy, carried: Mapping[str, Proxy], inits: Mapping[str, object]
) -> set[str] | None:
    """The names that the body of a loop has for constants, at first: its index, and what it carries from constants on; ``None`` if its
    bounds are no numbers."""
    if not all(type(n) is int for n in (iterations.start, iterations.stop, iterations.step)):
        return None
    return {index.name, *(p.name for n, p in carried.items() if not isinstance(inits[n], Proxy))}


def takes_constants(tracer: Tracer) -> bool:
    """Whether the loops around, as far as they are traced, compute numbers of constants alone, and run for few iterations."""
    loops = [r for r in tracer.regions if r.is_loop]
    known: set[str] = set()
    for region in loops:
        if region.constants is None or region.times is None:
            return False
        known |= region.constants
    if not loops or math.prod(r.times for r in loops) > MOST_NOW:
        return False
    for b in (b for body in tracer.trace.open_bodies for b in body):
        if any(b.has_tag_inside(tag) for tag in _OUTSIDE) or not all(p.name in known for p in b.flat_inputs):
            return False
        if any(isinstance(p, TensorProxy) and p.shape for p in b.flat_outputs):
            return False
        known.update(p.name for p in b.flat_outputs)
    return True
