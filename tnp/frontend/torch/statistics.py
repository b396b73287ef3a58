"""Functions of torch that change arguments beside the result that they return, in terms of those that do not.

They are called in place of torch's while a program is traced; what they call is captured as any function of torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

__all__ = ["CHANGING"]


def _batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: Any = False,
    momentum: Any = 0.1, eps: Any = 1e-05,
) -> Any:  # fmt: skip
    """``batch_norm``; in training the running statistics move towards those of the batch."""
    if training:
        F._verify_batch_size(input.size())
        seen = input.detach()
        dims = [d for d in range(input.dim()) if d != 1]
        if running_mean is not None:
            running_mean.copy_(momentum * torch.mean(seen, dims) + (1 - momentum) * running_mean)
        if running_var is not None:
            running_var.copy_(momentum * torch.var(seen, dims) + (1 - momentum) * running_var)
        running_mean = running_var = None
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


#: functions of torch, and what is called in their place where an argument of theirs is a tensor that they change
CHANGING: dict[Any, tuple[Callable[..., Any], tuple[int, ...]]] = {F.batch_norm: (_batch_norm, (1, 2))}
