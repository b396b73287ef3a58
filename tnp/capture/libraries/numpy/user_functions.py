"""Functions of SciPy's that look for a number by calling a function of the user's again and again. They are written here as loops, and the
function is traced in the loop."""

from __future__ import annotations

import functools
import inspect
import types
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import dtypes, prims
from tnp.core.errors import NeedsEager, user_location
from tnp.core.metadata import Metadata
from tnp.core.prims.control_flow import START_OVER

__all__ = ["arguments_of", "as_numbers", "found_by_loop", "is_number", "is_option", "may_loop", "single"]

#: loops of this kind on one line, at most
_MOST_ON_A_LINE = 8
#: how many there are so far outside of loops and branches, by their lines
_MET: Metadata[Counter[Any]] = Metadata(Counter, inherited=False)


def single(x: Any) -> Any:
    """The value of a function, if it is one number; of NumPy's arrays of one element, some functions would make arrays."""
    if isinstance(x, (TracedArray, np.ndarray)) and tuple(x.shape):
        raise NeedsEager("a function whose value must be a number gives an array")
    return x


@functools.cache
def _signature(f: Any) -> inspect.Signature:
    return inspect.signature(f)


def arguments_of(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments of a call by name, with defaults; ``None`` if ``f`` does not take them."""
    try:
        bound = _signature(f).bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return dict(bound.arguments)


def is_option(x: Any) -> bool:
    return type(x) in (int, float, np.float64)


def is_number(x: Any) -> bool:
    """Whether ``x`` is a real number of 64 bits."""
    if type(x) is TracedArray:
        return not x.shape and x._element_type in (dtypes.float64, dtypes.int64)
    return is_option(x) or (type(x) is TracedNumber and x.proxy.python_type in (int, float))


def may_loop(functions: Sequence[Any], given: tuple[Any, ...]) -> bool:
    """Whether user functions may be called in a loop that is written here. Their arguments include ``given``."""
    tracer = active.current()
    if not (_are_users(functions) and _may_vary(functions, given)):
        return False
    if not tracer.may_start_over() or tracer.differentiating:
        return False
    # Each takes some hundred operations, which is too much in a loop that is written out.
    met = tracer.regions[-1].met if tracer.regions else _MET.of(tracer.trace)
    met[user_location()] += 1
    return bool(met[user_location()] <= _MOST_ON_A_LINE)


def as_numbers(numbers: Sequence[Any]) -> list[Any]:
    """Numbers as values of the trace. Those of the caller's would be guards of it otherwise, so that it would be for their values."""
    tracer = active.current()
    return [tracer.numpy_function(np.full, ((), x, np.float64), {}) for x in numbers]


def found_by_loop(loop: Callable[..., Any], args: tuple[Any, ...], helpers: tuple[Callable[..., Any], ...] = ()) -> Any:
    """What ``loop(*args, *helpers)`` finds, a loop for any values. It also says whether it found something: if not, the call starts over
    eagerly."""
    from tnp.capture.tracing.hooks import rewritten

    tracer = active.current()
    specializer = tracer.specializer
    evaluator, specializer.evaluator = specializer.evaluator, None
    try:
        way, *parts = (rewritten(f) for f in (loop, *helpers))
        result, is_found = way(*args, *parts)
    finally:
        specializer.evaluator = evaluator
    if is_found is not True:
        tracer.expects_no_error()
        tracer.call(prims.assert_, (is_found, START_OVER), {})
    return result


def _are_users(functions: Sequence[Any]) -> bool:
    """Whether functions are the program's."""
    return all(is_followed(getattr(_innermost(f), "__func__", _innermost(f))) for f in functions)


def _may_vary(functions: Sequence[Any], given: tuple[Any, ...]) -> bool:
    """Whether functions may give something else in each call of the program: otherwise the root is a constant of it."""
    held = [x for f in functions if type(f) is functools.partial for x in (*f.args, *f.keywords.values())]
    inner = list(map(_innermost, functions))
    return is_traced((*given, *held)) or any(
        type(f) is types.MethodType or getattr(f, "__closure__", None) for f in inner
    )


def _innermost(f: Any) -> Any:
    while type(f) is functools.partial:
        f = f.func
    return f
