"""Jitted functions: the programs of a function, the calls that each is for, and how they come about."""

from __future__ import annotations

import functools
import importlib
import os
import re
import sys
import time
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import FrameType, FunctionType
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.driver import Acquired, acquire
from tnp.capture.guards.prologue import MISS, Prologue
from tnp.capture.libraries.base import left_alone, loaded_libraries, tell_dynamo
from tnp.capture.speculation.value_specialization import Asked
from tnp.compile.aot_autograd import Training, in_inference_mode, without_autocast, without_gradients
from tnp.compile.call_signature import binder, check_compilable, signature_of
from tnp.compile.faults import REPORT, is_certain, passed_on, text_of, while_compiling
from tnp.compile.specialization import SPECIALISATIONS, Answered, Family, Question, repeatable
from tnp.core import check
from tnp.core.context import registrations
from tnp.core.effects import acts_on_the_outside
from tnp.core.errors import (
    EagerFallbackWarning,
    ExtensionError,
    InternalError,
    InternalErrorWarning,
    LateGuardFailed,
    NeedsEager,
    NoExecutorError,
    RaisedWhenAsked,
    RaisedWhileTracing,
    TraceCheckError,
    TraceError,
    hide_frames_of,
    user_stack_level,
)
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import call_outside_trace_with
from tnp.core.trace import Trace, detached
from tnp.executors import registry
from tnp.executors.base import Region
from tnp.runtime import locks, logs
from tnp.runtime.gc_tuning import relaxed_gc
from tnp.transforms.autodiff.rules import grad_transforms_of
from tnp.transforms.bufferize import MemoryOperations
from tnp.transforms.partition_fw_bw import partition
from tnp.transforms.pipeline import Backend, compile_trace

__all__ = ["CacheEntry", "CallSignature", "Jitted", "backend_of", "programs_behind"]

hide_frames_of(np.__path__[0])


@dataclass(eq=False)
class CallSignature:
    """A way of passing arguments: the names that the values have, ``apply(function, values)``, and the programs for it."""

    parameters: list[str]
    apply: Callable[..., Any]
    runs: tuple[Callable[..., Any], ...] = ()
    #: how often such a call was traced, and how often that found that it runs eagerly
    traced: int = 0
    found_eager: int = 0
    #: runs eagerly, once there may be no more programs
    last_resort: Callable[..., Any] | None = None


@dataclass
class CacheEntry:
    """One compiled program, or the finding that calls of its kind run eagerly, or (``question``) that they depend on a value."""

    form: CallSignature
    prologue: Prologue
    run: Callable[..., Any]
    traces: list[Trace] = field(default_factory=list)
    eager_reason: str | None = None
    seconds: float = 0.0
    #: of a program whose results are differentiated, that
    training: Training | None = None
    question: Question | None = None
    #: its CUDA graphs, the forward program's and those of backward programs
    graphs: list[Any] = field(default_factory=list)


#: programs kept a function, and how often a call of one kind of passing arguments is traced
RECOMPILE_LIMIT = int(os.environ.get("TNP_RECOMPILE_LIMIT", "64"))
#: how often a call may be found to run eagerly, each time for other arguments, before all that have no program do
EAGER_LIMIT = 16

#: every jitted function that there is
_alive: weakref.WeakSet[Jitted] = weakref.WeakSet()
#: held while programs are put away or forgotten
_keeping = locks.lock()


def _forget(what: str, concerns: Callable[[Any], bool]) -> None:
    with _keeping:
        alive = list(_alive)
    for jitted in alive:
        if concerns(jitted):
            jitted.invalidate(what)


registrations.listeners.append(_forget)


