"""Value specialization: programs are compiled for values, effects happen once, and results are eager's."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import optimize

import tnp
from tests.eager_checks import not_compiled_whole
from tests.flow_checks import EXECUTORS, same_as_eager
from tnp.capture.speculation.value_specialization import Specializer
from tnp.compile.specialization import CallGuards
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def arrays(*rows):
    """For ``same_as_eager``: a call with each of the arrays, twice."""
    return [lambda row=row: (np.array(row),) for _ in range(2) for row in rows]


def run(f, *calls, programs=None, **options):
    """Compares calls with eager as :func:`same_as_eager` does, and counts the programs; gives what is called."""
    jitted = tnp.jit(f, **options)
    for make in calls:
        expected_args, args = make(), make()
        assert_same(jitted(*args), f(*expected_args))
        assert_same(args, expected_args, what="arguments")
    assert programs is None or tnp.cache_info(jitted).size == programs
    return jitted


def known(n):
    """``n`` as a number that the program has to know: a text is made of it."""
    return int(str(n))


def histogram(x):
    counts = np.zeros(known(x.max()) + 1)
    np.add.at(counts, x, 1)
    return counts


def test_a_shape_made_of_a_value():
    def of_scalar(x):
        return np.zeros(x.max() + 1), np.ones((x.min(), 2))

    def of_item(x):
        return np.full(x.max().item(), 7.0)

    def reshaped(x):
        return np.arange(12).reshape(int(x[-1]), -1)

    for f in (of_scalar, of_item, reshaped):
        run(f, *arrays([1, 2, 3], [1, 2, 2]), programs=2, executors=["numpy"])
    for names in EXECUTORS:
        run(histogram, *arrays([1, 2, 3], [1, 2, 2]), programs=2, executors=names)


def test_values_as_texts_keys_and_conditions():
    def texts(x):
        return [str(x[0]), repr(x[1]), f"{x[0]:.2f} {x[1]!r}", "%d %s" % (x[0], x[1]), "{:6.1f}".format(float(x[0]))]  # noqa: UP031, UP032

    def keys(x):
        names = {1.0: "one", 2.0: "two"}
        return names.get(float(x[0]), "many"), {int(x[1]): x}

    def conditions(x):
        found = []
        if x[0] > 1.5:
            found.append("large")
        return found, int(x[1]) in (3, 4), round(x[0])

    for f in (texts, keys, conditions):
        same_as_eager(f, *arrays([1.0, 3.0], [2.0, 3.5], [-0.0, np.inf][:1] + [3.0]))


def test_numbers_that_compare_equal_have_programs_of_their_own():
    def f(x):
        return str(x[0])

    for row in (0.0, -0.0, np.nan, np.inf):
        assert tnp.jit(f)(np.array([row])) == f(np.array([row]))
    run(f, *arrays([0.0], [-0.0], [np.nan]), programs=3)


def test_what_acts_on_the_outside_acts_once(capsys):
    def f(x, rng, log):
        print("mean", x.mean())
        x -= x.mean()
        x[0] = rng.normal()
        k = int(np.argmax(np.abs(x))) + int(rng.integers(1, 3))
        print("k", k)
        made = np.zeros((k, 2))
        made[0] = rng.normal(size=2)
        x[1:] *= k
        return made, k

    jitted = tnp.jit(f)
    for seed in (0, 1, 2, 0, 1, 5, 6):
        results, printed, generators = [], [], []
        for g in (f, jitted):
            x, rng = np.linspace(0, 3, 4 + seed % 2), np.random.default_rng(seed)
            results.append((g(x, rng, None), x))
            printed.append(capsys.readouterr().out)
            generators.append(rng.bit_generator.state)
        assert_same(results[1], results[0])
        assert printed[0] == printed[1]
        assert generators[0] == generators[1]
    assert tnp.cache_info(jitted).size > 1


def test_the_global_generator_goes_on_as_in_eager():
    def f(n):
        k = int(np.random.randint(1, 4, 1)[0])
        return np.zeros(k), np.random.rand(n)

    jitted = tnp.jit(f)
    for seed in (0, 1, 2, 0):
        found = []
        for g in (f, jitted):
            np.random.seed(seed)
            found.append((g(3), np.random.rand()))
        assert_same(found[1], found[0])


def test_writes_before_a_value_happen_once_and_at_all():
    def through_views(x):
        y = x[1:]
        y += 1
        k = int(x.sum()) % 3 + 1
        y *= k
        made = np.zeros(k)
        made[:] = x[0]
        return made, y

    def in_a_loop(x):
        for i in range(1, 20):
            x[i % 5] += 0.5 * x[(i - 1) % 5]
        made = np.ones(int(x[0]) % 4 + 1)
        x[0] = -1
        return made

    def in_a_branch(x):
        if x[0] > 1:
            x[1] += 1
        else:
            x *= 2
        return np.ones(int(x[1]))

    for f in (through_views, in_a_loop, in_a_branch):
        same_as_eager(f, *arrays([1.0, 2, 3, 4, 5], [2.0, 2, 3, 4, 5], [1.5, 1, 1, 1, 1]), executors=EXECUTORS)


def test_several_values_and_values_of_values():
    def f(x):
        a = np.arange(float(known(x[0])))
        if a.size > 2:
            b = np.zeros(known(a.sum().astype(int)))
            return [b, "large"]
        return [np.ones((known(x[1]), 2))]

    jitted = run(f, *arrays([1, 2], [3, 2], [4, 2], [1, 3]), programs=4)
    said = tnp.explain(jitted)
    assert "for the value 3 that" in said
    assert "test_value_specialization.py" in said


def test_loops_around_side_effects():
    def halves(x):
        history = []
        while x.max() > 1:
            x /= 2
            history.append(float(x.max()))
        return history

    def counted(x):
        found = []
        for i in range(int(x[0])):
            found.append(x * i)
        return found

    def left(x):
        for i in range(6):
            if x[i % 2] > 2:
                return {"at": i, "x": x}
            x = x + 1
        return None

    for f in (halves, counted, left):
        run(f, *arrays([1.0, 2.0], [3.0, 1.0], [1.0, 2.5]))


def test_more_values_than_allowed_run_eagerly():
    def f(x):
        x += 1
        return np.zeros(known(x[0]))

    jitted = tnp.jit(f, specialisations=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (1, 2, 1, 2):
            assert jitted(np.array([n])).shape == (n + 1,)
    x = np.array([3])
    assert jitted(x).shape == (4,)
    assert x[0] == 4
    for n in range(1, 40):
        assert jitted(np.array([n])).shape == (n + 1,)
    assert "calls that no program is valid for run in parts" in tnp.explain(jitted)
    assert pickle.loads(pickle.dumps(tnp.jit(histogram, specialisations=3)))._specialisations == 3
    with pytest.raises(ValueError, match="a count"):
        tnp.jit(f, specialisations=-1)


def test_no_specialisations_and_strict():
    with not_compiled_whole("known only when the program runs"):
        assert_same(tnp.jit(histogram, specialisations=0)(np.array([1, 2])), np.array([0.0, 1, 1]))
    strict = tnp.jit(histogram, specialisations=1, strict=True)
    strict(np.array([1, 2]))
    with pytest.raises(tnp.TraceError, match="strict=True refuses"):
        strict(np.array([1, 3]))


def test_a_clock_is_not_asked_twice():
    import time

    def f(x):
        return [str(time.perf_counter() > 0), x]

    with not_compiled_whole("needs the value"):
        assert tnp.jit(f)(np.ones(2))[0] == "True"


def test_errors_before_and_after_a_value():
    def before(x, k):
        x[0] = 5
        y = x[k[0]]
        return np.zeros(int(y))

    def after(x, k):
        x[0] = 2
        made = np.zeros(int(x[1]))
        made[k[0]] = 1
        x[1] = 3
        return made

    def caught(x, k):
        try:
            return np.zeros(int(x[0]))[int(k[0])]
        except IndexError as error:
            return str(error)

    for f in (before, after, caught):
        calls = [lambda k=k: (np.array([1.0, 2.0]), np.array([k])) for k in (0, 1, 7, 0, 9)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
            same_as_eager(f, *calls)


def test_globals_and_objects_read_after_a_value(monkeypatch):
    class Grid:
        def __init__(self):
            self.u = np.ones(3)
            self.steps = 0

    def f(grid, x):
        n = int(x[0])
        grid.u[:] = n
        grid.steps = grid.steps + n
        return np.zeros(n) + SCALE

    ours, theirs = Grid(), Grid()
    jitted = tnp.jit(f)
    for scale in (2.0, 3.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        for n in (1, 2, 1):
            assert_same(jitted(ours, np.array([n])), f(theirs, np.array([n])))
            assert_same((ours.u, ours.steps), (theirs.u, theirs.steps))


SCALE = 2.0


def test_a_derivative_does_not_take_a_value_for_a_constant():
    def f(x):
        return float(str(x.sum())) * x.sum()

    with pytest.raises(tnp.GradientError, match="needs the value"):
        tnp.grad(f)(np.ones(3))


def test_values_of_tensors():
    torch = pytest.importorskip("torch")

    def f(t):
        n = int(t.max()) + 1
        kinds = ["many" if t.sum() > 4 else "few"]
        return torch.zeros(n), kinds

    jitted = tnp.jit(f)
    for row in ([1, 2], [1, 3], [1, 2]):
        ours, theirs = jitted(torch.tensor(row)), f(torch.tensor(row))
        assert ours[0].shape == theirs[0].shape and ours[1] == theirs[1]
    assert tnp.cache_info(jitted).hits == 1


def test_what_is_drawn_has_the_shape_that_a_number_says():
    def of_numbers(rng, n, a):
        x = rng.normal(size=n)
        return x[:2], x.shape, np.random.default_rng(n).random((2, n)).shape, rng.integers(5, n + 6)

    def of_values(rng, n, a):
        x = rng.normal(size=a.max())
        rows = [x[:k] for k in range(int(a.max()))]
        return x.shape, rows, rng.permutation(int(a.sum())), rng.choice(int(a.max()), 3), rng.binomial(int(a[0]), 0.5)

    for f in (of_numbers, of_values):
        jitted = tnp.jit(f)
        for n in (3, 2, 4, 3):
            ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
            assert_same(jitted(ours, n, np.array([1, n])), f(theirs, n, np.array([1, n])))
            assert ours.bit_generator.state == theirs.bit_generator.state


def test_sizes_that_operations_need():
    def f(x):
        at = np.flatnonzero(np.diff(x))
        return np.diff(np.concatenate(([0], at + 1, [len(x)]))), np.abs(np.fft.rfft(x[x > 0.3])), np.median(x[x > 0.1])

    rows = [np.random.default_rng(s).integers(0, 4, 12) / 4 for s in range(3)]
    for names in EXECUTORS:
        run(f, *arrays(*rows), executors=names)


def test_what_computes_a_value_leaves_the_arguments_alone():
    def f(x, t):
        u = x * 0.5
        s = 0.0
        for i in range(10):
            s = s + x[i]
            u = u * 0.5 + x
            if x[i] * s < -t:
                u[i] = 1.5
                x = x - 0.1 * u
            else:
                if s > t:
                    u = u + x[i]
                else:
                    s = s + 0.5
                    if i > 6:
                        return i
                x[i] = s
                u = u + x[i]
        return x[i]

    with warnings.catch_warnings():  # in the end it runs eagerly, of an array that may share memory
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        same_as_eager(f, lambda: (np.random.default_rng(0).normal(size=14), 0.2))


WITHOUT_SOURCE = {
    "kmeans": """
