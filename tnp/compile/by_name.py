"""Pickling of jitted functions by name."""

from __future__ import annotations

import importlib
import sys
from types import FrameType
from typing import Any

__all__ = ["for_cloudpickle", "is_found_by_name"]


def is_found_by_name(function: Any) -> bool:
    """Whether a function is what its module has by its name."""
    try:
        found: Any = importlib.import_module(function.__module__)
        for part in function.__qualname__.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    return found is function


def for_cloudpickle() -> bool:
    """Whether the pickler that asks is cloudpickle's, or a copy of it in another package: it takes what stands in ``__main__``, which
    other processes do not have, by value."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").rpartition(".")[2] == "cloudpickle":
            return True
        frame = frame.f_back
    return False
