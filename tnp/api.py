"""The public functions: ``jit``, and the functions that inspect compiled functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar, Unpack, overload

from tnp.capture.driver import capture_trace
from tnp.capture.guards.prologue import Prologue
from tnp.capture.guards.varying_values import mark_dynamic
from tnp.compile import single_operation  # noqa: F401 — compiles symbols that are called outside of tracing
from tnp.compile.cache_entry import CacheEntry
from tnp.compile.compiled_function import Jitted, programs_behind
from tnp.compile.specialization import SPECIALISATIONS
from tnp.core.errors import (
    NeedsEager,
    TraceError,
)
from tnp.core.trace import Trace
from tnp.executors import registry
from tnp.runtime.gc_tuning import relaxed_gc
from tnp.runtime.modules import loaded

if TYPE_CHECKING:
    from tnp.compile.function_types import JitDecorator, JitOptions, JittedFunction, ModuleLike, Tracing

P = ParamSpec("P")
R = TypeVar("R")
Module = TypeVar("Module", bound="ModuleLike")

__all__ = [
    "CacheInfo",
    "Jitted",
    "cache_info",
    "clear",
    "get_num_threads",
    "jit",
    "last_backward_traces",
    "last_prologue_traces",
    "last_traces",
    "mark_dynamic",
    "set_num_threads",
    "trace",
]


class CacheInfo(NamedTuple):
    """The use of a jitted function's cache: calls that ran a cached program, calls that compiled one, cached programs.

    >>> from tnp import CacheInfo
    >>> CacheInfo(hits=3, misses=1, size=1).hits
    3
    """

    hits: int
    misses: int
    size: int


@overload
def jit(function: Module, **options: Unpack[JitOptions]) -> Module: ...


@overload
def jit(function: Callable[P, R], **options: Unpack[JitOptions]) -> JittedFunction[P, R]: ...


@overload
def jit(function: None = None, **options: Unpack[JitOptions]) -> JitDecorator: ...


def jit(
    function: Any = None, *, executors: Iterable[Any] | None = None, always_executors: Iterable[Any] | None = None,
    device: str | None = None, strict: bool = False, fastmath: bool = False, specialisations: int = SPECIALISATIONS,
    cudagraphs: bool = False, dynamic: bool | None = None,
) -> Any:  # fmt: skip
    """Compiles a function: ``@tnp.jit``, ``tnp.jit(f)`` or ``@tnp.jit(executors=[…])``.

    The result is called like the function, with any of its arguments: arrays, numbers, containers and objects of them. The
    first call for some shapes, dtypes, … compiles a program; later calls run it.

    Args:
        function: a Python function, method, lambda or partial.
        executors: executors, or their names, in order of priority, before the always executors; by default
            :func:`~tnp.get_default_executors`.
        always_executors: the last executors, instead of :func:`~tnp.extend.get_always_executors`. An operation that no executor
            supports raises :class:`~tnp.NoExecutorError`.
        device: ``"cuda"``: NumPy programs run on CuPy's current CUDA device. At each call, ndarrays that the program reads are copied
            there; results, and writes to the caller's arrays, are copied back. Not with ``executors``. Tensors stay on their
            devices.
        strict: raise :class:`~tnp.TraceError` instead of running eagerly or making an opaque call.
        fastmath: let compiled code reorder and contract floating-point operations and assume that there are no NaNs, no
            infinities and no negative zeros. Results differ from NumPy's in the last bits, and arbitrarily in those cases.
        specialisations: the limit of programs that are specialized on values (``np.zeros(int(x.max()))``), per call signature. Calls
            with further values run eagerly; with 0, all such calls do.
        cudagraphs: capture programs of CUDA tensors into CUDA graphs at the second call, and replay them: a call costs one launch, a
            copy of the arguments whose memory has moved, and a copy of the results. Programs that cannot be captured run
            without a graph; :func:`tnp.explain` gives the reason.
        dynamic: which sizes of C-contiguous arrays are symbols, so that one program serves all of them, except 0 and 1, for which
            what it relies on holds (``x.shape[0] == y.shape[0]``). By default, those that differ from call to call, if the
            program has all its native code then; sizes whose calls take long get programs of their own again. ``True``: all,
            from the first call on; ``False``: none. See also :func:`~tnp.mark_dynamic`.

    Raises:
        TraceError: if tnp cannot compile the function (generators, object arrays, …); the arguments are unchanged.
        ValueError: if an executor's name is unknown.
        NoDeviceError: if the device is missing; raised by ``jit`` or by the first call.

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
    options: dict[str, Any] = {
        "executors": executors,
        "always_executors": always_executors,
        "strict": strict,
        "fastmath": fastmath,
        "specialisations": specialisations,
        "cudagraphs": cudagraphs,
        "dynamic": dynamic,
    }
    if type(specialisations) is not int or specialisations < 0:
        raise ValueError(f"specialisations is a count, not {specialisations!r}")
    if function is None:
        decorator: Callable[..., Any] = lambda f: jit(f, **options)  # noqa: E731
        return decorator
    if programs_behind(function) is not None:
        function = function.__tnp_function__
    return _jitted(function, **options)


