"""Values in registers, with Python operators that emit instructions.

Operations are written as expressions: ``select(a > 0, a, -a)`` appends a ``fcmp``, a ``fneg`` and a ``select``.

>>> from tnp.core import dtypes
>>> from tnp.executors.llvm.code import Code
>>> code = Code()
>>> a = Register(code, "%a", dtypes.float64)
>>> total = a * a + 1
>>> print(code.text())
  %t0 = fmul double %a, %a
  %t1 = fadd double %t0, 0x3FF0000000000000
"""

from __future__ import annotations

import ctypes
import math
import struct
from typing import TypeAlias

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm import vectormath
from tnp.executors.llvm.code import Code

__all__ = [
    "Complex", "Register", "Value", "complex_of", "constant", "intrinsic", "itemsize", "known_float", "libm", "memory_type",
    "register_type", "select", "value_of",
]  # fmt: skip

#: an operand's text; a complex value is two
Value: TypeAlias = "str | tuple[str, str]"

_REGISTER_TYPES = {
    dtypes.bool8: "i1",
    dtypes.float16: "half",
    dtypes.bfloat16: "i16",
    dtypes.float32: "float",
    dtypes.float64: "double",
    **{d: f"i{d.bits}" for d in dtypes.ALL if d.kind in "iu"},
}
_SUFFIXES = {"half": "f16", "float": "f32", "double": "f64"}


def register_type(dtype: DType) -> str:
    """The IR type of a value (of a part, if complex) in a register."""
    return _REGISTER_TYPES[dtypes.real_counterpart(dtype)]


def memory_type(dtype: DType) -> str:
    """The IR type of a value (of a part, if complex) in memory."""
    return "i8" if dtype.kind == "b" else register_type(dtype)


def itemsize(dtype: DType) -> int:
    """Bytes per element in memory."""
    return dtype.itemsize


def _integer_text(x: int, dtype: DType) -> str:
    low, high = dtype.limits
    if not low <= x <= high:
        raise OverflowError(f"Python integer {x} out of bounds for {dtype}")
    return str(x)


