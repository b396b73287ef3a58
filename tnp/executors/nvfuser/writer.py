"""Definitions as text: a region's prims as the calls that define it to nvFuser.

nvFuser promotes dtypes by rules of its own. Nothing here relies on them: operands have one dtype, numbers are converted
before they are used, and half precision is computed in float32 and rounded after each operation, as eager does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.executors.nvfuser.library import Library

__all__ = ["Definition", "Refused", "Val", "Writer", "rule", "rules", "write"]

#: arrays of more dimensions are left to others
MAX_RANK = 8


class Refused(Exception):
    """It cannot be said to this nvFuser; the message says why."""


class Val(str):
    """The name of one of nvFuser's values, in the definition."""

    __slots__ = ()


@dataclass
class Definition:
    """A region as text, all but the layouts of its arrays.

    ``limits`` are from where to where an integer among the inputs fits the arrays that it meets, by position; ``views`` the positions of
    results that may share memory with inputs or other results.
    """

    inputs: tuple[Proxy, ...]
    shapes: list[tuple[int, ...] | None]
    types: list[str]
    body: list[str] = field(default_factory=list)
    limits: dict[int, tuple[int, int]] = field(default_factory=dict)
    views: list[int] = field(default_factory=list)

    def source(self, layouts: Sequence[Any]) -> str:
        """The definition for arrays of these layouts: for each, ``(contiguity, stride order)``."""
        lines = ["def define(fd):"]
        rest = iter(layouts)
        for i, (shape, kind) in enumerate(zip(self.shapes, self.types)):
            if shape is None:
                lines.append(f"    S{i} = fd.define_scalar(dtype=DataType.{kind})")
                continue
            contiguity, order = next(rest)
            lines.append(
                f"    T{i} = fd.define_tensor(shape={list(shape)}, contiguity={list(contiguity)}, dtype=DataType.{kind}, "
                f"stride_order={list(order)})"
            )
        return "\n".join([*lines, *(f"    {line}" for line in self.body)]) + "\n"


Rule = Callable[..., Val]
#: what becomes of a prim: ``f(writer, output, *args, **kwargs)``, with proxies, gives nvFuser's value of ``output``
rules: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorates what becomes of prims."""

    def decorate(f: Rule) -> Rule:
        for name in names:
            rules[name] = f
        return f

    return decorate


class Writer:
    """Writes calls. Every operation that it writes is one that this version has; others are :class:`Refused`."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.lines: list[str] = []
        self.values: dict[str, Val] = {}
        #: what may be another value's memory under another shape, by nvFuser's analysis of aliases
        self.views: set[Val] = set()
        self.scalars: set[Val] = set()
        self.limits: dict[str, tuple[int, int]] = {}
        self._count = 0
        self._known: dict[Any, Val] = {}

    def add_input(self, p: Proxy) -> Val:
        """The value of an array or a number that comes from outside."""
        is_array = isinstance(p, TensorProxy)
        made = self.values[p.name] = self.name("T" if is_array else "S")
        (self.views if is_array else self.scalars).add(made)
        return made

    def name(self, letter: str) -> Val:
        self._count += 1
        return Val(f"{letter}{self._count - 1}")

    def call(self, operation: str, *args: Any, **kwargs: Any) -> Val:
        """``fd.ops.<operation>(…)``, with values, dtypes, lists and numbers for arguments."""
        if not self.library.has(operation):
            raise Refused(f"nvFuser {self.library.version} has no {operation}")
        parts = [*map(self._text, args), *(f"{k}={self._text(v)}" for k, v in kwargs.items())]
        made = self._line(f"fd.ops.{operation}({', '.join(parts)})", "T")
        if args and all(
            not isinstance(x, (list, tuple)) and (not isinstance(x, Val) or x in self.scalars) for x in args
        ):
            self.scalars.add(made)
        return made

    def _line(self, text: str, letter: str) -> Val:
        made = self.name(letter)
        self.lines.append(f"{made} = {text}")
        return made

    def _text(self, x: Any) -> str:
        if isinstance(x, Val):
            return str(x)
        if isinstance(x, DType):
            return f"DataType.{self.kind(x)}"
        if isinstance(x, (list, tuple)):
            return f"[{', '.join(map(self._text, x))}]"
        if isinstance(x, float) and not math.isfinite(x):
            return f"float({str(x)!r})"
        return repr(x)

    def kind(self, dtype: DType) -> str:
        """nvFuser's name of a dtype."""
        name = self.library.dtype_name(dtype)
        if name is None:
            raise Refused(f"nvFuser does not compute in {dtype}")
        return name

    # Values

    def of(self, a: Any) -> Val:
        """The value of an array."""
        if not isinstance(a, TensorProxy):
            raise Refused("a number stands where an array is needed")
        return self.values[a.name]

    def number(self, x: Any, dtype: DType) -> Val:
        """A number as a scalar of the dtype that computations in ``dtype`` are in."""
        work = working(dtype)
        if isinstance(x, NumberProxy):
            return self._once(("number", x.name, dtype), lambda: self._converted(x, dtype))
        value = rounded(x, dtype)
        text = f"fd.define_scalar({self._text(value)}, dtype=DataType.{self.kind(work)})"
        made = self._once(text, lambda: self._line(text, "S"))
        self.scalars.add(made)
        return made

    def _converted(self, x: NumberProxy, dtype: DType) -> Val:
        if dtype.kind == "i" and x.python_type is not int and x.python_type is not bool:
            raise Refused("a float among integers")
        if dtype.kind == "b" and x.python_type is not bool:
            raise Refused("a number among bools")
        if dtype.kind == "i":
            width = dtype.bits - 1
            low, high = self.limits.get(x.name, (-(2**63), 2**63 - 1))
            self.limits[x.name] = max(low, -(2**width)), min(high, 2**width - 1)
        made = self.call("cast", self.values[x.name], dtype)
        return made if working(dtype) is dtype else self.call("cast", made, working(dtype))

    def wide(self, x: Val, dtype: DType) -> Val:
        """An array of ``dtype`` in the dtype that is computed in."""
        work = working(dtype)
        return x if work is dtype else self._once(("wide", x), lambda: self.call("cast", x, work))

    def narrow(self, x: Val, dtype: DType) -> Val:
        """What was computed for an array of ``dtype``, rounded to it."""
        return x if working(dtype) is dtype else self.call("cast", x, dtype)

    def where(self, condition: Val, a: Val, b: Val, dtype: DType) -> Val:
        """A choice; the dtype is said again where one of the branches is a number, of which nvFuser may make another."""
        made = self.call("where", condition, a, b)
        return self.call("cast", made, working(dtype)) if {a, b} & self.scalars else made

    def view(self, operation: str, source: Val, *args: Any) -> Val:
        """An operation whose result is its argument's memory, if nvFuser likes: it knows that of copies, too."""
        made = self.call(operation, source, *args)
        self.views.add(made)
        return made

    def _once(self, key: Any, make: Callable[[], Val]) -> Val:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]


