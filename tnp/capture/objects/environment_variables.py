"""``os.environ``: a program reads variables of it, each by itself."""

from __future__ import annotations

import os
from typing import Any

from tnp.capture.objects.foreign import Foreign
from tnp.capture.objects.mappings import AttributeReader
from tnp.capture.objects.twins import MISSING

__all__ = ["EnvironmentReader", "is_environment"]


def _variable(environment: Any, name: str) -> Any:
    return environment.get(name, MISSING)


class EnvironmentReader(AttributeReader):
    """Reads variables for a program. Each is guarded, and so is that there is none."""

    def attribute(self, of: Foreign, name: str) -> Any:
        if name != "get":
            return NotImplemented

        def get(key: Any, default: Any = None) -> Any:
            found = self._found(of, key)
            return default if found is MISSING else found

        return get

    def item(self, of: Foreign, key: Any) -> Any:
        found = self._found(of, key)
        if found is MISSING:
            raise KeyError(key)
        return found

    def contains(self, of: Foreign, key: Any) -> Any:
        return self._found(of, key) is not MISSING

    def _found(self, of: Foreign, key: Any) -> Any:
        if type(key) is not str:
            raise TypeError(f"str expected, not {type(key).__name__}")
        return self._looked_up(of, _variable, key, f"[{key!r}]")


def is_environment(value: Any) -> bool:
    """Whether ``value`` is the one of the process."""
    return value is os.environ
