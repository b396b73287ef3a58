"""The registry of the SciPy language: which functions of SciPy are operations, and how each is made.

- :func:`scipysymbol` makes a function the definition of ``scipy.<name>`` in terms of other operations. It is native, fused with what
  stands around it, has gradients, and can be mapped. An executor that runs functions whole runs SciPy's own.
- :func:`scipycall` makes an operation that is a call of SciPy's own function. The decorated function says what it returns.
- :func:`by_dry_run` declares functions whose results' dtypes and shapes follow from those of the arguments. A dry run on dummy data
  tells them.

A definition raises :class:`~tnp.core.errors.NeedsOpaque` for arguments that it does not cover: the call then becomes one of SciPy's own
function, by a dry run.

Nothing here imports SciPy. A function is looked up in the modules that the program has loaded.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tnp.core import sizes
from tnp.core.errors import NeedsEager, RaisedWhileTracing
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.symbol import Namespace, OpTags, Symbol, map_proxies
from tnp.core.tuples import with_items
from tnp.core.views import Returns
from tnp.lang.numpy.dtypes import to_numpy_dtype
from tnp.lang.numpy.opaque import proxy_of
from tnp.lang.numpy.registry import NumpyFunction, Out, by_id, language, npsymbol
from tnp.lang.scipy.dry_runs import of_symbolic_sizes
from tnp.runtime.quiet import quiet

__all__ = [
    "MODULES",
    "by_dry_run",
    "call_of",
    "call_symbol",
    "derived",
    "derived_of",
    "function_of",
    "is_defined",
    "is_part",
    "methods_of",
    "namespace_of",
    "own_call",
    "random_of",
    "scipycall",
    "scipymethod",
    "scipysymbol",
    "status_of",
    "symbol_of",
]

#: submodules of SciPy, and the module of the language that defines functions of each
MODULES = {
    "scipy.fft": "tnp.lang.scipy.fft",
    "scipy.fftpack": "tnp.lang.scipy.fft",
    "scipy.integrate": "tnp.lang.scipy.integrate",
    "scipy.interpolate": "tnp.lang.scipy.interpolate",
    "scipy.linalg": "tnp.lang.scipy.linalg",
    "scipy.ndimage": "tnp.lang.scipy.ndimage",
    "scipy.signal": "tnp.lang.scipy.signal",
    "scipy.sparse": "tnp.lang.scipy.sparse",
    "scipy.sparse.linalg": "tnp.lang.scipy.sparse_linalg",
    "scipy.spatial.distance": "tnp.lang.scipy.spatial",
    "scipy.stats": "tnp.lang.scipy.stats",
}
_IMPORT = "import tnp.lang.scipy as lsp"

#: makes the data that stands for an array in a dry run
Dummy = Callable[[TensorProxy], Any]
#: by name below ``scipy``: definitions, and calls
_defined: dict[str, Symbol] = {}
_calls: dict[str, Symbol] = {}
#: methods by their names below ``scipy``, and by the classes that have been loaded
_methods_by_name: dict[str, Method] = {}
_methods: dict[type, dict[str, Method]] = {}
#: members that are derived, by the names of classes, and by the classes that have been loaded
_derived_by_name: dict[str, set[str]] = {}
_derived: dict[type, frozenset[str]] = {}
#: by the id of a function (of a bound method: the ids of its object and its function), the function and its symbol
_by_function: dict[Any, tuple[Any, Symbol]] = {}
#: by the id of an object whose bound methods are operations, the object
_owners: dict[int, Any] = {}
#: submodules of SciPy whose functions are in these tables
_read: set[str] = set()


def namespace_of(path: str) -> Namespace:
    """The namespace that operations of ``scipy.<path>`` print under."""
    return Namespace(f"lsp.{path}" if path else "lsp", _IMPORT)


# Making operations


def scipysymbol(
    name: str, *, returns: Returns = "scalar", tags: Iterable[OpTags] = (), factory: bool = False, row_major: bool = True,
    out: Out | None = None, whole: bool = True,
) -> Callable[[Callable[..., Any]], Symbol]:  # fmt: skip
    """Makes a function the definition of ``scipy.<name>`` (``"linalg.solve"``, ``"stats.norm.pdf"``), with all of its parameters. The
    options are those of :func:`~tnp.lang.numpy.registry.npsymbol`. Without ``whole`` no executor runs SciPy's own function.

    >>> import numpy as np, scipy.integrate, tnp
    >>> tnp.jit(lambda y: 2 * scipy.integrate.trapezoid(y), strict=True)(np.arange(4.0))
    np.float64(9.0)
    """

    def decorate(f: Callable[..., Any]) -> Symbol:
        symbol = npsymbol(
            name, returns=returns, tags=tags, factory=factory, row_major=row_major, out=out,
            id_prefix="scipy" if whole else "scipy_method",
        )(f)  # fmt: skip
        symbol.namespace = namespace_of(name.rpartition(".")[0])
        _defined[name] = symbol
        return symbol

    return decorate


def scipycall(
    name: str, *, tags: Iterable[OpTags] = (OpTags.MAY_RAISE,), returns: Returns = "scalar"
) -> Callable[[Callable[..., Any]], Symbol]:
    """Makes ``scipy.<name>`` an operation that SciPy's own function runs. The decorated function takes proxies and gives those of the
    results, in memory of their own and of any order. It raises :class:`NeedsEager` where it does not know them."""

    def decorate(meta: Callable[..., Any]) -> Symbol:
        symbol = _call(name, meta, tags)
        by_id[symbol.id] = NumpyFunction(symbol, name, returns, False, False, Out())
        _defined[name] = symbol
        return symbol

    return decorate


def own_call(name: str, fn: Callable[..., Any], meta: Callable[..., Any]) -> Symbol:
    """An operation that is a call of ``fn``, a function of no name in SciPy. ``meta`` takes proxies and gives those of the results."""
    meta.__doc__ = meta.__doc__ or f"``{fn.__name__.lstrip('_')}``, called."
    symbol = _call(name, meta, (OpTags.MAY_RAISE,), fn)
    by_id[symbol.id] = NumpyFunction(symbol, name, "scalar", False, False, Out())
    return symbol


def by_dry_run(module: str, names: str, *, dummies: Sequence[Dummy] = (), guarded: bool = False) -> None:
    """Declares functions of ``scipy.<module>``, named with spaces between them: equal dtypes and shapes of arguments give equal ones of
    results. ``dummies`` make the data that stands for an array in a dry run, each tried if the function raises for the one before. Those that are ``guarded`` give
    others for some values: a program that calls one starts over, eagerly, where a dry run was wrong, so none stands in a loop."""
    for short in names.split():
        name = f"{module}.{short}"
        _defined[name] = call_symbol(name, dummies, guarded=guarded)


def call_symbol(
    name: str, dummies: Sequence[Dummy] = (), *, guarded: bool = False, of_any_size: Callable[..., Any] | None = None
) -> Symbol:
    """The operation that calls ``scipy.<name>``, with results as a dry run has them. ``of_any_size`` takes the arguments and gives the proxies
    of the results where sizes are not known, ``None`` to leave them to dry runs."""
    known = _calls.get(name)
    if known is None:
        remembered: dict[Hashable, Any] = {}

        def meta(*args: Any, **kwargs: Any) -> Any:
            made = None if of_any_size is None else of_any_size(*args, **kwargs)
            return _dry_run(name, remembered, dummies or (dummy_of, random_of), args, kwargs) if made is None else made

        meta.__doc__ = f"``scipy.{name}``, called."
        tags = (OpTags.MAY_RAISE, OpTags.LATE_GUARD) if guarded else (OpTags.MAY_RAISE,)
        known = _calls[name] = _call(name, meta, tags)
        by_id[known.id] = NumpyFunction(known, name, "scalar", False, False, Out())
    return known


@dataclass(frozen=True)
class Method:
    """A method of objects of a class of SciPy's, as an operation. ``read(get)`` gives what of the object's state the operation takes as its
    first argument: ``get(*names)`` is the first attribute of these names that it has, ``None`` without any."""

    symbol: Symbol
    read: Callable[[Callable[..., Any]], Any]


def scipymethod(
    names: str, read: Callable[[Callable[..., Any]], Any], *, returns: Returns = "array"
) -> Callable[[Callable[..., Any]], Symbol]:
    """Makes a function the definition of methods, named with spaces between them (``"interpolate.PPoly.__call__"``). It takes the state that
    ``read`` gives (:class:`Method`), and then the method's arguments. Objects of subclasses have methods of their own."""

    def decorate(f: Callable[..., Any]) -> Symbol:
        path, _, _ = names.split()[0].rpartition(".")
        symbol = npsymbol(f"{path.partition('.')[0]}.{f.__name__}", returns=returns, id_prefix="scipy_method")(f)
        symbol.namespace = namespace_of(path.partition(".")[0])
        _methods_by_name.update(dict.fromkeys(names.split(), Method(symbol, read)))
        return symbol

    return decorate


