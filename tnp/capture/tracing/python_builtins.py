"""Python's builtins on traced values: ``float``, ``max``, ``len``, ``round``, ``math.sin``, …"""

from __future__ import annotations

import builtins
import collections
import itertools
import operator
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.iterables import (
    Iterations,
    TracedRange,
    counted_from_zero,
    enumerate_,
    is_known,
    pairwise_,
    range_,
    reversed_,
    zip_,
)
from tnp.capture.control_flow.made_lists import check_method, list_of
from tnp.capture.control_flow.products import PRODUCTS
from tnp.capture.control_flow.selection import ControlFlow, truth_of
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.libraries.numpy.broadcasts import BROADCASTS
from tnp.capture.libraries.numpy.deleting import DELETING
from tnp.capture.libraries.numpy.eigenvalues import EIGENVALUES
from tnp.capture.libraries.numpy.errstate import Errstate
from tnp.capture.libraries.numpy.functionals import FUNCTIONALS
from tnp.capture.libraries.numpy.in_place import IN_PLACE
from tnp.capture.libraries.numpy.list_of_rows import array_of_rows
from tnp.capture.libraries.numpy.operations import select
from tnp.capture.objects.array_classes import new_array
from tnp.capture.objects.identity import id_, is_, is_not, isinstance_, type_
from tnp.capture.objects.namespaces import delete_attribute, get_attribute, has_attribute, set_attribute
from tnp.capture.objects.plain_attributes import OF_OBJECT
from tnp.capture.objects.row_list import ListStandIn
from tnp.capture.objects.uneven_lists import length_of
from tnp.capture.speculation.trials import is_unknown
from tnp.capture.tracing.growing import GrowingArray
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.python_numbers import MATH, converted, index_of, rounded
from tnp.capture.tracing.python_reductions import is_flat, is_long, largest, total, truth
from tnp.capture.tracing.remembering import CACHES
from tnp.capture.tracing.scalar_kind import condition_of, larger_or_smaller
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.capture.tracing.warning_filters import CatchWarnings
from tnp.core.errors import NeedsEager
from tnp.core.proxies import NumberProxy

__all__ = ["ALWAYS", "BUILTINS", "OF_NUMPY", "of_items"]

_MISSING = object()


def _fold(comparison: str) -> Callable[..., Any]:
    """``max`` and ``min``: the first of equals, as Python's comparisons decide."""

    def fold(*xs: Any, key: Any = None, default: Any = _MISSING) -> Any:
        builtin = builtins.max if comparison == "gt" else builtins.min
        xs = tuple(map(_one_by_one, xs))
        keywords = {} if default is _MISSING else {"default": default}
        rows = _rows(xs[0], filled=True) if len(xs) == 1 else None
        if isinstance(xs[0], ListStandIn) and type(rows) is TracedArray and rows.ndim > 1:
            raise ReadsVarying(xs[0].description)  # the result is one of the arrays themselves
        if key is None and ((len(xs) == 1 and isinstance(xs[0], ListStandIn)) or is_long(rows, "biuf")):
            return _as_item(largest(rows, comparison), xs[0])
        items = list(xs[0]) if len(xs) == 1 else list(xs)
        if key is not None or not items:
            return builtin(items, key=key, **keywords)
        best = items[0]
        for x in items[1:]:
            better = condition_of(getattr(operator, comparison)(x, best))
            if type(better) is TracedArray and better.ndim:
                return builtin(items)
            if type(better) is TracedArray and _same_kind(x, best):
                best = select(better, x, best)
            elif type(better) is TracedArray and (found := larger_or_smaller(better, x, best)) is not None:
                best = found
            elif is_unknown(better):
                best = ControlFlow().if_exp(better, lambda x=x: x, lambda best=best: best)
            elif better:
                best = x
        return best

    return fold


def _same_kind(x: Any, y: Any) -> bool:
    """Whether both are NumPy scalars of one dtype, so that either can stand in for the other."""
    scalars = all(x.scalar if type(x) is TracedArray else isinstance(x, np.generic) for x in (x, y))
    return scalars and bool(x.dtype == y.dtype)


def _rows(items: Any, *, filled: bool = False) -> Any:
    """The array that has the items of a list as its rows, if a loop has made it so; else what is given. With ``filled``, the call runs
    eagerly where nothing is in a list of which only the running program knows the length."""
    if isinstance(items, ListStandIn):
        return items.as_array(filled=filled)
    rows = array_of_rows(items) if type(items) is list else None
    return items if rows is None else rows


def _one_by_one(items: Any) -> Any:
    """A list as it is, where a stand-in has its items."""
    found = items.as_list() if isinstance(items, ListStandIn) else None
    return items if found is None else found


def _as_item(x: Any, items: Any) -> Any:
    """A scalar made of the items of a list; a number if they are numbers."""
    if isinstance(items, ListStandIn):
        return items.as_item(x)
    return x.item() if type(items) is list and type(items[0]) is TracedNumber else x


