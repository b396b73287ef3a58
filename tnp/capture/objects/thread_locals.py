"""Objects of ``threading.local``: a program reads the attributes that the calling thread has."""

from __future__ import annotations

from typing import Any

from tnp.capture.objects.foreign import Foreign, real_value, source_of
from tnp.capture.objects.mappings import AttributeReader
from tnp.capture.objects.twins import MISSING

__all__ = ["LocalReader"]


def _attribute(local: Any, name: str) -> Any:
    return local.__dict__.get(name, MISSING)


class LocalReader(AttributeReader):
    """Reads such an object for a program. Each attribute is an input; that there is none is guarded."""

    def attribute(self, of: Foreign, name: str) -> Any:
        if name == "__dict__":
            return self._inputs.lift(real_value(of).__dict__, source_of(of).attribute(name))
        if name.startswith("__"):
            return NotImplemented
        found = self._looked_up(of, _attribute, name, f".{name}")
        if found is MISSING:
            raise AttributeError(f"'_thread._local' object has no attribute {name!r}", name=name)
        return found
