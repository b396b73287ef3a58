"""Variables that a loop or a branch binds to views of one array, which differ in positions alone: ``best = x[k]``.

The positions are carried, and not the elements: the variable stays a view.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.tracing.strides import same_layout
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber
from tnp.core import languages
from tnp.core.proxies import NumberProxy
from tnp.core.views import Path, Step

__all__ = ["KeptView", "kept_view"]


@dataclass(frozen=True)
class _Hole:
    """A position that is another from view to view."""


_HOLE = _Hole()


@dataclass(frozen=True)
class KeptView:
    """What views of one array share: its memory, and how they look at it."""

    storage: Storage
    template: tuple[Any, ...]
    example: TracedArray = field(compare=False)

    def count(self) -> int:
        """How many positions differ."""
        return sum(1 for _ in _holes(self.template))

    def positions(self, x: Any) -> list[Any] | None:
        """The positions of a view; ``None`` if it is none of these."""
        found: list[Any] = []
        if type(x) is not TracedArray or x.storage is not self.storage or not same_layout(x, self.example):
            return None
        return found if _matches(self.template, _spelled(x.path), found) else None

    def at(self, positions: Iterator[Any]) -> TracedArray:
        """The view at other positions."""
        numbers = (n.proxy if type(n) is TracedNumber else n for n in positions)
        steps = []
        for step, (args, kwargs) in zip(self.example.path.steps, self.template):
            steps.append(Step(step.symbol, _filled(args, numbers), dict(_filled(kwargs, numbers))))
        path = Path(steps)
        with languages.language_context(self.storage.value.lang):
            proxy = path(self.storage.value)
        return TracedArray(self.storage, path, proxy, self.example._strides)


def kept_view(x: Any, y: Any) -> KeptView | None:
    """What two views of one array share, which differ in positions; ``None`` for others."""
    if not type(x) is type(y) is TracedArray or x.storage is not y.storage or type(x.storage) is not Storage:
        return None
    if x.scalar or y.scalar or x.library is not NUMPY or x.shape_ != y.shape_ or not same_layout(x, y):
        return None
    if len(x.path.steps) != len(y.path.steps) or any(
        s.symbol is not t.symbol for s, t in zip(x.path.steps, y.path.steps)
    ):
        return None
    one, other = _spelled(x.path), _spelled(y.path)
    template = tuple(_with_holes(a) if s.symbol is NUMPY.slicing else a for a, s in zip(one, x.path.steps))
    found = KeptView(x.storage, template, x)
    differ = repr(one) != repr(other)
    return found if differ and found.count() and found.positions(y) is not None else None


def _spelled(path: Path) -> tuple[Any, ...]:
    return tuple((tuple(s.args), tuple(s.kwargs.items())) for s in path.steps)


def _with_holes(x: Any) -> Any:
    if _is_position(x):
        return _HOLE
    return tuple(map(_with_holes, x)) if type(x) in (tuple, list) else x


def _is_position(x: Any) -> bool:
    return type(x) is int or (isinstance(x, NumberProxy) and x.python_type is int)


def _matches(template: Any, x: Any, found: list[Any]) -> bool:
    """Whether a nested tuple is like a template; adds what fills the holes to ``found``."""
    if template is _HOLE:
        found.append(TracedNumber(x) if isinstance(x, NumberProxy) else x)
        return _is_position(x)
    if type(template) is tuple:
        return (
            type(x) in (tuple, list)
            and len(x) == len(template)
            and all(_matches(t, y, found) for t, y in zip(template, x))
        )
    return type(x) is type(template) and repr(x) == repr(template)


def _holes(template: Any) -> Iterator[Any]:
    if template is _HOLE:
        yield template
    elif type(template) is tuple:
        for part in template:
            yield from _holes(part)


def _filled(template: Any, numbers: Iterator[Any]) -> Any:
    if template is _HOLE:
        return next(numbers)
    return tuple(_filled(t, numbers) for t in template) if type(template) is tuple else template
