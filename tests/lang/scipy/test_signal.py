"""``scipy.signal`` in compiled functions: short convolutions are native, recursive filters and estimates are calls."""

import numpy as np
import pytest

import tnp
from tests.sampling import pairs
from tnp.testing import assert_same

signal = pytest.importorskip("scipy.signal")

RNG = np.random.default_rng(0)
X = RNG.normal(size=400)
PLANE = RNG.normal(size=(18, 20))
TAPS = RNG.normal(size=9)
PATCH = RNG.normal(size=(3, 4))
B, A = signal.butter(3, 0.2)
SOS = signal.butter(4, 0.2, output="sos")


def is_in_trace(jitted):
    explained = tnp.explain(jitted)
    return "Python runs" not in explained and "eager" not in explained


def is_native(jitted):
    explained = tnp.explain(jitted)
    return "kernel" in explained and "numpy" not in explained.split("guards")[0]


@pytest.mark.parametrize(
    ("name", "method", "mode", "dtype"),
    pairs(["convolve", "correlate"], ["auto", "direct"], ["full", "same", "valid"], ["f8", "f4", "i8", "i4"]),
)
def test_short_convolutions(name, method, mode, dtype):
    function = getattr(signal, name)
    x, k, plane, patch = ((a * 5).astype(dtype) for a in (X, TAPS, PLANE, PATCH))
    for n in (1, 2, 4, 9):
        f = lambda x, k: function(x, k[:n], mode, method) * 2  # noqa: E731
        jitted = tnp.jit(f, strict=True)
        assert_same(jitted(x, k), f(x, k), rtol=1e-12 if dtype != "f4" else 2e-5)
        assert is_native(jitted)
    for n in (1, 2, 3):
        f = lambda x, k: function(x, k[:n], mode=mode, method=method)  # noqa: E731
        jitted = tnp.jit(f, strict=True)
        assert_same(
            jitted(plane, patch),
            f(plane, patch),
            rtol=1e-12 if dtype != "f4" else 2e-5,
        )


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_long_convolutions(mode):
    def f(x, k):
        return (
            signal.convolve(x, x[::-1], mode), signal.fftconvolve(x, k, mode), signal.fftconvolve(PLANE, PATCH, mode),
            signal.correlate(x, x[:300], mode), signal.oaconvolve(x, k, mode), signal.convolve(k, x, mode),
        )  # fmt: skip

    jitted = tnp.jit(f)
    assert_same(jitted(X, TAPS), f(X, TAPS), rtol=1e-10)
    assert is_in_trace(jitted)


@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_planes(mode, boundary):
    for i, j in [(1, 1), (2, 2), (3, 4), (3, 3), (1, 4)]:

        def f(x, k):
            return (
                signal.convolve2d(x, k[:i, :j], mode, boundary, fillvalue=1),
                signal.correlate2d(x, k[:i, :j], mode=mode, boundary=boundary),
            )

        jitted = tnp.jit(f, strict=True)
        assert_same(jitted(PLANE, PATCH), f(PLANE, PATCH), rtol=1e-12)
        assert is_native(jitted)


@pytest.mark.parametrize("mode", ["interp", "mirror", "constant", "nearest", "wrap"])
@pytest.mark.parametrize("window", [1, 5, 8])
def test_savgol_filter(window, mode):
    def f(x, plane):
        order = min(3, window - 1)
        return (
            signal.savgol_filter(x, window, order, mode=mode), signal.savgol_filter(x, window, order, 1, 0.5, mode=mode),
            signal.savgol_filter(plane, window, order, axis=0, mode=mode),
        )  # fmt: skip

    jitted = tnp.jit(f)
    assert_same(jitted(X, PLANE), f(X, PLANE), rtol=1e-11)
    assert is_native(jitted) or window == 1
    g = lambda x: signal.savgol_filter(x, 5, 2, mode=mode)  # noqa: E731
    assert_same(tnp.jit(g)(X.astype("f4")), g(X.astype("f4")), rtol=1e-5)


