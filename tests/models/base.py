"""What a model of the list is, and how two results of one are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

__all__ = ["Model", "compared", "tensors_in"]


@dataclass(frozen=True)
class Model:
    """``make()`` is the module, ``inputs()`` are the keyword arguments that it is called with; both draw from torch's generator."""

    name: str
    make: Callable[[], torch.nn.Module]
    inputs: Callable[[], dict[str, Any]]

    def made(self, *, training: bool = False) -> tuple[torch.nn.Module, dict[str, Any]]:
        """The same module and inputs at each call."""
        torch.manual_seed(0)
        return self.make().train(training), self.inputs()


def tensors_in(x: Any) -> Iterator[torch.Tensor]:
    """The tensors in a result, in order: in containers, and in the attributes of caches."""
    if isinstance(x, torch.Tensor):
        yield x
    elif isinstance(x, (tuple, list)):
        for y in x:
            yield from tensors_in(y)
    elif isinstance(x, dict):
        for y in x.values():
            yield from tensors_in(y)
    elif hasattr(x, "__dict__") and not isinstance(x, (type, torch.nn.Module)):
        yield from tensors_in(vars(x))


def compared(found: Any, expected: Any, *, rtol: float = 1e-4, atol: float = 1e-5) -> float:
    """The largest distance between the tensors of two results, relative to the largest value of each if that is above 1.

    Raises ``AssertionError`` where they differ by more than the tolerances, in kind or in number.
    """
    assert type(found) is type(expected), (type(found), type(expected))
    pairs = list(zip(tensors_in(found), tensors_in(expected), strict=True))
    assert pairs, "no tensors"
    worst = 0.0
    for a, b in pairs:
        torch.testing.assert_close(a, b, rtol=rtol, atol=atol)
        if b.numel() and b.is_floating_point():
            worst = max(worst, ((a - b).abs().max() / b.abs().max().clamp(min=1.0)).item())
    return worst
