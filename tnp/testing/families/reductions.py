"""OpInfos: reductions and cumulative operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.testing.arrays import make_array, special_values, variants
from tnp.testing.opinfo import ALL_DTYPES, OpInfo, SampleInput, opinfos

_FLOAT16 = {dtypes.float16: 2e-2}
#: one dtype of each kind and the narrow ones, for functions whose code does not depend on the rest
_FEW = (dtypes.bool8, dtypes.int8, dtypes.float16, dtypes.float64, dtypes.complex64)

#: shapes and the axes to reduce them along
_AXES: tuple[tuple[tuple[int, ...], tuple[Any, ...]], ...] = (
    ((), (None, (), 0)),
    ((5,), (None, -1)),
    ((4, 3), (None, 0, (0, 1), ())),
    ((2, 3, 4), ((0, -1),)),
)
_EMPTY_AXES: tuple[tuple[tuple[int, ...], tuple[Any, ...]], ...] = (((0,), (None,)), ((2, 0, 3), (1, 0)))
#: what each dtype but float64 is tried with
_MAIN_AXES: tuple[tuple[tuple[int, ...], tuple[Any, ...]], ...] = (((), (None,)), ((4, 3), (None, 1)))


def method(name: str) -> Callable[..., Any]:
    """A function that calls the ndarray method ``name``."""

    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(a, name)(*args, **kwargs)

    call.__name__ = f"ndarray.{name}"
    return call


def _domain(dtype: DType) -> dict[str, Any]:
    return {"low": -2, "high": 3} if dtype.kind in "ifc" else {"low": 0, "high": 3}


def reduction_samples(
    *, empty: bool = True, initial: Any = None, where: bool = True, dtype: Any = None, **options: Any
) -> Callable[..., Iterator[SampleInput]]:
    """Samples over axes and layouts, and with the options that the function has: for float64 all of them."""
    wanted = dtype

    def samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
        thorough = dtype is dtypes.float64
        for shape, choices in (*_AXES, *(_EMPTY_AXES if empty else ())) if thorough else _MAIN_AXES:
            a = make_array(shape, dtype=dtype, **_domain(dtype))
            for axis in choices:
                if axis == 0 and not shape and info.op in (np.mean, np.var, np.std, np.count_nonzero):
                    continue
                yield SampleInput(a) if axis is None else SampleInput(a, axis)
        a = make_array((4, 3), dtype=dtype, **_domain(dtype))
        for b in variants(a) if thorough else ():
            yield SampleInput(b, 0, keepdims=True)
        yield SampleInput(a, keepdims=True)
        yield SampleInput(a[0, 0])
        if dtype.kind in "fc":
            yield SampleInput(special_values(dtype))
            yield SampleInput(special_values(dtype)[:2].reshape(1, 2), (1,))
        mask = np.array([True, False, True])
        extra = {} if initial is None else {"initial": initial}
        if initial is not None:
            yield SampleInput(a, 0, **extra)
            yield SampleInput(a[:0], 0, **extra)
        if where:
            yield SampleInput(a, 1, where=mask, **extra)
            if thorough:
                yield SampleInput(a, where=a != a[0, 0], keepdims=True, **extra)
                yield SampleInput(a, 0, where=False, **extra)
        for d in wanted or ():
            if dtype.kind != "c" or d == "complex128":
                yield SampleInput(a, 0, dtype=d)
        for name, values in options.items():
            for value in values:
                yield SampleInput(a, 0, **{name: value})

    return samples


def _axis_errors(info: OpInfo, device: str) -> Iterator[Any]:
    a = np.ones((2, 3))
    yield SampleInput(a, 2), np.exceptions.AxisError, "axis 2 is out of bounds for array of dimension 2"
    yield SampleInput(a, (0, 0)), ValueError, "duplicate value in 'axis'"
    yield SampleInput(a, 1.5), TypeError, "integer"


def _empty_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield from _axis_errors(info, device)
    yield SampleInput(np.ones((0, 2)), 0), ValueError, "zero-size array to reduction operation"
    if info.op is not np.ptp:
        yield SampleInput(np.ones(2), where=np.array([True, False])), ValueError, "does not have an identity"


def _where_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield from _axis_errors(info, device)
    yield SampleInput(np.ones(3), where=np.array([1, 2, 3])), TypeError, "[Cc]ast"


def _ddof_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield from _axis_errors(info, device)
    yield SampleInput(np.ones(3), ddof=1, correction=1), ValueError, "simultaneously"


def _masked_count_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for sample in reduction_samples(where=False)(info, device, dtype, requires_grad):
        if sample.args[1:] != ((),):
            yield sample


def _var_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    options: dict[str, Any] = {"ddof": (1, 1.5, 7), "correction": (1,), "dtype": ("float32", "float64")}
    yield from reduction_samples(**options)(info, device, dtype, requires_grad)
    a = make_array((4, 3), dtype=dtype)
    yield SampleInput(a, axis=0, mean=np.mean(a, axis=0, keepdims=True))
    yield SampleInput(a, axis=1, where=np.array([True, False, True]), ddof=1)


def _arg_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for shape, choices in (((), (None, 0)), ((5,), (None,)), ((4, 3), (None, 0, -1)), ((2, 0, 3), (0,))):
        a = make_array(shape, dtype=dtype, low=0, high=3)
        for b in variants(a) if dtype is dtypes.float64 else (a,):
            for axis in choices:
                yield SampleInput(b, axis)
        yield SampleInput(a, axis=axis, keepdims=True)
    yield SampleInput(special_values(dtype))


def _cumulative_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.ones((2, 3)), 2), np.exceptions.AxisError, "axis 2 is out of bounds"


def _arg_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield from _cumulative_errors(info, device)
    yield SampleInput(np.ones((0, 2)), 0), ValueError, "of an empty sequence"


def _cumulative_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for shape in ((), (0,), (4, 3), (2, 0, 3)):
        a = make_array(shape, dtype=dtype, **_domain(dtype))
        for b in variants(a) if dtype is dtypes.float64 else (a,):
            yield SampleInput(b)
            if shape:
                yield SampleInput(b, axis=-1)
    a = make_array((4, 3), dtype=dtype, **_domain(dtype))
    yield SampleInput(a, 0, "complex128")
    if dtype.kind != "c":
        yield SampleInput(a, dtype="int16")
        yield SampleInput(a, 0, bool)


def _standard_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    yield SampleInput(make_array((), dtype=dtype))
    for initial in (False, True):
        yield SampleInput(make_array((5,), dtype=dtype, **_domain(dtype)), include_initial=initial)
        for axis in (0, -1):
            a = make_array((4, 3), dtype=dtype, **_domain(dtype))
            yield SampleInput(a, axis=axis, include_initial=initial)
    yield SampleInput(a, axis=0, dtype="complex128", include_initial=True)


def _standard_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.ones((2, 3))), ValueError, "``axis`` argument is required"
    yield SampleInput(np.ones((2, 3)), axis=2), np.exceptions.AxisError, "axis 2 is out of bounds"


def _ptp_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    yield from reduction_samples(empty=False, where=False)(info, device, dtype, requires_grad)


_DTYPES_OF_SUMS = ("float32", "complex128", "int8", bool)
_SUMS = reduction_samples(initial=2, dtype=_DTYPES_OF_SUMS)
_EXTREMES = reduction_samples(empty=False, initial=1)
_TRUTHS = reduction_samples()
_MEANS = reduction_samples(dtype=_DTYPES_OF_SUMS[:3])
_INT8, _BOOL = (dtypes.int8,), (dtypes.bool8,)

#: functions (two came with NumPy 2.1), their samples, errors, dtypes, and tolerances
_TABLE: tuple[tuple[Any, ...], ...] = (
    (np.sum, _SUMS, _where_errors, ALL_DTYPES, _FLOAT16),
    (np.prod, _SUMS, _where_errors, _FEW, _FLOAT16),
    (method("sum"), _SUMS, _where_errors, _INT8, _FLOAT16),
    (method("prod"), _SUMS, _where_errors, _INT8, _FLOAT16),
    (np.max, _EXTREMES, _empty_errors, _FEW, {}),
    (np.min, _EXTREMES, _empty_errors, _FEW, {}),
    (method("max"), _EXTREMES, _empty_errors, _BOOL, {}),
    (method("min"), _EXTREMES, _empty_errors, _BOOL, {}),
    (np.any, _TRUTHS, _axis_errors, _FEW, {}),
    (np.all, _TRUTHS, _axis_errors, _FEW, {}),
    (np.ptp, _ptp_samples, _empty_errors, _FEW[1:], {}),
    (np.mean, _MEANS, _axis_errors, _FEW, _FLOAT16),
    (np.var, _var_samples, _ddof_errors, _FEW, _FLOAT16),
    (np.std, _var_samples, _ddof_errors, _FEW, _FLOAT16),
    (np.argmax, _arg_samples, _arg_errors, _FEW, {}),
    (np.argmin, _arg_samples, _arg_errors, _FEW, {}),
    (np.count_nonzero, _masked_count_samples, _axis_errors, _FEW, {}),
    (np.cumsum, _cumulative_samples, _cumulative_errors, _FEW, _FLOAT16),
    (np.cumprod, _cumulative_samples, _cumulative_errors, _FEW, _FLOAT16),
    (getattr(np, "cumulative_sum", None), _standard_samples, _standard_errors, _FEW, _FLOAT16),
    (getattr(np, "cumulative_prod", None), _standard_samples, _standard_errors, _FEW, _FLOAT16),
)
for _op, _samples, _errors, _taken, _rtol in _TABLE:
    if _op is not None:
        opinfos.add(
            "reductions",
            OpInfo(_op, sample_input_generator=_samples, error_input_generator=_errors, dtypes=_taken, rtol=_rtol),
        )

#: the methods that are the functions: one dtype shows that they are reached
_METHODS: tuple[tuple[str, tuple[SampleInput, ...]], ...] = (
    ("any", (SampleInput(np.eye(3)), SampleInput(np.eye(3), 0))),
    ("all", (SampleInput(np.eye(3)), SampleInput(np.eye(3), 0))),
    ("mean", (SampleInput(np.eye(3)), SampleInput(np.eye(3), 0), SampleInput(np.eye(3), (0, 1), keepdims=True))),
    ("var", (SampleInput(np.eye(3), 0), SampleInput(np.eye(3), ddof=1))),
    ("std", (SampleInput(np.eye(3), 0), SampleInput(np.eye(3), 1, ddof=1))),
    ("argmax", (SampleInput(np.eye(3)), SampleInput(np.eye(3), 0))),
    ("argmin", (SampleInput(np.eye(3)), SampleInput(np.eye(3), 0, keepdims=True))),
    ("cumsum", (SampleInput(np.eye(3)), SampleInput(np.eye(3), 0))),
    ("cumprod", (SampleInput(np.eye(3)), SampleInput(np.eye(3), 1))),
)
for _name, _inputs in _METHODS:
    opinfos.add(
        "reductions",
        OpInfo(
            method(_name),
            sample_input_generator=lambda info, samples=_inputs, **kind: iter(samples),
            dtypes=(dtypes.float64,),
        ),
    )
