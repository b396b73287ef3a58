"""How each elementwise prim is written in Triton.

A row is the prim's name, the kinds of dtype for which the spelling holds, and the text, with ``{a}``, ``{b}`` for the
operands. Where a kind needs another text, the prim has several rows; what no row covers is left to other executors.
Half precision is computed in float32 and rounded once an operation, as NumPy and torch do.

What is more than an expression is a helper: a function of :data:`HELPERS`, which the kernels that use it carry along.
"""

from __future__ import annotations

import re
from typing import Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import ROWS
from tnp.core.proxies import TensorProxy

__all__ = [
    "HELPERS",
    "SPELLINGS",
    "compute_dtype",
    "convert",
    "helpers_of",
    "literal",
    "spell",
    "supports",
    "triton_dtype",
]

_ROWS: tuple[tuple[str, str, str], ...] = (
    # one argument
    ("abs", "if", "tl.abs({a})"),
    ("abs", "bu", "{a}"),
    # C's functions, by their names in the table of operations, and one that only libdevice has
    *((row.name, "f", f"libdevice.{row.c}({{a}}{', {b}' * (row.nargs - 1)})") for row in ROWS if row.c),
    ("erfinv", "f", "libdevice.erfinv({a})"),
    *((name, "biu", "{a}") for name in ("ceil", "floor", "trunc")),
    ("bitwise_not", "i", "~{a}"),
    ("bitwise_not", "u", "({a} ^ {ones})"),
    ("bitwise_not", "b", "({a} == 0)"),
    ("conj", "iuf", "{a}"),
    ("positive", "iuf", "{a}"),
    ("isfinite", "biu", "({a} == {a})"),
    ("isinf", "biu", "({a} != {a})"),
    ("isnan", "biu", "({a} != {a})"),
    ("isfinite", "f", "(tl.abs({a}) < float('inf'))"),
    ("isinf", "f", "(tl.abs({a}) == float('inf'))"),
    ("isnan", "f", "({a} != {a})"),
    ("logical_not", "biuf", "({a} == 0)"),
    ("neg", "iuf", "-{a}"),
    ("reciprocal", "f", "({one} {divided_by} {a})"),
    ("rsqrt", "f", "({one} {divided_by} {sqrt_a})"),
    ("sign", "if", "tl.where({a} > 0, {one}, tl.where({a} < 0, -{one}, {a}))"),
    ("sign", "u", "tl.where({a} != 0, {one}, {a})"),
    ("signbit", "f", "({bits_a} < 0)"),
    ("sqrt", "f", "{sqrt_a}"),
    ("square", "iuf", "({a} * {a})"),
    # two arguments
    *((name, "iuf", f"({{a}} {symbol} {{b}})") for name, symbol in (("add", "+"), ("sub", "-"), ("mul", "*"))),
    ("add", "b", "({a} | {b})"),
    ("mul", "b", "({a} & {b})"),
    ("div", "f", "({a} {divided_by} {b})"),
    *((name, "biuf", f"({{a}} {symbol} {{b}})") for name, symbol in (
        ("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="),
    )),
    *((name, "biu", f"({{a}} {symbol} {{b}})") for name, symbol in (
        ("bitwise_and", "&"), ("bitwise_or", "|"), ("bitwise_xor", "^"),
    )),
    *((f"logical_{name}", "biuf", f"(({{a}} != 0) {symbol} ({{b}} != 0))") for name, symbol in (
        ("and", "&"), ("or", "|"), ("xor", "^"),
    )),
    ("maximum", "biu", "tl.where({a} > {b}, {a}, {b})"),
    ("minimum", "biu", "tl.where({a} < {b}, {a}, {b})"),
    ("fmax", "biu", "tl.where({a} > {b}, {a}, {b})"),
    ("fmin", "biu", "tl.where({a} < {b}, {a}, {b})"),
    ("maximum", "f", "tl.where(({a} >= {b}) | ({a} != {a}), {a}, {b})"),
    ("minimum", "f", "tl.where(({a} <= {b}) | ({a} != {a}), {a}, {b})"),
    ("fmax", "f", "tl.where(({a} >= {b}) | ({b} != {b}), {a}, {b})"),
    ("fmin", "f", "tl.where(({a} <= {b}) | ({b} != {b}), {a}, {b})"),
    ("heaviside", "f", "tl.where({a} != {a}, {a}, tl.where({a} == 0, {b}, ({a} > 0).to({dtype})))"),
    *((name, "f", f"{name}({{a}}, {{b}})") for name in ("logaddexp", "logaddexp2", "remainder")),
    ("floor_divide", "f", "floor_divide_{bits}({a}, {b})"),
    *((name, "i", f"int_{name}({{a}}, {{b}})") for name in ("floor_divide", "remainder", "fmod")),
    *((name, "u", f"uint_{name}({{a}}, {{b}})") for name in ("floor_divide", "remainder", "fmod")),
    ("left_shift", "iu", "tl.where(({b} >= 0) & ({b} < {width}), {a} << tl.where(({b} >= 0) & ({b} < {width}), {b}, {zero}), {zero})"),
    ("right_shift", "i", "({a} >> tl.where(({b} >= 0) & ({b} < {width}), {b}, {last}))"),
    ("right_shift", "u", "tl.where({b} < {width}, {a} >> tl.where({b} < {width}, {b}, {zero}), {zero})"),
)  # fmt: skip

