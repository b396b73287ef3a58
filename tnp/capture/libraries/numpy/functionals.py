"""NumPy's functions that call a function of the user's for each element or row: ``np.vectorize``, ``np.apply_along_axis``,
``np.fromiter``. The function is traced in a loop, which is compiled as any loop is."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.iterables import calls_by_library
from tnp.capture.guards.prologue import Source
from tnp.capture.libraries.numpy.operations import fresh
from tnp.capture.objects.row_list import ListStandIn
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import prims
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.lang import numpy as lnp
from tnp.lang.numpy.dtypes import to_numpy_dtype

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs

__all__ = ["FUNCTIONALS", "Vectorized", "is_vectorized", "lift_vectorized"]

#: by the kind of a result, the kinds of values that NumPy stores in it as they are
_HOLDS = {"b": "b", "i": "bi", "f": "biuf", "c": "biufc"}
_DTYPES = frozenset(map(np.dtype, ("?", "q", "f", "d", "F", "D")))
#: calls of a function, for elements or rows, that are written out where they are no loop: each may be long, with branches that depend on
#: values
_MOST_CALLS = 8
#: elements of an iterable that are computed one by one
_MOST_UNROLLED = 64
_NUMBERS = (bool, int, float, complex, np.generic)


def _call(function: Any, *args: Any, **kwargs: Any) -> Any:
    return active.current().runtime.call(function, *args, **kwargs)


def _looped(loop: Callable[..., Any]) -> Callable[..., Any]:
    """A function of this module's as one of the user's, whose loops are compiled."""
    from tnp.capture.tracing.hooks import rewritten

    return rewritten(loop)


def _each(first: int, count: Any, call: Callable[[Any], None]) -> None:
    for i in calls_by_library(first, count, _MOST_CALLS):
        call(i)


def _dtype_of(x: Any) -> np.dtype[Any]:
    """The dtype of a value that is stored. Raises :class:`NeedsEager` for other values than numbers and arrays."""
    if type(x) is TracedArray:
        return to_numpy_dtype(x._element_type)
    if type(x) is TracedNumber:
        return np.dtype(x.proxy.python_type)
    if type(x) is TracedEither:  # of float64 and float, it does not matter which
        scalar, python_type = x.kinds
        return np.dtype(scalar) if np.dtype(python_type) == scalar else _dtype_of(x.settled())
    if isinstance(x, _NUMBERS):
        return np.dtype(type(x))
    if isinstance(x, np.ndarray):
        return np.dtype(x.dtype)
    raise NeedsEager(f"a function that NumPy calls for each element gives a {type(x).__name__}")


def _shape_of(x: Any) -> tuple[Any, ...]:
    return tuple(x.shape) if isinstance(x, (TracedArray, np.ndarray)) else ()


def _check_held(dtype: np.dtype[Any], value: Any, shape: tuple[Any, ...] = ()) -> None:
    """Raises :class:`NeedsEager` unless an array of that dtype takes a value without a conversion that could fail."""
    found = _dtype_of(value)
    if dtype not in _DTYPES or found.kind not in _HOLDS[dtype.kind] or _shape_of(value) != shape:
        raise NeedsEager(f"a function that NumPy calls for each element gives {found} of shape {_shape_of(value)}")


def _empty(shape: tuple[Any, ...], dtype: Any) -> Any:
    if np.dtype(dtype) not in _DTYPES:
        raise NeedsEager(f"a function that NumPy calls for each element gives {dtype}")
    return _call(np.empty, shape, dtype)


class Vectorized:
    """An ``np.vectorize`` object in a program."""

    def __init__(
        self, pyfunc: Any, otypes: Any = None, doc: Any = None, excluded: Any = None, cache: bool = False,
        signature: Any = None,
    ) -> None:  # fmt: skip
        made = np.vectorize(abs, otypes, None, excluded, cache, signature)  # it checks what it is given
        self.pyfunc = pyfunc
        self.otypes: Any = made.otypes
        self.excluded: Any = made.excluded
        self.cache, self.signature = cache, signature
        self.__doc__ = getattr(pyfunc, "__doc__", None) if doc is None else doc
        if hasattr(pyfunc, "__name__"):
            self.__name__ = pyfunc.__name__

    def __tnp_call__(self, *args: Any, **kwargs: Any) -> Any:
        """A call of the object."""
        function, varied = self.pyfunc, list(args)
        if kwargs or self.excluded:
            names = [n for n in kwargs if n not in self.excluded]
            places = [i for i in range(len(args)) if i not in self.excluded]
            varied = [*(args[i] for i in places), *(kwargs[n] for n in names)]

            def function(*given: Any) -> Any:
                every = list(args)
                for i, x in zip(places, given):
                    every[i] = x
                return _call(self.pyfunc, *every, **kwargs | dict(zip(names, given[len(places) :])))

        if self.signature is not None:
            return _by_signature(function, varied, self.signature, self.otypes)
        if not varied:
            return _call(function)
        return self._by_element(function, [_call(np.asanyarray, a) for a in varied])

    def _by_element(self, function: Any, arrays: list[Any]) -> Any:
        """NumPy gives the function Python's numbers, and, to find the dtypes of the results, the first NumPy scalars."""
        if self.cache or any(_dtype_of(a).kind not in "biufc" or _dtype_of(a).char in "gG" for a in arrays):
            raise NeedsEager("it calls an np.vectorize of other arrays than of numbers, or with cache=True")
        arrays = [_call(np.broadcast_arrays, *arrays)] if len(arrays) > 1 else [arrays]
        arrays = list(arrays[0])
        shape = arrays[0].shape
        flat = [_call(np.reshape, a, (-1,)) for a in arrays]
        count = flat[0].shape[0]
        if self.otypes is None:
            if not count > 0:
                raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
            first = _call(function, *(a[0] for a in flat))
            results = first if type(first) is tuple else (first,)
            dtypes = [_dtype_of(x) for x in results]
        else:
            dtypes = list(map(np.dtype, self.otypes))
        outs = [_empty((count,), d) for d in dtypes]
        is_many = len(dtypes) > 1 or (self.otypes is None and type(first) is tuple)

        def call(i: Any) -> None:
            made = _call(function, *(_number(a[i]) for a in flat))
            values = made if is_many else (made,)
            if type(values) is not tuple or len(values) != len(outs):
                raise NeedsEager("it calls an np.vectorize of a function that gives another number of results")
            for out, dtype, value in zip(outs, dtypes, values):
                _check_held(dtype, value)
                out[i] = value

        _looped(_each)(0, count, call)
        made = tuple(_call(np.reshape, out, shape) for out in outs)
        return made if is_many else made[0]


