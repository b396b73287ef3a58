"""Branches in branches that write to arrays: what an attempt finds out about one is known when what stands around it is tried again."""

import importlib

import numpy as np
import pytest

import tnp
from tnp.capture.speculation.regions import Region
from tnp.testing import assert_same


def put(a, k, x):
    a[k] = x


def nested(depth, folder, monkeypatch):
    """A loop with ``depth`` nested branches. Each calls a function that writes to two of four arrays."""
    lines = [
        "import numpy as np",
        "def f(x, put):",
        "    arrays = np.zeros(4), np.zeros(4), np.zeros(4), np.zeros(4)",
        "    for i in range(len(x)):",
    ]
    for k in range(depth):
        lines.append(f"{'    ' * (k + 2)}if x[i] > {k} * 0.1:")
        lines += [
            f"{'    ' * (k + 3)}put(arrays[{(k + j) % 4}], {k} % 4, x[i] + arrays[{k % 4}][{j}])" for j in range(2)
        ]
    lines.append("    return arrays")
    name = f"nested_{depth}"
    (folder / f"{name}.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(folder))
    return importlib.import_module(name).f


@pytest.fixture
def opened(monkeypatch):
    """The regions that tracing opens."""
    found = []
    before = Region.open
    monkeypatch.setattr(Region, "open", lambda self: (found.append(1), before(self))[1])
    return found


def test_attempts_grow_with_depth_as_the_program_does(opened, tmp_path, monkeypatch):
    x = np.random.default_rng(0).random(50)
    counts = []
    for depth in (2, 4, 8):
        f = nested(depth, tmp_path, monkeypatch)
        del opened[:]
        assert_same(tnp.jit(f)(x, put), f(x, put))
        counts.append(len(opened))
    assert counts[2] < 3.5 * counts[1] < 12 * counts[0], counts


def check(f, *calls, whole=True):
    """Compares calls with eager. Gives how many programs there are, all of them whole if it says so."""
    jitted = tnp.jit(f)
    for args in calls:
        mine, theirs = ([np.copy(a) if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
        assert_same(jitted(*mine), f(*theirs), rtol=1e-12)
        assert_same(mine, theirs)
    text = str(tnp.explain(jitted))
    assert not whole or ("in parts" not in text and "runs eagerly:" not in text), text
    return tnp.cache_info(jitted).misses


def test_numbers_or_scalars_in_branches_of_branches():
    """Python's number on one side, NumPy's on the other, at each level, in a loop."""

    def f(x, a):
        low = high = 0.0
        found = 0.0
        for i in range(len(x)):
            if x[i] > a:
                low = x[i]
                if x[i] > 2 * a:
                    high = x[i] * low
                    if high > 3 * a:
                        found = high - low
                        if found > 4 * a:
                            low = found
                else:
                    high = 1.0
            elif low > 0:
                low = low * 0.5
        return low, high, found

    x = np.random.default_rng(0).random(40) * 3
    assert check(f, (x, 0.5), (x[::-1].copy(), 0.25), (x * 2, 0.75)) == 1


def test_lists_with_many_items_that_are_replaced():
    """More writes to the items of lists in a branch than attempts that it has."""

    def polynomials(c, d, t):
        c[0], c[1], c[2], c[3], c[4], c[5] = t, t * t, t**3, 1 - t, 2 * t, t - 1
        d[0], d[1], d[2], d[3], d[4], d[5] = t, -t, t + 1, 3 * t, t * 0.5, t - 2
        c[0], c[1], c[2], c[3], c[4], c[5] = c[1], c[2], c[3], c[4], c[5], c[0]
        return c, d

    def f(x, a):
        c, d = [0.0] * 6, [0.0] * 6
        total = 0.0
        for i in range(len(x)):
            if x[i] > a:
                if x[i] > 2 * a:
                    polynomials(c, d, float(x[i]))
                total += sum(c) * d[3] - d[5]
        return total

    x = np.random.default_rng(0).random(30)
    assert check(f, (x, 0.25), (x, 0.4), (x[::-1].copy(), 0.3)) == 1


def test_variables_that_a_loop_binds_before_it_may_be_left():
    """The loop surely has an iteration, so they are bound behind it: to numbers, scalars, arrays, or a number or a scalar."""

    def f(x, a):
        scale = 1.0
        for i in range(20):
            now = x[i % 4] * scale
            step = now if now > a else 0.5
            row = x * now
            if abs(now) < 0.125:
                break
            scale = scale * 0.75
        return now, step, row, scale, i

    def read_first(x, a):
        for i in range(20):
            if i and now < a:  # noqa: F821 — bound by the iteration before
                break
            now = x[i % 4] * (20 - i)
        return now

    def unbound(x, a):
        for i in range(20):
            if x[i % 4] > a:
                break
            last = x[i % 4]
        return last

    x = np.array([0.5, 0.75, 0.25, 1.0])
    assert check(f, (x, 0.25), (x * 4, 0.5), (-x, 0.1)) == 1
    check(read_first, (x, 4.0), (x, 2.0), (x * 2, 30.0), whole=False)
    check(unbound, (x, 0.8), (x, 0.6), whole=False)
    with pytest.raises(UnboundLocalError, match="last"):
        tnp.jit(unbound)(x, 0.1)


def test_a_number_or_a_scalar_that_may_be_unbound():
    def f(x, a):
        if x[0] > a:
            s = x[0] if x[1] > a else 2.0
        if x[0] <= a:
            s = x[2] if x[3] > a else 1.0
        return s * 2, s

    x = np.array([0.5, 0.75, 0.25, 1.0])
    assert check(f, *((np.roll(x, k), a) for k in range(4) for a in (0.3, 0.6, 0.9))) == 1
