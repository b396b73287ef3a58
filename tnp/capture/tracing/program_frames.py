"""The frames of the program while it is traced: those that there would be without tnp, for what asks who called it."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from tnp.capture import active
from tnp.capture.rewrite.code_origin import is_own_file
from tnp.capture.rewrite.rewriter import RUNTIME
from tnp.core.errors import NeedsEager
from tnp.runtime.python_calls import caller_at

__all__ = ["warned_at"]


def warned_at(
    args: tuple[Any, ...], kwargs: dict[str, Any], frame: types.FrameType
) -> tuple[tuple[Any, ...], dict[str, Any], Callable[..., Any]]:
    """The arguments of ``warnings.warn`` in ``frame`` without the stack level, and what makes the call as from the frame that this tells:
    one of the program, or one of those that call it.
    """
    level = active.current().known(kwargs.get("stacklevel", args[2] if len(args) == 3 else 1))
    if type(level) is not int or len(args) > 3 or (len(args) == 3 and "stacklevel" in kwargs):
        raise NeedsEager("it calls warn with a stacklevel that is not known")
    kwargs = {k: v for k, v in kwargs.items() if k != "stacklevel"}
    frames, is_whole = _frames(frame)
    above = max(level, 1) - len(frames)
    if above <= 0:
        return args[:2], kwargs, caller_at(frames[max(level, 1) - 1])
    if not is_whole or kwargs.keys() - {"message", "category"}:
        raise NeedsEager("it calls warn with a stacklevel that says another function than those of the program")
    return args[:2], kwargs, partial(_warn_from_outside, above)


def _warn_from_outside(above: int, warn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Warns as from the line that called the program, or one further out."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if not (is_own_file(frame.f_code.co_filename) or frame.f_code.co_filename.startswith("<")):
            above -= 1
            if above == 0:
                break
        frame = frame.f_back
    if frame is None:
        warn(*args, **kwargs)
        return
    message, category = _taken(*args, **kwargs)
    names = frame.f_globals
    warnings.warn_explicit(
        message, type(message) if isinstance(message, Warning) else category or UserWarning, frame.f_code.co_filename,
        frame.f_lineno, names.get("__name__", "<sys>"), names.setdefault("__warningregistry__", {}),
    )  # fmt: skip


def _taken(message: Any, category: Any = None) -> tuple[Any, Any]:
    return message, category


def _frames(frame: types.FrameType | None) -> tuple[list[types.FrameType], bool]:
    """``frame`` and those that called it, as far as they are the program's, and whether nothing else is between them and the program's begin."""
    found: list[types.FrameType] = []
    outer: types.CodeType | None = None
    is_whole = True
    while frame is not None:
        code = frame.f_code
        if code is capture_code():
            return found, is_whole
        if not (is_own_file(code.co_filename) or code.co_filename.startswith("<")):
            if RUNTIME not in code.co_freevars:
                is_whole = False
                break
            if not found or not _is_part(outer, code):
                found.append(frame)
            outer = code
        frame = frame.f_back
    return found, False


def capture_code() -> types.CodeType:
    """The code of the function of tnp's that begins to trace a program."""
    from tnp.capture.driver import capture_trace

    return capture_trace.__code__


def _is_part(inner: types.CodeType | None, code: types.CodeType) -> bool:
    """Whether ``inner`` is the body of a branch or a loop of a function, which is a function of its own while it is traced."""
    return inner is not None and inner.co_name == code.co_name and any(inner is c for c in code.co_consts)
