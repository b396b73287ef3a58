"""OpInfos: ``numpy.fft``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core.dtypes import complex64, complex128, float16, float32, float64, int16, int64
from tnp.testing.arrays import variants
from tnp.testing.families.contractions import Cases, Make, both, errors_of, samples_of
from tnp.testing.opinfo import OpInfo, SampleInput, opinfos

REAL_DTYPES = (int16, float16, float32)
DTYPES = (*REAL_DTYPES, complex128)
RTOL = {float16: 5e-2, float32: 1e-4, complex64: 1e-4, float64: 1e-10, complex128: 1e-10}
NORMS = ("backward", "ortho", "forward")


def one_dimension(make: Make) -> Iterator[SampleInput]:
    for a in variants(make(3, 4)):
        yield SampleInput(a)
        yield SampleInput(a, axis=0)
    yield SampleInput(make(5))
    yield SampleInput(make(2, 0, 3))
    for n in (1, 3, 6, 7):
        yield SampleInput(make(2, 5), n)
        yield SampleInput(make(5, 2), n, 0)
    for norm in NORMS:
        yield SampleInput(make(6), norm=norm)
        yield SampleInput(make(2, 5), 4, -1, norm)
    yield SampleInput([1.0, 2.0, 3.0])


def two_dimensions(make: Make) -> Iterator[SampleInput]:
    for a in variants(make(3, 4)):
        yield SampleInput(a)
    for norm in NORMS:
        yield SampleInput(make(2, 3, 4), norm=norm)
    yield SampleInput(make(2, 3, 4), (4, 2))
    yield SampleInput(make(2, 3, 4), (-1, 6), (2, 0))


def all_dimensions(make: Make) -> Iterator[SampleInput]:
    for norm in NORMS:
        yield SampleInput(make(2, 3, 4), norm=norm)
    yield SampleInput(make(5))


def several_dimensions(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 4), axes=(0, 2))
    yield SampleInput(make(2, 3, 4), axes=(1,))
    yield SampleInput(make(2, 3, 4), s=(5, 2), axes=(1, -1))
    yield SampleInput(make(3, 4), axes=(1, 1))
    yield SampleInput(make(3, 4), axes=(0, 1, 0), norm="ortho")


_NO_POINTS: Any = ((np.zeros(0),), {}, ValueError, r"Invalid number of FFT data points")
_BAD_NORM = ((np.zeros(3),), {"norm": "x"}, ValueError, "Invalid norm value x")
_BAD_AXIS = ((np.zeros(3),), {"axis": 1}, IndexError, "out of (bounds|range)")
_LENGTHS = ((np.zeros((3, 3)),), {"s": (2,), "axes": (0, 1)}, ValueError, "different lengths")
_COMPLEX: Any = ((np.zeros(3, complex),), {}, TypeError, "not supported|cast")


def add(name: str, cases: Cases, dtypes: Any, *errors: Any) -> None:
    """Adds an OpInfo of this family."""
    opinfos.add(
        "fft",
        OpInfo(
            getattr(np.fft, name),
            name=f"fft.{name}",
            sample_input_generator=samples_of(cases),
            error_input_generator=errors_of(*errors) if errors else None,
            dtypes=dtypes,
            rtol=RTOL,
        ),
    )


for _name in ("fft", "ifft", "irfft", "hfft"):
    add(_name, one_dimension, DTYPES, _NO_POINTS, _BAD_NORM, _BAD_AXIS)
for _name in ("rfft", "ihfft"):
    add(_name, one_dimension, REAL_DTYPES, _NO_POINTS, _BAD_NORM, _BAD_AXIS, _COMPLEX)
for _name, _dtypes in (("fft", DTYPES), ("ifft", DTYPES), ("rfft", REAL_DTYPES), ("irfft", DTYPES)):
    add(f"{_name}2", two_dimensions, _dtypes[2:], _LENGTHS)
    add(f"{_name}n", both(all_dimensions, several_dimensions), _dtypes[2:], _LENGTHS)


def shift_cases(make: Make) -> Iterator[SampleInput]:
    for a in variants(make(3, 4)):
        yield SampleInput(a)
        yield SampleInput(a, 0)
    for axes in ((0, 2), (-1,), 1, (0, 0)):
        yield SampleInput(make(2, 3, 5), axes)
    yield SampleInput(make(1))
    yield SampleInput(make(0, 2))


for _name in ("fftshift", "ifftshift"):
    add(_name, shift_cases, (int16, complex128), ((np.zeros(3), 1), {}, IndexError, "out of (bounds|range)"))


def frequency_cases(make: Make) -> Iterator[SampleInput]:
    for n in (1, 2, 5, 8):
        yield SampleInput(n)
        yield SampleInput(n, 0.1)
    yield SampleInput(8, d=2)
    yield SampleInput(8, make()[()])


for _name in ("fftfreq", "rfftfreq"):
    add(
        _name,
        frequency_cases,
        (int64, float32),
        ((2.5,), {}, ValueError, "n should be an integer"),
        ((3, 0.0), {}, ZeroDivisionError, "division by zero"),
    )
