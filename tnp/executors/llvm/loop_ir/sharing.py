"""Nests that do the same to other memory share one function, so a long program of lines that resemble one another has few functions.

The function of such nests has a *frame* in the place of the kernel's context: the words that it reads, with the address of the first
element that it accesses of each buffer. The caller fills the frame before each call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tnp.executors.llvm.index import Atom, Index, Part
from tnp.executors.llvm.loop_ir.functions import Function
from tnp.executors.llvm.loop_ir.nests import Call, NestCode
from tnp.executors.llvm.loop_ir.nodes import (
    Apply,
    Buffer,
    Constant,
    Convert,
    Element,
    Entry,
    Expression,
    Load,
    Nest,
    Number,
    Reduce,
    Size,
    Statement,
    Store,
)

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.emitter import Module

__all__ = ["FRAME", "Nests"]

#: the register of the frame of shared functions
FRAME = "%frame"


class Pattern:
    """A nest of one function without the memory that it works on. Nests with equal keys have one function, whose calls differ in how many
    iterations the outermost loop has."""

    def __init__(self, nest: NestCode) -> None:
        self.nest = nest
        #: the buffers in the order of their first accesses, and the constants of the offsets of these
        self.bases: dict[Buffer, int] = {}
        self._buffers: dict[Buffer, int] = {}
        self._variables: dict[Any, int | None] = dict.fromkeys(nest.inner)
        self._expressions: dict[int, int] = {}
        self._parts: list[Any] = []
        #: the iterations of the outermost loop, if the function takes any number
        self.count: Any = None
        for var, n in nest.runs:
            self._variables[var] = len(self._variables)
            self._parts.append((_size(n), var in nest.over))
        if nest.runs and nest.runs[0][0] not in nest.over and (len(nest.runs) > 1 or nest.module.is_plain):
            self._parts[0] = "any"
            self.count = nest.runs[0][1]
        for s in nest.statements:
            self._statement(s)
        self.key = tuple(self._parts)

    def _statement(self, s: Statement) -> None:
        assert isinstance(s, (Store, Reduce))
        value, place = self._value(s.value), self._access(s.buffer, s.at)
        self._parts.append((s.op if isinstance(s, Reduce) else "store", value, place))

    def _access(self, buffer: Buffer, at: Sequence[Index]) -> tuple[Any, ...]:
        offset = self.nest.offset(buffer, tuple(at))
        base = self.bases.setdefault(buffer, offset.constant if isinstance(offset.constant, int) else 0)
        number = self._buffers.setdefault(buffer, len(self._buffers))
        return (number, buffer.dtype, _is_register(buffer), self._index(offset, base))

    def _index(self, index: Index, base: int = 0) -> tuple[Any, ...]:
        constant = index.constant - base if isinstance(index.constant, int) else _size(index.constant)
        terms = ((self._atom(atom), _size(c)) for atom, c in index.terms.items())
        return (constant, *(term for term in terms if term[0] is not None))

    def _atom(self, atom: Atom) -> Any:
        if isinstance(atom, Element):
            return ("element", self._value(atom.x), _size(atom.limit))
        if isinstance(atom, Part):
            return (type(atom), self._index(atom.of), atom.by)
        return self._variables[atom]

    def _value(self, x: Expression) -> int:
        """The number of an expression: the index of its part in the key."""
        if id(x) not in self._expressions:
            part = self._part(x)
            self._expressions[id(x)] = len(self._parts)
            self._parts.append(part)
        return self._expressions[id(x)]

    def _part(self, x: Expression) -> tuple[Any, ...]:
        if isinstance(x, Load):
            return self._access(x.buffer, x.at)
        if isinstance(x, Apply):
            return (x.op, x.of, x.dtype, *map(self._value, x.args))
        if isinstance(x, Convert):
            return (x.bits, x.dtype, self._value(x.x))
        if isinstance(x, Constant):
            return (type(x.value), repr(x.value), x.dtype)
        if isinstance(x, Number):
            return (x.index, x.python_type, x.dtype)
        return (_size(x.size), x.dtype) if isinstance(x, Size) else (self._index(x.index), x.dtype)


def _size(n: Any) -> Any:
    """A size as part of a key: of two extents it would be asked, and noted, whether they are equal."""
    return n if isinstance(n, int) else str(n)


def _is_register(b: Buffer) -> bool:
    return b.role in ("row", "point") and not b.shape


class Nests:
    """The functions of nests, and their calls."""

    def __init__(self, module: Module, entries: Sequence[Entry]) -> None:
        self.module = module
        nests = [e for e in entries if isinstance(e, Nest)]
        codes = [NestCode(module, nest) for nest in nests] if len(nests) > 1 else []
        self.patterns = {code.nest: Pattern(code) for code in codes if code.is_one_function}
        self.times = Counter(p.key for p in self.patterns.values())
        self.functions: dict[tuple[Any, ...], _SharedFunction] = {}

    def calls(self, nest: Nest) -> Iterator[Callable[[Function], None]]:
        """The calls for a nest."""
        pattern = self.patterns.get(nest)
        if pattern is None or self.times[pattern.key] == 1:
            yield from (NestCode(self.module, nest) if pattern is None else pattern.nest).calls()
            return
        if pattern.key not in self.functions:
            self.functions[pattern.key] = function = _SharedFunction(pattern)
            self.module.frame = max(self.module.frame, len(function.words))
        yield partial(self.functions[pattern.key].call_for, pattern)


class _SharedFunction:
    """The function of the nests of one pattern."""

    def __init__(self, pattern: Pattern) -> None:
        nest = pattern.nest
        for (buffer, at), offset in nest.offsets.items():
            nest.offsets[buffer, at] = offset - pattern.bases[buffer]
        #: the words of its frame, and the buffers among them
        self.words = nest.words = dict[Any, int]()
        self.memory = list(pattern.bases)
        (self.call,) = nest.calls()

    def call_for(self, pattern: Pattern, caller: Function) -> None:
        """Writes the call for the nest of a pattern."""
        code, call = caller.code, self.call
        assert isinstance(call, Call)
        given = dict(zip(self.memory, pattern.bases.items()))
        for key, word in self.words.items():
            buffer, base = given.get(key, (key, 0))
            address = caller.pointer(buffer)
            if base:
                address = code.op(f"getelementptr i8, ptr {address}, i64 {base}")
            code.line(f"store ptr {address}, ptr {code.op(f'getelementptr i64, ptr {FRAME}, i64 {word}')}, align 8")
        count = call.count if pattern.count is None else pattern.count
        caller.call(call.name, caller.size(count), caller.size(call.cost), context=FRAME)
