"""Copies that a program makes of its arguments, and the names that modules make when they are asked for."""

import copy
import sys
import types

import numpy as np
import pytest

import tnp
from tests.eager_checks import as_plain, not_compiled_whole
from tnp.testing import assert_same

X = np.arange(4.0)


class Inner:
    def __init__(self, x):
        self.x = x
        self.items = [x, 2.0]
        self.table = {"a": x}
        self.n = 3

    def __getitem__(self, key):
        return self.x[key] * 2

    def __mul__(self, k):
        made = copy.deepcopy(self)
        made.x = made.x * k
        made.items[0] = made.items[0] + 1
        return made


class Outer:
    def __init__(self, x):
        self.x = self.y = x
        self.inner = Inner(x)
        self.itself = self
        self.rest = {1, 2}, (x, 1)


class Says:
    def __init__(self, x):
        self.x = x

    def __deepcopy__(self, memo):
        return Says(self.x * 2)

    def __copy__(self):
        return Says(self.x * 3)


class Keeps:
    def __init__(self, x):
        self.x = x

    def __getstate__(self):
        return {"x": self.x * 5}


def written_afterwards(o):
    c = copy.deepcopy(o)
    o.x[0] = 7
    o.inner.x[1] = 9
    return c, c.x is c.y, c.itself is c, c.inner.items[0] is c.x, o.x


def shallow(o):
    c = copy.copy(o)
    c.inner.x[0] = 5
    c.new = c.x * 2
    return c, c.inner is o.inner, o.x


def changed(o):
    c = copy.deepcopy(o)
    c.inner.x = c.inner.x * 2
    return c.inner, o.inner.x, (o.inner * 2).items, o.inner * 3


@pytest.mark.parametrize("f", [written_afterwards, shallow, changed])
def test_copies(f):
    jitted = tnp.jit(f, strict=True)
    for x in (X, X + 1, X):
        mine, others = Outer(x.copy()), Outer(x.copy())
        result, expected = jitted(mine), f(others)
        mine.itself = others.itself = None
        for c in (result[0], expected[0]):
            vars(c).pop("itself", None)
        assert_same(as_plain(result), as_plain(expected))
        assert_same(as_plain(mine), as_plain(others))


def test_classes_that_say_how_they_are_copied():
    def f(o):
        return copy.deepcopy(o).x, copy.copy(o).x

    assert_same(tnp.jit(f, strict=True)(Says(X)), f(Says(X)))
    with not_compiled_whole("whose class says how"):
        assert_same(tnp.jit(lambda o: copy.deepcopy(o).x + 1)(Keeps(X)), X * 5 + 1)


@pytest.mark.parametrize("key", [2, np.array([1, 2]), slice(1, 3)])
def test_items_of_objects_at_traced_positions(key):
    def f(o, key):
        return o[key]

    assert_same(tnp.jit(f, strict=True)(Inner(X), key), f(Inner(X), key))


class Api(types.ModuleType):
    """A module in another's place."""

    def __init__(self, module):
        self.__dict__.update(_module=module, _gone={"old"})

    def __getattr__(self, name):
        if name in self._gone:
            raise AttributeError(name)
        return getattr(self._module, name)


def test_names_that_modules_make():
    lazy = types.ModuleType("lazy")
    lazy.K = 3.0
    lazy.__getattr__ = made_names
    api = Api(lazy)

    def f(x):
        return lazy.gain * x, api.gain + api.K, hasattr(lazy, "none"), hasattr(api, "old")

    jitted = tnp.jit(f, strict=True)
    assert_same(jitted(X), f(X))
    GAIN["value"] = 4.0
    assert_same(jitted(X), f(X))
    lazy.gain = 5.0
    assert_same(jitted(X), f(X))
    lazy.none = api.old = 1
    assert_same(jitted(X), f(X))
    assert "lazy" not in sys.modules


class Chosen:
    """An attribute of the backend that is chosen."""

    def __init__(self, name):
        self.name = name

    def __get__(self, instance, kind=None):
        return getattr(kind.backend, self.name)


class Backend(types.ModuleType):
    """A module with what its class has: functions, numbers, properties, and what a backend has."""

    backend = types.SimpleNamespace(power=2.0, scaled=np.sin)
    factor = 3.0
    power = Chosen("power")

    @staticmethod
    def scaled(x):
        return Backend.backend.scaled(x) * 2

    @classmethod
    def chosen(cls, x):
        return cls.backend.power + x

    def doubled(self, x):
        return self.factor * x * self.own

    @property
    def half(self):
        return self.own / 2


def test_what_the_class_of_a_module_has():
    backend, front = Backend("backend"), types.ModuleType("front")
    backend.own = 5.0
    front.__getattr__ = backend.__getattribute__

    def f(x):
        y = backend.scaled(x) + backend.factor * backend.doubled(x) + backend.half
        return y, front.scaled(x) * front.own, backend.chosen(x) ** front.power, hasattr(front, "none")

    def check():
        assert_same(jitted(X), f(X))

    jitted = tnp.jit(f, strict=True)
    before = dict(vars(Backend))
    check()
    backend.own = 6.0
    check()
    front.power = 1.5
    check()
    Backend.backend = types.SimpleNamespace(power=3.0, scaled=np.cos)
    check()
    Backend.factor = 4.0
    Backend.scaled = staticmethod(lambda x: x * 7)
    check()
    Backend.half = 11.0
    check()
    backend.scaled = lambda x: x - 1
    check()
    front.none = front.scaled = np.exp
    check()
    for name in ("backend", "factor", "scaled", "half"):
        setattr(Backend, name, before[name])


GAIN = {"value": 2.0}


def made_names(name):
    if name == "gain":
        return GAIN["value"]
    raise AttributeError(name)
