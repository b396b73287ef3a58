"""Arrays of any size that are cut, put together and written in parts are in native code."""

import contextlib

import numpy as np
import pytest

import tnp
from tests.kernel_bounds import within_bounds
from tnp.executors import llvm
from tnp.testing import assert_same


def turned(a, b):
    out = np.empty_like(a)
    out[:, :3] = a[:, 1:] * 2
    out[:, 3] = b[:, 0]
    return out


def homogeneous(a, b):
    out = np.zeros((len(a), 4, 4))
    out[:, :3, :3] = a[:, None, :3] * b[:, 1:, None]
    out[:, ::3, 3] = 1.0
    return out[..., :3, :].transpose(0, 2, 1) + out[..., 1:]


def masked(a, b):
    out = a.copy()
    positive = b[:, 0] > 0
    out[positive, :3] = b[positive, 1:] / 2
    out[~positive] *= -1.0
    return out


FUNCTIONS = {
    "columns": lambda a, b: a[:, :3] * b[:, ::-1][:, :3] + a[:, -3:],
    "steps": lambda a, b: a[:, ::2] - b[:, 3:0:-2],
    "written": turned,
    "matrices": homogeneous,
    "mask": masked,
    "cross": lambda a, b: np.cross(a[:, :3], b[:, 1:]) * 2,
    "stack": lambda a, b: np.stack([a[:, 0], b[:, 1] * 2, a[:, 2]], axis=-1),
    "columns of several": lambda a, b: np.column_stack([a[:, 0], b, np.ones(len(a))]),
    "other dtypes": lambda a, b: np.hstack([a * 2, b.astype(int)]),
    "one behind the other": lambda a, b: np.concatenate([a * 2, b + 1]) - 1,
    "ends": lambda a, b: np.concatenate([a[:1] * 2, b, a[-1:]]) + 1,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_kernel(name):
    f = FUNCTIONS[name]
    jitted = tnp.jit(f, dynamic=True)
    rng = np.random.default_rng(0)
    for n in (5, 2, 40, 1500):
        args = rng.normal(size=(2, n, 4))
        with within_bounds() if llvm.is_available() else contextlib.nullcontext():
            made = jitted(*args)
        assert_same(made, f(*args), what=f"{n} rows")
    text = str(tnp.explain(jitted))
    assert "for any a.shape[0]" in text and tnp.cache_info(jitted).misses == 1
    own = [line for line in text.splitlines() if line.strip().startswith("numpy: ") and "np.empty_like" not in line]
    assert not own or not llvm.is_available(), own


def test_lengths_that_are_remainders_of_negative_numbers():
    def f(x, k):
        first = k % len(x)
        return np.concatenate([x[first:], x[:first]]) * 2, x[: (k // 2) % len(x)] + 1

    jitted = tnp.jit(f, dynamic=True)
    for n, k in ((5, -2), (8, -3), (13, -40), (7, -5)):
        x = np.arange(float(n))
        assert_same(jitted(x, k), f(x, k))
    assert "for any" in str(tnp.explain(jitted))
