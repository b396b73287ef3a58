"""Variables that loops and branches bind to other tuples, lists and dicts: their parts are variables of the program."""

import warnings
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import tnp
from tests.flow_checks import EXECUTORS, same_as_eager
from tnp.core.subtraces import is_control_flow
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")

Pair = namedtuple("Pair", "position velocity")
RNG = np.random.default_rng(0)


def lengths(*more):
    """Arguments of several lengths, with copies of ``more``."""
    rows = [RNG.normal(size=n) for n in (30, 45, 60, 20, 75)]
    return [lambda x=x: (x.copy(), *(type(m)(m) for m in more)) for x in rows]


def a_tuple_of_numbers(x):
    state = (1.0, 0.5)
    for v in x:
        state = (state[0] + 0.1 * state[1] * v, state[1] - 0.1 * state[0])
    return state


def a_tuple_of_arrays(x):
    state = (x, x * 2)
    for _ in range(len(x)):
        state = (state[0] + 0.1 * state[1], state[1] * 0.5)
    return state


def unpacked(x):
    state = (0.0, 1.0)
    for v in x:
        a, b = state
        state = b, a + b * v * 0.1
    return state[0]


def a_list(x):
    state = [1.0, 0.0]
    for v in x:
        state = [state[0] + 0.1 * state[1] * v, state[1] - 0.1 * state[0]]
    return state


def _slope(y):
    return [y[1], -y[0]]


def an_integrator(x):
    y, ys = [1.0, 0.0], []
    for h in x:
        k1 = _slope(y)
        k2 = _slope([y[q] + 0.05 * h * k1[q] for q in range(2)])
        y = [y[q] + 0.1 * h * k2[q] for q in range(2)]
        ys.append(y)
    return np.array(ys)


def some_of_its_states(x):
    y, ys = [1.0, 0.0], []
    for h in x:
        y = [y[0] + 0.1 * h * y[1], y[1] - 0.1 * h * y[0]]
        if y[0] > 0.5:
            ys.append(y)
    return ys


def a_dict(x):
    state = {"sum": 0.0, "count": 0}
    for v in x:
        state = {"sum": state["sum"] + v, "count": state["count"] + (1 if v > 0 else 0)}
    return state["sum"] / state["count"]


def a_named_tuple(x):
    state = Pair(x, x * 2)
    for _ in range(len(x)):
        state = Pair(state.position + 0.1 * state.velocity, state.velocity * 0.5)
    return state.position, type(state) is Pair, state


def nested(x):
    state = ((0.0, 1.0), [x[0], {"k": 2.0}])
    for v in x:
        state = ((state[0][1], state[0][0] + v), [state[1][0] * 0.5, {"k": state[1][1]["k"] + 1}])
    return state[0][0], state[1][0], state[1][1]["k"]


def in_a_while_loop(x):
    state = (1.0, 0)
    while state[0] > 1e-3:
        state = (state[0] * (0.5 + 0.1 * abs(x[0])), state[1] + 1)
    return state


def left_early(x):
    state = (0.0, 0)
    for v in x:
        state = (state[0] + abs(v), state[1] + 1)
        if state[0] > 10:
            break
    return state


def the_best_so_far(x):
    best = (np.inf, -1)
    for i in range(len(x)):
        if x[i] < best[0]:
            best = (x[i], i)
    return best


def the_best_of_none(x):
    best = None
    for i in range(len(x)):
        if best is None or x[i] > best[0]:
            best = (x[i], i)
    return best


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    def norm(self):
        return np.sqrt(self.x**2 + self.y**2)


def objects(x):
    p, v = Vector(1.0, 0.0), Vector(0.0, 1.0)
    for h in x:
        v = v + p * (-0.01 * h / p.norm() ** 3)
        p = p + v * 0.01
    return p.x, p.y, type(v) is Vector


@dataclass(frozen=True)
class State:
    position: float
    velocity: float


def frozen_objects(x):
    state = State(x, x * 0.5)
    for _ in range(len(x)):
        state = State(state.position + 0.1 * state.velocity, state.velocity - 0.1 * state.position)
    return state.position


