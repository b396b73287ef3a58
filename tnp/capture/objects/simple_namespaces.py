"""Special methods of the stand-ins of ``types.SimpleNamespace``."""

from __future__ import annotations

import types
from typing import Any

from tnp.capture import active

__all__ = ["namespaces_equal", "text_of_namespace"]


def namespaces_equal(self: Any, other: Any) -> Any:
    """``self == other`` of two namespaces."""
    if not isinstance(other, types.SimpleNamespace):
        return NotImplemented
    return self.__dict__ == other.__dict__


def text_of_namespace(self: Any) -> str:
    """``repr`` of a namespace."""
    if active.running() is None:  # in the message of an error
        return "<namespace>"
    return f"namespace({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"
