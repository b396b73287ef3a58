"""Magnitudes compared with numbers: by squares where only that is asked, with the outcome of roots."""

import itertools

import numpy as np
import pytest

import tnp
from tnp.executors import llvm
from tnp.executors.llvm.sqrt_elision import largest_with_root
from tnp.testing import assert_same

pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="no native code here")


def compare_all(z, w):
    return abs(z) <= 2, 5.0 > np.abs(z), np.abs(w) > 2.5, 0.75 <= np.abs(w)


def compare_hypotenuses(x, y):
    return np.hypot(x, y) < 5, np.hypot(y, x) >= 13


def magnitude_besides(z):
    size = np.abs(z)
    return size, size <= 2


def parts(dtype):
    f = np.finfo(dtype)
    special = [0.0, -0.0, 3, -4, 5, 12, 2, np.inf, -np.inf, np.nan, f.max, f.tiny, f.smallest_subnormal, 0.75, -2.5]
    pairs = np.array(list(itertools.product(special, special)), dtype)
    others = np.random.default_rng(5).uniform(-6, 6, (2000, 2)).astype(dtype)
    return np.concatenate([pairs, others]).T


def dumped(folder):
    kernels = [f.read_text() for f in folder.glob("*fusion*.ll")]
    assert kernels
    return "".join(kernels)


@pytest.fixture
def stages(monkeypatch, tmp_path):
    monkeypatch.setenv("TNP_DUMP", "ir")
    monkeypatch.setenv("TNP_DUMP_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_outcomes_are_those_of_roots(stages, dtype):
    x, y = (np.ascontiguousarray(a) for a in parts(dtype))
    z = np.empty(len(x), np.result_type(dtype, np.complex64))
    z.real, z.imag = x, y
    for f, args in ((compare_all, (z, z[::-1].copy())), (compare_hypotenuses, (x, y))):
        assert_same(tnp.jit(f, executors=["llvm[everything]"])(*args), f(*args))
    assert "sqrt" not in dumped(stages) and "hypot" not in dumped(stages)


def test_a_magnitude_that_is_seen_is_what_is_compared(stages):
    z = np.random.default_rng(6).uniform(-2, 2, (500, 2)).view(complex)[:, 0]
    size, small = tnp.jit(magnitude_besides, executors=["llvm[everything]"])(z)
    assert_same((size, small), magnitude_besides(z))
    assert_same(small, size <= 2)
    assert "hypot" in dumped(stages)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_limits_are_the_last_numbers_with_that_root(dtype):
    for root in map(dtype, [2, 0.1, 1.5, np.pi, 1e-9, 12345.678, 2 - np.finfo(dtype).eps]):
        limit = dtype(largest_with_root(root))
        assert np.sqrt(limit) <= root < np.sqrt(np.nextafter(limit, dtype(np.inf)))
