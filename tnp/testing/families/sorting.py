"""OpInfos: sorting and sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core import dtypes
from tnp.testing.arrays import make_array, special_values, variants
from tnp.testing.families.selection import DTYPES, Make, info
from tnp.testing.opinfo import SampleInput, opinfos

S = SampleInput
_ALL = (dtypes.bool8, dtypes.int8, dtypes.uint32, dtypes.float32, dtypes.float64, dtypes.complex64)
_NANS = special_values(dtypes.float64)
_ERRORS = [
    (S(np.zeros(())), np.exceptions.AxisError, "out of bounds"),
    (S(np.zeros(3), kind="bogo"), ValueError, "sort kind"),
    (S(np.zeros(3), kind="stable", stable=True), ValueError, "same time"),
]


def sorts(make: Make) -> Iterator[SampleInput]:
    for a in variants(make((3, 4))):
        yield S(a)
        yield S(a, axis=0)
    yield S(make((2, 3)), axis=None)
    yield S(make((5,)), kind="stable")
    yield S(make((5,)), stable=True)
    yield S(make((0,)))
    yield S(_NANS)


def argsorts(make: Make) -> Iterator[SampleInput]:
    for a in variants(make((3, 7))):
        yield S(a, kind="stable")
        yield S(a, 0, "mergesort")
    yield S(make((2, 3)), axis=None, stable=True)
    yield S(np.array([3.0, 1.0, 2.0]))
    yield S(make(()))


def partition_parts(a: Any, kth: int, axis: int = -1) -> Any:
    """What np.partition promises: the kth element, and which are before and after it."""
    found = np.moveaxis(np.partition(a, kth, axis), axis, 0)
    return found[kth], np.sort(found[:kth], 0), np.sort(found[kth:], 0)


def argpartition_parts(a: Any, kth: int) -> Any:
    found = a[np.argpartition(a, kth)]
    return found[kth], np.sort(found[:kth]), np.sort(found[kth:])


def lexsorts(make: Make) -> Iterator[SampleInput]:
    yield S((make((6,)), make_array((6,), dtype="bool")))
    yield S([make((6,)), make((6,), 1), make_array((6,), dtype="int8", low=0, high=2)])
    yield S(make((2, 5)))
    yield S((make((2, 5)), make((2, 5), 1)), axis=0)


def uniques(make: Make) -> Iterator[SampleInput]:
    for a in variants(make((3, 4))):
        yield S(a)
    yield S(make((3, 4)), return_index=True, return_inverse=True, return_counts=True)
    yield S(make((9,)), True, False, True)
    yield S(make((0,)), return_inverse=True)
    yield S(make(()))
    yield S(np.array([np.nan, 1.0, np.nan, 1.0]), return_counts=True)
    yield S(np.array([np.nan, 1.0, np.nan, 1.0]), equal_nan=False)


def sets(make: Make) -> Iterator[SampleInput]:
    yield S(make((8,)), make((3, 3), 1))
    yield S(make((8,)), [1, 2, 2.5])
    yield S(make((0,)), make((3,)))
    yield S(_NANS, np.array([1.0, np.nan]))
    yield S(make((0,)), make((0,)))
    # Distinct as integers, not as the floats that they promote to.
    yield S(np.array([2**64 - 1, 2**64 - 2, 3], np.uint64), np.array([3.0, 7.5]))
    yield S(np.array([2**64 - 1, 2**64 - 2, 3], np.uint64), np.array([3.0, np.nan]))


def whole(a: Any) -> Iterator[SampleInput]:
    for shape in ((3, 4), (6,), (0,)):
        yield S(a(shape))


def sorted_unique_values(a: Any) -> Any:
    return np.sort(np.unique_values(a))


def sorts_in_place(a: Any, *args: Any, **kwargs: Any) -> Any:
    view = a[::2]
    view.sort(*args, **kwargs)
    return view


def partitions_in_place(a: Any) -> Any:
    a.partition(0)
    return a[0]


opinfos.add(
    "sorting",
    info(np.sort, sorts, _ERRORS, dtypes=_ALL),
    info(np.argsort, argsorts, _ERRORS[1:], dtypes=_ALL),
    info(
        partition_parts,
        lambda make: [S(make((9,)), 4), S(make((3, 5)), 1), S(make((3, 5)), 2, 0)],
        [(S(np.zeros(3), 5), ValueError, "out of bounds")],
        name="partition",
    ),
    info(argpartition_parts, lambda make: [S(make((9,)), 4), S(make((9,)), -1)], name="argpartition"),
    info(np.lexsort, lexsorts, [(S((np.zeros(3), np.zeros(2))), ValueError, "same shape")]),
    info(np.sort_complex, whole, dtypes=_ALL),
    info(np.unique, uniques, dtypes=_ALL),
    info(sorted_unique_values, whole, name="unique_values"),
    info(np.unique_counts, whole),
    info(np.unique_inverse, whole),
    info(np.unique_all, whole),
    *(info(f, sets) for f in (np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d)),
    info(
        sorts_in_place,
        lambda make: [S(make((7,))), S(make((4, 3)), 0), S(make((4, 3)), kind="stable")],
        name="ndarray.sort",
    ),
    info(partitions_in_place, lambda make: [S(np.array([3, 1, 2]))], name="ndarray.partition", dtypes=DTYPES[:1]),
)