def jitted_function(function: Any) -> Jitted:
    """The :class:`Jitted` of ``function``, which may be jitted already."""
    found = programs_behind(function) or programs_behind(_jitted(function))
    assert found is not None
    return found


def _jitted(function: Any, **options: Any) -> Any:
    """A function or a module, jitted."""
    if _is_module(function):
        from tnp.compile.jitted_module import JittedModule

        return JittedModule(function, **options)
    return Jitted(function, **options)


def _is_module(x: Any) -> bool:
    """Whether ``x`` is a torch module (which implies that torch is imported)."""
    torch = loaded("torch")
    return torch is not None and isinstance(x, torch.nn.Module)


def trace() -> Tracing:
    """``tnp.trace()(f, *args, **kwargs)``: the captured trace of ``f`` for these arguments, without running it.

    The returned function raises :class:`~tnp.TraceError` if ``f`` has no trace and would run eagerly.

    >>> import numpy as np, tnp
    >>> print(tnp.trace()(lambda a: a + 1, np.ones(2)).bound_symbols[1])
    t0 = lnp.add(a, 1)  # t0: "cpu f64[2]"
      # t0 = prims.add(a, 1)  # t0: "cpu f64[2]"
    """

    def make(function: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> Trace:
        jitted = programs_behind(function) or Jitted(function)
        form, values = jitted._formed(args, kwargs)
        prologue = Prologue(form.parameters)
        try:
            with relaxed_gc():
                return capture_trace(
                    jitted.__tnp_function__, form.parameters, form.apply, values, prologue=prologue
                ).trace
        except NeedsEager as reason:
            raise TraceError(f"there is no trace: {reason.reason} ({reason.location})") from None

    return make


def jitted_behind(f: Any) -> Jitted:
    """The :class:`Jitted` of ``f``, which may be a jitted method bound to an instance."""
    while type(f) is functools.partial:
        f = f.func
    found = programs_behind(f)
    if found is None:
        raise TypeError(f"not a jitted function: {f!r}")
    return found


def _entry(f: Any) -> CacheEntry:
    jitted = jitted_behind(f)
    if jitted._last is None:
        raise RuntimeError(f"{jitted!r} has not been called, so nothing has been compiled")
    return jitted._last


def last_traces(f: Any) -> list[Trace]:
    """The traces after each pass of the program that ``f`` compiled last; the last trace runs.

    Empty if that call ran eagerly. Raises ``RuntimeError`` if ``f`` has not been called.

    >>> import numpy as np, tnp
    >>> f = tnp.jit(lambda x: np.sort(x), executors=["numpy"])
    >>> f(np.array([2.0, 1.0]))
    array([1., 2.])
    >>> [b.sym.qualified_name for b in tnp.last_traces(f)[-1].body]
    ['np.sort']
    """
    return list(_entry(f).traces)


def last_backward_traces(f: Any) -> list[Trace]:
    """The traces after each pass of the backward program of the program that ``f`` compiled last; the last trace runs.

    Empty if that program's results are not differentiated. If no gradient was computed yet, the backward program is compiled now.

    >>> import torch, tnp
    >>> f = tnp.jit(lambda x: torch.sin(x).sum())
    >>> f(torch.zeros(3, requires_grad=True)).backward()
    >>> "cos" in str(tnp.last_backward_traces(f)[0])
    True
    """
    training = _entry(f).training
    return [] if training is None else list(training.backward_traces() or [])


def last_prologue_traces(f: Any) -> list[str]:
    """The prologue of the program that ``f`` compiled last, as Python source: its guards, and the expressions that fetch its inputs.

    Raises ``RuntimeError`` if ``f`` has not been called.

    >>> import numpy as np, tnp
    >>> f = tnp.jit(lambda x: x + 1, executors=["numpy"])
    >>> f(np.ones(3)).shape
    (3,)
    >>> "x.shape == (3,)" in tnp.last_prologue_traces(f)[0]
    True
    """
    run: Any = _entry(f).run
    return [run.__tnp_source__]


def cache_info(f: Any) -> CacheInfo:
    """Hits, misses and the number of programs of a jitted function, as :class:`CacheInfo`.

    Raises ``TypeError`` if ``f`` is not a jitted function.

    >>> import numpy as np, tnp
    >>> f = tnp.jit(lambda x: x + 1)
    >>> f(np.ones(3)).shape, f(np.zeros(3)).shape, f(np.ones(4)).shape
    ((3,), (3,), (4,))
    >>> tnp.cache_info(f)
    CacheInfo(hits=1, misses=2, size=2)
    """
    f = jitted_behind(f)
    return CacheInfo(f.dispatch.hits, f._misses, len(programs_of(f)))


def clear(f: Any) -> None:
    """Forgets the programs of a jitted function, module or method, and its counts; the next call compiles. ``f.clear()`` of a jitted
    function does the same. What is in the disk cache stays.

    Raises ``TypeError`` if ``f`` is not a jitted function.

    >>> import numpy as np, tnp
    >>> f = tnp.jit(lambda x: x + 1)
    >>> f(np.ones(3)).shape
    (3,)
    >>> tnp.clear(f)
    >>> tnp.cache_info(f)
    CacheInfo(hits=0, misses=0, size=0)
    """
    jitted_behind(f).clear()


def programs_of(f: Jitted) -> list[tuple[CacheEntry, list[str]]]:
    """The programs of a jitted function, each with the values on which it is specialized, as lines of an explanation."""
    found: list[tuple[CacheEntry, list[str]]] = []
    for entry in f._entries:
        if entry.guard is None:
            found.append((entry, []))
        else:
            found += [(leaf, [f"  for {line}" for line in conditions]) for conditions, leaf in entry.guard.leaves()]
    return found


def set_num_threads(n: int) -> None:
    """Sets the number of threads ``n`` of compiled regions, at most ``OMP_NUM_THREADS``. Results do not depend on it.

    Raises ``ValueError`` if ``n`` is less than 1.

    >>> import tnp
    >>> before = tnp.get_num_threads()
    >>> tnp.set_num_threads(1)
    >>> tnp.get_num_threads()
    1
    >>> tnp.set_num_threads(before)
    """
    from tnp.runtime import threads

    threads.set_num_threads(n)


def get_num_threads() -> int:
    """The number of threads of compiled regions: by default the number of cores that this process may use.

    >>> import tnp
    >>> tnp.get_num_threads() >= 1
    True
    """
    from tnp.runtime import threads

    return threads.get_num_threads()
