"""The Triton executor of cross entropy: one kernel for ``torch.nn.functional.cross_entropy`` of classes.

Each program of the kernel computes the loss of one row of logits: the largest logit, then the sum of exponentials
relative to it, block by block, as in the numerically safe softmax. Class weights, label smoothing and an ignored index
follow torch. torch computes the reduction. The logarithm of each row's sum of exponentials is saved; a second kernel
computes the gradient from it, the only output as large as the logits.

It runs on CUDA, and on the CPU under ``TRITON_INTERPRET=1``. It uses :mod:`tnp.extend` alone.
"""

from __future__ import annotations

import os
from typing import Any

import torch
import triton
import triton.language as tl

from tnp.core.devices import DeviceType
from tnp.core.dtypes import bfloat16, float16, float32, float64, int64
from tnp.executors.shared.cross_entropy import CrossEntropyExecutor, offer_cross_entropy
from tnp.extend import Refusal, TensorProxy, get_grad, put_grads, register_grad, value_of

__all__ = ["executor", "register_triton_entropyex"]

_DEVICES = (DeviceType.CUDA, DeviceType.CPU) if os.environ.get("TRITON_INTERPRET") == "1" else (DeviceType.CUDA,)

executor = CrossEntropyExecutor("triton_cross_entropy", version=getattr(triton, "__version__", None), devices=_DEVICES)

#: logits that a program reads at once, at most
_BLOCK = 4096


