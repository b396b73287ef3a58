"""Lists and dicts of the caller's that a program changes: the changes are effects of the compiled program."""

import collections
import copy

import numpy as np
import pytest

import tnp
from tests.whole_programs.checks import EXECUTORS
from tnp.api import programs_of
from tnp.testing import assert_same

X = np.arange(4.0)


def counted(d, x):
    d["n"] += 1
    d["y"] = x * 2
    return x + d["n"]


def reordered(held, x):
    held.sort()
    del held[0]
    held.insert(0, 5)
    held += [x.mean(), "text", None]
    held[1] = x
    return x + held[0]


def deleted(d, x):
    first = d.pop("a")
    d["a"] = x.sum() + first
    return d


def nested(d, x):
    d["k"].append(x.max())
    d["k"][0] = {"x": x, "again": [x, 2]}
    return len(d["k"])


def views(held, x):
    held.append(x)
    held.append(x[1:])
    y = x + 1
    held.append(y)
    x[0] = y[0] = 9
    return y


def in_a_loop(held, x):
    for i in range(3):
        held.append(x * i)
    held.clear()
    return x


def depending(held, x):
    if x.sum() > 3:
        held.append(x)
    return x


CHANGES = {
    counted: [{"n": 1}, {"n": 5}, {"n": 2, "y": 0}],
    reordered: [[3, 1, 2]],
    deleted: [{"a": 1, "b": 2}, {"b": 3, "a": 2.5}],
    nested: [{"k": [0]}, {"k": [1, 2]}],
    views: [[], [1]],
    in_a_loop: [[], [1]],
    depending: [[]],
}


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize("function", CHANGES, ids=lambda f: f.__name__)
def test_changes_are_those_of_eager(function, executors):
    jitted = tnp.jit(function, executors=executors, strict=True)
    for held in CHANGES[function] * 2:
        for x in (X, X * 0):
            mine, theirs = copy.deepcopy([held, x]), copy.deepcopy([held, x])
            assert_same(jitted(*mine), function(*theirs))
            assert_same(mine, theirs, exact=True)


def test_the_objects_are_those_of_the_caller():
    held, inner = [], [1]

    def f(x, d):
        held.append(x)
        held.append(inner)
        d["held"] = held
        return x

    d = {}
    assert tnp.jit(f, strict=True)(X, d) is X
    assert held[0] is X and held[1] is inner and d["held"] is held


@pytest.mark.parametrize("error", [IndexError, np.linalg.LinAlgError])
def test_an_error_leaves_what_eager_leaves(error):
    def f(held, x, k):
        held.append(k)
        if error is IndexError:
            return x[held[0]]
        return np.linalg.inv(np.outer(x, x)) if k else x

    jitted = tnp.jit(f)
    for k in (0, 9):
        mine, theirs = [k], [k]
        with pytest.raises(error) if k else pytest.MonkeyPatch.context():
            jitted(mine, X, k)
        with pytest.raises(error) if k else pytest.MonkeyPatch.context():
            f(theirs, X, k)
        assert mine == theirs == [k, k]


def test_a_list_may_be_two_arguments():
    def f(a, b, x):
        a.append(x.sum())
        return len(b)

    jitted = tnp.jit(f, strict=True)
    one, other = [], []
    assert jitted(one, other, X) == 0
    assert jitted(other, other, X) == 1
    assert other == [6.0]


def test_a_gradient_gives_what_it_appends():
    losses = []

    def step(x):
        def loss(x):
            total = (x * x).sum()
            losses.append(total)
            return total

        return tnp.grad(loss)(x)

    assert_same(tnp.jit(step)(X), 2 * X)
    assert losses == [14.0]


class Model:
    def __init__(self, scale):
        self.history, self.scale = [], scale
        self.callback = lambda x: x * self.scale

    def step(self, x):
        self.history.append(x.sum())
        return self.callback(x)


# What varies from call to call, and nothing reads


def test_a_list_that_grows_takes_two_programs():
    jitted, model = tnp.jit(Model.step, strict=True), Model(2.0)
    for i in range(8):
        assert_same(jitted(model, X + i), (X + i) * 2)
    assert model.history == [(X + i).sum() for i in range(8)]
    assert len(programs_of(jitted)) == 2


def test_a_list_that_grows_and_is_read():
    held = []

    def f(x):
        held.append(x.sum())
        return x * len(held)

    jitted = tnp.jit(f, strict=True)
    for i in range(4):
        assert_same(jitted(X), X * (i + 1))
    assert held == [6.0] * 4


