"""Which sizes of arrays are symbols in the next program: those that differed from call to call.

The first call of a kind is traced for its sizes. Where an array comes with another size in some dimension, that dimension is a
symbol from the next trace on. A dimension whose symbol a program specializes on all the same is none any more.
"""

from __future__ import annotations

from collections.abc import Sequence

from tnp.core.symbols import LEAST

__all__ = ["VaryingSizes"]


class VaryingSizes:
    """The sizes that calls of one kind were traced with, by the description of the array."""

    def __init__(self, *, at_once: bool = False) -> None:
        #: whether all sizes are symbols from the first call on
        self.at_once = at_once
        #: whether the present trace has symbols
        self.is_on = False
        #: how often a trace with symbols was given up
        self.in_vain = 0
        self._seen: dict[str, tuple[int, ...]] = {}
        self._varied: dict[str, set[int]] = {}
        self._known: set[tuple[str, int]] = set()

    def symbols(self, array: str, shape: Sequence[int]) -> list[int]:
        """The dimensions of ``array`` that are symbols in the present trace, and notes its ``shape``."""
        before = self._seen.setdefault(array, tuple(shape))
        if len(before) != len(shape):
            self._seen[array] = before = tuple(shape)
            self._varied.pop(array, None)
        varied = self._varied.setdefault(array, set())
        varied.update(d for d, n in enumerate(shape) if n != before[d])
        if not self.is_on or 0 in shape:
            return []
        chosen = range(len(shape)) if self.at_once else sorted(varied)
        return [d for d in chosen if shape[d] >= LEAST and (array, d) not in self._known]

    def mark(self, array: str, dim: int) -> None:
        """A dimension that is a symbol from now on."""
        self._varied.setdefault(array, set()).add(dim)

    def specialize(self, array: str, dim: int) -> None:
        """A dimension that is no symbol any more: programs hold for one size of it each."""
        self._known.add((array, dim))
