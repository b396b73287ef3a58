"""How a function becomes part of the NumPy language.

:func:`npsymbol` makes a symbol of a function that says, in the core language or in NumPy functions already defined,
what ``numpy.<name>`` computes. It has NumPy's parameters without ``out``, which the frontend handles for all.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tnp.core import prims, sizes, views
from tnp.core.langs import Language
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import Namespace, OpTags, Symbol
from tnp.core.trace import current_trace

__all__ = [
    "NumpyFunction",
    "by_id",
    "defines",
    "language",
    "npmethod",
    "npproperty",
    "npsymbol",
    "out_position",
    "symbol_of",
]

IMPORT = "import tnp.lang.numpy as lnp"
language = Language("numpy", prefix="lnp", import_line=IMPORT, rank=1)

Returns = Literal["scalar", "array", "view", "read-only view", "view if contiguous", "update"]

#: the ``returns`` of functions whose results may be views
VIEWS = ("view", "read-only view", "view if contiguous")


@dataclass(frozen=True)
class NumpyFunction:
    """What the registry knows of one function: its symbol, its name below ``numpy``, and what it returns.

    ``returns`` is ``"scalar"`` if 0-d results are NumPy scalars, ``"array"`` if they are 0-d arrays, ``"view"`` if
    results may be views of the first argument (``"read-only view"``: ones that cannot be written through; ``"view if
    contiguous"``: ones only where what is reshaped is contiguous, as with np.ravel), and ``"update"`` if the function
    changes its first argument: its symbol then returns the changed array, and the user gets ``None``. ``factory`` marks functions that make arrays of no arrays,
    ``row_major`` is false for those that may lay out results of several dimensions in another than row-major order.
    """

    symbol: Symbol
    name: str
    returns: Returns
    factory: bool
    row_major: bool = True


#: every function of the language by symbol id (``"numpy.linalg.inv"``)
by_id: dict[str, NumpyFunction] = {}

_namespaces: dict[str, Namespace] = {}


def _namespace(path: str) -> Namespace:
    prefix = f"lnp.{path}" if path else "lnp"
    return _namespaces.setdefault(prefix, Namespace(prefix, IMPORT))


def _finished(result: Any, inputs: set[str], returns: Returns) -> Any:
    """``result`` as NumPy returns it: in memory of its own unless a view, 0-d results marked as scalars."""
    if isinstance(result, TensorProxy):
        if returns in VIEWS:
            return result
        if result.name in inputs or _shares_memory(result, inputs):
            result = prims.clone(result)
        if returns == "scalar" and result.ndim == 0:
            result.scalar = True
        return result
    if isinstance(result, (tuple, list)):
        items = [_finished(x, inputs, returns) for x in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    return result


def _shares_memory(result: TensorProxy, inputs: set[str]) -> bool:
    """Whether ``result`` is a view of an input, or shows the elements of something made here more than once."""
    trace = current_trace()
    assert trace is not None
    scope = trace.scope
    if not scope or not scope[-1].has_tag_inside(OpTags.VIEW):
        return False
    producers: dict[str, Any] = {}
    views.collect_prims(scope, producers)
    name = result.name
    while name not in inputs:
        bsym = producers.get(name)
        if bsym is None or OpTags.VIEW not in bsym.sym.tags:
            return False
        if bsym.sym is prims.broadcast_in_dim and sizes.shapes_equal(bsym.output.shape, bsym.args[0].shape) is not True:
            return True
        name = bsym.args[0].name
    return True


def npsymbol(
    name: str | None = None,
    *,
    returns: Returns = "scalar",
    method: str | tuple[str, ...] = (),
    tags: Iterable[OpTags] = (),
    factory: bool = False,
    row_major: bool = True,
    id_prefix: str = "numpy",
) -> Callable[[Callable[..., Any]], Symbol]:
    """Makes a function NumPy's ``name`` (default: its own name), and the ndarray ``method`` of that name or names."""

    def decorate(f: Callable[..., Any]) -> Symbol:
        full_name = f.__name__ if name is None else name
        path, _, short = full_name.rpartition(".")

        @functools.wraps(f)
        def meta(*args: Any, **kwargs: Any) -> Any:
            result = f(*args, **kwargs)
            if returns in (*VIEWS, "update"):
                return result
            inputs: set[str] = set()
            for a in args:
                if isinstance(a, TensorProxy):
                    inputs.add(a.name)
                elif isinstance(a, (tuple, list)):
                    inputs.update(x.name for x in a if isinstance(x, TensorProxy))
            for a in kwargs.values():
                if isinstance(a, TensorProxy):
                    inputs.add(a.name)
            return _finished(result, inputs, returns)

        every = set(tags)
        if returns in VIEWS:
            every.add(OpTags.VIEW)
        if returns == "update":
            every.add(OpTags.UPDATE)
        if factory:
            every.add(OpTags.FACTORY)
        symbol = Symbol(
            short,
            meta,
            id=f"{id_prefix}.{full_name}",
            tags=every,
            namespace=_namespace(path),
            language=language,
        )
        assert symbol.id not in by_id, f"{symbol.id} is defined twice"
        by_id[symbol.id] = NumpyFunction(symbol, full_name, returns, factory, row_major)
        for m in (method,) if isinstance(method, str) else method:
            language.methods[m] = symbol
        return symbol

    return decorate


def npmethod(
    name: str, *, returns: Returns = "scalar", tags: Iterable[OpTags] = ()
) -> Callable[[Callable[..., Any]], Symbol]:
    """Makes a function the ndarray method ``name``, of which ``numpy`` has no function (``astype``, ``fill``)."""
    return npsymbol(name, returns=returns, method=name, tags=tags, id_prefix="numpy.ndarray")


def npproperty(name: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Makes a function of an array its attribute ``name``."""

    def decorate(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        language.properties[name] = f
        return f

    return decorate


def alias(name: str, symbol: Symbol) -> None:
    """Registers another public name of NumPy for the same function (``np.amax`` for ``np.max``)."""
    info = by_id[symbol.id]
    by_id.setdefault(f"numpy.{name}", dataclasses.replace(info, name=name))


@functools.cache
def out_position(function: Any) -> int | None:
    """The position at which one of NumPy's functions takes ``out``; ``None`` if it does not, or is a ufunc."""
    if isinstance(function, np.ufunc):
        return function.nin
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    if "out" not in parameters or parameters["out"].kind is inspect.Parameter.KEYWORD_ONLY:
        return None
    return list(parameters).index("out")


@functools.cache
def parameter_names(function: Any) -> tuple[str, ...]:
    """The names of the parameters of one of NumPy's functions that has a signature."""
    return tuple(inspect.signature(function).parameters)


@functools.cache
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def defines(symbol: Symbol, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the definition ``symbol`` of one of NumPy's functions has the parameters of this call.

    NumPy's own differ from version to version. Raises ``TypeError`` for a call that this one does not take.
    """
    return _defines(symbol, function, len(args), tuple(kwargs))


@functools.cache
def _defines(symbol: Symbol, function: Any, positional: int, keywords: tuple[str, ...]) -> bool:
    theirs, ours = _signature(function), _signature(symbol.meta)
    if theirs is not None:
        theirs.bind(*range(positional), **dict.fromkeys(keywords))
    if ours is None or any(p.kind is p.VAR_KEYWORD for p in ours.parameters.values()):
        return True
    return all(name in ours.parameters or name == "out" for name in keywords)


_by_function: dict[int, Symbol] = {}


def symbol_of(function: Any) -> Symbol | None:
    """The symbol of one of NumPy's functions or ufuncs; ``None`` if the language lacks it."""
    if not _by_function:
        for key, info in by_id.items():
            if key != f"numpy.{info.name}":  # a method, or a helper that is no function of NumPy
                continue
            found: Any = np
            for part in info.name.split("."):
                found = getattr(found, part, None)
            if found is not None and callable(found):
                _by_function[id(found)] = info.symbol
    return _by_function.get(id(function))
