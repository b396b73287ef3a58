"""Conversions between dtypes, and from and to memory.

Floating numbers are converted to integers as C compilers for x86 do, which is NumPy's ``astype`` there: through the
signed 32- or 64-bit conversion instructions, which give the least integer for NaN and for overflow, and then the low
bits. NumPy on other processors gives other integers for those values. Of floats that do not fit uint32, NumPy's loops over arrays give
other integers than its scalars, which are converted by way of int64 (:func:`differs_in_arrays`).

bfloat16 is not LLVM's ``bfloat``, for which code generators lack operations, but 16 bits which are shifted to float32
and rounded back.

float16 is converted by the processor if it has instructions for it (x86-64-v3, ARM). Otherwise LLVM would call
functions of a compiler's library, which a process may lack, so it is converted by integer arithmetic on the bits.
"""

from __future__ import annotations

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.scalars.registers import (
    Register,
    Value,
    constant,
    intrinsic,
    memory_type,
    register_type,
    select,
)
from tnp.runtime.engine import target as processor

__all__ = ["NARROW", "bitcast", "convert", "differs_in_arrays", "load", "narrow", "store", "widen"]

#: floating dtypes that are computed in float32
NARROW = (dtypes.float16, dtypes.bfloat16)


def convert(code: Code, value: Value, source: DType, target: DType) -> Value:
    """NumPy's ``astype`` with unsafe casting."""
    if source is target:
        return value
    if source.kind == "c":
        part = dtypes.real_counterpart(source)
        if target.kind == "c":
            part_of_target = dtypes.real_counterpart(target)
            return tuple(convert(code, v, part, part_of_target) for v in value)
        if target.kind == "b":
            re, im = (Register(code, v, part) for v in value)
            return ((re != 0) | (im != 0)).text
        return convert(code, value[0], part, target)
    if target.kind == "c":
        part = dtypes.real_counterpart(target)
        return convert(code, value, source, part), constant(0.0, part)
    return _convert_real(Register(code, value, source), target).text


def differs_in_arrays(source: DType, target: DType) -> bool:
    """Whether NumPy converts a scalar by way of int64, and several elements at once in another way."""
    return target is dtypes.uint32 and source.kind in "fc"


def _convert_real(a: Register, target: DType) -> Register:
    if a.dtype is target:
        return a
    if a.dtype in NARROW:
        a = widen(a)
        if target is dtypes.uint32:
            return _to_signed(a, dtypes.int64).resize(target)
    if target.kind == "b":
        return a != 0
    if a.dtype.kind == "f":
        return _to_integer(a, target) if target.kind in "iu" else narrow(a, target)
    return a.resize(target) if target.kind in "iu" else _integer_to_float(a, target)


def _integer_to_float(a: Register, target: DType) -> Register:
    return narrow(a.to_float(dtypes.float64 if target is dtypes.float64 else dtypes.float32), target)


def _to_integer(a: Register, target: DType) -> Register:
    signed = dtypes.int64 if target.bits == 64 else dtypes.int32
    if target not in (dtypes.uint32, dtypes.uint64):
        return _to_signed(a, signed).resize(target)
    # Below 2**31 (2**63) as a signed integer; from there on what lies above that, with the top bit turned.
    half = 2 ** (target.bits - 1)
    above = a >= float(half)
    low = _to_signed(select(above, a - float(half), a), signed)
    return select(above, low ^ -half, low).bitcast(target)


def _to_signed(a: Register, target: DType) -> Register:
    """``a`` truncated, or the least integer. LLVM's conversion alone leaves what does not fit undefined."""
    fits = intrinsic("fabs", a) < 2.0 ** (target.bits - 1)
    integer = Register(a.code, a.code.op(f"fptosi {a.type} {a.text} to i{target.bits}"), target)
    return select(fits, integer, -(2 ** (target.bits - 1)))


def widen(a: Register) -> Register:
    """float16 or bfloat16 as float32; others as they are."""
    if a.dtype is dtypes.bfloat16:
        return (Register(a.code, a.text, dtypes.uint16).resize(dtypes.uint32) << 16).bitcast(dtypes.float32)
    if a.dtype is dtypes.float16:
        if not processor().converts_half:
            return _widen_half(a)
        return Register(a.code, a.code.op(f"fpext half {a.text} to float"), dtypes.float32)
    return a


def narrow(a: Register, target: DType) -> Register:
    """float32 or float64 rounded to any floating dtype, half to even."""
    if target is dtypes.bfloat16:
        bits = a.to_float(dtypes.float32).bitcast(dtypes.uint32)
        rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
        quiet = bits >> 16 | 0x40
        return Register(a.code, select(a.isnan(), quiet, rounded).resize(dtypes.uint16).text, target)
    if target is dtypes.float16:
        single = a if a.dtype is dtypes.float32 else _round_to_odd(a)
        if not processor().converts_half:
            return _narrow_to_half(single)
        return Register(a.code, a.code.op(f"fptrunc float {single.text} to half"), target)
    return a.to_float(target)


#: of float32: the exponent's lowest bit, infinity, the bit that NaNs which are quiet have; and by how much the exponent of float16 is less
_ONE, _INFINITY, _QUIET, _LESS = 1 << 23, 255 << 23, 1 << 22, (127 - 15) << 23


