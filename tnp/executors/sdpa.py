"""The sdpa executor: torch's fused attention kernels, each called by name, with its own gradient.

``F.scaled_dot_product_attention`` is claimed for

- ``_scaled_dot_product_cudnn_attention`` on CUDA: half precision, no mask, on the processors where torch prefers it;
- ``_scaled_dot_product_flash_attention`` on CUDA: half precision, no mask;
- ``_scaled_dot_product_efficient_attention`` on CUDA: half and single precision, masks, values of another length than
  queries;
- tnp's own kernels (:mod:`tnp.executors.shared.cpu_kernels.attention` and ``attention_backward``) on the CPU: single
  precision, no mask, on processors with 512-bit vectors;
- ``_scaled_dot_product_flash_attention_for_cpu`` on the CPU: any precision, masks of bools.

So the trace shows the kernel, and the backward pass saves one logarithm per row instead of the weights.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
import torch.nn.functional as F

from tnp.core.devices import DeviceType
from tnp.core.dtypes import bfloat16, float16, float32, float64
from tnp.executors.base import Refusal
from tnp.executors.shared.attention import FUNCTION, Call, additive, call_of, refusal_of, scale_of
from tnp.executors.shared.cpu_kernels import attention as own
from tnp.executors.shared.cpu_kernels.attention_backward import attend_backward
from tnp.executors.shared.cpu_kernels.code import is_available
from tnp.extend import OperatorExecutor, TensorProxy, get_grad, put_grad, put_grads, register_executor
from tnp.runtime.pooled import pooled

__all__ = ["executor"]

executor = OperatorExecutor("sdpa", version=torch.__version__)
executor.array_kind = "torch"

_aten = torch.ops.aten

#: the devices that the kernels for CUDA run on
CUDA_KERNELS_ON = (DeviceType.CUDA,)
#: what kernels for CUDA align rows of logarithms to
_ROWS = 32


def _wide(a: TensorProxy) -> Any:
    return float64 if a.dtype is float64 else float32


# The flash kernel for CUDA: its heads are padded to a multiple of 8 elements


def _flash_meta(query: Any, key: Any, value: Any, is_causal: bool, scale: float) -> tuple[TensorProxy, TensorProxy]:
    return TensorProxy(like=query), TensorProxy(like=query, shape=query.shape[:3], dtype=float32)


def _padded(a: torch.Tensor) -> torch.Tensor:
    a = a if a.stride(-1) == 1 else a.contiguous()
    rest = -a.shape[-1] % 8
    return F.pad(a, (0, rest)) if rest else a


def _cut(a: torch.Tensor, n: int) -> torch.Tensor:
    """The first ``n`` elements of each row."""
    return a if a.shape[-1] == n else a.narrow(-1, 0, n)


def _flash(query: Any, key: Any, value: Any, is_causal: bool, scale: float) -> tuple[Any, Any]:
    padded = map(_padded, (query, key, value))
    out, rows, *_ = _aten._scaled_dot_product_flash_attention(*padded, 0.0, is_causal, False, scale=scale)
    return _cut(out, query.shape[-1]), rows


def _flash_backward_meta(
    g: Any, query: Any, key: Any, value: Any, out: Any, rows: Any, is_causal: bool, scale: float
) -> tuple[TensorProxy, ...]:
    return TensorProxy(like=query), TensorProxy(like=key), TensorProxy(like=value)


def _flash_backward(
    g: Any, query: Any, key: Any, value: Any, out: Any, rows: Any, is_causal: bool, scale: float
) -> tuple[Any, ...]:
    g, q, k, v, o = map(_padded, (g, query, key, value, out))
    # Without dropout nothing reads the state of the generator; batches of one length have no table of lengths.
    state = (torch.empty(shape, dtype=torch.uint64, device=g.device) for shape in ((2,), ()))
    found = _aten._scaled_dot_product_flash_attention_backward(
        g, q, k, v, o, rows, None, None, query.shape[2], key.shape[2], 0.0, is_causal, *state, scale=scale
    )
    return tuple(_cut(d, query.shape[-1]) for d in found)


flash_attention = executor.register_operator("flash_attention", meta=_flash_meta, fn=_flash)
flash_attention_backward = executor.register_operator(
    "flash_attention_backward", meta=_flash_backward_meta, fn=_flash_backward
)


# cuDNN's kernel, by torch


def _cudnn_meta(query: Any, key: Any, value: Any, is_causal: bool, scale: float) -> tuple[TensorProxy, TensorProxy]:
    return TensorProxy(like=query), TensorProxy(like=query, shape=(*query.shape[:3], 1), dtype=float32)


def _cudnn(query: Any, key: Any, value: Any, is_causal: bool, scale: float) -> tuple[Any, Any]:
    tensors = _last_dense(query, key, value)
    out, rows, *_ = _aten._scaled_dot_product_cudnn_attention(*tensors, None, True, 0.0, is_causal, False, scale=scale)
    return out, rows


def _cudnn_backward(
    g: Any, query: Any, key: Any, value: Any, out: Any, rows: Any, is_causal: bool, scale: float
) -> tuple[Any, ...]:
    g, query, key, value, out = _last_dense(g, query, key, value, out)
    # Nothing reads the state of the generator without dropout; there is no bias, and no table of lengths.
    state = (torch.empty((), dtype=torch.int64, device=g.device) for _ in range(2))
    found = _aten._scaled_dot_product_cudnn_attention_backward(
        g, query, key, value, out, rows, *state, None, None, None, query.shape[2], key.shape[2], 0.0, is_causal,
        scale=scale,
    )  # fmt: skip
    return tuple(found)


torch_cudnn_attention = executor.register_operator("torch_cudnn_attention", meta=_cudnn_meta, fn=_cudnn)
torch_cudnn_attention_backward = executor.register_operator(
    "torch_cudnn_attention_backward", meta=_flash_backward_meta, fn=_cudnn_backward
)


# The memory-efficient kernel for CUDA


def _efficient_meta(
    query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float
) -> tuple[TensorProxy, TensorProxy]:
    rows = (*query.shape[:2], math.ceil(query.shape[2] / _ROWS) * _ROWS)
    out = TensorProxy(like=query, shape=(*query.shape[:3], value.shape[3]))
    return out, TensorProxy(like=query, shape=rows, dtype=float32)


def _bias(mask: torch.Tensor | None, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor | None:
    """The mask as the kernel takes it: of the scores' shape, with rows that begin at multiples of 16 elements."""
    mask = additive(mask, query.dtype)
    if mask is None:
        return None
    n = key.shape[2]
    mask = _cut(F.pad(mask.expand(*mask.shape[:-1], n), (0, -n % 16)), n)
    return mask.expand(*query.shape[:3], n)