def derived(class_names: str, members: str) -> None:
    """Declares members of SciPy's classes that give another object made of an object's state alone (``derivative()``, ``T``): programs
    fetch that at each call, as they do attributes. Names have spaces between them."""
    for name in class_names.split():
        _derived_by_name.setdefault(name, set()).update(members.split())


def derived_of(kind: type) -> frozenset[str]:
    """The members of a class of SciPy's that are :func:`derived`."""
    if not str(kind.__module__).startswith("scipy."):
        return frozenset()
    _read_loaded()
    return _derived.get(kind, frozenset())


def methods_of(kind: type) -> Mapping[str, Method]:
    """The methods of a class of SciPy's that are operations, by name."""
    if not str(kind.__module__).startswith("scipy."):
        return {}
    _read_loaded()
    return _methods.get(kind, {})


def _call(name: str, meta: Callable[..., Any], tags: Iterable[OpTags], fn: Callable[..., Any] | None = None) -> Symbol:
    path, _, short = name.rpartition(".")
    # Another id than a definition's: gradients of a call are not those of the definition.
    return Symbol(
        short,
        meta,
        id=f"scipy_call.{name}",
        is_prim=True,
        tags=tags,
        namespace=namespace_of(path),
        language=language,
        fn=fn,
    )


# Dry runs


