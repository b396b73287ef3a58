"""Derivatives of elementwise operations: two tables, as the operations are one.

They have for each operation the partial derivative by each argument, from the result and the arguments. Numbers stand
for constant ones; the cotangent is multiplied by the complex conjugate. :data:`SINGULAR` has the operations whose
derivatives are infinite or NaN somewhere: a cotangent of 0 stays 0 there (:func:`~tnp.transforms.autodiff.ops.times`).
:data:`DERIVATIVES` has the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tnp.core import clang, dtypes, prims
from tnp.core.elementwise_table import by_name
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.transforms.autodiff.ops import times
from tnp.transforms.autodiff.rules import rule, without_derivative

__all__ = ["DERIVATIVES", "SINGULAR", "ZERO"]

Derivative = Callable[..., Any]

_LOG2 = math.log(2)
_LOG10 = math.log(10)


def _half_where_equal(first: Derivative) -> Derivative:
    """1 where the argument was taken, 1/2 where both are equal."""

    def derivative(out: Any, a: Any, b: Any) -> Any:
        ties = clang.where(clang.eq(a, b), clang.full_like(out, 0.5), 0.0)
        return clang.where(first(a, b), 1.0, ties)

    return derivative


def _pow_base(out: Any, a: Any, b: Any) -> Any:
    """``b * a ** (b - 1)``, 0 for the exponent 0."""
    if is_number(b) and not isinstance(b, NumberProxy):
        return clang.mul(clang.full_like(out, 0), 0) if b == 0 else clang.mul(clang.pow(a, b - 1), b)
    power = clang.pow(a, clang.sub(b, 1))
    return clang.where(clang.eq(_array(b, out), 0), 0, clang.mul(power, b))


def _pow_exponent(out: Any, a: Any, b: Any) -> Any:
    """``a ** b * log(a)``, 0 for the base 0."""
    a = _array(a, out)
    nonzero = clang.ne(a, 0)
    return clang.mul(out, clang.log(clang.where(nonzero, a, 1)))


def _array(x: Any, like: TensorProxy) -> TensorProxy:
    """A number as an array of the shape and dtype of ``like``."""
    return x if isinstance(x, TensorProxy) else clang.broadcast_to(clang.convert(x, like.dtype), like.shape)


def _reciprocal_square(x: Any, sign: int) -> Any:
    """``1 / (1 + sign * x²)``."""
    return clang.reciprocal(clang.add(clang.square(x), 1) if sign > 0 else clang.sub(1, clang.square(x)))


def _sum_of_squares(a: Any, b: Any) -> Any:
    """``a² + b²``; one of them may be a number, which has no square but by multiplication."""
    return clang.add(*(clang.square(x) if isinstance(x, TensorProxy) else clang.mul(x, x) for x in (a, b)))


#: of the asymptotic series of the trigamma function behind ``1 / x + 1 / (2 x²)``: the Bernoulli numbers of even order
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def _trigamma(x: TensorProxy) -> TensorProxy:
    """The derivative of ``digamma``: of ``x`` below 1/2 by reflection, else the asymptotic series at ``x + 8`` and recurrence
    (Abramowitz and Stegun, 6.4.6, 6.4.7 and 6.4.12)."""
    reflects = clang.lt(x, 0.5)
    y = clang.where(reflects, clang.sub(1, x), x)
    total = clang.full_like(y, 0)
    for _ in range(8):
        total = clang.add(total, clang.reciprocal(clang.square(y)))
        y = clang.add(y, 1)
    inverse = clang.reciprocal(y)
    square = clang.square(inverse)
    series = clang.full_like(y, 0)
    for b in reversed(_BERNOULLI):
        series = clang.mul(clang.add(series, b), square)
    series = clang.mul(clang.add(clang.add(series, 1), clang.mul(inverse, 0.5)), inverse)
    total = clang.add(total, series)
    angle = clang.sin(clang.mul(clang.where(reflects, x, 0.5), math.pi))
    return clang.where(reflects, clang.sub(clang.div(math.pi**2, clang.square(angle)), total), total)


# fmt: off
DERIVATIVES: dict[str, tuple[Derivative, ...]] = {
    "add":       (lambda out, a, b: 1, lambda out, a, b: 1),
    "asinh":     (lambda out, x: clang.reciprocal(clang.sqrt(clang.add(clang.square(x), 1))),),
    "atan":      (lambda out, x: _reciprocal_square(x, 1),),
    "copysign":  (lambda out, a, b: clang.mul(clang.sign(_array(a, out)), clang.sign(out)), lambda out, a, b: 0),
    "cos":       (lambda out, x: clang.neg(clang.sin(x)),),
    "digamma":   (lambda out, x: _trigamma(_array(x, out)),),
    "erf":       (lambda out, x: clang.mul(clang.exp(clang.neg(clang.square(x))), 2 / math.sqrt(math.pi)),),
    "erfc":      (lambda out, x: clang.mul(clang.exp(clang.neg(clang.square(x))), -2 / math.sqrt(math.pi)),),
    "fmax":      (_half_where_equal(lambda a, b: clang.logical_or(clang.gt(a, b), clang.ne(b, b))),
                  _half_where_equal(lambda a, b: clang.logical_or(clang.gt(b, a), clang.ne(a, a)))),
    "fmin":      (_half_where_equal(lambda a, b: clang.logical_or(clang.lt(a, b), clang.ne(b, b))),
                  _half_where_equal(lambda a, b: clang.logical_or(clang.lt(b, a), clang.ne(a, a)))),
    "maximum":   (_half_where_equal(lambda a, b: clang.gt(a, b)), _half_where_equal(lambda a, b: clang.gt(b, a))),
    "minimum":   (_half_where_equal(lambda a, b: clang.lt(a, b)), _half_where_equal(lambda a, b: clang.lt(b, a))),
    "mul":       (lambda out, a, b: b, lambda out, a, b: a),
    "neg":       (lambda out, x: -1,),
    "positive":  (lambda out, x: 1,),
    "sin":       (lambda out, x: clang.cos(x),),
    "square":    (lambda out, x: clang.mul(x, 2),),
    "sub":       (lambda out, a, b: 1, lambda out, a, b: -1),
    "tanh":      (lambda out, x: clang.sub(1, clang.square(out)),),
}

SINGULAR: dict[str, tuple[Derivative, ...]] = {
    "acos":      (lambda out, x: clang.neg(clang.reciprocal(clang.sqrt(clang.sub(1, clang.square(x))))),),
    "acosh":     (lambda out, x: clang.reciprocal(clang.mul(clang.sqrt(clang.sub(x, 1)), clang.sqrt(clang.add(x, 1)))),),
    "asin":      (lambda out, x: clang.reciprocal(clang.sqrt(clang.sub(1, clang.square(x)))),),
    "atan2":     (lambda out, y, x: clang.div(x, _sum_of_squares(y, x)),
                  lambda out, y, x: clang.neg(clang.div(y, _sum_of_squares(y, x)))),
    "atanh":     (lambda out, x: _reciprocal_square(x, -1),),
    "cbrt":      (lambda out, x: clang.reciprocal(clang.mul(clang.square(out), 3)),),
    "cosh":      (lambda out, x: clang.sinh(x),),
    "erfinv":    (lambda out, x: clang.mul(clang.exp(clang.square(out)), math.sqrt(math.pi) / 2),),
    "exp":       (lambda out, x: out,),
    "exp2":      (lambda out, x: clang.mul(out, _LOG2),),
    "expm1":     (lambda out, x: clang.exp(x),),
    "fmod":      (lambda out, a, b: 1, lambda out, a, b: clang.neg(clang.trunc(clang.div(a, b)))),
    "hypot":     (lambda out, a, b: clang.div(a, out), lambda out, a, b: clang.div(b, out)),
    "lgamma":    (lambda out, x: clang.digamma(x),),
    "log":       (lambda out, x: clang.reciprocal(x),),
    "log10":     (lambda out, x: clang.reciprocal(clang.mul(x, _LOG10)),),
    "log1p":     (lambda out, x: clang.reciprocal(clang.add(x, 1)),),
    "log2":      (lambda out, x: clang.reciprocal(clang.mul(x, _LOG2)),),
    "logaddexp": (lambda out, a, b: clang.exp(clang.sub(a, out)), lambda out, a, b: clang.exp(clang.sub(b, out))),
    "logaddexp2": (lambda out, a, b: clang.exp2(clang.sub(a, out)), lambda out, a, b: clang.exp2(clang.sub(b, out))),
    "pow":       (_pow_base, _pow_exponent),
    "reciprocal": (lambda out, x: clang.neg(clang.square(out)),),
    "remainder": (lambda out, a, b: 1, lambda out, a, b: clang.neg(clang.floor(clang.div(a, b)))),
    "rsqrt":     (lambda out, x: clang.mul(clang.div(out, x), -0.5),),
    "sinh":      (lambda out, x: clang.cosh(x),),
    "sqrt":      (lambda out, x: clang.div(0.5, out),),
    "tan":       (lambda out, x: clang.add(clang.square(out), 1),),
}
# fmt: on

#: operations that are constant between their jumps
ZERO = ("ceil", "floor", "floor_divide", "heaviside", "round", "spacing", "trunc")
without_derivative.update(prims.registry[name].id for name in ZERO)
#: ``nextafter`` is its first argument but for the last bit
DERIVATIVES["nextafter"] = (lambda out, a, b: 1, lambda out, a, b: 0)


def scaled(g: TensorProxy, factor: Any, singular: bool) -> TensorProxy | None:
    """A cotangent times a derivative's conjugate."""
    if is_number(factor) and not isinstance(factor, NumberProxy):
        if factor == 0:
            return None
        if factor in (1, -1):
            return g if factor == 1 else clang.neg(g)
    factor = conjugated(factor, g)
    return times(g, factor) if singular else clang.mul(g, factor)


