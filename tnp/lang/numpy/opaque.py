"""Opaque calls: NumPy functions without a definition, and random generators.

A dry run on dummy data of the right dtypes and shapes gives the metadata of the results, which is compared again at run
time (:class:`~tnp.core.errors.LateGuardFailed`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.core import sizes, symbols
from tnp.core.errors import NeedsEager, NeedsValue
from tnp.core.proxies import NumberProxy, ObjectProxy, Proxy, TensorProxy
from tnp.core.symbol import Namespace, OpTags, Symbol, flat_proxies, map_proxies
from tnp.core.tuples import with_items
from tnp.lang.numpy.dtypes import result_of, to_numpy_dtype
from tnp.lang.numpy.registry import called_opaquely, language
from tnp.runtime.modules import loaded
from tnp.runtime.quiet import quiet

__all__ = [
    "dummy",
    "example_of",
    "function_of",
    "generators",
    "global_generator",
    "is_random",
    "method_symbol",
    "proxy_of",
    "symbol_for",
]

_namespace = Namespace("np", "import numpy as np")
_symbols: dict[Any, Symbol] = {}


def generators() -> tuple[type, ...]:
    """The classes of random generators: none while nobody has loaded :mod:`numpy.random`, which takes a while."""
    random = loaded("numpy.random")
    return () if random is None else (random.Generator, random.RandomState)


def global_generator() -> Any:
    """The generator behind the functions of :mod:`numpy.random`."""
    function: Any = np.random.rand
    return function.__self__


def dummy(p: Proxy) -> Any:
    """A value that a proxy could stand for."""
    if isinstance(p, TensorProxy):
        shape = sizes.concrete(p.shape, "an opaque call")
        made = np.ones(shape, to_numpy_dtype(p.dtype))
        return made[()] if p.scalar else made
    if isinstance(p, NumberProxy):
        return p.python_type(1) if p.value is None else p.value
    assert isinstance(p, ObjectProxy)
    return _fresh_generator(p.python_type)


def example_of(kind: type) -> Any:
    """An object of that class to try methods on; ``None`` for classes of which there is none to be made."""
    return _fresh_generator(kind) if issubclass(kind, generators()) else None


def _fresh_generator(kind: type) -> Any:
    return np.random.RandomState(0) if issubclass(kind, np.random.RandomState) else np.random.default_rng(0)


def proxy_of(x: Any, name: str) -> Any:
    """The proxy of a result of a dry run. Raises :class:`NeedsEager` for kinds that a trace cannot hold."""
    if isinstance(x, np.ndarray) and type(x) is np.ndarray:
        return TensorProxy(shape=x.shape, dtype=result_of(x.dtype))
    if isinstance(x, np.generic):
        return TensorProxy(shape=(), dtype=result_of(x.dtype), scalar=True)
    if type(x) in (bool, int, float, complex):
        return NumberProxy(None, type(x))
    if isinstance(x, (tuple, list)):
        return with_items(x, [proxy_of(y, name) for y in x])
    if x is None:
        return None
    if isinstance(x, generators()):
        return ObjectProxy(None, type(x))
    raise NeedsEager(f"{name} returns a {type(x).__name__}, which a trace cannot hold")


def _dry_run(function: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
    made: list[np.ndarray[Any, Any]] = []

    def make(p: Proxy) -> Any:
        value = dummy(p)
        if isinstance(value, np.ndarray):
            made.append(value)
        return value

    concrete, concrete_kwargs = map_proxies(make, args), map_proxies(make, kwargs)
    for a in made:  # what is written may be what is there
        a.flags.writeable = False
    with quiet() as said, np.errstate(all="ignore"):
        try:
            try:
                result = function(*concrete, **concrete_kwargs)
            except ValueError as error:
                if "read-only" not in str(error):
                    raise
                if "buffer source" not in str(error):
                    raise NeedsEager(f"{name} changes its argument") from error
                for a in made:  # Cython refuses read-only memory, even to read it
                    a.flags.writeable = True
                result = function(*concrete, **concrete_kwargs)
        except Exception as error:
            raise NeedsEager(f"a dry run of {name} on dummy data raised {error!r}") from error
    if any(issubclass(category, DeprecationWarning) for category in said):
        raise NeedsEager(f"{name} is called in a way that is deprecated, as it says at each call")
    _check_apart(name, made, result)
    return proxy_of(result, name)


def _draw(make: Callable[[], Callable[..., Any]], name: str, args: Any, kwargs: Any) -> Any:
    """The result of a random function that ``make`` makes. It is not compared again, so integers that its shape depends on (``size=n``)
    have to be known.

    Raises :class:`NeedsValue` for such an integer in an array.
    """
    integers = [p for p in flat_proxies((args, kwargs)) if _is_integer(p)]
    if not integers:
        return _dry_run(make(), name, args, kwargs)
    found = []
    for value in (1, 2):
        tried = map_proxies(lambda p, value=value: _of_integers(p, value) if _is_integer(p) else p, (args, kwargs))
        try:
            found.append(_dry_run(make(), name, *tried))
        except NeedsEager:  # for those numbers, maybe
            break
    if len(found) == 2 and _same_kind(*found):
        return found[0]
    if all(map(symbols.is_symbol, integers)):
        drawn = _of_sizes(make, name, args, kwargs, integers)
        if drawn is not None:
            return drawn
    arrays = [p for p in integers if isinstance(p, TensorProxy)]
    if arrays:
        array = arrays[0] if len(arrays) == 1 and arrays[0].ndim else None
        reason = f"what {name} draws depends on a value that is known only when the program runs"
        raise NeedsValue(reason, array=array)
    known = map_proxies(lambda p: p.known() if _is_integer(p) else p, (args, kwargs))
    return _dry_run(make(), name, *known)


def _of_sizes(make: Callable[[], Callable[..., Any]], name: str, args: Any, kwargs: Any, integers: list[Any]) -> Any:
    """The result where each symbolic size among the arguments is a dimension of it, and nothing else depends on them: as runs for other
    sizes show. ``None`` for others."""
    sized = [symbols.as_dimension(p) for p in integers]
    if any(type(n) is int for n in sized):
        return None
    values = {p.name: symbols.value_of(p) for p in integers}

    def tried(**other: int) -> Any:
        given = values | other
        return _dry_run(make(), name, *map_proxies(lambda p: given.get(p.name, p), (args, kwargs)))

    result = tried()
    if not isinstance(result, TensorProxy) or result.scalar:
        return None
    shape: list[Any] = list(result.shape)
    for p in {p.name: p for p in integers}.values():
        larger = tried(**{p.name: values[p.name] + 3})
        if larger.ndim != result.ndim or larger.dtype is not result.dtype:
            return None
        for d, (n, m) in enumerate(zip(result.shape, larger.shape)):
            if n != m and (m != n + 3 or n != values[p.name] or type(shape[d]) is not int):
                return None
            shape[d] = p if n != m else shape[d]
    return TensorProxy(like=result, shape=tuple(shape))


#: dimensions that a shape may have
_MOST_DIMENSIONS = 64


def _of_integers(p: Proxy, value: int) -> Any:
    return np.full(p.shape, value, to_numpy_dtype(p.dtype)) if isinstance(p, TensorProxy) and p.ndim else value


def _is_integer(p: Proxy) -> bool:
    """Whether it may be a shape: an integer, or a short array of them."""
    if isinstance(p, NumberProxy):
        return p.python_type is int
    if not isinstance(p, TensorProxy) or p.dtype.kind not in "iu":
        return False
    return p.ndim == 0 or (p.ndim == 1 and isinstance(p.shape[0], int) and p.shape[0] <= _MOST_DIMENSIONS)


def _same_kind(a: Any, b: Any) -> bool:
    """Whether two results of dry runs are of one type, dtype and shape."""
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same_kind, a, b))
    if isinstance(a, TensorProxy) and isinstance(b, TensorProxy):
        return a.shape == b.shape and a.dtype is b.dtype and a.scalar == b.scalar
    if isinstance(a, NumberProxy) and isinstance(b, NumberProxy):
        return a.python_type is b.python_type
    return type(a) is type(b)


def _check_apart(name: str, arguments: list[np.ndarray[Any, Any]], result: Any) -> None:
    """Raises :class:`NeedsEager` for a function that changed its arguments, or returned a view of one: an opaque call
    is known by what it returns, and says nothing of memory."""
    for a in arguments:
        if not np.array_equal(a, np.ones_like(a)):
            raise NeedsEager(f"{name} changes its argument")
        for r in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(r, np.ndarray) and np.may_share_memory(a, r):
                raise NeedsEager(f"{name} returns a view of its argument")


def symbol_for(function: Any) -> Symbol:
    """The opaque symbol of one of NumPy's functions."""
    known = _symbols.get(function)
    if known is None:
        name = _public_name(function)

        def meta(*args: Any, **kwargs: Any) -> Any:
            return _dry_run(function, f"numpy.{name}", args, kwargs)

        meta.__doc__ = getattr(function, "__doc__", None)
        path, _, short = name.rpartition(".")
        namespace = Namespace(f"np.{path}", "import numpy as np") if path else _namespace
        tags = {OpTags.LATE_GUARD, OpTags.MAY_RAISE}
        if is_random(function):
            tags = {OpTags.RANDOM, OpTags.EFFECT, OpTags.MAY_RAISE}
            meta = _random_meta(function, name)
        known = Symbol(
            short, meta, id=f"opaque.{name}", is_prim=True, tags=tags, namespace=namespace, language=language
        )
        _symbols[function] = known
        called_opaquely.add(name)
    return known


