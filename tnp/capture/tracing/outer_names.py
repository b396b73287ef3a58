"""Global and closure names that a program assigns (``global n``, ``nonlocal n``): the program sees the new value at once, and binds the
real name at its end.

The rewriter turns such a name into ``__tnp__.outer("n").value``.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tnp.capture import active
from tnp.capture.guards.prologue import Source
from tnp.core import prims
from tnp.core.errors import NeedsEager

if TYPE_CHECKING:
    from tnp.capture.tracing.hooks import Runtime
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["AssignedName", "Binding", "OuterName", "assigned_names", "assigned_value", "outer_name"]

_MISSING = object()
#: kinds of values that are the same if they are equal
_CONSTANTS = (str, bytes, type(None), bool, int)


class Binding:
    """What holds a value of the program under a name of its own, and may be given another in a loop or a branch."""

    __slots__ = ()

    @property
    def serial(self) -> int:
        """Tells which of two was made first, as that of a storage does."""
        return -1

    @property
    def interval(self) -> tuple[int | None, int | None]:
        """The bounds of its value; ``None`` for one that is not known."""
        return None, None

    def known(self, nothing: Any) -> Any:
        """What it is bound to; ``nothing`` if that is not traced, or nothing is."""
        raise NotImplementedError

    def put(self, value: Any, nothing: Any) -> None:
        """Binds it, in a loop or a branch on trial; ``nothing`` says that it is bound to what it was outside."""
        raise NotImplementedError

    def settle(self, value: int) -> None:
        """Notes what its present value is, a number that a loop has counted to."""


class AssignedName(Binding):
    """What a program may bind to something else for its caller to see: the program does it at its end."""

    __slots__ = ()
    value: Any

    def is_assigned(self) -> bool:
        """Whether the program binds it to something else."""
        raise NotImplementedError

    def bind(self, output: Callable[[Any], Any]) -> None:
        """Records the assignment as an effect of the program. ``output`` converts the assigned value to an output of the trace."""
        raise NotImplementedError


class OuterName(AssignedName):
    """A global name of the module with the dictionary ``holder``, or the closure name of the cell ``holder``."""

    __slots__ = ("_first", "_now", "_runtime", "holder", "name")

    def __init__(self, runtime: Runtime, holder: Any, name: str) -> None:
        self._runtime, self.holder, self.name = runtime, holder, name
        #: what the program has read before it assigned anything, and what it has assigned
        self._first: Any = _MISSING
        self._now: Any = _MISSING

    def __str__(self) -> str:
        return f"the name {self.name}"

    def _real(self) -> Any:
        """What is bound to the name outside of the trace."""
        if isinstance(self.holder, dict):
            if self.name not in self.holder:
                raise NameError(f"name {self.name!r} is not defined")
            return self.holder[self.name]
        try:
            return self.holder.cell_contents
        except ValueError:
            where = "where it is not associated with a value in enclosing scope"
            raise NameError(f"cannot access free variable {self.name!r} {where}") from None

    @property
    def value(self) -> Any:
        """What the name is bound to."""
        if self._now is not _MISSING:
            return self._now
        found = self._runtime.load(self.name, self._real())
        if active.running() is not None:
            self._first = found
        return found

    @value.setter
    def value(self, value: Any) -> None:
        tracer = active.running()
        if tracer is not None:
            tracer.assigns(self, "value")
            self._now = value
        elif isinstance(self.holder, dict):
            self.holder[self.name] = value
        else:
            self.holder.cell_contents = value

    def known(self, nothing: Any) -> Any:
        try:
            return self.value
        except (NameError, NeedsEager):
            return nothing

    def put(self, value: Any, nothing: Any) -> None:
        self._now = _MISSING if value is nothing or value is self._first else value

    def is_assigned(self) -> bool:
        now = self._now
        if now is _MISSING or now is self._first:
            return False
        guarded = [v for (r, n), v in active.current().loaded.items() if n == self.name and self._is_of(r)]
        return not any(type(now) is type(x) and type(now) in _CONSTANTS and now == x for x in (self._first, *guarded))

    def _is_of(self, runtime: Runtime) -> bool:
        return runtime.cells.get(self.name, runtime.globals) is self.holder

    def bind(self, output: Callable[[Any], Any]) -> None:
        inputs = active.current().inputs
        where = inputs.prologue.constant(self.holder, "names")
        if isinstance(self.holder, dict):
            prims.add_items(
                inputs.object_proxy(Source(where, f"the module with {self.name}"), dict), {self.name: output(self._now)}
            )
        else:
            cell = inputs.object_proxy(Source(where, f"the cell of {self.name}"), types.CellType)
            prims.set_attribute(cell, "cell_contents", output(self._now))


def outer_name(tracer: Tracer | None, runtime: Runtime, name: str) -> OuterName:
    """The one that stands for a name of a function in a trace."""
    holder = runtime.cells.get(name, runtime.globals)
    if tracer is None:
        return OuterName(runtime, holder, name)
    if name in runtime.cells and tracer.inputs.functions.is_fresh(runtime.function):
        raise NeedsEager(f"it assigns {name}, of a function that is another one at each call")
    made = OuterName(runtime, holder, name)
    found = tracer.outer_names.setdefault((id(holder), name), made)
    return found if type(found) is OuterName else made


def assigned_value(tracer: Tracer, runtime: Runtime, name: str, value: Any) -> Any:
    """What a name of a function is bound to in a trace; ``value`` is what is bound to it outside."""
    if not tracer.outer_names:
        return value
    found = tracer.outer_names.get((id(runtime.cells.get(name, runtime.globals)), name))
    return value if type(found) is not OuterName or found._now is _MISSING else found._now


def assigned_names(tracer: Tracer) -> Iterator[AssignedName]:
    """The names that the program binds to something else."""
    return (n for n in tracer.outer_names.values() if n.is_assigned())
