"""The nvFuser that is installed: its version, and which operations and dtypes that version has.

nvFuser comes as two modules. The older one, ``nvfuser``, is not used here; ``nvfuser_direct`` is, a thin map of its C++
functions, from version 0.2.34 on. It is imported when it is first asked for; a package that cannot be imported, or is
too old, turns the executor off and says why.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from typing import Any

from tnp.core.devices import DeviceType
from tnp.core.dtypes import DType
from tnp.runtime import locks

__all__ = ["MODULE", "Library", "load"]

MODULE = "nvfuser_direct"
#: the first version whose direct bindings compute all that is asked of them here
OLDEST = "0.2.34"

#: nvFuser's name for each dtype that it has. The integers of 8 and 16 bits it has not. It has uint64 and complex numbers, but not all
#: operations on them, and none says which: others run those.
DTYPES = {
    "bool": "Bool", "int32": "Int32", "int64": "Int", "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
}  # fmt: skip


class Library:
    """The module, and what can be asked of it. ``why_not`` says why nothing can."""

    def __init__(self, module: Any, why_not: str | None = None) -> None:
        self.module = module
        self.version = _version_of(module) if module is not None else ""
        self.why_not = why_not
        if module is not None and _numbers(self.version) < _numbers(OLDEST):
            self.why_not = f"{MODULE} {OLDEST} or newer is needed, and this is {self.version or 'of no known version'}"
        #: a build for other devices than CUDA names them
        self.device_types = tuple(DeviceType(name) for name in getattr(module, "DEVICE_TYPES", ("cuda",)))

    def has(self, operation: str) -> bool:
        """Whether this version has an operation."""
        return hasattr(self.module.ops, operation)

    def dtype_name(self, dtype: DType) -> str | None:
        """What this version calls a dtype; ``None`` if it has none such."""
        name = DTYPES.get(dtype.name)
        return name if name is not None and hasattr(self.module.DataType, name) else None

    @locks.cached_property
    def execute_options(self) -> dict[str, Any]:
        """What every execution is told: not to contract products and sums, which would round otherwise than eager."""
        known = inspect.signature(self.module.FusionDefinition.execute).parameters
        return {"_disable_options": ["fma"]} if "_disable_options" in known else {}


@functools.cache
def load() -> Library:
    """The library, imported at the first call."""
    try:
        return Library(importlib.import_module(MODULE))
    except (ImportError, OSError) as error:  # it is there, but what it is linked with is not
        return Library(None, f"{MODULE} cannot be imported: {error}")


def _version_of(module: Any) -> str:
    found = module.version() if hasattr(module, "version") else getattr(module, "__version__", "")
    return str(found)


def _numbers(version: str) -> tuple[int, ...]:
    """``(0, 2, 36)`` of ``"0.2.36+git81c4b22"``."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()
