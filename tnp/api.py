"""What users call: ``jit``, and the functions that look into what it made."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from tnp.core import check
from tnp.core.errors import (
    EagerFallbackWarning,
    ExtensionError,
    LateGuardFailed,
    NeedsEager,
    NoExecutorError,
    TraceCheckError,
    TraceError,
    UserLocation,
    hide_frames_of,
    user_stack_level,
)
from tnp.core.printing import compile_source
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import OpTags, call_outside_trace_with
from tnp.core.trace import Trace, detached
from tnp.executors import registry
from tnp.executors.base import Region
from tnp.frontend import state
from tnp.frontend.acquire import acquire
from tnp.frontend.sources import MISS, Prologue
from tnp.transforms.autodiff.rules import grad_transforms_of
from tnp.transforms.claim import FusedSymbol
from tnp.transforms.in_place import MemoryOperations
from tnp.transforms.pipeline import Backend, compile_trace

__all__ = [
    "CacheInfo",
    "Jitted",
    "cache_info",
    "explain",
    "get_num_threads",
    "jit",
    "last_prologue_traces",
    "last_traces",
    "set_num_threads",
    "trace",
]

hide_frames_of(np.__path__[0])


class CacheInfo(NamedTuple):
    """How a jitted function's programs were used: calls served by a compiled one, programs made, programs kept."""

    hits: int
    misses: int
    size: int


@dataclass
class _Entry:
    """One compiled program, or (``run`` is ``None``) the finding that calls of its kind run eagerly."""

    prologue: Prologue
    run: Callable[..., Any]
    traces: list[Trace] = field(default_factory=list)
    eager_reason: str | None = None
    seconds: float = 0.0


#: programs kept a function; the one used longest ago goes first
MAX_PROGRAMS = 64


