"""Tensor creation: constants, ranges, and tensors of Python numbers."""

from __future__ import annotations

import math
from typing import Any

import torch

from tnp.core import clang, devices, dtypes, prims, symbols
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.core.sizes import Shape
from tnp.core.symbol import OpTags
from tnp.lang.torch.dtypes import default_dtype, dtype_or, number_dtype, result_dtype, to_device, to_torch_dtype
from tnp.lang.torch.operands import as_tensor, on_device, shape_argument, tensor_only
from tnp.lang.torch.registry import torchsymbol

__all__ = ["check_plain", "from_sequence"]


def check_plain(
    device: Any, layout: Any = None, requires_grad: Any = False, pin_memory: Any = False, **others: Any
) -> None:
    """Checks what a factory may be asked for beside a dtype."""
    to_device(device)
    if (
        layout not in (None, torch.strided)
        or requires_grad
        or pin_memory
        or any(v is not None for v in others.values())
    ):
        raise NeedsOpaque("a tensor of another layout")


def _filled(shape: Shape, value: Any, dtype: DType) -> TensorProxy:
    negative = [n for n in shape if type(n) is int and n < 0]
    if negative:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(negative)}: {list(shape)}")
    return clang.full(shape, value, dtype=dtype)


def _constant(name: str, value: int) -> None:
    @torchsymbol(getattr(torch, name), factory=True)
    def make(*size: Any, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False,
             pin_memory: Any = False) -> TensorProxy:  # fmt: skip
        """A tensor of that shape, of zeros or ones."""
        check_plain(device, layout, requires_grad, pin_memory)
        return _filled(shape_argument(size), value, dtype_or(dtype, default_dtype()))

    @torchsymbol(getattr(torch, f"{name}_like"), factory=True)
    def make_like(input: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False,
                  memory_format: Any = None) -> TensorProxy:  # fmt: skip
        """A tensor like another, of zeros or ones."""
        check_plain(device, layout, requires_grad)
        tensor_only(input)
        return _filled(input.shape, value, dtype_or(dtype, input.dtype))

    @torchsymbol(getattr(torch.Tensor, f"new_{name}"), factory=True)
    def make_new(input: Any, *size: Any, dtype: Any = None, layout: Any = None, device: Any = None,
                 requires_grad: Any = False, pin_memory: Any = False) -> TensorProxy:  # fmt: skip
        """A tensor of that shape, of zeros or ones, in the dtype of another."""
        check_plain(device, layout, requires_grad, pin_memory)
        return _filled(shape_argument(size), value, dtype_or(dtype, input.dtype))


_constant("zeros", 0)
_constant("ones", 1)


@torchsymbol(torch.empty, factory=True)
def empty(*size: Any, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False,
          pin_memory: Any = False, memory_format: Any = None) -> TensorProxy:  # fmt: skip
    """A tensor of that shape, of whatever the memory held."""
    check_plain(device, layout, requires_grad, pin_memory)
    shape = shape_argument(size)
    if memory_format not in (None, torch.contiguous_format) or any(type(n) is int and n < 0 for n in shape):
        raise NeedsOpaque("memory of another format")
    return prims.empty(shape, device=devices.current(), dtype=dtype_or(dtype, default_dtype()))


@torchsymbol(torch.empty_like, factory=True)
def empty_like(input: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: Any = False,
               memory_format: Any = None) -> TensorProxy:  # fmt: skip
    """A tensor like another, of whatever the memory held."""
    check_plain(device, layout, requires_grad)
    tensor_only(input)
    return prims.empty(input.shape, device=devices.current(), dtype=dtype_or(dtype, input.dtype))


@torchsymbol(torch.Tensor.new_empty, factory=True)
def new_empty(input: Any, *size: Any, dtype: Any = None, layout: Any = None, device: Any = None,
              requires_grad: Any = False, pin_memory: Any = False) -> TensorProxy:  # fmt: skip
    """A tensor of that shape, of whatever the memory held, in the dtype of another."""
    check_plain(device, layout, requires_grad, pin_memory)
    return prims.empty(shape_argument(size), device=devices.current(), dtype=dtype_or(dtype, input.dtype))


