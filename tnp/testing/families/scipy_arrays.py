"""OpInfos: SciPy's filters, convolutions, special functions and statistics with definitions of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.ndimage
import scipy.signal
import scipy.special
import scipy.stats

from tnp.core.dtypes import float32, float64
from tnp.testing.arrays import variants
from tnp.testing.families.contractions import Cases, Make
from tnp.testing.families.scipy import REAL, add
from tnp.testing.opinfo import SampleInput

FLOATS = (float32, float64)


def _of_images(*args: Any, **kwargs: Any) -> Cases:
    """An image in several layouts, one with a row, and ones with other edges."""

    def cases(make: Make) -> Iterator[SampleInput]:
        for image in variants(make(5, 7)):
            yield SampleInput(image, *args, **kwargs)
        yield SampleInput(make(1, 4), *args, **kwargs)
        for mode in ("constant", "nearest", "mirror", "wrap"):
            yield SampleInput(make(6, 4), *args, **kwargs, mode=mode)

    return cases


_MODE: Any = ((np.ones((3, 3)), 1), {"mode": "unheard"}, RuntimeError, "boundary mode not supported")
_ORIGIN: Any = ((np.ones(4), [1.0, 2.0]), {"origin": 3}, ValueError, "[Ii]nvalid origin")

add(scipy.ndimage, "gaussian_filter", _of_images(1.2), _MODE, dtypes=REAL)
add(scipy.ndimage, "gaussian_filter1d", _of_images(1, axis=0), dtypes=REAL)
add(scipy.ndimage, "correlate1d", _of_images([1.0, 2.5, -1.0], 0), _ORIGIN, dtypes=REAL)
add(scipy.ndimage, "convolve1d", _of_images([1.0, 2.5]), dtypes=REAL)
add(scipy.ndimage, "correlate", _of_images(np.arange(6.0).reshape(2, 3)), dtypes=FLOATS)
add(scipy.ndimage, "convolve", _of_images(np.arange(6.0).reshape(2, 3)), dtypes=FLOATS)
for _name in ("sobel", "prewitt", "laplace"):
    add(scipy.ndimage, _name, _of_images(), dtypes=REAL)
add(scipy.ndimage, "uniform_filter", _of_images(3), dtypes=FLOATS)
for _name in ("maximum_filter", "minimum_filter"):
    add(scipy.ndimage, _name, _of_images(3), dtypes=FLOATS)


def _masses(make: Make) -> Iterator[SampleInput]:
    for image in variants(abs(make(5, 7)) + 1):
        yield SampleInput(image)
    yield SampleInput(abs(make(3, 4, 2)) + 1)
    yield SampleInput(abs(make(6)) + 1)


add(scipy.ndimage, "center_of_mass", _masses, dtypes=FLOATS)


def _at_coordinates(make: Make) -> Iterator[SampleInput]:
    at = np.array([[0.0, 0.5, 3.2, 4.0, -0.3], [1.0, 2.75, 5.9, 6.0, 7.5]])
    for image in variants(make(5, 7)):
        yield SampleInput(image, at, order=1)
    for mode in ("constant", "nearest", "mirror"):
        yield SampleInput(make(5, 7), list(at), order=1, mode=mode, cval=2.0)
    yield SampleInput(make(7), at[1:], order=1)
    yield SampleInput(make(5, 7), at)


add(scipy.ndimage, "map_coordinates", _at_coordinates, dtypes=FLOATS)


def _pairs_of(*shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> Cases:
    def cases(make: Make) -> Iterator[SampleInput]:
        for a, b in shapes:
            for mode in ("full", "same", "valid"):
                yield SampleInput(make(*a), make(*b, seed=1), mode)
        for x in variants(make(*shapes[0][0])):
            yield SampleInput(x, make(*shapes[0][1], seed=1))

    return cases


_DIMENSIONS: Any = ((np.ones(3), np.ones((2, 2))), {}, ValueError, "dimensionality")

for _name in ("convolve", "correlate"):
    add(scipy.signal, _name, _pairs_of(((9,), (4,)), ((6, 5), (2, 3)), ((5,), (1,))), _DIMENSIONS, dtypes=REAL)
add(scipy.signal, "fftconvolve", _pairs_of(((9,), (4,)), ((6, 5), (2, 3))), _DIMENSIONS, dtypes=FLOATS)
for _name in ("convolve2d", "correlate2d"):
    add(scipy.signal, _name, _pairs_of(((6, 5), (2, 3)), ((4, 4), (3, 3))), dtypes=REAL)


def _of_series(*args: Any, **kwargs: Any) -> Cases:
    def cases(make: Make) -> Iterator[SampleInput]:
        for x in variants(make(9)):
            yield SampleInput(x, *args, **kwargs)
        yield SampleInput(make(3, 9), *args, **kwargs)

    return cases


add(scipy.signal, "savgol_filter", _of_series(5, 2), dtypes=FLOATS)
add(scipy.signal, "detrend", _of_series(), dtypes=FLOATS)
add(scipy.signal, "hilbert", _of_series(), dtypes=FLOATS)


def _of_numbers(low: float, high: float) -> Cases:
    def cases(make: Make) -> Iterator[SampleInput]:
        for x in variants(make(4, 3)):
            yield SampleInput(np.abs(x) % (high - low) + low if low >= 0 else x % (high - low) + low)

    return cases


#: special functions of one argument, with intervals for it
_SPECIAL = {
    "erfcinv": (0.05, 1.95), "erfcx": (-3, 9), "gamma": (0.1, 9), "i0": (-9, 9), "i0e": (-9, 9), "i1": (-9, 9), "i1e": (-9, 9), "j0": (0, 2),
    "j1": (0.1, 3), "k0": (0.1, 9), "k0e": (0.1, 9), "k1": (0.1, 9), "k1e": (0.1, 9), "log_ndtr": (-9, 3), "ndtri": (0.02, 0.45), "rgamma": (0.1, 9),
}  # fmt: skip
for _name, _interval in _SPECIAL.items():
    add(scipy.special, _name, _of_numbers(*_interval), dtypes=FLOATS)


def _samples(make: Make) -> Iterator[SampleInput]:
    for x in variants(np.abs(make(6, 4)) + make(6, 4, seed=1) ** 2 + 1):
        yield SampleInput(x)
        yield SampleInput(x, 1)


for _name in ("skew", "kurtosis", "sem", "variation", "zscore", "gmean", "entropy"):
    add(scipy.stats, _name, _samples, dtypes=(float64,))
