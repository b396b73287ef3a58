"""Gradients of linear algebra.

If an operation reads one triangle of a Hermitian matrix (``cholesky``, ``eigh``), the cotangent is Hermitian, as in
torch and JAX: the gradient among Hermitian matrices. Formulas: Giles, An extended collection of matrix derivative
results for forward and reverse mode algorithmic differentiation (2008); for complex matrices Wan and Zhang, Automatic
differentiation for complex valued SVD (2019); for QR Walter and Lehmann, Algorithmic differentiation of linear algebra
functions (2010).
"""

from __future__ import annotations

from typing import Any

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.errors import GradientError
from tnp.core.proxies import TensorProxy
from tnp.transforms.autodiff.ops import times
from tnp.transforms.autodiff.rules import rule

__all__: list[str] = []


def adjoint(a: TensorProxy) -> TensorProxy:
    turned = clang.matrix_transpose(a)
    return clang.conj(turned) if a.dtype.kind == "c" else turned


def product(*factors: TensorProxy) -> TensorProxy:
    """The product of matrices; of a column and a row elementwise, which fuses."""
    result = factors[0]
    for f in factors[1:]:
        is_outer = type(result.shape[-1]) is int and result.shape[-1] == 1
        result = clang.mul(result, f) if is_outer else prims.matmul(result, f)
    return result


def _positions(a: TensorProxy) -> tuple[TensorProxy, TensorProxy]:
    """The row and the column of each element of square matrices."""
    rows, columns = (
        prims.broadcast_in_dim(
            prims.iota(n, device=a.device, dtype=dtypes.int64), sizes.concrete(a.shape[-2:], "a triangle"), (i,)
        )
        for i, n in enumerate(a.shape[-2:])
    )
    return rows, columns


def _where_position(condition: TensorProxy, a: TensorProxy, otherwise: Any = 0) -> TensorProxy:
    return clang.where(clang.broadcast_to(condition, a.shape), a, otherwise)


def lower(a: TensorProxy, *, strictly: bool = False) -> TensorProxy:
    """The lower triangle, zeros above it."""
    rows, columns = _positions(a)
    return _where_position((clang.gt if strictly else clang.ge)(rows, columns), a)


def on_diagonal(values: TensorProxy, a: TensorProxy) -> TensorProxy:
    """Diagonal matrices of the shape of ``a``."""
    rows, columns = _positions(a)
    wide = clang.broadcast_to(clang.expand_dims(clang.convert(values, a.dtype), (-1,)), a.shape)
    return _where_position(clang.eq(rows, columns), wide)


def _columns_scaled(a: TensorProxy, factors: TensorProxy) -> TensorProxy:
    return clang.mul(a, clang.expand_dims(clang.convert(factors, a.dtype), (-2,)))


def _rows_scaled(a: TensorProxy, factors: TensorProxy) -> TensorProxy:
    return clang.mul(a, clang.expand_dims(clang.convert(factors, a.dtype), (-1,)))


def _hermitian_part(a: TensorProxy) -> TensorProxy:
    return clang.mul(clang.add(a, adjoint(a)), 0.5)


def _over_differences(a: TensorProxy, values: TensorProxy) -> TensorProxy:
    """``a[i, j] / (values[j] - values[i])``, 0 on the diagonal and where ``a`` is 0."""
    difference = clang.sub(clang.expand_dims(values, (-2,)), clang.expand_dims(values, (-1,)))
    rows, columns = _positions(a)
    same = clang.broadcast_to(clang.eq(rows, columns), difference.shape)
    factor = clang.where(same, 0.0, clang.reciprocal(clang.where(same, 1.0, difference)))
    made: TensorProxy = times(a, clang.convert(factor, a.dtype))
    return made


@rule(prims.matmul)
def _matmul(g: TensorProxy, out: TensorProxy, a: TensorProxy, b: TensorProxy) -> Any:
    return lambda: product(g, adjoint(b)), lambda: product(adjoint(a), g)


@rule(prims.inv)
def _inv(g: TensorProxy, out: TensorProxy, a: TensorProxy) -> Any:
    back = adjoint(out)
    return clang.neg(product(back, g, back))


@rule(prims.det)
def _det(g: TensorProxy, out: TensorProxy, a: TensorProxy) -> Any:
    """The cofactors; of large matrices ``det(a) inv(a)``, which regular ones have."""
    if type(a.shape[-1]) is int and a.shape[-1] <= 3:
        return clang.mul(clang.expand_dims(g, (-1, -2)), _cofactors(clang.conj(a) if a.dtype.kind == "c" else a))
    scale = clang.mul(g, clang.conj(out) if a.dtype.kind == "c" else out)
    return clang.mul(clang.expand_dims(scale, (-1, -2)), adjoint(prims.inv(a)))


