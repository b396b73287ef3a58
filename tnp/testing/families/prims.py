"""OpInfos of the prims that no NumPy function runs with all of their options.

The references are written in NumPy or in Python's ``math``, one element at a time if that is clearer.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.core import dtypes, prims
from tnp.core.devices import cpu
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import by_name
from tnp.core.reduction_table import REDUCTIONS
from tnp.core.symbol import Symbol
from tnp.testing.arrays import make_array, special_values, variants
from tnp.testing.families.prims_ordering import (
    argsort_reference,
    sort_reference,
    sort_samples,
    topk_reference,
    topk_samples,
    triangular_reference,
    triangular_samples,
)
from tnp.testing.opinfo import OpInfo, SampleInput, opinfos

FLOATS = (dtypes.float16, dtypes.float32, dtypes.float64)
#: what a prim that moves elements does is the same for all dtypes: two kinds and widths are enough
MOVED = (dtypes.int32, dtypes.float64)
ORDERED = (dtypes.int8, dtypes.int64, dtypes.float32, dtypes.float64)
#: prims run alone, so the whole functions of the numpy executor have nothing to do with them
EXECUTORS = ("numpy[prims]", "llvm", "torch")


def _arrays(result: Any) -> Any:
    """Results as prims have them: 0-d ones are arrays, none is a NumPy scalar."""
    return tuple(map(_arrays, result)) if isinstance(result, tuple) else np.asarray(result)


def _static(tracer: Any, x: Any) -> Any:
    """``x`` with traced integers made those that they are, as the parameters of prims must be."""
    if isinstance(x, (tuple, list)):
        return type(x)(_static(tracer, y) for y in x)
    return tracer.known(x) if isinstance(x, int) and not isinstance(x, bool) else x


def use(symbol: Symbol, *args: Any, **kwargs: Any) -> Any:
    """A prim on a jitted function's arrays, or (called eagerly) on ndarrays."""
    tracer = active.running()
    if tracer is None:
        return symbol(*args, **kwargs)
    return tracer.call(symbol, _static(tracer, args), {k: _static(tracer, v) for k, v in kwargs.items()})


def prim_info(
    name: str, reference: Callable[..., Any], samples: Callable[[DType], Iterator[SampleInput]],
    kinds: tuple[DType, ...], **options: Any,
) -> OpInfo:  # fmt: skip
    """The OpInfo of a prim; ``samples`` takes a dtype."""
    return OpInfo(
        functools.partial(use, prims.registry[name]),
        name=f"prims.{name}",
        numpy_reference=lambda *args, **kwargs: _arrays(reference(*args, **kwargs)),
        sample_input_generator=lambda info, device, dtype, requires_grad: samples(dtype),
        dtypes=kinds,
        executors=EXECUTORS,
        **options,
    )


# Elementwise


