"""Calls with ``out=``: the function computes its results as always, and they are then stored into the given arrays.

The registry says how a function takes ``out=`` (:class:`~tnp.lang.numpy.registry.Out`). This module removes it from the
arguments, whether it was passed by position or keyword, as an array or a tuple.
"""

from __future__ import annotations

import inspect
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.tracing.traced_values import TracedArray
from tnp.core import sizes
from tnp.core.errors import NeedsEager
from tnp.core.symbol import OpTags, Symbol
from tnp.lang import numpy as lnp
from tnp.lang.numpy.opaque import function_of
from tnp.lang.numpy.registry import Out

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["call_with_out", "may_take_out", "without_out"]

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

#: functions that write to ``out=`` while they still read their arguments
_WRITING_EARLY = (lnp.concatenate, lnp.ptp, lnp.stack)
#: functions that refuse ``dtype=`` beside ``out=``
_NO_DTYPE_BESIDE = (lnp.concatenate, lnp.stack)


def may_take_out(symbol: Symbol) -> bool:
    """Whether a function of NumPy's that has no definition takes ``out=``, as far as its signature says."""
    if not isinstance(symbol.id, str) or not symbol.id.startswith("opaque."):
        return True
    try:
        parameters = inspect.signature(function_of(symbol.id)).parameters
    except ValueError:
        return True
    return any(p.name == "out" or p.kind is p.VAR_KEYWORD for p in parameters.values())


def without_out(out: Out, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Arguments, tuple[Any, ...] | None]:
    """The arguments of a call without ``out=``, and what was passed as it: an entry a result, ``None`` if there is nothing.

    Raises ``TypeError`` for one passed twice.
    """
    position = out.position
    kwargs = dict(kwargs)
    if position is None or len(args) <= position:
        given = kwargs.pop("out", None)
        if isinstance(given, tuple) and not out.tuples:
            raise NeedsEager("it passes a tuple as out=")
        if isinstance(given, tuple) and not given:
            raise NeedsEager("it passes an empty tuple as out=")
        arrays = given if isinstance(given, tuple) else (given,)
    else:
        end = position + out.count
        arrays = (*args[position:end], *(None,) * (end - len(args)))
        # What comes behind it becomes keywords, for without it the positions are others.
        behind = dict(zip(out.after, args[end:]))
        if "out" in kwargs or len(args) > end + len(behind) or not behind.keys().isdisjoint(kwargs):
            raise TypeError("too many arguments, or one of them twice")
        args = args[:position]
        kwargs |= behind
    return (args, kwargs), None if all(a is None for a in arrays) else arrays


def call_with_out(
    tracer: Tracer, symbol: Symbol, out: Out, args: tuple[Any, ...], kwargs: dict[str, Any], arrays: tuple[Any, ...]
) -> Any:
    """Calls ``symbol`` and stores its results into ``arrays``, which it gives back; ``None`` among them stores none."""
    if OpTags.RANDOM in symbol.tags:
        raise NeedsEager(f"{symbol.name} draws into out=")
    if any(a is not None and type(a) is not TracedArray and not isinstance(a, np.ndarray) for a in arrays):
        raise NeedsEager("out= is not an array")
    if out.refused:
        raise NeedsEager(out.refused)
    if symbol in _NO_DTYPE_BESIDE and kwargs.get("dtype") is not None:
        raise NeedsEager(f"{symbol.name} takes out= or dtype=, not both")
    if symbol in _WRITING_EARLY and any(_shares(arrays[0], x) for x in (*args, *kwargs.values())):
        raise NeedsEager(f"{symbol.name} writes to out= while it reads a view of it")
    if symbol is lnp.round and type(arrays[0]) is TracedArray and not arrays[0].storage.writable:
        raise NeedsEager("it rounds into a read-only array, which NumPy lets pass for integers")
    if symbol is lnp.dot and not (type(arrays[0]) is TracedArray and arrays[0].contiguous_):
        raise NeedsEager("np.dot takes an out= that is C-contiguous")
    if out.sets_dtype:
        args, kwargs = _in_dtype_of(arrays[0], symbol, out, args, kwargs)
    where = kwargs.get("where", True) if out.converts else True
    if where is not True:
        args, kwargs = _computed_everywhere(tracer, symbol, where, args, kwargs)
    shape = arrays[0].shape_ if len(arrays) == 1 and type(arrays[0]) is TracedArray else ()
    try:
        with nullcontext() if sizes.is_known(shape) else sizes.stored_in(shape):
            result = tracer.call(symbol, args, kwargs)
    except TypeError as error:  # with this out=, NumPy may choose a loop that does not raise (np.ptp)
        if out.converts:
            raise
        raise NeedsEager(f"{symbol.name} may raise {type(error).__name__}, or not, with this out=") from None
    results = result if isinstance(result, tuple) else (result,)
    if not all(type(r) is TracedArray for r in results):
        raise NeedsEager(f"{symbol.name} with out= gives no array")
    targets = [None if a is None else tracer.array_handle(a) for a in arrays]
    if len(targets) != len(results):
        raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
    if len(results) > 1 and out.converts:
        results = _of_one_shape(tracer, results, targets)
    for target, value in zip(targets, results):
        if target is None:
            continue
        if not out.converts and not _is_alike(target, value):
            raise NeedsEager(f"out= of {symbol.name} has another shape or dtype than its result")
        _check_storable(target, value, kwargs.get("casting", "same_kind"))
        if where is not True:
            if target._element_type.kind == "c" and value._element_type.kind != "c":
                raise NeedsEager("it stores real numbers into some of a complex array, of which NumPy warns")
            value = _only_where(tracer, tracer.array_handle(where), value, target)
        tracer.store(target, value, by_element=False)
    stored = tuple(value if target is None else target for target, value in zip(targets, results))
    return stored if len(stored) > 1 else stored[0]