def conjugated(x: Any, g: TensorProxy) -> Any:
    """The complex conjugate of an array or a number that ``g`` is multiplied by or divided by."""
    if isinstance(x, NumberProxy) and x.python_type is complex:
        x = clang.convert(x, g.dtype)
    if isinstance(x, TensorProxy):
        return clang.conj(x) if x.dtype.kind == "c" else x
    return x.conjugate() if type(x) is complex else x


def operands_as_arrays(g: TensorProxy, xs: tuple[Any, ...]) -> list[Any]:
    """Numbers as 0-d arrays, where an operation has nothing else: what its derivatives are made of may not take numbers."""
    if any(isinstance(x, TensorProxy) for x in xs):
        return list(xs)
    return [clang.convert(x, _dtype_beside(x, g)) if isinstance(x, NumberProxy) else x for x in xs]


def _dtype_beside(x: NumberProxy, g: TensorProxy) -> dtypes.DType:
    """The dtype of a number beside a cotangent: a complex one's absolute value has a real one."""
    return dtypes.complex_counterpart(g.dtype) if x.python_type is complex and g.dtype.kind != "c" else g.dtype


def _rule_of(derivatives: tuple[Derivative, ...], singular: bool) -> Callable[..., Any]:
    def pull(g: TensorProxy, out: Any, *xs: Any) -> Any:
        arrays = operands_as_arrays(g, xs)
        result = out if isinstance(out, TensorProxy) else clang.convert(out, g.dtype)
        return tuple((lambda d=d: scaled(g, d(result, *arrays), singular)) for d in derivatives)

    return pull


