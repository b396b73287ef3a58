"""``scipy.spatial.distance``: distances between points, the common ones as compositions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.prims.base import size_proxy
from tnp.core.proxies import TensorProxy, is_number
from tnp.lang.numpy.dtypes import to_numpy_dtype
from tnp.lang.numpy.linalg.operands import plain
from tnp.lang.numpy.operands import as_array
from tnp.lang.scipy.registry import by_dry_run, call_symbol, scipycall, scipysymbol

__all__ = ["cdist", "pdist"]


def _minkowski(p: Any) -> Callable[[TensorProxy], TensorProxy]:
    def distance(d: TensorProxy) -> TensorProxy:
        powers = clang.pow(clang.abs(d), p)
        made: TensorProxy = clang.pow(prims.sum(powers, (d.ndim - 1,)), 1.0 / p)
        return made

    return distance


def _square(d: TensorProxy) -> TensorProxy:
    made: TensorProxy = prims.sum(clang.mul(d, d), (d.ndim - 1,))
    return made


#: of the differences of points, which are along the last dimension
_METRICS: dict[str, Callable[[TensorProxy], TensorProxy]] = {
    "euclidean": lambda d: clang.sqrt(_square(d)),
    "sqeuclidean": _square,
    "cityblock": lambda d: prims.sum(clang.abs(d), (d.ndim - 1,)),
    "chebyshev": lambda d: prims.amax(clang.abs(d), (d.ndim - 1,)),
}
#: points whose pairs are compositions: there is an operation for each
_MOST_POINTS = 32
_OTHER_NAMES = {
    **dict.fromkeys(("euclid", "eu", "e"), "euclidean"),
    **dict.fromkeys(("sqe", "sqeuclid"), "sqeuclidean"),
    **dict.fromkeys(("cblock", "cb", "c", "manhattan"), "cityblock"),
    **dict.fromkeys(("chebychev", "cheby", "cheb", "ch"), "chebyshev"),
}


def _metric(metric: Any, out: Any, options: dict[str, Any]) -> Callable[[TensorProxy], TensorProxy]:
    if out is not None or type(metric) is not str:
        raise NeedsOpaque("the metric is a function, or the distances go to an array")
    name = metric.lower()
    if name in ("minkowski", "mi", "m", "pnorm") and options.keys() <= {"p"} and is_number(options.get("p", 2)):
        p = plain(options.get("p", 2))
        if not 0 < p < math.inf:
            raise NeedsOpaque("the order is at an edge")
        return _minkowski(p)
    if options or _OTHER_NAMES.get(name, name) not in _METRICS:
        raise NeedsOpaque(f"the metric {metric} has no definition")
    return _METRICS[_OTHER_NAMES.get(name, name)]


def _points(x: Any) -> TensorProxy:
    """Points in double precision, in rows."""
    a = as_array(x)
    known = a.ndim == 2 and sizes.equal(a.shape[1], 0) is False
    if not known or a.dtype.kind not in "fiub":
        raise NeedsOpaque("the points are none")
    return clang.convert(a, dtypes.float64)


@scipysymbol("spatial.distance.cdist")
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> TensorProxy:
    """The distances between each point of one set and each of another, both in rows."""
    distance, a, b = _metric(metric, out, kwargs), _points(XA), _points(XB)
    if sizes.equal(a.shape[1], b.shape[1]) is not True:
        raise NeedsOpaque("the points have different dimensions")
    return distance(clang.sub(clang.expand_dims(a, (1,)), clang.expand_dims(b, (0,))))


@scipysymbol("spatial.distance.pdist")
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> TensorProxy:
    """The distances between the points of a set, each pair once."""
    distance, x = _metric(metric, out, kwargs), _points(X)
    n = x.shape[0]
    if type(n) is not int or not 2 <= n <= _MOST_POINTS:
        raise NeedsOpaque("there are many pairs, or none")
    later = [clang.slice_dim(x, i + 1, n, dim=0) for i in range(n - 1)]
    return distance(
        clang.concatenate([clang.sub(clang.slice_dim(x, i, i + 1, dim=0), b) for i, b in enumerate(later)], 0)
    )


def _distances(p: TensorProxy) -> Any:
    """Data for distances: a matrix of them, or one of each pair."""
    made = np.ones(sizes.concrete(p.shape, "a dry run"), to_numpy_dtype(p.dtype))
    return made - np.eye(*made.shape, dtype=made.dtype) if made.ndim == 2 else made


def _pairs(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """The distances between as many points as the program finds when it runs."""
    n = X.shape[0] if isinstance(X, TensorProxy) and X.ndim == 2 else 0
    if type(n) is int or type(metric) is not str or out is not None or X.dtype.kind not in "fiub":
        return None
    return TensorProxy(like=X, shape=(_number_of_pairs(n),), dtype=dtypes.float64)


def _number_of_pairs(n: Any) -> Any:
    """Of so many points: computed of a symbolic size, and else what the running program finds."""
    if symbols.value_of(n) is not None:
        return symbols.compute("floor_divide", symbols.compute("mul", n, symbols.compute("sub", n, 1)), 2)
    most = sizes.bound_or_none(n)
    return size_proxy(None if most is None else most * (most - 1) // 2)


def _number_of_points(pairs: Any) -> Any:
    """Of so many pairs: a symbolic size that has as many, and else what the running program finds."""
    for n in () if pairs.relations is None else pairs.relations.symbols:
        if sizes.key_of(_number_of_pairs(n)) == sizes.key_of(pairs):
            return n
    most = sizes.bound_or_none(pairs)
    return size_proxy(None if most is None else math.isqrt(2 * most) + 1)


def _square_form(X: Any, force: Any = "no", checks: Any = True) -> Any:
    """The matrix of as many distances, or the other way round."""
    is_any = isinstance(X, TensorProxy) and not sizes.is_known(X.shape) and type(force) is str
    if not is_any or force.lower() != "no" or X.dtype is not dtypes.float64 or X.ndim not in (1, 2):
        return None
    if X.ndim == 2:
        return TensorProxy(like=X, shape=(_number_of_pairs(X.shape[0]),))
    n = _number_of_points(X.shape[0])
    return TensorProxy(like=X, shape=(n, n))


call_symbol("spatial.distance.pdist", of_any_size=_pairs)
call_symbol("spatial.distance.squareform", (_distances,), of_any_size=_square_form)
by_dry_run("spatial.distance", "squareform")
by_dry_run(
    "spatial.distance",
    "braycurtis canberra chebyshev cityblock correlation cosine dice euclidean hamming jaccard jensenshannon mahalanobis "
    "rogerstanimoto russellrao seuclidean sokalsneath sqeuclidean yule",
)
_minkowski_of_order = call_symbol("spatial.distance.minkowski")


@scipycall("spatial.distance.minkowski")
def _minkowski_distance(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    """``scipy.spatial.distance.minkowski``, called: a float where the order is 2, a scalar for others."""
    if isinstance(p, TensorProxy):
        raise NeedsEager("the order of a distance is an array")
    return _minkowski_of_order.meta(u, v, plain(p), w)
