"""``return``, ``break`` and ``continue`` on values, out of loops that are one operation and branches in branches."""

import numpy as np
import pytest

import tnp
from tests.flow_checks import EXECUTORS, same_as_eager, source

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def levels(*ts):
    return [lambda t=t: (np.arange(12.0), t) for t in ts]


def test_a_value_is_returned_from_inside_a_loop():
    def f(x, t):
        for i in range(x.shape[0]):
            x[i] += 0.25
            if x[i] > t:
                return i
        return -1

    jitted = same_as_eager(f, *levels(-1.0, 5.0, 99.0), executors=EXECUTORS)
    assert source(jitted).count("for ") == 1


def test_values_of_several_kinds_are_returned():
    def f(x, t):
        for i in range(x.shape[0]):
            if x[i] > t:
                return i, x[i], (x[i] * 1j, i > 3), None, "found", x
        return -1, x[0], (x[1] * 1j, False), None, "found", x

    same_as_eager(f, *levels(-1.0, 5.0, 99.0), executors=EXECUTORS)

    def g(x, t):
        for i in range(x.shape[0]):
            if x[i] > t:
                return x[i]
        return 0.0

    for make in levels(5.0, 99.0):
        assert type(tnp.jit(g)(*make())) is type(g(*make()))


def test_nothing_is_returned():
    def f(x, t):
        for i in range(x.shape[0]):
            if x[i] > t:
                return
            x[i] = -1

    same_as_eager(f, *levels(-1.0, 5.0, 99.0), executors=EXECUTORS)


def test_what_follows_a_loop_is_not_done_after_a_return():
    def f(x, t):
        for i in range(x.shape[0]):
            if x[i] > t:
                x[0] = 100
                return i
        x[1] = 200
        for i in range(x.shape[0]):
            if x[i] == 200:
                return i * 10
            x[i] = 0
        return 1000

    same_as_eager(f, *levels(-1.0, 5.0, 99.0), executors=EXECUTORS)


def test_returns_from_nested_loops_and_helpers():
    def find(A, t):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                if A[i, j] > t:
                    return i * 100 + j
                A[i, j] += 1
        return -1

    def f(A, t):
        total = 0.0
        for k in range(12):
            total += find(A, t + k)
        return total

    calls = [lambda t=t: (np.arange(144.0).reshape(12, 12), t) for t in (-1.0, 50.0, 999.0)]
    same_as_eager(find, *calls, executors=EXECUTORS)
    same_as_eager(f, *calls)


def test_returns_from_while_loops():
    def f(x, t):
        i = 0
        while x[i] >= 0:
            if x[i] > t:
                return i, x[i] * 2
            i += 1
            x[11] = -1
        return i, x[0]

    same_as_eager(f, *levels(-1.0, 5.0, 99.0), executors=EXECUTORS)


def test_breaks_and_continues_that_statements_follow():
    def f(x, t):
        s = x[0] * 0
        for i in range(x.shape[0]):
            if x[i] < 2:
                continue
            if x[i] > t:
                if x[i] > 2 * t:
                    break
                s += 100
            else:
                if x[i] == 3:
                    continue
                s += 1
            s += x[i]
        return s

    def g(x, t):
        s = x[0] * 0
        for i in range(x.shape[0]):
            if x[i] > 1:
                if x[i] > t:
                    if x[i] > t + 2:
                        return s
                    x[i] = 0
                s += x[i]
            s += 0.5
        return -s

    for h in (f, g):
        jitted = same_as_eager(h, *levels(-1.0, 3.0, 5.0, 99.0), executors=EXECUTORS)
        assert source(jitted).count("for ") == 1


def test_early_returns_in_branches_of_branches():
    def f(x, t):
        if x[3] > t:
            if x[5] > 2 * t:
                return 1
            x[0] = 7
        elif x[1] > 0:
            return 2
        x[1] += 1
        return 3

    same_as_eager(f, *levels(-1.0, 2.0, 2.9, 4.0), executors=EXECUTORS)