class Jitted:
    """A function compiled by tnp; called as the function itself. Made by :func:`jit`."""

    __qualname__: str
    #: whether calls may run eagerly
    runs_eagerly = True

    def __init__(
        self, function: Callable[..., Any], *, executors: Any = None, always_executors: Any = None, strict: bool = False,
        fastmath: bool = False, specialisations: int = SPECIALISATIONS, cudagraphs: bool = False,
    ) -> None:  # fmt: skip
        check_compilable(function)
        tell_dynamo()
        functools.update_wrapper(self, function, updated=())
        self.__tnp_function__ = function
        self._executors = _executors_named(executors)
        self._always = _executors_named(always_executors)
        self._strict = strict
        self._fastmath = fastmath
        self._specialisations = specialisations
        self._cudagraphs = cudagraphs
        self._entries: tuple[CacheEntry, ...] = ()
        self._last: CacheEntry | None = None
        self._lock = locks.lock()
        self._hits = 0
        self._misses = 0
        self._recompiled: list[str] = []
        #: by the kind of guard, how often one did not hold
        self._failed: Counter[str] = Counter()
        #: the kinds of warnings that were given
        self._warned: set[type[Warning]] = set()
        #: the executors that programs were compiled for, and what the lists of executors stood for then
        self._used: set[Any] = set()
        self._lists: tuple[Any, ...] = ()
        #: how often programs were forgotten because an extension changed something, and what it was last
        self._forgotten = 0
        self._changed = ""
        self._make_binder()
        with _keeping:
            _alive.add(self)

    def _make_binder(self) -> None:
        self.__signature__ = signature = signature_of(self.__tnp_function__)
        self._bind, apply, self._positional = binder(signature, getattr(self, "__name__", "function"))
        self._form = CallSignature(list(signature.parameters), apply)
        function = getattr(self.__tnp_function__, "__func__", self.__tnp_function__)
        has_own = type(function) is FunctionType and not {"__wrapped__", "__signature__"} & vars(function).keys()
        #: the function whose defaults the binder has
        self._defaults_of = function if has_own else None
        self._bind.__qualname__ = getattr(self, "__qualname__", self._bind.__qualname__)  # errors name it

    def forms(self) -> list[CallSignature]:
        """The ways of passing arguments that there have been."""
        return [self._form]

    def _formed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[CallSignature, tuple[Any, ...]]:
        """The form of a call, and the values that are passed in it."""
        return self._form, self._bind(*args, **kwargs)

    @left_alone
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != self._positional:
            if self._defaults_of is not None:  # they may have been assigned anew
                self._bind.__defaults__ = self._defaults_of.__defaults__
                self._bind.__kwdefaults__ = self._defaults_of.__kwdefaults__
            args = self._bind(*args, **kwargs)
        try:
            for run in self._form.runs:
                result = run(*args)
                if result is not MISS:
                    self._hits += 1
                    return result
            return self._call_slowly(self._form, args)
        except Exception as raised:
            error = raised
        return self._after_error(self._form, args, error)

    def _call_slowly(self, form: CallSignature, values: tuple[Any, ...]) -> Any:
        """A call that no program is valid for: it is traced and compiled, or found to run eagerly."""
        if active.running() is not None:
            return form.apply(self.__tnp_function__, values)
        with self._lock:
            for entry in self._entries:
                if entry.form is form and entry.question is None and entry.prologue.first_failure(values) is None:
                    break
            else:
                if self._is_settled(form):
                    return form.apply(self.__tnp_function__, values)
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
            if entry is None or entry.question is None:
                return entry
            value = entry.question.answer(values)
            if value is MISS:
                return None
            programs = entry.question.programs_for(value)

    def traced(self, form: CallSignature, values: tuple[Any, ...]) -> tuple[Trace, Trace]:
        """The acquired trace for a call, and what would run. Raises :class:`NeedsEager` if there is no trace."""
        acquired = self._acquired(form, values, Prologue(form.parameters), self._answers(form, values))
        return acquired.trace, self._program(acquired)[1][-1]

    def _set_entries(self, entries: tuple[CacheEntry, ...]) -> None:
        forms = {id(e.form): e.form for e in (*self._entries, *entries)}
        self._entries = entries
        for form in forms.values():
            last = () if form.last_resort is None else (form.last_resort,)
            form.runs = (*(e.run for e in entries if e.form is form), *last)

    def _is_settled(self, form: CallSignature) -> bool:
        """Whether calls that no program is valid for run eagerly from now on: too many were traced, or found to run eagerly."""
        if form.last_resort is not None:
            return True
        if not self.runs_eagerly or self._strict or (form.traced < RECOMPILE_LIMIT and form.found_eager < EAGER_LIMIT):
            return False
        kept = sum(e.form is form and e.eager_reason is None for e in self._entries)
        often = self._failed.most_common(1)
        why = f"; the guard that failed most often: {often[0][0]}" if often else ""
        self._warn_once(
            f"{self.called} runs eagerly where none of its {kept} programs is valid: it was traced {form.traced} times{why}. "
            "TNP_RECOMPILE_LIMIT sets how often that may be"
        )
        form.last_resort = functools.partial(_apply, form.apply, self.__tnp_function__)
        with _keeping:  # what was found to run eagerly does so anyway
            self._set_entries(tuple(e for e in self._entries if e.form is not form or e.eager_reason is None))
        return True

    def uses(self, executor: Any) -> bool:
        """Whether programs were compiled for an executor."""
        return executor in self._used

    def has_other_lists(self) -> bool:
        """Whether the executors that it would be compiled for now are others than those that it was compiled for."""
        return bool(self._used) and self._lists != registry.meaning(self._executors, self._always)

    def invalidate(self, what: str) -> None:
        """Compiles anew at the next call: ``what`` has changed. Takes no lock that is held while foreign code runs."""
        with _keeping:
            self._forgotten += 1
            for form in self.forms():
                form.traced = form.found_eager = 0
                form.last_resort, form.runs = None, ()
            if self._entries:
                self._changed = what
                self._set_entries(())
            self._used.clear()

    def _start_over(self, form: CallSignature, values: tuple[Any, ...], failure: LateGuardFailed) -> Any:
        """Runs eagerly a call in which an opaque call returned other than its dry run had; so will its like from now on.

        Nothing has been written then: tracing refuses opaque calls after effects.
        """
        self._settle(form, values, str(failure))
        return form.apply(self.__tnp_function__, values)

    def _settle(
        self, form: CallSignature, values: tuple[Any, ...], reason: str, warning: type[Warning] = EagerFallbackWarning
    ) -> None:
        """Puts a finding that calls run eagerly in the place of the program that is valid for ``values``."""
        with self._lock:
            for entry in self._entries:
                if entry.form is not form or entry.eager_reason is not None:
                    continue
                if entry.prologue.first_failure(values) is None:
                    made = self._eager_entry(form, entry.prologue, NeedsEager(reason), warning)
                    with _keeping:
                        if entry in self._entries:
                            self._set_entries(tuple(made if e is entry else e for e in self._entries))
                    break

    def _after_error(self, form: CallSignature, values: tuple[Any, ...], error: Exception) -> Any:
        """What a call gives whose program raised ``error``: a program that only computes runs again, eagerly. That raises the program's
        own error, from the user's line; if it does not, the error was tnp's."""
        if isinstance(error, LateGuardFailed):
            return self._start_over(form, values, error)
        entry = None if passed_on(error) or not self.runs_eagerly else self.entry_for(form, values)
        if entry is None or entry.eager_reason is not None or not entry.traces:
            raise error
        if entry.training is not None or acts_on_the_outside(entry.traces[0]):
            if is_certain(error):
                raise InternalError(f"the program of {self.called} raised {text_of(error)}: {REPORT}") from error
            raise error
        result = form.apply(self.__tnp_function__, values)
        if check.enabled():
            raise InternalError(f"the program of {self.called} raised {text_of(error)}, and eager does not") from error
        self._settle(
            form, values, f"its program raised {text_of(error)}, and eager does not: {REPORT}", InternalErrorWarning
        )
        return result

    def _compile(self, form: CallSignature, values: tuple[Any, ...]) -> CacheEntry:
        start = time.perf_counter()
        self._misses += 1
        form.traced += 1
        forgotten, again, self._changed = self._forgotten, self._changed, ""
        self._lists = registry.meaning(self._executors, self._always)
        self._used.update(self._named_executors())
        if again:
            self._recompiled.append(again)
        elif self._entries:
            last = self._entries[0]
            failure = last.prologue.first_failure(values) if last.form is form else "the same arguments by name"
            again = f"not {failure}" if failure else "other arguments"
            self._recompiled.append(again)
            self._failed[_without_values(failure or "other arguments")] += 1
        prologue = Prologue(form.parameters)
        prologue.moves_arrays = "cupy" in (self._executors or ())
        answers = self._answers(form, values)
        try:
            with relaxed_gc():
                acquired = self._acquired(form, values, prologue, answers)
                with while_compiling():
                    run, traces, training, graphs = self._program(acquired)
            seconds = time.perf_counter() - start
            entry = CacheEntry(form, prologue, run, traces, seconds=seconds, training=training, graphs=graphs)
        except RaisedWhenAsked as reason:
            return self._once_eagerly(form, prologue, reason.error, keeps=False)  # it depends on values
        except RaisedWhileTracing as reason:
            return self._once_eagerly(form, prologue, reason.error, reason, keeps=not answers.steps)
        except NeedsEager as reason:
            entry = self._eager_entry(form, prologue, reason)
        except (NoExecutorError, ExtensionError) as error:
            raise _located(error, self.__tnp_function__) from None
        except TraceError as error:
            entry = self._refused(form, prologue, error)
        except InternalError as error:
            if check.enabled():
                raise
            entry = self._eager_entry(form, prologue, NeedsEager(f"{error}: {REPORT}"), InternalErrorWarning)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            needed = _needs_eager_behind(error)
            if needed is None:
                # The program's own error, or one that only tracing meets: eager says which, and has eager's effects.
                return self._once_eagerly(form, prologue, error, keeps=not answers.steps)
            entry = self._eager_entry(form, prologue, needed)
        form.found_eager += entry.eager_reason is not None
        self._last = entry
        with _keeping:
            if self._forgotten == forgotten:
                self._insert(entry, answers.steps)
        self._tell(entry, time.perf_counter() - start, again)
        return entry

    def _tell(self, entry: CacheEntry, seconds: float, again: str) -> None:
        """Logs a new program."""
        name = self.called
        kind = "program" if entry.eager_reason is None else "eager"
        logs.tell(logs.Event(kind, name, seconds, entry.eager_reason or again, bool(again)))
        if logs.on(logs.guards):
            if again:
                logs.guards.debug("%s is compiled again: %s", name, again)
            for guard in entry.prologue.guards:
                logs.guards.debug("%s is valid for: %s", name, guard.description)

    def _answers(self, form: CallSignature, values: tuple[Any, ...]) -> Answered:
        """What tracing gets where it asks for values in this call."""
        mine = [e for e in self._entries if e.form is form]
        return Answered(mine, values, functools.partial(self._question, form))

    def _acquired(
        self, form: CallSignature, values: tuple[Any, ...], prologue: Prologue, answers: Answered
    ) -> Acquired:
        """The function traced for a call. Raises :class:`NeedsEager` if there is no trace."""
        languages = loaded_libraries()  # a program's values are of no others
        behind = registry.get_always_executors(languages) if self._always is None else registry.resolve(self._always)
        with grad_transforms_of([*self._named_executors(), *behind]):
            return acquire(
                self.__tnp_function__, form.parameters, form.apply, values, prologue=prologue, strict=self._strict,
                differentiate=partition, answers=answers if self._specialisations else None,
            )  # fmt: skip

    def _program(
        self, acquired: Acquired | Asked, around: Callable[..., Any] | None = None
    ) -> tuple[Callable[..., Any], list[Trace], Training | None, list[Any]]:
        """The function that checks a program's guards and runs it, the program's traces after each pass, what trains it, and its CUDA
        graphs."""
        executors = self._executor_list(acquired.trace)
        if isinstance(acquired, Asked) and acquired.is_light:
            executors = [e for e in executors if not e.is_fusing]
        numbers = len(acquired.trace.value_guards)
        training = None
        program: Callable[..., Any]
        graphs: list[Any] = []
        runner = functools.partial(_captured, graphs) if self._cudagraphs else Trace.python_callable
        if isinstance(acquired, Acquired) and acquired.differentiated is not None:
            training = Training(acquired.differentiated, lambda t: backend_of(self._executor_list(t)), runner)
            traces, program = training.traces, training.run
        else:
            traces = compile_trace(acquired.trace, backend_of(executors))
            program = runner(traces[-1])
            if acquired.requires_gradients:
                program = without_gradients(program)
            gradients = acquired.inputs.tracer.gradients
            if gradients is not None and gradients.infers:
                program = in_inference_mode(program)
        acquired.guard_numbers(numbers)
        casts = acquired.inputs.tracer.casts
        if casts is not None and casts.began_dtype is not None:
            program = without_autocast(program)
        if around is not None:
            program = around(program)
        elif any(b.sym.name == "enter_errstate" for b in traces[-1].bound_symbols):
            program = _keeping_errstate(program)
        inputs = [acquired.expressions[p.name] for p in traces[-1].args]
        return acquired.prologue.compile(inputs, program, executors[0].check_arrays), traces, training, graphs

    def _question(self, form: CallSignature, asked: Asked, family: Family | None) -> Question:
        """The program that computes a value that tracing asks for; ``family`` is that of the questions before it."""
        compute, *_ = self._program(asked, functools.partial(repeatable, draws=asked.draws))
        family = family or Family(self._specialisations, functools.partial(self._past_cache_limit, form))
        return Question(asked, compute, family)

    def _insert(self, entry: CacheEntry, steps: Sequence[tuple[Question, Any]] = ()) -> None:
        """Puts a program first among those that are kept; ``steps`` are the values that it is for."""
        questions = [q for q, _ in steps]
        is_new = not any(e.question is questions[0] for e in self._entries) if steps else True
        if is_new and entry.eager_reason is not None:
            steps = []  # nothing has been compiled for any value, so there is no need to compute one
        for at, (question, value) in reversed(list(enumerate(steps))):
            question.add(value, entry)
            around = self._entries if at == 0 else steps[at - 1][0].programs_for(steps[at - 1][1])
            entry = next((e for e in around if e.question is question), None) or CacheEntry(
                entry.form, question.prologue, question.run, question=question
            )
        if steps:
            questions[0].family.count += 1
        self._set_entries((entry, *[e for e in self._entries if e is not entry][: RECOMPILE_LIMIT - 1]))

    def _past_cache_limit(self, form: CallSignature, *values: Any) -> Any:
        """A call whose value has no program, and is to get none."""
        text = f"{self.called} runs eagerly: it is compiled for {self._specialisations} values already, and this is another"
        if self._strict:
            raise TraceError(f"{text}; strict=True refuses that")
        self._warn_once(text)
        return form.apply(self.__tnp_function__, values)

    def _refused(self, form: CallSignature, prologue: Prologue, error: TraceError) -> CacheEntry:
        """What becomes of a program that tnp refuses: it runs eagerly."""
        if self._strict:
            raise _located(error, self.__tnp_function__) from None
        return self._eager_entry(form, prologue, NeedsEager(str(error)))

    def _eager_entry(
        self, form: CallSignature, prologue: Prologue, reason: NeedsEager, warning: type[Warning] = EagerFallbackWarning
    ) -> CacheEntry:
        text = f"{self.called} runs eagerly: {reason.reason} ({reason.location})"
        if self._strict:
            raise TraceError(f"{text}; strict=True refuses that") from None
        self._warn_once(text, warning)
        return self._finding(form, prologue, text)

    def _finding(self, form: CallSignature, prologue: Prologue, text: str) -> CacheEntry:
        """That calls for which a prologue is valid run eagerly."""
        run = prologue.compile(form.parameters, lambda *values: form.apply(self.__tnp_function__, values))
        return CacheEntry(form, prologue, run, eager_reason=text)

    def _warn_once(self, text: str, warning: type[Warning] = EagerFallbackWarning) -> None:
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
                result = form.apply(self.__tnp_function__, values)
            except Exception as raised:
                if keeps and type(raised) is type(error) and self.runs_eagerly and not self._strict:
                    with self._lock, _keeping:
                        self._insert(self._finding(form, prologue, f"{self.called} raises {text_of(error)}"))
                raise
            text = f"tracing raised {text_of(error)}, which eager does not"
            if check.enabled() and excuse is None:
                raise InternalError(f"{self.called}: {text}") from error
            with self._lock:
                if excuse is not None:
                    entry = self._eager_entry(form, prologue, excuse)
                else:
                    entry = self._eager_entry(form, prologue, NeedsEager(f"{text}: {REPORT}"), InternalErrorWarning)
                form.found_eager += 1
                with _keeping:
                    self._insert(entry)
            logs.tell(logs.Event("eager", self.called, 0.0, entry.eager_reason or text))
            return result

        return CacheEntry(form, Prologue(form.parameters), run, eager_reason=f"tracing raised {text_of(error)}")

    def _named_executors(self) -> list[Any]:
        named = registry.get_default_executors() if self._executors is None else registry.resolve(self._executors)
        return [e.with_fastmath() for e in named] if self._fastmath else list(named)

    def _executor_list(self, trace: Trace) -> list[Any]:
        named = self._named_executors()
        if self._executors is None:
            kinds = {
                p.device.devicetype.value
                for b in trace.bound_symbols
                for p in b.flat_outputs
                if isinstance(p, TensorProxy)
            }
            named += [e for e in registry.get_device_executors(sorted(kinds - {"cpu"})) if e not in named]
        if trace.numpy_kind != "numpy":  # arrays of that kind are among the arguments
            own = registry.resolve(registry.executors_of_device("cuda") or ())
            named = [*(named if self._executors is not None else ()), *(e for e in own if e not in named)]
        if self._always is not None:
            behind: Iterable[Any] = registry.resolve(self._always)
        else:
            languages = {p.lang.name for b in trace.bound_symbols for p in b.flat_outputs if isinstance(p, TensorProxy)}
            behind = registry.get_always_executors(languages)
        found = [*named, *(e for e in behind if e not in named)]
        self._used.update(found)
        return [f for e in found for f in (e.fuser, e) if f is not None]

    @property
    def called(self) -> str:
        """What messages call it: objects that are called, and partials, have no name of their own."""
        behind = self.__tnp_function__
        while isinstance(behind, functools.partial):
            behind = behind.func
        names = (
            getattr(x, a, None) for x, a in ((self, "__qualname__"), (behind, "__qualname__"), (behind, "__name__"))
        )
        return next((str(name) for name in names if name), type(behind).__qualname__)

    @property
    def options(self) -> dict[str, Any]:
        """The options that it was made with: what :func:`jit` takes."""
        return {
            "executors": self._executors,
            "always_executors": self._always,
            "strict": self._strict,
            "fastmath": self._fastmath,
            "specialisations": self._specialisations,
            "cudagraphs": self._cudagraphs,
        }

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        if _is_found_by_name(self) and not (self.__module__ == "__main__" and _for_cloudpickle()):
            return self.__qualname__
        return _rebuild, (self.__tnp_function__, self.options)

    def __repr__(self) -> str:
        return f"<tnp.jit of {self.__tnp_function__!r}>"


