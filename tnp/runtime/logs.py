"""Logs of the compiler, through the standard ``logging``.

========================  =====================================================================================
``tnp.compile``           programs and regions compiled, how long it took; calls found to run eagerly, and why
``tnp.guards``            what each new program is valid for; which guard failed when a function compiles again
``tnp.claims``            which executor claimed each operation, and which do not support it
========================  =====================================================================================

All records have the level ``DEBUG``; a disabled logger costs one check of the level. ``TNP_LOG=compile,guards`` in the
environment enables loggers, which write to stderr if the program has not set up logging; ``TNP_LOG=all`` enables all
three.

What takes longer than :data:`PATIENCE` to compile shows its progress: a line in a terminal, which goes away at the end. If
``tnp.compile`` is on, it tells at once what is compiled, and the step, once a second.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from tnp.runtime import environment

__all__ = [
    "LOGGERS",
    "Event",
    "begin",
    "claims",
    "compile",
    "end",
    "go_on",
    "guards",
    "listeners",
    "on",
    "progress",
    "tell",
    "turn_on",
    "turn_on_only",
]

compile = logging.getLogger("tnp.compile")
guards = logging.getLogger("tnp.guards")
claims = logging.getLogger("tnp.claims")
#: what ``TNP_LOG`` may name
LOGGERS = {"compile": compile, "guards": guards, "claims": claims}


@dataclass(frozen=True)
class Event:
    """Something was compiled: a ``"program"`` (``again``: not the function's first), the machine code of a region
    (``"native"``), or the finding that calls run ``"eager"`` or in ``"parts"``, and why."""

    kind: str
    name: str
    seconds: float
    reason: str = ""
    again: bool = False

    def __str__(self) -> str:
        if self.kind in ("eager", "parts"):
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


#: Compiling shows its progress after so many seconds, and at most once in so many.
PATIENCE, EVERY = 2.0, {"terminal": 0.1, "log": 1.0}


class _Work(threading.local):
    """What a thread is compiling, since when, when it was last heard of and last shown, and whether a line stands in the terminal."""

    name = ""
    began = 0.0
    heard = 0.0
    shown = 0.0
    has_line = False


_work = _Work()


def begin(name: str) -> None:
    """Something is compiled from now on."""
    _work.name, _work.began, _work.shown = name, time.perf_counter(), 0.0
    compile.debug("compiling %s", name)


def progress(step: str) -> None:
    """Shows what is being done, if it is compiled for long already."""
    now = time.perf_counter()
    where = "log" if on(compile) else "terminal"
    if now - _work.began < (EVERY["log"] if where == "log" else PATIENCE):
        return
    if now - _work.shown >= EVERY[where] and (where == "log" or _is_terminal()):
        _work.shown = now
        line = f"{_work.name}: {step}, after {now - _work.began:.1f} s"
        if where == "log":
            compile.debug("%s", line)
        else:
            sys.stderr.write(f"\r\x1b[Ktnp compiles {line.rpartition('.<locals>.')[2][:60]}")
            sys.stderr.flush()
            _work.has_line = True


def end() -> None:
    """What was compiled is done, or its next part is to come: the line in the terminal goes."""
    if _work.has_line and _is_terminal():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
    _work.heard, _work.has_line = time.perf_counter(), False


def go_on(name: str) -> None:
    """Machine code of ``name`` is being made: a part of the last compilation, or a new one if that ended a while ago."""
    if time.perf_counter() - _work.heard > EVERY["log"]:
        begin(name)
    progress(f"machine code of {name}")


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


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


def turn_on_only(names: str) -> None:
    """Turns on the loggers in a list, and the others off."""
    for logger in LOGGERS.values():
        logger.setLevel(logging.NOTSET)
    turn_on(names)


turn_on(environment.text("TNP_LOG"))
