"""What became of a program under tnp: compiled, eager and why, wrong and how."""

from __future__ import annotations

import re
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .drafts import TooLong
from .outside import CALLS
from .worlds import Difference, Outcome, World, differences, is_ill_conditioned

__all__ = ["Verdict", "judged"]

#: calls with arrays of other sizes
VARIANTS = 2
#: differences that docs/differences.md allows, or that are only words
MINOR = ("message", "flags")


@dataclass
class Verdict:
    """``outcome`` is a row of the table: ``compiled``, ``with opaque calls``, ``eager``, ``raises``, ``internal error``, ``wrong``,
    ``ill-conditioned`` or ``too long``; ``detail`` says why, or what differs."""

    outcome: str
    detail: str = ""
    minor: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def judged(path: Path, executors: Any = None) -> Verdict:
    """Runs a program's calls under Python and under tnp, and compares. The first call comes again, and then with arrays of other sizes."""
    start = time.perf_counter()
    found = _judged(path, executors)
    found.seconds = time.perf_counter() - start
    return found


def _judged(path: Path, executors: Any) -> Verdict:
    import tnp
    from tnp.runtime import logs

    events: list[logs.Event] = []
    logs.listeners.append(events.append)
    eager = World(path)
    mine = World(path, lambda f: tnp.jit(f, executors=executors))
    minor: list[str] = []
    expected: list[Outcome] = []
    try:
        for k in range(CALLS + 1 + VARIANTS):
            expected.append(eager.call(k, seconds=5.0))
            if isinstance(expected[-1].error, TooLong):
                return Verdict("too long")
            actual = mine.call(k)
            internal = _internal(actual, expected[-1], events)
            if internal is not None and expected[-1].undefined:
                return Verdict("ill-conditioned", "a cast that NumPy does not define", minor)
            if internal is not None:
                return Verdict("internal error", f"call {k}: {internal}", minor)
            wrong = [d for d in differences(actual, expected[-1]) if d.kind not in MINOR]
            minor += [str(d) for d in differences(actual, expected[-1]) if d.kind in MINOR]
            if wrong:
                return _wrong(path, k, expected, wrong, minor, any(e.kind == "parts" for e in events))
        return _how(mine.through, events, expected, minor)
    finally:
        logs.listeners.remove(events.append)
        eager.close()
        mine.close()


def _wrong(
    path: Path, k: int, expected: list[Outcome], wrong: list[Difference], minor: list[str], in_parts: bool
) -> Verdict:
    if expected[k].undefined:
        return Verdict("ill-conditioned", "a cast that NumPy does not define", minor)
    left = [d for d in wrong if not is_ill_conditioned(path, k, expected, d, in_parts=in_parts)]
    if not left:
        return Verdict("ill-conditioned", str(wrong[0]), minor)
    return Verdict("wrong", f"call {k}: {left[0]}", minor)


def _internal(actual: Outcome, expected: Outcome, events: list[Any]) -> str | None:
    """An error of tnp's own: told of in an event, or raised where eager raises another."""
    for event in events:
        if event.kind == "eager" and "tracing raised" in event.reason:
            return event.reason
    error = actual.error
    if error is not None and type(error) is not type(expected.error) and type(error).__module__.startswith("tnp"):
        return f"{type(error).__name__}: {error}"
    return None


def _how(jitted: Any, events: list[Any], expected: list[Outcome], minor: list[str]) -> Verdict:
    import tnp

    reasons = [e.reason for e in events if e.kind == "eager"]
    if reasons:
        return Verdict("eager", reason_of(reasons[0]), minor)
    if not any(e.kind == "program" for e in events):
        return Verdict("raises", type(expected[0].error).__name__, minor)
    text = str(tnp.explain(jitted))
    if "opaque call:" in text:
        return Verdict("with opaque calls", ", ".join(sorted(set(re.findall(r"opaque call: (\S+)", text)))), minor)
    return Verdict("compiled", "", minor)


def reason_of(text: str) -> str:
    """Why a call ran eagerly, without names, places and numbers."""
    text = text.partition(" runs eagerly: ")[2] or text
    text = re.sub(r" \(\S*program\d*\.py:\d+ in [^)]*\)|\([^()]*:\d+ in [^)]*\)", "", text)
    text = re.sub(r"\b[avwD]\d+\b|\b[GKDLO]0\b", "…", text)
    return re.sub(r"\d+", "#", text)[:140]