def _sum(items: Any, /, start: Any = 0) -> Any:
    items = _one_by_one(items)
    is_counted = isinstance(items, ListStandIn) and items.are_integers  # the sum of none of them is an integer, too
    rows = items.as_array(typed=True) if is_counted else _rows(items, filled=True)
    if is_counted and type(start) is int and start == 0:
        return active.current().numpy_function(np.sum, (rows,), {}).item()
    is_number = type(start) in (int, float, TracedNumber)
    if is_number and (isinstance(items, ListStandIn) or is_long(rows, "biufc", dims=64)):
        return _as_item(total(rows, start), items)
    found = start
    for x in items:
        found = found + x
    return found


def _any(items: Any, /) -> Any:
    return _truths(items, any, np.any, operator.or_)


def _all(items: Any, /) -> Any:
    return _truths(items, all, np.all, operator.and_)


def _truths(items: Any, builtin: Callable[..., Any], function: Any, both: Callable[[Any, Any], Any]) -> Any:
    """``any(items)`` or ``all(items)``. Unknown truths are combined into one condition instead of a branch for each."""
    items = _one_by_one(items)
    rows = _rows(items)
    if isinstance(items, ListStandIn) or is_flat(rows):
        return truth(rows, function)
    has_arrays = type(items) not in (list, tuple) or any(type(x) is TracedArray and x.ndim > 0 for x in items)
    if has_arrays or not any(map(is_unknown, items)):
        return builtin(items)  # which may end before an array that has no truth
    found: Any = builtin(())
    for x in items:
        holds = _bool(x)
        if holds is (not builtin(())):
            return holds
        found = both(found, holds)
    return found


def _len(x: Any) -> Any:
    if isinstance(x, ListStandIn):
        return x.length()
    if type(x) is GrowingArray:
        return x.length()
    if type(x) is TracedArray:
        if not x.shape_:
            raise TypeError("len() of unsized object")
        n = x.shape_[0]
        return TracedNumber(n) if isinstance(n, NumberProxy) else n
    if type(x) is TracedRange and (made := counted_from_zero(x)) is not None and is_known(made.stop) and made.stop >= 0:
        return made.stop
    found = length_of(x)
    return len(x) if found is None else found


def _bool(x: Any) -> Any:
    x = x.is_filled() if isinstance(x, ListStandIn) else x
    return truth_of(x) if is_unknown(x) else bool(x)


def _list(*xs: Any) -> Any:
    if len(xs) != 1 or not (type(xs[0]) in (range, TracedRange) or is_traced(xs)):
        return list(*xs)
    (x,) = xs
    return x.copy() if isinstance(x, ListStandIn) else list_of(x, lambda: list(x), numbers=False)


#: functions of generators that are given their items
_OF_ITEMS = (all, any, list, max, min, sorted, sum, tuple, np.fromiter)