#: (prim, kind of dtype) → text
SPELLINGS: dict[str, dict[str, str]] = {}
for _name, _kinds, _text in _ROWS:
    SPELLINGS.setdefault(_name, {}).update(dict.fromkeys(_kinds, _text))

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum", "fmax", "fmin")

#: name → source. C's integer division truncates, is undefined for 0, and traps for the least integer by -1.
HELPERS: dict[str, str] = {
    "logaddexp": """
@triton.jit
def logaddexp(a, b):
    high = tl.where((a >= b) | (a != a), a, b)
    distance = tl.where(a == b, tl.zeros_like(high), tl.abs(a - b))
    return high + libdevice.log1p(libdevice.exp(-distance))
""",
    "logaddexp2": """
@triton.jit
def logaddexp2(a, b):
    high = tl.where((a >= b) | (a != a), a, b)
    distance = tl.where(a == b, tl.zeros_like(high), tl.abs(a - b))
    return high + libdevice.log1p(libdevice.exp2(-distance)) * 1.4426950408889634
""",
    "remainder": """
@triton.jit
def remainder(a, b):
    rest = libdevice.fmod(a, b)
    moved = tl.where((rest < 0) != (b < 0), rest + b, rest)
    return tl.where(rest == 0, libdevice.copysign(tl.zeros_like(rest), b), tl.where(rest != rest, rest, moved))
""",
    "int_floor_divide": """
@triton.jit
def int_floor_divide(a, b):
    by = tl.where((b == 0) | (b == -1), tl.full([1], 1, b.dtype), b)
    quotient = a // by
    below = (a - quotient * by != 0) & ((a < 0) != (by < 0))
    quotient = tl.where(below, quotient - 1, quotient)
    return tl.where(b == 0, tl.zeros_like(quotient), tl.where(b == -1, -a, quotient)).to(b.dtype)
""",
    "int_remainder": """
@triton.jit
def int_remainder(a, b):
    by = tl.where((b == 0) | (b == -1), tl.full([1], 1, b.dtype), b)
    rest = a - (a // by) * by
    rest = tl.where((rest != 0) & ((rest < 0) != (by < 0)), rest + by, rest)
    return tl.where((b == 0) | (b == -1), tl.zeros_like(rest), rest).to(b.dtype)
""",
    "int_fmod": """
@triton.jit
def int_fmod(a, b):
    by = tl.where((b == 0) | (b == -1), tl.full([1], 1, b.dtype), b)
    rest = a - (a // by) * by
    return tl.where((b == 0) | (b == -1), tl.zeros_like(rest), rest).to(b.dtype)
""",
    "uint_floor_divide": """
@triton.jit
def uint_floor_divide(a, b):
    by = tl.where(b == 0, tl.full([1], 1, b.dtype), b)
    return tl.where(b == 0, tl.zeros_like(by), a // by).to(b.dtype)
""",
    "uint_remainder": """
@triton.jit
def uint_remainder(a, b):
    by = tl.where(b == 0, tl.full([1], 1, b.dtype), b)
    return tl.where(b == 0, tl.zeros_like(by), a - (a // by) * by).to(b.dtype)
""",
    "multiply": """
@triton.jit
def multiply(a, b):
    return a * b
""",
}
#: Philox 4x32-10 (Salmon and others, SC 2011): the key is the seed, the counter the position of the element in row-major order. Of its words, float32
#: takes the upper 24 bits of one, float64 the upper 53 bits of two; normal numbers are Box and Muller's of two of these.
HELPERS["words"] = """
@triton.jit
def words(seed, place):
    at = place.to(tl.int64)
    low = (at & 0xFFFFFFFF).to(tl.uint32)
    high = (at >> 32).to(tl.uint32)
    return tl.philox(tl.load(seed), low, high, low * 0, low * 0)
"""
HELPERS["unit_32"] = """
@triton.jit
def unit_32(word, other):
    return (word >> 8).to(tl.int32).to(tl.float32) * 5.9604644775390625e-08
"""
HELPERS["unit_64"] = """
@triton.jit
def unit_64(word, other):
    bits = ((word.to(tl.uint64) << 32) | other.to(tl.uint64)) >> 11
    return bits.to(tl.int64).to(tl.float64) * tl.full([1], 1.1102230246251565e-16, tl.float64)
"""
for _bits in ("32", "64"):
    HELPERS[f"uniform_{_bits}"] = f"""
@triton.jit
def uniform_{_bits}(seed, place, low, high):
    a, b, c, d = words(seed, place)
    return unit_{_bits}(a, b) * (high - low) + low
"""
    HELPERS[f"normal_{_bits}"] = f"""
@triton.jit
def normal_{_bits}(seed, place, mean, deviation):
    a, b, c, d = words(seed, place)
    first, second = unit_{_bits}(a, b), unit_{_bits}(c, d)
    size = libdevice.sqrt(-2.0 * libdevice.log(1.0 - first))
    return size * libdevice.cos(6.283185307179586 * second) * deviation + mean
"""
for _bits, _exact, _quotient in ((32, "tl.div_rn(a, b)", "tl.div_rn(a - rest, b)"), (64, "a / b", "(a - rest) / b")):
    HELPERS[f"floor_divide_{_bits}"] = f"""
@triton.jit
def floor_divide_{_bits}(a, b):
    exact = {_exact}
    rest = libdevice.fmod(a, b)
    quotient = {_quotient}
    quotient = tl.where((rest != 0) & ((rest < 0) != (b < 0)), quotient - 1, quotient)
    below = libdevice.floor(quotient)
    whole = tl.where(quotient - below > 0.5, below + 1, below)
    whole = tl.where(quotient == 0, libdevice.copysign(tl.zeros_like(exact), exact), whole)
    return tl.where(b == 0, exact, whole)
"""
HELPERS["uint_fmod"] = HELPERS["uint_remainder"].replace("uint_remainder", "uint_fmod")

