"""The registry of the NumPy language.

:func:`npsymbol` makes a symbol of a function that defines ``numpy.<name>``, in terms of the core language or of earlier
NumPy functions. It has NumPy's parameters without ``out``, which capture handles for all functions: the registry says
how each function takes it (:class:`Out`).
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tnp.core import prims, sizes, views
from tnp.core.context import registrations
from tnp.core.languages import Language
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import Namespace, OpTags, Symbol
from tnp.core.trace import current_trace
from tnp.core.tuples import with_items
from tnp.core.views import VIEWS, Returns
from tnp.runtime import locks

__all__ = [
    "MOST_DIMS",
    "NumpyFunction",
    "Out",
    "by_id",
    "called_opaquely",
    "defines",
    "language",
    "npmethod",
    "npproperty",
    "npsymbol",
    "operator_of",
    "symbol_of",
]

IMPORT = "import tnp.lang.numpy as lnp"
language = Language("numpy", prefix="lnp", import_line=IMPORT, rank=1)


@dataclass(frozen=True)
class Out:
    """How one of NumPy's functions takes ``out=``, the array (or tuple of ``count`` arrays) for its results.

    - ``position`` is where it may be passed by position, ``None``: by keyword only. ``after`` names the parameters that
      may come behind it by position.
    - ``tuples``: a tuple is taken for one result, too, as by ufuncs and their methods.
    - ``converts``: results are cast to the array's dtype under ``casting=`` and broadcast to its shape, and ``where=``
      leaves elements as they are, as with most ufuncs. Calls of other functions run eagerly unless the array has the
      result's shape and dtype.
    - ``sets_dtype``: the array's dtype is what is computed in, unless ``dtype=`` says another.
    - ``refused`` is why any call with ``out=`` runs eagerly.
    """

    position: int | None = None
    after: tuple[str, ...] = ()
    count: int = 1
    tuples: bool = False
    converts: bool = False
    sets_dtype: bool = False
    refused: str = ""


@dataclass(frozen=True)
class NumpyFunction:
    """What the registry knows of one function: its symbol, its name below ``numpy``, and what it returns.

    ``returns`` is

    - ``"scalar"`` if 0-d results are NumPy scalars, ``"array"`` if they are 0-d arrays;
    - ``"view"`` if results may be views of the first argument (``"read-only view"``: ones that cannot be written
      through; ``"view or read-only"``: what is no view cannot be; ``"view if contiguous"``: ones only where what is reshaped is contiguous, as with np.ravel);
    - ``"argument"`` if they may be views, and where there is nothing to do are the argument, the very object
      (``"argument if contiguous"``: with a contiguous argument only, as with np.asarray);
    - ``"update"`` if the function changes its first argument: its symbol then returns the changed array, and the user
      gets ``None``.

    ``factory`` marks functions that make arrays of no arrays, ``row_major`` is false for those that may lay out
    results of several dimensions in another than row-major order, and ``"always"`` for those that never do, whatever
    the order of their arguments. ``own_out`` is an :class:`Out` that NumPy's
    signature does not tell.
    """

    symbol: Symbol
    name: str
    returns: Returns
    factory: bool
    row_major: bool | str = True
    own_out: Out | None = None

    @locks.cached_property
    def function(self) -> Any:
        """NumPy's function of that name; ``None`` for methods and helpers, and where this version of NumPy has none."""
        if by_id.get(f"numpy.{self.name}") is not self:
            return None
        found: Any = np
        for part in self.name.split("."):
            found = getattr(found, part, None)
        return found if callable(found) else None

    @locks.cached_property
    def out(self) -> Out:
        """How the function takes ``out=``. Asked of NumPy at the first call, as signatures take long to read."""
        return self.own_out or _out_in_signature(self.function)


def _out_in_signature(function: Any) -> Out:
    if isinstance(function, np.ufunc):
        return Out(position=function.nin, count=function.nout, tuples=True)
    signature = _signature(function)
    names = [] if signature is None else [p.name for p in signature.parameters.values() if p.kind in _BY_POSITION]
    if "out" not in names:
        return Out()
    position = names.index("out")
    return Out(position, after=tuple(names[position + 1 :]))


