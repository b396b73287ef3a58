"""The torch functions that a program calls and the torch language lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name

from tnp.lang.torch.registry import symbol_of

__all__ = ["Watching"]


class Watching(TorchFunctionMode):
    """Calls ``note(name)`` for each call of a function without a definition, attributes of tensors aside."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__()
        self.note = note

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(getattr(func, "__name__", func))
        if name not in ("__get__", "__set__") and not _is_defined(func, name):
            self.note(str(resolve_name(func) or f"torch.{name}"))
        return func(*args, **(kwargs or {}))


def _is_defined(func: Any, name: str) -> bool:
    """Whether there is a definition, of the function or of the one of which it is the in-place method."""
    if symbol_of(func) is not None or name.startswith("__"):
        return True
    return name.endswith("_") and symbol_of(getattr(torch.Tensor, name.rstrip("_"), None)) is not None
