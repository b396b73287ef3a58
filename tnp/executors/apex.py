"""The apex executor: cross entropy by the kernels of NVIDIA's Apex, with their own gradient.

Apex's extension module ``xentropy_cuda`` computes, for rows of logits and one class a row, the losses and what the
gradient needs of the rows: ``forward(logits, labels, smoothing, half_to_float) -> [losses, max_log_sum_exp]`` and
``backward(grad_loss, logits, max_log_sum_exp, labels, smoothing)``. It knows neither weights nor an index to ignore nor
a reduction: rows to be ignored are given class 0 and masked afterwards. A build of the module for other devices than
CUDA names them in ``DEVICE_TYPES``.

Written with :mod:`tnp.extend` alone; not run on a device here, see docs/notes/extensions.md.
"""

from __future__ import annotations

from typing import Any

import xentropy_cuda

from tnp.core.devices import DeviceType
from tnp.core.dtypes import bfloat16, float16, float32, int64
from tnp.executors.shared.cross_entropy import CrossEntropyExecutor, offer_cross_entropy
from tnp.extend import Refusal, TensorProxy, get_grad, put_grads, value_of

__all__ = ["executor", "register_apex_entropyex"]

_DEVICES = tuple(DeviceType(name) for name in getattr(xentropy_cuda, "DEVICE_TYPES", ("cuda",)))

executor = CrossEntropyExecutor("apex", version=getattr(xentropy_cuda, "__version__", None), devices=_DEVICES)

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
    g: TensorProxy, a: TensorProxy, *, target: TensorProxy, max_log_sum_exp: TensorProxy, reduction: str, ignore_index: int,
    label_smoothing: float,
) -> TensorProxy:  # fmt: skip
    return TensorProxy(like=a)


def _backward(
    g: Any, a: Any, *, target: Any, max_log_sum_exp: Any, reduction: str, ignore_index: int, label_smoothing: float
) -> Any:
    """From the cotangent of what the reduction gave; that of each row is computed in float32, and is of the logits' dtype to the kernel."""
    kept = target != ignore_index
    rows = g.float() / kept.sum() if reduction == "mean" else g.float()
    rows = (rows * kept).to(a.dtype).contiguous()
    return xentropy_cuda.backward(
        rows, a.contiguous(), max_log_sum_exp.contiguous(), (target * kept).contiguous(), label_smoothing
    )


apex_cross_entropy = executor.register_operator("apex_cross_entropy", meta=_forward_meta, fn=_forward)
apex_cross_entropy_backward = executor.register_operator(
    "apex_cross_entropy_backward", meta=_backward_meta, fn=_backward
)


def _takes(
    input: TensorProxy, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> bool | Refusal:  # fmt: skip
    if not (isinstance(input, TensorProxy) and isinstance(target, TensorProxy)):
        return Refusal("an argument is no tensor")
    if input.ndim != 2 or target.ndim != 1 or any(type(d) is not int for d in (*input.shape, *target.shape)):
        return Refusal("it takes rows of logits, and a class for each")
    rows, classes = input.shape
    if {input.device.devicetype, target.device.devicetype} - {*_DEVICES} or input.device is not target.device:
        return Refusal("it takes tensors on one CUDA device")
    if input.dtype not in (float16, bfloat16, float32) or target.dtype is not int64:
        return Refusal(
            f"it takes half and single precision, and classes as int64, not {input.dtype} and {target.dtype}"
        )
    if target.shape != (rows,) or not rows:
        return Refusal("it takes a class for each row, and one row at least")
    if classes < _FEW_CLASSES and classes % 4:
        return Refusal(f"rows of {classes} classes come out wrong")
    if (
        not weight is size_average is reduce is None
        or value_of(label_smoothing) != 0
        or reduction not in ("mean", "sum", "none")
    ):
        return Refusal("it knows neither weights nor smoothing")
    return True


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
    found = apex_cross_entropy_backward(
        get_grad(loss),
        input.contiguous(),
        target=target,
        max_log_sum_exp=max_log_sum_exp,
        reduction=reduction,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
    )
    put_grads((input,), (found,))
    return loss


register_apex_entropyex = offer_cross_entropy(
    executor, checker=_takes, execution_transform=_transform, grad_transform=_grad
)
