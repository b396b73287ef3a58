"""Warnings of NumPy's functions that depend on values: the mean or minimum of a line without numbers.

Run-time sizes, such as that of ``a[a > 0]``, count as values. The warning is a separate operation after the function's,
so passes can decompose, move and differentiate the function. If static sizes show that there is nothing to reduce, the
function raises ``NeedsOpaque``, and NumPy's own call warns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tnp.core import clang, sizes
from tnp.core.errors import NeedsEager
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import OpTags
from tnp.lang.numpy.operands import as_array, axes
from tnp.lang.numpy.reductions import NoValue, ddof_of, reduced_dims
from tnp.lang.numpy.registry import by_id, npsymbol
from tnp.runtime.python_calls import Effect

__all__ = ["DATA_WARNINGS", "OF_SIZES", "data_warning", "warn_times"]

#: a message, and how often the warning is given
Warned = tuple[str, TensorProxy] | None

_MEAN = "Mean of empty slice"
_FREEDOM = "Degrees of freedom <= 0 for slice"
_ALL_NAN = "All-NaN slice encountered"


def warn_times(count: Any, message: str) -> None:
    """Gives a ``RuntimeWarning`` that many times, at the caller's line. Raises it where warnings are errors."""
    for _ in range(int(count)):
        warnings.warn(message, RuntimeWarning, stacklevel=2)


@npsymbol(id_prefix="tnp", tags=(OpTags.EFFECT, OpTags.MAY_RAISE, OpTags.WARNS))
def data_warning(effect: Effect, result: None, count: TensorProxy) -> None:
    """Makes the call of :func:`warn_times`, with ``count``."""


def _function(name: str) -> Any:
    return by_id[f"numpy.{name}"].symbol


def _some(conditions: TensorProxy) -> TensorProxy:
    return _function("any")(conditions)


def _numbers(a: TensorProxy, axis: Any, where: Any = NoValue) -> TensorProxy:
    """How many elements that are taken of each line are not NaN: as the functions count them, so that it is done once."""
    return _function("sum")(_function("logical_not")(_function("isnan")(a)), axis, where=where)


def _extreme(result: TensorProxy, a: Any, *args: Any, **kwargs: Any) -> Warned:
    if result.dtype.kind not in "fc":
        return None
    is_array = isinstance(a, TensorProxy) and not a.scalar
    return _ALL_NAN if is_array else "All-NaN axis encountered", _some(_function("isnan")(result))


def _nanmean(
    result: Any, a: Any, axis: Any = None, dtype: Any = None, *args: Any, where: Any = NoValue, **kwargs: Any
) -> Warned:
    a = as_array(a)
    return (
        (_MEAN, _some(_function("equal")(_numbers(a, axis, where), 0)))
        if a.dtype.kind in "fc"
        else _mean(result, a, axis, where=where)
    )


def _nanvar(
    result: Any, a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, *args: Any,
    where: Any = NoValue, correction: Any = NoValue, **kwargs: Any,
) -> Warned:  # fmt: skip
    a = as_array(a)
    if a.dtype.kind not in "fc":
        return _var(result, a, axis, dtype, ddof, where=where, correction=correction)
    count = _numbers(a, axis, where)
    return f"{_FREEDOM}.", _some(_function("less_equal")(count, ddof_of(ddof, correction)))


def _order_statistic(a: Any, axis: Any) -> Warned:
    a = as_array(a)
    if a.dtype.kind not in "fc":
        return None
    if isinstance(axis, TensorProxy) and axis.ndim:
        raise NeedsEager("it takes an order statistic of what is not NaN along axes that an array holds")
    axis = None if axis is None else axes(a.ndim, axis)
    # One line after the other warns.
    return _ALL_NAN, _function("sum")(_function("equal")(_numbers(a, axis), 0))


def _nanmedian(result: Any, a: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Warned:
    return _order_statistic(a, axis)


def _nanquantile(result: Any, a: Any, q: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Warned:
    return _order_statistic(a, axis)


def _is_of_known_size(a: TensorProxy, where: Any) -> bool:
    return (where is NoValue or where is True) and (sizes.is_known(a.shape) or sizes.is_never_empty(a.shape))


def _count(a: TensorProxy, axis: Any, where: Any) -> TensorProxy | int:
    """How many elements of each line are taken; a number if the shape says that."""
    if where is not NoValue and where is not True:
        mask = clang.broadcast_to(as_array(where), a.shape)
        return _function("sum")(mask, axis)
    count = sizes.product([a.shape[d] for d in reduced_dims(a, axis)])
    return count if isinstance(count, int) else as_array(count)


def _mean(result: Any, a: Any, axis: Any = None, *args: Any, where: Any = NoValue, **kwargs: Any) -> Warned:
    a = as_array(a)
    count = 1 if _is_of_known_size(a, where) else _count(a, axis, where)
    return None if isinstance(count, int) else (_MEAN, _some(_function("equal")(count, 0)))


def _average(result: Any, a: Any, axis: Any = None, weights: Any = None, *args: Any, **kwargs: Any) -> Warned:
    return _mean(result, a, axis) if weights is None else None


def _var(
    result: Any, a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, *args: Any,
    where: Any = NoValue, correction: Any = NoValue, **kwargs: Any,
) -> Warned:  # fmt: skip
    a = as_array(a)
    taken_off = ddof_of(ddof, correction)
    if _is_of_known_size(a, where) and not isinstance(taken_off, NumberProxy):
        return None
    count = _count(a, axis, where)
    if isinstance(count, int) and not isinstance(taken_off, NumberProxy):
        return None
    return _FREEDOM, _some(_function("less_equal")(as_array(count), taken_off))


#: those that warn of sizes
OF_SIZES = frozenset((_average, _mean, _var))
#: by the id of a symbol: of its result and its arguments, what is warned of
DATA_WARNINGS: dict[str, Callable[..., Warned]] = {
    "numpy.average": _average,
    "numpy.mean": _mean,
    "numpy.nanmax": _extreme,
    "numpy.nanmean": _nanmean,
    "numpy.nanmedian": _nanmedian,
    "numpy.nanmin": _extreme,
    "numpy.nanpercentile": _nanquantile,
    "numpy.nanquantile": _nanquantile,
    "numpy.nanstd": _nanvar,
    "numpy.nanvar": _nanvar,
    "numpy.std": _var,
    "numpy.var": _var,
}