def function_of(symbol_id: str) -> Any:
    """The NumPy function behind an opaque symbol's id."""
    found: Any = np
    for part in symbol_id.removeprefix("opaque.").split("."):
        found = getattr(found, part)
    return found


def _public_name(function: Any) -> str:
    name = getattr(function, "__name__", str(function))
    if is_random(function):
        return f"random.{name}"
    module = (getattr(function, "__module__", "") or "numpy").removeprefix("numpy").lstrip(".")
    for path in (module, "", "linalg", "fft", "lib.stride_tricks"):
        found: Any = np
        for part in (*path.split("."), name) if path else (name,):
            found = getattr(found, part, None)
        if found is function:
            return f"{path}.{name}" if path else name
    raise NeedsEager(f"{name} is not a public function of NumPy")


def is_random(function: Any) -> bool:
    """Whether it is of :mod:`numpy.random`: a function, a class, or a method of a generator."""
    if _is_of_random(getattr(function, "__module__", None)):
        return True
    owner = type(getattr(function, "__self__", None))
    return any(_is_of_random(kind.__module__) for kind in owner.__mro__)


def _is_of_random(module: Any) -> bool:
    return isinstance(module, str) and (module == "numpy.random" or module.startswith("numpy.random."))


_IN_PLACE = ("shuffle",)


