"""The public functions: ``jit``, and the functions that inspect compiled functions."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tnp.capture.driver import acquire
from tnp.capture.guards.prologue import Prologue
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

__all__ = [
    "CacheInfo",
    "Jitted",
    "cache_info",
    "get_num_threads",
    "jit",
    "last_backward_traces",
    "last_prologue_traces",
    "last_traces",
    "set_num_threads",
    "trace",
]


class CacheInfo(NamedTuple):
    """How a jitted function's programs were used: calls served by a compiled one, programs made, programs kept.

    >>> from tnp import CacheInfo
    >>> CacheInfo(hits=3, misses=1, size=1).hits
    3
    """

    hits: int
    misses: int
    size: int


def jit(
    function: Any = None, *, executors: Iterable[Any] | None = None, always_executors: Iterable[Any] | None = None,
    device: str | None = None, strict: bool = False, fastmath: bool = False, specialisations: int = SPECIALISATIONS,
    cudagraphs: bool = False,
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
        strict: raise :class:`~tnp.TraceError` instead of running eagerly or making an opaque call.
        fastmath: let compiled code reorder and contract floating-point operations and assume that there are no NaNs, no
            infinities and no negative zeros. Results differ from NumPy's in the last bits, and in those cases altogether.
        specialisations: of a program that Python needs values of (``np.zeros(int(x.max()))``), for how many different ones it is compiled
            at most, for each kind of arguments. Calls that lead to others run eagerly, as do all such programs with 0.
        cudagraphs: programs of CUDA tensors are captured into CUDA graphs, from the second call on, and replayed: a call costs one launch, a copy
            of the arguments that are not where they were, and one of the results. What cannot be captured runs as without it;
            :func:`tnp.explain` says why.

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
    options: dict[str, Any] = {
        "executors": executors,
        "always_executors": always_executors,
        "strict": strict,
        "fastmath": fastmath,
        "specialisations": specialisations,
        "cudagraphs": cudagraphs,
    }
    if type(specialisations) is not int or specialisations < 0:
        raise ValueError(f"specialisations is a count, not {specialisations!r}")
    if function is None:
        return lambda f: jit(f, **options)
    if programs_behind(function) is not None:
        function = function.__tnp_function__
    return _jitted(function, **options)


def jitted_function(function: Any) -> Jitted:
    """What has the programs of ``function``, which may be jitted already."""
    found = programs_behind(function) or programs_behind(_jitted(function))
    assert found is not None
    return found


def _jitted(function: Any, **options: Any) -> Any:
    """What :func:`jit` makes of a function or a module."""
    if _is_module(function):
        from tnp.compile.jitted_module import JittedModule

        return JittedModule(function, **options)
    return Jitted(function, **options)


def _is_module(x: Any) -> bool:
    """Whether ``x`` is a module of torch's, which is then imported."""
    return "torch" in sys.modules and isinstance(x, sys.modules["torch"].nn.Module)


def trace() -> Callable[..., Trace]:
    """``tnp.trace()(f, *args, **kwargs)``: the acquired trace of ``f`` for these arguments, nothing run.

    The function returned raises :class:`~tnp.TraceError` where there is no trace, for ``f`` would run eagerly.

    >>> import numpy as np, tnp
    >>> print(tnp.trace()(lambda a: a + 1, np.ones(2)).bound_symbols[1])
    t0 = lnp.add(a, 1)  # t0: "cpu f64[2]"
      # t0 = prims.add(a, 1)  # t0: "cpu f64[2]"
    """

    def make(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Trace:
        jitted = programs_behind(function) or Jitted(function)
        form, values = jitted._formed(args, kwargs)
        prologue = Prologue(form.parameters)
        try:
            with relaxed_gc():
                return acquire(jitted.__tnp_function__, form.parameters, form.apply, values, prologue=prologue).trace
        except NeedsEager as reason:
            raise TraceError(f"there is no trace: {reason.reason} ({reason.location})") from None

    return make


def jitted_behind(f: Any) -> Jitted:
    """What has the programs of ``f``, which may be a jitted method bound to an instance."""
    while isinstance(f, functools.partial):
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
    """The traces of the program that ``f`` compiled last, after each pass; the last one is what runs.

    Empty if that call was found to run eagerly. Raises ``RuntimeError`` if ``f`` has not been called.

    >>> import numpy as np, tnp
    >>> f = tnp.jit(lambda x: np.sort(x), executors=["numpy"])
    >>> f(np.array([2.0, 1.0]))
    array([1., 2.])
    >>> [b.sym.qualified_name for b in tnp.last_traces(f)[-1].body]
    ['np.sort']
    """
    return list(_entry(f).traces)


def last_backward_traces(f: Any) -> list[Trace]:
    """The traces of the backward program of the program that ``f`` compiled last, after each pass; the last one is what runs.

    Empty if that program's results are not differentiated. If no gradient was asked for yet, it is compiled now.

    >>> import torch, tnp
    >>> f = tnp.jit(lambda x: torch.sin(x).sum())
    >>> f(torch.zeros(3, requires_grad=True)).backward()
    >>> "cos" in str(tnp.last_backward_traces(f)[0])
    True
    """
    training = _entry(f).training
    return [] if training is None else list(training.backward_traces() or [])


def last_prologue_traces(f: Any) -> list[str]:
    """The prologue of the program that ``f`` compiled last, as Python source: its guards and what it fetches.

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

    Raises ``TypeError`` for what is no jitted function.

    >>> import numpy as np, tnp
    >>> f = tnp.jit(lambda x: x + 1)
    >>> f(np.ones(3)).shape, f(np.zeros(3)).shape, f(np.ones(4)).shape
    ((3,), (3,), (4,))
    >>> tnp.cache_info(f)
    CacheInfo(hits=1, misses=2, size=2)
    """
    f = jitted_behind(f)
    return CacheInfo(f._hits, f._misses, len(programs_of(f)))


def programs_of(f: Jitted) -> list[tuple[CacheEntry, list[str]]]:
    """The programs of a jitted function, each with the values that it is for, as lines of an explanation."""
    found: list[tuple[CacheEntry, list[str]]] = []
    for entry in f._entries:
        if entry.question is None:
            found.append((entry, []))
        else:
            found += [(leaf, [f"  for {line}" for line in conditions]) for conditions, leaf in entry.question.leaves()]
    return found


def set_num_threads(n: int) -> None:
    """Sets how many threads, ``n``, a compiled region may use; ``OMP_NUM_THREADS`` is the most. Results do not depend on it.

    Raises ``ValueError`` for less than 1.

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
    """How many threads a compiled region may use: at first as many as there are cores for this process.

    >>> import tnp
    >>> tnp.get_num_threads() >= 1
    True
    """
    from tnp.runtime import threads

    return threads.get_num_threads()
