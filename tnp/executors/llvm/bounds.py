"""Where the values of an index lie: its ends as linear forms of symbolic sizes, and what surely holds of such forms."""

from __future__ import annotations

from typing import Any

from tnp.core import intervals, symbols
from tnp.core.intervals import Linear
from tnp.executors.llvm.index import Index

__all__ = ["ends", "form", "is_provable", "simplest"]


def form(n: object) -> Linear:
    """A size as a linear form."""
    return intervals.linear(symbols.number_of(n))


def simplest(n: Any) -> Any:
    """A size as a symbol and a constant, if it is the sum of such: sums of sums become long."""
    found = form(n)
    if found.is_constant:
        return found.constant
    (number, factor), *others = found.terms.values()
    return n if others or factor != 1 else symbols.Provable(number) + found.constant


def ends(index: Index) -> tuple[Linear, Linear]:
    """The least and the greatest value of an affine index, as forms of the sizes."""
    low = high = form(index.constant)
    for atom, factor in index.terms.items():
        reach = form((atom.limit - 1) * factor)
        is_positive = factor > 0
        low, high = (low, high.plus(reach)) if is_positive else (low.plus(reach), high)
    return low, high


def is_provable(x: Linear) -> bool:
    """Whether ``x`` is at least 0, whatever the sizes in it are: by their bounds, and as ``k * (n // k)`` is from ``n - k + 1`` to ``n``."""
    for number, factor in x.terms.values():
        operation, args = number.origin or ("", ())
        if operation != "floor_divide" or not isinstance(args[1], int) or factor % args[1]:
            continue
        whole, by = form(args[0]), args[1]
        least = whole if factor < 0 else whole.plus(Linear({}, by - 1), -1)
        rest = x.plus(Linear({number.name: (number, 1)}, 0), -factor)
        return is_provable(rest.plus(least, factor // by))
    low = x.interval()[0]
    return low is not None and low >= 0
