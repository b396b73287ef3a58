"""Long lists of Python's numbers, and such lists whose length varies, are one array for the program, as long as it only reads them."""

import bisect
import heapq
import itertools
import math
import statistics

import numpy as np
import pytest

import tnp
from tests.eager_checks import whole
from tnp.executors import llvm
from tnp.runtime.lists import numbers_of
from tnp.testing import assert_same


def floats(n=100, seed=0):
    return (np.random.default_rng(seed).random(n) - 0.3).tolist()


def integers(n=100, seed=0):
    return np.random.default_rng(seed).integers(-50, 50, n).tolist()


def as_arrays(x):
    return (
        np.array(x),
        np.asarray(x, dtype="f4"),
        np.sin(x),
        np.add(x, x),
        np.concatenate([x, np.ones(2)]),
        np.vstack((x, x)),
    )


def with_operators(x):
    a = np.ones(len(x))
    return a * x, x + a, a[2:] - x[2:], np.arange(3.0) * x[-1]


def written(x):
    a, b = np.asarray(x), np.array(x)
    a[0], b[1] = 7, 8
    return a, b


def python_functions(x):
    return sum(x) / len(x), max(x), min(x), isinstance(x, list), type(x) is list, bool(x)


def looped(x):
    total = 0
    for v in x:
        total += v * 2 if v > 0 else v // 3
    rest = x[1:]
    for a, b in zip(x, rest):
        total += abs(b - a)
    return total


def items(x):
    return x[0] ** 2, x[-1] / 3, x[np.argmax(x)], type(x[2]), [x[k] for k in (3, 4)]


def decisions(x):
    found = next((i for i in range(1, len(x)) if x[i] < x[i - 1]), -1)
    return any(x), all(x), x[found], any(v > 0.5 for v in x), bool(x[0] > 0)


@pytest.mark.parametrize("make", [floats, integers])
@pytest.mark.parametrize("f", [as_arrays, with_operators, written, python_functions, looped, items])
def test_one_program_for_all_values_and_two_for_all_lengths(f, make):
    jitted = whole(f, make())
    for seed in range(3):
        assert_same(jitted(make(seed=seed)), f(make(seed=seed)))
    assert tnp.cache_info(jitted).misses == 1
    others = tnp.jit(f)
    for n in (100, 130, 90, 5, 70):
        assert_same(others(make(n)), f(make(n)))
    assert tnp.cache_info(others).misses <= 3


def indexed(x):
    a = np.arange(200.0)
    return a[x], np.take(a, x), a[x[3]]


def test_lists_of_indices():
    whole(indexed, integers())


def changed(x):
    x.append(3)
    x[2] = 5
    x.sort()
    return x, len(x)


def copied(x):
    return list(x), x[:], x + x, x * 2, tuple(x), set(x), x == list(x), 3 in x, x.count(x[0]), {"x": x}


def by_others(x):
    heap = x[:]
    heapq.heapify(heap)
    return heap, heapq.nlargest(3, x), bisect.bisect(sorted(x), 0.2), math.fsum(x), statistics.mean(x), repr(x), max(*x)


def caught(x):
    try:
        return x[1000]
    except IndexError as error:
        return str(error)


@pytest.mark.parametrize("make", [floats, integers])
@pytest.mark.parametrize("f", [changed, copied, by_others, caught, decisions])
def test_what_needs_the_items_themselves(f, make):
    jitted = tnp.jit(f)
    for seed in range(3):
        mine, theirs = make(seed=seed), make(seed=seed)
        assert_same(jitted(mine), f(theirs))
        assert_same(mine, theirs)


def mean(x):
    return sum(x) / len(x), np.mean(x), x[1]


@pytest.mark.filterwarnings("ignore:mean runs in parts:tnp.EagerFallbackWarning")
def test_items_of_other_kinds():
    jitted = tnp.jit(mean)
    mixed = [1.0] * 99
    kinds = [
        floats(),
        integers(),
        [*mixed, 1],
        [*integers(99), 2**40],
        [*integers(99), 2**80],
        [True] * 100,
        [*mixed, np.float64(2)],
    ]
    for x in [*kinds, [*mixed, math.nan], [-0.0] * 100, *kinds]:
        found, expected = jitted(x), mean(x)
        assert_same(found, expected)
        assert [type(v) for v in found] == [type(v) for v in expected]


def test_numbers_of():
    assert_same(numbers_of([1, -(2**31)]), np.array([1, -(2**31)]))
    assert not numbers_of([1.0, 2.0]).flags.writeable
    for none in (
        [],
        [1],
        [1, 2.0],
        [1.0, 2],
        [1, 2**31],
        [1, -(2**31) - 1],
        [2**70, 1],
        [True, False],
        (1, 2),
        [1.0, None],
    ):
        assert numbers_of(none) is None


def test_a_list_that_another_argument_is_too():
    def f(x, y):
        return x is y, np.add(x, y)

    jitted = tnp.jit(f)
    x = floats()
    for args in ((x, x), (x, floats()), (floats(), x), (x, x)):
        assert_same(jitted(*args), f(*args))


# The test is about native code alone: without a target for the machine, NumPy runs each operation.
@pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this machine")
def test_a_list_with_room_for_many_is_not_copied():
    """A loop on threads whose checks may fail copies what it writes: of a list, that would be all that there is room for."""

    def shares(n):
        k = int(n**0.5)
        p = [x + 0.5 for x in range(k)]
        for i in range(k):
            p[i] /= k
        return np.array(list(itertools.product(p, repeat=2)))

    jitted = tnp.jit(shares, strict=True)
    for n in (40, 64, 100, 64):
        assert_same(jitted(n), shares(n))
    assert "run in parallel" not in str(tnp.explain(jitted))


@pytest.mark.filterwarnings("ignore:.* runs in parts:tnp.EagerFallbackWarning")
def test_numbers_of_a_long_list_are_no_inputs_where_python_needs_them_one_by_one():
    def f(values, x):
        names = [str(v) for v in values]  # Python's
        return names[2], np.bincount(values).sum() + np.sin(x)

    jitted = tnp.jit(f)
    for seed in (0, 1):
        values = np.random.default_rng(seed).integers(0, 50, 900).tolist()
        for _ in range(2):
            assert_same(jitted(values, np.ones(3)), f(values, np.ones(3)))
    assert len(str(tnp.explain(jitted))) < 10_000
