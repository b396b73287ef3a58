"""Counts, axes, orders and other parameters of SciPy's functions, of kinds that they take and of kinds that they refuse."""

import numpy as np
import pytest

from tests.lang.outcomes import with_each
from tnp.testing import assert_same

scipy = pytest.importorskip("scipy")
from scipy import fft, integrate, linalg, ndimage, signal, special, stats  # noqa: E402
from scipy.spatial import distance  # noqa: E402

X = np.array([[1.0, 2, 3, 4.5], [2, 1, 0.5, 3], [0.3, 4, 1, 1], [1, 1, 2, 7]])
POINTS = [[0.2, 0.5], [1, 1.5]]
FUNCTIONS = {
    "correlate": lambda x, n: signal.correlate(x[0], [n, 1]),
    "convolve": lambda x, n: signal.convolve(x[0], [1, n], "same"),
    "cumulative_trapezoid": lambda x, n: integrate.cumulative_trapezoid(x, dx=n),
    "factorial": lambda x, n: special.factorial(n),
    "fft": fft.fft,
    "fftfreq": lambda x, n: fft.fftfreq(n, 0.5),
    "fftfreq_d": lambda x, n: fft.fftfreq(5, n),
    "fftn": fft.fftn,
    "fftn_axes": lambda x, n: fft.fftn(x, axes=n),
    "fftshift": fft.fftshift,
    "gamma": lambda x, n: stats.gamma.pdf(x, n),
    "gaussian_filter": lambda x, n: ndimage.gaussian_filter(x, 1.0, order=n),
    "gaussian_filter1d": lambda x, n: ndimage.gaussian_filter1d(x, 1.0, axis=n),
    "irfft": fft.irfft,
    "logsumexp": lambda x, n: special.logsumexp(x, axis=n),
    "map_coordinates": lambda x, n: ndimage.map_coordinates(x, POINTS, order=n),
    "maximum_filter1d": lambda x, n: ndimage.maximum_filter1d(x, 2, axis=n),
    "minkowski": lambda x, n: distance.minkowski(x[0], x[1], n),
    "savgol_filter": lambda x, n: signal.savgol_filter(x[0], 3, n),
    "sem": lambda x, n: stats.sem(x, ddof=n),
    "softmax": lambda x, n: special.softmax(x, axis=n),
    "sobel": ndimage.sobel,
    "solve_triangular": lambda x, n: linalg.solve_triangular(x, x, trans=n),
    "t": lambda x, n: stats.t.cdf(x, n),
    "trapezoid": lambda x, n: integrate.trapezoid(x, dx=n),
    "uniform_filter1d": lambda x, n: ndimage.uniform_filter1d(x, 2, axis=n),
    "zscore": lambda x, n: stats.zscore(x, ddof=n),
}
KINDS = (
    0, 1, 2, True, 1.0, 2.5, np.nan, np.inf, 1j, None, [1], (0, 1), np.int64(2), np.uint8(1), np.float32(2), np.float16(2), np.array(1),
    np.array([1]), np.array([0, 1]), np.array([1, 2, 3, 4], np.float32), np.array([1, 2, 3, 4], np.int8), np.array([]),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # SciPy warns of invalid arguments, tnp of calls that run eagerly
@pytest.mark.parametrize("name", FUNCTIONS)
def test_kinds(name):
    with np.errstate(all="ignore"):
        for kind, expected, found in with_each(FUNCTIONS[name], X, KINDS, list(FUNCTIONS).index(name)):
            if isinstance(expected, Exception):
                assert type(found) is type(expected), f"{kind!r}: {found!r} instead of {expected!r}"
            else:
                assert_same(found, expected, what=repr(kind))
