"""Calls that run eagerly, whole or in parts: how that is found, kept, warned of and told."""

from __future__ import annotations

import types
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tnp.capture.guards.prologue import Prologue
from tnp.compile.any_size import HotSizes
from tnp.compile.cache_entry import CacheEntry, CallSignature
from tnp.compile.faster_way import (
    SHORT,
    SHORT_WITHOUT_LOOPS,
    TOO_LONG,
    TOO_LONG_WITHOUT_LOOPS,
    FasterWay,
    FasterWayOfAModule,
    GuardedWay,
)
from tnp.compile.faults import REPORT, is_certain, located, passed_on, passed_through, text_of
from tnp.compile.recursion import running_eagerly
from tnp.compile.resume_points import ResumePoints, beginning, python_of
from tnp.compile.turns import Turns
from tnp.core import check
from tnp.core.effects import acts_before, acts_on_the_outside
from tnp.core.errors import (
    EagerFallbackWarning,
    InternalError,
    InternalErrorWarning,
    LateGuardFailed,
    NeedsEager,
    RaisedWhenAsked,
    StackLocation,
    TraceError,
    UserLocation,
    user_stack,
    user_stack_level,
)
from tnp.core.prims.control_flow import START_OVER, starts_over
from tnp.core.subtraces import with_parts
from tnp.runtime import environment, locks, logs

if TYPE_CHECKING:
    from tnp.capture.rewrite.foreign import Place
    from tnp.compile.compiled_function import Jitted
    from tnp.compile.dispatch import Dispatch
    from tnp.compile.executor_selection import ExecutorSelection
    from tnp.compile.specialization import ValueGuard
    from tnp.core.trace import Trace

__all__ = ["KEEPING", "EagerCalls", "eager_turns", "has_too_many", "is_start_over", "recompile_limit"]

#: how often a call may be found to run eagerly, each time for other arguments, before all that have no program do
EAGER_LIMIT = 16
#: the same, where such calls run in parts, which are compiled for other arguments on their own
IN_PARTS_LIMIT = 3
#: spans in spans of a function
MOST_NESTED = 4

#: a span with so many programs is left to Python if each ran fewer than so many times; with so many, it always is, since a call
#: tries the guards of all programs
SPAN_LIMIT, HITS_OF_A_PROGRAM, MOST_OF_A_SPAN = 12, 3, 24
#: the first of these where they took so many seconds to compile
LONG_SPAN_LIMIT, SECONDS_OF_A_SPAN = 4, 0.8

#: what is called is a function, not a module
_FUNCTIONS = (types.FunctionType, types.MethodType)

#: held while programs are put away or forgotten
KEEPING = locks.lock()


def eager_turns(jitted: Jitted, form: CallSignature, ways: Sequence[FasterWay]) -> Turns:
    """Calls that run eagerly in all of these ways. Those that come to a program that was left out are told apart by their time."""

    def is_other(args: Any, kwargs: Any) -> bool:
        try:
            values = jitted._bound(args, kwargs)
            entries = (e for e in jitted._entries if e.form is form)
            entry = next((e for e in entries if e.prologue.first_failure(values) is None), None)
        except Exception:  # the call has changed a value that a guard reads
            return False
        if entry is None or not form.left_out.has(entry.way):
            return False
        form.left_out.forget()
        jitted._follow_choices()
        return True

    return ways[0].turns(jitted.__tnp_function__, limit=max(w.limit for w in ways), is_other=is_other)


def has_too_many(form: CallSignature, entries: Sequence[CacheEntry], hits: int) -> bool:
    """Whether a span was compiled so often that Python is to run it; its programs ran ``hits`` times."""
    seconds = sum(e.seconds for e in entries if e.form is form)
    most = SPAN_LIMIT if seconds < SECONDS_OF_A_SPAN else LONG_SPAN_LIMIT
    return form.traced >= MOST_OF_A_SPAN or (form.traced >= most and hits < HITS_OF_A_PROGRAM * form.traced)


def recompile_limit() -> int:
    """Programs kept a function, and how often a call of one kind of passing arguments is traced."""
    return environment.number("TNP_RECOMPILE_LIMIT")


def _inside(function: Any, stack: Sequence[UserLocation]) -> Sequence[UserLocation]:
    """Of lines that were being executed, innermost first, those in a function."""
    code = getattr(function, "__code__", None)
    own = [k for k, at in enumerate(stack) if code and (at.filename, at.name) == (code.co_filename, code.co_name)]
    return stack[: own[-1] + 1] if own else ()


