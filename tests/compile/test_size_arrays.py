"""Sizes that programs compute with NumPy: ``np.array(x.shape) // 2`` and its like are part of programs for any size."""

import inspect
import math

import numpy as np
import pytest

import tnp
from tests.compile.test_symbolic_functions import MAKERS
from tnp.api import programs_of
from tnp.testing import assert_same

ONE_PROGRAM = {
    "product": lambda a: (np.zeros(np.prod(a.shape)), a.reshape(np.prod(a.shape)), np.arange(np.prod(a.shape[1:]))),
    "product as an int": lambda a: np.zeros(int(np.prod(a.shape))).reshape(a.shape),
    "mean": lambda a: (a.sum() / np.prod(a.shape), a.sum(axis=0) / np.array(a.shape)[0]),
    "shape": lambda a: (np.zeros(np.array(a.shape)), np.full(np.array(a.shape) + 1, 2.0), a.reshape(np.array(a.shape))),
    "half": lambda a: (np.zeros(np.array(a.shape) // 2), a[tuple(np.array(a.shape) // 2)], a[: np.array(a.shape)[0] // 2]),
    "sum": lambda a: (np.zeros(np.sum(a.shape)), np.zeros(np.cumsum(a.shape)[-1]), np.eye(*np.array(a.shape))),
    "largest": lambda a: (np.eye(np.min(a.shape)), np.zeros(np.max(a.shape)), np.zeros(np.maximum(a.shape, 3))),
    "joined": lambda a: (np.ones(np.append(a.shape, 2)), np.ones(np.hstack([2, a.shape])), np.ones(np.insert(a.shape, 0, 3))),
    "reversed": lambda a: (np.zeros(np.array(a.shape)[::-1]), a.T.reshape(np.flip(a.shape)), np.ones(np.roll(a.shape, 1))),
    "rounded": lambda a: (np.zeros(np.ceil(np.array(a.shape) / 2).astype(int)), np.zeros((np.array(a.shape) / 3).astype(int) + 1)),
    "stored": lambda a: np.zeros(with_another_first(np.array(a.shape))),
    "padded": lambda a: (np.pad(a, np.array(a.shape) + 1), np.pad(a, [(0, n) for n in a.shape]), np.pad(a, len(a), mode="edge")),
    "padded to a multiple": lambda x: np.pad(x, (2, int(np.ceil(len(x) / 32.0) * 32) - len(x))),
    "padded by reflection": lambda x: np.pad(x, (len(x) // 2, 1), mode="reflect"),
    "transform": lambda a: (np.fft.rfft2(a, np.array(a.shape) + 3), np.fft.fftn(a, s=np.array(a.shape) * 2, axes=(0, 1))),
    "repeated": lambda a: (np.tile(a, np.array(a.shape)), np.repeat(a, np.array(a.shape)[0], axis=0)),
    "clipped": lambda x: (x[np.clip(np.arange(-30, 30), 0, len(x) - 1)], np.arange(9).clip(-len(x), max=len(x) // 2)),
    "rolled": lambda a: np.roll(a, -(np.array(a.shape) // 2), axis=(0, 1)),
    "split": lambda x: np.split(x, np.array([len(x) // 2, len(x) - 1])),
    "grids": lambda a: (*np.mgrid[0 : np.array(a.shape)[0], 0 : np.array(a.shape)[1]], np.indices(np.array(a.shape))),
    "places": lambda a: (np.unravel_index(7, np.array(a.shape)), np.ravel_multi_index((1, 2), a.shape), np.diag(a[0], len(a))),
    "windows": lambda x: (np.hanning(np.array(x.shape)[0]), np.linspace(0, 1, np.array(x.shape)[0]), np.fft.fftfreq(np.array(x.shape)[0])),
    "conditions": lambda a: a * 2 if np.prod(a.shape) > 3 and np.all(np.array(a.shape) > 1) and np.array_equal(a.shape, a.shape) else a,
    "loop": lambda a: blocks(a),
    "kinds": lambda n: np.zeros(n) if np.isscalar(n) and not np.iterable(n) else np.zeros(tuple(n)),
    "math": lambda x: (np.zeros(math.ceil(len(x) / 3)), np.zeros(math.floor(len(x) * 0.7)), np.zeros(math.isqrt(len(x))), np.zeros(int(math.sqrt(len(x))))),
    "round": lambda x: (np.zeros(round(len(x) / 3)), np.zeros(round(len(x) / 2)), np.zeros(int(np.round(len(x) / 2))), np.zeros(int(np.rint(len(x) * 0.3)))),
    "quotients of floats": lambda x: (x[: math.ceil(len(x) / 2.5)], np.zeros(1 + int(np.floor((len(x) - 4) / 2)))),
    "gradient": lambda a: tnp.grad(lambda v: (np.pad(v, np.array(v.shape)) ** 2).sum() / np.prod(v.shape))(a),
}  # fmt: skip


def with_another_first(shape):
    shape[0] = 3
    shape[1] += 2
    return shape


def blocks(a):
    out = np.zeros(np.array(a.shape) // 2)
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = a[2 * i : 2 * i + 2, 2 * k : 2 * k + 2].mean()
    return out


@pytest.mark.parametrize("name", ONE_PROGRAM)
def test_one_program_for_all_sizes(name):
    function = ONE_PROGRAM[name]
    jitted = tnp.jit(function, dynamic=True, strict=True)
    names = inspect.signature(function).parameters
    for n in (9, 16, 13, 26):
        mine, theirs = ([MAKERS[p](np.random.default_rng(n), n) for p in names] for _ in range(2))
        assert_same(jitted(*mine), function(*theirs), what=f"size {n}")
    assert len(programs_of(jitted)) == 1


@pytest.mark.parametrize("name", ["product", "half", "padded", "transform", "rounded", "conditions"])
@pytest.mark.parametrize("executor", ["numpy", "numpy[prims]"])
def test_other_executors(name, executor):
    function = ONE_PROGRAM[name]
    jitted = tnp.jit(function, executors=[executor], dynamic=True)
    for n in (9, 16, 13):
        a = MAKERS["a"](np.random.default_rng(n), n)
        assert_same(jitted(a), function(a), what=f"size {n}")


def test_powers_of_two():
    """A power of a size's logarithm is a size."""
    function = lambda x: np.fft.rfft(x, n=2 ** math.ceil(math.log2(len(x))))  # noqa: E731
    jitted = tnp.jit(function, dynamic=True, strict=True)
    for n in (9, 10, 13, 15, 17, 30, 31, 33):
        assert_same(jitted(np.arange(float(n))), function(np.arange(float(n))), what=f"size {n}")
    assert len(programs_of(jitted)) == 1


@pytest.mark.parametrize(
    "value", [0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999999999999994, -1e-20, 3.4999999999999996, 1e300, -7.6]
)
def test_round_of_numbers(value):
    jitted = tnp.jit(lambda v, x: (round(v), x * round(v)), strict=True)
    for v in (1.25, value):
        assert_same(jitted(v, np.ones(2)), (round(v), np.ones(2) * round(v)))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_round_of_what_is_no_number(value):
    jitted = tnp.jit(lambda v: round(v))
    with pytest.raises((OverflowError, ValueError)) as eager:
        round(value)
    with pytest.raises(type(eager.value)):
        jitted(value)


def test_products_that_int64_does_not_hold():
    """NumPy's product wraps around; such sizes have no program with the product of Python's integers."""
    function = lambda x: x * 2 if np.prod(np.array(x.shape * 8) * 2**20) > 0 else x  # noqa: E731
    jitted = tnp.jit(function)
    for n in (4, 5, 8):
        x = np.ones((n, n + 1))
        assert_same(jitted(x), function(x))


def test_shapes_that_numpy_refuses():
    jitted = tnp.jit(lambda x: np.zeros(np.array(x.shape) - 6), dynamic=True)
    assert_same(jitted(np.ones((9, 8))), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        jitted(np.ones((9, 5)))
    assert_same(jitted(np.ones((6, 7))), np.zeros((0, 1)))
