"""Kinds of arguments that torch refuses: a bool for a dimension, an integer for a flag.

torch's argument parser decides. Each combination of kinds calls the function once, on tensors that repeat one element.
The call ends at the first operation, so nothing is computed.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.libraries.torch.lifting import CONSTANTS
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import symbols
from tnp.core.errors import NeedsEager
from tnp.lang.numpy.dtypes import to_numpy_dtype
from tnp.lang.torch.dtypes import to_torch_dtype
from tnp.runtime.quiet import quiet

__all__ = ["check_kinds"]

#: kinds that stand for themselves
_PLAIN = frozenset((bool, int, float, complex, str, type(None), *CONSTANTS))
_ANY_LENGTH = 4
_refused: dict[Hashable, str | None] = {}


class _Unknown(Exception):
    """An argument whose kind is not modelled."""


class _Parsed(BaseException):
    """The arguments are taken: the function has begun to compute."""


class _UpToTheFirst(TorchDispatchMode):
    """Ends a function at its first operation."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # PyTorch's class has no types

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise _Parsed


def check_kinds(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises :class:`NeedsEager` for a call whose arguments torch refuses because of their kinds, whatever their values."""
    try:
        key = function, tuple(map(_kind, args)), tuple((name, _kind(x)) for name, x in kwargs.items())
    except _Unknown:
        return
    if key not in _refused:
        _refused[key] = _refusal(function, args, kwargs)
    reason = _refused[key]
    if reason is not None:
        raise NeedsEager(f"torch refuses it: {reason}")


def _kind(x: Any) -> Any:
    """What torch's parser tells an argument by."""
    kind = type(x)
    if kind is TracedArray:
        return x.library is NUMPY, len(x.shape_), x._element_type, x.scalar
    if kind is TracedNumber:
        return x.proxy.python_type
    if kind in (tuple, list):
        return kind, *map(_kind, x)
    if kind not in _PLAIN:
        raise _Unknown
    return kind


def _stand_in(x: Any) -> Any:
    kind = type(x)
    if kind is TracedArray and x.library is not NUMPY:
        return torch.zeros((), dtype=to_torch_dtype(x._element_type)).expand(_lengths(x))
    if kind is TracedArray:
        made = np.ones((), to_numpy_dtype(x._element_type))
        return made[()] if x.scalar else np.broadcast_to(made, _lengths(x))
    if kind is TracedNumber:
        return x.proxy.python_type(1) if x.proxy.value is None else x.proxy.value
    return kind(map(_stand_in, x)) if kind in (tuple, list) else x


def _lengths(x: TracedArray) -> tuple[int, ...]:
    """The shape in the call being traced; a length that only the program knows is any."""
    return tuple(_ANY_LENGTH if n is None else n for n in map(symbols.value_of, x.shape_))


def _refusal(function: Any, args: Any, kwargs: Any) -> str | None:
    """What torch says about arguments of such kinds; ``None`` if it takes them."""
    given, named = _stand_in(args), {name: _stand_in(x) for name, x in kwargs.items()}
    with torch._C.DisableTorchFunction(), torch.no_grad(), quiet(), _UpToTheFirst():
        try:
            function(*given, **named)
        except TypeError as error:
            return str(error).partition("\n")[0]
        except (_Parsed, Exception):
            pass
    return None
