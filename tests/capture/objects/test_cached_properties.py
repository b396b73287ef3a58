"""``functools.cached_property`` of the caller's objects and of those that a program makes."""

import functools

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

SCALE = 2.0


class Vector:
    def __init__(self, x):
        self.x = x
        self.calls = 0

    @functools.cached_property
    def norm(self):
        self.calls += 1
        return np.sqrt((self.x**2).sum()) * SCALE


class OwnCache:
    """The same by a descriptor of the user's."""

    def __init__(self, function):
        self.function, self.name = function, function.__name__

    def __get__(self, instance, owner=None):
        value = instance.__dict__[self.name] = self.function(instance)
        return value


class Other(Vector):
    @OwnCache
    def norm(self):
        self.calls += 1
        return np.sqrt((self.x**2).sum()) * 3


def twice(x, v):
    return x * v.norm + v.norm


def in_a_branch(x, v):
    if x.sum() > 0:
        return x * v.norm
    return x


def in_a_loop(x, v):
    for _ in range(50):
        x = x * v.norm
        if x.sum() > 1e10:
            break
    return x


def of_an_object_that_is_made(x, v):
    made = Vector(x + 2)
    return made.norm + made.norm, made.calls, "norm" in vars(made)


def assigned(x, v):
    v.norm = x.sum()
    return x * v.norm


FUNCTIONS = [twice, in_a_branch, in_a_loop, of_an_object_that_is_made, assigned]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("kind", [Vector, Other])
@pytest.mark.filterwarnings("ignore:.* runs ")
def test_cached_properties(f, kind, monkeypatch):
    jitted = tnp.jit(f)
    for sign in (1.0, -1.0, 1.0):
        mine, left = kind(np.arange(1.0, 3)), kind(np.arange(1.0, 3))
        for _ in range(2):
            x = np.full(3, sign) * 0.1
            assert_same(jitted(x.copy(), mine), f(x.copy(), left))
            assert list(vars(mine)) == list(vars(left)) and mine.calls == left.calls
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert_same(jitted(np.ones(3), kind(np.ones(2))), f(np.ones(3), kind(np.ones(2))))


def test_a_cached_property_is_compiled():
    jitted, v = tnp.jit(twice, strict=True), Vector(np.ones(2))
    for expected in (2, 2):
        assert_same(jitted(np.ones(3), v), twice(np.ones(3), v))
        assert tnp.cache_info(jitted).misses <= expected


def test_guards_do_not_compute_a_property():
    jitted = tnp.jit(in_a_branch)
    known, unknown = Vector(np.ones(2)), Vector(np.ones(2))
    assert known.norm and known.calls == 1
    assert_same(jitted(np.ones(3), known), in_a_branch(np.ones(3), known))
    assert_same(jitted(-np.ones(3), unknown), -np.ones(3))
    assert unknown.calls == 0 and "norm" not in vars(unknown)
