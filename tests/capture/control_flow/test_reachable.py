"""What a loop changes is found wherever the program holds it."""

import collections
import functools
import types

import numpy as np
import pytest

import tnp
from tests.eager_checks import EXECUTORS, functions_of, outcome
from tnp.testing import assert_same

RNG = np.random.default_rng(0)


class Counter:
    def __init__(self):
        self.n = 0
        self.items = []


class Slots:
    __slots__ = ("inner", "items", "pair")

    def __init__(self):
        self.inner = Counter()
        self.items = []
        self.pair = ([], Counter())


class Items(list):
    def __init__(self):
        super().__init__()
        self.inner = Counter()

    def add(self, x):
        self.append(x)
        self.inner.n += 1


class Table(dict):
    def __init__(self):
        super().__init__()
        self.inner = Counter()


def a_list_in_a_slot(xs):
    held, total = Slots(), 0.0
    for x in xs:
        total = total + x.sum()
        held.items.append(1)
        held.pair[0].append(2)
    return held.items, held.pair[0], total


def an_object_in_a_slot(xs):
    held, total = Slots(), 0.0
    for x in xs:
        total = total + x.sum()
        held.inner.n += 1
        held.pair[1].n += 2
    return held.inner.n, held.pair[1].n, total


def a_default(xs):
    counter, total = Counter(), 0.0

    def count(by, held=counter, *, items=counter.items):
        held.n += by
        items.append(by)
        return len(items)

    for x in xs:
        total = total + x.sum() * count(2)
    return counter, total


def a_partial(xs):
    def count(held, items):
        held.n += 1
        items.append(1)
        return held.n

    call, total = functools.partial(count, Counter(), items=[]), 0.0
    for x in xs:
        total = total + x.sum() * call()
    return call.args[0].n, call.keywords["items"], total


def a_bound_method(xs):
    append, total = [].append, 0.0
    for x in xs:
        total = total + x.sum()
        append(1)
    return append.__self__, total


def a_list_with_attributes(xs):
    held, total = Items(), 0.0
    for x in xs:
        held.add(1)
        total = total + x.sum() * held.inner.n
    return list(held), held.inner.n, total


def a_dict_with_attributes(xs):
    held, total = Table(), 0.0
    for x in xs:
        held.inner.n += 1
        held.inner.items.append(held.inner.n)
        total = total + x.sum() * held.inner.n
    return held.inner.items, total


def a_class(xs):
    class Tally:
        n = 0

        @classmethod
        def count(cls):
            cls.n += 1
            return cls.n

    total = 0.0
    for x in xs:
        total = total + x.sum() * Tally.count()
    return Tally.n, total


def slots_of_a_class_of_the_function(xs):
    class Tally:
        __slots__ = ("inner", "n")

        def __init__(self, inner=None):
            self.n, self.inner = 0, inner

        def count(self):
            self.n += 1
            return self.n

    held, total = Tally(Tally()), 0.0
    for x in xs:
        total = total + x.sum() * held.inner.count() + held.count()
    return held.inner.n, total


def a_read_only_mapping(xs):
    held, total = types.MappingProxyType({"items": []}), 0.0
    for x in xs:
        held["items"].append(1)
        total = total + x.sum() * len(held["items"])
    return held["items"], total


def a_user_list(xs):
    held, total = collections.UserList(), 0.0
    for x in xs:
        held.append(1)
        total = total + x.sum() * len(held)
    return list(held), total


def a_cached_property(xs):
    class Lazy:
        @functools.cached_property
        def factor(self):
            asked.append(1)
            return 3.0

    asked, total = [], 0.0
    lazy = Lazy()
    for x in xs:
        total = total + x.sum() * lazy.factor
    return asked, total


def a_tuple_of_the_list_too(xs):
    out = []
    held = (out,)
    total = 0.0
    for x in xs:
        out.append(x.sum())
        total = total + x.sum() * len(held[0])
    return out, total


def a_queue_of_the_list_too(xs):
    out = []
    held = collections.deque([out])
    total = 0.0
    for x in xs:
        out.append(x.sum())
        total = total + x.sum() * len(held[0])
    return out, total


def a_closure_name(xs):
    """The loop stands in another function than the name."""
    calls = 0

    def weight(x):
        nonlocal calls, latest
        calls = calls + 1
        latest = len(x) + calls
        return x.sum()

    def added(f):
        total = 0.0
        for x in xs:
            total = total + f(x) * (1.0 if total > 3 else 2.0)
        return total

    total = added(weight)
    latest = latest + 1  # noqa: F821 — the function inside binds it
    return calls, latest, total


def a_closure_name_in_a_branch(xs):
    calls = 0

    def weight(x):
        nonlocal calls
        calls = calls + 1
        return x * 2

    def chosen(x, f):
        if x > 0:
            x = f(x)
        else:
            x = -x
        return x

    total = chosen(xs[0].sum(), weight) + chosen(-xs[0].sum(), weight)
    return calls, total


PROGRAMS = functions_of(globals(), "xs")


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_what_a_loop_changes(f, executor):
    jitted = tnp.jit(f, executors=[executor])
    for n in (20, 20, 12, 31, 1):
        xs = RNG.normal(size=(n, 4))
        expected, _ = outcome(f, (xs,))
        found, _ = outcome(jitted, (xs.copy(),))
        if isinstance(expected[0], Counter):
            expected, found = ((vars(x), total) for x, total in (expected, found))
        assert_same(found, expected)


@pytest.mark.filterwarnings("error::tnp.InternalErrorWarning")
def test_a_generator_of_random_numbers_in_a_program_for_any_size():
    def f(xs):
        rng, total = np.random.default_rng(3), 0.0
        for x in xs:
            total = total + x.sum() * rng.random()
        return total

    jitted = tnp.jit(f)
    for n in (20, 12, 31):
        xs = RNG.normal(size=(n, 4))
        assert_same(jitted(xs), f(xs))
