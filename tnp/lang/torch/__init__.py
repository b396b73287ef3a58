"""The torch language: torch's functions, those of ``torch.nn.functional``, and Tensor's methods, by torch's own families.

Each function is defined once, in a family's module, under :func:`~tnp.lang.torch.registry.torchsymbol`, in terms of the core
language or of functions defined before. Importing this imports torch.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

from tnp.lang.torch import registry as _registry
from tnp.lang.torch.registry import by_id, language, symbol_of

#: the modules that define functions, in an order in which each can use those before it
FAMILIES = (
    "elementwise",
    "shape",
    "joining",
    "creation",
    "indexing",
    "reductions",
    "products",
    "sorting",
    "activations",
    "losses",
    "linear_algebra",
    "arranging",
    "backward",
)

for _family in FAMILIES:
    importlib.import_module(f"{__name__}.{_family}")

__all__ = ["FAMILIES", "by_id", "language", "symbol_of"]


def __getattr__(name: str) -> Any:
    found = _registry.by_id.get(f"torch.{name}")
    if found is None:
        inner = {i.removeprefix(f"torch.{name}."): f.symbol for i, f in by_id.items() if i.startswith(f"torch.{name}.")}
        if inner:
            return SimpleNamespace(**{k: v for k, v in inner.items() if "." not in k}) if name != "nn" else _nn()
        raise AttributeError(f"the torch language has no function {name!r}")
    return found.symbol


def _nn() -> Any:
    prefix = "torch.nn.functional."
    inner = {i.removeprefix(prefix): f.symbol for i, f in by_id.items() if i.startswith(prefix)}
    return SimpleNamespace(functional=SimpleNamespace(**inner))
