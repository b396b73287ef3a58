"""How random programs were run: compiled, with opaque calls, or eagerly and why. A pass that always fails must not pass for one that works."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

__all__ = ["Tally"]

#: a share is reported from this number of programs on
ENOUGH = 20


class Tally:
    """Counts what became of jitted functions, of those that were called."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()

    def add(self, jitted: Any) -> None:
        """Counts a function after its calls."""
        import tnp
        from tnp.api import programs_of

        entries = [entry for entry, _ in programs_of(jitted)]
        eager = [entry.eager_reason for entry in entries if entry.eager_reason is not None]
        eager = [reason for reason in eager if " runs eagerly: " in reason]  # others raise what eager raises
        in_parts = any(" runs in parts: " in (entry.eager_reason or "") for entry in entries)
        if not eager and in_parts:
            self.outcomes["in parts"] += 1
        elif not eager and all(entry.eager_reason is not None for entry in entries):
            self.outcomes["raises"] += 1
        elif eager:
            self.outcomes["eager"] += 1
            self.reasons[re.sub(r"\(.*\)|\d+", "…", eager[0].partition(" runs eagerly: ")[2])] += 1
        else:
            self.outcomes["with opaque calls" if "opaque call:" in str(tnp.explain(jitted)) else "compiled"] += 1

    def check(self, floor: float) -> None:
        """Raises ``AssertionError`` if a smaller share than ``floor`` of the functions was compiled, opaque calls and parts included, and
        chance does not explain it."""
        count = sum(self.outcomes.values()) - self.outcomes["raises"]
        compiled = sum(self.outcomes[kind] for kind in ("compiled", "with opaque calls", "in parts"))
        # Four standard deviations: Hypothesis makes some examples of others, which fall back for the same reason.
        chance = 4 * math.sqrt(floor * (1 - floor) * count)
        least = floor * count - chance if count >= ENOUGH else 1  # of few, chance decides
        assert count and compiled >= least, f"{compiled} of {count} programs were compiled\n{self}"

    def __str__(self) -> str:
        rows = [*self.outcomes.most_common(), *((f"  {reason}", n) for reason, n in self.reasons.most_common())]
        return "\n".join(f"{n:6} {what}" for what, n in rows)
