"""Containers of the standard library, and the user's that inherit from them: read, changed, made and returned."""

import copy
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

import numpy as np
import pytest

import tnp
from tests.eager_checks import as_plain
from tnp.testing import assert_same

X = np.arange(1.0, 5)


class Lower(UserDict):
    """Keys in lower case."""

    def __setitem__(self, key, value):
        super().__setitem__(key.lower(), value)

    def __missing__(self, key):
        if key.lower() in self.data:
            return self.data[key.lower()]
        raise KeyError(key)


class Canonical(MutableMapping):
    """Keys that are equal whatever their case."""

    def __init__(self, data=None, **kwargs):
        self._data = {}
        self.update({} if data is None else data, **kwargs)

    def _key(self, key):
        for name in self._data:
            if name.lower() == key.lower():
                return name
        raise KeyError(key)

    def __getitem__(self, key):
        return self._data[self._key(key)]

    def __setitem__(self, key, value):
        self._data[key] = value

    def __delitem__(self, key):
        del self._data[self._key(key)]

    def __contains__(self, key):
        return any(key.lower() == name.lower() for name in self._data)

    def __iter__(self):
        yield from self._data.keys()

    def __len__(self):
        return len(self._data)


class ReadOnly(Mapping):
    def __init__(self, held):
        self.held = held

    def __getitem__(self, key):
        return self.held[key]

    def __iter__(self):
        return iter(self.held)

    def __len__(self):
        return len(self.held)


class Items(Sequence):
    def __init__(self, items):
        self.items = items

    def __getitem__(self, i):
        return self.items[i]

    def __len__(self):
        return len(self.items)


class Changing(Items, MutableSequence):
    def __setitem__(self, i, value):
        self.items[i] = value

    def __delitem__(self, i):
        del self.items[i]

    def insert(self, i, value):
        self.items.insert(i, value)


def read(d, x):
    return d["a"] * x + d.get("none", 1.0) + d.get("a", 5.0), "a" in d, bool(d), len(d)


def iterated(d, x):
    return [v * x for v in d.values()], list(d), dict(d), {**d}


def called_with(d, x):
    return (lambda x, **rest: x * rest["a"])(x, **d)


def stored(d, x):
    d["new"] = x * 2
    d["new"] += 1
    return d["new"]


def deleted(d, x):
    del d["a"]
    return x * len(d)


def cleared(d, x):
    d.clear()
    return x * len(d)


def returned(d, x):
    return d


MAPPINGS = {
    "UserDict": lambda v: UserDict(a=v, b=np.ones(4)),
    "Lower": lambda v: Lower({"A": v}),
    "Canonical": lambda v: Canonical({"A": v, "b": np.ones(4)}),
    "ReadOnly": lambda v: ReadOnly({"a": v}),
    "ChainMap": lambda v: ChainMap({"a": v}, {"b": 2.0}),
    "OrderedDict": lambda v: OrderedDict(a=v, b=3.0),
    "defaultdict": lambda v: defaultdict(float, a=v),
    "Counter": lambda v: Counter(a=int(v)),
}


@pytest.mark.parametrize("f", [read, iterated, called_with, stored, deleted, cleared, returned])
@pytest.mark.parametrize("kind", MAPPINGS)
def test_mappings(f, kind):
    if kind == "ReadOnly" and f in (stored, deleted, cleared):
        return
    if kind == "Canonical" and f is called_with:
        return  # it keeps the key "A"
    jitted = tnp.jit(f, strict=True)
    for v in (2.0, 3.0):
        mine, others = MAPPINGS[kind](v), MAPPINGS[kind](v)
        result = jitted(mine, X)
        assert (result is mine) == (f is returned)
        assert_same(as_plain(result), as_plain(f(others, X)))
        assert_same(as_plain(mine), as_plain(others))


def taken(items, x):
    return [v * x for v in items], items[0] * x + len(items), list(reversed(items))


def appended(items, x):
    items.append(x * 2)
    return x + 1


def changed(items, x):
    items[0] = x
    items.insert(1, x * 3)
    items.extend([1.0, x])
    return items.pop()


SEQUENCES = {
    "UserList": lambda v: UserList([v, 2.0, np.ones(4)]),
    "Items": lambda v: Items([v, 2.0]),
    "Changing": lambda v: Changing([v, 2.0]),
    "deque": lambda v: deque([v, 2.0]),
    "deque of two": lambda v: deque([v, 2.0], 2),
}


@pytest.mark.parametrize("f", [taken, appended, changed])
@pytest.mark.parametrize("kind", SEQUENCES)
def test_sequences(f, kind):
    if (f is not taken and kind == "Items") or (f is changed and kind == "deque of two"):
        return
    jitted = tnp.jit(f, strict=True)
    for v in (2.0, 3.0):
        mine, others = SEQUENCES[kind](v), SEQUENCES[kind](v)
        assert_same(as_plain(jitted(mine, X)), as_plain(f(others, X)))
        assert_same(as_plain(mine), as_plain(others))


def made(x):
    lower, canonical, items, changing = Lower({"Q": x}), Canonical(a=x), UserList([x]), Changing([])
    lower["R"] = x * 2
    canonical.setdefault("c", x * 3)
    items += [x * 2]
    changing.extend([x, x * 2])
    changing.reverse()
    return lower["r"], canonical.pop("A"), sum(items), list(changing), lower, canonical, items


def test_made_by_a_program():
    assert_same(as_plain(tnp.jit(made, strict=True)(X)), as_plain(made(X)))


def renamed(d, x):
    d["z"] = d.pop("a")
    return x + d["z"]


def reordered(d, x):
    d.move_to_end("a")
    return x + d["a"]


def test_keys_that_change():
    for f in (renamed, reordered):
        mine, others = OrderedDict(a=2.0, b=3.0), OrderedDict(a=2.0, b=3.0)
        assert_same(tnp.jit(f, strict=True)(mine, X), f(others, X))
        assert list(mine.items()) == list(others.items())


def test_a_default_that_is_missing():
    def f(d, x):
        d["new"].append(x)
        return d["new"][0] * 2

    mine, others = defaultdict(list), defaultdict(list)
    assert_same(tnp.jit(f, strict=True)(mine, X), f(others, X))
    assert_same(dict(mine), dict(others))


CONFIGURATION = Lower({"Gain": 2.0})
TABLE = Canonical({"Sin": np.sin, "cos": np.cos})


def test_configurations_that_change():
    def f(x):
        return TABLE["sin"](x) * CONFIGURATION["GAIN"] + TABLE["COS"](x)

    jitted = tnp.jit(f, strict=True)
    before = copy.copy(CONFIGURATION.data)
    for gain in (2.0, 3.0, "2"):
        CONFIGURATION["gain"] = float(gain)
        assert_same(jitted(X), f(X))
    TABLE["cos"] = np.tan
    assert_same(jitted(X), f(X))
    TABLE["cos"] = np.cos
    CONFIGURATION.data = before
