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
from tnp.executors.llvm.loop_ir.emitter import COUNT
from tnp.executors.llvm.loop_ir.nodes import (
    Apply,
    Buffer,
    Constant,
    Kernel,
    Load,
    Nest,
    Positions,
    Reduce,
    Rows,
    Store,
)
from tnp.executors.llvm.loop_ir.verify import verify
from tnp.testing import assert_same

LENGTHS = (2, 3, 7, 100, 1000, 70_000)
SHAPES = ((2, 3), (7, 2), (100, 7), (3, 1000), (200, 70), (2, 35_000))
DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()


def selected(x):
    inside = x > 0.1
    a = x[inside]
    b = np.sqrt(a) * 2 - abs(x)[inside]
    return b * b, b.sum(), np.flatnonzero(inside) * 2


def selected_rows(x):
    inside = x[:, 0] > 0.1
    rows = x[inside] * 2
    return rows - rows.sum(axis=0), (rows * rows).sum(axis=1), x.T[:, inside] + 1


#: programs of one array of any length
VECTORS = {
    "arithmetic": lambda x: np.where(x > 0, np.sqrt(abs(x)), -x) * 2 + 1,
    "functions": lambda x: np.exp(-x * x) * np.sin(x) + np.arctan2(x, 2.0) + np.log1p(abs(x)),
    "roundings": lambda x: np.floor(x) + np.rint(x * 10) + np.sign(x) + np.fmod(x, 0.3),
    "conversions": lambda x: (x * 10).astype("i4").astype("f4") + x.astype("f2"),
    "whole": lambda x: (x.sum(), x.max(), x.min(), (x * x).sum(), (x > 0).any(), (x > -9).all()),
    "variance": lambda x: (x.var(), x.std(ddof=1), x - x.mean()),
    "slices": lambda x: x[1:] - x[:-1],
    "selected": selected,
    "steps": lambda x: (x[::2] * 2, x[1::3] + 1, x[::-1] * x),
    "scans": lambda x: (np.cumsum(x * 2) + 1, np.maximum.accumulate(x), np.cumprod(np.sign(x) * 1.01)),
    "ends": lambda x: x * x[-1] + x[0],
    "outer": lambda x: x[:100, None] * x[None, :100] if len(x) >= 100 else x[:, None] * x[None],
    "normalised": lambda x: (x - x.min()) / (x.max() - x.min()),
    "softmax": lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
    "magnitudes": lambda x: (abs(x + 0.5j) < 1, np.hypot(x, 0.25) <= 0.75, np.abs(x - 2j) > 2.5),
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
    "scans": lambda x: (x.cumsum(axis=0), x.cumsum(axis=1) * 2, np.minimum.accumulate(x - x[0], axis=0)),
    "scans of a cube": lambda x: [np.cumsum(x[:20, :9, None] * x[0, :2], axis=a) for a in range(3)],
    "cube": lambda x: np.exp(x[:20, :9, None] - (x[:20, :9, None] * x[0, :2]).max(axis=2, keepdims=True)),
} | {f.__name__: f for f in (softmax, layer_norm, several_results, neighbours_of_rows, selected_rows)}  # fmt: skip


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
            arrays = [np.array(given[b.name]) for b in self.kernel.inputs]
            sizes = {}
            for name, (slot, dim, less) in regions.sources_of_sizes(self.region).items():
                x = inputs[slot]
                sizes[name] = (x if dim is None else np.count_nonzero(x) if dim == COUNT else x.shape[dim]) - less
            expected = dict(
                zip(
                    [b.name for b in self.kernel.outputs],
                    interpret(self.kernel, arrays, [given[p.name] for p in self.numbers], sizes),
                )
            )
            results = compiled(*inputs)
            made = results if isinstance(results, tuple) else (results,)
            fresh = [k for k in range(len(self.region.outputs)) if k not in self.updates]
            for k, r in zip(fresh, made if fresh else (), strict=True):
                assert_same(np.asarray(r), expected[f"result{k}"], what=f"result {k} of {self.describe()}")
            for buffer, a in zip(self.kernel.inputs, arrays, strict=True):
                assert_same(np.asarray(given[buffer.name]), a, what=f"{buffer.name} after {self.describe()}")
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


