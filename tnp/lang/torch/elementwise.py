"""torch's elementwise functions: those that are one core function each, and compositions.

The former come from the rows of :mod:`tnp.core.elementwise_table` that name a torch function: as a function, a method,
and in ``torch.special``. Operands promote as in ``torch.result_type``. If a function does not support the promoted
kind, it is an opaque call of torch.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from tnp.core import clang, dtypes, prims
from tnp.core.elementwise_table import ROWS, Row
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.core.symbol import Namespace, OpTags, Symbol
from tnp.lang.torch.dtypes import result_dtype
from tnp.lang.torch.operands import (
    as_tensor,
    float_dtype,
    operands_in,
    promote,
    static_int,
    tensor_only,
)
from tnp.lang.torch.registry import language, torchsymbol

__all__: list[str] = []

#: torch's functions of the table that are defined below, or in :mod:`~tnp.lang.torch.shape`: not just their core function
_COMPOSED = frozenset((
    "add", "bitwise_left_shift", "bitwise_right_shift", "conj_physical", "floor_divide", "fmod", "gcd", "heaviside", "lcm",
    "nextafter", "positive", "pow", "remainder", "round", "sgn", "signbit", "square", "sub", "true_divide",
))  # fmt: skip
#: the kinds of dtype that torch's function takes, where they are not the core function's
_KINDS = {
    "abs": "iufc", "reciprocal": "f",
    **dict.fromkeys(("ceil", "floor", "trunc"), "iuf"),
    **dict.fromkeys(("fmax", "fmin", "maximum", "minimum", "ge", "gt", "le", "lt"), "biuf"),
}  # fmt: skip
#: functions of two arguments that compute integers in the default floating dtype
_IN_FLOATS = ("atan2", "copysign")
_OTHER_NAMES = {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atanh": "arctanh", "digamma": "psi", "lgamma": "gammaln", "neg": "negative", "trunc": "fix", "atan2": "arctan2",
    "bitwise_and": "__and__", "bitwise_or": "__or__", "bitwise_xor": "__xor__", "eq": "__eq__",
    "ge": "greater_equal __ge__", "gt": "greater __gt__", "le": "less_equal __le__", "lt": "less __lt__",
    "mul": "multiply __mul__ __rmul__", "ne": "not_equal __ne__",
}  # fmt: skip

ELEMENTWISE = (OpTags.ELEMENTWISE,)
_DIVISION = (OpTags.ELEMENTWISE, OpTags.REFUSES_ZERO)


def of_kinds(xs: list[Any], kinds: str, name: str) -> list[Any]:
    for x in xs:
        if isinstance(x, TensorProxy) and x.dtype.kind not in kinds:
            raise NeedsOpaque(f"{name} of {x.dtype}")
    return xs


def _symbol_of(row: Row) -> Symbol:
    """torch's function of a row: integers of a floating function of one argument are computed in the default floating dtype."""
    name, function = row.torch, getattr(clang, row.name)
    # Mathematical functions of complex numbers are left to torch.
    kinds = _KINDS.get(name, "f" if row.takes == "fc" else row.takes)
    floating = name in _IN_FLOATS or (row.nargs == 1 and kinds == "f" and row.result != "bool")

    def unary(input: Any) -> TensorProxy:
        tensor_only(input)
        return function(*of_kinds(promote(input, floating=floating), kinds, name))

    def binary(input: Any, other: Any) -> TensorProxy:
        return function(*of_kinds(promote(input, other, floating=floating), kinds, name))

    meta = unary if row.nargs == 1 else binary
    meta.__name__, meta.__doc__ = name, f"``torch.{name}`` of each element, or of elements that broadcast."
    return torchsymbol(name, *_OTHER_NAMES.get(name, "").split(), method=row.name, tags=ELEMENTWISE)(meta)


for _row in ROWS:
    if _row.torch and _row.torch not in _COMPOSED:
        globals()[_row.torch] = _symbol_of(_row)


# Arithmetic


def _scaled(other: Any, alpha: Any) -> Any:
    return other if type(alpha) in (int, float) and alpha == 1 else mul(other, alpha)  # noqa: F821


