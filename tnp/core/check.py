"""Whether checks are on (``TNP_CHECK=1``, and in the tests), and the check of what operations return (extensions' always).

:mod:`tnp.core.trace_check` checks traces.
"""

from __future__ import annotations

from typing import Any

from tnp.core.proxies import TensorProxy
from tnp.runtime import environment

__all__ = ["ResultCheck", "enabled"]


def enabled() -> bool:
    """Whether passes are checked."""
    return environment.is_on("TNP_CHECK")


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
        made_by = str(type(results).__module__).partition(".")[0]
        if not fits or dtype != expected.dtype.name or made_by != self.library:
            promised = f'"{expected.type_string()}" of {self.library}'
            raise self.error(
                f"{self.what} returned {_described(results)} for {expected.name}, where its meta promises {promised}"
            )


def _described(x: Any) -> str:
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        return f"a {str(type(x).__module__).partition('.')[0]} array of {x.dtype} and shape {tuple(x.shape)}"
    return f"{x!r}"
