"""NumPy as an array namespace of which each function, method and operator is jitted: ``lambda *args, **kwargs: np.f(*args, **kwargs)``.

Arrays are :class:`Array`, around an ndarray or a NumPy scalar, so that Python's operators on them are jitted, too. With ``TNP_EAGERLY=1`` in the
environment nothing is: what differs then is tnp's doing.
"""

from __future__ import annotations

import builtins
import functools
import operator
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import tnp

_EAGERLY = os.environ.get("TNP_EAGERLY") == "1"
#: every jitted function of it
JITTED: list[Any] = []


def calls() -> int:
    """How many calls of jitted functions there were."""
    return builtins.sum(info.hits + info.misses for info in map(tnp.cache_info, JITTED))


def _jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` on what :class:`Array` stands around."""
    inner = function
    if not _EAGERLY:
        inner = tnp.jit(function)
        JITTED.append(inner)

    def call(*args: Any, **kwargs: Any) -> Any:
        # The makers of examples fill arrays element by element, in any shape: not what is tested.
        by_hypothesis = sys._getframe(1).f_globals.get("__name__", "").startswith("hypothesis")
        chosen = function if by_hypothesis else inner
        return _wrapped(chosen(*_map(_unwrapped, args), **_map(_unwrapped, kwargs)))

    return call


def _map(f: Callable[[Any], Any], x: Any) -> Any:
    if type(x) in (tuple, list):
        return type(x)(_map(f, y) for y in x)
    if type(x) is slice:
        return slice(_map(f, x.start), _map(f, x.stop), _map(f, x.step))
    if isinstance(x, tuple):  # a named one
        return type(x)(*(_map(f, y) for y in x))
    return {k: _map(f, y) for k, y in x.items()} if type(x) is dict else f(x)


def _unwrapped(x: Any) -> Any:
    return x.inside if type(x) is Array else x


def _wrapped(x: Any) -> Any:
    return _map(lambda y: Array(y) if isinstance(y, (np.ndarray, np.generic)) else y, x)


class Array:
    """An array of the namespace."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, inside: Any) -> None:
        self.inside = inside

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return sys.modules[__name__]

    def __repr__(self) -> str:
        return f"Array({self.inside!r})"

    def __setitem__(self, key: Any, value: Any) -> None:
        _set_item(self, key, value)

    def __dlpack__(self, **options: Any) -> Any:
        return self.inside.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.inside.__dlpack_device__()


def _store(x: Any, key: Any, value: Any) -> None:
    x[key] = value


def _method(name: str) -> Callable[..., Any]:
    return _jitted(lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs))


def _operator(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)
    return _jitted(lambda x, *args: function(x, *args))


_set_item = _jitted(_store)
for _name in ("dtype", "shape", "ndim", "size", "device"):
    setattr(Array, _name, property(lambda self, name=_name: getattr(self.inside, name)))
for _name in ("T", "mT"):
    setattr(Array, _name, property(_jitted(lambda x, name=_name: getattr(x, name))))
_BINARY = ("add", "and", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow", "rshift", "sub", "truediv", "xor")
for _name in (*_BINARY, "eq", "ne", "lt", "le", "gt", "ge", "abs", "neg", "pos", "invert", "getitem"):
    setattr(Array, f"__{_name}__", _operator(f"__{_name}__"))
for _name in _BINARY:
    setattr(Array, f"__r{_name}__", _method(f"__r{_name}__"))
    setattr(Array, f"__i{_name}__", _operator(f"__i{_name}__"))
for _name, _type in {"bool": bool, "int": int, "float": float, "complex": complex, "index": operator.index}.items():
    setattr(Array, f"__{_name}__", _jitted(lambda x, kind=_type: kind(x)))
setattr(Array, "to_device", _method("to_device"))  # noqa: B010 (as the others)


def _namespace_of(module: Any, names: list[str]) -> dict[str, Any]:
    made = {}
    for name in names:
        found = getattr(module, name)
        if isinstance(found, (types.FunctionType, types.BuiltinFunctionType, np.ufunc)) or type(found) is type(np.sum):
            made[name] = functools.wraps(found)(_jitted(lambda *args, f=found, **kwargs: f(*args, **kwargs)))
        elif not isinstance(found, types.ModuleType):
            made[name] = found
    return made


ndarray = Array
__array_api_version__ = np.__array_api_version__
__version__ = np.__version__
__array_namespace_info__ = np.__array_namespace_info__
globals().update({k: v for k, v in _namespace_of(np, np.__all__).items() if k != "ndarray"})
bool = np.bool
linalg, fft = types.ModuleType("linalg"), types.ModuleType("fft")
vars(linalg).update(_namespace_of(np.linalg, np.linalg.__all__))
vars(fft).update(_namespace_of(np.fft, np.fft.__all__))
