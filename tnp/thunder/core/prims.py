"""``thunder.core.prims``: :mod:`tnp.core.prims`, with the tags of operations."""

from tnp.core import prims
from tnp.core.prims import *
from tnp.core.symbol import OpTags

__all__ = [*prims.__all__, "OpTags"]
