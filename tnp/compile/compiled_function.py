"""Jitted functions: their cache entries, the dispatch of calls, and compilation."""

from __future__ import annotations

import functools
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from keyword import iskeyword
from types import FunctionType
from typing import Any, Self

import numpy as np

from tnp.capture import active
from tnp.capture.driver import Captured
from tnp.capture.guards.prologue import MISS, Prologue
from tnp.capture.guards.varying_values import VaryingValues
from tnp.capture.libraries.base import tell_dynamo
from tnp.capture.rewrite.foreign import Place
from tnp.capture.rewrite.source_ast import remember_source, source_file
from tnp.capture.speculation.value_specialization import ValueProgram
from tnp.compile.any_size import FOR_ONE_SIZE, HotSizes, trace_for_any_size, trace_with_stand_ins
from tnp.compile.by_name import for_cloudpickle, is_found_by_name
from tnp.compile.cache_entry import CacheEntry, CallSignature, eager_ways, in_order, no_program, set_runs
from tnp.compile.call_signature import binder, check_compilable, name_of, signature_of
from tnp.compile.checked_values import check_values
from tnp.compile.dispatch import ABSENT, Dispatch, dispatcher, eager_dispatcher
from tnp.compile.driver import Compiled, capture, compile_captured
from tnp.compile.eager_calls import KEEPING, EagerCalls, eager_turns, recompile_limit
from tnp.compile.executor_selection import ExecutorSelection
from tnp.compile.faster_way import clocked_compilation
from tnp.compile.faults import (
    REPORT,
    located,
    needs_eager_behind,
    while_compiling,
    without_values,
)  # fmt: skip
from tnp.compile.recursion import deeper, runs_eagerly
from tnp.compile.resume_points import ResumePoints, is_worth_a_call
from tnp.compile.specialization import SPECIALISATIONS, CallGuards, Family, ValueGuard, repeatable
from tnp.compile.switches import switches
from tnp.core import check
from tnp.core.context import registrations
from tnp.core.errors import (
    ExtensionError,
    InternalError,
    InternalErrorWarning,
    NeedsEager,
    NoExecutorError,
    RaisedWhenAsked,
    RaisedWhileTracing,
    TraceCheckError,
    TraceError,
    hide_frames_of,
    user_stack,
)
from tnp.core.trace import Trace
from tnp.runtime import locks, logs, signals
from tnp.runtime.gc_tuning import relaxed_gc

__all__ = ["Jitted", "programs_behind"]

hide_frames_of(np.__path__[0])


#: by a function that a function calls that runs in parts, what is compiled of it, with the options of that one
_called: weakref.WeakKeyDictionary[Any, list[tuple[Any, Jitted]]] = weakref.WeakKeyDictionary()
#: every jitted function that there is
_alive: weakref.WeakSet[Jitted] = weakref.WeakSet()
#: lists to which each function is added that is jitted from now on (``python -m tnp explain``)
recorded: list[list[Jitted]] = []


def _forget(what: str, concerns: Callable[[Any], bool]) -> None:
    with KEEPING:
        alive = list(_alive)
    for jitted in alive:
        if concerns(jitted):
            jitted.invalidate(what)


registrations.listeners.append(_forget)


def _follow_switches() -> None:
    with KEEPING:
        for jitted in list(_alive):
            jitted._set_entries(jitted._entries)


switches.listeners.append(_follow_switches)