class Jitted:
    """A function compiled by tnp; called as the function itself. Made by :func:`jit`."""

    def __init__(
        self, function: Callable[..., Any], *, executors: Any = None, always_executors: Any = None, strict: bool = False,
        fastmath: bool = False,
    ) -> None:  # fmt: skip
        _check_compilable(function)
        functools.update_wrapper(self, function, updated=())
        self.__tnp_function__ = function
        self._executors = _executors_named(executors)
        self._always = _executors_named(always_executors)
        self._strict = strict
        self._fastmath = fastmath
        self._entries: tuple[_Entry, ...] = ()
        self._runs: tuple[Callable[..., Any], ...] = ()
        self._lock = threading.RLock()
        self._hits = 0
        self._misses = 0
        self._recompiled: list[str] = []
        self._warned = False
        self._make_binder()

    def _make_binder(self) -> None:
        try:
            signature = inspect.signature(self._signature_source())
        except (TypeError, ValueError):
            signature = inspect.Signature(
                [
                    inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                    inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
                ]
            )
        self._parameters = list(signature.parameters)
        self._bind, self._apply, self._positional = _binder(signature, getattr(self, "__name__", "function"))
        function = getattr(self.__tnp_function__, "__func__", self.__tnp_function__)
        has_own = type(function) is FunctionType and not {"__wrapped__", "__signature__"} & vars(function).keys()
        #: the function whose defaults the binder has
        self._defaults_of = function if has_own else None
        self._bind.__qualname__ = getattr(self, "__qualname__", self._bind.__qualname__)  # errors name it

    def _signature_source(self) -> Any:
        """What is called with the arguments."""
        return self.__tnp_function__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != self._positional:
            if self._defaults_of is not None:  # they may have been assigned anew
                self._bind.__defaults__ = self._defaults_of.__defaults__
                self._bind.__kwdefaults__ = self._defaults_of.__kwdefaults__
            args = self._bind(*args, **kwargs)
        try:
            for run in self._runs:
                result = run(*args)
                if result is not MISS:
                    self._hits += 1
                    return result
            return self._call_slowly(args)
        except LateGuardFailed as failure:
            return self._start_over(args, failure)

    def _call_slowly(self, values: tuple[Any, ...]) -> Any:
        """A call that no program is valid for: it is traced and compiled, or found to run eagerly."""
        if state.running() is not None:
            return self._apply(self.__tnp_function__, values)
        with self._lock:
            for entry in self._entries:
                if entry.prologue.first_failure(values) is None:
                    break
            else:
                entry = self._compile(values)
        result = entry.run(*values)
        if result is not MISS:
            return result
        # The guards must hold for the very call that they were made for.
        failure = entry.prologue.first_failure(values)
        if check.enabled():
            raise TraceCheckError(f"a new program of {self!r} is not valid for its own call: not {failure}")
        return self._apply(self.__tnp_function__, values)

    def _start_over(self, values: tuple[Any, ...], failure: LateGuardFailed) -> Any:
        """Runs eagerly a call in which an opaque call returned other than its dry run had; so will its like from now on.

        Nothing has been written then: tracing refuses opaque calls after effects.
        """
        with self._lock:
            for i, entry in enumerate(self._entries):
                if entry.eager_reason is None and entry.prologue.first_failure(values) is None:
                    made = self._eager_entry(entry.prologue, NeedsEager(str(failure)))
                    self._entries = (*self._entries[:i], made, *self._entries[i + 1 :])
                    self._runs = tuple(e.run for e in self._entries)
                    break
        return self._apply(self.__tnp_function__, values)

    def _compile(self, values: tuple[Any, ...]) -> _Entry:
        start = time.perf_counter()
        self._misses += 1
        if self._entries:
            failure = self._entries[0].prologue.first_failure(values)
            self._recompiled.append(f"not {failure}" if failure else "other arguments")
        prologue = Prologue(self._parameters)
        try:
            behind = registry.get_always_executors(()) if self._always is None else registry.resolve(self._always)
            with grad_transforms_of([*self._named_executors(), *behind]):
                acquired = acquire(
                    self.__tnp_function__, self._parameters, self._apply, values, prologue=prologue, strict=self._strict
                )
            executors = self._executor_list(acquired.trace)
            numbers = len(acquired.trace.value_guards)
            traces = compile_trace(acquired.trace, _backend(executors))
            acquired.guard_numbers(numbers)
            program = traces[-1].python_callable()
            if any(b.sym.name == "enter_errstate" for b in traces[-1].bound_symbols):
                program = _keeping_errstate(program)
            inputs = [acquired.expressions[p.name] for p in traces[-1].args]
            run = prologue.compile(inputs, program, executors[0].check_arrays)
            entry = _Entry(prologue, run, traces, seconds=time.perf_counter() - start)
        except NeedsEager as reason:
            entry = self._eager_entry(prologue, reason)
        except TraceCheckError:
            raise
        except (TraceError, NoExecutorError, ExtensionError) as error:
            raise _located(error, self.__tnp_function__) from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # The program's own error, or one that only tracing meets: eager says which, and has eager's effects.
            return self._once_eagerly(error)
        self._entries = (entry, *self._entries[: MAX_PROGRAMS - 1])
        self._runs = tuple(e.run for e in self._entries)
        return entry

    def _eager_entry(self, prologue: Prologue, reason: NeedsEager) -> _Entry:
        text = (
            f"{getattr(self, '__qualname__', self.__tnp_function__)} runs eagerly: {reason.reason} ({reason.location})"
        )
        if self._strict:
            raise TraceError(f"{text}; strict=True refuses that") from None
        if not self._warned:
            self._warned = True
            warnings.warn(text, EagerFallbackWarning, stacklevel=user_stack_level())
        run = prologue.compile(self._parameters, lambda *values: self._apply(self.__tnp_function__, values))
        return _Entry(prologue, run, eager_reason=text)

    def _once_eagerly(self, error: BaseException) -> _Entry:
        def run(*values: Any) -> Any:
            if hasattr(self.__tnp_function__, "__tnp_operation__"):  # there is no other way to run it
                raise error
            result = self._apply(self.__tnp_function__, values)
            if self._strict:
                raise TraceError(f"tracing raised {error!r}, which eager does not") from error
            if not self._warned:
                self._warned = True
                warnings.warn(
                    f"{self.__qualname__} ran eagerly: tracing raised {error!r}, which eager does not",
                    EagerFallbackWarning,
                    stacklevel=user_stack_level(),
                )
            return result

        return _Entry(Prologue(self._parameters), run, eager_reason=f"tracing raised {error!r}")

    def _named_executors(self) -> list[Any]:
        named = registry.get_default_executors() if self._executors is None else registry.resolve(self._executors)
        return [e.with_fastmath() for e in named] if self._fastmath else list(named)

    def _executor_list(self, trace: Trace) -> list[Any]:
        named = self._named_executors()
        if self._always is not None:
            behind: Iterable[Any] = registry.resolve(self._always)
        else:
            languages = {p.lang.name for b in trace.bound_symbols for p in b.flat_outputs if isinstance(p, TensorProxy)}
            behind = registry.get_always_executors(languages)
        found = [*named, *(e for e in behind if e not in named)]
        return [f for e in found for f in (e.fuser, e) if f is not None]

    @property
    def options(self) -> dict[str, Any]:
        """The options that it was made with: what :func:`jit` takes."""
        return {
            "executors": self._executors,
            "always_executors": self._always,
            "strict": self._strict,
            "fastmath": self._fastmath,
        }

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        if _is_found_by_name(self):
            return self.__qualname__
        return _rebuild, (self.__tnp_function__, self.options)

    def __repr__(self) -> str:
        return f"<tnp.jit of {self.__tnp_function__!r}>"


