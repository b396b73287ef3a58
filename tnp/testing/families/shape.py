"""OpInfos: shape manipulation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tnp.core.dtypes import DType, float64, int32
from tnp.testing.arrays import make_array, variants
from tnp.testing.opinfo import OpInfo, SampleInput, opinfos

#: what shape functions do does not depend on the dtype: two widths and kinds are enough
DTYPES = (int32, float64)

S = SampleInput
Make = Callable[..., np.ndarray[Any, Any]]
Samples = Callable[[Make], Iterator[SampleInput]]


def reshapes(make: Make) -> Iterator[SampleInput]:
    for shape, new in (((), (1,)), ((6,), (2, 3)), ((2, 3), -1), ((0, 3), (3, 0)), ((4, 3, 2), (2, -1)), ((1,), ())):
        for a in variants(make(shape)):
            yield S(a, new)
    yield S(make((4, 3)), (3, 4), order="F")
    if "copy" in inspect.signature(np.reshape).parameters:  # since NumPy 2.1
        yield S(make((4, 3)), [2, 6], copy=True)
    yield S([1, 2, 3, 4], (2, 2))


def ravels(make: Make) -> Iterator[SampleInput]:
    for shape in ((), (3,), (2, 3), (2, 0, 3)):
        for a in variants(make(shape)):
            yield S(a)
    yield S(make((2, 3)), order="F")


def plain(*shapes: tuple[int, ...]) -> Samples:
    """Samples that are one array, of each of the shapes."""

    def samples(make: Make) -> Iterator[SampleInput]:
        for shape in shapes:
            yield S(make(shape))

    return samples


def with_arguments(shape: tuple[int, ...], *arguments: tuple[Any, ...], extra: Any = ()) -> Samples:
    """Samples of one array, in some layouts, with each of the further arguments."""

    def samples(make: Make) -> Iterator[SampleInput]:
        for rest in arguments:
            yield S(make(shape), *rest)
        for a in variants(make(shape)):
            yield S(a, *arguments[0])
        for other, rest in extra:
            yield S(make(other), *rest)

    return samples


def squeezes(make: Make) -> Iterator[SampleInput]:
    for shape in ((), (1,), (3,), (1, 3, 1), (1, 0)):
        yield S(make(shape))
    for axis in (0, -1, (0, 2), ()):
        yield S(make((1, 3, 1)), axis)
    yield S(make(())[()])


def at_least(make: Make) -> Iterator[SampleInput]:
    for shape in ((), (3,), (2, 3), (2, 3, 4), (2, 1, 2, 2)):
        yield S(make(shape))
    yield S(make((3,)), make(()), 2)
    yield S([1, 2])


def flips(make: Make) -> Iterator[SampleInput]:
    for shape in ((), (3,), (2, 3), (2, 0)):
        for a in variants(make(shape)):
            yield S(a)
    for axis in (0, -1, (0, 2), ()):
        yield S(make((2, 3, 4)), axis)


def rolls(make: Make) -> Iterator[SampleInput]:
    for shift, axis in (
        (1, None), (-7, None), (2, 0), (-1, 1), (0, 1), (5, -1), ((1, -1), (0, 1)), (1, (0, 1)), ((1, 2), 1), ((1, 1), (0, 0)),
    ):  # fmt: skip
        yield S(make((3, 4)), shift, axis)
    for a in variants(make((2, 3))):
        yield S(a, 1, 1)
        yield S(a, 1)
    yield S(make(()), 1)
    yield S(make((0,)), 1)
    yield S(make((4,)), np.int64(3))


def resizes(make: Make) -> Iterator[SampleInput]:
    for new in ((2, 3), (5,), 7, (3, 4), (), (0, 2), (2, 0)):
        yield S(make((2, 3)), new)
    yield S(make((0,)), (2, 2))
    yield S(make((3,))[::-1], (2, 2))


def sizes(make: Make) -> Iterator[SampleInput]:
    for shape in ((), (3,), (2, 0, 3)):
        yield S(make(shape))
    yield S(make((2, 3)), axis=1)


def diagonals(make: Make) -> Iterator[SampleInput]:
    for shape in ((3, 3), (2, 4), (4, 2), (0, 3)):
        for offset in (0, 1, -1, 5):
            yield S(make(shape), offset)
    yield S(make((2, 3, 4)), 1, 0, 2)
    yield S(make((2, 3, 4)), -1, -1, axis2=1)


_TABLE: tuple[tuple[Any, Samples, tuple[Any, ...]], ...] = (
    (np.reshape, reshapes, (
        (S(np.zeros(5), (2, 3)), ValueError, "cannot reshape array of size 5"),
        (S(np.zeros(6), (-1, -1)), ValueError, "can only specify one unknown dimension"),
        (S(np.zeros(6), (4, -1)), ValueError, "cannot reshape"),
        (S(np.zeros(6), 1.5), TypeError, "integer"),
    )),
    (np.ravel, ravels, ()),
    (np.transpose, with_arguments((2, 3, 4), (), ((1, -1, 0),), extra=(((), ()), ((3,), ()))), (
        (S(np.zeros((2, 3)), (0,)), ValueError, "axes don't match array"),
        (S(np.zeros((2, 3)), (0, 0)), ValueError, "repeated axis"),
        (S(np.zeros((2, 3)), (0, 2)), np.exceptions.AxisError, "out of bounds"),
    )),
    (np.matrix_transpose, plain((2, 3), (4, 2, 3)), ((S(np.zeros(3)), ValueError, "at least 2-d"),)),
    (np.swapaxes, with_arguments((2, 3, 4), (0, 2), (-1, 1), (1, 1)), (
        (S(np.zeros((2, 3)), 0, 2), np.exceptions.AxisError, "out of bounds"),
    )),
    (np.moveaxis, with_arguments((2, 3, 4), (0, -1), (2, 0), ([0, 1], [-1, 0]), ((0,), (0,)), ((2, 0), (0, 2))), (
        (S(np.zeros((2, 3)), 0, 2), np.exceptions.AxisError, "out of bounds"),
        (S(np.zeros((2, 3)), (0, 1), (0,)), ValueError, "same number of elements"),
        (S(np.zeros((2, 3)), (0, 0), (0, 1)), ValueError, "repeated axis"),
    )),
    (np.rollaxis, with_arguments((2, 3, 4), (2,), (0, 2), (1, 3), (-1, -2), (1, 1), (0, 3)), (
        (S(np.zeros((2, 3)), 0, 5), np.exceptions.AxisError, "start"),
    )),
    (np.squeeze, squeezes, (
        (S(np.zeros((2, 1)), 0), ValueError, "cannot select an axis to squeeze out"),
        (S(np.zeros((2, 1)), 2), np.exceptions.AxisError, "out of bounds"),
    )),
    (np.expand_dims, with_arguments((2, 3), (0,), (-1,), (1,), ((0, 2),), ([0, -1],), extra=(((), (0,)),)), (
        (S(np.zeros(2), 2), np.exceptions.AxisError, "out of bounds"),
        (S(np.zeros(2), (0, 0)), ValueError, "repeated axis"),
    )),
    *((f, at_least, ()) for f in (np.atleast_1d, np.atleast_2d, np.atleast_3d)),
    (np.flip, flips, ((S(np.zeros(2), 1), np.exceptions.AxisError, "out of bounds"),)),
    (np.fliplr, plain((2, 3), (2, 3, 2)), ((S(np.zeros(3)), ValueError, "2-d"),)),
    (np.flipud, plain((3,), (2, 3)), ((S(np.array(1.0)), ValueError, "1-d"),)),
    (np.rot90, with_arguments((2, 3, 2), (), (2,), (3,), (4,), (-1,), (1, (1, 2)), (1, (2, 0)), (3, (-1, 0))), (
        (S(np.zeros((2, 2)), 1, (0, 0)), ValueError, "different"),
        (S(np.zeros((2, 2)), 1, (0, 2)), ValueError, "out of range|different"),
    )),
    (np.roll, rolls, (
        (S(np.zeros((2, 2)), 1, 2), np.exceptions.AxisError, "out of bounds"),
        (S(np.zeros((2, 2)), (1, 2, 3), (0, 1)), ValueError, "broadcast|mismatch"),
    )),
    (np.diagonal, diagonals, (
        (S(np.zeros(3)), ValueError, "at least two dimensions"),
        (S(np.zeros((3, 3)), 0, 1, 1), ValueError, "cannot be the same"),
    )),
    (np.resize, resizes, ((S(np.zeros(3), (-1, 2)), ValueError, "non-negative"),)),
    (np.shape, plain((), (3,), (2, 0, 3)), ()),
    (np.ndim, plain((), (3,), (2, 0, 3)), ()),
    (np.size, sizes, ()),
)  # fmt: skip


def info_of(
    op: Any,
    samples: Samples,
    errors: tuple[Any, ...],
    dtypes: tuple[DType, ...] = DTYPES,
    *,
    name: str = "",
    reference: Any = None,
) -> OpInfo:
    """The OpInfo of a row: samples are made from a function ``make(shape, **options)`` that makes arrays."""

    def generate(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
        return samples(lambda shape, **options: make_array(shape, dtype=dtype, **options))

    def wrong(info: OpInfo, device: str) -> Iterator[Any]:
        yield from errors

    return OpInfo(
        op,
        name,
        sample_input_generator=generate,
        error_input_generator=wrong if errors else None,
        numpy_reference=reference,
        dtypes=dtypes,
    )


opinfos.add("shape", *(info_of(op, samples, errors) for op, samples, errors in _TABLE))
