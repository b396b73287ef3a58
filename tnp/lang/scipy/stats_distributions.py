"""The usual distributions of ``scipy.stats``: densities, distribution functions and quantiles as compositions of special functions.

A row has formulas for the standard distribution. Location, scale, support and impossible parameters are handled for all alike. Results
are float64, as SciPy's. What a row lacks is a call of SciPy's own method.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tnp.core import clang, dtypes
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import OpTags
from tnp.lang.numpy.operands import as_array
from tnp.lang.scipy import special
from tnp.lang.scipy.registry import is_defined, scipysymbol

__all__: list[str] = []

_LOG_2PI = math.log(2 * math.pi)
_LOG_PI = math.log(math.pi)
add, sub, mul, div, exp, log, log1p, neg = (
    clang.add, clang.sub, clang.mul, clang.div, clang.exp, clang.log, clang.log1p, clang.neg,
)  # fmt: skip
Formula = Callable[..., Any]


def _f(name: str) -> Formula:
    """A function of ``scipy.special``."""
    if name in special.COMPOSED_NAMES:
        return special.composed(name)
    return lambda *xs: special.ufunc(name)(*xs)


xlogy, xlog1py, ndtr, ndtri, log_ndtr = map(_f, ("xlogy", "xlog1py", "ndtr", "ndtri", "log_ndtr"))
gammaln, expit, log_expit, logit, erf = map(_f, ("gammaln", "expit", "log_expit", "logit", "erf"))
gammainc, gammaincc, gammaincinv, gammainccinv = map(_f, ("gammainc", "gammaincc", "gammaincinv", "gammainccinv"))
betaln, stdtr, stdtrit, chdtr, chdtrc, chdtri = map(_f, ("betaln", "stdtr", "stdtrit", "chdtr", "chdtrc", "chdtri"))
betainc, betaincc, betainccinv, beta_pdf, beta_ppf = map(
    _f, ("betainc", "betaincc", "betainccinv", "_beta_pdf", "_beta_ppf")
)
fdtr, fdtrc, fdtri, pdtr, pdtrc, pdtrik = map(_f, ("fdtr", "fdtrc", "fdtri", "pdtr", "pdtrc", "pdtrik"))


def _half(x: Any) -> Any:
    return mul(x, 0.5)


def _square(x: Any) -> Any:
    return mul(x, x)


def _expm1_neg(x: Any) -> Any:
    """``1 - exp(-x)``."""
    return neg(clang.expm1(neg(x)))


def _log_of_complement(q: Any) -> Any:
    return log1p(neg(q))


# Formulas longer than a line


def _t_logpdf(x: Any, df: Any) -> Any:
    half = _half(df)
    scale = sub(sub(gammaln(add(half, 0.5)), gammaln(half)), _half(add(log(df), _LOG_PI)))
    found = sub(scale, mul(_half(add(df, 1.0)), log1p(div(_square(x), df))))
    return clang.where(clang.eq(df, math.inf), _half(neg(add(_square(x), _LOG_2PI))), found)


def _chi2_logpdf(x: Any, df: Any) -> Any:
    half = _half(df)
    return sub(sub(sub(xlogy(sub(half, 1.0), x), _half(x)), gammaln(half)), mul(half, math.log(2)))


def _gamma_logpdf(x: Any, a: Any) -> Any:
    return sub(sub(xlogy(sub(a, 1.0), x), x), gammaln(a))


def _beta_logpdf(x: Any, a: Any, b: Any) -> Any:
    return sub(add(xlog1py(sub(b, 1.0), neg(x)), xlogy(sub(a, 1.0), x)), betaln(a, b))


def _f_logpdf(x: Any, n: Any, m: Any) -> Any:
    a, b = _half(n), _half(m)
    first = add(add(mul(b, log(m)), mul(a, log(n))), xlogy(sub(a, 1.0), x))
    return sub(first, add(mul(add(a, b), log(add(m, mul(n, x)))), betaln(a, b)))


def _lognorm_logpdf(x: Any, s: Any) -> Any:
    is_zero = clang.eq(x, 0.0)
    inside = clang.where(is_zero, 1.0, x)
    found = sub(neg(_half(_square(div(log(inside), s)))), add(log(mul(s, inside)), 0.5 * _LOG_2PI))
    return clang.where(is_zero, -math.inf, found)


def _laplace_cdf(x: Any) -> Any:
    tail = mul(exp(neg(clang.abs(x))), 0.5)
    return clang.where(clang.gt(x, 0.0), sub(1.0, tail), tail)


def _laplace_ppf(q: Any) -> Any:
    is_above = clang.gt(q, 0.5)
    size = log(mul(clang.where(is_above, sub(1.0, q), q), 2.0))
    return clang.where(is_above, neg(size), size)


def _logistic_logpdf(x: Any) -> Any:
    y = neg(clang.abs(x))
    return sub(y, mul(log1p(exp(y)), 2.0))


def _cauchy_logpdf(x: Any) -> Any:
    size = clang.abs(x)
    is_small = clang.lt(size, 1.0)
    large = clang.where(is_small, 1.0, size)
    small = clang.where(is_small, size, 0.0)
    far = add(mul(log(large), 2.0), log1p(_square(clang.reciprocal(large))))
    return neg(add(clang.where(is_small, log1p(_square(small)), far), _LOG_PI))


def _cauchy_tail(sign: float) -> Formula:
    return lambda x: div(clang.atan2(clang.full_like(x, 1.0), mul(x, sign)), math.pi)


def _poisson_logpmf(k: Any, mu: Any) -> Any:
    return sub(sub(xlogy(k, mu), gammaln(add(k, 1.0))), mu)


def _poisson_ppf(q: Any, mu: Any) -> Any:
    vals = clang.ceil(pdtrik(q, mu))
    below = clang.maximum(sub(vals, 1.0), 0.0)
    return clang.where(clang.ge(pdtr(below, mu), q), below, vals)


def _binom_logpmf(k: Any, n: Any, p: Any) -> Any:
    rest = sub(n, k)
    ways = sub(gammaln(add(n, 1.0)), add(gammaln(add(k, 1.0)), gammaln(add(rest, 1.0))))
    return add(add(ways, xlogy(k, p)), xlog1py(rest, neg(p)))


def _geom_ppf(q: Any, p: Any) -> Any:
    vals = clang.ceil(div(_log_of_complement(q), _log_of_complement(p)))
    reached = clang.ge(_geom_cdf(sub(vals, 1.0), p), q)
    return clang.where(clang.logical_and(reached, clang.gt(vals, 0.0)), sub(vals, 1.0), vals)


def _geom_cdf(k: Any, p: Any) -> Any:
    return neg(clang.expm1(mul(_log_of_complement(p), k)))


def _nbinom_logpmf(k: Any, n: Any, p: Any) -> Any:
    ways = sub(sub(gammaln(add(n, k)), gammaln(add(k, 1.0))), gammaln(n))
    return add(add(ways, mul(n, log(p))), xlog1py(k, neg(p)))


def _invgamma_logpdf(x: Any, a: Any) -> Any:
    x = clang.maximum(x, 5e-324)  # the logarithm of 0 would meet an infinite reciprocal
    return sub(neg(add(mul(add(a, 1.0), log(x)), gammaln(a))), clang.reciprocal(x))


# The table


@dataclass
class Distribution:
    """A row: names of shape parameters, the support, and formulas by method; ``check`` tells possible shape parameters, by default
    positive ones."""

    shapes: tuple[str, ...]
    low: float
    high: float
    formulas: dict[str, Formula]
    check: Callable[..., Any] | None = None
    is_discrete: bool = False
    #: where the support ends, of the shape parameters
    end: Callable[..., Any] | None = None


def _continuous(shapes: str, low: float, high: float, **formulas: Formula) -> Distribution:
    if "logpdf" in formulas and "pdf" not in formulas:
        of_log = formulas["logpdf"]
        formulas["pdf"] = lambda *xs: exp(of_log(*xs))
    _complete(formulas, "pdf")
    return Distribution(tuple(shapes.split()), low, high, formulas)


def _discrete(shapes: str, low: float, check: Callable[..., Any], **formulas: Formula) -> Distribution:
    if "pmf" not in formulas:
        of_log = formulas["logpmf"]
        formulas["pmf"] = lambda *xs: exp(of_log(*xs))
    _complete(formulas, "pmf")
    return Distribution(tuple(shapes.split()), low, math.inf, formulas, check, True)


def _complete(formulas: dict[str, Formula], density: str) -> None:
    """What SciPy derives from other methods."""
    cdf, ppf = formulas["cdf"], formulas["ppf"]
    has_both = "sf" in formulas
    formulas.setdefault("sf", lambda *xs: sub(1.0, cdf(*xs)))
    formulas.setdefault("isf", lambda q, *xs: ppf(sub(1.0, q), *xs))
    for name, other in ((density, density), ("cdf", "sf"), ("sf", "cdf")):
        of_pair = _logarithm(formulas[name], formulas[other] if has_both and other != name else None)
        formulas.setdefault(f"log{name}", of_pair)


def _logarithm(of: Formula, complement: Formula | None) -> Formula:
    """Near 1 by the complement, where there is one with a formula of its own."""
    if complement is None:
        return lambda *xs: log(of(*xs))

    def compute(*xs: Any) -> Any:
        value, rest = of(*xs), complement(*xs)
        is_large = clang.gt(value, 0.5)
        by_rest = log1p(neg(clang.where(is_large, rest, 0.0)))
        return clang.where(is_large, by_rest, log(clang.where(is_large, 1.0, value)))

    return compute


def _is_probability(p: Any) -> Any:
    return clang.logical_and(clang.ge(p, 0.0), clang.le(p, 1.0))


def _is_positive_probability(p: Any) -> Any:
    return clang.logical_and(clang.gt(p, 0.0), clang.le(p, 1.0))


_INF = math.inf
_TABLE = {
    "beta": _continuous("a b", 0.0, 1.0, pdf=lambda x, a, b: beta_pdf(x, a, b), logpdf=_beta_logpdf, cdf=lambda x, a, b: betainc(a, b, x),
        sf=lambda x, a, b: betaincc(a, b, x), ppf=lambda q, a, b: beta_ppf(q, a, b), isf=lambda q, a, b: betainccinv(a, b, q)),
    "cauchy": _continuous("", -_INF, _INF, pdf=lambda x: div(1.0 / math.pi, add(_square(x), 1.0)), logpdf=_cauchy_logpdf,
        cdf=_cauchy_tail(-1.0), sf=_cauchy_tail(1.0), ppf=lambda q: clang.tan(mul(sub(q, 0.5), math.pi)), isf=lambda q: neg(clang.tan(mul(sub(q, 0.5), math.pi)))),
    "chi2": _continuous("df", 0.0, _INF, logpdf=_chi2_logpdf, cdf=lambda x, df: chdtr(df, x), sf=lambda x, df: chdtrc(df, x),
        ppf=lambda q, df: mul(gammaincinv(_half(df), q), 2.0), isf=lambda q, df: chdtri(df, q)),
    "expon": _continuous("", 0.0, _INF, pdf=lambda x: exp(neg(x)), logpdf=neg, cdf=_expm1_neg, sf=lambda x: exp(neg(x)), logsf=neg,
        ppf=lambda q: neg(_log_of_complement(q)), isf=lambda q: neg(log(q))),
    "f": _continuous("dfn dfd", 0.0, _INF, logpdf=_f_logpdf, cdf=lambda x, n, m: fdtr(n, m, x), sf=lambda x, n, m: fdtrc(n, m, x),
        ppf=lambda q, n, m: fdtri(n, m, q)),
    "gamma": _continuous("a", 0.0, _INF, logpdf=_gamma_logpdf, cdf=lambda x, a: gammainc(a, x), sf=lambda x, a: gammaincc(a, x),
        ppf=lambda q, a: gammaincinv(a, q), isf=lambda q, a: gammainccinv(a, q)),
    "gumbel_r": _continuous("", -_INF, _INF, logpdf=lambda x: neg(add(x, exp(neg(x)))), cdf=lambda x: exp(neg(exp(neg(x)))),
        logcdf=lambda x: neg(exp(neg(x))), sf=lambda x: _expm1_neg(exp(neg(x))), ppf=lambda q: neg(log(neg(log(q)))),
        isf=lambda q: neg(log(neg(_log_of_complement(q))))),
    "halfnorm": _continuous("", 0.0, _INF, pdf=lambda x: mul(exp(neg(_half(_square(x)))), math.sqrt(2 / math.pi)),
        logpdf=lambda x: sub(0.5 * math.log(2 / math.pi), _half(_square(x))), cdf=lambda x: erf(mul(x, math.sqrt(0.5))),
        sf=lambda x: mul(ndtr(neg(x)), 2.0), ppf=lambda q: ndtri(_half(add(q, 1.0))), isf=lambda q: neg(ndtri(_half(q)))),
    "invgamma": _continuous("a", 0.0, _INF, logpdf=_invgamma_logpdf,
        cdf=lambda x, a: gammaincc(a, clang.reciprocal(x)), sf=lambda x, a: gammainc(a, clang.reciprocal(x)),
        ppf=lambda q, a: clang.reciprocal(gammainccinv(a, q)), isf=lambda q, a: clang.reciprocal(gammaincinv(a, q))),
    "laplace": _continuous("", -_INF, _INF, pdf=lambda x: mul(exp(neg(clang.abs(x))), 0.5), cdf=_laplace_cdf,
        logpdf=lambda x: sub(math.log(0.5), clang.abs(x)), sf=lambda x: _laplace_cdf(neg(x)), ppf=_laplace_ppf, isf=lambda q: neg(_laplace_ppf(q))),
    "logistic": _continuous("", -_INF, _INF, logpdf=_logistic_logpdf, cdf=expit, logcdf=log_expit, sf=lambda x: expit(neg(x)),
        logsf=lambda x: log_expit(neg(x)), ppf=logit, isf=lambda q: neg(logit(q))),
    "lognorm": _continuous("s", 0.0, _INF, logpdf=_lognorm_logpdf, cdf=lambda x, s: ndtr(div(log(x), s)), logcdf=lambda x, s: log_ndtr(div(log(x), s)),
        sf=lambda x, s: ndtr(neg(div(log(x), s))), logsf=lambda x, s: log_ndtr(neg(div(log(x), s))), ppf=lambda q, s: exp(mul(s, ndtri(q))),
        isf=lambda q, s: exp(neg(mul(s, ndtri(q))))),
    "norm": _continuous("", -_INF, _INF, pdf=lambda x: mul(exp(neg(_half(_square(x)))), 1 / math.sqrt(2 * math.pi)),
        logpdf=lambda x: neg(add(_half(_square(x)), 0.5 * _LOG_2PI)), cdf=ndtr, logcdf=log_ndtr, sf=lambda x: ndtr(neg(x)),
        logsf=lambda x: log_ndtr(neg(x)), ppf=ndtri, isf=lambda q: neg(ndtri(q))),
    "pareto": _continuous("b", 1.0, _INF, pdf=lambda x, b: mul(b, clang.pow(x, sub(neg(b), 1.0))), cdf=lambda x, b: sub(1.0, clang.pow(x, neg(b))),
        logpdf=lambda x, b: sub(log(b), mul(add(b, 1.0), log(x))), logsf=lambda x, b: neg(mul(b, log(x))), sf=lambda x, b: clang.pow(x, neg(b)), ppf=lambda q, b: clang.pow(sub(1.0, q), div(-1.0, b)), isf=lambda q, b: clang.pow(q, div(-1.0, b))),
    "rayleigh": _continuous("", 0.0, _INF, logpdf=lambda x: sub(log(clang.minimum(x, 1e300)), _half(_square(x))),
        cdf=lambda x: _expm1_neg(_half(_square(x))),
        sf=lambda x: exp(neg(_half(_square(x)))), logsf=lambda x: neg(_half(_square(x))), ppf=lambda q: clang.sqrt(mul(_log_of_complement(q), -2.0)),
        isf=lambda q: clang.sqrt(mul(log(q), -2.0))),
    "t": _continuous("df", -_INF, _INF, logpdf=_t_logpdf, cdf=lambda x, df: stdtr(df, x), sf=lambda x, df: stdtr(df, neg(x)),
        ppf=lambda q, df: stdtrit(df, q), isf=lambda q, df: neg(stdtrit(df, q))),
    "uniform": _continuous("", 0.0, 1.0, pdf=lambda x: clang.full_like(x, 1.0), logpdf=lambda x: clang.full_like(x, 0.0), cdf=lambda x: x, ppf=lambda q: q),
    "weibull_min": _continuous("c", 0.0, _INF, pdf=lambda x, c: mul(mul(c, clang.pow(x, sub(c, 1.0))), exp(neg(clang.pow(x, c)))),
        logpdf=lambda x, c: sub(add(log(c), xlogy(sub(c, 1.0), x)), clang.pow(x, c)), cdf=lambda x, c: _expm1_neg(clang.pow(x, c)),
        sf=lambda x, c: exp(neg(clang.pow(x, c))), logsf=lambda x, c: neg(clang.pow(x, c)),
        ppf=lambda q, c: clang.pow(neg(_log_of_complement(q)), clang.reciprocal(c)), isf=lambda q, c: clang.pow(neg(log(q)), clang.reciprocal(c))),
    "bernoulli": _discrete("p", 0.0, _is_probability, pmf=lambda k, p: _f("_binom_pmf")(k, 1.0, p), logpmf=lambda k, p: _binom_logpmf(k, clang.full_like(k, 1.0), p),
        cdf=lambda k, p: _f("_binom_cdf")(k, 1.0, p), sf=lambda k, p: _f("_binom_sf")(k, 1.0, p), ppf=lambda q, p: _f("_binom_ppf")(q, 1.0, p), isf=lambda q, p: _f("_binom_isf")(q, 1.0, p)),
    "binom": _discrete("n p", 0.0, lambda n, p: clang.logical_and(clang.logical_and(clang.ge(n, 0.0), clang.eq(clang.floor(n), n)), _is_probability(p)),
        pmf=_f("_binom_pmf"), logpmf=_binom_logpmf, cdf=_f("_binom_cdf"), sf=_f("_binom_sf"), ppf=_f("_binom_ppf"), isf=_f("_binom_isf")),
    "geom": _discrete("p", 1.0, _is_positive_probability, pmf=lambda k, p: mul(clang.pow(sub(1.0, p), sub(k, 1.0)), p),
        logpmf=lambda k, p: add(xlog1py(sub(k, 1.0), neg(p)), log(p)), cdf=_geom_cdf, logsf=lambda k, p: mul(k, _log_of_complement(p)),
        sf=lambda k, p: exp(mul(k, _log_of_complement(p))), ppf=_geom_ppf),
    "nbinom": _discrete("n p", 0.0, lambda n, p: clang.logical_and(clang.gt(n, 0.0), _is_positive_probability(p)), pmf=_f("_nbinom_pmf"),
        logpmf=_nbinom_logpmf, cdf=_f("_nbinom_cdf"), sf=_f("_nbinom_sf"), ppf=_f("_nbinom_ppf"), isf=_f("_nbinom_isf")),
    "poisson": _discrete("mu", 0.0, lambda mu: clang.ge(mu, 0.0), logpmf=_poisson_logpmf, cdf=pdtr, sf=pdtrc, ppf=_poisson_ppf),
}  # fmt: skip
_TABLE["bernoulli"].high = 1.0
_TABLE["binom"].end = lambda n, p: n


# Parameters


def _plain(x: Any) -> float | None:
    """A number of the program's text."""
    if isinstance(x, (bool, int, float)) and not isinstance(x, NumberProxy):
        return float(x)
    return float(x) if isinstance(x, np.generic) and x.dtype.kind in "biuf" else None


