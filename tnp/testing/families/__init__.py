"""The OpInfos of tnp's own operations, one module per family. Importing this package registers all of them."""

import importlib
import importlib.util

FAMILIES: tuple[str, ...] = (
    "elementwise",
    "ufuncs",
    "creation",
    "shape",
    "joining",
    "indexing",
    "selection",
    "sorting",
    "reductions",
    "statistics",
    "calculus",
    "contractions",
    "linalg",
    "fft",
    "signal",
    "methods",
    "prims",
    "opaque",
)

if importlib.util.find_spec("scipy") is not None:
    FAMILIES = (*FAMILIES, "scipy", "scipy_arrays")

for _family in FAMILIES:
    importlib.import_module(f"{__name__}.{_family}")
