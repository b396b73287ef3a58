"""Loops whose iterations leave a variable bound to a view of an array from outside: ``before = x[k]``."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import functions_of
from tnp.testing import assert_same


def path_length(x):
    before, total = x[0], 0.0
    for now in x[1:]:
        total += np.sqrt(((now - before) ** 2).sum())
        before = now
    return total


def from_zeros(x):
    before, out = np.zeros(x.shape[1]), np.zeros(len(x))
    for k in range(len(x)):
        out[k] = before @ x[k]
        before = x[k]
    return out, before


def is_returned(x):
    last = x[0]
    for k in range(1, len(x)):
        last = x[k]
    return last


def backwards(x):
    before, total = x[-1], 0.0
    for k in range(len(x) - 2, -1, -3):
        total += before @ x[k]
        before = x[k]
    return total, before


def windows(x):
    v = x.ravel()
    before, total = v[:4], 0.0
    for k in range(4, len(v) - 4):
        total += before @ v[k : k + 4]
        before = v[k : k + 4]
    return total, before


def written_behind_the_loop(x):
    before, total = x[0], 0.0
    for k in range(1, len(x)):
        total += before @ x[k]
        before = x[k]
    before[0] = 99.0
    return total, x


def its_array_is_written_behind_the_loop(x):
    y = x * 2
    before, total = y[0], 0.0
    for k in range(1, len(y)):
        total += before @ y[k]
        before = y[k]
    y[-1] = 0
    return total, before


def in_another_loop(x):
    before, total = x[0], 0.0
    for _ in range(len(x)):
        for k in range(20):
            total += before[0] * x[k, 1]
            before = x[k]
        total += before[1]
    return total, before


def whole_array(x):
    a, total = np.zeros(x.shape), 0.0
    for k in range(30):
        total += a[0, 0] + k
        a = x
    return total, a is x, a


class Rule:
    def __init__(self, n):
        self.error, self.x = 0, np.zeros(n)

    def step(self, error, x):
        made = 0.1 * error * (x + self.error * np.dot(x, self.x) * 0.01)
        self.error, self.x = error, x
        return made


def attribute(x):
    rule, w = Rule(x.shape[1]), np.zeros(x.shape[1])
    for k in range(len(x)):
        w = w + rule.step(1.0 - w @ x[k], x[k])
    return w, rule.x, rule.error


NATIVE = functions_of(globals(), "x")


def columns(x):
    before, total = x[:, 0], 0.0
    for k in range(1, x.shape[1]):
        total += before @ x[:, k]
        before = x[:, k]
    return total, before, before.flags.c_contiguous


def written_in_the_loop(x):
    before, total = x[0], 0.0
    for k in range(1, len(x)):
        total += before @ x[k]
        before = x[k]
        before[0] = total % 1
    return total, x


def its_array_is_written_in_the_loop(x):
    before = x[0]
    for k in range(1, len(x)):
        x[k] += 0.1 * before
        before = x[k]
    x *= 2
    return before, x


def one_array_of_two_names(x):
    a, b, total = x[0], x[0], 0.0
    for k in range(1, len(x)):
        total += a @ b
        a = b = x[k]
    return total, a is b, a


def two_steps_back(x):
    a, b, total = x[0], x[0], 0.0
    for k in range(1, len(x)):
        total += a @ x[k]
        a = b
        b = x[k]
    return total, a, b


def in_a_list(x):
    before, rows = np.zeros(x.shape[1]), []
    for k in range(len(x)):
        rows.append(x[k])
        before = x[k]
    return rows, before, rows[-1] is before


def left_early(x):
    before, total = x[0], 0.0
    for k in range(1, len(x)):
        if total > 20:
            break
        total += np.abs(before @ x[k])
        before = x[k]
    return total, before


FUNCTIONS = functions_of(globals(), "x")


def shared(result, x):
    parts = result if isinstance(result, tuple) else (result,)
    return [np.shares_memory(part, x) for part in parts if isinstance(part, np.ndarray)]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_eager(f):
    jitted = tnp.jit(f)
    for n in (40, 40, 57):
        x = np.random.default_rng(n).standard_normal((n, 4))
        mine = x.copy()
        found, expected = jitted(mine), f(x)
        assert_same(found, expected, rtol=1e-12)
        assert_same(mine, x)
        assert shared(found, mine) == shared(expected, x)


@pytest.mark.parametrize("f", NATIVE, ids=lambda f: f.__name__)
def test_one_native_loop(f):
    jitted = tnp.jit(f, strict=True)
    jitted(np.random.default_rng(0).standard_normal((57, 4)))
    assert "the whole for_loop is native" in str(tnp.explain(jitted))
