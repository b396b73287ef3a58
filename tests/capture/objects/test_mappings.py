"""Mappings of classes that inherit from ``dict``: what a program reads of them is an input."""

import sys
from collections import OrderedDict

import numpy as np
import pytest

import tnp
from tnp.api import programs_of
from tnp.core import pytree
from tnp.testing import assert_same

X = np.linspace(0.1, 1, 20)


class Frozen(OrderedDict):
    """A configuration whose items are attributes, too."""

    def __init__(self, **items):
        super().__init__(**items)
        for key, value in items.items():
            setattr(self, key, value)
        self.__frozen = True

    def __setitem__(self, key, value):
        if getattr(self, "_Frozen__frozen", False):
            raise TypeError("frozen")
        super().__setitem__(key, value)


class Dotted(dict):
    """Items as attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def twice(self):
        return self["scale"] * 2

    def scaled(self, x):
        return x * self.scale


class Counting(dict):
    """A class with its own way of reading."""

    def __getitem__(self, key):
        self.count = vars(self).get("count", 0) + 1
        return super().__getitem__(key)


class Registry(dict):
    """A class that makes what it lacks."""

    def __init__(self, **items):
        super().__init__(**items)
        self.name = "sine"

    def __getitem__(self, key):
        try:
            return super().__getitem__(key)
        except KeyError:
            self[key] = np.cos
            return super().__getitem__(key)

    def __contains__(self, key):
        return super().__contains__(key.lower())

    def get(self, key, default=None):
        return super().get(key.lower(), default)

    @property
    def active(self):
        return self[self.name]


def compiled(f, *args):
    jitted = tnp.jit(f, strict=True)
    for _ in range(3):
        assert_same(jitted(*args), f(*args))
    return jitted


def test_items_and_attributes():
    def f(x, c):
        y = np.sin(x) * c.scale if c["kind"] == "sin" else x
        for _ in range(c.times):
            y = y + c["shift"]
        return y, c.get("absent"), c.get("absent", 3), "kind" in c, "absent" in c, len(c), list(c), bool(c)

    jitted = compiled(f, X, Frozen(scale=2.0, kind="sin", times=3, shift=np.ones(20)))
    for other in (
        Frozen(scale=3.0, kind="sin", times=3, shift=np.ones(20)),
        Frozen(scale=3.0, kind="cos", times=3, shift=np.zeros(20)),
        Frozen(scale=3, kind="sin", times=4, shift=np.ones(20), more=1),
        Frozen(scale=3, kind="sin", times=4, shift=np.ones(20), absent=1),
    ):
        assert_same(jitted(X, other), f(X, other))


def test_methods_properties_and_getattr():
    def f(x, c):
        return c.scaled(np.sin(x)) + c.twice, [(k, v) for k, v in c.items()], list(c.values()), dict(c)

    jitted = compiled(f, X, Dotted(scale=2.0, n=1))
    assert_same(jitted(X, Dotted(scale=5.0, n=2)), f(X, Dotted(scale=5.0, n=2)))


@pytest.mark.filterwarnings("ignore:.* runs ")
def test_what_is_missing_raises():
    with pytest.raises(KeyError, match="absent"):
        tnp.jit(lambda x, c: x * c["absent"])(X, Dotted())
    with pytest.raises(AttributeError, match="absent"):
        tnp.jit(lambda x, c: x * c.absent)(X, Dotted())


def test_an_attribute_that_hides_a_method():
    c = Dotted(scale=2.0)
    jitted = compiled(lambda x, c: c.scaled(x), X, c)
    c.__dict__["scaled"] = lambda x: x + 1
    assert_same(jitted(X, c), X + 1)


def test_it_is_the_callers_object():
    def f(x, c):
        return c, isinstance(c, dict), type(c) is Dotted, x + 1

    c = Dotted(a=1)
    assert tnp.jit(f, strict=True)(X, c)[:3] == (c, True, True)
    assert tnp.jit(f)(X, c)[0] is c


@pytest.mark.filterwarnings("ignore:.* runs ")
def test_python_runs_what_changes_one_or_reads_in_another_way():
    def change(x, c):
        y = np.sin(x) * 2 + 1
        c["n"] = 3
        return np.cos(y) * 2 + c["n"]

    c = Dotted(n=1)
    jitted = tnp.jit(change)
    for _ in range(3):
        assert_same(jitted(X, c), np.cos(np.sin(X) * 2 + 1) * 2 + 3)
    assert c == {"n": 3}

    counting = Counting(n=2.0)
    count = tnp.jit(lambda x, c: np.sin(x) * c["n"] + 1)
    for _ in range(3):
        assert_same(count(X, counting), np.sin(X) * 2.0 + 1)
    assert counting.count == 3


def test_modules_that_are_loaded():
    def f(x):
        if "tnp_of_nothing" in sys.modules:
            return x
        library = sys.modules.get("numpy")
        return library.sin(x) * (2 if sys.modules["sys"] is sys else 3)

    jitted = tnp.jit(f, strict=True)
    assert_same(jitted(X), np.sin(X) * 2)
    sys.modules["another_of_nothing"] = sys
    sys.modules["tnp_of_nothing"] = sys
    try:
        assert_same(jitted(X), X)
        del sys.modules["tnp_of_nothing"]
        assert_same(jitted(X), np.sin(X) * 2)
        assert len(programs_of(jitted)) == 2
    finally:
        del sys.modules["another_of_nothing"]


class _Settings(dict):
    pass


class _OrderedSettings(OrderedDict):
    pass


@pytest.mark.filterwarnings("ignore:.* runs ")
@pytest.mark.parametrize("kind", [dict, OrderedDict, _Settings, _OrderedSettings])
@pytest.mark.parametrize("method", ["keys", "values", "items"])
def test_views_of_mappings_are_views(kind, method):
    def returned(x, d):
        return getattr(d, method)()

    def used(x, d):
        return [x * len(list(y)) if isinstance(y, tuple) else x for y in getattr(d, method)()]

    d = kind(a=X, b=X + 1)
    for _ in range(2):
        jitted = tnp.jit(returned)
        assert type(jitted(X, d)) is type(returned(X, d))
        assert_same(tnp.jit(used)(X, d), used(X, d))


def test_ordered_dicts_are_taken_apart_as_optree_does():
    """A dict of the caller's, again with other values and with other keys."""
    optree = pytest.importorskip("optree")
    given = OrderedDict(b=np.ones(3), a=2.0)
    for _ in range(2):
        children, metadata, _, unflatten = optree.tree_flatten_one_level(given, none_is_leaf=True)
        assert pytree.flatten(given) == (list(children), metadata, unflatten)

    def f(d, x):
        return d["b"] * x + d["a"], OrderedDict(d, c=x), list(d)

    jitted = tnp.jit(f)
    for d in (
        given,
        OrderedDict(b=np.zeros(3), a=3.5),
        OrderedDict(a=1.0, b=np.ones(3)),
        OrderedDict(a=1, b=2, e=3),
        given,
    ):
        assert_same(jitted(d, np.arange(3.0)), f(d, np.arange(3.0)))


def test_methods_that_read_items_otherwise():
    def f(x):
        number = registry.get("SCALE", 1.0) * ("SINE" in registry) + ("none" in registry)
        return registry.active(x) * number, len(registry), list(registry)

    registry = Registry(sine=np.sin, scale=3.0)
    jitted = compiled(f, X)
    registry["scale"] = 4.0
    assert_same(jitted(X), f(X))


@pytest.mark.filterwarnings("ignore:.* runs ")
def test_methods_that_change_what_they_read_are_pythons():
    mine, left = Registry(sine=np.sin), Registry(sine=np.sin)
    jitted = tnp.jit(lambda x, r: r["other"](x) + 1)
    for _ in range(3):
        assert_same(jitted(X, mine), left["other"](X) + 1)
        assert mine == left
