"""Arrays computed element by element, and by indexing others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import by_name as rows
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import scalars, target
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.program.integers import Atom, Int
from tnp.executors.llvm.program.ir import FALSE, TRUE, Operand, While, constant, whole_number
from tnp.executors.llvm.program.lowering import ONE, ZERO, Program
from tnp.executors.llvm.program.numbers import (
    as_dtype,
    as_number,
    check_truncates,
    number_operation,
    real,
    surely_fits,
    truth,
    whole,
)
from tnp.executors.llvm.program.rotations import cuts_of
from tnp.executors.llvm.program.rules import rule, step
from tnp.executors.llvm.program.values import Array, At, Memory, Number, Scalar, StridedView, Thunk
from tnp.executors.llvm.program.views import do_not_fit, from_end, require_equal

__all__ = ["check_indices", "converted", "element_index", "index_mismatch", "operation"]

#: the largest integer that a loop makes of a float: sums and multiples of some of these fit 64 bits
LARGEST_TRUNCATED = 2**52


def _is_array(x: Any) -> bool:
    return isinstance(x, (Scalar, StridedView, Thunk))


def _elementwise(
    p: Program, arrays: Sequence[Array], dtype: DType, cost: int, compute: Any, also: frozenset[Memory] = frozenset()
) -> Array:
    """The array whose element is ``compute(program, elements)``, which reads ``also`` that memory. 0-d, it is computed here."""
    if all(not a.shape for a in arrays):
        return Scalar(compute(p, [p.scalar(a) for a in arrays]), dtype)
    full = next(a for a in arrays if a.shape)
    for a in arrays:
        if a.shape and a is not full:
            if len(a.shape) != len(full.shape):
                raise Refused("arrays of different ranks")
            for n, m in zip(full.shape, a.shape):
                require_equal(p, n, m, *do_not_fit(full.shape, a.shape))

    def make(p: Program, at: At) -> Operand:
        return compute(p, [a.element(p, at if a.shape else ()) for a in arrays])

    reads = also.union(*(a.reads for a in arrays))
    return Thunk(full.shape, dtype, make, reads, cost + sum(a.cost for a in arrays), cuts_of(arrays))


def operation(p: Program, name: str, made: DType, args: Sequence[Any], dtype: DType | None = None) -> Array:
    """An operation of the table on arrays and numbers, the latter as elements of ``dtype`` (default: that of the first array)."""
    arrays = [a for a in args if _is_array(a)]
    if name == "where":
        return _chosen(p, args[0], *args[1:], made)
    of = arrays[0].dtype if dtype is None else dtype
    if name == "bitcast":
        return _elementwise(p, arrays, made, 0, lambda p, e: p.code.bitcast(e[0], of, made))
    if name in ("real", "imag") and of.kind != "c":
        zero = constant(0, of)
        return arrays[0] if name == "real" else _elementwise(p, arrays, of, 0, lambda p, e: zero)
    # A number that does not fit raises here, not where the elements are computed.
    fixed = [None if _is_array(a) else as_dtype(p, a, of) for a in args]

    def compute(p: Program, elements: Sequence[Operand]) -> Operand:
        rest = iter(elements)
        return p.code.apply(name, [next(rest) if _is_array(a) else f for a, f in zip(args, fixed)], of, made)

    return _elementwise(p, arrays, made, max(1, scalars.cost(name, of)), compute)


_COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))


def _rule_of(name: str) -> None:
    @rule(name)
    def run(p: Program, out: Any, *args: Any) -> Any:
        if isinstance(out, NumberProxy):
            number = number_operation(p, name, *args)
            if (number.python_type is complex) != (out.python_type is complex):
                raise Refused(f"{name} of Python floats that gives a complex number")
            return number
        arrays = [a for a in args if _is_array(a)]
        if not arrays:
            raise Refused(f"{name} of numbers alone")
        dtype = arrays[0].dtype
        if not scalars.supports(name, tuple(a.dtype for a in arrays)):
            raise Refused(f"{name} of {dtype}")
        numbers = [a for a in args if not _is_array(a)]
        if name in _COMPARISONS and not all(surely_fits(p, x, dtype) for x in numbers):
            # A number that the dtype does not hold is no error here: it is less, or more, than all elements.
            if dtype is dtypes.uint64:
                raise Refused("a comparison of uint64 with a number")
            args = tuple(converted(p, a, dtypes.int64) if _is_array(a) else a for a in args)
            dtype = dtypes.int64
        if name == "pow" and dtype.kind == "i":
            _check_power(p, out, *args)
        return operation(p, name, out.dtype, args, dtype)


for _name in rows:
    _rule_of(_name)


def _negative_power() -> Exception:
    return ValueError("Integers to negative integer powers are not allowed.")


def _check_power(p: Program, out: TensorProxy, base: Any, exponent: Any) -> None:
    """Raises ``ValueError`` at run time if an integer is raised to a negative power, as NumPy does before it writes anything."""
    if not _is_array(exponent) and whole(p, exponent).low >= 0:
        return
    if out.lang.name != "numpy":
        raise Refused("integers to powers that may be negative")
    shape = next((x.shape for x in (base, exponent) if _is_array(x) and x.shape), ())
    code, any_negative = p.code, p.cell(dtypes.bool8)
    code.set(any_negative, FALSE)
    with p.loops(shape) as at:
        if _is_array(exponent):
            element = exponent.element(p, at if exponent.shape else ())
            power = code.convert(element, exponent.dtype, dtypes.int64)
        else:
            power = whole(p, exponent)
        code.set(any_negative, code.either(code.get(any_negative), code.compare("slt", power, 0)))
    p.check(code.negated(code.get(any_negative)), _negative_power)


def _chosen(p: Program, condition: Array, a: Any, b: Any, dtype: DType) -> Array:
    """Elements of ``a`` or ``b``."""
    fixed = [None if _is_array(x) else _choice(p, x, dtype) for x in (a, b)]
    arrays = [condition, *(x for x in (a, b) if _is_array(x))]

    def compute(p: Program, elements: Sequence[Operand]) -> Operand:
        rest = iter(elements)
        chosen = next(rest)
        values = [next(rest) if f is None else f for f in fixed]
        return p.code.select(chosen, *values, dtype)

    return _elementwise(p, arrays, dtype, 1, compute)


def _choice(p: Program, x: Any, dtype: DType) -> Operand:
    """A number that a ``where`` may choose. Of ``max(accumulator, select(c, x, -inf))`` LLVM would make a select of accumulators, which it
    does not vectorise, so it does not know that constant."""
    number = as_dtype(p, x, dtype)
    return p.code.hidden(number, dtype) if scalars.is_identity_of_extreme(x, dtype) else number


@rule("convert_element_type")
def _convert(p: Program, out: Any, a: Any, dtype: Any) -> Any:
    if isinstance(out, NumberProxy):
        raise Refused("a conversion of a number")
    if not _is_array(a):
        return Scalar(as_dtype(p, a, out.dtype), out.dtype)
    return converted(p, a, out.dtype)


def converted(p: Program, a: Array, dtype: DType) -> Array:
    """NumPy's ``astype``."""
    source = a.dtype
    if not scalars.supports("convert_element_type", (source,)):
        raise Refused(f"a conversion of {source}")
    if not a.shape and scalars.differs_in_arrays(source, dtype):
        return converted(p, converted(p, a, dtypes.int64), dtype)
    return _elementwise(p, [a], dtype, 1, lambda p, e: p.code.convert(e[0], source, dtype))


