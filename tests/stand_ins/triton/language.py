"""What kernels call: blocks are tensors, and a pointer is a tensor's memory and offsets into it."""

import torch
from torch import exp, float32, float64, int64, log, maximum

__all__ = ["exp", "float32", "float64", "int64", "log", "maximum"]

constexpr = int
#: of the program that runs
place = []


class Pointer:
    def __init__(self, tensor, offsets=0):
        assert tensor.is_contiguous()
        self.memory, self.offsets = tensor.view(-1), offsets

    def __add__(self, more):
        return Pointer(self.memory, self.offsets + more)


def program_id(axis):
    return torch.tensor(place[axis], dtype=torch.int32)


def arange(start, stop):
    assert stop & (stop - 1) == 0, "Triton's blocks are powers of 2"
    return torch.arange(start, stop, dtype=torch.int32)


def full(shape, value, dtype):
    return torch.full(shape, value, dtype=dtype)


def load(pointer, mask=None, other=None):
    at = torch.as_tensor(pointer.offsets)
    if mask is None:
        return pointer.memory[at.long()]
    return torch.where(mask, pointer.memory[torch.where(mask, at, 0).long()], other)


def store(pointer, value, mask=None):
    at, value = torch.as_tensor(pointer.offsets).long(), torch.as_tensor(value, dtype=pointer.memory.dtype)
    if mask is not None:
        at, value = at[mask], value[mask]
    pointer.memory[at] = value


def where(condition, a, b):
    return torch.where(condition, a, b)


def max(a, axis):
    return a.amax(axis)


def sum(a, axis):
    return a.sum(axis)
