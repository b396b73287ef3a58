"""Version tags of classes: a fast check that a class has not changed.

CPython stores a number in each class whose attributes are looked up (``tp_version_tag`` in Include/cpython/object.h). A
store to the class or one of its bases invalidates the number, and numbers are never reused. So an equal number proves
that the class is unchanged; a different one proves nothing.
"""

from __future__ import annotations

import ctypes
import functools
import sys

__all__ = ["version_of"]

#: where the number stands in a class, in bytes: behind 48 words
_OFFSET = 48 * 8


def version_of(kind: type) -> ctypes.c_uint | None:
    """A class's number, as memory that shows the one that it has (``.value``; 0: none). ``None`` where it cannot be read."""
    return _at(kind) if _is_known() and _number(kind) else None


def _at(kind: type) -> ctypes.c_uint:
    return ctypes.c_uint.from_address(id(kind) + _OFFSET)


def _number(kind: type) -> int:
    type.__getattribute__(kind, "__init__")  # a look-up gives it one
    return _at(kind).value


@functools.cache
def _is_known() -> bool:
    """Whether this interpreter's classes have their numbers there: seen by what changes one."""
    if sys.implementation.name != "cpython" or object.__basicsize__ != 16 or "t" in getattr(sys, "abiflags", ""):
        return False

    class Base:
        pass

    class Derived(Base):
        pass

    seen = [_number(Derived)]
    seen.append(_number(Derived))
    for kind in (Base, Derived):
        setattr(kind, "attribute", kind)  # noqa: B010
        is_gone = _at(Derived).value != seen[-1]
        seen.append(_number(Derived))
        if not is_gone:
            return False
    return seen[0] == seen[1] and len(set(seen)) == 3 and 0 not in seen
