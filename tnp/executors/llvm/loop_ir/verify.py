"""The verifier of the loop IR: what must hold of a kernel before it becomes code (under ``TNP_CHECK=1``, and in the tests).

Each buffer but the inputs is written before anything reads an element. A statement writes to different elements of a buffer, all or some,
at different points of its loops. What uses an element stands behind what writes it, in the order of the statements
(:mod:`.dependence`). All expressions have the types of the table of elementwise prims. Indices lie within their buffers for all sizes that the symbols may
have, or, where that follows from what the program relies on besides, for the sizes of the call being traced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnp.core import dtypes, symbols
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import by_name
from tnp.core.errors import TraceCheckError
from tnp.core.intervals import Linear
from tnp.core.reduction_table import REDUCTIONS
from tnp.executors.llvm.bounds import ends, form, is_provable
from tnp.executors.llvm.index import Index, Part, Var
from tnp.executors.llvm.loop_ir.accumulators import POSITIONS_OF
from tnp.executors.llvm.loop_ir.dependence import (
    disjoint,
    is_in_place,
    is_innermost,
    may_share_a_point,
    may_share_loops,
    meetings,
)
from tnp.executors.llvm.loop_ir.nodes import (
    ORDERED,
    Apply,
    Buffer,
    Centered,
    Check,
    Compress,
    Constant,
    Convert,
    Element,
    Expression,
    InPlace,
    Kernel,
    Load,
    Moments,
    Nest,
    Number,
    Position,
    Positions,
    Reduce,
    Rows,
    Scan,
    Scatter,
    Search,
    Size,
    Skewed,
    Statement,
    Store,
    Swept,
    subexpressions,
)
from tnp.executors.llvm.loop_ir.printing import show
from tnp.executors.llvm.routines import ROUTINES

__all__ = ["verify"]

_REDUCTIONS = {row.name: row for row in REDUCTIONS}


def verify(kernel: Kernel) -> None:
    """Raises :class:`TraceCheckError` for a kernel that breaks a rule of the IR."""
    try:
        _Verifier(kernel).verify()
    except _Broken as reason:
        raise TraceCheckError(f"{reason}, in\n{show(kernel)}") from None


class _Broken(Exception):
    pass


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise _Broken(message)


class _Verifier:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.known = set(kernel.buffers)
        #: what has been written
        self.made = set(kernel.inputs)
        #: what of the caller's has been
        self.written: set[str] = set()

    def verify(self) -> None:
        names = [b.name for b in self.kernel.buffers]
        _check(len(set(names)) == len(names), "two buffers have one name")
        for nest in self.kernel.nests:
            if isinstance(nest, Check):
                _check(nest.buffer in self.made and nest.buffer.dtype is dtypes.bool8, "a check of what is no bool")
                _check(not self.written, f"{self.written} are written before a check")
            elif isinstance(nest, Moments):
                self._nest(nest.first, ())
            elif isinstance(nest, Centered):
                self._nest(nest.nest, ())
            elif isinstance(nest, Swept):
                self._swept(nest)
            elif isinstance(nest, Skewed):
                self._skewed(nest)
            else:
                self._entry(nest)
        missing = [b.name for b in self.kernel.outputs if b not in self.made and b not in self.kernel.undefined]
        _check(not missing, f"nothing writes {missing}")

    def _entry(self, entry: Nest | Rows) -> None:
        if isinstance(entry, Rows):
            self._rows(entry)
        else:
            self._nest(entry, ())

    def _swept(self, swept: Swept) -> None:
        """As one behind the other, and where two access one element, in one row."""
        for i, part in enumerate(swept.parts):
            _check(part.loops[:1] == (swept.rows,), "a nest is not one of rows")
            self._entry(part)
            for earlier in swept.parts[:i]:
                for buffer, ahead in meetings(earlier, part, swept.rows, swept.rows):
                    _check(ahead == 0, f"{buffer.name} is used in other rows of a sweep")

    def _skewed(self, skewed: Skewed) -> None:
        """As one behind the other, and where both access one element, at a distance of rows that is allowed."""
        for nest in (skewed.first, skewed.second):
            self._entry(nest)
        rows = skewed.first.loops[0], skewed.second.loops[0]
        for buffer, ahead in meetings(skewed.first, skewed.second, *rows):
            fits = ahead is not None and skewed.low <= ahead <= skewed.high
            _check(fits, f"{buffer.name} is used at another distance than skewed rows have")

    def _rows(self, rows: Rows) -> None:
        _check(bool(rows.loops), "nests share no loop")
        for nest in rows.nests:
            self._nest(nest, rows.loops)
        every = [s for nest in rows.nests for s in nest.statements]
        for i, s in enumerate(every):
            for earlier in every[:i]:
                same = may_share_loops(earlier, s, [v for v in rows.loops if v.limit != 1], {})
                _check(same, f"{s.buffer.name} depends on what happens in another iteration of shared loops")
        self.made -= {s.buffer for s in every if s.buffer.role == "row"}

    def _nest(self, nest: Nest, around: Sequence[Var]) -> None:
        loops = (*around, *nest.loops)
        _check(len(set(loops)) == len(loops), "a loop is inside of itself")
        _check(bool(nest.statements), "a nest has no statement")
        over = {frozenset(s.over) if isinstance(s, Reduce) else frozenset() for s in nest.statements}
        alike = len(over) == 1 or (
            over == {frozenset(), frozenset(nest.reduced)} and is_innermost(nest.reduced, nest.loops)
        )
        _check(alike, "statements of a nest reduce over different loops")
        ordered = [s for s in nest.statements if isinstance(s, ORDERED)]
        is_alone = len(nest.statements) == 1 or all(isinstance(s, Compress) for s in nest.statements)
        _check(not ordered or (not around and is_alone), "a scan is not alone in its nest")
        here: list[Statement] = []
        for s in nest.statements:
            self._expression(s.value, loops)
            for load in s.reads:
                self._read(load, here, loops)
            self._place(s, nest.loops if s.buffer.role == "row" else loops)
            name = s.buffer.name
            _check(bool(around) or s.buffer.role != "row", f"{name} is a row of no shared loop")
            _check(is_in_place(s), f"{name} is made of elements of it that another point writes")
            later = not loops or all(may_share_a_point(earlier, s) for earlier in here)
            _check(later, f"{name} is written in the loops that use it, where another point may do so")
            here.append(s)
        self.made |= {s.buffer for s in here if s.buffer.role != "point"}
        self.written |= {s.buffer.name for s in here if s.buffer.role == "inout"}

    # Memory

    def _read(self, load: Load, here: Sequence[Statement], loops: Sequence[Var]) -> None:
        """A load sees what earlier nests wrote, or what its own point of the loops did."""
        name = load.buffer.name
        writers = [s for s in here if s.buffer is load.buffer]
        is_there = writers or load.buffer in self.made or load.buffer in self.kernel.undefined
        _check(bool(is_there), f"{name} is read before it is written")
        for writer in writers if loops else ():
            _check(not isinstance(writer, Reduce), f"{name} is read in the loops that reduce to it")
            same = writer.at == load.at or disjoint(writer.at, load.at)
            _check(same, f"{name} is read in the loops that write it, where another point may write")

    def _place(self, s: Statement, loops: Sequence[Var]) -> None:
        """A statement writes different elements of a buffer at different points: all of them, or a part."""
        name = s.buffer.name
        _check(s.buffer in self.known and s.buffer.role != "input", f"{name} is not the kernel's to write")
        if isinstance(s, Positions):
            _check(s.value.dtype is dtypes.bool8 and s.buffer.dtype is dtypes.int64, f"{name} is no array of positions")
            _check(
                s.buffer.role == "temporary" and loops == (s.along,),
                f"{name} has no room behind its end, or more loops",
            )
            return
        if isinstance(s, Compress):
            _check(s.mask.dtype is dtypes.bool8 and loops == (s.along,), f"{name} has no mask, or more loops")
            _check(s.value.dtype is s.buffer.dtype, f"{name} gets elements of {s.value.dtype}")
            return
        is_position = isinstance(s, Search) or (isinstance(s, Reduce) and s.op in POSITIONS_OF)
        _check(is_position or s.value.dtype is s.buffer.dtype, f"{name} gets elements of {s.value.dtype}")
        _check(len(s.at) == len(s.buffer.shape), f"{name} has another number of dimensions than its index")
        if isinstance(s, Search):
            fits = s.value.dtype is dtypes.bool8 and s.buffer.dtype is dtypes.int64
            _check(fits and s.along in loops, f"{name} is no array of positions, or searched along no loop")
        elif isinstance(s, Reduce) and is_position:
            fits = len(s.over) == 1 and s.buffer.dtype is dtypes.int64 and s.value.dtype.kind != "c"
            _check(fits, f"{name} is no array of positions")
        elif isinstance(s, Reduce):
            _check(s.op in _REDUCTIONS, f"there is no reduction {s.op}")
            _check(s.buffer.dtype.kind in _REDUCTIONS[s.op].takes, f"{s.op} of {s.buffer.dtype}")
            _check(set(s.over) <= set(loops), f"{name} is reduced over a loop that is not there")
        elif isinstance(s, Scan):
            _check(s.op in _REDUCTIONS and bool(_REDUCTIONS[s.op].scan), f"there are no partial results of {s.op}")
            _check(s.along in loops, f"{name} is scanned along a loop that is not there")
        elif isinstance(s, InPlace):
            _check(s.op in ROUTINES and s.buffer.dtype.kind in ROUTINES[s.op].takes, f"{s.op} of {s.buffer.dtype}")
            dims = len(s.inner)
            is_whole = tuple(loops[-dims:]) == s.inner and s.at[-dims:] == tuple(map(Index.of, s.inner))
            is_row_major = s.buffer.strides is None and dims == ROUTINES[s.op].dims
            _check(is_whole and is_row_major, f"{name} is no array of rows or matrices")
        if isinstance(s, Scatter):
            _check(set(s.ordered) <= set(loops), f"{name} is scattered in the order of loops that are not there")
            for i in s.at:
                self._index(i, loops)
            return
        if s.buffer.role == "point":
            _check(isinstance(s, Store) and not s.at, f"{name} is one value")
            return
        gone = s.over if isinstance(s, Reduce) else (s.along,) if isinstance(s, Search) else ()
        left = [v for v in loops if v not in gone]
        is_whole = True
        for i, n in zip(s.at, s.buffer.shape):
            self._index(i, loops)
            self._within(s.buffer, i, n)
            whole = i == Index() and n == 1
            for v in i.terms.keys() & {*left} if _tells_apart(i) else ():
                left.remove(v)
                whole = i == Index.of(v) and bool(v.limit == n)
            is_whole = is_whole and whole
        divided = set().union(*(i.variables() for i in s.at if not i.is_affine))  # which tell points apart, too
        left = [v for v in left if v not in divided]
        _check(not left, f"the points of {left} write one element of {name}")
        _check(is_whole or isinstance(s, Store), f"{name} is made in part")

    # Expressions

    def _expression(self, x: Expression, loops: Sequence[Var]) -> None:
        for y in subexpressions(x):
            if isinstance(y, Load):
                _check(y.buffer in self.known, f"{y.buffer.name} is no buffer of the kernel")
                _check(len(y.at) == len(y.buffer.shape), f"{y.buffer.name} has another number of dimensions")
                for i, n in zip(y.at, y.buffer.shape):
                    self._index(i, loops)
                    self._within(y.buffer, i, n)
            elif isinstance(y, Position):
                self._index(y.index, loops)
                _check(y.dtype.kind in "iuf", f"a position as {y.dtype}")
            elif isinstance(y, Apply):
                _apply(y)
            elif isinstance(y, Convert):
                same = not y.bits or y.dtype.bits == y.x.dtype.bits
                _check(same, f"the bits of {y.x.dtype} as {y.dtype}")
            elif isinstance(y, Number):
                own = y.index < len(self.kernel.numbers) and self.kernel.numbers[y.index].python_type is y.python_type
                _check(own and y.dtype is dtypes.dtype_of_number(y.python_type), f"there is no number {y.index}")
            else:
                _check(isinstance(y, (Size, Constant)), f"{y} is no expression")

    def _index(self, index: Index, loops: Sequence[Var]) -> None:
        known = all(isinstance(atom, (Var, Element, Part)) for atom in index.terms)
        _check(known, f"the index {index} is not affine")
        _check(index.variables() <= set(loops), f"the index {index} has variables that no loop around it has")

    def _within(self, buffer: Buffer, index: Index, n: Any) -> None:
        if not index.is_affine:  # whatever its elements are
            return
        low, high = ends(index)
        for x in (low, form(n).plus(high, -1).plus(Linear({}, 1), -1)):
            inside = is_provable(x) or _value(x) >= 0
            _check(inside, f"{buffer.name} is used at {index}, beyond its {n} elements")


# Types


def _tells_apart(i: Index) -> bool:
    """Whether an index is injective in its variables: each variable's step is longer than what those with shorter steps reach."""
    if len(i.terms) < 2:
        return True
    reach = 0
    for v, step in sorted(i.terms.items(), key=lambda term: abs(term[1])):
        if not isinstance(v, Var) or not isinstance(v.limit, int) or abs(step) <= reach:
            return False
        reach += abs(step) * (v.limit - 1)
    return True