def _executors_named(executors: Any) -> tuple[Any, ...] | None:
    """What the user listed, which is looked up anew at each compilation. Raises ``ValueError`` for names of no executor."""
    if executors is None:
        return None
    named = executors if isinstance(executors, str) else tuple(executors)
    registry.resolve(named)
    return tuple(named)


def _keeping_errstate(program: Callable[..., Any]) -> Callable[..., Any]:
    """``program``, which sets how floating-point errors are reported, leaving that as it was even if it raises."""

    def run(*inputs: Any) -> Any:
        with np.errstate():
            return program(*inputs)

    return run


def _rebuild(function: Callable[..., Any], options: dict[str, Any]) -> Jitted:
    return Jitted(function, **options)


def _is_found_by_name(jitted: Jitted) -> bool:
    try:
        found: Any = importlib.import_module(jitted.__module__)
        for part in jitted.__qualname__.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    return found is jitted


def _check_compilable(function: Any) -> None:
    if not callable(function):
        raise TypeError(f"tnp.jit takes a function, not {type(function).__name__}")
    kinds = {
        "a generator": inspect.isgeneratorfunction,
        "a coroutine": inspect.iscoroutinefunction,
        "an asynchronous generator": inspect.isasyncgenfunction,
        "a class": inspect.isclass,
    }
    for kind, is_it in kinds.items():
        if is_it(function):
            code = getattr(function, "__code__", None)
            where = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
            raise TraceError(
                f"{getattr(function, '__qualname__', function)}{where} is {kind}, which tnp does not compile; "
                "jit the functions that it calls"
            )


def _binder(signature: inspect.Signature, name: str) -> tuple[Callable[..., Any], Callable[..., Any], int]:
    """From a signature: a function from its arguments to the tuple of its parameters' values, its inverse
    ``apply(f, values)``, and how many positional arguments need no binding."""
    parts: list[str] = []
    passed: list[str] = []
    context: dict[str, Any] = {}
    seen_star = seen_positional_only = False
    plain = 0
    for i, p in enumerate(signature.parameters.values()):
        if p.kind is p.POSITIONAL_ONLY:
            seen_positional_only = True
        elif seen_positional_only:
            parts.append("/")
            seen_positional_only = False
        if p.kind is p.VAR_POSITIONAL:
            parts.append(f"*{p.name}")
            passed.append(f"*values[{i}]")
            seen_star = True
            continue
        if p.kind is p.VAR_KEYWORD:
            parts.append(f"**{p.name}")
            passed.append(f"**values[{i}]")
            continue
        if p.kind is p.KEYWORD_ONLY and not seen_star:
            parts.append("*")
            seen_star = True
        text = p.name
        if p.default is not p.empty:
            context[f"_default_{i}"] = p.default
            text += f"=_default_{i}"
        parts.append(text)
        passed.append(f"{p.name}=values[{i}]" if p.kind is p.KEYWORD_ONLY else f"values[{i}]")
        plain += p.kind is not p.KEYWORD_ONLY
    if seen_positional_only:
        parts.append("/")
    names = "".join(f"{p}, " for p in signature.parameters)
    simple = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in signature.parameters.values())
    function_name = name if name.isidentifier() else "function"
    bind = compile_source(f"def {function_name}({', '.join(parts)}):\n  return ({names})\n", function_name, context)
    apply = compile_source(f"def apply(_f, values):\n  return _f({', '.join(passed)})\n", "apply", {})
    return bind, apply, plain if simple else -1


def _located(error: Exception, function: Any) -> Exception:
    """The error with the user's line at its end, if it does not name one yet."""
    text = str(error)
    if "\n" in text or " at " in text.rsplit(";", 1)[-1] or "(at " in text:
        return error
    code = getattr(function, "__code__", None)
    where = f"{code.co_filename}:{code.co_firstlineno} in {code.co_name}" if code is not None else str(function)
    return type(error)(f"{text} (at {where})")