def _float_text(x: float, dtype: DType) -> str:
    if dtype is dtypes.float16:
        try:
            (bits,) = struct.unpack("<H", struct.pack("<e", x))
        except OverflowError:
            bits = 0xFC00 if x < 0 else 0x7C00
        return f"0xH{bits:04X}"
    if dtype is dtypes.bfloat16:
        (bits,) = struct.unpack("<I", bytes(ctypes.c_float(x)))
        return str(bits >> 16 | 0x40 if math.isnan(x) else (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)
    if dtype is dtypes.float32:
        x = ctypes.c_float(x).value
    (bits,) = struct.unpack("<Q", struct.pack("<d", x))
    return f"0x{bits:016X}"


def constant(x: bool | int | float | complex, dtype: DType) -> Value:
    """The operand for a Python number as ``dtype``.

    Raises ``OverflowError``, with NumPy's words, for an integer that does not fit.
    """
    kind = dtype.kind
    if kind == "c":
        part = dtypes.real_counterpart(dtype)
        return _float_text(float(x.real), part), _float_text(float(x.imag), part)
    if kind == "b":
        return "true" if x else "false"
    return _integer_text(int(x), dtype) if kind in "iu" else _float_text(float(x), dtype)


def known_float(text: str) -> float | None:
    """The number of a float32 or float64 constant's operand; ``None`` for a register."""
    if not text.startswith("0x"):
        return None
    return struct.unpack("<d", struct.pack("<Q", int(text, 16)))[0]


class Register:
    """A value of a real dtype. Comparisons give bools; integers divide and shift as LLVM does, not as NumPy.

    It has many methods: one for each of Python's operators.
    """

    __slots__ = ("code", "dtype", "text")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, code: Code, text: str, dtype: DType) -> None:
        self.code = code
        self.text = text
        self.dtype = dtype

    @property
    def type(self) -> str:
        """The IR type."""
        return _REGISTER_TYPES[self.dtype]

    def lift(self, x: Register | float) -> Register:
        """``x``, or the constant ``x`` of this dtype."""
        return x if isinstance(x, Register) else Register(self.code, constant(x, self.dtype), self.dtype)

    def _binary(self, floating: str, signed: str, unsigned: str, b: Register | float) -> Register:
        kind = self.dtype.kind
        if kind == "f":
            op = f"{floating} fast" if self.code.fast else floating
        else:
            op = signed if kind == "i" else unsigned
        b = self.lift(b)
        return Register(self.code, self.code.op(f"{op} {self.type} {self.text}, {b.text}"), self.dtype)

    def _compare(self, floating: str, signed: str, unsigned: str, b: Register | float) -> Register:
        kind = self.dtype.kind
        op = f"fcmp {floating}" if kind == "f" else f"icmp {signed if kind == 'i' else unsigned}"
        b = self.lift(b)
        return Register(self.code, self.code.op(f"{op} {self.type} {self.text}, {b.text}"), dtypes.bool8)

    def __add__(self, b: Register | float) -> Register:
        return self._binary("fadd", "add", "add", b)

    def __sub__(self, b: Register | float) -> Register:
        return self._binary("fsub", "sub", "sub", b)

    def __mul__(self, b: Register | float) -> Register:
        return self._binary("fmul", "mul", "mul", b)

    def __truediv__(self, b: Register | float) -> Register:
        return self._binary("fdiv", "sdiv", "udiv", b)

    def __radd__(self, a: float) -> Register:
        return self.lift(a) + self

    def __rsub__(self, a: float) -> Register:
        return self.lift(a) - self

    def __rmul__(self, a: float) -> Register:
        return self.lift(a) * self

    def __rtruediv__(self, a: float) -> Register:
        return self.lift(a) / self

    def __and__(self, b: Register | int) -> Register:
        return self._binary("", "and", "and", b)

    def __or__(self, b: Register | int) -> Register:
        return self._binary("", "or", "or", b)

    def __xor__(self, b: Register | int) -> Register:
        return self._binary("", "xor", "xor", b)

    def __lshift__(self, b: Register | int) -> Register:
        return self._binary("", "shl", "shl", b)

    def __rshift__(self, b: Register | int) -> Register:
        return self._binary("", "ashr", "lshr", b)

    def __invert__(self) -> Register:
        ones = "true" if self.dtype.kind == "b" else "-1"
        return Register(self.code, self.code.op(f"xor {self.type} {self.text}, {ones}"), self.dtype)

    def __neg__(self) -> Register:
        op = "fneg" if self.dtype.kind == "f" else "sub"
        zero = "" if self.dtype.kind == "f" else "0, "
        return Register(self.code, self.code.op(f"{op} {self.type} {zero}{self.text}"), self.dtype)

    def __eq__(self, b: Register | float) -> Register:  # type: ignore[override]
        return self._compare("oeq", "eq", "eq", b)

    def __ne__(self, b: Register | float) -> Register:  # type: ignore[override]
        return self._compare("une", "ne", "ne", b)

    def __lt__(self, b: Register | float) -> Register:
        return self._compare("olt", "slt", "ult", b)

    def __le__(self, b: Register | float) -> Register:
        return self._compare("ole", "sle", "ule", b)

    def __gt__(self, b: Register | float) -> Register:
        return self._compare("ogt", "sgt", "ugt", b)

    def __ge__(self, b: Register | float) -> Register:
        return self._compare("oge", "sge", "uge", b)

    def isnan(self) -> Register:
        """Whether the value, a floating one, is NaN."""
        return self._compare("uno", "", "", self)

    def bitcast(self, dtype: DType) -> Register:
        """The same bits as another dtype of that width; bool has none."""
        target = _REGISTER_TYPES[dtype]
        if target == self.type:
            return Register(self.code, self.text, dtype)
        return Register(self.code, self.code.op(f"bitcast {self.type} {self.text} to {target}"), dtype)

    def resize(self, dtype: DType) -> Register:
        """A bool or integer as another integer dtype: its low bits, or extended by its own sign."""
        source, target = 1 if self.dtype.kind == "b" else self.dtype.bits, dtype.bits
        if source == target:
            return Register(self.code, self.text, dtype)
        op = "trunc" if target < source else "sext" if self.dtype.kind == "i" else "zext"
        return Register(self.code, self.code.op(f"{op} {self.type} {self.text} to i{target}"), dtype)

    def to_float(self, dtype: DType) -> Register:
        """A bool, integer, float32 or float64 as float32 or float64."""
        if dtype is self.dtype:
            return self
        if self.dtype.kind == "f":
            op = "fpext" if dtype.bits > self.dtype.bits else "fptrunc"
        else:
            op = "sitofp" if self.dtype.kind == "i" else "uitofp"
        return Register(self.code, self.code.op(f"{op} {self.type} {self.text} to {_REGISTER_TYPES[dtype]}"), dtype)