def _wide(x: Any) -> TensorProxy:
    array = as_array(x)
    if array.dtype.kind not in "biuf":
        raise NeedsOpaque("a distribution of complex numbers")
    return clang.convert(array, dtypes.float64)


def _is_wide(x: Any) -> bool:
    """Whether SciPy moves and scales in double precision because of ``x``."""
    return not isinstance(x, (TensorProxy, np.generic)) or str(x.dtype) not in ("float16", "float32")


def _is_computed_in_double(x: Any) -> bool:
    """Whether SciPy's formulas of a shape are in double precision: half a small integer is a number of half precision."""
    return not isinstance(x, (TensorProxy, np.generic)) or str(x.dtype) in _IN_DOUBLE


_IN_DOUBLE = frozenset(("bool", "int32", "int64", "uint32", "uint64", "float64"))


@dataclass
class Parameters:
    """Shape parameters as arrays, location and scale, and where they are possible (``None``: everywhere); and what was passed."""

    given: dict[str, Any]
    shapes: list[TensorProxy]
    loc: Any
    scale: Any
    possible: Any


def _parameters(row: Distribution, args: tuple[Any, ...], kwds: dict[str, Any]) -> Parameters:
    names = [*row.shapes, "loc", *([] if row.is_discrete else ["scale"])]
    if len(args) > len(names) or set(kwds) - set(names) or set(names[: len(args)]) & set(kwds):
        raise NeedsOpaque("a distribution's parameters")
    given = {"loc": 0.0, "scale": 1.0, **dict(zip(names, args)), **kwds}
    if not set(row.shapes) <= set(given) or any(isinstance(v, (list, tuple)) or v is None for v in given.values()):
        raise NeedsOpaque("a distribution's parameters")
    if not all(_is_computed_in_double(given[s]) for s in row.shapes):
        raise NeedsOpaque("a distribution's shape of low precision, in which SciPy computes a part")
    shapes = [_wide(given[s]) for s in row.shapes]
    checks = []
    if row.check is not None:
        checks.append(row.check(*shapes))
    else:
        for name, s in zip(row.shapes, shapes):
            number = _plain(given[name])
            if number is not None and not number > 0:
                raise NeedsOpaque("a distribution's parameters are impossible")
            if number is None:
                checks.append(clang.gt(s, 0.0))
    loc, scale = (_plain(given[n]) if _plain(given[n]) is not None else _wide(given[n]) for n in ("loc", "scale"))
    if isinstance(scale, TensorProxy):
        checks.append(clang.gt(scale, 0.0))
    elif not scale > 0:
        raise NeedsOpaque("a distribution's scale is impossible")
    if not isinstance(loc, TensorProxy) and not math.isfinite(loc):
        raise NeedsOpaque("a distribution's location is infinite")
    possible = None
    for check in checks:
        possible = check if possible is None else clang.logical_and(possible, check)
    return Parameters(given, shapes, loc, scale, possible)


