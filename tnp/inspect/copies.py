"""Copies of arguments with the arguments' memory layout, so that the same programs are valid for them."""

from __future__ import annotations

import copy
import functools
import types
from typing import Any

import numpy as np

__all__ = ["copied", "unbound"]


def unbound(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A function and its arguments for a method, or a partial: its object is an argument, to be copied like the others.

    >>> unbound(functools.partial(max, 1), (2,), {})
    (<built-in function max>, (1, 2), {})
    """
    while type(f) in (functools.partial, types.MethodType):
        if isinstance(f, types.MethodType):
            f, args = f.__func__, (f.__self__, *args)
        else:
            f, args, kwargs = f.func, (*f.args, *args), {**f.keywords, **kwargs}
    return f, args, kwargs


def copied(x: Any, memo: dict[int, Any] | None = None) -> Any:
    """``x`` with the arrays in it copied, strides and all, through tuples, lists and dicts; what is the same object twice
    stays so. (``copy.deepcopy`` makes an array with gaps contiguous.)
    """
    memo = {} if memo is None else memo
    if id(x) in memo:
        return memo[id(x)]
    made: Any
    if type(x) in (tuple, list):
        made = type(x)(copied(y, memo) for y in x)
    elif type(x) is dict:
        made = {k: copied(v, memo) for k, v in x.items()}
    elif type(x) is np.ndarray and not x.flags.forc and not x.dtype.hasobject:
        made = _with_gaps(x)
    else:
        made = copy.deepcopy(x, memo)
    memo[id(x)] = made
    return made


def _with_gaps(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy of an array that is contiguous in no order, in memory that lies as its own does."""
    spans = [(n - 1) * s for n, s in zip(a.shape, a.strides)]
    before = -sum(s for s in spans if s < 0)
    memory = np.zeros(before + sum(s for s in spans if s > 0) + a.itemsize, np.uint8)
    made: np.ndarray[Any, Any] = np.ndarray(a.shape, a.dtype, memory.data, before, a.strides)
    made[...] = a
    made.flags.writeable = a.flags.writeable
    return made
