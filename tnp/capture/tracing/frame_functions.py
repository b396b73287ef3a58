"""Functions that look at the frame of their caller: ``globals()``, ``locals()``, ``eval`` and their like."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tnp.capture import active
from tnp.core.errors import NeedsEager

if TYPE_CHECKING:
    from tnp.capture.tracing.hooks import Runtime

__all__ = ["global_item", "of_frame"]


def of_frame(f: Any) -> Any:
    """A function that looks at the frame of its caller."""
    if active.running() is not None:
        raise NeedsEager(f"it calls {getattr(f, '__name__', f)}(), which looks at its caller")
    return f


def global_item(runtime: Runtime, f: Callable[[], Any], key: Any) -> Any:
    """``globals()[key]``: what the function's module has by this name, read as the name itself would be."""
    if f is not builtins.globals:
        return runtime.item(runtime.call(f), key)
    tracer = active.running()
    if tracer is None:
        return runtime.globals[key]
    if type(key) is not str or key in runtime.cells or key in {name for _, name in tracer.outer_names}:
        return of_frame(f)
    if key not in runtime.globals:
        prologue = tracer.inputs.prologue
        prologue.guard(f"{key!r} not in {prologue.constant(runtime.globals, 'globals')}", f"there is no global {key}")
        raise KeyError(key)
    return runtime.load(key, runtime.globals[key])
