"""OpInfos: selecting elements by conditions and indices, storing to them, comparing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tnp.core.dtypes import DType, complex64, float64, int32
from tnp.testing.arrays import make_array, special_values, variants
from tnp.testing.opinfo import OpInfo, SampleInput, opinfos

DTYPES = (int32, float64)
S = SampleInput
Make = Callable[..., Any]


def info(
    op: Any, samples: Callable[[Make], Iterable[SampleInput]], errors: Iterable[Any] = (), *, name: str = "",
    dtypes: tuple[DType, ...] = DTYPES,
) -> OpInfo:  # fmt: skip
    """The OpInfo of a function whose samples are made by ``samples(make)``, ``make(shape, seed)`` giving an array."""

    def generate(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
        yield from samples(lambda shape, seed=0: make_array(shape, dtype=dtype, seed=seed))

    wrong = tuple(errors)
    return OpInfo(
        op,
        name=name,
        sample_input_generator=generate,
        error_input_generator=(lambda info, device: iter(wrong)) if wrong else None,
        dtypes=dtypes,
    )


def bools(shape: Any, seed: int = 0) -> Any:
    return make_array(shape, dtype="bool", seed=seed)


def wheres(make: Make) -> Iterator[SampleInput]:
    yield S(bools((3,)), make((3,)), make((3,), 1))
    yield S(bools((2, 1)), make((3,)), 2)
    yield S(make((3,)), 1, make((2, 3), 1))
    yield S(bools((3,)), make((3,)), np.float32(1.5))
    yield S(bools(()), make(()), make((), 1))
    yield S(True, 1, 2.5)
    yield S([True, False], [1, 2], [3.5, 4])
    yield S(bools((0,)), make((0,)), 1j)
    for c in variants(bools((3, 4))):
        yield S(c, make((3, 4)), make((4,), 1))
    yield S(bools((3, 4)))
    yield S(make((5,)))


def selects(make: Make) -> Iterator[SampleInput]:
    x = make((6,))
    yield S([x < 0, x > 3], [x, x**2])
    yield S([x < 0, x > 3], [x, 2 * x.astype(float)], 7)
    yield S([bools((2, 1)), bools((3,))], [make((2, 3)), 5], default=1.5)
    yield S([bools(())], [make(())])


def masks(make: Make) -> Iterator[SampleInput]:
    for shape in ((5,), (2, 3), (0,), (2, 0)):
        for a in variants(make(shape)):
            yield S(a)


def extracts(make: Make) -> Iterator[SampleInput]:
    yield S(bools((2, 3)), make((2, 3)))
    yield S([1, 0, 2], make((3,)))


def compresses(make: Make) -> Iterator[SampleInput]:
    yield S(bools((3,)), make((3,)))
    yield S([True, False], make((3, 2)), axis=0)
    yield S([0, 2], make((3, 2)), axis=-1)
    yield S(bools((6,)), make((3, 2)))
    yield S([True], make(()))


def takes(make: Make) -> Iterator[SampleInput]:
    for a in variants(make((3, 4))):
        yield S(a, [0, 5, -1])
        yield S(a, np.array([[0, 2], [1, 1]]), axis=0)
        yield S(a, np.array([1, -1], np.int8), 1)
    yield S(make((3,)), 1)
    yield S(make((3,)), np.array(-1))
    yield S(make((3, 2)), 1, axis=1)
    yield S(make((3,)), np.array([], int))
    yield S(make((3,)), [True, False])
    for mode in ("wrap", "clip"):
        yield S(make((3,)), [-5, 7, 2, -1], mode=mode)
        yield S(make((2, 3)), [[-5], [7]], axis=1, mode=mode)


def along_axis(make: Make) -> Iterator[SampleInput]:
    yield S(make((3, 4)), np.array([[0, 3], [1, -1], [2, 2]]), axis=1)
    yield S(make((3, 4)), np.array([[2, 0, 1, -1]]), axis=0)
    yield S(make((3, 4)), np.array([[1], [0], [3]]))
    yield S(make((1, 4)), np.array([[1], [0], [3]]), axis=1)
    yield S(make((3, 4)), np.array([0, 11, -1]), axis=None)


def put_along(make: Make) -> Iterator[SampleInput]:
    yield S(make((3, 4)), np.array([[0, 3], [1, -1], [2, 2]]), 7, 1)
    yield S(make((3, 4)), np.array([[2, 0, 1, -1]]), make((1, 4), 1), axis=0)
    yield S(make((3, 4)), np.array([0, 11]), [1, 2], None)


def puts(make: Make) -> Iterator[SampleInput]:
    for a in variants(make((3, 4))):
        yield S(a, [0, 5, -1], [10, 20, 30])
    yield S(make((6,)), [0, 2, 4], [1, 2])
    yield S(make((6,)), 3, 2.7)
    yield S(make((6,)), [[0, 1], [1, 2]], make((4,), 1))
    yield S(make((6,)), [-9, 13], 5, mode="wrap")
    yield S(make((6,)), [-9, 13], 5, mode="clip")
    yield S(make((6,)), [1, 2], [])


def places(make: Make) -> Iterator[SampleInput]:
    yield S(make((6,)), bools((6,)), [1, 2])
    yield S(make((2, 3)), bools((2, 3)), make((4,), 1))
    yield S(make((3, 2))[::-1], np.ones((3, 2), bool), [9])


def putmasks(make: Make) -> Iterator[SampleInput]:
    x = make((6,))
    yield S(x, x > 0, x * 2)
    yield S(make((6,)), bools((6,)), x[:4])
    yield S(make((2, 3)), bools((2, 3)), x[:1])


def copytos(make: Make) -> Iterator[SampleInput]:
    yield S(make((2, 3)), make((3,), 1))
    yield S(make((2, 3)), 2)
    yield S(make((2, 3)), make((2, 1), 1), where=bools((3,)))
    yield S(make((2, 3)), np.float64(2.5), casting="unsafe")
    yield S(make((2, 4))[:, ::2], [1, 2])
    yield S(make(()), 3)


def fill_diagonals(make: Make) -> Iterator[SampleInput]:
    for shape in ((3, 3), (2, 4), (5, 2), (2, 2, 2)):
        for a in variants(make(shape)):
            yield S(a, 7)
    yield S(make((7, 2)), [1, 2, 3], wrap=True)
    yield S(make((3, 3)), [1, 2])


def chooses(make: Make) -> Iterator[SampleInput]:
    yield S(np.array([0, 1, 2]), [make((3,)), make((3,), 1), make((3,), 2)])
    yield S(np.array([[0], [1]]), [make((3,)), 2.5])
    yield S(np.array([0, 1]), make((2, 2)))
    yield S(np.array([-1, 7]), [make((2,)), make((2,), 1)], mode="wrap")
    yield S(np.array([-1, 7]), [make((2,)), make((2,), 1)], mode="clip")
    yield S(1, [1, 2])


def unravels(make: Make) -> Iterator[SampleInput]:
    yield S(np.array([0, 5, 3]), (2, 3))
    yield S(np.array([[0, 5], [23, 3]]), (2, 3, 4), order="F")
    yield S(4, (2, 3))
    yield S(np.array(4), 7)


def ravel_indices(make: Make) -> Iterator[SampleInput]:
    yield S((np.array([0, 1]), np.array([2, 1])), (2, 3))
    yield S(np.array([[0, 1], [2, 1]]), (2, 3), order="F")
    yield S((1, np.array([2, 1])), (2, 3))
    yield S((np.array([0, 4]), np.array([-2, 5])), (2, 3), mode=("clip", "wrap"))
    yield S((1, 2), (2, 3))


def closes(make: Make) -> Iterator[SampleInput]:
    x = make((4,))
    yield S(x, x)
    yield S(x, x + make((4,), 1) * 1e-9)
    yield S(x, make((2, 1), 1), rtol=0.5)
    yield S(make(()), 1)
    yield S(special_values(float64), special_values(float64), equal_nan=True)
    yield S(special_values(float64)[:, None], special_values(float64))


def equalities(make: Make) -> Iterator[SampleInput]:
    x = make((4,))
    yield S(x, x)
    yield S(x, make((4,), 1))
    yield S(x, make((2, 4)))
    yield S(make((2, 3)), make((3,)))
    yield S(make((0,)), [])
    yield S(1, 1.0)


def equal_nans(make: Make) -> Iterator[SampleInput]:
    yield S(special_values(float64), special_values(float64), equal_nan=True)
    yield S(special_values(float64), special_values(float64))


def isins(make: Make) -> Iterator[SampleInput]:
    for a in variants(make((3, 4))):
        yield S(a, make((5,), 1))
    yield S(make((3,)), make((3,)), invert=True)
    yield S(make((3,)), [])
    yield S(make(()), [1, 2, 3])
    yield S(make((4,)), make((2, 2)), assume_unique=True)
    yield S(make((4,)), [0.5, 2], kind="sort")
    yield S(special_values(float64), special_values(float64))


def infinities(make: Make) -> Iterator[SampleInput]:
    yield S(make((3,)))
    yield S(make(()))
    yield S(special_values(float64))
    yield S(special_values(float64), np.zeros(12, bool))


def complexes(make: Make) -> Iterator[SampleInput]:
    yield S(make((3,)))
    yield S(make(()))
    yield S(np.array([1 + 1j, 2]))
    yield S(np.array(1j))
    yield S(2)


def dtype_questions(x: Any, y: Any) -> Any:
    """What is known of arrays before they are computed."""
    return (
        np.result_type(x, y, 2.0),
        np.can_cast(x, np.float64),
        np.iscomplexobj(x),
        np.isrealobj(y),
        np.isscalar(x[0]),
        np.common_type(x, y),
        np.min_scalar_type(x),
        np.may_share_memory(x, x[1:]),
        np.shares_memory(x + 1, x),
    )


def pairs(make: Make) -> Iterator[SampleInput]:
    yield S(make((3,)), make((3,), 1))
    yield S(make((3,)), np.array([1, 2], np.float32))


def by_pieces(x: Any) -> Any:
    return np.piecewise(x, [x < 0, x >= 3], [lambda v: -v, lambda v: v * 2, 1])


Z3, Z23 = np.zeros(3), np.zeros((2, 3))

opinfos.add(
    "selection",
    info(np.where, wheres, [(S(Z3 > 0, Z3), ValueError, "either both or neither"), (S(Z3, Z23, np.zeros(4)), ValueError, "broadcast")]),
    info(np.select, selects, [(S([Z3 > 0], [Z3, Z3]), ValueError, "same length"), (S([Z3], [Z3]), TypeError, "boolean")]),
    info(np.nonzero, masks, [(S(np.zeros(())), ValueError, "0d")], dtypes=(*DTYPES, complex64)),
    info(np.flatnonzero, masks),
    info(np.argwhere, masks),
    info(np.extract, extracts),
    info(np.compress, compresses, [(S(Z23 > 0, Z23), ValueError, "1-d"), (S(np.ones(5), Z3), IndexError, "out of bounds")]),
    info(np.take, takes, [
        (S(Z3, [3]), IndexError, "out of bounds"),
        (S(Z3, [0], 1), np.exceptions.AxisError, "axis 1"), (S(Z3, [0], mode="no"), ValueError, "clipmode"),
    ]),
    info(np.take_along_axis, along_axis, [
        (S(Z23, np.array([[3]]), 1), IndexError, "out of bounds"), (S(Z23, np.array([0]), 1), ValueError, "dimensions"),
        (S(Z23, np.array([[0.0]]), 1), IndexError, "integer"),
    ]),
    info(np.put_along_axis, put_along, [(S(Z23.copy(), np.array([[3]]), 1, 1), IndexError, "out of bounds")]),
    info(np.put, puts, [(S(Z3.copy(), [3], 1), IndexError, "out of bounds")]),
    info(np.place, places, [(S(Z3.copy(), [True], 1), ValueError, "same size")]),
    info(np.putmask, putmasks, [(S(np.zeros(3, int), Z3 == 0, Z3), TypeError, "Cannot cast")]),
    info(np.copyto, copytos, [
        (S(np.zeros(3, int), Z3), TypeError, "Cannot cast"), (S(Z3.copy(), np.zeros(2)), ValueError, "broadcast"),
    ]),
    info(np.fill_diagonal, fill_diagonals, [
        (S(Z3.copy(), 1), ValueError, "at least 2-d"), (S(np.zeros((2, 3, 2)), 1), ValueError, "equal length"),
    ]),
    info(np.choose, chooses, [(S(np.array([2]), [Z3, Z3]), ValueError, "invalid entry")]),
    info(np.unravel_index, unravels, [(S(np.array([6]), (2, 3)), ValueError, "out of bounds")], dtypes=(int32,)),
    info(np.ravel_multi_index, ravel_indices, [
        (S((np.array([2]), np.array([0])), (2, 3)), ValueError, "invalid entry"),
    ], dtypes=(int32,)),
    info(np.isclose, closes, dtypes=(*DTYPES, complex64)),
    info(np.allclose, closes, dtypes=(*DTYPES, complex64)),
    info(np.array_equal, lambda make: [*equalities(make), *equal_nans(make)]),
    info(np.array_equiv, equalities),
    *(info(getattr(np, name), isins, [(S(Z3, Z3, kind="table"), ValueError, "table")]) for name in ("isin", "in1d") if hasattr(np, name)),
    info(np.isneginf, infinities, [(S(np.array([1j])), TypeError, "ambiguous")]),
    info(np.isposinf, infinities),
    info(np.iscomplex, complexes),
    info(np.isreal, complexes),
    info(by_pieces, lambda make: [S(make((5,)))], name="piecewise"),
    info(dtype_questions, pairs, name="dtype_questions"),
)  # fmt: skip
