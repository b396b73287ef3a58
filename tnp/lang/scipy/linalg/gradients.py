"""Gradients of calls: equations with matrices of a structure, solved once more with the adjoint matrix.

Giles, An extended collection of matrix derivative results for forward and reverse mode algorithmic differentiation (2008).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tnp.core import clang, prims, sizes
from tnp.core.errors import GradientError
from tnp.core.proxies import TensorProxy, pyval
from tnp.lang.numpy.linalg.operands import adjoint
from tnp.lang.scipy.linalg.operands import as_columns
from tnp.lang.scipy.registry import call_symbol

__all__: list[str] = []


def _pulls_back(name: str, *parameters: str) -> Callable[[Callable[..., dict[str, TensorProxy]]], None]:
    """Makes a function the gradient of the call of ``scipy.linalg.<name>``: of the cotangent, the result and the arguments by
    ``parameters``, it gives the cotangents of those that are arrays, by their names."""
    symbol = call_symbol(f"linalg.{name}")

    def decorate(f: Callable[..., dict[str, TensorProxy]]) -> None:
        def pull(cotangents: Any, wanted: Any, args: Any, kwargs: Any) -> list[TensorProxy]:
            given = dict(zip(parameters, args)) | {k: v for k, v in kwargs.items() if k in parameters}
            arrays = [k for k in (*parameters[: len(args)], *kwargs) if isinstance(given.get(k), TensorProxy)]
            if any(given[k].dtype is not cotangents[0].dtype for k in arrays):
                raise GradientError(f"the gradient of scipy.linalg.{name} is for arrays of one floating-point dtype")
            found = f(cotangents[0], symbol(*args, **kwargs), **given)
            return [found[arrays[i]] for i in wanted]

        symbol.pulls_back = pull

    return decorate


def _shifted(a: TensorProxy, by: int) -> TensorProxy:
    """A row moved to the left by so many elements, zeros after it; to the right for less than 0."""
    made: TensorProxy = prims.pad(a, 0, ((-by, by, 0),))
    return made


def _rows(rows: list[TensorProxy]) -> TensorProxy:
    made: TensorProxy = clang.stack(rows, 0)
    return made


def _along_diagonal(left: TensorProxy, right: TensorProxy, k: int) -> TensorProxy:
    """``-(left @ rightᴴ)[j - k, j]``, 0 where there is none."""
    conjugate = clang.conj(right) if right.dtype.kind == "c" else right
    moved = prims.pad(left, 0, ((k, -k, 0), (0, 0, 0)))
    made: TensorProxy = clang.neg(prims.sum(clang.mul(moved, conjugate), (1,)))
    return made


@_pulls_back("solve_banded", "l_and_u", "ab", "b")
def _solve_banded(g: TensorProxy, x: TensorProxy, l_and_u: Any, ab: TensorProxy, b: TensorProxy) -> Any:
    lower, upper = (pyval(n) for n in l_and_u)
    if ab.ndim != 2 or not sizes.is_known(ab.shape):
        raise GradientError("the gradient of scipy.linalg.solve_banded is for one matrix")
    conjugate = clang.conj(ab) if ab.dtype.kind == "c" else ab
    # The diagonal k of the matrix is the diagonal -k of the transposed one.
    turned = [_shifted(prims.select(conjugate, 0, upper - k), k) for k in range(-lower, upper + 1)]
    of_b = call_symbol("linalg.solve_banded")((upper, lower), _rows(turned), g)
    left, right = as_columns(of_b), as_columns(x)
    return {"b": of_b, "ab": _rows([_along_diagonal(left, right, k) for k in range(upper, -lower - 1, -1)])}


@_pulls_back("solveh_banded", "ab", "b", "overwrite_ab", "overwrite_b", "lower")
def _solveh_banded(g: TensorProxy, x: TensorProxy, ab: TensorProxy, b: TensorProxy, **options: Any) -> Any:
    if ab.ndim != 2 or not sizes.is_known(ab.shape) or ab.dtype.kind == "c":
        raise GradientError("the gradient of scipy.linalg.solveh_banded is for one real matrix")
    is_lower = bool(pyval(options.get("lower", False)))
    of_b = call_symbol("linalg.solveh_banded")(ab, g, lower=is_lower)
    left, right = as_columns(of_b), as_columns(x)
    rows = []
    for k in range(ab.shape[0]):  # each diagonal stands for the two at this distance
        here = -k if is_lower else k
        row = _along_diagonal(left, right, here)
        rows.append(clang.add(row, _along_diagonal(right, left, here)) if k else row)
    return {"b": of_b, "ab": _rows(rows if is_lower else rows[::-1])}


@_pulls_back("solve_sylvester", "a", "b", "q")
def _solve_sylvester(g: TensorProxy, x: TensorProxy, a: TensorProxy, b: TensorProxy, q: TensorProxy) -> Any:
    of_q = call_symbol("linalg.solve_sylvester")(adjoint(a), adjoint(b), g)
    back = clang.neg(adjoint(x))
    return {"q": of_q, "a": prims.matmul(of_q, back), "b": prims.matmul(back, of_q)}


@_pulls_back("solve_continuous_lyapunov", "a", "q")
def _solve_lyapunov(g: TensorProxy, x: TensorProxy, a: TensorProxy, q: TensorProxy) -> Any:
    of_q = call_symbol("linalg.solve_continuous_lyapunov")(adjoint(a), g)
    both = clang.add(prims.matmul(of_q, adjoint(x)), prims.matmul(adjoint(of_q), x))
    return {"q": of_q, "a": clang.neg(both)}
