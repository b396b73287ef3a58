"""What random differentiable programs (``tests/fuzzing/run.py --gradients``) found: derivatives against finite differences."""

import numpy as np
import pytest

import tnp
from tnp.compile.driver import backend_of
from tnp.core import dtypes, languages, prims
from tnp.core.devices import cpu
from tnp.core.trace import Trace, tracing
from tnp.executors import registry
from tnp.lang import numpy as lnp
from tnp.testing import assert_same
from tnp.testing.gradients import check_gradients
from tnp.transforms.autodiff.replay import rolled
from tnp.transforms.pipeline import compile_trace

X = np.array([0.9, -0.5, 1.2, 0.3])


# Memory that the program writes to


def writes_before_it_may_raise(x, y):
    np.multiply(y, x, out=y)
    y[y > 0.3] += 1
    return np.sum(y)


def writes_in_branches(x, y):
    for _ in range(2):
        if x[3] > 9:
            pass
        else:
            y[0] += 0.1 * x[0]
            x[0], x[1] = x[2] * y[0], 0
    return np.sum(x)


def writes_twice_before_a_loop(x, y):
    np.add.at(y, 0, 0.4)
    np.multiply(y, x, out=y)
    for _ in range(10):
        y * y  # what is read in a loop is stored before
    return np.sum(y)


@pytest.mark.parametrize("f", (writes_before_it_may_raise, writes_in_branches, writes_twice_before_a_loop))
@pytest.mark.parametrize("executors", (None, ["numpy"]))
def test_what_a_gradient_reads_is_not_yet_overwritten(f, executors):
    def inner(x, y, weight):
        return (tnp.grad(f)(x, y) * weight).sum()

    weight = np.array([1.3, 0.7, -0.2, 0.5])
    jitted = tnp.jit(inner, executors=executors)
    expected = np.sum(weight * [_slope(lambda x: f(x, X[::-1].copy()), X, d) for d in np.eye(4)])
    y = X[::-1].copy()
    np.testing.assert_allclose(jitted(X.copy(), y, weight), expected, rtol=1e-6)
    left = X[::-1].copy()
    f(X.copy(), left)
    np.testing.assert_allclose(y, left)


def _slope(f, x, direction, step=1e-6):
    return (f(x + step * direction) - f(x - step * direction)) / (2 * step)


def test_an_empty_broadcast_array_is_not_written_to():
    """NumPy refuses that; a loop's carried array is memory."""
    with tracing(Trace()) as trace, languages.language_context(lnp.language):
        one = prims.full((), 1.0, device=cpu, dtype=dtypes.float64)
        empty = prims.broadcast_in_dim(one, (0,), [])
        (result,) = rolled(0, 12, 1, [empty], lambda i, v: [prims.mul(v, v)])
        trace.output = result
        prims.python_return(result)
    program = compile_trace(trace, backend_of(registry.get_always_executors()))[-1].python_callable()
    assert_same(program(), np.ones(0))


@pytest.mark.parametrize("executors", (None, ["numpy"], ["numpy[prims]"]))
def test_a_scalar_is_no_place_to_compute_into(executors):
    def f(x, a):
        y = x * 2
        z = y[0] + 1
        y[0, None] = np.add(y[0, None], a)
        return y, z

    assert_same(tnp.jit(f, executors=executors)(X, X[:1]), f(X, X[:1]))
    found = tnp.jit(tnp.grad(lambda x: np.sum(x[0, None]) + np.sum(x * x)), executors=executors)(X)
    np.testing.assert_allclose(found, 2 * X + [1, 0, 0, 0])


# Lengths that are known only when the program runs


def keeps_its_length(x):
    y = x[x > 0]
    for _ in range(12):
        y = np.sin(y) * x[1]
    return np.sum(y)


def keeps_its_length_while(x):
    y = x[x > 0]
    while y.sum() > 1:
        y = y * np.cos(x[0] * y) / len(y) * 2
    return np.sum(y)


def drops_its_first_shape(x):
    y = x
    for _ in range(12):
        y = np.abs(x[:1])
    return np.sum(y) * x[0]


@pytest.mark.parametrize("f", (keeps_its_length, keeps_its_length_while, drops_its_first_shape))
def test_a_loop_that_keeps_a_length_has_a_gradient(f):
    check_gradients(f, [X])


def swaps(x):
    y, z = x[x > 0], x[x < 1]
    for _ in range(12):
        y, z = z * 1.1, y
    return np.sum(y)


def selects(x):
    y = x
    for _ in range(12):
        y = y[y > 0] * y.mean()
    return np.sum(y)


@pytest.mark.parametrize("f", (swaps, selects))
def test_a_loop_that_changes_a_length_has_none(f):
    with pytest.raises(tnp.GradientError, match="replaces an array by others of unknown shapes"):
        tnp.grad(f)(X)


def test_a_loop_reads_the_length_of_what_it_replaces():
    def f(x, a):
        for _ in range(13):
            x = (a * x.mean())[1]
        return x

    assert_same(tnp.jit(f)(X[:3], np.ones((4, 2))), f(X[:3], np.ones((4, 2))))


def test_a_batch_of_what_a_loop_replaces_by_another_shape():
    found = tnp.vmap(tnp.grad(drops_its_first_shape))(np.stack([X, 2 * X]))
    np.testing.assert_allclose(found, np.stack([tnp.grad(drops_its_first_shape)(X * k) for k in (1, 2)]))


# Zeros times infinity


def spread_of_one(x):
    return np.std(x[:1]) + np.std(x, axis=0) + np.std(x[x > 1.1]) + np.std(np.zeros(2) + x.sum())


def an_empty_part_of_what_overflows(x):
    v = x * 1e200
    for _ in range(12):
        v = v * v
    return np.sum(v[2:2]) + np.sum(x * x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", (spread_of_one, an_empty_part_of_what_overflows))
def test_what_a_result_does_not_depend_on_has_no_infinite_cotangent(f):
    np.testing.assert_allclose(tnp.grad(f)(X), [_slope(f, X, d) for d in np.eye(4)], rtol=1e-5, atol=1e-8)


# What else they were wrong on


def stores_a_number_in_a_branch(x):
    y, number = x[1:] * 1, x.sum().item()
    if y.sum() > 0:
        y[0] = number
    return np.sum(y * y)


def singular(x):
    return np.linalg.det(np.outer(x[:3], x[1:]) + 1) + np.linalg.det(np.outer(x[:2], x[2:]))


@pytest.mark.parametrize("f", (stores_a_number_in_a_branch, singular))
def test_against_differences(f):
    check_gradients(f, [X])


def test_a_gradient_that_a_loop_leaves_as_it_is_may_be_a_scalar():
    def f(x, p):
        part = x[6:]
        for _ in range(14):
            part[...] = np.where(part, part, p)
        return np.sum(x * x)

    x, p = np.arange(1.0, 11).reshape(2, 5), np.array([0.5, 0.6])
    for found, expected in zip(tnp.vmap(tnp.grad(f, (0, 1)))(x, p), (2 * x, np.zeros(2))):
        np.testing.assert_array_equal(found, expected)