def _sorted(x: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    if key is None and type(reverse) is bool:
        if type(x) is list:
            check_method(x, "sort", ())
        elif isinstance(x, ListStandIn) or type(x) is TracedArray:
            made = x.copy() if isinstance(x, ListStandIn) else list_of(x, lambda: list(x), numbers=False, counts=True)
            made.sort(reverse=reverse)
            return made
    return sorted(x, key=key, reverse=reverse)


#: items that the program has one by one
_FEW = 64


def _is_short(x: Iterations) -> bool:
    """Whether there are few items, which are known while tracing."""
    count = x.length()
    return count == 0 or (x.constant and count is not None and count <= _FEW and not is_traced(x.item(x.start)))


def _has_items_of_trace(x: Any) -> bool:
    return isinstance(x, (ListStandIn, range, TracedRange)) or (type(x) is TracedArray and x.ndim > 0)


def _mapped(runtime: Any, f: Any, mapped: tuple[Any, ...]) -> Iterations | None:
    """What ``map`` gives of a function and arrays, ranges or lists that are stand-ins, or what goes along with such, for a function that
    goes through all; ``None`` for others."""
    function, g, *xs = mapped
    is_own = function is map and type(f) in (type, types.BuiltinFunctionType) and f in _OF_ITEMS
    if not is_own or active.running() is None or not any(_has_items_of_trace(x) for x in xs):
        return None
    counted = [counted_from_zero(x) for x in xs]
    if any(r is None or not is_known(r.stop) for r in counted):
        return None
    together = zip_(*xs)
    made = Iterations(0, together.stop, 1, lambda i: runtime.call(g, *together.item(i)))
    made.over = together.over
    return made


def of_items(
    runtime: Any, f: Any, listed: Callable[[Any], Any], over: Any, lazy: Callable[[Any], Any] | None, *more: Any
) -> Any:
    """``f(lazy(over), *more)``, a function of a generator. ``listed(over)`` is the list of the items, or the result of ``any`` or ``all``.
    Without ``lazy`` it is ``f(over)``, or ``[*over]``, or with ``more`` it is ``f(map(*more[1:]))``."""
    if lazy is None and more:
        found = _mapped(runtime, f, more)
        if found is None:
            return runtime.call(f, runtime.call(*more))
        return listed(found) if f is list else runtime.call(f, listed(found))
    if lazy is None:
        function = list if f is None else f
        is_listed = function is list and type(over) is Iterations and not _is_short(over)
        return listed(over) if is_listed else runtime.call(function, over)
    if active.running() is None or type(f) not in (type, types.BuiltinFunctionType) or f not in _OF_ITEMS:
        return runtime.call(f, lazy(over), *more)
    found = listed(over)
    return found if f in (any, all, list) else runtime.call(f, found, *more)


def _import(name: str, *args: Any, **kwargs: Any) -> Any:
    """``__import__`` of a module that is loaded, which runs no code."""
    if type(name) is not str or name not in sys.modules or args or kwargs:
        raise NeedsEager(f"it imports {name}, which is not loaded")
    return __import__(name)


def _dir(x: Any) -> Any:
    raise NeedsEager("it lists the attributes of an object")


def _round(x: Any, ndigits: Any = None) -> Any:
    if type(x) is TracedArray:
        return x.library.rounded(active.current(), x, ndigits)
    if type(x) is TracedNumber and ndigits is None and x.proxy.python_type is not complex:
        return rounded(x)
    return round(x, ndigits)


def _pow(x: Any, y: Any, mod: Any = None) -> Any:
    if mod is None:
        return x**y
    if is_traced((x, y, mod)):
        raise NeedsEager("it calls pow() with three arguments")
    return pow(x, y, mod)


def _ndarray(shape: Any, dtype: Any = float, *rest: Any, **kwargs: Any) -> Any:
    """``np.ndarray(shape, dtype)``: memory with nothing in it, as ``np.empty`` makes it. What looks at a buffer is not traced."""
    if rest or set(kwargs) - {"order"} or is_traced(dtype):
        raise NeedsEager("it makes an array over a buffer")
    order = {} if kwargs.get("order") is None else kwargs
    return active.current().numpy_function(np.empty, (shape,), {"dtype": dtype, **order})


#: elements of an array that become those of a deque one by one
_MOST_IN_DEQUE = 64


def _deque(items: Any = (), maxlen: Any = None) -> Any:
    """``collections.deque(items, maxlen)``, which takes no number but an ``int``."""
    if type(items) is TracedArray and items.ndim and items.shape[0] > _MOST_IN_DEQUE:
        raise NeedsEager(
            "it makes a deque of an array"
        )  # an operation an element, and of most uses Python makes an array again
    return collections.deque(items, None if maxlen is None else operator.index(maxlen))


BUILTINS: dict[Any, Callable[..., Any]] = {
    bool: _bool,
    list: _list,
    sorted: _sorted,
    float: converted(float),
    int: converted(int),
    complex: converted(complex),
    max: _fold("gt"),
    min: _fold("lt"),
    sum: _sum,
    any: _any,
    all: _all,
    len: _len,
    type: type_,
    id: id_,
    operator.index: index_of,
    operator.is_: is_,
    operator.is_not: is_not,
    range: range_,
    enumerate: enumerate_,
    zip: zip_,
    itertools.pairwise: pairwise_,
    reversed: reversed_,
    collections.deque: _deque,
    round: _round,
    pow: _pow,
    isinstance: isinstance_,
    getattr: get_attribute,
    hasattr: has_attribute,
    setattr: set_attribute,
    delattr: delete_attribute,
    vars: lambda x: get_attribute(x, "__dict__"),
    dir: _dir,
    __import__: _import,
    np.ndarray: _ndarray,
    np.ndarray.__new__: new_array,
    **PRODUCTS,
    np.errstate: Errstate,
    warnings.catch_warnings: CatchWarnings,
    **OF_OBJECT,
    **FUNCTIONALS,
    **BROADCASTS,
    **CACHES,
    **DELETING,
    **EIGENVALUES,
    **IN_PLACE,
    **MATH,
}
#: of those, functions of NumPy's: their arrays may be given by name
OF_NUMPY = frozenset((*FUNCTIONALS, *DELETING, *EIGENVALUES, *IN_PLACE))
#: functions that are the tracer's own whatever their arguments
ALWAYS = frozenset((
    list, np.ndarray, np.ndarray.__new__, np.errstate, np.vectorize, np.fromiter, enumerate, zip, reversed, type, id, isinstance, getattr, hasattr, setattr, delattr, vars, dir,
    __import__,     operator.is_, operator.is_not, warnings.catch_warnings, collections.deque, *OF_OBJECT, *PRODUCTS,
))  # fmt: skip