def check_writes(f, arguments, kernels):
    """As :func:`check`, with what the arguments become; NumPy writes nothing."""
    jitted = tnp.jit(f, dynamic=True, strict=True)
    for given in arguments:
        mine, eagers = [a.copy() for a in given], [a.copy() for a in given]
        before = len(kernels)
        with np.errstate(all="ignore"):
            expected = f(*eagers)
        assert_same(jitted(*mine), expected, what=f"shapes {[a.shape for a in given]}")
        assert_same(mine, eagers, what=f"arguments of shapes {[a.shape for a in given]}")
        assert len(kernels) > before
    lines = [line for line in str(tnp.last_traces(jitted)[-1]).splitlines() if not line.lstrip().startswith("#")]
    assert not [line for line in lines if "] = " in line]
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


# Writes


def wave(u, v):
    lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    v[1:-1, 1:-1] += 0.1 * lap
    u += 0.1 * v


def shifted(u, v):
    u[1:] = u[:-1]
    v[:, :-1] += v[:, 1:] * 2
    return u + v


def reversed_rows(u, v):
    u[:] = u[::-1]
    v[::2] = v[::2, ::-1] + u[::2]


def series(u, v):
    w = u * 2
    u[0] = 1
    w += u
    u[:, 0] = w[:, -1]
    u[-1] += w[0]
    return w, u.sum()


def read_before_and_after(u, v):
    before = u[1:] + v[1:]
    u[1:] = 0.5
    after = u[1:] + before
    u *= after.sum()
    return before, after


def parts_of_a_new_array(u, v):
    out = np.zeros_like(u)
    out[1:-1] = u[1:-1] * v[1:-1]
    out[0] = u[0]
    out[-1] = v.max(axis=0)
    return out


def views_of_views(u, v):
    inner = u[1:-1]
    inner[:, 1:] = v[1:-1, 1:] * 2
    inner.T[0] -= 1
    v[1:, 0][:] = u[1:, 1]
    return inner


def numbers_and_rows(u, v):
    u[...] = 2
    v[:] = u[0]
    u[:, 1] = v[:, 0] * 3
    return u * v


def masked(u, v):
    u[u > v] = 0
    v[v < 0] = -1
    return u - v


def all_of_a_view(u, v):
    w = np.expand_dims(np.maximum.accumulate(u[0]), 0)
    w %= 3
    w += w
    x = (u + v).T
    x[...] = u.T
    return w, x


def swapped(u, v):
    w = u.copy()
    u[:] = v
    v[:] = w


WRITES = [
    wave, shifted, reversed_rows, series, read_before_and_after, parts_of_a_new_array, views_of_views, numbers_and_rows,
    masked, all_of_a_view, swapped,
]  # fmt: skip


@pytest.mark.parametrize("f", WRITES)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_writes(f, dtype, interpreted):
    shapes = [(500, 70), (3, 4), (4, 3), (7, 5), (100, 101), (3, 30_000)]
    arguments = [(numbers(*s).astype(dtype), numbers(*s[::-1]).reshape(s).astype(dtype)) for s in shapes]
    jitted = check_writes(f, arguments, interpreted)
    assert len(programs_of(jitted)) <= 4


def test_a_write_to_what_is_read_at_other_places_has_a_temporary(interpreted):
    check_writes(shifted, [(numbers(6, 8), numbers(8, 6).reshape(6, 8))], interpreted)
    assert sum(b.role == "temporary" for kernel in interpreted for b in kernel.temporaries) == 1


# Arrays of indices

