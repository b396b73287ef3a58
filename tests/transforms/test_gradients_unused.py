"""Derivatives of programs in which something grows without bound that the result does not depend on: zeros times infinity are no part of them."""

import numpy as np
import pytest

import tnp

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def beside(x):
    v = x
    for _ in range(16):
        v = v * v + 1
        x = np.tanh(x)
    return x.sum()


def in_a_while_loop(x):
    v = x
    while np.abs(x).max() > 0.3:
        v = v * v * v + 9
        x = np.tanh(x)
    return x.sum()


def in_nested_loops(x):
    v = x
    for _ in range(4):
        for _ in range(4):
            v = v * v + 1
            x = np.tanh(x)
        v = v * v
    return x.sum()


def in_memory(x):
    v = x.copy()
    for _ in range(16):
        v[:] = v * v + 1
        x = np.tanh(x)
    return x.sum()


def in_a_branch_of_a_loop(x):
    v = x
    for _ in range(16):
        if x[0] > 0:
            v = v * v + 1
            x = np.tanh(x)
        else:
            v = v * 3
            x = np.sin(x)
    return x.sum()


def in_a_loop_of_a_branch(x):
    v = x * 1
    if x[0] > 0:
        for _ in range(16):
            v = v * v + 1
        y = np.tanh(x)
    else:
        y = x * 2
    return y.sum()


def of_what_a_loop_reads(x):
    w = x * 1e200
    v = np.zeros(2)
    for _ in range(16):
        v = v + w * w * w
        x = np.tanh(x)
    return x.sum()


def of_two_that_grow(x):
    u = v = x
    for _ in range(16):
        u = u * v + 1
        v = v * v + 1
        x = np.tanh(x)
    return x.sum()


def of_a_mask(x):
    v = x * 1e200
    for _ in range(16):
        v = v * v
        x = np.where(v > 0, np.tanh(x), x)
    return x.sum()


def of_what_a_branch_reads(x):
    v = x * 1e200
    w = v * v
    if x[0] > 0:
        z = w * w
        y = x * 2
    else:
        z = w
        y = x * 3
    return y.sum() + 0 * (z > 0).sum()


def left_by_break(x):
    v = x
    s = x[0] * 0
    for _ in range(40):
        v = v * v + 1
        s = s + np.tanh(x[0])
        if s > 8:
            break
    return s


PROGRAMS = [
    beside, in_a_while_loop, in_nested_loops, in_memory, in_a_branch_of_a_loop, in_a_loop_of_a_branch, of_what_a_loop_reads, of_two_that_grow,
    of_a_mask, of_what_a_branch_reads, left_by_break,
]  # fmt: skip
AT = np.array([1.0, 0.7])


def differences(f, step=1e-6):
    """The gradient of ``f`` by central differences."""
    return np.array([(f(AT + step * d) - f(AT - step * d)) / (2 * step) for d in np.eye(2)])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_the_result_does_not_depend_on_has_no_cotangent(program):
    expected = differences(program)
    first, second = tnp.value_and_grad(lambda x: (tnp.grad(program)(x) ** 2).sum())(AT)
    np.testing.assert_allclose(first, (expected**2).sum(), rtol=1e-5)
    np.testing.assert_allclose(second, differences(lambda x: (tnp.grad(program)(x) ** 2).sum()), rtol=1e-4, atol=1e-6)
    tangents = [tnp.jvp(program, (AT,), (d,))[1] for d in np.eye(2)]
    np.testing.assert_allclose(tangents, expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(
    "program", [beside, in_nested_loops, in_a_branch_of_a_loop, of_a_mask], ids=lambda f: f.__name__
)
def test_of_all_rows_of_a_batch(program):
    batch = np.stack([AT, AT])
    expected = np.stack([differences(program)] * 2)
    np.testing.assert_allclose(tnp.vmap(tnp.grad(program))(batch), expected, rtol=1e-5)
    np.testing.assert_allclose(tnp.grad(lambda b: tnp.vmap(program)(b).sum())(batch), expected, rtol=1e-5)