@pytest.mark.parametrize("at", [0, 4, 5, 20, 25, 29])
def test_savgol_filter_of_numbers_that_are_not_finite(at):
    """At the edges SciPy fits polynomials, which takes finite numbers."""
    f = lambda x, mode: signal.savgol_filter(x, 5, 2, mode=mode)  # noqa: E731
    jitted = tnp.jit(f)
    for bad in (np.nan, np.inf):
        x = np.arange(30.0) ** 2
        x[at] = bad
        if 5 <= at < 25:
            assert_same(jitted(x, "interp"), f(x, "interp"), rtol=1e-12)
        else:
            with pytest.raises(ValueError, match="must not contain infs or NaNs"):
                jitted(x, "interp")
        assert np.isnan(jitted(x, "mirror")).any() or bad == np.inf


def test_trends_and_analytic_signals():
    def f(x, plane):
        return (
            signal.detrend(x), signal.detrend(plane, axis=0), signal.detrend(x, type="constant"), np.abs(signal.hilbert(x)),
            signal.hilbert(x[:399]), signal.hilbert(x, 512), signal.hilbert(plane, axis=0), signal.detrend(x, bp=[100, 200]),
        )  # fmt: skip

    jitted = tnp.jit(f)
    assert_same(jitted(X, PLANE), f(X, PLANE), rtol=1e-9)
    assert is_in_trace(jitted)


