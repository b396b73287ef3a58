"""Regions for the tests of the triton executor, and the kernels generated for them; Triton is not needed for that."""

import numpy as np

import tnp
from tnp.executors.base import FusionExecutor
from tnp.executors.triton.emit import generate, module
from tnp.executors.triton.graph import lower, takes
from tnp.executors.triton.index import row_major
from tnp.executors.triton.schedule import schedule


class Recorder(FusionExecutor):
    """Generates kernels for what the triton executor would take, and leaves it to others to run."""

    array_kind = "numpy"
    updates_inputs = False

    def __init__(self):
        super().__init__("recorder")
        self.generated = []

    def can_fuse(self, bsym):
        return takes(bsym)

    def fuse(self, region, name):
        graph = lower(region.bound_symbols, region.inputs, region.outputs)
        strides = [row_major(n.shape) for n in graph.inputs if n.op == "input"]
        self.generated.append(kernels_of(graph, strides))


def kernels_of(graph, strides):
    """(source, launches) of a region's graph."""
    launches = generate(graph, schedule(graph), strides)
    return module(launches, interpreted=False), launches


def generated(function, *args):
    """(source, launches) of each region of ``function``."""
    recorder = Recorder()
    tnp.jit(function, executors=[recorder])(*args)
    return recorder.generated


def chain(a, b):
    return np.sqrt(a * a + b) / (a + 2) - a * b


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x, weight, bias):
    mean = x.mean(-1, keepdims=True)
    variance = x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * weight + bias


def reductions(x):
    return x.argmax(1), x.argmin(0), x.max(), x.sum(0), x.prod(1), (x > 0).any(0), (x > 0).all(1), x.min(1)


def with_numbers(x, scale, shift):
    return (x * scale + shift) * x


def lookups(x, i):
    return np.take(x * 2, i, 0) + np.take_along_axis(x, np.abs(i)[:, None] * 0, 1)[:, 0, None]


def stencil(u):
    return u[1:-1, 1:-1] * 4 - u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2] - u[1:-1, 2:]


def many_stencils(u):
    for _ in range(7):
        u = (u[1:-1, 1:-1] * 4 - u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2] - u[1:-1, 2:]) * 0.2
    return u


def joined(a, b):
    return np.concatenate([a, b * 2, np.flip(a, 0) + 1], 1).reshape(-1)[::-1]


def positions(x):
    return x + np.arange(x.shape[1], dtype=x.dtype) * np.linspace(0, 1, x.shape[0], dtype=x.dtype)[:, None]


def transposed(a, b):
    return a.T * 2 + b.T, np.broadcast_to(a[0], b.shape) + b


def integers(a, b):
    return a // b, a % b, np.fmod(a, b), a << 3, a >> (b & 7), a ^ b, ~a, np.sign(a), abs(a), a.astype(np.float32) / 3


def booleans(a, b):
    p, q = a > 0, b > 0
    return p & q, p | q, p ^ q, ~p, p < q, np.maximum(p, q), p.astype(np.int8) + q, np.where(p, a, b)


def conversions(a):
    return [a.astype(d) for d in (np.float64, np.float32, np.float16, np.int64, np.int32, np.int8, np.uint8, bool)]


def matrix(rows, columns, dtype=np.float32):
    values = np.sin(np.arange(rows * columns)).reshape(rows, columns) * 9
    return values.astype(dtype)


#: functions, and what they are called with in a dtype
PROGRAMS = [
    (chain, lambda d: (np.abs(matrix(30, 40, d)), np.abs(matrix(30, 40, d)))),
    (softmax, lambda d: (matrix(7, 33, d),)),
    (layer_norm, lambda d: (matrix(7, 33, d), matrix(1, 33, d)[0], matrix(1, 33, d)[0])),
    (reductions, lambda d: (matrix(7, 13, d) % 1,)),
    (with_numbers, lambda d: (matrix(3, 5, d), 0.1, 2)),
    (lookups, lambda d: (matrix(6, 5, d), np.array([0, -1, 3, 3, 2, -6]))),
    (stencil, lambda d: (matrix(9, 11, d),)),
    (many_stencils, lambda d: (matrix(20, 21, d),)),
    (joined, lambda d: (matrix(4, 5, d), matrix(4, 6, d))),
    (positions, lambda d: (matrix(4, 5, d),)),
    (transposed, lambda d: (matrix(4, 5, d), matrix(4, 5, d))),
    (booleans, lambda d: (matrix(4, 5, d), -matrix(4, 5, d))),
]
