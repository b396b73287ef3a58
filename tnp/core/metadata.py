"""Metadata of a trace beyond its operations: each fact has a key, and passes propagate it.

>>> from tnp.core.metadata import Metadata
>>> from tnp.core.trace import Trace
>>> AUTHORS: Metadata[list[str]] = Metadata(list)
>>> trace = Trace()
>>> AUTHORS.of(trace).append("me")
>>> AUTHORS.of(Trace.like(trace))
['me']
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

if TYPE_CHECKING:
    from tnp.core.trace import Trace

__all__ = ["Metadata"]

T = TypeVar("T")


class Metadata(Generic[T]):
    """A fact about traces, of those who import this key. ``default`` makes what is known of a new trace.

    A trace made from another one has the other's value, the same object, unless ``inherited`` is false. ``printed_as`` is the name under
    which printers of operations find a value that is true.
    """

    known: ClassVar[list[Metadata[Any]]] = []

    def __init__(self, default: Callable[[], T], *, inherited: bool = True, printed_as: str = "") -> None:
        self.default = default
        self.inherited = inherited
        self.printed_as = printed_as
        self.known.append(self)

    def of(self, trace: Trace) -> T:
        """What is known of a trace."""
        found: dict[Any, Any] = trace.metadata
        if self not in found:
            found[self] = self.default()
        value: T = found[self]
        return value

    def put(self, trace: Trace, value: T) -> None:
        """Replaces what is known of a trace."""
        trace.metadata[self] = value


def inherited(trace: Trace) -> dict[Metadata[Any], Any]:
    """What a trace made from ``trace`` begins with."""
    return {key: key.of(trace) for key in Metadata.known if key.inherited}


def printed(trace: Trace) -> dict[str, Any]:
    """The names under which printers find what is known of a trace."""
    return {key.printed_as: value for key, value in trace.metadata.items() if key.printed_as and value}