def program(a):
    c = a[:1].copy()
    for _ in range(3):
        m = a > c[0]
        if m.any():
            c[0] = a[m].mean()
    return c""",
    "comprehension": """
def program(a):
    return [a[a > t].mean() if (a > t).any() else 0.0 for t in (0, 1, 5)]""",
    "positions": """
def program(a):
    for i in range(2):
        if np.argwhere(a).min() < 1:
            break
    return i""",
    "mask": """
def program(a):
    c, m = 0, a > 0
    a[m] -= 1
    while c < 6 and np.all(a[m] == a[m]):
        c += 1
    return c""",
    "shrinking": """
def program(a):
    w = a[a > 0]
    while w.size > 1 and w.sum() > 1:
        w = w[w > w.min()]
    return w""",
}


@pytest.mark.parametrize("name", WITHOUT_SOURCE)
def test_questions_about_lengths_in_functions_without_source(name):
    """Loops of such functions are run as Python runs them, so each iteration asks."""
    scope = {"np": np}
    exec(WITHOUT_SOURCE[name], scope)
    run(scope["program"], *arrays([1.0, -1.0, 2.0, 3.0], [0.0, 3.0, 3.0, 7.0], [5.0, 0.5, 4.0, 1.0]))


@pytest.mark.filterwarnings("default::tnp.EagerFallbackWarning")
def test_a_solver_that_calls_a_function_of_the_program_asks_for_no_values():
    """Python runs it: traced, it would ask for the value of each call."""
    optimize = pytest.importorskip("scipy.optimize")

    def f(x):
        return optimize.minimize(lambda c: ((c - x) ** 2).sum(), x0=0.5, method="Nelder-Mead").x

    x = np.array([1.0, 2.0])
    with pytest.warns(tnp.EagerFallbackWarning, match="it gives minimize a function to call"):
        np.testing.assert_array_equal(tnp.jit(f)(x), f(x))


def test_a_value_of_an_array_that_is_written_through_a_view_of_its_layout():
    def function(x):
        y = x.ravel("F")
        y /= y
        if y.sum() > 1:
            return np.array([None, y.sum()]).shape  # run eagerly
        return y

    for order in "CF":
        mine, eagers = (np.asarray([[-1.5, 2.0], [-3.0, -4.0]], order=order) for _ in range(2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
            assert_same(tnp.jit(function)(mine), function(eagers))
        assert_same(mine, eagers)


def test_named_tuples_of_libraries_after_a_value():
    """A class of an installed package that makes named tuples and nothing else is called as any time."""
    result = type(np.linalg.eigh(np.eye(2)))

    def f(x):
        if not np.isfinite(x).all():
            raise ValueError("not finite")
        found = result(*np.linalg.eigh(x))
        return found.eigenvalues * 2, found

    assert_same(tnp.jit(f, strict=True)(np.diag([3.0, 2.0])), f(np.diag([3.0, 2.0])))


def of_an_integer(n, x):
    sizes = np.tile(n, 3)
    root = float(np.sqrt(np.array([n, n]))[1])
    return x[: int(sizes[0])] * root, np.linspace(0, 1, int(sizes[1])), [0] * int(sizes[2]), "a" * int(sizes[0])


def test_values_of_an_integer_have_no_value_guards():
    x = np.arange(24.0)
    jitted = run(of_an_integer, *[lambda: (4, np.arange(24.0))] * 3, programs=1)
    assert "for the value" not in str(tnp.explain(jitted))
    assert "n == 4, which" in str(tnp.explain(jitted))
    for n in (8, 4, 6, 12, 4, 8, 1, 2, 4):
        assert_same(jitted(n, x), of_an_integer(n, x))


def test_many_values_of_integers():
    def f(n, m, x):
        return sum(x[int(np.round(n / 2)) + i % int(np.array([m])[0])] * known(np.array([n * i])[0]) for i in range(20))

    run(f, *[lambda: (4, 3, np.arange(24.0))] * 3, programs=1)


def dominates(a, b):
    return bool((a <= b).all() and (a < b).any())


def front_of(x, i, fronts):
    for k, front in enumerate(fronts):
        if not any(dominates(x[j], x[i]) for j in front):
            return k
    return len(fronts)


def sorted_fronts(x):
    fronts = []
    for i in range(len(x)):
        k = front_of(x, i, fronts)
        if k < len(fronts):
            fronts[k].append(i)
        else:
            fronts.append([i])
    return fronts


def test_places_that_need_too_many_values_get_no_guards_later(monkeypatch):
    """A program for each way that a loop over values goes serves few calls: after the first such program, Python runs the place."""
    evaluated = []
    evaluate = CallGuards.__call__

    def counted(self, wanted, most=None):
        evaluated.append(wanted)
        return evaluate(self, wanted, most)

    monkeypatch.setattr(CallGuards, "__call__", counted)
    monkeypatch.setattr(Specializer, "LIMIT", 4)
    jitted = tnp.jit(sorted_fronts)
    for seed in range(2):
        evaluated.clear()
        x = np.random.default_rng(seed).random((12, 2))
        x = x[np.argsort(x[:, 0])]
        with warnings.catch_warnings(action="ignore"):
            assert jitted(x.copy()) == sorted_fronts(x)
    assert not evaluated


def test_long_loops_that_need_values_are_pythons():
    """Each value of a loop that is written out is computed anew from the begin."""

    def f(x):
        names = []
        for k in range(40):
            far = np.abs(x - x[k])
            far[far > 2] -= 1.5
            far[far < 1] = np.sqrt(far[far < 1]) + np.cos(far[far < 1])
            x = x[::-1] + np.sin(far * 2 + 1) - np.where(far > 1, far, 1 / (far + 1)) + np.minimum(x, far)
            names.append(f"{x.max():.3f}")
        return names, x

    x = np.sin(np.arange(60.0) ** 1.5) * 3
    jitted = tnp.jit(f)
    with not_compiled_whole("operations in all"):
        assert_same(jitted(x), f(x))
    assert_same(jitted(x * 2), f(x * 2))


def test_libraries_that_hide_why_they_have_no_value(monkeypatch):
    """SciPy's code in C raises an error of its own where the conversion of a number failed; what is before it is compiled."""

    def above(v, p):
        return v * v - p

    def f(x, p):
        for k in range(len(x)):
            if x[k] > 0.5:
                names.append(k)
                p = p + x[k]
        return optimize.brenth(above, 0.0, p * 2, args=(p / 2,))

    def caught(x):
        try:
            return optimize.brenth(above, x.sum(), x.max() + 9, args=(x.min(),))
        except ValueError:
            return x * 2

    names = []
    monkeypatch.setattr(Specializer, "LIMIT", 2)
    x = np.random.default_rng(0).random(6)
    jitted = tnp.jit(f)
    with not_compiled_whole("value guards already"):
        assert_same(jitted(x, 1.0), f(x, 1.0))
    assert names == names[: len(names) // 2] * 2
    with warnings.catch_warnings(action="ignore"):
        run(caught, *arrays(x, x + 3, x - 2))


def numbered():
    yield from range(2, 9)


class Stream:
    def __init__(self):
        self.items = iter(range(9))


def of_its_own(x, stream):
    items, drawn = iter([1, 2, 3]), numbered()
    n = known(int(x[0] > 0))
    return x * (n + next(items)) + next(drawn) + next(drawn) + next(zip(x, x))[0]


def that_ends(x, stream):
    items = enumerate((1.5, 2.5))
    n = known(int(x[0] > 0))
    try:
        return x * (n + next(items)[1]) + next(items)[1] + next(items)[1]
    except StopIteration:
        return x + next(items, 7)


def of_the_outside(x, stream):
    n = known(int(x[0] > 0))
    return x * (n + next(stream.items))


@pytest.mark.parametrize("f", [of_its_own, that_ends])
def test_iterators_that_a_program_makes_are_taken_from_behind_a_value_that_decides(f):
    jitted = tnp.jit(f)
    for x in [np.array([1.0, 2.0]), np.array([-1.0, 2.0])] * 2:
        assert_same(jitted(x, None), f(x, None))
    assert tnp.cache_info(jitted).size == 2


def test_iterators_of_the_outside_are_taken_from_once_a_call():
    jitted = tnp.jit(of_the_outside)
    mine, theirs = Stream(), Stream()
    with not_compiled_whole("may change unseen"):
        for x in [np.array([1.0, 2.0]), np.array([-1.0, 2.0])] * 2:
            assert_same(jitted(x, mine), of_the_outside(x, theirs))
    assert next(mine.items) == next(theirs.items)