def working(dtype: DType) -> DType:
    """The dtype that operations on arrays of ``dtype`` are computed in."""
    return dtypes.float32 if dtype.kind == "f" and dtype.bits == 16 else dtype


def rounded(x: Any, dtype: DType) -> Any:
    """A Python number as an element of an array of ``dtype`` has it."""
    try:
        return torch.tensor(x, dtype=getattr(torch, dtype.name)).item()
    except (RuntimeError, OverflowError, TypeError, ValueError) as error:
        raise Refused(f"{x!r} is no element of an array of {dtype}") from error


def write(
    library: Library, prims: Sequence[BoundSymbol], inputs: Sequence[Proxy], outputs: Sequence[Proxy]
) -> Definition:
    """The definition of a region. Raises :class:`Refused` for what cannot be one."""
    writer = Writer(library)
    made = Definition(tuple(inputs), [], [])
    for p in inputs:
        if isinstance(p, TensorProxy):
            _check(p)
            made.shapes.append(tuple(p.shape))
            made.types.append(writer.kind(p.dtype))
        elif isinstance(p, NumberProxy) and p.python_type in (bool, int, float):
            made.shapes.append(None)
            made.types.append({bool: "Bool", int: "Int", float: "Double"}[p.python_type])
        else:
            raise Refused(f"{p.name} is no array and no real number")
        writer.add_input(p)
    for b in prims:
        say(writer, b)
    taken = {writer.values[p.name] for p in inputs}
    for i, p in enumerate(outputs):
        value = writer.of(p)
        if value in writer.views:
            made.views.append(i)
        if value in taken:  # nvFuser gives each value back once, and inputs never
            value = writer.call("set", value)
        taken.add(value)
        writer.lines.append(f"fd.add_output({value})")
    made.body = writer.lines
    made.limits = {i: writer.limits[p.name] for i, p in enumerate(inputs) if p.name in writer.limits}
    return made


def say(writer: Writer, b: BoundSymbol) -> None:
    """Writes what becomes of a prim."""
    known = rules.get(b.sym.name)
    if known is None:
        raise Refused(f"nvFuser has nothing for {b.sym.name}")
    if not isinstance(b.output, TensorProxy):
        raise Refused(f"{b.sym.name} gives no array")
    for p in (*b.flat_inputs, b.output):
        if isinstance(p, TensorProxy):
            _check(p)
            writer.kind(p.dtype)
    writer.values[b.output.name] = known(writer, b.output, *b.args, **b.kwargs)


def _check(p: TensorProxy) -> None:
    if p.ndim > MAX_RANK:
        raise Refused(f"arrays of more than {MAX_RANK} dimensions")
    if any(type(n) is not int for n in p.shape):
        raise Refused("a length that is known at run time only")
    if 0 in p.shape:
        raise Refused("an array without elements")
