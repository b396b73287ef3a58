"""What prims that only rearrange elements do to positions: from the position of an element to its position in the source.

Positions are tuples of anything that can be added and multiplied by integers: indices of regions
(:class:`~tnp.executors.llvm.index.Index`), integers of whole loops (:class:`~tnp.executors.llvm.program.integers.Int`).
Both generators lower views by these maps.

>>> transposed([1, 0])((3, 5))
(5, 3)
>>> flipped([0], (10, 4))((3, 2))
(6, 2)
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, TypeAlias

__all__ = [
    "Map", "broadcast", "diagonal", "flipped", "selected", "sliced", "squeezed", "transposed", "unfolded", "with_ones",
]  # fmt: skip

Map: TypeAlias = "Callable[[tuple[Any, ...]], tuple[Any, ...]]"


def transposed(permutation: Sequence[int]) -> Map:
    """Dimension ``i`` is dimension ``permutation[i]`` of the source."""
    inverse = [list(permutation).index(d) for d in range(len(permutation))]
    return lambda at: tuple(at[i] for i in inverse)


def squeezed(dims: Container[int], rank: int) -> Map:
    """Without some dimensions, all of length 1, of ``rank``."""

    def where(at: tuple[Any, ...]) -> tuple[Any, ...]:
        rest = iter(at)
        return tuple(0 if d in dims else next(rest) for d in range(rank))

    return where


def selected(dim: int, index: Any) -> Map:
    """The part at one index of a dimension."""
    return lambda at: (*at[:dim], index, *at[dim:])


def sliced(starts: Sequence[Any], steps: Sequence[int]) -> Map:
    """Every so many elements, from the starts on."""
    return lambda at: tuple(i * s + f for i, s, f in zip(at, steps, starts))


def flipped(dims: Container[int], shape: Sequence[Any]) -> Map:
    """Some dimensions backwards."""
    return lambda at: tuple(i * -1 + (n - 1) if d in dims else i for d, (i, n) in enumerate(zip(at, shape)))


def broadcast(repeated: Sequence[bool], dims: Sequence[int]) -> Map:
    """Dimension ``i`` of the source stands at ``dims[i]``, or is ``repeated`` there."""
    return lambda at: tuple(0 if again else at[d] for again, d in zip(repeated, dims))


def diagonal(offset: int, dim1: int, dim2: int, rank: int) -> Map:
    """The diagonal of two of ``rank`` dimensions, which is last."""

    def where(at: tuple[Any, ...]) -> tuple[Any, ...]:
        *rest, along = at
        left = iter(rest)
        own = {dim1: along + max(0, -offset), dim2: along + max(0, offset)}
        return tuple(own[d] if d in own else next(left) for d in range(rank))

    return where


def unfolded(dim: int, step: int) -> Map:
    """Windows of a dimension, ``step`` apart; the last dimension is within one."""
    return lambda at: tuple(i * step + at[-1] if d == dim else i for d, i in enumerate(at[:-1]))


def with_ones(place: Mapping[int, int], rank: int) -> Map:
    """Dimensions of length 1 dropped and added: ``place`` says where each other of the source's ``rank`` stands."""
    return lambda at: tuple(at[place[d]] if d in place else 0 for d in range(rank))
