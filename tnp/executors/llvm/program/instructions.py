"""The instructions of the program IR as LLVM IR: a table by operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm import scalars, target
from tnp.executors.llvm.code import Code, extreme
from tnp.executors.llvm.program.integers import Int
from tnp.executors.llvm.program.ir import Block, Cell, Constant, Instruction, Register
from tnp.executors.llvm.routines import routine
from tnp.executors.llvm.scalars.registers import Value

__all__ = [
    "DOMAIN", "RARELY", "SCOPES", "SHAPES", "SLOTS", "UNPREDICTABLE", "USUALLY", "Writer", "type_of", "weight",
]  # fmt: skip

#: the arguments of functions: where the arrays of a call are, and where the dimensions of its results go
SLOTS, SHAPES = Register(None, "%slots"), Register(None, "%shapes")

#: metadata: weights of a branch whose first way is the usual one, or whose second is; a branch that cannot be predicted
USUALLY, RARELY, UNPREDICTABLE = 0, 1, 2
#: the domain of the scopes of memories, and the first of these
DOMAIN, SCOPES = 3, 4

#: what a call of a function of another library counts in instructions, and a copy of memory
CALL, COPY = 16, 1 << 12


class Writer:
    """The text of a function that is made of instructions without branches."""

    def __init__(self, code: Code) -> None:
        self.code = code
        #: allocas, which stand where the function begins
        self.entry = Code(code)
        self.entry._count = 2_000_000
        self.values: dict[Register, Value] = {SLOTS: "%slots", SHAPES: "%shapes"}
        self.cells: dict[Cell, str] = {}
        #: integers that have been written, by scope
        self._integers: list[dict[Int, str]] = [{}]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Integers that are written inside are not there behind it."""
        self._integers.append({})
        yield
        self._integers.pop()

    def block(self, block: Block) -> None:
        """Writes instructions."""
        for item in block:
            assert isinstance(item, Instruction)
            self.instruction(item)

    def instruction(self, x: Instruction) -> None:
        value = _TABLE[x.op](self, x)
        if x.result is not None:
            self.values[x.result] = value

    def operand(self, x: Any) -> Any:
        """The text of an operand; of a complex one, two."""
        if isinstance(x, Int):
            return self.integer(x)
        return x.text if isinstance(x, Constant) else self.values[x]

    def integer(self, x: Int) -> str:
        """The operand of an integer."""
        if not x.terms:
            return str(x.constant)
        for scope in reversed(self._integers):
            if x in scope:
                return scope[x]
        found = self._integers[-1][x] = self._written(x)
        return found

    def _written(self, x: Int) -> str:
        total, so_far = "", Int(0)

        def nsw(part: Int) -> str:
            # What is added up may wrap though the whole does not. Of an offset in memory, whose bounds are none, nothing does.
            return "" if x.fits and not part.fits else "nsw "

        for atom, factor in x.terms.items():
            part = Int(0, {atom: factor})
            first, *others = atom.factors
            product = self.values[first.register]
            for other in others:
                product = self.code.op(f"mul {nsw(part)}i64 {product}, {self.values[other.register]}")
            term = product if factor == 1 else self.code.op(f"mul {nsw(part)}i64 {product}, {factor}")
            so_far += part
            total = term if not total else self.code.op(f"add {nsw(so_far)}i64 {total}, {term}")
        return self.code.op(f"add {nsw(x)}i64 {total}, {x.constant}") if x.constant else total

    def place(self, cell: Cell) -> str:
        """The address of a variable."""
        if cell not in self.cells:
            size = 16 if cell.dtype is None else max(16, cell.dtype.itemsize)
            self.cells[cell] = self.entry.op(f"alloca [{size} x i8], align 16")
        return self.cells[cell]

    def load(self, pointer: str, dtype: DType | None, metadata: str = "") -> Value:
        if dtype is None:
            return self.code.op(f"load ptr, ptr {pointer}")
        return scalars.load(self.code, pointer, dtype, metadata)

    def store(self, value: Value, pointer: str, dtype: DType | None, metadata: str = "") -> None:
        if dtype is None:
            self.code.line(f"store ptr {value}, ptr {pointer}")
        else:
            scalars.store(self.code, value, pointer, dtype, metadata)

    def address(self, x: Instruction) -> str:
        pointer, offset = x.args[:2]
        base, moved = self.values[pointer], self.integer(offset)
        return base if moved == "0" else self.code.op(f"getelementptr i8, ptr {base}, i64 {moved}")