@torchsymbol(torch.scalar_tensor, factory=True)
def scalar_tensor(
    s: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    pin_memory: Any = False,
) -> TensorProxy:
    """A 0-d tensor of a number, by default of the default floating dtype."""
    check_plain(device, layout, requires_grad, pin_memory)
    wanted = dtype_or(dtype, default_dtype())
    return clang.full((), _value(s, wanted), dtype=wanted)


def _value(x: Any, dtype: DType) -> Any:
    """What a tensor is filled with, as the dtype holds it."""
    if isinstance(x, TensorProxy) or (dtype.kind in "biu" and number_dtype(x).kind in "fc"):
        raise NeedsOpaque("a value of another kind")
    if dtype.kind in "iu" and not isinstance(x, NumberProxy):
        limits = torch.iinfo(getattr(torch, dtype.name))
        if not limits.min <= x <= limits.max:
            raise NeedsOpaque("a value out of bounds")
    return bool(x) if dtype.kind == "b" and not isinstance(x, NumberProxy) else x


@torchsymbol(torch.full, factory=True)
def full(size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
         requires_grad: Any = False, pin_memory: Any = False) -> TensorProxy:  # fmt: skip
    """A tensor of that shape, of one value."""
    check_plain(device, layout, requires_grad, pin_memory)
    wanted = dtype_or(dtype, number_dtype(fill_value) if is_number(fill_value) else default_dtype())
    return _filled(shape_argument((size,)), _value(fill_value, wanted), wanted)


@torchsymbol(torch.full_like, factory=True)
def full_like(input: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
              requires_grad: Any = False, memory_format: Any = None) -> TensorProxy:  # fmt: skip
    """A tensor like another, of one value."""
    check_plain(device, layout, requires_grad)
    tensor_only(input)
    wanted = dtype_or(dtype, input.dtype)
    return _filled(input.shape, _value(fill_value, wanted), wanted)


@torchsymbol(torch.Tensor.new_full, factory=True)
def new_full(input: Any, size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: Any = False, pin_memory: Any = False) -> TensorProxy:  # fmt: skip
    """A tensor of that shape, of one value, in the dtype of another."""
    check_plain(device, layout, requires_grad, pin_memory)
    wanted = dtype_or(dtype, input.dtype)
    return _filled(shape_argument((size,)), _value(fill_value, wanted), wanted)


def _static(x: Any) -> Any:
    if isinstance(x, NumberProxy):
        return x.known()
    if not is_number(x):
        raise NeedsOpaque("a bound that is no number")
    return x


@torchsymbol(torch.arange, factory=True)
def arange(start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, layout: Any = None, device: Any = None,
           requires_grad: Any = False, pin_memory: Any = False) -> TensorProxy:  # fmt: skip
    """Numbers from ``start`` up to ``end``, ``step`` apart."""
    check_plain(device, layout, requires_grad, pin_memory)
    first, last = (0, start) if end is None else (start, end)
    if any(map(symbols.is_symbol, (first, last, step))):
        wanted = dtype_or(dtype, dtypes.int64)
        is_plain = wanted.kind in "if" and wanted.bits > 16 and type(step) is int and step != 0
        if is_plain and symbols.relations_of(first, last) is not None:
            begin, end_ = map(symbols.extent, (first, last) if step > 0 else (last, first))
            is_plain = not end_ < begin
        found = clang.arange_of_sizes(first, last, step, wanted) if is_plain else None
        if found is not None:
            return found
    first, last, by = (int(x) if type(x) is bool else x for x in map(_static, (first, last, step)))
    floating = any(type(x) is float for x in (first, last, by))
    wanted = dtype_or(dtype, default_dtype() if floating else dtypes.int64)
    if by == 0 or any(type(x) not in (int, float) for x in (first, last, by)) or (last - first) * by < 0:
        raise NeedsOpaque("a range that torch refuses")
    if wanted.kind not in "if" or wanted.bits == 16 or (wanted.kind == "i" and int(by) == 0):
        raise NeedsOpaque(f"a range of {wanted}")
    n = math.ceil((last - first) / by)
    if floating and wanted.kind == "i":
        n = torch.arange(first, last, by, dtype=to_torch_dtype(wanted), device="meta").shape[0]
        first, by = int(first), int(by)
    return prims.iota(n, start=first, step=by, device=devices.current(), dtype=wanted)


