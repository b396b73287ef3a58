"""``scipy.integrate.quad`` of a function of the user's: QUADPACK's QAGS, and QAGI for ranges without end.

Written here step by step as in Piessens et al., QUADPACK (1983), so that integrals and their errors are SciPy's. The function is traced in
the loop. Where SciPy's would warn, the call of the program runs eagerly.
"""

from __future__ import annotations

import math
import types
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

__all__ = ["integral"]

_MODULE = "scipy.integrate._quadpack_py"

_EPS, _TINY, _HUGE = float(np.finfo(float).eps), float(np.finfo(float).tiny), float(np.finfo(float).max)
#: results of the extrapolation that are kept
_LONGEST_TABLE = 50


def _mirrored(half: list[float], center: float, sign: int) -> np.ndarray[Any, Any]:
    """The values at all nodes, in QUADPACK's order. ``half`` has those at the positive nodes, the largest node first."""
    order = [*range(1, len(half), 2), *range(0, len(half), 2)] if len(half) == 10 else range(len(half))
    return np.array([center, *(x for k in order for x in (sign * half[k], half[k]))])


# Gauss-Kronrod rules of 21 and 15 nodes (QUADPACK's dqk21 and dqk15i); the Gauss rule uses every second node
_NODES_21 = _mirrored(
    [
        0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
        0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
        0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126602314,
        0.148874338981631210884826001129720,
    ], 0.0, -1,
)  # fmt: skip
_KRONROD_21 = _mirrored(
    [
        0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
        0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
        0.123491976262065851077958109831074, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
        0.147739104901338491374841515972068,
    ], 0.149445554002916905664936468389821, 1,
)  # fmt: skip
_GAUSS_21 = _mirrored(
    [
        0.0, 0.066671344308688137593568809893332, 0.0, 0.149451349150580593145863396957697, 0.0, 0.219086362515982043995534934228163,
        0.0, 0.269266719309996355091226921569469, 0.0, 0.295524224714752870173815619188769,
    ], 0.0, 1,
)  # fmt: skip
_NODES_15 = _mirrored(
    [
        0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
        0.741531185599394439863864773280788, 0.586087235467691130294144258, 0.405845151377397166906606412076961,
        0.207784955007898467600689403773245,
    ], 0.0, -1,
)  # fmt: skip
_KRONROD_15 = _mirrored(
    [
        0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
        0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
        0.204432940075298892414161999234649,
    ], 0.209482141084727828012999174891714, 1,
)  # fmt: skip
_GAUSS_15 = _mirrored(
    [
        0.0, 0.129484966168869693270611432679082, 0.0, 0.279705391489276667901467771423780, 0.0, 0.381830050505118944950369775488975, 0.0,
    ], 0.417959183673469387755102040816327, 1,
)  # fmt: skip


#: for a range from -inf to inf, the node of each call of the function, and its direction
_BOTH_WAYS = (
    np.array([0, 0, *(j for k in range(1, 15, 2) for j in (k, k + 1, k, k + 1))]),
    np.array([1.0, -1.0, *(x for _ in range(7) for x in (1.0, 1.0, -1.0, -1.0))]),
)


def _by_rule(f: Any, args: Any, low: Any, high: Any, start: Any, signs: tuple[int, ...]) -> Any:
    """The integral from ``low`` to ``high``, its error, and the integrals of the function's size and of its distance to its mean.

    With ``signs``, the integral is over ``t``, where ``x = start ± (1 - t) / t``."""
    nodes, kronrod, gauss = (_NODES_15, _KRONROD_15, _GAUSS_15) if signs else (_NODES_21, _KRONROD_21, _GAUSS_21)
    center, half = 0.5 * (low + high), 0.5 * (high - low)
    places = center + half * nodes
    values = np.zeros(len(nodes))
    if signs:
        which, ways = _BOTH_WAYS if len(signs) == 2 else (np.arange(15), np.full(15, float(signs[0])))
        for k in range(len(which)):
            j = which[k]
            t = float(places[j])
            values[j] = values[j] + float(single(f(start + float(ways[k]) * ((1.0 - t) / t), *args)))
        values = values / places / places
    else:
        for j in range(len(nodes)):
            values[j] = float(single(f(float(places[j]), *args)))
    area = float((values * kronrod).sum())
    size = float((np.abs(values) * kronrod).sum()) * half
    spread = float((np.abs(values - 0.5 * area) * kronrod).sum()) * half
    error = abs((area - float((values * gauss).sum())) * half)
    if spread != 0 and error != 0:
        error = spread * min(1.0, (200.0 * error / spread) ** 1.5)
    if size > _TINY / (50 * _EPS):
        error = max(50 * _EPS * size, error)
    return area * half, error, size, spread