def type_of(dtype: DType | None) -> str:
    """LLVM's type of a register."""
    return "ptr" if dtype is None else scalars.register_type(dtype)


_TABLE: dict[str, Callable[[Writer, Instruction], Any]] = {}


def _writes(op: str) -> Callable[[Any], Any]:
    def decorate(f: Any) -> Any:
        _TABLE[op] = f
        return f

    return decorate


@_writes("apply")
def _apply(w: Writer, x: Instruction) -> Value:
    name, of = x.info
    return scalars.emit(w.code, name, [w.operand(a) for a in x.args], of)


@_writes("convert")
def _convert(w: Writer, x: Instruction) -> Value:
    assert x.result is not None and x.result.dtype is not None
    return scalars.convert(w.code, w.operand(x.args[0]), x.info, x.result.dtype)


@_writes("bitcast")
def _bitcast(w: Writer, x: Instruction) -> Value:
    assert x.result is not None and x.result.dtype is not None
    return scalars.bitcast(w.code, w.operand(x.args[0]), x.info, x.result.dtype)


@_writes("hidden")
def _hidden(w: Writer, x: Instruction) -> Value:
    """A number that LLVM does not know: it reads it where a pointer says that it is."""
    assert x.result is not None
    number, pointer = (w.entry.op(f"alloca {t}, align 16") for t in ("[16 x i8]", "ptr"))
    w.store(w.operand(x.args[0]), number, x.result.dtype)
    w.code.line(f"store ptr {number}, ptr {pointer}, align 8")
    return w.load(w.code.op(f"load volatile ptr, ptr {pointer}, align 8"), x.result.dtype)


@_writes("nothing")
def _nothing(w: Writer, x: Instruction) -> None:
    pass


@_writes("raw")
def _raw(w: Writer, x: Instruction) -> Value:
    op, dtype = x.info
    a, b = map(w.operand, x.args)
    return w.code.op(f"{op} {type_of(dtype)} {a}, {b}")


@_writes("extreme")
def _extreme(w: Writer, x: Instruction) -> Value:
    a, b = map(w.operand, x.args)
    return extreme(w.code, x.info, a, b)


@_writes("combine")
def _combine(w: Writer, x: Instruction) -> Value:
    a, b = map(w.operand, x.args)
    return scalars.reducer(*x.info).combine(w.code, a, b)


@_writes("multiply_add")
def _multiply_add(w: Writer, x: Instruction) -> Value:
    a, b, total = map(w.operand, x.args)
    return _fused(w.code, a, b, total, x.info)


def _fused(code: Code, a: Value, b: Value, total: Value, dtype: DType) -> Value:
    """``a * b + total`` as BLAS computes it: in any order, and rounded once or twice."""
    if dtype.kind == "c":
        part = dtypes.real_counterpart(dtype)
        re = _fused(code, a[0], b[0], total[0], part)
        im = _fused(code, a[0], b[1], total[1], part)
        minus = code.op(f"fneg {scalars.register_type(part)} {a[1]}")
        return _fused(code, minus, b[1], re, part), _fused(code, a[1], b[0], im, part)
    type_ = scalars.register_type(dtype)
    if dtype.kind == "f":
        product = code.op(f"fmul contract {type_} {a}, {b}")
        return code.op(f"fadd reassoc contract {type_} {total}, {product}")
    if dtype.kind == "b":
        return code.op(f"or i1 {total}, {code.op(f'and i1 {a}, {b}')}")
    return scalars.emit(code, "add", [scalars.emit(code, "mul", [a, b], dtype), total], dtype)


