"""Strings that differ from call to call: no program a value, unless the program reads them."""

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def programs(f, calls):
    """How many programs some calls make; results are compared with eager's."""
    jitted = tnp.jit(f)
    for args in calls:
        assert_same(jitted(*args), f(*args))
    return len(tnp.last_traces(jitted)) and int(tnp.explain(jitted).split(": ")[1].split()[0])


def x():
    return np.arange(3.0)


def test_what_is_only_passed_on():
    def unused(a, name):
        return a * 2

    def given_back(a, name):
        return {"name": name, "values": [a * 2, name], "tuple": (name, name is None, isinstance(name, str))}

    def kept(a, name):
        names = []
        names.append(name)
        other = name
        return a + len(names), other, names

    for f in (unused, given_back, kept):
        assert programs(f, [(x(), f"s{k}") for k in range(12)]) == 2


def test_one_of_an_object():
    class Model:
        def __init__(self, name, w):
            self.name, self.w = name, w

    def f(model, a):
        return a * model.w, model.name

    assert programs(f, [(Model(f"m{k}", float(k)), x()) for k in range(8)]) == 2


def test_what_is_read_is_a_program_a_value():
    def chosen(a, how, tag):
        return getattr(np, how)(a), tag

    def compared(a, mode, tag):
        return (a + 1 if mode == "b" else a), tag

    def looked_up(a, key, tag):
        return a * {"a": 1.0, "b": 2.0, "c": 3.0}[key], tag

    def written(a, mode, tag):
        return a, f"{mode}!", mode + "?", mode.upper(), len(mode), mode in ("a", "c"), "a" in mode, tag

    def passed_to_numpy(a, order, tag):
        return np.ones((2, 3), order={"a": "C", "b": "F", "c": "C"}[order]), a, tag

    values = {chosen: ("sum", "mean", "max")}
    for f in (chosen, compared, looked_up, written, passed_to_numpy):
        kinds = values.get(f, "abc")
        calls = [(x(), kinds[k % 3], f"t{k}") for k in range(12)]
        assert programs(f, calls) <= 4


def test_texts_or_none():
    def f(a, title=None):
        found = {"a": a + 1}
        if title is not None:
            found["title"] = title
        return found

    assert programs(f, [(x(), None if k % 3 == 0 else f"t{k}") for k in range(9)]) <= 3


def test_errors_have_the_text():
    def f(a, name):
        if a.sum() > 5:
            raise ValueError(f"{name} is too large")
        return a

    jitted = tnp.jit(f)
    for k in range(4):
        assert_same(jitted(x(), f"n{k}"), x())
        with pytest.raises(ValueError, match=f"n{k} is too large"):
            jitted(x() + 3, f"n{k}")
