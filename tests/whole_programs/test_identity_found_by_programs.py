"""Identity, aliasing and layout of arrays that random programs of the whole language (``tests/fuzzing/run.py``) found to be wrong."""

import functools
import itertools
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tests.whole_programs.checks import EXECUTORS, X, check
from tnp.testing import assert_same

# Views of arrays whose sizes are known at run time only


@pytest.mark.parametrize("turned", [False, True])
def test_writes_through_ravel_of_a_part(turned):
    def f(a, n):
        for k in range(n):
            (a[:, :k] if turned else a[:k]).ravel()[1:] += 1
        return a.sum()

    check(f, *((np.ones((6, 4)), n) for n in (2, 5, 4, 6)))


@pytest.mark.parametrize("other", [3.0, np.float64(3), np.ones(1), np.ones(()), np.ones(5)])
def test_what_is_broadcast_together_is_written_to(other):
    def f(x, y):
        both = np.broadcast_arrays(x, y)
        both[1][-1] -= 1
        return both

    check(f, (X, other))


# Which object it is


def _bound_on_one_side(a, n):
    if a.sum() < 100:
        b = a
    return b


def _swapped(a, n):
    b = a.view()
    for _ in range(n):
        a, b = b, a
        if b.any():
            return a
    return b


def _in_a_branch(a, n):
    if (a == n).any():
        b = a[...]
    else:
        b = a
    return b


@pytest.mark.parametrize(
    "function",
    [
        lambda a, n: a if (a == n).any() else a.reshape(-1),
        lambda a, n: a[...] if a.all() else a,
        _in_a_branch,
        _bound_on_one_side,
        _swapped,
    ],
)
def test_an_argument_is_told_from_a_view_of_all_of_it(function):
    for executors in EXECUTORS:
        jitted = tnp.jit(function, executors=executors)
        for a, n in (
            (np.arange(3), 13),
            (np.arange(3), 12),
            (np.arange(1, 3), 1),
            (np.zeros(2), 12),
            (np.array(3.0), 3),
        ):
            for _ in range(2):
                expected, got = function(a, n), jitted(a, n)
                assert (got is a, np.shares_memory(got, a)) == (expected is a, np.shares_memory(expected, a))


def _chosen_scalar(a):
    if a.sum():
        return (a,)
    return (a,)


def _of_unknown_length(a):
    b = np.unique(a)
    c = a[a > 0]
    return b, b.reshape(-1), b, c, c[...], c.view()


def _kept(a):
    made = SimpleNamespace(a=a)
    made.both = [a[None] for _ in range(2)]
    return (*made.both, a)


@pytest.mark.parametrize("function", [_chosen_scalar, _of_unknown_length, _kept])
@pytest.mark.parametrize("a", [np.arange(3), np.array(3)])
def test_views_of_all_of_an_array_are_objects_of_their_own(function, a):
    for executors in EXECUTORS:
        expected, got = function(a), tnp.jit(function, executors=executors)(a)
        assert_same(got, expected)
        pairs = list(itertools.combinations(range(len(expected)), 2))
        assert [got[i] is got[j] for i, j in pairs] == [expected[i] is expected[j] for i, j in pairs]
        assert [x is a for x in got] == [x is a for x in expected]


def test_a_branch_gives_a_view_of_a_view_as_a_view():
    def f(a):
        turned = np.fliplr(a[::-1])
        more = turned + 1
        return turned if a.sum() else more

    for executors in EXECUTORS:
        a = X.copy().reshape(1, 5)
        result = tnp.jit(f, executors=executors)(a)
        assert_same(result, f(a))
        assert np.shares_memory(result, a)


def test_views_that_an_object_keeps_are_objects_of_their_own():
    def f(o):
        o.views = [o.a[None], o.a[None]]

    o = SimpleNamespace(a=np.arange(3))
    tnp.jit(f)(o)
    assert o.views[0] is not o.views[1]
    assert np.shares_memory(o.views[0], o.a)


