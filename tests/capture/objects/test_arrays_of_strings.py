"""Arrays of strings: what programs read of them is known, and guarded."""

import copy
import types

import numpy as np
import pytest

import tnp
from tests.eager_checks import compiled_whole, not_compiled_whole
from tests.whole_programs.checks import EXECUTORS
from tnp.testing import assert_same

X = np.arange(5.0)
MODES = np.array(["S", "D", "S"])


def as_lists(x):
    """``x`` with each array of strings replaced by its dtype and its elements."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "US":
        return ["array", str(x.dtype), x.tolist()]
    if isinstance(x, (list, tuple)):
        return type(x)(map(as_lists, x))
    if isinstance(x, types.SimpleNamespace):
        return {k: as_lists(v) for k, v in vars(x).items()}
    return [type(x), str(x)] if isinstance(x, (np.str_, np.bytes_)) else x


def read(modes, x):
    total = x * 0
    for i, mode in enumerate(modes):
        if mode == "D":
            total = total + i
    return (
        total,
        modes[0],
        modes[1:].copy(),
        modes.size,
        len(modes),
        modes.dtype,
        list(modes),
        modes.tolist(),
        modes.T.shape,
    )


def compared(modes, x):
    return (
        modes == "S",
        np.any(modes != "S"),
        modes < np.array(["E"] * len(modes)),
        "D" in modes,
        x[: len(modes)][modes == "S"].sum(),
    )


def computed(modes, x):
    values, places = np.unique(modes, return_inverse=True)
    both = np.hstack([modes, ["long"]])
    return (
        values,
        places,
        both,
        np.isin(modes, ["S"]),
        np.char.lower(modes),
        np.asarray(modes) is modes,
        modes.astype("U5"),
        x + 1,
    )


def written(modes, x):
    modes[:2] = "C"
    modes[2] = "cut off"
    return modes, x + 1


def made(modes, x):
    n = len(modes)
    some, other = np.array(["S"] * n), np.full(2, "ab")
    other[0] = "xyz"
    third = np.empty(2, dtype="U3")
    third[:] = ["p", modes[0]]
    return some, other, third, [some[i] for i in range(n)], np.where(some == "S", x[:n], 0.0), np.array([b"ab", b"c"])


def kept(modes, x):
    o = types.SimpleNamespace(modes=modes.copy(), given=modes)
    o.modes[0] = "T"
    return o, o.given is modes, x * 2


CASES = (read, compared, computed, written, made, kept)


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_programs_do_what_eager_does(function, executors):
    jitted = tnp.jit(function, executors=executors, strict=True)
    for modes in (MODES, MODES, np.array(["D", "D", "DD"]), MODES):
        mine, theirs = (modes.copy(), X.copy()), (modes.copy(), X.copy())
        assert_same(as_lists(jitted(*mine)), as_lists(function(*theirs)))
        assert_same(as_lists(mine), as_lists(theirs))


def test_one_that_is_passed_on_may_hold_anything():
    def f(o, x):
        o.kept = o.modes
        return o.modes, x + 1

    jitted = tnp.jit(f, strict=True)
    for modes in (MODES, np.array(["a"]), np.array([["bb", "c"]])):
        o = types.SimpleNamespace(modes=modes)
        assert jitted(o, X)[0] is modes is o.kept
    assert tnp.cache_info(jitted).misses == 1


def test_strings_that_are_others_in_each_call():
    def f(names, x):
        y = np.sin(x) * 2 + x
        return names == "a3", y

    jitted = tnp.jit(f)
    with not_compiled_whole("something else in each call"):
        for i in range(20):
            names = np.array([f"a{i}", "b"])
            found, y = jitted(names, X)
            assert_same(found, names == "a3")
            assert_same(y, np.sin(X) * 2 + X)
    assert tnp.cache_info(jitted).misses < 15


def test_copies():
    def f(o, x):
        other = copy.deepcopy(o)
        other.modes[0] = "T"
        return other.modes, o.modes[0], x + 1

    o = types.SimpleNamespace(modes=MODES.copy())
    assert_same(as_lists(tnp.jit(f)(o, X)), as_lists(f(o, X)))
    assert o.modes[0] == "S"


@pytest.mark.parametrize(
    "use",
    [lambda a: a == 3, lambda a: np.char.add(a, a)[a.argsort()], lambda a: a.view("U1"), lambda a: a[np.array([0, 1])]],
)
def test_what_else_is_done_with_them_is_pythons(use):
    def f(a, x):
        return use(a), np.sin(x) * 2 + x

    with not_compiled_whole():
        jitted = tnp.jit(f)
        for _ in range(3):
            assert_same(as_lists(jitted(MODES, X)), as_lists(f(MODES, X)))


def test_a_global_is_looked_at_at_each_call():
    jitted = tnp.jit(lambda x: x + (TABLE == "a").sum())
    for first in ("a", "b", "a"):
        TABLE[0] = first
        assert_same(jitted(X), X + (1 if first == "a" else 0))
    assert compiled_whole(jitted)


TABLE = np.array(["a", "b"])
