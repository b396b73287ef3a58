"""OpInfos: ``numpy.linalg``. If eigenvectors or factors are unique only up to a sign, their products are compared."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core.dtypes import complex64, complex128, float16, float32, float64, int8, int32
from tnp.testing.arrays import make_array, variants
from tnp.testing.families.contractions import Cases, Make, both, errors_of, pairs, samples_of
from tnp.testing.opinfo import OpInfo, SampleInput, opinfos

#: integers stand for float64, which is what they become
DTYPES = (int32, float32, complex128)
#: LAPACK's single precision against another order of the same operations
RTOL = {float32: 2e-3, complex64: 2e-3, float64: 1e-9, complex128: 1e-9}
LinAlgError = np.linalg.LinAlgError

_SHAPES = ((3, 3), (1, 1), (2, 3, 3), (2, 1, 2, 2), (0, 0), (0, 3, 3))


def well_conditioned(make: Make, *shape: int) -> Any:
    """Random square matrices with a strong diagonal."""
    a = make(*shape)
    return a + (20 * np.eye(shape[-1])).astype(a.dtype)


def hermitian(make: Make, *shape: int) -> Any:
    """Positive definite Hermitian matrices."""
    a = make(*shape)
    return ((a + np.swapaxes(a, -1, -2).conj()) / 2).astype(a.dtype) + (60 * np.eye(shape[-1])).astype(a.dtype)


def square_cases(make: Make) -> Iterator[SampleInput]:
    for a in variants(well_conditioned(make, 3, 3)):
        yield SampleInput(a)
    for shape in _SHAPES[1:]:
        yield SampleInput(well_conditioned(make, *shape))
    yield SampleInput([[2.0, 1.0], [1.0, 3.0]])


def hermitian_cases(*options: dict[str, Any]) -> Cases:
    def cases(make: Make) -> Iterator[SampleInput]:
        for kwargs in ({}, *options):
            for a in variants(hermitian(make, 3, 3)):
                yield SampleInput(a, **kwargs)
            for shape in _SHAPES[1:]:
                yield SampleInput(hermitian(make, *shape), **kwargs)

    return cases


def matrix_cases(*options: dict[str, Any], empty: bool = True) -> Cases:
    """Matrices of all proportions, with each of the options."""
    shapes = ((3, 4), (4, 2), (2, 3, 2), *(((0, 3), (3, 0), (2, 0, 3)) if empty else ()))

    def cases(make: Make) -> Iterator[SampleInput]:
        for kwargs in options or ({},):
            for a in variants(make(4, 3)):
                yield SampleInput(a, **kwargs)
            for shape in shapes:
                yield SampleInput(make(*shape), **kwargs)

    return cases


_NOT_SQUARE: Any = (
    ((np.zeros((2, 3)),), {}, LinAlgError, "must be square"),
    ((np.zeros(3),), {}, LinAlgError, "at least two-dimensional"),
    ((np.ones((2, 2), np.float16),), {}, TypeError, "float16 is unsupported"),
)
_NOT_MATRIX = _NOT_SQUARE[1:]


def add(op: Any, cases: Cases, *errors: Any, name: str = "", dtypes: Any = DTYPES, **kwargs: Any) -> None:
    """Adds an OpInfo of this family."""
    opinfos.add(
        "linalg",
        OpInfo(
            op,
            name=name or f"linalg.{op.__name__}",
            sample_input_generator=samples_of(cases),
            error_input_generator=errors_of(*errors) if errors else None,
            dtypes=dtypes,
            rtol=kwargs.pop("rtol", RTOL),
            **kwargs,
        ),
    )


# Inverses, determinants, systems


def solve_cases(make: Make) -> Iterator[SampleInput]:
    a = well_conditioned(make, 3, 3)
    for x in variants(a):
        yield SampleInput(x, make(3, seed=1))
    yield SampleInput(a, make(3, 2, seed=1))
    yield SampleInput(well_conditioned(make, 2, 3, 3), make(3, seed=1))
    yield SampleInput(well_conditioned(make, 2, 3, 3), make(3, 2, seed=1))
    yield SampleInput(a, make(4, 3, 1, seed=1))
    yield SampleInput(well_conditioned(make, 2, 1, 2, 2), make(3, 2, 2, seed=1))
    yield SampleInput(make(0, 0), make(0))
    yield SampleInput(a, make_array((3,), dtype=float32))
    yield SampleInput(a, [1, 2, 3])


add(np.linalg.inv, square_cases, *_NOT_SQUARE, ((np.zeros((2, 2)),), {}, LinAlgError, "Singular matrix"))
add(np.linalg.det, square_cases, *_NOT_SQUARE)
add(
    np.linalg.slogdet,
    both(square_cases, lambda make: iter([SampleInput(make(3, 3)), SampleInput(0 * make(2, 2))])),
    *_NOT_SQUARE,
)
add(
    np.linalg.solve,
    solve_cases,
    ((np.zeros((2, 3)), np.zeros(2)), {}, LinAlgError, "must be square"),
    ((np.eye(2), np.zeros(3)), {}, ValueError, "mismatch in its core dimension"),
    ((np.zeros((2, 2)), np.zeros(2)), {}, LinAlgError, "Singular matrix"),
)


def tensorinv_cases(make: Make) -> Iterator[SampleInput]:
    a = well_conditioned(make, 6, 6)
    yield SampleInput(a.reshape(2, 3, 3, 2))
    yield SampleInput(a.reshape(6, 2, 3), ind=1)


def tensorsolve_cases(make: Make) -> Iterator[SampleInput]:
    a = well_conditioned(make, 6, 6)
    yield SampleInput(a.reshape(2, 3, 6), make(2, 3, seed=1))
    yield SampleInput(a.reshape(2, 3, 3, 2), make(2, 3, seed=1))
    yield SampleInput(a.reshape(2, 3, 6).transpose(2, 0, 1), make(2, 3, seed=1), axes=(0,))


add(
    np.linalg.tensorinv,
    tensorinv_cases,
    ((np.eye(4).reshape(2, 2, 2, 2), 0), {}, ValueError, "Invalid ind argument"),
)
add(
    np.linalg.tensorsolve,
    tensorsolve_cases,
    ((np.zeros((2, 3, 4)), np.zeros((2, 3))), {}, LinAlgError, "requirement"),
)


def pinv_cases(make: Make) -> Iterator[SampleInput]:
    yield from matrix_cases({}, {"rcond": 1e-4}, {"rtol": 1e-3})(make)
    yield SampleInput(make(2, 3, 2), rcond=np.array([0.5, 1e-3]))
    yield SampleInput(hermitian(make, 3, 3), hermitian=True)


add(
    np.linalg.pinv,
    pinv_cases,
    ((np.eye(2),), {"rcond": 1e-3, "rtol": 1e-3}, ValueError, "can't be both set"),
    ((np.eye(2),), {"rcond": np.ones(3)}, ValueError, "non-broadcastable output operand with shape"),
    *_NOT_MATRIX,
)


def lstsq_cases(make: Make) -> Iterator[SampleInput]:
    for a in variants(make(5, 3)):
        yield SampleInput(a, make(5, seed=1))
    yield SampleInput(make(5, 3), make(5, 2, seed=1), rcond=None)
    yield SampleInput(make(3, 5), make(3, seed=1))
    yield SampleInput(make(3, 3), make(3, 2, seed=1))
    deficient = make(5, 3)
    deficient[:, 2] = deficient[:, 0]
    yield SampleInput(deficient, make(5, seed=1), rcond=1e-5)
    yield SampleInput(make(5, 3), make(5, seed=1), rcond=-1)


add(
    np.linalg.lstsq,
    lstsq_cases,
    ((np.zeros((3, 2)), np.zeros(4)), {}, LinAlgError, "Incompatible dimensions"),
    ((np.zeros(3), np.zeros(3)), {}, LinAlgError, "two-dimensional"),
)


# Decompositions


def rebuilt_qr(a: Any, mode: Any = "reduced") -> Any:
    q, r = np.linalg.qr(a, mode)
    return q @ r, np.swapaxes(q, -1, -2).conj() @ q, np.abs(r)


def rebuilt_svd(a: Any, **kwargs: Any) -> Any:
    u, s, vh = np.linalg.svd(a, **kwargs)
    k = s.shape[-1]
    return s, (u[..., :k] * s[..., None, :]) @ vh[..., :k, :], np.swapaxes(u, -1, -2).conj() @ u


def rebuilt_eigh(a: Any, UPLO: Any = "L") -> Any:
    found = np.linalg.eigh(a, UPLO)
    v = found.eigenvectors
    return found.eigenvalues, (v * found.eigenvalues[..., None, :]) @ np.swapaxes(v, -1, -2).conj()


add(np.linalg.cholesky, hermitian_cases({"upper": True}), *_NOT_SQUARE,
    ((-np.eye(2),), {}, LinAlgError, "not positive definite"))  # fmt: skip
add(np.linalg.qr, matrix_cases({"mode": "reduced"}, {"mode": "r"}, {"mode": "raw"}), *_NOT_MATRIX,
    ((np.eye(2), "x"), {}, ValueError, "Unrecognized mode"))  # fmt: skip
add(rebuilt_qr, matrix_cases({}, {"mode": "complete"}), name="linalg.qr_rebuilt")
add(
    rebuilt_svd,
    both(
        matrix_cases({}, {"full_matrices": False}),
        lambda make: iter([SampleInput(hermitian(make, 3, 3) - hermitian(make, 1, 1), hermitian=True)]),
    ),
    *_NOT_MATRIX,
    name="linalg.svd",
)
add(
    lambda a, **kwargs: np.linalg.svd(a, compute_uv=False, **kwargs),
    both(matrix_cases({}), hermitian_cases({"hermitian": True})),
    name="linalg.svd_values",
)
add(np.linalg.svdvals, matrix_cases(), *_NOT_MATRIX)
add(rebuilt_eigh, hermitian_cases({"UPLO": "U"}), *_NOT_SQUARE, ((np.eye(2), "x"), {}, ValueError, "UPLO argument"),
    name="linalg.eigh")  # fmt: skip
add(np.linalg.eigvalsh, hermitian_cases({"UPLO": "u"}), *_NOT_SQUARE)


def eigenvalues_cases(make: Make) -> Iterator[SampleInput]:
    # Real matrices with complex eigenvalues, whose dtype no dry run foresees, run eagerly.
    a = hermitian(make, 3, 3)
    yield SampleInput(a)
    yield SampleInput(a * 1j)


add(np.linalg.eig, eigenvalues_cases, dtypes=(float64,))
add(np.linalg.eigvals, eigenvalues_cases, dtypes=(float64,))


# Powers, ranks, chains


def power_cases(make: Make) -> Iterator[SampleInput]:
    for n in (0, 1, 2, 3, 5, 6):
        yield SampleInput(make(3, 3), n)
    for n in (-1, -3):
        yield SampleInput(well_conditioned(make, 2, 3, 3), n)
    yield SampleInput(make(0, 0), 2)


def power_then_write(a: Any) -> Any:
    """The first power is the array itself."""
    np.linalg.matrix_power(a, 1)[0] = 1
    return a


def rank_cases(make: Make) -> Iterator[SampleInput]:
    for a in (make(4, 3), make(3, 4), make(2, 3, 3), make(0, 3), make(3), make(), 0 * make(3)):
        yield SampleInput(a)
    deficient = make(4, 3)
    deficient[:, 2] = deficient[:, 0]
    yield SampleInput(deficient)
    yield SampleInput(make(4, 3), tol=10.0)
    yield SampleInput(make(2, 4, 3), np.array([10.0, 1.0]))
    yield SampleInput(make(4, 3), rtol=0.5)
    yield SampleInput(hermitian(make, 3, 3), hermitian=True)


def cond_cases(make: Make) -> Iterator[SampleInput]:
    for p in (None, 2, -2, 1, -1, math.inf, -math.inf, "fro", "nuc"):
        yield SampleInput(well_conditioned(make, 3, 3), p)
    yield SampleInput(well_conditioned(make, 2, 3, 3), 1)
    yield SampleInput(make(3, 2))
    for p in (None, 1, "fro"):
        yield SampleInput(0 * make(2, 2), p)
    yield SampleInput(np.array([[1.0, 2.0], [2.0, 4.0]]), 1)
    yield SampleInput(np.array([[1e-200, 0.0], [0.0, 1e-200]]), 1)
    yield SampleInput(np.array([[1.0, np.nan], [2.0, 4.0]]), 1)


def multi_dot_cases(make: Make) -> Iterator[SampleInput]:
    for shapes in (((3, 4), (4, 2)), ((3, 4), (4, 2), (2, 5)), ((2, 9), (9, 3), (3, 8), (8, 1), (1, 4)),
                   ((4,), (4, 2), (2,)), ((4,), (4, 2), (2, 3)), ((3, 4), (4, 2), (2,)), ((4,), (4,))):  # fmt: skip
        yield SampleInput([make(*shape, seed=i) for i, shape in enumerate(shapes)])


add(np.linalg.matrix_power, power_cases, ((np.eye(2), 1.5), {}, TypeError, "must be an integer"),
    ((np.zeros((2, 3)), 2), {}, LinAlgError, "must be square"),
    ((np.zeros((2, 2)), -1), {}, LinAlgError, "Singular matrix"))  # fmt: skip
add(
    power_then_write,
    lambda make: iter([SampleInput(make(2, 2))]),
    name="linalg.matrix_power_view",
    dtypes=(float64,),
)
add(np.linalg.matrix_rank, rank_cases, ((np.eye(2), 0.1), {"rtol": 0.1}, ValueError, "can't be both set"))
add(np.linalg.cond, cond_cases, ((np.zeros((0, 0)),), {}, LinAlgError, "not defined on empty"),
    ((np.zeros((2, 3)), 1), {}, LinAlgError, "must be square"))  # fmt: skip
add(np.linalg.multi_dot, multi_dot_cases, (([np.eye(2)],), {}, ValueError, "at least two arrays"))


# Norms


def norm_cases(make: Make) -> Iterator[SampleInput]:
    for a in variants(make(3, 4)):
        yield SampleInput(a)
        yield SampleInput(a, axis=0)
    for shape in ((), (0,), (5,), (2, 3, 4)):
        yield SampleInput(make(*shape))
    order: Any
    for order in (None, 0, 1, 2, -1, 3, 2.5, math.inf, -math.inf):
        yield SampleInput(make(5), order)
        yield SampleInput(make(3, 4), order, axis=1, keepdims=True)
    for order in (None, "fro", "f", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        yield SampleInput(make(3, 4), order)
        yield SampleInput(make(2, 3, 4), order, axis=(2, 0))
        yield SampleInput(make(2, 3, 4), order, axis=(0, -1), keepdims=True)
    yield SampleInput(make(3, 4), keepdims=True)
    for order in (1, 2, np.inf):
        yield SampleInput(make(0), order)
    yield SampleInput(make(0, 3), np.inf)
    yield SampleInput([3.0, 4.0])


def half_norm_cases(make: Make) -> Iterator[SampleInput]:
    for order in (None, 1, 3, np.inf, "fro"):
        yield SampleInput(make(3, 4), order, axis=None if order == "fro" else 0)


def matrix_norm_cases(make: Make) -> Iterator[SampleInput]:
    for order in ("fro", "nuc", 1, 2, -np.inf):
        yield SampleInput(make(2, 3, 4), ord=order)
    yield SampleInput(make(2, 3, 4), keepdims=True)


def vector_norm_cases(make: Make) -> Iterator[SampleInput]:
    for order in (2, 1, 0, 3, np.inf):
        yield SampleInput(make(2, 3, 4), ord=order)
        yield SampleInput(make(2, 3, 4), ord=order, axis=(2, 0), keepdims=True)
    yield SampleInput(make(2, 3, 4), axis=1)
    yield SampleInput(make(2, 3), keepdims=True)
    yield SampleInput(make())


add(np.linalg.norm, norm_cases, ((np.zeros((2, 2)), "x"), {}, ValueError, "Invalid norm order for matrices"),
    ((np.zeros(2), "fro"), {}, ValueError, "Invalid norm order 'fro' for vectors"),
    ((np.zeros((2, 2)), None, (0, 0)), {}, ValueError, "Duplicate axes"),
    ((np.zeros((2, 2, 2)), 2), {}, ValueError, "Improper number of dimensions"),
    ((np.zeros(2), None, 1), {}, np.exceptions.AxisError, "out of bounds"))  # fmt: skip
add(np.linalg.norm, half_norm_cases, name="linalg.norm_half", dtypes=(float16, int8), rtol={float16: 1e-2})
add(np.linalg.matrix_norm, matrix_norm_cases, ((np.zeros(2),), {}, np.exceptions.AxisError, "out of bounds"))
add(np.linalg.vector_norm, vector_norm_cases, ((np.zeros(2),), {"axis": 1}, np.exceptions.AxisError, "out of bounds"))


# The Array API's names


def trace_cases(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 3))
    yield SampleInput(make(3, 4), offset=1)
    yield SampleInput(make(3, 3), dtype=np.complex128)


def cross_cases(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3), make(3, seed=1))
    yield SampleInput(make(4, 3), make(3, seed=1))
    yield SampleInput(make(3, 4), make(3, 4, seed=1), axis=0)
    yield SampleInput(make(2, 3), [1, 2, 3])


_TWO_DTYPES = (int32, complex128)
add(np.linalg.matmul, pairs(((3, 4), (4, 2)), ((2, 3, 4), (4,))), name="linalg.matmul", dtypes=_TWO_DTYPES)
add(np.linalg.outer, pairs(((3,), (2,))), ((np.zeros((2, 2)), np.zeros(2)), {}, ValueError, "one-dimensional"),
    name="linalg.outer", dtypes=_TWO_DTYPES)  # fmt: skip
add(np.linalg.tensordot, pairs(((2, 3, 4), (3, 4, 5)), ((2, 2), (2, 2))), name="linalg.tensordot", dtypes=_TWO_DTYPES)
add(
    lambda a, b, **kwargs: np.linalg.tensordot(a, b, axes=((0,), (1,))),
    pairs(((3, 2), (4, 3))),
    name="linalg.tensordot_axes",
    dtypes=_TWO_DTYPES,
)
add(np.linalg.trace, trace_cases, ((np.zeros(2),), {}, ValueError, "at least two"), name="linalg.trace",
    dtypes=_TWO_DTYPES)  # fmt: skip
add(np.linalg.diagonal, lambda make: (s for s in trace_cases(make) if not s.kwargs.get("dtype")),
    name="linalg.diagonal", dtypes=_TWO_DTYPES)  # fmt: skip
add(np.linalg.matrix_transpose, lambda make: iter([SampleInput(make(2, 3, 4))]),
    ((np.zeros(2),), {}, ValueError, "at least 2-dimensional"), name="linalg.matrix_transpose", dtypes=_TWO_DTYPES)  # fmt: skip
add(np.linalg.cross, cross_cases, ((np.zeros(2), np.zeros(2)), {}, ValueError, "3-dimensional vectors"),
    name="linalg.cross", dtypes=_TWO_DTYPES)  # fmt: skip
if hasattr(np, "vecdot"):
    add(np.linalg.vecdot, pairs(((3, 4), (3, 4)), ((4,), (4,))), name="linalg.vecdot", dtypes=_TWO_DTYPES)