def _is_bool(x: Any) -> bool:
    return x.dtype.kind == "b" if isinstance(x, TensorProxy) else getattr(x, "python_type", type(x)) is bool


@torchsymbol("add", "__add__", "__radd__", method="add", tags=ELEMENTWISE)
def add(input: Any, other: Any, *, alpha: Any = 1) -> TensorProxy:
    """``input + alpha * other``."""
    if (alpha != 1 and is_number(other)) or _is_bool(alpha):
        raise NeedsOpaque("a multiple of a number, or by a bool")
    return clang.add(*of_kinds(promote(input, _scaled(other, alpha)), "biufc", "add"))


@torchsymbol("sub", "subtract", "__sub__", method="sub", tags=ELEMENTWISE)
def sub(input: Any, other: Any, *, alpha: Any = 1) -> TensorProxy:
    """``input - alpha * other``."""
    if (alpha != 1 and is_number(other)) or any(map(_is_bool, (input, other, alpha))):
        raise NeedsOpaque("a multiple of a number, or a difference of bools")
    return clang.sub(*of_kinds(promote(input, _scaled(other, alpha)), "iufc", "sub"))


@torchsymbol("rsub", "__rsub__", tags=ELEMENTWISE)
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> TensorProxy:
    """``other - alpha * input``."""
    return sub(other, input, alpha=alpha)


@torchsymbol("true_divide", "__truediv__", method="div", tags=ELEMENTWISE)
def true_divide(input: Any, other: Any) -> TensorProxy:
    """``input / other``, in a floating dtype."""
    return clang.div(*of_kinds(promote(input, other, floating=True), "fc", "div"))


@torchsymbol("div", "divide", tags=_DIVISION)
def div(input: Any, other: Any, *, rounding_mode: Any = None) -> TensorProxy:
    """The quotient; with ``rounding_mode`` ``"floor"`` or ``"trunc"`` rounded, in the operands' dtype."""
    if rounding_mode is None:
        return true_divide(input, other)
    if rounding_mode == "floor":
        return floor_divide(input, other)
    if rounding_mode != "trunc":
        raise NeedsOpaque("another way of rounding")
    a, b = of_kinds(_divisible(input, other), "iuf", "div")
    dtype = next(x.dtype for x in (a, b) if isinstance(x, TensorProxy))
    if dtype.kind == "f":
        return clang.trunc(clang.div(a, b))
    # What is left has the sign of the dividend, so that the division of the rest comes out even.
    return clang.floor_divide(clang.sub(as_tensor(a, dtype), clang.fmod(a, b)), b)


def _reflected(name: str, symbol: Symbol) -> None:
    @torchsymbol(getattr(torch.Tensor, name), tags=symbol.tags - {OpTags.POWER})  # its exponent is no exponent
    def reflected(input: Any, other: Any) -> TensorProxy:
        """The operator with its operands exchanged."""
        return symbol(other, input)


def _divisible(input: Any, other: Any) -> list[Any]:
    """Operands of a division that iterations. That of integers raises for a zero among the divisors; a number that is one is left to torch."""
    a, b = promote(input, other)
    divisor = b if isinstance(b, TensorProxy) else a
    if divisor.dtype.kind == "f" or (type(b) is int and b != 0):
        return [a, b]
    if not isinstance(b, TensorProxy):
        raise NeedsOpaque("integers by a number that may be zero")
    if divisor.dtype.kind in "iu" and 0 not in b.shape and not (isinstance(a, TensorProxy) and 0 in a.shape):
        b = prims.require(b, clang.ne(b, 0), RuntimeError, "ZeroDivisionError")
    return [a, b]


@torchsymbol("floor_divide", "__floordiv__", method="floor_divide", tags=_DIVISION)
def floor_divide(input: Any, other: Any) -> TensorProxy:
    """``input // other``, rounded down."""
    return clang.floor_divide(*of_kinds(_divisible(input, other), "iuf", "floor_divide"))


