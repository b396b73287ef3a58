"""How each elementwise prim is written in C++, for CuPy's kernels and for a compiler of the host alike.

A row is the prim's name, the kinds of dtype for which the spelling holds, and the text, with ``{a}``, ``{b}`` for the
operands, ``{T}`` for their type and ``{last}`` for its highest bit. What no row covers is left to other executors, as
are half precision and complex numbers.
"""

from __future__ import annotations

import re
from typing import Any

from tnp.core.dtypes import DType
from tnp.core.elementwise_table import ROWS

__all__ = ["HELPERS", "SPELLINGS", "TYPES", "helpers_of", "literal", "spell"]

#: dtype → the type in C++, which is what CuPy takes the dtype's name for
TYPES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long", "uint8": "unsigned char",
    "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long", "float32": "float", "float64": "double",
}  # fmt: skip

_ROWS: tuple[tuple[str, str, str], ...] = (
    ("abs", "f", "fabs({a})"),
    ("abs", "i", "({a} < 0 ? -{a} : {a})"),
    ("abs", "bu", "{a}"),
    # C's own functions, by their names in the table of operations
    *((row.name, "f", f"{row.c}({{a}}{', {b}' * (row.nargs - 1)})") for row in ROWS if row.c),
    *((name, "biu", "{a}") for name in ("ceil", "floor", "trunc")),
    ("bitwise_not", "iu", "~{a}"),
    ("bitwise_not", "b", "!{a}"),
    *((name, "iuf", "{a}") for name in ("conj", "positive")),
    *((name, "f", f"{name}({{a}})") for name in ("isfinite", "isinf", "isnan", "signbit")),
    ("isfinite", "biu", "true"),
    *((name, "biu", "false") for name in ("isinf", "isnan")),
    ("logical_not", "biuf", "{a} == 0"),
    ("neg", "iuf", "-{a}"),
    ("reciprocal", "f", "1 / {a}"),
    ("rsqrt", "f", "1 / sqrt({a})"),
    ("sign", "if", "({a} > 0 ? 1 : {a} < 0 ? -1 : {a})"),
    ("sign", "u", "{a} != 0"),
    ("square", "iuf", "{a} * {a}"),
    # two arguments
    *((name, "iuf", f"{{a}} {symbol} {{b}}") for name, symbol in (("add", "+"), ("sub", "-"), ("mul", "*"))),
    ("add", "b", "{a} || {b}"),
    ("mul", "b", "{a} && {b}"),
    ("div", "f", "{a} / {b}"),
    *((name, "biuf", f"{{a}} {symbol} {{b}}") for name, symbol in (
        ("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="),
    )),
    *((name, "biu", f"{{a}} {symbol} {{b}}") for name, symbol in (
        ("bitwise_and", "&"), ("bitwise_or", "|"), ("bitwise_xor", "^"),
    )),
    ("logical_and", "biuf", "{a} != 0 && {b} != 0"),
    ("logical_or", "biuf", "{a} != 0 || {b} != 0"),
    ("logical_xor", "biuf", "({a} != 0) != ({b} != 0)"),
    *((name, "biu", f"({{a}} {symbol} {{b}} ? {{a}} : {{b}})") for name, symbol in (
        ("maximum", ">"), ("fmax", ">"), ("minimum", "<"), ("fmin", "<"),
    )),
    # NaNs go through maximum and minimum, and lose against numbers in the others; of two zeros the first is taken
    *((name, "f", f"({{a}} {symbol} {{b}} || {{{nan}}} != {{{nan}}} ? {{a}} : {{b}})") for name, symbol, nan in (
        ("maximum", ">=", "a"), ("minimum", "<=", "a"), ("fmax", ">=", "b"), ("fmin", "<=", "b"),
    )),
    ("heaviside", "f", "({a} != {a} ? {a} : {a} == 0 ? {b} : {a} > 0)"),
    *((name, "iu", f"tnp_int_{name}<{{T}}>({{a}}, {{b}})") for name in ("floor_divide", "fmod", "remainder")),
    ("remainder", "f", "tnp_remainder<{T}>({a}, {b})"),
    ("floor_divide", "f", "tnp_floor_divide<{T}>({a}, {b})"),
    *((name, "f", f"tnp_{name}<{{T}}>({{a}}, {{b}})") for name in ("logaddexp", "logaddexp2")),
    ("left_shift", "iu", "tnp_left_shift<{T}, {last}>({a}, {b})"),
    ("right_shift", "iu", "tnp_right_shift<{T}, {last}>({a}, {b})"),
)  # fmt: skip

