"""Dicts that hold much: a program has guards on what it reads of them alone, until it does more with them."""

import copy
import functools
import json

import numpy as np
import pytest

import tnp
from tests.eager_checks import whole
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("ignore:.* runs (eagerly|in parts):tnp.EagerFallbackWarning")

TABLES = {f"t{k}": {"values": [float(i * k) for i in range(40)], "scale": 2.0 + k, "name": f"n{k}"} for k in range(10)}
PARTIALS = {k: functools.partial(np.multiply, float(k)) for k in range(200)}
X = np.arange(5.0)


class Holder:
    def __init__(self, tables):
        self.tables = tables

    def read(self, x, name):
        return x * self.tables[name]["scale"]


def read(x, name):
    return x * TABLES[name]["scale"] + TABLES["t1"]["values"][3], TABLES[name]["name"]


def asked(x, name):
    found = TABLES.get(name, {"scale": 0.5})
    return x * found["scale"], name in TABLES, len(TABLES), bool(TABLES), "none" in TABLES, isinstance(TABLES, dict)


def called(x, name):
    return PARTIALS[len(name)](x), 1000 in PARTIALS


def of_an_object(x, name):
    return Holder(TABLES).read(x, name)


def given(x, tables):
    return x * tables["t2"]["scale"]


@pytest.mark.parametrize("f", [read, asked, called, of_an_object])
def test_read_by_key(f):
    for name in ("t2", "t3"):
        jitted = whole(f, X, name)
        assert len(str(tnp.explain(jitted)).split("guards:")[1].splitlines()) < 120


def test_arguments_and_attributes():
    whole(given, X, TABLES)
    holder = Holder(TABLES)
    jitted = tnp.jit(holder.read)
    for name in ("t2", "t3", "t2"):
        assert_same(jitted(X, name), holder.read(X, name))


def test_what_is_read_is_guarded():
    tables = copy.deepcopy(TABLES)

    def f(x, name):
        return x * tables[name]["scale"] + tables["t1"]["values"][3], "new" in tables, tables.get("gone", 1.0)

    jitted = tnp.jit(f)
    changes = [
        lambda: None,
        lambda: tables["t2"].update(scale=7.0),
        lambda: tables["t1"]["values"].__setitem__(3, -1.0),
        lambda: tables.update(new=3.0),
        lambda: tables.update(gone=np.ones(5)),
        lambda: tables["t1"]["values"].insert(0, 5.0),
        lambda: tables.pop("gone"),
        lambda: tables.update(t2={"scale": X}),
        lambda: tables.pop("new"),
        lambda: tables["t9"].clear(),
        lambda: tables.pop("t2"),
    ]
    for change in changes:
        change()
        for _ in range(2):
            try:
                expected = f(X, "t2")
            except KeyError as error:
                with pytest.raises(KeyError, match=str(error)):
                    jitted(X, "t2")
            else:
                assert_same(jitted(X, "t2"), expected)


def every(x, tables):
    return [x * t["scale"] for t in tables.values()], list(tables), [k for k, t in tables.items() if t["scale"] > 4]


def copied(x, tables):
    made = dict(tables)
    made["t2"] = {"scale": x}
    return made["t2"]["scale"] * {**tables}["t3"]["scale"], {"all": tables}, tables


def changed(x, tables):
    tables["new"] = {"scale": x.sum()}
    tables["t2"]["scale"] = 1.0
    tables.pop("t5")
    return x * 2, tables.setdefault("t7", 1)["scale"]


def given_to_others(x, tables):
    return x * len(json.dumps(tables)), str(tables), tables == tables.copy(), sorted(tables), copy.copy(tables)["t1"]


@pytest.mark.parametrize("f", [every, copied, changed, given_to_others])
def test_more_than_reading(f):
    jitted = tnp.jit(f)
    for _ in range(3):
        mine, theirs = copy.deepcopy(TABLES), copy.deepcopy(TABLES)
        assert_same(jitted(X, mine), f(X, theirs))
        assert_same(mine, theirs)


def test_a_dict_that_is_returned_is_the_callers():
    jitted = tnp.jit(lambda x, tables: (x * tables["t2"]["scale"], tables, tables["t2"]))
    for _ in range(3):
        _, found, inner = jitted(X, TABLES)
        assert found is TABLES
        assert inner is TABLES["t2"]