@torchsymbol(torch.eye, factory=True)
def eye(n: Any, m: Any = None, *, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: Any = False, pin_memory: Any = False) -> TensorProxy:  # fmt: skip
    """A matrix with ones on the diagonal."""
    check_plain(device, layout, requires_grad, pin_memory)
    rows, columns = shape_argument((n, n if m is None else m))
    if any(type(x) is int and x < 0 for x in (rows, columns)):
        raise RuntimeError(f"n must be greater or equal to 0, got {min(rows, columns)}")
    i = clang.expand_dims(clang.arange(rows, dtype=dtypes.int64), (1,))
    j = clang.expand_dims(clang.arange(columns, dtype=dtypes.int64), (0,))
    return clang.convert(clang.eq(i, j), dtype_or(dtype, default_dtype()))


def from_sequence(data: Any, dtype: DType | None = None) -> TensorProxy:
    """A tensor of numbers, tensors of one element, and nested lists of them."""
    if not isinstance(data, (tuple, list)):
        return as_tensor(data, dtype)
    leaves = _leaves(data)
    for x in leaves:
        if isinstance(x, TensorProxy) and x.ndim and (dtype is None or x.lang.name == "torch") and not _is_one(x):
            raise NeedsOpaque("a list of tensors")
    if dtype is None:
        dtype = default_dtype() if not leaves else result_dtype(*(as_tensor(x) for x in leaves))
    if not data:
        return clang.full((0,), 0, dtype=dtype)
    rows = [from_sequence(clang.reshape(x, ()) if _is_one(x) else x, dtype) for x in data]
    if any(r.shape != rows[0].shape for r in rows):
        raise ValueError(f"expected sequence of length {rows[0].shape} at dim 1")
    return clang.stack(rows, 0)


def _is_one(x: Any) -> bool:
    """Whether ``x`` is a tensor of one element, which is a number in a list, however many dimensions it has."""
    return isinstance(x, TensorProxy) and x.lang.name == "torch" and all(type(n) is int and n == 1 for n in x.shape)


def _leaves(x: Any) -> list[Any]:
    return [leaf for y in x for leaf in _leaves(y)] if isinstance(x, (tuple, list)) else [x]


@torchsymbol(torch.tensor, factory=True, tags=(OpTags.DETACHES,))
def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False,
           pin_memory: Any = False) -> TensorProxy:  # fmt: skip
    """A new tensor of numbers, of a list of them, or of an array."""
    check_plain(device, None, requires_grad, pin_memory)
    wanted = None if dtype is None else dtype_or(dtype, default_dtype())
    if isinstance(data, TensorProxy):
        made = on_device(data if data.lang.name == "torch" else prims.as_language(data, "torch"), devices.current())
        return prims.clone(made) if wanted in (None, made.dtype) else clang.convert(made, wanted)
    if len(_leaves(data)) > 64:
        raise NeedsOpaque("many numbers")
    return from_sequence(data, wanted)


@torchsymbol(torch.as_tensor, torch.asarray, returns="argument")
def as_tensor_(data: Any, dtype: Any = None, device: Any = None) -> TensorProxy:
    """A tensor of numbers or an array, on its memory where that is possible."""
    if not isinstance(data, TensorProxy):
        return tensor(data, dtype=dtype, device=device)
    made = data if data.lang.name == "torch" else prims.as_language(data, "torch")
    made = on_device(made, made.device if device is None else to_device(device))
    return clang.convert(made, dtype_or(dtype, made.dtype))