_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


#: dimensions that an array of NumPy's has at most
MOST_DIMS = 64

#: every function of the language by symbol id (``"numpy.linalg.inv"``)
by_id: dict[str, NumpyFunction] = {}

#: names below ``numpy`` of functions without a definition that programs call
called_opaquely: set[str] = set()

_namespaces: dict[str, Namespace] = {}


def _knows(symbol_id: str) -> bool:
    """Whether NumPy has the function; those without a definition run as themselves."""
    found: Any = np
    for part in symbol_id.split(".")[1:]:
        found = getattr(found, part, None)
    return symbol_id in by_id or callable(found)


language.knows = _knows

_by_function: dict[int, Symbol] = {}


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
        return with_items(result, [_finished(x, inputs, returns) for x in result])
    return result


def _is_new(result: TensorProxy) -> bool:
    """Whether the operation recorded last made ``result``, in memory of its own: most functions end so."""
    trace = current_trace()
    assert trace is not None
    scope = trace.scope
    return bool(scope) and scope[-1].output is result and not scope[-1].has_tag_inside(OpTags.VIEW)


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
    row_major: bool | str = True,
    out: Out | None = None,
    id_prefix: str = "numpy",
) -> Callable[[Callable[..., Any]], Symbol]:
    """Makes a function NumPy's ``name`` (default: its own name), and the ndarray ``method`` of that name or names.

    The function takes proxies and is written in terms of other operations; it has NumPy's parameters without ``out``. ``returns``,
    ``factory``, ``row_major`` and ``out`` are as in :class:`NumpyFunction`, ``tags`` what passes must know (:class:`OpTags`). Under another ``id_prefix`` it is not NumPy's, but one that programs call by the symbol returned. Raises
    ``ValueError`` for a function that is defined already.

    >>> import numpy as np, tnp
    >>> from tnp.extend import npsymbol
    >>> @npsymbol(id_prefix="doc")
    ... def softsign(x):
    ...     return x / (1 + abs(x))
    >>> tnp.jit(lambda x: softsign(x))(np.array([1.0, -3.0]))
    array([ 0.5 , -0.75])
    """

    def decorate(f: Callable[..., Any]) -> Symbol:
        full_name = f.__name__ if name is None else name
        path, _, short = full_name.rpartition(".")

        returns_its_own = returns not in (*VIEWS, "update")

        @functools.wraps(f)
        def meta(*args: Any, **kwargs: Any) -> Any:
            result = f(*args, **kwargs)
            if type(result) is TensorProxy and len(result.shape) > MOST_DIMS:
                raise ValueError(f"maximum supported dimension for an ndarray is currently 64, found {result.ndim}")
            if not returns_its_own:
                return result
            if type(result) is TensorProxy and _is_new(result):
                if returns == "scalar" and not result.shape:
                    result.scalar = True
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
        if symbol.id in by_id:
            raise ValueError(f"{symbol.id} is defined already")
        by_id[symbol.id] = NumpyFunction(symbol, full_name, returns, factory, row_major, out)
        _by_function.clear()  # it is filled when functions are first looked for
        if id_prefix == "numpy" and full_name in called_opaquely:
            registrations.note(f"{symbol.id} has a definition", lambda f: True)
        for m in (method,) if isinstance(method, str) else method:
            language.methods[m] = symbol
        return symbol

    return decorate


def npmethod(
    name: str, *, returns: Returns = "scalar", tags: Iterable[OpTags] = ()
) -> Callable[[Callable[..., Any]], Symbol]:
    """Makes a function the ndarray method ``name``, of which ``numpy`` has no function (``astype``, ``fill``). ``returns`` and ``tags``
    are as in :func:`npsymbol`.

    >>> from tnp.extend import npmethod, npproperty
    >>> @npmethod("doc_halved")
    ... def halved(a):
    ...     return a / 2
    >>> @npproperty("doc_rows")
    ... def rows(a):
    ...     return a.shape[0]
    >>> import numpy as np, tnp
    >>> ex = tnp.extend.OperatorExecutor("uses_methods")
    >>> per_row = ex.register_operator("per_row", like=lambda a: a.doc_halved() / a.doc_rows, fn=lambda a: a / 2 / len(a))
    >>> tnp.grad(lambda x: per_row(x).sum())(np.ones((2, 1)))
    array([[0.25],
           [0.25]])
    """
    return npsymbol(name, returns=returns, method=name, tags=tags, id_prefix="numpy.ndarray")