def programs_behind(f: Any) -> Jitted | None:
    """What has the programs of ``f``: a jitted function itself, of a jitted module another object; ``None`` for what is neither."""
    if isinstance(f, Jitted):
        return f
    return f.__tnp_programs__ if getattr(type(f), "__tnp_module__", False) else None


def _executors_named(executors: Any) -> tuple[Any, ...] | None:
    """What the user listed, which is looked up anew at each compilation. Raises ``ValueError`` for names of no executor."""
    if executors is None:
        return None
    named = executors if isinstance(executors, str) else tuple(executors)
    registry.resolve(named)
    return tuple(named)


def _apply(apply: Callable[..., Any], function: Callable[..., Any], *values: Any) -> Any:
    return apply(function, values)


def _needs_eager_behind(error: BaseException) -> NeedsEager | None:
    """What tracing raised before code of the user's, in a ``finally`` that it came through, raised ``error``."""
    seen: set[int] = set()
    behind: BaseException | None = error
    while behind is not None and id(behind) not in seen:
        if isinstance(behind, NeedsEager):
            return behind
        seen.add(id(behind))
        behind = behind.__context__
    return None


def _without_values(guard: str) -> str:
    """What a guard looks at, without the numbers that it compares with."""
    return re.sub(r"\d+(, ?\d+)*", "…", guard)


