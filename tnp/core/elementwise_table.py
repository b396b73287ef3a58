"""The table of elementwise operations: one row an operation.

From a row are made its prim (:mod:`tnp.core.prims.elementwise`), its core function (:mod:`tnp.core.clang.elementwise`),
NumPy's and torch's functions of that name, the executors' claims, and its OpInfo.

``takes`` lists the kinds of dtype (``b i u f c``) that the prim accepts, after promotion; ``result`` is how its dtype
follows from theirs. ``numpy`` and ``torch`` name the functions that compute exactly this (``""``: there is none).
``number`` is what the operation means on Python numbers; it is ``total`` if it has a result for every float. ``c`` is
the function of C's ``<math.h>``, which libm, CUDA's C++ and Triton's ``libdevice`` have under that name. ``domain``
bounds the inputs for which the operation is tested for values, where it has poles or leaves the reals.

To add an operation, add a row: CONTRIBUTING.md has the steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["ROWS", "Row", "by_name"]

Result = Literal["same", "bool", "real", "int32"]


@dataclass(frozen=True, slots=True)
class Row:
    """One elementwise operation; the fields are described at the top of this module."""

    name: str
    nargs: int
    takes: str
    result: Result = "same"
    numpy: str = ""
    torch: str = ""
    number: str = ""
    c: str = ""
    domain: tuple[float, float] | None = None
    total: bool = False


#: fmt: off — a table is read by its columns
# fmt: off
ROWS: Final[tuple[Row, ...]] = (
    # One argument.     takes    result  NumPy            torch                   Python              C            domain
    Row("abs",          1, "biufc", "real", "absolute",      "abs",                  "operator.abs",     ""),
    Row("acos",         1, "fc",    "same", "arccos",        "acos",                 "math.acos",        "acos",      (-1, 1)),
    Row("acosh",        1, "fc",    "same", "arccosh",       "acosh",                "math.acosh",       "acosh",     (1, 20)),
    Row("asin",         1, "fc",    "same", "arcsin",        "asin",                 "math.asin",        "asin",      (-1, 1)),
    Row("asinh",        1, "fc",    "same", "arcsinh",       "asinh",                "math.asinh",       "asinh",     total=True),
    Row("atan",         1, "fc",    "same", "arctan",        "atan",                 "math.atan",        "atan",      total=True),
    Row("atanh",        1, "fc",    "same", "arctanh",       "atanh",                "math.atanh",       "atanh",     (-0.9, 0.9)),
    Row("bitwise_not",  1, "biu",   "same", "invert",        "bitwise_not",          "operator.invert",  ""),
    Row("cbrt",         1, "f",     "same", "cbrt",          "",                     "math.cbrt",        "cbrt",      total=True),
    Row("ceil",         1, "biuf",  "same", "ceil",          "ceil",                 "math.ceil",        "ceil"),
    Row("conj",         1, "iufc",  "same", "conjugate",     "conj_physical",        "",                 ""),
    Row("cos",          1, "fc",    "same", "cos",           "cos",                  "math.cos",         "cos"),
    Row("cosh",         1, "fc",    "same", "cosh",          "cosh",                 "math.cosh",        "cosh",      (-5, 5)),
    Row("digamma",      1, "f",     "same", "",              "digamma",              "",                 "",          (0.1, 20)),
    Row("erf",          1, "f",     "same", "",              "erf",                  "math.erf",         "erf",       total=True),
    Row("erfc",         1, "f",     "same", "",              "erfc",                 "math.erfc",        "erfc",      total=True),
    Row("erfinv",       1, "f",     "same", "",              "erfinv",               "",                 "",          (-0.95, 0.95)),
    Row("exp",          1, "fc",    "same", "exp",           "exp",                  "math.exp",         "exp",       (-5, 5)),
    Row("exp2",         1, "fc",    "same", "exp2",          "exp2",                 "math.exp2",        "exp2",      (-5, 5)),
    Row("expm1",        1, "fc",    "same", "expm1",         "expm1",                "math.expm1",       "expm1",     (-5, 5)),
    Row("floor",        1, "biuf",  "same", "floor",         "floor",                "math.floor",       "floor"),
    Row("isfinite",     1, "biufc", "bool", "isfinite",      "isfinite",             "math.isfinite",    "",          total=True),
    Row("isinf",        1, "biufc", "bool", "isinf",         "isinf",                "math.isinf",       "",          total=True),
    Row("isnan",        1, "biufc", "bool", "isnan",         "isnan",                "math.isnan",       "",          total=True),
    Row("lgamma",       1, "f",     "same", "",              "lgamma",               "math.lgamma",      "lgamma",    (0.1, 20)),
    Row("log",          1, "fc",    "same", "log",           "log",                  "math.log",         "log",       (0.1, 20)),
    Row("log10",        1, "fc",    "same", "log10",         "log10",                "math.log10",       "log10",     (0.1, 20)),
    Row("log1p",        1, "fc",    "same", "log1p",         "log1p",                "math.log1p",       "log1p",     (-0.9, 20)),
    Row("log2",         1, "fc",    "same", "log2",          "log2",                 "math.log2",        "log2",      (0.1, 20)),
    Row("logical_not",  1, "biufc", "bool", "logical_not",   "logical_not",          "operator.not_",    ""),
    Row("neg",          1, "iufc",  "same", "negative",      "neg",                  "operator.neg",     ""),
    Row("popcount",     1, "iu",    "same", "bitwise_count", "",                     "",                 ""),
    Row("positive",     1, "iufc",  "same", "positive",      "positive",             "operator.pos",     ""),
    Row("reciprocal",   1, "iufc",  "same", "reciprocal",    "reciprocal",           "",                 "",          (0.1, 20)),
    Row("round",        1, "fc",    "same", "rint",          "round",                "",                 "rint"),
    Row("rsqrt",        1, "fc",    "same", "",              "rsqrt",                "",                 "",          (0.1, 20)),
    Row("sign",         1, "iufc",  "same", "sign",          "sgn",                  "",                 ""),
    Row("signbit",      1, "f",     "bool", "signbit",       "signbit",              "",                 ""),
    Row("sin",          1, "fc",    "same", "sin",           "sin",                  "math.sin",         "sin"),
    Row("sinh",         1, "fc",    "same", "sinh",          "sinh",                 "math.sinh",        "sinh",      (-5, 5)),
    Row("spacing",      1, "f",     "same", "spacing",       "",                     "",                 ""),
    Row("sqrt",         1, "fc",    "same", "sqrt",          "sqrt",                 "math.sqrt",        "sqrt",      (0, 20)),
    Row("square",       1, "iufc",  "same", "square",        "square",               "",                 ""),
    Row("tan",          1, "fc",    "same", "tan",           "tan",                  "math.tan",         "tan",       (-1.4, 1.4)),
    Row("tanh",         1, "fc",    "same", "tanh",          "tanh",                 "math.tanh",        "tanh",      total=True),
    Row("trunc",        1, "biuf",  "same", "trunc",         "trunc",                "math.trunc",       "trunc"),

    # Two arguments of one dtype.
    Row("add",          2, "biufc", "same", "add",           "add",                  "operator.add",     ""),
    Row("atan2",        2, "f",     "same", "arctan2",       "atan2",                "math.atan2",       "atan2",     total=True),
    Row("bitwise_and",  2, "biu",   "same", "bitwise_and",   "bitwise_and",          "operator.and_",    ""),
    Row("bitwise_or",   2, "biu",   "same", "bitwise_or",    "bitwise_or",           "operator.or_",     ""),
    Row("bitwise_xor",  2, "biu",   "same", "bitwise_xor",   "bitwise_xor",          "operator.xor",     ""),
    Row("copysign",     2, "f",     "same", "copysign",      "copysign",             "math.copysign",    "copysign",  total=True),
    Row("div",          2, "fc",    "same", "true_divide",   "true_divide",          "operator.truediv", ""),
    Row("eq",           2, "biufc", "bool", "equal",         "eq",                   "operator.eq",      ""),
    Row("floor_divide", 2, "iuf",   "same", "floor_divide",  "floor_divide",         "operator.floordiv", ""),
    Row("fmax",         2, "biufc", "same", "fmax",          "fmax",                 "",                 ""),
    Row("fmin",         2, "biufc", "same", "fmin",          "fmin",                 "",                 ""),
    Row("fmod",         2, "iuf",   "same", "fmod",          "fmod",                 "math.fmod",        "fmod"),
    Row("gcd",          2, "iu",    "same", "gcd",           "gcd",                  "math.gcd",         "",          total=True),
    Row("ge",           2, "biufc", "bool", "greater_equal", "ge",                   "operator.ge",      ""),
    Row("gt",           2, "biufc", "bool", "greater",       "gt",                   "operator.gt",      ""),
    Row("heaviside",    2, "f",     "same", "heaviside",     "heaviside",            "",                 ""),
    Row("hypot",        2, "f",     "same", "hypot",         "hypot",                "math.hypot",       "hypot",     total=True),
    Row("lcm",          2, "iu",    "same", "lcm",           "lcm",                  "math.lcm",         "",          total=True),
    Row("le",           2, "biufc", "bool", "less_equal",    "le",                   "operator.le",      ""),
    Row("left_shift",   2, "iu",    "same", "left_shift",    "bitwise_left_shift",   "operator.lshift",  ""),
    Row("logaddexp",    2, "f",     "same", "logaddexp",     "logaddexp",            "",                 ""),
    Row("logaddexp2",   2, "f",     "same", "logaddexp2",    "logaddexp2",           "",                 ""),
    Row("logical_and",  2, "biufc", "bool", "logical_and",   "logical_and",          "",                 ""),
    Row("logical_or",   2, "biufc", "bool", "logical_or",    "logical_or",           "",                 ""),
    Row("logical_xor",  2, "biufc", "bool", "logical_xor",   "logical_xor",          "",                 ""),
    Row("lt",           2, "biufc", "bool", "less",          "lt",                   "operator.lt",      ""),
    Row("maximum",      2, "biufc", "same", "maximum",       "maximum",              "",                 ""),
    Row("minimum",      2, "biufc", "same", "minimum",       "minimum",              "",                 ""),
    Row("mul",          2, "biufc", "same", "multiply",      "mul",                  "operator.mul",     ""),
    Row("ne",           2, "biufc", "bool", "not_equal",     "ne",                   "operator.ne",      ""),
    Row("nextafter",    2, "f",     "same", "nextafter",     "nextafter",            "math.nextafter",   "nextafter", total=True),
    Row("pow",          2, "iufc",  "same", "power",         "pow",                  "operator.pow",     "pow",       (0.1, 4)),
    Row("remainder",    2, "iuf",   "same", "remainder",     "remainder",            "operator.mod",     ""),
    Row("right_shift",  2, "iu",    "same", "right_shift",   "bitwise_right_shift",  "operator.rshift",  ""),
    Row("sub",          2, "iufc",  "same", "subtract",      "sub",                  "operator.sub",     ""),
)
# fmt: on

by_name: Final = {row.name: row for row in ROWS}
