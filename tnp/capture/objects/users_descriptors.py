"""Descriptors of classes of the user's (``__get__``, ``__set__``): their methods are traced, and what they hold is an input."""

from __future__ import annotations

from typing import Any

from tnp.capture import active
from tnp.capture.guards.prologue import Source
from tnp.capture.objects.twins import class_attribute, user_method

__all__ = ["get_by", "set_by"]


def _lifted(descriptor: Any, name: str, kind: type) -> Any:
    """What the program has in place of a descriptor that the class ``kind`` has under ``name``."""
    inputs = active.current().inputs
    look_up, of = inputs.prologue.constant(class_attribute, "look_up"), inputs.prologue.constant(kind, "class")
    return inputs.lift(descriptor, Source(f"{look_up}({of}, {name!r})", f"{kind.__name__}.{name}"))


def get_by(descriptor: Any, name: str, x: Any, kind: type) -> Any:
    """``type(x).name.__get__(x, type(x))`` of an object of the class ``kind``; of the class itself if ``x`` is ``None``."""
    getter = user_method(descriptor, "__get__")
    return active.current().runtime.call(getter, _lifted(descriptor, name, kind), x, kind)


def set_by(descriptor: Any, name: str, x: Any, kind: type, value: Any) -> None:
    """``type(x).name.__set__(x, value)``."""
    setter = user_method(descriptor, "__set__")
    active.current().runtime.call(setter, _lifted(descriptor, name, kind), x, value)