def test_arrays_of_variables_returned_from_loops():
    def converges(x, t):
        for i in range(40):
            dx = (x * x - 2) / (2 * x)
            x = x - dx
            if abs(dx).max() < t:
                return x, i, True
        return x, 40, False

    def asks_first(x, t):
        y = np.zeros_like(x)
        for i in range(40):
            dx = (x * x - 2) / (2 * x)
            if abs(dx).max() < t:
                if i > 3:
                    return y, x, i
                y = x + 1
            x = x - dx
        return y, x, -1

    def at_two_places(x, t):
        y = x * 0
        for i in range(x.shape[0]):
            if x[i] > t:
                return y, i
            if x[i] < -t:
                y = y - 1
                return y, -i
            y = y + x[i]
        return y, 0

    def from_two_loops(x, t):
        s = np.zeros(x.shape[0])
        for i in range(x.shape[0]):
            for j in range(i, x.shape[0]):
                s = s + x[i] * x[j]
                if s[0] > t:
                    return s, i, j
        return s, -1, -1

    calls = [lambda t=t: (np.linspace(-2, 5, 12), t) for t in (-9.0, 1e-3, 1.0, 4.4, 30.0, 1e9)]
    for f, loops in ((converges, 1), (asks_first, 1), (at_two_places, 1), (from_two_loops, 2)):
        with np.errstate(all="ignore"):
            jitted = same_as_eager(f, *calls, executors=EXECUTORS)
        assert sum(line.lstrip().startswith("for ") for line in source(jitted, 0).splitlines()) == loops


def test_returned_arrays_of_the_inside_and_other_kinds():
    def made(x, t):
        for i in range(x.shape[0]):
            if x[i] > t:
                return x * 2
        return x

    def none(x, t):
        for i in range(x.shape[0]):
            if x[i] > t:
                return i
        return None

    def both(x, t):
        for i in range(x.shape[0]):
            if x[i] > t:
                return i
            if x[i] < -1:
                break
        return 6

    def size_of_its_own(x, t):
        for i in range(x.shape[0]):
            if x[i] > t:
                head = x[:i]
                x[0] = -1
                return head, i
        return None

    def three_ways(x, t):
        n = 0
        for i in range(x.shape[0]):
            if x[i] < 0:
                if x[i] < -1:
                    continue
                if x[i] == t:
                    break
                n += 1
            elif x[i] > t:
                return x[i:].copy()
            elif n > 3:
                return "many"
            n += 1
        else:
            return 0.5
        return n

    for f in (made, none, both):
        same_as_eager(f, *levels(5.0, 99.0, 5.0, 99.0))
    for f in (size_of_its_own, three_ways):
        same_as_eager(f, *levels(5.0, 99.0, -1.0), executors=(None, ["numpy"]))


def test_errors_are_raised_from_inside_of_loops():
    def f(x, t):
        for i in range(x.shape[0]):
            if x[i] > t:
                x[i] = -5
                if t < 0:
                    raise KeyError
                raise ValueError(f"{x[i]:.2f} at {i}") from None
            x[i] += 1
        return x.sum()

    jitted = same_as_eager(f, *levels(5.0, 99.0, -1.0, 99.0), executors=(None, ["numpy"]))
    assert source(jitted).count("for ") == 1


def test_what_waits_for_the_end_of_a_loop_prints_and_writes(capsys):
    def f(x, t):
        out = []
        for i in range(x.shape[0]):
            if x[i] > t:
                print("found", i)
                out.append(x[i])
                x[i:] = 0
                for k in range(i):
                    if x[k] > 3:
                        break
                    x[k] *= -1
                return out, k
            else:
                x[i] += 1
        return None

    jitted = same_as_eager(f, *levels(5.0, 99.0, 1.0, 5.0))
    said = capsys.readouterr().out.splitlines()
    assert said == [line for i in (6, 2, 6) for line in 2 * [f"found {i}"]]
    assert source(jitted).count("for ") == 1


def returns_or_stores(x, t):
    for i in range(len(x)):
        if x[i] == t:
            return i
    else:
        x[0] = -1.0
    return -5


def returns_on_both_ways(x, t):
    for i in range(len(x)):
        if x[i] == t:
            return i
    else:
        return -7


def returns_what_it_has_added(x, t):
    s = 0.0
    for a in x:
        s += a
        if a == t:
            return s
    else:
        s = s * 2
        x[:] = 3
    x += s
    return s + 1


def counts_and_returns(x, t):
    i = 0
    while i < len(x):
        if x[i] == t:
            return i, x[i]
        i += 1
    else:
        x[3] = 9
    return i, x[0]


def returns_from_a_loop_in_a_loop(x, t):
    total = 0.0
    for j in range(30):
        for i in range(len(x)):
            if x[i] > t + j:
                return total
            total += x[i]
        else:
            total += 1
        x[0] += 1
    return -total


