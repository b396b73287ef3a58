"""OpInfos: making arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core.dtypes import bool8, complex64, float32, float64, int32
from tnp.lang import numpy as lnp
from tnp.testing.arrays import variants
from tnp.testing.families.shape import Make, S, Samples, info_of
from tnp.testing.opinfo import SampleInput, opinfos

DTYPES = (int32, float64)
#: for functions whose samples do not depend on a dtype
ONE_DTYPE = (float64,)


def conversions(make: Make) -> Iterator[SampleInput]:
    for a in variants(make((2, 3))):
        yield S(a)
        yield S(a, np.float32)
    for x in (make(()), make(())[()], make((0,)), 3, 2.5, True, 1j, [], [1, 2], [[1, 2.5], [3, True]], ((1,), (2,))):
        yield S(x)
    for x in (make(())[()], 3, [[1, 2.5], [3, True]]):
        yield S(x, dtype=complex)
    yield S([make((3,)), make((3,)).astype(np.float32)])
    yield S([make(())[()], 2.5])
    yield S([[make(())[()], np.float32(1)], [2, True]])


def arrays(make: Make) -> Iterator[SampleInput]:
    yield from conversions(make)
    yield S(make((3,)), ndmin=2)
    yield S(make((2, 3)), copy=False)
    yield S([1, 2], "int8", ndmin=3)
    yield S(range(4))


def as_arrays(make: Make) -> Iterator[SampleInput]:
    yield from conversions(make)
    for order in ("C", "F"):
        yield S(make((2, 3)), order=order)
        yield S(make((2, 3)).T, order=order)
    yield S(make((3,)), copy=True)


def copies(make: Make) -> Iterator[SampleInput]:
    for a in variants(make((2, 3))):
        yield S(a)
    for x in (make(()), make(())[()], 3, [1, 2]):
        yield S(x)


def exported(make: Make) -> Iterator[SampleInput]:
    for a in variants(make((2, 3))):
        yield S(a)
    yield S(make((2, 3)), copy=True)


def shapes(make: Make) -> Iterator[SampleInput]:
    for shape in ((), 3, (2, 3), [2, 0], (np.int64(2), 1)):
        yield S(shape)
    for dtype in (int, np.float32, "c8", bool, np.dtype(np.uint8)):
        yield S((2,), dtype)
    yield S((2, 3), order="F")


def likes(make: Make) -> Iterator[SampleInput]:
    for shape in ((), (3,), (2, 0)):
        yield S(make(shape))
    yield S(make((2, 3)).T, np.float32)
    yield S(make((2, 3)), shape=(4,))
    yield S(make((2, 3)), dtype=bool, shape=2)
    yield S(2.5)
    yield S([1, 2])


def fulls(make: Make) -> Iterator[SampleInput]:
    for value in (3, 2.5, True, 1j, np.float32(1.5), make(()), make((3,)), [1, 2, 3]):
        yield S((2, 3), value)
    for value in (2.5, make((3,))):
        yield S((2, 3), value, dtype=np.complex64)
    yield S(2, 2.7, int)
    yield S((), 5)
    yield S((2,), float("nan"))
    yield S((2,), 3, "uint8")
    yield S((2,), 2.5, bool)


def full_likes(make: Make) -> Iterator[SampleInput]:
    for value in (3, 2.5, np.float32(1.5), make(()), make((3,)), [1, 2, 3]):
        yield S(make((2, 3)), value)
        yield S(make((2, 3)), value, dtype=np.float32)
    yield S(make((2, 3)), 1, shape=(4,))


def ranges(make: Make) -> Iterator[SampleInput]:
    for bounds in (
        (5,), (0,), (-3,), (2, 7), (7, 2), (7, 2, -2), (1, 10, 3), (2.5,), (0, 1, 0.1), (1.0, 2.0, 0.3), (0.5, -1.0, -0.25),
        (True,), (3, None), (1, 4, 1.0), (np.int32(3),), (np.float32(2.5),), (0, 2**40, 2**38), (1.1, 1.1), (0, 5e-324, 1),
    ):  # fmt: skip
        yield S(*bounds)
    for dtype in (float, np.float32, np.int8, np.uint8, np.float16, complex):
        yield S(1, 6, dtype=dtype)
        yield S(0.5, 4, dtype=dtype)
    yield S(5, 0, -1, dtype=np.uint8)
    yield S(2, dtype=bool)
    yield S(0, 10, step=3)
    yield S(2, stop=5)


def spaces(make: Make) -> Iterator[SampleInput]:
    for args in ((0, 1), (0, 1, 5), (2.5, -1, 4), (0, 1, 1), (0, 1, 0), (3, 3, 4), (np.float32(0), np.float32(1), 7)):
        yield S(*args)
        yield S(*args, endpoint=False)
    yield S(0, 10, 7, dtype=int)
    yield S(0, 1, 5, dtype=np.float32)
    yield S(-2, 2, 5, dtype=np.complex64)
    yield S(make((3,)), make((3,), seed=1), 4)
    yield S(make((2, 1)), make((3,), seed=1), 4, axis=-1)
    yield S(make(()), 5, 3, axis=0)
    yield S([0, 1], 4, 3, True, axis=1)


def linspaces(make: Make) -> Iterator[SampleInput]:
    yield from spaces(make)
    yield S(0, 1j, 3)
    yield S(0, 1, 5, retstep=True)
    yield S(0, 1, 1, retstep=True)
    yield S(make((3,)), 1, 5, endpoint=False, retstep=True)


def logspaces(make: Make) -> Iterator[SampleInput]:
    for args in ((0, 1), (0, 2, 5), (2.5, -1, 4), (0, 1, 1), (0, 1, 0), (np.float32(0), np.float32(1), 7)):
        yield S(*args)
        yield S(*args, endpoint=False)
    yield S(0, 3, 4, base=2)
    yield S(0, 3, 4, base=2.5, dtype=np.float32)
    yield S(make((3,), low=0, high=2), 2, 4, axis=1)


def geomspaces(make: Make) -> Iterator[SampleInput]:
    for args in ((1, 1000, 4), (1, 256, 9), (1000, 1, 4), (-1000, -1, 4), (2, 3, 1), (2, 3, 0), (1, 8, 2)):
        yield S(*args)
        yield S(*args, endpoint=False)
    yield S(1, 100, 5, dtype=np.float32)
    yield S(1, 256, 9, dtype=int)
    yield S([1.0, 2.0], 8, 3, axis=1)


def eyes(make: Make) -> Iterator[SampleInput]:
    for args in ((3,), (0,), (2, 4), (3, 2, 1), (3, 3, -2), (2, 2, 5)):
        yield S(*args)
    yield S(3, dtype=int)
    yield S(3, dtype=bool)
    yield S(2, 3, dtype=np.complex64, order="F")


def identities(make: Make) -> Iterator[SampleInput]:
    yield S(3)
    yield S(2, np.int8)


def triangles(make: Make) -> Iterator[SampleInput]:
    for args in ((3,), (0,), (2, 4), (3, 2, 1), (3, 3, -2), (2, 2, 5)):
        yield S(*args)
    yield S(3, dtype=int)


def triangles_of(make: Make) -> Iterator[SampleInput]:
    for shape in ((3,), (3, 3), (2, 4), (2, 3, 2), (0, 2)):
        for k in (0, 1, -1):
            yield S(make(shape), k)
    for a in variants(make((3, 3))):
        yield S(a)
    yield S([[1, 2], [3, 4]])


def diagonals(make: Make) -> Iterator[SampleInput]:
    for shape in ((3,), (0,), (1,), (3, 3), (2, 4)):
        for k in (0, 1, -2):
            yield S(make(shape), k)
    yield S(make((3,))[::-1])
    yield S([1, 2, 3])


def flat_diagonals(make: Make) -> Iterator[SampleInput]:
    for shape in ((), (3,), (2, 2), (0,)):
        for k in (0, 1, -2):
            yield S(make(shape), k)


def vandermondes(make: Make) -> Iterator[SampleInput]:
    yield S(make((4,)))
    for n in (0, 1, 3):
        yield S(make((3,)), n)
        yield S(make((3,)), N=n, increasing=True)
    yield S(make((0,)))
    yield S([1, 2, 3])


def index_grids(make: Make) -> Iterator[SampleInput]:
    for shape in ((2, 3), (3,), (), (2, 0)):
        yield S(shape)
    yield S((2, 3), dtype=float)
    yield S((2, 3), sparse=True)


def meshes(make: Make) -> Iterator[SampleInput]:
    x, y, z = make((3,)), make((2,), seed=1), make((4,), seed=2)
    for indexing in ("xy", "ij"):
        yield S(x, y, indexing=indexing)
        yield S(x, y, z, indexing=indexing)
        yield S(x, y, indexing=indexing, sparse=True)
        yield S(x, indexing=indexing)
    yield S(x, y, copy=False)
    yield S(x, 2.5)
    yield S([1, 2], [3.5, 4])
    yield S()


def open_meshes(make: Make) -> Iterator[SampleInput]:
    yield S([0, 1], [2, 4])
    yield S(make((3,), low=0), [1, 2, 3], make((2,), low=0))
    yield S(np.array([True, False, True]), [0, 1])
    yield S([], [1])


def triangle_positions(make: Make) -> Iterator[SampleInput]:
    for args in ((3,), (0,), (3, 1), (3, -1), (3, 0, 4), (4, 1, 2), (2, 5), (2, -5)):
        yield S(*args)


def triangle_positions_of(make: Make) -> Iterator[SampleInput]:
    for shape in ((3, 3), (2, 4), (4, 2)):
        yield S(make(shape))
        yield S(make(shape), 1)


def diagonal_positions(make: Make) -> Iterator[SampleInput]:
    for args in ((3,), (2, 3), (0,)):
        yield S(*args)


def diagonal_positions_of(make: Make) -> Iterator[SampleInput]:
    yield S(make((3, 3)))
    yield S(make((2, 2, 2)))


def broadcasts(make: Make) -> Iterator[SampleInput]:
    for shape, wide in (
        ((), (2, 3)),
        ((3,), (2, 3)),
        ((2, 1), (2, 3)),
        ((2, 3), (2, 3)),
        ((1,), (0,)),
        ((), ()),
        ((1,), 4),
    ):
        yield S(make(shape), wide)
    for a in variants(make((2, 3))):
        yield S(a, (4, 2, 3))
    yield S(2.5, (2,))


def broadcast_pairs(make: Make) -> Iterator[SampleInput]:
    yield S(make((2, 1)), make((3,)))
    yield S(make((2, 3)), make((2, 3)))
    yield S(make(()), make((2,)), make((2, 1)))
    yield S(make((2, 3)), make(()))
    yield S(make((0, 1)), make((1, 3)))


_TABLE: tuple[tuple[Any, Samples, tuple[Any, ...], tuple[Any, ...]], ...] = (
    (np.array, arrays, DTYPES, (
        (S([[1, 2], [3]]), ValueError, "inhomogeneous"),
        (S([1, 2], copy=False), ValueError, "Unable to avoid copy"),
    )),
    (np.asarray, as_arrays, DTYPES, ((S([1, 2], copy=False), ValueError, "Unable to avoid copy"),)),
    (np.asanyarray, conversions, ONE_DTYPE, ()),
    (np.ascontiguousarray, conversions, ONE_DTYPE, ()),
    (np.asfortranarray, conversions, ONE_DTYPE, ()),
    (np.copy, copies, DTYPES, ()),
    (np.from_dlpack, exported, ONE_DTYPE, ((S([1, 2]), AttributeError, "__dlpack__"),)),
    *((f, shapes, ONE_DTYPE, (
        (S(-1), ValueError, "negative dimensions"),
        (S((2, 1.5)), TypeError, "integer"),
        (S(2, "nonsense"), TypeError, "not understood"),
    )) for f in (np.zeros, np.ones)),
    (np.zeros_like, likes, DTYPES, ()),
    (np.ones_like, likes, DTYPES, ()),
    (np.full, fulls, DTYPES, (
        (S((2, 3), [1, 2]), ValueError, "broadcast"),
        (S(2, 300, np.uint8), OverflowError, "out of bounds"),
    )),
    (np.full_like, full_likes, DTYPES, ()),
    (np.arange, ranges, ONE_DTYPE, (
        (S(), TypeError, "stop"),
        (S(1, 2, 0), ZeroDivisionError, ""),
        (S(0, float("nan")), ValueError, "cannot compute length"),
        (S(5, dtype=bool), TypeError, "no fill-function|booleans"),
    )),
    (np.linspace, linspaces, (int32, float32), (
        (S(0, 1, -1), ValueError, "non-negative"),
        (S(0, 1, 2.5), TypeError, "integer"),
    )),
    (np.logspace, logspaces, ONE_DTYPE, ()),
    (np.geomspace, geomspaces, ONE_DTYPE, ((S(0, 1), ValueError, "cannot include zero"),)),
    (np.eye, eyes, ONE_DTYPE, ()),
    (np.identity, identities, ONE_DTYPE, ()),
    (np.tri, triangles, ONE_DTYPE, ()),
    (np.tril, triangles_of, (*DTYPES, bool8), ((S(np.array(1.0)), TypeError, ""),)),
    (np.triu, triangles_of, (*DTYPES, bool8), ()),
    (np.diag, diagonals, (*DTYPES, bool8, complex64), ((S(np.zeros((2, 2, 2))), ValueError, "1- or 2-d"),)),
    (np.diagflat, flat_diagonals, DTYPES, ()),
    (np.vander, vandermondes, (int32, float32, bool8), ((S(np.zeros((2, 2))), ValueError, "one-dimensional"),)),
    (np.indices, index_grids, ONE_DTYPE, ()),
    (np.meshgrid, meshes, DTYPES, ((S(np.zeros(2), indexing="yx"), ValueError, "indexing"),)),
    (np.ix_, open_meshes, (int32,), ((S([[1]]), ValueError, "1 dimensional"),)),
    (np.tril_indices, triangle_positions, ONE_DTYPE, ()),
    (np.triu_indices, triangle_positions, ONE_DTYPE, ()),
    (np.tril_indices_from, triangle_positions_of, ONE_DTYPE, ((S(np.zeros(3)), ValueError, "2-d"),)),
    (np.triu_indices_from, triangle_positions_of, ONE_DTYPE, ((S(np.zeros(3)), ValueError, "2-d"),)),
    (np.diag_indices, diagonal_positions, ONE_DTYPE, ()),
    (np.diag_indices_from, diagonal_positions_of, ONE_DTYPE, (
        (S(np.zeros(3)), ValueError, "at least 2-d"),
        (S(np.zeros((2, 3))), ValueError, "equal length"),
    )),
    (np.broadcast_to, broadcasts, DTYPES, (
        (S(np.zeros(3), (4,)), ValueError, "could not be broadcast"),
        (S(np.zeros((2, 3)), (3,)), ValueError, "more dimensions"),
    )),
    (np.broadcast_arrays, broadcast_pairs, DTYPES, ((S(np.zeros(3), np.zeros(2)), ValueError, "shape mismatch"),)),
)  # fmt: skip


def _metadata_of(function: Any) -> Any:
    """``function`` with its elements, which are arbitrary, set to 0."""

    def call(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        made[...] = 0
        return made

    return call


def scalars(make: Make) -> Iterator[SampleInput]:
    for kind in (np.float64, np.float32, np.int64, np.uint8, np.complex64, np.bool):
        for x in (abs(make(())), make(())[()].real, 3, 2.5, True, abs(make((2,)))):
            yield S(kind, abs(x))
    yield S(np.float64)


opinfos.add(
    "creation",
    *(info_of(op, samples, errors, dtypes) for op, samples, dtypes, errors in _TABLE),
    *(
        info_of(_metadata_of(getattr(np, name)), samples, (), ONE_DTYPE, name=name)
        for name, samples in (("empty", shapes), ("empty_like", likes))
    ),
    info_of(lnp.scalar_of, scalars, (), (int32, complex64, float64), reference=lambda kind, *x: kind(*x)),
)
