"""Arrays of the user's subclasses of ndarray, as programs make them."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["array_of_class"]


class _Plain(np.ndarray[Any, Any]):
    """A subclass that adds nothing."""


def array_of_class(kind: type, array: np.ndarray[Any, Any], attributes: dict[str, Any]) -> Any:
    """A view of an array, of a class, with these attributes. The class is not asked: its ``__array_finalize__`` has been part of the
    program. Raises ``TypeError`` for a class whose objects lie otherwise in memory."""
    made: Any = array.view(_Plain)
    made.__class__ = kind
    vars(made).update(attributes)
    return made