@torchsymbol("remainder", "__mod__", method="remainder", tags=_DIVISION)
def remainder(input: Any, other: Any) -> TensorProxy:
    """``input % other``, with the sign of ``other``."""
    return clang.remainder(*of_kinds(_divisible(input, other), "iuf", "remainder"))


@torchsymbol("fmod", tags=_DIVISION)
def fmod(input: Any, other: Any) -> TensorProxy:
    """The remainder with the sign of ``input``."""
    tensor_only(input)
    return clang.fmod(*of_kinds(_divisible(input, other), "iuf", "fmod"))


@torchsymbol("pow", "__pow__", method="pow", tags=(*ELEMENTWISE, OpTags.POWER))
def pow(input: Any, exponent: Any) -> TensorProxy:
    """``input ** exponent``."""
    value = exponent.value if isinstance(exponent, NumberProxy) else exponent
    known = {2: clang.square, 0.5: clang.sqrt, 1: clang.positive, -1: clang.reciprocal, -0.5: clang.rsqrt}
    base, power = promote(input, exponent)
    kind = base.dtype.kind if isinstance(base, TensorProxy) else power.dtype.kind
    if kind == "f" and type(value) in (int, float) and value in known and isinstance(base, TensorProxy):
        return known[exponent if type(exponent) in (int, float) else exponent.known()](base)
    if kind in "iu" and type(exponent) is int and exponent >= 0:
        return clang.square(base) if exponent == 2 else clang.pow(base, power)
    if kind in "iu" and isinstance(exponent, TensorProxy):
        return _integer_power(*clang.broadcast(as_tensor(base, power.dtype), power))
    return clang.pow(*of_kinds([base, power], "f", "pow"))


def _integer_power(a: TensorProxy, b: TensorProxy) -> TensorProxy:
    """Integers to the power of integers; to a negative one 0, but for 1 and -1."""
    if b.dtype.kind == "u":
        return clang.pow(a, b)
    is_odd = clang.eq(clang.bitwise_and(b, 1), 1)
    inverse = clang.where(clang.eq(a, -1), clang.where(is_odd, a, clang.neg(a)), clang.convert(clang.eq(a, 1), a.dtype))
    return clang.where(clang.lt(b, 0), inverse, clang.pow(a, clang.maximum(b, 0)))


@torchsymbol("square", method="square", tags=ELEMENTWISE)
def square(input: Any) -> TensorProxy:
    """``input * input``; of bools in int64."""
    tensor_only(input)
    return clang.square(*of_kinds(promote(input, 2)[:1], "iufc", "square"))


@torchsymbol("float_power", tags=ELEMENTWISE)
def float_power(input: Any, exponent: Any) -> TensorProxy:
    """``input ** exponent`` in float64."""
    if result_dtype(input, exponent).kind == "c":
        raise NeedsOpaque("a complex power")
    return clang.pow(*operands_in(dtypes.float64, input, exponent))


@torchsymbol("positive", "__pos__", returns="argument", method="positive")
def positive(input: Any) -> TensorProxy:
    """The tensor itself."""
    tensor_only(input)
    if input.dtype.kind == "b":
        raise NeedsOpaque("positive of bools")
    return input


@torchsymbol("frac", tags=ELEMENTWISE)
def frac(input: Any) -> TensorProxy:
    """What is behind the point, with the sign of the number."""
    (a,) = of_kinds([input], "f", "frac")
    return clang.sub(a, clang.trunc(a))


@torchsymbol("sign", tags=ELEMENTWISE)
def sign(input: Any) -> TensorProxy:
    """-1, 0 or 1; 0 for NaN."""
    tensor_only(input)
    if input.dtype.kind == "b":
        return input
    (a,) = of_kinds([input], "iuf", "sign")
    return clang.where(clang.isnan(a), 0, clang.sign(a)) if a.dtype.kind == "f" else clang.sign(a)


@torchsymbol("sgn", tags=ELEMENTWISE)
def sgn(input: Any) -> TensorProxy:
    """:func:`sign`; of complex numbers left to torch."""
    return sign(input)