#: programs of a matrix and an array of indices of its rows
GATHERS = {
    "rows": lambda x, i: x[i] * 2,
    "sums": lambda x, i: (x[i].sum(), x[:, 0][i].max()),
    "columns": lambda x, i: x.T[:, i] + 1,
    "take": lambda x, i: np.take(x, i, axis=0) - x[0],
    "along": lambda x, i: np.take_along_axis(x, i[:, None] % len(x), axis=0),
    "pairs": lambda x, i: x[i, i % 3] + x[i[::-1], 0],
    "chains": lambda x, i: x[i[i]].sum(axis=1),
    "arithmetic": lambda x, i: x[(i + 1) // 2] + x[(i >= 0) * 1],
}


def written_behind(x, i):
    y = x[i] * 2
    x[0] = 1
    x += y.sum()
    return y


@pytest.mark.parametrize("dtype", ["i8", "i4", "u1"])
@pytest.mark.parametrize("name", [*GATHERS, "written behind"])
def test_gathers(name, dtype, interpreted):
    f = GATHERS.get(name, written_behind)
    rng = np.random.default_rng(3)
    shapes = [(100, 7), (3, 4), (7, 3), (40, 2000)]
    jitted = tnp.jit(f, dynamic=True)
    for n, m in shapes:
        for low in (0, -n) if dtype != "u1" else (0,):
            x, i = numbers(n, m), rng.integers(low, n, n).astype(dtype)
            mine = x.copy()
            before = len(interpreted)
            assert_same(jitted(mine, i), f(x, i), what=f"{n} x {m}")
            assert_same(mine, x)
            assert len(interpreted) > before


@pytest.mark.parametrize("name", [*GATHERS, "written behind"])
def test_indices_out_of_bounds(name):
    """The error is NumPy's, and nothing has been written."""
    f = GATHERS.get(name, written_behind)
    jitted = tnp.jit(f, dynamic=True)
    for n in (5, 9, 6):
        for wrong in (n, -n - 1):
            x, i = numbers(n, 4), np.arange(n)
            i[2] = wrong
            mine, eagers = x.copy(), x.copy()
            with pytest.raises(IndexError) as expected:
                f(eagers, i)
                raise IndexError("none")
            with pytest.raises(IndexError) as found:
                jitted(mine, i)
                raise IndexError("none")
            assert str(found.value) == str(expected.value)
            assert_same(mine, eagers)


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


def is_small(x):
    return Apply("lt", (x, Constant(1.0, F8)), F8, dtypes.bool8)


def positions(x, i, buffer):
    return Positions(buffer, (Index(),), is_small(load(x, i, 0)), i)


def test_a_kernel_that_keeps_the_rules():
    verify(
        kernel_of(lambda x, y, t, i, j: [
            Nest((i, j), [store(t, twice(load(x, i, j)), i, j), store(y, load(t, i, j), i, j)])
        ])
    )  # fmt: skip


BROKEN = {
    "t is no array of positions": lambda x, y, t, i, j: [Nest((i,), [positions(x, i, t)])],
    "a scan is not alone": lambda x, y, t, i, j: [Nest((i,), [positions(x, i, t), positions(x, i, t)])],
    "t is read before it is written": lambda x, y, t, i, j: [Nest((i, j), [store(y, load(t, i, j), i, j)])],
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
    "the points of .j. write one element of y": lambda x, y, t, i, j: [Nest((i, j), [store(y, load(x, i, j), i, 0)])],
    "y is used at j, beyond its 4 elements": lambda x, y, t, i, j: [Nest((i, j), [store(y, load(x, i, j), j, i)])],
    "made of elements of it that another point writes": lambda x, y, t, i, j: [
        Nest((i, j), [store(y, load(x, i, j), i, j)]),
        Nest((i, k := Var("k", 4)), [Store(y, (Index.of(i), Index.of(k) + 1), Load(y, (Index.of(i), Index.of(k))))]),
    ],
    "in the loops that use it": lambda x, y, t, i, j: [
        Nest((i, j), [store(y, load(x, i, j), i, j)]),
        Nest((i, k := Var("k", 4)), [
            Store(t, (Index.of(i), Index.of(k)), Load(y, (Index.of(i), Index.of(k)))),
            Store(y, (Index.of(i), Index.of(k) + 1), Load(x, (Index.of(i), Index.of(k)))),
        ]),
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
        Nest((i, j), [store(y, load(x, i, j), i, j), Reduce(t, (Index(), Index.of(j)), load(x, i, j), "sum", (i,))])
    ],
}  # fmt: skip


@pytest.mark.parametrize("message", BROKEN)
def test_a_kernel_that_breaks_a_rule(message):
    with pytest.raises(TraceCheckError, match=message):
        verify(kernel_of(BROKEN[message]))


def test_points_of_nests_that_share_rows(interpreted):
    def f(u, v):
        w = np.fliplr(np.around(u - v))
        w /= 7
        return w

    check_writes(f, [(numbers(*s), numbers(*s[::-1]).reshape(s)) for s in ((2, 4), (2, 3), (50, 60))], interpreted)