class Jitted(EagerCalls, functools.partial[Any]):
    """A function compiled by tnp; called as the function itself. Made by :func:`jit`. A partial of its dispatcher.

    It has many methods: the steps from a call to a result, in the order in which fewer and fewer calls come to them.
    """

    __qualname__: str
    make_selection: type[ExecutorSelection] = ExecutorSelection

    def __new__(cls, *args: Any, **options: Any) -> Self:
        return super().__new__(cls, no_program)

    def __init__(
        self, function: Callable[..., Any], *, executors: Any = None, always_executors: Any = None, strict: bool = False,
        fastmath: bool = False, specialisations: int = SPECIALISATIONS, cudagraphs: bool = False, dynamic: bool | None = None,
    ) -> None:  # fmt: skip
        check_compilable(function)
        super().__init__()
        functools.update_wrapper(self, function, updated=())
        self.__tnp_function__ = function
        self._executors = self.make_selection(executors, always_executors, fastmath=fastmath)
        self._strict = strict
        self._specialisations = specialisations
        self._cudagraphs = cudagraphs
        self._dynamic = dynamic
        self.dispatch = Dispatch(no_program)
        self._dispatcher: Callable[..., Any] | None = None
        self._entries: tuple[CacheEntry, ...] = ()
        self._last: CacheEntry | None = None
        self.lock = locks.lock()
        self._misses = 0
        self._recompiled: list[str] = []
        #: by the kind of guard, how often one did not hold
        self._failed: Counter[str] = Counter()
        #: how often programs were forgotten because an extension changed something, and what it was last
        self._forgotten = 0
        self._changed = ""
        self._make_dispatcher()
        tell_dynamo()
        with KEEPING:
            _alive.add(self)
            for record in recorded:
                record.append(self)

    def _part(
        self, function: Any, around: ResumePoints | None = None, places: frozenset[Place] = frozenset()
    ) -> Jitted:
        """A part of it compiled: a span of the function with the points ``around``, or a function that what Python runs calls."""
        if around is None:  # one for all that call it, itself among them
            with KEEPING:
                options = (*self.options.items(), self._checks_nans)
                known = next((j for o, j in _called.get(function, ()) if o == options), None)
            if known is not None:
                return known
        made = Jitted(function, **self.options)
        made._around, made._places, made._is_part, made._checks_nans = around, places, True, self._checks_nans
        if around is None:
            with KEEPING:
                _called.setdefault(function, []).append((options, made))
        return made

    def _make_dispatcher(self) -> None:
        self.__signature__ = signature = signature_of(self.__tnp_function__)
        self._bind, apply, is_plain = binder(signature, self._identifier)
        self._form = CallSignature(list(signature.parameters), apply, is_plain)
        function = getattr(self.__tnp_function__, "__func__", self.__tnp_function__)
        has_own = type(function) is FunctionType and not {"__wrapped__", "__signature__"} & vars(function).keys()
        #: the function whose defaults the binder has
        self._defaults_of = function if has_own else None
        self._dispatcher = self._named(dispatcher, self.__signature__)
        self._call_by(self._dispatcher)

    @property
    def _identifier(self) -> str:
        name = getattr(self, "__name__", "function")
        return name if name.isidentifier() and not iskeyword(name) else "function"

    def _named(self, make: Callable[..., Any], *args: Any) -> Callable[..., Any]:
        """A dispatcher, whose name errors have. The jitted function refers to it, so it refers to that weakly."""
        made: Callable[..., Any] = make(
            args[0], self._identifier, self._defaults_of, weakref.ref(self), self.dispatch, *args[1:]
        )
        made.__qualname__ = self._bind.__qualname__ = getattr(self, "__qualname__", made.__qualname__)
        return made

    def _call_by(self, function: Callable[..., Any]) -> None:
        """Has calls go to ``function``."""
        state: tuple[Any, ...] = (function, (), {}, vars(self))
        functools.partial.__setstate__(self, state)  # type: ignore[attr-defined]  # which typeshed leaves out

    def forms(self) -> list[CallSignature]:
        """The ways of passing arguments that there have been."""
        return [self._form]

    def _formed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[CallSignature, tuple[Any, ...]]:
        """The form of a call, and the values that are passed in it."""
        return self._form, self._bind(*args, **kwargs)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The values of all parameters."""
        if self._defaults_of is not None:  # they may have been assigned anew
            self._bind.__defaults__ = self._defaults_of.__defaults__
            self._bind.__kwdefaults__ = self._defaults_of.__kwdefaults__
        values: tuple[Any, ...] = self._bind(*args, **kwargs)
        return values

    def call_others(self, args: tuple[Any, ...]) -> Any:
        """A call that the first program is not valid for."""
        for run in self._form.runs[1:]:
            result = run(*args)
            if result is not MISS:
                self.dispatch.hits += 1
                if self._form.ran_other(run, self.dispatch.hits):
                    with KEEPING:
                        self.dispatch.first = self._form.put_first(run)
                return result
        return self._call_slowly(self._form, args)

    def call_after_error(self, args: tuple[Any, ...], error: Exception) -> Any:
        """A call in which ``error`` was raised."""
        self.refuse_absent(args)
        return self._after_error(self._form, args, error)

    def refuse_absent(self, args: tuple[Any, ...]) -> None:
        """Raises what Python does for parameters that have lost their defaults."""
        if any(a is ABSENT for a in args):
            passed = [(p, a) for p, a in zip(self.__signature__.parameters.values(), args) if a is not ABSENT]
            first = [a for p, a in passed if p.kind is p.POSITIONAL_ONLY]
            self._bound(
                tuple(first), {p.name: a for p, a in passed if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
            )

    def _call_slowly(self, form: CallSignature, values: tuple[Any, ...]) -> Any:
        """A call that no program is valid for: it is traced and compiled, or found to run eagerly."""
        if active.running() is not None:
            return form.apply(self.__tnp_function__, values)
        if self._is_switched():
            is_eager = switches.disabled and self.runs_eagerly
            return form.apply(self.__tnp_function__ if is_eager else self._checking, values)
        if runs_eagerly(self):
            return form.apply(self.__tnp_function__, values)
        with deeper():
            return self._compiled_call(form, values)

    def _compiled_call(self, form: CallSignature, values: tuple[Any, ...]) -> Any:
        """Compiles a program for a call, since the guards of all others fail, and runs it."""
        with self.lock:
            for entry in self._entries:
                if entry.form is form and entry.guard is None and entry.prologue.first_failure(values) is None:
                    break
            else:
                if self._is_settled(form):
                    assert form.last_resort is not None
                    return form.last_resort(*values)
                entry = self._compile(form, values)
        result = entry.run(*values)
        if result is not MISS:
            return result
        # The guards must hold for the very call that they were made for.
        failure = entry.prologue.first_failure(values)
        if check.enabled():
            raise TraceCheckError(f"a new program of {self!r} is not valid for its own call: not {failure}")
        return form.apply(self.__tnp_function__, values)

    def entry_for(self, form: CallSignature, values: tuple[Any, ...]) -> CacheEntry | None:
        """The program that a call runs; ``None`` if there is none yet."""
        programs: Iterable[CacheEntry] = self._entries
        while True:
            fits = (e for e in programs if e.form is form and e.prologue.first_failure(values) is None)
            entry = next(fits, None)
            if entry is None or entry.guard is None:
                return entry
            value = entry.guard.evaluate(values)
            if value is MISS:
                return None
            programs = entry.guard.programs_for(value)

    def traced(self, form: CallSignature, values: tuple[Any, ...]) -> tuple[Trace, Trace]:
        """The captured trace for a call, and the program that would run. Raises :class:`NeedsEager` if there is no trace."""
        captured = self._captured(form, values, Prologue(form.parameters), self._guard_evaluator(form, values))
        return captured.trace, compile_captured(captured, self._executors, cudagraphs=self._cudagraphs).traces[-1]

    def _is_switched(self) -> bool:
        """Whether a switch has calls run in another way than by its programs."""
        return (switches.disabled and self.runs_eagerly) or (switches.nans and not self._checks_nans)

    @locks.cached_property
    def _checking(self) -> Jitted:
        """The same function, whose programs check each operation for NaNs."""
        made = self._again()
        made._checks_nans = True
        return made

    def _again(self) -> Jitted:
        """The same function, without programs."""
        return type(self)(self.__tnp_function__, **self.options)

    def clear(self) -> None:
        """Forgets all programs, and what is known of calls: the next call compiles. Code in the disk cache stays.

        >>> import numpy as np, tnp
        >>> f = tnp.jit(lambda x: x + 1)
        >>> f(np.ones(3)).shape, tnp.cache_info(f).size
        ((3,), 1)
        >>> f.clear()
        >>> tnp.cache_info(f)
        CacheInfo(hits=0, misses=0, size=0)
        """
        self.invalidate("")
        with KEEPING:
            self.dispatch.hits = self._misses = 0
            self._recompiled.clear()
            self._failed.clear()
            self._warned.clear()
            self._last = self._points = None
            for form in self.forms():
                form.varying = VaryingValues()
            vars(self).pop("_checking", None)

    def _set_entries(self, entries: tuple[CacheEntry, ...]) -> None:
        self._entries = entries
        is_switched = self._is_switched()
        forms = self.forms()
        for form in forms:
            set_runs(form, entries, self._follow_choices)
            if is_switched:
                form.runs = ()
        ways = [] if is_switched or len(forms) != 1 else eager_ways(forms[0], entries)
        self.dispatch.first = next(iter(forms[0].runs), no_program) if forms else no_program
        if self._dispatcher is not None:
            turns = eager_turns(self, forms[0], ways) if ways else None
            self.dispatch.take(turns)
            if turns is None:
                self._call_by(self._dispatcher)
            else:
                self._call_by(turns.call or self._named(eager_dispatcher, self.__signature__, turns))

    def uses(self, executor: Any) -> bool:
        """Whether programs were compiled for an executor."""
        return executor in self._executors.used

    def has_other_lists(self) -> bool:
        """Whether the executors that it would be compiled for now are others than those that it was compiled for."""
        return self._executors.has_changed()

    def invalidate(self, what: str) -> None:
        """Compiles anew at the next call: ``what`` has changed. Takes no lock that is held while foreign code runs."""
        with KEEPING:
            self._forgotten += 1
            for form in self.forms():
                form.traced = form.found_eager = 0
                form.last_resort, form.runs = None, ()
            if self._entries:
                self._changed = what
            self._set_entries(())
            self._executors.used.clear()

    def replace(self, entry: CacheEntry, other: CacheEntry | None) -> None:
        """Puts another program, or none, in the place of one."""
        with KEEPING:
            if any(e is entry for e in self._entries):
                found = [other if e is entry else e for e in self._entries]
                self._set_entries(tuple(e for e in found if e is not None))

    def _compile(self, form: CallSignature, values: tuple[Any, ...]) -> CacheEntry:
        start = time.perf_counter()
        logs.begin(self.called)
        try:
            with clocked_compilation():
                return self._compiled(form, values, start)
        finally:
            logs.end()

    def _compiled(self, form: CallSignature, values: tuple[Any, ...], start: float) -> CacheEntry:
        self._misses += 1
        form.traced += 1
        with KEEPING:  # not within an `invalidate`, which would forget the executors that are noted next
            forgotten, again, self._changed = self._forgotten, self._changed, ""
        self._executors.begin()
        if again:
            self._recompiled.append(again)
        elif self._entries:
            last = self._last or self._entries[0]
            failure = last.prologue.first_failure(values) if last.form is form else "the same arguments by name"
            again = f"not {failure}" if failure else "other arguments"
            self._recompiled.append(again)
            self._failed[without_values(failure or "other arguments")] += 1
        prologue = Prologue(form.parameters)
        prologue.moves_arrays = "cupy" in (self._executors.listed or ())
        evaluator = self._guard_evaluator(form, values)
        try:
            with relaxed_gc(), signals.heard():
                captured = self._captured(form, values, prologue, evaluator)
                checks_values = check_values(captured, evaluator.steps)
                made = self._program(captured)
                prologue.guard_relations()  # passes ask more
            seconds = time.perf_counter() - start
            has_sizes = self._dynamic is None and captured.inputs.sizes
            is_watched = has_sizes and not evaluator.steps and made.training is None
            run = HotSizes(self, form, made, seconds) if is_watched else made.run
            entry = CacheEntry(form, prologue, run, made.traces, seconds=seconds, training=made.training)
            if self._around is not None and not evaluator.steps and not is_worth_a_call(made.traces[0]):
                self._around.note(dict.fromkeys(self._places, "it takes less than a call of a program"))
            entry.graphs, entry.is_for_any_size = made.graphs, bool(captured.inputs.sizes)
            entry.checks_values = checks_values
            entry.way = None if evaluator.steps else self.way_of_short_calls(entry)
        except RaisedWhenAsked as reason:
            caught = reason if reason.may_be_caught else None
            return self._once_eagerly(form, prologue, reason.error, caught, keeps=False)  # it depends on values
        except RaisedWhileTracing as reason:
            return self._once_eagerly(form, prologue, reason.error, reason, keeps=not evaluator.steps)
        except NeedsEager as reason:
            entry = self._eager_entry(form, prologue, reason)
        except (NoExecutorError, ExtensionError) as error:
            raise located(error, self.__tnp_function__) from None
        except TraceError as error:
            entry = self._refused(form, prologue, error)
        except InternalError as error:
            if check.enabled():
                raise
            entry = self._eager_entry(form, prologue, NeedsEager(f"{error}: {REPORT}"), InternalErrorWarning)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if signals.of_handler(error) is not None:
                raise
            needed = needs_eager_behind(error)
            if needed is None:
                # The program's own error, or one that only tracing meets: eager says which, and has eager's effects.
                is_deep = isinstance(error, RecursionError)
                excuse = NeedsEager("it recurses deeper than tracing can follow") if is_deep else None
                return self._once_eagerly(form, prologue, error, excuse, keeps=not evaluator.steps)
            entry = self._eager_entry(form, prologue, needed)
        form.found_eager += entry.eager_reason is not None
        self._last = entry
        with KEEPING:
            if self._forgotten == forgotten:
                self._insert(entry, evaluator.steps)
        self._tell(entry, time.perf_counter() - start, again)
        return entry

    def _tell(self, entry: CacheEntry, seconds: float, again: str) -> None:
        """Logs a new program."""
        name = self.called
        kind = "program" if entry.eager_reason is None else "eager" if entry.points is None else "parts"
        logs.tell(logs.Event(kind, name, seconds, entry.eager_reason or again, bool(again)))
        if logs.on(logs.guards):
            if again:
                logs.guards.debug("%s is compiled again: %s", name, again)
            for guard in entry.prologue.guards:
                logs.guards.debug("%s is valid for: %s", name, guard.description)

    def _guard_evaluator(self, form: CallSignature, values: tuple[Any, ...]) -> CallGuards:
        """The source of values on which tracing specializes in this call."""
        mine = [e for e in self._entries if e.form is form]
        return CallGuards(mine, values, functools.partial(self._value_guard, form, len(user_stack())))

    def _captured(
        self, form: CallSignature, values: tuple[Any, ...], prologue: Prologue, evaluator: CallGuards
    ) -> Captured:
        """The function traced for a call. Raises :class:`NeedsEager` if there is no trace."""
        prologue.varying = form.varying
        form.varying.at_once = bool(self._dynamic)
        trace_it = functools.partial(self._traced, form, values, prologue, evaluator)
        if self._dynamic is False or not (self._entries or form.varying.may_have_some()):
            return trace_with_stand_ins(prologue, trace_it)
        needs_sizes = self._executors.needs_known_sizes if form.traced <= FOR_ONE_SIZE else None
        return trace_for_any_size(prologue, trace_it, needs_sizes)

    def _traced(
        self, form: CallSignature, values: tuple[Any, ...], prologue: Prologue, evaluator: CallGuards
    ) -> Captured:
        prologue.may_catch = self.runs_eagerly and (self._strict or not form.catches_often(self.dispatch.hits))
        prologue.may_leave = self.runs_eagerly and not self._strict
        prologue.calls_function = self.calls_function
        return capture(
            self.__tnp_function__, form.parameters, form.apply, values, prologue=prologue, executors=self._executors,
            evaluator=evaluator if self._specialisations else None, strict=self._strict,
        )  # fmt: skip

    def compile_as_is(self, form: CallSignature, values: tuple[Any, ...]) -> tuple[Prologue, Compiled] | None:
        """A program for the sizes of a call, and its guards; ``None`` if there is none, or one for values of its arguments."""
        prologue, evaluator = Prologue(form.parameters), self._guard_evaluator(form, values)
        try:
            trace_it = functools.partial(self._traced, form, values, prologue, evaluator)
            made = self._program(trace_with_stand_ins(prologue, trace_it))
        except InternalError:
            if check.enabled():
                raise
            return None
        except (Exception, NeedsEager):  # such calls run as they did
            return None
        return None if evaluator.steps or made.training is not None else (prologue, made)

    def _program(self, captured: Captured) -> Compiled:
        with while_compiling():
            return compile_captured(
                captured, self._executors, cudagraphs=self._cudagraphs, checks_nans=self._checks_nans
            )

    def _value_guard(
        self, form: CallSignature, outside: int, wanted: ValueProgram, family: Family | None
    ) -> ValueGuard:
        """The value guard for a value that tracing specializes on. ``family`` is the family of earlier value guards, if any.
        ``outside`` is the number of user frames outside of the call."""
        compute = compile_captured(
            wanted,
            self._executors,
            cudagraphs=self._cudagraphs,
            around=functools.partial(repeatable, draws=wanted.draws),
        ).run
        stack = wanted.needed.stack[: len(wanted.needed.stack) - outside]
        past_limit = functools.partial(self._past_cache_limit, form, wanted.needed, stack)
        function = self.__tnp_function__
        family = family or Family(self._specialisations, past_limit, lambda *values: form.apply(function, values))
        return ValueGuard(wanted, compute, family)

    def _insert(self, entry: CacheEntry, steps: Sequence[tuple[ValueGuard, Any]] = ()) -> None:
        """Puts a program among those that are kept; ``steps`` are the values that it is for."""
        guards = [q for q, _ in steps]
        is_new = not any(e.guard is guards[0] for e in self._entries) if steps else True
        if is_new and entry.eager_reason is not None:
            steps = []  # nothing has been compiled for any value, so there is no need to compute one
        for at, (guard, value) in reversed(list(enumerate(steps))):
            guard.add(value, entry)
            around = self._entries if at == 0 else steps[at - 1][0].programs_for(steps[at - 1][1])
            known = next((e for e in around if e.guard is guard), None)
            if known is None:
                known = CacheEntry(entry.form, guard.prologue, guard.run, guard=guard)
                if not at:
                    self._faster_for_values(known, guard)
            entry = known
        if steps:
            guards[0].family.count += 1
        others = (e for e in self._entries if e is not entry)
        self._set_entries(in_order((entry, *others), recompile_limit()))

    def keep(self, entry: CacheEntry, why: str) -> None:
        """Puts a program first, which is told."""
        with KEEPING:
            self._insert(entry)
        self._tell(entry, entry.seconds, why)

    @property
    def called(self) -> str:
        """What messages call it: objects that are called, and partials, have no name of their own."""
        return getattr(self, "__qualname__", None) or name_of(self.__tnp_function__)

    @property
    def options(self) -> dict[str, Any]:
        """The options that it was made with: what :func:`jit` takes."""
        return {
            "executors": self._executors.listed,
            "always_executors": self._executors.always,
            "strict": self._strict,
            "fastmath": self._executors.fastmath,
            "specialisations": self._specialisations,
            "cudagraphs": self._cudagraphs,
            "dynamic": self._dynamic,
        }

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        if is_found_by_name(self) and not (self.__module__ == "__main__" and for_cloudpickle()):
            return self.__qualname__
        f: Any = self.__tnp_function__
        return _rebuild, (f, self.options, source_file(f) if type(f) is FunctionType else "")

    def __repr__(self) -> str:
        return f"<tnp.jit of {self.__tnp_function__!r}>"


def programs_behind(f: Any) -> Jitted | None:
    """What has the programs of ``f``: a jitted function itself, of a jitted module another object; ``None`` for what is neither."""
    if isinstance(f, Jitted):
        return f
    return f.__tnp_programs__ if getattr(type(f), "__tnp_module__", False) else None


#: what was unpickled of functions that this process has by name, by function and options, so that it is compiled once and not in every task
_unpickled: dict[Any, Jitted] = {}


def _rebuild(function: Callable[..., Any], options: dict[str, Any], source: str = "") -> Jitted:
    """A function with these options: one that there is already, if ``function`` itself is the process's own, and no copy that came with the pickle.
    ``source`` is the text of its file, which the copy does not name."""
    remember_source(source)
    if type(function) is not FunctionType or not is_found_by_name(function):
        return Jitted(function, **options)
    key = function, *options.values()
    with KEEPING:
        alive = [] if key in _unpickled else list(_alive)
    same = (f for f in alive if type(f) is Jitted and f.__tnp_function__ is function and f.options == options)
    found = _unpickled.get(key) or next(same, None) or Jitted(function, **options)
    return _unpickled.setdefault(key, found)
