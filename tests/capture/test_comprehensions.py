"""Comprehensions, and generators that are given to ``sum`` and the like, as loops of the program."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import EXECUTORS, check_in_turn, functions_of
from tnp.testing import assert_same

X = np.random.default_rng(0).standard_normal(120).cumsum()


def comp(x):
    return np.array([v * 2 for v in x if v > 0])


def plain(x):
    return np.array([np.sin(v) + v for v in x])


def two(x):
    return np.array([[a * b for a in x[:20]] for b in x[:30]])


def flat(x):
    return np.array([a * b for a in x[:20] for b in x[:30] if a > b])


def ranged(x):
    return np.array([x[i : i + 10].mean() for i in range(len(x) - 10)])


def as_list(x):
    return [float(v) for v in x if v > 0]


def mean(x):
    return np.mean([abs(v) ** 0.5 for v in x])


def enum(x):
    return np.array([i for i, v in enumerate(x) if v > 1])


def zipped(x):
    return np.array([a - b for a, b in zip(x[1:], x[:-1])])


def small(x):
    return [x[i] for i in range(3)]


def strs(x):
    return [f"a{i}" for i in range(4)], x[0]


def gen_sum(x):
    return sum(v * v for v in x)


def gen_max(x):
    return max(abs(v) for v in x)


def inner(x):
    s = 0.0
    for i in range(20):
        s += sum([x[i] * x[j] for j in range(i)])
    return s


def rows(x):
    m = x[:120].reshape(12, 10)
    return np.array([np.linalg.norm(r) for r in m])


def stack(x):
    m = x[:120].reshape(12, 10)
    return np.vstack([r - r.mean() for r in m])


def arg(x):
    return np.sum([v for v in x if v > 0]), len([v for v in x if v < 0])


def gen_all(x):
    return all(x[i] <= x[i + 1] + 5 for i in range(len(x) - 1))


def gen_any(x):
    return any(abs(v) > 4 for v in x), any(v > 1e9 for v in x)


def gen_min(x):
    return min((v - 1) ** 2 for v in x)


def gen_tuple(x):
    return tuple(2 * v for v in x[:12])


def gen_sum_if(x):
    return sum(1 for v in x if v > 0)


def nested_gen(x):
    return sum(x[i] * x[j] for i in range(20) for j in range(i))


def shadowed(x):
    i = 7
    out = [i * v for i, v in enumerate(x)]
    return np.array(out), i


def of_a_name_of_its_own(x):
    return [x for x in x[:3]]  # noqa: C416 (it is what is tested)


def nested_scopes(x):
    k = 3
    return [[k * j for j in range(i)] for i in range(k)], k


def closures(x):
    fs = [lambda v: v * i for i in range(3)]
    return [f(x[0]) for f in fs]


def of_objects(x):
    pairs = [("a", x[0]), ("b", x[1])]
    return {k: v for k, v in pairs}, [k.upper() for k, _ in pairs]  # noqa: C416 (it is what is tested)


def in_a_condition(x):
    if sum([v for v in x[:20]]) > 0 and [v for v in x if v > 1e9] == []:  # noqa: C416 (it is what is tested)
        return 1.0
    return 0.0


def in_a_while(x):
    n = 0
    while len([v for v in x if v > n]) > 10:
        n += 1
    return n


def in_a_lambda(x):
    return (lambda y: [v + 1 for v in y[:4]])(x)


def in_lambdas(x):
    scaled, shifted = (lambda y, k: sum(v * k for v in y)), (lambda y: [v + 1 for v in y])
    made = [lambda y, k=k: sum(v * k for v in y) for k in range(3)]  # with defaults: as Python has it
    largest = sorted([x, -x], key=lambda y: float(max(v for v in y)))
    return scaled(x, 2.0), np.array(shifted(x)), [f(x[:9]) for f in made], largest, scaled.__name__, scaled.__qualname__


def in_a_lambda_that_sees_a_later_value(x):
    scaled = lambda y: sum(v * k for v in y)  # noqa: E731 (it is what is tested)
    k = 3.0
    return scaled(x)


def in_a_lambda_of_a_loop(x):
    out = np.zeros(3)
    for k in range(3):
        scaled = lambda y: sum(v * k for v in y)  # noqa: E731 (the loop's own value)
        out[k] = scaled(x)
    return out


def with_starts(x):
    return sum((v for v in x), 1), sum((v for v in x), start=0.5), sum((v for v in x if v > 1e9), 2.0), sum([], 4)


def of_iterators(x):
    found = np.fromiter((v * 2 for v in x), float), np.fromiter((v > 0 for v in x), dtype=bool, count=len(x))
    return *found, np.fromiter((i for i in range(len(x))), "q"), np.fromiter((v for v in x[:0]), float)


def mapped(x):
    return (
        sum(map(abs, x)),
        list(map(float, x)),
        np.array(list(map(lambda a, b: a * b, x, x[1:]))),
        sum(map(np.sin, range(30))),
    )


def assigned_within(x):
    out = [(last := v) for v in x[:5]]
    return out, last


def ended_early(x):
    calls = []

    def is_large(v):
        calls.append(1)
        return v > 1e9

    return any(is_large(k) for k in (1, 2e9, 3)), len(calls)


def their_own_any(x):
    def any(items):
        return len(list(items))

    return any(v for v in x[:5])


def sums_of_arrays(x):
    m = x[:120].reshape(12, 10)
    return sum(r * 2 for r in m), sum((r for r in m), np.zeros(10))


def of_nothing(x):
    return sum(v for v in x[:0]), list(v for v in x[:0]), all(v for v in x[:0]), [v for v in x[:0]]  # noqa: C400, C416 (the same)


def least_of_nothing(x):
    return min(v for v in x if v > 1e9)


def with_two_conditions(x):
    return [i for i in range(len(x)) if x[i] > 0 if i % 2 if i > 3]


PROGRAMS = functions_of(globals(), "x")


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_comprehensions(f, executor):
    check_in_turn(f, executor, (X, X, X * 1.1, -X, X[:61] + 3, -np.abs(X) - 9))


WHOLE = [
    comp, plain, flat, ranged, as_list, mean, enum, zipped, gen_sum, gen_max, rows, stack, arg, gen_all, gen_any, gen_min, gen_sum_if, nested_gen, shadowed, with_two_conditions, in_a_while, in_a_lambda_of_a_loop,
    in_a_lambda_that_sees_a_later_value, mapped,
]  # fmt: skip


@pytest.mark.parametrize("f", WHOLE, ids=lambda f: f.__name__)
def test_they_are_loops_of_the_program(f):
    jitted = tnp.jit(f, strict=True)
    assert_same(jitted(X), f(X), rtol=1e-12)
    assert "for the value" not in str(tnp.explain(jitted))
    assert len(tnp.last_traces(jitted)[0].bound_symbols) < 60


def test_names_of_errors():
    """A traceback names the user's function, and the line of the comprehension."""

    def f(x):
        return [x[i + 200] for i in range(3)]

    with pytest.raises(IndexError) as caught:
        tnp.jit(f)(X)
    assert caught.traceback[-1].name in ("f", "<listcomp>")