def test_a_view_of_the_whole_is_a_result():
    def f(a, b):
        _, v = a
        return np.broadcast_arrays(b, v)[1]

    a = np.arange(2, dtype=np.uint16)
    assert_same(tnp.jit(f)(a, np.float32(3)), f(a, np.float32(3)))


def test_an_array_that_is_written_whole_lies_in_memory_as_before():
    def f(b):
        a = np.zeros((2, 3))
        a[...] = b.T
        a *= 3
        return a, a.ravel(), a * 2

    def g(b):
        a = np.zeros((2, 3))
        a.T[...] = b
        a += a
        return a, a.ravel(), a * 2

    for function in (f, g):
        result, expected = (made(np.arange(6.0).reshape(3, 2)) for made in (tnp.jit(function), function))
        assert_same(result, expected)
        assert [x.strides for x in result] == [x.strides for x in expected]
        assert np.shares_memory(*result[:2])


def test_which_of_two_objects_a_result_is_depends_on_a_branch():
    def f(a):
        a = doubled = a * 2
        b = turned = a.T
        if doubled.sum() > 0:
            a, b = b, a
        return a, turned

    for a in (np.ones(3), -np.ones(3)):
        with pytest.warns(tnp.EagerFallbackWarning, match="one object"):
            result = tnp.jit(f)(a)
        assert (result[0] is result[1]) is bool(a[0] > 0)


def test_a_written_argument_is_itself_behind_branches_in_branches():
    def f(a):
        a <<= a
        if a.any():
            pass
        elif np.isfinite(a).all():
            v = a
        return v

    a = np.zeros(2, int)
    assert tnp.jit(f)(a) is a


@pytest.mark.parametrize("sign", [1, -1])
def test_a_branch_gives_what_may_be_the_callers_array_or_a_view_of_it(sign):
    def f(a, k):
        copied = a.copy()
        chosen = copied if a.sum() == k else a
        return chosen if copied.sum() <= 0.0 else chosen[:]

    jitted, a = tnp.jit(f), sign * np.ones(3)
    for k in (3.0, 4.0):
        assert (jitted(a, k) is a) is (f(a, k) is a)


@pytest.mark.parametrize("n", [10, 1, 0])
@pytest.mark.parametrize("is_written", [False, True])
def test_a_loop_makes_a_view_of_an_array_from_it(n, is_written):
    def counted(a, n):
        for _ in range(n):
            a = a[...]
            if is_written:
                a[0] += 1
        return a

    def until(a, n):
        while a.sum() < n - 1:
            a = a[...]
            a[0] += 1
        return a

    for f in (counted, until):
        a = np.zeros(3)
        b = a.copy()
        assert (tnp.jit(f)(a, n) is a) is (f(b, n) is b)


def test_what_is_a_scalar_or_a_number_is_a_scalar():
    def f(x):
        found = x[0] > 1 and isinstance(x, dict), max(x[0], 0.0), x[0] if x[1] > 0 else 0
        return [np.isscalar(y) for y in found]

    check(f, (X - 1,), (X,), (X + 3,))


def test_a_while_loop_that_does_not_run_leaves_the_object_that_its_variable_was():
    def f(a):
        flat = a.reshape(-1)
        new = v = a * 2
        while (v < 3).all():
            flat |= v
            v = flat.ravel()
        return new, v

    for a in (np.arange(10, 30, dtype=np.uint16)[::2], np.arange(10, 20, dtype=np.uint16)):
        new, v = tnp.jit(f)(a)
        assert new is v
        assert_same(v, f(a)[1])


def test_writes_whose_aliasing_depends_on_the_memory_order_of_what_a_part_gives():
    def f(a):
        v = np.roll(a, 0)
        doubled = a * 2
        v.reshape(-1)[0] = 1
        return doubled, v

    check(f, (np.asfortranarray(np.arange(8.0).reshape(4, 2)),), (np.arange(8.0).reshape(4, 2),))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("of", [lambda a: a, lambda a: a[::-1], lambda a: a.T, lambda a: a[:]])
