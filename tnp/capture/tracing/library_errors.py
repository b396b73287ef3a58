"""Errors that a library raises because it was given traced values."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from tnp.capture import active
from tnp.capture.objects.array_classes import is_array_of_class
from tnp.capture.objects.cell_arrays import is_cell_array
from tnp.capture.objects.shadows import is_stand_in
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core.errors import NeedsEager, NeedsValue

__all__ = ["raise_what_is_behind"]


def raise_what_is_behind(
    error: Exception, f: Callable[..., Any], args: tuple[Any, ...], refused: NeedsValue | None
) -> None:
    """Raises :class:`NeedsEager` if ``f`` raised ``error`` because of what is traced. ``refused`` is the last value
    that was refused before the call."""
    needed = active.current().specializer.refused
    if needed is not refused and needed is not None:  # code in C tells that it could not parse its arguments
        raise needed from error
    if not isinstance(error, TypeError):
        return
    # Code in C tells the classes that it was given.
    is_pythons = str(getattr(f, "__module__", None)).partition(".")[0] in sys.stdlib_module_names
    kinds = (TracedArray, TracedNumber, *(type(a) for a in args if is_cell_array(a) or is_array_of_class(a)))
    is_of_stand_in = type(f) is not types.FunctionType and any(map(is_stand_in, args))
    if not is_pythons and (is_of_stand_in or any(kind.__name__ in str(error) for kind in kinds)):
        name = getattr(f, "__qualname__", type(f).__name__)
        raise NeedsEager(f"{name} does not take what is traced") from error