def _backend(executors: Iterable[Any]) -> Backend:
    from tnp.executors.numpy import as_array, as_read_only, as_scalar, executor

    executors = tuple(executors)
    kinds = [
        registry.get_executor(k) for k in {"numpy": None} | {e.array_kind: None for e in executors if e.array_kind}
    ]
    memory = {e.name: MemoryOperations(*e.memory) for e in kinds if e is not None and e.memory is not None}
    conversions = {k: v for e in kinds if e is not None for k, v in e.conversions.items()}
    return Backend(executors, memory, as_scalar, as_array, as_read_only, Region, conversions, executor)


def jit(
    function: Any = None, *, executors: Iterable[Any] | None = None, always_executors: Iterable[Any] | None = None,
    device: str | None = None, strict: bool = False, fastmath: bool = False,
) -> Any:  # fmt: skip
    """Compiles a function: ``@tnp.jit``, ``tnp.jit(f)`` or ``@tnp.jit(executors=[…])``.

    The result is called as the function, with any arguments that it takes: arrays, numbers, containers and objects of
    them. The first call for arguments of a kind (shapes, dtypes, …) compiles; later ones run what was compiled.

    Args:
        function: a Python function, method, lambda or partial.
        executors: executors, or their names, to be asked before the ones that are always there; by default
            :func:`~tnp.get_default_executors`.
        always_executors: those to be asked last, instead of :func:`~tnp.extend.get_always_executors`. What none of all takes is a
            :class:`~tnp.NoExecutorError`.
        device: ``"cuda"``: NumPy programs run on CuPy's current CUDA device. ndarrays that the program reads are copied there at each call,
            and results, and what it writes to the caller's arrays, back. Not with ``executors``. Tensors run where they are.
        strict: refuse (:class:`~tnp.TraceError`) what would otherwise run eagerly or as an opaque call.
        fastmath: let compiled code reorder and contract floating-point operations and assume that there are no NaNs, no
            infinities and no negative zeros. Results differ from NumPy's in the last bits, and in those cases altogether.

    Raises:
        TraceError: for what tnp does not compile (generators, object arrays, …), with the arguments untouched.
        ValueError: for the name of an executor that is not here.
        NoDeviceError: for a device that is not here, as soon as that is known: by ``jit`` or by the first call.

    >>> import numpy as np, tnp
    >>> @tnp.jit
    ... def halve(x):
    ...     x /= 2
    ...     return x.sum()
    >>> a = np.array([2.0, 4.0])
    >>> halve(a), a
    (np.float64(3.0), array([1., 2.]))
    """
    if device is not None:
        if executors is not None:
            raise ValueError("jit takes device= or executors=, not both: executors run where they run")
        executors = registry.executors_of_device(device)
    options = {"executors": executors, "always_executors": always_executors, "strict": strict, "fastmath": fastmath}
    if function is None:
        return lambda f: jit(f, **options)
    if isinstance(function, Jitted):
        function = function.__tnp_function__
    if _is_module(function):
        from tnp.modules import JittedModule

        return JittedModule(function, **options)
    return Jitted(function, **options)


def _is_module(x: Any) -> bool:
    """Whether ``x`` is a module of torch's, which is then imported."""
    return "torch" in sys.modules and isinstance(x, sys.modules["torch"].nn.Module)


