"""Layer norm by cuDNN, one kernel each for forward and backward.

cuDNN normalises images: rows become the batch, the normalised elements its channels.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from tnp.core.dtypes import bfloat16, float16, float32
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.executors.base import Refusal
from tnp.executors.cudnn import graphs
from tnp.extend import OperatorExecutor, get_grad, put_grads

__all__ = ["register"]


def _rows_of(shape: tuple[int, ...], count: int) -> tuple[int, int]:
    """How many rows there are, and how many elements each has, if the last ``count`` dimensions are normalised."""
    return math.prod(shape[: len(shape) - count]), math.prod(shape[len(shape) - count :])


def _image(graph: Any, name: str, rows: int, elements: int, kind: Any) -> Any:
    return graph.tensor(name=name, dim=[rows, elements, 1, 1], stride=[elements, 1, 1, 1], data_type=kind)


def _row_of_numbers(graph: Any, name: str, rows: int) -> Any:
    kind = graphs.load().data_type.FLOAT
    return graph.tensor(name=name, dim=[rows, 1, 1, 1], stride=[1, 1, 1, 1], data_type=kind)


def _epsilon(graph: Any) -> Any:
    kind = graphs.load().data_type.FLOAT
    return graph.tensor(name="eps", dim=[1, 1, 1, 1], stride=[1, 1, 1, 1], data_type=kind, is_pass_by_value=True)


def _forward_graph(device: torch.device, dtype: Any, rows: int, elements: int, trains: bool) -> graphs.Built:
    def describe(graph: Any) -> dict[str, Any]:
        cudnn, kind = graphs.load(), graphs.data_type(dtype)
        made = {"x": _image(graph, "x", rows, elements, kind), "eps": _epsilon(graph)}
        made |= {name: _image(graph, name, 1, elements, kind) for name in ("weight", "bias")}
        phase = cudnn.norm_forward_phase.TRAINING if trains else cudnn.norm_forward_phase.INFERENCE
        y, mean, inverse = graph.layernorm(
            name="layernorm", norm_forward_phase=phase, input=made["x"], scale=made["weight"], bias=made["bias"],
            epsilon=made["eps"],
        )  # fmt: skip
        made["y"] = y.set_output(True).set_data_type(kind).set_stride([elements, 1, 1, 1])
        if trains:
            made["mean"] = mean.set_output(True).set_data_type(cudnn.data_type.FLOAT)
            made["inverse"] = inverse.set_output(True).set_data_type(cudnn.data_type.FLOAT)
        return made

    return graphs.build(("layernorm", str(dtype), rows, elements, trains), device, describe, dtype)


def _backward_graph(device: torch.device, dtype: Any, rows: int, elements: int) -> graphs.Built:
    def describe(graph: Any) -> dict[str, Any]:
        kind = graphs.data_type(dtype)
        made = {name: _image(graph, name, rows, elements, kind) for name in ("g", "x")}
        made["weight"] = _image(graph, "weight", 1, elements, kind)
        made |= {name: _row_of_numbers(graph, name, rows) for name in ("mean", "inverse")}
        found = graph.layernorm_backward(
            name="layernorm_backward", grad=made["g"], input=made["x"], scale=made["weight"], mean=made["mean"],
            inv_variance=made["inverse"],
        )  # fmt: skip
        made |= {name: t.set_output(True).set_data_type(kind) for name, t in zip(("dx", "dweight", "dbias"), found)}
        return made

    return graphs.build(("layernorm_backward", str(dtype), rows, elements), device, describe, dtype)


def _forward(a: Any, count: int, weight: Any, bias: Any, eps: float) -> Any:
    return _run(a, count, weight, bias, eps, False)[0]


def _training(a: Any, count: int, weight: Any, bias: Any, eps: float) -> tuple[Any, ...]:
    return _run(a, count, weight, bias, eps, True)


def _run(a: Any, count: int, weight: Any, bias: Any, eps: float, trains: bool) -> tuple[Any, ...]:
    rows, elements = _rows_of(tuple(a.shape), count)
    y = torch.empty(a.shape, dtype=a.dtype, device=a.device)
    buffers = {"x": a.contiguous(), "weight": weight.contiguous(), "bias": bias.contiguous(), "y": y}
    buffers["eps"] = torch.full((1, 1, 1, 1), eps, dtype=torch.float32)
    if trains:
        buffers |= {name: a.new_empty(rows, dtype=torch.float32) for name in ("mean", "inverse")}
    _forward_graph(a.device, a.dtype, rows, elements, trains)(**buffers)
    return (y, buffers["mean"], buffers["inverse"]) if trains else (y,)


def _backward(g: Any, a: Any, count: int, weight: Any, mean: Any, inverse: Any) -> tuple[Any, ...]:
    rows, elements = _rows_of(tuple(a.shape), count)
    found = [torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (a, weight, weight)]
    _backward_graph(a.device, a.dtype, rows, elements)(
        g=g.contiguous(), x=a.contiguous(), weight=weight.contiguous(), mean=mean.contiguous(), inverse=inverse.contiguous(),
        dx=found[0], dweight=found[1], dbias=found[2],
    )  # fmt: skip
    return tuple(found)


def _meta(a: Any, count: int, weight: Any, bias: Any, eps: float) -> TensorProxy:
    return TensorProxy(like=a)


def _training_meta(a: Any, count: int, weight: Any, bias: Any, eps: float) -> tuple[TensorProxy, ...]:
    rows, _ = _rows_of(a.shape, count)
    of_rows = (TensorProxy(like=a, shape=(rows,), dtype=float32) for _ in range(2))
    return (TensorProxy(like=a), *of_rows)


def _backward_meta(g: Any, a: Any, count: int, weight: Any, mean: Any, inverse: Any) -> tuple[TensorProxy, ...]:
    return TensorProxy(like=a), TensorProxy(like=weight), TensorProxy(like=weight)


def _takes(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-05, cudnn_enable: Any = None
) -> bool | Refusal:
    reason = graphs.why_not()
    if reason is not None:
        return Refusal(reason)
    tensors = (input, weight, bias)
    if not all(isinstance(t, TensorProxy) for t in tensors):
        return Refusal("it takes layer norms with weight and bias")
    if any(type(n) is not int or n == 0 for t in tensors for n in t.shape) or isinstance(eps, NumberProxy):
        return Refusal("a length that is 0, or a number that is known at run time only")
    if len({t.device for t in tensors}) > 1 or input.device.devicetype not in graphs.device_types():
        return Refusal("it takes tensors on one CUDA device")
    if input.dtype not in (float16, bfloat16, float32) or {t.dtype for t in tensors} != {input.dtype}:
        return Refusal("it takes tensors of one dtype, half or single precision")
    shape = tuple(normalized_shape)
    if not shape or not input.shape[-len(shape) :] == shape == weight.shape == bias.shape:
        return Refusal("shapes that do not fit")
    device, rows = graphs.torch_device(input.device), _rows_of(input.shape, len(shape))

    def make() -> graphs.Built:
        for trains in (False, True):
            _forward_graph(device, input.dtype, *rows, trains)
        return _backward_graph(device, input.dtype, *rows)

    reason = graphs.supported(make)
    return Refusal(reason) if reason is not None else True


class _Call(NamedTuple):
    """The arguments of ``F.layer_norm``."""

    input: Any
    normalized_shape: Any
    weight: Any = None
    bias: Any = None
    eps: Any = 1e-05
    cudnn_enable: Any = None

    @property
    def rank(self) -> int:
        """How many dimensions are normalised, the last ones."""
        return len(tuple(self.normalized_shape))


def register(executor: OperatorExecutor, function: str) -> None:
    """Adds layer norm to the executor."""
    forward = executor.register_operator("cudnn_layer_norm", meta=_meta, fn=_forward)
    training = executor.register_operator("cudnn_layer_norm_training", meta=_training_meta, fn=_training)
    backward = executor.register_operator("cudnn_layer_norm_backward", meta=_backward_meta, fn=_backward)

    def transform(*args: Any, **kwargs: Any) -> Any:
        call = _Call(*args, **kwargs)
        return forward(call.input, call.rank, call.weight, call.bias, call.eps)

    def grad(*args: Any, **kwargs: Any) -> Any:
        call = _Call(*args, **kwargs)
        y, mean, inverse = training(call.input, call.rank, call.weight, call.bias, call.eps)
        found = backward(get_grad(y), call.input, call.rank, call.weight, mean, inverse)
        put_grads((call.input, call.weight, call.bias), found)
        return y

    executor.register_implementation(function, checker=_takes, execution_transform=transform, grad_transform=grad)