#: a name that is called or passed on
_USES = re.compile(r"(?<![.\w])\w+(?=[(,])")


def helpers_of(text: str) -> list[str]:
    """The sources of the helpers that a kernel calls, those that they call before them."""
    found: dict[str, None] = {}
    for name in dict.fromkeys(_USES.findall(text)):
        if name in HELPERS and name not in found:
            own = HELPERS[name]
            inner = helpers_of(own.replace(f"def {name}(", ""))
            found.update(dict.fromkeys([*inner, own]))
    return list(found)


def supports(name: str, dtype: DType, args: tuple[Any, ...] = ()) -> bool:
    """Whether an elementwise prim has a spelling for operands of that dtype."""
    if name == "where":
        return dtype.kind != "c"
    if dtype.kind not in SPELLINGS.get(name, {}):
        return False
    if name in ("nextafter",) and dtype.bits < 32:
        return False  # of float16, the next one is not that of float32
    shifts = name in ("left_shift", "right_shift")
    return not shifts or all(isinstance(a, TensorProxy) or (type(a) is int and 0 <= a < 2**7) for a in args)


def triton_dtype(dtype: DType) -> str:
    """``tl.float32``."""
    return "tl.int1" if dtype.kind == "b" else f"tl.{dtype.name}"


def compute_dtype(dtype: DType) -> DType:
    """In which dtype values of ``dtype`` are computed."""
    return dtypes.float32 if dtype.kind == "f" and dtype.bits < 32 else dtype


