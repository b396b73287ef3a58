"""Functions of torch that need the tracer: normalisation that updates running statistics in training, functions that
draw masks, functions that need values, and functions that call user functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F

from tnp.capture.libraries.torch import layouts
from tnp.capture.libraries.torch.attributes import METHODS
from tnp.capture.libraries.torch.checkpoints import CHECKPOINTS
from tnp.capture.tracing.output_aliasing import mark_shared
from tnp.capture.tracing.strides import ROW_MAJOR
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import sizes, symbols
from tnp.lang.torch import activations, elementwise
from tnp.lang.torch.registry import symbol_of

if TYPE_CHECKING:
    from tnp.capture.libraries.torch.library import TorchLibrary
    from tnp.capture.tracing.tracer import Tracer
    from tnp.core.symbol import Symbol

__all__ = ["TRAINING", "WRITTEN_OUT"]


def _batch_norm(
    library: TorchLibrary, tracer: Tracer, input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
    training: Any = False, momentum: Any = 0.1, eps: Any = 1e-05,
) -> Any:  # fmt: skip
    """``F.batch_norm``; ``NotImplemented`` where it computes no statistics."""
    if not training and running_mean is not None:
        return NotImplemented
    args = (input, running_mean, running_var, weight, bias, momentum, eps) if training else (
        input, None, None, weight, bias, momentum, eps
    )  # fmt: skip
    if type(input) is TracedArray and not _is_defined(input, running_mean, running_var):
        made = library.run_opaquely(tracer, activations.batch_norm_and_statistics, args, {})
        result, mean, variance = (*made, None, None)[:3]
    else:
        result, mean, variance = tracer.call(activations.batch_norm_in_training, args, {})
    for target, value in ((running_mean, mean), (running_var, variance)):
        if type(target) is TracedArray and value is not None:
            tracer.store(target, value)
    return result


def _is_defined(input: TracedArray, running_mean: Any, running_var: Any) -> bool:
    """Whether the language defines ``batch_norm`` in training of such a tensor; of half precision torch computes it in float32."""
    dtype, shape = input._element_type, input.shape_
    return dtype.bits != 16 and len(shape) > 1 and 0 not in shape and (running_mean is None) == (running_var is None)


def _tensor_split(library: TorchLibrary, tracer: Tracer, input: Any, sections: Any, dim: Any = 0) -> Any:
    """``torch.tensor_split`` at positions that are a tensor's values; ``NotImplemented`` for others."""
    if type(sections) is not TracedArray:
        return NotImplemented
    values = METHODS["tolist"](tracer, sections)
    known = [int(v) for v in values] if isinstance(values, list) else int(values)
    return _call(tracer, torch.tensor_split, input, known, dim)


def _call(tracer: Tracer, function: Any, *args: Any) -> Any:
    """Records one of torch's functions, which the torch language has to have."""
    symbol = symbol_of(function)
    assert symbol is not None
    return tracer.call(symbol, args, {})


def _split(library: TorchLibrary, tracer: Tracer, tensor: Any, split_size: Any, dim: Any = 0) -> Any:
    """``x.split(…)``, whose parameter has another name than that of ``torch.split``."""
    return _call(tracer, torch.split, tensor, split_size, dim)


def _one_hot(library: TorchLibrary, tracer: Tracer, tensor: Any, num_classes: Any = -1) -> Any:
    """``F.one_hot`` of as many classes as there are, which tracing has to know; ``NotImplemented`` for others."""
    is_size = type(num_classes) is TracedNumber and symbols.is_symbol(num_classes.proxy)
    if is_size or tracer.known(num_classes) != -1 or type(tensor) is not TracedArray or 0 in tensor.shape_:
        return NotImplemented
    most = _call(tracer, torch.amax, tensor)
    return _call(tracer, F.one_hot, tensor, int(METHODS["item"](tracer, most)) + 1)


def _ravel(library: TorchLibrary, tracer: Tracer, input: Any) -> Any:
    """``torch.ravel``: a view of the tensor where that is contiguous, else of a copy; ``NotImplemented`` for what is no tensor."""
    if type(input) is not TracedArray:
        return NotImplemented
    plain = library.call(tracer, torch.Tensor.contiguous, (input,), {})
    return library.call(tracer, torch.Tensor.view, (plain, -1), {})


