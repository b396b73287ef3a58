"""Calls run in the way that takes less time."""

import math

import numpy as np
import pytest

import tnp
from tnp.capture.guards.prologue import MISS
from tnp.compile import faster_way
from tnp.compile.faster_way import FasterWay


class Clock:
    """Time that passes only when a call says so."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(faster_way, "time", made)
    return made


def ways(clock, compiled, eager, calls):
    """Two ways of calls that take so many seconds for an argument of 1, and note which of them ran."""

    def way(name, seconds):
        def run(size):
            calls.append(name)
            clock.now += seconds * size
            return MISS if size is None else name

        return run

    return way("compiled", compiled), way("eager", eager)


def test_eager_that_takes_less_time_is_kept(clock):
    calls, settled = [], []
    way = FasterWay(*ways(clock, 2e-5, 1e-5, calls), long=1e-3, settled=lambda: settled.append(1))
    for _ in range(60):
        way(1)
    assert way.is_eager
    assert not settled
    assert set(calls[-30:]) == {"eager"}
    assert set(calls[: faster_way.WARM]) == {"compiled"}


def test_programs_that_take_less_time_are_kept(clock):
    calls, settled = [], []
    way = FasterWay(*ways(clock, 1e-5, 1e-4, calls), long=1e-3, settled=lambda: settled.append(1))
    for _ in range(60):
        way(1)
    assert not way.is_eager
    assert settled == [1]
    assert calls.count("eager") <= faster_way.TIMED


def test_long_calls_are_never_tried_eagerly(clock):
    calls = []
    way = FasterWay(*ways(clock, 1e-2, 1e-5, calls), long=1e-3)
    for _ in range(60):
        way(1)
    assert set(calls) == {"compiled"}


def test_eager_calls_that_become_longer_are_compiled_again(clock):
    calls = []
    way = FasterWay(*ways(clock, 2e-5, 1e-5, calls), long=1e-3)
    for _ in range(40):
        way(1)
    assert way.is_eager
    way(1000)
    way(1)  # one long call may be the machine's
    assert way.is_eager
    for _ in range(faster_way.SLOW):
        way(1000)
    assert not way.is_eager
    assert way(1000) == "compiled"


def test_other_parts_are_tried_anew(clock):
    calls, state = [], [0]
    way = FasterWay(*ways(clock, 2e-5, 1e-5, calls), long=1e-3, state=lambda: state[0])
    for _ in range(40):
        way(1)
    assert way.is_eager
    state[0] = 1
    assert way(1) == "compiled"


def test_an_error_leaves_the_choice_as_it_was(clock):
    def fails(x):
        raise ValueError(x)

    way = FasterWay(fails, fails, long=1e-3)
    for _ in range(40):
        with pytest.raises(ValueError, match="3"):
            way(3)
    assert way._times == [math.inf, math.inf]


def test_a_jitted_function_gives_the_same_in_both_ways(monkeypatch):
    monkeypatch.setattr("tnp.core.check.enabled", lambda: False)
    log = []

    def f(x, n=2):
        log.append(len(x))
        return [v * n for v in x.tolist()] if len(x) < 3 else x + n

    jitted = tnp.jit(f)
    for _ in range(50):
        assert jitted(np.ones(2)) == [2.0, 2.0]
        np.testing.assert_array_equal(jitted(np.ones(4), n=1), np.full(4, 2.0))
    assert log == [2, 4] * 50
    with pytest.raises(AttributeError):
        jitted([1])
    assert log[-1] == 1
    assert len(log) == 101
