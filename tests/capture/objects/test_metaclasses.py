"""Objects of classes whose metaclass runs code of the user's where a class is made."""

from abc import ABC, ABCMeta, abstractmethod
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


class Layer(ABC):
    """A base whose own base has another layout, and that keeps a record of its subclasses."""

    known: ClassVar[list[type]] = []

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        Layer.known.append(cls)

    def __init__(self):
        self.kept = None

    @abstractmethod
    def update(self, x): ...


class Growing(Layer):
    def update(self, x):
        self.kept = x if self.kept is None else np.concatenate([self.kept, x])
        return self.kept


class WithSlots(metaclass=ABCMeta):  # noqa: B024 (it is what is tested)
    __slots__ = ("a",)

    def __init_subclass__(cls):
        Layer.known.append(cls)

    def __init__(self, a):
        self.a = a


class MoreSlots(WithSlots):
    __slots__ = ("b",)

    def __init__(self, a):
        super().__init__(a)
        self.b = a * 2


def test_bases_that_keep_a_record():
    def made(x):
        layer, slots = Growing(), MoreSlots(x)
        layer.update(x)
        return layer.update(x * 2) + np.sum(slots.a + slots.b), layer

    def given(x, layer):
        return layer.update(x), layer.kept.sum()

    before = list(Layer.known)
    jitted = tnp.jit(made, strict=True)
    for x in (X, X + 1):
        (y, layer), (expected, other) = jitted(x), made(x)
        assert_same(y, expected)
        assert type(layer) is Growing
        assert_same(layer.kept, other.kept)
    mine, theirs, jitted = Growing(), Growing(), tnp.jit(given)
    for _ in range(3):
        assert_same(jitted(X, mine), given(X, theirs))
    assert before == Layer.known
