"""Enumerations as arguments, defaults and items: they are compared by identity."""

import enum

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

X = np.arange(3.0)


class Mode(str, enum.Enum):  # noqa: UP042 (what most programs have)
    DOUBLE = "double"
    HALVE = "halve"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Factor(float, enum.Enum):
    SMALL = 0.5
    LARGE = 1.5


class Way(enum.Flag):
    UP = enum.auto()
    DOWN = enum.auto()


class Odd(enum.Enum):
    ONE = "one"

    def __eq__(self, other):
        raise AssertionError("a guard compared it")

    __hash__ = None


def by_default(x, mode=Mode.DOUBLE):
    return x * 2 if mode == "double" else x / 2


def of_any(x, value):
    return x + (2 if value == "double" else 1), value, type(value)


def of_items(x, values):
    return [x * len(values), *values]


VALUES = [*Mode, *Level, *Factor, *Way, Way.UP | Way.DOWN]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("wrap", [list, tuple, dict.fromkeys])
def test_enumerations(value, wrap):
    for f, argument in ((by_default, value), (of_any, value), (of_items, wrap([value]))):
        jitted = tnp.jit(f)
        for _ in range(2):
            found, expected = jitted(X, argument), f(X, argument)
            assert_same(found[0] if f is not by_default else found, expected[0] if f is not by_default else expected)
            assert f is by_default or repr(found[1:]) == repr(expected[1:])


def test_another_member_is_another_program():
    jitted = tnp.jit(by_default)
    for mode in (*Mode, *Mode, "double"):
        assert_same(jitted(X, mode), by_default(X, mode))
    assert_same(jitted(X), by_default(X))


def test_members_are_compared_by_identity():
    jitted = tnp.jit(lambda x, value: x * 2)
    for _ in range(3):
        assert_same(jitted(X, Odd.ONE), X * 2)


class Spoken(str, enum.Enum):  # noqa: UP042 (what most programs have)
    """Members with a method that Python calls by itself."""

    MEAN = "mean"
    SUM = "sum"

    def __str__(self):
        return f"{OPENING}{self.value}"


class Hidden(enum.Enum):
    ONE = 1

    @property
    def value(self):
        return len(OPENING)

    def __str__(self):
        return "one"


OPENING = "by "


def test_values_of_members_with_methods_of_their_own():
    def reduced(x, how):
        if how.value == Spoken.MEAN.value:
            return x.mean()
        return x.sum() if how.name == "SUM" and how is Spoken.SUM else x

    jitted = tnp.jit(reduced, strict=True)
    for how in (Spoken.MEAN, Spoken.SUM, Spoken.MEAN, Mode.DOUBLE, Spoken.SUM):
        assert_same(jitted(X, how), reduced(X, how))
    assert tnp.cache_info(jitted).misses == 3


@pytest.mark.filterwarnings("ignore:.* runs :tnp.EagerFallbackWarning")
def test_methods_of_members_are_pythons(monkeypatch):
    spoken = tnp.jit(lambda x, how: x * len(str(how)))
    hidden = tnp.jit(lambda x, how: x * how.value)
    for opening in ("by ", "through "):
        monkeypatch.setitem(globals(), "OPENING", opening)
        assert_same(spoken(X, Spoken.SUM), X * len(f"{opening}sum"))
        assert_same(hidden(X, Hidden.ONE), X * len(opening))
