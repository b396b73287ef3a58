"""Attributes that loops and branches assign are variables of them."""

import copy
import dataclasses

import numpy as np
import pytest

import tnp
from tests.eager_checks import EXECUTORS, outcome
from tnp.api import programs_of
from tnp.testing import assert_same

RNG = np.random.default_rng(0)


class State:
    def __init__(self):
        self.x = np.array([1.0, -2.0, 0.5])
        self.p = np.eye(3)
        self.t = 0.0
        self.steps = 0
        self.log = None

    def step(self, u):
        self.t += 0.1
        self.x = self.p @ self.x + u * self.t
        self.p = self.p * 0.9
        self.steps += 1

    def move(self, us):
        for u in us:
            self.step(u)
        return self.x * 2


class Slotted:
    __slots__ = ("n", "x")

    def __init__(self, x):
        self.x, self.n = x, 0


class WithProperty:
    def __init__(self):
        self._x = np.zeros(3)
        self.sets = 0

    @property
    def x(self):
        return self._x + 1

    @x.setter
    def x(self, value):
        self._x = value * 0.5
        self.sets += 1


@dataclasses.dataclass
class Point:
    x: float
    y: float


@dataclasses.dataclass(frozen=True)
class Fixed:
    x: float


def moved(s, us):
    return s.move(us)


def until(s, limit):
    while s.x.max() < limit and s.steps < 100:
        s.x = s.x * 1.1 + 0.1
        s.steps += 1
    return s.steps


def branched(s, us):
    for u in us:
        if u.sum() > 0:
            s.x = s.x + u
            s.steps += 1
        else:
            s.t -= 1.0
    return s.x


def nested(s, us):
    for _ in range(12):
        for u in us:
            s.x = np.tanh(s.x + u)
        s.t = s.t + s.x.sum()
    return s.t


def left_early(s, us):
    for u in us:
        s.x = s.x + u
        if s.x.sum() > 3:
            s.log = 1.0
            break
        s.steps += 1
    else:
        s.steps = -1
    return s.x


def two_objects(s, us):
    other = State()
    for u in us:
        s.x, other.x = other.x + u, s.x - u
        other.t += 1
    return other.x, other.t


def slotted(s, us):
    held = Slotted(s.x)
    for u in us:
        held.x = held.x * 0.5 + u
        held.n += 2
    return held.x, held.n


def with_property(s, us):
    held = WithProperty()
    for u in us:
        held.x = held.x + u
    return held.x, held.sets


def made_inside(s, us):
    total = np.zeros(3)
    for u in us:
        p = Point(0.0, 1.0)
        p.x = u
        p.y = p.x * 2
        total += p.x + p.y
    return total


def new_attribute(s, us):
    for i, u in enumerate(us):
        s.last = u * i
        s.x = s.x + s.last
    return s.last


def new_on_one_side(s, us):
    for u in us:
        if u[0] > 0:
            s.found = u * 1.0
    return getattr(s, "found", None)


def of_another_dtype(s, us):
    s.n = 1
    for u in us:
        s.n = s.n + u
    return s.n


def none_at_first(s, us):
    for u in us:
        s.log = u * 2 if s.log is None else s.log + u
    return s.log


def written_before(s, us):
    y = s.x
    for u in us:
        s.x += u
        s.x = s.x * 0.5
    return y, s.x


def both_of_one_array(s, us):
    s.y = s.x
    for u in us:
        s.x = s.x + u
        s.y[0] += 1.0
    return s.x, s.y


def taking_turns(s, us):
    s.y = np.zeros(3)
    for u in us:
        s.x, s.y = s.y, s.x
        s.x[:] = s.y + u
    return s.x, s.y


def kept_in_a_list(s, us):
    s.log = []
    for u in us:
        s.x = s.x + u
        s.log.append(s.x)
    return s.log


def a_text(s, us):
    for i in range(len(us)):
        s.log = f"step {i}"
    return s.x


def frozen(s, us):
    p = Fixed(1.0)
    for u in us:
        p.x = u
    return p


