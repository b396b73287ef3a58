"""Lifting of torch's values: tensors, dtypes and devices become inputs, with guards."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tnp.capture.guards.memory import lie_apart
from tnp.capture.guards.prologue import Extent
from tnp.capture.libraries.torch.modules import lift_module
from tnp.capture.rewrite.code_origin import is_library_class
from tnp.capture.tracing.strides import ROW_MAJOR
from tnp.core import symbols
from tnp.core.devices import DeviceType
from tnp.core.errors import NeedsEager
from tnp.core.proxies import TensorProxy
from tnp.lang.torch import language
from tnp.lang.torch.autocast import dtype_now
from tnp.lang.torch.dtypes import to_device, to_dtype

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs
    from tnp.capture.guards.prologue import Source

__all__ = ["CONSTANTS", "guard_state", "is_object", "is_unwatched", "lift", "memory_of"]

#: kinds of values that are told apart by comparing them, and never change
CONSTANTS = (torch.dtype, torch.device, torch.Size, torch.memory_format, torch.layout)
TENSORS = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)

#: classes of PyTorch's written in Python, whose objects are changed from call to call
_CHANGING = (torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler)

#: devices on which tensors may be; those of ``meta`` have no data, and show what a program makes of shapes and dtypes
DEVICES = frozenset(d.value for d in DeviceType)

#: what is asked at each call
_is_any_autocast_enabled = torch._C._is_any_autocast_enabled
_functions, _dispatchers = torch._C._len_torch_function_stack, torch._C._len_torch_dispatch_stack
_tracing_state = torch._C._get_tracing_state
_func_transform = torch._C._functorch.peek_interpreter_stack
_forward_ad = torch.autograd.forward_ad

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def memory_of(t: torch.Tensor) -> np.ndarray[Any, Any] | Extent:
    """A tensor's memory as an ndarray; of bfloat16, which NumPy has not, the bits; on a device its extent.

    Unlike ``t.numpy()`` it leaves the tensor one that can be resized.
    """
    t = t.detach()
    if not t.is_cpu:
        span = sum((n - 1) * s for n, s in zip(t.shape, t.stride())) + 1 if t.numel() else 0
        if t.is_cuda and type(t) is torch.Tensor:  # its addresses are none of the host's
            return Extent(t.data_ptr(), t.data_ptr() + span * t.element_size())
        start: Any = t.storage_offset() * t.element_size()
        return Extent(start, start + span * t.element_size(), t.untyped_storage()._cdata)
    return np.from_dlpack(t.view(_BITS[t.element_size()]) if t.dtype is torch.bfloat16 else t)


def apart(written: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> bool:
    """Whether surely no tensor of ``written`` shares memory with another one, of ``written`` or of ``others``."""
    return lie_apart(map(_extent, written), map(_extent, others))


def _extent(t: torch.Tensor) -> tuple[int, int, int]:
    """The space that a tensor is in, and from where to where it lies there, in bytes."""
    if t.is_cpu and t.is_contiguous():
        start = t.data_ptr()
        return 0, start, start + t.nbytes
    memory = memory_of(t)
    if isinstance(memory, Extent):
        return memory.space, memory.start, memory.stop
    return 0, *np.lib.array_utils.byte_bounds(memory)


def is_plain(t: torch.Tensor) -> bool:
    """Whether a tensor is strided memory of a device that tnp knows, holds the very elements, and may be written."""
    return (
        t.device.type in DEVICES
        and t.layout is torch.strided
        and not (
            t.is_conj()
            or t.is_neg()
            or t.is_quantized
            or t.is_nested
            or torch._C._functorch.is_functorch_wrapped_tensor(t)
        )
        and (not t.is_inference() or torch.is_inference_mode_enabled())
    )


def is_ordinary() -> bool:
    """Whether torch's functions do nothing but compute: no autocast, no modes that watch, no forward gradients."""
    return not (_is_any_autocast_enabled() and torch.is_autocast_enabled("cpu")) and is_unwatched()


def is_unwatched() -> bool:
    """Whether torch's functions do nothing but cast and compute: neither a mode, a transform of ``torch.func`` nor ``torch.jit.trace`` looks
    at them one by one."""
    return not (
        (_is_any_autocast_enabled() and torch.is_autocast_enabled("cuda"))
        or _functions()
        or _dispatchers()
        or _tracing_state() is not None
        or _forward_ad._current_level >= 0
        or _func_transform() is not None
    )


