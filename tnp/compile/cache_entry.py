"""The cache of a function: its call signatures, and a cache entry for each program."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tnp.capture.guards.prologue import MISS, Prologue
from tnp.capture.guards.varying_values import VaryingValues
from tnp.compile.faster_way import FasterWay, FasterWayOfAModule, GuardedWay, LeftOut
from tnp.core import prims
from tnp.core.subtraces import bodies_of, is_control_flow
from tnp.core.symbol import BoundSymbol
from tnp.core.trace import Trace

if TYPE_CHECKING:
    from tnp.compile.aot_autograd import Training
    from tnp.compile.resume_points import ResumePoints
    from tnp.compile.specialization import ValueGuard

__all__ = ["CacheEntry", "CallSignature", "eager_ways", "in_order", "no_program", "set_runs"]


#: a program moves to the front after it has taken so many calls in a row
CALLS_OF_OTHERS = 32
#: an error in so many calls is rare
RARE = 8


@dataclass(eq=False)
class CallSignature:
    """A way of passing arguments: the names that the values have, ``apply(function, values)``, and the programs for it."""

    parameters: list[str]
    apply: Callable[..., Any]
    #: whether ``apply(f, values)`` is ``f(*values)``
    is_plain: bool = False
    runs: tuple[Callable[..., Any], ...] = ()
    #: those that may stand anywhere, because no call is for two of them
    exclusive: frozenset[Callable[..., Any]] = frozenset()
    #: how often such a call was traced, and how often that found that it runs eagerly
    traced: int = 0
    found_eager: int = 0
    #: how often such a call came to an error that the program catches
    caught: int = 0
    #: runs eagerly, once there may be no more programs
    last_resort: Callable[..., Any] | None = None
    #: runs them in parts, or eagerly where that takes less time
    in_parts: FasterWay | FasterWayOfAModule | None = None
    #: the sizes that such calls were traced with
    varying: VaryingValues = field(default_factory=VaryingValues)
    #: the programs that calls need no guards for
    left_out: LeftOut = field(default_factory=LeftOut)
    #: calls in a row that programs behind the first took, and the number of calls before those
    _others: int = 0
    _before: int = 0

    def ran_other(self, run: Callable[..., Any], calls: int) -> bool:
        """Counts a call, the last of ``calls``, that ``run`` took and the first program did not. Says whether ``run`` should come first:
        there were :data:`CALLS_OF_OTHERS` such calls in a row, and it hides no program that is better."""
        if run not in self.exclusive and not getattr(run, "is_for_any_size", False):
            return False
        if calls - self._before != self._others + 1:
            self._others, self._before = 0, calls - 1
        self._others += 1
        if self._others < CALLS_OF_OTHERS:
            return False
        self._others = 0
        return True

    def catches_often(self, calls: int) -> bool:
        """Whether so many of ``calls`` came to errors that the program catches that it should not be compiled for there being none."""
        return self.caught * RARE > calls

    def put_first(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Moves ``run`` to the front, unless it was forgotten meanwhile. Returns what is first."""
        if run in self.runs:
            self.runs = (run, *(r for r in self.runs if r is not run))
        return next(iter(self.runs), no_program)


@dataclass
class CacheEntry:
    """One compiled program, or a record that such calls run eagerly, or (``guard``) a value guard with its programs."""

    form: CallSignature
    prologue: Prologue
    run: Callable[..., Any]
    traces: list[Trace] = field(default_factory=list)
    eager_reason: str | None = None
    seconds: float = 0.0
    #: of a program whose results are differentiated, that
    training: Training | None = None
    guard: ValueGuard | None = None
    #: its CUDA graphs, the forward program's and those of backward programs
    graphs: list[Any] = field(default_factory=list)
    #: of calls that run in parts, where
    points: ResumePoints | None = None
    #: whether it has symbolic sizes
    is_for_any_size: bool = False
    #: whether it stops if a value is not what it is for (:mod:`~tnp.compile.checked_values`)
    checks_values: bool = False
    #: whether its calls take less time eagerly
    way: GuardedWay | None = None

    #: a trace with more operations has unrolled loops
    MANY_OPERATIONS: ClassVar[int] = 1_000

    def is_exclusive(self) -> bool:
        """Whether it is a program for one size and one way of the control flow, so that no other one of these is for the same calls."""
        is_program = self.guard is None and self.eager_reason is None and self.points is None
        return is_program and not self.is_for_any_size

    def has_loops(self) -> bool:
        """Whether what is compiled has loops, which eager may take a thousand times as long for: native ones, or written out."""
        if self.points is not None:
            return self.points.has_loops()
        if not self.traces:
            return False
        body = self.traces[0].bound_symbols
        return len(body) > self.MANY_OPERATIONS or _loops_in(body) > _loops_in(self.traces[-1].bound_symbols)


