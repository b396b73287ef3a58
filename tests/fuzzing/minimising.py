"""Making programs that fail smaller."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from .comparing import first_failure
from .programs import Program
from .replay import Rejected, Replay


def minimised(
    program: Program, failure: str, executors: Sequence[str] | None, seconds: float = 20.0
) -> tuple[Program, str]:
    """A program with fewer statements, results, calls, arguments and strange layouts that fails alike, and how it fails."""
    until = time.monotonic() + seconds
    kind = _kind_of(failure)
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(program):
            if time.monotonic() > until:
                return program, failure
            if not _is_valid(smaller):
                continue
            found = first_failure(smaller, executors)
            if found is not None and _kind_of(found) == kind:
                program, failure, changed = smaller, found, True
                break
    return program, failure


def _kind_of(failure: str) -> str:
    return next(
        (x for x in ("elements differ", "shared", "beside", "bounds", "type ", "Error") if x in failure),
        "dtype or shape",
    )


def _smaller(program: Program) -> Iterator[Program]:
    for i in reversed(range(len(program.statements))):
        rest = program.statements[:i] + program.statements[i + 1 :]
        known = {*program.names, *(s.target for s in rest)}
        yield replace(program, statements=rest, result=[n for n in program.result if n in known] or program.names[:1])
    for i in range(len(program.result) if len(program.result) > 1 else 0):
        yield replace(program, result=program.result[:i] + program.result[i + 1 :])
    for i in range(len(program.calls) if len(program.calls) > 1 else 0):
        yield replace(program, calls=program.calls[:i] + program.calls[i + 1 :])
    for i in range(len(program.names) if len(program.names) > 1 else 0):
        without = [call[:i] + call[i + 1 :] for call in program.calls]
        yield replace(program, names=program.names[:i] + program.names[i + 1 :], calls=without)
    for k, call in enumerate(program.calls):
        for i, line in enumerate(call):
            plain = re.sub(r"layout\('.*?'", "layout('C'", line)
            if plain != line:
                yield replace(
                    program, calls=[*program.calls[:k], [*call[:i], plain, *call[i + 1 :]], *program.calls[k + 1 :]]
                )


def _is_valid(program: Program) -> bool:
    """Whether a program runs under NumPy as far as its last statement, and can be compared."""
    for k in range(len(program.calls)):
        try:
            replay = Replay(program.names, program.arguments(k))
        except Exception:
            return False
        for s in program.statements:
            if any(r not in replay.variables and r != s.target for r in s.reads):
                return False
            try:
                replay.step(s)
            except (Rejected, NameError):
                return False
            except Exception:
                if s is not program.statements[-1]:
                    return False
        if any(n not in replay.variables for n in program.result):
            return False
    return True