def guard_state(inputs: Inputs) -> None:
    """The trace holds only under the present default dtype, and where torch's functions do nothing but compute."""
    if inputs.guarded_state:
        return
    inputs.guarded_state = True
    prologue = inputs.prologue
    unwatched = f"{prologue.constant(is_unwatched, 'is_unwatched')}()"
    casts = inputs.tracer.casts.began_dtype
    if not inputs.tracer.began_ordinary:
        watched = "a mode of torch's, a transform of torch.func, torch.jit.trace or forward gradients are on"
        prologue.guard(f"not {unwatched}", watched)
        raise NeedsEager(watched)
    if torch.cuda.is_initialized() and torch.cuda.device_count() > 1:  # what is made on "cuda" is made there
        current, at = prologue.constant(torch.cuda.current_device, "current_device"), torch.cuda.current_device()
        prologue.guard(f"{current}() == {at}", f"the current CUDA device is {at}")
    if casts is None:
        ordinary = f"{prologue.constant(is_ordinary, 'is_ordinary')}()"
        prologue.guard(ordinary, "autocast, modes of torch's and forward gradients are off")
    else:
        prologue.guard(unwatched, "modes of torch's and forward gradients are off")
        now = f"{prologue.constant(dtype_now, 'autocast_dtype')}()"
        prologue.guard(f"{now} is {prologue.constant(casts, 'dtype')}", f"autocast is on, with {casts}")
    default = torch.get_default_dtype()
    prologue.guard(
        f"{prologue.constant(torch.get_default_dtype, 'default')}() is {prologue.constant(default, 'dtype')}",
        f"torch's default dtype is {default}",
    )


def is_object(value: Any) -> bool:
    """Whether a value is an object whose attributes programs read and set: of the user's class, or one that changes from call to call."""
    if isinstance(value, (torch.Tensor, torch.nn.Module, torch.Generator, *CONSTANTS)):
        return False
    return isinstance(value, _CHANGING) or not is_library_class(type(value))


def lift(inputs: Inputs, value: Any, source: Source) -> Any:
    """A value of torch's as an input, or as a constant that is guarded."""
    if isinstance(value, torch.Tensor):
        return _lift_tensor(inputs, value, inputs.prologue.let(source))
    if isinstance(value, CONSTANTS):
        inputs.guard_equal(value, source)
        return value
    if isinstance(value, torch.Generator):
        if value.device.type != "cpu":
            raise NeedsEager(f"{source.description} is a random generator on {value.device}")
        source = inputs.prologue.let(source)
        generator = inputs.lift_object(value, source)
        inputs.prologue.guard(f"{source.expression}.device.type == 'cpu'", f"{source.description} is on the CPU")
        return generator
    if isinstance(value, torch.nn.Module):
        return lift_module(inputs, value, inputs.prologue.let(source))
    inputs.guard_identity(value, source)
    attributes = dict(getattr(value, "__dict__", {}))
    if attributes:  # which the program reads as they are
        prologue = inputs.prologue
        names, values = prologue.constant(tuple(attributes)), prologue.constant(tuple(attributes.values()))
        same = f"{prologue.constant(_has_attributes)}({source.expression}, {names}, {values})"
        prologue.guard(same, f"{source.description} has the same attributes")
    return value


def _has_attributes(x: Any, names: tuple[str, ...], values: tuple[Any, ...]) -> bool:
    """Whether an object has these very attributes, and maybe others."""
    return all(map(operator.is_, map(vars(x).get, names), values))


def is_row_major(t: torch.Tensor) -> bool:
    """Whether a tensor that is not empty has the strides of a new one, also along dimensions of 1."""
    step = 1
    for n, s in zip(reversed(t.shape), reversed(t.stride())):
        if s != step:
            return False
        step *= n
    return True


def _memory_order(t: torch.Tensor) -> tuple[int, ...] | None:
    """The dimensions of a dense tensor, slowest in memory first; ``None`` for one with gaps, repeats or other strides along dimensions of 1."""
    order = sorted(range(t.ndim), key=lambda d: (t.stride(d), t.shape[d]), reverse=True)
    return tuple(order) if is_row_major(t.permute(order)) else None


def has_order(t: torch.Tensor, order: tuple[int, ...]) -> bool:
    """Whether a tensor has the strides of a new one whose dimensions, slowest in memory first, are ``order``."""
    return is_row_major(t.permute(order))


def _strides_in_order(dims: Sequence[Any], order: Sequence[int]) -> tuple[Any, ...]:
    """The strides of a dense tensor with symbolic sizes, whose dimensions, slowest in memory first, are ``order``."""
    strides, step = [0] * len(dims), 1
    for d in reversed(order):
        strides[d] = step
        step = step * symbols.extent(dims[d])
    return tuple(strides)


