"""Lists of numbers that an object holds: one program serves all lengths once one has varied."""

import copy

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

VALUES = np.arange(50.0).reshape(25, 2)


class Detector:
    def __init__(self, n, kind=int):
        self.places = [kind(x) for x in np.random.default_rng(n).integers(0, 25, n)]
        self.found = []


def weighted(d, x):
    total = 0.0
    for i, place in enumerate(d.places):
        total += place * i
    return total * x, sum(d.places), len(d.places)


def handed_on(d, x):
    d.other = d.places
    return d.places, x * len(d.places)


def taken(d, x):
    before, d.places = d.places, []
    return np.array(before).sum() * x


def detected(d, x):
    d.found.append(x[d.places, 0])
    return x * 2


LENGTHS = (5, 7, 9, 12, 6, 8, 20)


@pytest.mark.parametrize("f", [lambda d, x: x[d.places].sum(), weighted, handed_on, taken, detected])
def test_one_program_serves_all_lengths(f):
    jitted = tnp.jit(f)
    for n in LENGTHS:
        mine, theirs = Detector(n), Detector(n)
        assert_same(jitted(mine, VALUES), f(theirs, VALUES))
        assert vars(mine).keys() == vars(theirs).keys()
        assert all(type(x) is int for x in mine.places)
        for name, value in vars(theirs).items():
            assert_same(getattr(mine, name), value)
    assert tnp.cache_info(jitted).size == 2, tnp.explain(jitted)
    assert f is not handed_on or mine.other is mine.places


def changed(d, x):
    d.places[0] = d.places[1] + 1
    d.places.pop()
    return x * d.places[0]


def grown(d, x):
    d.places.append(float(x[3, 1]))
    return x * d.places[-1] + len(d.places)


def searched(d, x):
    return [p + 1 for p in d.places], d.places[1:3], 3.0 in d.places, sorted(d.places), x + max(d.places)


@pytest.mark.parametrize("f", [changed, grown, searched])
def test_what_more_is_done_with_them(f):
    jitted = tnp.jit(f)
    for n in LENGTHS:
        mine = Detector(n, float)
        theirs = copy.deepcopy(mine)
        for _ in range(2):
            assert_same(jitted(mine, VALUES), f(theirs, VALUES))
            assert_same(mine.places, theirs.places)
