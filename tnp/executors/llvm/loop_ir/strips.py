"""Strips: innermost loops as vectors that LLVM takes some at a time, and what is left over of these.

Of a loop whose number of iterations it does not know, LLVM writes three: some vectors at a time, single vectors, single elements. The
last takes as long as a vector for each element. Here the first loop has a number of iterations that its vectors fill. The *rest* is a
loop of single vectors, which begins so early that the last of them ends with the loop. What it computes twice must not matter: a
store repeats what it stored, a reduction takes the neutral element instead. Only loops shorter than that have single elements.

LLVM ends each vectorised reduction with a horizontal one, which takes longer than a short row. Here both loops accumulate in *lanes*, which
LLVM keeps in vector registers, and one horizontal reduction follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tnp.core import dtypes
from tnp.core.elementwise_table import by_name
from tnp.executors.llvm import target, vectormath
from tnp.executors.llvm.code import extreme
from tnp.executors.llvm.index import Part, Var
from tnp.executors.llvm.loop_ir import prefetch
from tnp.executors.llvm.loop_ir.accumulators import IDEMPOTENT, Accumulator, may_reorder, spread
from tnp.executors.llvm.loop_ir.dependence import At
from tnp.executors.llvm.loop_ir.nodes import Apply, Buffer, Load, Reduce, Statement, Store, cost_of, subexpressions
from tnp.executors.llvm.scalars import elementary
from tnp.runtime import engine

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.functions import Body

__all__ = ["UNROLLED", "are_vectorised", "emit", "emit_columns", "emit_rows", "may_repeat", "parts_of", "vector_length"]

#: writes an iteration; it is given the register of whether reductions count it, or ``None`` if they do
Write: TypeAlias = Callable[["str | None"], None]
#: iterations of the loop that takes several vectors at a time, at least
TIMES = 8
#: iterations of a part of a loop, at most, and what the time of one comes to where fewer vectors are taken at a time
CHUNK = 4096
#: iterations of a loop that is written out
UNROLLED = 8
#: iterations of a loop that is too short for LLVM to check at run time whether arrays overlap
LONGEST_SCALAR = 16


def vector_length(statements: Sequence[Statement]) -> int:
    """Elements of a vector: the widest type in memory says how many are in one."""
    memory = {s.buffer for s in statements} | {load.buffer for s in statements for load in s.reads}
    widest = max(b.dtype.itemsize // (2 if b.dtype.kind == "c" else 1) for b in memory)
    if any(isinstance(s, Reduce) and s.buffer.dtype.kind == "f" for s in statements):
        widest = max(widest, 4)  # half precision is accumulated in single
    return int(engine.target().vector_bits // (8 * widest))


#: operations that are instructions; those of the second line on complex numbers, too
_INSTRUCTIONS = frozenset(
    "abs bitwise_and bitwise_not bitwise_or bitwise_xor ceil copysign div floor fmax fmin ge gt isfinite isinf isnan left_shift "
    "le lt maximum minimum reciprocal right_shift round sign signbit sqrt trunc".split()
)
_OF_COMPLEX = frozenset("add conj eq logical_and logical_not logical_or mul ne neg positive square sub where".split())


def are_vectorised(statements: Sequence[Statement]) -> bool:
    """Whether LLVM surely makes vectors of statements: they are no scans, and call nothing but functions with forms for vectors."""
    values = [x for s in statements for x in subexpressions(s.value)]
    applied = (x for x in values if type(x) is Apply)
    return all(type(s) in (Store, Reduce) for s in statements) and all(map(_is_vectorised, applied))


def _is_vectorised(x: Apply) -> bool:
    if x.op in _OF_COMPLEX or x.of.kind == "c":
        return x.op in _OF_COMPLEX
    c = by_name[x.op].c if x.op in by_name else ""
    if x.op in _INSTRUCTIONS or c not in vectormath.FUNCTIONS:
        return x.op in _INSTRUCTIONS
    wide = dtypes.float64 if x.of is dtypes.float64 else dtypes.float32
    return vectormath.is_vectorised(c, wide) or elementary.is_own(c, wide)


@dataclass(frozen=True)
class _Strip:
    """Elements of a vector, and vectors that are taken at a time."""

    vector: int
    vectors: int


def _strip_of(body: Body, var: Var, typical: int) -> _Strip | None:
    """How a loop over ``var`` is cut that has some ``typical`` number of iterations; ``None`` if it is run in order."""
    statements = body.statements
    reductions = [s for s in statements if isinstance(s, Reduce)]
    if not all(may_reorder(s) for s in reductions):
        return None
    vector = vector_length(statements)
    vectors = 1
    if any(_is_apart(body, load, var) for s in statements for load in s.reads):
        return _Strip(vector, target.APART)
    if cost_of(statements) <= target.CHEAP:
        most = max(1, target.ACCUMULATORS // len(reductions)) if reductions else target.INTERLEAVED
        vectors = next((n for n in (8, 4, 2) if n <= most and typical >= TIMES * n * vector), 1)
    elif len(reductions) <= 2 and (reductions or cost_of(statements) <= target.MEDIUM):
        vectors = 2
    return _Strip(vector, vectors)


def _is_apart(body: Body, load: Load, var: Var) -> bool:
    """Whether the elements of a vector take instructions and registers each."""
    return load.dtype.kind == "c" or _has_gaps(body, load, var)


def _has_gaps(body: Body, load: Load, var: Var) -> bool:
    """Whether the elements of a vector are no neighbours in memory."""
    offset = body.nest.offset(load.buffer, load.at)
    step = offset.terms.get(var, 0)
    goes_evenly = all(isinstance(a, Var) or (isinstance(a, Part) and var not in a.of.variables()) for a in offset.terms)
    return not goes_evenly or not (step == 0 or step == load.dtype.itemsize)


def may_repeat(statements: Sequence[Statement]) -> bool:
    """Whether iterations may be run twice, if reductions take the neutral element then: what they write is not what they read before."""
    written: dict[Buffer, At] = {}
    every = {s.buffer for s in statements}
    for s in statements:
        if any(load.buffer in every and load.at != written.get(load.buffer) for load in s.reads):
            return False
        if isinstance(s, Store):
            written[s.buffer] = s.at
    return True


def emit(body: Body, var: Var, begin: str, end: str, typical: int, write: Write, count: str = "") -> None:
    """The innermost loop of a nest over ``var``, which has ``count`` iterations, if that is known."""
    statements = body.statements
    strip = _strip_of(body, var, typical)
    code = body.code
    count = count or code.arithmetic("sub", end, begin)
    if strip is None or body.module.is_plain or (count.isdigit() and int(count) <= _most_in_order(body, strip)):
        with body.loop(var, begin, end):
            write(None)
        return
    if count.isdigit():
        vectors, rest = divmod(int(count), strip.vector)
        most = next(n for n in (8, 4, 2, 1) if n <= strip.vectors and vectors % n == 0)
        if not rest and not body.ahead and 2 * most >= strip.vectors:  # they fill the loop
            with body.counted(var, begin, count, f"{most} vectors"):
                write(None)
            return
        if (
            begin == "0"
            and not body.ahead
            and not any(isinstance(s, Reduce) for s in statements)
            and may_repeat(statements)
        ):
            length, parts = parts_of(statements, int(count))
            if parts > 1:
                with body.plain_loop("0", str(parts)) as k:
                    first = extreme(code, "smin", code.arithmetic("mul", k, str(length)), str(int(count) - length))
                    emit(body, var, first, code.arithmetic("add", first, str(length)), typical, write, str(length))
                return
    overlaps = may_repeat(statements)
    is_short = strip.vectors == 1 or typical < TIMES * strip.vectors * strip.vector
    if body.reductions():
        if overlaps and _have_lanes(body, var):
            _emit_lanes(body, var, begin, count, strip, [body.accumulators[s] for s in body.reductions()], write)
        else:
            overlaps = overlaps and all(s.op in IDEMPOTENT for s in body.reductions())
            _emit(body, var, begin, count, strip, lambda: write(None), overlaps=overlaps)
    elif overlaps and is_short and not body.ahead:
        _emit_in_parts(body, var, begin, count, typical, strip.vector, write)
    else:
        _emit(body, var, begin, count, strip, lambda: write(None), overlaps=overlaps)


def _emit_in_parts(body: Body, var: Var, begin: str, count: str, typical: int, vector: int, write: Write) -> None:
    """Parts of one or some vectors, the last of which begins so early that it is full: fewer instructions around short rows."""
    code, cost = body.code, cost_of(body.statements)
    most = target.INTERLEAVED if cost <= target.CHEAP else 2 if cost <= target.MEDIUM else 1

    def time(vectors: int) -> float:
        return -(-typical // (vectors * vector)) * vectors * target.SLOWER[vectors]

    def in_parts(length: int) -> None:
        up = code.arithmetic("add", count, str(length - 1))
        latest = code.arithmetic("sub", count, str(length))
        with body.plain_loop("0", code.arithmetic("udiv", up, str(length))) as k:
            first = extreme(code, "smin", code.arithmetic("mul", k, str(length)), latest)
            with body.counted(var, code.arithmetic("add", begin, first), str(length), f"{length // vector} vectors"):
                write(None)

    def from_(lengths: Sequence[int]) -> None:
        if not lengths:
            with body.counted(var, begin, count, "scalar"):
                write(None)
            return
        length, *others = lengths
        body.when(code.compare("uge", count, str(length)), lambda: in_parts(length), lambda: from_(others))

    best = min((n for n in target.SLOWER if n <= most), key=time)
    from_(list(dict.fromkeys((best * vector, vector))))


def _have_lanes(body: Body, var: Var) -> bool:
    """Whether LLVM vectorises a loop over lanes well. Strided loads need a scalar epilogue, which such a loop does not have; bools are faster
    in mask registers than in memory."""
    has_gaps = any(_has_gaps(body, load, var) for s in body.statements for load in s.reads)
    return not has_gaps and not all(s.buffer.dtype.kind == "b" for s in body.reductions())


def _emit_lanes(
    body: Body, var: Var, begin: str, count: str, strip: _Strip, accumulators: Sequence[Accumulator], write: Write
) -> None:  # fmt: skip
    """A loop of reductions, whose accumulators have a lane for each element of ``strip``. One horizontal reduction after the loop combines
    the lanes."""
    code, vector, lanes = body.code, str(strip.vector), strip.vector * strip.vectors
    whole = code.arithmetic("and", count, str(-lanes))
    masks = any(a.s.op not in IDEMPOTENT for a in accumulators)

    def fill(first: str, length: str, hint: str, since: str = "0") -> None:
        with body.counted(var, code.arithmetic("add", begin, first), length, hint) as body.lane:
            counts = None
            if since != "0" and masks:  # in 32 bits: the mask is then computed in one vector
                lane, least = (code.op(f"trunc i64 {x} to i32") for x in (body.lane, since))
                counts = code.op(f"icmp uge i32 {lane}, {least}")
            write(counts)
        body.lane = "0"

    def in_vectors() -> None:
        with body.plain_loop("0", code.arithmetic("udiv", whole, str(lanes))) as k:
            fill(code.arithmetic("mul", k, str(lanes)), str(lanes), f"{strip.vectors} vectors of {strip.vector}")

    def single_vector(place: str) -> None:
        first = extreme(code, "smin", place, code.arithmetic("sub", count, vector))
        fill(first, vector, f"1 vectors of {strip.vector}", code.arithmetic("sub", place, first))

    def single_vectors() -> None:
        if strip.vectors == 1:
            single_vector(whole)
            return
        up = code.arithmetic("add", code.arithmetic("sub", count, whole), str(strip.vector - 1))
        with body.plain_loop("0", code.arithmetic("udiv", up, vector)) as k:
            single_vector(code.arithmetic("add", whole, code.arithmetic("mul", k, vector)))

    def elements() -> None:
        with body.counted(var, begin, count, "scalar"):
            write(None)

    def rest() -> None:
        body.when(code.compare("uge", count, vector), single_vectors, elements)

    with spread(body, accumulators, lanes, f"{strip.vectors} vectors of {strip.vector}"):
        body.when(code.compare("uge", count, str(lanes)), in_vectors)
        body.when(code.compare("ne", whole, count), rest)


def _most_in_order(body: Body, strip: _Strip) -> int:
    """The most iterations of a loop that is left as it is. A longer one runs in vectors, which pays even if some elements are computed
    twice."""
    return UNROLLED if body.is_cheap() else strip.vector


def emit_rows(body: Body, var: Var, begin: str, end: str, accumulators: Sequence[Accumulator], write: Write) -> None:
    """An innermost loop over reductions of several rows, whose sums are independent: LLVM is not to interleave vectors of each."""
    strip, count = _Strip(vector_length(body.statements), 1), body.code.arithmetic("sub", end, begin)
    if all(may_reorder(a.s) for a in accumulators) and _have_lanes(body, var):
        _emit_lanes(body, var, begin, count, strip, accumulators, write)
    else:
        _emit(body, var, begin, count, strip, lambda: write(None), overlaps=False)


def parts_of(statements: Sequence[Statement], count: int) -> tuple[int, int]:
    """How a loop of stores with so many iterations is cut into parts of one length, and into how many; the last one begins early where
    they do not fill the loop. One part, if that cannot be."""
    vector = vector_length(statements)
    if count % vector == 0 and count <= CHUNK:
        return count, 1
    step = target.INTERLEAVED * vector
    even = min(range(CHUNK, CHUNK // 4, -step), key=lambda length: count % length)
    if count > CHUNK and count % even == 0:
        return even, count // even
    if count <= vector or not may_repeat(statements):
        return min(count, CHUNK), -(-count // CHUNK)
    fewest = max(2, -(-count // CHUNK))
    found = []
    for vectors, slower in target.SLOWER.items():
        for parts in (fewest, fewest + 1):
            length = -(-count // (parts * vectors * vector)) * vectors * vector
            if length <= count:
                number = -(-count // length)
                found.append((number * (length * slower + vector), length, number))
    return min(found)[1:]


def emit_columns(
    body: Body, statements: Sequence[Statement], var: Var, begin: str, count: str, write: Callable[[str], None]
) -> None:
    """An innermost loop over columns that are accumulated: no iteration may be run twice. ``write`` is given the number of a column from
    ``begin`` on."""
    code, strip = body.code, _Strip(vector_length(statements), target.COLUMN_VECTORS)

    def numbered() -> None:
        write(code.arithmetic("sub", str(body.find(var)), begin))

    if count.isdigit() and int(count) <= UNROLLED:
        with body.loop(var, begin, count):
            numbered()
        return
    _emit(body, var, begin, count, strip, numbered, overlaps=False)


def _emit(
    body: Body, var: Var, begin: str, count: str, strip: _Strip, write: Callable[[], None], *, overlaps: bool
) -> None:  # fmt: skip
    code = body.code

    def loop(first: str, count: str, hint: str) -> None:
        with body.counted(var, first, count, hint):
            write()

    def in_parts() -> None:
        length = str(prefetch.elements(body.ahead))
        up = code.arithmetic("add", count, code.arithmetic("sub", length, "1"))
        latest = code.arithmetic("sub", code.arithmetic("add", begin, count), length)
        with body.plain_loop("0", code.arithmetic("udiv", up, length)) as part:
            first = code.arithmetic("add", begin, code.arithmetic("mul", part, length))
            first = extreme(code, "smin", first, latest)
            prefetch.ask(body, body.ahead, first)
            loop(first, length, f"{strip.vectors} vectors")

    def in_vectors() -> None:
        _emit_vectors(body, begin, count, strip, loop, overlaps=overlaps)

    if body.ahead and overlaps:
        body.when(code.compare("uge", count, str(prefetch.elements(body.ahead))), in_parts, in_vectors)
    else:
        in_vectors()


def _may_be_masked(statements: Sequence[Statement]) -> bool:
    """Whether what is left over is one vector of which some elements count. An integer division would be one for each element."""
    memory = {s.buffer for s in statements} | {load.buffer for s in statements for load in s.reads}
    return engine.target().has_masks and all(b.dtype.kind == "f" and b.dtype.bits >= 32 for b in memory)


def _emit_vectors(
    body: Body, begin: str, count: str, strip: _Strip, loop: Callable[[str, str, str], None], *, overlaps: bool
) -> None:  # fmt: skip
    code = body.code
    step = strip.vector * strip.vectors
    whole = code.arithmetic("and", count, str(-step))
    body.when(code.compare("uge", count, str(step)), lambda: loop(begin, whole, f"{strip.vectors} vectors"))
    rest = code.arithmetic("sub", count, whole)
    if rest == "0":
        return
    tail = "masked" if not overlaps and _may_be_masked(body.statements) else "scalar"
    if tail == "masked" and not rest.isdigit():  # vectors, too: fewer loops
        middle = code.arithmetic("add", begin, whole)
        body.when(code.compare("ne", rest, "0"), lambda: loop(middle, rest, "masked"))
        return
    end, middle = code.arithmetic("add", begin, count), code.arithmetic("add", begin, whole)
    filled = code.arithmetic("and", code.arithmetic("add", rest, str(strip.vector - 1)), str(-strip.vector))
    is_short = code.compare("ult", count, str(step)) if overlaps else "true"
    first = code.choose(is_short, middle, code.arithmetic("sub", end, filled))
    length = code.choose(is_short, code.arithmetic("and", rest, str(-strip.vector)), filled)
    body.when(code.compare("uge", length, str(strip.vector)), lambda: loop(first, length, "1 vectors"))
    last = code.arithmetic("add", first, length)
    left = code.arithmetic("sub", end, last)
    body.when(code.compare("ne", left, "0"), lambda: loop(last, left, tail))