#: (prim, kind of dtype) → text
SPELLINGS: dict[str, dict[str, str]] = {}
for _name, _kinds, _text in _ROWS:
    SPELLINGS.setdefault(_name, {}).update(dict.fromkeys(_kinds, _text))

#: name → source. Division by zero, and of the least integer by -1, is undefined in C++.
HELPERS: dict[str, str] = {
    "tnp_int_floor_divide": """
template <typename T> __device__ T tnp_int_floor_divide(T a, T b) {
  if (b == 0) return 0;
  if (T(-1) < T(0) && b == T(-1)) return T(0) - a;
  T q = a / b;
  return q - T((a - q * b != 0) && ((a < 0) != (b < 0)));
}
""",
    "tnp_int_remainder": """
template <typename T> __device__ T tnp_int_remainder(T a, T b) {
  if (b == 0 || (T(-1) < T(0) && b == T(-1))) return 0;
  T r = a % b;
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}
""",
    "tnp_int_fmod": """
template <typename T> __device__ T tnp_int_fmod(T a, T b) {
  return b == 0 || (T(-1) < T(0) && b == T(-1)) ? T(0) : T(a % b);
}
""",
    "tnp_remainder": """
template <typename T> __device__ T tnp_remainder(T a, T b) {
  T r = fmod(a, b);
  if (r == 0) return copysign(T(0), b);
  return (r < 0) != (b < 0) ? r + b : r;
}
""",
    "tnp_floor_divide": """
template <typename T> __device__ T tnp_floor_divide(T a, T b) {
  if (b == 0) return a / b;
  T r = fmod(a, b);
  T q = (a - r) / b;
  if (r != 0 && ((r < 0) != (b < 0))) q = q - 1;
  if (q == 0) return copysign(T(0), a / b);
  T below = floor(q);
  return q - below > T(0.5) ? below + 1 : below;
}
""",
    "tnp_logaddexp": """
template <typename T> __device__ T tnp_logaddexp(T a, T b) {
  T high = a >= b || a != a ? a : b;
  return high + log1p(exp(a == b ? T(0) : -fabs(a - b)));
}
""",
    "tnp_logaddexp2": """
template <typename T> __device__ T tnp_logaddexp2(T a, T b) {
  T high = a >= b || a != a ? a : b;
  return high + log1p(exp2(a == b ? T(0) : -fabs(a - b))) * T(1.4426950408889634);
}
""",
    "tnp_left_shift": """
template <typename T, int last> __device__ T tnp_left_shift(T a, T b) {
  return b >= 0 && b <= last ? T((unsigned long long)a << b) : T(0);
}
""",
    "tnp_right_shift": """
template <typename T, int last> __device__ T tnp_right_shift(T a, T b) {
  return b >= 0 && b <= last ? T(a >> b) : a < 0 ? T(-1) : T(0);
}
""",
    "tnp_max": """
template <typename T> __device__ T tnp_max(T a, T b) { return a >= b || a != a ? a : b; }
""",
    "tnp_min": """
template <typename T> __device__ T tnp_min(T a, T b) { return a <= b || a != a ? a : b; }
""",
}


def helpers_of(text: str) -> str:
    """The sources of the helpers that a text calls."""
    return "".join(HELPERS[name] for name in dict.fromkeys(re.findall(r"tnp_\w+", text)) if name in HELPERS)


def literal(value: Any, dtype: DType) -> str:
    """A number as a constant of a type."""
    kind = TYPES[dtype.name]
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind == "f":
        value = float(value)
        text = (
            "(0.0 / 0.0)"
            if value != value
            else f"({'-' if value < 0 else ''}1.0 / 0.0)"
            if abs(value) == float("inf")
            else repr(value)
        )
        return f"({kind})({text})"
    value = int(value)
    text = "(-9223372036854775807LL - 1)" if value == -(2**63) else f"{value}{'ULL' if value >= 2**63 else 'LL'}"
    return f"({kind})({text})"


def spell(name: str, dtype: DType, operands: list[str]) -> str:
    """The expression of a prim on operands of ``dtype``."""
    if name == "where":
        return f"({operands[0]} ? {operands[1]} : {operands[2]})"
    a, b = (operands + [""])[:2]
    fields = {"a": a, "b": b, "T": TYPES[dtype.name], "last": str(dtype.bits - 1)}
    return re.sub(r"\{(\w+)\}", lambda m: fields[m[1]], SPELLINGS[name][dtype.kind])
