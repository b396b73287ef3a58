"""Tensor's attributes and methods that are not functions of the language: queries, and conversions to Python values.

Their first arguments are the tracer and the traced tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from tnp.capture.guards.prologue import Source
from tnp.capture.libraries.torch.layouts import is_contiguous_as
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber, TracedSize
from tnp.core import prims, sizes, symbols
from tnp.core.devices import Device, DeviceType
from tnp.core.errors import NeedsEager, NeedsValue
from tnp.core.proxies import NumberProxy
from tnp.lang.torch.dtypes import to_torch_device, to_torch_dtype
from tnp.lang.torch.registry import by_id

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["ATTRIBUTES", "METHODS", "own_attribute"]


def _shape(tracer: Tracer, a: TracedArray) -> Any:
    if sizes.is_known(a.shape_):
        return torch.Size(a.shape_)
    return TracedSize.of((TracedNumber(n) if isinstance(n, NumberProxy) else n for n in a.shape_), torch.Size)


def _size(tracer: Tracer, a: TracedArray, dim: Any = None) -> Any:
    if dim is None:
        return _shape(tracer, a)
    d = int(dim)
    if not -a.ndim <= d < a.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-a.ndim}, {a.ndim - 1}], but got {d})")
    return _shape(tracer, a)[d]


def _numel(tracer: Tracer, a: TracedArray) -> Any:
    n = sizes.product(a.shape_)
    return TracedNumber(n) if isinstance(n, NumberProxy) else n


def _known_strides(a: TracedArray) -> tuple[int, ...]:
    strides = a.strides_
    if strides is None:
        raise NeedsEager("it asks for the strides of a tensor whose layout tnp does not know")
    return strides


def _stride(tracer: Tracer, a: TracedArray, dim: Any = None) -> Any:
    asked = a.shape_ if dim is None else (a.shape_[int(dim)],)
    # Along a dimension of one element, tnp has another stride.
    if a.path and any(type(n) is int and n <= 1 for n in asked):
        raise NeedsEager("it asks for the strides of a view along a dimension of 1")
    strides = tuple(TracedNumber(s.number) if isinstance(s, symbols.Extent) else s for s in _known_strides(a))
    return strides if dim is None else strides[int(dim)]


def _is_conj(tracer: Tracer, a: TracedArray) -> bool:
    if a.path and a._element_type.kind == "c":
        raise NeedsEager("it asks whether a view of complex numbers is that of their conjugates")
    return False


def _is_neg(tracer: Tracer, a: TracedArray) -> bool:
    if a.path and a.storage.value.dtype.kind == "c":
        raise NeedsEager("it asks whether a view of complex numbers is that of their negatives")
    return False


def _is_contiguous(tracer: Tracer, a: TracedArray, memory_format: Any = torch.contiguous_format) -> bool:
    _known_strides(a)
    return a.contiguous_ if memory_format is torch.contiguous_format else is_contiguous_as(a, memory_format)


def _item(tracer: Tracer, a: TracedArray) -> Any:
    if _numel(tracer, a) != 1:
        raise RuntimeError("a Tensor with several elements cannot be converted to Scalar")
    if tracer.gradients.requires(a.__tnp_value__()):
        a = tracer.library_function(torch.detach, (a,), {})
    return tracer.call(prims.item, (a,), {})


def _tolist(tracer: Tracer, a: TracedArray) -> Any:
    if a.ndim == 0:
        return _item(tracer, a)
    if not isinstance(_numel(tracer, a), int) or _numel(tracer, a) > 1000:
        raise NeedsValue("tolist() of a large tensor needs its values")
    return [_tolist(tracer, x) for x in a]


def _view_by(name: str, *args: Any) -> Callable[..., Any]:
    return lambda tracer, a: tracer.call(by_id[name].symbol, (a, *args), {})


def _reversed(tracer: Tracer, a: TracedArray) -> Any:
    return tracer.call(by_id["torch.permute"].symbol, (a, tuple(reversed(range(a.ndim)))), {})


def _transposed(tracer: Tracer, a: TracedArray) -> Any:
    if a.ndim < 2:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices")
    return tracer.call(by_id["torch.transpose"].symbol, (a, -2, -1), {})


def _constant(value: Any) -> Callable[..., Any]:
    return lambda tracer, a: value


def _refused(reason: str) -> Callable[..., Any]:
    def refuse(tracer: Tracer, a: TracedArray, *args: Any, **kwargs: Any) -> Any:
        raise NeedsEager(reason)

    return refuse


def _requires_grad(tracer: Tracer, a: TracedArray) -> bool:
    if tracer.inputs.trace_has_gradients:
        raise NeedsEager("it asks whether a tensor requires a gradient")
    return bool(tracer.gradients.requires(a.__tnp_value__()))


def _require_grad(tracer: Tracer, a: TracedArray, requires_grad: Any = True) -> TracedArray:
    """``a.requires_grad_()``. A tensor that requires a gradient already stays as it is."""
    argument = _argument(tracer, a)
    if argument is not None:
        with torch._C.DisableTorchFunction():
            is_so = argument[0].requires_grad
        if is_so is not tracer.known(requires_grad):
            raise NeedsEager("it calls Tensor.requires_grad_ of an argument")
    elif tracer.known(requires_grad):
        tracer.gradients.require(a)
    elif _requires_grad(tracer, a):
        raise NeedsEager("it calls Tensor.requires_grad_")
    return a


def _unless_required(name: str, value: Any) -> Callable[..., Any]:
    """An attribute that has ``value`` of what requires no gradient."""

    def get(tracer: Tracer, a: TracedArray) -> Any:
        if _requires_grad(tracer, a):
            raise NeedsEager(f"it asks for .{name} of a tensor that requires a gradient")
        return value

    return get


def _grad(tracer: Tracer, a: TracedArray) -> Any:
    """The gradient that an argument has, an input itself; what the program computed has none."""
    found = _argument(tracer, a)
    if found is None:
        return _unless_required("grad", None)(tracer, a)
    value, expression = found
    with torch._C.DisableTorchFunction():
        gradient = value.grad
    return tracer.inputs.lift(gradient, Source(f"{expression}.grad", f"the gradient of {expression}"))


def _argument(tracer: Tracer, a: TracedArray) -> tuple[Any, str] | None:
    """The real tensor of a traced tensor, if that is an argument, and the expression that fetches it."""
    value = tracer.inputs.value_of(a)
    origin = a.storage.origin
    return None if value is None or origin is None else (value, tracer.inputs.expressions[origin.name])


def own_attribute(tracer: Tracer, a: TracedArray, name: str) -> Any:
    """What the user has put on an argument under a name that tensors do not have. Raises ``AttributeError`` if there is nothing."""
    found = _argument(tracer, a)
    if found is not None:
        value, expression = found
        if name in getattr(value, "__dict__", ()):
            return tracer.inputs.lift(value.__dict__[name], Source(f"{expression}.{name}", f"{expression}.{name}"))
        tracer.inputs.prologue.guard(f"not hasattr({expression}, {name!r})", f"{expression} has no attribute {name}")
    raise AttributeError(f"{a.__class__.__name__!r} object has no attribute {name!r}")


def _copied(by: Any) -> Callable[..., Any]:
    def copied(tracer: Tracer, a: TracedArray) -> Any:
        if _requires_grad(tracer, a):
            raise NeedsEager("it copies a tensor that requires a gradient")
        return tracer.library_function(by, (a,), {})

    return copied


def _data(tracer: Tracer, a: TracedArray) -> Any:
    return tracer.library_function(torch.detach, (a,), {})


def _is_buffer(tracer: Tracer, a: TracedArray) -> bool:
    argument = _argument(tracer, a)
    if argument is None:
        return False
    value, expression = argument
    found = bool(getattr(value, "_is_buffer", False))
    condition = f"getattr({expression}, '_is_buffer', False)"
    what = f"{expression} is {'a' if found else 'no'} Buffer"
    tracer.inputs.prologue.guard(condition if found else f"not {condition}", what)
    return found


def _fill_diagonal(tracer: Tracer, a: TracedArray, fill_value: Any, wrap: Any = False) -> TracedArray:
    if a.ndim != 2 or wrap:
        raise NeedsEager("it calls Tensor.fill_diagonal_ of more than a matrix's diagonal")
    tracer.library_function(torch.Tensor.fill_, (tracer.library_function(torch.diagonal, (a,), {}), fill_value), {})
    return a


def _device(a: TracedArray) -> Device:
    return a._proxy.device


def _is_on(kind: DeviceType) -> Callable[..., Any]:
    return lambda tracer, a: _device(a).devicetype is kind


ATTRIBUTES: dict[str, Callable[..., Any]] = {
    "_is_buffer": _is_buffer,
    "H": lambda tracer, a: (
        _reversed(tracer, a) if a._element_type.kind != "c" and a.ndim == 2 else _refused("x.H")(tracer, a)
    ),
    "T": _reversed,
    "data": _data,
    "device": lambda tracer, a: to_torch_device(_device(a)),
    "dtype": lambda tracer, a: to_torch_dtype(a._element_type),
    "grad": _grad,
    "grad_fn": _unless_required("grad_fn", None),
    "imag": _view_by("torch.imag"),
    "is_cpu": _is_on(DeviceType.CPU),
    "is_cuda": _is_on(DeviceType.CUDA),
    "is_leaf": _unless_required("is_leaf", True),
    "is_meta": _is_on(DeviceType.META),
    "is_mkldnn": _constant(False),
    "is_mps": _constant(False),
    "is_nested": _constant(False),
    "is_quantized": _constant(False),
    "is_sparse": _constant(False),
    "is_xpu": _constant(False),
    "itemsize": lambda tracer, a: a._element_type.itemsize,
    "layout": _constant(torch.strided),
    "mH": lambda tracer, a: _refused("x.mH")(tracer, a) if a._element_type.kind == "c" else _transposed(tracer, a),
    "mT": _transposed,
    "nbytes": lambda tracer, a: _numel(tracer, a) * a._element_type.itemsize,
    "ndim": lambda tracer, a: len(a.shape_),
    "output_nr": _unless_required("output_nr", 0),
    "real": _view_by("torch.real"),
    "requires_grad": _requires_grad,
    "shape": _shape,
}


METHODS: dict[str, Callable[..., Any]] = {
    "__copy__": _copied(torch.detach),
    "__deepcopy__": _copied(torch.clone),
    "dim": lambda tracer, a: len(a.shape_),
    "element_size": lambda tracer, a: a._element_type.itemsize,
    "fill_diagonal_": _fill_diagonal,
    "get_device": lambda tracer, a: _device(a).index if _device(a).devicetype is DeviceType.CUDA else -1,
    "is_complex": lambda tracer, a: a._element_type.kind == "c",
    "is_conj": _is_conj,
    "is_contiguous": _is_contiguous,
    "is_floating_point": lambda tracer, a: a._element_type.kind == "f",
    "is_neg": _is_neg,
    "is_signed": lambda tracer, a: a._element_type.kind in "ifc",
    "item": _item,
    "ndimension": lambda tracer, a: len(a.shape_),
    "nelement": _numel,
    "numel": _numel,
    "requires_grad_": _require_grad,
    "size": _size,
    "stride": _stride,
    "tolist": _tolist,
    **{
        name: _refused(f"it calls Tensor.{name}")
        for name in (
            "apply_", "backward", "data_ptr", "is_inference", "map_", "register_hook", "resize_", "retain_grad", "set_",
            "share_memory_", "storage", "storage_offset", "untyped_storage", "detach_", "squeeze_", "t_", "transpose_",
            "unsqueeze_", "swapaxes_", "swapdims_", "resize_as_", "swap_", "pin_memory", "register_post_accumulate_grad_hook",
        )
    },
}  # fmt: skip
