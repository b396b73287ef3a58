"""Arrays of objects, which programs make and change element by element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["array_of_objects", "array_of_texts", "set_elements", "view_of"]


def array_of_objects(shape: tuple[int, ...], items: Sequence[Any]) -> np.ndarray[Any, Any]:
    """An array of objects of that shape, which holds ``items`` in C order: each as it is, even if it is a sequence."""
    made = np.empty(shape, dtype=object)
    for at, x in zip(np.ndindex(*shape), items):
        made[at] = x
    return made


def array_of_texts(shape: tuple[int, ...], items: Sequence[Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array of texts of that shape, which holds ``items`` in C order."""
    return np.array(items, dtype=dtype).reshape(shape)


def set_elements(array: np.ndarray[Any, Any], items: Mapping[tuple[int, ...], Any]) -> None:
    """Stores each of ``items`` at its index."""
    for at, x in items.items():
        array[at] = x


def view_of(array: np.ndarray[Any, Any], method: str, *args: Any) -> Any:
    """The view that a method of an array gives."""
    return getattr(array, method)(*args)
