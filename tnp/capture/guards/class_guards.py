"""Guards on the methods and other descriptors of classes."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from tnp.capture.objects.shadows import CODE_TYPES, same_entries
from tnp.capture.objects.twins import is_made_by_statement
from tnp.capture.objects.type_versions import version_of

if TYPE_CHECKING:
    from tnp.capture.guards.prologue import Prologue

__all__ = ["guard_class"]


def guard_class(
    prologue: Prologue, kind: type, guarded: set[type], own: Set[type], *, data: bool, bases: tuple[type, ...]
) -> None:
    """The trace holds only while a class, and what it inherits from, have the methods and other descriptors that they have; with
    ``data``, the numbers and strings, too; of ``bases`` only the methods whose names begin with "_". Python calls operators and
    ``super()``'s methods without asking tnp. Not those that are ``guarded`` already, nor the program's ``own``."""
    for c in kind.__mro__:
        if c in guarded or c in own or not is_made_by_statement(c):
            continue
        guarded.add(c)
        kinds = (*CODE_TYPES, *((bool, int, float, complex, str) if data else ()))
        found = {n: v for n, v in c.__dict__.items() if isinstance(v, kinds)}
        if c in bases:  # of many methods, those that Python and the class call by themselves
            found = {n: v for n, v in found.items() if n.startswith("_")}
        name, names = prologue.constant(c, "class"), prologue.constant(tuple(found), "names")
        values, same = prologue.constant(tuple(found.values()), "values"), prologue.constant(same_entries)
        count = len(c.__dict__) - ("__slotnames__" in c.__dict__)
        condition = f"{same}({name}.__dict__, {count}, {names}, {values})"
        version = version_of(c)
        if version is not None:
            condition = f"({prologue.constant(version, 'version')}.value == {version.value} or {condition})"
        prologue.guard(condition, f"the class {c.__qualname__} has the same methods")
