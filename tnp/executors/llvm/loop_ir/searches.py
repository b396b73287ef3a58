"""The code of searches: which position of a loop is the first at which a condition is false, for each point of the other loops.

What is looked for is often in order. So a search begins at the position that the one before it found, and goes on step by step. Where
the answer is not near, the points of a block are searched together: each step of a search by halves goes over all of them, with vectors
that gather an element for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tnp.core import dtypes
from tnp.executors.llvm import scalars
from tnp.executors.llvm.code import extreme
from tnp.executors.llvm.index import Var
from tnp.executors.llvm.loop_ir.nodes import Search

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.functions import Body

__all__ = ["search"]

#: a search that begins where another ended goes on for so many positions
NEAR = 8
#: points that are searched together
BLOCK = 64


def search(body: Body, s: Search, point: Var | None, begin: str, end: str) -> None:
    """Searches for the points of a loop from ``begin`` to before ``end``, or for one point."""
    written = _Searches(body, s, point)
    n = body.head.size(s.along.limit)
    if n.isdigit():
        written.searches(begin, end, n)
    else:
        body.when(
            body.code.op(f"icmp sgt i64 {n}, 0"),
            lambda: written.searches(begin, end, n),
            lambda: written.nothing(begin, end),
        )


class _Searches:
    """The code of the searches of one statement."""

    def __init__(self, body: Body, s: Search, point: Var | None) -> None:
        self.body, self.code, self.s, self.point = body, body.code, s, point

    def variable(self) -> str:
        return self.body.head.code.op("alloca i64, align 8")

    def get(self, place: str) -> str:
        return self.code.op(f"load i64, ptr {place}, align 8")

    def put(self, value: str, place: str) -> None:
        self.code.line(f"store i64 {value}, ptr {place}, align 8")

    @contextmanager
    def at(self, point: str) -> Iterator[None]:
        """At one point of the loop."""
        self.body.values.append({} if self.point is None else {self.point: point})
        yield
        self.body.values.pop()

    @contextmanager
    def each(self, begin: str, end: str) -> Iterator[None]:
        """At each point of a part of the loop, one at least."""
        if self.point is None:
            with self.at("0"):
                yield
        else:
            with self.body.loop(self.point, begin, end, "1 vectors"):
                yield

    def holds(self, position: str) -> str:
        """Whether the condition is true at a position."""
        self.body.values.append({self.s.along: position})
        value = self.body.value(self.s.value)
        self.body.values.pop()
        return str(value)

    def found(self) -> str:
        """What is known of the answer."""
        return str(self.body.load(self.s.buffer, self.s.at))

    def set(self, value: str) -> None:
        self.body.store(self.s.buffer, self.s.at, value)

    def nothing(self, begin: str, end: str) -> None:
        """No position at all."""
        with self.each(begin, end):
            self.set("0")

    def searches(self, begin: str, end: str, n: str) -> None:
        """All points, of ``n`` positions, which is more than 0."""
        if self.point is None:
            self.by_halves("0", "1", n)
            return
        code, place, known = self.code, self.variable(), self.variable()
        head, block, one, ask, far, done = (
            code.label(h) for h in ("blocks", "block", "point", "ask", "far", "searched")
        )
        self.put(begin, place)
        self.put("0", known)
        code.line(f"br label %{head}")
        code.block(head)
        first = self.get(place)
        code.line(f"br i1 {code.op(f'icmp slt i64 {first}, {end}')}, label %{block}, label %{done}")
        code.block(block)
        stop = extreme(code, "smin", code.op(f"add nuw nsw i64 {first}, {BLOCK}"), end)
        code.line(f"br label %{one}")
        code.block(one)
        here = self.get(place)
        code.line(f"br i1 {code.op(f'icmp slt i64 {here}, {stop}')}, label %{ask}, label %{head}")
        code.block(ask)
        with self.at(here):
            self.near(known, n, far)
        self.put(code.op(f"add nuw nsw i64 {here}, 1"), place)
        code.line(f"br label %{one}")
        code.block(far)
        self.by_halves(here, stop, n)
        with self.at(code.op(f"sub nsw i64 {stop}, 1")):
            self.put(self.found(), known)
        self.put(stop, place)
        code.line(f"br label %{head}")
        code.block(done)

    def near(self, known: str, n: str, far: str) -> None:
        """The answer at one point, step by step from the one before, if it is near; if not, goes to ``far``."""
        code = self.code
        start, last = self.get(known), code.arithmetic("sub", n, "1")
        end = extreme(code, "smin", code.op(f"add nuw nsw i64 {start}, {NEAR}"), n)
        before = self.holds(extreme(code, "smax", code.op(f"sub nsw i64 {start}, 1"), "0"))
        behind = code.op(f"xor i1 {self.holds(extreme(code, 'smin', end, last))}, true")
        above = code.op(f"or i1 {code.op(f'icmp eq i64 {start}, 0')}, {before}")
        below = code.op(f"or i1 {code.op(f'icmp eq i64 {end}, {n}')}, {behind}")
        steps, ask, following, there = (code.label(hint) for hint in ("steps", "step", "next", "there"))
        code.line(f"br i1 {code.op(f'and i1 {above}, {below}')}, label %{steps}, label %{far}")
        code.block(steps)
        position = self.get(known)
        code.line(f"br i1 {code.op(f'icmp slt i64 {position}, {end}')}, label %{ask}, label %{there}")
        code.block(ask)
        code.line(f"br i1 {self.holds(position)}, label %{following}, label %{there}")
        code.block(following)
        self.put(code.op(f"add nuw nsw i64 {position}, 1"), known)
        code.line(f"br label %{steps}")
        code.block(there)
        self.set(self.get(known))

    def by_halves(self, begin: str, end: str, n: str) -> None:
        """The answers of some points: of the positions that are left, the upper half if its first one is below the answer. That is no
        branch, since nobody could predict it."""
        code, left = self.code, self.variable()
        with self.each(begin, end):
            self.set("0")
        halve, step, one = (code.label(hint) for hint in ("halve", "half", "one"))
        self.put(n, left)
        code.line(f"br label %{halve}")
        code.block(halve)
        count = self.get(left)
        code.line(f"br i1 {code.op(f'icmp sgt i64 {count}, 1')}, label %{step}, label %{one}")
        code.block(step)
        half = code.op(f"lshr i64 {count}, 1")
        with self.each(begin, end):
            lower = self.found()
            upper = code.op(f"add nuw nsw i64 {lower}, {half}")
            is_upper = self.holds(code.op(f"sub nsw i64 {upper}, 1"))
            self.set(scalars.where(code, [is_upper, upper, lower], dtypes.int64, is_unpredictable=True))
        self.put(code.op(f"sub nsw i64 {count}, {half}"), left)
        code.line(f"br label %{halve}")
        code.block(one)
        with self.each(begin, end):
            position = self.found()
            self.set(code.op(f"add nuw nsw i64 {position}, {code.op(f'zext i1 {self.holds(position)} to i64')}"))
