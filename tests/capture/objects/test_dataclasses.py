"""Dataclasses: made by a program, its arguments, and what the functions of :mod:`dataclasses` give of them."""

import dataclasses
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import ClassVar

import numpy as np
import pytest

import tnp
from tests.eager_checks import as_plain
from tnp.testing import assert_same

SCALE = 2.0


def zeros():
    return np.zeros(3) + SCALE


@dataclass
class Made:
    x: object
    y: object = field(default_factory=lambda: np.ones(3) * SCALE)
    z: object = field(default_factory=zeros, init=False)
    n: int = field(default=3, init=False)
    rest: list = field(default_factory=list, metadata={"unit": "m"})
    kind: ClassVar[int] = 3
    u: object = None

    def total(self):
        return self.x.sum() + self.y.sum() + self.z.sum() * self.n * self.kind


@dataclass(frozen=True)
class Frozen:
    x: object
    k: int = 2
    t: object = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "t", self.x * self.k * SCALE)

    def scaled(self, s):
        return dataclasses.replace(self, x=self.x * s)

    def __add__(self, other):
        return Frozen(self.x + other.x)


class OfFrozen(Frozen):
    def __init__(self, x):
        super().__init__(x, 5)
        object.__setattr__(self, "extra", x * 2)


@dataclass(slots=True)
class Slots:
    x: object
    k: float = field(default=1.5, init=False)
    rest: list = field(default_factory=list, init=False)


@dataclass
class Deeper:
    a: Frozen
    b: list = field(default_factory=list)
    _: KW_ONLY
    s: float = 1.0
    given: InitVar[float] = 2.0

    def __post_init__(self, given):
        self.q = self.a.x * given


@dataclass(frozen=True, order=True, unsafe_hash=True)
class Key:
    a: int
    b: str = "q"


@dataclass
class Stepper:
    y: object
    rest: list = field(default_factory=list)

    def step(self, dt):
        self.y = self.y + dt * np.sin(self.y)
        self.rest.append(self.y.sum())


def of_factories(x):
    made = Made(x)
    made.rest.append(x + 1)
    return made.total() + made.rest[0]


def returned(x):
    return Made(x * 2), Slots(x + 1), Frozen(x), OfFrozen(x), Deeper(Frozen(x), s=3.0, given=1.0)


def methods(x):
    return (Frozen(x) + Frozen(x)).scaled(2.0), OfFrozen(x).extra + OfFrozen(x).k


def as_dicts(x):
    deeper = Deeper(Frozen(x), [Frozen(x + 1), x])
    return dataclasses.asdict(deeper), dataclasses.astuple(deeper)


def of_fields(x):
    names = [f.name for f in dataclasses.fields(Made) if f.init]
    return names, x * Made.__dataclass_fields__["n"].default, dataclasses.is_dataclass(Made(x))


def slots(x):
    made = Slots(x)
    made.rest.append(x * made.k)
    return made.rest[0]


def keys(x):
    table = {Key(1): x, Key(2): x * 2}
    return table[Key(2)] + (1 if Key(1) < Key(2) else 5), Key(1) == Key(1), Key(1, "b") >= Key(1, "c")


def caught(x):
    frozen = Frozen(x)
    try:
        frozen.x = x * 2
    except dataclasses.FrozenInstanceError as error:
        return x * 3, str(error)
    return x


def looped(x):
    stepper, frozen = Stepper(x), Frozen(x)
    for _ in range(60):
        stepper.y = stepper.y + 0.01 * np.sin(stepper.y)
        frozen = Frozen(frozen.x * 0.9)
    for _ in range(3):
        stepper.step(0.1)
    return stepper.y, stepper.rest, frozen.x


@pytest.mark.parametrize("f", [of_factories, returned, methods, as_dicts, of_fields, slots, keys, caught, looped])
def test_made_by_a_program(f):
    x = np.arange(1.0, 4)
    jitted = tnp.jit(f, strict=True)
    for sign in (1.0, -2.0):
        assert_same(as_plain(jitted(x * sign)), as_plain(f(x * sign)))


def fields_of_it(a):
    return dataclasses.asdict(a), dataclasses.astuple(a), [f.name for f in dataclasses.fields(a)]


def replaced(a):
    return dataclasses.replace(a, x=a.x * 2), a.x + 1


def stored_past_the_class(a):
    object.__setattr__(a, "x", a.x * 2)
    return a.x + 1


ARGUMENTS = {
    fields_of_it: [Made, Frozen, Slots, lambda x: Deeper(Frozen(x), [x, Frozen(x)])],
    replaced: [Frozen, Stepper, OfFrozen],
    stored_past_the_class: [Made, Frozen, OfFrozen, Slots],
}


@pytest.mark.parametrize(("f", "make"), [(f, make) for f, makes in ARGUMENTS.items() for make in makes])
def test_as_arguments(f, make):
    jitted = tnp.jit(f, strict=True)
    for sign in (1.0, -2.0):
        mine, others = make(np.arange(1.0, 4) * sign), make(np.arange(1.0, 4) * sign)
        expected = outcome(f, others)
        assert_same(outcome(jitted, mine), expected)
        assert_same(as_plain(mine), as_plain(others))


def outcome(f, *args):
    try:
        return as_plain(f(*args))
    except Exception as error:
        return type(error), str(error)


def test_defaults_that_change():
    held = []

    @dataclass
    class Late:
        x: object
        held: list = field(default_factory=lambda: held)

    def f(x):
        return len(Late(x).held) * x

    jitted = tnp.jit(f)
    for _ in range(3):
        assert_same(jitted(np.ones(3)), f(np.ones(3)))
        held.append(1)


def test_fields_of_another_class_of_that_name():
    jitted = tnp.jit(fields_of_it)
    for kind in (Made, Slots, Frozen, Made):
        x = np.arange(3.0)
        assert_same(jitted(kind(x)), fields_of_it(kind(x)))


def test_assigning_a_frozen_argument_raises():
    def f(a):
        a.x = 3
        return a.x

    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        tnp.jit(f)(Frozen(np.ones(2)))


def test_attributes_beside_the_fields_of_a_frozen_class():
    def f(a):
        a.other = 3 * a.x
        return a.other

    a = OfFrozen(np.ones(2))
    assert_same(tnp.jit(f, strict=True)(a), np.full(2, 3.0))
    assert_same(a.other, np.full(2, 3.0))
