"""Reductions and matrix products, over lengths known at run time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.proxies import TensorProxy
from tnp.core.reduction_table import REDUCTIONS, Reduction
from tnp.executors.llvm import scalars
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.program import blas
from tnp.executors.llvm.program.integers import Int, coefficient, magnitude
from tnp.executors.llvm.program.ir import Cell, Constant, Operand, constant, whole_number
from tnp.executors.llvm.program.lowering import ONE, ZERO, Program
from tnp.executors.llvm.program.rules import rule
from tnp.executors.llvm.program.values import Array, At, Scalar, StridedView, Thunk
from tnp.executors.llvm.program.views import moved, require_equal
from tnp.executors.llvm.program.write_hazards import recorded, somewhere

__all__ = ["reduced"]

#: elements that are added up at once; the sums of such blocks are added with compensation, so that errors do not grow
BLOCK = 1024
#: the place of the extreme of no more elements is found in one loop
FEW = 16
#: A library multiplies two matrices faster from ``LIBRARY_PRODUCT`` multiplications on, if all dimensions are ``THICK``. Products of
#: ``LARGE_PRODUCT`` multiplications are always left to it.
LIBRARY_PRODUCT, THICK, LARGE_PRODUCT = 16**3, 8, 64**3
#: rows of a matrix that are added to a row of a product at once
ROWS = 4
#: bytes from which on it does not matter how far elements are apart
FAR = 4096
_COMPENSATED = (dtypes.float32, dtypes.float64)


def _order(p: Program, x: Array, dims: Sequence[int]) -> list[int]:
    """``dims`` so that the innermost loop is over neighbours: last where what is read is nearest to what is read next."""
    at = somewhere(p, x)
    steps = dict.fromkeys(dims, 0.0)
    for _, offset in recorded(p, x, at)[0]:
        for d in dims:
            for atom in at[d].terms:
                step = coefficient(offset, atom)
                steps[d] += FAR if step is None else min(magnitude(step), FAR)
    return sorted(dims, key=lambda d: -steps[d])


class _Steps:
    """The steps of a reduction, a row of the table, of elements of ``source``; its accumulator has ``dtype``."""

    def __init__(self, name: str, source: DType) -> None:
        self.name = name
        self.source = source
        reducer = scalars.reducer(name, source)
        self.dtype = reducer.dtype
        self.identity = Constant(reducer.identity, reducer.dtype)

    def combine(self, p: Program, total: Operand, x: Operand) -> Operand:
        """What becomes of an accumulator and an element."""
        x = p.code.convert(x, self.source, self.dtype)
        return p.code.make("combine", (total, x), self.dtype, (self.name, self.source))


def _accumulate(p: Program, name: str, x: Array, dims: Sequence[int], fixed: dict[int, Int]) -> Operand:
    """The reduction over ``dims`` of the elements of ``x`` whose other positions are ``fixed``."""
    code, steps = p.code, _Steps(name, x.dtype)
    total = p.cell(steps.dtype)
    code.set(total, steps.identity)
    order = _order(p, x, dims)

    def element(at: dict[int, Int]) -> Operand:
        return x.element(p, tuple(at[d] if d in at else fixed[d] for d in range(len(x.shape))))

    innermost = x.shape[order[-1]] if order else ONE
    in_blocks = name == "sum" and steps.dtype in _COMPENSATED and innermost.high > BLOCK
    lost = p.cell(steps.dtype) if in_blocks else None
    if lost is not None:
        code.set(lost, steps.identity)
    with p.loops([x.shape[d] for d in order[:-1]]) as outer:
        at = dict(zip(order, outer))
        if lost is None:
            with p.loops([x.shape[d] for d in order[-1:]], reduces=True) as last:
                added = steps.combine(p, code.get(total), element(at | dict(zip(order[-1:], last))))
                code.set(total, added)
        else:
            blocks = p.atom(
                ("blocks", innermost), lambda: code.whole("udiv", innermost + (BLOCK - 1), BLOCK), 0, -(-innermost.high // BLOCK)
            )  # fmt: skip
            with p.loop(ZERO, blocks) as block:
                part = p.cell(steps.dtype)
                code.set(part, steps.identity)
                end = p.minimum((block + 1) * BLOCK, innermost)
                with p.loop(block * BLOCK, end, maybe_empty=False) as i:
                    code.set(part, steps.combine(p, code.get(part), element({**at, order[-1]: i})))
                _add_compensated(p, total, lost, code.get(part))
    result: Operand = code.get(total)
    if lost is not None:
        # An infinite sum has lost nothing that is a number.
        corrected = code.raw("fadd", result, code.get(lost), steps.dtype)
        is_number = code.raw("fcmp ord", corrected, corrected, steps.dtype, dtypes.bool8)
        result = code.select(is_number, corrected, result, steps.dtype)
    return code.convert(result, steps.dtype, x.dtype)


def _add_compensated(p: Program, total: Cell, lost: Cell, x: Operand) -> None:
    """``total += x``; what the rounding lost goes to ``lost`` (Knuth's two-sum)."""
    assert total.dtype is not None
    code, dtype = p.code, total.dtype
    a = code.get(total)
    s = code.raw("fadd", a, x, dtype)
    b = code.raw("fsub", s, a, dtype)
    of_a = code.raw("fsub", a, code.raw("fsub", s, b, dtype), dtype)
    of_x = code.raw("fsub", x, b, dtype)
    code.set(lost, code.raw("fadd", code.get(lost), code.raw("fadd", of_a, of_x, dtype), dtype))
    code.set(total, s)


def _reduced(p: Program, x: Array, dims: Sequence[int], dtype: DType, reduce: Any) -> Array:
    """``reduce(x, fixed)`` for each position of the dimensions that stay."""
    stay = [d for d in range(len(x.shape)) if d not in dims]
    if not stay:
        return Scalar(reduce(x, {}), dtype)
    made = p.temporary([x.shape[d] for d in stay], dtype)
    with p.loops(made.shape) as at:
        p.store(made, at, reduce(x, dict(zip(stay, at))))
    return made


def _rows_added(p: Program, name: str, x: Array, dims: Sequence[int], dtype: DType) -> Array:
    """The reduction over ``dims`` of rows of neighbours that stay: each is added to a row of results, as in NumPy."""
    steps = _Steps(name, x.dtype)
    stay = [d for d in range(len(x.shape)) if d not in dims]
    made = p.temporary([x.shape[d] for d in stay], steps.dtype)
    # A dimension at a time, the neighbours last, so that no loop inside is over what is far apart.
    *outer, inner = _order(p, x, stay)
    with p.loops([x.shape[d] for d in outer]) as first:
        at = dict(zip(outer, first))

        def place(i: Int) -> At:
            return tuple({**at, inner: i}[d] for d in stay)

        with p.loop(ZERO, x.shape[inner]) as i:
            p.store(made, place(i), steps.identity)
        order = _order(p, x, dims)
        with p.loops([x.shape[d] for d in order]) as reduced, p.loop(ZERO, x.shape[inner]) as i:
            where = {**at, **dict(zip(order, reduced)), inner: i}
            value = x.element(p, tuple(where[d] for d in range(len(x.shape))))
            p.store(made, place(i), steps.combine(p, p.load(made, place(i)), value))
    if steps.dtype is dtype:
        return made
    return Thunk(made.shape, dtype, lambda p, at: p.code.convert(p.load(made, at), steps.dtype, dtype), made.reads, 1)


def reduced(p: Program, name: str, a: Array, dims: Sequence[int], dtype: DType) -> Array:
    """A row of the table of reductions over some dimensions."""
    row = _ROWS[name]
    if a.dtype.bits == 16 and a.dtype.kind == "f" and name not in ("sum", "prod", "amax", "amin"):
        raise Refused(f"{name} of {a.dtype}, of which NumPy rounds each step")
    if row.neutral is None:
        for d in dims:
            if a.shape[d].low < 1:
                p.check(p.less(ZERO, a.shape[d]), partial(_is_empty, row.combines))
    if not dims:
        return a
    a = p.uncut(a)
    nearest = _order(p, a, range(len(a.shape)))[-1]
    if nearest not in dims and a.shape[nearest].known != 1:
        return _rows_added(p, name, a, dims, dtype)
    return _reduced(p, a, dims, dtype, lambda x, fixed: _accumulate(p, name, x, dims, fixed))


def _is_empty(word: str) -> Exception:
    return ValueError(f"zero-size array to reduction operation {word} which has no identity")


def _reduction(name: str) -> None:
    @rule(name)
    def run(p: Program, out: TensorProxy, a: Array, dims: Sequence[int]) -> Array:
        return reduced(p, name, a, dims, out.dtype)


_ROWS: dict[str, Reduction] = {row.name: row for row in REDUCTIONS}
for _name in _ROWS:
    _reduction(_name)


def _arg_reduction(name: str, comparison: str, extreme: str) -> None:
    @rule(name)
    def run(p: Program, out: TensorProxy, a: Array, dim: int) -> Array:
        n = a.shape[dim]
        if n.low < 1:
            p.check(p.less(ZERO, n), lambda: ValueError(f"attempt to get {name} of an empty sequence"))
        if a.dtype.kind == "c":
            raise Refused(f"{name} of complex numbers")

        is_long = n.high > FEW
        x = p.force(a) if is_long and a.cost else a

        def reduce(x: Array, fixed: dict[int, Int]) -> Operand:
            def element(i: Int) -> Operand:
                return x.element(p, tuple(i if d == dim else fixed[d] for d in range(len(x.shape))))

            if is_long:
                is_bool = x.dtype.kind == "b"
                wanted = constant(name == "argmax", x.dtype) if is_bool else _accumulate(p, extreme, x, [dim], fixed)
                found = _first_equal(p, n, element, wanted, x.dtype)
                return p.code.select(p.less(found, n), found, ZERO, dtypes.int64) if is_bool else found
            code, best, where = p.code, p.cell(x.dtype), p.cell(dtypes.int64)
            code.set(best, element(ZERO))
            code.set(where, ZERO)
            with p.loop(ONE, n) as i:
                value, before = element(i), code.get(best)
                better: Operand = code.apply(comparison, [value, before], x.dtype, dtypes.bool8)
                if x.dtype.kind == "f":  # the first NaN is before all others
                    nan, done = (code.apply("isnan", [y], x.dtype, dtypes.bool8) for y in (value, before))
                    better = code.both(code.either(better, nan), code.negated(done))
                code.set(best, code.select(better, value, before, x.dtype))
                code.set(where, code.select(better, i, code.get(where), dtypes.int64))
            return code.get(where)

        return _reduced(p, x, [dim], out.dtype, reduce)


def _first_equal(p: Program, n: Int, element: Any, extreme: Operand, dtype: DType) -> Int:
    """The position of the first element equal to the extreme, or of the first NaN; ``n`` if there is none. This loop and the one that
    finds the extreme vectorise; a single loop for both does not."""
    code, first = p.code, p.cell(dtypes.int64)
    code.set(first, n)
    with p.loop(ZERO, n) as i:
        value = element(i)
        found: Operand = code.apply("eq", [value, extreme], dtype, dtypes.bool8)
        if dtype.kind == "f":
            found = code.either(found, code.apply("isnan", [value], dtype, dtypes.bool8))
        code.set(first, code.extreme("smin", code.get(first), code.select(found, i, n, dtypes.int64)))
    return whole_number(code.get(first), 0, n.high)


_arg_reduction("argmax", "gt", "amax")
_arg_reduction("argmin", "lt", "amin")


def _cumulative(name: str, operation: str) -> None:
    @rule(name)
    def run(p: Program, out: TensorProxy, a: Array, dim: int) -> Array:
        if a.dtype.kind in "b" or (a.dtype.kind == "f" and a.dtype not in _COMPENSATED):
            raise Refused(f"{name} of {a.dtype}")
        a = p.uncut(a)
        made = p.room_for(out.name, a.shape, out.dtype)
        rest = [d for d in range(len(a.shape)) if d != dim]
        with p.loops([a.shape[d] for d in rest]) as outer:
            at = dict(zip(rest, outer))
            code, total = p.code, p.cell(out.dtype)

            def where(i: Int, at: dict[int, Int] = at) -> tuple[Int, ...]:
                return tuple(i if d == dim else at[d] for d in range(len(a.shape)))

            with p.loop(ZERO, p.minimum(ONE, a.shape[dim])) as i:
                code.set(total, a.element(p, where(i)))
                p.store(made, where(i), code.get(total))
            with p.loop(ONE, a.shape[dim]) as i:
                code.set(total, code.apply(operation, [code.get(total), a.element(p, where(i))], out.dtype, out.dtype))
                p.store(made, where(i), code.get(total))
        return made


for _row in REDUCTIONS:
    if _row.scan:
        _cumulative(_row.scan, _row.combines)


@rule("matmul")
def _matmul(p: Program, out: TensorProxy, a: Array, b: Array) -> Array:
    dtype, stack = out.dtype, a.shape[:-2]
    if dtype.kind not in "biufc" or (dtype.kind == "f" and dtype not in _COMPENSATED):
        raise Refused(f"products of {dtype}")
    a, b = p.uncut(a), p.uncut(b)
    rows, inner, columns = a.shape[-2], a.shape[-1], b.shape[-1]
    for one, other in zip((*stack, inner), b.shape[:-1]):
        require_equal(p, one, other, _mismatch)
    is_dot = rows.known == 1 and columns.known == 1
    count = 0 if is_dot or inner.known == 1 else rows.high * inner.high * columns.high
    is_thick = min(rows.high, inner.high, columns.high) >= THICK
    if count >= (LIBRARY_PRODUCT if is_thick else LARGE_PRODUCT) and blas.multiplies(dtype) and not stack:
        return blas.large_product(p, a, b, dtype)
    if count >= LARGE_PRODUCT and (dtype.kind not in "biu" or stack):
        raise Refused("large products of matrices in a stack, or without a library")
    if is_dot and not stack:
        value = _dot(p, a, b, (ZERO, ZERO), dtype)
        return Thunk([rows, columns], dtype, lambda p, at: value)
    made = p.room_for(out.name, [*stack, rows, columns], dtype)
    with p.loops(stack) as at:
        place = _matrix_of(made, at)
        assert isinstance(place, StridedView)
        _multiply(p, _matrix_of(a, at), _matrix_of(b, at), place)
    return made


def _matrix_of(x: Array, stack: Sequence[Int]) -> Array:
    return moved(x, x.shape[-2:], lambda at: (*stack, *at)) if stack else x


def _dot(p: Program, a: Array, b: Array, at: Sequence[Int], dtype: DType) -> Operand:
    """An element of a product."""
    (i, j), total = at, p.cell(dtype)
    p.code.set(total, constant(0, dtype))
    with p.loop(ZERO, a.shape[1], reduces=True) as k:
        p.code.set(total, _fused(p, a.element(p, (i, k)), b.element(p, (k, j)), p.code.get(total), dtype))
    return p.code.get(total)


def _multiply(p: Program, a: Array, b: Array, made: StridedView) -> None:
    """``made = a @ b``."""
    dtype, (rows, columns), inner = made.dtype, made.shape, a.shape[1]
    if a.cost and columns.known != 1:
        a = p.force(a)
    if b.cost and rows.known != 1:
        b = p.force(b)
    # Along the columns of b if those are neighbours, as sums over the inner dimension otherwise.
    along_rows = columns.known != 1 and not (
        isinstance(b, StridedView) and magnitude(b.strides[0]) < magnitude(b.strides[1])
    )
    if not along_rows:
        with p.loops(made.shape) as at:
            p.store(made, at, _dot(p, a, b, at, dtype))
        return
    zero = constant(0, dtype)
    p.fill(made, Thunk(made.shape, dtype, lambda p, at: zero))

    def add_rows(i: Int, rows_of_b: Sequence[Int]) -> None:
        """Adds some rows of b, each times an element of a, to a row of the result."""
        factors = [a.element(p, (i, k)) for k in rows_of_b]
        with p.loop(ZERO, columns) as j:
            total: Operand = p.load(made, (i, j))
            for k, factor in zip(rows_of_b, factors):
                total = _fused(p, factor, b.element(p, (k, j)), total, dtype)
            p.store(made, (i, j), total)

    # Several rows at once: the result is loaded and stored less often.
    blocks = p.atom(("quarters", inner), lambda: p.code.whole("udiv", inner, ROWS), 0, inner.high // ROWS)
    with p.loop(ZERO, rows) as i:
        with p.loop(ZERO, blocks) as block:
            add_rows(i, [block * ROWS + r for r in range(ROWS)])
        with p.loop(blocks * ROWS, inner) as k:
            add_rows(i, [k])


def _mismatch(n: int, m: int) -> Exception:
    return ValueError(
        "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n?,k),(k,m?)->(n?,m?) "
        f"(size {m} is different from {n})"
    )


def _fused(p: Program, a: Operand, b: Operand, total: Operand, dtype: DType) -> Operand:
    """``a * b + total`` as BLAS computes it: in any order, and rounded once or twice."""
    return p.code.make("multiply_add", (a, b, total), dtype, dtype)
