"""Jitted functions that call themselves as deep as Python allows."""

import sys
import threading
import warnings

import numpy as np
import pytest

import tnp


def counter():
    @tnp.jit
    def depth(n):
        return 0 if n == 0 else 1 + depth(n - 1)

    return depth


@pytest.fixture(autouse=True)
def _quiet():
    before = sys.getrecursionlimit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        yield
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize("depths", [(300,), (10, 200, 300), (50, 600)])
def test_as_deep_as_python(depths):
    depth = counter()
    for n in depths:
        assert depth(n) == n


def test_over_a_list():
    @tnp.jit
    def total(x, i):
        return 0.0 if i == len(x) else x[i] + total(x, i + 1)

    for n in (10, 400):
        assert total(list(np.arange(float(n))), 0) == n * (n - 1) / 2


def test_in_halves():
    @tnp.jit
    def total(x):
        return x[0] if len(x) == 1 else total(x[: len(x) // 2]) + total(x[len(x) // 2 :])

    for n in (64, 100):
        assert total(np.arange(float(n))) == n * (n - 1) / 2


def test_for_ever():
    @tnp.jit
    def for_ever(x):
        return for_ever(x + 1)

    def call():
        with pytest.raises(RecursionError):
            for_ever(1.0)
        raised.append(True)

    raised = []
    call()
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert raised == [True, True]
