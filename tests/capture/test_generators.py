"""Generators that a program makes and takes from."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.testing import assert_same

K = 2.0
X = np.arange(1.0, 5)


def count(n):
    i = 0
    while i < n:
        yield i
        i += 1


def of_arrays(x):
    yield x
    yield x * K
    y = x + 1
    yield from (y, y * 2)


def fibonacci():
    a, b = 1, 1
    while True:
        yield a
        a, b = b, a + b


def noting(notes, xs):
    for x in xs:
        notes.append("in")
        yield x
    notes.append("end")


def leaves(tree):
    if isinstance(tree, list):
        for branch in tree:
            yield from leaves(branch)
    else:
        yield tree


def inner(x):
    yield x
    return x * 5


def outer(x):
    got = yield from inner(x)
    yield got


def decides(x):
    if x.sum() > 11:
        yield x
    yield x * 2


class Held:
    def __init__(self, xs):
        self.xs = xs

    def __iter__(self):
        for v in self.xs:
            yield v * K

    @property
    def values(self):
        yield 1.0
        yield 2.0

    def pairs(self):
        yield from enumerate(self.xs)


def summed(x):
    return sum(x * i for i in count(4)), list(of_arrays(x)), max(v.sum() for v in of_arrays(x))


def endless(x):
    total = 0
    for a in fibonacci():
        if a > 50:
            break
        total = total + a * x
    return total


def in_order(x):
    notes, total = [], 0
    for v in noting(notes, [x, x * 2]):
        notes.append("out")
        total = total + v
    return total, notes


def recursive(x):
    return sum(leaves([x, [x * 2, [x * 3]]])), list(outer(x)), [v * 2 for v in decides(x)]


def of_objects(x):
    held = Held([x, 2 * x])
    return sum(held) + sum(held.values), dict(held.pairs()), type(held.pairs()).__name__


def unpacked(x):
    a, b, *c = of_arrays(x)
    given = of_arrays(x)
    return a + b, c, next(given), next(given, None), list(given), next(given, 7), dict(zip("abcd", of_arrays(x)))


def in_a_loop(x):
    for _ in range(60):
        for v in count(3):
            x = x + v * 0.1
    return x


def in_a_branch(x):
    if x.sum() > 11:
        return sum(of_arrays(x))
    return x


def across_iterations(x):
    given, total = fibonacci(), 0.0
    for i in range(50):
        total = total + x[i % 4] * next(given)
    return total


ALL = [summed, endless, in_order, recursive, of_objects, unpacked, in_a_loop, in_a_branch, across_iterations]


@pytest.mark.parametrize("f", ALL)
def test_generators(f):
    jitted = tnp.jit(f, strict=True)
    for x in (X, X * 2, X):
        assert_same(jitted(x), f(x))


def test_arguments_that_are_iterated_by_a_generator():
    def f(held, x):
        return sum(held) * x

    jitted = tnp.jit(f, strict=True)
    for xs in ([X], [X, X * 2], [1.0]):
        assert_same(jitted(Held(xs), X), f(Held(xs), X))


def cleaning_up(x):
    try:
        yield x
    finally:
        NOTES.append("left")


NOTES = []


def test_what_a_generator_cleans_up_is_pythons():
    def f(x):
        return [v + 1 for v in cleaning_up(x)]

    with not_compiled_whole("a generator with a try"):
        assert_same(tnp.jit(f)(X), f(X))
    assert NOTES == ["left", "left"]


def test_a_generator_that_is_returned_is_pythons():
    def f(x):
        return of_arrays(x * 2)

    with not_compiled_whole("returns a generator"):
        assert_same(list(tnp.jit(f)(X)), list(f(X)))
