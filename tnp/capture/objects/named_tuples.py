"""Named tuples whose classes have methods of the user's.

Python calls ``__add__`` or ``__repr__`` of such a class from C, and a ``__new__`` may compute. While a program is traced, its named tuples
are of the twin of their class (:mod:`tnp.capture.objects.twins`), and ``__new__`` is traced. What makes a named tuple behave as
another container (``__iter__``, ``__len__``, …) is left to Python: tnp reads the items itself.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

from tnp.capture import active
from tnp.capture.objects.twins import ARRAY_PROTOCOLS, class_of, traced_members, twin_of
from tnp.capture.rewrite.code_origin import is_followed, is_of_named_tuples
from tnp.core.errors import NeedsEager
from tnp.core.tuples import with_items

__all__ = [
    "check_assignment",
    "is_class_of_named_tuples",
    "is_traced_named_tuple",
    "lifted_named_tuple",
    "named_tuple_of",
]

#: special methods with which a tuple is another container than its items
_OF_CONTAINERS = frozenset(
    ("__iter__", "__len__", "__getitem__", "__contains__", "__bool__", "__reversed__", "__getattr__", *ARRAY_PROTOCOLS)
)


def is_class_of_named_tuples(kind: Any) -> bool:
    """Whether a class was made by ``namedtuple`` or ``typing.NamedTuple``, or inherits from one that was."""
    return isinstance(kind, type) and issubclass(kind, tuple) and _generated_new(kind) is not None


def _generated_new(kind: Any) -> Callable[..., Any] | None:
    """The ``__new__`` that ``namedtuple`` wrote for a class, or for one that it inherits from."""
    for c in kind.__mro__:
        made_by = c.__dict__.get("__new__")
        made_by = getattr(made_by, "__func__", made_by)
        if "_fields" in c.__dict__ and type(made_by) is types.FunctionType:
            return made_by if is_of_named_tuples(made_by) else None
    return None


def _special_methods(kind: type) -> set[str]:
    return {name for name in traced_members(kind) if name.startswith("__")}


def is_traced_named_tuple(x: Any) -> bool:
    """Whether ``x`` is a named tuple, and no more than its items: their structure is guarded, they are captured."""
    if not isinstance(x, tuple) or not hasattr(type(x), "_fields") or getattr(x, "__dict__", None):
        return False
    special = _special_methods(type(x))
    return not special or (is_class_of_named_tuples(type(x)) and not special & _OF_CONTAINERS)


def lifted_named_tuple(value: Any, items: Iterable[Any]) -> Any:
    """What a program has in place of the named tuple ``value`` of the caller's: one of ``items``."""
    kind = type(value)
    if not _special_methods(kind):
        return with_items(value, items)
    active.current().inputs.guard_class(kind, data=True)
    return tuple.__new__(twin_of(kind), items)


def check_assignment(x: Any) -> None:
    """Raises :class:`NeedsEager` where an attribute of a named tuple of the caller's is assigned, besides its items."""
    if isinstance(x, tuple) and hasattr(x, "__dict__") and id(x) not in active.current().inputs.made:
        raise NeedsEager(f"it assigns an attribute of a {class_of(x).__name__}")


def named_tuple_of(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], call_traced: Callable[..., Any]) -> Any:
    """What a program gets that calls a class of named tuples, or the ``__new__`` or ``_make`` that ``namedtuple`` wrote for it;
    ``NotImplemented`` if ``f`` is something else."""
    if type(f) is types.MethodType and f.__name__ == "_make" and is_class_of_named_tuples(f.__self__):
        return _new(f.__self__, f.__func__, args, kwargs)
    if type(f) is types.FunctionType:
        is_new = f.__name__ == "__new__" and bool(args) and is_class_of_named_tuples(args[0])
        return _new(args[0], f, args[1:], kwargs) if is_new and f is _generated_new(args[0]) else NotImplemented
    if not is_class_of_named_tuples(f):
        return NotImplemented
    if is_followed(f.__init__) or is_followed(type(f).__call__):
        raise NeedsEager(f"it makes a {f.__name__}, which is more than its items")
    if f.__new__ is _generated_new(f):
        return _new(f, f.__new__, args, kwargs)
    active.current().inputs.guard_class(f, data=True)
    return call_traced(f.__new__, (f, *args), kwargs)


def _new(kind: Any, new: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A named tuple that the program has made."""
    special, of_kind = _special_methods(kind), kind
    if special & _OF_CONTAINERS:
        raise NeedsEager(f"it makes a {kind.__name__}, whose {min(special & _OF_CONTAINERS)} is not a tuple's")
    if special:
        active.current().inputs.guard_class(kind, data=True)
        of_kind = twin_of(kind)
    made = new(of_kind, *args, **kwargs)
    active.current().inputs.made[id(made)] = made
    return made