def _moved(x: TensorProxy, p: Parameters) -> TensorProxy:
    """``(x - loc) / scale``."""
    x = x if not isinstance(p.loc, TensorProxy) and p.loc == 0 else sub(x, p.loc)
    return x if not isinstance(p.scale, TensorProxy) and p.scale == 1 else div(x, p.scale)


def _placed(x: TensorProxy, p: Parameters) -> TensorProxy:
    """``x * scale + loc``."""
    x = x if not isinstance(p.scale, TensorProxy) and p.scale == 1 else mul(x, p.scale)
    return x if not isinstance(p.loc, TensorProxy) and p.loc == 0 else add(x, p.loc)


def _where_possible(found: TensorProxy, p: Parameters) -> TensorProxy:
    return found if p.possible is None else clang.where(p.possible, found, math.nan)


def _inside_point(row: Distribution) -> float:
    """A number at which all formulas have finite derivatives."""
    if row.is_discrete:
        return row.low
    return 0.5 if row.high == 1.0 else row.low + 1.0 if math.isfinite(row.low) else 0.0


# Methods


def _density(row: Distribution, name: str, x: Any, p: Parameters) -> TensorProxy:
    z = _moved(_wide(x), p)
    is_log = name.startswith("log")
    inside = None
    if math.isfinite(row.low):
        inside = clang.ge(z, row.low)
        end = row.end(*p.shapes) if row.end is not None else row.high if math.isfinite(row.high) else None
        if end is not None:
            inside = clang.logical_and(inside, clang.le(z, end))
    if row.is_discrete:
        inside = clang.logical_and(inside, clang.eq(clang.floor(z), z))
    at = z if inside is None else clang.where(inside, z, _inside_point(row))
    value = row.formulas[name](at, *p.shapes)
    if not row.is_discrete and (isinstance(p.scale, TensorProxy) or p.scale != 1):
        scale = p.scale if isinstance(p.scale, TensorProxy) else clang.full_like(z, p.scale)
        value = sub(value, log(scale)) if is_log else div(value, scale)
    if row.is_discrete and not is_log:
        value = clang.minimum(clang.maximum(value, 0.0), 1.0)
    if inside is not None:
        value = clang.where(inside, value, -math.inf if is_log else 0.0)
    value = clang.where(clang.ne(z, z), math.nan, value)
    return _where_possible(value, p)


