"""The NumPy language: NumPy's functions and ndarray's methods, by NumPy's own families.

Each function is defined once, in a family's module, under :func:`~tnp.lang.numpy.registry.npsymbol`, in terms of the
core language or of functions defined before. Called outside a trace, as ``tnp.lang.numpy.sin(x)``, one is compiled and
run.
"""

from __future__ import annotations

import importlib
from typing import Any

from tnp.core.symbol import Symbol
from tnp.lang.numpy import registry as _registry
from tnp.lang.numpy.elementwise import fast_power, powers_of_their_own
from tnp.lang.numpy.operands import as_array
from tnp.lang.numpy.registry import defines, language, operator_of, symbol_of

#: the modules that define functions, in an order in which each can use those before it
FAMILIES = (
    "elementwise",
    "ufuncs",
    "shape",
    "creation",
    "ranges",
    "matrices",
    "joining",
    "indexing",
    "selection",
    "reductions",
    "nanfunctions",
    "sorting",
    "statistics",
    "calculus",
    "contractions",
    "linalg",
    "fft",
    "signal",
    "methods",
    "context",
    "effects",
    "data_warnings",
)

for _family in FAMILIES:
    importlib.import_module(f"{__name__}.{_family}")

from tnp.lang.numpy.data_warnings import DATA_WARNINGS, OF_SIZES, warn_times  # noqa: E402 (it is made of the families)

#: ``np.<ufunc>.reduce``, ``accumulate``, ``outer``, ``reduceat`` and ``at``: symbols whose first argument is the ufunc
ufunc_methods: dict[str, Symbol] = {
    m: _registry.by_id[f"ufunc.{m}"].symbol
    for m in ("reduce", "accumulate", "outer", "reduceat", "at")
    if f"ufunc.{m}" in _registry.by_id
}

__all__ = [
    "DATA_WARNINGS",
    "FAMILIES",
    "OF_SIZES",
    "as_array",
    "defines",
    "fast_power",
    "language",
    "operator_of",
    "powers_of_their_own",
    "symbol_of",
    "ufunc_methods",
    "warn_times",
]


def __getattr__(name: str) -> Any:
    for kind in ("numpy", "numpy.ndarray", "tnp"):
        found = _registry.by_id.get(f"{kind}.{name}")
        if found is not None:
            return found.symbol
    raise AttributeError(f"the NumPy language has no function {name!r}")


for _id, _info in _registry.by_id.items():
    if _id.startswith(("numpy.", "tnp.")) and "." not in _info.name:
        globals().setdefault(_info.name, _info.symbol)
