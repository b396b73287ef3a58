"""``scipy.stats``: summaries of samples as compositions, and calls. :mod:`stats_distributions` has the distributions.

Samples are real arrays with at least two elements along an axis; SciPy itself warns of shorter ones. Functions whose results are
objects (tests, regressions) are Python's.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from tnp.core import clang, dtypes, sizes, symbols
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.lang import numpy as lnp
from tnp.lang.numpy.operands import as_array, promote
from tnp.lang.scipy import special
from tnp.lang.scipy import stats_distributions as stats_distributions  # defines the distributions
from tnp.lang.scipy.registry import by_dry_run, is_defined, scipysymbol

__all__ = ["declare_loaded"]

_EPSILON = {dtypes.float32: 2.0**-23, dtypes.float64: 2.0**-52}


def _samples(x: Any, axis: Any, nan_policy: Any, least: int = 2) -> tuple[TensorProxy, int, Any]:
    """The samples as floats, the dimension to summarise, and its length, to compute with."""
    x = as_array(x)
    if nan_policy != "propagate" or x.dtype.kind not in "biuf" or not x.ndim:
        raise NeedsOpaque("samples with missing values, or that are no real numbers")
    x = x if x.dtype in _EPSILON else as_array(x, dtypes.float64)
    axis = axis.known() if isinstance(axis, NumberProxy) else axis
    if axis is None:
        x, axis = clang.reshape(x, (-1,)), 0
    if type(axis) is not int or not -x.ndim <= axis < x.ndim:
        raise NeedsOpaque("samples along other than one axis")
    axis %= x.ndim
    shape = sizes.extents(x.shape, "a summary")
    if shape[axis] < least or 0 in shape:
        raise NeedsOpaque("samples of too few elements")
    return x, axis, shape[axis]


def _ended(x: TensorProxy, axis: int, keepdims: Any, original: Any) -> TensorProxy:
    """A summary without its axis, unless it is kept."""
    if not keepdims:
        return lnp.squeeze(x, axis=axis)
    return clang.reshape(x, (1,) * as_array(original).ndim) if x.ndim == 1 else x


def _mean(x: TensorProxy, axis: int) -> TensorProxy:
    return lnp.mean(x, axis=axis, keepdims=True)


def _plain_number(x: Any) -> Any:
    if isinstance(x, TensorProxy):
        raise NeedsOpaque("a correction that is an array")
    number = x.known() if isinstance(x, NumberProxy) else x
    if type(number) not in (bool, int, float):
        raise NeedsOpaque("a correction that is no real number")
    return number


def _below(ddof: Any, n: Any) -> Any:
    """A correction that is less than the number of elements."""
    ddof = _plain_number(ddof)
    if not (n > ddof if type(ddof) is int else symbols.fixed(n) > ddof):
        raise NeedsOpaque("samples of too few elements")
    return ddof


def _root(n: Any, like: TensorProxy) -> Any:
    """The square root of a length."""
    if type(n) is int:
        return math.sqrt(n)
    return clang.convert(clang.sqrt(as_array(symbols.number_of(n), dtypes.float64)), like.dtype)


# Moments


def _moments(x: TensorProxy, axis: int, order: int) -> tuple[TensorProxy, TensorProxy, TensorProxy]:
    """The second central moment, the one of ``order``, and where all elements are equal."""
    mean = _mean(x, axis)
    centered = lnp.subtract(x, mean)
    square = lnp.multiply(centered, centered)
    second = _mean(square, axis)
    other = _mean(lnp.multiply(square, centered if order == 3 else square), axis)
    bound = clang.mul(mean, _EPSILON[x.dtype])
    return second, other, clang.le(second, clang.mul(bound, bound))


@scipysymbol("stats.skew")
def skew(
    a: Any, axis: Any = 0, bias: Any = True, nan_policy: Any = "propagate", *, keepdims: Any = False
) -> TensorProxy:
    """``scipy.stats.skew``; NaN where all elements are equal."""
    x, d, n = _samples(a, axis, nan_policy)
    second, third, is_constant = _moments(x, d, 3)
    positive = clang.where(is_constant, 1.0, second)
    found = clang.div(third, clang.mul(positive, clang.sqrt(positive)))
    if not bias and n > 2:
        n = symbols.fixed(n)
        found = clang.mul(found, math.sqrt((n - 1.0) * n) / (n - 2.0))
    return _ended(clang.where(is_constant, math.nan, found), d, keepdims, a)


@scipysymbol("stats.kurtosis")
def kurtosis(
    a: Any, axis: Any = 0, fisher: Any = True, bias: Any = True, nan_policy: Any = "propagate", *, keepdims: Any = False
) -> TensorProxy:
    """``scipy.stats.kurtosis``; NaN where all elements are equal."""
    x, d, n = _samples(a, axis, nan_policy)
    second, fourth, is_constant = _moments(x, d, 4)
    positive = clang.where(is_constant, 1.0, second)
    found = clang.div(fourth, clang.mul(positive, positive))
    if not bias and n > 3:
        n = symbols.fixed(n)
        found = clang.sub(clang.mul(found, n**2 - 1.0), 3 * (n - 1) ** 2.0)
        found = clang.add(clang.mul(found, 1.0 / (n - 2) / (n - 3)), 3.0)
    found = clang.where(is_constant, math.nan, found)
    return _ended(clang.sub(found, 3.0) if fisher else found, d, keepdims, a)


@scipysymbol("stats.sem")
def sem(a: Any, axis: Any = 0, ddof: Any = 1, nan_policy: Any = "propagate", *, keepdims: Any = False) -> TensorProxy:
    """``scipy.stats.sem``: the standard deviation over the root of the number of elements."""
    x, d, n = _samples(a, axis, nan_policy)
    ddof = _below(ddof, n)
    deviation = lnp.std(x, axis=d, ddof=ddof, keepdims=True)
    return _ended(clang.div(deviation, _root(n, deviation)), d, keepdims, a)


@scipysymbol("stats.variation")
def variation(
    a: Any, axis: Any = 0, nan_policy: Any = "propagate", ddof: Any = 0, *, keepdims: Any = False
) -> TensorProxy:
    """``scipy.stats.variation``: the standard deviation over the mean."""
    x, d, n = _samples(a, axis, nan_policy)
    ddof = _below(ddof, n)
    deviation = lnp.std(x, axis=d, keepdims=True)
    if ddof:
        n = symbols.fixed(n)
        deviation = clang.mul(deviation, math.sqrt(n / (n - ddof)))
    return _ended(lnp.true_divide(deviation, _mean(x, d)), d, keepdims, a)


@scipysymbol("stats.zscore", returns="array")
def zscore(a: Any, axis: Any = 0, ddof: Any = 0, nan_policy: Any = "propagate") -> TensorProxy:
    """``scipy.stats.zscore``; NaN where all elements are equal."""
    if axis is None:
        raise NeedsOpaque("scores along all axes")
    x, d, n = _samples(a, axis, nan_policy)
    ddof = _below(ddof, n)
    mean, deviation = _mean(x, d), lnp.std(x, axis=d, ddof=ddof, keepdims=True)
    is_constant = clang.le(deviation, clang.abs(clang.mul(mean, _EPSILON[x.dtype])))
    found = lnp.true_divide(lnp.subtract(x, mean), clang.where(is_constant, 1.0, deviation))
    return clang.where(is_constant, math.nan, found)


# Means of other kinds


def _weighted_mean(x: TensorProxy, axis: int, weights: Any) -> TensorProxy:
    if weights is None:
        return _mean(x, axis)
    w = as_array(weights, x.dtype)
    if sizes.shapes_equal(w.shape, x.shape) is not True:
        raise NeedsOpaque("weights of another shape")
    total = lnp.sum(lnp.multiply(w, x), axis=axis, keepdims=True)
    return lnp.true_divide(total, lnp.sum(w, axis=axis, keepdims=True))


@scipysymbol("stats.gmean")
def gmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    weights: Any = None,
    *,
    nan_policy: Any = "propagate",
    keepdims: Any = False,
) -> TensorProxy:
    """``scipy.stats.gmean``: the geometric mean."""
    if dtype is not None:
        raise NeedsOpaque("a mean in a dtype of its own")
    x, d, _ = _samples(a, axis, nan_policy, 1)
    return _ended(clang.exp(_weighted_mean(clang.log(x), d, weights)), d, keepdims, a)


@scipysymbol("stats.entropy")
def entropy(
    pk: Any, qk: Any = None, base: Any = None, axis: Any = 0, *, nan_policy: Any = "propagate", keepdims: Any = False
) -> TensorProxy:
    """``scipy.stats.entropy`` of probabilities, which are normalised first; with ``qk`` the relative entropy."""
    if base is not None and not (type(base) in (int, float) and base > 0):
        raise NeedsOpaque("a logarithm's base")
    p, d, _ = _samples(pk, axis, nan_policy, 1)
    share = lnp.true_divide(p, lnp.sum(p, axis=d, keepdims=True))
    if qk is None:
        parts = special.composed("entr")(share)
    else:
        q = as_array(qk)
        if sizes.shapes_equal(q.shape, as_array(pk).shape) is not True:
            raise NeedsOpaque("probabilities of other shapes")
        q, _, _ = _samples(q, axis, nan_policy, 1)
        other = lnp.true_divide(q, lnp.sum(q, axis=d, keepdims=True))
        parts = special.composed("rel_entr")(*promote(share, other))
    total = lnp.sum(parts, axis=d, keepdims=True)
    return _ended(total if base is None else clang.div(total, math.log(base)), d, keepdims, pk)


@scipysymbol("stats.iqr")
def iqr(
    x: Any, axis: Any = None, rng: Any = (25, 75), scale: Any = 1.0, nan_policy: Any = "propagate", interpolation: Any = "linear",
    keepdims: Any = False,
) -> TensorProxy:  # fmt: skip
    """``scipy.stats.iqr``: the distance between two quantiles."""
    a, d, _ = _samples(x, axis, nan_policy)
    is_plain = isinstance(rng, (tuple, list)) and len(rng) == 2 and all(type(r) in (int, float) for r in rng)
    if not is_plain or interpolation != "linear" or type(scale) not in (int, float):
        raise NeedsOpaque("quantiles of another kind")
    low, high = sorted(rng)
    if not 0 <= low <= high <= 100:
        raise NeedsOpaque("quantiles beyond the data")
    found = lnp.quantile(a, [low / 100, high / 100], axis=d, keepdims=True)
    distance = clang.convert(clang.sub(lnp.take(found, 1, axis=0), lnp.take(found, 0, axis=0)), a.dtype)
    return _ended(clang.div(distance, float(scale)) if scale != 1.0 else distance, d, keepdims, x)


# Calls

by_dry_run(
    "stats",
    "binned_statistic boxcox_llf circmean circstd circvar describe differential_entropy energy_distance expectile "
    "false_discovery_control gstd gzscore hmean kstat kstatvar lmoment median_abs_deviation moment multivariate_normal.cdf "
    "multivariate_normal.logpdf multivariate_normal.pdf obrientransform percentileofscore pmean quantile rankdata relfreq "
    "scoreatpercentile tiecorrect tmax tmean tmin trim1 trim_mean trimboth tsem tstd tvar wasserstein_distance yeojohnson_llf zmap",
)


def declare_loaded() -> None:
    """Once SciPy's module is loaded: methods of the distributions without a row of their own are calls."""
    module = sys.modules["scipy.stats"]
    methods = "pdf logpdf pmf logpmf cdf logcdf sf logsf ppf isf".split()
    for name, found in vars(module).items():
        if isinstance(found, (module.rv_continuous, module.rv_discrete)) and not name.startswith("_"):
            names = (f"{name}.{m}" for m in methods if callable(getattr(found, m, None)))
            by_dry_run("stats", " ".join(n for n in names if not is_defined(f"stats.{n}")))
