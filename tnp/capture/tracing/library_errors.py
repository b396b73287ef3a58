"""Errors that a library raises because it was given traced values."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from tnp.capture import active
from tnp.capture.objects.array_classes import is_array_of_class
from tnp.capture.objects.cell_arrays import is_cell_array
from tnp.capture.objects.shadows import is_stand_in
from tnp.capture.rewrite.code_origin import is_followed, is_of_array_library
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core.errors import NeedsEager, NeedsValue, StackLocation, UserLocation, is_internal, user_stack

__all__ = ["raise_if_of_library", "raise_what_is_behind"]


def raise_what_is_behind(
    error: Exception, f: Callable[..., Any], args: Sequence[Any], refused: NeedsValue | None
) -> None:
    """Raises :class:`NeedsEager` if traced arguments are, or may be, why ``f`` raised ``error``. ``refused`` is the last value
    that was refused before the call."""
    needed = active.current().specializer.refused
    if needed is not refused and needed is not None:  # code in C tells that it could not parse its arguments
        raise needed from error
    is_pythons = str(getattr(f, "__module__", None)).partition(".")[0] in sys.stdlib_module_names
    name = getattr(f, "__qualname__", type(f).__name__)
    if not is_pythons and any(
        is_followed(getattr(a, "__wrapped__", a)) for a in args if type(a) is types.FunctionType
    ):  # code in C may have called one, which gives what is traced
        raise NeedsEager(f"{name}, which calls a function of the program, raises {error!r}") from error
    if not isinstance(error, TypeError):
        return
    # Code in C tells the classes that it was given.
    kinds = (TracedArray, TracedNumber, *(type(a) for a in args if is_cell_array(a) or is_array_of_class(a)))
    given = (getattr(f, "__self__", None), *args)  # a method of a library's class reads what its object holds
    is_of_stand_in = type(f) is not types.FunctionType and any(map(is_stand_in, given))
    if not is_pythons and (is_of_stand_in or any(kind.__name__ in str(error) for kind in kinds)):
        raise NeedsEager(f"{name} does not take what is traced") from error


def raise_if_of_library(error: Exception) -> None:
    """Raises :class:`NeedsEager` if code of a library, such as an operator of one of its classes, raised ``error`` because it was given what
    is traced."""
    if not isinstance(error, TypeError) or not any(kind.__name__ in str(error) for kind in (TracedArray, TracedNumber)):
        return
    lines, last = [], None
    entry = error.__traceback__
    while entry is not None:
        last = entry.tb_frame
        if not is_internal(last.f_code.co_filename):
            lines.append(UserLocation(last.f_code, entry.tb_lasti))
        entry = entry.tb_next
    if last is not None and lines and is_of_array_library(last):
        place = StackLocation((*reversed(lines), *user_stack()))
        raise NeedsEager("a library does not take what is traced", place) from error
