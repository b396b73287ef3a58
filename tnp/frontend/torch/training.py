"""Functions of torch that do something else in training: normalise by the statistics of a batch and keep those, and draw masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F

from tnp.frontend.handles import TracedArray
from tnp.lang.torch import activations
from tnp.lang.torch.registry import symbol_of

if TYPE_CHECKING:
    from tnp.frontend.torch.library import TorchLibrary
    from tnp.frontend.tracer import Tracer

__all__ = ["TRAINING"]


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
    if type(input) is TracedArray and input._element_type.bits == 16:  # torch computes in float32 then
        made = library.run_opaquely(tracer, activations.batch_norm_and_statistics, args, {})
        result, mean, variance = (*made, None, None)[:3]
    else:
        result, mean, variance = tracer.call(activations.batch_norm_in_training, args, {})
    for target, value in ((running_mean, mean), (running_var, variance)):
        if type(target) is TracedArray and value is not None:
            tracer.store(target, value)
    return result


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
        plain = tracer.call(symbol_of(torch.detach), (input,), {})
        if p == 1:
            mask = tracer.call(symbol_of(torch.zeros_like), (plain,), {})
        else:
            mask = library.run_opaquely(tracer, activations.dropout_mask, (plain, p, rank is not None), {})
        if input._element_type.bits == 16:  # each step is rounded
            scaled = tracer.call(symbol_of(torch.div), (mask, 1 - p), {}) if p != 1 else mask
            return tracer.call(symbol_of(torch.mul), (input, scaled), {})
        return tracer.call(activations.dropped, (mask, input, p), {})

    return dropout


#: functions, and how a call of each is traced: of the library, the tracer and the arguments
TRAINING: dict[Any, Any] = {
    F.batch_norm: _batch_norm,
    F.dropout: _dropout(),
    torch.dropout: _dropout(),
    F.dropout1d: _dropout(3),
    F.dropout2d: _dropout(4),
    F.dropout3d: _dropout(5),
}
