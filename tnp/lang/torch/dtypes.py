"""Conversions between the dtypes and devices of torch and tnp, and torch's promotion of operands.

>>> import torch
>>> from tnp.lang.torch.dtypes import to_dtype, to_torch_dtype
>>> to_dtype(torch.float32), to_torch_dtype(to_dtype(int))
(dtypes.float32, torch.int64)
"""

from __future__ import annotations

from enum import Enum, auto
from functools import cache
from typing import Any

import torch

from tnp.core import devices, dtypes
from tnp.core.devices import Device
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.printing import register_printer
from tnp.core.proxies import NumberProxy, TensorProxy, is_number

__all__ = [
    "TypePromotion",
    "default_dtype",
    "dtype_or",
    "elementwise_type_promotion",
    "number_dtype",
    "result_dtype",
    "to_device",
    "to_dtype",
    "to_torch_device",
    "to_torch_dtype",
]

_TO_TORCH = {d: getattr(torch, d.name) for d in dtypes.ALL}
_FROM_TORCH = {t: d for d, t in _TO_TORCH.items()} | {
    bool: dtypes.bool8,
    int: dtypes.int64,
}

register_printer(torch.dtype, lambda d, context: repr(d), "import torch")
register_printer(torch.Size, lambda s, context: repr(s), "import torch")
register_printer(torch.device, lambda d, context: f"torch.{d!r}", "import torch")
register_printer(torch.memory_format, lambda f, context: repr(f), "import torch")
register_printer(torch.layout, lambda f, context: repr(f), "import torch")


def to_dtype(dtype: Any) -> DType:
    """tnp's dtype for one of torch's (or ``bool``, ``int``, ``float``, ``complex``).

    Quantised and other dtypes that tnp does not compile make the program run eagerly. Raises ``TypeError`` for what is no
    dtype.
    """
    if isinstance(dtype, DType):
        return dtype
    if dtype is float:
        return default_dtype()
    if dtype is complex:
        return dtypes.complex_counterpart(default_dtype())
    found = _FROM_TORCH.get(dtype) if isinstance(dtype, (torch.dtype, type)) else None
    if found is not None:
        return found
    if isinstance(dtype, torch.dtype):
        raise NeedsEager(f"it computes with {dtype}, which tnp does not compile")
    raise TypeError(f"dtype must be torch.dtype, not {type(dtype).__name__}")


def dtype_or(dtype: Any, default: DType) -> DType:
    """The dtype that an argument ``dtype=`` names, ``default`` for ``None``."""
    return default if dtype is None else to_dtype(dtype)


def to_torch_dtype(dtype: DType | torch.dtype) -> torch.dtype:
    """torch's dtype for tnp's; torch's own as they are."""
    return dtype if isinstance(dtype, torch.dtype) else _TO_TORCH[dtype]


def to_device(device: Any) -> Device:
    """tnp's device for one of torch's, or a name or number of one, ``None`` meaning the current one. ``"cuda"`` is the current CUDA device.

    Kinds of devices that tnp does not know run eagerly.
    """
    if device is None:
        return devices.current()
    if isinstance(device, int):
        return Device(f"cuda:{device}")
    name = str(device)
    if name == "cuda" and torch.cuda.is_initialized():
        name = f"cuda:{torch.cuda.current_device()}"
    try:
        return Device("cpu" if name.startswith("cpu:") else name)
    except ValueError:
        raise NeedsEager(f"it makes an array on {device}") from None


def to_torch_device(device: Any) -> torch.device:
    """torch's device for tnp's (or its name); torch's own as they are."""
    return device if isinstance(device, torch.device) else torch.device(str(device))


def default_dtype() -> DType:
    """The floating dtype that torch gives to Python floats. Programs are guarded by it."""
    return _FROM_TORCH[torch.get_default_dtype()]


def number_dtype(x: Any) -> DType:
    """The dtype that torch gives to a Python number."""
    kind = x.python_type if isinstance(x, NumberProxy) else type(x)
    if kind is float:
        return default_dtype()
    if kind is complex:
        return dtypes.complex_counterpart(default_dtype())
    return dtypes.bool8 if kind is bool else dtypes.int64


@cache
def _promoted(a: DType, b: DType) -> DType:
    try:
        return _FROM_TORCH[torch.promote_types(_TO_TORCH[a], _TO_TORCH[b])]
    except RuntimeError as error:  # the wide unsigned integers promote with few others
        raise NeedsOpaque(str(error)) from None


def _combined(higher: DType | None, lower: DType | None) -> DType | None:
    """The dtype of operands of two priorities: the lower ones count where they are of a higher kind."""
    if higher is None or lower is None:
        return higher or lower
    if higher.kind == "c":
        return higher
    if higher.kind == "f":
        return dtypes.complex_counterpart(higher) if lower.kind == "c" else higher
    if higher.kind == "b" or lower.kind in "fc":
        return _promoted(higher, lower)
    return higher


def result_dtype(*operands: Any) -> DType:
    """The dtype that tensors and Python numbers promote to: ``torch.result_type``.

    Tensors with dimensions decide; 0-d tensors, and after them Python numbers, count only if they are of a higher kind
    (bool < integer < floating < complex).
    """
    with_dims: DType | None = None
    without: DType | None = None
    numbers: DType | None = None
    for x in operands:
        if isinstance(x, TensorProxy):
            if x.ndim:
                with_dims = x.dtype if with_dims is None else _promoted(with_dims, x.dtype)
            else:
                without = x.dtype if without is None else _promoted(without, x.dtype)
        elif is_number(x):
            dtype = number_dtype(x)
            numbers = dtype if numbers is None else _promoted(numbers, dtype)
        else:
            raise TypeError(f"must be Tensor, not {type(x).__name__}")
    found = _combined(with_dims, _combined(without, numbers))
    assert found is not None
    return found


class TypePromotion(Enum):
    """How the operands of an elementwise function promote."""

    #: to the dtype that :func:`result_dtype` says
    DEFAULT = auto()
    #: as that, but integers and bools to the default floating dtype
    INT_TO_FLOAT = auto()
    #: computed as the first says; the result is bool
    ALWAYS_BOOL = auto()


def elementwise_type_promotion(
    *operands: Any, type_promotion_kind: TypePromotion = TypePromotion.DEFAULT
) -> tuple[DType, DType]:
    """The dtype that an elementwise function of tensors and numbers computes in, and that of its result, by torch's rules.

    >>> from tnp.core.proxies import TensorProxy
    >>> from tnp.lang.torch.dtypes import TypePromotion, dtypes, elementwise_type_promotion
    >>> a = TensorProxy("a", shape=(2,), dtype=dtypes.int32)
    >>> elementwise_type_promotion(a, 2), elementwise_type_promotion(a, 2.5, type_promotion_kind=TypePromotion.ALWAYS_BOOL)
    ((dtypes.int32, dtypes.int32), (dtypes.float32, dtypes.bool8))
    """
    dtype = result_dtype(*operands)
    if type_promotion_kind is TypePromotion.INT_TO_FLOAT and dtype.kind not in "fc":
        dtype = default_dtype()
    return dtype, dtypes.bool8 if type_promotion_kind is TypePromotion.ALWAYS_BOOL else dtype