def _number(x: Any) -> Any:
    """A NumPy scalar as the Python number that an array of objects has in its place."""
    return active.current().call(prims.item, (x,), {}) if type(x) is TracedArray else x.item()


def _by_signature(function: Any, args: list[Any], signature: str, otypes: Any) -> Any:
    """``np.vectorize`` with ``signature=``: the function is called with the last dimensions of its arguments."""
    ins, outs = (re.findall(r"\(([^)]*)\)", side) for side in re.sub(r"\s", "", signature).split("->"))
    cores = [tuple(filter(None, x.split(","))) for x in ins]
    if len(args) != len(cores):
        raise NeedsEager("it calls an np.vectorize with another number of arguments than its signature has")
    arrays = [_call(np.asanyarray, a) for a in args]
    sizes: dict[str, Any] = {}
    for a, core in zip(arrays, cores):
        if len(a.shape) < len(core) or any(
            sizes.setdefault(n, m) != m for n, m in zip(core, a.shape[len(a.shape) - len(core) :])
        ):
            raise NeedsEager("it calls an np.vectorize with arguments that do not fit its signature")
    around = np.broadcast_shapes(*(a.shape[: len(a.shape) - len(core)] for a, core in zip(arrays, cores)))
    count = math.prod(around)
    if count == 0:
        raise NeedsEager("it calls an np.vectorize of empty arrays")
    rows = [
        _call(np.reshape, _call(np.broadcast_to, a, (*around, *(sizes[n] for n in c))), (count, *(sizes[n] for n in c)))
        for a, c in zip(arrays, cores)
    ]
    first = _call(function, *(r[0] for r in rows))
    results = tuple(first) if isinstance(first, tuple) else (first,)  # NumPy's functions give named tuples
    if len(results) != len(outs) or any(
        len(_shape_of(x)) != len([n for n in out.split(",") if n]) for x, out in zip(results, outs)
    ):
        raise NeedsEager("it calls an np.vectorize of a function whose results do not fit its signature")
    dtypes = list(map(np.dtype, otypes)) if otypes is not None else [_dtype_of(x) for x in results]
    made = _filled(lambda i: _call(function, *(r[i] for r in rows)), results, dtypes, count)
    shaped = tuple(_call(np.reshape, m, (*around, *_shape_of(x))) for m, x in zip(made, results))
    return shaped[0] if len(outs) == 1 else shaped


def _filled(call: Callable[[Any], Any], first: Sequence[Any], dtypes: list[np.dtype[Any]], count: Any) -> list[Any]:
    """Stacks the results of ``call(i)``; ``first`` is the result of ``call(0)``."""
    shapes = [tuple(_shape_of(x)) for x in first]
    outs = [_empty((count, *shape), d) for shape, d in zip(shapes, dtypes)]

    def store(i: Any, results: Any) -> None:
        values = results if isinstance(results, tuple) else (results,)
        for out, dtype, shape, value in zip(outs, dtypes, shapes, values):
            _check_held(dtype, value, shape)
            out[i] = value

    store(0, tuple(first))
    _looped(_each)(1, count, lambda i: store(i, call(i)))
    return outs


