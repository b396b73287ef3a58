"""Whether a traced tensor claims to be a ``torch.Tensor``: to Python code it does, to torch's C++ it does not.

Both read ``__class__``. ``isinstance(x, torch.Tensor)`` in Python code must be true for a traced tensor. But torch's
argument parser, which tests for a Tensor where a signature takes a number, would then access the C++ tensor, which does
not exist. So the result depends on the calling code: it is ``Tensor`` if that reads the attribute, or calls
``isinstance``.
"""

from __future__ import annotations

import dis
import functools
import linecache
from types import CodeType, FrameType

import torch

from tnp.core.errors import NeedsEager

__all__ = ["asks_for_class"]

#: where torch looks at what its functions for autograd are given
_UNWRAPS = torch._functorch.utils.unwrap_dead_wrappers.__code__.co_filename
#: the beginnings of calls that query an object's class
_CLASS_QUERIES = (
    "isinstance(",
    "getattr(",
    "super().__instancecheck__(",
    "_abc_instancecheck(",
    "type.__instancecheck__(",
)


def asks_for_class(frame: FrameType) -> bool:
    """Whether the Python code running in ``frame`` queries an object's class, rather than calling a function that may."""
    return _asks(frame.f_code, frame.f_lasti)


@functools.lru_cache(4096)
def _asks(code: CodeType, at: int) -> bool:
    instruction = next(i for i in dis.get_instructions(code) if i.offset == at)
    if instruction.opname.startswith("LOAD_ATTR"):
        return bool(instruction.argval == "__class__")
    if not instruction.opname.startswith(("CALL", "PRECALL")):  # isinstance, once specialised, is run by the latter
        return False
    if code.co_filename == _UNWRAPS:
        raise NeedsEager("it calls a torch.autograd.Function in code that is not traced")
    if code.co_filename == "<frozen abc>" and code.co_name == "__instancecheck__":
        return True
    place = instruction.positions
    line = linecache.getline(code.co_filename, place.lineno) if place is not None and place.lineno else ""
    if not line or place is None or place.col_offset is None:
        raise NeedsEager(f"it gives a tensor to {code.co_name}, whose source cannot be had")
    return line.encode()[place.col_offset :].startswith(tuple(q.encode() for q in _CLASS_QUERIES))