@torchsymbol("signbit", tags=ELEMENTWISE)
def signbit(input: Any) -> TensorProxy:
    """Whether the sign is negative, that of a zero included."""
    (a,) = of_kinds([as_tensor(input)], "biuf", "signbit")
    if a.dtype.kind == "f":
        return clang.signbit(a)
    return clang.lt(a, 0) if a.dtype.kind == "i" else clang.full_like(a, False, dtype=dtypes.bool8)


@torchsymbol("round", tags=ELEMENTWISE)
def round(input: Any, *, decimals: Any = 0) -> TensorProxy:
    """The nearest integer, the even one of two."""
    tensor_only(input)
    places = static_int(decimals)
    (a,) = of_kinds([input], "iuf" if places == 0 else "f", "round")
    if places == 0:
        return clang.round(a) if a.dtype.kind == "f" else a
    if a.dtype.bits == 16 or not -22 <= places <= 22:  # 10 ** 22 is the last power that a float64 holds
        raise NeedsOpaque("decimals of halves, or many")
    power = clang.full_like(a, 10.0 ** max(places, -places))
    there, back = (clang.mul, clang.div) if places > 0 else (clang.div, clang.mul)
    return back(clang.round(there(a, power)), power)


@torchsymbol("deg2rad", tags=ELEMENTWISE)
def deg2rad(input: Any) -> TensorProxy:
    """Degrees as radians."""
    return clang.mul(*of_kinds(promote(input, floating=True), "f", "deg2rad"), math.pi / 180)


@torchsymbol("rad2deg", tags=ELEMENTWISE)
def rad2deg(input: Any) -> TensorProxy:
    """Radians as degrees."""
    return clang.mul(*of_kinds(promote(input, floating=True), "f", "rad2deg"), 180 / math.pi)


@torchsymbol("isneginf", tags=ELEMENTWISE)
def isneginf(input: Any) -> TensorProxy:
    """Whether it is minus infinity."""
    (a,) = of_kinds([as_tensor(input)], "biuf", "isneginf")
    return clang.eq(a, -math.inf) if a.dtype.kind == "f" else clang.full_like(a, False, dtype=dtypes.bool8)


@torchsymbol("isposinf", tags=ELEMENTWISE)
def isposinf(input: Any) -> TensorProxy:
    """Whether it is plus infinity."""
    (a,) = of_kinds([as_tensor(input)], "biuf", "isposinf")
    return clang.eq(a, math.inf) if a.dtype.kind == "f" else clang.full_like(a, False, dtype=dtypes.bool8)


@torchsymbol("isreal", tags=ELEMENTWISE)
def isreal(input: Any) -> TensorProxy:
    """Whether the imaginary part is zero."""
    (a,) = of_kinds([as_tensor(input)], "biuf", "isreal")
    return clang.full_like(a, True, dtype=dtypes.bool8)


@torchsymbol("sigmoid", "expit", tags=ELEMENTWISE, rounds_once=True)
def sigmoid(input: Any) -> TensorProxy:
    """``1 / (1 + exp(-input))``."""
    (a,) = of_kinds(promote(input, floating=True), "f", "sigmoid")
    return clang.reciprocal(clang.add(clang.exp(clang.neg(a)), 1))


@torchsymbol("xlogy", tags=ELEMENTWISE, rounds_once=True)
def xlogy(input: Any, other: Any) -> TensorProxy:
    """``input * log(other)``, 0 where ``input`` is, NaN where ``other`` is NaN."""
    return _times_log(input, other, clang.log)


@torchsymbol(torch.special.xlog1py, tags=ELEMENTWISE, rounds_once=True)
def xlog1py(input: Any, other: Any) -> TensorProxy:
    """``input * log1p(other)``, 0 where ``input`` is, NaN where ``other`` is NaN."""
    return _times_log(input, other, clang.log1p)


def _times_log(input: Any, other: Any, log: Any) -> TensorProxy:
    dtype = float_dtype(result_dtype(input, other))
    if dtype.kind == "c":
        raise NeedsOpaque("complex numbers")
    a, b = clang.broadcast(*(as_tensor(x, dtype) for x in of_kinds([input, other], "biuf", "xlogy")))
    product = clang.mul(a, log(b))
    return clang.where(clang.isnan(b), b, clang.where(clang.eq(a, 0), 0.0, product))


