"""Elementwise prims in nvFuser's operations: its own of that meaning, or a composition where its own would not do what
the prim says.

Where nvFuser's documentation is silent (NaN in a maximum, division of integers by zero, shifts by too much), the
composition says what is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import ROWS
from tnp.core.proxies import TensorProxy
from tnp.executors.nvfuser.writer import Refused, Val, Writer, rule

__all__: list[str] = []

#: prim → kinds of dtype, nvFuser's operation: where it is just that
_DIRECT: dict[str, tuple[str, str]] = {
    name: ("f", name)
    for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "cos", "cosh", "div", "erf", "erfc", "erfinv", "exp", "exp2",
        "expm1", "floor", "fmod", "isfinite", "isinf", "isnan", "lgamma", "log", "log10", "log1p", "log2", "pow", "reciprocal", "round",
        "rsqrt", "signbit", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
    )
}  # fmt: skip
_DIRECT |= {name: ("fi", name) for name in ("abs", "add", "mul", "neg", "sub")}
_DIRECT |= {name: ("fib", name) for name in ("eq", "ge", "gt", "le", "lt", "ne")}
_DIRECT |= {name: ("i", name) for name in ("bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor")}
_DIRECT |= {name: ("b", name) for name in ("logical_and", "logical_not", "logical_or")}
#: of bools
_OF_BOOLS = {
    "add": "logical_or", "bitwise_and": "logical_and", "bitwise_not": "logical_not", "bitwise_or": "logical_or", "bitwise_xor": "ne",
    "fmax": "logical_or", "fmin": "logical_and", "logical_xor": "ne", "maximum": "logical_or", "minimum": "logical_and", "mul": "logical_and",
}  # fmt: skip

Composition = Callable[..., Val]
#: (prim, kind of dtype) → ``f(writer, dtype, *operands)``; the operands are in the dtype that is computed in
_composed: dict[tuple[str, str], Composition] = {}


def composition(kinds: str, *names: str) -> Callable[[Composition], Composition]:
    def decorate(f: Composition) -> Composition:
        _composed.update({(name, kind): f for name in names for kind in kinds})
        return f

    return decorate


def _rule_of(name: str) -> Callable[..., Val]:
    def write(w: Writer, out: TensorProxy, *args: Any) -> Val:
        dtype = next(a.dtype for a in args if isinstance(a, TensorProxy))
        operands = [w.wide(w.of(a), dtype) if isinstance(a, TensorProxy) else w.number(a, dtype) for a in args]
        made = spell(w, name, dtype, operands)
        return made if out.dtype.kind == "b" else w.narrow(made, out.dtype)

    return write


def spell(w: Writer, name: str, dtype: DType, operands: list[Val]) -> Val:
    """The value of an elementwise prim on arrays of ``dtype``, before it is rounded."""
    if dtype.kind == "b" and name in _OF_BOOLS:
        return w.call(_OF_BOOLS[name], *operands)
    kinds, operation = _DIRECT.get(name, ("", ""))
    if dtype.kind in kinds:
        return w.call(operation, *operands)
    composed = _composed.get((name, dtype.kind))
    if composed is None:
        raise Refused(f"nvFuser has nothing for {name} of {dtype}")
    return composed(w, dtype, *operands)


for _row in ROWS:
    rule(_row.name)(_rule_of(_row.name))


def _zero(w: Writer, dtype: DType) -> Val:
    return w.number(0, dtype)


def _is_nan(w: Writer, a: Val) -> Val:
    return w.call("ne", a, a)


@composition("fi", "positive", "conj")
@composition("bi", "ceil", "floor", "trunc")
@composition("b", "abs")
def _same(w: Writer, dtype: DType, a: Val) -> Val:
    return w.view("set", a)


@composition("fi", "square")
def _square(w: Writer, dtype: DType, a: Val) -> Val:
    return w.call("mul", a, a)


@composition("fi", "sign")
def _sign(w: Writer, dtype: DType, a: Val) -> Val:
    """NaN for a NaN."""
    work = dtypes.float32 if dtype.bits == 16 else dtype
    above, below = (w.call("cast", w.call(f, a, _zero(w, dtype)), work) for f in ("gt", "lt"))
    found = w.call("sub", above, below)
    return w.where(_is_nan(w, a), a, found, dtype) if dtype.kind == "f" else found


@composition("bi", "isfinite")
def _finite(w: Writer, dtype: DType, a: Val) -> Val:
    return w.call("eq", a, a)


@composition("bi", "isinf", "isnan")
def _not_finite(w: Writer, dtype: DType, a: Val) -> Val:
    return w.call("ne", a, a)


@composition("fi", "logical_not")
def _logical_not(w: Writer, dtype: DType, a: Val) -> Val:
    return w.call("eq", a, _zero(w, dtype))


def _logical(name: str, operation: str) -> None:
    @composition("fi", name)
    def write(w: Writer, dtype: DType, a: Val, b: Val) -> Val:
        return w.call(operation, *(w.call("ne", x, _zero(w, dtype)) for x in (a, b)))


_logical("logical_and", "logical_and")
_logical("logical_or", "logical_or")
_logical("logical_xor", "ne")


def _extreme(name: str, ignoring: str, comparison: str) -> None:
    """The larger or smaller of two: NaN if one is NaN, or, under the other name, the one that is not."""

    def choose(w: Writer, dtype: DType, a: Val, b: Val) -> Val:
        return w.where(w.call(comparison, a, b), a, b, dtype)

    composition("i", name, ignoring)(choose)

    @composition("f", name)
    def with_nan(w: Writer, dtype: DType, a: Val, b: Val) -> Val:
        return w.where(w.call("logical_or", _is_nan(w, a), w.call(comparison, a, b)), a, b, dtype)

    @composition("f", ignoring)
    def without_nan(w: Writer, dtype: DType, a: Val, b: Val) -> Val:
        return w.where(w.call("logical_or", _is_nan(w, b), w.call(comparison, a, b)), a, b, dtype)


_extreme("maximum", "fmax", "ge")
_extreme("minimum", "fmin", "le")


@composition("f", "copysign")
def _copysign(w: Writer, dtype: DType, a: Val, b: Val) -> Val:
    differs = w.call("ne", w.call("signbit", a), w.call("signbit", b))
    return w.where(differs, w.call("neg", a), a, dtype)


@composition("f", "heaviside")
def _heaviside(w: Writer, dtype: DType, a: Val, b: Val) -> Val:
    step = w.where(w.call("gt", a, _zero(w, dtype)), w.number(1, dtype), _zero(w, dtype), dtype)
    return w.where(_is_nan(w, a), a, w.where(w.call("eq", a, _zero(w, dtype)), b, step, dtype), dtype)


@composition("f", "nextafter")
def _nextafter(w: Writer, dtype: DType, a: Val, b: Val) -> Val:
    if dtype.bits == 16:
        raise Refused("nvFuser's neighbours of a number are those in float32")
    return w.call("nextafter", a, b)


# Division with a remainder. The sign of a zero is kept, as NumPy keeps it.


@composition("f", "remainder")
def _remainder(w: Writer, dtype: DType, a: Val, b: Val) -> Val:
    rest = w.call("fmod", a, b)
    return w.where(w.call("ne", rest, _zero(w, dtype)), _same_side(w, dtype, rest, b), _signed_zero(w, dtype, b), dtype)


def _signed_zero(w: Writer, dtype: DType, like: Val) -> Val:
    return w.where(w.call("signbit", like), w.number(-0.0, dtype), _zero(w, dtype), dtype)


def _same_side(w: Writer, dtype: DType, rest: Val, b: Val) -> Val:
    """A remainder with the sign of the divisor."""
    return w.where(_crosses(w, dtype, rest, b), w.call("add", rest, b), rest, dtype)


def _crosses(w: Writer, dtype: DType, rest: Val, b: Val) -> Val:
    """Whether a remainder that is not 0 has the other sign than the divisor."""
    other = w.call("ne", w.call("lt", rest, _zero(w, dtype)), w.call("lt", b, _zero(w, dtype)))
    return w.call("logical_and", w.call("ne", rest, _zero(w, dtype)), other)


@composition("f", "floor_divide")
def _floor_divide(w: Writer, dtype: DType, a: Val, b: Val) -> Val:
    """NumPy's steps: from the remainder, whose quotient is near a whole number, to that one."""
    one, half = w.number(1, dtype), w.number(0.5, dtype)
    rest = w.call("fmod", a, b)
    quotient = w.call("div", w.call("sub", a, rest), b)
    quotient = w.where(_crosses(w, dtype, rest, b), w.call("sub", quotient, one), quotient, dtype)
    below = w.call("floor", quotient)
    far = w.call("gt", w.call("sub", quotient, below), half)
    whole = w.where(far, w.call("add", below, one), below, dtype)
    plain = w.call("div", a, b)
    whole = w.where(w.call("eq", quotient, _zero(w, dtype)), _signed_zero(w, dtype, plain), whole, dtype)
    return w.where(w.call("eq", b, _zero(w, dtype)), plain, whole, dtype)


