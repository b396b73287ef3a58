"""The loop IR: kernels for any size give what their interpretation and eager give, and kernels that break its rules are found."""

import numpy as np
import pytest

import tnp
from tests.executors.llvm.loop_ir_interpreter import interpret
from tnp.api import programs_of
from tnp.core import dtypes
from tnp.core.errors import TraceCheckError
from tnp.executors.llvm.index import Index, Var
from tnp.executors.llvm.loop_ir import region as regions
from tnp.executors.llvm.loop_ir.nodes import Apply, Buffer, Constant, Kernel, Load, Nest, Reduce, Rows, Store
from tnp.executors.llvm.loop_ir.verify import verify
from tnp.testing import assert_same

LENGTHS = (2, 3, 7, 100, 1000, 70_000)
SHAPES = ((2, 3), (7, 2), (100, 7), (3, 1000), (200, 70), (2, 35_000))
DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()

#: programs of one array of any length
VECTORS = {
    "arithmetic": lambda x: np.where(x > 0, np.sqrt(abs(x)), -x) * 2 + 1,
    "functions": lambda x: np.exp(-x * x) * np.sin(x) + np.arctan2(x, 2.0) + np.log1p(abs(x)),
    "roundings": lambda x: np.floor(x) + np.rint(x * 10) + np.sign(x) + np.fmod(x, 0.3),
    "conversions": lambda x: (x * 10).astype("i4").astype("f4") + x.astype("f2"),
    "whole": lambda x: (x.sum(), x.max(), x.min(), (x * x).sum(), (x > 0).any(), (x > -9).all()),
    "variance": lambda x: (x.var(), x.std(ddof=1), x - x.mean()),
    "slices": lambda x: x[1:] - x[:-1],
    "steps": lambda x: (x[::2] * 2, x[1::3] + 1, x[::-1] * x),
    "ends": lambda x: x * x[-1] + x[0],
    "outer": lambda x: x[:100, None] * x[None, :100] if len(x) >= 100 else x[:, None] * x[None],
    "normalised": lambda x: (x - x.min()) / (x.max() - x.min()),
    "softmax": lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
}  # fmt: skip


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x):
    mean = x.mean(axis=1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * x[0] + x[1]


def several_results(x):
    centred = x - x.mean(axis=1)[:, None]
    return centred, (centred * centred).sum(axis=1), centred.max(axis=0), x.sum()


def neighbours_of_rows(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e[1:] / e[:-1].sum(axis=1, keepdims=True)


#: programs of one matrix of any shape
MATRICES = {
    "arithmetic": lambda x: abs(x) * 2 + x,
    "broadcast": lambda x: x - x[0] + x[:, :1],
    "transposed": lambda x: (x.T * 2, x + x[:, ::-1], (x.T + 1).T),
    "rows": lambda x: (x.sum(axis=1), x.max(axis=1), np.prod(x > 0, axis=1)),
    "columns": lambda x: (x.sum(axis=0), x.min(axis=0), x.mean(axis=0)),
    "variance of rows": lambda x: (x.var(axis=1), x.std(axis=1, keepdims=True)),
    "variance of columns": lambda x: x.var(axis=0),
    "stencil": lambda x: x[1:, 1:] + x[:-1, :-1] - x[1:, :-1] * 2,
    "columns normalised": lambda x: (x - x.mean(axis=0)) / (x.std(axis=0) + 1),
    "rows normalised": lambda x: (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 1),
    "whole and rows": lambda x: (x - x.mean()) / (1 + x.sum(axis=1, keepdims=True) ** 2),
    "masked": lambda x: np.where(x > x.mean(axis=1, keepdims=True), x, 0).sum(axis=1),
    "nearest": lambda x: ((x[:20, None, :2] - x[None, :20, :2]) ** 2).sum(axis=2),
    "cube": lambda x: np.exp(x[:20, :9, None] - (x[:20, :9, None] * x[0, :2]).max(axis=2, keepdims=True)),
} | {f.__name__: f for f in (softmax, layer_norm, several_results, neighbours_of_rows)}  # fmt: skip


@pytest.fixture
def interpreted(monkeypatch):
    """Makes regions of symbolic sizes compare each call with its interpretation; what it gives counts the calls."""
    kernels = []
    init = regions.SymbolicRegion.__init__

    def wrapped(self, *args):
        init(self, *args)
        compiled = self.function

        def both(*inputs):
            given = {p.name: a for p, a in zip(self.region.inputs, inputs, strict=True)}
            arrays = [np.asarray(given[b.name]) for b in self.kernel.inputs]
            sizes = {}
            for name, (source, dim, less) in self.where.items():
                sizes[name] = (given[source] if dim is None else given[source].shape[dim]) - less
            expected = dict(
                zip(
                    [b.name for b in self.kernel.outputs],
                    interpret(self.kernel, arrays, [given[p.name] for p in self.numbers], sizes),
                )
            )
            results = compiled(*inputs)
            for i, r in enumerate(results if isinstance(results, tuple) else (results,)):
                assert_same(np.asarray(r), expected[f"result{i}"], what=f"result {i} of {self.describe()}")
            kernels.append(self.kernel)
            return results

        self.function = both

    monkeypatch.setattr(regions.SymbolicRegion, "__init__", wrapped)
    return kernels


def check(f, arguments, kernels):
    jitted = tnp.jit(f, dynamic=True, strict=True)
    for given in arguments:
        before = len(kernels)
        with np.errstate(all="ignore"):
            expected = f(*(a.copy() for a in given))
        assert_same(jitted(*given), expected, what=f"shapes {[a.shape for a in given]}")
        assert len(kernels) > before
    return jitted


def numbers(*shape):
    return np.random.default_rng(shape).normal(size=shape)


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name, interpreted):
    jitted = check(VECTORS[name], [(numbers(n),) for n in reversed(LENGTHS)], interpreted)
    assert len(programs_of(jitted)) <= 4


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name, interpreted):
    jitted = check(MATRICES[name], [(numbers(*shape),) for shape in reversed(SHAPES)], interpreted)
    assert len(programs_of(jitted)) <= 4


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype, interpreted):
    def f(x, y):
        return x + y, np.where(x == y, x, y), x * y, (x * y).sum(), (x != y).sum(axis=0), x.real.astype("f4") * 2

    def of(*shape):
        return (numbers(*shape) * 3).astype("i4").astype(dtype)

    check(f, [(of(*shape), of(*shape)[::-1].copy()) for shape in ((2, 3), (100, 7), (3, 1000))], interpreted)


