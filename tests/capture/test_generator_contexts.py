"""Context managers that ``contextlib`` makes of generators."""

from contextlib import contextmanager

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

X = np.arange(1.0, 5)


class State:
    """What context managers set."""

    mode, log = True, 0.0


state = State()


@contextmanager
def off(k=1):
    was, state.mode = state.mode, False
    try:
        yield k
    finally:
        state.mode = was
        state.log += k


@contextmanager
def quiet():
    with np.errstate(all="ignore"):
        yield


@contextmanager
def catching():
    try:
        yield
    except ValueError:
        state.log += 100


@contextmanager
def without_a_yield():
    if state.mode is None:
        yield


@contextmanager
def with_two():
    yield 1
    yield 2


def scaled(x):
    return x * (2 if state.mode else 3)


@off()
def decorated(x):
    return scaled(x)


def calls_a_decorated_one(x):
    return decorated(x) + scaled(x)


def in_a_loop(x):
    total = 0.0
    for i in range(len(x)):
        with off(2) as k:
            total = total + scaled(x[i]) * k
    return total


def around_warnings(x):
    with quiet():
        return np.log(x - 5)


def nested(x):
    with off(), quiet():
        with off(3) as k:
            y = np.sqrt(x - k)
        return scaled(y)


def of_a_value(x):
    with off(x[0]) as k:
        return x * k


def with_a_branch(x):
    with off():
        if x.sum() > 12:
            return scaled(x)
    return scaled(x) + 1


def fails_at_run_time(x):
    with off():
        return np.linalg.inv(x[:4].reshape(2, 2) * 0)


def checks(x):
    with off():
        if x[0] > 0:
            raise ValueError("no")
    return x


def swallows(x):
    with catching():
        raise ValueError
    return x * 2


def passes_an_error_on(x):
    try:
        with off():
            raise KeyError("a")
    except KeyError:
        return scaled(x)


def yields_nothing(x):
    with without_a_yield():
        return x


def yields_twice(x):
    with with_two():
        y = x * 2
    return y


FUNCTIONS = [
    calls_a_decorated_one, in_a_loop, around_warnings, nested, of_a_value, with_a_branch, fails_at_run_time, checks, swallows,
    passes_an_error_on, yields_nothing, yields_twice,
]  # fmt: skip
WHOLE = FUNCTIONS[:6]


@pytest.mark.filterwarnings("ignore:.* runs ")
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_is_entered_is_left(f, monkeypatch):
    def outcome(g, n):
        monkeypatch.setattr(state, "mode", True)
        monkeypatch.setattr(state, "log", 0.0)
        try:
            result = g(np.arange(n) + 1.0)
        except Exception as error:
            result = repr(error)
        return result, state.mode, float(state.log)

    jitted = tnp.jit(f, strict=f in WHOLE)
    for n in (4, 4, 5, 6, 4):
        assert_same(outcome(jitted, n), outcome(f, n))
