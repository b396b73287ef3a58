"""Attention by cuDNN: ``F.scaled_dot_product_attention`` in half precision, forwards and backwards, as one kernel
each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tnp.core.dtypes import bfloat16, float16, float32
from tnp.core.proxies import TensorProxy
from tnp.executors.base import Refusal
from tnp.executors.cudnn import graphs
from tnp.executors.shared.attention import Call, additive, call_of, refusal_of, scale_of, transposed_like
from tnp.extend import OperatorExecutor, get_grad, put_grads

__all__ = ["register"]

#: (shape, strides) of an operand
Layout = tuple[tuple[int, ...], tuple[int, ...]]


def _layout(t: torch.Tensor) -> Layout:
    return tuple(t.shape), tuple(t.stride())


def _row_major(shape: Sequence[int]) -> Layout:
    strides = [1]
    for n in reversed(shape[1:]):
        strides.insert(0, strides[0] * n)
    return tuple(shape), tuple(strides)


def _tensors(graph: Any, layouts: Mapping[str, Layout | None], dtype: Any) -> dict[str, Any]:
    """The graph's tensors by name; logarithms of rows (``stats``) are float32."""
    of = {"stats": graphs.load().data_type.FLOAT}
    return {
        name: graph.tensor(name=name, dim=list(layout[0]), stride=list(layout[1]), data_type=of.get(name, dtype))
        for name, layout in layouts.items()
        if layout is not None
    }


def _result(tensor: Any, layout: Layout, dtype: Any) -> Any:
    return tensor.set_output(True).set_dim(list(layout[0])).set_stride(list(layout[1])).set_data_type(dtype)


def _forward_graph(
    device: torch.device, dtype: Any, q: Layout, k: Layout, v: Layout, bias: Layout | None, out: Layout, is_causal: bool, scale: float
) -> graphs.Built:  # fmt: skip
    def describe(graph: Any) -> dict[str, Any]:
        kind = graphs.data_type(dtype)
        made = _tensors(graph, {"q": q, "k": k, "v": v, "bias": bias}, kind)
        # is_inference and use_causal_mask are the names that every version has
        result, stats = graph.sdpa(
            name="sdpa", q=made["q"], k=made["k"], v=made["v"], is_inference=False, attn_scale=scale, bias=made.get("bias"),
            use_causal_mask=is_causal,
        )  # fmt: skip
        made["out"] = _result(result, out, kind)
        made["stats"] = _result(stats, _row_major((*q[0][:3], 1)), graphs.load().data_type.FLOAT)
        return made

    key = "sdpa", str(dtype), q, k, v, bias, out, is_causal, scale
    return graphs.build(key, device, describe, dtype)


def _backward_graph(
    device: torch.device, dtype: Any, layouts: tuple[Layout | None, ...], grads: tuple[Layout, ...], is_causal: bool, scale: float
) -> graphs.Built:  # fmt: skip
    def describe(graph: Any) -> dict[str, Any]:
        kind = graphs.data_type(dtype)
        made = _tensors(graph, dict(zip(("q", "k", "v", "out", "g", "stats", "bias"), layouts)), kind)
        found = graph.sdpa_backward(
            name="sdpa_backward", q=made["q"], k=made["k"], v=made["v"], o=made["out"], dO=made["g"], stats=made["stats"],
            attn_scale=scale, bias=made.get("bias"), use_causal_mask=is_causal,
        )  # fmt: skip
        made |= {name: _result(t, layout, kind) for name, t, layout in zip(("dq", "dk", "dv"), found, grads)}
        return made

    return graphs.build(("sdpa_backward", str(dtype), layouts, grads, is_causal, scale), device, describe, dtype)


def _dense(t: torch.Tensor) -> torch.Tensor:
    """A tensor in a layout that cuDNN reads: the last dimension side by side."""
    return t if t.stride(-1) == 1 else t.contiguous()