@rule("convert_scalar")
def _convert_scalar(p: Program, out: TensorProxy, a: Array, dtype: DType) -> Array:
    code, value, source = p.code, p.scalar(a), a.dtype
    low, high = -(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1
    if source.kind in "iu":
        wide = dtypes.int64 if source.kind == "i" else dtypes.uint64
        number = code.convert(value, source, wide)
        below = code.compare("sle" if source.kind == "i" else "ule", number, high)
        above = code.compare("sge", number, low) if source.kind == "i" else TRUE
        # Beyond 63 bits, the number would be another in the message: eager raises it.
        failure = None if source is dtypes.uint64 else partial(_out_of_bounds, dtype.name)
        p.check(code.both(below, above), failure, *(() if failure is None else (number,)))
    elif source.kind == "f":
        check_truncates(p, code.convert(value, source, dtypes.float64), low, high, exact=dtype.bits < 64)
    elif source.kind != "b":
        raise Refused(f"{source} stored as integers")
    return Scalar(code.convert(value, source, dtype), dtype)


def _out_of_bounds(dtype: str, x: int) -> Exception:
    return OverflowError(f"Python integer {x} out of bounds for {dtype}")


@rule("convert_number")
def _convert_number(p: Program, out: NumberProxy, a: Any, python_type: type) -> Number:
    if python_type is bool:
        return Number(bool, truth(p, a))
    if python_type is float:
        return Number(float, real(p, a))
    number = as_number(a)
    if python_type is not int:
        raise Refused(f"{python_type.__name__} of a number")
    return Number(int, _truncated(p, number.value) if number.python_type is float else whole(p, number))


def _truncated(p: Program, x: Operand) -> Int:
    """A float without its fraction. Of NaN, infinities and large numbers Python makes an error or a long integer."""
    check_truncates(p, x, -LARGEST_TRUNCATED, LARGEST_TRUNCATED, exact=True)
    return whole_number(p.code.convert(x, dtypes.float64, dtypes.int64), -LARGEST_TRUNCATED, LARGEST_TRUNCATED)


@rule("require")
def _require(p: Program, out: TensorProxy, a: Array, condition: Array, error: Any, message: str) -> Array:
    code, wrong = p.code, p.cell(dtypes.bool8)
    code.set(wrong, FALSE)
    with p.loops(condition.shape) as at:
        ok = condition.element(p, at)
        code.set(wrong, code.either(code.get(wrong), code.negated(ok)))
    p.check(code.negated(code.get(wrong)), lambda: error(message))
    return a


# Creation


def _shape(p: Program, shape: Any) -> list[Int]:
    sizes = [whole(p, n) for n in shape]
    if any(n.low < 0 for n in sizes):
        raise Refused("a size that may be negative")
    return sizes


@rule("full")
def _full(p: Program, out: TensorProxy, shape: Any, value: Any, **options: Any) -> Array:
    element = p.scalar(value) if _is_array(value) else as_dtype(p, value, out.dtype)
    sizes = _shape(p, shape)
    return Thunk(sizes, out.dtype, lambda p, at: element) if sizes else Scalar(element, out.dtype)


@rule("empty")
def _empty(p: Program, out: TensorProxy, shape: Any, **options: Any) -> Array:
    sizes = _shape(p, shape)
    zero = constant(0, out.dtype)
    return p.room_for(out.name, sizes, out.dtype) if sizes else Scalar(zero, out.dtype)


@rule("iota")
def _iota(p: Program, out: TensorProxy, length: Any, *, start: Any = 0, step: Any = 1, **options: Any) -> Array:
    first, by = whole(p, start), whole(p, step)
    if by.known is None:
        raise Refused("a range whose step is a number of the program")
    known = by.known

    def make(p: Program, at: At) -> Operand:
        return p.code.convert(first + at[0] * known, dtypes.int64, out.dtype)

    return Thunk(_shape(p, [length]), out.dtype, make)


# Elements


@rule("item")
def _item(p: Program, out: NumberProxy, a: Array) -> Number:
    dtype, value = a.dtype, p.scalar(a)
    if dtype.kind in "iu":
        if dtype.kind == "u" and dtype.bits == 64:
            raise Refused("a Python integer from uint64")
        key = ("item", value)
        return Number(int, p.atom(key, lambda: p.code.convert(value, dtype, dtypes.int64), *dtype.limits))
    if dtype.kind == "b":
        return Number(bool, value)
    wide = dtypes.float64 if dtype.kind == "f" else dtypes.complex128
    return Number(out.python_type, p.code.convert(value, dtype, wide))


def element_index(p: Program, indices: Array, at: At, n: Int) -> Int:
    """An element of an array of indices, which have been checked, from the beginning of a dimension of ``n``."""
    raw = p.code.convert(indices.element(p, at), indices.dtype, dtypes.int64)
    if indices.dtype.kind == "i":
        raw = from_end(p, raw, n)
    return whole_number(raw, 0, max(0, n.high - 1), p.most(n - 1))


def check_indices(p: Program, indices: Array, n: Int, dim: int, *, from_end: bool = True) -> None:
    """Raises ``IndexError`` at run time unless all elements are indices of a dimension of ``n``. Those that may not count ``from_end`` are
    left to eager."""
    if isinstance(indices, StridedView) and indices.memory.indices_of == n:
        return
    code = p.code

    def is_wrong(at: At) -> tuple[Operand, Operand]:
        raw = code.convert(indices.element(p, at), indices.dtype, dtypes.int64)
        if indices.dtype.kind != "i" or not from_end:
            return raw, code.compare("uge", raw, n)
        return raw, code.compare("uge", code.whole("add", raw, n), n * 2)

    def failure(at: int, size: int) -> Exception:
        return IndexError(f"index {at} is out of bounds for axis {dim} with size {size}")

    def check(wrong: Operand, raw: Operand) -> None:
        p.check(code.negated(wrong), *((failure, raw, n) if from_end else (None,)))

    if not indices.shape:
        raw, wrong = is_wrong(())
        check(wrong, raw)
        return
    any_wrong = p.cell(dtypes.bool8)
    code.set(any_wrong, FALSE)
    with p.loops(indices.shape) as at:
        _, wrong = is_wrong(at)
        code.set(any_wrong, code.either(code.get(any_wrong), wrong))
    with code.when(code.get(any_wrong)), p.loops(indices.shape) as at:
        raw, wrong = is_wrong(at)
        check(wrong, raw)


def _searched(p: Program, places: Any, key: Operand, n: int, right: bool) -> Operand:
    """A binary search in a fixed number of steps, without a branch, so that a loop over many values vectorises."""
    code, dtype = p.code, places.dtype
    first: Operand = ZERO
    last: Operand = Int(n)
    for _ in range(n.bit_length()):
        middle = code.whole("lshr", code.whole("add", first, last), 1)
        at = code.extreme("smin", middle, n - 1)
        x = places.element(p, (whole_number(at, 0, n - 1),))
        is_less = code.negated(_is_less(p, key, x, dtype)) if right else _is_less(p, x, key, dtype)
        is_before = code.both(is_less, code.compare("slt", first, last))
        first = code.select(is_before, code.whole("add", middle, 1), first, dtypes.int64)
        last = code.select(is_before, last, middle, dtypes.int64)
    return first


@rule("searchsorted")
def _searchsorted(p: Program, out: TensorProxy, a: Array, values: Array, right: bool = False) -> Array:
    """A binary search for each value, in NumPy's steps."""
    dtype = a.dtype
    if dtype.kind not in "iuf":
        raise Refused(f"a search in {dtype}")
    places = p.force(a) if a.cost else a
    n = places.shape[0]

    def compute(p: Program, elements: Sequence[Operand]) -> Operand:
        code, (key,) = p.code, elements
        if values.shape and n.known is not None and 0 < n.known <= target.SEARCHED_IN_STEPS:
            return _searched(p, places, key, n.known, right)
        low, high = p.cell(dtypes.int64), p.cell(dtypes.int64)
        code.set(low, ZERO)
        code.set(high, n)
        loop = While()
        code.block.append(loop)
        with p.scope():
            with code.inside(loop.test):
                first, last = code.get(low), code.get(high)
                loop.goes_on = code.compare("slt", first, last)
            with code.inside(loop.body):
                half = code.whole("lshr", code.whole("sub", last, first), 1)
                middle = code.whole("add", first, half)
                at = whole_number(middle, 0, max(0, n.high - 1), p.most(n - 1))
                x = places.element(p, (at,))
                is_before = code.negated(_is_less(p, key, x, dtype)) if right else _is_less(p, x, key, dtype)
                code.set(low, code.select(is_before, code.whole("add", middle, 1), first, dtypes.int64))
                code.set(high, code.select(is_before, last, middle, dtypes.int64))
        return code.get(low)

    return _elementwise(p, [values], dtypes.int64, 1 + scalars.cost("div", dtypes.float64), compute, places.reads)


def _is_less(p: Program, a: Operand, b: Operand, dtype: DType) -> Operand:
    """Whether ``a`` is sorted before ``b``: NaN is behind all numbers."""
    code = p.code
    less: Operand = code.apply("lt", [a, b], dtype, dtypes.bool8)
    if dtype.kind != "f":
        return less
    nan, number = (code.apply("isnan", [x], dtype, dtypes.bool8) for x in (b, a))
    return code.either(less, code.both(nan, code.negated(number)))


def index_mismatch(indices: Sequence[Array]) -> tuple[Any, list[Int]]:
    """What to raise of arrays of indices that do not fit, and of what numbers."""
    if any(len(i.shape) != 1 for i in indices):
        return lambda *sizes: IndexError("shape mismatch: indexing arrays could not be broadcast together"), []
    words = "shape mismatch: indexing arrays could not be broadcast together with shapes "
    return lambda *sizes: IndexError(words + "".join(f"({n},) " for n in sizes)), [i.shape[0] for i in indices]


@step("nonzero")
def _nonzero(p: Program, b: BoundSymbol) -> None:
    mask = p.uncut(p.value(b.args[0]))
    code, count = p.code, p.cell(dtypes.int64)
    code.set(count, ZERO)
    room = ONE
    for n in mask.shape:
        room = room * n
    bound, most = room.high, p.most(room)
    found = [p.temporary([Int(0, {Atom("%none", 0, bound, most): 1})], dtypes.int64) for _ in mask.shape]
    with p.loops(mask.shape) as at:
        # Each position is noted, and the next overwrites it where the mask does not hold: no branch is taken wrongly.
        holds = mask.element(p, at)
        so_far = whole_number(code.get(count), 0, bound, most)
        for place, i in zip(found, at):
            p.store(place, (so_far,), i)
        more = code.convert(holds, dtypes.bool8, dtypes.int64)
        code.set(count, so_far + whole_number(more, 0, 1))
    total = whole_number(code.get(count), 0, bound, most)
    for out, place, n in zip(b.output, found, mask.shape):
        place.memory.indices_of = n
        p.bind(out, place.like(ZERO, [total], place.strides))
