"""Calls that may run in parts, or eagerly: they run in whichever way takes less time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from tnp.compile.resume_points import ResumePoints

__all__ = ["PartsOrEager"]

#: calls in parts before any is timed: parts are compiled in them
WARM = 6
#: calls of each way that are timed, in turns
TIMED = 5
#: how much longer parts may take than eager, for what the clock does not resolve
TOLERANCE = 1.05
#: seconds of a call in parts above which eager, which may take many times as long, is not tried
LONG = 0.01
#: calls after which both are timed again; twice as many after each time
AGAIN = 500


class PartsOrEager:
    """Runs calls of a function that has ``points`` in parts, unless they take longer so. ``eagerly`` and ``in_parts`` run a call.

    Parts of small arrays may take longer than the operations in them. Both ways give the same, so each is tried in turns, on the
    calls that there are, and the faster one is kept until the points are others, or many calls later.
    """

    def __init__(self, points: ResumePoints, in_parts: Callable[..., Any], eagerly: Callable[..., Any]) -> None:
        self.points = points
        self._ways = in_parts, eagerly
        #: the way of the calls to come, and how many there are until something else is done
        self._way, self._left = in_parts, WARM
        self._best: list[float] | None = None
        self._turns = 0
        self._again = AGAIN
        self._version = points.version

    @property
    def is_eager(self) -> bool:
        """Whether eager was found to take less time."""
        return self._best is None and self._way is self._ways[1]

    def __call__(self, *values: Any) -> Any:
        if self._left > 0 and self._version == self.points.version:
            self._left -= 1
            return self._way(*values)
        return self._tried(*values)

    def _tried(self, *values: Any) -> Any:
        if self._version != self.points.version:
            self._version, self._way, self._left, self._best = self.points.version, self._ways[0], WARM, None
            return self._way(*values)
        best = self._best
        if best is None:
            best = self._best = [math.inf, math.inf]
            self._turns = 2 * TIMED
        self._turns -= 1
        turn = (self._turns + 1) % 2
        start = time.perf_counter()
        result = self._ways[turn](*values)
        best[turn] = min(best[turn], time.perf_counter() - start)
        parts, eager = best
        is_settled = parts < math.inf and (parts > LONG or 2 * parts < eager < math.inf)
        if self._turns <= 0 or is_settled:
            self._way = self._ways[eager < math.inf and parts > TOLERANCE * eager]
            self._best, self._left, self._again = None, self._again, 2 * self._again
        return result