@pytest.mark.parametrize(
    ("f", "shared", "in_memory"), [(softmax, [3], 0), (layer_norm, [5], 0), (neighbours_of_rows, [2, 2], 1)]
)
def test_rows_are_shared_where_a_row_needs_no_other(f, shared, in_memory, interpreted):
    check(f, [(numbers(6, 8),)], interpreted)
    kernel = interpreted[-1]
    assert [len(nest.nests) for nest in kernel.nests if isinstance(nest, Rows)] == shared
    assert len([b for b in kernel.temporaries if b.role == "temporary"]) == in_memory


# The verifier

F8 = dtypes.float64


def load(buffer, *at):
    return Load(buffer, tuple(map(Index.of, at)))


def kernel_of(make):
    x, y = Buffer("x", F8, (4, 5), "input"), Buffer("y", F8, (4, 5), "output")
    t = Buffer("t", F8, (4, 5))
    i, j = Var("i", 4), Var("j", 5)
    return Kernel([x], [y], [t], nests=make(x, y, t, i, j))


def store(buffer, value, *at):
    return Store(buffer, tuple(map(Index.of, at)), value)


def twice(x):
    return Apply("add", (x, x), F8, F8)


def test_a_kernel_that_keeps_the_rules():
    verify(
        kernel_of(lambda x, y, t, i, j: [
            Nest((i, j), [store(t, twice(load(x, i, j)), i, j), store(y, load(t, i, j), i, j)])
        ])
    )  # fmt: skip


BROKEN = {
    "t is read before it is written": lambda x, y, t, i, j: [Nest((i, j), [store(y, load(t, i, j), i, j)])],
    "y is written twice": lambda x, y, t, i, j: [
        Nest((i, j), [store(y, load(x, i, j), i, j)]),
        Nest((i, j), [store(y, load(x, i, j), i, j)]),
    ],
    "nothing writes": lambda x, y, t, i, j: [Nest((i, j), [store(t, load(x, i, j), i, j)])],
    "x is not the kernel's to write": lambda x, y, t, i, j: [Nest((i, j), [store(x, load(x, i, j), i, j)])],
    "y gets elements of bool": lambda x, y, t, i, j: [
        Nest((i, j), [store(y, Apply("lt", (load(x, i, j), Constant(1.0, F8)), F8, dtypes.bool8), i, j)])
    ],
    "add of float32 as float64": lambda x, y, t, i, j: [
        Nest((i, j), [store(y, Apply("add", (Constant(1, dtypes.float32),) * 2, dtypes.float32, F8), i, j)])
    ],
    "not of float64": lambda x, y, t, i, j: [
        Nest((i, j), [store(y, Apply("add", (load(x, i, j), Constant(1, dtypes.int64)), F8, F8), i, j)])
    ],
    "beyond its 5 elements": lambda x, y, t, i, j: [
        Nest((i, j), [store(y, Load(x, (Index.of(i), Index.of(j) + 1)), i, j)])
    ],
    "variables that no loop around it has": lambda x, y, t, i, j: [
        Nest((i, j), [store(y, load(x, Var("k", 4), j), i, j)])
    ],
    "which is not one of the loops": lambda x, y, t, i, j: [Nest((i,), [store(y, load(x, i, 0), i, 1)])],
    "y has 4 elements, but the loop j has 5 iterations": lambda x, y, t, i, j: [
        Nest((i, j), [store(y, load(x, i, j), j, i)])
    ],
    "where another point may write": lambda x, y, t, i, j: [
        Nest((i, j), [store(t, load(x, i, j), i, j), store(y, Load(t, (Index.of(i), Index.of(j) * -1 + 4)), i, j)])
    ],
    "in another iteration of shared loops": lambda x, y, t, i, j: [
        Rows((i,), [
            Nest((j,), [store(t, load(x, i, j), i, j)]),
            Nest((k := Var("k", 5),), [store(y, load(t, 3, k), i, k)]),
        ])
    ],
    "over different loops": lambda x, y, t, i, j: [
        Nest((i, j), [store(y, load(x, i, j), i, j), Reduce(t, (Index.of(i), Index()), "sum", load(x, i, j), (j,))])
    ],
}  # fmt: skip


@pytest.mark.parametrize("message", BROKEN)
def test_a_kernel_that_breaks_a_rule(message):
    with pytest.raises(TraceCheckError, match=message):
        verify(kernel_of(BROKEN[message]))
