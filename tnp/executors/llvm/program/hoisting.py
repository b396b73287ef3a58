"""Hoisting: bounds checks of loop indices, once before the program begins.

In ``for i in range(n): y[i] = x[i] + 1`` with a run-time number ``n``, one comparison of ``n`` with the arrays' lengths
suffices, before any write. If it fails, the program does nothing, and Python runs the call up to the error. The loop
itself has no checks, so it vectorises and runs on several threads.

This is valid only for checks that every iteration executes, in loops without early exits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tnp.executors.llvm.program.integers import Atom, Int
from tnp.executors.llvm.program.ir import instructions_in

if TYPE_CHECKING:
    from tnp.executors.llvm.program.lowering import Program

__all__ = ["is_checked_ahead", "learn", "narrowed"]

#: an integer that may be larger has no useful bound
FAR = 2**40


def is_checked_ahead(p: Program, i: Int, n: Int) -> bool:
    """Whether ``i < n``, of an index that is not below ``-n``, could be made a condition for the program to begin."""
    if not p.is_unconditional or (i + n).low < 0:
        return False
    most = i
    if any(len(a.factors) > 1 for a in i.terms):
        return False
    while inside := [a for a in most.terms if a in p.iterations]:
        atom = max(inside, key=list(p.iterations).index)  # the innermost loop's
        first, last = p.iterations[atom]
        if any(a in p.iterations for a in last.terms) and any(a in p.iterations for a in first.terms):
            return False  # where it ends, it may be empty
        c = most.terms[atom]
        most = most + ((last if c > 0 else first) - Int(0, {atom: 1})) * c
    sizes = p.sizes.code.block if p.sizes is not None else []
    known = {r for x in instructions_in([*sizes, *p.head]) for r in x.results}
    left, right = Int(0, most.terms), n - most.constant
    used = [f for x in (left, right) for a in x.terms for f in a.factors]
    if any(f.register not in known for f in used) or not (left.fits and right.fits):
        return False
    known_now, p.known = p.known, [{}]
    with p.code.inside(p.ahead):
        p.begin_only_if(p.less(left, right))
    p.known = known_now
    return True


def learn(p: Program, i: Int, n: Int) -> None:
    """Notes that ``i < n`` from here on, to the end of the scope."""
    if len(i.terms) == 1:
        ((atom, c),) = i.terms.items()
        if c == 1 and atom.high > FAR:
            p.known[-1]["at most", atom] = n.high - 1 - i.constant
            p.limits[atom.register] = n.high


def narrowed(p: Program, offset: Int) -> Int:
    """``offset`` with the bounds that are known of its registers here."""
    if not any(a.high > FAR for a in offset.terms):
        return offset
    terms: dict[Atom, int] = {}
    for atom, c in offset.terms.items():
        most = p.find(("at most", atom)) if atom.high > FAR else None
        terms[atom if most is None else p.narrower.setdefault((atom, most), Atom(atom.register, atom.low, most))] = c
    return Int(offset.constant, terms)
