"""Tracebacks without tnp's own frames: an error of a compiled function ends in the user's lines, as eager's does.

Where a program raises that may not run again eagerly, the frame of its statement is replaced by one of the user's line that the
statement comes from.

``TNP_FULL_TRACEBACK=1`` keeps the frames, and so does an :class:`InternalError`, which is about them.
"""

from __future__ import annotations

import ast
import linecache
import os
import re
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from tnp.core.errors import InternalError, UserLocation
from tnp.core.printing import bound_symbol_lines
from tnp.core.subtraces import bodies_of
from tnp.core.symbol import BoundSymbol
from tnp.core.trace import OWN_TRACE
from tnp.runtime import environment
from tnp.transforms.claim import FusedSymbol

__all__ = ["hide_own_frames", "own_frames_hidden"]

_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def hide_own_frames(error: BaseException) -> None:
    """Takes tnp's frames out of the tracebacks of an error, and of those that it was raised from.

    To be called in an ``except`` that ends with ``raise``, which adds no frame: the caller's frame comes next.
    """
    if environment.is_on("TNP_FULL_TRACEBACK"):
        return
    for one in _chain(error):
        if isinstance(one, InternalError):
            return
    for one in _chain(error):
        one.__traceback__ = _of_others(one.__traceback__)


class own_frames_hidden:
    """A context in which errors lose tnp's frames: for functions that are no programs."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None:
            hide_own_frames(error)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, its cause, and what was being handled when it was raised."""
    seen: set[int] = set()
    rest: list[BaseException | None] = [error]
    while rest:
        one = rest.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            yield one
            rest += [one.__cause__, one.__context__]


def _of_others(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without tnp's frames, and without the frames of a user's function around a part of it."""
    kept: list[TracebackType] = []
    is_behind_own = False
    place: UserLocation | None = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename.startswith(("<tnp", _OWN_FOLDER)):
            is_behind_own = True
            place = _place_of(traceback) or place
        else:
            if place is not None:  # a program has called something
                kept.append(_entry_at(place))
            place = None
            outer = kept[-1].tb_frame.f_code if kept else None
            is_part = outer is not None and (outer.co_filename, outer.co_name) == (code.co_filename, code.co_name)
            if is_behind_own and is_part and outer is not code:
                kept.pop()
            kept.append(traceback)
            is_behind_own = False
        traceback = traceback.tb_next
    if place is not None:
        kept.append(_entry_at(place))
    made: TracebackType | None = None
    for entry in reversed(kept):
        made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made


def _place_of(entry: TracebackType) -> UserLocation | None:
    """The user's line of the statement at which a program stands; ``None`` for frames of no program."""
    trace = entry.tb_frame.f_globals.get(OWN_TRACE, lambda: None)()
    if trace is None or not entry.tb_frame.f_code.co_filename.startswith("<tnp program"):
        return None
    statement = _normal(linecache.getline(entry.tb_frame.f_code.co_filename, entry.tb_lineno))
    for b in _innermost_first(trace.bound_symbols):
        if statement in map(_normal, bound_symbol_lines(b, {}, comments=False)):
            return _place_in(b)
    return None


def _place_in(b: BoundSymbol) -> UserLocation | None:
    """The user's line of a statement; of a region, if all of it is of one line."""
    parts = _innermost_first(b.subsymbols) if isinstance(b.sym, FusedSymbol) else [b]
    places = {p.location for p in parts}
    place = places.pop() if len(places) == 1 else None
    return place if isinstance(place, UserLocation) else None


def _innermost_first(bsyms: Iterable[BoundSymbol]) -> Iterator[BoundSymbol]:
    for b in bsyms:
        for body in bodies_of(b):
            yield from _innermost_first(body.bound_symbols)
        if not bodies_of(b):
            yield b


def _normal(line: str) -> str:
    """A line of a program without the names that objects got in it."""
    return re.sub(r"\b_[A-Za-z]\w*", "_", line.strip())


def _entry_at(place: UserLocation) -> TracebackType:
    """An entry of a traceback at a user's line: that of code which raises there."""
    line, column, end_line, end_column = place.place
    at: dict[str, Any] = {
        "lineno": line or place.line,
        "col_offset": column or 0,
        "end_lineno": end_line,
        "end_col_offset": end_column,
    }
    statement = ast.Raise(ast.Name("error", ast.Load(), **at), None, **at)
    code = compile(ast.Module([statement], []), place.filename, "exec")
    try:
        exec(code.replace(co_name=place.name, co_qualname=place.name), {"error": KeyError})
    except KeyError as error:
        assert error.__traceback__ is not None and error.__traceback__.tb_next is not None
        return error.__traceback__.tb_next
    raise AssertionError("unreachable")
