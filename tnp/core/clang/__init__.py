"""The core language: functions over the prims, shared by all user languages.

Its functions broadcast, and require equal dtypes. They are inlined: a trace shows their prims, under the language
function that called them.
"""

from typing import TYPE_CHECKING

from tnp.core.clang import elementwise, indexing, shape
from tnp.core.clang.base import clangop
from tnp.core.clang.elementwise import *
from tnp.core.clang.indexing import add_at, basic_index, getitem, is_basic, setitem
from tnp.core.clang.shape import (
    broadcast,
    broadcast_to,
    concatenate,
    contiguous,
    expand_dims,
    flip,
    matrix_transpose,
    moveaxis,
    repeat_dim,
    reshape,
    slice_dim,
    squeeze,
    stack,
    transpose,
    unfold,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    #: the functions of the elementwise table
    __getattr__: Callable[[str], elementwise.Elementwise]

__all__ = [
    "add_at",
    "basic_index",
    "broadcast",
    "broadcast_to",
    "clangop",
    "concatenate",
    "contiguous",
    "expand_dims",
    "flip",
    "getitem",
    "is_basic",
    "matrix_transpose",
    "moveaxis",
    "repeat_dim",
    "reshape",
    "setitem",
    "slice_dim",
    "squeeze",
    "stack",
    "transpose",
    "unfold",
    *elementwise.__all__,
]
assert indexing and shape
