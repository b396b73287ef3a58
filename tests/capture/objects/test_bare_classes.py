"""Classes with special methods but without ``__init__``, such as activations of networks, and special methods called by their names."""

import ast

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

XS = np.random.default_rng(0).normal(size=(30, 3))


class Leaky:
    def __call__(self, x):
        return np.where(x > 0, x, 0.1 * x)

    def gradient(self, x):
        return np.where(self.__call__(x) > 0, 1.0, 0.1)


class Shifted(Leaky):
    def __call__(self, x):
        return super().__call__(x) + 1


class Layer:
    def __init__(self, kind):
        self.activation = kind()

    def forward(self, x):
        return self.activation(x) * self.activation.gradient(x)


class Three:
    def __len__(self):
        return 3

    def __getitem__(self, i):
        return i * 2.0


class Doubling:
    def __add__(self, other):
        return other * 2.0

    def __eq__(self, other):
        return True

    __hash__ = object.__hash__


def made_and_called(x):
    return Leaky()(x) + Shifted()(x)


def made_by_others(x):
    return Layer(Leaky).forward(x), Layer(Shifted).forward(x)


def in_a_loop(x):
    total = 0.0
    for i in range(len(x)):
        total += Leaky()(x[i, 0])
    return total


def by_name(x):
    items = Three()
    return x[: items.__len__()] + items.__getitem__(1) + len(items), Doubling().__add__(x), Doubling() == 3


def by_the_class(x):
    return Leaky.__call__(Shifted(), x) - Leaky.gradient(Shifted(), x)


def as_a_function(x):
    return [f(x) for f in (Leaky(), Shifted().__call__)], sorted([3.0, 1.0], key=lambda v: -Leaky().__call__(v))


@pytest.mark.parametrize("f", [made_and_called, made_by_others, in_a_loop, by_name, by_the_class, as_a_function])
def test_objects_of_classes_without_init(f):
    jitted = tnp.jit(f, strict=True)
    for x in (XS, XS[:20], -XS):
        assert_same(jitted(x), f(x))


def of_an_argument(x, activation):
    return activation.__call__(x), activation.gradient(x)


@pytest.mark.parametrize("kind", [Leaky, Shifted])
def test_special_methods_of_arguments_by_their_names(kind):
    jitted = tnp.jit(of_an_argument, strict=True)
    for x in (XS, XS[:20]):
        assert_same(jitted(x, kind()), of_an_argument(x, kind()))


def returned(x):
    made = Leaky()
    made.rate = x * 2
    return made


def test_the_object_is_of_its_class():
    found = tnp.jit(returned, strict=True)(XS)
    assert type(found) is Leaky
    assert_same(found.rate, XS * 2)
    assert type(tnp.jit(returned, strict=True)(XS)) is Leaky


class Changing:
    def __call__(self, x):
        return x + 1


def with_changing(x):
    return Changing().__call__(x) + Changing()(x)


def test_a_method_that_is_exchanged():
    jitted, before = tnp.jit(with_changing, strict=True), Changing.__call__
    assert_same(jitted(XS), with_changing(XS))
    try:
        Changing.__call__ = lambda self, x: x * 3
        assert_same(jitted(XS), with_changing(XS))
    finally:
        Changing.__call__ = before
    assert_same(jitted(XS), with_changing(XS))


def given_what_it_does_not_take(x):
    return Leaky(x)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_arguments_that_a_class_does_not_take():
    for _ in range(3):
        with pytest.raises(TypeError, match=r"Leaky\(\) takes no arguments"):
            tnp.jit(given_what_it_does_not_take)(XS)


class Formula:
    def __init__(self, text):
        self.tree, self.scale = ast.parse(text), 2.0

    def applied(self, x):
        y = np.sin(x) * self.scale + x
        if self.tree is not None:
            y = y * 3
        self.scale += 1
        return y, self.tree


def test_an_attribute_of_a_class_in_c():
    """Syntax trees have attributes as objects of the user's have, and are made by code in C."""
    jitted = tnp.jit(Formula.applied, strict=True)
    for _ in range(2):
        mine, eagers = Formula("a + 1"), Formula("a + 1")
        (found, tree), (expected, _) = jitted(mine, np.arange(5.0)), eagers.applied(np.arange(5.0))
        assert_same(found, expected)
        assert tree is mine.tree and mine.scale == eagers.scale == 3.0
