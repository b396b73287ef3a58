"""Dicts that remember: once their keys have differed often, Python reads and changes them, and no key is a program."""

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("ignore:.* runs in parts:tnp.EagerFallbackWarning")


def misses(jitted):
    return int(tnp.explain(jitted).splitlines()[0].split(", ")[-1].split()[0])


def test_a_dict_of_the_module_is_filled():
    def make():
        memo = {}

        def f(x, k):
            if k not in memo:
                memo[k] = np.exp(-k * np.arange(4.0))
            return (x * memo[k]).sum(), len(memo)

        return f, memo

    for step in (1, 0.5):
        (f, expected), (g, found) = make(), make()
        jitted = tnp.jit(g)
        for k in (*range(12), *range(12)):
            x = np.arange(4.0) + k
            assert_same(jitted(x, k * step), f(x, k * step))
        assert_same(found, expected)
        assert misses(jitted) <= 6


def test_one_of_an_object_by_lengths_of_arrays():
    class Basis:
        def __init__(self):
            self.cache = {}

        def get(self, n):
            if n not in self.cache:
                self.cache[n] = np.cos(np.outer(np.arange(n), np.arange(n)))
            return self.cache[n]

        def apply(self, x):
            return self.get(len(x)) @ x + np.sin(x)

    expected, found = Basis(), Basis()
    jitted = tnp.jit(lambda basis, x: basis.apply(x))
    for n in (*range(3, 20), *range(3, 20)):
        x = np.linspace(0, 1, n)
        assert_same(jitted(found, x), expected.apply(x), rtol=1e-12)
    assert_same(found.cache, expected.cache)
    assert misses(jitted) <= 8


def test_arguments_with_other_keys_are_programs_of_their_own():
    @tnp.jit
    def f(tables):
        return {k: v * 2 for k, v in tables.items()}

    for k in range(7):
        assert_same(f({f"k{k}": np.arange(3.0)}), {f"k{k}": np.arange(3.0) * 2})


@pytest.mark.filterwarnings("ignore:.* runs eagerly")
def test_errors_of_lookups():
    memo = {}

    def f(x, k, fill):
        if fill:
            memo[k] = x * k
        return x + memo[k]

    jitted = tnp.jit(f)
    for k in range(8):
        assert_same(jitted(np.arange(3.0), k, True), np.arange(3.0) * (1 + k))
    with pytest.raises(KeyError, match="99"):
        jitted(np.arange(3.0), 99, False)
    assert list(memo) == list(range(8))