def raising(s, us):
    for u in us:
        s.x = np.linalg.solve(s.p, s.x + u)
        s.p = s.p * 0.0
    return s.x


def through_functions(s, us):
    def add(u):
        s.x = s.x + u
        return s.x.sum()

    total = 0.0
    for u in us:
        total += add(u)
    return total


def with_setattr(s, us):
    for u in us:
        setattr(s, "x", getattr(s, "x") * 0.5 + u)  # noqa: B009, B010 (what is tested)
    return s.x


PROGRAMS = [
    moved, branched, nested, left_early, two_objects, slotted, with_property, made_inside, new_attribute, new_on_one_side,
    of_another_dtype, none_at_first, written_before, both_of_one_array, taking_turns, kept_in_a_list, a_text, frozen, raising,
    through_functions, with_setattr,
]  # fmt: skip
US = RNG.normal(size=(9, 3))


def agree(f, jitted, *args):
    """A call against eager: results, errors, and what the object is left as."""
    s, mine = State(), State()
    expected, _ = outcome(f, (s, *copy.deepcopy(args)))
    got, _ = outcome(jitted, (mine, *copy.deepcopy(args)))
    assert_same(got, expected, what="the result")
    assert vars(mine).keys() == vars(s).keys()
    assert_same([vars(mine)[k] for k in vars(s)], list(vars(s).values()), what=f"the attributes {list(vars(s))}")


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_attributes(f, executor):
    jitted = tnp.jit(f, executors=[executor])
    for us in (US, US, US[:7] + 0.5, US[:1], US[:0]):
        agree(f, jitted, us)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_while_loop(executor):
    jitted = tnp.jit(until, executors=[executor])
    for limit in (2.0, 3.0, 0.0):
        agree(until, jitted, limit)


ROLLED = [
    moved, branched, nested, left_early, two_objects, slotted, with_property, made_inside, new_attribute, through_functions,
    with_setattr,
]  # fmt: skip


@pytest.mark.parametrize("f", ROLLED, ids=lambda f: f.__name__)
def test_they_are_loops_of_the_program(f):
    """A thousand iterations are a short program."""
    jitted = tnp.jit(f, strict=True)
    jitted(State(), RNG.normal(size=(1000, 3)))
    ((program, _),) = programs_of(jitted)
    assert len(program.traces[0].bound_symbols) < 120


def test_the_initial_value_is_not_looked_at_if_it_is_assigned_first():
    class Filter:
        def __init__(self):
            self.z = np.array([[None] * 2]).T
            self.x = np.zeros(2)

        def run(self, zs):
            for z in zs:
                self.z = z * 1.0
                self.x = self.x * 0.5 + self.z
            return self.x

    zs = RNG.normal(size=(200, 2))
    expected, mine = Filter(), Filter()
    assert_same(tnp.jit(Filter.run, strict=True)(mine, zs), expected.run(zs))
    assert_same(mine.z, expected.z)


def test_a_mapped_function_assigns_no_attribute():
    s = State()

    def f(x):
        s.x = x
        return x * 2

    with pytest.raises(tnp.TraceError, match=r"assigns State\.x"):
        tnp.jit(tnp.vmap(f), strict=True)(np.ones((4, 3)))


class Tally:
    count = 0
    scale = 2.0

    def __init__(self):
        self.total = 0.0


def class_values_on_one_side(held, xs):
    for x in xs:
        if x[0] > 99:
            held.count += 1
        held.total = held.total + x.sum() * held.scale
    if xs.sum() > 1e9:
        held.scale = held.scale * 2
    return held.total


def class_values_as_they_are(held, xs):
    if xs.sum() < 1e9:
        held.scale = held.scale
    return held.total


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", [class_values_on_one_side, class_values_as_they_are], ids=lambda f: f.__name__)
def test_what_the_class_has_is_not_the_object_s(f, executor):
    jitted = tnp.jit(f, executors=[executor])
    for us in (US, US, US[:7] + 0.5, US[:1]):
        mine, expected = Tally(), Tally()
        assert_same(jitted(mine, us), f(expected, us))
        assert_same(vars(mine), vars(expected))