def _captured(graphs: list[Any], trace: Trace) -> Callable[..., Any]:
    """A finished program as a CUDA graph, which is appended to ``graphs``."""
    if "torch" not in sys.modules:  # there are no CUDA tensors
        return trace.python_callable()
    from tnp.executors.cudagraphs import Captured

    made = Captured(trace)
    graphs.append(made)
    return made


def _keeping_errstate(program: Callable[..., Any]) -> Callable[..., Any]:
    """``program``, which sets how floating-point errors are reported, leaving that as it was even if it raises."""

    def run(*inputs: Any) -> Any:
        with np.errstate():
            return program(*inputs)

    return run


#: what was unpickled of functions that this process has by name, by function and options, so that it is compiled once and not in every task
_unpickled: dict[Any, Jitted] = {}


def _rebuild(function: Callable[..., Any], options: dict[str, Any]) -> Jitted:
    """A function with these options: one that there is already, if ``function`` itself is the process's own, and no copy that came with the pickle."""
    if type(function) is not FunctionType or not _is_found_by_name(function):
        return Jitted(function, **options)
    key = function, *options.values()
    with _keeping:
        alive = [] if key in _unpickled else list(_alive)
    same = (f for f in alive if type(f) is Jitted and f.__tnp_function__ is function and f.options == options)
    found = _unpickled.get(key) or next(same, None) or Jitted(function, **options)
    return _unpickled.setdefault(key, found)


