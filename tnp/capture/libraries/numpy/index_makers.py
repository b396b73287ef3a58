"""``np.r_``, ``np.c_``, ``np.mgrid`` and their like: objects that a subscript makes arrays. ``np.s_`` gives the subscript itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.libraries.numpy.operations import as_array, fresh
from tnp.capture.tracing.growing import GrowingArray, array_of, holds_growing
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import symbols
from tnp.core.errors import NeedsEager
from tnp.lang import numpy as lnp

__all__ = ["is_index_maker", "made_by"]

_GIVES_SUBSCRIPT = type(np.s_)
_INDEX_MAKERS = frozenset(map(type, (np.r_, np.c_, np.mgrid, np.ogrid, np.s_)))


def is_index_maker(x: Any) -> bool:
    """Whether ``x`` makes arrays of its subscripts, or gives them."""
    return type(x) in _INDEX_MAKERS


def made_by(owner: Any, key: Any) -> Any:
    """``owner[key]`` for an index maker, such as ``np.r_``."""
    if type(owner) is _GIVES_SUBSCRIPT:
        return owner[key]
    if isinstance(key, str):
        raise NeedsEager("it makes an array of names, which NumPy looks up in the caller")
    if owner is np.mgrid or owner is np.ogrid:
        key = tuple(map(_of_numbers, key)) if type(key) is tuple else _of_numbers(key)
        slices = key if type(key) is tuple else (key,)
        if all(map(_is_of_integers, slices)) and any(_varies(x) for s in slices for x in _ends(s)):
            return _grid(owner, key, slices)
    key = _known(key)
    return _joined(owner, key) if is_traced(key) else fresh(owner[key])


def _of_numbers(key: Any) -> Any:
    """A range with Python's integers in place of NumPy's."""
    if type(key) is not slice:
        return key
    call = active.current().runtime.call
    is_scalar = (type(x) is TracedArray and x.scalar and x.dtype == np.int64 for x in _ends(key))
    return slice(*(call(int, x) if scalar else x for x, scalar in zip(_ends(key), is_scalar)))


def _known(key: Any) -> Any:
    """``key`` with the numbers that are known made plain; the ends of ranges may be values of the program."""
    if type(key) is tuple:
        return tuple(map(_known, key))
    if type(key) is slice and any(type(x) is TracedArray or _varies(x) for x in _ends(key)):
        return key
    return active.current().known(key)


def _is_computed(x: Any) -> bool:
    return type(x) is TracedNumber and x.proxy.value is None


def _ends(x: slice) -> tuple[Any, Any, Any]:
    return x.start, x.stop, x.step


def _is_of_integers(x: Any) -> bool:
    return type(x) is slice and all(_is_integer(n) for n in _ends(x)) and x.stop is not None


def _is_integer(n: Any) -> bool:
    return n is None or type(n) is int or (type(n) is TracedNumber and n.proxy.python_type is int)


def _varies(x: Any) -> bool:
    """Whether a number is a symbol, or is computed when the program runs."""
    return type(x) is TracedNumber and (_is_computed(x) or symbols.is_symbol(x.proxy))


def _grid(owner: Any, key: Any, slices: Sequence[slice]) -> Any:
    """What ``np.mgrid`` or ``np.ogrid`` makes of ranges of integers."""
    call = active.current().runtime.call
    starts = [0 if s.start is None else s.start for s in slices]
    steps = [1 if s.step is None else s.step for s in slices]
    axes = [call(np.arange, first, s.stop, by) for s, first, by in zip(slices, starts, steps)]
    if type(key) is slice:
        return axes[0]
    if owner is np.ogrid:
        return tuple(call(np.meshgrid, *axes, indexing="ij", sparse=True))
    grid = call(np.indices, tuple(axis.shape[0] for axis in axes))
    if all(type(n) is int and n == 0 for n in starts) and all(type(n) is int and n == 1 for n in steps):
        return grid
    shape = (-1, *[1] * len(slices))
    return grid * call(np.reshape, call(np.array, steps), shape) + call(np.reshape, call(np.array, starts), shape)


def _range(x: slice) -> Any:
    """What ``np.r_`` makes of a slice with values of the program in it."""
    call = active.current().runtime.call
    start = 0 if x.start is None else x.start
    if isinstance(x.step, complex):
        return call(np.linspace, start, x.stop, int(abs(x.step)))
    return call(np.arange, start, x.stop, 1 if x.step is None else x.step)


def _is_traced_sequence(x: Any) -> bool:
    """Whether NumPy makes an array of a list or a tuple that has values of the program in it."""
    return type(x) in (list, tuple) and is_traced(x)


def _joined(owner: Any, key: Any) -> Any:
    """``np.r_[key]`` or ``np.c_[key]``: arrays, numbers and ranges, end to end or side by side."""
    given = key if type(key) is tuple else (key,)
    if holds_growing(given):
        found = NotImplemented
        if owner is np.r_ and not any(type(x) in (slice, str) for x in given):
            parts = [
                x if type(x) is GrowingArray else active.current().numpy_function(np.atleast_1d, (x,), {})
                for x in given
            ]
            found = active.current().appended(np.concatenate, (parts,), {})
        elif owner is np.c_ and not any(type(x) in (slice, str) for x in given):
            found = active.current().appended(np.column_stack, (list(given),), {})
        if found is not NotImplemented:
            return found
        given = array_of(given)
    parts = [
        _range(x)
        if type(x) is slice and is_traced(x)
        else fresh(np.r_[x])
        if type(x) is slice
        else as_array(x)
        if _is_traced_sequence(x)
        else x
        for x in given
    ]
    columns = type(owner) is type(np.c_)
    if not (columns or type(owner) is type(np.r_)) or any(isinstance(x, str) for x in parts):
        raise NeedsEager("it makes an array by a subscript of a kind that is not compiled")
    kinds = [x.proxy.python_type(1) if type(x) is TracedNumber else getattr(x, "dtype", x) for x in parts]
    dtype = np.result_type(*(np.asarray(k) if isinstance(k, (list, tuple)) else k for k in kinds))
    tracer = active.current()
    made = []
    for x in parts:
        array = as_array(x, dtype)
        if columns and array.ndim < 2:
            array = tracer.call(lnp.reshape, (array, (-1, 1)), {})
        made.append(tracer.call(lnp.atleast_1d, (array,), {}))
    return tracer.call(lnp.concatenate, (made, -1 if columns else 0), {})
