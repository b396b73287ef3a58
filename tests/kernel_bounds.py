"""Kernels whose every access is compared with the bounds of its memory.

A write that misses its array by a little is not seen at once: what is next to it in memory fails, later and elsewhere.
"""

import contextlib
import ctypes

import pytest

from tnp.executors.llvm.loop_ir.accumulators import Accumulator
from tnp.executors.llvm.loop_ir.functions import Body
from tnp.executors.llvm.loop_ir.nests import NestCode
from tnp.executors.llvm.loop_ir.sharing import Nests
from tnp.runtime import engine

__all__ = ["out_of_bounds", "within_bounds"]

#: set by an access out of bounds
_seen = ctypes.c_int64(0)


@contextlib.contextmanager
def within_bounds():
    """What is compiled inside is checked, and it is an error if an access of it was out of bounds."""
    engine.define_symbol("tnp_test_out_of_bounds", ctypes.addressof(_seen))
    _seen.value = 0
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TNP_DISABLE_CACHE", "1")  # code is found by what a region does, which is the same
        patched.setattr(Body, "address", _address)
        patched.setattr(Nests, "calls", _calls)
        patched.setattr(Accumulator, "__init__", _init)
        patched.setattr(Accumulator, "_place", _place)
        yield
    assert not out_of_bounds(), "an access of a kernel is out of bounds"


def out_of_bounds():
    """Whether an access was out of bounds since the last question."""
    found, _seen.value = bool(_seen.value), 0
    return found


def _compare(code, value, low, high):
    code.require("tnp_test_out_of_bounds", "@tnp_test_out_of_bounds = external global i64")
    below, above = code.op(f"icmp slt i64 {value}, {low}"), code.op(f"icmp sgt i64 {value}, {high}")
    outside = code.op(f"zext i1 {code.op(f'or i1 {below}, {above}')} to i64")
    code.op(f"atomicrmw or ptr @tnp_test_out_of_bounds, i64 {outside} monotonic")


_original_address, _original_init = Body.address, Accumulator.__init__


def _address(self, buffer, at):
    offset = self.index(self.nest.offset(buffer, at))
    if buffer.strides is None:
        _compare(self.code, offset, 0, self.head.size(buffer.bytes - buffer.dtype.itemsize))
    else:
        reach = [(n - 1) * step for n, step in zip(buffer.shape, buffer.strides)]
        _compare(self.code, offset, sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach))
    return _original_address(self, buffer, at)


def _calls(self, nest):
    """Each nest with a function of its own: one that several share counts from other places than the beginning of the memory."""
    pattern = self.patterns.get(nest)
    yield from (NestCode(self.module, nest) if pattern is None else pattern.nest).calls()


def _init(self, body, statement, count=1, slots=None):
    _original_init(self, body, statement, count, slots)
    counts = body.__dict__.setdefault("counts_of_slots", {})
    if slots is None:  # of a part of others, how many follow is not known
        counts.update(dict.fromkeys(self.slots, count))


def _place(self, slot, type_, i):
    count = self.body.counts_of_slots.get(slot)
    if count is not None:
        _compare(self.body.code, i, 0, count - 1)
    return self.body.code.op(f"getelementptr {type_}, ptr {slot}, i64 {i}")