@pytest.mark.parametrize(
    "read", [len, list, tuple, bool, repr, sum, lambda h: h[0], lambda h: h == [1], lambda h: [*h], lambda h: 1.0 in h]
)
def test_every_way_to_read_a_list_sees_what_it_holds(read):
    held = []

    def f(x, h):
        h.append(1.0)
        return x.sum(), read(h)

    jitted = tnp.jit(f)
    for n in range(1, 5):
        assert_same(jitted(X, held), (X.sum(), read([1.0] * n)))
    assert held == [1.0] * 4


def scaling(by, more=0.0):
    return lambda x, add=more: x * by + add


def test_functions_of_one_code_take_two_programs():
    jitted = tnp.jit(lambda x, f: f(x) * 2, strict=True)
    for i in range(1, 6):
        assert_same(jitted(X, scaling(1.5 * i, 0.5 * i)), (X * 1.5 * i + 0.5 * i) * 2)
    assert len(programs_of(jitted)) == 2
    for i in range(1, 6):
        assert_same(jitted(X, scaling(X + i)), (X * (X + i)) * 2)
    assert len(programs_of(jitted)) == 3


def test_functions_of_one_code_after_those_of_another():
    jitted = tnp.jit(lambda x, f: f(x), strict=True)
    assert_same(jitted(X, lambda x: x - 1), X - 1)
    for i in range(1, 6):
        assert_same(jitted(X, scaling(1.5 * i)), X * 1.5 * i)
    assert len(programs_of(jitted)) == 3


def test_functions_that_are_told_apart():
    first, second = scaling(1.0), scaling(2.0)
    known = {first: 3.0}

    def f(x, g, h):
        return x * (2 if g is h else known.get(g, 5)) + len(g.__name__)

    jitted = tnp.jit(f)
    pairs = [
        (scaling(1.0), scaling(1.0)),
        (scaling(2.0), scaling(1.0)),
        (first, second),
        (second, second),
        (first, first),
    ]
    for g, h in pairs * 2:
        assert_same(jitted(X, g, h), f(X, g, h))


def test_functions_that_share_what_they_close_over():
    def pair(k):
        return lambda x: x * k, lambda x: x + k

    jitted = tnp.jit(lambda x, f, g: f(x) + g(x), strict=True)
    for k in (1.5, 2.5, 3.5):
        assert_same(jitted(X, *pair(k)), X * k + X + k)
    assert_same(jitted(X, pair(1.5)[0], pair(4.5)[1]), X * 1.5 + X + 4.5)
    assert len(programs_of(jitted)) == 2


def test_a_function_that_is_passed_on_is_that_very_function():
    def f(x, g):
        held = [g]
        return x + 1, held[0](x), hash(g) == hash(g)

    jitted = tnp.jit(f)
    for i in range(3):
        g = scaling(i)
        assert_same(jitted(X, g), f(X, g))


def test_a_nan_is_a_key_as_the_object_that_it_is():
    nan = float("nan")

    def f(d, x):
        d[nan] = x.sum()

    held = {}
    jitted = tnp.jit(f)
    with pytest.warns(tnp.EagerFallbackWarning, match="the hash of a NaN"):
        jitted(held, X)
    jitted(held, X)
    assert list(held) == [nan]


@pytest.mark.filterwarnings("ignore:.* runs ")
def test_new_containers_whose_keys_or_defaults_are_of_the_program():
    def keys(x):
        counts = collections.defaultdict(int)
        for v in x[:3]:
            counts[v] += 1
        return counts, np.sin(x) * 2

    def default(x):
        made = collections.defaultdict(lambda: x[0] + 1)
        made["a"] = np.sin(x) * 2 + 1
        return made

    x = np.linspace(0.0, 1.0, 5)
    for f in (keys, default):
        jitted = tnp.jit(f)
        for _ in range(4):
            found, expected = jitted(x), f(x)
            assert type(found) is type(expected)
            if f is keys:
                assert repr(found) == repr(expected)
            else:
                assert_same(dict(found), dict(expected))
                assert_same(found["missing"], expected["missing"])


def smoothed(x, n):
    for i in range(1, len(x) - 1):
        x[i] = (x[i - 1] + x[i + 1] + x[n]) / 3
    return x


@pytest.mark.parametrize(("n", "is_loop"), [(2, True), (-70, False)])
def test_a_loop_behind_an_append_is_one_operation_if_its_subscripts_fit(n, is_loop):
    def f(x, log):
        log.append(x[0])
        return smoothed(x, n)

    jitted = tnp.jit(f)
    for mine, eagers in [([], []), ([1], [1])]:
        x, y = np.linspace(0, 1, 60), np.linspace(0, 1, 60)
        if is_loop:
            assert_same(jitted(x, mine), f(y, eagers))
        else:
            for g, z, log in ((jitted, x, mine), (f, y, eagers)):
                with pytest.raises(IndexError):
                    g(z, log)
        assert_same((x, mine), (y, eagers))
    if is_loop:
        assert len(tnp.last_traces(jitted)[0].bound_symbols) < 20
