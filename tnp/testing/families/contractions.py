"""OpInfos: products of vectors, matrices and tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tnp.core.dtypes import DType, bool8, complex64, float16, float32, float64, int8, int64
from tnp.testing.arrays import make_array, variants
from tnp.testing.opinfo import OpInfo, SampleInput, opinfos

DTYPES = (bool8, int8, float16, float64, complex64)

Make = Callable[..., Any]
Cases = Callable[[Make], Iterator[SampleInput]]


def samples_of(cases: Cases) -> Any:
    """A sample generator of a function from ``make(*shape, seed=)`` to samples."""

    def samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
        def make(*shape: int, seed: int = 0) -> Any:
            return make_array(shape, dtype=dtype, seed=seed)

        yield from cases(make)

    return samples


def errors_of(*errors: tuple[tuple[Any, ...], dict[str, Any], type[BaseException], str]) -> Any:
    """An error generator of ``(args, kwargs, error, regex)``."""

    def generate(info: OpInfo, device: str) -> Iterator[Any]:
        for args, kwargs, error, pattern in errors:
            yield SampleInput(*args, **kwargs), error, pattern

    return generate


def pairs(*shapes: tuple[tuple[int, ...], tuple[int, ...]], dtype: Any = None) -> Cases:
    """Samples of two arrays of those shapes; the first pair in other layouts too, and of two dtypes."""

    def cases(make: Make) -> Iterator[SampleInput]:
        first, second = shapes[0]
        for a in variants(make(*first)):
            for b in variants(make(*second, seed=1)):
                yield SampleInput(a, b)
        for left, right in shapes[1:]:
            yield SampleInput(make(*left), make(*right, seed=1))
        yield SampleInput(make(*first), make_array(second, dtype=float32))
        yield SampleInput(make_array(first, dtype=int64), make(*second))

    return cases


def both(*several: Cases) -> Cases:
    def cases(make: Make) -> Iterator[SampleInput]:
        for c in several:
            yield from c(make)

    return cases


_MATRIX_PAIRS = (
    ((3, 4), (4, 2)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((0, 4), (4, 2)), ((3, 0), (0, 2)), ((0,), (0,)),
)  # fmt: skip
_BATCHED_PAIRS = (
    ((2, 3, 4), (4, 2)), ((2, 3, 4), (2, 4, 2)), ((5, 1, 3, 4), (2, 4, 1)), ((4,), (2, 4, 3)), ((2, 3, 4), (4,)),
)  # fmt: skip


def lists(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3), [1, 2, 3])
    yield SampleInput([[1.5, 2.0], [0.0, 1.0]], make(2))


def scalars(make: Make) -> Iterator[SampleInput]:
    """0-d operands, Python numbers, and NumPy scalars."""
    yield SampleInput(make(3), 2)
    yield SampleInput(2.5, make(2, 3))
    yield SampleInput(make(), make(seed=1))
    yield SampleInput(make(3), make(seed=1)[()])


def matmul_options(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(3, 2, seed=1), dtype=np.complex128)


_NOT_ALIGNED = errors_of(((np.zeros((2, 3)), np.zeros((2, 3))), {}, ValueError, "not aligned|mismatch"))

_MATMUL_ERRORS = errors_of(
    ((np.zeros((2, 3)), np.zeros((2, 3))), {}, ValueError, "mismatch in its core dimension"),
    ((np.zeros((2, 3)), 2.0), {}, ValueError, "does not have enough dimensions"),
    ((np.zeros((2, 3, 4)), np.zeros((3, 4, 2))), {}, ValueError, "broadcast"),
)

_TWO_ARGUMENTS: tuple[tuple[Any, Cases, Any], ...] = (
    (np.matmul, both(pairs(*_MATRIX_PAIRS, *_BATCHED_PAIRS), lists, matmul_options), _MATMUL_ERRORS),
    (np.dot, both(pairs(*_MATRIX_PAIRS, ((2, 3, 4), (5, 4, 2)), ((2, 3, 4), (4,))), lists, scalars), _NOT_ALIGNED),
    (np.vdot, pairs(((3, 4), (3, 4)), ((12,), (3, 4)), ((), ()), ((0,), (0,))), None),
    (
        np.inner,
        both(pairs(((3, 4), (2, 4)), ((4,), (4,)), ((2, 3, 4), (4,)), ((0, 4), (2, 4))), lists, scalars),
        errors_of(((np.zeros((2, 3)), np.zeros((2, 4))), {}, ValueError, "not aligned|inner")),
    ),
    (np.outer, both(pairs(((3,), (4,)), ((2, 3), (4,)), ((0,), (2,)), ((), (3,))), lists, scalars), None),
    (np.kron, both(pairs(((2, 3), (3, 2)), ((3,), (2,)), ((2,), (2, 3, 2)), ((0, 2), (2, 2))), scalars), None),
)
opinfos.add(
    "products",
    *(
        OpInfo(op, sample_input_generator=samples_of(cases), error_input_generator=errors, dtypes=DTYPES)
        for op, cases, errors in _TWO_ARGUMENTS
    ),
)


def vector_axis(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), make(4, 1, seed=1), axis=0)


#: generalised ufuncs that came after NumPy 2.0
_LATER: dict[str, Cases] = {
    "vecdot": both(pairs(((3, 4), (3, 4)), ((4,), (4,)), ((2, 3, 4), (4,)), ((3, 0), (3, 0))), vector_axis),
    "matvec": pairs(((3, 4), (4,)), ((2, 3, 4), (5, 1, 4)), ((0, 4), (4,))),
    "vecmat": pairs(((4,), (4, 3)), ((5, 1, 4), (2, 4, 3)), ((4,), (4, 0))),
}
for _name, _cases in _LATER.items():
    if hasattr(np, _name):
        opinfos.add(
            "products",
            OpInfo(
                getattr(np, _name),
                sample_input_generator=samples_of(_cases),
                error_input_generator=errors_of(
                    ((np.zeros((2, 3)), np.zeros((4, 5))), {}, ValueError, "mismatch in its core dimension"),
                    ((np.zeros((2, 3)), 2.0), {}, ValueError, "does not have enough dimensions"),
                ),
                dtypes=DTYPES,
            ),
        )


def tensordot_cases(make: Make) -> Iterator[SampleInput]:
    for a in variants(make(2, 3, 4)):
        yield SampleInput(a, make(3, 4, 5, seed=1))
    for axes in (0, 1, ([2], [1]), ((1, 0), (0, 2)), (-1, 1), ([], [])):
        yield SampleInput(make(2, 3, 4), make(4, 4, 2, seed=1) if axes in (0, 1) else make(3, 4, 2, seed=1), axes)
    yield SampleInput(make(2, 3), make(2, 3, seed=1), axes=2)
    yield SampleInput(make(0, 3), make(3, 2, seed=1), 1)


def trace_cases(make: Make) -> Iterator[SampleInput]:
    for a in variants(make(3, 4)):
        yield SampleInput(a)
        yield SampleInput(a, 1)
        yield SampleInput(a, offset=-2)
    yield SampleInput(make(3, 4), 9)
    yield SampleInput(make(2, 3, 4), 0, 0, 2)
    yield SampleInput(make(2, 3, 4), axis1=-1, axis2=1)
    yield SampleInput(make(0, 3))
    yield SampleInput(make(3, 3), dtype=np.complex64)


def trace_errors(*extra: Any) -> Any:
    return errors_of(((np.zeros(3),), {}, ValueError, "at least two dimensions"), *extra)


#: subscripts and the shapes of their operands
EINSUMS: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] = (
    ("ij,jk->ik", ((2, 3), (3, 4))), ("ij,jk", ((2, 3), (3, 4))), ("ij,jk->ki", ((2, 3), (3, 4))),
    ("ii", ((3, 3),)), ("ii->i", ((3, 3),)), ("ij->ji", ((2, 3),)), ("ij->", ((2, 3),)), ("ij->j", ((2, 3),)),
    ("ba", ((2, 3),)), ("iij->j", ((3, 3, 2),)), ("iji->ij", ((3, 2, 3),)), ("iii->i", ((2, 2, 2),)),
    ("i,i", ((3,), (3,))), ("i,j->ij", ((3,), (2,))), ("i,i->i", ((3,), (3,))), (",i->i", ((), (3,))),
    ("bij,bjk->bik", ((2, 3, 4), (2, 4, 2))), ("bij,bjk->ikb", ((2, 3, 4), (2, 4, 2))),
    ("...ij,...jk->...ik", ((2, 1, 3, 4), (5, 4, 2))), ("...ij,jk", ((2, 3, 4), (4, 2))), ("i...->...i", ((2, 3, 4),)),
    ("...", ((2, 3),)), ("...i->...", ((2, 3),)), ("ij...,jk...->ik...", ((2, 3, 2), (3, 4, 2))),
    ("ij,ij->i", ((1, 3), (4, 3))), ("ij,j", ((2, 1), (3,))), ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 2))),
    ("ij,jk,ki->", ((2, 3), (3, 4), (4, 2))), ("ii,jj,ij->", ((2, 2), (3, 3), (2, 3))), ("ab,cd->", ((2, 3), (3, 2))),
    ("ab,cd->ac", ((2, 3), (3, 2))), ("ik,jk->ij", ((0, 3), (2, 3))), ("ik,kj", ((2, 0), (0, 3))), (" i j , j -> i ", ((2, 3), (3,))),
)  # fmt: skip


def einsum_cases(make: Make) -> Iterator[SampleInput]:
    for subscripts, shapes in EINSUMS:
        yield SampleInput(subscripts, *(make(*shape, seed=i) for i, shape in enumerate(shapes)))
    for a in variants(make(2, 3)):
        yield SampleInput("ij,jk->ik", a, make(3, 2, seed=1))
    yield SampleInput(make(2, 3), [0, 1], make(3, 4, seed=1), [1, 2], [0, 2])
    yield SampleInput(make(2, 3), [5, 1], make(3, seed=1), [1])
    yield SampleInput(make(2, 3), [..., 0], [0, ...])
    yield SampleInput("ij,jk->ik", make(2, 3), make(3, 4, seed=1), optimize=True)
    yield SampleInput("ij,j->i", make(2, 3), [1, 2, 3])
    yield SampleInput("ij,j->i", make(2, 3), make(3), dtype=np.complex128)


def einsum_then_write(a: Any) -> Any:
    """The diagonal is a view: writing to it changes the array."""
    np.einsum("ii->i", a)[...] = 1
    return a


opinfos.add(
    "products",
    OpInfo(
        np.tensordot,
        sample_input_generator=samples_of(tensordot_cases),
        error_input_generator=errors_of(
            ((np.zeros((2, 3)), np.zeros((4, 2)), 1), {}, ValueError, "shape-mismatch for sum"),
            ((np.zeros((2, 3)), np.zeros((4, 2)), ([0], [0, 1])), {}, ValueError, "shape-mismatch for sum"),
        ),
        dtypes=DTYPES,
    ),
    OpInfo(
        np.trace,
        sample_input_generator=samples_of(trace_cases),
        error_input_generator=trace_errors(
            ((np.zeros((2, 3)), 0, 1, 1), {}, ValueError, "cannot be the same"),
            ((np.zeros((2, 3)), 0, 0, 2), {}, np.exceptions.AxisError, "out of bounds"),
        ),
        dtypes=DTYPES,
    ),
    OpInfo(
        np.einsum,
        sample_input_generator=samples_of(einsum_cases),
        error_input_generator=errors_of(
            (("ij,jk", np.zeros((2, 3)), np.zeros((4, 2))), {}, ValueError, "broadcast"),
            (("ij", np.zeros(3)), {}, ValueError, "too many subscripts"),
            (("i", np.zeros((2, 3))), {}, ValueError, "subscripts"),
            (("i->ii", np.zeros(3)), {}, ValueError, "multiple times"),
            (("i->j", np.zeros(3)), {}, ValueError, "never appeared"),
            (("ii", np.zeros((1, 3))), {}, ValueError, "collapsing index"),
            (("i,j", np.zeros(3)), {}, ValueError, "more"),
            (("i...->i", np.zeros((3, 2))), {}, ValueError, "ellipsis"),
        ),
        dtypes=(bool8, int8, float64, complex64),
    ),
    OpInfo(
        einsum_then_write,
        name="einsum_view",
        sample_input_generator=samples_of(lambda make: iter([SampleInput(make(3, 3))])),
        dtypes=(float64,),
    ),
    OpInfo(
        lambda a, b: a @ b,
        name="operator.matmul",
        sample_input_generator=samples_of(pairs(((3, 4), (4, 2)), ((4,), (4,)))),
        dtypes=(int8, float64),
    ),
    OpInfo(
        lambda a, b: a.dot(b),
        name="ndarray.dot",
        sample_input_generator=samples_of(pairs(((3, 4), (4, 2)), ((4,), (4,)))),
        dtypes=(int8, float64),
    ),
    OpInfo(
        lambda a, *args, **kwargs: a.trace(*args, **kwargs),
        name="ndarray.trace",
        sample_input_generator=samples_of(trace_cases),
        dtypes=(int8, float64),
    ),
)
