"""Long lists of arrays of several lengths: a program does not depend on each of them."""

import contextlib
import copy

import numpy as np
import pytest

import tnp
from tests.eager_checks import compiled_whole, not_compiled_whole
from tnp.testing import assert_same

rng = np.random.default_rng(0)


def frames(count, widest=6, least=0):
    return [rng.random(k) for k in rng.integers(least, widest, count)]


def check(f, *calls):
    jitted = tnp.jit(f)
    for args in calls:
        expected_args = copy.deepcopy(list(args))
        try:
            expected = f(*expected_args)
        except Exception as error:
            with pytest.raises(type(error), match=str(error)):
                jitted(*args)
        else:
            assert_same(jitted(*args), expected)
        assert_same(list(args), expected_args, what="arguments")
    return jitted


def test_lengths_and_items_of_them_are_inputs():
    def f(items, x):
        if len(items) != x.size:
            raise ValueError("one of each")
        y = np.sin(x) * len(items) + items[0].size
        return y + items[-1].sum() if items else y

    jitted = check(
        f, *((frames(n, least=2), rng.random(n)) for n in (100, 130, 170, 180)), (frames(90), rng.random(80))
    )
    assert tnp.cache_info(jitted).misses <= 4


def checked(items, most):
    for item in items:
        if item.size and (item > most).any():
            raise ValueError("too large")


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_checks_of_each_array_are_part_of_the_program():
    def f(x, items, most):
        y = np.cos(x) + np.sqrt(x) * 2
        checked(items, most)
        return y * 2 + np.sin(y)

    jitted = check(f, *((rng.random(50), frames(n), 2.0) for n in (400, 500, 600)))
    assert compiled_whole(jitted)
    assert tnp.cache_info(jitted).size <= 2
    with pytest.raises(ValueError, match="too large"):
        jitted(rng.random(50), frames(700), 0.5)


def of_numbers(items):
    return np.array([t.sum() for t in items]), [t.size for t in items], sum(len(t) for t in items)


def of_some(items):
    return [np.max(t) for t in items if t.size], [t[-1] * t[0] for t in items if len(t) > 1]


def of_differences(items):
    return [np.abs(np.diff(t)).sum() for t in items]


def padded(items):
    out = np.zeros((len(items), max([len(t) for t in items])))
    for i, t in enumerate(items):
        out[i, : len(t)] = t
    return out


def by_place(items):
    total = 0.0
    for i in range(len(items)):
        for j in range(len(items[i])):
            total += items[i][j] * j
    return total + items[3].sum() + items[-1].sum()


def joined(items):
    return np.concatenate(items) * 2, np.hstack(items), np.concatenate(items, axis=0).mean()


def mapped(items):
    return [69.0 + 12.0 * np.log2(t / 440.0 + 1) for t in items]


def centred(items):
    out = []
    for t in items:
        out.append(t - t.sum() / (t.size + 1))
    return out


def of_other_lengths(items):
    return [np.diff(t) for t in items], [t[t > 0.5] for t in items], [np.append(t, 0) for t in items]


def left_out(items):
    return [(t * 2, t.size) for t in items if t.size > 3]


def through_two_lists(items):
    halves = [t / 2 for t in items]
    return np.array([t.size for t in halves]), [np.mod(t, 0.2).astype(np.float32) for t in halves], np.hstack(halves)


def all_pairs(items):
    out = np.zeros(len(items))
    for k, (t, u) in enumerate(zip(items, items)):
        out[k] = np.abs(t[:, None] - u[None] * k).sum()
    return out


def through_map(items):
    longest, summed = max(map(len, items)), sum(map(np.sum, items))
    return longest, summed, list(map(lambda t, k: t * k, items, range(len(items)))), np.array(list(map(len, items)))


WHOLE = [
    of_numbers, of_some, of_differences, padded, by_place, joined, mapped, centred, of_other_lengths, left_out, through_two_lists, all_pairs, through_map
]  # fmt: skip


@pytest.mark.parametrize("f", WHOLE, ids=lambda f: f.__name__)
def test_programs_of_lists_of_any_lengths(f):
    jitted = check(f, *((frames(n, least=k),) for n, k in ((100, 2), (300, 0), (70, 1), (500, 0))))
    assert compiled_whole(jitted)
    assert tnp.cache_info(jitted).size <= 2