def _widen_half(a: Register) -> Register:
    """float16 as float32, exactly; NaNs become quiet, as processors make them."""
    bits = a.bitcast(dtypes.uint16).resize(dtypes.uint32)
    shifted = (bits & 0x7FFF) << 13
    normal = shifted + _LESS
    # A subnormal number gets a leading one, which is subtracted again: no operand is one that the processor might take for zero.
    small = _exactly("fsub", (normal + _ONE).bitcast(dtypes.float32), 2.0**-14).bitcast(dtypes.uint32)
    special = select(shifted == _INFINITY - 2 * _LESS, shifted.lift(_INFINITY), normal + _LESS | _QUIET)
    wide = select(shifted < _ONE, small, select(shifted < _INFINITY - 2 * _LESS, normal, special))
    return (wide | (bits & 0x8000) << 16).bitcast(dtypes.float32)


def _narrow_to_half(a: Register) -> Register:
    """float32 as float16, half to even."""
    bits = a.bitcast(dtypes.uint32)
    magnitude = bits & 0x7FFFFFFF
    normal = magnitude - _LESS + 0xFFF + (magnitude >> 13 & 1) >> 13  # infinity from 65520 on
    # 2**-24, the least subnormal number, is the last bit of what lies between 0.5 and 1: the sum is rounded to a multiple of it.
    half = 126 << 23
    small = _exactly("fadd", magnitude.bitcast(dtypes.float32), 0.5).bitcast(dtypes.uint32) - half
    special = select(magnitude > _INFINITY, magnitude >> 13 & 0x3FF | 0x7E00, bits.lift(0x7C00))
    made = select(magnitude < _LESS + _ONE, small, select(magnitude < _LESS + 31 * _ONE, normal, special))
    return (made | (bits >> 16 & 0x8000)).resize(dtypes.uint16).bitcast(dtypes.float16)


def _exactly(operation: str, a: Register, b: float) -> Register:
    """An operation of float32 that fast arithmetic must not change."""
    return Register(a.code, a.code.op(f"{operation} float {a.text}, {constant(b, dtypes.float32)}"), dtypes.float32)


def _round_to_odd(a: Register) -> Register:
    """float64 as the float32 that rounds to the same float16.

    Processors convert to float16 from float32 only. An inexact result whose last bit is odd is no tie of the second rounding
    (Boldo & Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
    """
    nearest = a.to_float(dtypes.float32)
    back = nearest.to_float(dtypes.float64)
    bits = nearest.bitcast(dtypes.int32)
    away = intrinsic("fabs", back) > intrinsic("fabs", a)
    inexact = (back < a) | (back > a)
    return ((bits - away.resize(dtypes.int32)) | inexact.resize(dtypes.int32)).bitcast(dtypes.float32)


def bitcast(code: Code, value: Value, source: DType, target: DType) -> Value:
    """The same bytes as another dtype of the same width."""
    if source is target:
        return value
    return _from_bits(_to_bits(code, value, source), target)


def _to_bits(code: Code, value: Value, source: DType) -> Register:
    """The bits as an unsigned integer."""
    if source.kind == "c":
        low, high = (Register(code, v, dtypes.float32).bitcast(dtypes.uint32).resize(dtypes.uint64) for v in value)
        return low | high << 32
    register = Register(code, value, source)
    if source.kind == "b":
        return register.resize(dtypes.uint8)
    return register.bitcast(_UNSIGNED[source.bits])


_UNSIGNED = {8: dtypes.uint8, 16: dtypes.uint16, 32: dtypes.uint32, 64: dtypes.uint64}


def _from_bits(bits: Register, target: DType) -> Value:
    if target.kind == "c":
        return tuple(b.resize(dtypes.uint32).bitcast(dtypes.float32).text for b in (bits, bits >> 32))
    return (bits != 0).text if target.kind == "b" else bits.bitcast(target).text


def _access(dtype: DType, metadata: str) -> str:
    alignment = dtypes.real_counterpart(dtype).itemsize
    comma = ", " if metadata and not metadata.lstrip().startswith(",") else ""
    return f", align {alignment}{comma}{metadata}"


def _imaginary_pointer(code: Code, pointer: str, dtype: DType) -> str:
    return code.op(f"getelementptr inbounds i8, ptr {pointer}, i64 {dtype.itemsize // 2}")


def load(code: Code, pointer: str, dtype: DType, metadata: str = "") -> Value:
    """The element at ``pointer``; ``metadata`` (``!alias.scope !1``) is attached to the instruction."""
    tail = _access(dtype, metadata)
    type_ = memory_type(dtype)
    value = code.op(f"load {type_}, ptr {pointer}{tail}")
    if dtype.kind == "b":
        return code.op(f"icmp ne i8 {value}, 0")
    if dtype.kind == "c":
        return value, code.op(f"load {type_}, ptr {_imaginary_pointer(code, pointer, dtype)}{tail}")
    return value


def store(code: Code, value: Value, pointer: str, dtype: DType, metadata: str = "") -> None:
    """Stores an element at ``pointer``."""
    tail = _access(dtype, metadata)
    type_ = memory_type(dtype)
    if dtype.kind == "c":
        re, im = value
        code.line(f"store {type_} {re}, ptr {pointer}{tail}")
        pointer = _imaginary_pointer(code, pointer, dtype)
        value = im
    elif dtype.kind == "b":
        value = code.op(f"zext {register_type(dtype)} {value} to i8")
    code.line(f"store {type_} {value}, ptr {pointer}{tail}")