def _elements(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function of one float over the elements of an array, computed in float64."""

    def reference(a: Any) -> Any:
        return np.array([function(float(x)) for x in a.ravel()]).reshape(a.shape).astype(a.dtype)

    return reference


def _digamma(x: float) -> float:
    """The derivative of lgamma, by central differences of high order after the recurrence has made ``x`` large."""
    shift = 0.0
    while x < 30:
        shift -= 1 / x
        x += 1
    return shift + math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6)


def _erfinv(y: float) -> float:
    """By bisection of erf."""
    low, high = -6.0, 6.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle) < y else (low, middle)
    return (low + high) / 2


def _within(low: float, high: float) -> Callable[[DType], Iterator[SampleInput]]:
    def samples(dtype: DType) -> Iterator[SampleInput]:
        for shape in ((), (0,), (7,), (3, 5)):
            for a in variants(make_array(shape, dtype=dtype, low=low, high=high)):
                yield SampleInput(a)

    return samples


def _special(values: list[float], low: float, high: float) -> Callable[[DType], Iterator[SampleInput]]:
    def samples(dtype: DType) -> Iterator[SampleInput]:
        yield from _within(low, high)(dtype)
        yield SampleInput(np.array(values, dtype.name))

    return samples


_INF = math.inf
_ELEMENTWISE = {
    "erf": (_elements(math.erf), _special([0.0, -0.0, _INF, -_INF, math.nan, 5.0], -3, 3)),
    "erfc": (_elements(math.erfc), _special([0.0, _INF, -_INF, math.nan], -3, 3)),
    "erfinv": (_elements(_erfinv), _within(-0.95, 0.95)),
    "lgamma": (_elements(math.lgamma), _special([1.0, 2.0, _INF, math.nan], 0.1, 20)),
    "digamma": (_elements(_digamma), _within(0.1, 20)),
    "rsqrt": (lambda a: 1 / np.sqrt(a), _special([_INF, math.nan, 1.0, 4.0], 0.1, 20)),
}
opinfos.add("prims", *(prim_info(name, *how, FLOATS) for name, how in _ELEMENTWISE.items()))


def scalar_conversions(dtype: DType) -> Iterator[SampleInput]:
    for value in (0, 1, 7.75, -7.75 if dtype.kind in "if" else 100):
        for wanted in (dtypes.int8, dtypes.int64):
            yield SampleInput(np.array(value).astype(dtype.name), wanted)


opinfos.add(
    "prims",
    prim_info(
        "convert_scalar", lambda a, dtype: np.array(math.trunc(a.item()), dtype.name), scalar_conversions,
        (dtypes.uint8, dtypes.int64, dtypes.float32, dtypes.float64),
    ),
)  # fmt: skip


def nextafter_samples(dtype: DType) -> Iterator[SampleInput]:
    a = make_array((3, 4), dtype=dtype)
    yield SampleInput(a, make_array((3, 4), dtype=dtype, seed=1))
    yield SampleInput(a, a)
    values = np.array([1.0, -1.0, np.inf, np.nan, 0.0], dtype.name)
    yield SampleInput(*(np.ascontiguousarray(x) for x in np.broadcast_arrays(values[:, None], values[None, :])))


def bitcast_samples(dtype: DType) -> Iterator[SampleInput]:
    for shape in ((), (3,), (2, 0), (2, 3)):
        yield SampleInput(make_array(shape, dtype=dtype), {32: dtypes.float32, 64: dtypes.int64}[dtype.bits])
    yield SampleInput(special_values(dtype), {32: dtypes.uint32, 64: dtypes.uint64}[dtype.bits])


def ldexp_samples(dtype: DType) -> Iterator[SampleInput]:
    mantissas = np.array([0.5, -1.75, 0.0, np.inf, np.nan, 1.0, 1.0, -1.5, 1e-4], dtype.name)
    for exponents in ([0, 3, 5, 2, 1, 10, -10, 14, 3], [1, -3, 5000, 2, 1, 2000, -2000, 127, -130]):
        for kind in (np.int32, np.int64):
            yield SampleInput(mantissas, np.array(exponents, kind))


def frexp_samples(dtype: DType) -> Iterator[SampleInput]:
    for shape in ((), (0,), (3, 4)):
        yield SampleInput(make_array(shape, dtype=dtype))
    yield SampleInput(np.array([0.0, -0.0, 1.0, np.inf, np.nan, -3.0, 1e-3], dtype.name))


opinfos.add(
    "prims",
    prim_info("nextafter", np.nextafter, nextafter_samples, FLOATS, rtol=dict.fromkeys(FLOATS, 0.0)),
    prim_info("bitcast", lambda a, dtype: a.view(dtype.name), bitcast_samples, (*MOVED, dtypes.int64)),
    prim_info("ldexp", np.ldexp, ldexp_samples, FLOATS),
    prim_info("frexp", np.frexp, frexp_samples, FLOATS),
)


# Arrays of nothing


def iota_samples(dtype: DType) -> Iterator[SampleInput]:
    numbers = [(0, 1), (3, 2), (1, 0)] + ([] if dtype.kind == "u" else [(2, -3)])
    for length, (start, step) in itertools.product((0, 1, 7), numbers):
        yield SampleInput(make_array((1,), dtype=dtype), length, start=start, step=step, dtype=dtype)
    if dtype.kind in "fc":
        yield SampleInput(make_array((1,), dtype=dtype), 5, start=0.5, step=0.25, dtype=dtype)


def _beside(a: Any, length: int, *, start: Any, step: Any, dtype: DType) -> Any:
    """``prims.iota``, with an array beside it so that the program is given one."""
    return a, use(prims.registry["iota"], length, start=start, step=step, device=cpu, dtype=dtype)


def iota_reference(a: Any, length: int, *, start: Any, step: Any, dtype: DType) -> Any:
    return a, np.array([start + step * i for i in range(length)], dtype.name)


opinfos.add(
    "prims",
    OpInfo(
        _beside,
        name="prims.iota",
        numpy_reference=iota_reference,
        sample_input_generator=lambda info, device, dtype, requires_grad: iota_samples(dtype),
        dtypes=(dtypes.int8, dtypes.int64, dtypes.uint8, dtypes.uint16, dtypes.uint64, *FLOATS, dtypes.complex64),
        executors=EXECUTORS,
    ),
)


# Shape


def pad_samples(dtype: DType) -> Iterator[SampleInput]:
    value = {"b": True, "i": 7, "f": -1.5}[dtype.kind]
    for low, high, inner in itertools.product((-2, 0, 1), (-1, 0, 2), (0, 1, 3)):
        yield SampleInput(make_array((5,), dtype=dtype), value, [(low, high, inner)])
    for a in variants(make_array((3, 4), dtype=dtype)):
        yield SampleInput(a, value, [(1, 0, 2), (-1, 3, 1)])
    yield SampleInput(make_array((0, 2), dtype=dtype), value, [(1, 2, 3), (0, 0, 1)])
    yield SampleInput(make_array((2,), dtype=dtype), value, [(-1, -1, 0)])
    yield SampleInput(make_array((), dtype=dtype), value, [])


def pad_reference(a: Any, value: Any, config: Any) -> Any:
    """Element by element: where each one goes, and whether that is cut off."""
    shape = [n + max(0, n - 1) * inner + low + high for n, (low, high, inner) in zip(a.shape, config)]
    result = np.full(shape, value, a.dtype)
    for at in np.ndindex(a.shape):
        to = tuple(low + i * (inner + 1) for i, (low, _, inner) in zip(at, config))
        if all(0 <= i < n for i, n in zip(to, shape)):
            result[to] = a[at]
    return result


def unfold_samples(dtype: DType) -> Iterator[SampleInput]:
    for dim, size, step in ((0, 2, 1), (1, 3, 2), (1, 5, 1), (0, 1, 3), (0, 0, 1)):
        for a in variants(make_array((4, 5), dtype=dtype)):
            yield SampleInput(a, dim, size, step)
    yield SampleInput(make_array((), dtype=dtype), 0, 1, 1)


def unfold_reference(a: Any, dim: int, size: int, step: int) -> Any:
    if a.ndim == 0:
        return a.reshape(1)[:size].copy()
    starts = range(0, a.shape[dim] - size + 1, step)
    windows = [np.take(a, range(s, s + size), axis=dim) for s in starts]
    return np.stack([np.moveaxis(w, dim, -1) for w in windows], axis=dim)


def stride_order_samples(dtype: DType) -> Iterator[SampleInput]:
    for a in variants(make_array((2, 3, 4), dtype=dtype)):
        for order in (None, (2, 1, 0), (0, 1, 2), (1, 2, 0)):
            yield SampleInput(a, order)
    yield SampleInput(make_array((), dtype=dtype))


def flip_samples(dtype: DType) -> Iterator[SampleInput]:
    for a in variants(make_array((3, 4), dtype=dtype)):
        for dims in ((0,), (1,), (0, 1)):
            yield SampleInput(a, dims)


def diagonal_samples(dtype: DType) -> Iterator[SampleInput]:
    for a in variants(make_array((3, 4, 2), dtype=dtype)):
        for offset, dim1, dim2 in ((0, 0, 1), (1, 0, 1), (-2, 0, 1), (9, 0, 1), (0, 2, 0)):
            yield SampleInput(a, offset, dim1, dim2)


opinfos.add(
    "prims",
    prim_info("pad", pad_reference, pad_samples, (*MOVED, dtypes.bool8)),
    prim_info("unfold", unfold_reference, unfold_samples, MOVED),
    prim_info("stride_order", lambda a, order=None: a.copy(), stride_order_samples, MOVED),
    prim_info("flip", np.flip, flip_samples, MOVED),
    prim_info("diagonal", np.diagonal, diagonal_samples, MOVED),
)


# Indexing


def select_samples(dtype: DType) -> Iterator[SampleInput]:
    for a in variants(make_array((3, 4), dtype=dtype)):
        for dim, index in ((0, 0), (1, 3), (1, -1), (0, -3)):
            yield SampleInput(a, dim, index)
    yield SampleInput(make_array((2,), dtype=dtype), 0, 1)


def select_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.zeros((3, 4)), 1, 4), IndexError, "index 4 is out of bounds for axis 1 with size 4"
    yield SampleInput(np.zeros((3, 4)), 0, -4), IndexError, "index -4 is out of bounds for axis 0 with size 3"


def _with_run_time_bounds(a: Any, dim: int, bounds: Any, step: int) -> Any:
    """A slice whose bounds are the elements of an array, so that no trace knows them: ``prims.dynamic_slice``."""
    return a[(slice(None),) * int(dim) + (slice(bounds[0], bounds[1], int(step)),)]


def dynamic_slice_samples(dtype: DType) -> Iterator[SampleInput]:
    for a in variants(make_array((3, 7), dtype=dtype)):
        for bounds in ((0, 7), (2, 5), (-3, 100), (5, 2), (-100, -2), (6, -8)):
            for step in (1, 2, -1, -2):
                yield SampleInput(a, 1, np.array(bounds), step)


def gather_samples(dtype: DType) -> Iterator[SampleInput]:
    for index in (np.int64, np.int32, np.uint8):
        yield SampleInput(make_array((4, 3), dtype=dtype), np.array([[0, 3, 1], [2, 2, 0]], index), 0)
    yield SampleInput(make_array((4, 3), dtype=dtype), np.array([[0, 2, 1, 1], [2, 2, 0, 0]]), 1)
    yield SampleInput(make_array((3,), dtype=dtype), np.array([], np.int64), 0)


def _places(indices: Any, dim: int) -> Iterator[tuple[Any, Any]]:
    """Where each element of a scatter or gather is in the indices, and in the array."""
    for at in np.ndindex(indices.shape):
        to = list(at)
        to[dim] = int(indices[at])
        yield at, tuple(to)


def gather_reference(a: Any, indices: Any, dim: int) -> Any:
    result = np.empty(indices.shape, a.dtype)
    for at, to in _places(indices, dim):
        result[at] = a[to]
    return result


def scatter_samples(dtype: DType) -> Iterator[SampleInput]:
    a = make_array((4, 3), dtype=dtype)
    source = make_array((3, 4), dtype=dtype, seed=1)
    for v in variants(a):
        yield SampleInput(v, np.array([[0, 3, 1], [2, 2, 0]]), source, 0)
    yield SampleInput(a, np.array([[0, 2, 1], [1, 1, 1], [0, 0, 2]]), source, 1)
    yield SampleInput(a, np.array([[1, 1, 1], [1, 1, 1], [1, 1, 1]], np.int32), source, 0)
    yield SampleInput(a, np.zeros((0, 3), np.int64), source, 0)


def scatter_reference(a: Any, indices: Any, source: Any, dim: int) -> Any:
    result = a.copy()
    for at, to in _places(indices, dim):
        result[to] = source[at]
    return result


def scatter_add_reference(a: Any, indices: Any, source: Any, dim: int) -> Any:
    result = a.copy()
    for at, to in _places(indices, dim):
        result[to] += source[at]
    return result


def index_put_samples(dtype: DType) -> Iterator[SampleInput]:
    a = make_array((4, 5), dtype=dtype)
    for accumulate in (False, True):
        for v in variants(a):
            yield SampleInput(v, [np.array([0, 2, 2, -1])], make_array((4, 5), dtype=dtype, seed=1), accumulate)
        rows, columns = np.array([[0, 0], [3, 0]]), np.array([[1, 1], [-1, 1]])
        yield SampleInput(a, [rows, columns], make_array((2, 2), dtype=dtype, seed=2), accumulate)
        yield SampleInput(a, [rows.T, columns], make_array((2, 2), dtype=dtype, seed=2).T, accumulate)
        yield SampleInput(a, [np.array(1, np.uint8)], make_array((5,), dtype=dtype, seed=3), accumulate)
        yield SampleInput(a, [np.zeros(0, np.int64)], make_array((0, 5), dtype=dtype), accumulate)


def index_put_reference(a: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    result = a.copy()
    for at in np.ndindex(indices[0].shape):
        to = tuple(int(i[at]) for i in indices)
        result[to] = result[to] + values[at] if accumulate else values[at]
    return result


def index_get_samples(dtype: DType) -> Iterator[SampleInput]:
    for a in variants(make_array((4, 5), dtype=dtype)):
        yield SampleInput(a, [np.array([0, 2, 2, -1])])
        yield SampleInput(a, [np.array([[0, 0], [3, -4]]), np.array([[1, 1], [-1, 1]], np.int8)])
    yield SampleInput(make_array((4, 5), dtype=dtype), [np.array(1, np.uint8), np.array(2, np.uint8)])


def index_get_errors(info: OpInfo, device: str) -> Iterator[Any]:
    a = np.zeros((4, 5))
    yield SampleInput(a, [np.array([0, 4])]), IndexError, "index 4 is out of bounds for axis 0 with size 4"
    at = [np.array([0, 1]), np.array([0, -6])]
    yield SampleInput(a, at), IndexError, "index -6 is out of bounds for axis 1 with size 5"


def slice_update_samples(dtype: DType) -> Iterator[SampleInput]:
    for a in variants(make_array((5, 6), dtype=dtype)):
        yield SampleInput(a, make_array((2, 3), dtype=dtype, seed=1), [1, 0], [2, 2])
        yield SampleInput(a, make_array((5, 1), dtype=dtype, seed=2), [0, 4])
    yield SampleInput(make_array((5, 6), dtype=dtype), make_array((0, 6), dtype=dtype), [3, 0])


def slice_update_reference(a: Any, b: Any, starts: Any, strides: Any = None) -> Any:
    result = a.copy()
    for at in np.ndindex(b.shape):
        result[tuple(s + i * t for s, i, t in zip(starts, at, strides or [1] * a.ndim))] = b[at]
    return result


def searchsorted_samples(dtype: DType) -> Iterator[SampleInput]:
    a = np.sort(make_array((9,), dtype=dtype))
    for right in (False, True):
        yield SampleInput(a, make_array((3, 4), dtype=dtype, seed=1), right)
        yield SampleInput(a, a[::-1], right)
        yield SampleInput(a[:0], a, right)
        if dtype.kind == "f":
            with_nan = np.array([-1.0, 0.0, np.inf, np.nan, np.nan], dtype.name)
            yield SampleInput(with_nan, with_nan, right)
            yield SampleInput(a, with_nan, right)


opinfos.add(
    "prims",
    prim_info(
        "select",
        lambda a, dim, index: np.take(a, index, axis=dim),
        select_samples,
        MOVED,
        error_input_generator=select_errors,
    ),
    OpInfo(
        _with_run_time_bounds,
        name="prims.dynamic_slice",
        sample_input_generator=lambda info, device, dtype, requires_grad: dynamic_slice_samples(dtype),
        dtypes=MOVED,
        executors=EXECUTORS,
    ),
    prim_info("gather", gather_reference, gather_samples, MOVED),
    prim_info("scatter", scatter_reference, scatter_samples, MOVED),
    prim_info("scatter_add", scatter_add_reference, scatter_samples, (*MOVED, dtypes.uint8)),
    prim_info("index_put", index_put_reference, index_put_samples, (*MOVED, dtypes.complex64)),
    prim_info(
        "index_get",
        lambda a, indices: a[tuple(indices)],
        index_get_samples,
        MOVED,
        error_input_generator=index_get_errors,
    ),
    prim_info("slice_update", slice_update_reference, slice_update_samples, MOVED),
    prim_info(
        "searchsorted",
        lambda a, v, right=False: np.searchsorted(a, v, "right" if right else "left"),
        searchsorted_samples,
        ORDERED,
    ),
)


# Lines of elements


def cumulative_samples(dtype: DType) -> Iterator[SampleInput]:
    for a in variants(make_array((3, 5), dtype=dtype)):
        for dim in (0, 1):
            yield SampleInput(a, dim)
    yield SampleInput(make_array((0, 2), dtype=dtype), 0)
    if dtype.kind == "f":
        yield SampleInput(np.array([1.0, np.nan, 3.0, -np.inf], dtype.name), 0)


def reduction_samples(dtype: DType) -> Iterator[SampleInput]:
    for a in variants(make_array((3, 5), dtype=dtype)):
        for dims in ((0,), (1,), (0, 1)):
            yield SampleInput(a, dims)


def reductions() -> Iterator[OpInfo]:
    """Those of the table, and their running forms, against the methods of NumPy's ufuncs."""
    for row in REDUCTIONS:
        ufunc = getattr(np, by_name[row.combines].numpy)
        for name, reference, samples, takes in (
            (row.name, lambda a, dims, f=ufunc: f.reduce(a, axis=dims, dtype=a.dtype), reduction_samples, row.takes),
            (row.scan, lambda a, dim, f=ufunc: f.accumulate(a, axis=dim, dtype=a.dtype), cumulative_samples, row.scan_takes),
        ):  # fmt: skip
            if name:
                kinds = tuple(
                    d for d in (dtypes.bool8, *ORDERED) if d.kind in takes and (d.kind == "b") == (takes == "b")
                )
                yield prim_info(name, reference, samples, kinds)


def var_samples(dtype: DType) -> Iterator[SampleInput]:
    for shape, dims in (
        ((5,), (0,)),
        ((3, 4), (1,)),
        ((3, 4), (0, 1)),
        ((3, 4), ()),
        ((2, 3, 4), (0, 2)),
        ((0, 3), (0,)),
    ):
        for correction in (0, 1, 1.5):
            yield SampleInput(make_array(shape, dtype=dtype), dims, correction=correction)


opinfos.add(
    "prims",
    *reductions(),
    prim_info("topk", topk_reference, topk_samples, ORDERED),
    prim_info("sort", sort_reference, sort_samples, ORDERED),
    prim_info("argsort", argsort_reference, sort_samples, ORDERED),
    prim_info(
        "var",
        lambda a, dims, *, correction: np.var(a, axis=tuple(dims), ddof=correction),
        var_samples,
        (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128),
    ),
)


# Linear algebra, Fourier transforms, convolution


def convolution_samples(dtype: DType) -> Iterator[SampleInput]:
    for spatial, kernel, stride, padding, dilation, groups in (
        ((7,), (3,), (1,), (0,), (1,), 1),
        ((9,), (2,), (2,), (3,), (2,), 2),
        ((5, 6), (2, 3), (1, 2), (1, 0), (2, 1), 1),
        ((4, 4, 3), (2, 1, 2), (1, 1, 1), (0, 1, 0), (1, 1, 1), 2),
    ):
        a = make_array((2, 4, *spatial), dtype=dtype)
        weight = make_array((6, 4 // groups, *kernel), dtype=dtype, seed=1)
        yield SampleInput(a, weight, stride, padding, dilation, groups)
    yield SampleInput(make_array((0, 2, 5), dtype=dtype), make_array((3, 2, 2), dtype=dtype), (1,), (0,), (1,), 1)


def convolution_reference(a: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """The sum over the kernel's positions of products of channels."""
    a = np.pad(a, [(0, 0), (0, 0), *((p, p) for p in padding)])
    out, per_group = weight.shape[:2]
    spans = [d * (k - 1) + 1 for k, d in zip(weight.shape[2:], dilation)]
    lengths = [(n - span) // s + 1 for n, span, s in zip(a.shape[2:], spans, stride)]
    result = np.zeros((a.shape[0], out, *lengths), a.dtype)
    for at in np.ndindex(weight.shape[2:]):
        begin = [i * d for i, d in zip(at, dilation)]
        window = a[(..., *(slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(begin, lengths, stride)))]
        for o in range(out):
            group = o // (out // groups)
            channels = window[:, group * per_group : (group + 1) * per_group]
            result[:, o] += np.einsum("c,nc...->n...", weight[(o, slice(None), *at)], channels)
    return result


def fft_samples(dtype: DType) -> Iterator[SampleInput]:
    for shape, dims in (((5,), (0,)), ((3, 4), (1,)), ((3, 4), (0, 1)), ((3, 4), ()), ((0, 4), (1,))):
        for inverse in (False, True):
            yield SampleInput(make_array(shape, dtype=dtype), dims, inverse)


def fft_reference(a: Any, dims: Any, inverse: bool = False) -> Any:
    """The sums that define it, in complex128."""
    result = a.astype(np.complex128)
    for d in dims:
        n = a.shape[d]
        turns = np.outer(np.arange(n), np.arange(n)) / n
        matrix = np.exp((2j if inverse else -2j) * np.pi * turns) / (n if inverse else 1)
        result = np.moveaxis(np.tensordot(matrix, result, (1, d)), 0, d)
    return result.astype(a.dtype)


_WIDE = (dtypes.float32, dtypes.float64)
_COMPLEX = (dtypes.complex64, dtypes.complex128)
opinfos.add(
    "prims",
    prim_info("triangular_solve", triangular_reference, triangular_samples, (*_WIDE, *_COMPLEX)),
    prim_info("convolution", convolution_reference, convolution_samples, (*_WIDE, dtypes.int64, dtypes.complex64)),
    prim_info("fft", fft_reference, fft_samples, _COMPLEX),
)
