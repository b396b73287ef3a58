"""The frames of the program while it is traced: those that there would be without tnp, for what asks who called it."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from tnp.capture.rewrite.code_origin import is_own_file
from tnp.capture.rewrite.rewriter import RUNTIME
from tnp.core.errors import NeedsEager

__all__ = ["warned_at"]


def warned_at(
    args: tuple[Any, ...], kwargs: dict[str, Any], frame: types.FrameType
) -> tuple[tuple[Any, ...], dict[str, Any], types.FrameType]:
    """The arguments of ``warnings.warn`` in ``frame`` without the stack level, and the frame that this tells.

    Raises :class:`NeedsEager` for a frame outside of the program: another may call it next time.
    """
    level = kwargs.get("stacklevel", args[2] if len(args) == 3 else 1)
    if type(level) is not int or len(args) > 3 or (len(args) == 3 and "stacklevel" in kwargs):
        raise NeedsEager("it calls warn with a stacklevel that is not known")
    frames = _frames(frame)
    for _ in range(max(level, 1)):
        found = next(frames, None)
        if found is None:
            raise NeedsEager("it calls warn with a stacklevel that says another function than those of the program")
        frame = found
    return args[:2], {k: v for k, v in kwargs.items() if k != "stacklevel"}, frame


def _frames(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """``frame`` and those that called it, as far as they are the program's."""
    of_function: types.FrameType | None = None
    outer: types.CodeType | None = None
    while frame is not None:
        code = frame.f_code
        if not is_own_file(code.co_filename):
            if RUNTIME not in code.co_freevars:
                break
            if of_function is None or not _is_part(outer, code):
                if of_function is not None:
                    yield of_function
                of_function = frame
            outer = code
        frame = frame.f_back
    if of_function is not None:
        yield of_function


def _is_part(inner: types.CodeType | None, code: types.CodeType) -> bool:
    """Whether ``inner`` is the body of a branch or a loop of a function, which is a function of its own while it is traced."""
    return inner is not None and inner.co_name == code.co_name and any(inner is c for c in code.co_consts)