@rule(prims.slogdet)
def _slogdet(g: Any, out: Any, a: TensorProxy) -> Any:
    """``inv(a)ᴴ`` for the logarithm. The sign of a real matrix has no derivative; that of a complex one turns with the imaginary part
    of ``tr(inv(a) da)``."""
    of_sign, of_logarithm = g
    scale = None if of_logarithm is None else clang.convert(of_logarithm, a.dtype)
    if of_sign is not None and a.dtype.kind == "c":
        turned = clang.mul(clang.convert(prims.imag(clang.mul(of_sign, clang.conj(out[0]))), a.dtype), 1j)
        scale = turned if scale is None else clang.add(scale, turned)
    return None if scale is None else clang.mul(clang.expand_dims(scale, (-1, -2)), adjoint(prims.inv(a)))


def _cofactors(a: TensorProxy) -> TensorProxy:
    """Those of matrices of at most three rows."""
    n = a.shape[-1]
    if n < 2:
        return clang.full_like(a, 1)

    def at(i: int, j: int) -> TensorProxy:
        made: TensorProxy = prims.select(prims.select(a, a.ndim - 2, i % n), a.ndim - 2, j % n)
        return made

    def cofactor(i: int, j: int) -> TensorProxy:
        if n == 2:
            return at(i + 1, j + 1) if i == j else clang.neg(at(i + 1, j + 1))
        return clang.sub(clang.mul(at(i + 1, j + 1), at(i + 2, j + 2)), clang.mul(at(i + 1, j + 2), at(i + 2, j + 1)))

    found = [clang.expand_dims(cofactor(i, j), (-1,)) for i in range(n) for j in range(n)]
    made: TensorProxy = clang.reshape(prims.concatenate(found, a.ndim - 2), a.shape)
    return made


@rule(prims.solve)
def _solve(g: TensorProxy, out: TensorProxy, a: TensorProxy, b: TensorProxy) -> Any:
    of_b = prims.solve(adjoint(a), g)
    return lambda: clang.neg(product(of_b, adjoint(out))), of_b


@rule(prims.triangular_solve)
def _triangular_solve(
    g: TensorProxy, out: TensorProxy, a: TensorProxy, b: TensorProxy, *, upper: bool = False, transpose: bool = False,
    unit: bool = False,
) -> Any:  # fmt: skip
    conjugate = clang.conj(a) if a.dtype.kind == "c" else a
    of_b = prims.triangular_solve(conjugate, g, upper=upper, transpose=not transpose, unit=unit)

    def of_a() -> TensorProxy:
        whole = clang.neg(product(of_b, adjoint(out)))
        whole = clang.matrix_transpose(whole) if transpose else whole
        if upper:
            return clang.matrix_transpose(lower(clang.matrix_transpose(whole), strictly=unit))
        return lower(whole, strictly=unit)

    return of_a, of_b


@rule(prims.cholesky)
def _cholesky(g: TensorProxy, out: TensorProxy, a: TensorProxy) -> Any:
    """``L⁻ᴴ Φ(Lᴴ G) L⁻¹``, its Hermitian part; Φ takes the lower triangle and half of the diagonal."""
    inner = product(adjoint(out), g)
    rows, columns = _positions(a)
    half = clang.where(
        clang.eq(rows, columns),
        clang.full(a.shape[-2:], 0.5, dtype=dtypes.real_counterpart(a.dtype), device=a.device),
        1.0,
    )
    phi = lower(clang.mul(inner, clang.broadcast_to(clang.convert(half, a.dtype), a.shape)))
    inverse = prims.inv(out)
    return _hermitian_part(product(adjoint(inverse), phi, inverse))


@rule(prims.eigh)
def _eigh(g: Any, out: Any, a: TensorProxy, upper: bool = False) -> Any:
    """``V (diag(gw) + (Vᴴ gV) / (wⱼ - wᵢ)) Vᴴ``, its Hermitian part. Infinite for vectors of equal eigenvalues."""
    of_values, of_vectors = g
    values, vectors = out
    inner = None if of_values is None else on_diagonal(of_values, a)
    if of_vectors is not None:
        turned = _over_differences(product(adjoint(vectors), of_vectors), values)
        inner = turned if inner is None else clang.add(inner, turned)
    assert inner is not None  # the operation has a gradient if one of its results does
    return _hermitian_part(product(vectors, inner, adjoint(vectors)))