def _in_dtype_of(target: Any, symbol: Symbol, out: Out, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """The arguments of a ufunc's method with the dtype that NumPy computes in, where its results are kept in ``target``.

    NumPy keeps partial results there, so it converts them back and forth if it computes in another dtype. Such a call runs
    eagerly.
    """
    assert out.position is not None
    ufunc, array = args[:2]
    if len(args) == out.position:
        args, kwargs = args[:-1], {**kwargs, "dtype": args[-1]}
    given = kwargs.get("dtype")
    if given is None:
        own = array.dtype if type(array) is TracedArray else np.asanyarray(array).dtype
        try:
            computed = ufunc.resolve_dtypes((target.dtype, own, None), reduction=True)[2]
        except TypeError:
            computed = None
        if computed == np.dtype(bool) and ufunc.__name__.startswith("logical_"):
            return args, kwargs
    else:
        computed = np.dtype(given)
    if computed != target.dtype:
        raise NeedsEager(f"{ufunc.__name__}.{symbol.name} stores its results in another dtype than it computes in")
    return args, {**kwargs, "dtype": computed}


def _shares(target: Any, x: Any) -> bool:
    """Whether an argument, or an item of it, is a view of the same memory as ``target``."""
    if isinstance(x, (tuple, list)):
        return any(_shares(target, y) for y in x)
    return type(x) is TracedArray and type(target) is TracedArray and x.storage is target.storage


def _computed_everywhere(
    tracer: Tracer, symbol: Symbol, where: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Arguments:
    """The arguments without ``where=``, and with operands that raise no warnings where it does not hold."""
    if isinstance(where, np.ndarray) and where.dtype != bool:
        raise TypeError(f"Cannot cast array data from {where.dtype} to bool according to the rule 'safe'")
    harmless = 0 if symbol is lnp.arctanh else 1
    operands = tuple(
        tracer.call(lnp.where, (where, a, a.dtype.type(harmless)), {}) if type(a) is TracedArray else a for a in args
    )
    return operands, {k: v for k, v in kwargs.items() if k != "where"}


def _only_where(tracer: Tracer, where: TracedArray, value: TracedArray, target: TracedArray) -> TracedArray:
    """The results where the mask holds, else the elements of the array into which they are stored, in its dtype."""
    if value._element_type is not target._element_type:
        if value._element_type.kind in "fc" and target._element_type.kind not in "fc":
            value = tracer.call(lnp.where, (where, value, value.dtype.type(0)), {})
        value = value.astype(target.dtype)
    chosen: TracedArray = tracer.call(lnp.where, (where, value, target), {})
    return chosen


def _of_one_shape(tracer: Tracer, results: tuple[Any, ...], targets: list[TracedArray | None]) -> tuple[Any, ...]:
    """The results of a ufunc, all in the shape of the arrays that are given for some."""
    shapes = {t.shape_ for t in targets if t is not None}
    if len(shapes) > 1:
        raise NeedsEager("the arrays in out= are of several shapes")
    (shape,) = shapes
    if all(value.shape_ == shape for value in results):
        return results
    return tuple(
        tracer.call(lnp.copy, (tracer.call(lnp.broadcast_to, (value, shape), {}),), {}) if target is None else value
        for value, target in zip(results, targets)
    )


def _is_alike(target: TracedArray, value: TracedArray) -> bool:
    """Whether the two have the same dtype, and the same shape, or one whose difference raises an error where it is stored: what would be
    repeated does not."""
    same_shape = sizes.shapes_equal(target.shape_, value.shape_)
    if same_shape is None and any(m == 1 and n != 1 for n, m in zip(target.shape_, value.shape_)):
        return False
    return same_shape is not False and target._element_type is value._element_type


def _check_storable(target: TracedArray, value: TracedArray, casting: Any) -> None:
    """Raises what NumPy raises where a ufunc's result cannot be stored into an array."""
    if not np.can_cast(value.dtype, target.dtype, casting):
        raise TypeError(f"Cannot cast output from {value.dtype} to {target.dtype} with casting rule {casting!r}")
    if len(value.shape_) > len(target.shape_):
        raise ValueError("non-broadcastable output operand")