def _guarded(w: Writer, dtype: DType, b: Val) -> tuple[Val, Val, Val]:
    """Where an integer divisor is 0, where it is -1, and a divisor that is neither."""
    zero, minus = w.call("eq", b, _zero(w, dtype)), w.call("eq", b, w.number(-1, dtype))
    return zero, minus, w.where(w.call("logical_or", zero, minus), w.number(1, dtype), b, dtype)


def _rest(w: Writer, a: Val, b: Val) -> tuple[Val, Val]:
    """The quotient rounded towards 0, and what remains."""
    quotient = w.call("div", a, b)
    return quotient, w.call("sub", a, w.call("mul", quotient, b))


@composition("i", "floor_divide")
def _floor_divide_integers(w: Writer, dtype: DType, a: Val, b: Val) -> Val:
    """By zero 0, the least one by -1 itself."""
    zero, minus, divisor = _guarded(w, dtype, b)
    quotient, rest = _rest(w, a, divisor)
    lower = w.call("sub", quotient, w.number(1, dtype))
    quotient = w.where(_crosses(w, dtype, rest, divisor), lower, quotient, dtype)
    return w.where(zero, _zero(w, dtype), w.where(minus, w.call("neg", a), quotient, dtype), dtype)


@composition("i", "remainder")
def _remainder_integers(w: Writer, dtype: DType, a: Val, b: Val) -> Val:
    zero, minus, divisor = _guarded(w, dtype, b)
    rest = _same_side(w, dtype, _rest(w, a, divisor)[1], divisor)
    return w.where(w.call("logical_or", zero, minus), _zero(w, dtype), rest, dtype)


