"""Checks of the arguments of NumPy functions before an operation is recorded."""

from __future__ import annotations

import inspect
import itertools
import types
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tnp.core.errors import NeedsEager
from tnp.core.symbol import Symbol
from tnp.runtime.quiet import quiet

__all__ = ["MANY", "check_plain", "check_where", "count_of_plain", "in_places", "with_dtype_for_signature"]

#: functions that act on files
_ON_FILES = (np.save, np.savez, np.savez_compressed, np.savetxt, np.load, np.loadtxt, np.genfromtxt, np.fromregex)
#: kinds of arguments that stay as they are when a function is tried on dummy data
_PLAIN = (
    bool, int, float, complex, str, bytes, type(None), type(...), type, slice, range, np.ndarray, np.generic, np.dtype, np.ufunc,
    types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, type(np.sum), type(np._NoValue),
)  # fmt: skip


def check_plain(function: Any, name: str, arguments: tuple[Any, ...]) -> None:
    """Raises :class:`NeedsEager` for a call that may not be tried on dummy data: it may change what it is given, or files."""
    if function in _ON_FILES:
        raise NeedsEager(f"it calls {name}, which acts on a file")
    for x in arguments:
        if isinstance(x, (tuple, list)):
            check_plain(function, name, tuple(x))
        elif isinstance(x, dict):
            check_plain(function, name, tuple(x.values()))
        elif not (
            isinstance(x, _PLAIN) or str(type(x).__module__).startswith("tnp.")
        ):  # what stands for something plain
            raise NeedsEager(f"it hands {name}, which is not compiled, a {type(x).__name__}")


@cache
def _warns_of_where() -> bool:
    """Whether NumPy warns of ``where=`` without ``out=``, as it does since 2.4."""
    with quiet() as said:
        np.positive(1, where=np.array(False))
    return bool(said)


def check_where(ufunc: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises :class:`NeedsEager` for a call that leaves elements undefined, of which NumPy warns."""
    has_out = "out" in kwargs or len(args) > ufunc.nin
    if len(args) > ufunc.nin and ufunc in (np.maximum, np.minimum):
        raise NeedsEager(f"{ufunc.__name__} is called with out= by position, of which NumPy warns")
    if not has_out and kwargs.get("where", True) is not True and _warns_of_where():
        raise NeedsEager(f"{ufunc.__name__} is called with where= and no out=, of which NumPy warns")


def with_dtype_for_signature(ufunc: np.ufunc, kwargs: dict[str, Any]) -> dict[str, Any]:
    """A ufunc's keywords with ``dtype=`` in place of ``signature=`` (``sig=``) that says the same: all types are one.

    Raises :class:`NeedsEager` for other signatures."""
    if "dtype" in kwargs or not {"sig", "signature"} & kwargs.keys():
        return kwargs
    if {"sig", "signature"} <= kwargs.keys():
        raise TypeError("cannot specify both 'sig' and 'signature'")
    rest = {k: v for k, v in kwargs.items() if k not in ("sig", "signature")}
    signature: Any = kwargs.get("sig", kwargs.get("signature"))
    count = ufunc.nin + ufunc.nout
    if type(signature) is str:
        signature = tuple(signature.replace("->", "")) if len(signature) == count + 2 else ()
    is_full = type(signature) is tuple and len(signature) == count and all(signature)
    found = set(map(np.dtype, signature)) if is_full else set()
    if len(found) != 1:
        raise NeedsEager(f"{ufunc.__name__} is called with signature={signature!r}")
    return rest | {"dtype": found.pop()}


#: numbers in a list from which on an array of them is one constant, not an operation an element
MANY = 16


def count_of_plain(x: Any) -> int:
    """How many numbers there are in nested lists that hold nothing else; 0 if they do."""
    if type(x) not in (list, tuple):
        return type(x) in (bool, int, float, complex)
    counts = [count_of_plain(y) for y in x]
    return sum(counts) if all(counts) else 0


def in_places(
    symbol: Symbol | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with those that the function needs in their places, where passes look for them. They may be given by name."""
    needed = () if symbol is None else _needed(symbol.meta)[len(args) :]
    given = tuple(itertools.takewhile(kwargs.__contains__, needed))
    return (*args, *map(kwargs.get, given)), {name: x for name, x in kwargs.items() if name not in given}


@cache
def _needed(meta: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters at the front that have no default."""
    parameters = inspect.signature(meta).parameters.values()
    plain = itertools.takewhile(lambda p: p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty, parameters)
    return tuple(p.name for p in plain)
