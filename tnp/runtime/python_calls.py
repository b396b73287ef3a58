"""A call of a function of Python's that a program makes each time that it runs: with what, and from which line of the user's."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tnp.core.errors import is_internal

__all__ = ["Effect", "EffectOfSome", "Formatting", "Slot", "Text", "caller_at", "user_frame"]


@dataclass(frozen=True)
class Slot:
    """Where a value of the program stands in the arguments of a call: of its number, and how NumPy has it if it is 0-d."""

    index: int
    kind: str

    def fill(self, values: tuple[Any, ...]) -> Any:
        value = values[self.index]
        if self.kind == "number":
            return value
        return np.asarray(value)[()] if self.kind == "scalar" else np.asarray(value)


@dataclass(frozen=True)
class Text:
    """An f-string: texts, and values with their conversion (``"r"``, ``"s"``, ``"a"`` or none) and format."""

    parts: tuple[Any, ...]

    def fill(self, values: tuple[Any, ...]) -> str:
        return "".join(p if isinstance(p, str) else self._formatted(p, values) for p in self.parts)

    def _formatted(self, part: Any, values: tuple[Any, ...]) -> str:
        slot, conversion, spec = part
        value = _filled(slot, values)
        return format(_CONVERSIONS[conversion](value) if conversion else value, spec)


@dataclass(frozen=True)
class Formatting:
    """A text made by ``make(*args, **kwargs)``: Python's ``%``, or ``str.format``."""

    make: Callable[..., str]
    args: Any
    kwargs: Any

    def fill(self, values: tuple[Any, ...]) -> str:
        kwargs = {k: _filled(v, values) for k, v in self.kwargs.items()}
        return self.make(*(_filled(a, values) for a in self.args), **kwargs)


_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}


class Effect:
    """A call of ``function``; ``args`` and ``kwargs`` hold slots and texts for what the program computes.

    ``caller`` makes the call as from the user's line, where the function looks who calls it.
    """

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], caller: Callable[..., Any]
    ) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.caller = caller

    @property
    def name(self) -> str:
        return str(getattr(self.function, "__name__", "call"))

    def __call__(self, *values: Any) -> Any:
        kwargs = {k: _filled(v, values) for k, v in self.kwargs.items()}
        return self.caller(self.function, tuple(_filled(a, values) for a in self.args), kwargs)

    def __repr__(self) -> str:
        return f"<call of {self.name}>"


class EffectOfSome(Effect):
    """An effect that is made as often as its only value says, which mostly is never: then nothing is called."""

    def __call__(self, count: Any) -> None:
        if count:
            super().__call__(count)


def user_frame() -> types.FrameType:
    """The innermost frame that is neither tnp's nor an array library's."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    assert frame is not None
    return frame


def caller_at(frame: types.FrameType) -> Callable[..., Any]:
    """A function that calls another from where ``frame`` is: by the name, in the file and on the line of the user's program."""
    name = frame.f_code.co_name if frame.f_code.co_name.isidentifier() else "function"
    source = "\n" * (frame.f_lineno - 1) + f"def {name}(f, args, kwargs): return f(*args, **kwargs)"
    code = compile(source, frame.f_code.co_filename, "exec")
    inner = next(c for c in code.co_consts if isinstance(c, types.CodeType))
    return types.FunctionType(inner.replace(co_name=frame.f_code.co_name), frame.f_globals)


def _filled(x: Any, values: tuple[Any, ...]) -> Any:
    if isinstance(x, (Slot, Text, Formatting)):
        return x.fill(values)
    if type(x) in (tuple, list):
        return type(x)(_filled(y, values) for y in x)
    if type(x) is dict:
        return {_filled(k, values): _filled(v, values) for k, v in x.items()}
    return x