@_writes("exactly")
def _exactly(w: Writer, x: Instruction) -> Value:
    """The result of an operation on integers, and the second register: whether it overflows."""
    function = f"@llvm.{x.info}.with.overflow.i64"
    w.code.require(function, f"declare {{i64, i1}} {function}(i64, i64)")
    both = w.code.op(f"call {{i64, i1}} {function}(i64 {w.operand(x.args[0])}, i64 {w.operand(x.args[1])})")
    assert x.also is not None
    w.values[x.also] = w.code.op(f"extractvalue {{i64, i1}} {both}, 1")
    return w.code.op(f"extractvalue {{i64, i1}} {both}, 0")


@_writes("pow_of_c")
def _pow_of_c(w: Writer, x: Instruction) -> Value:
    """C's ``pow``, as Python's."""
    w.code.require("@pow", "declare double @pow(double, double)")
    a, b = map(w.operand, x.args)
    return w.code.op(f"call double @pow(double {a}, double {b}) nobuiltin")


@_writes("get")
def _get(w: Writer, x: Instruction) -> Value:
    return w.load(w.place(x.info), x.info.dtype)


@_writes("set")
def _set(w: Writer, x: Instruction) -> None:
    w.store(w.operand(x.args[0]), w.place(x.info), x.info.dtype)


@_writes("place")
def _place(w: Writer, x: Instruction) -> Value:
    return w.place(x.info)


@_writes("address")
def _address(w: Writer, x: Instruction) -> Value:
    return w.address(x)


def _alias(access: Any) -> str:
    if access is None:
        return ""
    own = SCOPES + 3 * access.memory.scope
    return f", !alias.scope !{own + 1}, !noalias !{own + 2}"


@_writes("load")
def _load(w: Writer, x: Instruction) -> Value:
    assert x.result is not None
    return w.load(w.address(x), x.result.dtype, _alias(x.info))


@_writes("store")
def _store(w: Writer, x: Instruction) -> None:
    dtype, access = x.info
    w.store(w.operand(x.args[2]), w.address(x), dtype, _alias(access))


@_writes("copy")
def _copy(w: Writer, x: Instruction) -> None:
    """Copies memory: to where, from where, and how many bytes."""
    memcpy = "@llvm.memcpy.p0.p0.i64"
    w.code.require(memcpy, f"declare void {memcpy}(ptr, ptr, i64, i1)")
    to, begin, count = map(w.operand, x.args)
    w.code.line(f"call void {memcpy}(ptr {to}, ptr {begin}, i64 {count}, i1 false)")


@_writes("in_place")
def _in_place(w: Writer, x: Instruction) -> None:
    """A routine for a matrix of some rows and columns, or for a row, in place."""
    op, dtype, *_ = x.info
    place, n, width = map(w.operand, x.args)
    w.code.line(f"call void {routine(w.code, op, dtype)}(ptr {place}, i64 {n}, i64 {width})")


@_writes("call")
def _call(w: Writer, x: Instruction) -> None:
    """A function without a result: ``info`` is its symbol, and the types of its parameters."""
    symbol, types = x.info
    w.code.require(symbol, f"declare void {symbol}({', '.join(types)})")
    w.code.line(f"call void {symbol}({', '.join(f'{t} {w.operand(a)}' for t, a in zip(types, x.args))})")


#: what takes more than an instruction
_WEIGHTS = {"copy": COPY, "pow_of_c": CALL, "load": 2, "store": 2}


def weight(x: Instruction) -> float:
    """What an instruction counts: about how many of LLVM's it is."""
    if x.op == "apply":
        return float(max(1, scalars.cost(*x.info)))
    if x.op == "in_place":
        return float(x.info[2])
    if x.op == "call":  # it takes as long as may go by between two polls
        return float(target.POLL_INSTRUCTIONS)
    affine = sum(2 * len(a.terms) for a in x.args if isinstance(a, Int))
    return float(_WEIGHTS.get(x.op, 1) + affine)
