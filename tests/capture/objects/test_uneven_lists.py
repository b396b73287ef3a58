"""Long lists of arrays of several lengths: a program does not depend on each of them."""

import contextlib
import copy

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.testing import assert_same

rng = np.random.default_rng(0)


def frames(count, widest=6, least=0):
    return [rng.random(k) for k in rng.integers(least, widest, count)]


def check(f, *calls):
    jitted = tnp.jit(f)
    for args in calls:
        expected_args = copy.deepcopy(list(args))
        try:
            expected = f(*expected_args)
        except Exception as error:
            with pytest.raises(type(error), match=str(error)):
                jitted(*args)
        else:
            assert_same(jitted(*args), expected)
        assert_same(list(args), expected_args, what="arguments")
    return jitted


def test_lengths_and_items_of_them_are_inputs():
    def f(items, x):
        if len(items) != x.size:
            raise ValueError("one of each")
        y = np.sin(x) * len(items) + items[0].size
        return y + items[-1].sum() if items else y

    jitted = check(
        f, *((frames(n, least=2), rng.random(n)) for n in (100, 130, 170, 180)), (frames(90), rng.random(80))
    )
    assert tnp.cache_info(jitted).misses <= 4


def checked(items, most):
    for item in items:
        if item.size and (item > most).any():
            raise ValueError("too large")


def test_loops_over_them_are_pythons():
    def f(x, items, most):
        y = np.cos(x) + np.sqrt(x) * 2
        checked(items, most)
        return y * 2 + np.sin(y)

    with not_compiled_whole("a list of 400 arrays of several lengths"):
        jitted = check(f, *((rng.random(50), frames(n), m) for n in (400, 500) for m in (2.0, 0.5)))
    assert tnp.cache_info(jitted).misses == 1


def test_writes_to_their_arrays():
    def f(items, x):
        x[:] = 2.0 * len(items)
        for item in items:
            item += x[0]
        return items

    jitted = tnp.jit(f)
    for n in (70, 80):
        items, x = frames(n, least=1), np.zeros(3)
        expected = [a + 2.0 * n for a in items]
        with not_compiled_whole() if n == 70 else contextlib.nullcontext():
            assert jitted(items, x) is items
        assert_same(items, expected)


def test_gradients_and_strict_functions_have_each_array():
    def f(x, items):
        return sum((np.sin(item) * x).sum() for item in items[:5]) * len(items)

    items = frames(70, least=1)
    expected = sum(np.sin(a).sum() for a in items[:5]) * 70
    assert tnp.grad(f)(1.5, items) == pytest.approx(expected)
    assert tnp.jit(f, strict=True)(1.5, items) == pytest.approx(1.5 * expected)