def _may_overlap(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether several elements of a tensor may be one place in memory."""
    reach = 0
    for step, n in sorted((s, n) for s, n in zip(strides, shape) if n > 1):
        if step <= reach:
            return True
        reach += (n - 1) * step
    return False


def _kinds_of(values: list[torch.Tensor]) -> Callable[..., bool] | None:
    """A function of C++ that says whether tensors have the types, dtypes, shapes, strides and so on of ``values``: what Dynamo's
    guards are made of. ``None`` if torch has it no more."""
    try:
        from torch._C._dynamo.guards import TensorGuards

        shapes: list[Any] = [list(v.shape) for v in values]
        strides: list[Any] = [list(v.stride()) for v in values]
        guards = TensorGuards(*values, dynamic_dims_sizes=shapes, dynamic_dims_strides=strides)
        return guards.check if guards.check(*values) else None
    except (ImportError, TypeError, RuntimeError):
        return None


def _refusal(value: torch.Tensor) -> str | None:
    """Why a tensor is left to torch; ``None`` for those that are compiled."""
    if type(value) not in TENSORS:
        return f"is a {type(value).__name__}, a subclass of Tensor"
    if value.is_quantized or value.layout is not torch.strided or value.is_nested:
        return "is sparse, quantised or nested"
    if value.device.type not in DEVICES:
        return f"is on {value.device}"
    if value.is_conj() or value.is_neg():
        return "is a conjugate or negative view"
    return None if is_plain(value) else "is wrapped by torch.func, or for inference only"


def _lift_tensor(inputs: Inputs, value: torch.Tensor, source: Source) -> Any:
    known = inputs.known_array(value, source)
    if known is not None:
        return known
    prologue, e, what = inputs.prologue, source.expression, source.description
    guard_state(inputs)
    if value.requires_grad:
        inputs.tracer.gradients.guard_mode()
        if inputs.tracer.gradients.began_on:
            inputs.tracer.gradients.guard_anomalies()
    before = len(prologue.steps)
    prologue.guard(f"type({e}) is {prologue.constant(type(value), 'type')}", f"{what} is a {type(value).__name__}")
    refusal = _refusal(value)
    plain = f"{prologue.constant(is_plain, 'is_plain')}({e})"
    if refusal is not None:
        if type(value) in TENSORS:
            prologue.guard(f"not {plain}", f"{what} {refusal}")
        raise NeedsEager(f"{what} {refusal}")
    prologue.guard(plain, f"{what} is a strided tensor")
    device = prologue.constant(value.device, "device")
    prologue.guard(f"{e}.device == {device}", f"{what} is on {value.device}")
    prologue.guard(f"{e}.dtype is {prologue.constant(value.dtype, 'dtype')}", f"{what} has dtype {value.dtype}")
    dtype = to_dtype(value.dtype)
    gradients = inputs.tracer.gradients
    if value.requires_grad:
        prologue.guard(f"{e}.requires_grad", f"{what} requires a gradient")
        inputs.trace_has_gradients |= not gradients.began_on
    else:
        prologue.guard(f"not {e}.requires_grad", f"{what} requires no gradient")
    shape, strides = tuple(value.shape), tuple(value.stride())
    is_parameter = type(value) is torch.nn.Parameter  # whose sizes are those of a model
    varying = prologue.varying
    order = _memory_order(value)
    in_order = order == tuple(range(value.ndim))
    symbolic = [] if is_parameter else varying.symbols(what, value, order is not None)
    if symbolic:
        prologue.guard_sizes(source, shape, symbolic)
    else:
        prologue.guard(f"{e}.shape == {shape}", f"{what} has shape {shape}")
    # A tensor is contiguous whatever the strides of its dimensions of 1, which a program may ask for.
    if symbolic and not in_order:
        prologue.guard(
            f"{prologue.constant(has_order)}({e}, {order})", f"{what} has its dimensions in the order {order}"
        )
    elif symbolic and 1 in shape:
        prologue.guard(f"{prologue.constant(is_row_major)}({e})", f"{what} is contiguous")
    elif value.is_contiguous() and 0 not in shape and 1 not in shape:
        prologue.guard(f"{e}.is_contiguous()", f"{what} is contiguous")
    else:
        prologue.guard(f"{e}.stride() == {strides}", f"{what} has strides {strides}")
    if not symbolic:
        prologue.check_together(e, value, before, _kinds_of)
    dims = tuple(inputs.size(source, d, n) if d in symbolic else n for d, n in enumerate(shape))
    proxy = TensorProxy(inputs.name_of(source), shape=dims, dtype=dtype, device=to_device(value.device), lang=language)
    inputs.tracer.offsets[proxy.name] = int(value.storage_offset())
    if value.requires_grad and gradients.began_on:
        gradients.roots.add(proxy.name)
    if _may_overlap(shape, strides):
        gradients.overlapping.add(proxy.name)
    given = strides if not symbolic or order is None else ROW_MAJOR if in_order else _strides_in_order(dims, order)
    lifted = inputs.add_array(
        value, source, proxy, given, memory_of(value), f"{prologue.constant(memory_of, 'memory')}({e})",
        is_row_major=value.is_contiguous(), writable=True, apart=apart,
    )  # fmt: skip
    if is_parameter:
        inputs.classes[id(lifted)] = torch.nn.Parameter
    return lifted
