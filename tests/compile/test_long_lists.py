"""Long lists of arrays of one kind, and lists of one object again and again: loops over them are loops of the program."""

import itertools

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole, outcome
from tnp.api import programs_of
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("ignore:.* runs (eagerly|in parts):tnp.EagerFallbackWarning")
RNG = np.random.default_rng(0)
N = 200


def run(f, *makers):
    """A compiled function after calls that are compared with eager's, arguments included."""
    jitted = tnp.jit(f)
    for make in makers:
        ours, theirs = make(), make()
        assert_same(jitted(*ours), f(*theirs))
        assert_same(ours, theirs)
    return jitted


def length(jitted):
    return [len(program.traces[0].bound_symbols) for program, _ in programs_of(jitted)]


def smoothed(xs, fs):
    found = np.zeros((len(xs), 3))
    x = xs[-1] * 1.0
    for k in range(len(xs) - 2, -1, -1):
        x = fs[k + 1] @ x + xs[k]
        found[k] = x
    return found


def zipped(xs, fs):
    x = np.zeros(3)
    for i, (a, f, weight) in enumerate(zip(xs, fs, [0.5] * len(xs))):
        x = f @ x * weight + a * i
    return x


def repeated(xs, f):
    fs = [f] * len(xs)
    x = xs[0]
    for k in range(len(xs)):
        x = fs[k] @ x + xs[k]
    return x


def sliced(xs, fs):
    total = np.zeros(3)
    for a, b in zip(xs[:-1], xs[1:]):  # noqa: RUF007 (slices are what is tested)
        total += np.maximum(a, b)
    return total + xs[3] + xs[-1], len(xs[2:9])


def in_pairs(xs, fs):
    total = np.zeros(3)
    for a, b in itertools.pairwise(xs):
        total = np.maximum(total * 0.5, a) + b
    for k, (a, b) in enumerate(itertools.pairwise(total)):
        total[k] = a - b
    return total


def lists(n=N, same=False):
    f = np.eye(3) * 0.9 + RNG.normal(size=(3, 3)) * 0.01
    return list(RNG.normal(size=(n, 3))), [f] * n if same else [f + i for i in np.linspace(0, 0.1, n)]


def calls(same):
    made = [lists(n, same) for n in (N, N, 70, 300)]
    return [lambda m=m: m for m in made]


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("f", [smoothed, zipped, sliced, in_pairs])
def test_a_loop_over_lists(f, same):
    jitted = run(f, *calls(same))
    assert max(length(jitted)) < 60
    assert tnp.cache_info(jitted).misses <= 4


def test_one_array_again_and_again():
    xs, f = RNG.normal(size=(N, 3)), np.eye(3) * 0.9
    jitted = run(repeated, lambda: (xs, f), lambda: (xs[:150], f))
    assert max(length(jitted)) < 60


def written(xs, fs):
    for x in xs:
        x += 1.0
    return xs[0]


def returned(xs, fs):
    return xs[5], xs[7][1:]


def sorted_by(xs, fs):
    return sorted(xs, key=lambda x: float(x.sum()))[0]


def of_other_shapes(xs, fs):
    return sum(x.sum() for x in xs)


@pytest.mark.parametrize("f", [written, returned, sorted_by])
def test_other_uses_take_the_arrays_themselves(f):
    made = lists()
    jitted = tnp.jit(f)
    for _ in range(3):
        ours, theirs = ([a.copy() for a in made[0]], made[1]), ([a.copy() for a in made[0]], made[1])
        found, expected = jitted(*ours), f(*theirs)
        assert_same(found, expected)
        assert_same(ours, theirs)
        if f is returned:
            assert found[0] is ours[0][5] and np.shares_memory(found[1], ours[0][7])


def test_lists_of_several_kinds():
    xs, fs = lists()
    mixed = [*xs[:-1], np.zeros(4)]
    run(of_other_shapes, lambda: (xs, fs), lambda: (mixed, fs), lambda: (xs, fs))


def test_an_index_out_of_range():
    def f(xs, fs, k):
        return xs[k] * 2

    xs, fs = lists(70)
    jitted = tnp.jit(f)
    for k in (3, -70, 69):
        assert_same(jitted(xs, fs, k), f(xs, fs, k))
    for k in (70, -71):
        with pytest.raises(IndexError, match="list index out of range"):
            jitted(xs, fs, k)


def solved(xs, m):
    """Tries an inverse in each iteration."""
    x = xs[0] * 0.0
    for a in xs:
        try:
            gain = np.linalg.inv(m + np.outer(a, a))
        except np.linalg.LinAlgError:
            gain = np.eye(3)
        x = gain @ x + a
    return x


