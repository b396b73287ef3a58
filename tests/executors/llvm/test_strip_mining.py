"""Loops that walk down columns run strip by strip of the rows, where iterations do to a row nothing that concerns others."""

import os
from random import Random

import numpy as np
import pytest

import tnp
from tests.flow_checks import same_as_eager
from tests.fuzzing import define
from tnp.executors.llvm.program import strip_mining
from tnp.testing import assert_same

EXECUTORS = ["llvm[everything]", "numpy"]


@pytest.fixture
def plans(monkeypatch):
    """How the loops that were compiled were cut."""
    found = []
    plan = strip_mining.plan

    def noted(b, strides):
        found.append(plan(b, strides))
        return found[-1]

    monkeypatch.setattr("tnp.executors.llvm.program.flow.plan", noted)
    return found


def noise(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def along_rows(x, y, a):
    for k in range(2, y.shape[1]):
        y[:, k] = a * x[:, k] + 0.5 * y[:, k - 1] - 0.25 * y[:, k - 2]
    for k in range(y.shape[1] - 2, -1, -1):
        y[:, k] -= x[:, k] * y[:, k + 1] * 0.25


def in_three_dimensions(x, y, a):
    c = np.zeros((x.shape[0] - 1, 40))
    for k in range(1, x.shape[2]):
        flux = 0.25 * (x[1:, :, k] + x[:-1, :, k])
        y[:, :, k] = flux * a + y[:, :, k - 1] * np.where(flux > 0, 0.5, 0.25) - c
        c[:] = flux


def transposed(x, y, a):
    for k in range(1, y.shape[1]):
        y.T[k, 1:-1] = y.T[k - 1, 1:-1] * a + x[1:-1, k]


def between_rows(x, y, a):
    for k in range(1, y.shape[1]):
        y[1:, k] = y[:-1, k - 1] * 0.5 + x[1:, k]


def sums_of_columns(x, y, a):
    for k in range(1, y.shape[1]):
        y[:, k] = y[:, k - 1] * 0.5 + x[:, k].sum()


def carried_scalar(x, y, a):
    s = 0.0
    for k in range(1, y.shape[1]):
        y[:, k] += x[:, k] * s
        s = s * 0.5 + x[3, k]


def down_the_rows(x, y, a):
    for k in range(1, y.shape[0]):
        y[k] = y[k - 1] * 0.5 + x[k] * a


def a_row_that_all_write(x, y, a):
    for k in range(1, y.shape[1]):
        y[:, k] = y[:, k - 1] * 0.5 + a[k]
        a[k] += 1


@pytest.mark.parametrize(("f", "cut"), [(along_rows, 2), (sums_of_columns, 0), (between_rows, 0), (down_the_rows, 0)])
def test_rows_on_their_own(f, cut, plans):
    same_as_eager(f, lambda: [noise(50, 60), noise(50, 60, seed=1), 0.75], executors=(EXECUTORS,))
    assert sum(p is not None for p in plans) == cut


def test_one_dimension_of_several_is_cut(plans):
    same_as_eager(
        in_three_dimensions, lambda: [noise(6, 40, 50), noise(5, 40, 50, seed=1), 0.75], executors=(EXECUTORS,)
    )
    assert {p.length for p in plans if p is not None} == {40}


def test_parts_of_what_is_only_read_may_lie_elsewhere(plans):
    def f(x, y):
        for k in range(1, y.shape[1]):
            y[:, k] = y[:, k - 1] * 0.5 + (x[1:, k] - x[:-1, k]) + x[::-1, k][:-1] * 0

    def g(x, y):
        for k in range(1, y.shape[1]):
            y[:, k] = y[:, k - 1] * 0.5 + (x[1:, k] - x[:-1, k]) * x[1:, k - 1]

    same_as_eager(f, lambda: [noise(49, 60), noise(48, 60, seed=1)], executors=(EXECUTORS,))
    assert plans == [None]
    same_as_eager(g, lambda: [noise(49, 60), noise(48, 60, seed=1)], executors=(EXECUTORS,))
    assert plans[1].length == 48


@pytest.mark.parametrize("f", [transposed, carried_scalar])
def test_views_and_numbers(f):
    same_as_eager(f, lambda: [noise(50, 60), noise(50, 60, seed=1), 0.75], executors=(EXECUTORS,))


def test_what_is_written_and_has_no_rows_is_not_cut(plans):
    same_as_eager(a_row_that_all_write, lambda: [None, noise(50, 60, seed=1), noise(60)], executors=(EXECUTORS,))
    assert plans == [None]


def test_iterations_stay_in_order_where_one_may_raise(plans):
    def f(y, n):
        for k in range(1, n):
            y[:, k] = y[:, k - 1] * 0.5 + 1

    same_as_eager(f, lambda: [noise(50, 60), 60], lambda: [noise(50, 60), 70], executors=(EXECUTORS,))
    assert plans[0] is not None


def test_inside_of_other_loops_and_on_threads(monkeypatch):
    monkeypatch.setattr("tnp.executors.llvm.target.GRAIN_IN_LOOPS", 0)

    def f(x, y, n):
        for _ in range(n):
            for k in range(1, y.shape[1]):
                y[:, k] = y[:, k - 1] * 0.5 + x[:, k]
            x += y

    jitted = same_as_eager(f, lambda: [noise(64, 60), noise(64, 60, seed=1), 3], executors=(EXECUTORS,))
    assert "run in parallel" in str(tnp.explain(jitted))


def random_columns(random):
    """The source of ``program(x, y, w, c, n)``: a loop over columns of 48 rows, of which ``w`` has one more."""

    def value(depth=0):
        leaves = [
            "x[:, k]",
            "x[:, k - 1]",
            "y[:, k - 1]",
            "y[:, k - 2]",
            "c",
            "t",
            "w[1:, k]",
            "w[:-1, k - 1]",
            "x[:, 3]",
            "y[:, k]",
        ]
        rare = [
            "x[:, k].sum()",
            "y[0, k]",
            "x[k, 3]",
            "x[::-1, k]",
            "y[:, :k].sum(axis=1)",
            "c[::-1]",
            "x[k, :48]",
            "c[k]",
        ]
        if depth > 2 or random.random() < 0.4:
            return random.choice(rare if random.random() < 0.04 else leaves)
        a, b = value(depth + 1), value(depth + 1)
        return random.choice(
            [f"({a} + {b})", f"({a} - {b})", f"{a} * 0.25", f"np.where({a} > 0, {b}, 0.5)", f"np.abs({a})"]
        )

    lines = ["def program(x, y, w, c, n):", "    t = c * 0.5", "    for k in range(2, n):"]
    for _ in range(random.randint(1, 4)):
        targets = ["y[:, k]", "y[:, k]", "y[:, k - 1]", "c[:]", "t", "y.T[k]", "x[:, k]"]
        target = random.choice(["y[2, k]", "y[::-1, k]", "c[3]"] if random.random() < 0.05 else targets)
        lines.append(f"        {target} {'=' if target == 't' else random.choice(['=', '+='])} ({value()}) * 0.5")
    return "\n".join([*lines, "    return c", ""])


#: ``TNP_FUZZ_SEED`` and ``TNP_FUZZ_EXAMPLES`` choose others
FIRST, COUNT = int(os.environ.get("TNP_FUZZ_SEED", "1")), int(os.environ.get("TNP_FUZZ_EXAMPLES", "6"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_random_columns(seed):
    text = random_columns(Random(seed))
    program = define(text)
    jitted = tnp.jit(program, executors=EXECUTORS)

    def make():
        return [noise(48, 50), noise(48, 50, seed=1), noise(49, 50, seed=2), noise(48, seed=3), 49]

    expected, actual = make(), make()
    try:
        result = program(*expected)
    except (ValueError, IndexError) as error:
        with pytest.raises(type(error)):
            jitted(*actual)
    else:
        assert_same(jitted(*actual), result, rtol=1e-9, what=text)
    assert_same(actual, expected, rtol=1e-9, what=text)
