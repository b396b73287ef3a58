"""What the functions of a program that run hold in names that they read later."""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

from tnp.capture.control_flow.liveness import PREFIX
from tnp.capture.rewrite.rewriter import RUNTIME
from tnp.capture.tracing.program_frames import capture_code

__all__ = ["live_values"]


def live_values(variable: str = "") -> list[Any]:
    """What the program's functions hold in names that they may read later, but for ``variable``, a name that a loop or a branch shares with
    the function that it stands in."""
    found: list[Any] = []
    is_own = True
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not capture_code():
        code = frame.f_code
        if RUNTIME in code.co_freevars:
            values = frame.f_locals
            names = {*_read_later(code, frame.f_lasti), *code.co_freevars}
            names -= {RUNTIME, *((variable,) if is_own else ())}
            found += [values[n] for n in names if n in values and not n.startswith(PREFIX)]
            is_own = is_own and variable not in code.co_cellvars
        frame = frame.f_back
    return found


def _read_later(code: types.CodeType, at: int) -> Iterator[str]:
    """The names of a function's own that it may read after the instruction ``at``."""
    reads, jumps = _reads_and_jumps(code)
    begin, known = at, None
    while begin != known:  # a loop reads again what stands before
        known = begin
        begin = min([begin, *(to for place, to in jumps if place > begin)])
    return (name for place, name in reads if place > begin)


@functools.lru_cache(maxsize=256)
def _reads_and_jumps(code: types.CodeType) -> tuple[list[tuple[int, str]], list[tuple[int, int]]]:
    """Where a function reads which of its names, and where it jumps back to where."""
    reads: list[tuple[int, str]] = []
    jumps: list[tuple[int, int]] = []
    own = {*code.co_varnames, *code.co_cellvars}
    for one in dis.get_instructions(code):
        if "JUMP" in one.opname and type(one.argval) is int and one.argval < one.offset:
            jumps.append((one.offset, one.argval))
        elif "LOAD" in one.opname:
            names = one.argval if type(one.argval) is tuple else (one.argval,)
            reads += ((one.offset, n) for n in names if n in own)
    return reads, jumps
