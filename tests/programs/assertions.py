"""Assertions with messages that are made of values. They stand here since pytest rewrites those of its own modules."""

import numpy as np


def with_a_tuple(x, c):
    assert (x > -2.5).all(), (x.min(), c)
    return x * c


def with_an_f_string(x, c):
    assert x.max() < 2.5, f"{x.max():.3f} with {c}"
    return x * c


def in_a_loop(x, c):
    total = 0.0
    for i in range(len(x)):
        assert x[i] > -2.5, f"at {i}: {x[i]:.2f}"
        total += x[i] * c
    return total


def behind_a_store(x, c):
    x += 1
    assert x.min() > -1.5, f"low: {x.min():g}"
    x[0] = c
    return x


def with_an_error(x, c):
    assert x.min() > -2.5, 1 / (c - c)
    return x


def with_an_item(x, c):
    n = int(c * 3)
    assert np.abs(x).sum() < 50, x[n]
    return x * n


WITH_MESSAGES = [with_a_tuple, with_an_f_string, in_a_loop, behind_a_store, with_an_error, with_an_item]
