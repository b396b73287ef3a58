"""OpInfos: windows, convolution, polynomials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core.dtypes import bool8, complex64, complex128, float32, float64, int16, int32
from tnp.testing.arrays import variants
from tnp.testing.families.contractions import Cases, Make, errors_of, pairs, samples_of
from tnp.testing.opinfo import OpInfo, SampleInput, opinfos

DTYPES = (int16, float32, complex128)


def add(op: Any, cases: Cases, *errors: Any, dtypes: Any = DTYPES, **kwargs: Any) -> None:
    """Adds an OpInfo of this family."""
    opinfos.add(
        "signal",
        OpInfo(
            op,
            sample_input_generator=samples_of(cases),
            error_input_generator=errors_of(*errors) if errors else None,
            dtypes=dtypes,
            **kwargs,
        ),
    )


def window_cases(make: Make) -> Iterator[SampleInput]:
    for length in (-1, 0, 1, 2, 5, 8, 4.0):
        yield SampleInput(length)


def kaiser_cases(make: Make) -> Iterator[SampleInput]:
    for length in (0, 1, 2, 7):
        for beta in (0, 5.0, 14, -3.0, 300.0):
            yield SampleInput(length, beta)


for _name in ("bartlett", "blackman", "hamming", "hanning"):
    add(getattr(np, _name), window_cases, dtypes=(float64,))
add(np.kaiser, kaiser_cases, dtypes=(float64,))


# Convolution


def convolution_cases(make: Make) -> Iterator[SampleInput]:
    for mode in ("full", "same", "valid"):
        for a in variants(make(7)):
            yield SampleInput(a, make(3, seed=1), mode)
        for n, m in ((3, 3), (3, 7), (6, 2), (1, 4), (2, 5), (4, 1)):
            yield SampleInput(make(n), make(m, seed=1), mode=mode)
    yield SampleInput(make(5), make(2, seed=1))
    yield SampleInput(make(5), [1.5, 2.5])
    yield SampleInput(np.array([1.0, 2.0, 3.0]), np.array([np.inf, 1.0, np.nan]), "same")


def convolve_scalars(make: Make) -> Iterator[SampleInput]:
    yield from convolution_cases(make)
    yield SampleInput(make(5), 2)
    yield SampleInput(make(), make(3))


_VECTORS: Any = (
    ((np.zeros((2, 2)), np.zeros(2)), {}, ValueError, "object too deep"),
    ((np.zeros(0), np.zeros(2)), {}, ValueError, "cannot be empty|first array argument"),
    ((np.zeros(3), np.zeros(2), "x"), {}, ValueError, "mode"),
)
add(np.convolve, convolve_scalars, *_VECTORS, dtypes=(bool8, *DTYPES))
add(
    np.correlate,
    convolution_cases,
    *_VECTORS,
    ((np.zeros(3), 1.0), {}, ValueError, "too small depth"),
    dtypes=(bool8, *DTYPES),
)


# Polynomials


def polyval_cases(make: Make) -> Iterator[SampleInput]:
    for a in variants(make(3, 4)):
        yield SampleInput(make(3, seed=1), a)
    for x in (make(), make()[()], 2, 0.5, make(0), [1, 2], np.array([np.inf, np.nan, 1.0])):
        yield SampleInput(make(4, seed=1), x)
    yield SampleInput([1, 2, 3], make(3))
    yield SampleInput([1.5, 2.0], make(3))
    yield SampleInput(make(2, 3, seed=1), make(3))


def derivative_cases(make: Make) -> Iterator[SampleInput]:
    for a in variants(make(5)):
        yield SampleInput(a)
    yield SampleInput(make(5), 2)
    yield SampleInput(make(5), m=0)
    yield SampleInput(make(1))
    yield SampleInput([3, 2, 1])


def integral_cases(make: Make) -> Iterator[SampleInput]:
    yield from derivative_cases(make)
    yield SampleInput(make(4), 1, 3)
    yield SampleInput(make(4), 2, k=[1.5, 2])
    yield SampleInput(make(4), 2, k=make(2, seed=1))
    yield SampleInput(make(4), 3, k=2)


def fit_cases(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(np.arange(6.0), make(6), 2)


add(np.polyval, polyval_cases, rtol={float32: 1e-4})
for _name in ("polyadd", "polysub"):
    add(getattr(np, _name), pairs(((3,), (5,)), ((5,), (3,)), ((3,), (3,)), ((), (2,)), ((0,), (2,))))
add(np.polyder, derivative_cases, ((np.zeros(3), -1), {}, ValueError, "must be positive"))
add(
    np.polyint,
    integral_cases,
    ((np.zeros(3), -1), {}, ValueError, "must be positive"),
    ((np.zeros(3), 3, [1, 2]), {}, ValueError, "k must be a scalar"),
)
add(np.polyfit, fit_cases, dtypes=(float64,))


# Windows over an array


def sliding_cases(make: Make) -> Iterator[SampleInput]:
    for a in variants(make(5)):
        yield SampleInput(a, 3)
    yield SampleInput(make(4, 5), (2, 3))
    yield SampleInput(make(4, 5), 2, axis=1)
    yield SampleInput(make(4, 5), (2, 3), (1, 0))
    yield SampleInput(make(6), (2, 3), axis=(0, 0))
    yield SampleInput(make(3), 0)


add(
    np.lib.stride_tricks.sliding_window_view,
    sliding_cases,
    ((np.zeros(3), 4), {}, ValueError, "larger than input array"),
    ((np.zeros(3), -1), {}, ValueError, "negative"),
    ((np.zeros((3, 3)), 2), {}, ValueError, "must provide window_shape"),
    ((np.zeros((3, 3)), (2, 2), 0), {}, ValueError, "matching length"),
    dtypes=(int32, complex64),
)


def write_to_base(a: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(a, 2)
    a[0] = 1
    return windows


add(
    write_to_base,
    lambda make: iter([SampleInput(make(4))]),
    name="sliding_window_view_of_written",
    dtypes=(float64,),
)