@pytest.mark.parametrize(
    "f",
    [
        returns_or_stores, returns_on_both_ways, returns_what_it_has_added, counts_and_returns,
        returns_from_a_loop_in_a_loop,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_loops_that_return_and_have_an_else(f):
    def make(t):
        return lambda: (np.arange(40.0), t)

    jitted = same_as_eager(f, make(0.0), make(17.0), make(39.0), make(99.0), executors=EXECUTORS)
    assert 1 <= len([line for line in source(jitted).splitlines() if line.strip().startswith(("for ", "while "))]) <= 2


def settles(x, t):
    b, n = x.copy(), 0
    while True:
        new = 0.5 * x + b
        n += 1
        if np.abs(new - x).max() < t:
            break
        x[:] = new
    return n


def counts_until(x, t):
    i, n = -1, 0
    while True:
        i += 1
        if not x[i] < t:
            break
        if x[i] % 2 == 0:
            continue
        n += 1
    return n, i


def looks_and_stops(x, t):
    i, s = 0, 0.0
    while (v := x[i]) < t and i < 11:
        if (d := v - s) > 0:
            s += d / 2
        i += 1
    return s, i, v


def counts_in_the_condition(x, t):
    i = -1
    while (i := i + 1) < 12:
        if x[i] > t:
            break
        x[i] = -1.0
    return i


@pytest.mark.parametrize(
    "f", [settles, counts_until, looks_and_stops, counts_in_the_condition], ids=lambda f: f.__name__
)
def test_loops_that_only_break_ends(f):
    """``while True`` is a loop whose condition is the break's; what a condition binds, it binds in the loop."""
    calls = (
        levels(1e-6, 0.5) if f is settles else levels(-1.0, 3.5, 8.0) if f is counts_until else levels(-1.0, 3.5, 99.0)
    )
    jitted = same_as_eager(f, *calls, executors=EXECUTORS)
    assert source(jitted).count("while ") == 1
    assert (
        tnp.cache_info(jitted).misses <= 2
    )  # a first iteration of its own, where that is how a variable gets its kind


def test_a_loop_without_an_end_that_is_seen():
    def f(x, t):
        i = 0
        while True:
            x[i] = t  # an IndexError is the end
            i += 1

    same_as_eager(f, *levels(1.0))


def test_an_index_that_is_a_number_at_first():
    def f(x, p):
        seen, n = np.zeros(12, bool), 0
        for i in range(12):
            j = i
            while not seen[j]:
                seen[j] = True
                x[j] += n
                j = p[j]
            n += 1
        return seen, j

    calls = [lambda s=s: (np.arange(12.0), np.random.default_rng(s).permutation(12)) for s in (0, 1)]
    jitted = same_as_eager(f, *calls, lambda: (np.arange(12.0), np.r_[1:12, 12]), executors=EXECUTORS)
    assert source(jitted).count("for ") == 1


def dominance(a, b):
    val = 0
    for i in range(3):
        if a[i] < b[i]:
            if val == -1:
                return 0
            val = 1
        elif b[i] < a[i]:
            if val == 1:
                return 0
            val = -1
    return val


def dominance_matrix(x):
    m = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            m[i, j] = dominance(x[i], x[j])
    return m


def not_dominated(x):
    found = []
    for i in range(len(x)):
        worst = False
        for j in range(len(x)):
            if i != j:
                better = True
                for k in range(x.shape[1]):
                    if x[j, k] > x[i, k]:
                        better = False
                        break
                if better:
                    worst = True
                    break
        if not worst:
            found.append(i)
    return np.array(found, dtype=int)


def few_steps(x):
    y = x[:, 0].copy()
    for i in range(5):  # noqa: B007
        step = y * y - 2.0
        y = y - step / (2 * y)
        if np.abs(step).max() < 1e-3:
            break
    return y, i + 1


@pytest.mark.parametrize("f", [dominance_matrix, not_dominated, few_steps])
def test_few_iterations_that_a_value_ends(f):
    calls = [lambda n=n: (np.random.default_rng(n).random((n, 3)) + 1,) for n in (10, 20, 15, 30)]
    jitted = same_as_eager(f, *calls, executors=EXECUTORS)
    assert tnp.cache_info(jitted).misses <= 2
    assert "for the value" not in str(tnp.explain(jitted))


def test_conditions_of_an_error_or_a_counter():
    """Each of the first iterations is known to run, and a value decides about the later ones."""

    def f(x, t):
        out = np.zeros(len(x))
        for i in range(len(x)):
            old = new = x[i] + 2.0
            n = 0
            while abs(old - new) > t or n <= 10:
                old = new
                new -= (new**2 - x[i]) / (2 * new + 1)
                n += 1
            out[i] = new + n
        return out

    jitted = same_as_eager(f, *levels(1e-8, 1e-3), executors=EXECUTORS)
    assert source(jitted).count("for ") == source(jitted).count("while ") == 1
