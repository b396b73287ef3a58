"""Objects of classes whose metaclass runs code of the user's where a class is made."""

from abc import ABCMeta, abstractmethod
from typing import ClassVar

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

X = np.arange(4.0)


class Naming(ABCMeta):
    """Writes down what it makes, and gives it an attribute and arguments of its own."""

    known: ClassVar[list[str]] = []

    def __new__(cls, name, bases, space, factor):
        made = super().__new__(cls, name, bases, space)
        made.factor = factor
        return made

    def __init__(cls, name, bases, space, factor):
        super().__init__(name, bases, space)
        Naming.known.append(cls)

    def __setattr__(cls, name, value):
        if name == "__bases__":
            raise AssertionError(name)
        super().__setattr__(name, value)


class Named(metaclass=Naming, factor=2.0):
    def __init__(self, c):
        self.c = c
        self.calls = 0

    def __init_subclass__(cls):
        Naming.known.append("subclass")

    @abstractmethod
    def scaled(self, x): ...

    @property
    def both(self):
        return self.c * self.factor


class Scaled(Named, factor=3.0):
    def scaled(self, x):
        self.calls += 1
        return np.sin(x) * self.both

    def other(self, x):
        made = Scaled(self.c + 1.0)
        is_it = type(made) is Scaled, isinstance(made, Named), issubclass(type(made), Named)
        return made.scaled(x), made, is_it

    def none(self, x):
        try:
            return Named(x)
        except TypeError:
            return x + self.factor


@pytest.mark.parametrize("method", [Scaled.scaled, Scaled.other, Scaled.none])
def test_classes_whose_metaclass_runs_code(method):
    known = list(Naming.known)
    left, mine = Scaled(2.0), Scaled(2.0)
    expected, found = method(left, X), tnp.jit(method, strict=True)(mine, X)
    if method is Scaled.other:
        assert type(found[1]) is Scaled and vars(found[1]) == vars(expected[1])
        found, expected = (found[0], found[2]), (expected[0], expected[2])
    assert_same(found, expected)
    assert vars(mine) == vars(left)
    assert Naming.known == known
