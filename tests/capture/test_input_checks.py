"""Checks that raise (``if (x < 0).any(): raise ValueError``) are conditions of a program, and no value guards: where one fails, the call
runs eagerly, which raises."""

import contextlib
import io
import warnings

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

X = np.arange(8.0) + 1
CALLS = (X, X, X * 3, X * 0, -X, X, X * 9, X - 1, X, X * np.nan, X, X)


def two_checks(x):
    if np.any(x < 0):
        raise ValueError(f"negative: {3}")
    if x.sum() == 0:
        raise ZeroDivisionError
    return np.sqrt(x) / x.sum()


def after_a_write(x):
    x += 1
    if x.sum() > 50:
        raise ValueError("large")
    x *= 2
    return x


def in_the_other_branch(x):
    if x.min() > 0:
        y = np.log(x)
    else:
        raise ValueError("low")
    return y * 2


class Counts:
    pass


def after_an_assignment(x):
    made = Counts()
    made.n = x.sum()
    if made.n > 50:
        raise ValueError("large")
    made.m = x * made.n
    return made.m


def asserted(x):
    if not np.isfinite(x).all():
        raise AssertionError("not finite")
    warnings.warn("heard", stacklevel=1)
    return x / 2


def in_a_callee(x):
    def checked(q):
        if (q < 0).any():
            raise KeyError("negative")
        return q

    return checked(x) + checked(x - 1)


def printed_before(x):
    print("begin")
    if x.sum() > 50:
        raise ValueError("large")
    return x * 2


def printed_after(x):
    if x.sum() > 50:
        raise ValueError("large")
    print(x.sum())
    return x * 2


def caught(x):
    try:
        if x.sum() > 50:
            raise ValueError("large")
        y = x * 2
    except ValueError as error:
        return str(error)
    return y


def in_branches(x):
    if x.sum() > 50:
        if x[0] > 5:
            raise ValueError("a")
        elif x[1] > 5:
            raise KeyError("b")
        x = x + 1
    elif x.sum() < 0:
        raise TypeError("c")
    return x


def in_a_loop(x):
    for v in x:
        if v < 0:
            raise ValueError("negative")
    return x * 2


def outcome(f, x):
    """What a call gives or raises, what it prints, and what is left of its argument."""
    x, out = x.copy(), io.StringIO()
    with warnings.catch_warnings(record=True) as said, contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        try:
            result = f(x)
        except Exception as error:
            result = type(error), str(error)
    return result, x, out.getvalue(), [str(w.message) for w in said]


WHOLE = (two_checks, after_a_write, in_the_other_branch, after_an_assignment, in_a_callee)


@pytest.mark.parametrize("f", [*WHOLE, asserted, printed_before, printed_after, caught, in_branches, in_a_loop])
def test_checks(f):
    jitted = tnp.jit(f)
    for x in CALLS:
        assert_same(outcome(jitted, x), outcome(f, x))
    text = str(tnp.explain(jitted))
    if f in WHOLE:
        assert "for the value" not in text
        assert tnp.cache_info(jitted).misses == 1


def test_the_first_call_raises():
    jitted = tnp.jit(two_checks)
    for x in (-X, X, -X, X * 0):
        assert_same(outcome(jitted, x), outcome(two_checks, x))
    assert tnp.cache_info(jitted).misses == 1
