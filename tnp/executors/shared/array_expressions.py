"""View operations as NumPy expressions: how they print, in reads (``t1 = x[1:]``) and in writes (``x[1:] = t2``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.core import prims, views
from tnp.core.dtypes import DType
from tnp.core.printing import add_import, literal
from tnp.core.symbol import BoundSymbol, Symbol

__all__ = ["is_expressible", "key_string", "print_update", "view_expression"]


def key_string(key: Any, context: dict[str, Any]) -> str:
    """What stands between the brackets: ``1:, None, ..., t0``."""
    if isinstance(key, tuple):
        if not key:
            return "()"
        inner = ", ".join(_key_part(k, context) for k in key)
        return f"{inner}," if len(key) == 1 else inner
    return _key_part(key, context)


def _key_part(k: Any, context: dict[str, Any]) -> str:
    if isinstance(k, slice):
        start, stop, step = ("" if p is None else literal(p, context) for p in (k.start, k.stop, k.step))
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"
    return literal(k, context)


def _slices(starts: Any, stops: Any, strides: Any, context: dict[str, Any]) -> str:
    steps = [1] * len(starts) if strides is None else strides
    return key_string(tuple(slice(a, b, None if s == 1 else s) for a, b, s in zip(starts, stops, steps)), context)


def _slice(e: str, context: dict[str, Any], starts: Any, stops: Any, strides: Any = None) -> str:
    return f"{e}[{_slices(starts, stops, strides, context)}]"


def _at(dim: int, part: Any) -> tuple[Any, ...]:
    return (slice(None),) * dim + (part,)


def _transpose(e: str, context: dict[str, Any], permutation: Any) -> str:
    return f"{e}.transpose({literal(tuple(permutation), context)})"


def _squeeze(e: str, context: dict[str, Any], dims: Any) -> str:
    return f"{e}.squeeze({literal(tuple(dims), context)})"


def _flip(e: str, context: dict[str, Any], dims: Any) -> str:
    reverse = slice(None, None, -1)
    return f"{e}[{key_string(tuple(reverse if d in dims else slice(None) for d in range(max(dims) + 1)), context)}]"


def _select(e: str, context: dict[str, Any], dim: int, index: Any) -> str:
    return f"{e}[{key_string(_at(dim, index), context)}]" if dim else f"{e}[{literal(index, context)}]"


def _dynamic_slice(e: str, context: dict[str, Any], dim: int, start: Any, stop: Any, step: int = 1) -> str:
    return f"{e}[{key_string(_at(dim, slice(start, stop, None if step == 1 else step)), context)}]"


def broadcast_in_dim(a: Any, shape: Any, dims: Any) -> Any:
    """``prims.broadcast_in_dim`` on NumPy arrays; a writable view where nothing is repeated."""
    middle = [1] * len(shape)
    for n, d in zip(np.shape(a), dims):
        middle[d] = n
    wide = np.reshape(a, middle)
    return wide if wide.shape == tuple(shape) else np.broadcast_to(wide, shape)


def diagonal_view(a: Any, offset: int, dim1: int, dim2: int) -> Any:
    """``np.diagonal``, writable if ``a`` is."""
    view = np.diagonal(a, offset, dim1, dim2)
    if getattr(a.flags, "writeable", False):  # CuPy's arrays all are, and cannot say so
        view.flags.writeable = True
    return view


def _broadcast(e: str, context: dict[str, Any], shape: Any, dims: Any) -> str:
    context["broadcast_in_dim"] = broadcast_in_dim
    return f"broadcast_in_dim({e}, {literal(tuple(shape), context)}, {literal(tuple(dims), context)})"


def _diagonal(e: str, context: dict[str, Any], *args: Any) -> str:
    context["diagonal_view"] = diagonal_view
    return f"diagonal_view({e}, {', '.join(literal(a, context) for a in args)})"


def dtype_string(dtype: DType, context: dict[str, Any]) -> str:
    """``np.float64``."""
    add_import(context, "import numpy as np")
    return "np.bool" if dtype.kind == "b" else f"np.{dtype.name}"


_BY_NAME: dict[str, Callable[..., str]] = {
    "prims.slice": _slice,
    "prims.transpose": _transpose,
    "prims.reshape": lambda e, context, shape: f"{e}.reshape({literal(tuple(shape), context)})",
    "prims.squeeze": _squeeze,
    "prims.flip": _flip,
    "prims.select": _select,
    "prims.dynamic_slice": _dynamic_slice,
    "prims.broadcast_in_dim": _broadcast,
    "prims.diagonal": _diagonal,
    "prims.bitcast": lambda e, context, dtype: f"{e}.view({dtype_string(dtype, context)})",
    "prims.real": lambda e, context: f"{e}.real",
    "prims.as_language": lambda e, context, name: e,
    "prims.imag": lambda e, context: f"{e}.imag",
}


def view_expression(sym: Symbol, e: str, args: Any, kwargs: Any, context: dict[str, Any]) -> str | None:
    """``sym(e, *args, **kwargs)`` as a NumPy expression; ``None`` if there is no form for it."""
    if sym.id == "numpy.ndarray.getitem":
        return f"{e}[{key_string(args[0], context)}]"
    printer = _BY_NAME.get(sym.qualified_name)
    if printer is not None:
        return printer(e, context, *args, **kwargs)
    if isinstance(sym.id, str) and sym.id.startswith("numpy."):
        parts = [literal(a, context) for a in args] + [f"{k}={literal(v, context)}" for k, v in kwargs.items()]
        name = sym.id.removeprefix("numpy.")
        if name.startswith("ndarray."):
            return f"{e}.{name.removeprefix('ndarray.')}({', '.join(parts)})"
        add_import(context, "import numpy as np")
        return f"np.{name}({', '.join([e, *parts])})"
    return None


def print_update(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    """``a[1:] = value``."""
    a, value, *rest = bsym.args
    target = literal(a, context)
    path = rest[0] if rest else None
    if path is None:
        return f"{target}[...] = {literal(value, context)}"
    *before, last = path.steps
    for step in before:
        if step.symbol is prims.select:  # with ``...``, for of one dimension it is an element else, no view
            dim, index = step.args
            target = f"{target}[{key_string((*(slice(None),) * dim, index, Ellipsis), context)}]"
        else:
            target = view_expression(step.symbol, target, step.args, step.kwargs, context) or ""
    if last.symbol.id == "numpy.ndarray.getitem":
        return f"{target}[{key_string(last.args[0], context)}] = {literal(value, context)}"
    if last.symbol is prims.select:  # of one dimension it is an element, no view
        dim, index = last.args
        return f"{target}[{key_string((slice(None),) * dim + (index,), context)}] = {literal(value, context)}"
    target = view_expression(last.symbol, target, last.args, last.kwargs, context) or ""
    return f"{target}[...] = {literal(value, context)}"


def is_expressible(path: Any) -> bool:
    """Whether every step of an update's path is an expression that views."""
    return path is None or (
        isinstance(path, views.Path)
        and all(view_expression(s.symbol, "x", s.args, s.kwargs, {}) is not None for s in path.steps)
    )
