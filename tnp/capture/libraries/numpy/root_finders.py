"""SciPy's functions that look for a root of a function of the user's: ``scipy.optimize.brentq``, ``bisect`` and ``newton``.

They are written here as SciPy's code is, step by step, so that the roots are the same. The function is traced in the loop.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.capture.libraries.numpy.user_functions import (
    arguments_of,
    as_numbers,
    found_by_loop,
    is_number,
    is_option,
    may_loop,
    single,
)

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
    q0, q1 = float(single(f(p0, *args))), float(single(f(p1, *args)))
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
                q1 = float(single(f(p1, *args)))
    return p, not (is_wrong or goes_on)


def _newton(f: Any, x0: Any, args: Any, tol: float, rtol: float, maxiter: int, fprime: Any) -> Any:
    p = x0 * 1.0
    is_wrong, goes_on = False, True
    steps = 0
    while goes_on and steps < maxiter:
        steps = steps + 1
        value = float(single(f(p, *args)))
        if value == 0:
            goes_on = False
        else:
            slope = float(single(fprime(p, *args)))
            if slope == 0:
                is_wrong, goes_on = True, False
            else:
                before = p
                p = before - value / slope
                goes_on = not ((abs(p - before) <= tol + rtol * abs(before) and before - before == 0) or p == before)
    return p, not (is_wrong or goes_on)


def _between(f: Any, a: Any, b: Any, args: Any, xtol: Any, rtol: Any, maxiter: Any, full_output: Any, disp: Any) -> Any:
    """What :func:`root_of` needs to know of a call of ``brentq`` or ``bisect``: the functions, the numbers, the other arguments, and the
    options; ``None`` if it is called another way than is written here."""
    is_plain = full_output is False and disp is True and all(map(is_option, (xtol, rtol)))
    if not is_plain or xtol <= 0 or rtol < _LEAST_RTOL:
        return None
    return (f,), (a, b), args, (float(xtol), float(rtol), maxiter)


def _from(
    func: Any, x0: Any, fprime: Any, args: Any, tol: Any, maxiter: Any, fprime2: Any, x1: Any, rtol: Any, full_output: Any, disp: Any,
) -> Any:  # fmt: skip
    """:func:`_between`, of ``newton``."""
    is_plain = full_output is False and disp is True and all(map(is_option, (tol, rtol)))
    if not is_plain or fprime2 is not None or x1 is not None or tol <= 0 or type(maxiter) is not int or maxiter < 1:
        return None
    functions = (func,) if fprime is None else (func, fprime)
    return functions, (x0,), args, (float(tol), float(rtol), maxiter)


_FINDERS: dict[str, tuple[Callable[..., Any], tuple[Callable[..., Any], ...]]] = {
    "brentq": (_between, (_brentq,)),
    "bisect": (_between, (_bisect,)),
    "newton": (_from, (_secant, _newton)),
}


def root_of(finder: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The root that one of SciPy's functions finds; ``NotImplemented`` if it is called another way than is written here.

    Where SciPy's raises an error, the call of the program runs eagerly."""
    if type(finder) is not types.FunctionType or finder.__module__ != _MODULE or finder.__name__ not in _FINDERS:
        return NotImplemented
    understood, ways = _FINDERS[finder.__name__]
    given = arguments_of(finder, args, kwargs)
    found = None if given is None else understood(*given.values())
    if found is None or type(found[3][-1]) is not int:
        return NotImplemented
    (f, *others), numbers, more, options = found
    more = more if type(more) is tuple else (more,)
    if not (all(map(is_number, numbers)) and may_loop((f, *others), (*numbers, *more))):
        return NotImplemented
    return found_by_loop(ways[len(others)], (f, *as_numbers(numbers), more, *options, *others))
