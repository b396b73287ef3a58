"""What stands for an interpolant of SciPy's that a program has made."""

from __future__ import annotations

from typing import Any

from tnp.capture import active
from tnp.core.errors import NeedsEager

__all__ = ["Interpolant"]


class Interpolant:
    """An interpolant of a class of SciPy's that the program has made."""

    def __init__(self, cls: type, method: Any, state: dict[str, Any], given: list[tuple[Any, str]]) -> None:
        self._cls, self._method, self._state, self._given = cls, method, state, given

    @property  # type: ignore[misc]  # typeshed declares an attribute, and a property overrides it
    def __class__(self) -> type:
        return self._cls

    def __tnp_call__(self, *args: Any, **kwargs: Any) -> Any:
        """A call of the object."""
        if any(storage.value.name != name for storage, name in self._given):
            raise NeedsEager(f"it calls a {self._cls.__name__} of arrays that were written since")
        return active.current().call(self._method.symbol, (self._state, *args), kwargs)

    __call__ = __tnp_call__

    def __getattr__(self, name: str) -> Any:
        raise NeedsEager(f"it reads {name!r} of a {self._cls.__name__} that it has made")
