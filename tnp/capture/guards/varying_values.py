"""Which values are symbols, or not guarded, in the next program: those that differed from call to call.

The first call of a kind is traced for its sizes. Where an array comes with another size in some dimension, that dimension is a
symbol from the next trace on, and so is an integer that comes with another value. A list whose length varies is not guarded if the
program only appends to it, of a dict whose keys vary only those are guarded that the program reads, and a function is guarded by its
code. What a program specializes on all the same is guarded again.
"""

from __future__ import annotations

import functools
import re
import sys
import types
import weakref
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from tnp.core.errors import NeedsEager
from tnp.core.symbols import LEAST

__all__ = [
    "CountsItems",
    "KnowsIntegers",
    "OwnsResult",
    "ReadsVarying",
    "TracesAgain",
    "VaryingValues",
    "container_of",
    "is_of_call",
    "mark_dynamic",
    "without_positions",
]

#: an array of objects or strings that came with so many contents is Python's to read
CONTENTS = 8
#: a dict that came with so many kinds of keys is one that remembers: Python reads and changes it
KEYS = 4
#: a dict with more values, nested ones counted, is guarded only by the items that a program reads
LARGE = 100
#: what Python reads of a dict or a table that has as many items, if the program may not, does not make each item an input
LARGER = 1000
#: after so many traces that each learned integers in the same argument, all integers in it are known
TRACES = 4
#: what keys are compared
_PLAIN = frozenset((str, bytes, int, float, complex, bool, type(None)))
_POSITION = re.compile(r"\[\d+\]")
#: by the ``id`` of an array: it, and its dimensions that were marked
_marked: dict[int, tuple[Any, set[int]]] = {}


def holds_more(found: Any, most: int) -> bool:
    """Whether there are more than ``most`` values in a container and the containers in it."""
    count, waiting = 0, [found]
    while waiting and count <= most:
        x = waiting.pop()
        if isinstance(x, (dict, list, tuple)):
            count += len(x)
            waiting += x.values() if isinstance(x, dict) else x
        elif isinstance(x, functools.partial):
            waiting += [x.args, x.keywords]
    return count > most


def container_of(description: str) -> str:
    """The description of an item's container, or an empty string for anything but an item."""
    return description.rpartition("[")[0] if description.endswith("]") else ""


def without_positions(description: str) -> str:
    """The description of an item, and of its like in the lists around it: ``argument paths[].modes[]``."""
    return _POSITION.sub("[]", description)


def is_of_call(name: str) -> bool:
    """Whether what is called so is an argument, or in one, and no attribute of an object."""
    return name.startswith("argument ") and "." not in name


def mark_dynamic(x: Any, dim: int) -> None:
    """Makes dimension ``dim`` of the array or tensor ``x`` a symbol in programs that are traced with ``x``: they serve any size from 2 on.

    Without it, a size becomes a symbol once it has varied. Raises ``TypeError`` if ``x`` is neither an ndarray nor a tensor,
    ``IndexError`` if it has no such dimension.

    >>> import numpy as np, tnp
    >>> f = tnp.jit(lambda x: x.sum(axis=1))
    >>> x = np.ones((3, 4))
    >>> tnp.mark_dynamic(x, 0)
    >>> f(x).shape, f(np.ones((5, 4))).shape
    ((3,), (5,))
    >>> tnp.cache_info(f).misses
    1
    """
    kinds: Any = np.ndarray, getattr(sys.modules.get("torch"), "Tensor", np.ndarray)
    if not isinstance(x, kinds):
        raise TypeError(f"mark_dynamic takes an ndarray or a tensor, not {type(x).__name__}")
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

    def teach(self, varying: VaryingValues) -> bool:
        """Has the next trace do without that. Returns whether it would be another trace."""
        if varying.is_specialized(self.description):
            return False
        varying.specialize(self.description, None)
        return True


class TracesAgain(ReadsVarying):
    """Raised where something is to be taken for something else in all of the program: the whole function is traced again."""


class KnowsIntegers(TracesAgain):
    """Raised where a loop needs a length that integers among the arguments decide. They are known in the next trace."""

    def __init__(self, numbers: Collection[str]) -> None:
        super().__init__(", ".join(sorted(numbers)))
        self.numbers = numbers

    def teach(self, varying: VaryingValues) -> bool:
        return varying.know_integers(self.numbers)


class CountsItems(TracesAgain):
    """Raised where a loop appends to a list of the program a number of times that depends on values. The function is traced again, with a
    list whose length is known at run time."""

    def teach(self, varying: VaryingValues) -> bool:
        if self.description in varying.counted or varying.is_specialized(self.description):
            return False
        varying.counted.add(self.description)
        return True


class AssignsNumber(TracesAgain):
    """Raised where the program assigns another number to an attribute that is guarded by value, and that varied, such as a counter. The
    number is an input in the next trace."""

    def teach(self, varying: VaryingValues) -> bool:
        if self.description in varying.assigned:
            return False
        varying.assigned.add(self.description)
        return True


