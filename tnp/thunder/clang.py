"""``thunder.clang``: the core language, :mod:`tnp.core.clang`."""

from tnp.core import clang
from tnp.core.clang import *
from tnp.core.clang import broadcast
from tnp.core.clang.elementwise import convert

maybe_broadcast = broadcast
maybe_convert_to_dtype = convert

__all__ = [*clang.__all__, "maybe_broadcast", "maybe_convert_to_dtype"]
