"""Functions whose results depend on how tensors lie in memory, made to give what they give of eager's tensors.

Methods that fill a tensor with random numbers (``x.uniform_()``) are functions of a tensor like the one that they fill,
and of that one's strides: which element gets which number depends on them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

__all__ = ["FILLS", "as_strided_in_order", "laid_out"]


def _filled(name: str) -> Callable[..., torch.Tensor]:
    method = getattr(torch.Tensor, name)

    def fill(like: torch.Tensor, strides: tuple[int, ...], *args: Any, **kwargs: Any) -> torch.Tensor:
        made = torch.empty_strided(like.shape, strides, dtype=like.dtype, device=like.device)
        return method(made, *args, **kwargs)

    fill.__name__ = f"filled_by_{name.removesuffix('_')}"
    return fill


@functools.cache
def laid_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, called with tensors that lie in memory as told: first come the strides of each; always the same function."""

    def call(strides: Sequence[tuple[int, ...]], *args: Any, **kwargs: Any) -> Any:
        left = iter(strides)
        args = _with_strides(args, left)
        return function(*args, **_with_strides(kwargs, left))

    call.__name__ = f"{getattr(function, '__name__', 'function')}_laid_out"
    return call


def as_strided_in_order(input: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """``input.as_strided(…)`` of a tensor that eager has in row-major order, whatever order it has here."""
    return input.contiguous().as_strided(*args, **kwargs)


def _with_strides(x: Any, strides: Iterator[tuple[int, ...]]) -> Any:
    if isinstance(x, torch.Tensor):
        wanted = next(strides)
        if x.stride() == wanted:
            return x
        made = torch.empty_strided(x.shape, wanted, dtype=x.dtype, device=x.device)
        whole = tuple(slice(0, 1) if s == 0 else slice(None) for s in wanted)  # what is repeated is there once
        made[whole].copy_(x[whole])
        return made
    if isinstance(x, (tuple, list)) and type(x) is not torch.Size:
        return type(x)(_with_strides(y, strides) for y in x)
    return {k: _with_strides(v, strides) for k, v in x.items()} if isinstance(x, dict) else x


#: by the name of a method, what it fills a tensor like the one given with
FILLS = {
    name: _filled(name)
    for name in (
        "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_",
    )
}  # fmt: skip