class OwnsResult(TracesAgain):
    """Raised where the program changes or returns an array that a library made of constants while tracing. In the next trace each call has an
    array of its own."""

    def teach(self, varying: VaryingValues) -> bool:
        if self.description in varying.owned:
            return False
        varying.owned.add(self.description)
        return True


class VaryingValues:
    """The sizes and other values that calls of one kind were traced with, by their descriptions. It has many methods: one for each kind of value."""

    def __init__(self) -> None:
        #: whether all sizes are symbols from the first call on
        self.at_once = False
        #: whether the present trace has symbols
        self.is_on = False
        #: whether it reads functions and lists that varied when the program runs
        self.reads_late = False
        #: the strings, dicts and lists of arrays that stand for any other in the present trace
        self.late: set[str] = set()
        #: of these, the dicts that have not varied, and are large
        self.large: set[str] = set()
        #: of these, the dicts too large to lift item by item; Python runs what the program cannot do with them
        self.larger: set[str] = set()
        #: the lists that it appends to, and does not read
        self.growing: set[str] = set()
        #: the lists, by where the program makes them, of which only the running program knows the length
        self.counted: set[str] = set()
        #: those of them that the present trace has made
        self.counting: set[str] = set()
        #: whether lengths that the program computes are known while it is traced; whether the present trace has some that are not
        self.knows_lengths = False
        self.has_lengths = False
        #: what libraries make of constants, and the program changes or returns, by where it is made
        self.owned: set[str] = set()
        #: attributes that hold numbers and that the program assigns to
        self.assigned: set[str] = set()
        #: integers that decide a length in a loop, or together with symbols: they are known unless they vary
        self.known_integers: set[str] = set()
        #: how many traces learned integers in an argument, by its description
        self._learned: Counter[str] = Counter()
        #: whether tracing knows which values are ``None``, and whether this trace has a value that may be
        self.knows_none = False
        self.has_optionals = False
        #: the places of the program that needed more values than a program may have guards on
        self.without_guards: set[str] = set()
        #: how often a trace with symbols was given up
        self.in_vain = 0
        self._seen: dict[str, tuple[int, ...]] = {}
        self._varied: dict[str, set[int]] = {}
        #: of integers, the lengths of lists, the keys of dicts, strings, and functions: the first value, by name; and the names of those that varied
        self._first: dict[tuple[type, str], Any] = {}
        #: the keys that dicts came with
        self._keys: dict[str, set[tuple[Any, ...]]] = {}
        #: what arrays of objects or strings came with: shapes, or all strings
        self._contents: dict[str, set[Any]] = {}
        self._have_varied: set[tuple[type, str]] = set()
        self._known: set[tuple[str, int | None]] = set()
        #: containers whose items programs read: their other items are specialized, too; and what they read of many items of lists
        self._read: set[str] = set()
        self._read_of_all: set[str] = set()

    def may_have_some(self) -> bool:
        """Whether a first trace may have symbols."""
        return self.at_once or bool(_marked)

    def symbols(self, array: str, value: Any, is_row_major: bool) -> list[int]:
        """The dimensions that are symbols in the present trace of an array, which is called ``array``; notes its shape."""
        shape = tuple(value.shape)
        before = self._seen.setdefault(array, shape)
        if len(before) != len(shape):
            self._seen[array] = before = shape
            self._varied.pop(array, None)
        varied = self._varied.setdefault(array, set())
        varied.update(d for d, n in enumerate(shape) if n != before[d])
        marked = _marked.get(id(value))
        if marked is not None and marked[0]() is value:
            varied.update(marked[1])
        if not self.is_on or 0 in shape or not is_row_major:
            return []
        chosen = range(len(shape)) if self.at_once else sorted(varied)
        return [d for d in chosen if shape[d] >= LEAST and (array, d) not in self._known]

    def varies(self, number: str, value: int) -> bool:
        """Whether an integer, which is called ``number``, is a symbol in the present trace; notes its value."""
        differs = self._first.get((int, number), value) != value
        return self._may_vary((int, number), value, differs, self.is_on, self.at_once)

    def know_integers(self, numbers: Collection[str]) -> bool:
        """Has the next trace know these integers, and those around them if many are asked for. Returns whether there are others than before."""
        known = len(self.known_integers)
        self.known_integers.update(numbers)
        found = len(self.known_integers) > known
        if found:
            self._learned.update({number.partition("[")[0] for number in numbers if container_of(number)})
        return found

    def is_known(self, number: str) -> bool:
        """Whether the value of an integer, which is called ``number``, is known while the present trace is made."""
        return number in self.known_integers or self._learned[number.partition("[")[0]] >= TRACES

    def is_one_of_few(self, number: str, value: float) -> bool:
        """Whether the value of a scalar of NumPy's, which is called ``number``, is known while the present trace is made: it decides a length,
        and had few other values; notes its value."""
        return self.is_known(number) and not self.has_many_contents(number, value)

    def has_other_value(self, name: str, value: float) -> bool:
        """Whether a number, which is called ``name``, had another value in a trace before; notes its value."""
        return bool(self._first.setdefault((float, name), value) != value)

    def grows(self, name: str, length: int) -> bool:
        """Whether a list, which is called ``name``, is taken for one that the present trace appends to and does not read; notes its
        length."""
        differs = self._first.get((list, name), length) != length
        found = self._may_vary((list, name), length, differs, self.reads_late)
        if found:
            self.growing.add(name)
        return found

    def has_other_length(self, name: str, length: int) -> bool:
        """Whether a list, which is called ``name``, had another length in a call before; notes its length."""
        if self._first.setdefault((list, name), length) != length:
            self._have_varied.add((list, name))
        return (list, name) in self._have_varied

    def is_any_text(self, name: str, value: str, varies: bool = False) -> bool:
        """Whether a string, which is called ``name``, stands for any other in the present trace; notes its value. One that ``varies`` is made of
        what did."""
        differs = varies or self._first.get((str, name), value) != value
        found = self._may_vary((str, name), value, differs, self.reads_late)
        if found:
            self.late.add(name)
        return found

    def has_many_keys(self, name: str, found: Mapping[Any, Any]) -> bool:
        """Whether a dict, which is called ``name``, came with other keys so often that it is taken for one that remembers; notes
        them. An argument is what the caller made for the call."""
        if is_of_call(name):
            return False
        seen = self._keys.setdefault(name, set())
        if len(seen) <= KEYS and all(type(k) in _PLAIN for k in found):
            seen.add(tuple(found))
        return len(seen) > KEYS

    def has_many_contents(self, name: str, contents: Any) -> bool:
        """Whether an array of objects or strings, which is called ``name``, was read with other contents so often that there is to be no
        program for each; notes them."""
        seen = self._contents.setdefault(name, set())
        if len(seen) <= CONTENTS:
            seen.add(contents)
        return len(seen) > CONTENTS

    def is_read_by_key(self, name: str, found: Mapping[Any, Any]) -> bool:
        """Whether of a dict among the arguments, which is called ``name``, the present trace has guards on those keys alone that it reads;
        notes the keys."""
        if not is_of_call(name) or not all(type(k) in _PLAIN for k in found):
            return False
        keys = tuple(found)
        differs = self._first.get((dict, name), keys) != keys
        is_late = self._may_vary((dict, name), keys, differs, self.reads_late)
        if is_late:
            self.late.add(name)
        return is_late

    def is_large(self, name: str, found: Mapping[Any, Any]) -> bool:
        """Whether a dict, which is called ``name``, holds so much that the present trace has guards on those keys alone that it reads."""
        if self.is_specialized(name) or not all(type(k) in _PLAIN for k in found):
            return False
        if not holds_more(found, LARGE):
            return False
        self.late.add(name)
        self.large.add(name)
        if len(found) >= LARGER:
            self.larger.add(name)
        return True

    def is_fresh(self, name: str, f: types.FunctionType) -> bool:
        """Whether a function, which is called ``name``, is guarded by its code in the present trace; notes it."""
        key = types.FunctionType, name
        if key in self._first and self._first[key].__code__ != f.__code__:
            del self._first[key]
        return self._may_vary(key, f, self._first.get(key, f) is not f, self.reads_late)

    def _may_vary(self, key: tuple[type, str], value: Any, differs: bool, is_on: bool, at_once: bool = False) -> bool:
        self._first.setdefault(key, value)
        if differs:
            self._have_varied.add(key)
        return is_on and (at_once or key in self._have_varied) and not self.is_specialized(key[1])

    def is_counted(self, name: str) -> bool:
        """Whether only the running program knows the length of a list that the program makes."""
        return name in self.counted and not self.is_specialized(name)

    def is_specialized(self, name: str) -> bool:
        """Whether a whole value is taken for one that does not vary."""
        if (name, None) in self._known or container_of(name) in self._read:
            return True
        return bool(self._read_of_all) and without_positions(name) in self._read_of_all

    def reads_items_of(self, container: str) -> None:
        """Takes all items of a container for ones that do not vary, also those that it gets in later calls."""
        self._read.add(container)

    def reads_of_all(self, description: str) -> None:
        """Takes a value, and its counterparts in the other items of the lists around it, for ones that do not vary."""
        self._read_of_all.add(without_positions(description))

    def specialize(self, name: str, dim: int | None) -> None:
        """Takes a dimension, or with ``None`` a whole value, for one that does not vary: each program holds for one value of it."""
        self._known.add((name, dim))

    def generalize(self, name: str, dim: int | None) -> None:
        """Takes what was :meth:`specialize`d in one trace for one that varies again."""
        self._known.discard((name, dim))
