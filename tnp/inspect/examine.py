"""``examine``: what of a function tnp can compile."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ParamSpec

import numpy as np

from tnp.api import jitted_function
from tnp.capture.libraries.numpy.dtype_queries import ANSWERS
from tnp.core.errors import NeedsEager, NoExecutorError, TraceError, UserLocation, user_location
from tnp.core.subtraces import bodies_of
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.core.trace import Trace
from tnp.inspect.copies import copied
from tnp.inspect.explain import OPAQUE
from tnp.lang.numpy.registry import symbol_of

__all__ = ["Examination", "examine"]

P = ParamSpec("P")


@dataclass
class Examination:
    """The result of :func:`examine`; prints as text. An example is at :func:`examine`.

    ``name`` is the function's. ``operations`` counts the operations of the trace, by their printed names.
    ``unsupported`` has the functions without a definition and the user's lines that call them, one per occurrence: they
    are *opaque calls*, or, if ``eager_reason`` or ``error`` says that there is no trace, they prevent one.
    ``executors`` counts the statements of the program by executor.
    """

    name: str
    operations: Counter[str] = field(default_factory=Counter)
    unsupported: dict[str, list[str]] = field(default_factory=dict)
    executors: Counter[str] = field(default_factory=Counter)
    eager_reason: str = ""
    error: str = ""

    @property
    def compiles(self) -> bool:
        """Whether a call with these arguments runs as a compiled program."""
        return not self.eager_reason and not self.error

    def __str__(self) -> str:
        if self.error:
            lines = [f"{self.name}: refused: {self.error}"]
        elif self.eager_reason:
            lines = [f"{self.name}: runs eagerly: {self.eager_reason}"]
        else:
            lines = [f"{self.name}: compiles"]
        if self.operations:
            lines.append("  operations: " + ", ".join(f"{k} {n}" for k, n in self.operations.most_common()))
        if self.executors:
            lines.append("  executors: " + ", ".join(f"{k} {n}" for k, n in self.executors.most_common()))
        if self.unsupported:
            lines.append("  not compiled:" if not self.compiles else "  not compiled, run as they are:")
        for name, where in sorted(self.unsupported.items(), key=lambda item: (-len(item[1]), item[0])):
            lines.append(f"    {name}: {len(where)} call{'s' if len(where) > 1 else ''}")
            lines += [f"      {line}{f' ({n} times)' if n > 1 else ''}" for line, n in Counter(where).items()]
        return "\n".join(lines)

    __repr__ = __str__


def examine(function: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> Examination:
    """Shows what of ``function`` tnp can compile for these arguments. If it can be traced, only value guards run (see
    ``specialisations`` of :func:`tnp.jit`), without effects.

    If it cannot, the function is called once, eagerly, with copies of the arguments, and the functions of NumPy and
    torch that it calls on them and on derived values are recorded: ``unsupported`` then has all that lack a definition,
    not only the first. The function's side effects (printing, writing files, changing globals) happen then.

    Returns an :class:`Examination`, which prints as text. Raises ``TypeError`` for arguments that do not match the
    function's signature; errors of the function itself are reported as ``error``.

    >>> import numpy as np, tnp
    >>> found = tnp.examine(lambda x: np.i0(np.sin(x)) + 1, np.ones(3))
    >>> found.compiles, list(found.unsupported), found.operations["lnp.sin"]
    (True, ['np.i0'], 1)
    """
    jitted = jitted_function(function)
    fresh_args, fresh_kwargs = copied((args, kwargs))
    form, values = jitted._formed(fresh_args, fresh_kwargs)
    found = Examination(jitted.called)
    try:
        trace, program = jitted.traced(form, values)
        _describe(trace, found)
        for b in _all(program.body):
            if b.sym.executor is not None:
                found.executors[b.sym.executor.name] += 1
        return found
    except NeedsEager as reason:
        found.eager_reason = f"{reason.reason} ({reason.location})"
    except (TraceError, NoExecutorError) as error:
        found.error = str(error)
        return found
    except Exception as error:  # the function's own, or one that only tracing meets: calling it tells which
        found.eager_reason = f"tracing raised {error!r}"
    found.operations.clear()
    _watch(lambda v: form.apply(jitted.__tnp_function__, v), copied(values), found)
    return found


def _all(bsyms: Iterable[BoundSymbol]) -> Iterator[BoundSymbol]:
    for b in bsyms:
        yield b
        for body in bodies_of(b):
            yield from _all(body.bound_symbols)


def _describe(trace: Trace, found: Examination) -> None:
    for b in _all(trace.body):
        kind, _, name = b.sym.id.partition(".") if isinstance(b.sym.id, str) else ("", "", "")
        if kind in OPAQUE and OpTags.RANDOM not in b.sym.tags:
            _note(found, f"{OPAQUE[kind]}.{name}", b.location)
        elif OpTags.PROGRAM not in b.sym.tags:
            found.operations[b.sym.qualified_name] += 1


def _note(found: Examination, name: str, location: Any) -> None:
    where = str(location) if isinstance(location, UserLocation) else "outside the program's own files"
    found.unsupported.setdefault(name, []).append(where)


def _watch(call: Callable[[Any], Any], values: tuple[Any, ...], found: Examination) -> None:
    """Calls the function eagerly and notes the functions that lack a definition."""

    def called(function: Any, name: str) -> None:
        if function is None or (symbol_of(function) is None and function not in ANSWERS):
            _note(found, name, user_location())

    with _torch_calls(found), np.errstate(all="ignore"):
        try:
            call(_watched(values, called))
        except Exception as error:
            found.error = f"it raises {error!r}"


class _Watched(np.ndarray[Any, Any]):
    """An array that records the NumPy functions that are called on it, or on their results."""

    called: Callable[[Any, str], None]

    def __array_finalize__(self, other: Any) -> None:
        if isinstance(other, _Watched):
            self.called = other.called

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        bound = ufunc if method == "__call__" else getattr(ufunc, method)
        self.called(ufunc, f"np.{ufunc.__name__}")
        return _watched(bound(*_plain(inputs), **_plain(kwargs)), self.called)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        module = str(getattr(function, "__module__", "numpy")).replace("numpy", "np", 1)
        self.called(function, f"{module}.{getattr(function, '__name__', function)}")
        return _watched(function(*_plain(args), **_plain(kwargs)), self.called)


def _watched(x: Any, called: Callable[[Any, str], None]) -> Any:
    if type(x) is np.ndarray and not x.dtype.hasobject:
        seen = x.view(_Watched)
        seen.called = called
        return seen
    return _through(x, lambda y: _watched(y, called))


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, _Watched) else _through(x, _plain)


def _through(x: Any, f: Callable[[Any], Any]) -> Any:
    if type(x) in (tuple, list):
        return type(x)(f(y) for y in x)
    return {k: f(v) for k, v in x.items()} if type(x) is dict else x


def _torch_calls(found: Examination) -> AbstractContextManager[Any]:
    """While it is entered, functions of torch that lack a definition are noted."""
    if "torch" not in sys.modules:
        return nullcontext()
    from tnp.inspect.torch_calls import Watching

    return Watching(lambda name: _note(found, name, user_location()))