def a_name_that_is_read_no_more(x):
    begin = [0.0, 0]
    state = begin
    while state[0] < 9 + abs(x[0]):
        state = [state[0] + 1.5, state[1] + 1]
    return state


class Particle:
    def __init__(self):
        self.state = (0.0, 1)

    def move(self, v):
        self.state = (self.state[0] + v, self.state[1] + 1)


def an_attribute(x):
    one, other = Particle(), Particle()
    for v in x:
        one.move(v)
        if v > 0:
            other.state = one.state
    return one.state, other.state


def an_item(x):
    kept = {"state": (0.0, 1), "count": 0}
    for v in x:
        kept["state"] = (kept["state"][0] + v, kept["state"][1] * 2 % 7)
        kept["count"] += 1
    return kept


def _deposited(state, v):
    grid, count = state
    grid[count % 4] += v
    return grid, count + 1


def an_array_that_is_written(x):
    state = (np.zeros(4), 0)
    first = state[0]
    for v in x:
        state = _deposited(state, v)
    return state, first


def arrays_that_take_turns(x):
    state = (np.zeros(4), np.ones(4))
    for i, v in enumerate(x):
        state[0][i % 4] += v + state[1][0]
        state = (state[1], state[0])
    return state


def parts_of_an_array(x):
    z = np.zeros(4)
    state = {"begin": z[:2], "end": z[2:]}
    for i, v in enumerate(x):
        state["begin"][i % 2] += v + state["end"][0]
        state = {"begin": state["begin"], "end": state["end"] + 1}
    return state, z


def loops_in_loops(x):
    state = (0.0, 1.0)
    for v in x[:4]:
        for w in x:
            state = (state[0] + w * state[1], state[1] * 0.9)
        state = (state[0] * v, 1.0)
    return state


def edit_distance(x):
    a, b = (x > 0).astype(int), (x[3:] > 0.3).astype(int)
    before = list(range(len(b) + 1))
    for i in range(len(a)):
        now = [i + 1] + [0] * len(b)
        for j in range(len(b)):
            differs = 0 if a[i] == b[j] else 1
            now[j + 1] = min(before[j + 1] + 1, now[j] + 1, before[j] + differs)
        before = now
    return before[-1]


LOOPS = [
    a_tuple_of_numbers, a_tuple_of_arrays, unpacked, a_list, an_integrator, some_of_its_states, a_dict, a_named_tuple, nested, in_a_while_loop, left_early,
    the_best_so_far, the_best_of_none, a_name_that_is_read_no_more, objects, frozen_objects, an_attribute, an_item,
    an_array_that_is_written, arrays_that_take_turns, parts_of_an_array,
    loops_in_loops, edit_distance,
]  # fmt: skip


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_loops_are_operations(f):
    jitted = same_as_eager(f, *lengths(), executors=EXECUTORS)
    assert tnp.cache_info(jitted).misses <= 3  # of one length, and of any (and of any even one)
    assert any(is_control_flow(b) for b in tnp.last_traces(jitted)[0].bound_symbols)


def a_tuple_in_a_branch(x):
    state = (x, 1.0)
    if x.sum() > 0:
        state = (x * 2, 2.0)
    return state


def tuples_on_both_sides(x):
    if x.sum() > 0:
        state = {"a": x * 2, "b": 3.0}
    else:
        state = {"a": x + 1, "b": 4.0}
    return state["a"] * state["b"]


@pytest.mark.parametrize("f", [a_tuple_in_a_branch, tuples_on_both_sides], ids=lambda f: f.__name__)
def test_branches_are_operations(f):
    rows = [RNG.normal(size=6) for _ in range(6)]
    jitted = same_as_eager(f, *(lambda x=x: (x.copy(),) for x in rows), executors=EXECUTORS)
    assert tnp.cache_info(jitted).misses == 1


def changed_in_place(x):
    state = [0.0, 0.0]
    other = state
    for v in x:
        state[0] += v
        state = [state[0], state[1] + 1]
    return state, other


def held_by_a_list(x):
    state, held = [0.0, 0.0], []
    for v in x:
        state = [state[0] + v, state[1] + 1]
        held.append(state)
    state[0] = 5.0
    return state, held[-1]


