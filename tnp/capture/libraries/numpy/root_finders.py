"""SciPy's functions that look for a root of a function of the user's: ``scipy.optimize.brentq``, ``bisect`` and ``newton``.

They are written here as SciPy's code is, step by step, so that the roots are the same. The function is traced in the loop.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import dtypes, prims
from tnp.core.errors import NeedsEager
from tnp.core.prims.control_flow import START_OVER

__all__ = ["root_of"]

_MODULE = "scipy.optimize._zeros_py"
_LEAST_RTOL = 4 * np.finfo(float).eps


def _brentq(f: Any, a: Any, b: Any, args: Any, xtol: float, rtol: float, maxiter: int) -> Any:
    xpre, xcur = float(a), float(b)
    fpre, fcur = float(f(xpre, *args)), float(f(xcur, *args))
    is_wrong = fpre != fpre or fcur != fcur or (fpre != 0 and fcur != 0 and (fpre < 0) == (fcur < 0))
    if fpre == 0:
        xcur, fcur = xpre, fpre
    xblk = fblk = spre = scur = 0.0
    goes_on = fcur != 0
    steps = 0
    while goes_on and steps < maxiter:
        steps = steps + 1
        if fpre != 0 and fcur != 0 and (fpre < 0) != (fcur < 0):
            xblk, fblk = xpre, fpre
            spre = scur = xcur - xpre
        if abs(fblk) < abs(fcur):
            xpre, xcur, xblk = xcur, xblk, xcur
            fpre, fcur, fblk = fcur, fblk, fcur
        delta = (xtol + rtol * abs(xcur)) / 2
        sbis = (xblk - xcur) / 2
        goes_on = not (fcur == 0 or abs(sbis) < delta)
        if goes_on:
            before, step = sbis, sbis
            if abs(spre) > delta and abs(fcur) < abs(fpre):
                if xpre == xblk:
                    stry = -fcur * (xcur - xpre) / (fcur - fpre)
                else:
                    dpre = (fpre - fcur) / (xpre - xcur)
                    dblk = (fblk - fcur) / (xblk - xcur)
                    stry = -fcur * (fblk * dblk - fpre * dpre) / (dblk * dpre * (fblk - fpre))
                if 2 * abs(stry) < min(abs(spre), 3 * abs(sbis) - delta):
                    before, step = scur, stry
            spre, scur = before, step
            xpre, fpre = xcur, fcur
            if abs(scur) > delta:
                xcur = xcur + scur
            elif sbis > 0:
                xcur = xcur + delta
            else:
                xcur = xcur - delta
            fcur = float(f(xcur, *args))
            is_wrong = is_wrong or fcur != fcur
    return xcur, not (is_wrong or goes_on)


def _bisect(f: Any, a: Any, b: Any, args: Any, xtol: float, rtol: float, maxiter: int) -> Any:
    xa, xb = float(a), float(b)
    fa, fb = float(f(xa, *args)), float(f(xb, *args))
    is_wrong = fa != fa or fb != fb or (fa != 0 and fb != 0 and (fa < 0) == (fb < 0))
    root = xa if fa == 0 else xb
    dm = xb - xa
    goes_on = fa != 0 and fb != 0
    steps = 0
    while goes_on and steps < maxiter:
        steps = steps + 1
        dm = dm * 0.5
        root = xa + dm
        fm = float(f(root, *args))
        is_wrong = is_wrong or fm != fm
        if (fm < 0) == (fa < 0):
            xa = root
        goes_on = not (fm == 0 or abs(dm) < xtol + rtol * abs(root))
    return root, not (is_wrong or goes_on)


def _secant(f: Any, x0: Any, args: Any, tol: float, rtol: float, maxiter: int) -> Any:
    p0 = x0 * 1.0
    p1 = x0 * (1 + 1e-4)
    p1 = p1 + (1e-4 if p1 >= 0 else -1e-4)
    q0, q1 = float(_single(f(p0, *args))), float(_single(f(p1, *args)))
    if abs(q1) < abs(q0):
        p0, p1, q0, q1 = p1, p0, q1, q0
    p = p1
    is_wrong, goes_on = False, True
    steps = 0
    while goes_on and steps < maxiter:
        steps = steps + 1
        if q1 == q0:
            is_wrong, goes_on = p1 != p0, False
            p = (p1 + p0) / 2.0
        else:
            if abs(q1) > abs(q0):
                p = (-q0 / q1 * p1 + p0) / (1 - q0 / q1)
            else:
                p = (-q1 / q0 * p0 + p1) / (1 - q1 / q0)
            goes_on = not ((abs(p - p1) <= tol + rtol * abs(p1) and p1 - p1 == 0) or p == p1)
            if goes_on:
                p0, q0 = p1, q1
                p1 = p
                q1 = float(_single(f(p1, *args)))
    return p, not (is_wrong or goes_on)


def _newton(f: Any, x0: Any, args: Any, tol: float, rtol: float, maxiter: int, fprime: Any) -> Any:
    p = x0 * 1.0
    is_wrong, goes_on = False, True
    steps = 0
    while goes_on and steps < maxiter:
        steps = steps + 1
        value = float(_single(f(p, *args)))
        if value == 0:
            goes_on = False
        else:
            slope = float(_single(fprime(p, *args)))
            if slope == 0:
                is_wrong, goes_on = True, False
            else:
                before = p
                p = before - value / slope
                goes_on = not ((abs(p - before) <= tol + rtol * abs(before) and before - before == 0) or p == before)
    return p, not (is_wrong or goes_on)


def _single(x: Any) -> Any:
    """The value of a function, if it is one number; NumPy's arrays of one element would make arrays of the roots."""
    if isinstance(x, (TracedArray, np.ndarray)) and tuple(x.shape):
        raise NeedsEager("a function whose root is looked for gives an array")
    return x