def dummy_of(p: TensorProxy) -> Any:
    """Data that most functions take: increasing numbers in one dimension, positive definite matrices in more."""
    shape = sizes.concrete(p.shape, "a dry run")
    dtype = to_numpy_dtype(p.dtype)
    if len(shape) < 2:
        # Integers may be positions, which begin at 0.
        made = (np.arange(np.prod(shape, dtype=int)) + (dtype.kind not in "iu")).reshape(shape).astype(dtype)
    else:
        eye = np.eye(*shape[-2:]) * (max(shape[-2:]) + 1)
        made = np.broadcast_to(eye + 0.5 * np.ones(shape[-2:]), shape).astype(dtype)
    return made[()] if p.scalar else made


def random_of(p: TensorProxy) -> Any:
    """Data without any structure, positive."""
    shape, dtype = sizes.concrete(p.shape, "a dry run"), to_numpy_dtype(p.dtype)
    made = (np.random.default_rng(0).uniform(1, 100, shape) / (1 if dtype.kind in "iu" else 50)).astype(dtype)
    return made[()] if p.scalar else made


#: kinds of arguments that stay as they are in a dry run
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), type, slice, range, np.generic, np.dtype)


def _key(x: Any) -> Hashable:
    """What a dry run depends on: of arrays the dtype and the shape. Integers are known, other numbers are not."""
    if isinstance(x, TensorProxy):
        return "array", sizes.concrete(x.shape, "a dry run"), x.dtype.name, x.scalar
    if isinstance(x, NumberProxy):
        return "number", x.python_type
    if isinstance(x, (tuple, list)):
        return type(x), *map(_key, x)
    if isinstance(x, dict):
        return dict, *((k, _key(v)) for k, v in x.items())
    if isinstance(x, slice):
        return slice, _key(x.start), _key(x.stop), _key(x.step)
    if not isinstance(x, _PLAIN):
        raise NeedsEager(f"it gives a function of SciPy's a {type(x).__name__}")
    return type(x), x


def _dry_run(name: str, remembered: dict[Hashable, Any], dummies: Sequence[Dummy], args: Any, kwargs: Any) -> Any:
    """The proxies of the results that ``scipy.<name>`` gives for dummy data: for the first that it takes."""
    args, kwargs = map_proxies(_known_integer, (args, kwargs))

    def run(args: Any, kwargs: Any) -> Any:
        key = _key((args, kwargs))
        if key not in remembered:
            remembered[key] = _tried_in_turn(name, dummies, args, kwargs)
        return remembered[key]

    made = of_symbolic_sizes(run, args, kwargs, f"scipy.{name}")
    return proxy_of(run(args, kwargs), f"scipy.{name}") if made is None else made


def _tried_in_turn(name: str, dummies: Sequence[Dummy], args: Any, kwargs: Any) -> Any:
    """What the function gives for the first dummy data that it takes."""
    failures: list[Exception] = []
    for dummy in dummies:
        try:
            return _tried(name, dummy, args, kwargs)
        except Exception as error:
            failures.append(error)
    reason = f"a dry run of scipy.{name} on dummy data raised {failures[0]!r}"
    raise RaisedWhileTracing(reason, failures[0]) from failures[0]