class EagerCalls:
    """The part of a jitted function that knows which calls run eagerly."""

    #: whether calls may run eagerly
    runs_eagerly = True
    #: whether it is a transform's, and a call may call the function itself, which raises what a branch of it does
    calls_function = False
    #: whether its programs check operations for NaNs
    _checks_nans = False

    if TYPE_CHECKING:  # what the jitted function has
        __tnp_function__: Any
        _entries: tuple[CacheEntry, ...]
        _failed: Counter[str]
        dispatch: Dispatch
        _cudagraphs: bool
        _executors: ExecutorSelection
        _insert: Callable[..., None]
        _part: Callable[..., Any]
        entry_for: Callable[..., CacheEntry | None]
        invalidate: Callable[[str], None]
        _set_entries: Callable[[tuple[CacheEntry, ...]], None]
        _specialisations: int
        _strict: bool
        lock: Any
        replace: Callable[..., None]

        @property
        def called(self) -> str: ...

    def __init__(self) -> None:
        #: the kinds of warnings that were given
        self._warned: set[type[Warning]] = set()
        #: what is foreign in it, once it was found that it cannot be compiled whole
        self._points: ResumePoints | None = None
        #: of a span: the points of the function around, and the places of its statements there
        self._around: ResumePoints | None = None
        self._places: frozenset[Place] = frozenset()
        #: of a function that what Python runs calls, what was found to be foreign in it before it was called
        self.foreseen: tuple[str, Sequence[UserLocation]] | None = None
        #: whether it is a span, or a function that what Python runs calls
        self._is_part = False

    def _is_settled(self, form: CallSignature) -> bool:
        """Whether calls that no program is valid for run eagerly from now on: too many were traced, or found to run eagerly."""
        if form.last_resort is not None:
            return True
        if not self.runs_eagerly or self._strict:
            return False
        if self.foreseen is not None and not self._entries and (points := self._points_around(*self.foreseen)):
            points.foresee(*self.foreseen)
            self._settle_in_parts(form, points)
            return True
        if self._points is not None and form.found_eager >= IN_PARTS_LIMIT and self._points.has_parts():
            self._settle_in_parts(form, self._points)
            return True
        if self._around is not None and has_too_many(form, self._entries, self.dispatch.hits):
            self._around.note(
                dict.fromkeys(self._places, f"it was compiled {form.traced} times, for other values each time")
            )
            form.last_resort = lambda *values: form.apply(self.__tnp_function__, values)
            with KEEPING:  # its programs cost more guards than they save
                self._set_entries(tuple(e for e in self._entries if e.form is not form))
            return True
        if form.traced < recompile_limit() and form.found_eager < EAGER_LIMIT:
            return False
        kept = sum(e.form is form and e.eager_reason is None for e in self._entries)
        often = self._failed.most_common(1)
        why = f"; the guard that failed most often: {often[0][0]}" if often else ""
        self._warn_once(
            f"{self.called} runs eagerly where none of its {kept} programs is valid: it was traced {form.traced} times{why}. "
            "TNP_RECOMPILE_LIMIT sets how often that may be"
        )
        form.last_resort = lambda *values: form.apply(self.__tnp_function__, values)
        with KEEPING:  # what was found to run eagerly does so anyway
            self._set_entries(tuple(e for e in self._entries if e.form is not form or e.eager_reason is None))
        return True

    def _after_error(self, form: CallSignature, values: tuple[Any, ...], error: Exception) -> Any:
        """What a call gives whose program raised ``error``: a program that only computes runs again, eagerly. That raises the program's
        own error, from the user's line; if it does not, the program catches errors, or the error was tnp's."""
        if isinstance(error, LateGuardFailed):
            return self._start_over(form, values, error)
        ran_eagerly = passed_through((form.apply, self.__tnp_function__), error)
        if passed_on(error) or not self.runs_eagerly or self._found_nans(error) or ran_eagerly:
            raise error
        try:
            entry = self.entry_for(form, values)
        except Exception:  # its guards read what the program has written, or what they compute raises
            entry = self._one_that_catches(form)
        if entry is None or entry.eager_reason is not None or not entry.traces:
            if is_start_over(error):  # its program is not kept, and did nothing yet
                return form.apply(self.__tnp_function__, values)
            raise error
        trace = entry.traces[0]
        is_certainly_own = entry.training is not None and not trace.catches
        if is_certainly_own or _has_acted(trace, error):
            if is_certain(error):
                raise InternalError(f"the program of {self.called} raised {text_of(error)}: {REPORT}") from error
            raise error
        result = form.apply(self.__tnp_function__, values)
        if isinstance(error, Warning):  # SciPy has given it now
            return result
        if trace.catches:
            form.caught += 1
            if form.catches_often(self.dispatch.hits) and not self._strict:
                self.invalidate("")
            return result
        if check.enabled():
            raise InternalError(f"the program of {self.called} raised {text_of(error)}, and eager does not") from error
        reason = NeedsEager(f"its program raised {text_of(error)}, and eager does not: {REPORT}")
        self._settle(form, values, reason, InternalErrorWarning)
        return result

    def _one_that_catches(self, form: CallSignature) -> CacheEntry | None:
        """A program for calls of a form, if all of them catch errors."""
        mine = [e for e in self._entries if e.form is form]
        leaves = [leaf for e in mine for leaf in ([e] if e.guard is None else (leaf for _, leaf in e.guard.leaves()))]
        catch = all(e.traces and e.traces[0].catches for e in leaves)
        return leaves[0] if leaves and catch else None

    def _found_nans(self, error: Exception) -> bool:
        return self._checks_nans and isinstance(error, FloatingPointError)

    def _start_over(self, form: CallSignature, values: tuple[Any, ...], failure: LateGuardFailed) -> Any:
        """Runs a call eagerly whose opaque call did not match its dry run. In later calls of this kind Python runs that call.

        Nothing has been written then: opaque calls after effects are unsupported.
        """
        reason, place = NeedsEager(failure.reason, failure.place), failure.place
        stack = place.stack if isinstance(place, StackLocation) else () if place is None else (place,)
        reason.stack = (*_inside(python_of(self.__tnp_function__), stack), *user_stack())
        self._settle(form, values, reason)
        return form.apply(self.__tnp_function__, values)

    def _settle(
        self,
        form: CallSignature,
        values: tuple[Any, ...],
        reason: NeedsEager,
        warning: type[Warning] = EagerFallbackWarning,
    ) -> None:
        """Puts a finding that calls run eagerly in the place of the program that is valid for ``values``."""
        with self.lock:
            for entry in self._entries:
                if entry.form is not form or entry.eager_reason is not None:
                    continue
                if entry.prologue.first_failure(values) is None:
                    made = self._eager_entry(form, entry.prologue, reason, warning)
                    self.replace(entry, made)
                    break

    def _refused(self, form: CallSignature, prologue: Prologue, error: TraceError) -> CacheEntry:
        """Handles a program that tnp does not support: it runs eagerly."""
        if self._strict:
            raise located(error, self.__tnp_function__) from None
        return self._eager_entry(form, prologue, NeedsEager(str(error)))

    def _eager_entry(
        self, form: CallSignature, prologue: Prologue, reason: NeedsEager, warning: type[Warning] = EagerFallbackWarning
    ) -> CacheEntry:
        """The cache entry for calls that cannot be compiled whole. They run in parts if the function can be outlined, and eagerly
        otherwise."""
        text = f"{self.called} runs eagerly: {reason.reason} ({reason.location})"
        if self._strict:
            raise TraceError(f"{text}; strict=True refuses that") from None
        if warning is EagerFallbackWarning:
            stack = reason.stack[: len(reason.stack) - len(user_stack())]
            points = self._points_around(reason.reason, stack, reason.result)
            if points is not None and reason.whole:
                points.run_whole()
                points = None
            if points is not None:
                if type(reason) is NeedsEager and not reason.is_of_sizes:
                    points.foresee(reason.reason, stack)
                text = f"{self.called} runs in parts: {reason.reason} ({reason.location})"
                return self._entry_in_parts(form, prologue, points, text)
            if self._around is not None:
                self._around.note(dict.fromkeys(self._places, reason.reason))
                if reason.whole:
                    self._around.run_whole()
        self._warn_once(text, warning)
        return self._finding(form, prologue, text)

    def _points_around(
        self, reason: str, stack: Sequence[UserLocation], result: int | None = None
    ) -> ResumePoints | None:
        """The resume points of the function with one more; ``None`` if nothing is compiled around them. ``stack`` are the user's lines
        that were being executed in it, innermost first; ``result`` is which result it is about."""
        function = python_of(self.__tnp_function__)
        if not self.runs_eagerly or function is None:
            return None
        if self._points is None:
            if self._around is not None and self._around.depth >= MOST_NESTED:
                return None
            self._points = ResumePoints(function, self._part, self._around)
        points = self._points
        found = points.learn(reason, stack) or (result is not None and points.learn_result(reason, result))
        return points if found else None

    def _settle_in_parts(self, form: CallSignature, points: ResumePoints) -> None:
        """Makes all calls of a form run in parts that have no program of their own."""
        form.last_resort = self._in_parts(form, points)
        with KEEPING:
            kept = (e for e in self._entries if e.form is not form or (e.eager_reason is None and e.guard is None))
            self._set_entries(tuple(kept))

    def _past_cache_limit(
        self, form: CallSignature, needed: NeedsEager, stack: Sequence[UserLocation], *values: Any
    ) -> Any:
        """A call whose value has no program, and is to get none. ``stack`` are the lines of the function at which it needs the value."""
        text = f"{self.called} runs eagerly: it is compiled for {self._specialisations} values already, and this is another"
        if self._strict:
            raise TraceError(f"{text}; strict=True refuses that")
        points = self._points_around(needed.reason, stack)
        if points is not None:
            self._settle_in_parts(form, points)
            return self._in_parts(form, points)(*values)
        self._warn_once(text)
        return form.apply(self.__tnp_function__, values)

    def _entry_in_parts(self, form: CallSignature, prologue: Prologue, points: ResumePoints, text: str) -> CacheEntry:
        """The cache entry for calls that run in parts."""
        if type(self.__tnp_function__) not in _FUNCTIONS:
            run = prologue.compile(prologue.variables, self._in_parts(form, points))
            return CacheEntry(form, prologue, run, eager_reason=text, points=points)
        run = prologue.compile(prologue.variables, self._parts_of(form, points))
        entry = CacheEntry(form, prologue, run, eager_reason=text, points=points)

        def too_long() -> float:
            return TOO_LONG if points.has_loops() else TOO_LONG_WITHOUT_LOOPS

        entry.way = self._guarded_way(entry, lambda: points.version, too_long)
        return entry

    def _parts_of(self, form: CallSignature, points: ResumePoints) -> Callable[..., Any]:
        """Runs a call of the function in parts."""
        whole: Any = self.__tnp_function__
        is_function = type(whole) in _FUNCTIONS

        def run(*values: Any) -> Any:
            is_same = is_function or points.is_of(python_of(whole))  # hooks may have been added to a module
            return form.apply(points.function() if is_same else whole, values)

        return beginning(run)

    def _in_parts(self, form: CallSignature, points: ResumePoints) -> Callable[..., Any]:
        """Runs a call of the function in parts, or eagerly where that takes less time."""
        if form.in_parts is None:
            run = self._parts_of(form, points)
            form.in_parts = self._faster_way(form, run, self._eagerly(form), lambda: points.version)
        return form.in_parts

    def _eagerly(self, form: CallSignature) -> Callable[..., Any]:
        """The function itself, as a function of the values of all its parameters."""
        whole: Any = self.__tnp_function__
        return whole if form.is_plain else lambda *values: form.apply(whole, values)

    def _faster_way(
        self, form: CallSignature, compiled: Callable[..., Any], eagerly: Callable[..., Any], state: Callable[[], Any]
    ) -> FasterWay | FasterWayOfAModule:
        if type(self.__tnp_function__) not in _FUNCTIONS:
            return FasterWayOfAModule(compiled, eagerly, state)
        return FasterWay(compiled, eagerly, state, chosen=self._follow_choices)

    def _follow_choices(self) -> None:
        """Lets calls run in the ways that are chosen by now."""
        with KEEPING:
            self._set_entries(self._entries)

    def way_of_short_calls(self, entry: CacheEntry) -> GuardedWay | None:
        """What finds out whether short calls of a program take less time eagerly; ``None`` where the user has asked for executors."""
        is_asked_for = (
            self._strict or self._cudagraphs or (self._executors.listed, self._executors.always) != (None, None)
        )
        is_function = type(self.__tnp_function__) in _FUNCTIONS
        if is_asked_for or not is_function or not self.runs_eagerly or entry.training is not None:
            return None
        too_long = SHORT if entry.has_loops() else SHORT_WITHOUT_LOOPS
        return self._guarded_way(entry, lambda: None, lambda: too_long)

    def has_loops(self) -> bool:
        """Whether a program of it has loops."""
        return any(e.has_loops() for e in self._entries)

    def _guarded_way(self, entry: CacheEntry, state: Callable[[], Any], too_long: Callable[[], float]) -> GuardedWay:
        prologue = entry.prologue

        def behind_guards(f: Callable[..., Any]) -> Callable[..., Any]:
            return prologue.compile(prologue.variables, f)

        eagerly, chosen = self._eagerly(entry.form), self._follow_choices
        run = entry.run
        has_better = {"has_better": run.gets_own} if isinstance(run, HotSizes) else {}
        return GuardedWay(run, eagerly, state, chosen, behind_guards=behind_guards, too_long=too_long, **has_better)

    def _faster_for_values(self, entry: CacheEntry, guard: ValueGuard) -> None:
        """Lets calls whose program depends on values run eagerly where that takes less time: the values cost programs of their own."""
        if not self.runs_eagerly or self._strict:
            return
        if type(self.__tnp_function__) in _FUNCTIONS:
            entry.way = self._guarded_way(entry, lambda: guard.family.count, lambda: TOO_LONG)
        else:
            eagerly = guard.prologue.compile(guard.prologue.variables, self._eagerly(entry.form))
            entry.run = self._faster_way(entry.form, guard.run, eagerly, lambda: guard.family.count)

    def _finding(self, form: CallSignature, prologue: Prologue, text: str) -> CacheEntry:
        """The cache entry for calls that run eagerly."""
        run = prologue.compile(prologue.variables, lambda *values: form.apply(self.__tnp_function__, values))
        entry = CacheEntry(form, prologue, run, eager_reason=text)
        if type(self.__tnp_function__) in _FUNCTIONS and self.runs_eagerly and not self._strict:
            entry.way = self._guarded_way(entry, lambda: None, lambda: TOO_LONG)  # whether the guards cost much
        return entry

    def _warn_once(self, text: str, warning: type[Warning] = EagerFallbackWarning) -> None:
        if self._is_part and warning is EagerFallbackWarning:
            return  # what the user jitted is compiled around it
        if warning not in self._warned:
            self._warned.add(warning)
            warnings.warn(text, warning, stacklevel=user_stack_level())

    def _once_eagerly(
        self,
        form: CallSignature,
        prologue: Prologue,
        error: BaseException,
        excuse: NeedsEager | None = None,
        *,
        keeps: bool = True,
    ) -> CacheEntry:
        """For a call whose tracing raised ``error``. Calls of its kind run eagerly, which ``keeps`` says is kept. If eager does not raise,
        that is tnp's fault, unless there is an ``excuse``."""

        def run(*values: Any) -> Any:
            if hasattr(self.__tnp_function__, "__tnp_operation__"):  # there is no other way to run it
                raise error
            try:
                with running_eagerly(self):
                    result = form.apply(self.__tnp_function__, values)
            except Exception as raised:
                if keeps and type(raised) is type(error) and self.runs_eagerly and not self._strict:
                    with self.lock, KEEPING:
                        self._insert(self._finding(form, prologue, f"{self.called} raises {text_of(error)}"))
                raise
            if isinstance(excuse, RaisedWhenAsked):
                return result
            text = f"tracing raised {text_of(error)}, which eager does not"
            operation = getattr(error, "__tnp_meta_of__", None)
            pardon = excuse
            if operation is not None:
                pardon = NeedsEager(
                    f"the meta of {operation} raised {text_of(error)}, which {operation} itself does not"
                )
            if check.enabled() and pardon is None:
                raise InternalError(f"{self.called}: {text}") from error
            with self.lock:
                if pardon is not None:
                    entry = self._eager_entry(form, prologue, pardon)
                else:
                    entry = self._eager_entry(form, prologue, NeedsEager(f"{text}: {REPORT}"), InternalErrorWarning)
                form.found_eager += 1
                with KEEPING:
                    self._insert(entry)
            kind = "eager" if entry.points is None else "parts"
            logs.tell(logs.Event(kind, self.called, 0.0, entry.eager_reason or text))
            return result

        return CacheEntry(form, Prologue(form.parameters), run, eager_reason=f"tracing raised {text_of(error)}")


def is_start_over(error: BaseException) -> bool:
    """Whether an assertion failed that is not the program's own."""
    return type(error) is AssertionError and error.args == (START_OVER,)


def _has_acted(trace: Trace, error: BaseException) -> bool:
    """Whether a program may have done what cannot be done twice, by the time that it raised ``error``. What an assertion that starts over
    stands before has not happened."""
    if trace.catches and is_start_over(error):
        asserting = [i for i, b in enumerate(trace.bound_symbols) if any(map(starts_over, with_parts(b)))]
        if asserting and not acts_before(trace, 1 + asserting[-1]):
            return False
    return acts_on_the_outside(trace, warnings=not trace.catches, draws=not trace.catches)
