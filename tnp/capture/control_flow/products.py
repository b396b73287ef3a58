"""Loops over tuples of positions: ``np.ndindex``, ``np.ndenumerate``, and ``product``, ``combinations`` and ``permutations`` of
``itertools``.

As in :mod:`~tnp.capture.control_flow.iterables`, they are stand-ins that compute item ``k``.
"""

from __future__ import annotations

import builtins
import itertools
import math
import operator
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.iterables import Iterations, counted_from_zero, is_known, use_up
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core.errors import NeedsEager

__all__ = ["PRODUCTS"]


def _position(k: Any, lengths: list[Any]) -> tuple[Any, ...]:
    """Where the element number ``k`` of an array is."""
    found = []
    for n in reversed(lengths[1:]):
        found.append(k % n)
        k = k // n
    return (*([k] if lengths else []), *reversed(found))


def _ndindex(*shape: Any) -> Any:
    """``np.ndindex(*shape)``, or of one tuple: the positions of an array, the last dimension the fastest."""
    dims = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    if not all(map(is_known, dims)):
        raise NeedsEager("it runs over the positions of an array whose shape is known only when the program runs")
    lengths: list[Any] = [
        n if type(n) is TracedNumber and n.proxy.python_type is int else operator.index(n) for n in dims
    ]
    if any(n < 0 for n in lengths):
        return np.ndindex(*map(operator.index, lengths))  # says what is wrong
    return Iterations(0, math.prod(lengths), 1, lambda k: _position(k, lengths))


def _ndenumerate(a: Any) -> Any:
    """``np.ndenumerate(a)``."""
    if type(a) is not TracedArray:
        return np.ndenumerate(a)
    iterations = _ndindex(*a.shape)
    return Iterations(0, iterations.stop, 1, lambda k: ((at := iterations.item(k)), a[at]))


def _product(*xs: Any, repeat: Any = 1) -> Any:
    """``itertools.product(*xs, repeat=repeat)``."""
    if type(repeat) is not int or repeat < 1 or not xs:
        return itertools.product(*xs, repeat=repeat)
    found = [counted_from_zero(x) for x in xs]
    if any(r is None or not is_known(r.stop) for r in found):
        return itertools.product(*xs, repeat=repeat)
    use_up(*xs)
    factors = [r for r in found if r is not None] * repeat
    lengths = [r.stop for r in factors]
    made = Iterations(
        0, math.prod(lengths), 1, lambda k: tuple(r.item(i) for r, i in zip(factors, _position(k, lengths)))
    )
    made.over = tuple(x for r in factors for x in r.over)
    return made


def _combinations(x: Any, r: Any) -> Any:
    """``itertools.combinations(x, r)``; pairs are counted."""
    return _pairs(x, r, itertools.combinations, 0)


def _combinations_with_replacement(x: Any, r: Any) -> Any:
    """``itertools.combinations_with_replacement(x, r)``; pairs are counted."""
    return _pairs(x, r, itertools.combinations_with_replacement, 1)


def _pairs(x: Any, r: Any, function: Any, replaced: int) -> Any:
    """Pairs of items of ``x``, each with those behind it, and with itself if it is ``replaced``."""
    found = counted_from_zero(x) if type(r) is int and r == 2 else None
    if found is None or not is_known(found.stop):
        return function(x, r)
    use_up(x)
    n = found.stop + replaced

    def item(k: Any) -> tuple[Any, Any]:
        i = _row_of_pair(k, n)
        return found.item(i), found.item(k - (i * (2 * n - i - 1)) // 2 + i + 1 - replaced)

    made = Iterations(0, n * (n - 1) // 2, 1, item)
    made.over = found.over
    return made


def _permutations(x: Any, r: Any = None) -> Any:
    """``itertools.permutations(x, r)``; pairs are counted: of each item with all others."""
    found = counted_from_zero(x) if type(r) is int and r == 2 else None
    if found is None or not is_known(found.stop):
        return itertools.permutations(x, r)
    use_up(x)
    n = found.stop

    def item(k: Any) -> tuple[Any, Any]:
        i = k // (n - 1)
        other = k - i * (n - 1)
        behind = active.current().runtime.call(builtins.int, other >= i)
        return found.item(i), found.item(other + behind)

    made = Iterations(0, n * (n - 1), 1, item)
    made.over = found.over
    return made


def _row_of_pair(k: Any, n: Any) -> Any:
    """The first number of pair number ``k`` of ``n``. The square root is of an integer: of squares it is exact, and others are far enough
    from these."""
    call = active.current().runtime.call
    from_the_end = call(builtins.int, (call(math.sqrt, 4 * n * (n - 1) - 8 * k - 7) - 1) / 2)
    return n - 2 - from_the_end


PRODUCTS = {
    np.ndindex: _ndindex,
    np.ndenumerate: _ndenumerate,
    itertools.product: _product,
    itertools.combinations: _combinations,
    itertools.combinations_with_replacement: _combinations_with_replacement,
    itertools.permutations: _permutations,
}
