"""Calls run compiled or eagerly, whichever takes less time.

Guards, the calls of parts, and the programs of values cost some microseconds, which few operations on small arrays may not be worth. So
after some calls each way is timed, in turns, on the calls that come anyhow, and the faster one is kept. Calls that turn out to be
longer are compiled again. A function that is compiled whole is tried eagerly only if its calls are short, since the last bits of its
results may differ between the two ways.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tnp.capture.guards.prologue import MISS
from tnp.compile.tracebacks import hide_own_frames
from tnp.compile.turns import Turns, take_turns
from tnp.core import check
from tnp.runtime import environment
from tnp.runtime.modules import loaded

__all__ = [
    "SHORT",
    "SHORT_WITHOUT_LOOPS",
    "TOO_LONG",
    "TOO_LONG_WITHOUT_LOOPS",
    "FasterWay",
    "FasterWayOfAModule",
    "GuardedWay",
    "LeftOut",
    "clocked_compilation",
]

#: compiled calls before any is timed
WARM = 6
#: calls of each way that are timed, and how often they may be, where others choose meanwhile
TIMED, MOST_TIMES = 8, 4
#: calls of one way in a row: the threads of a compiled call spin for a while behind it, and take a core from the library of an eager one
ROW = 4
#: calls of each way that are timed where one takes less than so many times the other: a clock is no better than that in few calls
TIMED_IF_CLOSE, CLOSE = 20, 1.5
#: calls in a row that are of another kind, after which none is timed: to find that out would take longer than the guards
MISSES = 32
#: how much longer compiled calls may take, for what the clock does not resolve
TOLERANCE = 1.02
#: the same where the results are differentiated, which takes longer than the call and is not timed
TRAINING_TOLERANCE = 3.0
#: seconds that an eager call costs more than calling the function
OVERHEAD = 1e-7
#: seconds of an eager call that tell without a second one whether it takes longer: more than a process may wait for its turn
LONG = 0.02
#: seconds of an eager call that may take several times as long until caches and the interpreter know it, a few times in a row
COLD = 2e-4
#: seconds of a compiled call above which eager, which may take many times as long, is not tried: of calls in parts with and without
#: loops, which Python may run a thousand times as long; and of calls that are compiled whole
TOO_LONG, TOO_LONG_WITHOUT_LOOPS = 0.05, 0.2
SHORT, SHORT_WITHOUT_LOOPS = 1e-3, 0.02
#: eager calls in a row that take so many times what the timed ones did, and this many seconds more, are of other arguments
SLOW, OTHER, OTHER_SECONDS = 3, 3, 2e-5
#: how often that may be found; each time it takes twice as slow calls, since slow ones may only have found cold caches
MOST_FLIPS = 3
#: one of so many eager calls is timed; after one that took longer, the next
WATCHED = 8
#: guards are asked for at most so many eager calls that take half of the limit
SUSPECTED = 16
#: after so many timed eager calls in a row, programs without a call in that time lose their guards
ALONE = 4


class _Compiling(threading.local):
    """The seconds that this thread has spent compiling, and whether it is."""

    seconds = 0.0
    is_on = False


_compiling = _Compiling()


@contextlib.contextmanager
def clocked_compilation() -> Iterator[None]:
    """Notes the time that is spent inside as compilation."""
    if _compiling.is_on:
        yield
        return
    start, _compiling.is_on = time.perf_counter(), True
    try:
        yield
    finally:
        _compiling.seconds += time.perf_counter() - start
        _compiling.is_on = False


class FasterWay:
    """Runs calls compiled, or ``eagerly`` where that takes less time.

    ``state()`` is another value when what is compiled has changed: then all is tried again. ``chosen()`` is called when ``is_eager`` is
    another; calls may go to :meth:`direct` while it is true.
    """

    margin = OVERHEAD
    #: how often another way was chosen in this process
    choices = 0

    def __init__(
        self,
        compiled: Callable[..., Any],
        eagerly: Callable[..., Any],
        state: Callable[[], Any],
        tolerance: float = TOLERANCE,
        chosen: Callable[[], None] = lambda: None,
    ) -> None:
        self._compiled, self._eagerly, self._state, self._tolerance = compiled, eagerly, state, tolerance
        self._chosen = chosen
        self.is_eager = False
        #: whether it was found out which way takes less time, or is not to be
        self.is_measured = False
        self._start_over()
        self._flips = 0

    def _start_over(self) -> None:
        self._tried = self._state()
        measures = environment.is_on("TNP_TRY_EAGER") and not check.enabled()
        self._left = WARM if measures else -1
        #: the least times of compiled and of eager calls, and how many were timed
        self._times = [math.inf, math.inf]
        self._count = 0
        self._chosen_before, self._times_timed = FasterWay.choices, 1
        #: what an eager call takes at most, once they are
        self._limit = math.inf
        self._slow = self._misses = 0
        self.is_measured = not measures
        self._choose(False)

    def _choose(self, is_eager: bool) -> None:
        if self.is_eager != is_eager:
            FasterWay.choices += 1
            self.is_eager = is_eager
            self._chosen()

    @property
    def limit(self) -> float:
        """Seconds: an eager call that takes longer has other arguments."""
        return self._limit

    def direct(self, **options: Any) -> Callable[..., Any]:
        """What runs calls eagerly, and asks for nothing but the time that some of them take: guards may take as long as a short call."""
        turns = self.turns(self._eagerly, **options)
        return turns.call or (lambda *values: next(turns.ways)(*values))

    def turns(
        self, function: Callable[..., Any], *, limit: float = 0.0,
        noted: Callable[[], None] | None = None, is_other: Callable[[Any, Any], bool] | None = None,
    ) -> Turns:  # fmt: skip
        """Calls of ``function``. One of :data:`WATCHED` is timed; after a slow one, each. A call is slow from ``limit`` seconds on, or what
        is known of this way alone. ``noted()`` is called after a timed call that is not slow. ``is_other(args, kwargs)`` says of a slow
        one, and of some that took half as long, whether it is not of this way: then it sees to such calls itself."""
        limit, clock = max(limit, self._limit), time.perf_counter
        suspected = 0 if is_other is None else SUSPECTED

        def watched(*args: Any, **kwargs: Any) -> Any:
            nonlocal suspected
            start = clock()
            try:
                result = function(*args, **kwargs)
            except Exception as raised:
                hide_own_frames(raised)
                raise
            took = clock() - start
            if is_other is not None and (took >= limit or (suspected and 2 * took >= limit)):
                suspected -= took < limit
                if is_other(args, kwargs):
                    return result
            if took >= limit:
                turns.time_every(1)
                self._was_slow()
            elif self._slow:
                turns.time_every(WATCHED)
                self._slow = 0
            elif noted is not None:
                noted()
            return result

        turns = take_turns(function, watched, WATCHED)
        return turns

    def __call__(self, *values: Any) -> Any:
        if self._tried != self._state():
            self._start_over()
        if self.is_eager:
            start = time.perf_counter()
            result = self._eagerly(*values)
            if time.perf_counter() - start < self._limit:
                self._slow = 0
            else:
                self._was_slow()
            return result
        if self._left < 0:
            return self._compiled(*values)
        self._left -= 1
        return self._compiled(*values) if self._left >= 0 else self._timed(*values)

    def _was_slow(self) -> None:
        """Notes an eager call that took longer than it did: after some of them calls run compiled, and after some such times for good."""
        self._slow += 1
        if self._slow == SLOW:
            self._flips += 1
            self._start_over()
            if self._flips > MOST_FLIPS:
                self._compile_for_good()

    def _compile_for_good(self) -> None:
        self._left = -1
        self.is_measured = True
        self._choose(False)

    def _is_timed_anew(self) -> bool:
        """Times all calls again if another choice was made meanwhile, such as that of a function that they call. Says whether it does."""
        if self._chosen_before == FasterWay.choices or self._times_timed >= MOST_TIMES:
            return False
        self._chosen_before, self._times_timed = FasterWay.choices, self._times_timed + 1
        self._times, self._count = [math.inf, math.inf], 0
        return True

    def _is_timed_enough(self) -> bool:
        is_close = max(self._times) < CLOSE * min(self._times)
        return self._count > 2 * (TIMED_IF_CLOSE if is_close else TIMED)

    def _too_long(self) -> float:
        return TOO_LONG

    def _is_for(self, values: tuple[Any, ...]) -> bool:
        """Whether a call may be run eagerly for the sake of its time."""
        return True

    def _timed(self, *values: Any) -> Any:
        """A call that is timed, the compiled ones first."""
        times = self._times
        self._left = 0
        turn = self._count // ROW % 2
        if turn and not self._is_for(values):
            return self._missed()
        start, compiling = time.perf_counter(), _compiling.seconds
        result = (self._eagerly if turn else self._compiled)(*values)
        if result is MISS:
            return self._missed()
        self._misses = 0
        took = time.perf_counter() - start
        times[turn] = min(times[turn], took)
        self._count += 1
        compiled, eager = times
        is_sure = eager > LONG or self._count > (2 * TIMED if eager < COLD else 5)  # a first call may take longer
        runs = took - (_compiling.seconds - compiling)  # what compiles at each call says little about how long it runs
        if (self._count == 2 and min(compiled, runs) > self._too_long()) or (
            2 * compiled < eager < math.inf and is_sure
        ):
            self._compile_for_good()
        elif self._is_timed_enough() and not self._is_timed_anew():
            if compiled <= self._tolerance * eager + self.margin:
                self._compile_for_good()
            elif self._has_better(eager):
                self._start_over()
            else:
                self._limit = (OTHER << self._flips) * eager + OTHER_SECONDS
                self._choose(True)
        return result

    def _has_better(self, eager: float) -> bool:
        """Whether another program may take less time than eager calls, which take ``eager`` seconds, and less than this one."""
        return False

    def _missed(self) -> Any:
        """Notes a call of another kind."""
        self._misses += 1
        if self._misses == MISSES:
            self._compile_for_good()
            self.is_measured = False
            self._chosen()
        return MISS


class GuardedWay(FasterWay):
    """The same for calls behind guards, which are timed with them. ``behind_guards(f)`` puts a function behind the same guards: it gives
    ``MISS`` where they fail. Calls that take longer than ``too_long()`` seconds compiled are not tried eagerly. ``has_better(eager)`` says
    whether there may be a better program."""

    def __init__(
        self, compiled: Callable[..., Any], eagerly: Callable[..., Any], state: Callable[[], Any], chosen: Callable[[], None], *,
        behind_guards: Callable[[Callable[..., Any]], Callable[..., Any]], too_long: Callable[[], float],
        has_better: Callable[[float], bool] = lambda eager: False,
    ) -> None:  # fmt: skip
        self._behind_guards, self._limit_of, self._better = behind_guards, too_long, has_better
        self._check: Callable[..., Any] | None = None
        #: eager calls behind guards, which take long to compile, and what is called after some of them
        self._guarded: Callable[..., Any] | None = None
        self._noted: Callable[[], None] | None = None
        #: calls that came when none was timed any longer
        self._woken = 0
        super().__init__(compiled, eagerly, state, chosen=chosen)

    def _is_for(self, values: tuple[Any, ...]) -> bool:
        if self._check is None:
            self._check = self._behind_guards(lambda *values: True)
        return self._check(*values) is True

    def _too_long(self) -> float:
        return self._limit_of()

    def _has_better(self, eager: float) -> bool:
        return self._better(eager)

    def _compile_for_good(self) -> None:
        super()._compile_for_good()
        self._chosen()

    @property
    def progress(self) -> tuple[int, int, int]:
        """Another value after each call beside eager ones, until it is measured."""
        return self._left, self._count, self._woken

    def beside_others(self, noted: Callable[[], None] | None = None) -> Callable[..., Any]:
        """What runs calls while other calls of the function run compiled. ``noted()`` is called after some that run eagerly."""
        self._noted = noted
        if self.is_eager:
            if self._guarded is None:
                self._guarded = self._behind_guards(self.direct(noted=self._note))
            return self._guarded
        if self._left >= 0 or self._state() is not None:
            return self
        return self._compiled if noted is None or self.is_measured else self._waking()

    def _note(self) -> None:
        if self._noted is not None:
            self._noted()

    def _start_over(self) -> None:
        self._guarded = None
        super()._start_over()

    def _waking(self) -> Callable[..., Any]:
        """Runs calls compiled where none came until now. They are timed again once some have come."""
        compiled = self._compiled

        def run(*values: Any) -> Any:
            result = compiled(*values)
            if result is not MISS:
                self._woken += 1
                if self._woken % WARM == 0:
                    self._start_over()
                    self._chosen()
            return result

        vars(run)["is_for_any_size"] = getattr(compiled, "is_for_any_size", False)
        return run


class LeftOut:
    """The programs of a form that calls need no guards for: it is not known whether these take less time eagerly, since no call comes to
    them, while all calls that come do."""

    def __init__(self) -> None:
        self._ways: frozenset[GuardedWay] = frozenset()
        self._progress: list[tuple[int, int, int]] = []
        self._noted, self._enough = 0, ALONE

    def has(self, way: object) -> bool:
        return way in self._ways and isinstance(way, GuardedWay) and not way.is_measured

    def note(self, unmeasured: Iterable[GuardedWay]) -> bool:
        """Notes an eager call beside ways that are not measured. Says whether they are left out from now on: no call came to them."""
        ways = list(unmeasured)
        progress = [w.progress for w in ways]
        if progress != self._progress:
            self._progress, self._noted = progress, 0
        self._noted += 1
        if self._noted < self._enough:
            return False
        self._ways = frozenset(ways)
        return True

    def forget(self) -> None:
        """Leaves none out, since a call came to one, and waits for longer the next time."""
        self._ways, self._noted = frozenset(), 0
        self._enough *= 2


class FasterWayOfAModule:
    """The same for calls of a module: with gradients and without is not one choice."""

    def __init__(self, compiled: Callable[..., Any], eagerly: Callable[..., Any], state: Callable[[], Any]) -> None:
        self._ways = [FasterWay(compiled, eagerly, state, t) for t in (TOLERANCE, TRAINING_TOLERANCE)]
        self._last = self._ways[0]

    @property
    def is_eager(self) -> bool:
        return self._last.is_eager

    def __call__(self, *values: Any) -> Any:
        torch = loaded("torch")  # any object with a __call__ is called so, and PyTorch may not be installed
        self._last = self._ways[torch is not None and torch.is_grad_enabled()]
        return self._last(*values)
