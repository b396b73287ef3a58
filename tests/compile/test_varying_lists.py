"""Lists of arrays of one kind that differ in length from call to call: loops over them, and functions of them, are one program."""

import copy

import numpy as np
import pytest

import tnp
from tnp.capture import driver
from tnp.compile.compiled_function import Jitted
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("ignore:.* runs (eagerly|in parts):tnp.EagerFallbackWarning")


def arrays(k, m=4, dtype="f8"):
    return [(np.arange(m) + 2 * i).astype(dtype) for i in range(k)]


def misses(f, calls):
    """How many programs some calls make; results and arguments are compared with eager's."""
    jitted = tnp.jit(f)
    for make in calls:
        ours, theirs = make(), make()
        found, expected = jitted(*ours), f(*theirs)
        assert_same(found, expected)
        assert_same(ours, theirs)
        if type(expected) is np.ndarray:
            same = [(expected is y, np.shares_memory(expected, y)) for y in theirs[0]]
            assert [(found is y, np.shares_memory(found, y)) for y in ours[0]] == same
    return tnp.cache_info(jitted).misses


def summed(xs):
    total = 0.0
    for a in xs:
        total = total + a.sum()
    return total


def largest(xs):
    found = np.zeros(4)
    for a in xs:
        found = np.maximum(found, np.sin(a) * len(xs))
    return found


def stacked(xs):
    return np.stack(xs).sum(axis=0) + np.array(xs).max()


def joined(xs):
    return np.concatenate(xs) * 2


def averaged(xs):
    return np.mean(xs, axis=0), np.sum(xs), len(xs), isinstance(xs, list), type(xs) is list


@pytest.mark.parametrize("f", [summed, largest, stacked, joined, averaged])
def test_few_programs(f):
    assert misses(f, [lambda k=k: (arrays(k),) for k in (3, *range(2, 22))]) <= 4
    assert misses(f, [lambda k=k: (arrays(k),) for k in range(5)] if f in (summed, largest) else []) <= 5


def test_lengths_and_sizes():
    assert misses(summed, [lambda k=k: (arrays(k, m=k % 5 + 2),) for k in range(2, 22)]) <= 6


def last(xs):
    for a in xs:
        found = a
    return found


def picked(xs):
    best = xs[0]
    for a in xs:
        if a.sum() > best.sum():
            best = a
    return best


def chosen(xs):
    best = None
    for a in xs:
        if best is None or a[0] > 3:
            best = a
    return best


def changed(xs):
    for a in xs:
        a += 1.0
    return xs[0] * 1


def changed_by_another(xs):
    first = xs[0]
    for a in xs:
        first[:] = first + a
    return first.sum()


def appended(xs):
    xs.append(xs[0] * 2)
    return len(xs)


def told_apart(xs):
    first = xs[0]
    return sum(a is first for a in xs), [a.sum() for a in xs]


def every(xs):
    return [a * 2 for a in xs], dict(enumerate(xs)), list(zip(xs, xs)), xs[-1], sorted(map(np.sum, xs))


def bases(xs):
    found = 0
    for a in xs:
        found += a.base is None and a.flags.owndata
    return found


@pytest.mark.parametrize("f", [last, picked, chosen, changed, changed_by_another, appended, told_apart, every, bases])
def test_other_uses(f):
    misses(f, [lambda k=k: (arrays(k),) for k in (3, 2, 4, 5, 3, 6)])


def with_out(xs, out):
    for a in xs:
        out += a
    return out


def test_one_of_the_list_is_written_to():
    def calls(k):
        xs = arrays(k)
        return xs, xs[1] if k % 2 else np.zeros(4)

    misses(with_out, [lambda k=k: calls(k) for k in (3, 4, 5, 6, 7, 8)])


@pytest.mark.parametrize("kind", ["f4", "i8", "mixed", "fortran", "shapes", "scalars", "numbers", "nothing", "nested"])
def test_lists_of_other_kinds(kind):
    def make(k):
        made = {
            "mixed": lambda: arrays(k - 1) + arrays(1, dtype="f4"),
            "fortran": lambda: [np.asfortranarray(np.arange(6.0).reshape(2, 3) + i) for i in range(k)],
            "shapes": lambda: arrays(k - 1) + arrays(1, m=3),
            "scalars": lambda: [np.float64(i) for i in range(k)],
            "numbers": lambda: [np.array(float(i)) for i in range(k)],
            "nothing": lambda: arrays(k, m=0),
            "nested": lambda: [arrays(2), *arrays(k)][1:],
        }
        return made.get(kind, lambda: arrays(k, dtype=kind))()

    misses(summed, [lambda k=k: (make(k),) for k in (3, 4, 5, 6, 5, 4, 7)])


def test_one_kind_after_another():
    calls = [lambda k=k, d=d: (arrays(k, dtype=d),) for k, d in zip(range(2, 12), ["f8", "f8", "f4", "f8", "i8"] * 2)]
    misses(summed, calls)
    misses(summed, [*calls[:4], lambda: (arrays(3) + arrays(1, m=2),), lambda: ([],), lambda: ([np.ones(4)] * 3,)])