def _loops_in(bsyms: Iterable[BoundSymbol]) -> int:
    """How many loops there are among operations, and in these. Those of a last trace are Python's."""
    found = 0
    for b in bsyms:
        if is_control_flow(b):
            found += b.operation is not prims.cond
            found += sum(_loops_in(body.bound_symbols) for body in bodies_of(b))
    return found


def set_runs(form: CallSignature, entries: Iterable[CacheEntry], follow: Callable[[], None]) -> None:
    """Has a form try the programs of its entries, one after the other. Where all of them take less time eagerly, calls run so without
    guards. ``follow()`` does this again, when more is known of the calls."""
    mine = [e for e in entries if e.form is form]
    last = [] if form.last_resort is None else [form.last_resort]
    ways = eager_ways(form, entries)
    if ways:
        limit = max(w.limit for w in ways)
        form.runs, form.exclusive = tuple(w.direct(limit=limit) for w in ways), frozenset()
        return
    noted = _noted(form, mine, follow)
    runs = [e.run if e.way is None else e.way.beside_others(noted) for e in mine]
    form.runs, form.exclusive = (*runs, *last), frozenset(r for e, r in zip(mine, runs) if e.is_exclusive())


def _noted(form: CallSignature, mine: list[CacheEntry], follow: Callable[[], None]) -> Callable[[], None] | None:
    """What is called after eager calls, if those programs that do not run so may be left out."""
    others = [e.way for e in mine if e.way is None or not e.way.is_eager]
    unmeasured = [w for w in others if w is not None and not w.is_measured]
    if not unmeasured or len(unmeasured) < len(others):
        return None

    def noted() -> None:
        if form.left_out.note(unmeasured):
            follow()

    return noted


def eager_ways(form: CallSignature, entries: Iterable[CacheEntry]) -> list[FasterWay]:
    """What runs calls of a form, if all of them take less time eagerly; else nothing. Programs for one size that too few calls come to
    for their time to be known do not count beside programs for any size, nor do those that no call comes to any longer."""
    mine = [e for e in entries if e.form is form and not form.left_out.has(e.way)]
    if any(e.is_for_any_size and e.way is not None and e.way.is_eager for e in mine):
        mine = [e for e in mine if e.is_for_any_size or e.way is None or e.way.is_measured or e.way.is_eager]
    # a last resort that has no way runs calls eagerly
    last = [form.last_resort] if isinstance(form.last_resort, (FasterWay, FasterWayOfAModule)) else []
    of_parts = [e.way for e in mine if e.points is not None and e.way is not None]
    eager = [w for w in of_parts if w.is_eager]  # the parts are the same for all calls
    ways = [*(eager[:1] or of_parts), *(e.way or e.run for e in mine if e.points is None or e.way is None), *last]
    found = [w for w in dict.fromkeys(ways) if isinstance(w, FasterWay) and w.is_eager]
    return found if len(found) == len(set(ways)) else []


def in_order(entries: Iterable[CacheEntry], most: int) -> tuple[CacheEntry, ...]:
    """At most ``most`` of the entries, which are given newest first. Programs for one size stand before programs for any size,
    which would hide them."""
    entries = list(entries)
    for_any_size = [e for e in entries if e.is_for_any_size][:most]
    others = [e for e in entries if not e.is_for_any_size][: most - len(for_any_size)]
    return (*others, *for_any_size)


def no_program(*values: Any) -> Any:
    """The program of calls that have none yet."""
    return MISS
