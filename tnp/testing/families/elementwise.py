"""OpInfos of the ufuncs in the elementwise table, generated from its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import ROWS, Row
from tnp.testing.arrays import make_array
from tnp.testing.opinfo import ALL_DTYPES, OpInfo, SampleInput, opinfos
from tnp.testing.samples import elementwise_binary_generator, elementwise_unary_generator

_SHIFTS = ("left_shift", "right_shift")


def dtypes_of(ufunc: np.ufunc) -> tuple[DType, ...]:
    """The dtypes for which a ufunc has a loop, the dtype on each operand."""
    found = []
    for d in ALL_DTYPES:
        try:
            ufunc.resolve_dtypes((np.dtype(d.name),) * ufunc.nin + (None,) * ufunc.nout)
        except TypeError:
            continue
        found.append(d)
    return tuple(found)


def _ufunc_of(info: OpInfo) -> Any:
    return info.op


def binary_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    """Those of all binary operations; shifts and powers of integers are by small numbers."""
    shifts = info.name in _SHIFTS

    def make_second(shape: Any, **options: Any) -> Any:
        if shifts or (info.name == "power" and dtype.kind in "iu"):
            options |= {"low": 0, "high": 5 if shifts else 4}
        return info.make(shape, **options)

    yield from elementwise_binary_generator(
        info, device, dtype, requires_grad, make_second=make_second, special=not shifts
    )


def mixed_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    """Operands of two dtypes, which NumPy promotes."""
    for other in (dtypes.int8, dtypes.uint8, dtypes.int64, dtypes.float32, dtypes.complex128, dtypes.bool8):
        try:
            np.result_type(dtype.name, other.name)
            _ufunc_of(info).resolve_dtypes((np.dtype(dtype.name), np.dtype(other.name), None))
        except TypeError:
            continue
        yield SampleInput(make_array((3,), dtype=dtype, low=1, high=5), make_array((3,), dtype=other, low=1, high=3))


def _both(*generators: Any) -> Any:
    def samples(*args: Any, **kwargs: Any) -> Iterator[SampleInput]:
        for g in generators:
            yield from g(*args, **kwargs)

    return samples


def _errors(info: OpInfo, device: str) -> Iterator[Any]:
    if _ufunc_of(info).nin == 2:
        dtype = (info.dtypes or ())[-1]
        yield SampleInput(make_array((3,), dtype=dtype), make_array((4,), dtype=dtype)), ValueError, "broadcast"


def info_of(row: Row) -> OpInfo:
    """The OpInfo of a row's ufunc."""
    ufunc = getattr(np, row.numpy)
    return OpInfo(
        ufunc,
        sample_input_generator=elementwise_unary_generator if row.nargs == 1 else _both(binary_samples, mixed_samples),
        error_input_generator=_errors,
        dtypes=dtypes_of(ufunc),
        domain=row.domain,
        rtol={dtypes.float16: 1e-2},
    )


opinfos.add("elementwise", *(info_of(row) for row in ROWS if row.numpy and hasattr(np, row.numpy)))
