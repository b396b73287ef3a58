"""OpInfos: joining, splitting, repeating, padding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core.dtypes import float64, int32
from tnp.testing.arrays import variants
from tnp.testing.families.shape import Make, S, Samples, info_of
from tnp.testing.opinfo import SampleInput, opinfos

DTYPES = (int32, float64)


def concatenations(make: Make) -> Iterator[SampleInput]:
    yield S([make((2, 3)), make((1, 3))])
    yield S((make((2, 3)), make((2, 1))), -1)
    yield S((make((2, 3)), make((0, 3))), axis=0)
    yield S([make((2, 3)), make((4,)), make(())], None)
    yield S([make((3,)), 2.5, 1], None)
    yield S([make((3,))])
    yield S((make((3,)), make((2,)).astype(np.float32), [True, False]))
    yield S((make((3,)), make((2,))), dtype=np.complex128)
    yield S((make((3,)), make((2,))), dtype="int8", casting="unsafe")
    yield S(make((2, 3, 2)), 1)
    for a in variants(make((2, 3))):
        yield S((a, a), 1)


def stacks(make: Make) -> Iterator[SampleInput]:
    for axis in (0, 1, -1, -3):
        yield S([make((2, 3)), make((2, 3), seed=1)], axis)
    yield S((make(()), make((), seed=1)))
    yield S([make((3,)), [1, 2, 3], make((3,)).astype(np.float32)])
    yield S([make((2,)), make((2,))], dtype=np.float32, casting="unsafe")
    yield S(make((2, 3)), 1)


def sequences(*groups: tuple[tuple[int, ...], ...]) -> Samples:
    """Samples that are one sequence of arrays, of the shapes of each group."""

    def samples(make: Make) -> Iterator[SampleInput]:
        for shapes in groups:
            yield S([make(shape, seed=i) for i, shape in enumerate(shapes)])
            yield S(tuple(make(shape).astype(np.float32) for shape in shapes))
        yield S(make((2, 3)))
        yield S([make(groups[0][0]), make(groups[0][0]).tolist()])

    return samples


def blocks(make: Make) -> Iterator[SampleInput]:
    yield S([[make((2, 2)), make((2, 1))], [make((1, 2)), make((1, 1))]])
    yield S([make((3,)), make((2,)), 1.5])
    yield S(make((2, 2)))
    yield S([[make((2,))], [make((2,))]])
    yield S([[[make((1, 2, 2)), make((1, 2, 1))]]])


def unstacks(make: Make) -> Iterator[SampleInput]:
    yield S(make((2, 3)))
    yield S(make((2, 3)), axis=-1)
    yield S(make((0, 3)))
    yield S(make((3,)))


def splits(make: Make) -> Iterator[SampleInput]:
    for cuts in (3, 1, [2, 4], (3,), [], [4, 2], [-2], [0, 9]):
        yield S(make((6, 2)), cuts)
    yield S(make((2, 6)), 2, 1)
    yield S(make((2, 6)), [1, 3], axis=-1)
    for a in variants(make((2, 6))):
        yield S(a, 3, 1)


def array_splits(make: Make) -> Iterator[SampleInput]:
    yield from splits(make)
    yield S(make((7,)), 3)
    yield S(make((2,)), 4)


def halves(shape: tuple[int, ...]) -> Samples:
    """Samples of an array cut in two, and at 1."""

    def samples(make: Make) -> Iterator[SampleInput]:
        yield S(make(shape), 2)
        yield S(make(shape), [1])

    return samples


def hsplits(make: Make) -> Iterator[SampleInput]:
    yield S(make((4,)), 2)
    yield S(make((3, 4)), 2)


def appends(make: Make) -> Iterator[SampleInput]:
    yield S(make((2, 3)), make((4,)))
    yield S(make((2, 3)), make((1, 3)), 0)
    yield S(make((2,)), 3.5)
    yield S(make((2,)), [1, 2])
    yield S([1, 2], make((2,)), axis=-1)


def deletions(make: Make) -> Iterator[SampleInput]:
    for obj in (0, -1, [0, 2], [], slice(1, 3), slice(None, None, 2), [True, False, True, False], [-1, 0], [1, 1]):
        yield S(make((4,)), obj)
        yield S(make((4, 2)), obj, 0)
    yield S(make((2, 4)), 2, axis=-1)
    yield S(make((2, 2)), 1)
    yield S(make((0,)), [])
    for a in variants(make((3, 3))):
        yield S(a, 1, 1)


def insertions(make: Make) -> Iterator[SampleInput]:
    yield S(make((4,)), 1, 9)
    yield S(make((4,)), -1, [1, 2, 3])
    yield S(make((4,)), 4, 2.7)
    yield S(make((4,)), [1, 3], 5)
    yield S(make((4,)), [3, 1], [5, 6])
    yield S(make((4,)), [2, 2], [7, 8])
    yield S(make((4,)), [2], [7, 8])
    yield S(make((4,)), slice(1, 3), [7, 8])
    yield S(make((2, 3)), 1, 5)
    yield S(make((2, 3)), 1, make((3,)), axis=0)
    yield S(make((2, 3)), 1, make((2,)), axis=1)
    yield S(make((2, 3)), [0, 2], make((2, 2)), axis=1)
    yield S(make((2, 3)), [0], make((2, 1)), axis=1)
    yield S(make((2, 3)), [], 1, axis=1)
    yield S(make((0,)), 0, 1)


def tilings(make: Make) -> Iterator[SampleInput]:
    for reps in (2, (2, 1), (2, 3), (1, 2, 1), 1, (), 0, [2, 0]):
        yield S(make((2, 3)), reps)
    yield S(make(()), 3)
    yield S(make(()), ())
    yield S([1, 2], 2)
    for a in variants(make((2, 2))):
        yield S(a, (2, 2))


def repeats(make: Make) -> Iterator[SampleInput]:
    for axis in (None, 0, 1, -1):
        yield S(make((2, 3)), 2, axis)
    yield S(make((3,)), [1, 0, 3])
    yield S(make((2, 3)), (2, 1), axis=0)
    yield S(make((2, 3)), [2], 1)
    yield S(make((2, 3)), 0, 1)
    yield S(make(()), 3)
    yield S(3, 4)
    for a in variants(make((2, 3))):
        yield S(a, 2, 0)


def pads(make: Make) -> Iterator[SampleInput]:
    for width in (1, (2, 1), ((1, 0), (0, 2)), ((1, 2),), 0):
        yield S(make((2, 3)), width)
    yield S(make((3,)), 2, "constant", constant_values=(4, 5))
    yield S(make((2, 2)), 1, constant_values=((1, 2), (3, 4)))
    yield S(make((2, 2)), 1, constant_values=2.5)
    yield S(make(()), 0)
    for mode in ("edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "minimum", "mean"):
        yield S(make((3, 4)), ((1, 2), (2, 1)), mode)
        yield S(make((3,)), (5, 4), mode)
        yield S(make((1,)), 2, mode)
    yield S(make((4,)), 2, "linear_ramp", end_values=(5, -4))
    yield S(make((4,)), 2, "maximum", stat_length=2)
    yield S(make((4,)), 2, "mean", stat_length=(1, 3))
    yield S(make((2, 3)), {-1: (1, 2)})
    for a in variants(make((2, 3))):
        yield S(a, 1, "edge")


_TABLE: tuple[tuple[Any, Samples, tuple[Any, ...]], ...] = (
    (np.concatenate, concatenations, (
        (S([]), ValueError, "need at least one array"),
        (S([np.array(1.0), np.array(2.0)]), ValueError, "zero-dimensional"),
        (S([np.zeros((2, 3)), np.zeros((2, 2))]), ValueError, "must match exactly"),
        (S([np.zeros(2), np.zeros((2, 2))]), ValueError, "same number of dimensions"),
        (S([np.zeros(2)], 1), np.exceptions.AxisError, "out of bounds"),
        (S([np.zeros(2)], dtype=np.int8), TypeError, "Cannot cast"),
    )),
    (np.stack, stacks, (
        (S([]), ValueError, "need at least one array"),
        (S([np.zeros(2), np.zeros(3)]), ValueError, "same shape"),
        (S([np.zeros(2)], 2), np.exceptions.AxisError, "out of bounds"),
    )),
    (np.vstack, sequences(((3,), (2, 3)), ((), ()), ((2, 3, 2), (1, 3, 2))), ((S([]), ValueError, "at least one"),)),
    (np.hstack, sequences(((3,), (2,)), ((), (2,)), ((2, 3), (2, 1))), ((S([]), ValueError, "at least one"),)),
    (np.dstack, sequences(((3,), (3,)), ((2, 3), (2, 3, 2)), ((), ())), ()),
    (np.column_stack, sequences(((3,), (3,)), ((3,), (3, 2)), ((), ())), ()),
    (np.block, blocks, (
        (S([]), ValueError, "empty"),
        (S([np.zeros(2), [np.zeros(2)]]), ValueError, "mismatched"),
    )),
    *(((np.unstack, unstacks, ((S(np.array(1.0)), ValueError, "at least 1-d"),)),) if hasattr(np, "unstack") else ()),
    (np.split, splits, (
        (S(np.zeros(5), 2), ValueError, "equal division"),
        (S(np.zeros(5), 0), ZeroDivisionError, "modulo|zero"),
    )),
    (np.array_split, array_splits, ((S(np.zeros(5), 0), ValueError, "larger than 0"),)),
    (np.hsplit, hsplits, ((S(np.array(1.0), 1), ValueError, "1 or more"),)),
    (np.vsplit, halves((2, 3)), ((S(np.zeros(3), 1), ValueError, "2 or more"),)),
    (np.dsplit, halves((2, 3, 4)), ((S(np.zeros((3, 3)), 1), ValueError, "3 or more"),)),
    (np.append, appends, ((S(np.zeros((2, 2)), np.zeros(2), 0), ValueError, "same number of dimensions"),)),
    (np.delete, deletions, ((S(np.zeros(3), 3), IndexError, "out of bounds"),)),
    (np.insert, insertions, (
        (S(np.zeros(3), 5, 1), IndexError, "out of bounds"),
        (S(np.zeros(3), [0, 1], [1, 2, 3]), ValueError, "mismatch|broadcast"),
    )),
    (np.tile, tilings, ((S(np.zeros(3), -1), ValueError, "negative"),)),
    (np.repeat, repeats, (
        (S(np.zeros(3), -1), ValueError, "negative"),
        (S(np.zeros(3), [1, 2]), ValueError, "broadcast"),
    )),
    (np.pad, pads, (
        (S(np.zeros(3), -1), ValueError, "negative"),
        (S(np.zeros(0), 1, "edge"), ValueError, "empty axis"),
        (S(np.zeros(3), 1, "sideways"), ValueError, "not supported"),
    )),
)  # fmt: skip

opinfos.add("joining", *(info_of(op, samples, errors, DTYPES) for op, samples, errors in _TABLE))
