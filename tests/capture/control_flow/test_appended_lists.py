"""Lists that loops append to. The loop stores the items into an array, and the list holds its rows."""

import copy

import numpy as np
import pytest

import tnp
from tests.eager_checks import EXECUTORS, functions_of, outcome
from tnp.api import programs_of
from tnp.testing import assert_same

RNG = np.random.default_rng(0)
XS = RNG.normal(size=(20, 4))


class Model:
    def __init__(self):
        self.w = np.zeros(4)
        self.losses = []
        self.history = {"w": [], "loss": [0.5]}

    def fit(self, xs):
        for x in xs:
            e = x @ self.w - 1.0
            self.w = self.w - 0.1 * e * x
            self.losses.append(e**2)
            self.history["w"].append(self.w)
            self.history["loss"].append(e * 2)
        return np.mean(self.losses)


def scalars(xs):
    out = []
    for x in xs:
        out.append(x.sum())
    return out, np.array(out), len(out), out[3] + out[-1], type(out) is list


def arrays(xs):
    out = []
    for i in range(len(xs)):
        y = xs[i] * i
        out.append(y)
    return out


def carried(xs):
    out = []
    y = xs[0]
    for x in xs:
        y = y * 0.5 + x
        out.append(y)
    return np.stack(out)


def carried_and_returned(xs):
    out = []
    y = xs[0]
    for x in xs:
        y = y * 0.5 + x
        out.append(y)
    return out, y, out[-1] is y


def written_behind(xs):
    out = []
    y = xs[0]
    for x in xs:
        y = y * 0.5 + x
        out.append(y)
    y[0] = 99.0
    out[2][1] = -1.0
    return np.array(out)


def written_within(xs):
    out = []
    for x in xs:
        y = x * 2
        out.append(y)
        y[0] = 7.0
    return out


def one_array(xs):
    out, y = [], np.zeros(4)
    for x in xs:
        y += x
        out.append(y)
    return out, y


def one_array_copied(xs):
    out, y = [], np.zeros(4)
    for x in xs:
        y += x
        out.append(y.copy())
    return out, y


def written_in_the_next(xs):
    out, y = [], np.zeros(4)
    for x in xs:
        y[0] += 1.0
        y = y + x
        out.append(y)
    return out


def views(xs):
    out = []
    for x in xs:
        out.append(x[1:])
    return np.concatenate(out), out[2]


def the_callers(xs):
    out = []
    for x in xs:
        out.append(x)
    return out


def constants(xs):
    out, y = [], xs[0] + 1
    for _ in range(20):
        out.append(y)
    return out, y


def reads_the_last(xs):
    out = [xs[0].sum()]
    for x in xs:
        out.append(out[-1] * 0.5 + x.sum())
    return out


def reads_the_length(xs):
    out = []
    for x in xs:
        out.append(x.sum() * len(out))
    return out


def reads_if_there_is_one(xs):
    out = []
    for x in xs:
        if not out:
            x = x * 100
        out.append(x.sum())
    return out


def iterates_over_it(xs):
    out = []
    for x in xs:
        out.append(x.sum())
        total = 0.0
        for y in out:
            total = total + y
    return out, total


def conditional(xs):
    out = []
    for x in xs:
        if x[0] > 0:
            out.append(x.sum())
    return out


def numbers(xs):
    out = []
    for i, x in enumerate(xs):
        out.append(float(x[0]) * i)
    return out


def kinds_of_numbers(xs):
    floats, ints, flags, sizes = [], [], [], []
    for i, x in enumerate(xs):
        floats.append(float(x[1]) * 0.5)
        ints.append(i * 2 - 1)
        flags.append(bool(x[0] > 0))
        sizes.append(3)
    return floats, ints, flags, sizes, [type(held[-1]) for held in (floats, ints, flags, sizes)]


def uses_of_numbers(xs):
    ts, t = [0.0], 0.0
    for x in xs:
        t = t + float(x[0])
        ts.append(t)
    found = np.array(ts[1:])
    total = 0.0
    for t in ts[1:]:
        total = total + t * 2
    at = [ts[k] for k in (1, 5, -1)]
    values = ts[1:]
    return (
        found,
        total,
        at,
        sum(values),
        max(values),
        min(values),
        np.mean(values),
        len(values),
        type(sum(values)),
        values[3] + 1,
    )


def numbers_looked_up_in_a_loop(xs):
    ts = []
    for i in range(len(xs)):
        ts.append(float(i) * 0.5)
    y, z = np.zeros(4), 0.0
    for k in range(len(xs)):
        y = y + ts[k] * xs[k]
        z = z + ts[2]
    return y, z, ts[2], ts


def numbers_of_another_kind(xs):
    out = []
    for i, x in enumerate(xs):
        out.append(i if i < 10 else float(x[0]))
    return out


