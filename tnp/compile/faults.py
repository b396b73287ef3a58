"""Internal errors: how they are distinguished from the program's errors, and how they are reported."""

from __future__ import annotations

import dis
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tnp.core.errors import (
    ExtensionError,
    InternalError,
    NeedsEager,
    NoDeviceError,
    NoExecutorError,
    TraceError,
)
from tnp.runtime import signals

__all__ = [
    "REPORT",
    "is_certain",
    "located",
    "needs_eager_behind",
    "passed_on",
    "passed_through",
    "text_of",
    "while_compiling",
    "without_values",
]

REPORT = "this is a fault of tnp's: please report it, with the program and the traceback that TNP_CHECK=1 shows"
#: what says what is wrong by itself
_OWN_WORDS = (TraceError, NoExecutorError, NoDeviceError, ExtensionError, InternalError, MemoryError)
#: what no program's operation raises when it runs
_NEVER_RAISED = (NameError, AttributeError, SystemError)


@contextmanager
def while_compiling() -> Iterator[None]:
    """Around passes and executors: whatever they raise that does not say what is wrong is an :class:`InternalError`."""
    try:
        yield
    except _OWN_WORDS:
        raise
    except Exception as error:
        raise InternalError(f"compiling raised {text_of(error)}") from error


def text_of(error: BaseException) -> str:
    """``repr(error)``, of an error that may hold what only tracing knows."""
    try:
        return repr(error)
    except Exception:
        return f"a {type(error).__name__}"


def passed_on(error: Exception) -> bool:
    """Whether an error of a program that runs is the caller's to see as it is: that there is no memory may hold at another time, and a
    signal's handler raises what it raises anywhere."""
    no_memory = any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__)  # PyTorch's, and CuPy's
    return no_memory or isinstance(error, _OWN_WORDS) or signals.of_handler(error) is not None


def passed_through(functions: Iterable[Any], error: Exception) -> bool:
    """Whether an error was raised while one of ``functions`` ran: of a call that ran eagerly, it is the program's own.

    What the call wrote before may make its arguments those of another program.
    """
    codes = {id(code) for f in functions if (code := getattr(f, "__code__", None)) is not None}
    at = error.__traceback__
    while at is not None and id(at.tb_frame.f_code) not in codes:
        at = at.tb_next
    return at is not None


def is_certain(error: Exception) -> bool:
    """Whether an error of a program that runs is surely none of the user's: generated code raised it by itself."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or not isinstance(error, _NEVER_RAISED):
        return False
    code = last.tb_frame.f_code
    return code.co_filename.startswith("<tnp") and code.co_code[last.tb_lasti] != dis.opmap["RAISE_VARARGS"]


def located(error: Exception, function: Any) -> Exception:
    """The error with the user's line at its end, if it does not name one yet."""
    text = str(error)
    if "\n" in text or " at " in text.rsplit(";", 1)[-1] or "(at " in text:
        return error
    code = getattr(function, "__code__", None)
    where = f"{code.co_filename}:{code.co_firstlineno} in {code.co_name}" if code is not None else str(function)
    return type(error)(f"{text} (at {where})")


def needs_eager_behind(error: BaseException) -> NeedsEager | None:
    """What tracing raised before code of the user's, in a ``finally`` that it came through, raised ``error``, or NumPy, in its place."""
    seen: set[int] = set()
    behind: BaseException | None = error
    while behind is not None and id(behind) not in seen:
        if isinstance(behind, NeedsEager):
            return behind
        seen.add(id(behind))
        behind = behind.__cause__ or behind.__context__
    return None


def without_values(guard: str) -> str:
    """What a guard looks at, without the numbers that it compares with."""
    return re.sub(r"\d+(, ?\d+)*", "…", guard)
