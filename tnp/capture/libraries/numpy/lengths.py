"""Lengths that the program computes: ``np.zeros(int(x.max()))``, ``np.arange(x.min(), x.max(), 0.1)``, ``np.linspace(0, 1, n)``.

The first values of an integer get a program each. From then on the length is checked, and is a size known at run time only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.python_numbers import MATH
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import intervals, symbols
from tnp.core.intervals import progression_length
from tnp.core.symbols import is_symbol
from tnp.lang import numpy as lnp
from tnp.lang.numpy.ranges import arange_length, arange_of_length, checked_length

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["with_lengths"]

_NEGATIVE = "negative dimensions are not allowed"
#: by a function, the position and the name of a shape among its parameters, and what is said of a negative one
_SHAPES: dict[Any, tuple[tuple[int, str, str], ...]] = {
    **dict.fromkeys((np.zeros, np.ones, np.empty, np.full), ((0, "shape", _NEGATIVE),)),
    np.eye: ((0, "N", _NEGATIVE), (1, "M", _NEGATIVE)),
    np.identity: ((0, "n", _NEGATIVE),),
    np.linspace: ((2, "num", "Number of samples must be non-negative."),),
}


def with_lengths(
    tracer: Tracer, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | TracedArray:
    """The arguments of a function with checked lengths in place of those that the program computes; what ``np.arange`` of such gives."""
    if tracer.inputs.prologue.varying.knows_lengths:
        return args, kwargs
    if function is np.arange:
        made = _arange(tracer, args, kwargs)
        return (args, kwargs) if made is None else made
    for at, name, message in _SHAPES.get(function, ()):
        if at < len(args):
            args = (*args[:at], _checked(tracer, args[at], message), *args[at + 1 :])
        elif name in kwargs:
            kwargs = {**kwargs, name: _checked(tracer, kwargs[name], message)}
    return args, kwargs


def _is_computed(tracer: Tracer, x: Any, kinds: str = "iu") -> bool:
    """Whether ``x`` is a number that only the program knows."""
    if type(x) is TracedArray:
        is_number = not x.shape_ and x._element_type.kind in kinds and x.library is lnp.language.library
        return is_number and not _is_given(tracer, x)
    if type(x) is not TracedNumber:
        return False
    is_open = x.proxy.value is None and not is_symbol(x.proxy)
    return is_open and {int: "i", float: "f"}.get(x.proxy.python_type, "?") in kinds


def _is_given(tracer: Tracer, x: TracedArray) -> bool:
    """Whether a scalar is an argument, whose value a guard compares."""
    return x.scalar and x.__tnp_value__().name in tracer.trace.scalar_values


def _checked(tracer: Tracer, x: Any, message: str) -> Any:
    """``x``, a length or a shape, with lengths that the program computes checked."""
    if type(x) in (tuple, list):
        return type(x)(_checked(tracer, n, message) for n in x) if is_traced(x) else x
    if not _is_computed(tracer, x):
        return x
    if (size := _size_of(tracer, x)) is not None:
        return size
    if _is_length(x):
        return x
    known = _one_of_few(tracer, x)
    if known is not None:
        return known
    tracer.inputs.prologue.varying.has_lengths = True
    return tracer.call(checked_length, (x, message), {})


def _size_of(tracer: Tracer, x: Any) -> Any:
    """A scalar that is made of sizes as a number; ``None`` for any other value."""
    return tracer.size_arrays.number(x.__tnp_value__()) if type(x) is TracedArray else None


def _one_of_few(tracer: Tracer, x: Any) -> Any:
    """The value of an integer that had few others in the calls before, for which the program is then: what comes of it is faster than with
    a length that it has to look up. ``None`` for others, and for what is computed of a float, which is another one in most calls."""
    if type(x) is TracedNumber and x.proxy.is_of_float:
        return None
    known = tracer.specializer.length(x.__tnp_value__(), "a length")
    return known if known is None or type(x) is TracedNumber else x.library.element(x, known)


def _is_length(x: Any) -> bool:
    """Whether a number is surely not negative."""
    least = intervals.bounds(x.proxy)[0] if type(x) is TracedNumber else None
    return least is not None and least >= 0


def _arange(tracer: Tracer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TracedArray | None:
    """``np.arange`` of numbers that the program computes; ``None`` if its length is known, or what it is given is of other kinds."""
    named = {k: v for k, v in kwargs.items() if k in ("start", "stop", "step")}
    if kwargs.keys() - named.keys() - {"dtype"} or len(args) > 3:
        return None
    values = dict(zip(("start", "stop", "step"), args), **named)
    if values.get("stop") is None:
        values["stop"], values["start"] = values.get("start"), 0
    start, stop, step = values.get("start", 0), values["stop"], values.get("step", 1)
    bounds = tuple(0 if x is None and x is start else 1 if x is None and x is step else x for x in (start, stop, step))
    found = [_size_of(tracer, x) for x in bounds]
    if any(x is not None for x in found):
        bounds = tuple(x if size is None else size for x, size in zip(bounds, found))
        result: TracedArray = tracer.call(lnp.arange, bounds, {"dtype": kwargs.get("dtype")})
        return result
    length: Any = _length_of_sizes(*bounds)
    if length is not None:
        result = tracer.call(arange_of_length, (*bounds, length), {"dtype": kwargs.get("dtype")})
        return result
    if not any(_is_computed(tracer, x, "iuf") for x in bounds) or not all(map(_is_real, bounds)):
        return None
    if type(start) is int and type(step) is int and (start, step) == (0, 1) and _is_length(stop):
        return None
    if all(_is_computed(tracer, x) for x in bounds if is_traced(x)):
        known = [_one_of_few(tracer, x) if _is_computed(tracer, x) else x for x in bounds]
        if None not in known:
            result = tracer.call(lnp.arange, tuple(known), {"dtype": kwargs.get("dtype")})
            return result
    length = _difference(*bounds)
    if length is None:
        tracer.inputs.prologue.varying.has_lengths = True
        length = tracer.call(arange_length, bounds, {})
    made: TracedArray = tracer.call(arange_of_length, (*bounds, length), {"dtype": kwargs.get("dtype")})
    return made


def _length_of_sizes(start: Any, stop: Any, step: Any) -> Any:
    """How many elements ``np.arange`` gives for floats that are computed of symbolic sizes, as in ``np.arange(0, n * 0.1, 0.1)``: a size;
    ``None`` for other numbers."""
    bounds = start, stop, step
    sizes = [x for x in bounds if type(x) is TracedNumber and x.proxy.relations is not None]
    kinds = {x.proxy.python_type if type(x) is TracedNumber else type(x) for x in bounds}
    if not sizes or not kinds <= {int, float} or float not in kinds or step == 0:
        return None
    if any(type(x) is TracedNumber and x.proxy.relations is None for x in bounds):
        return None
    length = MATH[math.ceil]((stop - start) / step)
    if not (type(length) is TracedNumber and symbols.is_symbol(length.proxy)):
        return None
    made = symbols.as_dimension(length.proxy)
    return max(made, 0) if isinstance(made, int) else TracedNumber(made)


def _difference(start: Any, stop: Any, step: Any) -> int | None:
    """How many integers there are from ``start`` to ``stop``, as in ``np.arange(i * n, i * n + n)``; ``None`` if that is not known."""
    if type(step) is not int or not step or not (_is_integer(start) and _is_integer(stop)):
        return None
    first, last = (x.proxy if type(x) is TracedNumber else x for x in (start, stop))
    return progression_length(first, last, step)


def _is_integer(x: Any) -> bool:
    return type(x) is int or (type(x) is TracedNumber and x.proxy.python_type is int)


def _is_real(x: Any) -> bool:
    if type(x) is TracedArray:
        return not x.shape_ and x._element_type.kind in "iuf" and x.library is lnp.language.library
    kind = x.proxy.python_type if type(x) is TracedNumber else type(x)
    return kind in (int, float) or (isinstance(x, np.generic) and x.dtype.kind in "iuf")