def _distribution(row: Distribution, name: str, x: Any, p: Parameters) -> TensorProxy:
    """The distribution function or its complement, or their logarithms."""
    z = _moved(_wide(x), p)
    is_log, is_upper = name.startswith("log"), name.endswith("sf")
    zero, one = (-math.inf, 0.0) if is_log else (0.0, 1.0)
    low, high = (one, zero) if is_upper else (zero, one)
    end = row.end(*p.shapes) if row.end is not None else row.high
    if row.is_discrete:
        below = clang.lt(z, row.low)
        k = clang.floor(z)
    else:
        below, k = clang.le(z, row.low), z
    above = clang.ge(z, end)
    outside = clang.logical_or(clang.logical_or(below, above), clang.ne(z, z))
    value = row.formulas[name](clang.where(outside, _inside_point(row), k), *p.shapes)
    if row.is_discrete and not is_log:
        value = clang.minimum(clang.maximum(value, 0.0), 1.0)
    value = clang.where(below, low, clang.where(above, high, value))
    return _where_possible(clang.where(clang.ne(z, z), math.nan, value), p)


def _quantile(row: Distribution, name: str, q: Any, p: Parameters) -> TensorProxy:
    q = _wide(q)
    inside = clang.logical_and(clang.gt(q, 0.0), clang.lt(q, 1.0))
    value = row.formulas[name](clang.where(inside, q, 0.5), *p.shapes)
    low: Any = row.low - 1 if row.is_discrete else row.low
    high: Any = row.end(*p.shapes) if row.end is not None else row.high
    if name == "isf":
        low, high = high, low
    ends = clang.where(clang.eq(q, 0.0), low, clang.where(clang.eq(q, 1.0), high, clang.full_like(q, math.nan)))
    return _where_possible(_placed(clang.where(inside, value, ends), p), p)