def _last_dense(*tensors: torch.Tensor) -> list[torch.Tensor]:
    return [a if a.stride(-1) == 1 else a.contiguous() for a in tensors]


def _efficient(query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float) -> tuple[Any, Any]:
    bias = _bias(mask, query, key)
    out, rows, *_ = _aten._scaled_dot_product_efficient_attention(
        *_last_dense(query, key, value), bias, True, 0.0, is_causal, scale=scale
    )
    return out, rows


def _efficient_backward_meta(
    g: Any, query: Any, key: Any, value: Any, mask: Any, out: Any, rows: Any, is_causal: bool, scale: float, of_mask: bool
) -> tuple[TensorProxy, ...]:  # fmt: skip
    found = TensorProxy(like=query), TensorProxy(like=key), TensorProxy(like=value)
    return (*found, TensorProxy(like=mask)) if of_mask else found


def _efficient_backward(
    g: Any, query: Any, key: Any, value: Any, mask: Any, out: Any, rows: Any, is_causal: bool, scale: float, of_mask: bool
) -> tuple[Any, ...]:  # fmt: skip
    state = (torch.empty((), dtype=torch.int64, device=g.device) for _ in range(2))
    *found, of_bias = _aten._scaled_dot_product_efficient_attention_backward(
        *_last_dense(g, query, key, value), _bias(mask, query, key), out, rows, *state, 0.0, [True, True, True, of_mask],
        is_causal, scale=scale,
    )  # fmt: skip
    return (*found, of_bias.sum_to_size(mask.shape)) if of_mask else tuple(found)