def literal(value: Any, dtype: DType, shape: str) -> str:
    """A number as a block of one element."""
    if dtype.kind == "f":
        text = repr(float(value))
        text = f"float('{text}')" if text in ("inf", "nan") else "-float('inf')" if text == "-inf" else text
    else:
        text = str(int(bool(value)) if dtype.kind == "b" else int(value))
    return f"tl.full({shape}, {text}, {triton_dtype(dtype)})"


def convert(text: str, source: DType, target: DType) -> str:
    """A value of ``source`` as one of ``target``, as C converts it."""
    if source is target:
        return text
    if target.kind == "b":
        return f"({text} != 0)"
    wanted = triton_dtype(target)
    if source.kind == "f" and target.kind in "iu" and target.bits < 64:
        # As processors do: to a wide integer, of which the low bits are kept.
        wide = "tl.int32" if target.bits < 32 else "tl.int64" if target.kind == "u" else wanted
        return f"{text}.to({wide}).to({wanted})" if wide != wanted else f"{text}.to({wide})"
    if source.kind in "iu" and source.bits > 32 and target.kind == "f" and target.bits < 32:
        return f"{text}.to(tl.float32).to({wanted})"
    return f"{text}.to({wanted})"


def spell(name: str, dtype: DType, result: DType, operands: list[str]) -> str:
    """The expression of a prim on operands of ``dtype``; its value is of ``result``."""
    if name == "where":
        return f"tl.where({operands[0]}, {operands[1]}, {operands[2]})"
    inner = compute_dtype(dtype)
    if dtype.kind == "b" and name in _COMPARISONS:  # the one bit of a bool has a sign
        operands = [f"{x}.to(tl.int8)" for x in operands]
        inner = dtypes.int8
    else:
        operands = [convert(x, dtype, inner) for x in operands]
    a, b = (operands + [""])[:2]
    single = inner is dtypes.float32
    text = SPELLINGS[name][dtype.kind]
    if "{divided_by}" in text and single:
        text = text.replace("({one} {divided_by} ", "tl.div_rn({one}, ").replace(
            "({a} {divided_by} ", "tl.div_rn({a}, "
        )
    fields = {
        "a": a, "b": b, "dtype": triton_dtype(inner), "divided_by": "/", "width": str(inner.bits), "last": _one(inner, inner.bits - 1),
        "one": _one(inner, 1), "zero": _one(inner, 0), "sqrt_a": f"tl.sqrt_rn({a})" if single else f"libdevice.sqrt({a})",
        "bits": str(inner.bits),
        "ones": _one(inner, 2**inner.bits - 1), "bits_a": f"{a}.to(tl.int{inner.bits}, bitcast=True)",
    }  # fmt: skip
    text = re.sub(r"\{(\w+)\}", lambda m: fields[m[1]], text)
    if result.kind == "b":
        return f"({text} != 0)" if inner.kind != "b" and name in ("maximum", "minimum", "fmax", "fmin") else text
    if dtype.kind == "b":
        return text
    return text if inner is result else f"{text}.to({triton_dtype(result)})"


def _one(dtype: DType, value: int) -> str:
    return f"tl.full([1], {value}, {triton_dtype(dtype)})"
