"""Blocks: numbers, small arrays, loops and branches one behind the other are one native function, with eager's results and errors."""

import importlib
import math
import re

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same


def executors_of(f, *args):
    """Compares two calls with eager; gives what runs the program's operations."""
    jitted = tnp.jit(f)
    for _ in range(2):
        mine, theirs = ([np.copy(a) if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
        assert_same(jitted(*mine), f(*theirs), rtol=1e-13)
        assert_same(mine, theirs)
    text = str(tnp.explain(jitted))
    assert "runs eagerly:" not in text and "in parts" not in text, text
    found = dict(re.findall(r"(\w+) (\d+)", re.search(r"executors: (.*)", text)[1]))
    return {name: int(count) for name, count in found.items()}, text


def rotation(v, angle):
    n = np.linalg.norm(v)
    u, c, s = v / n, math.cos(angle), math.sin(angle)
    k = np.zeros((3, 3))
    k[0, 1], k[0, 2], k[1, 0], k[1, 2], k[2, 0], k[2, 1] = -u[2], u[1], u[2], -u[0], -u[1], u[0]
    return (np.eye(3) + s * k + (1 - c) * (k @ k))[0] * float(u[0]), c * s


def middle(x, a):
    n, s = len(x) // 2, 0.0
    m = float(x[n])
    for i in range(len(x)):
        s += x[i] * a
    if s > m:
        s = s - m
    return math.sqrt(abs(s)) / (m + 1.0), s, n, m > 0, x[0] + a


@pytest.mark.parametrize(
    "f, args", [(rotation, (np.array([1.0, 2.0, 3.0]), 0.7)), (middle, (np.linspace(0.1, 2, 20), 0.4))]
)
def test_one_call_of_native_code(f, args):
    found, text = executors_of(f, *args)
    assert found == {"llvm": 1} and ("with the operations around it" if f is middle else "they are one block") in text


def test_dtypes_of_results():
    """Python's numbers, NumPy's scalars of all kinds, and 0-d arrays."""

    def f(x, k):
        a, b = x[0] * 2, float(x[1])
        n = int(b) + k
        total = np.zeros(2)
        for i in range(3):
            total[i % 2] += x[i]
        return a, b, n, n > 2, b < 0.5, np.float32(b), total, np.array(b), x.dtype.type(n) + x[0], total.sum(), x[2] > 1

    for dtype in (np.float64, np.float32):
        executors_of(f, np.array([0.5, 2.25, 3.5], dtype=dtype), 1)


def test_views_arguments_and_large_arrays_stay_outside():
    """A result that looks at an argument does so; what is written to is the caller's array; kernels run what is large."""

    def views(x, n):
        m = float(x[0]) * n
        part = x[1:4]
        s = 0.0
        for i in range(3):
            s += part[i] * m
        return part, s, m

    def writes(x, n):
        m = float(x[0]) * n
        s = m * 2 + float(x[-1])
        x[1] = s
        for i in range(len(x)):
            x[i] += m
        return x[1] * 2, float(x[2]) + s

    def large(x, n):
        m = float(x.sum()) * n
        y = x * m + np.sin(x)
        s = 0.0
        for i in range(9):
            s += y[i] * m
        return y, s, m

    x = np.random.default_rng(0).random(50_000)
    executors_of(views, x[:9].copy(), 3.0)
    jitted, y = tnp.jit(views), x[:9].copy()
    assert np.shares_memory(jitted(y, 2.0)[0], y)
    executors_of(writes, x[:9].copy(), 3.0)
    executors_of(large, x, 3.0)


def test_errors_come_where_eager_raises_them():
    def f(x, n, k):
        x[0] = 7.0
        m = float(x[1]) / n
        s = 0.0
        for i in range(3):
            s += m / (n + i)
        y = np.zeros(3)
        y[k] = s
        if s > 100:
            raise ValueError("too much")
        return y, m, s

    jitted = tnp.jit(f)
    for n, k in ((2.0, 1), (3.0, 0), (0.0, 0), (-1.0, 0), (2.0, 3), (0.001, 1), (1.5, -1)):
        mine, theirs = np.arange(4.0), np.arange(4.0)
        try:
            expected = f(theirs, n, k)
        except Exception as error:
            with pytest.raises(type(error), match=re.escape(str(error))):
                jitted(mine, n, k)
        else:
            assert_same(jitted(mine, n, k), expected)
        assert_same(mine, theirs)


def test_integers_beyond_64_bits():
    def f(x, n):
        s = 0.0
        for i in range(3):
            s += x[i]
        m = n * n + 1
        return m * n, s * 2, m - n, float(x[0]) * s

    jitted = tnp.jit(f)
    for n in (3, 5, 2**31, 2**40, 2**62):
        assert_same(jitted(np.arange(3.0), n), f(np.arange(3.0), n))


def test_loops_that_python_runs_have_blocks():
    def f(x, names):
        found = []
        for i in range(len(names)):
            m = float(x[i]) * 2
            v = np.array([m, 1.0, m])
            n = float(np.sqrt((v * v).sum()))
            s = 0.0
            for k in range(3):
                s += v[k] / n
            found.append((names[i].upper(), s, n + m))
        return found

    executors_of(f, np.arange(4.0), ["a", "b"])


def test_floating_point_errors_are_reported():
    def f(x, a):
        with np.errstate(divide="raise"):
            m = float(x[0]) + a
            y = x / a
            s = 0.0
            for i in range(3):
                s += y[i] * m
        return s, m

    jitted = tnp.jit(f)
    for a in (2.0, 3.0):
        assert_same(jitted(np.ones(3), a), f(np.ones(3), a))
    with pytest.raises(FloatingPointError):
        jitted(np.ones(3), 0.0)


def test_other_executors_keep_their_operations():
    """An operation that an executor listed before has is no part of a block."""
    ours = tnp.extend.OperatorExecutor("test_blocks_ours")
    seen = []

    def norm(x):
        seen.append(1)
        return np.linalg.norm(x)

    op = ours.register_operator("norm", like=tnp.lang.numpy.linalg.norm, fn=norm)
    ours.register_implementation("numpy.linalg.norm", op)
    jitted = tnp.jit(rotation, executors=[ours, "llvm", "numpy"])
    v = np.array([1.0, 2.0, 3.0])
    assert_same(jitted(v, 0.7), rotation(v, 0.7), rtol=1e-13)
    assert seen


def test_powers_of_negative_numbers_are_complex():
    def f(x, a):
        b = a**0.5
        v = x * 2 + a
        return b, b * a, v[0] + v[1] * a, float(v.sum()) + a

    jitted = tnp.jit(f)
    for a in (-2.0, 2.0, -3.5):
        assert_same(jitted(np.ones(4), a), f(np.ones(4), a), rtol=1e-14)


def long_program(count, folder, monkeypatch):
    """A program of ``count`` lines on numbers and short arrays."""
    lines = ["import math", "def f(x, a):", "    s, v = float(x[0]) * a, x * a"]
    kinds = (
        "s = s * a + math.sin(s) * 0.5", "s = float(x[{k} % 5]) * s - 0.3", "v = v * 0.5 + s", "s = s + float(v.sum()) * 0.1",
    )  # fmt: skip
    lines += ["    " + kinds[k * 7 % 4].format(k=k) for k in range(count)]
    name = f"long_{count}"
    (folder / f"{name}.py").write_text("\n".join([*lines, "    return s, v"]))
    monkeypatch.syspath_prepend(str(folder))
    return importlib.import_module(name).f


def test_programs_longer_than_a_block_are_several(tmp_path, monkeypatch):
    f = long_program(400, tmp_path, monkeypatch)
    found, _ = executors_of(f, np.linspace(0.1, 0.5, 5), 0.7)
    assert found.keys() == {"llvm"} and 1 < found["llvm"] < 8


def test_what_takes_longer_in_a_block_stays_outside():
    """NumPy sorts many numbers faster; to read one is faster than to call native code; a single operation is not worth compiling."""

    def sorts(x, a):
        m = float(x[0]) * a
        y = np.sort(x)
        return y, float(y[0]) + m

    def reads(x):
        y = x[1:]
        return float(y[0]), y

    def small(a, b):
        return a * b + a - b

    x = np.random.default_rng(0).random(200)
    assert "one block" not in executors_of(sorts, x, 0.5)[1]
    assert "one block" in executors_of(sorts, x[:20].copy(), 0.5)[1]
    assert "one block" not in executors_of(reads, x[:5].copy())[1]
    assert "one block" not in executors_of(small, 0.5, 0.75)[1]


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_results_that_may_be_one_array_stay_outside():
    """Of a branch, and of a loop that exchanges two names of an array."""

    def branch(t, low):
        t = t * 2
        same = t
        m = float(t[1]) * low
        if t[0] < low:
            t[1] = m
        elif t[2] < low:
            t = -t
        same[3] = 9
        return t, same, m, m * 2

    def loop(x, low):
        a = x * low
        b = a.T
        n = 0
        m = float(a[0]) + low
        while n < 8 and x.sum() > -m:
            n += 1
            a, b = b, a
        return a, b, m * n

    for f in (branch, loop):
        jitted = tnp.jit(f)
        for x in (np.array([1.0, 2.0, 0.1, 3.0]), np.array([0.1, 2.0, 5.0, 3.0]), np.ones(4)):
            found, expected = jitted(x.copy(), 0.75), f(x.copy(), 0.75)
            assert_same(found, expected)
            assert np.shares_memory(*found[:2]) == np.shares_memory(*expected[:2])


def test_blocks_are_drawn():
    jitted = tnp.jit(middle)
    jitted(np.linspace(0.1, 2, 20), 0.4)
    text = tnp.draw(tnp.last_traces(jitted)[-1])
    assert "for " in text and "sqrt" in text


def test_errstates_around_native_code_are_left_out():
    """Native code reports no floating-point errors, so NumPy need not be told how."""

    def f(x, a):
        with np.errstate(divide="ignore", invalid="ignore"):
            y = np.where(x == 0, 0.0, a / x)
        s = 0.0
        for i in range(len(x)):
            s += y[i] * a
        with np.errstate(all="ignore"):
            t = float(np.sqrt(x[0]) / x[1])
        return y, s, t

    def kept(x):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.linalg.norm(x / np.sort(x)[0])

    jitted = tnp.jit(f)
    for k in range(3):
        x = np.array([k + 1.0, 0.0, 2.0, -1.0])
        assert_same(jitted(x, 2.0), f(x, 2.0))
    assert "seterr" not in str(tnp.last_traces(jitted)[-1])
    assert_same(tnp.jit(kept)(np.arange(300.0)), kept(np.arange(300.0)))