def test_a_mask_that_shares_memory_with_what_is_written(of):
    def f(a):
        a[::-1][of(a)] = 0
        return a

    def g(a):
        a[of(a)] = 0
        return a

    def h(a):
        np.copyto(a[::-1], ~a, where=of(a))
        return a

    for function in (f, g, h):
        a = np.random.default_rng(1).random((4, 4)) > 0.5
        assert_same(tnp.jit(function)(a.copy()), function(a.copy()))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_what_a_part_makes_has_numpys_memory_order_at_any_size():
    def f(a, o):
        o.made = a.T + 2
        print(end="")
        o.other = a
        for row in o.other:
            row[[-1]]
        return o.made.reshape(-1)

    jitted = tnp.jit(f)
    for shape in ((5, 1, 2), (4, 1, 4), (6, 1, 3)):
        mine, eagers = SimpleNamespace(), SimpleNamespace()
        with not_compiled_whole():
            got = jitted(np.ones(shape), mine)
        assert_same(got, f(np.ones(shape), eagers))
        assert not np.shares_memory(got, mine.made)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_at_writes_before_it_raises():
    def f(a, x):
        with np.errstate(all="raise"):
            np.add.at(a, 1, x)

    for x in (np.inf, 3.0):
        mine, eagers = np.arange(4, dtype="i1"), np.arange(4, dtype="i1")
        outcomes = []
        for g, a in ((tnp.jit(f), mine), (f, eagers)):
            try:
                outcomes.append(g(a, x))
            except FloatingPointError:
                outcomes.append("raises")
        assert outcomes[0] == outcomes[1]
        assert_same(mine, eagers)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_out_that_is_written_while_a_view_of_it_is_read():
    def joined(x):
        return np.concatenate([x[1:], x[:1]], out=x)

    def stacked(x):
        return np.stack([x[1:3], x[:2]], out=x[:4].reshape(2, 2))

    def peaks(x):
        return np.ptp(x[:6].reshape(3, 2), axis=1, out=x[1:4])

    for f in (joined, stacked, peaks):
        mine, eagers = np.arange(8.0), np.arange(8.0)
        assert_same(tnp.jit(f)(mine), f(eagers))
        assert_same(mine, eagers)
    joined_apart = tnp.jit(lambda x, y: np.concatenate([x[1:], x[:1]], out=y), strict=True)
    assert_same(joined_apart(np.arange(3.0), np.empty(3)), np.array([1.0, 2.0, 0.0]))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("values", [range(2), [1.0, 2.0], (3.0,) * 3])
def test_a_masked_store_in_a_branch_that_raises_keeps_what_was_stored_before(values):
    def f(x, kept, flag):
        x[:-1] = 1.5
        kept["x"] = x
        if flag.max() > 0:
            x[x % 2 == 0] = values
        return x

    outcomes = []
    for g in (tnp.jit(f), f):
        x, kept = np.arange(8.0), {}
        x[-1] = 4
        with pytest.raises(ValueError, match="boolean array indexing"):
            g(x, kept, np.array([0, 1]))
        outcomes.append((x.tolist(), kept.get("x") is x))
    assert outcomes[0] == outcomes[1]


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_views_of_arrays_that_are_made_where_tnp_does_not_see_it_are_new_in_each_call():
    jitted = tnp.jit(lambda x: (np.squeeze(np.float64(6).reshape(1).flat[::2]), x + 1))
    first = jitted(X)[0]
    first[...] = 99
    assert jitted(X)[0] == 6