def _dropout(rank: int | None = None) -> Any:
    """A function that drops elements, or, of tensors of that rank alone, whole channels."""

    def dropout(
        library: TorchLibrary, tracer: Tracer, input: Any, p: Any = 0.5, training: Any = True, inplace: Any = False
    ) -> Any:
        """``F.dropout`` and its like; ``NotImplemented`` where it draws nothing."""
        p = tracer.known(p)
        if not training or type(input) is not TracedArray or not 0 < p <= 1 or 0 in input.shape_:
            return NotImplemented
        if input._element_type.kind != "f" or rank not in (None, input.ndim):
            return NotImplemented
        plain = _call(tracer, torch.detach, input)
        if p == 1:
            mask = _call(tracer, torch.zeros_like, plain)
        else:
            order = () if rank is not None or input.contiguous_ else (layouts.strides_of_like(input),)
            drawn = plain, p, rank is not None, *order
            mask = library.run_opaquely(tracer, activations.dropout_mask, drawn, {}, in_order=True)
        if input._element_type.bits == 16:  # each step is rounded
            scaled = _call(tracer, torch.div, mask, 1 - p) if p != 1 else mask
            return _call(tracer, torch.mul, input, scaled)
        return tracer.call(activations.dropped, (mask, input, p), {})

    return dropout


def _parts_of_complex(function: Any, symbol: Symbol, kind: str) -> Any:
    """``torch.view_as_real`` or ``view_as_complex``, a view of tensors of that kind of dtype.

    Of what the program has made it is a copy that may be the same memory: either may not be written to, nor may both be results.
    """

    def viewed(library: TorchLibrary, tracer: Tracer, input: Any) -> Any:
        is_made = type(input) is TracedArray and input.storage.origin is None and input.contiguous_
        if not is_made or tracer.regions or input._element_type.kind != kind or input._element_type.bits < 32:
            return library.run_opaquely(tracer, function, (input,), {})
        if kind == "f" and (not input.shape_ or input.shape_[-1] != 2):
            return library.run_opaquely(tracer, function, (input,), {})
        made = tracer.call(symbol, (input,), {})
        made._strides = ROW_MAJOR
        mark_shared(made.storage, input.storage)
        tracer.reshaped.append((made.storage.serial, input.storage.serial))
        return made

    return viewed


#: images of more elements than this are interpolated by torch where a gradient is taken that adds elements up at computed positions
_MOST_SCATTERED = 1 << 16


def _interpolate(library: TorchLibrary, tracer: Tracer, input: Any, *args: Any, **kwargs: Any) -> Any:
    """``F.interpolate`` of a large image whose gradient torch computes faster; ``NotImplemented`` for others."""
    corners = args[3] if len(args) > 3 else kwargs.get("align_corners")
    if tracer.strict or not tracer.known(corners) or type(input) is not TracedArray or not sizes.is_known(input.shape_):
        return NotImplemented
    if sizes.product(input.shape_) <= _MOST_SCATTERED or not tracer.gradients.requires(input.__tnp_value__()):
        return NotImplemented
    return library.run_opaquely(tracer, F.interpolate, (input, *args), kwargs)


#: functions, and how a call of each is traced: of the library, the tracer and the arguments
TRAINING: dict[Any, Any] = {
    F.batch_norm: _batch_norm,
    F.dropout: _dropout(),
    torch.dropout: _dropout(),
    F.dropout1d: _dropout(3),
    F.dropout2d: _dropout(4),
    F.dropout3d: _dropout(5),
    F.interpolate: _interpolate,
    torch.view_as_real: _parts_of_complex(torch.view_as_real, elementwise.as_reals, "c"),
    torch.view_as_complex: _parts_of_complex(torch.view_as_complex, elementwise.as_complex, "f"),
    F.one_hot: _one_hot,
    torch.tensor_split: _tensor_split,
    torch.Tensor.tensor_split: _tensor_split,
    torch.Tensor.split: _split,
    torch.ravel: _ravel,
    torch.Tensor.ravel: _ravel,
}


# Functions that call functions of the user's


def _triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Any = None, margin: Any = 1.0, swap: Any = False,
    reduction: Any = "mean",
) -> Any:  # fmt: skip
    """The function of that name: how much farther off than the positive examples, and a margin, the negative ones are."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "the anchor, positive, and negative tensors are expected to have the same number of dimensions"
        )
    distance = torch.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    loss = torch.clamp_min(margin + near - far, 0)
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.mean()


#: functions of torch written in Python, and what stands for them in a program
WRITTEN_OUT: dict[Any, Any] = {
    F.triplet_margin_with_distance_loss: _triplet_margin_with_distance_loss,
    **CHECKPOINTS,
}
