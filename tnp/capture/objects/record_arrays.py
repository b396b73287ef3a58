"""Structured arrays (``np.dtype([("x", "f8"), ("n", "i4")])``): each field is an input when the program reads it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.capture.objects.foreign import Foreign, real_value, source_of
from tnp.capture.objects.mappings import MappingReader
from tnp.capture.objects.twins import MISSING

__all__ = ["FieldsReader", "has_fields"]

_ATTRIBUTES = frozenset(("shape", "ndim", "size", "dtype"))


def has_fields(value: Any) -> bool:
    """Whether a value is a plain structured array."""
    return type(value) is np.ndarray and value.dtype.names is not None


def _field(array: Any, name: str) -> Any:
    return array[name] if has_fields(array) and name in array.dtype.names else MISSING


class FieldsReader(MappingReader):
    """Reads fields of a structured array for a program, which sees the array's memory in each, and its shape."""

    def attribute(self, of: Foreign, name: str) -> Any:
        if name not in _ATTRIBUTES:
            return NotImplemented
        return self._inputs.lift(getattr(real_value(of), name), source_of(of).attribute(name))

    def item(self, of: Foreign, key: Any) -> Any:
        if type(key) is not str or key not in real_value(of).dtype.names:
            return NotImplemented
        return self._looked_up(of, _field, key, f"[{key!r}]")

    def store(self, of: Foreign, key: Any, value: Any) -> Any:
        """``array[key] = value``, in the memory of a field."""
        field = self.item(of, key)
        if field is not NotImplemented and field is not value:
            field[...] = value
        return NotImplemented if field is NotImplemented else None

    def length(self, of: Foreign) -> Any:
        shape = self.attribute(of, "shape")
        return shape[0] if shape else NotImplemented

    def contains(self, of: Foreign, key: Any) -> Any:
        """Nothing else can be read."""
        return NotImplemented

    def iterate(self, of: Foreign) -> Any:
        return NotImplemented

    truth = iterate