def _is_found_by_name(function: Any) -> bool:
    try:
        found: Any = importlib.import_module(function.__module__)
        for part in function.__qualname__.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    return found is function


def _for_cloudpickle() -> bool:
    """Whether the pickler that asks is cloudpickle's, or a copy of it in another package: it takes what stands in ``__main__``, which
    other processes do not have, by value."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").rpartition(".")[2] == "cloudpickle":
            return True
        frame = frame.f_back
    return False


def _located(error: Exception, function: Any) -> Exception:
    """The error with the user's line at its end, if it does not name one yet."""
    text = str(error)
    if "\n" in text or " at " in text.rsplit(";", 1)[-1] or "(at " in text:
        return error
    code = getattr(function, "__code__", None)
    where = f"{code.co_filename}:{code.co_firstlineno} in {code.co_name}" if code is not None else str(function)
    return type(error)(f"{text} (at {where})")


def backend_of(executors: Iterable[Any]) -> Backend:
    from tnp.executors.numpy import as_array, as_read_only, as_scalar, executor

    executors = tuple(executors)
    kinds = [
        registry.get_executor(k) for k in {"numpy": None} | {e.array_kind: None for e in executors if e.array_kind}
    ]
    memory = {e.name: MemoryOperations(*e.memory) for e in kinds if e is not None and e.memory is not None}
    conversions = {k: v for e in kinds if e is not None for k, v in e.conversions.items()}
    return Backend(executors, memory, as_scalar, as_array, as_read_only, Region, conversions, executor)