def _define(dist: str, row: Distribution, name: str) -> None:
    kind: Any = _quantile if name in ("ppf", "isf") else _distribution if name.endswith(("cdf", "sf")) else _density

    # SciPy's own method takes 30 μs and more for what it does besides.
    @scipysymbol(f"stats.{dist}.{name}", tags=(OpTags.BETTER_OPENED,))
    def method(x: Any, *args: Any, **kwds: Any) -> TensorProxy:
        """A density, a distribution function or a quantile, of parameters that broadcast."""
        if isinstance(x, (list, tuple)):
            x = as_array(x)
        p = _parameters(row, args, kwds)
        if not any(map(_is_wide, (x, p.given["loc"], p.given["scale"]))):
            raise NeedsOpaque("a variable, a location and a scale in single precision")
        return kind(row, name, x, p)


for _dist, _row in _TABLE.items():
    for _method in _row.formulas:
        _define(_dist, _row, _method)


# Distributions with parameters


def _is_with_parameters(x: Any) -> bool:
    if type(x).__name__ not in ("rv_continuous_frozen", "rv_discrete_frozen"):
        return False
    distribution = getattr(sys.modules["scipy.stats"], str(x.dist.name), None)
    return str(type(x).__module__).startswith("scipy.stats") and type(distribution) is type(x.dist)


def is_frozen(x: Any) -> bool:
    """Whether ``x`` is one of SciPy's distributions with parameters that are numbers."""
    return _is_with_parameters(x) and all(_plain(v) is not None for v in (*x.args, *x.kwds.values()))


def unfrozen(function: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """The method of SciPy's distribution that a method of one with parameters calls, and these; ``None`` for other functions."""
    frozen = getattr(function, "__self__", None)
    if not _is_with_parameters(frozen) or not is_defined(f"stats.{frozen.dist.name}.{function.__name__}"):
        return None
    distribution = getattr(sys.modules["scipy.stats"], frozen.dist.name)
    return getattr(distribution, function.__name__), frozen.args, frozen.kwds