def _bias_of(mask: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor | None:
    """A mask of bools as a bias of 4 dimensions, which cuDNN broadcasts where they are 1."""
    bias = additive(mask, dtype)
    return None if bias is None else bias.reshape((1,) * (4 - bias.ndim) + bias.shape)


def _given(**tensors: torch.Tensor | None) -> dict[str, torch.Tensor]:
    return {name: t for name, t in tensors.items() if t is not None}


def _forward(query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float) -> tuple[Any, Any]:
    return _in_some_layout(_forward_of, (query, key, value), mask, is_causal, scale)


def _in_some_layout(compute: Any, tensors: tuple[torch.Tensor, ...], *rest: Any) -> tuple[Any, ...]:
    """What ``compute`` gives for tensors as they are, or, if cuDNN has no kernel for their strides, for row-major copies, for which it has."""
    try:
        return compute(*map(_dense, tensors), *rest)
    except graphs.load().cudnnGraphNotSupportedError:
        return compute(*(t.contiguous() for t in tensors), *rest)


def _forward_of(q: Any, k: Any, v: Any, mask: Any, is_causal: bool, scale: float) -> tuple[Any, Any]:
    bias = _bias_of(mask, q.dtype)
    out = transposed_like(q, v.shape[3])
    stats = q.new_empty((*q.shape[:3], 1), dtype=torch.float32)
    layouts = [_layout(t) for t in (q, k, v)]
    built = _forward_graph(
        q.device, q.dtype, *layouts, None if bias is None else _layout(bias), _layout(out), is_causal, scale
    )
    built(**_given(q=q, k=k, v=v, bias=bias, out=out, stats=stats))
    return out, stats


def _backward(
    g: Any, query: Any, key: Any, value: Any, mask: Any, out: Any, stats: Any, is_causal: bool, scale: float
) -> tuple[Any, ...]:
    return _in_some_layout(_backward_of, (g, query, key, value, out), mask, stats, is_causal, scale)


def _backward_of(
    g: Any, q: Any, k: Any, v: Any, out: Any, mask: Any, stats: Any, is_causal: bool, scale: float
) -> tuple[Any, ...]:
    bias = _bias_of(mask, q.dtype)
    grads = [torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (q, k, v)]
    layouts = tuple(None if t is None else _layout(t) for t in (q, k, v, out, g, stats.contiguous(), bias))
    built = _backward_graph(q.device, q.dtype, layouts, tuple(map(_layout, grads)), is_causal, scale)
    built(
        **_given(
            q=q, k=k, v=v, out=out, g=g, stats=stats.contiguous(), bias=bias, dq=grads[0], dk=grads[1], dv=grads[2]
        )
    )
    return tuple(grads)


def _forward_meta(
    query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float
) -> tuple[TensorProxy, TensorProxy]:
    out = TensorProxy(like=query, shape=(*query.shape[:3], value.shape[3]))
    return out, TensorProxy(like=query, shape=(*query.shape[:3], 1), dtype=float32)


def _backward_meta(
    g: Any, query: Any, key: Any, value: Any, mask: Any, out: Any, stats: Any, is_causal: bool, scale: float
) -> tuple[TensorProxy, ...]:
    return TensorProxy(like=query), TensorProxy(like=key), TensorProxy(like=value)


# What cuDNN takes


def _heads_refused(head: int, head_of_values: int, capability: tuple[int, int], backend: int) -> str | None:
    """Which lengths of heads cuDNN's kernels have, by the generation of the device."""
    if head % 8 or head_of_values % 8:
        return "it takes heads of a multiple of 8 elements"
    largest = max(head, head_of_values)
    limit = 256 if capability[0] == 9 and backend >= 90000 else 128
    if (head, head_of_values) == (192, 128) and capability[0] >= 9 and backend >= 91100:
        return None
    if largest > limit:
        return f"it takes heads of {limit} elements at most"
    if 91100 <= backend < 91300 and capability[0] == 9 and 128 < head <= 192 and 64 < head_of_values <= 128:
        return f"cuDNN {backend} has no kernel for heads of {head} and {head_of_values} elements"
    return None


def capability(device: torch.device) -> tuple[int, int]:
    """The generation of a device: (9, 0) is Hopper."""
    return torch.cuda.get_device_capability(device)


def _refusal(call: Call) -> Refusal | None:
    reason = graphs.why_not()
    if reason is not None:
        return Refusal(reason)
    refusal = refusal_of(call)
    if refusal is not None:
        return refusal
    query = call.query
    if query.device.devicetype not in graphs.device_types():
        return Refusal("it is not on CUDA")
    if query.dtype not in (float16, bfloat16):
        return Refusal(f"it takes half precision, not {query.dtype}")
    if call.attn_mask is not None and call.attn_mask.dtype.kind != "b":
        return Refusal("it takes masks of bools: by others it has no gradient here")
    device = graphs.torch_device(query.device)
    reason = _heads_refused(query.shape[3], call.value.shape[3], capability(device), graphs.load().backend_version())
    return Refusal(reason) if reason is not None else None


def _unsupported(call: Call) -> str | None:
    """Why cuDNN has no kernel for row-major operands, which are those at run time or copies of them."""
    query, key, value = (_row_major(t.shape) for t in (call.query, call.key, call.value))
    mask = call.attn_mask
    bias = None if mask is None else _row_major((1,) * (4 - mask.ndim) + tuple(mask.shape))
    out = _row_major((*call.query.shape[:3], call.value.shape[3]))
    device, dtype, scale = graphs.torch_device(call.query.device), call.query.dtype, scale_of(call)
    stats = _row_major((*call.query.shape[:3], 1))

    def make() -> graphs.Built:
        _forward_graph(device, dtype, query, key, value, bias, out, call.is_causal, scale)
        layouts = query, key, value, out, out, stats, bias
        return _backward_graph(device, dtype, layouts, (query, key, value), call.is_causal, scale)

    return graphs.supported(make)


def register(executor: OperatorExecutor, function: str) -> None:
    """Adds attention to the executor."""
    forward = executor.register_operator("cudnn_attention", meta=_forward_meta, fn=_forward)
    backward = executor.register_operator("cudnn_attention_backward", meta=_backward_meta, fn=_backward)

    def takes(*args: Any, **kwargs: Any) -> bool | Refusal:
        call = call_of(*args, **kwargs)
        refusal = _refusal(call)
        if refusal is not None:
            return refusal
        reason = _unsupported(call)
        return Refusal(reason) if reason is not None else True

    def transform(*args: Any, **kwargs: Any) -> Any:
        call = call_of(*args, **kwargs)
        return forward(call.query, call.key, call.value, call.attn_mask, call.is_causal, scale_of(call))[0]

    def grad(*args: Any, **kwargs: Any) -> Any:
        call = call_of(*args, **kwargs)
        tensors = call.query, call.key, call.value
        out, stats = forward(*tensors, call.attn_mask, call.is_causal, scale_of(call))
        g = get_grad(out)
        put_grads(tensors, backward(g, *tensors, call.attn_mask, out, stats, call.is_causal, scale_of(call)))
        return out

    executor.register_implementation(function, checker=takes, execution_transform=transform, grad_transform=grad)