class _Single(Jitted):
    """One operation as a function. Called a few times on arrays of many shapes, it is not worth compiling."""

    runs_eagerly = False

    def _named_executors(self) -> list[Any]:
        return [e for e in super()._named_executors() if not e.is_fusing]

    def _refused(self, form: CallSignature, prologue: Prologue, error: TraceError) -> CacheEntry:
        raise _located(error, self.__tnp_function__) from None

    def _eager_entry(
        self, form: CallSignature, prologue: Prologue, reason: NeedsEager, warning: type[Warning] = EagerFallbackWarning
    ) -> CacheEntry:
        """There is no other way to run it."""
        if isinstance(reason.__cause__, TraceError):
            raise reason.__cause__
        raise TraceError(f"{self.__qualname__} cannot run: {reason.reason} (at {reason.location})") from None


_single: dict[Any, Jitted] = {}


def _call_one(symbol: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A symbol called outside any trace: that one operation, compiled and run."""
    jitted = _single.get(symbol)
    if jitted is None:

        def call(*args: Any, **kwargs: Any) -> Any:
            return active.current().call(symbol, args, kwargs)

        call.__name__ = call.__qualname__ = symbol.name
        vars(call)["__tnp_operation__"] = symbol
        jitted = _single[symbol] = _Single(call)
    with detached():
        return jitted(*args, **kwargs)


call_outside_trace_with(_call_one)
