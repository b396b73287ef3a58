"""Branches that always raise: one program serves all calls that do not take them; a call that takes one runs eagerly."""

import copy
import sys

import numpy as np
import pytest

import tnp
from tests.eager_checks import outcome
from tests.programs.assertions import WITH_MESSAGES
from tnp.testing import assert_same


class Limits:
    def __init__(self, low):
        self.low = low
        self.checked = 0

    def check(self, x):
        below = x < self.low
        if below.any():
            raise ValueError(f"{x[below]} of {len(x)} below {self.low:.2f}, first {x[below][0]:.3f}")


def message(x, limits):
    if (x > 2).any():
        raise ValueError(f"too large: {x.max():.3f} in {x}")
    return np.sqrt(abs(x)) * 2


def statements_before(x, limits):
    bad = np.isnan(x) | (x > 2)
    if bad.any():
        where = np.flatnonzero(bad)
        text = ", ".join(str(i) for i in where)
        raise IndexError("bad elements: " + text) from None
    return x - x.mean()


def of_a_method(x, limits):
    limits.check(x)
    return x * 2


def after_a_store(x, limits):
    x[0] = 0.5
    limits.checked += 1
    if x.max() > 2:
        raise ValueError(f"largest: {x.max()}", x)
    return x.sum()


def caught(x, limits):
    try:
        limits.check(x)
    except ValueError as error:
        return str(error)
    return x + 1


def alternatives(x, limits):
    if len(x) > 1000:
        return x - 1
    elif x.min() < -0.5:
        raise RuntimeError(repr(x))
    else:
        x = x * 3
    if x.max() > 6:
        raise LookupError(*x[:2])
    return x


def with_a_loop(x, limits):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 2:
            raise ValueError(f"item {i} is {x[i]}")
        total += x[i]
    return total


def check_item(x, i):
    if (x[i:] > 2).any():
        raise OverflowError(f"items from {i} on: {x[i:]}")


def after_stores_in_a_loop(x, limits):
    for i in range(len(x)):
        x[i - 1] += x[i] * 0.1
        check_item(x, i)
    return x.sum()


def in_loops_over_large_arrays(x, limits):
    y = np.ones(40_000)
    for i in range(len(x)):
        y += np.sin(y) * x[i] * 1e-3
        check_item(x, i)
        x += y[:40] * 1e-3
    return y.sum()


LOOPS = [with_a_loop, after_stores_in_a_loop, in_loops_over_large_arrays]
FUNCTIONS = [message, statements_before, of_a_method, after_a_store, caught, alternatives, *LOOPS]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_results_and_errors(f):
    jitted = tnp.jit(f)
    fine = [np.random.default_rng(k).random(40) + 0.01 * k for k in range(4)]
    bad = [x.copy() for x in fine]
    for k, x in enumerate(bad):
        x[7 + k] = (3.0, -1.0)[k % 2]
    for x in (*fine[:2], *bad, *fine[2:]):
        mine, eagers = (copy.deepcopy((x, Limits(-0.2))) for _ in range(2))
        assert_same(outcome(jitted, mine)[0], outcome(f, eagers)[0], rtol=1e-12)
        assert_same((mine[0], vars(mine[1])), (eagers[0], vars(eagers[1])), what="arguments")


@pytest.mark.parametrize(
    "f", [message, statements_before, of_a_method, alternatives, after_stores_in_a_loop], ids=lambda f: f.__name__
)
def test_one_program_for_all_values_that_raise_nothing(f):
    jitted = tnp.jit(f)
    for k in range(4):
        jitted(np.random.default_rng(k).random(40) + 0.01 * k, Limits(-0.2))
    assert tnp.cache_info(jitted).misses == 1
    assert "for the value" not in str(tnp.explain(jitted))


@pytest.mark.parametrize("f", WITH_MESSAGES, ids=lambda f: f.__name__)
def test_messages_of_assertions_are_made_where_they_fail(f):
    jitted, failed = tnp.jit(f), 0
    rng = np.random.default_rng(0)
    for k in range(40):
        x, c = rng.standard_normal(60 + k % 3), rng.random()
        found = []
        for function, array in ((f, x), (jitted, mine := x.copy())):
            try:
                found.append(function(array, c))
            except (AssertionError, ZeroDivisionError) as error:
                found.append(repr(error))
        failed += isinstance(found[0], str)
        assert_same(found[1], found[0], rtol=1e-12)
        np.testing.assert_array_equal(mine, x)
    assert failed
    assert tnp.cache_info(jitted).misses <= 3
    assert "Python runs" not in str(tnp.explain(jitted))


def by_ranges(t):
    if t < 1.0:
        return t * 2
    elif t < 2.0:
        return np.sqrt(t)
    raise ValueError(f"{t} is too large")


def step_by_step(t):
    if t < 1.0:
        return t * 2
    y = np.sin(t)
    if y < 0.95:
        return y
    z = y + t
    if z < 50:
        return z
    text = f"bad: {z}"
    raise ValueError(text)


def in_a_range(t):
    if t > 0:
        if t < 1:
            return t
        if t < 2:
            return 2 * t
        raise ValueError("too large")
    raise KeyError("negative")


def of_pairs(t):
    if 0.0 <= t < 1.0:
        return t, 1
    if t < 0:
        raise KeyError("negative")
    if t < 2.0:
        return t * t, 2
    raise ValueError(t)


@pytest.mark.parametrize("f", [by_ranges, step_by_step, in_a_range, of_pairs], ids=lambda f: f.__name__)
def test_a_raise_behind_branches_that_return(f):
    """What the last branch leaves raises. Loops that call the function are native, as they are with the ``raise`` in an ``else``."""

    def collected(x):
        return np.array([f(t) for t in x])

    def summed(x):
        total = 0.0
        for t in x:
            total += np.sum(f(t))
        return total

    rng = np.random.default_rng(0)
    for program in (collected, summed):
        jitted = tnp.jit(program, strict=True)
        for high in (1.9, 1.0):
            x = rng.uniform(0.05, high, 100)
            assert_same(jitted(x), program(x))
        assert tnp.cache_info(jitted).misses == 1
        for value in (58.0, -1.0, np.nan):
            x[7] = value
            expected, _ = outcome(program, (x,))
            assert_same(outcome(jitted, (x,))[0], expected)


def leaving(x):
    if x.min() > 0:
        y = x
    elif x.max() < 0:
        y = x[::-1]
    else:
        raise SystemExit(f"neither above nor below zero: {x}")
    return 2 * y


def leaving_by_a_call(x):
    if np.isnan(x).any():
        sys.exit("no number")
    return np.sqrt(np.abs(x)).sum()


@pytest.mark.parametrize("f", [leaving, leaving_by_a_call], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_branches_that_leave_the_script(f):
    jitted = tnp.jit(f)
    fine = np.linspace(1, 2, 30)
    for x in (fine, -fine, fine + 1):
        assert_same(jitted(x), f(x))
    assert "eager" not in str(tnp.explain(jitted)).split("\n")[1]
    for x in (np.where(fine > 1.5, np.nan, fine), np.linspace(np.nan, 1, 30)):
        with pytest.raises(SystemExit) as expected:
            f(x)
        with pytest.raises(SystemExit) as found:
            jitted(x)
        assert found.value.args == expected.value.args