def trace() -> Callable[..., Trace]:
    """``tnp.trace()(f, *args, **kwargs)``: the acquired trace of ``f`` for these arguments, nothing run.

    >>> import numpy as np, tnp
    >>> print(tnp.trace()(lambda a: a + 1, np.ones(2)).bound_symbols[1])
    t0 = lnp.add(a, 1)  # t0: "cpu f64[2]"
      # t0 = prims.add(a, 1)  # t0: "cpu f64[2]"
    """

    def make(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Trace:
        jitted = function if isinstance(function, Jitted) else Jitted(function)
        values = jitted._bind(*args, **kwargs)
        prologue = Prologue(jitted._parameters)
        try:
            return acquire(jitted.__tnp_function__, jitted._parameters, jitted._apply, values, prologue=prologue).trace
        except NeedsEager as reason:
            raise TraceError(f"there is no trace: {reason.reason} ({reason.location})") from None

    return make


def _jitted(f: Any) -> Jitted:
    """The jitted function behind ``f``, which may be a method bound to an instance."""
    while isinstance(f, functools.partial):
        f = f.func
    if not isinstance(f, Jitted):
        raise TypeError(f"not a jitted function: {f!r}")
    return f


def _entry(f: Any) -> _Entry:
    f = _jitted(f)
    if not f._entries:
        raise RuntimeError(f"{f!r} has not been called, so nothing has been compiled")
    return f._entries[0]


def last_traces(f: Any) -> list[Trace]:
    """The traces of the program that ``f`` compiled last, after each pass; the last one is what runs.

    Empty if that call was found to run eagerly. Raises ``RuntimeError`` if ``f`` has not been called.
    """
    return list(_entry(f).traces)


def last_prologue_traces(f: Any) -> list[str]:
    """The prologue of the program that ``f`` compiled last, as Python source: its guards and what it fetches."""
    return [_entry(f).run.__tnp_source__]


def cache_info(f: Any) -> CacheInfo:
    """Hits, misses and the number of programs of a jitted function."""
    f = _jitted(f)
    return CacheInfo(f._hits, f._misses, len(f._entries))


class Explanation(str):
    """A text that shows itself as it is in an interactive session."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def explain(f: Any) -> Explanation:
    """What was compiled, as text: each program's operations by executor, regions with their loops, opaque calls, guards, and
    why it recompiled.

    >>> import numpy as np, tnp
    >>> f = tnp.jit(lambda x: np.sin(x) + 1)
    >>> f(np.zeros(3))
    array([1., 1., 1.])
    >>> print(tnp.explain(f))  # doctest: +ELLIPSIS
    <lambda>: 1 program, 0 hits, 1 miss
    program 0 (compiled in ... ms)
      executors: llvm 1
      ...
    """
    f = _jitted(f)
    name = getattr(f, "__qualname__", "function")
    lines = [f"{name}: {_count(len(f._entries), 'program')}, {_count(f._hits, 'hit')}, {_count(f._misses, 'miss')}"]
    for i, entry in enumerate(f._entries):
        if entry.eager_reason is not None:
            lines += [f"program {i}: eager", f"  {entry.eager_reason}"]
            continue
        lines.append(f"program {i} (compiled in {entry.seconds * 1000:.1f} ms)")
        lines += [f"  {line}" for line in _claims(entry.traces)]
        for b in entry.traces[-1].body:
            if isinstance(b.sym, FusedSymbol):
                lines += [f"  {b.sym.name}: {_count(len(b.subsymbols), 'operation')}"]
                lines += [f"    {line}" for line in b.sym.describe()]
        lines.append("  guards:")
        lines += [f"    {g.description}" for g in entry.prologue.guards]
    lines += [f"recompiled because {reason}" for reason in f._recompiled]
    return Explanation("\n".join(lines))


def _count(n: int, noun: str) -> str:
    return f"{n} {noun if n == 1 else noun + 'es' if noun.endswith('s') else noun + 's'}"


#: how the ids of symbols begin that are opaque calls, and what their functions are in
_OPAQUE = {"opaque": "np", "torch_opaque": "torch"}


def _claims(traces: list[Trace]) -> list[str]:
    counts: dict[str, int] = {}
    for b in traces[-1].body:
        if b.sym.executor is not None:
            counts[b.sym.executor.name] = counts.get(b.sym.executor.name, 0) + 1
    lines = ["executors: " + (", ".join(f"{k} {v}" for k, v in counts.items()) or "none needed")]
    for b in traces[0].bound_symbols:
        kind, _, function = b.sym.id.partition(".") if isinstance(b.sym.id, str) else ("", "", "")
        if kind in _OPAQUE and OpTags.RANDOM not in b.sym.tags:
            where = f" at {b.location}" if isinstance(b.location, UserLocation) else ""
            lines.append(f"opaque call: {_OPAQUE[kind]}.{function}{where}")
    return lines


_single: dict[Any, Jitted] = {}


def _call_one(symbol: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A symbol called outside any trace: that one operation, compiled and run."""
    jitted = _single.get(symbol)
    if jitted is None:

        def call(*args: Any, **kwargs: Any) -> Any:
            return state.current().call(symbol, args, kwargs)

        call.__name__ = call.__qualname__ = symbol.name
        call.__tnp_operation__ = symbol
        # Called a few times on arrays of many shapes, one operation is not worth compiling.
        single = [e for e in registry.get_default_executors() if not hasattr(e, "can_fuse")]
        jitted = _single[symbol] = Jitted(call, executors=single)
    with detached():
        return jitted(*args, **kwargs)


call_outside_trace_with(_call_one)


def set_num_threads(n: int) -> None:
    """Sets how many threads a compiled region may use; ``OMP_NUM_THREADS`` is the most. Results do not depend on it.

    Raises ``ValueError`` for less than 1.
    """
    from tnp.executors.llvm import threads

    threads.set_num_threads(n)


def get_num_threads() -> int:
    """How many threads a compiled region may use: at first as many as there are cores for this process.

    >>> import tnp
    >>> tnp.get_num_threads() >= 1
    True
    """
    from tnp.executors.llvm import threads

    return threads.get_num_threads()