def held_by_another_name(x):
    state = last = [0.0, 0.0]
    for v in x:
        state = [state[0] + v, state[1] + 1]
        last = state
    last[0] = 7.0
    return state, last


def held_by_a_dict(x):
    held = {"last": None}
    state = [0.0, 0.0]
    for v in x:
        state = [state[0] + v, state[1] + 1]
        held["last"] = state
    state[1] = 3.0
    return state, held


def of_other_kinds(x):
    state = (0.0, 1.0)
    for i in range(len(x)):
        state = (state[0] + x[i], state[1]) if i % 2 else [state[0], state[1] + 1]
    return state


def longer_each_time(x):
    state = (0.0,)
    for v in x[:12]:
        state = (*state, v)
    return state


def an_object_changed_in_place(x):
    state = Vector(0.0, 0.0)
    other = state
    for v in x:
        state.x += v
        state = Vector(state.x, state.y + 1)
    return state.x, state.y, other.x


def an_object_held_by_a_list(x):
    state, held = Vector(0.0, 0.0), []
    for v in x:
        state = Vector(state.x + v, state.y)
        held.append(state)
    state.x = 5.0
    return state.x, held[-1].x


def of_the_caller(x, state):
    for v in x:
        state[0] += v
        state = [state[0] * 0.5, state[1] + 1]
    return state


def of_the_caller_in_no_iteration(x, state):
    for _ in range(int(x[0] > 100)):
        state = [state[0] + 1, state[1]]
    state[0] = 9.0
    return state


def one_list_again(x):
    first = state = [1.0, 2.0]
    for v in x:
        state = [state[0] + v, state[1]]
    if len(x) > 50:
        state = first
    return state, first is state


def of_the_same_parts(x):
    first = state = [1.0, 2.0]
    for _ in x:
        state = [state[0], state[1]]
    first[0] = 5.0
    return state, first


def an_empty_list_again(x):
    first = state = []
    for _ in x:
        state = []
    state.append(3)
    return state, first


def a_list_in_a_tuple(x):
    state = ([0.0], 1)
    first = state
    for _ in x:
        state = (state[0], state[1] + 1)
    first[0][0] = 7.0
    return state[0], first[0]


def one_of_two_lists(x):
    low = high = [0, 0.0]
    for i in range(len(x)):
        if x[i] > 1.5:
            high = [i, x[i]]
        elif x[i] < -9:
            low = [i, x[i]]
    low[0] = 6
    return low, high


def left_with_another_name(x):
    state = other = [1.0, 2]
    for v in x:
        if v > 0:
            break
        state = [state[0] + v, state[1]]
    other[0] = 9.0
    return state, other


def bound_in_some_iterations(x):
    state = other = [0.0, 1]
    for v in x:
        if v > 1.5:
            state = [state[0] + v, state[1]]
    other[0] = 9.0
    return state, other


def skipped_in_some_iterations(x):
    state = other = [0.0, 1]
    for v in x:
        if v < 2:
            continue
        state = [state[0] + v, state[1]]
    other[0] = 9.0
    return state, other


def in_a_branch_with_another_name(x):
    state = other = [0.0, 1]
    if x.sum() > 0:
        state = [state[0] + 2, state[1]]
    state[0] += 8.0
    return state, other


def while_there_is_another_name(x):
    state = other = [0.0, 1]
    while state[0] < x.sum():
        state = [state[0] + 1.0, state[1] + 1]
    other[0] = 9.0
    return state, other


def the_one_before(x):
    state = last = [0.0, 1]
    for v in x:
        last = state
        state = [state[0] + v, state[1] + 1]
    last[0] = 100.0
    return state, last


def _grown(y, most):
    while y[0] < most:
        y = [y[0] + 1.0, y[1] + 1]
    return y


def read_by_the_caller_of_a_function(x):
    y = [0.0, 1]
    found = _grown(y, x.sum())
    y[0] = 9.0
    return found, y


def an_item_with_a_name(x):
    first = [0.0, 1.0]
    rows = [first, [5.0, 6.0]]
    for v in x:
        if v > 0:
            rows.append([float(v), 3.0])
    return rows, first


