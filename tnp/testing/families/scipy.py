"""OpInfos: functions of SciPy with definitions of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.spatial.distance

from tnp.core.dtypes import complex64, complex128, float32, float64, int64
from tnp.testing.arrays import variants
from tnp.testing.families import fft
from tnp.testing.families.contractions import Cases, Make, errors_of, samples_of
from tnp.testing.families.linalg import hermitian, well_conditioned
from tnp.testing.opinfo import OpInfo, SampleInput, opinfos

DTYPES = (int64, float32, complex128)
REAL = (int64, float32, float64)
RTOL = {float32: 2e-3, complex64: 2e-3, float64: 1e-9, complex128: 1e-9}
LinAlgError = np.linalg.LinAlgError


def add(module: Any, name: str, cases: Cases, *errors: Any, dtypes: Any = DTYPES, **kwargs: Any) -> None:
    """Adds an OpInfo of this family."""
    opinfos.add(
        "scipy",
        OpInfo(
            getattr(module, name),
            name=f"{module.__name__}.{name}",
            sample_input_generator=samples_of(cases),
            error_input_generator=errors_of(*errors) if errors else None,
            dtypes=dtypes,
            rtol=RTOL,
            executors=("numpy", "numpy[prims]", "llvm"),
            **kwargs,
        ),
    )


# Linear algebra


def solve_cases(make: Make) -> Iterator[SampleInput]:
    a = well_conditioned(make, 3, 3)
    for x in variants(a):
        yield SampleInput(x, make(3, seed=1))
    yield SampleInput(a, make(3, 2, seed=1))
    yield SampleInput(hermitian(make, 3, 3), make(3, seed=1), assume_a="her", lower=True)
    yield SampleInput(hermitian(make, 3, 3), make(3, 2, seed=1), assume_a="pos")
    yield SampleInput(well_conditioned(make, 1, 1), make(1, seed=1))


def triangular_cases(make: Make) -> Iterator[SampleInput]:
    a = well_conditioned(make, 3, 3)
    for lower in (False, True):
        for trans in (0, 1, 2):
            yield SampleInput(a, make(3, 2, seed=1), trans, lower)
    yield SampleInput(a, make(3, seed=1), unit_diagonal=True)


def regular_cases(make: Make) -> Iterator[SampleInput]:
    for a in variants(well_conditioned(make, 3, 3)):
        yield SampleInput(a)
    yield SampleInput(well_conditioned(make, 1, 1))


def hermitian_cases(make: Make) -> Iterator[SampleInput]:
    for a in variants(hermitian(make, 3, 3)):
        yield SampleInput(a, lower=True)
        yield SampleInput(a, lower=False)


def vector_cases(make: Make) -> Iterator[SampleInput]:
    for a in variants(make(4)):
        yield SampleInput(a)
    yield SampleInput(make(1))


_NOT_SQUARE: Any = ((np.zeros((2, 3)),), {}, ValueError, "square")
_SINGULAR: Any = ((np.zeros((2, 2)),), {}, LinAlgError, "singular|Singular")
_NOT_FINITE: Any = ((np.full((2, 2), np.nan),), {}, ValueError, "infs or NaNs")

add(
    scipy.linalg, "solve", solve_cases,
    ((np.zeros((2, 2)), np.zeros(2)), {}, LinAlgError, "singular"),
    ((np.eye(2), np.zeros(3)), {}, ValueError, "incompatible"),
    ((np.eye(2), np.full(2, np.inf)), {}, ValueError, "infs or NaNs"),
)  # fmt: skip
add(scipy.linalg, "solve_triangular", triangular_cases, ((np.eye(2), np.zeros(3)), {}, ValueError, ""))
add(scipy.linalg, "inv", regular_cases, _NOT_SQUARE, _SINGULAR, _NOT_FINITE)
add(scipy.linalg, "det", regular_cases, _NOT_SQUARE, _NOT_FINITE)
add(scipy.linalg, "expm", lambda make: iter([SampleInput(make(3, 3) / 9), SampleInput(make(2, 2) / 9)]))
add(scipy.linalg, "cholesky", hermitian_cases, ((-np.eye(2),), {}, LinAlgError, "positive definite"))
add(scipy.linalg, "eigvalsh", hermitian_cases, _NOT_SQUARE, _NOT_FINITE)
add(scipy.linalg, "svdvals", regular_cases, _NOT_FINITE)
add(scipy.linalg, "pinv", lambda make: iter([SampleInput(well_conditioned(make, 3, 3)[:, :2])]), _NOT_FINITE)
add(scipy.linalg, "toeplitz", vector_cases)
add(scipy.linalg, "hankel", vector_cases)
add(scipy.linalg, "circulant", vector_cases)
add(
    scipy.linalg, "block_diag",
    lambda make: iter([SampleInput(make(2, 3), make(3, seed=1), make(1, 2)), SampleInput(make(2, 2), 3)]),
)  # fmt: skip


# Fourier transforms

for _name in ("fft", "ifft", "irfft", "hfft"):
    add(scipy.fft, _name, fft.one_dimension, ((np.zeros(0),), {}, ValueError, "[Ii]nvalid number"))
for _name in ("rfft", "ihfft"):
    add(scipy.fft, _name, fft.one_dimension, ((np.zeros(3, complex),), {}, TypeError, ""), dtypes=REAL)
for _name in ("fftn", "ifftn"):
    add(scipy.fft, _name, fft.all_dimensions)
for _name in ("fftshift", "ifftshift"):
    add(scipy.fft, _name, fft.shift_cases)


# Integrals of samples


def integral_cases(make: Make) -> Iterator[SampleInput]:
    for a in variants(make(3, 5)):
        yield SampleInput(a)
        yield SampleInput(a, axis=0)
    yield SampleInput(make(9), dx=0.5)


def sampled_cases(make: Make) -> Iterator[SampleInput]:
    yield from integral_cases(make)
    yield SampleInput(make(3, 4), x=np.cumsum(np.arange(1.0, 5.0)))
    yield SampleInput(make(4, 6), x=np.cumsum(np.arange(1.0, 25.0)).reshape(4, 6))
    yield SampleInput(make(2), x=np.array([0.0, 3.0]))


_LENGTHS: Any = ((np.zeros(4),), {"x": np.zeros(3)}, ValueError, "")

add(scipy.integrate, "trapezoid", sampled_cases)
add(scipy.integrate, "cumulative_trapezoid", sampled_cases, _LENGTHS)
add(scipy.integrate, "simpson", sampled_cases, _LENGTHS)
add(scipy.integrate, "romb", integral_cases, ((np.zeros(4),), {}, ValueError, "power of 2"))


# Distances


def distance_cases(make: Make) -> Iterator[SampleInput]:
    for a in variants(make(4, 3)):
        yield SampleInput(a, make(5, 3, seed=1))
    for metric in ("sqeuclidean", "cityblock", "chebyshev", "minkowski"):
        yield SampleInput(make(4, 3), make(5, 3, seed=1), metric)
    yield SampleInput(make(4, 2), make(1, 2, seed=1), "minkowski", p=3)


def pair_cases(make: Make) -> Iterator[SampleInput]:
    for sample in distance_cases(make):
        yield SampleInput(sample.args[0], *sample.args[2:], **sample.kwargs)


add(scipy.spatial.distance, "cdist", distance_cases, ((np.eye(2), np.eye(3)), {}, ValueError, ""), dtypes=REAL)
add(scipy.spatial.distance, "pdist", pair_cases, dtypes=REAL)
