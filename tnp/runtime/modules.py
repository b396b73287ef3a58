"""Modules that the program may or may not have imported."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["loaded"]


def loaded(name: str) -> Any:
    """The module ``name`` if it is imported; ``None`` if nobody has, and while another thread still does.

    >>> loaded("sys").__name__, loaded("no.such.module")
    ('sys', None)
    """
    module = sys.modules.get(name)
    is_partial = getattr(getattr(module, "__spec__", None), "_initializing", False)
    return None if is_partial else module
