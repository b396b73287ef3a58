"""The trace checker: the invariants of a trace after every pass (under ``TNP_CHECK=1``, and in the tests), and checks
of the results of operations (always for extensions).
"""

from __future__ import annotations

import os
from typing import Any

from tnp.core.errors import TraceCheckError
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.subtraces import Body, bodies_of
from tnp.core.symbol import BoundSymbol, flat_proxies
from tnp.core.trace import Trace

__all__ = ["ResultCheck", "check_trace", "enabled"]


def enabled() -> bool:
    """Whether passes are checked."""
    return os.environ.get("TNP_CHECK", "") not in ("", "0")


class ResultCheck:
    """Called with what an executor's operation returned, gives it back if it is what its meta promises, and raises ``error`` if not.

    ``expected`` are proxies, in tuples as results are, or ``None`` where nothing may be returned. Of arrays the ``library`` (``"numpy"``, ``"torch"``), shape and dtype are
    compared, as far as they are known before the program runs; what is no array to the program is not looked at. An array of the class
    and dtype of the last one that was right takes a fifth of a microsecond.
    """

    __slots__ = ("dtype", "error", "expected", "kind", "library", "shape", "what")

    def __init__(self, operation: str, executor: str, library: str, expected: Any, error: type[Exception]) -> None:
        self.what = f"the operation {operation} of the executor {executor}"
        self.library = library
        self.expected = expected
        self.error = error
        is_known = isinstance(expected, TensorProxy) and all(type(d) is int for d in expected.shape)
        #: the shape of the one result, if it is known, and the class and dtype of one that was right
        self.shape = expected.shape if is_known else None
        self.kind: type | None = None
        self.dtype: Any = None

    def __call__(self, results: Any) -> Any:
        if type(results) is self.kind:
            array: Any = results
            if array.shape == self.shape and array.dtype == self.dtype:
                return results
        self.compare(self.expected, results)
        if self.shape is not None:
            self.kind, self.dtype = type(results), getattr(results, "dtype", None)
        return results

    def compare(self, expected: Any, results: Any) -> None:
        """Raises unless ``results`` are as ``expected``."""
        if isinstance(expected, (tuple, list)):
            if not isinstance(results, (tuple, list)) or len(results) != len(expected):
                returned = f"{len(results)} results" if isinstance(results, (tuple, list)) else _described(results)
                raise self.error(f"{self.what} returned {returned}, where its meta promises {len(expected)} results")
            for e, r in zip(expected, results):
                self.compare(e, r)
            return
        if expected is None and results is not None and results != ():
            raise self.error(
                f"{self.what} returned {_described(results)}, where all of its results are in its arguments' memory"
            )
        if not isinstance(expected, TensorProxy):
            return
        dtype = str(getattr(results, "dtype", "")).rpartition(".")[2]
        shape = tuple(getattr(results, "shape", ("?",)))
        fits = len(shape) == expected.ndim and all(type(d) is not int or d == n for d, n in zip(expected.shape, shape))
        made_by = type(results).__module__.partition(".")[0]
        if not fits or dtype != expected.dtype.name or made_by != self.library:
            promised = f'"{expected.type_string()}" of {self.library}'
            raise self.error(
                f"{self.what} returned {_described(results)} for {expected.name}, where its meta promises {promised}"
            )


def _described(x: Any) -> str:
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        return f"a {type(x).__module__.partition('.')[0]} array of {x.dtype} and shape {tuple(x.shape)}"
    return f"{x!r}"


#: what a name is that so far only the shape of an array gives
_SIZE = "a size"


def check_trace(trace: Trace) -> None:
    """Raises :class:`TraceCheckError` unless every name is defined once, before it is used, with one type.

    The last line must be the return, and the outputs of an operation must be among those of its subsymbols or its inputs.
    """
    from tnp.core import prims

    defined: dict[str, str] = {}
    for p in trace.args:
        if p.name in defined:
            raise TraceCheckError(f"argument {p.name} stands twice")
        defined[p.name] = p.type_string()
    for bsym in trace.bound_symbols:
        _check_one(bsym, defined, trace)
    last = trace.bound_symbols[-1] if trace.bound_symbols else None
    if last is None or last.sym is not prims.python_return:
        raise TraceCheckError(f"the trace does not end with its return:\n{trace}")


def _check_one(bsym: BoundSymbol, defined: dict[str, str], trace: Trace) -> None:
    from tnp.core import prims

    if bsym.sym in (prims.unpack_trivial, prims.python_del):
        return
    for p in bsym.flat_inputs:
        if p.name not in defined:
            raise TraceCheckError(f"{p.name} is used before it is defined, in\n{bsym}\nof\n{trace}")
        if isinstance(p, TensorProxy) and defined[p.name] != p.type_string():
            raise TraceCheckError(f"{p.name} is {defined[p.name]}, but used as {p.type_string()} in\n{bsym}")
    inner = dict(defined)
    for sub in bsym.subsymbols:
        _check_one(sub, inner, trace)
    for body in bodies_of(bsym):
        _check_body(body, defined, trace)
    for p in bsym.flat_outputs:
        if defined.get(p.name, _SIZE) != _SIZE:
            if all(p.name != q.name for q in bsym.flat_inputs):
                raise TraceCheckError(f"{p.name} is defined twice, the second time in\n{bsym}")
            continue
        if bsym.subsymbols and bsym.sym.executor is None and p.name not in inner:
            raise TraceCheckError(f"{p.name} comes out of\n{bsym}\nbut of none of its subsymbols")
        defined[p.name] = p.type_string()
        _define_sizes(p, defined)


def _define_sizes(p: Proxy, defined: dict[str, str]) -> None:
    for d in p.shape if isinstance(p, TensorProxy) else ():
        if type(d) is not int:
            defined.setdefault(d.name, _SIZE)  # type: ignore[union-attr]  # a size that is no int is a NumberProxy


def _check_body(body: Body, defined: dict[str, str], trace: Trace) -> None:
    """A body sees what is defined before it, and defines nothing outside."""
    inner = dict(defined)
    for p in body.args:
        if inner.get(p.name, _SIZE) != _SIZE:
            raise TraceCheckError(f"the body's argument {p.name} is defined before, in\n{trace}")
        inner[p.name] = p.type_string()
        _define_sizes(p, inner)
    for b in body.bound_symbols:
        _check_one(b, inner, trace)
    for q in flat_proxies(body.results):
        if q.name not in inner:
            raise TraceCheckError(f"a body gives {q.name}, which is not defined, in\n{trace}")
