"""Arrays that functions of SciPy make of constants: constants of the program, or each call's own where it changes or returns them."""

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

signal = pytest.importorskip("scipy.signal")
special = pytest.importorskip("scipy.special")
RNG = np.random.default_rng(0)


def returned(x):
    b, a = signal.butter(4, 0.2)
    return signal.lfilter(b, a, x), b, a


def returned_twice(x):
    taps = signal.firwin(31, 0.2)
    return np.convolve(x, taps), taps, taps, taps[::-1]


def scaled_in_place(x):
    window = signal.windows.hann(9)
    window /= window.sum()
    return np.convolve(x, window, "same"), window


def written_through_a_view(x):
    taps = signal.firwin(31, 0.2)
    backwards = taps[::-1]
    backwards[0] += 5
    taps[3] += 1
    return np.convolve(x, taps) + 1


def changed_and_designed_with(x):
    b, a = signal.butter(3, 0.3)
    b *= 2
    w, h = signal.freqz(b, a, 16)
    return signal.lfilter(b, a, x) * 2, np.abs(h), w


def changed_in_a_loop(x):
    nodes, weights = special.roots_legendre(5)
    for k in range(3):
        weights += k * x[k]
    return np.cos(nodes) @ weights, weights


def taps_of(n):
    return signal.firwin(n, 0.3)


def made_in_a_helper(x):
    first, second = taps_of(7), taps_of(9)
    first[0] = 0
    return np.convolve(x, first), second, first


@pytest.mark.parametrize(
    "f",
    [
        returned, returned_twice, scaled_in_place, written_through_a_view, changed_and_designed_with, changed_in_a_loop,
        made_in_a_helper,
    ],
)  # fmt: skip
def test_each_call_has_its_own(f):
    jitted = tnp.jit(f)
    for n in (50, 50, 60):
        x = RNG.random(n)
        results, expected = jitted(x), f(x)
        assert_same(results, expected, rtol=1e-9)
        for a in results if isinstance(results, tuple) else (results,):
            a += 1  # which no later call sees


def test_a_result_that_is_returned_twice_is_one_object():
    jitted = tnp.jit(returned_twice)
    for _ in range(2):
        _, first, second, view = jitted(RNG.random(40))
        assert first is second
        assert np.shares_memory(first, view)


def test_what_is_not_changed_costs_nothing():
    def f(x):
        b, a = signal.butter(4, 0.2)
        return signal.lfilter(b, a, x)

    jitted = tnp.jit(f, strict=True)
    x = RNG.random(50)
    assert_same(jitted(x), f(x), rtol=1e-9)
    text = str(tnp.explain(jitted))
    assert "butter" not in text.replace("butter(4, 0.2)", "")
