"""The apex executor: cross entropy by the kernels of NVIDIA's Apex, with their own gradient.

Apex's extension module ``xentropy_cuda`` computes, for rows of logits and one class a row, the losses and what the gradient needs of the
rows: ``forward(logits, labels, smoothing, half_to_float) -> [losses, max_log_sum_exp]`` and ``backward(grad_loss, logits,
max_log_sum_exp, labels, smoothing)``. It knows neither weights nor an index to ignore nor a reduction: rows to be ignored are given
class 0 and masked afterwards. A build of the module for other devices than CUDA names them in ``DEVICE_TYPES``.

Written with :mod:`tnp.extend` alone; not run on a device here, see docs/known_gaps.md.
"""

from __future__ import annotations

from typing import Any

import xentropy_cuda

from tnp.core.devices import DeviceType
from tnp.core.dtypes import bfloat16, float16, float32, int64
from tnp.executors.cross_entropy import offer_cross_entropy
from tnp.extend import OperatorExecutor, TensorProxy, get_grad, put_grads

__all__ = ["executor", "register_apex_entropyex"]

executor = OperatorExecutor("apex", version=getattr(xentropy_cuda, "__version__", None))

_DEVICES = tuple(DeviceType(name) for name in getattr(xentropy_cuda, "DEVICE_TYPES", ("cuda",)))

#: rows of few classes, of a number that is no multiple of 4, come out wrong
_FEW_CLASSES = 30


def _forward_meta(
    a: TensorProxy, target: TensorProxy, reduction: str, ignore_index: int, label_smoothing: float
) -> tuple[TensorProxy, TensorProxy]:
    rows = a.shape[:1]
    return TensorProxy(like=a, shape=rows if reduction == "none" else ()), TensorProxy(like=a, shape=rows)


def _forward(a: Any, target: Any, reduction: str, ignore_index: int, label_smoothing: float) -> tuple[Any, Any]:
    kept = target != ignore_index
    losses, max_log_sum_exp = xentropy_cuda.forward(a.contiguous(), target * kept, label_smoothing, False)
    losses = losses * kept
    if reduction == "mean":
        losses = losses.sum() / kept.sum()
    elif reduction == "sum":
        losses = losses.sum()
    return losses.to(a.dtype), max_log_sum_exp


def _backward_meta(
    g: TensorProxy, a: TensorProxy, *, target: TensorProxy, max_log_sum_exp: TensorProxy, label_smoothing: float
) -> TensorProxy:
    return TensorProxy(like=a)


def _backward(g: Any, a: Any, *, target: Any, max_log_sum_exp: Any, label_smoothing: float) -> Any:
    return xentropy_cuda.backward(g.contiguous(), a, max_log_sum_exp, target.contiguous(), label_smoothing)


apex_cross_entropy = executor.register_operator("apex_cross_entropy", meta=_forward_meta, fn=_forward)
apex_cross_entropy_backward = executor.register_operator(
    "apex_cross_entropy_backward", meta=_backward_meta, fn=_backward
)


def _takes(
    input: TensorProxy, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> bool:  # fmt: skip
    if not (isinstance(input, TensorProxy) and isinstance(target, TensorProxy)):
        return False
    if input.ndim != 2 or target.ndim != 1 or any(type(d) is not int for d in (*input.shape, *target.shape)):
        return False
    rows, classes = input.shape
    return (
        input.device.devicetype in _DEVICES
        and input.dtype in (float16, bfloat16, float32)
        and target.dtype is int64
        and target.shape == (rows,)
        and rows > 0
        and (classes >= _FEW_CLASSES or classes % 4 == 0)
        and weight is size_average is reduce is None
        and label_smoothing == 0
        and reduction in ("mean", "sum", "none")
    )


def _transform(
    input: TensorProxy, target: TensorProxy, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    loss, _ = apex_cross_entropy(input, target, reduction, ignore_index, label_smoothing)
    return loss


def _grad(
    input: TensorProxy, target: TensorProxy, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    loss, max_log_sum_exp = apex_cross_entropy(input, target, reduction, ignore_index, label_smoothing)
    kept = target.ne(ignore_index)
    g = get_grad(loss)
    if reduction == "mean":
        g = g / kept.sum()
    rows = g.expand(target.shape) * kept
    put_grads(
        (input,),
        (
            apex_cross_entropy_backward(
                rows,
                input.contiguous(),
                target=target * kept,
                max_log_sum_exp=max_log_sum_exp,
                label_smoothing=label_smoothing,
            ),
        ),
    )
    return loss


register_apex_entropyex = offer_cross_entropy(
    executor, checker=_takes, execution_transform=_transform, grad_transform=_grad
)