efficient_attention = executor.register_operator("efficient_attention", meta=_efficient_meta, fn=_efficient)
efficient_attention_backward = executor.register_operator(
    "efficient_attention_backward", meta=_efficient_backward_meta, fn=_efficient_backward
)


# The flash kernel for the CPU


def _cpu_meta(
    query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float
) -> tuple[TensorProxy, TensorProxy]:
    return TensorProxy(like=query), TensorProxy(like=query, shape=query.shape[:3], dtype=_wide(query))


def _mask_for_cpu(mask: torch.Tensor | None, query: torch.Tensor) -> torch.Tensor | None:
    """The kernel takes masks of two dimensions or of four."""
    mask = additive(mask, query.dtype)
    return mask if mask is None or mask.ndim in (2, 4) else mask.reshape((1,) * (4 - mask.ndim) + mask.shape)


def _cpu(query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float) -> tuple[Any, Any]:
    out, rows = _aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, is_causal, attn_mask=_mask_for_cpu(mask, query), scale=scale
    )
    return out, rows


def _cpu_backward_meta(
    g: Any, query: Any, key: Any, value: Any, mask: Any, out: Any, rows: Any, is_causal: bool, scale: float
) -> tuple[TensorProxy, ...]:
    return TensorProxy(like=query), TensorProxy(like=key), TensorProxy(like=value)


def _cpu_backward(
    g: Any, query: Any, key: Any, value: Any, mask: Any, out: Any, rows: Any, is_causal: bool, scale: float
) -> tuple[Any, ...]:
    found = _aten._scaled_dot_product_flash_attention_for_cpu_backward(
        g, query, key, value, out, rows, 0.0, is_causal, attn_mask=_mask_for_cpu(mask, query), scale=scale
    )
    return tuple(found)


cpu_flash_attention = executor.register_operator("cpu_flash_attention", meta=_cpu_meta, fn=_cpu)
cpu_flash_attention_backward = executor.register_operator(
    "cpu_flash_attention_backward", meta=_cpu_backward_meta, fn=_cpu_backward
)


# tnp's own kernels for the CPU


def _own_meta(query: Any, key: Any, value: Any, is_causal: bool, scale: float) -> TensorProxy:
    return TensorProxy(like=query)


def _room_like(a: torch.Tensor) -> torch.Tensor:
    """Memory for a result like ``a``, as :func:`transposed_like` lays it out, from the pool: of fresh pages it takes half of a kernel's time."""
    batch, heads, length, head = a.shape
    return torch.from_numpy(pooled((batch, length, heads, head), "float32")).transpose(1, 2)


def _attended(query: Any, key: Any, value: Any, is_causal: bool, scale: float) -> tuple[Any, Any, Any]:
    """The result, and of each query the largest score and the sum of exponentials."""
    query, key, value = _last_dense(query, key, value)
    out = _room_like(query)
    maxima, sums = (query.new_empty(query.shape[:3]) for _ in range(2))
    own.attend(query, key, value, out, maxima, sums, is_causal, scale)
    return out, maxima, sums


def _own(query: Any, key: Any, value: Any, is_causal: bool, scale: float) -> Any:
    return _attended(query, key, value, is_causal, scale)[0]


def _own_with_rows_meta(query: Any, key: Any, value: Any, is_causal: bool, scale: float) -> tuple[Any, Any]:
    return _cpu_meta(query, key, value, None, is_causal, scale)


def _own_with_rows(query: Any, key: Any, value: Any, is_causal: bool, scale: float) -> tuple[Any, Any]:
    out, maxima, sums = _attended(query, key, value, is_causal, scale)
    return out, sums.log_().add_(maxima)


