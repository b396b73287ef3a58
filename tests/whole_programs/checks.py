"""Comparison of jitted programs with eager, on several executors."""

import copy
import warnings

import numpy as np

import tnp
from tnp.testing import assert_same

EXECUTORS = (None, ("numpy",), ("numpy[prims]",))


X = np.arange(5.0)


def outcome(f, args):
    """What a call gives or raises, what it leaves its arguments as, and what it says of tnp's own trouble."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            result = f(*args)
        except Exception as error:
            result = type(error)
    return result, args, [str(w.message) for w in caught if "tracing raised" in str(w.message)]


def check(f, *calls, on=EXECUTORS):
    """``f`` with the arguments of each call, one after the other, jitted as eager; nothing is raised by tracing alone."""
    for executors in on:
        jitted = tnp.jit(f, executors=executors)
        for args in (*calls, calls[0]):
            expected, left, _ = outcome(f, copy.deepcopy(args))
            got, mine, trouble = outcome(jitted, copy.deepcopy(args))
            assert not trouble
            assert_same(got, expected, what=f"{executors}: the result")
            assert_same(list(mine), list(left), what=f"{executors}: the arguments")


def masks(*rows):
    return [np.array([c == "1" for c in row]) for row in rows]
