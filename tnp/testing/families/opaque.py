"""OpInfos: functions that NumPy runs as themselves inside a program. What is tested is that they run there at all, and
that what is said of their results is so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core.dtypes import DType, float64, uint8
from tnp.testing.arrays import make_array
from tnp.testing.opinfo import OpInfo, SampleInput, opinfos


def _array(*shape: int, dtype: DType = float64, seed: int = 0) -> Any:
    return make_array(shape, dtype=dtype, low=1, high=9, seed=seed)


#: of each function, calls of it
CALLS: dict[str, list[SampleInput]] = {
    "poly": [SampleInput(_array(4)), SampleInput(_array(3, 3))],
    "polydiv": [SampleInput(_array(5), _array(2))],
    "polyfit": [SampleInput(np.arange(6.0), _array(6), 2), SampleInput(np.arange(6.0), _array(6, 2), 1)],
    "polymul": [SampleInput(_array(3), _array(4))],
    "i0": [SampleInput(_array(5)), SampleInput(_array(2, 3))],
    "roots": [SampleInput(_array(4))],
    "packbits": [SampleInput(_array(9, dtype=uint8)), SampleInput(_array(2, 9, dtype=uint8), axis=1)],
    "unpackbits": [SampleInput(_array(3, dtype=uint8)), SampleInput(_array(2, 3, dtype=uint8), axis=1, count=4)],
    "histogram2d": [
        SampleInput(_array(20), _array(20, seed=1)),
        SampleInput(_array(20), _array(20, seed=1), bins=(3, 4)),
    ],
    "histogramdd": [SampleInput(_array(20, 2), bins=3, range=[(0, 9), (0, 9)])],
    "linalg.eig": [SampleInput(_array(3, 3) + _array(3, 3).T)],
    "linalg.eigvals": [SampleInput(_array(3, 3) + _array(3, 3).T)],
}


def _function(name: str) -> Any:
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _samples_of(calls: list[SampleInput]) -> Any:
    def samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
        yield from calls

    return samples


opinfos.add(
    "opaque",
    *(
        OpInfo(
            _function(name),
            name=name,
            sample_input_generator=_samples_of(calls),
            dtypes=(float64,),
            executors=("numpy",),
        )
        for name, calls in CALLS.items()
    ),
)
