"""Calls of SciPy's own functions."""

from __future__ import annotations

import functools
import inspect
import operator
import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tnp.core import intervals, sizes
from tnp.core.errors import LateGuardFailed, UserLocation
from tnp.core.printing import call_string, literal, targets
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import BoundSymbol, Symbol

__all__ = ["function_of", "own_memory", "print_call"]


def function_of(sym: Symbol, name: str) -> Any:
    """What runs the operation ``sym``: ``scipy.<name>``, or a function that the operation brings; ``None`` where there is none."""
    if sym.fn is not None:
        return sym.fn
    found: Any = sys.modules["scipy"]
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if found is None or isinstance(found, np.ufunc) else _without_overwriting(found)


def _parameters(function: Any) -> list[str]:
    if type(function).__name__ == "fortran":  # the first line of its text: c = dgemm(alpha,a,b,[beta,c,overwrite_c])
        return re.findall(r"\w+", (function.__doc__ or "").partition("\n")[0].partition("(")[2])
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _without_overwriting(function: Any) -> Any:
    """``function``, which may change its arguments where ``overwrite_…`` is passed, with arguments that stay as they are."""
    parameters = _parameters(function)
    first = next((i for i, p in enumerate(parameters) if p.startswith("overwrite_")), None)
    if first is None:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and len(args) <= first:
            return function(*args)
        if kwargs:
            kwargs = {k: v for k, v in kwargs.items() if not k.startswith("overwrite_")}
        if len(args) > first:
            args = tuple(False if p.startswith("overwrite_") else a for a, p in zip(args, parameters))
        return function(*args, **kwargs)

    return functools.update_wrapper(call, function, ("__name__", "__doc__"), ())


def _expected(output: Any, arrays: Sequence[TensorProxy]) -> Any:
    """What a result has to look like: of arrays the shape, where it is known, and the dtype; of numbers and of ``None`` the type."""
    if isinstance(output, TensorProxy):
        return _expected_shape(output, arrays), np.dtype(output.dtype.name)
    if isinstance(output, NumberProxy):
        return output.python_type
    if isinstance(output, (tuple, list)):
        return [_expected(x, arrays) for x in output]
    return type(None) if output is None else None


def _expected_shape(output: TensorProxy, arrays: Sequence[TensorProxy]) -> Any:
    """A shape whose symbolic sizes are made of those of arguments: a number, and what is added to it, each as an argument, a dimension
    and a factor. ``None`` for other shapes."""
    if sizes.is_known(output.shape):
        return output.shape
    known: dict[str, tuple[int, int, int]] = {}
    for k, a in enumerate(arrays):
        for d, n in enumerate(a.shape):
            form = intervals.linear(n)
            if [factor for _, factor in form.terms.values()] == [1]:
                known.setdefault(*form.terms, (k, d, form.constant))
    shape: list[Any] = []
    for n in output.shape:
        form = intervals.linear(n)
        if not form.terms.keys() <= known.keys():
            return None
        terms = [(*known[name], factor) for name, (_, factor) in form.terms.items()]
        constant = form.constant - sum(less * factor for _, _, less, factor in terms)
        shape.append((constant, *((k, d, factor) for k, d, _, factor in terms)) if terms else constant)
    return tuple(shape)


def _has_shape(found: tuple[int, ...], expected: tuple[Any, ...], arguments: Sequence[Any]) -> bool:
    """Whether a shape is that which :func:`_expected_shape` describes."""
    if found == expected:
        return True
    return len(found) == len(expected) and all(
        n == (e if isinstance(e, int) else e[0] + sum(f * arguments[k].shape[d] for k, d, f in e[1:]))
        for n, e in zip(found, expected)
    )


def own_memory(name: str, place: UserLocation | None, expected: Any, value: Any, *arguments: Any) -> Any:
    """``value``, which a function of SciPy's returned for ``arguments`` at ``place``, in memory of its own.

    Raises :class:`LateGuardFailed` if it is not what the program expects.
    """
    if isinstance(expected, tuple):
        shape, dtype = expected
        if not isinstance(value, (np.ndarray, np.generic)):
            raise LateGuardFailed(f"scipy.{name} returned a {type(value).__name__}, which depends on values", place)
        if value.dtype != dtype or (shape is not None and not _has_shape(value.shape, shape, arguments)):
            found = f"{value.dtype}{list(value.shape)}"
            raise LateGuardFailed(f"scipy.{name} returned {found}, which depends on values", place)
        if not isinstance(value, np.ndarray):
            return value
        # Most results own their memory: they can only be an argument itself.
        shares = operator.is_ if value.base is None else np.may_share_memory
        for a in arguments:  # a loop: short calls take about as long
            if shares(value, a):
                return value.copy()
        return value
    if isinstance(expected, list):
        if len(value) != len(expected):
            reason = f"scipy.{name} returned {len(value)} results, a number that depends on values"
            raise LateGuardFailed(reason, place)
        return [own_memory(name, place, e, v, *arguments) for e, v in zip(expected, value)]
    if expected is type(None) and value is not None:
        raise LateGuardFailed(f"scipy.{name} returned a {type(value).__name__}, which depends on values", place)
    return value if expected in (None, type(None)) else expected(value)


def print_call(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    """``result = own_memory(…)`` around the call; of a ufunc the call alone."""
    text = call_string(bsym.sym, bsym.args, bsym.kwargs, context)
    if not isinstance(bsym.sym.fn, np.ufunc):
        context["own_memory"] = own_memory
        arrays = {literal(p, context): p for p in bsym.flat_inputs if isinstance(p, TensorProxy)}
        expected = _expected(bsym.output, list(arrays.values()))
        place = literal(bsym.location, context)
        parts = [repr(bsym.sym.name), place, literal(expected, context), text, *arrays]
        text = f"own_memory({', '.join(parts)})"
    return f"{targets(bsym.output)} = {text}" if bsym.flat_outputs else text
