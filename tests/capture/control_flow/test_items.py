"""Items of lists and dicts that loops and branches on run-time values replace: variables of the program."""

import math

import numpy as np
import pytest

import tnp
from tests.flow_checks import EXECUTORS, same_as_eager

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def arrays(*more):
    """Arguments for conditions that hold and do not, with copies of ``more``."""
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=6) for _ in range(6)]
    return [lambda x=x: (x.copy(), *(type(m)(m) for m in more)) for x in rows]


def items_of_a_new_list(x):
    c = [0.0] * 4
    if x[0] > 0:
        c[1] = x[1] * 2
    else:
        c[2] = x[2]
    if x[1] > 0:
        c[1] = c[1] + 1.0
    return c[0] + c[1] + c[2], c


def _fill(c, e):
    m = 1.0
    for k in range(1, len(c)):
        m *= e
        c[k] = m / k


def filled_by_a_function(x):
    c = [0.0] * 4
    if x[0] > 0:
        _fill(c, x[1])
    else:
        _fill(c, x[2] * 2)
    return c[1] * x + c[3], c


def arrays_as_items(x):
    held = {"best": x, "worst": x * 2}
    y = x + 1
    if x[0] > 0:
        held["best"] = y * 3
    else:
        held["worst"] = y - 1
    return held["best"] + 1, held["worst"] * 2


def of_objects(x):
    class State:
        def __init__(self):
            self.sums = [0.0, 0.0]
            self.by_name = {"n": 0}

    s = State()
    for v in x:
        if v > 0:
            s.sums[0] += v
        else:
            s.sums[1] -= v
            s.by_name["n"] += 1
    return s.sums, s.by_name["n"], math.sqrt(s.sums[0] + 1)


def in_a_while_loop(x):
    state = {"v": x[0], "steps": 0}
    while abs(state["v"]) > 0.01:
        state["v"] = state["v"] * 0.5
        state["steps"] += 1
    return state


def at_the_same_place_twice(x):
    c = [0.0, 1.0]
    if x[0] > 0:
        c[0] = x[1]
        if x[1] > 0:
            c[0] = c[0] + 1
            c[1] = c[0] * 2
    return c


MADE_HERE = [items_of_a_new_list, filled_by_a_function, arrays_as_items, of_objects, in_a_while_loop, at_the_same_place_twice]  # fmt: skip


@pytest.mark.parametrize("f", MADE_HERE, ids=lambda f: f.__name__)
def test_of_lists_and_dicts_that_the_program_makes(f):
    jitted = same_as_eager(f, *arrays(), executors=EXECUTORS)
    assert tnp.cache_info(jitted).misses == 1


def a_list_of_the_caller(x, held):
    if x[0] > 0:
        held[0] = x[1]
    else:
        held[1] = 2.5
    return held[0] * x


def a_dict_of_the_caller(x, held):
    for v in x:
        if v > 0.3:
            held["total"] = held["total"] + v
            held["hits"] += 1
    return held["total"]


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize(
    ("f", "held"), [(a_list_of_the_caller, [1.0, 2.0]), (a_dict_of_the_caller, {"total": 1.0, "hits": 0})]
)
def test_of_the_callers(f, held, executors):
    jitted = tnp.jit(f, executors=executors)
    for make in arrays(held):
        mine, eagers = make(), make()
        assert repr(jitted(*mine)) == repr(f(*eagers))
        assert repr(mine) == repr(eagers)
        assert [type(v) for v in _values(mine[1])] == [type(v) for v in _values(eagers[1])]
    assert tnp.cache_info(jitted).misses == 1


def _values(held):
    return list(held.values()) if isinstance(held, dict) else held


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_other_changes_are_as_eagers():
    def grows(x):
        c = [1.0]
        if x[0] > 0:
            c.append(x[1])
        c[0] = x[2]
        return c

    def new_keys(x):
        d = {"a": 1.0}
        if x[0] > 0:
            d["b"] = x[1]
        else:
            d["a"] = x[2]
        return d

    def order(x):
        d = {"a": 1.0, "b": 2.0}
        if x[0] > 0:
            d["a"] = d.pop("a") + x[1]
        return d

    def texts(x):
        d = {"a": "none"}
        if x[0] > 0:
            d["a"] = "some"
        return d

    for f in (grows, new_keys, order, texts):
        jitted = tnp.jit(f)
        for make in arrays():
            assert repr(jitted(*make())) == repr(f(*make()))