def _apply(x: Apply) -> None:
    given = [a.dtype for a in x.args]
    if x.op == "where":
        fits = len(given) == 3 and given[0] is dtypes.bool8 and all(d is x.of for d in given[1:])
        _check(fits and x.dtype is x.of, f"where of {given}")
        return
    if x.op in ("squares", "squares_or_infinity"):  # what a comparison asks for in place of a magnitude
        parts = 1 if x.of.kind == "c" else 2
        _check(given == [x.of] * parts and x.dtype is _real(x.of), f"{x.op} of {given} as {x.dtype}")
        return
    if x.op == "ldexp":
        fits = len(given) == 2 and given[0] is x.of and given[1].kind == "i"
        _check(fits and x.dtype is x.of, f"ldexp of {given}")
        return
    if x.op in ("real", "imag", "complex"):
        kinds = ["f", "f"] if x.op == "complex" else ["c"]
        parts = dtypes.complex_counterpart(x.of) if x.op == "complex" else _real(x.of)
        fits = [g.kind for g in given] == kinds and all(g is x.of for g in given) and x.dtype is parts
        _check(fits, f"{x.op} of {given} as {x.dtype}")
        return
    _check(x.op in by_name, f"there is no elementwise operation {x.op}")
    row = by_name[x.op]
    _check(len(given) == row.nargs and all(d is x.of for d in given), f"{x.op} of {given}, not of {x.of}")
    _check(x.of.kind in row.takes, f"{x.op} of {x.of}")
    made = {"bool": dtypes.bool8, "int32": dtypes.int32, "real": _real(x.of)}.get(row.result, x.of)
    _check(x.dtype is made, f"{x.op} of {x.of} as {x.dtype}")


def _real(d: DType) -> DType:
    return dtypes.real_counterpart(d) if d.kind == "c" else d


# Bounds


def _value(x: Linear) -> int:
    """Of the call being traced."""
    return x.constant + sum(factor * int(symbols.value_of(n) or 0) for n, factor in x.terms.values())
