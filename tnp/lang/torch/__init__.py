"""The torch language: torch's functions, those of ``torch.nn.functional``, and Tensor's methods, by torch's own
families.

Each function is defined once, in its family's module, under :func:`~tnp.lang.torch.registry.torchsymbol`, in terms of
the core language or of earlier functions. Importing this module imports torch.
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
    "selecting",
    "shape",
    "joining",
    "creation",
    "indexing",
    "reductions",
    "contractions",
    "einsum",
    "sorting",
    "activations",
    "losses",
    "linear_algebra",
    "fourier",
    "arranging",
    "pooling",
    "interpolation",
    "recurrent",
    "counting",
    "backward",
)

for _family in FAMILIES:
    importlib.import_module(f"{__name__}.{_family}")

# Every other method of tensors that is defined: what extensions write of proxies (``a.contiguous()``).
for _name in dir(_registry.torch.Tensor):
    _symbol = symbol_of(getattr(_registry.torch.Tensor, _name))
    if _symbol is not None:
        language.methods.setdefault(_name, _symbol)

__all__ = ["FAMILIES", "by_id", "language", "symbol_of"]


def __getattr__(name: str) -> Any:
    """A function by its name below ``torch``; those of ``torch.nn.functional`` and methods by their own name alone, too."""
    for path in ("", "nn.functional.", "special.", "Tensor."):
        found = by_id.get(f"torch.{path}{name}")
        if found is not None:
            return found.symbol
    if name == "nn":
        return SimpleNamespace(functional=_below("nn.functional"))
    inner = _below(name)
    if not vars(inner):
        raise AttributeError(f"the torch language has no function {name!r}")
    return inner


def _below(path: str) -> SimpleNamespace:
    prefix = f"torch.{path}."
    inner = {i.removeprefix(prefix): f.symbol for i, f in by_id.items() if i.startswith(prefix)}
    return SimpleNamespace(**{k: v for k, v in inner.items() if "." not in k})