@rule(prims.eig)
def _eig(g: Any, out: Any, a: TensorProxy) -> Any:
    """``V⁻ᴴ (diag(gw) + (Vᴴ gV - Vᴴ V diag(Re Vᴴ gV)) / conj(wⱼ - wᵢ)) Vᴴ``: the vectors have length 1. Their phase is arbitrary, and
    so has no gradient."""
    of_values, of_vectors = g
    values, vectors = out
    back = adjoint(vectors)
    inner = None if of_values is None else on_diagonal(of_values, vectors)
    if of_vectors is not None:
        along = product(back, of_vectors)
        lengths = prims.real(prims.diagonal(along, 0, along.ndim - 2, along.ndim - 1))
        turned = clang.sub(along, _columns_scaled(product(back, vectors), lengths))
        turned = _over_differences(turned, clang.conj(values))
        inner = turned if inner is None else clang.add(inner, turned)
    assert inner is not None
    return prims.solve(back, product(inner, back))


@rule(prims.svd)
def _svd(g: Any, out: Any, a: TensorProxy, full: bool = False) -> Any:
    of_u, of_s, of_vh = g
    u, s, vh = out
    m, n = sizes.concrete(a.shape[-2:], "the gradient of svd")
    k = min(m, n)
    if full and m != n:
        if of_u is not None or of_vh is not None:
            raise GradientError(
                "the vectors of a full svd that belong to no singular value have no gradient; use full_matrices=False"
            )
        u, vh = (clang.slice_dim(x, 0, k, dim=d) for x, d in ((u, u.ndim - 1), (vh, vh.ndim - 2)))
    square = product(adjoint(u), u)
    inner = clang.full_like(square, 0) if of_s is None else on_diagonal(of_s, square)
    squares = clang.square(s)

    def skew(x: TensorProxy) -> TensorProxy:
        return clang.sub(x, adjoint(x))

    total = []
    if of_u is not None:
        along = skew(product(adjoint(u), of_u))
        inner = clang.add(inner, _columns_scaled(_over_differences(along, squares), s))
        if a.dtype.kind == "c":  # a phase that both sides share
            rows, columns = _positions(square)
            phase = _columns_scaled(
                _where_position(clang.eq(rows, columns), along), clang.mul(clang.reciprocal(s), 0.5)
            )
            inner = clang.add(inner, phase)
        if m > k:
            outside = clang.sub(of_u, product(u, adjoint(u), of_u))
            total.append(product(_columns_scaled(outside, clang.reciprocal(s)), vh))
    if of_vh is not None:
        of_v = adjoint(of_vh)
        along = skew(product(vh, of_v))
        inner = clang.add(inner, _rows_scaled(_over_differences(along, squares), s))
        if n > k:
            outside = clang.sub(of_vh, product(of_vh, adjoint(vh), vh))
            total.append(product(u, _rows_scaled(outside, clang.reciprocal(s))))
    result = product(u, inner, vh)
    for t in total:
        result = clang.add(result, t)
    return result


def _qr_tall(q: TensorProxy, r: TensorProxy, of_q: TensorProxy | None, of_r: TensorProxy | None) -> TensorProxy:
    """``(gQ + Q copyltu(M)) R⁻ᴴ`` with ``M = R gRᴴ - gQᴴ Q``; copyltu takes the lower triangle for both."""
    inner = None
    if of_r is not None:
        inner = product(r, adjoint(of_r))
    if of_q is not None:
        other = product(adjoint(of_q), q)
        inner = clang.neg(other) if inner is None else clang.sub(inner, other)
    assert inner is not None
    below = lower(inner, strictly=True)
    rows, columns = _positions(inner)
    diagonal = _where_position(clang.eq(rows, columns), inner)
    if inner.dtype.kind == "c":
        diagonal = clang.convert(prims.real(diagonal), inner.dtype)
    both = product(q, clang.add(clang.add(below, adjoint(below)), diagonal))
    both = both if of_q is None else clang.add(of_q, both)
    return adjoint(prims.solve(r, adjoint(both)))


@rule(prims.qr)
def _qr(g: Any, out: Any, a: TensorProxy, full: bool = False) -> Any:
    of_q, of_r = g
    q, r = out
    m, n = sizes.concrete(a.shape[-2:], "the gradient of qr")
    if m > n and full:
        raise GradientError("the columns of a complete qr beyond the rank have no gradient; use mode='reduced'")
    if m >= n:
        return _qr_tall(q, r, of_q, of_r)
    last = a.ndim - 1
    rest = clang.slice_dim(a, m, n, dim=last)
    first_of_r = None if of_r is None else clang.slice_dim(of_r, 0, m, dim=last)
    if of_r is None:
        of_rest = clang.full_like(rest, 0)
    else:
        of_rest_of_r = clang.slice_dim(of_r, m, n, dim=last)
        of_rest = product(q, of_rest_of_r)
        through = product(rest, adjoint(of_rest_of_r))
        of_q = through if of_q is None else clang.add(of_q, through)
    of_first = _qr_tall(q, clang.slice_dim(r, 0, m, dim=last), of_q, first_of_r)
    return clang.concatenate([of_first, of_rest], last)