@composition("i", "fmod")
def _fmod_integers(w: Writer, dtype: DType, a: Val, b: Val) -> Val:
    zero, minus, divisor = _guarded(w, dtype, b)
    return w.where(w.call("logical_or", zero, minus), _zero(w, dtype), _rest(w, a, divisor)[1], dtype)


# Shifts by as many bits as there are, or more, are defined in NumPy


def _in_range(w: Writer, dtype: DType, b: Val) -> tuple[Val, Val]:
    inside = w.call("ge", b, _zero(w, dtype)), w.call("lt", b, w.number(dtype.bits, dtype))
    fits = w.call("logical_and", *inside)
    return fits, w.where(fits, b, _zero(w, dtype), dtype)


@composition("i", "left_shift")
def _left_shift(w: Writer, dtype: DType, a: Val, b: Val) -> Val:
    fits, by = _in_range(w, dtype, b)
    return w.where(fits, w.call("bitwise_left_shift", a, by), _zero(w, dtype), dtype)


@composition("i", "right_shift")
def _right_shift(w: Writer, dtype: DType, a: Val, b: Val) -> Val:
    fits, by = _in_range(w, dtype, b)
    signs = w.where(w.call("lt", a, _zero(w, dtype)), w.number(-1, dtype), _zero(w, dtype), dtype)
    return w.where(fits, w.call("bitwise_right_shift", a, by), signs, dtype)


# The two that no row says


@rule("where")
def _where(w: Writer, out: TensorProxy, condition: Any, a: Any, b: Any) -> Val:
    dtype = out.dtype
    branches = [w.of(x) if isinstance(x, TensorProxy) else w.number(x, dtype) for x in (a, b)]
    if {*branches} & w.scalars:  # numbers are of the dtype that is computed in
        branches = [w.wide(v, dtype) if isinstance(x, TensorProxy) else v for x, v in zip((a, b), branches)]
        return w.narrow(w.where(w.of(condition), *branches, dtype), dtype)
    return w.call("where", w.of(condition), *branches)


@rule("convert_element_type")
def _convert(w: Writer, out: TensorProxy, a: Any, dtype: DType) -> Val:
    value, before = w.of(a), a.dtype
    if before is dtype:
        return w.view("set", value)
    if dtype.kind == "b":
        return w.call("ne", w.wide(value, before), _zero(w, before))
    return w.call("cast", value if dtype.kind == "f" else w.wide(value, before), dtype)
