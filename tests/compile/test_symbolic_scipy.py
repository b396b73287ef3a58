"""Calls of SciPy's functions in programs for any size: dry runs of several sizes tell the sizes of results."""

import numpy as np
import pytest

import tnp
from tnp.api import programs_of
from tnp.executors import llvm
from tnp.testing import assert_same

pytest.importorskip("scipy")
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.stats

signal = scipy.signal
ONE_PROGRAM = {
    "lfilter": lambda x: signal.lfilter([1.0, 0.5], [1.0, 0.2], x) * 2,
    "filtfilt": lambda x: signal.filtfilt([1.0, 0.5], [1.0, 0.2], x),
    "sosfilt": lambda x: signal.sosfilt(np.array([[1.0, 0.2, 0.1, 1.0, 0.3, 0.2]]), x),
    "medfilt": lambda x: signal.medfilt(x, 3),
    "upfirdn": lambda x: signal.upfirdn([1.0, 2.0], x, 2),
    "resample to some": lambda x: signal.resample(x, 40),
    "two arrays": lambda x: signal.oaconvolve(x, x[: len(x) // 2]),
    "toeplitz": lambda x: scipy.linalg.toeplitz(x[:5], x),
    "a matrix": lambda x: scipy.linalg.lu(x[:, None] + np.eye(len(x), 3)),
    "a square": lambda x: scipy.linalg.polar(np.eye(len(x)) + x),
    "dct": lambda x: scipy.fft.dct(x),
    "rankdata": lambda x: scipy.stats.rankdata(x),
    "median filter": lambda x: scipy.ndimage.median_filter(x, 5),
    "convolve": lambda x: signal.convolve(x, np.array([1.0, 2.0, 0.5])),
    "the same size": lambda x: signal.convolve(x, np.array([1.0, 2.0, 0.5, 3.0]), mode="same") + 1,
    "correlate": lambda x: signal.correlate(x, np.array([1.0, 2.0, 0.5]), mode="valid"),
    "a plane": lambda x: signal.convolve(x[:, None] * np.ones(4), np.ones((2, 3))),
    "least squares": lambda x: np.linalg.lstsq(x[:, None] ** np.arange(3), x, rcond=None)[0],
    "factors": lambda x: np.linalg.qr(x[:, None] ** np.arange(3))[1],
    "at least 16": lambda x: signal.welch(x, nperseg=16),
}
NATIVE = {
    "gaussian": lambda x: scipy.ndimage.gaussian_filter(x[:, None] * np.arange(9.0), 1.5) * 2,
    "mean": lambda x: scipy.ndimage.uniform_filter(x, 5) + 1,
    "sobel": lambda x: scipy.ndimage.sobel(x[:, None] * np.arange(9.0)),
    "largest": lambda x: scipy.ndimage.maximum_filter(x, 3) - scipy.ndimage.minimum_filter(x, 3),
    "ndimage.convolve": lambda x: scipy.ndimage.convolve(x[:, None] * np.arange(9.0), np.ones((3, 3)) / 9),
    "wrapped": lambda x: scipy.ndimage.correlate1d(x, [1.0, 2.0, 0.5], mode="wrap"),
    "convolve2d": lambda x: signal.convolve2d(x[:, None] * np.arange(9.0), np.ones((3, 3)), mode="same"),
    "savgol": lambda x: signal.savgol_filter(x, 7, 2),
    "moments": lambda x: (scipy.stats.skew(x), scipy.stats.kurtosis(x), scipy.stats.zscore(x), scipy.stats.sem(x)),
    "gmean": lambda x: (scipy.stats.gmean(abs(x) + 1, weights=x * x + 0.1), scipy.stats.entropy(abs(x), x * x)),
    "detrend": lambda x: signal.detrend(x) * 2,
    "integrals": lambda x: scipy.integrate.cumulative_trapezoid(x, initial=0) + 1,
}
PROGRAM_A_SIZE = {
    "a half": lambda x: signal.decimate(x, 2),
    "blocks": lambda x: signal.stft(x, nperseg=16)[2],
}


def _argument(n):
    return np.random.default_rng(n).standard_normal(n)


@pytest.mark.parametrize(
    ("programs", "function"),
    [pytest.param(n, f, id=name) for n, table in ((2, ONE_PROGRAM), (4, PROGRAM_A_SIZE)) for name, f in table.items()],
)
def test_programs_for_all_sizes(programs, function, monkeypatch):
    monkeypatch.setattr(
        "tnp.compile.any_size.COMPILING", 1e9
    )  # a size whose calls take long gets no program of its own
    jitted = tnp.jit(function, strict=True)
    for n in (160, 161, 190, 133):
        x = _argument(n)
        assert_same(jitted(x), function(x), what=f"of {n} elements")
    assert len(programs_of(jitted)) == programs


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")  # of filters of nothing
@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in ONE_PROGRAM.items()])
def test_few_elements(function):
    jitted = tnp.jit(function)
    for n in (160, 161, 17, 15, 5, 3, 2, 1, 0):
        x = _argument(n)
        try:
            expected = function(x)
        except Exception as error:
            with pytest.raises(type(error)):
                jitted(x)
        else:
            assert_same(jitted(x), expected, what=f"of {n} elements")


def test_a_gradient_for_any_size():
    def loss(x):
        return (signal.lfilter([1.0, 0.5], [1.0, -0.2], x) ** 2).sum()

    slope = tnp.grad(loss)
    for n in (30, 31, 50):
        x = _argument(n)
        y = signal.lfilter([1.0, 0.5], [1.0, -0.2], x)
        assert_same(slope(x), 2 * signal.lfilter([1.0, 0.5], [1.0, -0.2], y[::-1])[::-1])


def test_a_gradient_of_a_convolution():
    kernel = np.array([1.0, 2.0, 0.5])
    slope = tnp.grad(lambda x: (signal.convolve(x, kernel) ** 2).sum())
    for n in (150, 160, 170):
        x = _argument(n)
        assert_same(slope(x), 2 * np.correlate(np.convolve(x, kernel), kernel, "valid"))


def test_two_sizes_that_vary_apart():
    f = tnp.jit(lambda x, y: signal.upfirdn(x, y), strict=True)
    for n, m in ((10, 60), (11, 61), (20, 30), (5, 200)):
        assert_same(f(_argument(n), _argument(m)), signal.upfirdn(_argument(n), _argument(m)))
    assert len(programs_of(f)) == 2


# The test is about native code alone: without a target for the machine, NumPy runs each operation.
@pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this machine")
@pytest.mark.parametrize("function", NATIVE.values(), ids=NATIVE)
def test_filters_of_any_size_are_native(function):
    jitted = tnp.jit(function, dynamic=True, strict=True)
    for n in (160, 161, 33):
        x = _argument(n)
        assert_same(jitted(x), function(x), what=f"of {n} elements", rtol=1e-12)
    assert len(programs_of(jitted)) == 1
    text = str(tnp.explain(jitted))
    assert "executors: llvm 1\n" in text, text
