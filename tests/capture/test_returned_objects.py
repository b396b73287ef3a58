"""Objects that a program makes and returns: each call makes them anew, one object once."""

import functools
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest

import tnp
from tests.eager_checks import as_plain
from tnp.testing import assert_same

X = np.arange(1.0, 5)


class Node:
    def __init__(self, v, *children):
        self.v = v
        self.children = list(children)

    def __call__(self, x):
        return x * 2

    def scaled(self, k):
        return self.v * k


def sets(x):
    return {1, 2, "a"}, frozenset((1.5, None)), set(), {"k": {3}}, x * 2


def dicts(x):
    found = defaultdict(list)
    found["a"].append(x * 2)
    return Counter("abca"), found, OrderedDict(b=x, a=1), Counter()


def constants(x):
    return Node(3), [Node(None), Node("a", Node(1.5))], x * 2


@pytest.mark.parametrize("f", [sets, dicts, constants])
def test_results(f):
    jitted = tnp.jit(f, strict=True)
    assert_same(as_plain(jitted(X)), as_plain(f(X)))
    first, second = jitted(X), jitted(X)
    assert all(a is not b for a, b in zip(first, second) if not isinstance(a, frozenset))


def test_one_object_in_several_places():
    def f(x, kept):
        node, held, table = Node(x * 2), [x], {"a": x + 1}
        kept.node, kept.held = node, held
        kept.all.append(table)
        return node, [Node(1.0, node), held], {"n": node, "t": table}

    class Kept:
        def __init__(self):
            self.all = []

    mine, others, jitted = Kept(), Kept(), tnp.jit(f, strict=True)
    for _ in range(2):
        node, (parent, held), by_name = jitted(X, mine)
        assert_same(as_plain((node, [parent, held], by_name)), as_plain(f(X, others)))
        assert node is parent.children[0] is by_name["n"] is mine.node
        assert held is mine.held and by_name["t"] is mine.all[-1]
    assert mine.all[0] is not mine.all[1]
    assert_same(as_plain(mine), as_plain(others))


def test_partials_and_bound_methods():
    def f(x):
        node = Node(x * 2)
        return node, node.scaled, functools.partial(np.add, x * 3), functools.partial(node.scaled, k=2.0), len, np.sin

    node, scaled, added, doubled, *rest = tnp.jit(f, strict=True)(X)
    assert scaled.__self__ is node and doubled.func.__self__ is node
    assert_same(scaled(2.0), X * 4)
    assert_same(added(1.0), X * 3 + 1)
    assert_same(doubled(), X * 4)
    assert rest == [len, np.sin]


def test_an_object_that_holds_itself():
    def f(x):
        a, b = Node(x * 2), Node(x + 1)
        a.children.append(b)
        b.parent, a.table = a, {"b": b}
        a.table["itself"] = a.table
        return b, a

    b, a = tnp.jit(f, strict=True)(X)
    assert b.parent is a and a.children[0] is b and a.table["b"] is b and a.table["itself"] is a.table
    assert_same((a.v, b.v), (X * 2, X + 1))


def test_gradients_of_functions_that_return_one_object_twice():
    def f(x):
        table = {"a": (x * x).sum()}
        return table["a"], [table, table]

    (value, (first, second)), slope = tnp.value_and_grad(f, has_aux=True)(X)
    assert_same(value, (X * X).sum())
    assert_same(slope, 2 * X)
    assert_same(first["a"], value)
    assert_same(second["a"], value)


def test_functions_of_numpys_are_kept_and_returned():
    class Filter:
        def __init__(self, x, inverse=np.linalg.inv):
            self.x = x * 2
            self.inverse = inverse

    made = object.__new__(Filter)
    jitted = tnp.jit(Filter.__init__, strict=True)
    jitted(made, np.eye(2))
    assert made.inverse is np.linalg.inv and made.x[0, 0] == 2
    found = tnp.jit(lambda x: (np.fft.fft, x + 1), strict=True)(np.zeros(2))
    assert found[0] is np.fft.fft


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_a_view_of_what_may_be_an_argument_that_is_written():
    def chosen(x):
        if x[1]:
            if x.all():
                return x
            return np.flip(x)

    def f(x):
        x *= 4
        return chosen(x).real

    for values in ([3.0, 2.0], [0.0, 2.0]):
        mine, eagers = np.array(values), np.array(values)
        found, expected = tnp.jit(f)(mine), f(eagers)
        assert_same(found, expected)
        assert_same(mine, eagers)
        assert np.shares_memory(found, mine) == np.shares_memory(expected, eagers)


class Variable:
    """Knows by how much it depends on variables: on itself."""

    def __init__(self, deviation):
        self.deviation = deviation
        self.parts = {self: 1.0}

    def total(self):
        return sum(v.deviation * k for v, k in self.parts.items())


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("kind", [dict, OrderedDict, defaultdict, Counter])
def test_keys_that_are_objects(kind):
    def made(x):
        return Variable(x.sum())

    def keyed(x):
        found = kind() if kind is not defaultdict else defaultdict(list)
        found[Node(x.max())] = 2
        found[Node(x.min()), 1] = 3
        return found

    jitted, jitted_keyed = tnp.jit(made), tnp.jit(keyed)
    for k in (1, 2, 3):
        found = jitted(X * k)
        assert type(found) is Variable and next(iter(found.parts)) is found
        assert_same(found.total(), made(X * k).total())
        (first, (second, one)), expected = jitted_keyed(X * k), [X.max() * k, X.min() * k]
        assert type(first) is type(second) is Node and one == 1
        assert_same([first.v, second.v], expected)