@torchsymbol(torch.special.entr, tags=ELEMENTWISE, rounds_once=True)
def entr(input: Any) -> TensorProxy:
    """``-x * log(x)``; 0 at 0, minus infinity below."""
    (a,) = of_kinds(promote(input, floating=True), "f", "entr")
    inside = clang.where(clang.gt(a, 0), clang.neg(clang.mul(a, clang.log(a))), -math.inf)
    return clang.where(clang.isnan(a), a, clang.where(clang.eq(a, 0), 0.0, inside))


@torchsymbol(torch.special.ndtr, tags=ELEMENTWISE)
def ndtr(input: Any) -> TensorProxy:
    """The area under the standard normal distribution up to ``input``."""
    (a,) = of_kinds(promote(input, floating=True), "f", "ndtr")
    if isinstance(a, TensorProxy) and a.dtype.bits == 16:
        raise NeedsOpaque("halves, which torch rounds at each step")
    return clang.mul(clang.erfc(clang.mul(a, -math.sqrt(0.5))), 0.5)


@torchsymbol("sinc", tags=ELEMENTWISE, rounds_once=True)
def sinc(input: Any) -> TensorProxy:
    """``sin(πx) / (πx)``, 1 at 0."""
    (a,) = of_kinds(promote(input, floating=True), "f", "sinc")
    scaled = clang.mul(a, math.pi)
    return clang.where(clang.eq(a, 0), 1.0, clang.div(clang.sin(scaled), scaled))


@torchsymbol("heaviside", tags=ELEMENTWISE)
def heaviside(input: Any, values: Any) -> TensorProxy:
    """0 below zero, 1 above, ``values`` at zero."""
    tensor_only(input, values)
    if input.dtype is not values.dtype:
        raise NeedsOpaque("heaviside of two dtypes")
    a, v = clang.broadcast(*of_kinds([input, values], "biuf", "heaviside"))
    if a.dtype.kind == "f":
        return clang.heaviside(a, v)
    if a.dtype.kind == "b":
        return clang.logical_or(a, v)
    return clang.where(clang.eq(a, 0), v, clang.convert(clang.gt(a, 0), a.dtype))


@torchsymbol("nextafter", tags=ELEMENTWISE)
def nextafter(input: Any, other: Any) -> TensorProxy:
    """The next number after ``input`` towards ``other``."""
    tensor_only(input, other)
    return clang.nextafter(*of_kinds(promote(input, other), "f", "nextafter"))


@torchsymbol("gcd", tags=ELEMENTWISE)
def gcd(input: Any, other: Any) -> TensorProxy:
    """The greatest common divisor."""
    tensor_only(input, other)
    return clang.gcd(*of_kinds(promote(input, other), "iu", "gcd"))


@torchsymbol("lcm", tags=ELEMENTWISE)
def lcm(input: Any, other: Any) -> TensorProxy:
    """The least common multiple."""
    tensor_only(input, other)
    return clang.lcm(*of_kinds(promote(input, other), "iu", "lcm"))


def _shift(name: str, operator: str) -> None:
    @torchsymbol(name, operator, method=operator.strip("_").replace("lshift", "left_shift").replace("rshift", "right_shift"),
                 tags=ELEMENTWISE)  # fmt: skip
    def shift(input: Any, other: Any) -> TensorProxy:
        """Shifted by a number of bits; by one that the dtype has not, all of them are shifted out."""
        a, b = of_kinds(promote(input, other), "iu", name)
        if not isinstance(b, TensorProxy) and not (type(b) is int and 0 <= b < a.dtype.bits):
            raise NeedsOpaque("a shift by a number that is not known, or large")
        return getattr(clang, name.removeprefix("bitwise_"))(a, b)


_shift("bitwise_left_shift", "__lshift__")
_shift("bitwise_right_shift", "__rshift__")


# Choices


