"""``scipy.integrate.solve_ivp`` by the explicit Runge-Kutta methods ``RK45`` and ``RK23``.

The steps are SciPy's, and so are their sizes: the first from the derivatives at the beginning, the others from the error of the step
before. The function is traced in the loop. Where SciPy reports a failure, or raises an error, the call of the program runs eagerly.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from tnp.capture.libraries.numpy.operations import as_array
from tnp.capture.libraries.numpy.user_functions import (
    arguments_of,
    as_numbers,
    found_by_loop,
    is_number,
    is_option,
    may_loop,
)
from tnp.capture.tracing.traced_values import TracedArray
from tnp.core import dtypes, sizes
from tnp.core.errors import NeedsEager

__all__ = ["solution"]

_MODULE = "scipy.integrate._ivp.ivp"
#: the smallest relative tolerance that SciPy takes without a warning
_LEAST_RTOL = 100 * float(np.finfo(float).eps)
#: methods that SciPy's module has as classes with their tables
_METHODS = ("RK45", "RK23")


def _derivatives(f: Any, t: Any, y: Any, args: Any) -> Any:
    return _like(np.asarray(f(t, y, *args), dtype=np.float64), y)


def _like(x: Any, y: Any) -> Any:
    """The derivatives, one for each variable."""
    if tuple(x.shape) != tuple(y.shape):
        raise NeedsEager("a function gives derivatives of another shape than the variables have")
    return x


def _combined(parts: Any, factors: Any) -> Any:
    """The sum of arrays times numbers, without those that are 0."""
    total = None
    for part, factor in zip(parts, factors):
        if factor != 0:
            total = part * factor if total is None else total + part * factor
    return total


def _norm(x: Any, root: float) -> Any:
    return np.sqrt(np.sum(x * x)) / root


def _first_step(
    f: Any, t: Any, y: Any, start: Any, args: Any, span: Any, direction: float, options: Any, derivatives: Any, norm: Any
) -> Any:  # fmt: skip
    """The size of the first step (Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, section II.4)."""
    rtol, atol, max_step, order = options
    root = y.shape[0] ** 0.5
    scale = atol + np.abs(y) * rtol
    d0, d1 = norm(y / scale, root), norm(start / scale, root)
    if d0 < 1e-5 or d1 < 1e-5:
        h0 = 1e-6
    else:
        h0 = 0.01 * d0 / d1
    h0 = min(h0, span)
    then = derivatives(f, t + h0 * direction, y + h0 * direction * start, args)
    d2 = norm((then - start) / scale, root) / h0
    if d1 <= 1e-15 and d2 <= 1e-15:
        h1 = max(1e-6, h0 * 1e-3)
    else:
        h1 = (0.01 / max(d1, d2)) ** (1 / (order + 1))
    return min(100 * h0, h1, span, max_step)


def _solved(
    f: Any, begin: Any, end: Any, y: Any, args: Any, times: Any, direction: float, options: Any, table: Any, derivatives: Any,
    combined: Any, norm: Any, first_step: Any,
) -> Any:  # fmt: skip
    """The values at ``times``, and the number of calls of ``f``; and whether SciPy neither fails nor raises an error."""
    stages, nodes, weights, errors, dense = table
    rtol, atol, max_step, order = options
    t, end = float(begin), float(end)
    n = y.shape[0]
    root = n**0.5
    span = (end - t) * direction
    fails = not span > 0 or not bool(np.all(np.isfinite(y)))
    if times is None:
        m, out, steps, rows = 0, np.empty((n, 0)), [t], [np.array(y)]
    else:
        m, steps, rows = times.shape[0], [], []
        out = np.empty((n, m))
        fails = fails or bool(np.any((times - t) * direction < 0)) or bool(np.any((times - end) * direction > 0))
        fails = fails or bool(np.any(np.diff(times) * direction <= 0))
    y, slope = np.array(y), np.array(derivatives(f, t, y, args))  # of its own: they are written over
    size = first_step(f, t, y, slope, args, span, direction, options, derivatives, norm)
    calls, i, is_again, goes_on = 2, 0, False, not fails
    while goes_on:
        least = 10 * abs(np.nextafter(t, direction * np.inf) - t)
        if not is_again:
            size = max(min(size, max_step), least)
        if size < least:
            fails, goes_on = True, False
        else:
            after = t + size * direction
            if (after - end) * direction > 0:
                after = end
            h = after - t
            size = abs(h)
            slopes = [slope]
            for row, node in zip(stages, nodes):
                slopes.append(derivatives(f, t + node * h, y + combined(slopes, row) * h, args))
            following = y + h * combined(slopes, weights)
            slopes.append(derivatives(f, t + h, following, args))
            calls = calls + len(weights)
            scale = atol + np.maximum(np.abs(y), np.abs(following)) * rtol
            error = norm(combined(slopes, errors) * h / scale, root)
            if error < 1:
                factor = 10.0
                if error != 0:
                    factor = min(10.0, 0.9 * error ** (-1 / (order + 1)))
                if is_again:
                    factor = min(1.0, factor)
                if times is None:
                    steps.append(after)
                    rows.append(np.array(following))
                else:
                    powers = [combined(slopes, column) for column in dense]
                    while i < m and (times[i] - after) * direction <= 0:
                        x = (times[i] - t) / h
                        total = powers[-1] * x
                        for power in powers[-2::-1]:
                            total = (total + power) * x
                        out[:, i] = y + h * total
                        i = i + 1
                y[:], slope[:] = following, slopes[-1]
                t, size, is_again = after, size * factor, False
                goes_on = (t - end) * direction < 0
            else:
                size, is_again = size * max(0.2, 0.9 * error ** (-1 / (order + 1))), True
    if times is None:
        return (np.array(steps), np.array(rows).T, calls), not fails
    return (np.copy(times), out, calls), not fails


def _table(method: Any) -> Any:
    """A method's coefficients, as numbers: those of the stages after the first, of the result, of the error, and of the polynomials
    between steps, by powers."""
    stages = [[float(x) for x in row[:k]] for k, row in enumerate(method.A) if k]
    nodes = [float(c) for c in method.C[1:]]
    dense = [[float(x) for x in column] for column in np.asarray(method.P).T]
    return stages, nodes, [float(b) for b in method.B], [float(e) for e in method.E], dense


def _understood(given: dict[str, Any]) -> Any:
    """The method, the tolerances and the largest step of a call; ``None`` if it is called another way than is written here."""
    import scipy.integrate as integrate

    options = dict(given["options"])
    wanted = given["method"]
    name = next((n for n in _METHODS if wanted is getattr(integrate, n) or (type(wanted) is str and wanted == n)), None)
    rtol, atol, max_step = options.pop("rtol", 1e-3), options.pop("atol", 1e-6), options.pop("max_step", np.inf)
    is_plain = (
        not options and given["events"] is None and given["dense_output"] is False and given["vectorized"] is False
    )
    if not is_plain or name is None or not all(map(is_option, (rtol, atol, max_step))):
        return None
    if rtol < _LEAST_RTOL or atol < 0 or max_step <= 0:
        return None
    method = getattr(integrate, name)
    return method, (float(rtol), float(atol), float(max_step), method.error_estimator_order)


def _is_line(a: Any) -> bool:
    return type(a) is TracedArray and a.ndim == 1 and a._element_type in (dtypes.float64, dtypes.int64)


def solution(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``solve_ivp`` gives; ``NotImplemented`` if it is called another way than is written here."""
    if type(f) is not types.FunctionType or f.__module__ != _MODULE or f.__name__ != "solve_ivp":
        return NotImplemented
    given = arguments_of(f, args, kwargs)
    found = None if given is None else _understood({"options": {}, **given})
    if given is None or found is None:
        return NotImplemented
    method, options = found
    ends, more = given["t_span"], () if given["args"] is None else given["args"]
    if type(ends) not in (tuple, list) or len(ends) != 2 or not all(map(is_number, ends)) or type(more) is not tuple:
        return NotImplemented
    if not may_loop((given["fun"],), (*ends, given["y0"], given["t_eval"], *more)):
        return NotImplemented
    y, times = (None if x is None else as_array(x) for x in (given["y0"], given["t_eval"]))
    if y is None or not _is_line(y) or not (times is None or _is_line(times)):
        return NotImplemented
    (n,) = sizes.concrete(y._proxy.shape, "solve_ivp")
    if n == 0 or (times is not None and sizes.equal(times._proxy.shape[0], 0)):
        return NotImplemented
    y, times = (None if a is None else as_array(a, np.float64) for a in (y, times))
    direction = -1.0 if all(map(is_option, ends)) and ends[1] < ends[0] else 1.0
    found, values, calls = found_by_loop(
        _solved, (given["fun"], *as_numbers(ends), y, more, times, direction, options, _table(method)),
        (_derivatives, _combined, _norm, _first_step),
    )  # fmt: skip
    own = f.__globals__
    return own["OdeResult"](
        t=found, y=values, sol=None, t_events=None, y_events=None, nfev=calls, njev=0, nlu=0, status=0,
        message=own["MESSAGES"][0], success=True,
    )  # fmt: skip
