"""OpInfos: statistics, and the reductions that skip NaN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.testing.arrays import make_array, special_values, variants
from tnp.testing.families.reductions import reduction_samples
from tnp.testing.opinfo import OpInfo, SampleInput, opinfos

_FLOATS = (dtypes.float16, dtypes.float32, dtypes.float64)
_FLOAT16 = {dtypes.float16: 2e-2}


def with_nans(a: Any, every: int = 3) -> Any:
    """``a`` with a NaN at each ``every``-th place, where its dtype has one."""
    a = np.array(a)
    if a.dtype.kind in "fc":
        a.ravel()[::every] = np.nan
    return a


# Reductions that pass over NaN


def nan_samples(**options: Any) -> Callable[..., Iterator[SampleInput]]:
    """The samples of a reduction, and arrays with some NaNs and with lines of nothing else."""
    plain = reduction_samples(**options)

    def samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
        for sample in plain(info, device, dtype, requires_grad):
            a = sample.args[0]
            if isinstance(a, np.ndarray) and a.ndim:
                yield SampleInput(with_nans(a), *sample.args[1:], **sample.kwargs)
        if dtype.kind in "fc" and "arg" not in info.name:
            a = make_array((4, 3), dtype=dtype)
            a[:, 1] = np.nan
            yield SampleInput(a, 0)
            yield SampleInput(a[:, 1])

    return samples


def _nan_arg_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for shape, axis in (((5,), None), ((5,), 0), ((4, 3), 1), ((4, 3), None)):
        a = make_array(shape, dtype=dtype)
        yield SampleInput(with_nans(a), axis)
        yield SampleInput(with_nans(a), axis, keepdims=True)


def _nan_arg_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.array([[1.0, 2.0], [np.nan, np.nan]]), 1), ValueError, "All-NaN slice encountered"


def _nan_cumulative_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for shape, axis in (((5,), None), ((4, 3), 1), ((4, 3), None), ((0,), 0)):
        yield SampleInput(with_nans(make_array(shape, dtype=dtype, low=-2, high=2)), axis)
    yield SampleInput(with_nans(make_array((4, 3), dtype=dtype, low=-2, high=2)), 0, dtype="complex128")


def _nan_to_num_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    values = special_values(dtype)
    yield SampleInput(values)
    yield SampleInput(values[-1])
    yield SampleInput(values.reshape(2, -1)[:, ::-1], nan=7, posinf=8.0, neginf=-9)
    yield SampleInput(make_array((2, 0), dtype=dtype))


_NAN_DTYPES = (dtypes.int8, dtypes.float64, dtypes.complex64)


def _wrong_dtype(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.ones(3), dtype=int), TypeError, "dtype must be inexact"
    yield SampleInput(np.ones(3), 1), np.exceptions.AxisError, "out of bounds"


def _nan_infos() -> Iterator[OpInfo]:
    def info(op: Any, samples: Any, errors: Any = None, taken: Any = _NAN_DTYPES) -> OpInfo:
        return OpInfo(
            op, sample_input_generator=samples, error_input_generator=errors, dtypes=taken, rtol=_FLOAT16
        )  # fmt: skip

    op: Any
    for op in (np.nansum, np.nanprod):
        yield info(op, nan_samples(initial=2, dtype=("complex128",)))
    for op in (np.nanmax, np.nanmin):
        yield info(op, nan_samples(empty=False, initial=1))
    for op in (np.nanargmax, np.nanargmin):
        yield info(op, _nan_arg_samples, _nan_arg_errors)
    for op in (np.nancumsum, np.nancumprod):
        yield info(op, _nan_cumulative_samples)
    yield info(np.nanmean, nan_samples(dtype=("float64",)), _wrong_dtype, (*_NAN_DTYPES, dtypes.float16))
    for op in (np.nanvar, np.nanstd):
        yield info(op, nan_samples(ddof=(1, 2.5), correction=(1,)), _wrong_dtype)
    yield info(np.nan_to_num, _nan_to_num_samples, None, (*_NAN_DTYPES, dtypes.float16))


# Averages and order statistics


def _average_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    a = make_array((4, 3), dtype=dtype)
    weights = make_array((3,), dtype=dtypes.float32, low=1, high=5)
    for b in variants(a) if dtype is dtypes.float64 else (a,):
        yield SampleInput(b, weights=np.abs(b) + 1)
        yield SampleInput(b, 1, weights)
    yield SampleInput(a)
    yield SampleInput(a, axis=0, returned=True)
    yield SampleInput(a, returned=True)
    yield SampleInput(a, -1, weights, returned=True)
    yield SampleInput(a, (0, 1), np.arange(1, 13).reshape(4, 3), True, keepdims=True)
    b = make_array((2, 3, 4), dtype=dtype)
    yield SampleInput(b, axis=(2, 0), weights=np.arange(1, 9).reshape(4, 2))
    yield SampleInput(a, 0, [1, 2, 3, 4], keepdims=True)


def _average_errors(info: OpInfo, device: str) -> Iterator[Any]:
    a = np.ones((2, 3))
    yield SampleInput(a, weights=np.ones(3)), TypeError, "Axis must be specified"
    yield SampleInput(a, 0, np.ones(3)), ValueError, "Shape of weights"
    yield SampleInput(a, 1, np.array([1.0, -1.0, 0.0])), ZeroDivisionError, "Weights sum to zero"


_SHAPES_AND_AXES = (((), None), ((1,), 0), ((7,), -1), ((4, 3), 0), ((4, 3), None), ((2, 3, 4), (0, 2)))


def _shapes_and_axes(dtype: DType) -> Any:
    """All of them for float64, two for any other dtype."""
    return _SHAPES_AND_AXES if dtype is dtypes.float64 else _SHAPES_AND_AXES[2:4]


def _median_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for shape, axis in _shapes_and_axes(dtype):
        a = make_array(shape, dtype=dtype)
        for b in variants(a) if dtype is dtypes.float64 else (a,):
            yield SampleInput(b, axis)
        yield SampleInput(a, axis=axis, keepdims=True)
        if shape:
            yield SampleInput(with_nans(a), axis=axis)
    yield SampleInput(make_array((0, 3), dtype=dtype), axis=0)
    yield SampleInput(make_array((0,), dtype=dtype))
    if dtype.kind == "f":
        yield SampleInput(special_values(dtype)[:8])
        yield SampleInput(np.full((2, 3), np.nan, dtype.name), 1)


_METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
)  # fmt: skip


def _quantile_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    scale = 100 if "percentile" in info.name else 1
    for shape, axis in _shapes_and_axes(dtype):
        a = make_array(shape, dtype=dtype)
        yield SampleInput(a, 0.3 * scale, axis)
        yield SampleInput(a, 0.3 * scale, axis=axis, keepdims=True)
        yield SampleInput(a, [0.0, 0.25 * scale, 0.9 * scale], axis=axis, keepdims=True)
        if shape:
            yield SampleInput(with_nans(a), 0.6 * scale, axis=axis)
    a = make_array((5, 4), dtype=dtype)
    for b in variants(a) if dtype is dtypes.float64 else (a,):
        yield SampleInput(b, 1 * scale, axis=0)
    yield SampleInput(a, [[0, 1 * scale], [1 * scale, 0]], 0)
    yield SampleInput(a, np.array([0.2, 0.7]) * scale, axis=1)
    for method in _METHODS:
        if dtype is dtypes.float64:
            yield SampleInput(a, [x * scale for x in (0.0, 0.2, 0.375, 0.5, 1.0)], axis=0, method=method)
        elif dtype is dtypes.int8:
            yield SampleInput(a, 0.4 * scale, method=method)
    if dtype.kind == "f":
        yield SampleInput(np.array([1.0, np.inf, np.inf, -np.inf], dtype.name), [0.3 * scale, 0.6 * scale])
        yield SampleInput(np.full((2, 3), np.nan, dtype.name), 0.5, 1)
    if dtype is dtypes.float64:
        weights = make_array((5,), dtype=dtype, low=1, high=4)
        yield SampleInput(make_array((5,), dtype=dtype), 0.5 * scale, weights=weights, method="inverted_cdf")


def _quantile_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.ones(3), 200.0), ValueError, "must be in the range"
    yield SampleInput(np.ones(3), 0.5, method="none"), ValueError, "not a valid method"
    yield SampleInput(np.ones(3, complex), 0.5), TypeError, "real numbers"


# Covariances


def _cov_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    a = make_array((3, 5), dtype=dtype)
    for b in variants(a):
        yield SampleInput(b)
    yield SampleInput(a[0])
    yield SampleInput(a[0], a[1])
    yield SampleInput(a, a[:2] * 2, rowvar=True)
    yield SampleInput(a, rowvar=False)
    yield SampleInput(a, None, False, dtype="float64" if dtype.kind != "c" else "complex128")
    if info.op is np.cov:
        yield SampleInput(a, bias=True)
        yield SampleInput(a, ddof=0)
        yield SampleInput(a[:, :1])
        yield SampleInput(a, fweights=np.array([1, 2, 1, 3, 1]))
        yield SampleInput(a, aweights=np.array([1.0, 2.0, 1.0, 3.0, 1.0]))


def _cov_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.ones((2, 2, 2))), ValueError, "m has more than 2 dimensions"
    if info.op is np.cov:
        yield SampleInput(np.ones(3), ddof=1.5), ValueError, "ddof must be integer"


# Searching and counting


def _searchsorted_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    a = np.sort(make_array((7,), dtype=dtype))
    for v in (make_array((), dtype=dtype), make_array((2, 3), dtype=dtype), make_array((0,), dtype=dtype), a):
        for side in ("left", "right"):
            yield SampleInput(a, v, side)
    yield SampleInput(a, 3)
    yield SampleInput(a, [2.5, 0.5])
    yield SampleInput(np.array([], a.dtype), a)
    shuffled = make_array((7,), dtype=dtype, seed=2)
    yield SampleInput(shuffled, a, sorter=np.argsort(shuffled))


def _searchsorted_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.ones(3), 1, "middle"), ValueError, "search side must be 'left' or 'right'"
    yield SampleInput(np.ones((3, 3)), 1), ValueError, "object too deep"


def _searchsorted_method(a: Any, v: Any, side: str = "left") -> Any:
    return a.searchsorted(v, side)


_searchsorted_method.__name__ = "ndarray.searchsorted"


def _digitize_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    bins = np.unique(make_array((5,), dtype=dtype))
    for edges in (bins, bins[::-1], bins[:1], bins[:0], np.repeat(bins, 2), [0.5, 2.5]):
        for right in (False, True):
            yield SampleInput(make_array((4, 3), dtype=dtype, seed=1), edges, right)
    yield SampleInput(bins[0], bins)
    yield SampleInput(2.5, bins, right=True)


def _digitize_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.ones(3), np.array([1.0, 3.0, 2.0])), ValueError, "monotonically"
    yield SampleInput(np.ones(3, complex), np.array([1.0, 3.0])), TypeError, "complex"


def _histogram_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    a = make_array((20,), dtype=dtype)
    for b in (a[::-1], a.reshape(4, 5), a[:1], a[:0], a[0]):
        yield SampleInput(b)
    yield SampleInput(a, 7)
    yield SampleInput(a, bins=5, range=(0, 4))
    yield SampleInput(a, 4, (-2.5, 3.5))
    yield SampleInput(a, 3, (1, 1))
    yield SampleInput(a, np.array([-5.0, -1.0, 0.0, 0.5, 9.0]))
    yield SampleInput(a, [0, 2, 3])
    if info.op is np.histogram:
        yield SampleInput(a, 4, density=True)
        yield SampleInput(a, [0.0, 1.0, 1.5, 8.0], density=True)
        for kind in ("float32", "int16", "complex64"):
            yield SampleInput(a, 4, weights=make_array((20,), dtype=kind))
        yield SampleInput(a, [0.0, 3.0, 6.0], weights=make_array((20,), dtype="float64"))
        yield SampleInput(a, 5, weights=make_array((20,), dtype="float64", low=0), density=True)
        if dtype.kind == "f":
            yield SampleInput(with_nans(a), 4, (0, 5))
            yield SampleInput(with_nans(a), [0.0, 3.0, 6.0])


def _histogram_errors(info: OpInfo, device: str) -> Iterator[Any]:
    a = np.arange(4.0)
    yield SampleInput(a, 0), ValueError, "`bins` must be positive"
    yield SampleInput(a, 3, (2, 1)), ValueError, "max must be larger than min"
    yield SampleInput(a, 3, (0, np.inf)), ValueError, "is not finite"
    yield SampleInput(np.array([1.0, np.nan])), ValueError, "is not finite"
    if info.op is np.histogram:
        yield SampleInput(a, np.array([1.0, 0.0])), ValueError, "must increase monotonically"
        yield SampleInput(a, 3, weights=np.ones(3)), ValueError, "same shape as a"


def _histogram2d_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    x, y = make_array((20,), dtype=dtype), make_array((20,), dtype=dtype, seed=1)
    if info.op is np.histogram2d:
        yield SampleInput(x, y, 4)
        yield SampleInput(x, y, [3, 4], [[0, 1], [-2, 2]], density=True)
    else:
        yield SampleInput(np.stack([x, y], 1), 3)
        yield SampleInput((x, y), (2, 3))


def _bincount_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    x = make_array((9,), dtype=dtype, low=0, high=6)
    for a in variants(x):
        yield SampleInput(a)
    yield SampleInput(x, minlength=10)
    yield SampleInput(x, None, 2)
    yield SampleInput(x, make_array((9,), dtype="float32"))
    yield SampleInput(x, weights=np.arange(9), minlength=7)
    yield SampleInput(x[:0])
    yield SampleInput(x[:0], minlength=3)


def _bincount_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.array([1, -1])), ValueError, "negative"
    yield SampleInput(np.ones((2, 2), int)), ValueError, "object too deep"
    yield SampleInput(np.ones(2)), TypeError, "[Cc]annot cast"
    yield SampleInput(np.ones(2, int), np.ones(3)), ValueError, "same length"
    yield SampleInput(np.ones(2, int), minlength=-1), ValueError, "must not be negative"


def _infos() -> Iterator[OpInfo]:
    numbers = (dtypes.int8, dtypes.uint8, dtypes.float16, dtypes.float32, dtypes.float64)
    few = (dtypes.int16, dtypes.float32, dtypes.float64)
    rows: tuple[tuple[Any, Any, Any, Any], ...] = (
        (np.average, _average_samples, _average_errors, (*few, dtypes.complex64)),
        (np.median, _median_samples, None, (dtypes.bool8, *numbers, dtypes.complex64)),
        (np.nanmedian, _median_samples, None, (dtypes.int8, *_FLOATS)),
        (np.quantile, _quantile_samples, _quantile_errors, numbers),
        (np.percentile, _quantile_samples, _quantile_errors, (dtypes.float32, dtypes.float64)),
        (np.nanquantile, _quantile_samples, _quantile_errors, (dtypes.int8, *_FLOATS)),
        (np.nanpercentile, _quantile_samples, _quantile_errors, (dtypes.float64,)),
        (np.cov, _cov_samples, _cov_errors, (*few, dtypes.complex64)),
        (np.corrcoef, _cov_samples, _cov_errors, (*few, dtypes.complex64)),
        (np.searchsorted, _searchsorted_samples, _searchsorted_errors, (dtypes.bool8, *numbers)),
        (
            _searchsorted_method,
            lambda info, **kind: (s for s in _searchsorted_samples(info, **kind) if not s.kwargs),
            None,
            few[:1],
        ),
        (np.digitize, _digitize_samples, _digitize_errors, numbers),
        (np.histogram, _histogram_samples, _histogram_errors, (dtypes.uint8, dtypes.float32, dtypes.float64)),
        (np.histogram_bin_edges, _histogram_samples, _histogram_errors, (dtypes.int16, dtypes.float32)),
        (np.histogram2d, _histogram2d_samples, None, (dtypes.int16, dtypes.float64)),
        (np.histogramdd, _histogram2d_samples, None, (dtypes.int16, dtypes.float64)),
        (np.bincount, _bincount_samples, _bincount_errors, (dtypes.uint8, dtypes.int16, dtypes.int64)),
    )
    for op, samples, errors, taken in rows:
        yield OpInfo(
            op, sample_input_generator=samples, error_input_generator=errors, dtypes=taken, rtol=_FLOAT16
        )  # fmt: skip


opinfos.add("statistics", *_nan_infos(), *_infos())