def _sort(order: Any, errors: Any, count: Any, worst: Any, rank: Any, limit: int) -> Any:
    """Puts the halves of interval ``worst`` into the order of errors, the largest first (dqpsrt); gives the new ``rank``."""
    if count <= 2:
        order[0], order[1] = 0, 1
    else:
        larger, smaller = errors[worst], errors[count - 1]
        goes_on = rank > 0
        while goes_on:
            above = order[rank - 1]
            goes_on = bool(larger > errors[above])
            if goes_on:
                order[rank] = above
                rank = rank - 1
                goes_on = rank > 0
        end = count if count <= limit // 2 + 2 else limit + 3 - count
        i = rank + 1
        while i < end - 1 and larger < errors[order[i]]:
            order[i - 1] = order[i]
            i = i + 1
        order[i - 1] = worst
        k = end - 2
        while k >= i and smaller >= errors[order[k]]:
            order[k + 1] = order[k]
            k = k - 1
        order[k + 1] = count - 1
    return rank


def _extrapolate(table: Any, latest: Any, length: Any, calls: Any) -> Any:
    """The limit of the ``length`` sums in ``table[1:]`` by Wynn's epsilon algorithm, its error, and the new length (dqelg)."""
    result, error, n = float(table[length]), _HUGE, length
    if length >= 3:
        pairs = (length - 1) // 2
        table[length + 2] = table[length]
        table[length] = _HUGE
        k, i = length, 1
        goes_on, has_converged = True, False
        while goes_on and i <= pairs:
            e0, e1, e2, e3 = float(table[k - 2]), float(table[k - 1]), float(table[k + 2]), float(table[k])
            step2, step3 = abs(e2 - e1), abs(e1 - e0)
            is_close2 = step2 <= max(abs(e2), abs(e1)) * _EPS
            is_close3 = step3 <= max(abs(e1), abs(e0)) * _EPS
            if is_close2 and is_close3:
                result, error = e2, max(step2 + step3, 5 * _EPS * abs(e2))
                goes_on, has_converged = False, True
            else:
                table[k] = e1
                is_close = is_close2 or is_close3 or abs(e1 - e3) <= max(abs(e1), abs(e3)) * _EPS
                slope = 0.0
                if not is_close:
                    slope = 1 / (e1 - e3) + 1 / (e2 - e1) - 1 / (e1 - e0)
                if abs(slope * e1) <= 1e-4:
                    n, goes_on = 2 * i - 1, False
                else:
                    estimate = e1 + 1 / slope
                    table[k] = estimate
                    k, i = k - 2, i + 1
                    distance = step2 + abs(estimate - e2) + step3
                    if distance <= error:
                        result, error = estimate, distance
        if not has_converged:
            if n == _LONGEST_TABLE:
                n = _LONGEST_TABLE - 1
            k = 2 - length % 2
            for i in range(pairs + 1):
                table[k + 2 * i] = table[k + 2 * i + 2]
            for i in range(1, n + 1):
                table[i] = table[i + length - n]
            if calls < 4:
                error = _HUGE
                latest[calls - 1] = result
            else:
                error = float(abs(result - latest[2]) + abs(result - latest[1]) + abs(result - latest[0]))
                latest[0], latest[1], latest[2] = latest[1], latest[2], result
            error = max(error, 5 * _EPS * abs(result))
    return result, error, n


def _both_halves(call: Any, ends: Any, two: Any) -> Any:
    """The integrals from the first end to the second, and to the last, their errors, and whether one is as bad as the function allows.
    ``two`` is 2, and not known: the loop is not to be written out."""
    rule, f, args, start, signs = call
    first, middle, last = ends
    areas, errors, spreads = np.zeros(2), np.zeros(2), np.zeros(2)
    for k in range(two):
        areas[k], errors[k], _, spreads[k] = rule(
            f, args, middle if k > 0 else first, last if k > 0 else middle, start, signs
        )
    error0, error1 = float(errors[0]), float(errors[1])
    is_even = float(spreads[0]) == error0 or float(spreads[1]) == error1
    return (float(areas[0]), float(areas[1])), (error0, error1), is_even


