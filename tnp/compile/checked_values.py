"""Programs that check the values that they were compiled for.

A value guard computes a value, and then the program for it computes that value again. If the values have been the same
for some calls, the program for them runs at once, and stops where one is another: value guards find the right program
then. So it must be a program that has only computed up to there, and that ends whatever the values are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tnp.core import devices, languages, prims
from tnp.core.effects import acts_before
from tnp.core.prims.control_flow import START_OVER
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import with_parts
from tnp.core.symbol import BoundSymbol
from tnp.core.trace import Trace, tracing

if TYPE_CHECKING:
    from tnp.capture.driver import Captured
    from tnp.compile.cache_entry import CacheEntry
    from tnp.compile.specialization import ValueGuard

__all__ = ["Expected", "check_values"]


def check_values(captured: Captured, steps: Sequence[tuple[ValueGuard, Any]]) -> bool:
    """Adds assertions to a trace that the values of value guards are what they are; whether it has them all now.

    There are none where a program has computed a value with other rounding than the value guard did.
    """
    trace = captured.trace
    is_plain = captured.prologue.may_catch and not captured.requires_gradients and captured.differentiated is None
    if not steps or not is_plain or not _ends_here(trace) or steps[0][0].family.rounds:
        return False
    if not all(type(value) in (bool, int, float) for _, value in steps):
        return False
    made = {p.name: (p, i) for i, b in enumerate(trace.bound_symbols) for p in b.flat_outputs}
    wanted = [(*made[guard.name], value) for guard, value in steps if guard.name in made]
    if len(wanted) < len(steps) or acts_before(trace, 1 + max(i for _, i, _ in wanted)):
        return False
    checks: dict[int, list[BoundSymbol]] = {}
    for p, i, value in wanted:
        trace.push_body()
        with tracing(trace):
            _check(p, value)
        lines = trace.pop_body()
        for line in lines:
            line.location = trace.bound_symbols[i].location
        checks.setdefault(i, []).extend(lines)
    trace.bound_symbols[:] = [line for i, b in enumerate(trace.bound_symbols) for line in (b, *checks.get(i, ()))]
    trace.catches = True
    return True


def _check(p: Proxy, value: Any) -> None:
    with languages.language_context(p.lang if isinstance(p, TensorProxy) else languages.current()):
        if type(value) is bool:
            condition = p if value else prims.logical_not(p)
        else:  # NaN is not equal to itself
            condition = prims.eq(p, value) if value == value else prims.ne(p, p)
        prims.assert_(condition, START_OVER)
        if type(value) is float and value == 0:  # Python tells 0.0 from -0.0
            prims.assert_(prims.eq(prims.copysign(1.0, p), math.copysign(1.0, value)), START_OVER)


def _ends_here(trace: Trace) -> bool:
    """Whether a program ends whatever its values are, and runs on this machine's processor."""
    parts = [part for b in trace.bound_symbols for part in with_parts(b)]
    return all(b.sym is not prims.while_loop and all(map(_is_here, _values(b))) for b in parts)


def _values(b: BoundSymbol) -> Iterator[Proxy]:
    yield from b.flat_inputs
    yield from b.flat_outputs


def _is_here(p: Proxy) -> bool:
    return (
        isinstance(p, NumberProxy)
        or (isinstance(p, TensorProxy) and p.device is devices.cpu)
        or not hasattr(p, "device")
    )


class Expected:
    """The program that calls of a family are expected to come to: the one that they came to several times in a row."""

    #: how often at first, how often at most, and how soon a call comes to another if it is to be oftener from then on
    TIMES, MOST, SOON = 2, 8, 32

    def __init__(self) -> None:
        self.program: CacheEntry | None = None
        #: calls in a row that came to it
        self.calls = 0
        self._last: CacheEntry | None = None
        self._times = 0
        self._needed = self.TIMES

    def ran(self, entry: CacheEntry) -> None:
        """Notes what value guards led a call to."""
        self._times = self._times + 1 if entry is self._last else 1
        self._last = entry
        self.program = entry if entry.checks_values and self._times >= self._needed else None

    def was_another(self) -> None:
        self._needed = min(2 * self._needed, self.MOST) if self.calls < self.SOON else self.TIMES
        self.program, self._times, self.calls = None, 0, 0
