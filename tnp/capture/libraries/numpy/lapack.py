"""LAPACK's routines as NumPy calls them itself: generalized ufuncs under an ``np.errstate`` whose handler raises ``LinAlgError``.

Libraries that have copied a function of ``numpy.linalg`` call them. There they are the functions of ``numpy.linalg``.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.core.errors import NeedsEager
from tnp.lang import numpy as lnp
from tnp.lang.numpy.linalg.decompositions import complex_eig, complex_eigvals

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["begin", "call", "end", "is_handler", "is_routine"]

_HANDLERS = ("numpy.linalg._linalg", "numpy.linalg.linalg")
#: by the name of a generalized ufunc and its signature, the function that it computes
_ROUTINES: dict[tuple[str, str], Any] = {
    ("solve1", "dd->d"): lnp.linalg.solve, ("solve1", "DD->D"): lnp.linalg.solve,
    ("solve", "dd->d"): lnp.linalg.solve, ("solve", "DD->D"): lnp.linalg.solve,
    ("inv", "d->d"): lnp.linalg.inv, ("inv", "D->D"): lnp.linalg.inv,
    ("eig", "d->DD"): complex_eig, ("eig", "D->DD"): complex_eig,
    ("eigvals", "d->D"): complex_eigvals, ("eigvals", "D->D"): complex_eigvals,
}  # fmt: skip


def is_handler(x: Any) -> bool:
    """Whether a handler of floating-point errors is one of NumPy's that raise ``LinAlgError``."""
    is_raising = type(x) is types.FunctionType and x.__name__.startswith("_raise_linalgerror_")
    return is_raising and x.__module__ in _HANDLERS


def is_routine(x: Any) -> bool:
    """Whether a ufunc is one of LAPACK's routines."""
    return (
        isinstance(x, np.ufunc) and x.signature is not None and getattr(np.linalg._umath_linalg, x.__name__, None) is x
    )


def begin(tracer: Tracer) -> int:
    """Enters an ``np.errstate`` with such a handler."""
    tracer.lapack_calls = 0
    return len(tracer.trace.statements)


def end(tracer: Tracer, start: int) -> None:
    """Leaves it. Raises :class:`NeedsEager` if anything else has been computed, of whose errors the handler would be told."""
    calls, tracer.lapack_calls = tracer.lapack_calls, None
    if calls != len(tracer.trace.statements) - start:
        raise NeedsEager("it computes under a handler of floating-point errors")


def call(tracer: Tracer, ufunc: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a routine."""
    signature: Any = kwargs.get("signature")
    function = _ROUTINES.get((ufunc.__name__, signature)) if type(signature) is str and len(kwargs) == 1 else None
    if function is None or tracer.lapack_calls is None:
        raise NeedsEager(f"it calls {ufunc.__name__}, one of LAPACK's routines, as numpy.linalg does not")
    kind = np.dtype(signature[0])
    start = len(tracer.trace.statements)
    converted = [tracer.call(lnp.asarray, (a, kind), {}) for a in args]
    if ufunc.__name__ == "solve" and converted[1].ndim < 2:
        raise NeedsEager("it solves equations for no matrix")
    made = tracer.call(function, tuple(converted), {})
    tracer.lapack_calls += len(tracer.trace.statements) - start
    return made
