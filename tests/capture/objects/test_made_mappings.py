"""Objects that a program makes of classes that inherit from dict: methods of dict are called on them."""

from collections import OrderedDict
from dataclasses import dataclass, fields

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

X = np.arange(1.0, 5.0)


class Bunch(dict):
    """A dict whose items are attributes."""

    def __init__(self, *args, **kwargs):
        dict.__init__(self)
        for arg in args:
            self.update(arg)
        self.update(kwargs)

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error

    def __setattr__(self, name, value):
        self[name] = value


def attributes(x):
    b = Bunch({"a": x * 2}, c=3)
    b.d = b.a + 1
    b["e"] = b.d * b.c
    return b.e, len(b), sorted(b), "a" in b, b.get("z"), [k for k, _ in b.items()]


def taken_away(x):
    b = Bunch(a=x, b=x + 1)
    y = b.pop("b")
    b.setdefault("q", y)
    copied = b.copy()
    b.clear()
    return y, len(b), copied["q"]


def in_a_loop(x):
    b = Bunch(a=x, n=0)
    for i in range(100):
        b.update({"a": b.a * 0.9 + i, "n": b["n"] + 1})
    return b.a, b.n


def in_a_branch(x):
    b = Bunch(a=x)
    if x.sum() > 100:
        b.update(a=x * 2)
    else:
        b.pop("a")
        b.c = 1
    return sorted(b), len(b)


@pytest.mark.parametrize("f", [attributes, taken_away, in_a_loop, in_a_branch])
def test_methods_of_dict(f):
    jitted = tnp.jit(f)
    for x in (X, X * 100, X, X * 100):
        assert_same(jitted(x), f(x))
    text = str(tnp.explain(jitted))
    assert "eager" not in text and "in parts" not in text, text


def test_returned_objects_are_of_the_class():
    def f(x):
        b = Bunch(a=x * 2)
        b.z = 1
        return b

    found = tnp.jit(f)(X)
    assert type(found) is Bunch
    assert found.z == 1
    assert_same(found["a"], X * 2)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_the_callers_object_is_changed():
    def f(x, o):
        o.update(k=x * 2)
        return o.k + 1

    mine, theirs = Bunch(a=1), Bunch(a=1)
    assert_same(tnp.jit(f)(X, mine), f(X, theirs))
    assert_same(mine["k"], theirs["k"])


class Output(OrderedDict):
    """Results that are attributes and items, both kept by ``super()``."""

    def __post_init__(self):
        for field in fields(self):
            value = self.__dict__.get(field.name)
            if value is not None:
                self[field.name] = value

    def __setattr__(self, name, value):
        if name in {field.name for field in fields(self)} and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def __getitem__(self, key):
        return dict(self.items())[key] if isinstance(key, str) else self.to_tuple()[key]

    def to_tuple(self):
        return tuple(self[key] for key in self.keys())


@dataclass
class States(Output):
    last: object = None
    first: object = None


@dataclass
class PlainStates(dict):
    last: object = None

    def __setattr__(self, name, value):
        super().__setitem__(name, value)
        dict.__setitem__(self, "again", value)
        super().__setattr__(name, value)


def test_items_stored_by_super():
    def f(x):
        made = States(last=x * 2)
        made["first"] = made.last + x
        return made, made[0] + made.first

    def plain(x):
        made = PlainStates(last=x * 2)
        return made, made["last"] + made["again"]

    for g in (f, plain):
        jitted = tnp.jit(g, strict=True)
        for x in (X, X * 3):
            (found, y), (expected, z) = jitted(x), g(x)
            assert type(found) is type(expected)
            assert list(found) == list(expected) and list(vars(found)) == list(vars(expected))
            assert_same([dict.__getitem__(found, k) for k in found], [dict.__getitem__(expected, k) for k in expected])
            assert_same([found.__dict__[k] for k in vars(expected)], list(vars(expected).values()))
            assert_same(y, z)