def select(condition: Register, a: Register | float, b: Register | float) -> Register:
    """``a`` where ``condition``, else ``b``; one of the two may be a number. Both are computed."""
    known = a if isinstance(a, Register) else b
    assert isinstance(known, Register)
    a, b = known.lift(a), known.lift(b)
    text = known.code.op(f"select i1 {condition.text}, {known.type} {a.text}, {known.type} {b.text}")
    return Register(known.code, text, known.dtype)


def intrinsic(name: str, a: Register, *rest: Register | float, tail: str = "", flags: str = "") -> Register:
    """LLVM's ``name`` on values of one dtype; ``tail`` are further operands, with their types, and ``flags`` what it may neglect."""
    type_ = a.type
    function = f"@llvm.{name}.{_SUFFIXES.get(type_, type_)}"
    operands = [a, *(a.lift(x) for x in rest)]
    more = ", ".join(part.split()[0] for part in tail.split(",")) if tail else ""
    types = ", ".join([type_] * len(operands) + ([more] if more else []))
    a.code.require(function, f"declare {type_} {function}({types})")
    values = ", ".join([f"{type_} {x.text}" for x in operands] + ([tail] if tail else []))
    return Register(a.code, a.code.op(f"call {flags + ' ' if flags else ''}{type_} {function}({values})"), a.dtype)


def libm(name: str, *args: Register) -> Register:
    """A function of :mod:`vectormath` of float32 or float64 values."""
    a = args[0]
    return Register(a.code, vectormath.call(a.code, name, [x.text for x in args], a.dtype), a.dtype)


class Complex:
    """A value of a complex dtype: two registers. Its product is the plain formula, as NumPy's is."""

    __slots__ = ("im", "re")

    def __init__(self, re: Register, im: Register) -> None:
        self.re = re
        self.im = im

    def __add__(self, b: Complex) -> Complex:
        return Complex(self.re + b.re, self.im + b.im)

    def __sub__(self, b: Complex) -> Complex:
        return Complex(self.re - b.re, self.im - b.im)

    def __mul__(self, b: Complex) -> Complex:
        return Complex(self.re * b.re - self.im * b.im, self.re * b.im + self.im * b.re)

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def isnan(self) -> Register:
        """Whether a part is NaN."""
        return Register(
            self.re.code, self.re.code.op(f"fcmp uno {self.re.type} {self.re.text}, {self.im.text}"), dtypes.bool8
        )


def complex_of(code: Code, value: Value, dtype: DType) -> Complex:
    """A pair of operands as a :class:`Complex`; ``dtype`` is complex."""
    part = dtypes.real_counterpart(dtype)
    return Complex(Register(code, value[0], part), Register(code, value[1], part))


def value_of(x: Register | Complex | tuple[Register, ...]) -> Value:
    """The operand, or operands, of a result."""
    if isinstance(x, Register):
        return x.text
    if isinstance(x, Complex):
        return x.re.text, x.im.text
    return tuple(r.text for r in x)
