"""Functions into which no hooks can be put, since their source cannot be had: what they read beside their arguments is guarded."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any

from tnp.capture import active
from tnp.capture.purity import is_impure
from tnp.capture.rewrite.bytecode import compares_objects, handles_errors, outside_names
from tnp.capture.rewrite.code_origin import is_library_class, is_user_function
from tnp.capture.rewrite.rewriter import rewrite
from tnp.capture.tracing.effects import is_effect
from tnp.capture.tracing.python_builtins import ALWAYS
from tnp.capture.tracing.traced_values import TracedNumber
from tnp.core.errors import NeedsEager

__all__ = ["check_without_hooks"]

_MISSING = object()


def check_without_hooks(
    f: types.FunctionType, make_runtime: Callable[..., Any], seen: frozenset[types.FunctionType] = frozenset()
) -> None:
    """Guards what ``f`` reads beside its arguments; ``make_runtime`` makes the hooks of a function.

    Raises :class:`NeedsEager` where that takes hooks: for data that is more than a number or a text, for what is
    something else at each call, and for names of the outside that it assigns.
    """
    seen |= {f}
    if active.current().inputs.prologue.relations.symbols:
        raise NeedsEager(f"{f.__name__} may give sizes to functions in C, and its source cannot be had")
    if compares_objects(f.__code__):
        raise NeedsEager(f"{f.__name__} compares objects, and its source cannot be had")
    if handles_errors(f.__code__):
        raise NeedsEager(f"{f.__name__} has a try or a with statement, and its source cannot be had")
    runtime = make_runtime(f)
    for operation, name in sorted(outside_names(f.__code__)):
        if name == "random":
            raise NeedsEager(f"{f.__name__} may draw random numbers, and its source cannot be had")
        value = runtime.cells[name].cell_contents if name in runtime.cells else f.__globals__.get(name, _MISSING)
        if value is _MISSING:
            value = vars(builtins).get(name, _MISSING)
        if value is _MISSING:
            continue
        loaded = runtime.load(name, value)
        if (
            operation.startswith("STORE")
            or is_impure(value)
            or is_effect(value)
            or any(value is f for f in ALWAYS)
            or not _is_known_namespace(value)
        ):
            loaded = _MISSING
        elif type(loaded) is TracedNumber:
            loaded._known()
            continue
        elif type(value) is types.FunctionType and is_user_function(value) and value not in seen:
            if rewrite(value, make_runtime) is not None:
                loaded = _MISSING
            else:
                check_without_hooks(value, make_runtime, seen)
        if loaded is not value:
            raise NeedsEager(f"{f.__name__} uses {name}, and its source cannot be had")


def _is_known_namespace(x: Any) -> bool:
    """Whether what is looked up in ``x`` is the same at each call: ``x`` is no module or class of the user's, or none that asks the outside."""
    if isinstance(x, types.ModuleType):
        return x.__name__.partition(".")[0] in ("numpy", "math", "cmath", "torch", "operator")
    return not isinstance(x, type) or is_library_class(x) or x.__module__ == "builtins"
