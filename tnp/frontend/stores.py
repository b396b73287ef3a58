"""Attributes of the caller's objects that a program assigns: stored at its end, and before what may raise when it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tnp.core import prims
from tnp.core.errors import NeedsEager
from tnp.frontend.handles import TracedArray
from tnp.frontend.inputs import Inputs
from tnp.frontend.objects import stored_attributes

__all__ = ["AttributeStores"]

_CONTAINERS = (list, dict, set, tuple)


class AttributeStores:
    """What a trace has stored of the attributes that its program assigned. ``output`` makes results of values of the program."""

    def __init__(self, inputs: Inputs, output: Callable[[Any], Any]) -> None:
        self.inputs = inputs
        self.output = output
        #: by the object's place and the attribute's name: the value that was stored early, and what it held then
        self.early: dict[tuple[int, str], tuple[Any, Any]] = {}

    def flush(self, *, containers: bool) -> None:
        """Stores what was assigned since the last time, so that an error that comes next finds it done. Lists and dicts, which the program
        may fill after that, only with ``containers``."""
        for at, shadow in enumerate(self.inputs.shadows):
            for name, value in stored_attributes(shadow)[2].items():
                known = self.early.get((at, name))
                if (known is None or known[0] is not value) and (containers or not isinstance(value, _CONTAINERS)):
                    self._check_replaced(known)
                    self._store(shadow, name, value)
                    self.early[at, name] = value, _contents(value)

    def check_pending(self) -> None:
        """Raises :class:`NeedsEager` where a list or dict is assigned and not stored, before what may raise in a loop or a branch."""
        for at, shadow in enumerate(self.inputs.shadows):
            for name, value in stored_attributes(shadow)[2].items():
                known = self.early.get((at, name))
                if isinstance(value, _CONTAINERS) and (known is None or known[0] is not value):
                    raise NeedsEager(
                        f"it assigns a {type(value).__name__} to .{name} before a loop or a branch that may raise"
                    )

    def finish(self) -> None:
        """Stores all that was assigned. Arrays are stored again, so that nothing reuses their memory before."""
        for at, shadow in enumerate(self.inputs.shadows):
            for name, value in stored_attributes(shadow)[2].items():
                known = self.early.get((at, name))
                if known is None or known[0] is not value:
                    self._check_replaced(known)
                elif isinstance(value, _CONTAINERS):
                    now = _contents(value)
                    if len(now) != len(known[1]) or any(a is not b for a, b in zip(now, known[1])):
                        raise NeedsEager(f"it changes a {type(value).__name__} after it has assigned it to .{name}")
                    continue
                self._store(shadow, name, value)

    def _store(self, shadow: Any, name: str, value: Any) -> None:
        source, kind, _ = stored_attributes(shadow)
        prims.set_attribute(self.inputs.object_proxy(source, kind), name, self.output(value))

    def _check_replaced(self, known: tuple[Any, Any] | None) -> None:
        """Raises :class:`NeedsEager` where an array that was stored early is no attribute at the end: its memory may be reused."""
        if known is not None and type(known[0]) is TracedArray and not known[0].scalar:
            raise NeedsEager("it assigns an array to an attribute, and another one after what may raise")


def _contents(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return list(value) if isinstance(value, _CONTAINERS) else []