def _apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """``np.apply_along_axis`` of a function that is traced, or that the language defines."""
    called = func1d
    while type(called) is functools.partial:
        called = called.func
    if is_followed(getattr(called, "__func__", called)):
        return _along_axis(func1d, axis, arr, *args, **kwargs)
    tracer = active.current()
    symbol = lnp.symbol_of(called) if not tracer.regions else None
    if symbol is not None:
        start = len(tracer.trace.statements)
        try:
            return _along_axis(func1d, axis, arr, *args, **kwargs)
        except (NeedsEager, NeedsOpaque):
            del tracer.trace.statements[start:]
    return tracer.numpy_function(np.apply_along_axis, (func1d, axis, arr, *args), kwargs)


def _along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    a, axis = _call(np.asanyarray, arr), active.current().known(axis)
    moved = _call(np.moveaxis, a, axis, -1)
    *around, length = moved.shape
    count = math.prod(around)
    if count == 0 or type(axis) is not int:
        raise NeedsEager("it calls np.apply_along_axis for no rows")
    rows = _call(np.reshape, moved, (count, length))
    first = _call(np.asanyarray, _call(func1d, rows[0], *args, **kwargs))
    shape = tuple(first.shape)
    (made,) = _filled(
        lambda i: _call(np.asanyarray, _call(func1d, rows[i], *args, **kwargs)), [first], [_dtype_of(first)], count
    )
    made = _call(np.reshape, made, (*around, *shape))
    at = axis % len(a.shape)
    order = [*range(at), *range(len(around), len(around) + len(shape)), *range(at, len(around))]
    return _call(np.transpose, made, order)


def _fromiter(iterable: Any, dtype: Any, count: Any = -1, *, like: Any = None) -> Any:
    """``np.fromiter``."""
    if isinstance(iterable, ListStandIn):
        return _filled_from(iterable, np.dtype(dtype), count, like)
    values = list(itertools.islice(iterable, _MOST_UNROLLED + 1))
    if len(values) > _MOST_UNROLLED:
        raise NeedsEager("it calls np.fromiter of what is not known to be short")
    kind = np.dtype(dtype)
    if not is_traced(values):
        return fresh(np.fromiter(values, dtype, count, like=like))
    if like is not None or (count != -1 and count != len(values)):
        raise NeedsEager("it calls np.fromiter with another count, or with like=")
    for value in values:
        _check_held(kind, value)
    return _call(np.array, values, kind)


def _filled_from(items: ListStandIn, dtype: np.dtype[Any], count: Any, like: Any) -> Any:
    """``np.fromiter`` of as many numbers as a loop makes."""
    is_whole = (type(count) is int and count == -1) or bool(count == items.length())
    if like is not None or not is_whole:
        raise NeedsEager("it calls np.fromiter with another count, or with like=")
    rows = items.as_array(typed=True)
    if dtype not in _DTYPES or rows.ndim != 1 or rows.dtype.kind not in _HOLDS[dtype.kind]:
        raise NeedsEager(f"it calls np.fromiter of {rows.dtype} for {dtype}")
    return _call(np.array, rows, dtype)


def _vectorize(pyfunc: Any = np._NoValue, *args: Any, **kwargs: Any) -> Any:
    if pyfunc is np._NoValue:
        return lambda f: _vectorize(f, *args, **kwargs)
    return Vectorized(pyfunc, *args, **kwargs)


def is_vectorized(x: Any) -> bool:
    """Whether a value is an ``np.vectorize`` object that calls a function."""
    return type(x) is np.vectorize and vars(x).get("pyfunc", np._NoValue) is not np._NoValue


def lift_vectorized(inputs: Inputs, value: Any, source: Source) -> Any:
    """An ``np.vectorize`` object that the program reads: the function in it is an input, and its options are guarded."""
    inputs.guard_type(value, source)
    options = {}
    for name in ("otypes", "excluded", "cache", "signature"):
        option = options[name] = getattr(value, name)
        same = inputs.prologue.constant(frozenset(option) if isinstance(option, set) else option, name)
        inputs.prologue.guard(f"{source.expression}.{name} == {same}", f"{source.description}.{name} is {option!r}")
    made = Vectorized(inputs.lift(value.pyfunc, source.attribute("pyfunc")))
    made.otypes, made.excluded = options["otypes"], frozenset(options["excluded"])
    made.cache, made.signature = options["cache"], options["signature"]
    return made


#: by NumPy's function, what a program calls in its place
FUNCTIONALS: dict[Any, Callable[..., Any]] = {
    np.vectorize: _vectorize,
    np.apply_along_axis: _apply_along_axis,
    np.fromiter: _fromiter,
}