@triton.jit
def _rows(
    losses, norms, totals, outside, logits, targets, weights, ignore_index, N_CLASSES: tl.constexpr,
    ACCUMULATE: tl.constexpr, HAS_WEIGHTS: tl.constexpr, SMOOTHING: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Of row ``program_id(0)``: the loss, and the weight of its class; both 0 if it is ignored. And the logarithm of the sum of
    exponentials. Writes to ``outside`` if the target is no class."""
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
        if SMOOTHING != 0:
            if HAS_WEIGHTS:
                w = tl.load(weights + start + columns, mask=inside, other=0.0).to(ACCUMULATE)
                spread += w * tl.where(inside, top - x, 0.0)
            else:
                spread += tl.where(inside, top - x, 0.0)
    log_total = tl.log(tl.sum(exponentials, axis=0))
    is_class = (target >= 0) & (target < N_CLASSES)
    safe = tl.where(is_class, target, 0)
    weight = tl.full((), 1.0, ACCUMULATE)
    if HAS_WEIGHTS:
        weight = tl.load(weights + safe).to(ACCUMULATE)
    loss = weight * (top + log_total - tl.load(base + safe).to(ACCUMULATE))
    if SMOOTHING != 0:
        mass = tl.full((BLOCK,), 0.0, ACCUMULATE)
        for start in range(0, N_CLASSES, BLOCK):
            inside = start + columns < N_CLASSES
            if HAS_WEIGHTS:
                mass += tl.load(weights + start + columns, mask=inside, other=0.0).to(ACCUMULATE)
            else:
                mass += tl.where(inside, 1.0, 0.0)
        smooth = tl.sum(spread, axis=0) + tl.sum(mass, axis=0) * log_total
        loss = (1 - SMOOTHING) * loss + SMOOTHING / N_CLASSES * smooth
    is_kept = target != ignore_index
    tl.store(outside, 1, mask=is_kept & ~is_class)
    tl.store(losses + row, tl.where(is_kept, loss, 0.0))
    tl.store(norms + row, tl.where(is_kept, weight, 0.0))
    tl.store(totals + row, top + log_total)


@triton.jit
def _gradient_rows(
    gradients, scales, totals, logits, targets, weights, mass, ignore_index, N_CLASSES: tl.constexpr,
    ACCUMULATE: tl.constexpr, HAS_WEIGHTS: tl.constexpr, SMOOTHING: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Of row ``program_id(0)``: the gradient by its logits, where the loss's is ``scales[row]``. ``mass`` is the sum of all weights."""
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(targets + row)
    total = tl.load(totals + row)
    scale = tl.where(target != ignore_index, tl.load(scales + row), 0.0)
    is_class = (target >= 0) & (target < N_CLASSES)
    weight = tl.full((), 1.0, ACCUMULATE)
    if HAS_WEIGHTS:
        weight = tl.load(weights + tl.where(is_class, target, 0)).to(ACCUMULATE)
    hard = (1 - SMOOTHING) * weight
    soft = tl.full((), SMOOTHING / N_CLASSES, ACCUMULATE)
    columns = tl.arange(0, BLOCK)
    for start in range(0, N_CLASSES, BLOCK):
        at = start + columns
        inside = at < N_CLASSES
        x = tl.load(logits + row * N_CLASSES + at, mask=inside, other=0.0).to(ACCUMULATE)
        w = tl.full((BLOCK,), 1.0, ACCUMULATE)
        if HAS_WEIGHTS:
            w = tl.load(weights + at, mask=inside, other=0.0).to(ACCUMULATE)
        g = (
            (hard + soft * tl.load(mass).to(ACCUMULATE)) * tl.exp(x - total)
            - soft * w
            - tl.where(at == target, hard, 0.0)
        )
        tl.store(gradients + row * N_CLASSES + at, tl.where(scale == 0, 0.0, g * scale), mask=inside)


def _meta(
    input: TensorProxy, target: TensorProxy, weight: Any, size_average: Any, ignore_index: int, reduce: Any, reduction: str,
    label_smoothing: float,
) -> tuple[TensorProxy, TensorProxy, TensorProxy]:  # fmt: skip
    wide = float64 if input.dtype is float64 else float32
    loss = TensorProxy(like=input, shape=input.shape[:1] if reduction == "none" else ())
    return (
        loss,
        TensorProxy(like=input, shape=input.shape[:1], dtype=wide),
        TensorProxy(like=input, shape=(), dtype=wide),
    )


def _run(
    input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, size_average: None, ignore_index: int, reduce: None,
    reduction: str, label_smoothing: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    """The loss, each row's logarithm of the sum of exponentials, and the weight of all rows that are not ignored."""
    rows, classes = input.shape
    wide = input.dtype is torch.float64
    losses = input.new_empty((rows,), dtype=torch.float64 if wide else torch.float32)
    norms, totals = torch.empty_like(losses), torch.empty_like(losses)
    if rows:
        weights = input if weight is None else weight.contiguous()  # never read if there are none
        outside = torch.zeros((), dtype=torch.int32, device=input.device)
        _rows[rows,](
            losses, norms, totals, outside, input.contiguous(), target.contiguous(), weights, ignore_index,
            N_CLASSES=classes, ACCUMULATE=tl.float64 if wide else tl.float32, HAS_WEIGHTS=weight is not None, SMOOTHING=float(label_smoothing),
            BLOCK=min(_BLOCK, triton.next_power_of_2(classes)),
        )  # fmt: skip
        _refuse(outside)
    norm = norms.sum()
    if reduction == "mean":
        losses = losses.sum() / norm
    elif reduction == "sum":
        losses = losses.sum()
    return losses.to(input.dtype), totals, norm


def _refuse(outside: torch.Tensor) -> None:
    """Raises if a target was no class; on CUDA, where that would have to be waited for, the device asserts it, as torch's kernels do."""
    if outside.is_cuda:
        torch._assert_async(outside == 0, "Target is out of bounds.")
    elif outside:
        raise IndexError("Target is out of bounds.")


def _backward_meta(
    g: TensorProxy, input: TensorProxy, target: TensorProxy, weight: Any, totals: TensorProxy, norm: TensorProxy, ignore_index: int,
    reduction: str, label_smoothing: float,
) -> TensorProxy:  # fmt: skip
    return TensorProxy(like=input)


def _run_backward(
    g: torch.Tensor, input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, totals: torch.Tensor, norm: torch.Tensor,
    ignore_index: int, reduction: str, label_smoothing: float,
) -> torch.Tensor:  # fmt: skip
    rows, classes = input.shape
    made = torch.empty(input.shape, dtype=input.dtype, device=input.device)
    scales = g.to(totals.dtype) / norm if reduction == "mean" else g.to(totals.dtype)
    scales = scales.expand(rows).contiguous()
    mass = totals.new_tensor(classes) if weight is None else weight.to(totals.dtype).sum()
    if rows:
        _gradient_rows[rows,](
            made, scales, totals.contiguous(), input.contiguous(), target.contiguous(), input if weight is None else weight.contiguous(),
            mass.reshape(1), ignore_index,
            N_CLASSES=classes, ACCUMULATE=tl.float64 if input.dtype is torch.float64 else tl.float32, HAS_WEIGHTS=weight is not None,
            SMOOTHING=float(label_smoothing), BLOCK=min(_BLOCK, triton.next_power_of_2(classes)),
        )  # fmt: skip
    return made


triton_crossentropy = executor.register_operator("triton_crossentropy", meta=_meta, fn=_run)
triton_crossentropy_backward = executor.register_operator(
    "triton_crossentropy_backward", meta=_backward_meta, fn=_run_backward
)


def _takes(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> bool | Refusal:  # fmt: skip
    if not (isinstance(input, TensorProxy) and isinstance(target, TensorProxy)):
        return Refusal("an argument is no tensor")
    if input.ndim != 2 or any(type(d) is not int for d in (*input.shape, *target.shape)) or not input.shape[1]:
        return Refusal("it takes rows of logits")
    if input.device.devicetype not in _DEVICES or input.device is not target.device:
        return Refusal("it takes tensors on one CUDA device")
    if input.dtype not in (float16, bfloat16, float32, float64):
        return Refusal(f"logits of {input.dtype}")
    if target.dtype is not int64 or target.shape != input.shape[:1]:
        return Refusal("it takes a class for each row, as int64")
    if weight is not None and (weight.shape != input.shape[1:] or weight.dtype is not input.dtype):
        return Refusal("it takes a weight for each class, in the logits' dtype")
    known = (
        size_average is reduce is None and 0 <= value_of(label_smoothing) <= 1 and reduction in ("mean", "sum", "none")
    )
    return True if known else Refusal("another reduction or smoothing")


def _transform(
    input: TensorProxy, target: TensorProxy, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    return triton_crossentropy(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing)[0]


def _grad(
    input: TensorProxy, target: TensorProxy, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    loss, totals, norm = triton_crossentropy(
        input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing
    )
    g = get_grad(loss)
    found = triton_crossentropy_backward(
        g, input, target, weight, totals, norm, ignore_index, reduction, label_smoothing
    )
    put_grads((input,), (found,))
    return loss


def _pulled_back(
    input: TensorProxy, target: TensorProxy, weight: Any, size_average: Any, ignore_index: int, reduce: Any, reduction: str,
    label_smoothing: float,
) -> Any:  # fmt: skip
    """The gradient of the loss and of the logarithms, for programs whose gradients are differentiated again."""
    loss, totals, norm = triton_crossentropy(
        input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing
    )
    found = triton_crossentropy_backward(
        get_grad(loss), input, target, weight, totals, norm, ignore_index, reduction, label_smoothing
    )
    softmax = (input.type_as(totals) - totals.unsqueeze(1)).exp()
    put_grads((input,), (found + (get_grad(totals).unsqueeze(1) * softmax).type_as(input),))
    return loss, totals, norm


def _backward_pulled_back(
    g: TensorProxy, input: TensorProxy, target: TensorProxy, weight: Any, totals: TensorProxy, norm: TensorProxy, ignore_index: int,
    reduction: str, label_smoothing: float,
) -> Any:  # fmt: skip
    """Of ``scale * ((hard + soft) * exp(input - totals) - …)``; the rest is constant. The operation is linear in ``g``."""
    others = (input, target, weight, totals, norm, ignore_index, reduction, label_smoothing)
    made = triton_crossentropy_backward(g, *others)
    up = get_grad(made).type_as(totals)
    kept = target != ignore_index
    hard, mass = 1.0 - label_smoothing, 1.0 * input.shape[1]
    if weight is not None:
        wide = weight.type_as(totals)
        hard, mass = hard * wide[target * kept], wide.sum()
    scale = (g / norm if reduction == "mean" else g).type_as(totals) * kept
    factor = scale * (hard + label_smoothing / input.shape[1] * mass)
    pulled = factor.unsqueeze(1) * (input.type_as(totals) - totals.unsqueeze(1)).exp() * up
    by_g = (triton_crossentropy_backward(g * 0 + 1, *others).type_as(totals) * up).sum(1)
    put_grads(
        (g, input, totals),
        ((by_g if reduction == "none" else by_g.sum()).type_as(g), pulled.type_as(input), -pulled.sum(1)),
    )
    put_grads([p for p in (weight, norm) if p is not None], [None for p in (weight, norm) if p is not None])
    return made


register_grad(triton_crossentropy, _pulled_back)
register_grad(triton_crossentropy_backward, _backward_pulled_back)

register_triton_entropyex = offer_cross_entropy(
    executor, checker=_takes, execution_transform=_transform, grad_transform=_grad
)
