"""``scipy.sparse.linalg``: solving with the caller's sparse matrices."""

from __future__ import annotations

import sys
from typing import Any

from tnp.core import clang, dtypes
from tnp.core.errors import NeedsEager
from tnp.core.proxies import TensorProxy, pyval
from tnp.lang.numpy.registry import language
from tnp.lang.scipy.registry import own_call, scipysymbol
from tnp.lang.scipy.sparse import dense_operand, matrix_of_state, of_elements, result_of_product, sparse_array

__all__ = ["spsolve"]


def _solve(format: str, shape: tuple[int, int], options: Any, b: Any, *parts: Any) -> Any:
    return sys.modules["scipy.sparse.linalg"].spsolve(sparse_array(format, shape, parts), b, *options)


def _solve_transposed(format: str, shape: tuple[int, int], options: Any, b: Any, *parts: Any) -> Any:
    a = sparse_array(format, shape, parts).T
    return sys.modules["scipy.sparse.linalg"].spsolve(a.tocsc() if format == "csc" else a, b, *options)


def _meta(format: str, shape: tuple[int, int], options: Any, b: TensorProxy, *parts: TensorProxy) -> TensorProxy:
    dtype = result_of_product(parts[0], b)
    return TensorProxy(shape=b.shape, dtype=dtype if dtype.kind in "fc" else dtypes.float64, lang=language)


_solution = own_call("sparse.linalg.solution", _solve, _meta)
_transposed_solution = own_call("sparse.linalg.transposed_solution", _solve_transposed, _meta)


def _pull(cotangents: Any, wanted: Any, args: Any, kwargs: Any) -> list[TensorProxy]:
    format, shape, options, b, data, *places = args
    conjugate = clang.conj(data) if data.dtype.kind == "c" else data
    of_b = _transposed_solution(format, shape, options, cotangents[0], conjugate, *places)
    found = []
    for i in wanted:
        if i == 0:
            found.append(clang.convert(of_b, b.dtype))
        else:
            each = of_elements(format, data, places, clang.neg(of_b), _solution(*args))
            found.append(clang.convert(each, data.dtype))
    return found


_solution.pulls_back = _pull


@scipysymbol("sparse.linalg.spsolve", whole=False)
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: Any = True) -> TensorProxy:
    """``x`` with ``A @ x = b`` for a sparse matrix, and one vector or a matrix of several."""
    if not isinstance(A, dict) or A["format"] not in ("csr", "csc"):
        raise NeedsEager("it solves with what is no matrix in compressed format")
    format, shape, parts = matrix_of_state(A)
    b = dense_operand(b, shape[0])
    if shape[0] != shape[1] or (b.ndim == 2 and b.shape[1] == 1):
        raise NeedsEager("it solves with one column, which SciPy makes a vector")
    made: TensorProxy = _solution(format, shape, (permc_spec, pyval(use_umfpack)), b, *parts)
    return made