def test_derivatives_batches_and_callees():
    def loss(xs):
        total = 0.0
        for a in xs:
            total = total + (a**2).sum()
        return total

    gradient, values = tnp.grad(loss), tnp.value_and_grad(loss)
    inner = tnp.jit(loss)
    outer = tnp.jit(lambda xs: inner(xs) + loss(xs))
    inside = tnp.jit(lambda xs: tnp.grad(loss)(xs))
    batched = tnp.jit(lambda xs: [tnp.vmap(lambda v: v * 2)(a) for a in xs])
    for k in (3, 4, 5, 2, 1, 6):
        xs = arrays(k)
        for found in (gradient(xs), values(xs)[1], inside(xs)):
            assert_same(found, [2 * a for a in xs])
        assert_same(outer(xs), 2 * loss(xs))
        assert_same(batched(xs), [a * 2 for a in xs])


def test_a_list_of_large_arrays_is_not_copied():
    assert misses(summed, [lambda k=k: (arrays(k, m=1 << 17),) for k in (2, 3, 4)]) == 3


def test_parts_of_arguments():
    def f(d, *more):
        total = 0.0
        for a in d["xs"]:
            total = total + a.max()
        return total, len(more[0])

    calls = [lambda k=k: ({"xs": arrays(k), "n": k}, arrays(k + 1)) for k in (3, 4, 5, 6, 7, 8)]
    assert misses_of_parts(f, calls) <= 4


def misses_of_parts(f, calls):
    jitted = tnp.jit(f)
    for make in calls:
        assert_same(jitted(*make()), f(*make()))
    return tnp.cache_info(jitted).misses


def test_views_of_rows_that_cannot_be_written():
    def f(xs):
        total = np.zeros((2, 4))
        for a in xs:
            total = total + np.broadcast_to(a, (2, 4))
        return total

    def given_back(xs):
        for a in xs:
            found = np.broadcast_to(a, (2, 4))
        return found

    assert misses(f, [lambda k=k: (arrays(k),) for k in range(3, 10)]) <= 4
    misses(given_back, [lambda k=k: (arrays(k),) for k in range(3, 7)])


def neighbours(cells):
    rows, columns = len(cells), len(cells[0])
    found = [[0] * columns for _ in range(rows)]
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            found[i][j] = cells[i - 1][j] + cells[i + 1][j] + cells[i][j - 1] + cells[i][j + 1]
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            cells[i][j] = 1 if found[i][j] == 2 else 0
    return cells


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_rows_are_read_as_the_rows_before_were(monkeypatch):
    traced = []
    trace = Jitted._traced
    monkeypatch.setattr(Jitted, "_traced", lambda self, *a, **k: traced.append(1) or trace(self, *a, **k))
    jitted = tnp.jit(neighbours)
    for n in (5, 7, 9, 11):
        traced.clear()
        mine = np.random.default_rng(n).integers(0, 2, (n, n)).tolist()
        theirs = [list(row) for row in mine]
        assert jitted(mine) == neighbours(theirs)
        assert mine == theirs
    assert len(traced) <= 3


def life(board):
    """A generation of the game of life on a list of lists, in place."""
    counts = [[0] * len(row) for row in board]
    for x in range(1, len(board) - 1):
        for y in range(1, len(board[0]) - 1):
            counts[x][y] = sum(board[x + i][y + j] for i in (-1, 0, 1) for j in (-1, 0, 1)) - board[x][y]
    for x in range(1, len(board) - 1):
        for y in range(1, len(board[0]) - 1):
            if board[x][y] == 1 and (counts[x][y] < 2 or counts[x][y] > 3):
                board[x][y] = 0
            elif board[x][y] == 0 and counts[x][y] == 3:
                board[x][y] = 1
    return board


@pytest.fixture
def traced(monkeypatch):
    """Has an item for each trace that is begun."""
    begun = []
    trace_it = driver._capture_trace
    monkeypatch.setattr(driver, "_capture_trace", lambda *args: (begun.append(1), trace_it(*args))[1])
    return begun


def test_integers_that_conditions_need_are_learned_together(traced):
    """Each of the traces learned some of the integers in a list."""
    jitted = tnp.jit(life)
    for n in (5, 7, 8):
        board = np.random.default_rng(n).integers(0, 2, (n, n)).tolist()
        mine = copy.deepcopy(board)
        traced.clear()
        assert jitted(mine) == life(board) == mine
        assert len(traced) < 16


class Path:
    def __init__(self, turns, lengths):
        self.turns, self.lengths = turns, lengths


def winding(paths):
    total = 0.0
    for path in paths:
        for turn, length in zip(path.turns, path.lengths):
            total += np.sin(length) if turn == "left" else -length if turn == "right" else 0.0
    return total


def test_texts_in_objects_of_a_list_are_learned_together(traced):
    """There was a trace for each of them."""
    jitted = tnp.jit(winding)
    rng = np.random.default_rng(0)
    for n in (6, 6, 6, 7):
        turns = rng.choice(["left", "right", "straight"], (n, 3)).tolist()
        paths = [Path(t, list(rng.random(3))) for t in turns]
        traced.clear()
        assert_same(jitted(paths), winding(paths))
        assert len(traced) < 12
