"""Boxes: parts of a buffer that a statement stores to, from one number to another in each dimension."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

from tnp.executors.llvm.bounds import simplest
from tnp.executors.llvm.index import Index, Var
from tnp.executors.llvm.loop_ir.nodes import Buffer, Check, Kernel, statements_of

__all__ = ["Box", "around", "box_of", "written_in_parts"]

#: a begin and a length a dimension
Box: TypeAlias = "tuple[tuple[Any, Any], ...]"


def box_of(at: Sequence[Index]) -> Box | None:
    """Where positions are for all values of their variables; ``None`` if they leave out some between, as those of a diagonal do."""
    variables = [v for i in at for v in i.terms]
    if len(set(variables)) < len(variables):
        return None
    found = [_range(i) for i in at]
    box = tuple(place for place in found if place is not None)
    return box if len(box) == len(found) else None


def _range(i: Index) -> tuple[Any, Any] | None:
    (atom, factor), *others = i.terms.items() or [(None, 1)]
    if others or factor != 1 or not (atom is None or isinstance(atom, Var)):
        return None
    return simplest(i.constant), 1 if atom is None else simplest(atom.limit)


def written_in_parts(kernel: Kernel) -> set[Buffer]:
    """The buffers that several statements store to."""
    entries = [e for e in kernel.nests if not isinstance(e, Check)]
    counts = Counter(s.buffer for e in entries for s in statements_of(e))
    return {b for b, count in counts.items() if count > 1}


def around(inside: Box, shape: Sequence[Any]) -> list[Box] | None:
    """What is around a box in an array, as boxes; ``None`` if their widths are not known, so that they may be large."""
    ahead: list[tuple[Any, Any]] = []
    found: list[Box] = []
    for d, ((begin, length), n) in enumerate(zip(inside, shape)):
        after = simplest(n - (begin + length))
        if not isinstance(begin, int) or not isinstance(after, int):
            return None
        ends = ((0, begin), (simplest(begin + length), after))
        found += [(*ahead, end, *((0, simplest(m)) for m in shape[d + 1 :])) for end in ends if end[1] > 0]
        ahead.append((begin, length))
    return found
