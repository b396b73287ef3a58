"""PyTorch's older constructors of tensors, ``torch.Tensor(…)`` and ``torch.LongTensor(…)``, in terms of its newer functions."""

from __future__ import annotations

from typing import Any

import torch

from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.tracing.traced_values import TracedArray, TracedSize
from tnp.core.errors import NeedsEager

__all__ = ["as_factory"]

#: the dtype of each class; None is the default dtype
_DTYPES: dict[Any, torch.dtype | None] = {
    torch.Tensor: None,
    torch.FloatTensor: torch.float32,
    torch.DoubleTensor: torch.float64,
    torch.HalfTensor: torch.float16,
    torch.BFloat16Tensor: torch.bfloat16,
    torch.ByteTensor: torch.uint8,
    torch.CharTensor: torch.int8,
    torch.ShortTensor: torch.int16,
    torch.IntTensor: torch.int32,
    torch.LongTensor: torch.int64,
    torch.BoolTensor: torch.bool,
}


def as_factory(
    cls: type, args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The function, and its arguments, that gives what ``cls(*args)`` gives. Raises :class:`NeedsEager` for other classes and arguments.

    A sequence holds the elements, and numbers are lengths, as ``torch.Size`` holds them. These tensors are of the CPU,
    whatever the current device is.

    >>> as_factory(torch.LongTensor, ([1, 2],), {}) == (torch.tensor, ([1, 2],), {"dtype": torch.int64, "device": "cpu"})
    True
    >>> as_factory(torch.FloatTensor, (2, 3), {}) == (torch.empty, ((2, 3),), {"dtype": torch.float32, "device": "cpu"})
    True
    """
    if cls is torch.autograd.Variable and len(args) == 1 and type(args[0]) is TracedArray and not keywords:
        return torch.detach, args, {}
    found = _factory(cls, args) if cls in _DTYPES and not keywords else None
    if found is None:
        raise NeedsEager(f"it makes a {cls.__name__}")
    return found


def _factory(cls: type, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    dtype = _DTYPES[cls] or torch.get_default_dtype()
    keywords = {"dtype": dtype, "device": "cpu"}
    first = args[0] if len(args) == 1 else None
    if isinstance(first, (torch.Size, TracedSize)):
        return torch.empty, (tuple(first),), keywords
    if isinstance(first, (list, tuple)):
        return (torch.tensor, args, keywords) if _holds_numbers(first, dtype) else None
    if type(first) is TracedArray:  # NumPy's; a tensor must be of this dtype, and keeps its gradient
        return (torch.as_tensor, args, keywords) if first.library is NUMPY and first.ndim else None
    if all(isinstance(n, int) and not isinstance(n, bool) for n in args):
        return torch.empty, (args or (0,),), keywords
    return None


def _holds_numbers(items: Any, dtype: torch.dtype) -> bool:
    """Whether a nested sequence holds only numbers and 0-d tensors, and ``dtype`` can represent their kind."""
    kinds = (int, float) if dtype.is_floating_point else (int,)
    return all(
        _holds_numbers(x, dtype)
        if isinstance(x, (list, tuple))
        else not x.ndim and (dtype.is_floating_point or x._element_type.kind in "biu") and x._element_type.kind != "c"
        if type(x) is TracedArray
        else isinstance(x, kinds)
        for x in items
    )