def the_last_item(x):
    rows = [[0.0, 1.0]]
    last = rows[0]
    for v in x:
        if v > 0:
            rows.append([float(v), last[0]])
            last = rows[-1]
    last[1] = 7.0
    return rows


def in_two_lists(x):
    rows, others, y = [], [], [0.0, 0.0]
    for v in x:
        y = [y[0] + float(v), 2.0]
        if v > 0:
            rows.append(y)
        if v > 1:
            others.append(y)
    return rows, others


def one_item_more_than_once(x):
    rows, y = [], [0.0, 0.0]
    for v in x:
        if v > 0:
            y = [y[0] + float(v), 2.0]
        rows.append(y)
    return rows


def asked_whether_two_are_one(x):
    best = state = (0.0, 0)
    for i, v in enumerate(x):
        state = (state[0] + v, i)
        if state[0] > best[0]:
            best = state
    return best, state, best is state


SHARED = [
    changed_in_place, held_by_a_list, held_by_another_name, held_by_a_dict, of_other_kinds, longer_each_time, one_list_again,
    of_the_same_parts, an_empty_list_again, a_list_in_a_tuple, one_of_two_lists, left_with_another_name, bound_in_some_iterations,
    skipped_in_some_iterations, in_a_branch_with_another_name, while_there_is_another_name, the_one_before, read_by_the_caller_of_a_function,
    an_item_with_a_name, the_last_item, in_two_lists, one_item_more_than_once, asked_whether_two_are_one,
    an_object_changed_in_place, an_object_held_by_a_list,
]  # fmt: skip


@pytest.mark.parametrize("f", SHARED, ids=lambda f: f.__name__)
def test_names_of_one_container_see_its_changes(f):
    for executors in EXECUTORS:
        jitted = tnp.jit(f, executors=executors)
        for make in lengths():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
                found, expected = jitted(*make()), f(*make())
            assert repr(found) == repr(expected)
            assert _places(found, {}) == _places(expected, {})


def _places(x, known):
    """The lists and dicts in a value, numbered by first occurrence."""
    if not isinstance(x, (list, tuple, dict)):
        return None
    place = None if isinstance(x, tuple) else known.setdefault(id(x), len(known))
    return place, [_places(y, known) for y in (x.values() if isinstance(x, dict) else x)]


def test_attributes_of_the_caller():
    def f(x, particle):
        before = particle.state
        for v in x:
            particle.move(v)
        return before

    jitted = tnp.jit(f)
    for make in lengths():
        mine, eagers = Particle(), Particle()
        assert repr(jitted(*make(), mine)) == repr(f(*make(), eagers))
        assert repr(mine.state) == repr(eagers.state)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("f", [of_the_caller, of_the_caller_in_no_iteration], ids=lambda f: f.__name__)
def test_lists_of_the_caller(f):
    jitted = tnp.jit(f)
    for make in lengths([1.0, 2.0]):
        mine, eagers = make(), make()
        assert repr(jitted(*mine)) == repr(f(*eagers))
        assert repr(mine) == repr(eagers)


class Model:
    def __init__(self):
        self.state, self.best = (0.0, 1.0), None

    def run(self, x):
        for v in x:
            self.state = (self.state[0] + v * self.state[1], self.state[1] * 0.99)
        return self.state[0]

    def track(self, x):
        self.best = (np.inf, -1)
        for i in range(len(x)):
            if x[i] < self.best[0]:
                self.best = (x[i], i)
        return self.best


@pytest.mark.parametrize("f", [Model.run, Model.track], ids=lambda f: f.__name__)
def test_attributes(f):
    jitted, mine, eagers = tnp.jit(f), Model(), Model()
    for make in lengths():
        (x,) = make()
        assert_same(jitted(mine, x), f(eagers, x))
        assert_same(vars(mine), vars(eagers))
    assert tnp.cache_info(jitted).misses <= 2


def test_gradients():
    def f(x):
        state = (1.0, 0.5)
        for v in x:
            state = (state[0] + 0.1 * state[1] * v, state[1] - 0.1 * state[0] * v)
        return state[0] * state[1]

    x, step = np.linspace(0.1, 1, 12), 1e-6
    expected = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(12)]
    np.testing.assert_allclose(tnp.grad(f)(x), expected, rtol=1e-6)
