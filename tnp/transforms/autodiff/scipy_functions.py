"""Gradients of functions of SciPy's: of calls, which have no parts, and of approximations, whose derivatives are simpler than theirs.

The table has partial derivatives as functions of the call, the result and the arguments. ``None`` stands for one that has
no simple form: a gradient by that argument is a :class:`~tnp.GradientError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.errors import GradientError
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.transforms.autodiff.ops import times
from tnp.transforms.autodiff.reverse import Reverse
from tnp.transforms.autodiff.rules import of_bound_symbol, rule
from tnp.transforms.autodiff.shape import summed_to

__all__: list[str] = []

_ROOT_PI = math.sqrt(math.pi)
_ROOT_2PI = math.sqrt(2 * math.pi)


def _log(x: Any) -> Any:
    return clang.log(x)


def _times_log(x: Any, y: Any) -> Any:
    """``x * log(y)``, 0 where ``x`` is."""
    return clang.where(clang.eq(x, 0.0), 0.0, clang.mul(x, clang.log(y)))


def _gaussian(x: Any, scale: float) -> Any:
    return clang.mul(clang.exp(clang.neg(clang.square(x))), scale)


def _gamma_density(a: Any, x: Any) -> Any:
    """The derivative of the regularized lower incomplete gamma function."""
    return clang.exp(clang.sub(clang.sub(_times_log(clang.sub(a, 1.0), x), x), clang.lgamma(a)))


def _log_beta(a: Any, b: Any) -> Any:
    return clang.sub(clang.add(clang.lgamma(a), clang.lgamma(b)), clang.lgamma(clang.add(a, b)))


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    """The derivative of the regularized incomplete beta function."""
    first = _times_log(clang.sub(a, 1.0), x)
    rest = clang.sub(b, 1.0)
    second = clang.where(clang.eq(rest, 0.0), 0.0, clang.mul(rest, clang.log1p(clang.neg(x))))
    return clang.exp(clang.sub(clang.add(first, second), _log_beta(a, b)))


def _t_density(df: Any, t: Any) -> Any:
    half = clang.mul(df, 0.5)
    power = clang.mul(clang.add(half, 0.5), clang.log1p(clang.div(clang.square(t), df)))
    scale = clang.sub(clang.lgamma(clang.add(half, 0.5)), clang.lgamma(half))
    root = clang.mul(clang.log(clang.mul(df, math.pi)), 0.5)
    return clang.exp(clang.sub(clang.sub(scale, root), power))


def _f_density(a: Any, b: Any, x: Any) -> Any:
    """Of the F distribution: the beta density at ``a x / (a x + b)``."""
    product = clang.mul(a, x)
    total = clang.add(product, b)
    slope = clang.div(clang.mul(a, b), clang.square(total))
    return clang.mul(_beta_density(clang.mul(a, 0.5), clang.mul(b, 0.5), clang.div(product, total)), slope)


def _chi2_density(v: Any, x: Any) -> Any:
    return clang.mul(_gamma_density(clang.mul(v, 0.5), clang.mul(x, 0.5)), 0.5)


def _between(call: Any, v: Any, x: Any, sign: float, factor: float) -> Any:
    """The derivative of a Bessel function by the functions of the orders beside its own."""
    below, above = call(clang.sub(v, 1.0), x), call(clang.add(v, 1.0), x)
    return clang.mul(clang.add(below, clang.mul(above, sign)), factor)


def _scaled(of: Callable[..., Any], sign: float) -> Callable[..., Any]:
    """That of a function times ``exp(sign * abs(x))``."""

    def derivative(call: Any, out: Any, v: Any, x: Any) -> Any:
        slope = clang.sign(x) if sign < 0 else 1.0
        return clang.add(of(call, out, v, x), clang.mul(clang.mul(out, slope), sign))

    return derivative


def _jv(call: Any, out: Any, v: Any, x: Any) -> Any:
    return _between(call, v, x, -1.0, 0.5)


def _iv(call: Any, out: Any, v: Any, x: Any) -> Any:
    return _between(call, v, x, 1.0, 0.5)


def _kv(call: Any, out: Any, v: Any, x: Any) -> Any:
    return _between(call, v, x, 1.0, -0.5)


def _psi(x: Any) -> Any:
    return clang.digamma(x)


def _minus(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda call, out, *xs: clang.neg(f(*xs))


def _plain(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda call, out, *xs: f(*xs)


def _inverse(density: Callable[..., Any], sign: float = 1.0) -> Callable[..., Any]:
    """Of a quantile, whose last argument is the probability."""

    def derivative(call: Any, out: Any, *xs: Any) -> Any:
        return clang.mul(clang.reciprocal(density(*xs[:-1], out)), sign)

    return derivative


def _first_inverse(density: Callable[..., Any]) -> Callable[..., Any]:
    """Of a quantile, whose first argument is the probability."""
    return lambda call, out, q, *xs: clang.reciprocal(density(*xs, out))


def _poisson(k: Any, m: Any) -> Any:
    """The probability of ``k``, which is the derivative of its distribution function by the mean, but for the sign."""
    return clang.exp(clang.sub(clang.sub(_times_log(k, m), m), clang.lgamma(clang.add(k, 1.0))))


def _binomial_density(k: Any, n: Any, p: Any) -> Any:
    """``n`` times the probability of ``k`` of ``n - 1``."""
    rest = clang.sub(n, k)
    ways = clang.sub(clang.lgamma(clang.add(n, 1.0)), clang.add(clang.lgamma(clang.add(k, 1.0)), clang.lgamma(rest)))
    powers = clang.add(_times_log(k, p), clang.mul(clang.sub(rest, 1.0), clang.log1p(clang.neg(p))))
    return clang.exp(clang.add(ways, powers))


def _binomial(by: int) -> Callable[..., Any]:
    def derivative(call: Any, out: Any, n: Any, k: Any) -> Any:
        rest = _psi(clang.add(clang.sub(n, k), 1.0))
        if by == 0:
            return clang.mul(out, clang.sub(_psi(clang.add(n, 1.0)), rest))
        return clang.mul(out, clang.sub(rest, _psi(clang.add(k, 1.0))))

    return derivative


# fmt: off
_DERIVATIVES: dict[str, tuple[Callable[..., Any] | None, ...]] = {
    # Approximations.
    "erfcinv":   (lambda call, out, y: clang.mul(clang.exp(clang.square(out)), -_ROOT_PI / 2),),
    "erfcx":     (lambda call, out, x: clang.sub(clang.mul(clang.mul(x, out), 2.0), 2 / _ROOT_PI),),
    "gamma":     (lambda call, out, x: clang.mul(out, _psi(x)),),
    "log_ndtr":  (lambda call, out, x: clang.mul(clang.exp(clang.neg(clang.add(out, clang.mul(clang.square(x), 0.5)))), 1 / _ROOT_2PI),),
    "ndtri":     (lambda call, out, p: clang.mul(clang.exp(clang.mul(clang.square(out), 0.5)), _ROOT_2PI),),
    # Calls.
    "beta":      (lambda call, out, a, b: clang.mul(out, clang.sub(_psi(a), _psi(clang.add(a, b)))),
                  lambda call, out, a, b: clang.mul(out, clang.sub(_psi(b), _psi(clang.add(a, b))))),
    "betainc":   (None, None, _plain(_beta_density)),
    "betaincc":  (None, None, _minus(_beta_density)),
    "betaincinv": (None, None, _inverse(_beta_density)),
    "betainccinv": (None, None, _inverse(_beta_density, -1.0)),
    "betaln":    (lambda call, out, a, b: clang.sub(_psi(a), _psi(clang.add(a, b))),
                  lambda call, out, a, b: clang.sub(_psi(b), _psi(clang.add(a, b)))),
    "binom":     (_binomial(0), _binomial(1)),
    "boxcox":    (lambda call, out, x, k: clang.exp(clang.mul(clang.sub(k, 1.0), _log(x))), None),
    "chdtr":     (None, _plain(_chi2_density)),
    "chdtrc":    (None, _minus(_chi2_density)),
    "chdtri":    (None, _inverse(_chi2_density, -1.0)),
    "cosm1":     (lambda call, out, x: clang.neg(clang.sin(x)),),
    "dawsn":     (lambda call, out, x: clang.sub(1.0, clang.mul(clang.mul(x, out), 2.0)),),
    "erfi":      (lambda call, out, x: clang.mul(clang.exp(clang.square(x)), 2 / _ROOT_PI),),
    "exp1":      (lambda call, out, x: clang.neg(clang.div(clang.exp(clang.neg(x)), x)),),
    "exp10":     (lambda call, out, x: clang.mul(out, math.log(10)),),
    "expi":      (lambda call, out, x: clang.div(clang.exp(x), x),),
    "expn":      (None, lambda call, out, n, x: clang.neg(call(clang.sub(n, 1), x))),
    "fdtr":      (None, None, _plain(_f_density)),
    "fdtrc":     (None, None, _minus(_f_density)),
    "fdtri":     (None, None, _inverse(_f_density)),
    "gammainc":  (None, _plain(_gamma_density)),
    "gammaincc": (None, _minus(_gamma_density)),
    "gammaincinv": (None, _inverse(_gamma_density)),
    "gammainccinv": (None, _inverse(_gamma_density, -1.0)),
    "hyp0f1":    (None, lambda call, out, v, x: clang.div(call(clang.add(v, 1.0), x), v)),
    "hyp1f1":    (None, None, lambda call, out, a, b, x: clang.mul(clang.div(a, b), call(clang.add(a, 1.0), clang.add(b, 1.0), x))),
    "hyp2f1":    (None, None, None, lambda call, out, a, b, c, x: clang.mul(clang.div(clang.mul(a, b), c), call(*(clang.add(y, 1.0) for y in (a, b, c)), x))),
    "iv":        (None, _iv),
    "ive":       (None, _scaled(_iv, -1.0)),
    "jv":        (None, _jv),
    "kv":        (None, _kv),
    "kve":       (None, _scaled(_kv, 1.0)),
    "loggamma":  (lambda call, out, x: _psi(x),),
    "pdtr":      (None, lambda call, out, k, m: clang.neg(_poisson(k, m))),
    "pdtrc":     (None, lambda call, out, k, m: _poisson(k, m)),
    "poch":      (lambda call, out, x, m: clang.mul(out, clang.sub(_psi(clang.add(x, m)), _psi(x))),
                  lambda call, out, x, m: clang.mul(out, _psi(clang.add(x, m)))),
    "spence":    (lambda call, out, x: clang.div(_log(x), clang.sub(1.0, x)),),
    "stdtr":     (None, _plain(_t_density)),
    "stdtrit":   (None, _inverse(_t_density)),
    "yv":        (None, _jv),
    "_ufuncs._beta_pdf": (lambda call, out, x, a, b: clang.mul(out, clang.sub(clang.div(clang.sub(a, 1.0), x), clang.div(clang.sub(b, 1.0), clang.sub(1.0, x)))),
                  lambda call, out, x, a, b: clang.mul(out, clang.add(clang.sub(_log(x), _psi(a)), _psi(clang.add(a, b)))),
                  lambda call, out, x, a, b: clang.mul(out, clang.add(clang.sub(clang.log1p(clang.neg(x)), _psi(b)), _psi(clang.add(a, b))))),
    "_ufuncs._beta_ppf": (_first_inverse(_beta_density), None, None),
    "_ufuncs._binom_cdf": (None, None, lambda call, out, k, n, p: clang.neg(_binomial_density(k, n, p))),
    "_ufuncs._binom_pmf": (None, None, lambda call, out, k, n, p: clang.mul(out, clang.sub(clang.div(k, p), clang.div(clang.sub(n, k), clang.sub(1.0, p))))),
    "_ufuncs._binom_sf": (None, None, lambda call, out, k, n, p: _binomial_density(k, n, p)),
    "_ufuncs._nbinom_pmf": (None, lambda call, out, k, n, p: clang.mul(out, clang.add(clang.sub(_psi(clang.add(n, k)), _psi(n)), _log(p))),
                  lambda call, out, k, n, p: clang.mul(out, clang.sub(clang.div(n, p), clang.div(k, clang.sub(1.0, p))))),
    "_ufuncs._zeta": (None, lambda call, out, x, q: clang.neg(clang.mul(x, call(clang.add(x, 1.0), q)))),
}
# fmt: on
_DERIVATIVES["jn"], _DERIVATIVES["gdtr"] = (
    _DERIVATIVES["jv"],
    (
        None,
        None,
        lambda call, out, a, b, x: clang.mul(a, _gamma_density(b, clang.mul(a, x))),
    ),
)  # fmt: skip


def _rule_of(name: str, derivatives: tuple[Callable[..., Any] | None, ...]) -> Callable[..., Any]:
    @of_bound_symbol
    def pull(reverse: Reverse, bsym: BoundSymbol, g: TensorProxy) -> Any:
        out = bsym.output
        if out.dtype.kind != "f" or len(bsym.args) != len(derivatives):
            return NotImplemented
        arrays = [_wide(x, out, i == 0 and name == "expn") for i, x in enumerate(bsym.args)]
        made: list[TensorProxy | None] = []
        for x, derivative in zip(bsym.args, derivatives):
            if not isinstance(x, TensorProxy) or x.dtype.kind != "f" or not reverse.needs(x):
                made.append(None)
            elif derivative is None:
                raise GradientError(f"scipy.special.{name} has no gradient by the argument {x.name}", bsym.location)
            else:
                found = times(g, clang.convert(derivative(bsym.sym, out, *arrays), g.dtype))
                made.append(clang.convert(summed_to(found, x.shape), x.dtype))
        return tuple(made)

    return pull


def _wide(x: Any, out: TensorProxy, is_integer: bool) -> Any:
    """An argument in the result's shape, and in its dtype unless it is an integer's."""
    return clang.broadcast_to(clang.convert(x, dtypes.int64 if is_integer else out.dtype), out.shape)


for _name, _derivatives in _DERIVATIVES.items():
    for _prefix in ("scipy.special.", "scipy_call.special."):
        rule(_prefix + _name)(_rule_of(_name, _derivatives))


# Recursive filters


def _backwards(call: Callable[[TensorProxy], TensorProxy], x: TensorProxy, axis: int) -> TensorProxy:
    """What a filter makes of ``x`` from its end on: the adjoint of a filter without a state to begin with."""
    return clang.flip(call(clang.flip(x, (axis,))), (axis,))


def _products(g: TensorProxy, x: TensorProxy, count: int, axis: int) -> TensorProxy:
    """The sums of ``g[n] * x[n - k]`` for ``k`` below ``count``."""
    (length,) = sizes.concrete(x.shape[axis : axis + 1], "a filter")
    made = []
    for k in range(count):
        kept = max(length - k, 0)
        parts = clang.slice_dim(g, length - kept, length, dim=axis), clang.slice_dim(x, 0, kept, dim=axis)
        made.append(prims.sum(clang.mul(*parts), tuple(range(x.ndim))))
    return clang.stack(made, 0)


@rule("scipy_call.signal.lfilter")
@of_bound_symbol
def _lfilter(reverse: Reverse, bsym: BoundSymbol, g: TensorProxy) -> Any:
    b, a, x, axis, state = _arguments(bsym, ("b", "a", "x", "axis", "zi"), (-1, None))
    if state is not None or len(bsym.args) < 3 or bsym.output.dtype.kind != "f":
        return NotImplemented
    out = bsym.output
    axis = int(axis) % out.ndim
    b, a = (clang.convert(_vector(c), out.dtype) for c in (b, a))
    one = clang.full((1,), 1.0, dtype=out.dtype)

    def recursive(x: TensorProxy) -> TensorProxy:
        filtered: TensorProxy = bsym.sym(one, a, x, axis)
        return filtered

    def by_coefficients(x: Any, found: Callable[[], TensorProxy]) -> Any:
        if isinstance(x, TensorProxy):
            return lambda: clang.convert(clang.reshape(found(), x.shape), x.dtype)
        if isinstance(x, (list, tuple)):
            return [lambda i=i: prims.select(found(), 0, i) for i in range(len(x))]
        return lambda: prims.select(found(), 0, 0)

    return (
        by_coefficients(bsym.args[0], lambda: _products(g, recursive(clang.convert(x, out.dtype)), _count(b), axis)),
        by_coefficients(bsym.args[1], lambda: clang.neg(_products(g, recursive(out), _count(a), axis))),
        lambda: clang.convert(_backwards(lambda y: bsym.sym(b, a, y, axis), g, axis), x.dtype),
    )


@rule("scipy.signal.sosfilt", "scipy_call.signal.sosfilt")
@of_bound_symbol
def _sosfilt(reverse: Reverse, bsym: BoundSymbol, g: TensorProxy) -> Any:
    sos, x, axis, state = _arguments(bsym, ("sos", "x", "axis", "zi"), (-1, None))
    if state is not None or reverse.needs(sos) or bsym.output.dtype.kind != "f":
        return NotImplemented
    axis = int(axis) % x.ndim
    return None, lambda: clang.convert(_backwards(lambda y: bsym.sym(sos, y, axis), g, axis), x.dtype)


def _count(x: TensorProxy) -> int:
    (count,) = sizes.concrete(x.shape, "a filter")
    return count


def _vector(x: Any) -> TensorProxy:
    if isinstance(x, TensorProxy):
        return x if x.ndim else clang.reshape(x, (1,))
    items = x if isinstance(x, (list, tuple)) else [x]
    return clang.stack([clang.convert(i, dtypes.float64) for i in items], 0)


def _arguments(bsym: BoundSymbol, names: tuple[str, ...], defaults: tuple[Any, ...]) -> list[Any]:
    """The arguments of a call by position, those not passed by default."""
    given = dict(zip(names, bsym.args)) | bsym.kwargs
    rest = dict(zip(names[len(names) - len(defaults) :], defaults))
    return [given[n] if n in given else rest[n] for n in names]
