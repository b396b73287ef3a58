"""Programs under NumPy, with bounds of their errors: 0 for an exact value, infinite where nothing can be said."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .programs import MOST, Statement


class Rejected(Exception):
    """A statement whose result cannot be compared, or is too large."""


class Replay:
    """A program's variables as it runs under NumPy, and for each a bound of its absolute error."""

    def __init__(self, names: Sequence[str], arguments: Sequence[Any]) -> None:
        self.scope: dict[str, Any] = {"np": np, **dict(zip(names, arguments))}
        self.variables = dict.fromkeys(names, 0.0)
        self.signed_zeros = True

    def arrays(self) -> Iterator[tuple[str, Any]]:
        for name in self.variables:
            yield name, self.scope[name]

    def step(self, s: Statement) -> None:
        """Runs a statement. Raises what it raises, or :class:`Rejected`."""
        if _grows(s.text, [np.shape(self.scope[r]) for r in s.reads]):
            raise Rejected("too large")
        before = [_magnitude(self.scope[r]) for r in s.reads]
        errors = [self.variables[r] for r in s.reads]
        most = max((np.size(self.scope[r]) for r in s.reads), default=1)
        with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore", invalid="warn"):
            warnings.simplefilter("always")
            exec(s.text, self.scope)
        if any("in cast" in str(w.message) for w in caught):
            raise Rejected("a cast without a meaning")
        value = self.scope[s.target]
        if np.size(value) > MOST or not isinstance(value, (np.ndarray, np.generic, int, float, complex, bool)):
            raise Rejected("too large, or no array")
        if isinstance(value, np.ndarray) and value.dtype.kind not in "biufc":
            raise Rejected("no numbers")
        self.signed_zeros &= "z" not in s.kind
        error = self._error(s, value, before, errors, most)
        self.variables[s.target] = max(error, self.variables.get(s.target, 0.0) if "v" not in s.kind else 0.0)
        if isinstance(value, np.ndarray):
            for name, other in self.arrays():
                if isinstance(other, np.ndarray) and np.may_share_memory(value, other):
                    self.variables[name] = max(self.variables[name], self.variables[s.target])

    def _error(self, s: Statement, value: Any, before: list[float], errors: list[float], most: int) -> float:
        dtype = np.asarray(value).dtype
        is_rounded = (
            "~" in s.kind
            or "r" in s.kind
            or (("c" in s.kind or "abs(" in s.text or "sign(" in s.text) and self._is_complex(s, dtype))
        )
        if not any(errors) and (not is_rounded or (dtype.kind in "biu" and not self._is_inexact_inside(s))):
            return 0.0
        if any(errors) and ("d" in s.kind or "s" in s.kind or dtype.kind in "biu"):
            return math.inf
        if dtype.kind in "biu":
            return math.inf
        if "v" in s.kind:
            return max(errors)
        count = most if "r" in s.kind or ".at(" in s.text else 1
        eps = max(_eps(dtype), *(_eps(_computed_in(np.asarray(self.scope[r]).dtype)) for r in s.reads))
        size = max(1.0, _magnitude(value), *before)
        amplified = count * math.prod(max(1.0, b) for b in before) * max(1.0, _magnitude(value))
        if "m" in s.kind and most > 64:
            return math.inf
        if "r" in s.kind and max(before, default=0) ** 2 * count > _largest(dtype) / 4:
            return math.inf
        return eps * 16 * size * count**0.75 + (amplified * sum(errors) if any(errors) else 0.0)

    def _is_complex(self, s: Statement, dtype: np.dtype) -> bool:
        return dtype.kind == "c" or any(np.asarray(self.scope[r]).dtype.kind == "c" for r in s.reads)

    def _is_inexact_inside(self, s: Statement) -> bool:
        """Whether an exact dtype comes out of a statement with inexact steps."""
        return any(np.asarray(self.scope[r]).dtype.kind in "fc" for r in s.reads) and s.text.startswith(s.target + "[")


def _grows(text: str, shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether a statement may make arrays of too many elements."""
    most = max(map(math.prod, shapes), default=0)
    if any(x in text for x in ("outer", "eye", "diag", ":, None", "dot", "inner", "@", "correlate")):
        return most**2 > 40 * MOST
    if ".at(" in text or "[i" in text:
        return math.prod(sorted(map(math.prod, shapes))[-2:]) > 10 * MOST
    try:
        return math.prod(np.broadcast_shapes(*shapes)) > MOST
    except ValueError:
        return False


def _computed_in(dtype: np.dtype) -> np.dtype:
    """The dtype in which NumPy computes the sine of an array of ``dtype``: of small integers, that is a small float."""
    return dtype if dtype.kind in "fc" else np.result_type(dtype, np.float16)


def _eps(dtype: np.dtype) -> float:
    return float(np.finfo(dtype).eps) if dtype.kind in "fc" else 0.0


def _largest(dtype: np.dtype) -> float:
    return float(np.finfo(dtype).max)


def _magnitude(x: Any) -> float:
    x = np.asarray(x)
    if x.dtype.kind in "b" or not x.size:
        return 1.0
    with np.errstate(all="ignore"):
        a = np.abs(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64))
        a = a[np.isfinite(a)]
    return float(a.max()) if a.size else 1.0
