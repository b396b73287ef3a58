"""The Triton executor of cross entropy: one kernel for ``torch.nn.functional.cross_entropy`` of classes.

A program of the kernel computes the loss of one row of logits: the largest logit, then the sum of exponentials relative to it, block by
block, as in the numerically safe softmax; class weights, label smoothing and an index to ignore follow torch. The reduction is
torch's. Nothing of the size of the logits is written.

It runs on CUDA, and on the CPU where Triton interprets (``TRITON_INTERPRET=1``). It has no gradient of its own: where one is
taken, the function is differentiated as what it is made of. Written with :mod:`tnp.extend` alone.
"""

from __future__ import annotations

import os
from typing import Any

import torch
import triton
import triton.language as tl

from tnp.core.devices import DeviceType
from tnp.core.dtypes import bfloat16, float16, float32, float64, int64
from tnp.extend import OperatorExecutor, TensorProxy, add_default_executor, register_executor

__all__ = ["executor", "register_triton_entropyex"]

executor = OperatorExecutor("triton_cross_entropy", version=getattr(triton, "__version__", None))

_DEVICES = (DeviceType.CUDA, DeviceType.CPU) if os.environ.get("TRITON_INTERPRET") == "1" else (DeviceType.CUDA,)

#: logits that a program reads at once, at most
_BLOCK = 4096


@triton.jit
def _rows(  # type: ignore[no-untyped-def]
    losses, norms, logits, targets, weights, ignore_index, smoothing, N_CLASSES: tl.constexpr,
    ACCUMULATE: tl.constexpr, HAS_WEIGHTS: tl.constexpr, SMOOTHS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Of row ``program_id(0)``: the loss, and the weight of its class; both 0 if it is ignored, NaN for what is no class."""
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(targets + row)
    base = logits + row * N_CLASSES
    columns = tl.arange(0, BLOCK)
    largest = tl.full((BLOCK,), float("-inf"), ACCUMULATE)
    for start in range(0, N_CLASSES, BLOCK):
        inside = start + columns < N_CLASSES
        x = tl.load(base + start + columns, mask=inside, other=float("-inf")).to(ACCUMULATE)
        largest = tl.maximum(largest, x)
    top = tl.max(largest, axis=0)
    exponentials = tl.full((BLOCK,), 0.0, ACCUMULATE)
    spread = tl.full((BLOCK,), 0.0, ACCUMULATE)
    for start in range(0, N_CLASSES, BLOCK):
        inside = start + columns < N_CLASSES
        x = tl.load(base + start + columns, mask=inside, other=float("-inf")).to(ACCUMULATE)
        exponentials += tl.exp(x - top)
        if SMOOTHS:
            if HAS_WEIGHTS:
                w = tl.load(weights + start + columns, mask=inside, other=0.0).to(ACCUMULATE)
                spread += tl.where(inside, w * (top - x), 0.0)
            else:
                spread += tl.where(inside, top - x, 0.0)
    log_total = tl.log(tl.sum(exponentials, axis=0))
    is_class = (target >= 0) & (target < N_CLASSES)
    safe = tl.where(is_class, target, 0)
    weight = tl.full((), 1.0, ACCUMULATE)
    if HAS_WEIGHTS:
        weight = tl.load(weights + safe).to(ACCUMULATE)
    loss = weight * (top + log_total - tl.load(base + safe).to(ACCUMULATE))
    if SMOOTHS:
        mass = tl.full((BLOCK,), 0.0, ACCUMULATE)
        for start in range(0, N_CLASSES, BLOCK):
            inside = start + columns < N_CLASSES
            if HAS_WEIGHTS:
                mass += tl.load(weights + start + columns, mask=inside, other=0.0).to(ACCUMULATE)
            else:
                mass += tl.where(inside, 1.0, 0.0)
        smooth = tl.sum(spread, axis=0) + tl.sum(mass, axis=0) * log_total
        loss = (1 - smoothing) * loss + smoothing / N_CLASSES * smooth
    loss = tl.where(is_class, loss, float("nan"))
    is_kept = target != ignore_index
    tl.store(losses + row, tl.where(is_kept, loss, 0.0))
    tl.store(norms + row, tl.where(is_kept, weight, 0.0))


def _meta(
    input: TensorProxy, target: TensorProxy, weight: Any, size_average: Any, ignore_index: int, reduce: Any, reduction: str,
    label_smoothing: float,
) -> TensorProxy:  # fmt: skip
    return TensorProxy(like=input, shape=input.shape[:1] if reduction == "none" else ())


def _run(
    input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, size_average: None, ignore_index: int, reduce: None,
    reduction: str, label_smoothing: float,
) -> torch.Tensor:  # fmt: skip
    rows, classes = input.shape
    wide = input.dtype is torch.float64
    losses = input.new_empty((rows,), dtype=torch.float64 if wide else torch.float32)
    norms = torch.empty_like(losses)
    if rows:
        weights = input if weight is None else weight.contiguous()  # never read if there are none
        _rows[rows,](
            losses, norms, input.contiguous(), target.contiguous(), weights, ignore_index, label_smoothing,
            N_CLASSES=classes, ACCUMULATE=tl.float64 if wide else tl.float32, HAS_WEIGHTS=weight is not None, SMOOTHS=label_smoothing != 0,
            BLOCK=min(_BLOCK, triton.next_power_of_2(classes)),
        )  # fmt: skip
    if reduction == "mean":
        losses = losses.sum() / norms.sum()
    elif reduction == "sum":
        losses = losses.sum()
    return losses.to(input.dtype)


triton_crossentropy = executor.register_operator("triton_crossentropy", meta=_meta, fn=_run)


def _takes(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> bool:  # fmt: skip
    if not (isinstance(input, TensorProxy) and isinstance(target, TensorProxy)):
        return False
    if input.ndim != 2 or any(type(d) is not int for d in (*input.shape, *target.shape)):
        return False
    return (
        input.device.devicetype in _DEVICES
        and input.dtype in (float16, bfloat16, float32, float64)
        and target.dtype is int64
        and target.shape == input.shape[:1]
        and input.shape[1] > 0
        and (weight is None or (weight.shape == input.shape[1:] and weight.dtype is input.dtype))
        and size_average is reduce is None
        and 0 <= label_smoothing <= 1
        and reduction in ("mean", "sum", "none")
    )


def _transform(
    input: TensorProxy, target: TensorProxy, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    return triton_crossentropy(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing)


executor.register_implementation("torch.nn.functional.cross_entropy", checker=_takes, execution_transform=_transform)
register_executor(executor)


def register_triton_entropyex(*, add_to_default_executors: bool = True) -> None:
    """Makes the executor one of the defaults, if that is wanted; it is registered by being imported."""
    if add_to_default_executors:
        add_default_executor(executor)