def test_builtins_that_others_call():
    def f(x):
        mixed = [x, x[0], 1.5, (1, 2)]
        numbers = [list(map(float, x)), list(filter(bool, x)), sorted([x[1], x[0]], key=float), list(map(round, x))]
        folded = (
            functools.reduce(max, x.tolist()),
            list(itertools.accumulate(x.tolist(), min)),
            [t("3") for t in (int, float)],
        )
        grouped = (
            [k for k, _ in itertools.groupby([1, 1.5, x], type)],
            list(itertools.starmap(isinstance, [(x, np.ndarray)])),
        )
        return list(map(type, mixed)), list(map(len, [x, (1, 2)])), numbers, folded, grouped

    check(f, (X,))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_a_list_whose_items_were_lifted_on_trial():
    kept = []

    def f(x, y):
        kept.append(np.broadcast_arrays(x, 0.25)[1])
        if y < 0 or kept[-1].all():
            return len(kept)
        return None

    jitted = tnp.jit(f)
    with not_compiled_whole():
        assert [jitted(np.ones(6 - k), np.float64(k)) for k in range(4)] == [1, 2, 3, 4]


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize(
    "make", [lambda: np.arange(6.0) + 1, lambda: np.arange(12.0)[::2], lambda: np.asfortranarray(np.eye(3))]
)
def test_flat_iterators_give_elements_as_they_are_then(make):
    def doubled(x):
        found = []
        for q in x.flat:
            x *= 2
            found.append(q)
        return found, q

    def added(x):
        elements = iter(x.flat)
        first = next(elements)
        x += 1
        return first, next(elements), list(x.flat)

    for f in (doubled, added):
        mine, eagers = make(), make()
        assert_same(tnp.jit(f)(mine), f(eagers))
        assert_same(mine, eagers)


def test_elements_that_unstack_gives_are_scalars_of_the_time():
    def f(x):
        parts = np.unstack(x)
        x[0] = 9
        return parts

    check(f, (np.arange(3.0),), (np.ones((2, 2)),), (np.array([0.5j]),))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_a_condition_that_writes_an_array():
    def emptied(a):
        a[a > 0] = 0
        return a.sum()

    def f(x):
        n = 0
        while emptied(x) <= 1j and n < 5:
            n += 1
        return n, x

    check(f, (np.arange(3.0),))


def test_products_into_arrays_that_are_not_contiguous_are_refused():
    for out in (np.zeros((2, 2)), np.zeros((2, 4))[:, ::2]):
        outcomes = []
        for f in (tnp.jit(lambda x, o: np.dot(x, x, out=o)), lambda x, o: np.dot(x, x, out=o)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
                try:
                    outcomes.append(f(np.ones((2, 2)), out).tolist())
                except ValueError as error:
                    outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


def test_views_of_what_was_copied_before_a_store_are_not_copied_again():
    def f(a):
        v, same = np.diag(a), a
        same[1:0:2][...] = 2.0
        a %= 1
        return v, v.reshape(-1, 1), v.reshape(-1)

    jitted = tnp.jit(f)
    for n in (0, 3, 4, 5):
        first, *views = jitted(np.arange(n) + 0.5)
        assert all(np.shares_memory(first, v) for v in views) or n == 0
        assert_same([first, *views], list(f(np.arange(n) + 0.5)))


def test_lists_that_a_loop_changes_while_it_runs_over_them():
    def popped(x):
        count = 0
        for v in x:
            items = [v, v, v]
            for last in enumerate(items):  # noqa: B007 (it is read behind the loop)
                items.pop()
                count += 1
        return last, count

    def appended(x):
        for v in x:
            items = [v, v]
            for last in zip(items, range(9)):  # noqa: B007
                if len(items) < 5:
                    items.append(v)
        return last, len(items)

    for f in (popped, appended):
        jitted = tnp.jit(f)
        for n in (3, 2, 5):
            with warnings.catch_warnings(action="ignore", category=tnp.EagerFallbackWarning):
                assert_same(jitted(np.arange(float(n))), f(np.arange(float(n))))


def test_one_array_that_branches_append_again_and_again():
    def f(x):
        a = np.arange(3)
        return [a for _ in "abc" if x.all()]

    jitted = tnp.jit(f)
    for x in (np.ones(3), np.zeros(3)):
        with warnings.catch_warnings(action="ignore", category=tnp.EagerFallbackWarning):
            found = jitted(x)
        assert_same(found, f(x))
        assert all(a is found[0] for a in found)