def test_an_error_that_is_caught_in_a_loop():
    xs = RNG.normal(size=(N, 3))
    good, bad = np.eye(3), np.zeros((3, 3))
    jitted = tnp.jit(solved, strict=True)
    for _ in range(20):
        assert_same(jitted(xs, good), solved(xs, good))
    ((program, _),) = programs_of(jitted)
    assert len(program.traces[0].bound_symbols) < 60
    zeros = np.zeros((N, 3))
    assert_same(jitted(zeros, bad), solved(zeros, bad))  # one call in many: it runs eagerly
    assert_same(jitted(xs, good), solved(xs, good))
    assert tnp.cache_info(jitted).misses == 1


def test_errors_that_come_often_are_python_s():
    xs, bad = np.zeros((N, 3)), np.zeros((3, 3))
    jitted = tnp.jit(solved)
    assert_same(jitted(xs, bad), solved(xs, bad))
    with not_compiled_whole("it catches errors of an operation that may raise when the program runs"):
        assert_same(jitted(xs, bad), solved(xs, bad))
    assert_same(jitted(xs + np.eye(3)[0], np.eye(3)), solved(xs + np.eye(3)[0], np.eye(3)))


def test_what_was_done_before_an_error_is_not_done_twice():
    def f(x, m, out, held):
        out += 1.0
        held.append(x.sum())
        try:
            y = np.linalg.inv(m)
        except np.linalg.LinAlgError:
            y = m + 5.0
        return y

    jitted = tnp.jit(f)
    for m in (np.eye(3), np.zeros((3, 3)), np.eye(3), np.zeros((3, 3))):
        ours, theirs = (np.ones(3), m, np.zeros(2), []), (np.ones(3), m, np.zeros(2), [])
        assert_same(jitted(*ours), f(*theirs))
        assert_same(ours, theirs)


def test_random_numbers_before_an_error_are_drawn_once():
    def f(m):
        x = np.random.normal(size=3)
        try:
            y = np.linalg.inv(m)
        except np.linalg.LinAlgError:
            y = m + 5.0
        return y @ x + np.random.normal()

    jitted = tnp.jit(f)
    for m in (np.eye(3), np.zeros((3, 3)), np.eye(3)):
        np.random.seed(1)
        expected = f(m)
        np.random.seed(1)
        assert_same(jitted(m), expected)


def test_gradients_do_not_go_around_errors():
    def f(m):
        try:
            return np.linalg.inv(m).sum()
        except np.linalg.LinAlgError:
            return m.sum()

    with pytest.raises(tnp.TraceError, match="catches errors"):
        tnp.grad(f)(np.eye(3))


@pytest.mark.parametrize("settings", [{"all": "ignore"}, {"all": "raise"}])
def test_errors_under_a_setting(settings):
    def f(x, m):
        with np.errstate(**settings):
            try:
                y = np.linalg.inv(m / x[0])
            except (np.linalg.LinAlgError, FloatingPointError):
                y = m * 2
        return y @ x

    jitted = tnp.jit(f, strict=True)
    for x, m in (
        (np.ones(3), np.eye(3)),
        (np.zeros(3), np.eye(3)),
        (np.ones(3), np.zeros((3, 3))),
        (np.ones(3), np.eye(3)),
    ) * 5:
        before = np.geterr()
        assert_same(jitted(x, m), f(x, m))
        assert np.geterr() == before


def of_the_length(xs, f):
    fs, weights = [f] * len(xs), [0.5] * len(xs)
    x = xs[0]
    for k in range(len(xs) - 2, -1, -1):
        x = fs[k + 1] @ x + xs[k]
    for y, weight in zip(xs, weights):
        x = x + y * weight
    return x, len(fs), fs[2] is f, isinstance(fs, list), type(weights) is list


def read_elsewhere(xs, f):
    weights = [0.5] * len(xs)
    weights[1] = 2.0
    return np.array(weights) @ xs, sum(weights), weights


def out_of_range(xs, f):
    fs = [f] * len(xs)
    x = xs[0]
    for k in range(len(xs)):
        x = fs[k + 1] @ x
    return x


@pytest.mark.parametrize("f", [of_the_length, read_elsewhere, out_of_range])
def test_a_list_as_long_as_an_array(f):
    m = np.eye(3) * 0.9
    jitted = tnp.jit(f)
    for n in (20, 30, 41, 52, 30):
        xs = RNG.normal(size=(n, 3))
        expected, _ = outcome(f, (xs, m))
        found, _ = outcome(jitted, (xs, m))
        assert_same(found, expected)
    if f is of_the_length:
        assert tnp.cache_info(jitted).misses == 2
