"""Large straight-line programs: the same as eager, in as few regions as the bytes between them call for."""

import itertools
import random

import numpy as np
import pytest

import tnp
from tests.fuzzing import define
from tnp.executors.llvm import LLVMExecutor, target
from tnp.runtime import engine
from tnp.testing import assert_same
from tnp.transforms.region_cuts import bytes_that_cross

EVERYTHING = ["llvm[everything]", "numpy"]


class Writer:
    """The source of a random program of so many statements on ``arrays`` matrices of one shape, and a row."""

    def __init__(self, operations, arrays, *, writes=False):
        self.random = random.Random(operations)
        self.values = [f"a{i}" for i in range(arrays)]
        self.lines = [f"def program({', '.join(self.values)}, row):"]
        for k in range(operations):
            self.lines.append(f"    t{k} = {self.expression()}")
            self.values.append(f"t{k}")
            if writes and k % 25 == 24:
                self.write(k)
        kept = [v for v in self.values if v.startswith("t")]
        self.lines.append(f"    return {' + '.join(kept[-6:])}, {kept[len(kept) // 2]} * 1")

    def value(self):
        recent = self.values[-30:] if self.random.random() < 0.8 else self.values
        return self.random.choice(recent)

    def expression(self):
        a, b, c = self.value(), self.value(), self.value()
        n = round(self.random.uniform(0.1, 0.9), 3)
        return self.random.choice(
            [
                f"({a} + {b}) * 0.5",
                f"{a} * {n} - {b} * {n}",
                f"{a} * {b} * 0.25",
                f"{a} / (1.5 + np.abs({b}))",
                f"np.sqrt(np.abs({a})) * {n}",
                f"np.tanh({a} - {b})",
                f"np.where({a} > {b}, {c}, {a} * {n})",
                f"np.maximum({a}, {b}) - row * {n}",
                f"{a} * row",
                f"np.exp(-np.abs({a}))",
                f"({a}[::-1] + {b}) * 0.5",
                f"np.roll({a}, 1, axis=1) * {n}",
            ]
        )

    def write(self, k):
        name = f"a{self.random.randrange(3)}"
        line = self.random.choice(
            [f"{name}[1:, :-1] = t{k}[:-1, 1:]", f"{name}[:, 2:] += t{k}[:, 2:] * 0.1", f"{name}[{name} > 1] = 0.5"]
        )
        self.lines.append(f"    {line}")

    def function(self):
        return define("\n".join(self.lines) + "\n")


def arguments(arrays, shape, dtype="f8"):
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype(dtype) for _ in range(arrays)] + [rng.uniform(0.5, 1, shape[1]).astype(dtype)]


def regions(jitted):
    """The fused regions of the last program, as lists of operations."""
    return [b.subsymbols for b in tnp.last_traces(jitted)[-1].bound_symbols if "_fusion" in b.sym.name]


def polynomials(count):
    """A program of one loop in which everything is read again at the end: a cut anywhere leaves many arrays."""
    lines = ["def program(x, y):"]
    for k in range(count):
        lines.append(f"    t{k} = (x + {k}.5) * y" if k % 2 else f"    t{k} = {f't{k - 1}' if k else 'x'} * y - {k}.25")
    total = " + ".join(f"t{k} * 0.5" for k in reversed(range(count)))
    return define("\n".join([*lines, f"    return {total}"]) + "\n")


# Results


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(
    ("operations", "arrays", "shape"),
    [(100, 3, (6, 11)), (180, 15, (5, 7)), (300, 8, (9, 16)), (600, 12, (4, 26))],
)
def test_random_programs(operations, arrays, shape, dtype):
    f = Writer(operations, arrays).function()
    jitted = tnp.jit(f, executors=EVERYTHING, strict=True)
    given = arguments(arrays, shape, dtype)
    assert_same(jitted(*given), f(*given), rtol=1e-4 if dtype == "f4" else 1e-9)
    assert len(regions(jitted)) >= 1


