"""Kernels as Triton source, for the strides of their arrays.

Dimensions in which every access has compatible strides are collapsed: a chain on contiguous arrays is indexed by ``x``
alone. A kernel with reductions runs over tiles of rows (``x``) and reduced elements (``r``). A row that fits in a tile
is read once (*persistent*); otherwise each pass over it is a loop.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.triton import scalars
from tnp.executors.triton.graph import Graph, Node
from tnp.executors.triton.index import Coordinate, Index, Looked, Part, Within, offset_of, row_major
from tnp.executors.triton.schedule import Kernel, Statement

__all__ = ["Launch", "emit", "generate", "header", "module"]

#: reduced elements of a row that stay in registers
PERSISTENT_LIMIT = 8192
#: elements of a tile
TILE = 2048
#: elements of a program without reductions
BLOCK = 1024
#: programs of a launch, at most: CUDA's grids count them in 31 bits
MOST_PROGRAMS = 2**31 - 1
#: offsets from here on need 64 bits
WIDE = 2**31 - 2**20


#: operations that a kernel's name has
NAMED = 4
_NO_OPERATIONS = {"load", "number", "constant", "position", "convert_element_type"}

#: reductions that an operator does
_OPERATORS = {"sum": "+", "prod": "*", "any": "|", "all": "&"}


@dataclass(frozen=True)
class Launch:
    """A kernel's source and how it is launched: the nodes behind its parameters, its grid, its constants."""

    name: str
    source: str
    loads: tuple[Node, ...]
    numbers: tuple[Node, ...]
    stores: tuple[Node, ...]
    has_flag: bool
    rows: int
    constants: Mapping[str, int]
    num_warps: int
    has_seeds: bool = False
    #: reduced elements of a row, and whether all of them are in a tile
    length: int = 1
    persistent: bool = True

    @property
    def grid(self) -> tuple[int]:
        return (-(-self.rows // self.constants["XBLOCK"]),)

    @property
    def parameters(self) -> list[str]:
        """The names of the kernel's parameters, its constants apart."""
        named = [
            *(f"in{k}" for k in range(len(self.loads))),
            *(f"n{k}" for k in range(len(self.numbers))),
            *(f"out{k}" for k in range(len(self.stores))),
        ]
        return [*named, *(["flag"] if self.has_flag else []), *(["seeds"] if self.has_seeds else [])]


def generate(graph: Graph, kernels: Sequence[Kernel], strides: Sequence[Sequence[int]]) -> list[Launch]:
    """The launches of a region, in order. ``strides`` are those of the input arrays, in elements."""
    arrays = [n for n in graph.inputs if n.op == "input"]
    by_node = dict(zip(arrays, strides, strict=True))
    return [emit(k, by_node) for k in kernels]


def module(launches: Sequence[Launch], interpreted: bool) -> str:
    """A module with the kernels of some launches: imports, the helpers that they call, and each kernel once."""
    sources = list(dict.fromkeys(launch.source for launch in launches))
    return "\n\n".join([header(sources, interpreted), *sources])


def header(sources: Sequence[str], interpreted: bool) -> str:
    """What stands before kernels: imports, and the helpers that they call."""
    math_module = "tnp.executors.triton.interpreted" if interpreted else "triton.language.extra"
    lines = ["import triton", "import triton.language as tl"]
    if any("libdevice." in s for s in sources):
        lines.append(f"from {math_module} import libdevice")
    helpers = dict.fromkeys(h for s in sources for h in scalars.helpers_of(s))
    if not any("libdevice." in s for s in sources) and any("libdevice." in h for h in helpers):
        lines.append(f"from {math_module} import libdevice")
    return "\n".join(lines) + "\n" + "".join(f"\n{h}" for h in helpers)


def _power_of_two(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def emit(kernel: Kernel, strides: Mapping[Node, Sequence[int]]) -> Launch:
    """The source of a kernel. ``strides`` has those of inputs, in elements; other arrays are row-major."""
    return _Emitter(kernel, strides).emit()


class _Emitter:
    """The text of one kernel.

    It has many methods: one for each part of a kernel's text, which share what is written so far.
    """

    def __init__(self, kernel: Kernel, strides: Mapping[Node, Sequence[int]]) -> None:
        self.kernel = kernel
        self.statements = {s.name: s for s in kernel.statements}
        self.reads = [s for s in kernel.statements if s.kind == "load"]
        self.loads = list(dict.fromkeys(s.node for s in self.reads if s.node is not None))
        self.numbers = list(dict.fromkeys(s.node for s in kernel.statements if s.kind == "number" and s.node))
        self.has_flag = any(s.kind == "lookup" for s in kernel.statements)
        self.offsets = {s.name: offset_of(s.at, strides.get(s.node) or row_major(s.node.shape)) for s in self.reads if s.node}  # fmt: skip
        self.store_offsets = {n: offset_of(at, row_major(n.shape)) for n, at in kernel.stores.items()}
        self.groups = self._merged_dimensions()
        kept = [n for d, n in enumerate(kernel.shape) if d not in kernel.reduced]
        self.rows = math.prod(kept)
        self.length = math.prod(n for d, n in enumerate(kernel.shape) if d in kernel.reduced)
        self.passes = max((s.level for s in kernel.statements if s.kind == "reduce"), default=0)
        self.wide = self._is_wide()
        self.integer = "tl.int64" if self.wide else "tl.int32"
        self.lines: list[str] = []
        self.indent = 1
        self.shape = "[1, 1]" if kernel.reduced else "[1]"
        self._choose_schedule()

    def _indices(self) -> list[Index]:
        positions = [i for s in self.kernel.statements if s.kind != "load" for i in s.at]
        tops = [*self.offsets.values(), *self.store_offsets.values(), *positions]
        return [i for top in tops for i in top.walk()]

    def _is_wide(self) -> bool:
        highs = [max(i.high, -i.low) for i in self._indices()]
        return max([*highs, self.rows, self.length]) >= WIDE

    def _merged_dimensions(self) -> list[list[int]]:
        """The space's dimensions, those together that every access runs through as through one."""
        shape, reduced = self.kernel.shape, self.kernel.reduced
        factors = [{a.dim: f for a, f in i.terms if isinstance(a, Coordinate)} for i in self._indices()]
        long = [d for d, n in enumerate(shape) if n != 1]
        groups = [[d] for d in long[:1]]
        for a, b in pairwise(long):
            one = (a in reduced) == (b in reduced) and all(f.get(a, 0) == f.get(b, 0) * shape[b] for f in factors)
            if one:
                groups[-1].append(b)
            else:
                groups.append([b])
        return groups

    def _choose_schedule(self) -> None:
        """The tile: one row of reduced elements, or several, or many rows where those lie side by side."""
        if not self.kernel.reduced:
            self.persistent, self.constants, self.num_warps = True, {"XBLOCK": BLOCK}, 4
            return
        width = _power_of_two(self.length)
        scans = any(s.kind == "scan" for s in self.kernel.statements)
        side_by_side = self._rows_are_inner() and not scans
        self.persistent = scans or (width <= PERSISTENT_LIMIT and not (side_by_side and width > TILE // 32))
        if self.persistent:
            rows, columns = max(1, TILE // width), width
        elif side_by_side:
            rows, columns = 64, TILE // 64
        else:
            rows, columns = 1, TILE
        rows = max(min(rows, _power_of_two(self.rows)), _power_of_two(-(-self.rows // MOST_PROGRAMS)))
        self.constants = {"XBLOCK": rows, "RBLOCK": columns}
        self.num_warps = 8 if rows * columns >= 4096 else 4

    def _rows_are_inner(self) -> bool:
        """Whether neighbours in memory belong to different rows, in most of what is read."""
        votes = 0
        for s in self.reads:
            if s.depends != {"x", "r"}:
                continue  # small, and read again and again
            smallest = min(((abs(f), a.dim in self.kernel.reduced) for a, f in self.offsets[s.name].terms if isinstance(a, Coordinate)), default=(0, True))  # fmt: skip
            votes += -1 if smallest[1] else 1
        return votes > 0

    # Text

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def emit(self) -> Launch:
        kernel = self.kernel
        launch = Launch(
            "", "", tuple(self.loads), tuple(self.numbers), tuple(kernel.stores), self.has_flag, self.rows,
            self.constants, self.num_warps, any(s.kind == "random" for s in kernel.statements),
            self.length, self.persistent,
        )  # fmt: skip
        constants = [f"{c}: tl.constexpr" for c in self.constants]
        no = [p for p in launch.parameters if p.startswith("n")]
        decorator = f"@triton.jit(do_not_specialize={no})" if no else "@triton.jit"
        self.lines = []
        self._rows()
        for s in kernel.statements:
            if s.kind in ("number", "constant"):
                self.line(f"{s.name} = {self._expression(s)}")
        if not kernel.reduced:
            self._straight([s for s in kernel.statements if s.kind not in ("number", "constant")])
            self._stores(lambda s: True)
        elif self.persistent:
            self._reduced_elements("tl.arange(0, RBLOCK)[None, :]")
            self._straight([s for s in kernel.statements if s.kind not in ("number", "constant")])
            self._stores(lambda s: True)
        else:
            self._looped()
        parameters, body = ", ".join(launch.parameters + constants), "\n".join(self.lines)
        name = self._name(f"{decorator}{parameters}{body}")
        return replace(launch, name=name, source=f"{decorator}\ndef {name}({parameters}):\n{body}\n")

    def _name(self, text: str) -> str:
        """A name by operations and text: equal kernels of a program's many layers have one name, and are compiled once."""
        said = [s.node.parameters["name"] if s.kind == "reduce" and s.node else s.kind for s in self.kernel.statements]
        operations = [n for n in dict.fromkeys(said) if n not in _NO_OPERATIONS]
        return "_".join(["fused", *operations[:NAMED], hashlib.sha256(text.encode()).hexdigest()[:8]])

    def _rows(self) -> None:
        program = f"tl.program_id(0).to({self.integer})" if self.wide else "tl.program_id(0)"
        columns = "[:, None]" if self.kernel.reduced else ""
        self.line(f"x = {program} * XBLOCK + tl.arange(0, XBLOCK){columns}")
        self.line(f"xmask = x < {self.rows}")
        self._coordinates("x")

    def _reduced_elements(self, text: str) -> None:
        self.line(f"r = ({text}).to(tl.int64)" if self.wide else f"r = {text}")
        self.line(f"rmask = r < {self.length}")
        self._coordinates("r")
        self.line("mask = xmask & rmask")

    def _coordinates(self, axis: str) -> None:
        """The position along each group of dimensions, where there are several."""
        groups = [g for g in self.groups if self._axis(g) == axis]
        if len(groups) < 2:
            return
        inner = 1
        for group in reversed(groups):
            size = math.prod(self.kernel.shape[d] for d in group)
            text = axis if inner == 1 else f"{axis} // {inner}"
            if group is not groups[0]:
                text = f"{text} % {size}" if inner == 1 else f"({text}) % {size}"
            self.line(f"{self._group_name(group)} = {text}")
            inner *= size

    def _axis(self, group: list[int]) -> str:
        return "r" if group[0] in self.kernel.reduced else "x"

    def _group_name(self, group: list[int]) -> str:
        axis = self._axis(group)
        groups = [g for g in self.groups if self._axis(g) == axis]
        return axis if len(groups) == 1 else f"{axis}{groups.index(group)}"

    def _index(self, index: Index) -> str:
        """The text of an index; the coordinates of a group go through the last of its dimensions."""
        last = {g[-1]: g for g in self.groups}
        parts = []
        for atom, factor in index.terms:
            if isinstance(atom, Coordinate):
                if atom.dim not in last:
                    continue
                text = self._group_name(last[atom.dim])
            elif isinstance(atom, Part):
                text = f"(({self._index(atom.index)}) {atom.operator} {atom.by})"
            elif isinstance(atom, Within):
                text = f"({self._index(atom.index)})"
            else:
                text = atom.name
            parts.append(text if factor == 1 else f"{text} * {factor}")
        if index.constant or not parts:
            parts.append(str(index.constant))
        return " + ".join(parts).replace("+ -", "- ")

    def _depends(self, index: Index) -> set[str]:
        found: set[str] = set()
        for i in index.walk():
            for atom, _ in i.terms:
                if isinstance(atom, Coordinate):
                    found.add("r" if atom.dim in self.kernel.reduced else "x")
                elif isinstance(atom, Looked):
                    found |= self.statements[atom.name].depends
        return found

    def _block(self, index: Index, also: set[str] | frozenset[str] = frozenset()) -> str:
        """An offset as a block, which has the axes ``also`` even where it does not depend on them."""
        text = self._index(index)
        depends = self._depends(index)
        for axis in sorted(set(also) - depends):
            text += f" + 0 * {axis}"
        if not depends and not also:
            return f"tl.full({self.shape}, {text}, {self.integer})"
        return text

    def _mask(self, depends: set[str] | frozenset[str], guards: Sequence[str] = ()) -> str:
        axes = {"x": "xmask", "r": "rmask"}
        own = ["mask"] if {"x", "r"} <= set(depends) else [axes[d] for d in sorted(depends)]
        return " & ".join([*own, *guards])

    def _straight(self, statements: Sequence[Statement]) -> None:
        for s in statements:
            if s.kind == "reduce":
                self._reduce_tile(s)
            else:
                self._statement(s)

    def _statement(self, s: Statement) -> None:
        if s.kind == "lookup":
            value, size = s.operands
            known = self.statements[value]
            text = value if known.dtype.bits == 64 and known.dtype.kind == "i" else f"{value}.to(tl.int64)"
            self.line(f"{s.name} = tl.where({text} < 0, {text} + {size}, {text})")
            mask = self._mask(s.depends, s.guards)
            outside = f"(({s.name} < 0) | ({s.name} >= {size}))"
            self.line(f"tl.store(flag + {s.name} * 0, 1, {outside}{' & ' + mask if mask else ''})")
            self.line(f"{s.name} = tl.where({outside}, {s.name} * 0, {s.name})")
            return
        self.line(f"{s.name} = {self._expression(s)}")

    def _expression(self, s: Statement) -> str:
        own = scalars.triton_dtype(s.dtype)
        if s.kind == "load":
            guards = {d for g in s.guards for d in self.statements[g].depends}
            depends = self._depends(self.offsets[s.name]) | guards
            mask = self._mask(depends, s.guards)
            pointer = f"in{self.loads.index(s.node)} + {self._block(self.offsets[s.name], guards)}" if s.node else ""
            return f"tl.load({pointer}, {mask}, other=0)" if mask else f"tl.load({pointer})"
        if s.kind == "number":
            bits = f"tl.full({self.shape}, n{self.numbers.index(s.node)}, tl.int64)" if s.node else ""
            if s.dtype.kind == "f":
                return f"{bits}.to(tl.float64, bitcast=True)"
            return f"{bits} != 0" if s.dtype.kind == "b" else bits
        if s.kind == "constant":
            return scalars.literal(s.operands[0], s.dtype, self.shape)
        if s.kind == "position":
            text = self._block(s.at[0])
            return f"({text}).to({own})"
        if s.kind == "scan" and s.node is not None:
            wide = self._accumulated(s.dtype)
            block = f"tl.broadcast_to({s.operands[0]}.to({scalars.triton_dtype(wide)}), [XBLOCK, RBLOCK])"
            text = f"tl.{s.node.parameters['name']}({block}, 1)"
            return text if wide is s.dtype else f"{text}.to({own})"
        if s.kind == "random" and s.node is not None:
            drawn = s.node.parameters
            function, place = f"{drawn['name']}_{s.dtype.bits}", self._block(s.at[0], s.depends)
            numbers = ", ".join(scalars.literal(drawn[x], s.dtype, self.shape) for x in ("low", "high"))
            return f"{function}(seeds + {drawn['number']}, {place}, {numbers})"
        if s.kind in ("before", "after"):
            return f"({self._block(s.at[0])}) {'<' if s.kind == 'before' else '>='} {s.operands[0]}"
        if s.kind == "choose":
            return f"tl.where({', '.join(s.operands)})"
        operands = [self.statements[x].dtype for x in s.operands]
        if s.kind == "convert_element_type":
            return scalars.convert(s.operands[0], operands[0], s.dtype)
        return scalars.spell(s.kind, operands[-1], s.dtype, list(s.operands))

    def _stores(self, wanted: Callable[[Statement], bool]) -> None:
        for k, node in enumerate(self.kernel.stores):
            s = self.statements[self.kernel.stored[node]]
            if not wanted(s):
                continue
            full = bool(self.kernel.reduced) and self._is_full(node)
            axes = {"x", "r"} if full else {"x"}
            offset = self._block(self.store_offsets[node], axes)
            self.line(f"tl.store(out{k} + {offset}, {s.name}, {self._mask(axes)})")

    def _is_full(self, node: Node) -> bool:
        return node.size == math.prod(self.kernel.shape)

    # Reductions

    def _looped(self) -> None:
        kernel = self.kernel
        done: set[str] = {s.name for s in kernel.statements if s.kind in ("number", "constant")}
        for level in range(self.passes + 1):
            for s in kernel.statements:
                if s.name not in done and "r" not in s.depends and s.level <= level and s.kind != "reduce":
                    self._statement(s)
                    done.add(s.name)
            reductions = [s for s in kernel.statements if s.kind == "reduce" and s.level == level + 1]
            stores = [n for n in kernel.stores if self._is_full(n) and self.statements[kernel.stored[n]].level == level]
            needed = self._needed([*(s.operands[0] for s in reductions), *(kernel.stored[n] for n in stores)])
            if not reductions and not stores:
                continue
            for s in reductions:
                for name, start in self._accumulators(s):
                    self.line(f"{name} = {start}")
            self.line(f"for start in range(0, {self.length}, RBLOCK):")
            self.indent += 1
            self._reduced_elements("start + tl.arange(0, RBLOCK)[None, :]")
            self._straight([s for s in kernel.statements if s.name in needed and "r" in s.depends])
            for s in reductions:
                self._accumulate(s)
            self._stores(lambda s, at=level: self._stored_full(s) and s.level == at)
            self.indent -= 1
            for s in reductions:
                self.line(f"{s.name} = {self._finished(s)}")
                done.add(s.name)
        self._stores(lambda s: not self._stored_full(s))

    def _stored_full(self, s: Statement) -> bool:
        return any(self.kernel.stored[n] == s.name and self._is_full(n) for n in self.kernel.stores)

    def _needed(self, names: Sequence[str]) -> set[str]:
        found: set[str] = set()
        stack = list(names)
        while stack:
            name = stack.pop()
            if name in found:
                continue
            found.add(name)
            s = self.statements[name]
            if s.kind != "reduce":
                stack += [x for x in (*s.operands, *s.guards) if isinstance(x, str)]
                stack += [a.name for top in s.at for i in top.walk() for a, _ in i.terms if isinstance(a, Looked)]
        return found

    def _operator(self, s: Statement) -> tuple[str, DType]:
        """Which reduction a statement is, and in which dtype it accumulates."""
        assert s.node is not None
        name = s.node.parameters["name"]
        dtype = s.node.sources[0].dtype
        if dtype.kind == "b" and not name.startswith("arg"):
            return {"sum": "any", "amax": "any", "prod": "all", "amin": "all"}.get(name, name), dtypes.int32
        return name, self._accumulated(dtype)

    def _accumulated(self, dtype: DType) -> DType:
        """In which dtype values are added up."""
        if dtype.kind == "f":
            return scalars.compute_dtype(dtype)
        if dtype.kind == "b" or dtype.bits < 32:
            return dtypes.uint32 if dtype.kind == "u" else dtypes.int32
        return dtype

    def _identity(self, name: str, dtype: DType) -> str:
        if name in ("sum", "any"):
            return "0"
        if name in ("prod", "all"):
            return "1"
        least = name in ("amax", "argmax")
        if dtype.kind == "f":
            return "-float('inf')" if least else "float('inf')"
        low, high = dtype.limits
        return str(low if least else high)

    def _full(self, value: str, dtype: DType, rows: str = "[XBLOCK, RBLOCK]") -> str:
        return f"tl.full({rows}, {value}, {scalars.triton_dtype(dtype)})"

    def _accumulators(self, s: Statement) -> list[tuple[str, str]]:
        name, dtype = self._operator(s)
        start = [(f"{s.name}_all", self._full(self._identity(name, dtype), dtype))]
        if name.startswith("arg"):
            none = self._full(str(self.length), dtypes.int64 if self.wide else dtypes.int32)
            start += [(f"{s.name}_at", none), (f"{s.name}_nan", none)]
        return start

    def _operand(self, s: Statement, dtype: DType) -> str:
        source = self.statements[s.operands[0]]
        text = f"{source.name}.to({scalars.triton_dtype(dtype)})"
        return source.name if source.dtype is dtype else text

    def _accumulate(self, s: Statement) -> None:
        name, dtype = self._operator(s)
        v, acc = self._operand(s, dtype), f"{s.name}_all"
        if name.startswith("arg"):
            self._accumulate_position(s, v, acc, ">" if name == "argmax" else "<")
            return
        if name in ("amax", "amin"):
            order = ">=" if name == "amax" else "<="
            nan = f" | ({acc} != {acc})" if dtype.kind == "f" else ""
            text = f"tl.where(({acc} {order} {v}){nan}, {acc}, {v})"
        else:
            text = f"{acc} {_OPERATORS[name]} {v}"
        self.line(f"{acc} = tl.where(mask, {text}, {acc})")

    def _accumulate_position(self, s: Statement, v: str, acc: str, order: str) -> None:
        at = f"{s.name}_at"
        self.line(f"better = mask & (({v} {order} {acc}) | (({v} == {acc}) & ({at} == {self.length})))")
        self.line(f"{acc} = tl.where(better, {v}, {acc})")
        self.line(f"{at} = tl.where(better, r, {at})")
        self.line(f"{s.name}_nan = tl.where(mask & ({v} != {v}) & (r < {s.name}_nan), r, {s.name}_nan)")

    def _reduce_tile(self, s: Statement) -> None:
        """A reduction whose elements are all in the tile."""
        name, dtype = self._operator(s)
        v = self._operand(s, dtype)
        if name.startswith("arg"):
            keep = f"mask & ({v} == {v})" if dtype.kind == "f" else "mask"
            self.line(f"{s.name}_all = tl.where({keep}, {v}, {self._identity(name, dtype)})")
            self.line(f"{s.name}_at = tl.where({keep}, r, {self.length})")
            self.line(f"{s.name}_nan = tl.where(mask & ({v} != {v}), r, {self.length})")
        else:
            self.line(f"{s.name}_all = tl.where(mask, {v}, {self._identity(name, dtype)})")
        self.line(f"{s.name} = {self._finished(s)}")

    def _finished(self, s: Statement) -> str:
        """The result of a tile of accumulated values."""
        name, dtype = self._operator(s)
        acc, keep = f"{s.name}_all", "1, keep_dims=True"
        own = scalars.triton_dtype(s.dtype)
        if name.startswith("arg"):
            best = f"tl.{'max' if name == 'argmax' else 'min'}({acc}, {keep})"
            at = f"tl.min(tl.where({acc} == {best}, {s.name}_at, {self.length}), {keep})"
            nan = f"tl.min({s.name}_nan, {keep})"
            return f"tl.where({nan} < {self.length}, {nan}, {at}).to({own})"
        if name in ("any", "all"):
            return f"tl.{'max' if name == 'any' else 'min'}({acc}, {keep}) != 0"
        if name == "prod":
            text = f"tl.reduce({acc}, 1, multiply, keep_dims=True)"
        elif name == "sum":
            text = f"tl.sum({acc}, {keep})"
        else:
            function, edge = ("tl.max", "-float('inf')") if name == "amax" else ("tl.min", "float('inf')")
            if dtype.kind == "f":
                rest = f"{function}(tl.where({acc} != {acc}, {edge}, {acc}), {keep})"
                text = f"tl.where(tl.max(({acc} != {acc}).to(tl.int32), {keep}) > 0, float('nan'), {rest})"
            else:
                text = f"{function}({acc}, {keep})"
        return text if dtype is s.dtype else f"{text}.to({own})"
