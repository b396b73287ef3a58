"""Dry runs for symbolic sizes: how the sizes of a function's results follow from those of its arguments.

The function runs on dummy data of several sizes. A program for any size takes it that each size of a result is a sum of sizes of
arguments, each times an integer, if all runs agree. The program compares the sizes again when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tnp.core import intervals, sizes, symbols
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import flat_proxies, map_proxies
from tnp.core.tuples import with_items
from tnp.lang.numpy.opaque import proxy_of

__all__ = ["of_symbolic_sizes"]

#: sizes that are tried, the largest first, beside some near the present one
_TRIED = (2001, 1000, 257, 150, 65, 64, 33, 16, 9, 8, 5, 4, 3, 2)
#: so many runs have to succeed for each symbol
_LEAST_RUNS = 4
#: elements of an argument in a run for other sizes than the present ones
_MOST_ELEMENTS = 1 << 14

#: runs the function on arguments whose sizes are known
Run = Callable[[Any, Any], Any]


class _Unclear(Exception):
    """The runs do not tell how the sizes of results follow from those of the arguments."""


def of_symbolic_sizes(run: Run, args: Any, kwargs: Any, name: str) -> Any:
    """The proxies of results for arguments of which some have symbolic sizes. ``None`` if none has, or if runs do not tell."""
    numbers = _symbols(args, kwargs)
    if not numbers:
        return None
    try:
        runs = _Runs(run, args, kwargs, numbers)
        slopes = {n: runs.slopes(n) for n in runs.present}
        runs.check_together(slopes)
    except _Unclear:
        return None
    shapes = []
    for i, size in enumerate(runs.sizes):
        total: Any = size - sum(slopes[n][i] * value for n, value in runs.present.items())
        for n, number in numbers.items():
            if slopes[n][i]:
                total = symbols.extent(number) * slopes[n][i] + total
        shapes.append(total)
    dims = iter(symbols.dimensions(shapes))
    return _with_sizes(proxy_of(runs.result, name), dims)


def _symbols(args: Any, kwargs: Any) -> dict[str, NumberProxy]:
    """By their names, the symbols that sizes of arguments are made of; none if a size is known only when the program runs."""
    tensors = [p for p in flat_proxies((args, kwargs)) if isinstance(p, TensorProxy)]
    if not all(sizes.is_decided(p.shape) for p in tensors):
        return {}
    forms = [intervals.linear(d) for p in tensors for d in p.shape if not isinstance(d, int)]
    return {name: number for form in forms for name, (number, _) in form.terms.items()}


class _Runs:
    """Runs of a function for the present sizes and for others."""

    def __init__(self, run: Run, args: Any, kwargs: Any, numbers: dict[str, NumberProxy]) -> None:
        self.run, self.args, self.kwargs, self.numbers = run, args, kwargs, numbers
        self.present = {name: int(symbols.present(number)) for name, number in numbers.items()}
        result = self._tried(self.present, most=None)
        if result is None:
            raise _Unclear
        self.result = result[0]
        self.kind, self.sizes = _kind(self.result), list(_sizes(self.result))

    def _tried(self, values: dict[str, int], most: int | None = _MOST_ELEMENTS) -> tuple[Any] | None:
        """The result for symbols of these values, in a tuple; ``None`` if there is none, or if arrays are too large."""

        def known(p: Any) -> Any:
            if not isinstance(p, TensorProxy) or sizes.is_known(p.shape):
                return p
            shape = tuple(_value(d, values) for d in p.shape)
            if min(shape) < 0 or (most is not None and np.prod(shape, dtype=float) > most):
                raise _Unclear
            return TensorProxy(like=p, shape=shape)

        try:
            return (self.run(*map_proxies(known, (self.args, self.kwargs))),)
        except Exception:  # the call raises for those sizes, or it is too large
            return None

    def slopes(self, name: str) -> list[int]:
        """What each size of the results grows by with the symbol ``name``. The program relies on it that the symbol has at least the
        value from which on all runs agree.
        """
        value = self.present[name]
        found: list[int] = []
        agreed: list[int] = [value]
        tried = {2 * value, value + 2, value + 1, *_TRIED} - {value}
        for other in sorted(tried, reverse=True):
            result = self._tried({**self.present, name: other})
            if result is None:
                continue
            grown = list(_sizes(result[0])) if _kind(result[0]) == self.kind else None
            if not found and grown is not None:
                found = [(m - n) // (other - value) for m, n in zip(grown, self.sizes)]
            if grown is not None and self._agree(grown, [n + k * (other - value) for n, k in zip(self.sizes, found)]):
                agreed.append(other)
            elif other > value:
                raise _Unclear
            else:
                break
        if len(agreed) <= _LEAST_RUNS:
            raise _Unclear
        number = self.numbers[name]
        if min(agreed) > symbols.LEAST and number.relations is not None:
            number.relations.less(number, min(agreed))
        return found

    def _agree(self, found: list[int], expected: list[int]) -> bool:
        # A size below 2 is none of a program for any size.
        return found == expected or any(n < symbols.LEAST for n in expected)

    def check_together(self, slopes: dict[str, list[int]]) -> None:
        """Compares runs in which all symbols have other values."""
        if len(self.present) < 2:
            return
        for step in (1, 4):
            moved = {name: value + step * (i + 1) for i, (name, value) in enumerate(self.present.items())}
            result = self._tried(moved)
            if result is None or _kind(result[0]) != self.kind:
                raise _Unclear
            steps = {name: moved[name] - value for name, value in self.present.items()}
            expected = [n + sum(slopes[s][i] * k for s, k in steps.items()) for i, n in enumerate(self.sizes)]
            if not self._agree(list(_sizes(result[0])), expected):
                raise _Unclear


def _value(d: Any, values: dict[str, int]) -> int:
    if isinstance(d, int):
        return d
    form = intervals.linear(d)
    return form.constant + sum(values[name] * k for name, (_, k) in form.terms.items())


def _kind(x: Any) -> Any:
    """What a result is, but for its sizes."""
    if isinstance(x, np.ndarray):
        return type(x), x.dtype, x.ndim
    if isinstance(x, (tuple, list)):
        return type(x), tuple(map(_kind, x))
    return type(x)


def _sizes(x: Any) -> Iterator[int]:
    if isinstance(x, np.ndarray):
        yield from x.shape
    elif isinstance(x, (tuple, list)):
        for y in x:
            yield from _sizes(y)


def _with_sizes(x: Any, dims: Iterator[Any]) -> Any:
    """The proxies of results with other sizes, one after the other."""
    if isinstance(x, TensorProxy):
        return TensorProxy(like=x, shape=tuple(next(dims) for _ in x.shape)) if x.ndim else x
    if isinstance(x, (tuple, list)):
        return with_items(x, [_with_sizes(y, dims) for y in x])
    return x