def numbers_in_two_loops(xs):
    out = []
    for i in range(12):
        for x in xs:
            out.append(float(x[0]) * i)
    return out, np.array(out)


def of_other_shapes(xs):
    out = []
    for i in range(1, 20):
        out.append(xs[:i].sum(axis=0)[: i % 3])
    return out


def of_other_dtypes(xs):
    out = []
    for i, x in enumerate(xs):
        out.append(x.sum() if i % 2 else x.sum() > 0)
    return out


def two_at_a_time(xs):
    out = []
    for x in xs:
        out.append(x.sum())
        out.append(x.max())
    return out


def extended(xs):
    out = []
    for x in xs:
        out.extend([x * 2])
        out += [x * 3]
    return out


def to_two_lists(xs):
    one, two = [], []
    for x in xs:
        y = x * 2
        one.append(y)
        two.append(y)
    one[0][0] = 9.0
    return one, two, one[1] is two[1]


def of_no_dimension(xs):
    out = []
    for x in xs:
        out.append(np.array(x.sum()))
    return out


def inserted(xs):
    out = []
    for x in xs:
        out.insert(0, x.sum())
    return out


def by_a_bound_method(xs):
    out = []
    append = out.append
    for x in xs:
        append(x.sum())
    return out


def by_a_function(xs):
    out = []

    def add(x):
        out.append(x * 2)

    for x in xs:
        add(x)
    return out


def in_a_tuple(xs):
    both = ([], [])
    for x in xs:
        both[0].append(x.sum())
        both[1].append(x.max())
    return both


def in_a_dict(xs):
    held = {"a": [], "b": []}
    for x in xs:
        held["a"].append(x.sum())
        held["b"].append(x)
    return held


def nested(xs):
    out = []
    for i in range(12):
        row = []
        for x in xs:
            row.append(x.sum() * i)
        out.append(np.array(row))
    return np.array(out)


def nested_flat(xs):
    out = []
    for i in range(12):
        for x in xs:
            out.append(x * i)
    return np.array(out), len(out)


def lists_of_lists(xs):
    out = []
    for x in xs:
        out.append([x.sum(), x.max()])
    return np.array(out)


def not_empty_before(xs):
    out = [xs[0].sum(), 1.0]
    for x in xs:
        out.append(x.sum())
    out.append(2.0)
    return out, np.array(out), sum(out)


def two_loops(xs):
    out = []
    for x in xs:
        out.append(x.sum())
    for x in xs:
        out.append(x.max())
    return np.array(out), out


def another_loop_over_it(xs):
    out = []
    for x in xs:
        out.append(x * 2)
    total = np.zeros(4)
    for k, y in enumerate(out):
        total = total + y * k
    found = np.zeros(20)
    for k in range(20):
        found[k] = out[k].sum()
    return total, found, [y.max() for y in out[2:5]]


def functions(xs):
    rows, values = [], []
    for x in xs:
        rows.append(np.sqrt(np.abs(x)))
        values.append(x.min())
    return (
        np.mean(rows, axis=0), np.vstack(rows), np.concatenate(rows), np.column_stack(rows), np.asarray(rows)[1], np.sum(values),
        sum(values), max(values), min(values), np.dot(values, values), np.diff(values), np.argmin(values), np.max(rows),
        np.add(values, 1), np.median(values), np.array(rows).T @ np.array(values),
    )  # fmt: skip


def other_functions(xs):
    values = []
    for x in xs:
        values.append(x.min())
    return sorted(values)[:2], any(v > 1 for v in values), [v * 2 for v in values]


def left_early(xs):
    out = []
    for x in xs:
        out.append(x.sum())
        if x[0] > 0.5:
            break
    return out


def while_it_is_small(xs):
    out, y = [], xs[0].sum()
    while y < 10:
        y = y + 1.5
        out.append(y)
    return out


def backwards(xs):
    out = []
    for i in range(len(xs) - 1, -1, -1):
        out.append(xs[i] * 2)
    return np.array(out)


def every_second(xs):
    out = []
    for i in range(1, len(xs), 2):
        out.append(xs[i] * 2)
    return np.array(out)


def from_an_offset(xs):
    out = []
    for i in range(3, len(xs)):
        out.append(xs[i] - xs[i - 3])
    return np.array(out)


def raising(xs):
    out = []
    m = np.eye(4)
    for x in xs:
        out.append(np.linalg.solve(m, x))
        m = m * 0.0
    return out


def twice_in_a_result(xs):
    out = []
    for x in xs:
        out.append(x.sum())
    return out, {"again": out[:3]}, out


def compared(xs):
    out = []
    for x in xs:
        out.append(x.sum() > 0)
    return all(out), any(out), np.all(out), out.count(True), out == [True] * 20


