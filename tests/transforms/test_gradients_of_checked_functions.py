"""Gradients of functions that raise for some arguments: they check them, in branches and in loops."""

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same


def unit(v):
    length = np.sqrt((v * v).sum())
    if length < 1e-9:
        raise ValueError(f"no direction: {length}")
    return (v / length)[0]


def checked_one_by_one(v):
    for k in v:
        if k > 5:
            raise RuntimeError("large")
    return (v**2).sum()


def checked_in_a_loop(v):
    total = 0.0
    for i in range(len(v)):
        if v[i] > 5:
            raise RuntimeError("large", i)
        total = total + v[i] * v[i]
    return total


def checked_by_a_function(v):
    def logarithms(w):
        if (w < 0).any():
            raise IndexError(f"{w[w < 0]}")
        return np.log(w).sum()

    return logarithms(v) * 2


@pytest.mark.parametrize(
    "transform", [tnp.grad, tnp.value_and_grad, tnp.jacobian, lambda f: tnp.jit(lambda v: tnp.grad(f)(v))]
)
@pytest.mark.parametrize(
    ("f", "bad"),
    [
        (unit, [0, 0, 0]),
        (checked_one_by_one, [1, 9, 2]),
        (checked_in_a_loop, [1, 9, 2]),
        (checked_by_a_function, [-1, 2, 3]),
    ],
)
def test_functions_that_check_their_arguments(f, bad, transform):
    """Where a check fails, the function's own error is raised."""
    good, bad = np.array([0.1, 0.2, 0.3]), np.array(bad, float)
    with pytest.raises((ValueError, RuntimeError, IndexError)) as eager:
        f(bad)
    plain = {unit: lambda v: v[0] / np.sqrt((v * v).sum()), checked_by_a_function: lambda v: 2 * np.log(v).sum()}
    made, expected = transform(f), transform(plain.get(f, lambda v: (v * v).sum()))(good)
    assert_same(made(good), expected)
    with pytest.raises(type(eager.value)) as raised:
        made(bad)
    assert raised.value.args == eager.value.args
    assert_same(made(good), expected)