@pytest.mark.parametrize("operations", [100, 250])
def test_programs_that_write_to_their_arguments(operations):
    f = Writer(operations, 4, writes=True).function()
    jitted = tnp.jit(f, executors=EVERYTHING, strict=True)
    given = arguments(4, (7, 13))
    ours, theirs = [x.copy() for x in given], [x.copy() for x in given]
    assert_same(jitted(*ours), f(*theirs), rtol=1e-9)
    assert_same(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("longest", [40, 90])
def test_programs_in_many_regions(longest, monkeypatch):
    monkeypatch.setattr(LLVMExecutor, "region_limit", 30)
    monkeypatch.setattr(LLVMExecutor, "longest_region", longest)
    monkeypatch.setattr(LLVMExecutor, "cached_bytes", 2_000)
    f = Writer(200, 5, writes=True).function()
    jitted = tnp.jit(f, executors=EVERYTHING, strict=True)
    given = arguments(5, (7, 13))
    ours, theirs = [x.copy() for x in given], [x.copy() for x in given]
    assert_same(jitted(*ours), f(*theirs), rtol=1e-9)
    assert_same(ours, theirs, rtol=1e-9)
    lengths = [len(r) for r in regions(jitted)]
    assert len(lengths) > 3
    assert max(lengths) <= longest


# Regions, and what crosses


def test_what_the_cache_does_not_hold_stays_in_one_region():
    f = polynomials(150)
    x, y = np.linspace(0, 1, 40_000), np.linspace(1, 2, 40_000)
    jitted = tnp.jit(f, strict=True)
    assert_same(jitted(x, y), f(x, y))
    (operations,) = regions(jitted)
    assert len(operations) > LLVMExecutor.region_limit
    assert max(bytes_that_cross(operations)) > 100 * x.nbytes


def test_what_the_cache_holds_goes_to_the_next_region():
    f = polynomials(150)
    x, y = np.linspace(0, 1, 100), np.linspace(1, 2, 100)
    jitted = tnp.jit(f, strict=True)
    assert_same(jitted(x, y), f(x, y))
    parts = regions(jitted)
    crossing = bytes_that_cross([b for part in parts for b in part])
    cuts = list(itertools.accumulate(map(len, parts)))[:-1]
    assert cuts
    assert max(map(len, parts)) <= LLVMExecutor.region_limit
    assert all(crossing[k] <= target.CACHED_BYTES for k in cuts)


def test_the_gradient_of_a_long_program_is_one_region():
    lines = [f"    x, y = {('x * y', 'np.sin(x)', 'x - y * 0.5')[i % 3]}, x" for i in range(120)]
    f = define("\n".join(["def program(x, y):", *lines, "    return x.sum()"]) + "\n")
    x, y = np.linspace(0.1, 1, 50_000), np.linspace(1, 2, 50_000)
    gradient = tnp.grad(f)
    found = gradient(x, y)
    (operations,) = regions(gradient)
    assert len(operations) > LLVMExecutor.region_limit
    # ... and as right as that of a short array, which is made in more regions
    assert_same(found[::4999], tnp.grad(f)(x[::4999].copy(), y[::4999].copy()), rtol=1e-12)


# Writes without copies


def copies(jitted):
    return [line for line in str(tnp.explain(jitted)).splitlines() if line.strip().startswith("copy ")]


def test_a_column_of_a_slice_is_written_in_place():
    def f(a, x):
        for k in range(2):
            for i in range(2):
                a[1:-2, :, k:, i, k] = x[1:-2, :, k:] * (k + i + 2)

    rng = np.random.default_rng(0)
    a, x = rng.normal(size=(8, 5, 6, 2, 2)), rng.normal(size=(8, 5, 6))
    theirs = a.copy()
    jitted = tnp.jit(f, strict=True)
    jitted(a, x)
    f(theirs, x)
    assert_same(a, theirs)
    assert not copies(jitted)


def test_a_slice_of_a_slice_is_added_to_in_place():
    def f(x):
        s = np.zeros_like(x)[1:-2, 2:-2]
        for k in range(2):
            s[:, :, k:] += x[1:-2, 2:-2, k:] * (k + 2)
        return s / 3

    x = np.random.default_rng(0).normal(size=(9, 8, 7))
    jitted = tnp.jit(f, strict=True)
    assert_same(jitted(x), f(x))
    assert not copies(jitted)


def test_a_slice_that_another_write_was_made_through_is_not_taken_for_it():
    def f(a, x):
        part = a[1:, 0]
        a[1:, :1] = x[1:, :1] * 2
        a[:-1, 0] = part * 3
        return a

    a, x = np.arange(20.0).reshape(5, 4), np.arange(20.0).reshape(5, 4)[::-1].copy()
    theirs = a.copy()
    assert_same(tnp.jit(f, strict=True)(a, x), f(theirs, x))
    assert_same(a, theirs)


# Short rows, whose last vector is masked


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i2", "u1", "c16", "?"])
@pytest.mark.parametrize("n", [1, 3, 5, 6, 7, 9, 11, 15, 17, 26, 31, 33, 57, 100])
def test_short_rows(n, dtype):
    def f(a, b, row):
        a[1:-1, 2 : 2 + n] = b[1:-1, :n] * row[:n]
        return np.where(b[:, :n], row[:n], a[:, 2 : 2 + n]), b[::-1, n - 1 :: -1] * row[:n]

    rng = np.random.default_rng(n)
    a, b = (rng.integers(0, 3, (12, n + 5)).astype(dtype) for _ in range(2))
    row = rng.integers(0, 3, n + 2).astype(dtype)
    theirs = a.copy()
    jitted = tnp.jit(f, executors=EVERYTHING, strict=True)
    assert_same(jitted(a, b, row), f(theirs, b, row), exact=True)
    assert_same(a, theirs, exact=True)


@pytest.mark.parametrize("n", [5, 7, 11, 27])
def test_short_rows_that_divide_and_call(n):
    def f(a, b, row):
        return a // (b + 1), a % (b + 1), np.tanh(a / row), np.arctan2(a, row), (a**2 + row).sum(axis=1)

    rng = np.random.default_rng(n)
    a, b = (rng.integers(-20, 20, (9, n + 3))[:, :n] for _ in range(2))
    row = rng.uniform(1, 2, n)
    with np.errstate(all="ignore"):
        assert_same(tnp.jit(f, executors=EVERYTHING, strict=True)(a, b, row), f(a, b, row))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("n", [6, 7, 11, 20])
def test_short_rows_that_are_gathered(n, dtype):
    def f(a, i, row):
        return a[i, 1 : 1 + n] * row + a[:-1, n:0:-1]

    rng = np.random.default_rng(n)
    a, row = rng.normal(size=(10, n + 4)).astype(dtype), rng.normal(size=n).astype(dtype)
    i = rng.integers(0, 10, 9)
    assert_same(tnp.jit(f, executors=EVERYTHING, strict=True)(a, i, row), f(a, i, row), exact=True)


def test_long_chains_of_single_elements():
    def of_a_list(x):
        return sum([v * v for v in x])

    def of_one(x):
        s = x[0]
        for k in range(1, 250):
            s = s * 0.75 + x[k]
        return s

    x = np.random.default_rng(0).normal(size=1000)
    for f in (of_a_list, of_one):
        assert_same(tnp.jit(f)(x), f(x), rtol=1e-12)


@pytest.mark.parametrize("lines", [24, 700])
def test_lines_that_do_the_same_share_functions(lines, monkeypatch):
    steps = (
        "x = x * 0.5 + np.roll(x, {k})",
        "y[{k}] += x[::-1, {k} % 5][:5]",
        "x = x - x.max(axis=1, keepdims=True)",
        "y = np.concatenate([y[{k}:], y[:{k}] + {k}])",
        "x = x + y.max() * 0.25",
    )
    body = "".join(f"    {steps[i % 5].format(k=i % 7)}\n" for i in range(lines))
    f = define(f"def program(x, y):\n    y = y.copy()\n{body}    return x, y\n")
    modules = []
    compile_ir = engine.compile_ir
    monkeypatch.setattr(engine, "compile_ir", lambda ir, *args: modules.append(ir) or compile_ir(ir, *args))
    jitted = tnp.jit(f, executors=EVERYTHING)
    for n in (5, 6, 9):  # the last two by a program for any size, if it is short
        x, y = np.linspace(-1, 1, 8 * n).reshape(8, n), np.arange(8.0 * 5).reshape(8, 5)
        assert_same(jitted(x, y), f(x, y), rtol=1e-12)
        calls, functions = (
            sum(m.count(text) for m in modules) for text in ("call void @region_nest", "define internal")
        )
        assert functions < calls
        if lines > 100:
            break