PROGRAMS = functions_of(globals(), "xs")


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_lists(f, executor):
    jitted = tnp.jit(f, executors=[executor])
    for xs in (XS, XS, XS + 0.5, RNG.normal(size=(20, 4)), RNG.normal(size=(21, 4))):
        expected, left = outcome(f, (xs.copy(),))
        found, mine = outcome(jitted, (xs.copy(),))
        assert_same(found, expected)
        assert_same(mine, left)


ROLLED = [
    scalars, arrays, carried, written_within, one_array_copied, nested, nested_flat, not_empty_before, another_loop_over_it, two_loops,
    backwards, from_an_offset, by_a_function, in_a_dict, numbers, numbers_looked_up_in_a_loop, numbers_in_two_loops,
]  # fmt: skip


@pytest.mark.parametrize("f", ROLLED, ids=lambda f: f.__name__)
def test_they_are_loops_of_the_program(f):
    jitted = tnp.jit(f, strict=True)
    jitted(XS)
    ((program, _),) = programs_of(jitted)
    assert len(program.traces[0].bound_symbols) < 75


def test_a_long_list():
    xs = RNG.normal(size=(3000, 4))
    jitted = tnp.jit(scalars, strict=True)
    assert_same(jitted(xs), scalars(xs))
    ((program, _),) = programs_of(jitted)
    assert len(program.traces[0].bound_symbols) < 20


@pytest.mark.parametrize("executor", EXECUTORS)
def test_lists_of_an_object(executor):
    jitted = tnp.jit(Model.fit, executors=[executor], strict=True)
    mine, expected = Model(), Model()
    for _ in range(3):
        assert_same(jitted(mine, XS), expected.fit(XS))
        assert_same(mine.losses, expected.losses)
        assert_same(mine.history, expected.history)
        assert all(type(x) is np.float64 for x in mine.losses)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_list_that_a_copy_of_its_object_has_too(executor):
    def f(model, xs):
        other, total = copy.copy(model), 0.0
        for x in xs:
            model.losses.append(x.sum())
            total = total + x.sum() * len(other.losses)
        return total

    jitted = tnp.jit(f, executors=[executor])
    mine, expected = Model(), Model()
    for _ in range(3):
        assert_same(jitted(mine, XS), f(expected, XS))
        assert_same(mine.losses, expected.losses)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_list_of_the_caller_s(executor):
    def f(held, xs):
        for x in xs:
            held.append(x * 2)
        return len(held)

    jitted = tnp.jit(f, executors=[executor])
    mine, expected = [1], [1]
    for _ in range(3):
        assert jitted(mine, XS) == f(expected, XS)
        assert_same(mine, expected)
    mine[5][0] = 8.0  # an array of its own
    assert mine[6][0] != 8.0 and mine[5].flags.owndata


def test_gradients():
    def f(xs):
        out = []
        y = xs[0]
        for x in xs:
            y = np.tanh(y + x)
            out.append(y.sum())
        return np.mean(out)

    def unrolled(xs):
        y, total = xs[0], 0.0
        for x in xs:
            y = np.tanh(y + x)
            total = total + y.sum()
        return total / len(xs)

    assert_same(tnp.grad(f)(XS), tnp.grad(unrolled)(XS), rtol=1e-12)


def joined_vectors(xs):
    out = []
    y = xs[0]
    for x in xs:
        y = y * 0.5 + x
        out.append(y)
    return (
        np.hstack(out),
        np.vstack(out),
        np.column_stack(out),
        np.dstack(out),
        np.stack(out, axis=1),
        np.concatenate(out, 0),
    )


def joined_matrices(xs):
    out = []
    y = xs[0].reshape(2, 2)
    for x in xs:
        y = y * 0.5 + x.reshape(2, 2)
        out.append(y)
    return (
        np.hstack(out), np.vstack(out), np.column_stack(out), np.dstack(out), np.stack(out, axis=-1), np.concatenate(out, axis=-1),
    )  # fmt: skip


def joined_columns(xs):
    out = []
    for x in xs:
        out.append(np.array([[x[0]], [x[1] * 2]]))
    h = np.hstack(out)
    h[0, 0] = 5.0
    return h, np.dstack(out)


def joined_scalars(xs):
    out = []
    for x in xs:
        if x[0] > -9:
            out.append(x[0] + x[1])
    return np.hstack(out), np.vstack(out), np.column_stack(out), np.dstack(out)


@pytest.mark.parametrize(
    "f", [joined_vectors, joined_matrices, joined_columns, joined_scalars], ids=lambda f: f.__name__
)
def test_lists_that_are_joined_have_any_length(f):
    jitted = tnp.jit(f, strict=True)
    for n in (20, 30, 11, 40):
        xs = RNG.normal(size=(n, 4))
        assert_same(jitted(xs), f(xs))
    assert tnp.cache_info(jitted).misses <= 2
