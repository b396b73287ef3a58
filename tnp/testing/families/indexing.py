"""OpInfos: subscripts. tests/lang/numpy/test_indexing.py has the rest of NumPy's rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core import dtypes
from tnp.testing.arrays import make_array, variants
from tnp.testing.families.selection import Make, info
from tnp.testing.opinfo import SampleInput, opinfos

_KEYS: tuple[Any, ...] = (
    0, (1, -1), np.s_[::-1, 1:], np.s_[..., None, ::2], [0, 1, 0], (np.array([[0], [1]]), [0, 2]), np.s_[:, [2, 0]],
    np.s_[1, [0, 0]], np.array([True, False]), True,
)  # fmt: skip
_DTYPES = (dtypes.bool8, dtypes.int32, dtypes.float64, dtypes.complex64)


def getitem(a: Any, key: Any) -> Any:
    return a[key]


def setitem(a: Any, key: Any, value: Any) -> None:
    a[key] = value


def reads(make: Make) -> Iterator[SampleInput]:
    for key in _KEYS:
        for a in variants(make((2, 3))):
            yield SampleInput(a, key)
    yield SampleInput(make((2, 3)), make_array((2, 3), dtype="bool"))
    yield SampleInput(make(()), ())


def writes(make: Make) -> Iterator[SampleInput]:
    for key in _KEYS:
        for a in variants(make((2, 3))):
            yield SampleInput(a, key, make((), 1))
        yield SampleInput(make((2, 3)), key, make((2, 3))[key])
    yield SampleInput(make((2, 3)), make_array((2, 3), dtype="bool"), True)


_WRONG = (((3,), "out of bounds"), ((0, 0, 0), "too many indices"), (1.5, "only integers"), ([9], "out of bounds"))

opinfos.add(
    "indexing",
    info(
        getitem,
        reads,
        [(SampleInput(np.zeros((2, 3)), k), IndexError, message) for k, message in _WRONG],
        name="ndarray.__getitem__",
        dtypes=_DTYPES,
    ),
    info(
        setitem,
        writes,
        [
            *((SampleInput(np.zeros((2, 3)), k, 1), IndexError, message) for k, message in _WRONG),
            (SampleInput(np.zeros((2, 3)), 0, np.zeros(2)), ValueError, "could not broadcast"),
        ],
        name="ndarray.__setitem__",
        dtypes=_DTYPES,
    ),
)
