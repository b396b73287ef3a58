"""Containers other than tuples, lists and dicts as arguments and results: everything that optree supports.

optree supports the standard library's containers (``OrderedDict``, ``defaultdict``, ``deque``, …) and the classes that
users register with ``optree.register_pytree_node`` in its global namespace. It is imported when the first such value is
met.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from tnp.core.printing import literal, name_of

__all__ = ["Rebuilt", "flatten", "is_container"]


def is_container(x: Any) -> bool:
    """Whether optree takes ``x`` apart. ``False`` where optree is not installed."""
    try:
        import optree
    except ImportError:
        return False
    return not optree.tree_is_leaf(x, none_is_leaf=True)


def flatten(x: Any) -> tuple[list[Any], Any, Callable[[Any, Iterable[Any]], Any]]:
    """The children of a container, what else it is made of, and the function that makes one of both."""
    if type(x) is OrderedDict and _of_ordered:  # without optree's code, which takes longer than most guards
        return list(x.values()), list(x), _of_ordered[0]
    import optree

    children, metadata, _, unflatten = optree.tree_flatten_one_level(x, none_is_leaf=True)
    if type(x) is OrderedDict:
        _of_ordered.append(unflatten)
    return list(children), metadata, unflatten


#: what makes an ``OrderedDict`` of its keys and values, once it is known
_of_ordered: list[Callable[[Any, Iterable[Any]], Any]] = []


class Rebuilt:
    """A container that a program returns: made again at each call from its children."""

    __slots__ = ("children", "kind", "metadata", "unflatten")

    def __init__(self, kind: type, metadata: Any, unflatten: Callable[..., Any], children: list[Any]) -> None:
        self.kind = kind
        self.metadata = metadata
        self.unflatten = unflatten
        self.children = children

    def __tnp_children__(self) -> list[Any]:
        return self.children

    def __tnp_rebuild__(self, children: list[Any]) -> Rebuilt:
        return Rebuilt(self.kind, self.metadata, self.unflatten, children)

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        make, metadata = name_of(self.unflatten, context), name_of(self.metadata, context)
        return f"{make}({metadata}, {literal(self.children, context)})"
