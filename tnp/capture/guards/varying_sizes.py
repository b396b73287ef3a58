"""Which sizes of arrays are symbols in the next program: those that differed from call to call.

The first call of a kind is traced for its sizes. Where an array comes with another size in some dimension, that dimension is a
symbol from the next trace on. A dimension whose symbol a program specializes on all the same is none any more.
"""

from __future__ import annotations

import types
import weakref
from typing import Any

import numpy as np

from tnp.core.errors import NeedsEager
from tnp.core.symbols import LEAST

__all__ = ["ReadsVarying", "VaryingSizes", "mark_dynamic"]

#: by the ``id`` of an array: it, and its dimensions that were marked
_marked: dict[int, tuple[Any, set[int]]] = {}


def mark_dynamic(x: np.ndarray[Any, Any], dim: int) -> None:
    """Makes dimension ``dim`` of the array ``x`` a symbol in programs that are traced with ``x``: they serve any size from 2 on.

    Without it, a size is a symbol once it has varied. Raises ``TypeError`` if ``x`` is no ndarray, ``IndexError`` if it has no
    such dimension.

    >>> import numpy as np, tnp
    >>> f = tnp.jit(lambda x: x.sum(axis=1))
    >>> x = np.ones((3, 4))
    >>> tnp.mark_dynamic(x, 0)
    >>> f(x).shape, f(np.ones((5, 4))).shape
    ((3,), (5,))
    >>> tnp.cache_info(f).misses
    1
    """
    if not isinstance(x, np.ndarray):
        raise TypeError(f"mark_dynamic takes an ndarray, not {type(x).__name__}")
    if not -x.ndim <= dim < x.ndim:
        raise IndexError(f"an array of {x.ndim} dimensions has no dimension {dim}")
    key = id(x)
    if key not in _marked:
        _marked[key] = weakref.ref(x, lambda _: _marked.pop(key, None)), set()
    _marked[key][1].add(dim % x.ndim)


class ReadsVarying(NeedsEager):
    """Raised where a program reads of a value that varies what no guard asks for: it is traced again, for that very value."""

    def __init__(self, description: str) -> None:
        super().__init__(f"it reads {description}, which varies")
        self.description = description


class VaryingSizes:
    """The sizes that calls of one kind were traced with, by the description of the array."""

    def __init__(self) -> None:
        #: whether all sizes are symbols from the first call on
        self.at_once = False
        #: whether the present trace has symbols
        self.is_on = False
        #: how often a trace with symbols was given up
        self.in_vain = 0
        self._seen: dict[str, tuple[int, ...]] = {}
        self._varied: dict[str, set[int]] = {}
        #: the values of integers that are arguments
        self._values: dict[str, int] = {}
        self._varied_values: set[str] = set()
        #: the lengths of lists
        self._lengths: dict[str, int] = {}
        self._varied_lengths: set[str] = set()
        #: functions
        self._functions: dict[str, types.FunctionType] = {}
        self._varied_functions: set[str] = set()
        self._known: set[tuple[str, int | None]] = set()

    def may_have_some(self) -> bool:
        """Whether a first trace may have symbols."""
        return self.at_once or bool(_marked)

    def symbols(self, array: str, value: np.ndarray[Any, Any]) -> list[int]:
        """The dimensions that are symbols in the present trace of an array, which is called ``array``; notes its shape."""
        shape = value.shape
        before = self._seen.setdefault(array, tuple(shape))
        if len(before) != len(shape):
            self._seen[array] = before = tuple(shape)
            self._varied.pop(array, None)
        varied = self._varied.setdefault(array, set())
        varied.update(d for d, n in enumerate(shape) if n != before[d])
        marked = _marked.get(id(value))
        if marked is not None and marked[0]() is value:
            varied.update(marked[1])
        if not self.is_on or 0 in shape or not value.flags.c_contiguous:
            return []
        chosen = range(len(shape)) if self.at_once else sorted(varied)
        return [d for d in chosen if shape[d] >= LEAST and (array, d) not in self._known]

    def varies(self, number: str, value: int) -> bool:
        """Whether an integer, which is called ``number``, is a symbol in the present trace; notes its value."""
        if self._values.setdefault(number, value) != value:
            self._varied_values.add(number)
        return self.is_on and (self.at_once or number in self._varied_values) and (number, None) not in self._known

    def grows(self, name: str, length: int) -> bool:
        """Whether a list, which is called ``name``, is taken for one that the present trace appends to and does not read; notes its
        length."""
        if self._lengths.setdefault(name, length) != length:
            self._varied_lengths.add(name)
        return self.is_on and name in self._varied_lengths and (name, None) not in self._known

    def is_fresh(self, name: str, f: types.FunctionType) -> bool:
        """Whether a function, which is called ``name``, is taken for any one of its code in the present trace; notes it."""
        before = self._functions.setdefault(name, f)
        if before is not f and before.__code__ is f.__code__:
            self._varied_functions.add(name)
        self._functions[name] = f
        return self.is_on and name in self._varied_functions and (name, None) not in self._known

    def specialize(self, array: str, dim: int | None) -> None:
        """A dimension, or an integer, that is no symbol any more: programs hold for one value of it each."""
        self._known.add((array, dim))