def _random_meta(function: Any, name: str) -> Callable[..., Any]:
    #: what makes a generator: from a seed, or from nothing
    makers = {np.random.default_rng: np.random.Generator, np.random.RandomState: np.random.RandomState}
    if function in makers:
        return lambda *args, **kwargs: ObjectProxy(None, makers[function])
    short = function.__name__
    if short in _IN_PLACE or getattr(np.random, short, None) is None or not hasattr(global_generator(), short):
        raise NeedsEager(f"numpy.{name} is not compiled")

    def meta(*args: Any, **kwargs: Any) -> Any:
        return _draw(lambda: getattr(np.random.RandomState(0), short), f"numpy.{name}", args, kwargs)

    return meta


def method_symbol(example: Any, name: str) -> Symbol:
    """The symbol of a random generator's method; its first argument is the generator."""
    kind = type(example)
    key = (kind, name)
    known = _symbols.get(key)
    if known is None:
        if not callable(getattr(kind, name, None)) or name in _IN_PLACE:
            raise NeedsEager(f"{kind.__name__}.{name} is not compiled")

        def meta(generator: Any, *args: Any, **kwargs: Any) -> Any:
            return _draw(lambda: getattr(_fresh_generator(kind), name), f"{kind.__name__}.{name}", args, kwargs)

        known = Symbol(
            name,
            meta,
            id=f"generator.{name}",
            is_prim=True,
            tags=(OpTags.RANDOM, OpTags.EFFECT, OpTags.MAY_RAISE),
            namespace=Namespace("rng", "import numpy as np"),
            language=language,
        )
        _symbols[key] = known
    return known