def _put_halves(
    lows: Any, highs: Any, areas: Any, errors: Any, k: Any, n: Any, ends: Any, parts: Any, part_errors: Any
) -> None:  # fmt: skip
    """Puts the halves of interval ``k`` there, and at ``n``, the one of the larger error first."""
    first, middle, last = ends
    if part_errors[1] > part_errors[0]:
        lows[k], highs[k], areas[k], errors[k] = middle, last, parts[1], part_errors[1]
        lows[n], highs[n], areas[n], errors[n] = first, middle, parts[0], part_errors[0]
    else:
        lows[k], highs[k], areas[k], errors[k] = first, middle, parts[0], part_errors[0]
        lows[n], highs[n], areas[n], errors[n] = middle, last, parts[1], part_errors[1]


def _first_large(order: Any, lows: Any, highs: Any, rank: Any, end: Any, small: Any) -> Any:
    """The first rank from ``rank`` on of an interval that is not ``small``; ``end`` if there is none before."""
    goes_on = rank < end
    while goes_on:
        k = int(order[rank])
        if abs(float(highs[k]) - float(lows[k])) > small:
            goes_on = False
        else:
            rank = rank + 1
            goes_on = rank < end
    return rank


def _is_doubtful(result: Any, area: Any, whole: Any, error_sum: Any, is_cancelling: Any) -> Any:
    """Whether an integral whose limit was extrapolated may diverge."""
    is_small = is_cancelling and max(abs(result), abs(area)) <= 0.01 * whole
    is_far = result * area <= 0 or abs(result) < 0.01 * abs(area) or abs(result) > 100 * abs(area)
    return not is_small and (is_far or error_sum > abs(area))


def _adaptive(
    f: Any, args: Any, a: Any, b: Any, start: Any, signs: Any, options: Any, rule: Any, by_halving: Any, *helpers: Any
) -> Any:
    """The integral from ``a`` to ``b``, its error, and whether SciPy's does not warn (dqagse, dqagie)."""
    absolute, relative, limit = options
    a, b, start = float(a), float(b), float(start)
    area, error = 0.0, 0.0
    # Ends that turn out to be infinite are for the other rule, and SciPy does not call the function if the range is empty.
    fails = math.isinf(start) or (not signs and (math.isinf(a) or math.isinf(b)))
    if not (a == b or fails):
        low, high = min(a, b), max(a, b)
        area, error, whole, spread = rule(f, args, low, high, start, signs)
        goal = max(absolute, relative * abs(area))
        fails = (error <= 100 * _EPS * whole and error > goal) or limit == 1
        goes_on = not (fails or (error <= goal and error != spread) or error == 0)
        if goes_on:
            first = area, error, whole, goes_on
            call = rule, f, args, start, signs
            area, error, fails = by_halving(call, (low, high), options, first, *helpers)
        area = -area if b < a else area
    return (area, error), not fails


