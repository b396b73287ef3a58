"""Descriptors, ``__setattr__``, ``__getattr__`` and ``__getattribute__`` of the user's, on arguments and on objects that a program makes."""

import functools

import numpy as np
import pytest

import tnp
from tests.eager_checks import as_plain
from tnp.testing import assert_same

K = 2.0
X = np.arange(1.0, 5)


class Reify:
    def __init__(self, method):
        self.method = method
        functools.update_wrapper(self, method)

    def __get__(self, instance, owner):
        if instance is None:
            return self
        value = instance.__dict__[self.__name__] = self.method(instance)
        return value


class Scaled:
    """Another attribute in another unit."""

    def __init__(self, name, factor):
        self.name, self.factor = name, factor

    def __get__(self, instance, owner):
        return self if instance is None else getattr(instance, self.name) * self.factor * K

    def __set__(self, instance, value):
        setattr(instance, self.name, value / self.factor / K)


class Lazy:
    def __init__(self, method):
        self.method = method

    def __set_name__(self, owner, name):
        self.key = "_" + name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        try:
            return instance.__dict__[self.key]
        except KeyError:
            return instance.__dict__.setdefault(self.key, self.method(instance))


class OfClass:
    def __init__(self, function):
        self.function = function

    def __get__(self, instance, owner):
        return self.function(owner)


class Length:
    unit = 3.0
    metres = Scaled("km", 1000.0)

    def __init__(self, km):
        self.km = km

    @Reify
    def double(self):
        return self.km * K

    @Lazy
    def sine(self):
        return np.sin(self.km)

    @functools.cached_property
    def cosine(self):
        return np.cos(self.km) * K

    @OfClass
    def units(cls):
        return cls.unit * K

    def all_of_it(self):
        return self.double + self.sine + self.cosine * self.units


class Outer:
    def __init__(self, km):
        self.km = km

    @Reify
    def inner(self):
        return Length(self.km)


def all_twice(t):
    return t.all_of_it() + t.all_of_it(), "double" in t.__dict__, hasattr(t, "sine")


def set_by_a_descriptor(t):
    t.metres = t.metres * 3
    t.metres += 1.0
    return t.km, t.metres


def of_the_class(t):
    return t.units * t.km, type(t).double.__name__, Length.units


def in_a_branch(t):
    return t.double if t.km.sum() > 11 else t.km


def in_a_loop(t):
    s = t.km
    for _ in range(50):
        s = s + t.double * 0.1
    return s


def listed(t):
    return list(vars(t)), dict(vars(t)), {**vars(t)}, len(vars(t)), next(iter(vars(t).values())) * 2


def updated(t):
    t.__dict__.update(km=t.km * 2, other=3.0)
    vars(t)["more"] = t.other * t.km
    return vars(t).get("more"), "none" in vars(t), vars(t).pop("none", 3)


@pytest.mark.parametrize("f", [all_twice, set_by_a_descriptor, of_the_class, in_a_branch, in_a_loop, listed, updated])
def test_descriptors(f):
    jitted, makes = tnp.jit(f, strict=True), tnp.jit(lambda x: f(Length(x)), strict=True)
    for x in (X, X * 2, X):
        mine, others = Length(x), Length(x)
        for _ in range(3):
            assert_same(as_plain(jitted(mine)), as_plain(f(others)))
            assert_same(as_plain(mine), as_plain(others))
        assert_same(as_plain(makes(x)), as_plain(f(Length(x))))


def test_objects_that_descriptors_keep():
    def f(o):
        return o.inner.double + o.inner.sine

    mine, others, jitted = Outer(X), Outer(X), tnp.jit(f, strict=True)
    for _ in range(3):
        assert_same(jitted(mine), f(others))
    assert_same(as_plain(mine), as_plain(others))
    assert_same(tnp.jit(lambda x: f(Outer(x)), strict=True)(X), f(Outer(X)))


def test_a_descriptor_that_changes():
    jitted = tnp.jit(set_by_a_descriptor, strict=True)
    for factor in (1000.0, 100.0, 1000.0):
        vars(Length)["metres"].factor = factor
        assert_same(jitted(Length(X)), set_by_a_descriptor(Length(X)))


class Doubling:
    def __init__(self, v):
        self.v = v

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * K if name == "v" else value)


class Counting:
    def __init__(self, v):
        self.n = 0
        self.v = v

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "v":
            super().__setattr__("n", self.n + 1)


class Refusing:
    def __init__(self, v):
        self.v = v

    def __setattr__(self, name, value):
        if name.startswith("q"):
            raise AttributeError("no " + name)
        self.__dict__[name] = value


class Holding:
    def __init__(self, v):
        object.__setattr__(self, "held", {"v": v})

    def __getattr__(self, name):
        try:
            return self.held[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self.held[name] = value


class Looking:
    def __init__(self, v):
        self.v = v

    def __getattribute__(self, name):
        value = object.__getattribute__(self, name)
        return value * K if name == "v" else value


class LookingTwice:
    def __init__(self, v):
        self.v = v

    def __getattribute__(self, name):
        return super().__getattribute__("v") * 2 if name == "twice" else super().__getattribute__(name)


def plain(s):
    s.v = s.v + 1
    s.w = s.v * 2
    return s.v, s.w, hasattr(s, "none"), getattr(s, "twice", 3) * s.v


def refused(s):
    try:
        s.q = 3
    except AttributeError as error:
        return s.v * 2, str(error)
    return s.v


def loop(s):
    for _ in range(40):
        s.v = s.v * 0.9
    return s.v


def branch(s):
    if s.v.sum() > 11:
        s.v = s.v * 2
    return s.v


KINDS = [Doubling, Counting, Refusing, Holding, Looking, LookingTwice]


@pytest.mark.parametrize("f", [plain, refused, loop, branch])
@pytest.mark.parametrize("kind", KINDS)
def test_methods_that_look_up_and_assign(f, kind):
    jitted, makes = tnp.jit(f, strict=True), tnp.jit(lambda x: f(kind(x)), strict=True)
    for x in (X, X * 3, X):
        mine, others = kind(x), kind(x)
        for _ in range(2):
            assert_same(jitted(mine), f(others))
            assert_same(object.__getattribute__(mine, "__dict__"), object.__getattribute__(others, "__dict__"))
        assert_same(makes(x), f(kind(x)))


def test_objects_returned():
    def f(x):
        return [kind(x) for kind in KINDS]

    for made, others in zip(tnp.jit(f, strict=True)(X), f(X), strict=True):
        assert type(made) is type(others)
        assert_same(object.__getattribute__(made, "__dict__"), object.__getattribute__(others, "__dict__"))


class Table:
    scale = 2.0

    def __init__(self, values):
        self.values = values
        self.kept = self.columns

    @property
    def columns(self):
        return self.values * K if len(self.values) > 2 else self.values  # K is another one in later calls


class CachedTable(Table):
    scale = 3.0

    def __init__(self, *args):
        self._columns = None
        super().__init__(*args)

    @property
    def columns(self):
        if self._columns is None:
            self._columns = super().columns * super().scale
        return self._columns + self.scale


@pytest.mark.parametrize("f", [lambda x: CachedTable(x).kept, lambda x: CachedTable(np.stack([x, x])).columns])
def test_properties_and_constants_by_super(f, monkeypatch):
    jitted = tnp.jit(f, strict=True)
    for k in (2.0, 5.0, 2.0):
        monkeypatch.setitem(globals(), "K", k)
        assert_same(jitted(X), f(X))
