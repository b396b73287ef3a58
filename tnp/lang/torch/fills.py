"""Methods that fill a tensor with random numbers (``x.uniform_()``), as functions of the tensor that they fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["FILLS"]


def _filled(name: str) -> Callable[..., torch.Tensor]:
    method = getattr(torch.Tensor, name)

    def fill(like: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return method(torch.empty_like(like), *args, **kwargs)

    fill.__name__ = f"filled_by_{name.removesuffix('_')}"
    return fill


#: by the name of a method, what it fills a tensor like the one given with
FILLS = {
    name: _filled(name)
    for name in (
        "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_",
    )
}  # fmt: skip
