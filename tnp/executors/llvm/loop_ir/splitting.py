"""Index set splitting: innermost loops are cut where the positions of rotated arrays begin anew.

Of ``np.roll(u, 1)`` the first element is ``u[-1]``, and all others are neighbours in ``u``. So a loop over it becomes two,
with affine positions. In the loops around, a remainder is computed once a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from tnp.executors.llvm import target
from tnp.executors.llvm.bounds import form, is_provable, simplest
from tnp.executors.llvm.index import Index, Part, Remainder, Var
from tnp.executors.llvm.loop_ir.fusion import Renaming
from tnp.executors.llvm.loop_ir.nodes import Entry, Kernel, Load, Nest, Position, Statement, Store, subexpressions
from tnp.executors.llvm.rotations import wrapped

__all__ = ["Substitution", "cuts_of", "is_cut", "split"]


def split(kernel: Kernel) -> Kernel:
    """The kernel with its innermost loops cut."""
    nests: list[Entry] = []
    for entry in kernel.nests:
        nests += _pieces(entry) if isinstance(entry, Nest) else [entry]
    return replace(kernel, nests=nests)


def is_cut(statements: Iterable[Statement], loops: Sequence[Var]) -> bool:
    """Whether the innermost of some loops will be cut."""
    return bool(loops and cuts_of(statements, loops[-1]))


def cuts_of(statements: Iterable[Statement], loop: Var) -> list[Any] | None:
    """Where a loop begins anew, in order; ``None`` if that is not known."""
    cuts: list[Any] = []
    for part in _parts_with(loop, statements):
        constant, by = part.of.constant, part.by
        if not isinstance(part, Remainder) or part.of.terms != {loop: 1}:
            return None
        cut = simplest(by - constant)
        while not _is_less(loop.limit - 1, cut):
            if not (_is_less(0, cut) and _is_less(cut, loop.limit)) or len(cuts) == target.MOST_PIECES - 1:
                return None
            if not any(cut == c for c in cuts):
                cuts.append(cut)
            cut = simplest(cut + by)
    return _in_order(cuts)


def _in_order(cuts: Sequence[Any]) -> list[Any] | None:
    ordered: list[Any] = []
    for cut in cuts:
        at = next((i for i, c in enumerate(ordered) if _is_less(cut, c)), len(ordered))
        if any(not _is_less(c, cut) for c in ordered[:at]):
            return None
        ordered.insert(at, cut)
    return ordered


def _is_less(a: Any, b: Any) -> bool:
    return is_provable(form(b - 1).plus(form(a), -1))


def _parts_with(loop: Var, statements: Iterable[Statement]) -> Iterator[Part]:
    """The quotients and remainders that depend on a loop's variable."""
    for s in statements:
        indices = [*s.at]
        for x in subexpressions(s.value):
            indices += x.at if isinstance(x, Load) else [x.index] if isinstance(x, Position) else []
        for index in indices:
            for atom in index.terms if not index.is_affine else ():
                if isinstance(atom, Part) and loop in atom.of.variables():
                    yield atom


def _pieces(nest: Nest) -> list[Entry]:
    if not nest.loops or any(not isinstance(s, Store) for s in nest.statements):
        return [nest]
    loop = nest.loops[-1]
    pieces: list[Entry] = []
    bounds = [0, *(cuts_of(nest.statements, loop) or ()), loop.limit]
    for begin, end in pairwise(bounds) if len(bounds) > 2 else ():
        own = Var(loop.name, simplest(end - begin))
        piece = Substitution({loop: Index.of(own) + Index(begin)}).nest(nest)
        pieces.append(Nest((*nest.loops[:-1], own) if own.limit != 1 else nest.loops[:-1], piece.statements))
    return pieces or [nest]


class Substitution(Renaming):
    """Statements with indices for variables of loops."""

    def __init__(self, places: Mapping[Var, Index]) -> None:
        super().__init__({}, {})
        self.places = places

    def _index(self, i: Index) -> Index:
        total = Index(i.constant)
        for atom, factor in i.terms.items():
            if isinstance(atom, Var) and atom in self.places:
                total += self.places[atom] * factor
            elif isinstance(atom, Remainder):
                total += wrapped(self._index(atom.of), atom.by) * factor
            else:
                total += Index(0, {self._atom(atom): factor})
        return total