def npproperty(name: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Makes a function of an array its attribute ``name``. An example is at :func:`npmethod`."""

    def decorate(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        language.properties[name] = f
        return f

    return decorate


def alias(name: str, symbol: Symbol) -> None:
    """Registers another public name of NumPy for the same function (``np.amax`` for ``np.max``)."""
    info = by_id[symbol.id]
    by_id.setdefault(f"numpy.{name}", dataclasses.replace(info, name=name))


@functools.cache
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(_in_python(function))
    except (TypeError, ValueError):
        return None


def _in_python(function: Any) -> Any:
    """A function written in C as one in Python that takes the same: of that, Python knows the signature without taking a text apart."""
    text = getattr(function, "__text_signature__", None) if isinstance(function, types.BuiltinFunctionType) else None
    if text is None or "$" in text:
        return function
    made: dict[str, Any] = {}
    try:
        exec(f"def made{text}: pass", made)
    except (SyntaxError, NameError):  # a default that has no such form
        return function
    return made["made"]


def defines(symbol: Symbol, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the definition ``symbol`` of one of NumPy's functions has the parameters of this call.

    NumPy's own differ from version to version. Raises ``TypeError`` for a call that this one does not take.
    """
    return _defines(symbol, function, len(args), tuple(kwargs))


@functools.cache
def _defines(symbol: Symbol, function: Any, positional: int, keywords: tuple[str, ...]) -> bool:
    theirs, ours = _signature(function), _signature(symbol.meta)
    if isinstance(function, np.ufunc) and positional <= function.nargs:
        theirs = None  # whose signature may not show that all that it writes to may be told by position
    if theirs is not None and "start_or_stop" not in theirs.parameters:  # np.arange, which takes start= and stop=, too
        theirs.bind(*range(positional), **dict.fromkeys(keywords))
    if ours is None or any(p.kind is p.VAR_KEYWORD for p in ours.parameters.values()):
        return True
    return all(name in ours.parameters or name == "out" for name in keywords)


#: Python's operators by the functions that they are on arrays; those with a name are called
_OPERATORS = {
    "numpy.absolute": "abs", "numpy.add": "+", "numpy.bitwise_and": "&", "numpy.bitwise_or": "|", "numpy.bitwise_xor": "^",
    "numpy.divmod": "divmod", "numpy.equal": "==", "numpy.floor_divide": "//", "numpy.greater": ">",
    "numpy.greater_equal": ">=", "numpy.invert": "~", "numpy.left_shift": "<<", "numpy.less": "<", "numpy.less_equal": "<=",
    "numpy.multiply": "*", "numpy.negative": "-", "numpy.not_equal": "!=", "numpy.positive": "+", "numpy.power": "**",
    "numpy.remainder": "%", "numpy.right_shift": ">>", "numpy.subtract": "-", "numpy.true_divide": "/",
}  # fmt: skip


@functools.cache
def operator_of(symbol: Symbol) -> Symbol:
    """``symbol`` as the operator that a program wrote, on NumPy's scalars: those have arithmetic of their own, which also warns
    of integers that overflow. The same symbol if no operator is it."""
    found = _OPERATORS.get(symbol.id)
    if found is None:
        return symbol
    made = Symbol(
        symbol.name, symbol.meta, id=symbol.id, tags=symbol.tags, namespace=symbol.namespace, language=symbol.language
    )
    made.operator = found
    return made


def symbol_of(function: Any) -> Symbol | None:
    """The symbol of one of NumPy's functions or ufuncs; ``None`` if the language lacks it."""
    if not _by_function:
        for info in by_id.values():
            if info.function is not None:
                _by_function[id(info.function)] = info.symbol
    return _by_function.get(id(function))
