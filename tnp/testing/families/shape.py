"""OpInfos: shape manipulation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core.dtypes import DType, float64, int32
from tnp.testing.arrays import make_array, variants
from tnp.testing.opinfo import OpInfo, SampleInput, opinfos

#: what shape functions do does not depend on the dtype: two widths and kinds are enough
DTYPES = (int32, float64)


def reshape_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for shape, new in (((), (1,)), ((6,), (2, 3)), ((2, 3), -1), ((0, 3), (3, 0)), ((4, 3, 2), (2, -1)), ((1,), ())):
        for a in variants(make_array(shape, dtype=dtype)):
            yield SampleInput(a, new)
    yield SampleInput(make_array((4, 3), dtype=dtype), (3, 4), order="F")


def reshape_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.zeros(5), (2, 3)), ValueError, "cannot reshape array of size 5"
    yield SampleInput(np.zeros(6), (-1, -1)), ValueError, "can only specify one unknown dimension"


def transpose_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for shape in ((), (3,), (2, 3), (2, 0, 3)):
        yield SampleInput(make_array(shape, dtype=dtype))
    yield SampleInput(make_array((2, 3, 4), dtype=dtype), (1, -1, 0))


def transpose_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.zeros((2, 3)), (0,)), ValueError, "axes don't match array"
    yield SampleInput(np.zeros((2, 3)), (0, 0)), ValueError, "repeated axis"


opinfos.add(
    "shape",
    OpInfo(
        np.reshape,
        sample_input_generator=reshape_samples,
        error_input_generator=reshape_errors,
        dtypes=DTYPES,
    ),
    OpInfo(
        np.transpose,
        sample_input_generator=transpose_samples,
        error_input_generator=transpose_errors,
        dtypes=DTYPES,
    ),
)
