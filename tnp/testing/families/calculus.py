"""OpInfos: calculus, rounding and clipping, parts of complex numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.testing.arrays import make_array, special_values, variants
from tnp.testing.families.reductions import method
from tnp.testing.opinfo import OpInfo, SampleInput, opinfos


def layouts(shape: Any, dtype: DType) -> Iterator[Any]:
    """An array of that shape: for float64 and complex64 in every layout, else in one."""
    a = make_array(shape, dtype=dtype)
    yield from variants(a) if dtype in (dtypes.float64, dtypes.complex64) else (a,)


def _unary_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for shape in ((), (0,), (4, 3)):
        for a in layouts(shape, dtype):
            yield SampleInput(a)
    yield SampleInput(make_array((), dtype=dtype)[()])
    if info.op is not np.sinc:  # whose values at infinity differ between sine functions only
        yield SampleInput(special_values(dtype)[:8])


# Differences


def _diff_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for shape in ((5,), (1,), (0,), (4, 3)):
        for a in layouts(shape, dtype):
            yield SampleInput(a)
        yield SampleInput(a, 2)
        yield SampleInput(a, axis=0, n=3)
    yield SampleInput(a, 1, 0, a[:2])
    yield SampleInput(a, prepend=0)
    yield SampleInput(a, axis=0, prepend=2.5, append=np.ones((1, 3), np.float32))


def _diff_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.ones(3), -1), ValueError, "order must be non-negative"
    yield SampleInput(np.array(1.0)), ValueError, "at least one dimensional"
    yield SampleInput(np.ones(3), axis=1), np.exceptions.AxisError, "out of bounds"


def _ediff1d_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for shape in ((), (0,), (5,), (2, 3)):
        for a in layouts(shape, dtype):
            yield SampleInput(a)
    yield SampleInput(a, to_begin=np.array([1, 2], dtype.name))
    yield SampleInput(a, make_array((2, 2), dtype=dtype), 1 if dtype.kind != "u" else np.uint8(1))


def _ediff1d_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.arange(3), to_end=1.5), TypeError, "to_end"


def _gradient_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    a = make_array((4, 5), dtype=dtype)
    x, y = np.array([0.0, 1.0, 3.0, 3.5]), np.array([0, 1, 2, 4, 7])
    for b in variants(a):
        yield SampleInput(b)
    for order in (1, 2):
        yield SampleInput(a[0], 0.5, edge_order=order)
        yield SampleInput(a, 2.0, y, edge_order=order)
        yield SampleInput(a, x, axis=0, edge_order=order)
        yield SampleInput(a, np.float32(2), axis=(1, 0), edge_order=order)
    yield SampleInput(a[:2, 0])
    yield SampleInput(a, axis=-1)


def _gradient_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.ones(1)), ValueError, "Shape of array too small"
    yield SampleInput(np.ones(4), 1.0, 2.0), TypeError, "invalid number of arguments"
    yield SampleInput(np.ones(4), np.ones(3)), ValueError, "must match the length"
    yield SampleInput(np.ones(4), edge_order=3), ValueError, "greater than 2"


# Integrals, interpolation


def _trapezoid_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for shape in ((5,), (1,), (0,), (4, 3)):
        for a in layouts(shape, dtype):
            yield SampleInput(a)
    yield SampleInput(a, axis=0, dx=2)
    yield SampleInput(a, np.array([0.0, 0.5, 2.0]))
    yield SampleInput(a, make_array((4, 3), dtype=dtype, seed=1), axis=0)
    yield SampleInput(a, x=[0, 1, 4, 5], axis=0)


def _interp_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    xp = np.sort(make_array((6,), dtype="float64"))
    fp = make_array((6,), dtype=dtype)
    for x in (make_array((), dtype="float64"), make_array((4, 3), dtype="float64"), np.array([], float), xp):
        yield SampleInput(x, xp, fp)
    yield SampleInput(2.5, xp, fp)
    yield SampleInput(np.array([-20.0, 1.0, np.nan, 20.0]), xp, fp, -1.0, 2.0)
    yield SampleInput(xp + 0.5, xp, fp, right=0)
    yield SampleInput(make_array((5,), dtype="float64"), xp, fp, period=7)
    yield SampleInput(make_array((5,), dtype="int64"), [-1, 0, 5], [1.0, 2.0, 3.0], period=-2.5)
    yield SampleInput(xp, xp[2:3], fp[2:3])
    yield SampleInput(np.array([-20.0, np.nan, 20.0]), xp[2:3], fp[2:3], right=2.0)
    if dtype.kind == "f":
        yield SampleInput(np.array([0.5, 1.5, 2.5]), np.arange(4.0), np.array([1, np.inf, np.inf, 2], dtype.name))


def _interp_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.ones(3), np.arange(3.0), np.arange(4.0)), ValueError, "not of the same length"
    yield SampleInput(np.ones(3), np.arange(3.0), np.arange(3.0), period=0), ValueError, "non-zero"
    yield SampleInput(np.ones(3), np.ones(0), np.ones(0)), ValueError, "empty"


def _unwrap_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for shape in ((7,), (1,), (4, 3)):
        for a in layouts(shape, dtype):
            yield SampleInput(a)
    yield SampleInput(a, axis=0, period=6)
    yield SampleInput(a, 2, 1, period=3)
    yield SampleInput(a, period=4.5)
    yield SampleInput(a, discont=4.0)


# Products


def _cross_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for left, right in (((3,), (3,)), ((4, 3), (3,)), ((2, 1, 3), (4, 3)), ((0, 3), (3,))):
        yield SampleInput(make_array(left, dtype=dtype), make_array(right, dtype=dtype, seed=1))
    a, b = make_array((3, 4), dtype=dtype), make_array((4, 3), dtype=dtype, seed=1)
    yield SampleInput(a, b, axisa=0)
    yield SampleInput(a, b, 0, 1, 0)
    yield SampleInput(a, b.T, axis=0)


def _cross_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.ones(4), np.ones(4)), ValueError, "dimension"
    yield SampleInput(np.array(1.0), np.ones(3)), ValueError, "zero dimension"


# Rounding and clipping


def _clip_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    low, high = make_array((3,), dtype=dtype, low=0, high=3), make_array((4, 1), dtype=dtype, low=3, high=6)
    for shape in ((), (0,), (4, 3)):
        for a in layouts(shape, dtype):
            yield SampleInput(a, 1, 4)
    yield SampleInput(a, low, high)
    yield SampleInput(a, None, 3)
    yield SampleInput(a, 2, None)
    yield SampleInput(a, low, None)
    yield SampleInput(a, min=2)
    yield SampleInput(a, max=high)
    yield SampleInput(a, min=low, max=3)
    if dtype.kind in "iu":
        yield SampleInput(a, -1000, 1000)
        yield SampleInput(a, 0, 1000)
    if dtype.kind not in "bc":
        yield SampleInput(a, 0.5, 2.5)
        yield SampleInput(a, np.float32(1), np.int16(3))
        yield SampleInput(special_values(dtype), 0, 2)
        yield SampleInput(a, 4, 1)
    if dtype.kind != "b":
        yield SampleInput(a, None, None)
        if isinstance(info.op, type(np.clip)):
            yield SampleInput(a, low, high, out=np.empty((4, 3), dtype.name))
    if dtype.kind == "f":
        yield SampleInput(a, np.array([np.nan, 0, 1], dtype.name), 3)


def _clip_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.ones(3), 1, max=2), (TypeError, ValueError), "a_max|forbidden"
    yield SampleInput(np.ones(3), np.ones(2), 3), ValueError, "broadcast"


def _round_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for shape in ((), (0,), (4, 3)):
        for a in layouts(shape, dtype):
            yield SampleInput(a)
    yield SampleInput(make_array((), dtype=dtype)[()])
    if dtype.kind != "b":
        for decimals in (1, 2, -1):
            yield SampleInput(a, decimals)
        yield SampleInput(a[0], decimals=-1)
        yield SampleInput(special_values(dtype)[:8], 0)


# Complex numbers


def _part_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for shape in ((), (0,), (4, 3)):
        for a in layouts(shape, dtype):
            yield SampleInput(a)


def _part_of(name: str) -> Any:
    def attribute(a: Any) -> Any:
        return getattr(a, name)

    attribute.__name__ = f"ndarray.{name}"
    return attribute


def _write_to_real(a: Any) -> Any:
    part = np.real(a)
    part[1:] = 7
    return a


_write_to_real.__name__ = "real_is_a_view"


def _write_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    yield from (SampleInput(a) for a in variants(make_array((4, 3), dtype=dtype)))


def _angle_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    yield from _unary_samples(info, device, dtype, requires_grad)
    yield SampleInput(make_array((4, 3), dtype=dtype), True)


def _i0_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    yield SampleInput(make_array((4, 3), dtype=dtype))


def _real_if_close_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    yield SampleInput(make_array((4,), dtype=dtype))


_INTEGERS = (dtypes.int16, dtypes.uint8)
_FLOATS = (dtypes.float32, dtypes.float64)
_NUMBERS = (*_INTEGERS, dtypes.float16, *_FLOATS)
_ALL = (dtypes.bool8, *_NUMBERS, dtypes.complex64)

_ROWS: tuple[tuple[Any, Any, Any, Any], ...] = (
    (np.diff, _diff_samples, _diff_errors, (dtypes.bool8, dtypes.uint8, *_FLOATS)),
    (np.ediff1d, _ediff1d_samples, _ediff1d_errors, (dtypes.uint8, *_FLOATS)),
    (np.gradient, _gradient_samples, _gradient_errors, (*_INTEGERS, *_FLOATS, dtypes.complex64)),
    (np.trapezoid, _trapezoid_samples, None, (dtypes.int16, *_FLOATS)),
    (np.interp, _interp_samples, _interp_errors, (dtypes.int16, *_FLOATS, dtypes.complex64)),
    (np.unwrap, _unwrap_samples, None, (dtypes.int16, *_FLOATS)),
    (np.cross, _cross_samples, _cross_errors, (dtypes.int16, dtypes.float64, dtypes.complex64)),
    (np.clip, _clip_samples, _clip_errors, _ALL),
    (method("clip"), _clip_samples, None, (dtypes.int16, dtypes.float32)),
    (np.round, _round_samples, None, _ALL),
    (np.around, _round_samples, None, _FLOATS),
    (method("round"), _round_samples, None, _FLOATS),
    (np.fix, _unary_samples, None, (dtypes.bool8, *_NUMBERS)),
    (np.real, _part_samples, None, (dtypes.int16, dtypes.float32, dtypes.complex64)),
    (np.imag, _part_samples, None, (dtypes.bool8, dtypes.float32, dtypes.complex64)),
    (_part_of("real"), _part_samples, None, (dtypes.float32, dtypes.complex128)),
    (_part_of("imag"), _part_samples, None, (dtypes.int16, dtypes.complex128)),
    (_write_to_real, _write_samples, None, (dtypes.float32, dtypes.complex128)),
    (np.angle, _angle_samples, None, _ALL),
    (np.sinc, _unary_samples, None, _ALL),
    (np.i0, _i0_samples, None, (dtypes.float64,)),
    (np.real_if_close, _real_if_close_samples, None, (dtypes.int16, dtypes.float32)),
)

for _op, _samples, _errors, _dtypes in _ROWS:
    opinfos.add(
        "calculus",
        OpInfo(
            _op,
            sample_input_generator=_samples,
            error_input_generator=_errors,
            dtypes=_dtypes,
            rtol={dtypes.float16: 1e-2},
        ),
    )
