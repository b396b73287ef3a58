"""Kernels as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tnp.executors.llvm.index import Atom, Index, Part, Quotient
from tnp.executors.llvm.loop_ir.nodes import (
    Apply,
    Centered,
    Check,
    Compress,
    Convert,
    Element,
    Entry,
    Expression,
    InPlace,
    Kernel,
    Load,
    Moments,
    Nest,
    Number,
    Panels,
    Position,
    Positions,
    Rows,
    Scan,
    Scatter,
    Search,
    Size,
    Skewed,
    Statement,
    Store,
    Swept,
    elements_in,
    operands_of,
    order_of,
)

__all__ = ["show"]

#: an expression whose text is longer has a line of its own
LONG = 100


def show(kernel: Kernel, name: str = "kernel") -> str:
    """A kernel as text. What is used more than once has a name, as has what is long.

    >>> from tnp.core import dtypes
    >>> from tnp.executors.llvm.index import Var
    >>> from tnp.executors.llvm.loop_ir.nodes import Buffer, Constant
    >>> x, y = Buffer("x", dtypes.float64, (3,), "input"), Buffer("y", dtypes.float64, (3,), "output")
    >>> i = Var("i", 3)
    >>> at = (Index.of(i),)
    >>> doubled = Apply("mul", (Load(x, at), Constant(2.0, dtypes.float64)), dtypes.float64, dtypes.float64)
    >>> print(show(Kernel([x], [y], nests=[Nest((i,), [Store(y, at, doubled)])])))
    kernel(x: f64[3] input, y: f64[3] output)
      for i in 0..3 parallel
        y[i] = mul(x[i], 2.0)
    """
    parameters = [f"{b.name}: {b.dtype.shortname}[{_listed(b.shape)}] {b.role}" for b in kernel.buffers]
    parameters += [f"number{i}: {n.python_type.__name__}" for i, n in enumerate(kernel.numbers)]
    lines = [f"{name}({', '.join(parameters)})"]
    for entry in kernel.nests:
        lines += _entry(entry)
    return "\n".join(lines)


def _entry(entry: Entry) -> Iterator[str]:
    if isinstance(entry, Check):
        yield f"  refuse if {entry.buffer.name}[]"
    elif isinstance(entry, Rows):
        if isinstance(entry, Panels):
            yield "  by panels of rows"
        yield from (f"{'  ' * (1 + d)}for {v.name} in 0..{v.limit} parallel" for d, v in enumerate(entry.loops))
        for inner in entry.nests:
            yield from _nest(inner, 1 + len(entry.loops))
    elif isinstance(entry, Moments):
        yield from _entry(entry.first)
    elif isinstance(entry, Centered):
        yield "  in the pass that sums the same"
        yield from _entry(entry.nest)
    elif isinstance(entry, Swept):
        for i, part in enumerate(entry.parts):
            if i:
                yield "  in the same sweep over the rows"
            yield from _entry(part)
    elif isinstance(entry, Skewed):
        yield from _entry(entry.first)
        yield f"  row j of the following after row j + {entry.high} of that"
        yield from _entry(entry.second)
    else:
        yield from _nest(entry, 1)


def _nest(nest: Nest, depth: int) -> Iterator[str]:
    ordered = [*nest.reduced, *(v for s in nest.statements for v in order_of(s))]
    for var in nest.loops:
        kind = "" if var in ordered else " parallel"
        yield f"{'  ' * depth}for {var.name} in 0..{var.limit}{kind}"
        depth += 1
    yield from ("  " * depth + line for line in _Writer(nest.statements).lines())


def _listed(items: Iterable[Any]) -> str:
    return ", ".join(map(str, items))


class _Writer:
    """The text of statements."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        self.statements = statements
        self.texts: dict[int, str] = {}
        self.uses: dict[int, int] = {}
        self.order: list[list[Expression]] = [self._ordered(s) for s in statements]

    def _ordered(self, s: Statement) -> list[Expression]:
        """What a statement computes, operands first, without what those before it have."""
        order, waiting = [], [s.value, *elements_in(s.at)]
        for x in waiting:
            self.uses[id(x)] = self.uses.get(id(x), 0) + 1
        stack = [(x, False) for x in reversed(waiting)]
        while stack:
            x, is_ready = stack.pop()
            if is_ready:
                order.append(x)
            elif id(x) not in self.texts:
                self.texts[id(x)] = ""
                stack.append((x, True))
                for y in reversed(operands_of(x)):
                    self.uses[id(y)] = self.uses.get(id(y), 0) + 1
                    stack.append((y, False))
        return order

    def lines(self) -> Iterator[str]:
        """A line for each statement, and before it what it computes that has a name."""
        named = 0
        for s, order in zip(self.statements, self.order):
            for x in order:
                text = self._text(x)
                if isinstance(x, (Apply, Convert)) and (len(text) > LONG or self.uses[id(x)] > 1) and x is not s.value:
                    yield f"e{named} = {text}"
                    text, named = f"e{named}", named + 1
                self.texts[id(x)] = text
            yield self._statement(s)

    def _statement(self, s: Statement) -> str:
        place, value = f"{s.buffer.name}[{self._at(s.at)}]", self.texts[id(s.value)]
        if isinstance(s, Positions):
            return f"{s.buffer.name} = {s.along} where {value}"
        if isinstance(s, Compress):
            return f"{s.buffer.name} = {value} where {s.mask.buffer.name}[{self._at(s.mask.at)}]"
        if isinstance(s, Search):
            return f"{place} = the first {s.along} without {value}"
        if isinstance(s, InPlace):
            return f"{place} = {s.op} {value}"
        if isinstance(s, Scan):
            return f"{place} = {s.op} up to {s.along} of {value}"
        if isinstance(s, Scatter):
            return f"{place} {'+' if s.adds else ''}= {value}"
        return f"{place} = {value}" if isinstance(s, Store) else f"{place} {s.op}= {value}"

    def _text(self, x: Expression) -> str:
        """The text of ``x``, whose operands have theirs."""
        if isinstance(x, Load):
            return f"{x.buffer.name}[{self._at(x.at)}]"
        if isinstance(x, Apply):
            return f"{x.op}({', '.join(self.texts[id(y)] for y in x.args)})"
        if isinstance(x, Convert):
            return f"{'bitcast' if x.bits else 'convert'}({self.texts[id(x.x)]}, {x.dtype.shortname})"
        if isinstance(x, Number):
            return f"number{x.index}"
        return str(x.size) if isinstance(x, Size) else self._index(x.index) if isinstance(x, Position) else str(x.value)

    def _at(self, at: Iterable[Index]) -> str:
        return ", ".join(map(self._index, at))

    def _index(self, i: Index) -> str:
        return i.text(self._atom)

    def _atom(self, a: Atom) -> str:
        if isinstance(a, Element):
            return self.texts[id(a.x)]
        if isinstance(a, Part):
            return f"({self._index(a.of)} {'//' if isinstance(a, Quotient) else '%'} {a.by})"
        return str(a)
