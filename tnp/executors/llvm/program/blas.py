"""Large matrix products in programs, by the BLAS that NumPy uses, called through a pointer.

The routine and its arguments are those of NumPy's ``matmul`` (numpy/_core/src/umath/matmul.c.src, ``@TYPE@_matmul_matrix_matrix``
and ``@TYPE@_gemv``), so results are bitwise equal: ``gemv`` if an operand is one row or column, ``syrk`` for a matrix
times its own transpose, else ``gemm``. Rows or columns of a matrix must be contiguous and must not overlap; other
operands are copied.
"""

from __future__ import annotations

from typing import Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm import scalars
from tnp.executors.llvm.library import defined
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.program.integers import Int
from tnp.executors.llvm.program.ir import Operand, constant
from tnp.executors.llvm.program.lowering import ZERO, Program
from tnp.executors.llvm.program.values import Array, StridedView, Thunk

__all__ = ["large_product", "multiplies"]

_LETTERS = {dtypes.float32: "s", dtypes.float64: "d", dtypes.complex64: "c", dtypes.complex128: "z"}

#: ``CBLAS_ORDER``, ``CBLAS_TRANSPOSE``, ``CBLAS_UPLO``
ROW_MAJOR, COLUMN_MAJOR, PLAIN, TRANSPOSED, UPPER = 101, 102, 111, 112, 121

#: the kinds of arguments: enumerations, integers, factors, arrays
_SIGNATURES = {"gemm": "eeeiiifpipifpi", "gemv": "eeiifpipifpi", "syrk": "eeeiifpifpi"}


def multiplies(dtype: DType) -> bool:
    """Whether there is a library for products of that dtype."""
    letter = _LETTERS.get(dtype)
    return letter is not None and all(defined(letter + name, "cblas") for name in _SIGNATURES if name != "syrk")


def large_product(p: Program, a: Array, b: Array, dtype: DType) -> StridedView:
    """The product of two matrices, in memory of its own."""
    rows, inner, columns = a.shape[0], a.shape[1], b.shape[1]
    made = p.temporary([rows, columns], dtype)
    if inner.low < 1:  # some libraries do nothing then
        zero = constant(0, dtype)
        p.fill(made, Thunk(made.shape, dtype, lambda p, at: zero))
    if rows.known == 1:
        _matrix_times_vector(p, _matrix(p, _transposed(_place(p, b))), _vector(p, a, 1), made, 1)
    elif columns.known == 1:
        _matrix_times_vector(p, _matrix(p, a), _vector(p, b, 0), made, 0)
    else:
        _matrix_times_matrix(p, _matrix(p, a), _matrix(p, b), made)
    return made


def _place(p: Program, x: Array) -> StridedView:
    return x if isinstance(x, StridedView) else p.force(x)


def _transposed(x: StridedView) -> StridedView:
    return x.like(x.offset, x.shape[::-1], x.strides[::-1])


def _is_row_major(x: StridedView) -> bool:
    """Whether a library takes it as rows, each behind the one before."""
    (far, near), size = x.strides, x.dtype.itemsize
    leading = Int.of(far).divided(size)
    return near == size and leading is not None and leading.low >= 1 and (leading - x.shape[1]).low >= 0


def _matrix(p: Program, x: Array) -> StridedView:
    place = _place(p, x)
    return place if _is_row_major(place) or _is_row_major(_transposed(place)) else p.force(place)


def _vector(p: Program, x: Array, dim: int) -> StridedView:
    place, size = _place(p, x), x.dtype.itemsize
    step = Int.of(place.strides[dim])
    return place if step.low >= size and step.divided(size) is not None else p.force(place)


def _matrix_times_vector(p: Program, a: StridedView, x: StridedView, made: StridedView, dim: int) -> None:
    """``a @ x``; ``x`` and the result lie along that dimension, or the other one."""
    size = made.dtype.itemsize
    order, leading = (COLUMN_MAJOR, a.strides[0]) if _is_row_major(a) else (ROW_MAJOR, a.strides[1])
    steps = [Int.of(y.strides[dim]).divided(size) for y in (x, made)]
    _call(p, "gemv", made.dtype, order, TRANSPOSED, a.shape[1], a.shape[0], 1, a, Int.of(leading).divided(size), x, steps[0], 0,
        made, steps[1])  # fmt: skip


def _matrix_times_matrix(p: Program, a: StridedView, b: StridedView, made: StridedView) -> None:
    size, dtype = made.dtype.itemsize, made.dtype
    kinds, leading = [], []
    for x in (a, b):
        plain = _is_row_major(x)
        kinds.append(PLAIN if plain else TRANSPOSED)
        leading.append(Int.of(x.strides[0 if plain else 1]).divided(size))
    behind = Int.of(made.strides[0]).divided(size)
    if a.same_as(_transposed(b)) and kinds[0] != kinds[1] and defined(_LETTERS[dtype] + "syrk", "cblas"):
        _call(p, "syrk", dtype, ROW_MAJOR, UPPER, kinds[0], a.shape[0], a.shape[1], 1, a, leading[0], 0, made, behind)
        with p.loop(ZERO, made.shape[0]) as i, p.loop(ZERO, i) as j:
            p.store(made, (i, j), p.load(made, (j, i)))
        return
    _call(p, "gemm", dtype, ROW_MAJOR, *kinds, a.shape[0], b.shape[1], a.shape[1], 1, a, leading[0], b, leading[1], 0,
        made, behind)  # fmt: skip


def _call(p: Program, name: str, dtype: DType, *args: Any) -> None:
    """Calls a routine. Factors of complex products are passed by address."""
    letter, code = _LETTERS[dtype], p.code
    symbol = defined(letter + name, "cblas")
    if symbol is None:
        raise Refused(f"no library's {letter}{name}")
    factor = "ptr" if dtype.kind == "c" else scalars.register_type(dtype)
    types = {"e": "i32", "i": "i64", "f": factor, "p": "ptr"}
    operands: list[Operand] = []
    for kind, x in zip(_SIGNATURES[name], args):
        if kind == "p":
            operands.append(code.address(x.memory.pointer, x.where((ZERO, ZERO))))
        elif kind == "f":
            operands.append(_factor(p, x, dtype))
        else:
            operands.append(Int.of(x))
    code.do("call", *operands, info=(f"@{symbol}", [types[kind] for kind in _SIGNATURES[name]]))


def _factor(p: Program, x: int, dtype: DType) -> Operand:
    if dtype.kind != "c":
        return constant(float(x), dtype)
    cell = p.cell(dtype)
    p.code.set(cell, constant(complex(x), dtype))
    return p.code.make("place", (), None, cell)
