"""Loops whose iterations leave two variables bound to one array: ``before = now``."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import functions_of
from tnp.testing import assert_same


def fixed_point(x):
    y = z = x
    for _ in range(40):
        y = np.cos(z) * 0.5 + 0.1
        if np.abs(y - z).max() < 1e-3:
            break
        z = y
    return y


def both_are_returned(x):
    y = z = x
    for _ in range(40):
        y = np.cos(z) * 0.5 + 0.1
        if np.abs(y - z).max() < 1e-9:
            break
        z = y
    return y, z, y is z


def riccati(x):
    a, b = np.eye(2) * 0.5 + x[0] % 1, np.ones((2, 1))
    p = now = np.eye(2)
    for _ in range(150):
        now = a.T @ p @ a - a.T @ p @ b @ np.linalg.inv(np.eye(1) + b.T @ p @ b) @ b.T @ p @ a + np.eye(2)
        if abs(now - p).max() < 0.01:
            break
        p = now
    return now


def until_it_rests(x):
    before, now = x.copy(), x.copy()
    while True:
        now = before * 0.5
        if np.abs(now - before).sum() < 1e-3:
            break
        before = now
    return before, now


def three_names(x):
    y = z = w = x * 1
    for i in range(12):
        w = z * 0.5 + y
        y = w * 2
        z = w
        if w[0] > i:
            y = z
    return y, z, w


def best_so_far(x):
    best = None
    now = x[:2]
    for i in range(len(x) - 2):
        now = x[i : i + 2] * 2
        if best is None or now.sum() > best.sum():
            best = now
    return best, now, best is now


def in_a_list(x):
    out = []
    y = z = x
    for _ in range(12):
        y = z * 0.5
        out.append(y)
        z = y
    return out, y, z, out[-1] is z


def written_behind(x):
    y = z = x * 1
    for _ in range(12):
        y = np.cos(z) * 0.5
        z = y
    z[0] = 5
    return y, z


def written_inside(x):
    y = z = x * 1
    for _ in range(12):
        y = y * 0.5 + z
        z = y
        z[0] += 1
    return y, z


def written_before_it_is_bound(x):
    y = z = x * 1
    for i in range(12):
        y[1] += i
        y = z * 0.5 + y
        z = y
    return y, z


def maybe_no_iterations(x):
    y = z = x
    for _ in range(int(x[0] * 0)):
        y = z + 1
        z = y
    y[0] = 9
    return y, z, y is z


def whole_iterations(x):
    p = x * 1
    q = p * 2
    for _ in range(len(x)):
        q = p + 1
        p = q
    return p, q, p is q


def two_at_once(x):
    for _ in range(len(x)):
        p = q = np.nonzero(x)[0]
    return p, q


def left_early(x):
    p = x * 1
    q = p * 2
    for i in range(len(x)):
        q = p + 1
        if i > 3 and q[0] > 20:
            break
        p = q
    return p, q


def until_large(x):
    p = q = x * 1
    while p.sum() < 2000:
        q = p + 1
        p = q
    return p, q[1:]


def exchanged(x):
    y, count = x, 0
    while True:
        count += 1
        if count > 3 or (x > 50 + count).all():
            break
        x, y = y, x
    return x


FUNCTIONS = functions_of(globals(), "x")


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_as_eager(f):
    jitted = tnp.jit(f)
    for n in (9, 12, 20):
        for scale in (1.0, 100.0):
            x = np.random.default_rng(n).random(n) * scale
            mine = x.copy()
            found, expected = jitted(mine), f(x)
            assert_same(found, expected, rtol=1e-12)
            assert_same(mine, x)
            assert (found is mine) == (expected is x)
            if isinstance(expected, tuple) and isinstance(expected[0], np.ndarray):
                assert (found[0] is found[1]) == (expected[0] is expected[1])
                assert np.shares_memory(*found[:2]) == np.shares_memory(*expected[:2])


@pytest.mark.parametrize("f", [fixed_point, riccati, whole_iterations, two_at_once])
def test_one_program_for_any_number_of_iterations(f):
    jitted = tnp.jit(f)
    for n in (9, 12, 20, 30):
        x = np.random.default_rng(n).random(n) * n
        assert_same(jitted(x.copy()), f(x), rtol=1e-12)
    text = str(tnp.explain(jitted))
    assert "for the value" not in text and "Python runs" not in text
