"""Tracebacks without tnp's own frames: an error of a compiled function ends in the user's lines, as eager's does.

``TNP_FULL_TRACEBACK=1`` keeps the frames, and so does an :class:`InternalError`, which is about them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType

from tnp.core.errors import InternalError
from tnp.runtime import environment

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
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename.startswith(("<tnp", _OWN_FOLDER)):
            is_behind_own = True
        else:
            outer = kept[-1].tb_frame.f_code if kept else None
            is_part = outer is not None and (outer.co_filename, outer.co_name) == (code.co_filename, code.co_name)
            if is_behind_own and is_part and outer is not code:
                kept.pop()
            kept.append(traceback)
            is_behind_own = False
        traceback = traceback.tb_next
    made: TracebackType | None = None
    for entry in reversed(kept):
        made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made
