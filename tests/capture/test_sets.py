"""Sets of functions, classes and enumerations that a program looks into: it holds while they have the same elements."""

import enum

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

X = np.linspace(0.1, 1, 5)


class Mode(enum.Enum):
    ADD = 1
    SCALE = 2


class First:
    factor = 2.0


class Second(First):
    factor = 3.0


def half(x):
    return x / 2


def third(x):
    return x / 3


KINDS = {First, float}
FUNCTIONS = {np.sin, half, len}
MODES = frozenset((Mode.ADD,))


def choose(x, thing, function, mode):
    result = x * 2 if type(thing) in KINDS else x * 3
    if function in FUNCTIONS:
        result = result * 10
    if mode in MODES:
        result = result + sum(f(x) for f in FUNCTIONS if f is half or f is third)
    return result + thing.factor


def test_sets_of_functions_classes_and_enumerations(monkeypatch):
    jitted = tnp.jit(choose, strict=True)

    def check():
        for thing in (First(), Second()):
            for function in (np.sin, np.cos, half):
                for mode in Mode:
                    assert_same(jitted(X, thing, function, mode), choose(X, thing, function, mode))

    with monkeypatch.context() as m:
        for name, value in (
            ("KINDS", {First, float}), ("KINDS", {First, Second}), ("FUNCTIONS", {half, third}), ("MODES", frozenset(Mode))
        ):  # fmt: skip
            m.setitem(globals(), name, value)
            check()
        m.setattr(third, "__code__", (lambda x: x * 7).__code__)
        check()
        KINDS.discard(First)
        check()


@pytest.mark.filterwarnings("ignore:.* runs eagerly")
@pytest.mark.parametrize("kinds", [{float}, {float, np.ndarray}])
def test_a_set_that_gets_a_class(kinds):
    def add(x, kinds):
        kinds.add(type(x))
        return x * 2

    mine, left = set(kinds), set(kinds)
    assert_same(tnp.jit(add)(X, mine), add(X, left))
    assert mine == left


class Equal(type):
    """Its classes are equal to any other."""

    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return 1


class Same(metaclass=Equal):
    factor = 4.0


@pytest.mark.filterwarnings("ignore:.* runs eagerly")
def test_a_set_of_classes_that_compare_themselves_is_python_s():
    jitted = tnp.jit(lambda x, kinds: x * 2 if Second in kinds else x * 3)
    for kinds in ({Same}, {First}, {Second}):
        assert_same(jitted(X, kinds), X * (2 if Second in kinds else 3))