def _own_backward(
    g: Any, query: Any, key: Any, value: Any, out: Any, rows: Any, is_causal: bool, scale: float
) -> tuple[Any, ...]:
    g, query, key, value, out = _last_dense(g, query, key, value, out)
    found = tuple(map(_room_like, (query, key, value)))
    attend_backward(g, query, key, value, out, rows, *found, is_causal, scale)
    return found


own_attention = executor.register_operator("attention", meta=_own_meta, fn=_own)
own_attention_with_rows = executor.register_operator("attention_with_rows", meta=_own_with_rows_meta, fn=_own_with_rows)
own_attention_backward = executor.register_operator("attention_backward", meta=_flash_backward_meta, fn=_own_backward)


for _symbol in (cpu_flash_attention, own_attention, own_attention_with_rows):
    _symbol.memory_order = (3, 1, 2, 0)  # the heads of a position side by side


# Which kernel


@functools.cache
def _prefers_cudnn(index: int | None) -> bool:
    """Whether torch's own choice on a device is cuDNN's kernel: from Hopper on it is the fastest."""
    return torch.cuda.is_available() and torch.cuda.get_device_capability(index)[0] in (9, 10)


def _cudnn_refuses(call: Call) -> Refusal | None:
    refusal = _flash_refuses(call)
    if refusal is not None:
        return refusal
    query, key = call.query, call.key
    if query.device.devicetype is not DeviceType.CUDA or not _prefers_cudnn(query.device.index):
        return Refusal("torch prefers other kernels to cuDNN's here")
    if not torch.backends.cuda.cudnn_sdp_enabled():
        return Refusal("torch.backends.cuda.enable_cudnn_sdp(False) was called")
    if query.shape[3] % 8 or query.shape[3] > 128 or query.shape[2] < 2 or key.shape[2] < 2:
        return Refusal("cuDNN's attention takes heads of a multiple of 8 elements, 128 at most")
    return None


def _flash_refuses(call: Call) -> Refusal | None:
    query, value = call.query, call.value
    if query.device.devicetype not in CUDA_KERNELS_ON:
        return Refusal("it is not on CUDA")
    if query.dtype not in (float16, bfloat16):
        return Refusal(f"flash attention takes half precision, not {query.dtype}")
    if call.attn_mask is not None:
        return Refusal("flash attention takes no mask")
    if value.shape[3] != query.shape[3] or query.shape[3] > 256:
        return Refusal("flash attention takes heads of one length, 256 at most")
    if call.is_causal and query.shape[2] != call.key.shape[2]:
        return Refusal("flash attention aligns the causal mask of unequal lengths at the other end")
    return None


def _efficient_refuses(call: Call) -> Refusal | None:
    query, value = call.query, call.value
    if query.device.devicetype not in CUDA_KERNELS_ON:
        return Refusal("it is not on CUDA")
    if query.dtype not in (float16, bfloat16, float32):
        return Refusal(f"memory-efficient attention takes half and single precision, not {query.dtype}")
    step = 8 if query.dtype.bits == 16 else 4
    if query.shape[3] % step or value.shape[3] % step:
        return Refusal(f"memory-efficient attention takes heads of a multiple of {step} elements")
    return None


def _cpu_refuses(call: Call) -> Refusal | None:
    query, value = call.query, call.value
    if query.device.devicetype is not DeviceType.CPU:
        return Refusal("it is not on the CPU")
    if query.dtype not in (float16, bfloat16, float32, float64):
        return Refusal(f"attention of {query.dtype}")
    if value.shape[3] != query.shape[3]:
        return Refusal("flash attention on the CPU takes heads of one length")
    if call.attn_mask is not None and (call.attn_mask.dtype.kind != "b" or call.attn_mask.ndim < 2):
        return Refusal("flash attention on the CPU takes masks of bools: by others it has no gradient")
    return None


