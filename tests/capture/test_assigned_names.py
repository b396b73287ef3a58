"""Global and closure names that a program assigns: the program sees the new value, and binds the real name at its end."""

import sys

import numpy as np
import pytest

import tnp
from tests.eager_checks import EXECUTORS, outcome
from tnp.testing import assert_same

X = np.arange(1.0, 5.0)
NAMES = {"COUNT": 0, "MODE": "plain", "TOTAL": None, "TABLE": np.zeros(4), "SEEN": [1]}
COUNT, MODE, TOTAL, TABLE, SEEN = NAMES.values()


class Mode:
    """Sets the mode for a while."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.before = mode_of()
        set_mode(self.name)

    def __exit__(self, *error):
        set_mode(self.before)


def mode_of():
    return MODE


def set_mode(name):
    global MODE
    MODE = name


def counted(x):
    global COUNT
    COUNT += 1
    return x * COUNT


def under_a_mode(x):
    with Mode("doubled"):
        y = x * 2 if MODE == "doubled" else x
    return y + len(MODE)


def left_in_a_mode(x):
    set_mode("doubled" if mode_of() == "plain" else "plain")
    return x * len(MODE)


def arrays(x):
    global TOTAL
    TOTAL = x * 2
    y = TOTAL + 1
    TOTAL = np.sin(y)
    return y * TOTAL


def in_place(x):
    global TABLE
    TABLE += x
    TABLE[0] = 7.0
    return TABLE.sum()


def bound_anew(x):
    global TABLE
    TABLE = TABLE + x
    return TABLE


def in_a_loop(x):
    global COUNT, TOTAL
    TOTAL = 0.0
    for y in x:
        COUNT += 1
        TOTAL = TOTAL + y
    return TOTAL * COUNT


def in_a_branch(x):
    global COUNT
    if x.sum() > 3:
        COUNT = COUNT + 10
    return x + COUNT


def by_a_function_inside(x):
    def bump(by):
        global COUNT
        COUNT += by

    bump(2)
    bump(3)
    return x * COUNT


def by_way_of_the_module(x):
    global COUNT
    COUNT = 5
    return x * sys.modules[__name__].COUNT


def several_at_once(x):
    global COUNT, MODE
    COUNT, MODE = COUNT + 1, "pair"
    return x * COUNT, MODE


def raising_between(x):
    global COUNT
    COUNT += 1
    y = np.linalg.inv(np.outer(x, x) * 0)
    COUNT += 1
    return y


def a_loops_variable(x):
    global COUNT
    for COUNT in range(3):  # noqa: B007 (what is tested)
        x = x * 2
    return x


def deleted(x):
    global TOTAL
    TOTAL = x
    del TOTAL
    return x + 1


def a_name_of_its_own_elsewhere(x):
    def inner():
        global COUNT
        COUNT = 3

    def other():
        COUNT = 100.0
        return COUNT

    inner()
    return x * other() + COUNT


def a_list(x):
    global SEEN
    SEEN = [*SEEN, x.sum()]
    return len(SEEN)


PROGRAMS = [
    counted, under_a_mode, left_in_a_mode, arrays, in_place, bound_anew, in_a_loop, in_a_branch, by_a_function_inside,
    by_way_of_the_module, several_at_once, raising_between, a_loops_variable, deleted, a_name_of_its_own_elsewhere, a_list,
]  # fmt: skip


def three_calls(f):
    """What three calls give, and what the names are bound to then."""
    for name, value in NAMES.items():
        globals()[name] = value.copy() if isinstance(value, np.ndarray) else value
    found = [outcome(f, (x,)) for x in (X, X * 2, -X)]
    return found, [globals().get(name) for name in NAMES]


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_names(f, executor):
    expected, names = three_calls(f)
    found, mine = three_calls(tnp.jit(f, executors=[executor]))
    assert_same(found, expected)
    assert_same(mine, names)
    assert [type(x) for x in mine] == [type(x) for x in names]


@pytest.mark.parametrize(
    "f",
    [counted, under_a_mode, arrays, in_place, in_a_loop, in_a_branch, by_a_function_inside],
    ids=lambda f: f.__name__,
)
def test_they_are_compiled(f):
    jitted = tnp.jit(f, strict=True)
    three_calls(jitted)
    assert tnp.cache_info(jitted).misses <= 2


def test_a_mode_that_is_put_back_is_no_effect():
    jitted = tnp.jit(under_a_mode, strict=True)
    three_calls(jitted)
    assert "MODE" not in str(tnp.last_traces(jitted)[-1])


def test_names_of_functions_around():
    def make():
        n, last = 0.0, None

        def step(x):
            nonlocal n, last
            n = n + x.sum()
            last = x * n
            return n

        return step, lambda: (n, last)

    results = []
    for jit in (lambda f: f, lambda f: tnp.jit(f, strict=True)):
        step, state = make()
        jitted = jit(step)
        results.append(([jitted(x) for x in (X, X * 2, -X)], state()))
    assert_same(results[1], results[0])
