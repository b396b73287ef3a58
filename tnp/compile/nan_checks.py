"""Programs that look for the first operation that makes a NaN or an infinity of finite values (:func:`tnp.debug_nans`).

They are compiled without fusion, so that each operation's values exist, and have a check around each operation: it looks at the
inputs before, and at the results, and what was written to, afterwards.
"""

from __future__ import annotations

import cmath
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.core.errors import UserLocation
from tnp.core.subtraces import is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags, Symbol
from tnp.core.trace import Trace
from tnp.transforms.subtraces import in_bodies

__all__ = ["checked_program"]


def checked_program(trace: Trace) -> Callable[..., Any]:
    """A finished program as a function that raises ``FloatingPointError`` at the first such operation."""
    return _checked(trace).python_callable()


def _checked(trace: Trace) -> Trace:
    trace = in_bodies(_checked, trace)
    new = Trace.like(trace)
    for b in trace.bound_symbols:
        if not _may_make_some(b):
            new.bound_symbols.append(b)
            continue
        check, inputs, outputs = _Check(b), _once(b.flat_inputs), _once((*b.flat_outputs, *b.flat_inputs))
        new.bound_symbols += [
            _BEFORE.bind(check, *inputs, output=None), b, _AFTER.bind(check, *outputs, output=None)
        ]  # fmt: skip
    return new


def _may_make_some(b: BoundSymbol) -> bool:
    """Whether an operation is to be checked: not one of constants, nor one of new memory, whose content is nobody's."""
    is_statement = OpTags.PROGRAM in b.sym.tags or is_control_flow(b)
    return not is_statement and bool(b.flat_inputs) and not b.sym.name.startswith(("empty", "new_empty"))


def _once(proxies: Any) -> list[Any]:
    return list({p.name: p for p in proxies}.values())


class _Check:
    """The check of one operation."""

    __slots__ = ("bsym", "is_due")

    def __init__(self, bsym: BoundSymbol) -> None:
        self.bsym = bsym
        self.is_due = False

    def before(self, *inputs: Any) -> None:
        """Notes whether all that the operation takes is finite."""
        constants = (x for x in (*self.bsym.args, *self.bsym.kwargs.values()) if isinstance(x, (float, complex)))
        self.is_due = all(_fault(x) is None for x in (*inputs, *constants))

    def after(self, *values: Any) -> None:
        """Raises ``FloatingPointError`` if a value is not finite, and all was before."""
        fault = next((f for f in map(_fault, values) if f is not None), None) if self.is_due else None
        if fault is not None:
            raise FloatingPointError(f"{self.bsym.sym.qualified_name} makes {fault} of finite values{self._where()}")

    def _where(self) -> str:
        parts = (self.bsym, *self.bsym.subsymbols)
        location = next((b.location for b in parts if isinstance(b.location, UserLocation)), None)
        if location is None:
            return ""
        source = linecache.getline(location.filename, location.line).strip()
        return f" at {location}{f': {source}' if source else ''}"


def _fault(x: Any) -> str | None:
    """What of ``x`` is not finite: ``"nan, in element (0, 3),"``; ``None`` if all of it is."""
    kind = type(x)
    if kind is float or kind is complex:
        return None if cmath.isfinite(x) else repr(x)
    if isinstance(x, (np.ndarray, np.generic)):
        return _fault_of_array(x) if x.dtype.kind in "fc" else None
    if isinstance(x, (list, tuple)):
        return next((f for f in map(_fault, x) if f is not None), None)
    if hasattr(x, "is_floating_point") and (x.is_floating_point() or x.is_complex()):  # a tensor
        x = x.detach()
        return (
            None
            if bool(x.isfinite().all())
            else _fault_of_array((x.cdouble() if x.is_complex() else x.double()).cpu().numpy())
        )
    return None


def _fault_of_array(x: Any) -> str | None:
    is_finite = np.isfinite(x)
    if np.all(is_finite):
        return None
    at = np.unravel_index(int(np.argmin(is_finite)), np.shape(x))
    element = f", in element {tuple(map(int, at))}," if at else ""
    return f"{x[at].item() if at else x.item()}{element}"


def _statement(what: str) -> Symbol:
    def printed(bsym: BoundSymbol, context: dict[str, Any]) -> str:
        check, *values = bsym.args
        name = f"_check{id(check)}"
        context[name] = check
        return f"{name}.{what}({', '.join(p.name for p in values)})"

    return Symbol(f"check_{what}", lambda *args: None, is_prim=True, tags=(OpTags.EFFECT,), printer=printed)


_BEFORE, _AFTER = _statement("before"), _statement("after")