def _own_refuses(call: Call) -> Refusal | None:
    query = call.query
    if query.device.devicetype is not DeviceType.CPU or query.dtype is not float32 or call.attn_mask is not None:
        return Refusal("tnp's attention takes single precision on the CPU, without a mask")
    if any(type(n) is not int for n in (*query.shape, *call.key.shape)):
        return Refusal("tnp's attention is chosen by its lengths")
    if call.value.shape[3] != query.shape[3] or not own.takes(query.shape[3], query.shape[2], call.key.shape[2]):
        return Refusal("tnp's attention takes heads of 32 to 128 elements, and keys that fit a thread's stack")
    return None if is_available() else Refusal("tnp's attention needs vectors of 512 bits")


_CHOICES = (
    ("cudnn", _cudnn_refuses),
    ("flash", _flash_refuses),
    ("efficient", _efficient_refuses),
    ("own", _own_refuses),
    ("cpu", _cpu_refuses),
)
_ON_CPU = frozenset(("own", "cpu"))


def _choice(call: Call) -> str | Refusal:
    """The kernel that takes a call, or why none does."""
    is_tensor = isinstance(call.query, TensorProxy)
    on_cpu = is_tensor and call.query.device.devicetype is DeviceType.CPU and DeviceType.CPU not in CUDA_KERNELS_ON
    refusal = refusal_of(call, any_size=on_cpu)
    if refusal is not None:
        return refusal
    reasons = []
    for name, refuses in _CHOICES:
        if (name in _ON_CPU) != on_cpu:
            continue
        answer = refuses(call)
        if answer is None:
            return name
        if name not in ("own", "cudnn"):  # what they refuse, the next kernel does, too
            reasons.append(answer.reason)
    return Refusal("; ".join(reasons))


def _takes(*args: Any, **kwargs: Any) -> bool | Refusal:
    found = _choice(call_of(*args, **kwargs))
    return found if isinstance(found, Refusal) else True


def _forward(call: Call) -> tuple[str, Any, tuple[Any, ...], tuple[TensorProxy, TensorProxy]]:
    """The kernel's name, its gradient's operation, the tensors that both take, and the results."""
    kernel = _choice(call)
    tensors: tuple[Any, ...] = (call.query, call.key, call.value)
    if kernel == "flash":
        return kernel, flash_attention_backward, tensors, flash_attention(*tensors, call.is_causal, scale_of(call))
    if kernel == "cudnn":
        made = torch_cudnn_attention(*tensors, call.is_causal, scale_of(call))
        return kernel, torch_cudnn_attention_backward, tensors, made
    if kernel == "own":
        made = own_attention_with_rows(*tensors, call.is_causal, scale_of(call))
        return kernel, own_attention_backward, tensors, made
    tensors = (*tensors, call.attn_mask)
    if kernel == "efficient":
        made = efficient_attention(*tensors, call.is_causal, scale_of(call))
        return kernel, efficient_attention_backward, tensors, made
    made = cpu_flash_attention(*tensors, call.is_causal, scale_of(call))
    return "cpu", cpu_flash_attention_backward, tensors, made


def _transform(*args: Any, **kwargs: Any) -> TensorProxy:
    call = call_of(*args, **kwargs)
    if _choice(call) == "own":
        return own_attention(call.query, call.key, call.value, call.is_causal, scale_of(call))
    return _forward(call)[3][0]


def _grad(*args: Any, **kwargs: Any) -> TensorProxy:
    call = call_of(*args, **kwargs)
    kernel, backward, tensors, (out, rows) = _forward(call)
    of_mask = kernel == "efficient" and call.attn_mask is not None and call.attn_mask.dtype.kind == "f"
    rest = (of_mask,) if kernel == "efficient" else ()
    found = backward(get_grad(out), *tensors, out, rows, call.is_causal, scale_of(call), *rest)
    put_grads(tensors[:3], found[:3])
    if of_mask:
        put_grad(call.attn_mask, found[3])
    return out


executor.register_implementation(FUNCTION, checker=_takes, execution_transform=_transform, grad_transform=_grad)
register_executor(executor)