def _between(f: Any, a: Any, b: Any, args: Any, xtol: Any, rtol: Any, maxiter: Any, full_output: Any, disp: Any) -> Any:
    """What :func:`root_of` needs to know of a call of ``brentq`` or ``bisect``: the functions, the numbers, the other arguments, and the
    options; ``None`` if it is called another way than is written here."""
    is_plain = full_output is False and disp is True and all(map(_is_option, (xtol, rtol)))
    if not is_plain or xtol <= 0 or rtol < _LEAST_RTOL:
        return None
    return (f,), (a, b), args, (float(xtol), float(rtol), maxiter)


def _from(
    func: Any, x0: Any, fprime: Any, args: Any, tol: Any, maxiter: Any, fprime2: Any, x1: Any, rtol: Any, full_output: Any, disp: Any,
) -> Any:  # fmt: skip
    """:func:`_between`, of ``newton``."""
    is_plain = full_output is False and disp is True and all(map(_is_option, (tol, rtol)))
    if not is_plain or fprime2 is not None or x1 is not None or tol <= 0 or type(maxiter) is not int or maxiter < 1:
        return None
    functions = (func,) if fprime is None else (func, fprime)
    return functions, (x0,), args, (float(tol), float(rtol), maxiter)


_FINDERS: dict[str, tuple[Callable[..., Any], tuple[Callable[..., Any], ...]]] = {
    "brentq": (_between, (_brentq,)),
    "bisect": (_between, (_bisect,)),
    "newton": (_from, (_secant, _newton)),
}


@functools.cache
def _signature(f: Any) -> inspect.Signature:
    return inspect.signature(f)


def root_of(finder: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The root that one of SciPy's functions finds; ``NotImplemented`` if it is called another way than is written here.

    Where SciPy's raises an error, the call of the program runs eagerly."""
    if type(finder) is not types.FunctionType or finder.__module__ != _MODULE or finder.__name__ not in _FINDERS:
        return NotImplemented
    understood, ways = _FINDERS[finder.__name__]
    try:
        bound = _signature(finder).bind(*args, **kwargs)
    except TypeError:
        return NotImplemented
    bound.apply_defaults()
    found = understood(*bound.arguments.values())
    if found is None or type(found[3][-1]) is not int:
        return NotImplemented
    (f, *others), numbers, more, options = found
    more = more if type(more) is tuple else (more,)
    tracer = active.current()
    if not (all(map(_is_number, numbers)) and _are_users((f, *others)) and _may_vary((f, *others), (*numbers, *more))):
        return NotImplemented
    if not tracer.may_start_over() or tracer.differentiating:
        return NotImplemented
    from tnp.capture.tracing.hooks import rewritten

    # Numbers of the caller's would be known in the trace, as guards, so that it would be for their values.
    numbers = tuple(tracer.numpy_function(np.full, ((), x, np.float64), {}) for x in numbers)
    specializer = tracer.specializer
    evaluator, specializer.evaluator = specializer.evaluator, None  # the loop is for any values
    try:
        way: Any = rewritten(ways[len(others)])  # type: ignore[arg-type]  # ``rewritten`` asks for a FunctionType, and the table has Callables
        root, is_found = way(f, *numbers, more, *options, *others)
    finally:
        specializer.evaluator = evaluator
    if is_found is not True:
        tracer.expects_no_error()
        tracer.call(prims.assert_, (is_found, START_OVER), {})
    return root


def _is_option(x: Any) -> bool:
    return type(x) in (int, float, np.float64)


def _is_number(x: Any) -> bool:
    """Whether ``x`` is a real number of 64 bits."""
    if type(x) is TracedArray:
        return not x.shape and x._element_type in (dtypes.float64, dtypes.int64)
    return _is_option(x) or (type(x) is TracedNumber and x.proxy.python_type in (int, float))


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