for _table in (DERIVATIVES, SINGULAR):
    for _name, _derivatives in _table.items():
        assert len(_derivatives) == by_name[_name].nargs
        rule(prims.registry[_name])(_rule_of(_derivatives, _table is SINGULAR))


@rule(prims.div)
def _div(g: TensorProxy, out: Any, a: Any, b: Any) -> Any:
    """By a number a division; by an array, which may hold a 0, its reciprocal."""
    a, b = operands_as_arrays(g, (a, b))
    result = out if isinstance(out, TensorProxy) else clang.convert(out, g.dtype)

    def by_first() -> Any:
        if isinstance(b, TensorProxy):
            return scaled(g, clang.reciprocal(b), True)
        return clang.div(g, conjugated(b, g))

    return by_first, lambda: scaled(g, clang.neg(clang.div(result, b)), True)


@rule(prims.abs)
def _abs(g: TensorProxy, out: Any, x: Any) -> Any:
    (x,) = operands_as_arrays(g, (x,))
    if x.dtype.kind != "c":
        return clang.mul(g, clang.sign(x))
    return clang.mul(_complex(g), clang.sign(x))


@rule(prims.sign)
def _sign(g: TensorProxy, out: Any, x: Any) -> Any:
    """That of ``x / |x|``, where a complex number has a direction; 0 for real ones."""
    if not isinstance(x, TensorProxy) or x.dtype.kind != "c":
        return None
    along = prims.real(clang.mul(g, clang.conj(out)))
    return times(clang.sub(g, clang.mul(out, _complex(along))), clang.reciprocal(_complex(clang.abs(x))))


