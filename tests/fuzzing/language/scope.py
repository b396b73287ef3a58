"""The values at a place of a program: what there is of a kind, and how an expression that has it reads."""

from __future__ import annotations

import dataclasses
import random
from collections import deque
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from .drafts import TooLong, quietly, within

__all__ = ["MOST", "Scope", "is_array", "is_small"]

#: elements that an array of a program may have
MOST = 3000


def is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "biufc"


def is_small(x: Any, depth: int = 0) -> bool:
    """Whether a value is one that programs may go on with: not too large, of dtypes that tnp compiles."""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind in "biufc" and x.dtype.itemsize <= 16 and x.dtype != np.longdouble and x.size <= MOST
    if isinstance(x, int):
        return abs(x) < 2**70
    if isinstance(x, str):
        return len(x) < 200
    if isinstance(x, (list, tuple, set, deque)):
        return len(x) <= 60 and depth < 6 and all(is_small(item, depth + 1) for item in x)
    if isinstance(x, dict):
        return len(x) <= 60 and depth < 6 and all(is_small(item, depth + 1) for item in x.values())
    return True


def _is_thing(x: Any) -> bool:
    return type(x).__name__ in ("Cell", "Box", "Small", "SimpleNamespace", "Frozen", "Pair")


class Scope:
    """Names and values, and every value within reach of them, with the expression that reads it."""

    def __init__(
        self, rng: random.Random, names: dict[str, Any], module: dict[str, Any], state: tuple[str, ...]
    ) -> None:
        self.rng = rng
        self.names = {k: v for k, v in names.items() if not k.startswith("_")}
        self.module = module
        self.paths: list[tuple[str, Any]] = []
        visible = {**{k: module[k] for k in state if k in module}, **self.names}
        for name, value in visible.items():
            self._walk(name, value, 0)

    def _walk(self, text: str, x: Any, depth: int) -> None:
        self.paths.append((text, x))
        if depth >= 2:
            return
        if isinstance(x, (list, tuple, deque)) and not hasattr(x, "_fields"):
            for i, item in list(enumerate(x))[:3]:
                self._walk(f"{text}[{i}]", item, depth + 1)
        elif isinstance(x, dict):
            for key, item in list(x.items())[:4]:
                if isinstance(key, (str, int)) and not isinstance(key, bool):
                    self._walk(f"{text}[{key!r}]", item, depth + 1)
        elif hasattr(x, "_fields"):
            for name in x._fields:
                self._walk(f"{text}.{name}", getattr(x, name), depth + 1)
        elif dataclasses.is_dataclass(x) or isinstance(x, SimpleNamespace) or _is_thing(x):
            for name, item in vars(x).items():
                self._walk(f"{text}.{name}", item, depth + 1)

    def having(self, wanted: Callable[[Any], bool]) -> list[tuple[str, Any]]:
        return [(t, x) for t, x in self.paths if wanted(x)]

    def pick(self, wanted: Callable[[Any], bool]) -> tuple[str, Any] | None:
        """One of the expressions that read a value that is ``wanted``, later ones preferred."""
        found = self.having(wanted)
        if not found:
            return None
        return found[-1 - int(len(found) * self.rng.random() ** 1.3)]

    def value(self, text: str, **more: Any) -> Any:
        """What an expression gives here. Raises what it raises."""
        with within(0.5), quietly():
            return eval(text, {**self.module, **self.names, **more})

    def tried(self, text: str, **more: Any) -> Any:
        """What an expression gives here, or ``NotImplemented`` where it raises or gives what is too large."""
        try:
            found = self.value(text, **more)
        except (Exception, TooLong):
            return NotImplemented
        return found if is_small(found) else NotImplemented

    def with_names(self, **more: Any) -> Scope:
        found = Scope.__new__(Scope)
        found.rng, found.module = self.rng, self.module
        found.names = {**self.names, **more}
        found.paths = list(self.paths)
        for name, value in more.items():
            found._walk(name, value, 0)
            found.paths.append((name, value))  # twice, so that it is picked
        return found

    def functions(self) -> list[tuple[str, Any]]:
        return [(k, v) for k, v in self.names.items() if isinstance(v, FunctionType)]
