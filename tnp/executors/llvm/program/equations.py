"""Systems of linear equations of a few rows, by elimination: inverses, solutions, determinants, Cholesky's factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from numpy.linalg import LinAlgError

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import target
from tnp.executors.llvm.graph import Refused
from tnp.executors.llvm.program.integers import Int
from tnp.executors.llvm.program.ir import Operand, constant
from tnp.executors.llvm.program.lowering import ZERO, Program
from tnp.executors.llvm.program.rules import rule, step
from tnp.executors.llvm.program.values import Array, At, Scalar, StridedView, Thunk
from tnp.executors.llvm.program.views import moved

__all__: list[str] = []


def _check_is_small(a: Array, kinds: str) -> None:
    if a.dtype.kind not in kinds or a.dtype.bits < 32:
        raise Refused(f"equations of {a.dtype}")
    if max(n.high for n in a.shape[-2:]) > target.ROWS_IN_LOOPS:
        raise Refused("a large system of equations, or one of a size that nobody knows")


def _part(x: StridedView, first: Int, count: Int) -> StridedView:
    """Some columns of matrices."""
    found = moved(x, [*x.shape[:-1], count], lambda at: (*at[:-1], at[-1] + first))
    assert isinstance(found, StridedView)
    return found


def _factor(p: Program, op: str, x: StridedView) -> None:
    """A factorization of matrices in place."""
    *stack, n, width = x.shape
    cost = max(1, n.high) ** 2 * max(1, width.high)
    with p.loops(stack) as at:
        first = p.code.address(x.memory.pointer, x.where((*at, ZERO, ZERO)))
        p.code.do("in_place", first, n, width, info=(op, x.dtype, cost, x.memory))


def _diagonal(x: StridedView) -> Array:
    return moved(x, x.shape[:-1], lambda at: (*at, at[-1]))


def _check_all(p: Program, diagonal: Array, is_right: str, message: str | None) -> None:
    """Raises ``LinAlgError`` at run time unless all elements of a diagonal are ``"gt"`` 0, or ``"ne"``; without a message, NumPy decides."""
    code, dtype, wrong = p.code, diagonal.dtype, p.cell(dtypes.bool8)
    zero = constant(0, dtype)
    code.set(wrong, constant(False, dtypes.bool8))
    with p.loops(diagonal.shape) as at:
        ok = code.apply(is_right, [diagonal.element(p, at), zero], dtype, dtypes.bool8)
        code.set(wrong, code.either(code.get(wrong), code.negated(ok)))
    p.check(code.negated(code.get(wrong)), None if message is None else lambda: LinAlgError(message))


def _solved(p: Program, a: Array, b: Array) -> Array:
    _check_is_small(a, "fc")
    n, m = b.shape[-2:]
    for one, other in zip(a.shape[:-1], b.shape[:-1]):
        if one != other:
            p.check(p.equal(one, other), None)  # eager raises
    both = p.temporary([*b.shape[:-1], n + m], a.dtype)
    left, right = _part(both, ZERO, n), _part(both, n, m)
    p.fill(left, a)
    p.fill(right, b)
    _factor(p, "eliminate", both)
    _check_all(p, _diagonal(left), "ne", "Singular matrix")
    return right


@rule("solve")
def _solve(p: Program, out: TensorProxy, a: Array, b: Array) -> Array:
    return _solved(p, a, b)


@rule("inv")
def _inv(p: Program, out: TensorProxy, a: Array) -> Array:
    one, zero = constant(1, a.dtype), constant(0, a.dtype)

    def element(p: Program, at: At) -> Operand:
        return p.code.select(p.code.compare("eq", at[-2], at[-1]), one, zero, a.dtype)

    return _solved(p, a, Thunk(a.shape, a.dtype, element))


def _copied(p: Program, a: Array) -> StridedView:
    made = p.temporary(a.shape, a.dtype)
    p.fill(made, a)
    return made


_Made = Callable[[Operand, Operand], Sequence[Operand]]


def _of_determinants(p: Program, a: Array, count: int, made: _Made) -> list[Array]:
    """The ``count`` values that ``made`` makes of each matrix's determinant, given by its sign and the logarithm of its size."""
    _check_is_small(a, "f")
    factors, dtype, code = _copied(p, a), a.dtype, p.code
    _factor(p, "eliminate", factors)
    diagonal = _diagonal(factors)
    *stack, n = diagonal.shape

    def values(at: Sequence[Int]) -> Sequence[Operand]:
        sign, logs = p.cell(dtype), p.cell(dtype)
        code.set(sign, constant(1, dtype))
        code.set(logs, constant(0, dtype))
        with p.loop(ZERO, n) as i:
            x = diagonal.element(p, (*at, i))
            code.set(sign, code.apply("mul", [code.get(sign), _of(p, "sign", x, dtype)], dtype, dtype))
            log = _of(p, "log", _of(p, "abs", x, dtype), dtype)
            code.set(logs, code.apply("add", [code.get(logs), log], dtype, dtype))
        return made(code.get(sign), code.get(logs))

    if not stack:
        return [Scalar(x, dtype) for x in values(())]
    found = [p.temporary(stack, dtype) for _ in range(count)]
    with p.loops(stack) as at:
        for array, x in zip(found, values(at), strict=True):
            p.store(array, at, x)
    return [*found]


@rule("det")
def _det(p: Program, out: TensorProxy, a: Array) -> Array:
    """As NumPy computes it."""

    def determinant(sign: Operand, logarithm: Operand) -> list[Operand]:
        return [p.code.apply("mul", [sign, _of(p, "exp", logarithm, a.dtype)], a.dtype, a.dtype)]

    return _of_determinants(p, a, 1, determinant)[0]


@step("slogdet")
def _slogdet(p: Program, b: BoundSymbol) -> None:
    for output, value in zip(b.output, _of_determinants(p, p.resolve(b.args[0]), 2, lambda *both: both), strict=True):
        p.bind(output, value)


def _of(p: Program, name: str, x: Operand, dtype: DType) -> Operand:
    return p.code.apply(name, [x], dtype, dtype)


@rule("cholesky")
def _cholesky(p: Program, out: TensorProxy, a: Array) -> Array:
    _check_is_small(a, "f")
    made = _copied(p, a)
    _factor(p, "cholesky", made)
    _check_all(p, _diagonal(made), "gt", None)  # NaN passes some libraries
    return made
