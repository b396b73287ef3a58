"""OpInfos of the ufuncs: those of the table are made from its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import ROWS, Row
from tnp.testing.arrays import make_array, special_values, variants
from tnp.testing.opinfo import ALL_DTYPES, OpInfo, SampleInput, opinfos

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


def unary_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    """0-d, empty, contiguous and strided arrays in the domain; special values where there is no domain."""
    low, high = info.domain or (None, None)
    if dtype.kind == "u" and low is not None and low < 0:
        low = 0
    for shape in ((), (0,), (5,), (2, 0, 3), (4, 3)):
        for a in variants(make_array(shape, dtype=dtype, low=low, high=high)):
            yield SampleInput(a)
    yield SampleInput(make_array((), dtype=dtype, low=low, high=high)[()])
    if info.domain is None:
        yield SampleInput(special_values(dtype))


def binary_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    """Equal and broadcasting shapes, 0-d and empty ones, scalars on either side, strided operands, special values."""
    low, high = info.domain or (None, None)

    def make(shape: Any, seed: int) -> Any:
        if info.name in _SHIFTS and seed:
            return make_array(shape, dtype=dtype, low=0, high=5, seed=seed)
        if info.name == "power" and seed and dtype.kind in "iu":
            return make_array(shape, dtype=dtype, low=0, high=4, seed=seed)
        return make_array(shape, dtype=dtype, low=low, high=high, seed=seed)

    shapes = (((), ()), ((0,), (0,)), ((3, 0), (1, 1)), ((5,), (5,)), ((4, 1), (3,)), ((2, 3, 4), (3, 1)), ((3,), ()))
    for left, right in shapes:
        yield SampleInput(make(left, 0), make(right, 1))
    for a in variants(make((3, 4), 0)):
        yield SampleInput(a, make((4,), 1))
    yield SampleInput(make((3,), 0), make((), 1)[()])
    if dtype.kind != "b":
        number: Any = {"i": 2, "u": 2, "f": 1.5, "c": 1 + 2j}[dtype.kind]
        yield SampleInput(make((3,), 0), number)
        yield SampleInput(number, make((3,), 1))
        yield SampleInput(make((3,), 0), 2)
    if info.domain is None and info.name not in _SHIFTS:
        values = special_values(dtype)
        yield SampleInput(values[:, None], values)


def mixed_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    """Operands of two dtypes, which NumPy promotes."""
    for other in (dtypes.int8, dtypes.uint8, dtypes.int64, dtypes.float32, dtypes.complex128, dtypes.bool8):
        try:
            np.result_type(dtype.name, other.name)
            info.op.resolve_dtypes((np.dtype(dtype.name), np.dtype(other.name), None))
        except TypeError:
            continue
        yield SampleInput(make_array((3,), dtype=dtype, low=1, high=5), make_array((3,), dtype=other, low=1, high=3))


def _both(*generators: Any) -> Any:
    def samples(*args: Any) -> Iterator[SampleInput]:
        for g in generators:
            yield from g(*args)

    return samples


def _errors(info: OpInfo, device: str) -> Iterator[Any]:
    if info.op.nin == 2:
        dtype = info.dtypes[-1]
        yield SampleInput(make_array((3,), dtype=dtype), make_array((4,), dtype=dtype)), ValueError, "broadcast"


def info_of(row: Row) -> OpInfo:
    """The OpInfo of a row's ufunc."""
    ufunc = getattr(np, row.numpy)
    return OpInfo(
        ufunc,
        sample_input_generator=unary_samples if row.nargs == 1 else _both(binary_samples, mixed_samples),
        error_input_generator=_errors,
        dtypes=dtypes_of(ufunc),
        domain=row.domain,
        rtol={dtypes.float16: 1e-2},
    )


opinfos.add("elementwise", *(info_of(row) for row in ROWS if row.numpy and hasattr(np, row.numpy)))