def _complex(x: TensorProxy) -> TensorProxy:
    return clang.convert(x, dtypes.complex_counterpart(x.dtype))


@rule("autodiff.times")
def _times(g: TensorProxy, out: TensorProxy, a: TensorProxy, factor: Any) -> Any:
    def by_first() -> TensorProxy | None:
        return scaled(g, factor, True)

    def by_factor() -> TensorProxy:
        # The factor may be infinite only where the first is 0; nothing comes back from there.
        made: TensorProxy = times(a if a.dtype.kind != "c" else clang.conj(a), g)
        return made

    return by_first, by_factor


@rule(prims.conj)
def _conj(g: TensorProxy, out: TensorProxy, x: Any) -> Any:
    return clang.conj(g) if g.dtype.kind == "c" else g


@rule(prims.real)
def _real(g: TensorProxy, out: TensorProxy, x: Any) -> Any:
    return prims.complex(g, clang.full_like(g, 0))


@rule(prims.imag)
def _imag(g: TensorProxy, out: TensorProxy, x: Any) -> Any:
    return prims.complex(clang.full_like(g, 0), g)


@rule(prims.complex)
def _make_complex(g: TensorProxy, out: TensorProxy, a: Any, b: Any) -> Any:
    return lambda: prims.real(g), lambda: prims.imag(g)


@rule(prims.where)
def _where(g: TensorProxy, out: TensorProxy, condition: TensorProxy, a: Any, b: Any) -> Any:
    return None, lambda: clang.where(condition, g, 0), lambda: clang.where(condition, 0, g)


@rule(prims.ldexp)
def _ldexp(g: TensorProxy, out: TensorProxy, a: Any, b: Any) -> Any:
    return prims.ldexp(g, b)


@rule(prims.frexp)
def _frexp(g: Any, out: Any, a: Any) -> Any:
    return None if g[0] is None else prims.ldexp(g[0], clang.neg(out[1]))


@rule(prims.convert_element_type, prims.convert_number)
def _convert(g: TensorProxy, out: Any, a: Any, dtype: Any) -> Any:
    return g


@rule(prims.item)
def _item(g: TensorProxy, out: Any, a: TensorProxy) -> Any:
    return clang.reshape(g, a.shape)


@rule(prims.full)
def _full(g: TensorProxy, out: Any, shape: Any, fill_value: Any, **where: Any) -> Any:
    return None, g
