"""Writes to arrays that branches and loops chose among others."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole, whole
from tnp.testing import assert_same


def oriented(t, low):
    t = t * 2
    size = t.sum()
    if size < low:
        t = np.zeros(4)
    else:
        t /= size
        if t[0] < 0:
            t = -t
    return t


def also_known(t, low):
    t = t * 2
    same = t
    if t.sum() < low:
        t = np.zeros(4)
    else:
        t += 3
        if t[0] < 0:
            t = -t
    return t + 1, same


def written_behind(t, low):
    t = t * 2
    same = t
    if t[0] < low:
        t[1] = 5
    elif t[2] < low:
        t = -t
    same[3] = 9
    return t, same


def of_a_loop(t, low):
    t = t.copy()
    before = t
    while np.any(t > abs(low)):
        t = t * 0.5
    t[0] = 7
    return t, before


def kept_in_a_loop(t, low):
    t = t + 1
    before = t
    for i in range(30):
        if t[1] > low + i:
            t = t - 0.25
    before[2] = -1
    return t, before


ARGUMENTS = [
    (np.array(t), low) for t in ([1.0, 2, -3, 4], [-4.0, 2, 3, 1], [0.1, 0.2, -5, 0]) for low in (-1.0, 0.5, 50.0)
]


@pytest.mark.parametrize("f", [oriented, also_known])
def test_a_side_chooses_behind_its_writes(f):
    for args in ARGUMENTS:
        whole(f, *args)


@pytest.mark.parametrize("f", [written_behind, of_a_loop, kept_in_a_loop])
def test_writes_to_what_may_be_another_array_are_pythons(f):
    jitted = tnp.jit(f)
    with not_compiled_whole("it writes to an array that may be another one"):
        for t, low in ARGUMENTS * 2:
            found, expected = jitted(t, low), f(t, low)
            assert_same(found, expected)
            assert (found[0] is found[1]) is (expected[0] is expected[1])
    assert "in parts" in str(tnp.explain(jitted))