@torchsymbol("logit", tags=ELEMENTWISE, rounds_once=True)
def logit(input: Any, eps: Any = None) -> TensorProxy:
    """``log(input / (1 - input))``."""
    (a,) = of_kinds(promote(input, floating=True), "f", "logit")
    one = clang.full_like(a, 1)
    if eps is not None:
        low = clang.full_like(a, eps)
        high = clang.sub(one, low)
        a = clang.where(clang.lt(a, low), low, clang.where(clang.gt(a, high), high, a))
    return clang.log(clang.div(a, clang.sub(one, a)))


@torchsymbol("ldexp", tags=ELEMENTWISE)
def ldexp(input: Any, other: Any) -> TensorProxy:
    """``input * 2 ** other``."""
    tensor_only(input, other)
    return input * pow(2.0, other)


@torchsymbol("angle", tags=ELEMENTWISE)
def angle(input: Any) -> TensorProxy:
    """The angle of complex numbers; of reals π for negative ones, 0 for others, NaN for NaN."""
    if isinstance(input, TensorProxy) and input.dtype.kind == "c":
        x, y = prims.real(input), prims.imag(input)
        is_zero = clang.logical_and(clang.eq(x, 0), clang.eq(y, 0))  # where torch's gradient is 0
        x, y = (clang.where(is_zero, clang.copysign(clang.full_like(p, n), p), p) for p, n in ((x, 1), (y, 0)))
        return clang.atan2(y, x)
    (a,) = of_kinds(promote(input, floating=True), "f", "angle")
    return clang.where(clang.isnan(a), a, clang.where(clang.lt(a, 0), math.pi, clang.full_like(a, 0)))


def _reals(*xs: Any) -> list[TensorProxy]:
    """Real tensors of float32 or float64, as the parts of complex ones."""
    tensor_only(*xs)
    if any(x.dtype is not xs[0].dtype or x.dtype.kind != "f" or x.dtype.bits == 16 for x in xs):
        raise NeedsOpaque("parts of other numbers")
    return clang.broadcast(*xs)


@torchsymbol(torch.complex, tags=ELEMENTWISE)
def complex_(real: Any, imag: Any) -> TensorProxy:
    """The complex numbers of these parts."""
    return prims.complex(*_reals(real, imag))


@torchsymbol(torch.polar, tags=ELEMENTWISE)
def polar(abs: Any, angle: Any) -> TensorProxy:
    """The complex numbers of these sizes and angles."""
    size, turn = _reals(abs, angle)
    return prims.complex(clang.mul(size, clang.cos(turn)), clang.mul(size, clang.sin(turn)))


@torchsymbol("frexp")
def frexp(input: Any) -> Any:
    """Mantissas and exponents of 2."""
    (a,) = _reals(input)
    return torch.return_types.frexp(prims.frexp(a))


for _operator, _symbol in (
    ("__rand__", bitwise_and),  # noqa: F821
    ("__ror__", bitwise_or),  # noqa: F821
    ("__rxor__", bitwise_xor),  # noqa: F821
    ("__rdiv__", true_divide),
    ("__rmod__", remainder),
    ("__rpow__", pow),
):
    _reflected(_operator, _symbol)


def _composed(name: str, definition: Any) -> Symbol:
    namespace = Namespace("ltorch.elementwise", "import tnp.lang.torch as ltorch")
    return Symbol(name, definition, id=f"composed.{name}", language=language, namespace=namespace)


def _as_reals(a: TensorProxy) -> TensorProxy:
    """The real and imaginary parts as a new last dimension."""
    return clang.stack([prims.real(a), prims.imag(a)], a.ndim)


def _as_complex(a: TensorProxy) -> TensorProxy:
    """The complex numbers whose parts are the two elements of the last dimension."""
    parts = [clang.slice_dim(a, i, i + 1, dim=a.ndim - 1) for i in range(2)]
    return prims.complex(*(clang.reshape(x, a.shape[:-1]) for x in parts))


as_reals, as_complex = _composed("as_reals", _as_reals), _composed("as_complex", _as_complex)
