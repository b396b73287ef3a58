"""SciPy's functions that look for a root of a function of the user's: ``scipy.optimize.brentq`` and ``bisect``.

They are written here as SciPy's code in C is, step by step, so that the roots are the same. The function is traced in the loop.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import prims
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


_FINDERS: dict[str, Callable[..., Any]] = {"brentq": _brentq, "bisect": _bisect}


@functools.cache
def _signature(f: Any) -> inspect.Signature:
    return inspect.signature(f)


def root_of(finder: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The root that one of SciPy's functions finds; ``NotImplemented`` if it is called another way than is written here.

    Where SciPy's raises an error, the call of the program runs eagerly."""
    if type(finder) is not types.FunctionType or finder.__module__ != _MODULE or finder.__name__ not in _FINDERS:
        return NotImplemented
    try:
        bound = _signature(finder).bind(*args, **kwargs)
    except TypeError:
        return NotImplemented
    bound.apply_defaults()
    f, a, b, more, xtol, rtol, maxiter, full_output, disp = bound.arguments.values()
    tracer = active.current()
    more = more if type(more) is tuple else (more,)
    is_plain = full_output is False and disp is True and type(maxiter) is int
    is_plain = (
        is_plain and all(type(x) in (int, float, np.float64) for x in (xtol, rtol)) and all(map(_is_number, (a, b)))
    )
    if not is_plain or xtol <= 0 or rtol < _LEAST_RTOL or not _is_of_user(f, (a, b, *more)):
        return NotImplemented
    if not tracer.may_start_over() or tracer.differentiating:
        return NotImplemented
    from tnp.capture.tracing.hooks import rewritten

    # Numbers of the caller's would be known in the trace, as guards, so that it would be for their values.
    a, b = (tracer.numpy_function(np.full, ((), x, np.float64), {}) for x in (a, b))
    specializer = tracer.specializer
    evaluator, specializer.evaluator = specializer.evaluator, None  # the loop is for any values
    try:
        root, is_found = rewritten(_FINDERS[finder.__name__])(f, a, b, more, float(xtol), float(rtol), maxiter)  # type: ignore[arg-type]
    finally:
        specializer.evaluator = evaluator
    if is_found is not True:
        tracer.expects_no_error()
        tracer.call(prims.assert_, (is_found, START_OVER), {})
    return root


def _is_number(x: Any) -> bool:
    is_scalar = type(x) is TracedArray and x.scalar and x._element_type.kind in "iuf"
    return (
        is_scalar
        or type(x) in (int, float, np.float64)
        or (type(x) is TracedNumber and x.proxy.python_type in (int, float))
    )


def _is_of_user(f: Any, given: tuple[Any, ...]) -> bool:
    """Whether a function is the program's, and may give something else in each call of it."""
    while type(f) is functools.partial:
        f, given = f.func, (*given, *f.args, *f.keywords.values())
    if type(f) is types.MethodType:
        return is_followed(f.__func__)
    return is_followed(f) and (is_traced(given) or bool(getattr(f, "__closure__", None)))
