"""How often a ``while`` loop runs at most, where a counter and its condition tell: ``while p < most and error > tol: ...; p += 1``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.tracing.traced_values import TracedNumber
from tnp.core import intervals
from tnp.core.prims.base import PrimIDs
from tnp.core.proxies import NumberProxy, Proxy
from tnp.core.symbol import BoundSymbol

__all__ = ["IterationBound", "bound_of"]

#: by a comparison, where the counter stands, and whether it may be the limit
_LESS = {PrimIDs.LT: (0, 0), PrimIDs.LE: (0, 1), PrimIDs.GT: (1, 0), PrimIDs.GE: (1, 1)}


class IterationBound:
    """A counter that begins with ``begin`` and grows by ``step`` is less than ``limit`` and ``more`` in each iteration."""

    def __init__(self, begin: Any, limit: Any, step: int, more: int) -> None:
        self.begin, self.limit, self.step, self.more = begin, limit, step, more

    def most(self) -> Any:
        """How many iterations there are at most, an integer or a traced number."""
        begin: Any
        limit: Any
        begin, limit = (TracedNumber(x) if isinstance(x, NumberProxy) else x for x in (self.begin, self.limit))
        n = limit if type(begin) is int and begin == 0 else limit - begin
        if self.more or self.step > 1:
            n = (n + (self.more + self.step - 1)) // self.step
        if type(n) is int:
            return max(n, 0)
        low = intervals.bounds(n.proxy)[0]
        if low is not None and low >= 0:
            return n
        return active.current().numpy_function(np.maximum, (n, 0), {}).item()


def bound_of(
    tested: Sequence[BoundSymbol],
    condition: Any,
    carried: dict[str, Proxy],
    inits: dict[str, Any],
    ends: dict[str, Any],
    *,
    in_another: bool,
) -> IterationBound | None:
    """The bound that the condition of a loop, computed by ``tested``, sets; ``ends`` are the values of variables behind an iteration. In
    another loop or branch, it is made of numbers that are known while tracing: memory is made before that.
    """
    if not isinstance(condition, Proxy):
        return None
    needed = {condition.name}
    made = {p.name for b in tested for p in b.flat_outputs}
    for b in reversed(tested):
        if needed.isdisjoint(p.name for p in b.flat_outputs):
            continue
        if b.sym.id == PrimIDs.COND and isinstance(b.args[0], Proxy) and _is_false(b.args[2].results):
            needed.add(b.args[0].name)  # it holds only if its first part does
        if b.sym.id not in _LESS:
            continue
        at, more = _LESS[b.sym.id]
        counter, limit = b.args[at], b.args[1 - at]
        name = next((n for n, p in carried.items() if isinstance(counter, Proxy) and p.name == counter.name), None)
        is_fixed = type(limit) is int or (isinstance(limit, NumberProxy) and limit.python_type is int)
        if name is None or not is_fixed or getattr(limit, "name", None) in made | {p.name for p in carried.values()}:
            continue
        begin, end = inits[name], ends.get(name)
        if not isinstance(counter, NumberProxy) or counter.python_type is not int or not isinstance(end, NumberProxy):
            continue
        step = intervals.linear(end).plus(intervals.linear(counter), -1)
        if in_another and not (type(begin) is type(limit) is int):
            continue
        if step.is_constant and step.constant > 0:
            return IterationBound(begin, limit, step.constant, more)
    return None


def _is_false(results: Sequence[Any]) -> bool:
    """Whether a side of a branch gives ``False``. Proxies are not compared, which would ask for their values."""
    return len(results) == 1 and results[0] is False