def _by_halving(
    call: Any, ends: Any, options: Any, first: Any,
    both_halves: Any, put_halves: Any, sort: Any, first_large: Any, extrapolate: Any, is_doubtful: Any,
) -> Any:  # fmt: skip
    """The integral, its error, and whether SciPy's warns: the interval of the largest error is halved again and again. Once these are
    small, the sums are extrapolated."""
    absolute, relative, limit = options
    (low, high), (area, error_sum, whole, goes_on) = ends, first
    is_cancelling = abs(area) < (1 - 50 * _EPS) * whole
    result, largest, fails = area, error_sum, False
    lows, highs, areas, errors = np.zeros(limit), np.zeros(limit), np.zeros(limit), np.zeros(limit)
    order = np.zeros(limit + 1, dtype=np.int64)
    table, latest = np.zeros(_LONGEST_TABLE + 4), np.zeros(3)
    lows[0], highs[0], areas[0], errors[0], table[1] = low, high, area, error_sum, area
    worst = rank = length = tries = extrapolations = stalls = stalls_extrapolating = stalls_late = 0
    count, error, small, error_of_large, goal_of_large = 1, _HUGE, 0.0, 0.0, 0.0
    is_summed, extrapolates, is_over, is_rounded = False, False, False, False
    while goes_on:
        first, last = float(lows[worst]), float(highs[worst])
        middle = 0.5 * (first + last)
        parts, part_errors, is_even = both_halves(call, (first, middle, last), min(2, count + 1))
        both, error_of_both, before = parts[0] + parts[1], part_errors[0] + part_errors[1], largest
        error_sum, area = error_sum + error_of_both - before, area + both - float(areas[worst])
        stuck = not is_even and error_of_both >= 0.99 * before and abs(float(areas[worst]) - both) <= 1e-5 * abs(both)
        if stuck and extrapolates:
            stalls_extrapolating = stalls_extrapolating + 1
        elif stuck:
            stalls = stalls + 1
        if not is_even and count >= 10 and error_of_both > before:
            stalls_late = stalls_late + 1
        goal = max(absolute, relative * abs(area))
        fails = stalls + stalls_extrapolating >= 10 or stalls_late >= 20 or count + 1 == limit
        fails = fails or max(abs(first), abs(last)) <= (1 + 100 * _EPS) * (abs(middle) + 1000 * _TINY)
        is_rounded = is_rounded or stalls_extrapolating >= 5
        put_halves(lows, highs, areas, errors, worst, count, (first, middle, last), parts, part_errors)
        rank = sort(order, errors, count + 1, worst, rank, limit)
        worst = int(order[rank])
        largest = float(errors[worst])
        if error_sum <= goal:
            goes_on, is_summed = False, True
        elif fails:
            goes_on = False
        elif count == 1:
            small, error_of_large, goal_of_large = abs(high - low) * 0.375, error_sum, goal
            table[2], length = area, 2
        elif not is_over:
            error_of_large = error_of_large - before + (error_of_both if abs(middle - first) > small else 0.0)
            if extrapolates or abs(float(highs[worst]) - float(lows[worst])) <= small:
                if not extrapolates:
                    extrapolates, rank = True, 1
                end = count + 1 if count + 1 <= 2 + limit // 2 else limit + 2 - count
                if is_rounded or error_of_large <= goal_of_large:
                    end = rank
                rank = first_large(order, lows, highs, rank, end, small)
                if rank < end:
                    worst = int(order[rank])
                    largest = float(errors[worst])
                else:
                    table[length + 1] = area
                    tries, extrapolations = tries + 1, extrapolations + 1
                    estimate, estimate_error, length = extrapolate(table, latest, length + 1, extrapolations)
                    fails = tries > 5 and error < 1e-3 * error_sum
                    if estimate_error < error:
                        tries, error, result = 0, estimate_error, estimate
                        goal_of_large = max(absolute, relative * abs(estimate))
                        goes_on = error > goal_of_large
                    goes_on = goes_on and not fails
                    is_over = is_over or length == 1
                    if goes_on:
                        worst, rank, extrapolates = int(order[0]), 0, False
                        largest = float(errors[worst])
                        small, error_of_large = small * 0.5, error_sum
        count = count + 1
    if is_summed or error == _HUGE:
        result, error = float(areas[:count].sum()), error_sum
    else:
        fails = fails or is_rounded or is_doubtful(result, area, whole, error_sum, is_cancelling)
    return result, error, fails


def integral(quad: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``scipy.integrate.quad`` gives; ``NotImplemented`` if it is called another way than is written here."""
    if type(quad) is not types.FunctionType or quad.__module__ != _MODULE or quad.__name__ != "quad":
        return NotImplemented
    options = arguments_of(quad, args, kwargs)
    if options is None:
        return NotImplemented
    f, a, b, more = (options.pop(name) for name in ("func", "a", "b", "args"))
    absolute, relative, limit = (options.pop(name) for name in ("epsabs", "epsrel", "limit"))
    others = (options[name] for name in ("full_output", "points", "weight", "complex_func"))
    is_plain = all(x is None or x is False or (type(x) is int and x == 0) for x in others)
    if not is_plain or type(limit) is not int or limit < 1 or not (is_option(absolute) and is_option(relative)):
        return NotImplemented
    if absolute <= 0 and relative < max(50 * _EPS, 5e-29):
        return NotImplemented
    more = more if type(more) is tuple else (more,)
    if not (is_number(a) and is_number(b) and may_loop((f,), (a, b, *more))):
        return NotImplemented
    is_endless = [is_option(x) and math.isinf(x) for x in (a, b)]
    start, signs = 0.0, tuple[int, ...]()
    if any(is_endless):
        if is_option(a) and is_option(b) and a == b:
            return NotImplemented
        signs = (1, -1) if all(is_endless) else (1,) if math.inf in (a, b) else (-1,)
        start = 0.0 if all(is_endless) else b if is_endless[0] else a
        is_turned = (is_endless[0] and a > 0) or (is_endless[1] and b < 0)
        a, b = (1.0, 0.0) if is_turned else (0.0, 1.0)
    numbers = as_numbers((a, b, start))
    helpers = (_by_rule, _by_halving, _both_halves, _put_halves, _sort, _first_large, _extrapolate, _is_doubtful)
    settings = (float(absolute), float(relative), limit)
    return found_by_loop(_adaptive, (f, more, *numbers, signs, settings), helpers)