def test_arrays_that_are_returned_are_of_their_own():
    @tnp.jit
    def jitted(items):
        return [t * 2 for t in items]

    for n in (100, 120):
        made = jitted(frames(n))
        assert all(t.base is None and t.flags.owndata and t.flags.writeable for t in made)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.complex128, np.bool_])
def test_dtypes_and_rows(dtype):
    def f(items):
        return [t[::-1].copy() for t in items], np.vstack(items), np.array([t.sum() for t in items]), len(items)

    def of(n):
        return [(rng.random((k, 2)) * 10).astype(dtype) for k in rng.integers(0, 6, n)]

    assert compiled_whole(check(f, (of(70),), (of(90),), (of(80),)))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_lists_that_are_no_longer_alike():
    def f(items):
        return [t.sum() for t in items]

    others = [np.arange(k) for k in (2, 3, 4)]
    strided = [np.arange(12.0)[::k] for k in (1, 2, 3)]
    calls = [
        frames(100, least=1),
        frames(90, least=1) + others,
        frames(80) + strided,
        frames(100),
        [np.ones(3)] * 70,
        frames(5),
    ]
    check(f, *((x,) for x in calls))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_arrays_that_are_handed_back():
    def longest(items):
        return max(items, key=len)

    def large(items):
        return [t for t in items if t.size > 2]

    def parts(items):
        return [t[1:] for t in items]

    for f in (longest, large, parts):
        jitted = tnp.jit(f)
        for n in (100, 120):
            items = frames(n, least=1)
            found, expected = jitted(items), f(items)
            if f is not longest:
                assert all(a is b or a.base is b.base for a, b in zip(found, expected, strict=True))
            else:
                assert found is expected


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_views_of_another_argument():
    def f(items, x):
        x *= 2
        return [t + 1 for t in items]

    jitted = tnp.jit(f)
    for n in (100, 120, 100):
        for of in (0, 1):
            mine, eager = np.ones((2, n)), np.ones((2, n))
            found, expected = (g([x[of][: k % 7] for k in range(n)], x[0]) for g, x in ((jitted, mine), (f, eager)))
            assert_same(found, expected)
            assert_same(mine, eager)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_more_is_appended_than_there_was_room_for():
    def f(items, n):
        return [np.concatenate([t] * 4 + [np.zeros(n)]) for t in items]

    check(f, *((frames(k), n) for k in (70, 80, 90) for n in (1, 50)))


def test_writes_to_their_arrays():
    def f(items, x):
        x[:] = 2.0 * len(items)
        for item in items:
            item += x[0]
        return items

    jitted = tnp.jit(f)
    for n in (70, 80):
        items, x = frames(n, least=1), np.zeros(3)
        expected = [a + 2.0 * n for a in items]
        with not_compiled_whole() if n == 70 else contextlib.nullcontext():
            assert jitted(items, x) is items
        assert_same(items, expected)


def test_gradients_and_strict_functions_have_each_array():
    def f(x, items):
        return sum((np.sin(item) * x).sum() for item in items[:5]) * len(items)

    items = frames(70, least=1)
    expected = sum(np.sin(a).sum() for a in items[:5]) * 70
    assert tnp.grad(f)(1.5, items) == pytest.approx(expected)
    assert tnp.jit(f, strict=True)(1.5, items) == pytest.approx(1.5 * expected)


def test_slices_of_the_list():
    def f(items):
        some = items[2:50]
        return (
            [t.sum() for t in items[1:]],
            np.concatenate(some),
            len(some),
            [t * 2 for t in items[:-1]],
            some[-1].sum(),
        )

    jitted = check(f, *((frames(n),) for n in (100, 140, 200)))
    assert compiled_whole(jitted)
    assert tnp.cache_info(jitted).size <= 2


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_an_array_that_is_in_a_list_and_beside_it():
    @tnp.jit
    def jitted(items):
        out = []
        for t in items:
            last = t * 2
            out.append(last)
        return out, last

    for n in (100, 120):
        out, last = jitted(frames(n))
        assert out[-1] is last


def test_lists_of_few_arrays():
    def f(items):
        return np.array([(t * 2).sum() for t in items]), [t - 1 for t in items]

    jitted = check(f, *((frames(n, least=1),) for n in (40, 20, 17, 33, 60)))
    assert tnp.cache_info(jitted).size <= 2
    check(f, *((frames(n, least=1),) for n in (12, 9, 3, 1)))
