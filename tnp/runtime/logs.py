"""What the compiler tells of its work, through the standard ``logging``.

========================  =====================================================================================
``tnp.compile``           programs and regions compiled, how long it took; calls found to run eagerly, and why
``tnp.guards``            what each new program is valid for; which guard failed when a function compiles again
``tnp.claims``            which executor took each operation, and which refused it
========================  =====================================================================================

All is told at level ``DEBUG``; what is off costs a look at the level. ``TNP_LOG=compile,guards`` in the environment
turns loggers on, and has them write to stderr where the program has set up no logging of its own; ``TNP_LOG=all`` turns
on all three.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

__all__ = ["LOGGERS", "Event", "claims", "compile", "guards", "listeners", "on", "tell", "turn_on"]

compile = logging.getLogger("tnp.compile")
guards = logging.getLogger("tnp.guards")
claims = logging.getLogger("tnp.claims")
#: what ``TNP_LOG`` may name
LOGGERS = {"compile": compile, "guards": guards, "claims": claims}


@dataclass(frozen=True)
class Event:
    """Something was compiled: a ``"program"`` (``again``: not the function's first), the machine code of a region
    (``"native"``), or the finding that calls run ``"eager"``, and why."""

    kind: str
    name: str
    seconds: float
    reason: str = ""
    again: bool = False

    def __str__(self) -> str:
        if self.kind == "eager":
            return self.reason
        what = {"program": "compiled", "native": "machine code of"}[self.kind]
        because = f", again: {self.reason}" if self.again else ""
        return f"{what} {self.name} in {self.seconds * 1000:.1f} ms{because}"


#: called with each :class:`Event`
listeners: list[Callable[[Event], None]] = []


def tell(event: Event) -> None:
    """Tells listeners and the log of an event."""
    for listener in listeners:
        listener(event)
    compile.debug("%s", event)


def on(logger: logging.Logger) -> bool:
    """Whether anybody listens."""
    return logger.isEnabledFor(logging.DEBUG)


class _ToStderr(logging.StreamHandler[TextIO]):
    """Writes to stderr, wherever that is by then, unless the program's own logging does."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            self.stream = sys.stderr
            super().emit(record)


def turn_on(names: str) -> None:
    """Turns on the loggers in a list separated by commas, as in ``TNP_LOG``. Warns of a name that is none."""
    wanted = {n.strip() for n in names.split(",")} - {""}
    unknown = sorted(wanted - {*LOGGERS, "all"})
    if unknown:
        warnings.warn(f"TNP_LOG names {', '.join(unknown)}; there are {', '.join(LOGGERS)} and all", stacklevel=2)
    chosen = [logger for name, logger in LOGGERS.items() if name in wanted or "all" in wanted]
    for logger in chosen:
        logger.setLevel(logging.DEBUG)
    parent = logging.getLogger("tnp")
    if chosen and not any(isinstance(h, _ToStderr) for h in parent.handlers):
        handler = _ToStderr()
        handler.setFormatter(logging.Formatter("[%(name)s] %(message)s"))
        parent.addHandler(handler)


turn_on(os.environ.get("TNP_LOG", ""))
