"""Whether a list that is an item of a counted list is nothing else of the program: a counted list has copies of its items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnp.capture import active
from tnp.capture.speculation.reachable import Reachable
from tnp.capture.speculation.regions import Region
from tnp.capture.tracing.live_names import live_values

__all__ = ["are_named", "is_new"]


def are_named(lists: Sequence[list[Any]]) -> bool:
    """Whether two of some lists are one, or something of the program holds one."""
    found = Reachable([*live_values(), *(c.made for c in active.current().inputs.containers)])
    return found.too_many or len({*map(id, lists)} - {*map(id, found.lists())}) < len(lists)


def is_new(item: list[Any], serial: int | None, around: Sequence[Region]) -> bool:
    """Whether a list was made in this iteration and was appended to no list before, so that no two items are one object. ``serial`` is the
    serial number of a counted list, and ``around`` are the loops and branches around the call of ``append``."""
    inside = [r for r in around if r.is_loop] or around
    appended = [x for use in active.current().list_uses for x in use.list.given()]
    if not inside or any(x is item for x in (*appended, *(x for r in inside for x in r.older))):
        return False
    if serial is not None:
        return serial > max(r.serial for r in inside)
    return not any(x is item for r in inside for x in r.contents.lists())