CALLS = {
    "coherence": lambda x: signal.coherence(x, x[::-1], nperseg=64)[1],
    "decimate": lambda x: signal.decimate(x, 4),
    "filtfilt": lambda x: signal.filtfilt(B, A, x),
    "lfilter": lambda x: signal.lfilter(B, A, x),
    "lfilter_zi": lambda x: signal.lfilter(B, A, x, zi=signal.lfilter_zi(B, A) * x[0])[0],
    "medfilt": lambda x: signal.medfilt(x, 5),
    "of_a_design": lambda x: signal.lfilter(*signal.butter(2, 0.3), x),
    "of_a_window": lambda x: signal.lfilter(signal.firwin(21, 0.3), 1.0, x),
    "periodogram": lambda x: signal.periodogram(x, fs=100.0)[1],
    "resample": lambda x: signal.resample(x, 100),
    "resample_poly": lambda x: signal.resample_poly(x, 3, 2),
    "sosfilt": lambda x: signal.sosfilt(SOS, x),
    "sosfilt_zi": lambda x: signal.sosfilt(SOS, x, zi=signal.sosfilt_zi(SOS) * x[0])[0],
    "sosfiltfilt": lambda x: signal.sosfiltfilt(SOS, x),
    "spectrogram": lambda x: signal.spectrogram(x, nperseg=64)[2],
    "stft": lambda x: np.abs(signal.stft(x, nperseg=64)[2]),
    "upfirdn": lambda x: signal.upfirdn(TAPS, x, 2, 3),
    "welch": lambda x: signal.welch(x, nperseg=128)[1],
    "wiener": lambda x: signal.wiener(x, 5),
    "windows": lambda x: x * signal.get_window("hann", 400) * signal.windows.kaiser(400, 5.0),
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_calls(name):
    f = lambda x: CALLS[name](np.sin(x) * 2) + 1  # noqa: E731
    jitted = tnp.jit(f)
    assert_same(jitted(X), f(X), rtol=1e-10)
    assert is_in_trace(jitted)
    assert_same(jitted(X[::2][:200].repeat(2)), f(X[::2][:200].repeat(2)), rtol=1e-10)


def test_in_loops():
    def f(x, n):
        for _ in range(n):
            x = signal.convolve(x, TAPS[:3], "same") * 0.3 + signal.lfilter(B, A, x) * 0.1
            if x[0] > 0:
                x = signal.savgol_filter(x, 5, 2)
        return x

    jitted = tnp.jit(f)
    for n in (3, 30):
        assert_same(jitted(X, n), f(X, n), rtol=1e-10)
    assert is_in_trace(jitted)


def difference_quotient(f, x):
    step = 1e-6 * np.eye(x.size).reshape(-1, *x.shape)
    return np.array([(f(x + s) - f(x - s)) / 2e-6 for s in step]).reshape(x.shape)


GRADIENTS = {
    "convolve": lambda x, k: signal.convolve(x, k, "same"),
    "correlate": lambda x, k: signal.correlate(x, k),
    "detrend": lambda x, k: signal.detrend(x) * k[0],
    "fftconvolve": lambda x, k: signal.fftconvolve(x, k, "valid"),
    "hilbert": lambda x, k: np.abs(signal.hilbert(x)) * k[1],
    "lfilter": lambda x, k: signal.lfilter(k[:2], [1.0, 0.3, -0.2], x),
    "numbers": lambda x, k: signal.lfilter([k[0], 1.0], [1.0, k[1]], x),
    "poles": lambda x, k: signal.lfilter([1.0, 0.5], k, x),
    "savgol_filter": lambda x, k: signal.savgol_filter(x, 5, 2) * k[0],
    "sosfilt": lambda x, k: signal.sosfilt(SOS, x) * k[2],
}


@pytest.mark.parametrize("name", sorted(GRADIENTS))
def test_gradients(name):
    def f(x, k):
        return (GRADIENTS[name](np.sin(x), k) ** 2).sum()

    x, k = X[:12], np.array([1.5, 0.3, -0.2])
    found = tnp.grad(f, argnums=(0, 1))(x, k)
    np.testing.assert_allclose(found[0], difference_quotient(lambda x: f(x, k), x), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found[1], difference_quotient(lambda k: f(x, k), k), rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: signal.convolve(x, PLANE),
        lambda x: signal.convolve(x, TAPS, mode="unheard"),
        lambda x: signal.savgol_filter(x, 5, 7),
        lambda x: signal.savgol_filter(x, 801, 2),
        lambda x: signal.filtfilt(B, A, x[:5]),
        lambda x: signal.sosfilt(PLANE, x),
        lambda x: signal.hilbert(x, -1),
        lambda x: signal.detrend(x, type="unheard"),
        lambda x: signal.detrend(x, axis=3),
        lambda x: signal.convolve2d(x, TAPS),
    ],
)
def test_errors_are_scipys(f):
    with pytest.raises(Exception) as expected:
        f(X)
    with pytest.raises(type(expected.value)) as found:
        tnp.jit(lambda x: f(np.sin(x)))(X)
    assert str(found.value) == str(expected.value)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_peaks_are_pythons():
    def f(x):
        y = np.sin(x) * 2 + 1
        peaks, _ = signal.find_peaks(y, height=1.5)
        return y[peaks] * 3 + np.cos(y[peaks])

    jitted = tnp.jit(f)
    assert_same(jitted(X), f(X))
    assert "find_peaks" in tnp.explain(jitted)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_short_signals(size):
    def f(x):
        return signal.convolve(x, TAPS), signal.convolve(x, TAPS, "same"), signal.lfilter(B, A, x), signal.hilbert(x)

    x = X[:size]
    jitted = tnp.jit(f)
    assert_same(jitted(x), f(x), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_no_trend_of_what_is_not_finite(dtype, bad):
    jitted = tnp.jit(lambda x: signal.detrend(x, axis=0) * 2)
    x = np.random.default_rng(0).random((20, 2)).astype(dtype)
    assert_same(jitted(x), signal.detrend(x, axis=0) * 2)
    x[3, 1] = bad
    for f in (jitted, lambda x: signal.detrend(x, axis=0)):
        with pytest.raises(ValueError, match="array must not contain infs or NaNs"):
            f(x)
    with np.errstate(invalid="ignore"):
        assert_same(tnp.jit(lambda x: signal.detrend(x, type="constant"))(x), signal.detrend(x, type="constant"))