def _tried(name: str, dummy: Dummy, args: Any, kwargs: Any) -> Any:
    made: list[Any] = []

    def make(p: Proxy) -> Any:
        if isinstance(p, TensorProxy):
            value = dummy(p)
            made.extend([value, np.copy(value)] if isinstance(value, np.ndarray) else ())
            return value
        assert isinstance(p, NumberProxy)
        return p.python_type(0.5)  # which may be a share or a power as well

    concrete, keywords = map_proxies(make, (args, kwargs))
    with quiet(), np.errstate(all="ignore"):
        result = function_of(name)(*concrete, **keywords)
    if not any(k.startswith("overwrite_") for k in kwargs):
        _check_apart(name, made, result)
    return _emptied(result)


def _emptied(x: Any) -> Any:
    """``x`` with arrays of the same dtypes and shapes that hold no memory."""
    if type(x) is np.ndarray:
        return np.broadcast_to(np.zeros((), x.dtype), x.shape)
    if isinstance(x, (tuple, list)):
        return with_items(x, [_emptied(y) for y in x])
    return x


def _known_integer(p: Proxy) -> Any:
    return p.known() if isinstance(p, NumberProxy) and p.python_type in (int, bool) else p


def _check_apart(name: str, made: list[Any], result: Any) -> None:
    """Raises :class:`NeedsEager` for a function that changed one of its arguments, or returned its memory. ``made`` are the arguments,
    each followed by a copy from before."""
    for now, before in zip(made[::2], made[1::2]):
        if not np.array_equal(now, before):
            raise NeedsEager(f"scipy.{name} changes its argument")
        for r in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(r, np.ndarray) and np.may_share_memory(now, r):
                raise NeedsEager(f"scipy.{name} returns its argument's memory")


# Looking functions up


def function_of(name: str) -> Any:
    """``scipy.<name>``; ``None`` where this version of SciPy has none."""
    found: Any = sys.modules["scipy"]
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _key_of(function: Any) -> Any:
    if type(function) is types.MethodType:
        return id(function.__self__), id(function.__func__)
    return id(function)


def _read_loaded() -> None:
    """Fills the tables for the submodules of SciPy that have been loaded since."""
    for loaded, definitions in MODULES.items():
        if loaded not in sys.modules or loaded in _read:
            continue
        _read.add(loaded)
        try:
            getattr(importlib.import_module(definitions), "declare_loaded", lambda: None)()
        except ModuleNotFoundError as error:
            if error.name != definitions:
                raise
        prefix = loaded.removeprefix("scipy.") + "."
        for name, method in _methods_by_name.items():
            owner, _, short = name.rpartition(".")
            kind = function_of(owner) if name.startswith(prefix) else None
            if isinstance(kind, type):
                _methods.setdefault(kind, {})[short] = method
        for name, members in _derived_by_name.items():
            kind = function_of(name) if name.startswith(prefix) else None
            if isinstance(kind, type):
                _derived[kind] = frozenset(members)
        for name, symbol in _defined.items():
            function = function_of(name) if name.startswith(prefix) else None
            if callable(function):
                _by_function.setdefault(_key_of(function), (function, symbol))  # of several names, the first
                if type(function) is types.MethodType and not isinstance(function.__self__, type):
                    _owners[id(function.__self__)] = function.__self__


def symbol_of(function: Any) -> Symbol | None:
    """The symbol of one of SciPy's functions; ``None`` if the language lacks it."""
    _read_loaded()
    found = _by_function.get(_key_of(function))
    return None if found is None else found[1]


def is_part(x: Any) -> bool:
    """Whether ``x`` is a function of SciPy's that is an operation, or an object of SciPy's whose methods are: it never changes."""
    if "scipy" not in sys.modules:
        return False
    _read_loaded()
    return id(x) in _by_function or id(x) in _owners


def status_of(name: str) -> str:
    """``"native"``, ``"call"``, ``"guarded call"`` or ``"python"``: what a program makes of a call of ``scipy.<name>``, or of a method of an
    object of that class."""
    _read_loaded()
    if any(method.startswith(f"{name}.") for method in _methods_by_name):
        return "native"
    symbol = _defined.get(name)
    if symbol is None:  # of an object: its methods
        symbol = next((s for n, s in _defined.items() if n.startswith(f"{name}.")), None)
    if symbol is None:
        return "python"
    if not symbol.is_prim:
        return "native"
    return "guarded call" if OpTags.LATE_GUARD in symbol.tags else "call"


def is_defined(name: str) -> bool:
    """Whether ``scipy.<name>`` has a definition, or is declared a call."""
    return name in _defined


def call_of(symbol: Symbol) -> Symbol:
    """The call of SciPy's own function for a definition that does not cover the arguments."""
    return call_symbol(str(symbol.id).removeprefix("scipy."))
