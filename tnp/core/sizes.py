"""Sizes: the dimensions of arrays, and the only place where they are compared and combined.

A dimension is an ``int``, or a *size*: an integer :class:`~tnp.core.proxies.NumberProxy` whose value is known at run
time only, with an upper ``bound`` known while tracing (``x[mask]`` is never longer than ``x``). Comparisons therefore
have three results, ``True``, ``False`` and ``None`` (unknown). Metas never compare dimensions themselves. An unknown
result counts as true, and the operation raises eager's error at run time.

>>> from tnp.core import sizes
>>> sizes.equal(3, 3), sizes.broadcast((3, 1), (4,)), sizes.product((2, 3))
(True, (3, 4), 6)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast, overload

from tnp.core import intervals, symbols
from tnp.core.context import state
from tnp.core.errors import NeedsConcreteSize, NeedsElements

if TYPE_CHECKING:
    from tnp.core.proxies import NumberProxy

__all__ = [
    "Dim",
    "Shape",
    "at_least",
    "bound",
    "bound_or_none",
    "broadcast",
    "concrete",
    "equal",
    "equals",
    "extents",
    "fits",
    "is_decided",
    "is_known",
    "is_never_empty",
    "is_too_large",
    "key_of",
    "modulo",
    "most",
    "normalize_shape",
    "product",
    "shapes_equal",
    "stored_in",
]

Dim: TypeAlias = "int | NumberProxy"
Shape: TypeAlias = "tuple[Dim, ...]"


@overload
def is_known(shape: Shape) -> TypeGuard[tuple[int, ...]]: ...
@overload
def is_known(shape: Sequence[Dim]) -> TypeGuard[Sequence[int]]: ...
def is_known(shape: Sequence[Dim]) -> bool:
    """Whether every dimension is an ``int``."""
    for d in shape:  # a loop: this is asked several times for each operation that is traced
        if type(d) is not int:
            return False
    return True


def is_decided(shape: Sequence[Dim]) -> bool:
    """Whether every dimension is an ``int`` or a symbol: what fitted while the program was traced fits whenever its guards hold."""
    return all(type(d) is int or symbols.value_of(d) is not None for d in shape)


def concrete(shape: Sequence[Dim], operation: str) -> tuple[int, ...]:
    """``shape`` as ints. Raises :class:`NeedsConcreteSize` if one is known only at run time."""
    if is_known(shape):
        return tuple(shape)
    if any(symbols.value_of(d) is None for d in shape):
        raise NeedsConcreteSize(f"{operation} needs sizes that are known before it runs, not {show(shape)}")
    return tuple(d if isinstance(d, int) else int(d) for d in shape)  # on which the program depends from now on


def extents(shape: Sequence[Dim], operation: str) -> tuple[Any, ...]:
    """``shape`` to compute with: ints, and an :class:`~tnp.core.symbols.Extent` for each symbolic size. Raises
    :class:`NeedsConcreteSize` if a size is known only when the program runs."""
    found = symbols.extents(shape)
    if found is None:
        raise NeedsConcreteSize(f"{operation} needs sizes that are known before it runs, not {show(shape)}")
    return found


def modulo(by: Any, length: Any) -> Any:
    """``by % length`` of integers and extents. The range in which ``by`` lies becomes a relation."""
    if 0 <= by < length:
        return by
    if by == length:
        return 0
    return length + by if -length < by < 0 else symbols.fixed(by) % symbols.fixed(length)


def at_least(n: Dim, least: Dim, operation: str) -> Dim:
    """``n``, which is at least ``least`` where only the running program knows it. Raises :class:`NeedsElements` if that is not known."""
    if type(n) is int or symbols.value_of(n) is not None:
        return n
    low = intervals.linear(n).plus(intervals.linear(least), -1).interval()[0]
    if low is None or low < 0:
        raise NeedsElements(f"{operation} needs sizes that are known before it runs, not {show((n,))}", n, least)
    return n


def is_never_empty(shape: Sequence[Dim]) -> bool:
    """Whether an array of ``shape`` surely has an element."""
    return all((low := intervals.bounds(d)[0]) is not None and low > 0 for d in shape)


def is_too_large(shape: Sequence[Dim]) -> bool:
    """Whether an array of ``shape`` has more elements than an index can name. Sizes that are known only at run time do not count."""
    count = 1
    for d in shape:
        if type(d) is int:
            count *= d
    return count >= 1 << 63


def bound(d: Dim) -> int:
    """The largest value that ``d`` can have. Raises :class:`NeedsConcreteSize` for a size without one."""
    if isinstance(d, int):
        return d
    if d.bound is None:
        raise NeedsConcreteSize(f"the size {d.name} has no upper bound")
    return d.bound


def bound_or_none(d: Dim) -> int | None:
    """The largest value that ``d`` can have; ``None`` for a size without one."""
    return d if isinstance(d, int) else d.bound


def most(shape: Sequence[Dim]) -> int | None:
    """The largest number of elements that an array of ``shape`` can have; ``None`` if a size has no bound. Passes ask this, since
    nothing can be computed where no program is being recorded."""
    result = 1
    for d in shape:
        limit = bound_or_none(d)
        if limit is None:
            return None
        result *= limit
    return result


def equal(a: Dim, b: Dim) -> bool | None:
    """Whether two dimensions are equal; ``None`` if that is known only at run time."""
    if a is b:
        return True
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    if not isinstance(a, int) and not isinstance(b, int) and a.name == b.name:
        return True
    if intervals.differ_by(a, b) == 0:
        return True
    relations = symbols.relations_of(a, b)
    if relations is not None:
        return relations.equal(a, b)
    known, unknown = (a, b) if isinstance(a, int) else (b, a)
    if isinstance(known, int) and not isinstance(unknown, int) and unknown.bound is not None and known > unknown.bound:
        return False
    return None


def key_of(n: Dim) -> tuple[Any, ...]:
    """What two dimensions have in common that are surely equal, and others have not."""
    return intervals.linear(n).key


def equals(n: NumberProxy) -> Iterator[NumberProxy]:
    """The other numbers of the program that are known to equal the symbolic size ``n``."""
    assert n.relations is not None
    key = intervals.reduced(intervals.linear(n)).key
    for other in (*n.relations.symbols, *n.relations.atoms.values()):
        if other.name != n.name and intervals.reduced(intervals.linear(other)).key == key:
            yield other


def shapes_equal(a: Sequence[Dim], b: Sequence[Dim]) -> bool | None:
    """Whether two shapes are equal: ``False`` if any pair of dimensions surely differs."""
    if a is b:
        return True
    if len(a) != len(b):
        return False
    answer: bool | None = True
    for x, y in zip(a, b):
        same = x == y if type(x) is int and type(y) is int else equal(x, y)
        if same is False:
            return False
        if same is None:
            answer = None
    return answer


def fits(d: Dim, wanted: Dim) -> bool | None:
    """Whether a dimension can be repeated to ``wanted``, because it is that or 1; ``None`` if it is known only at run time."""
    if isinstance(d, int) and d == 1:
        return True
    same = equal(d, wanted)
    if same is False and symbols.value_of(d) is not None:
        return equal(d, 1)  # a symbol is never 1, but what is computed of it may be
    return None if same is False and not isinstance(d, int) else same


def broadcast(*shapes: Sequence[Dim]) -> Shape:
    """The shape that ``shapes`` broadcast to, by NumPy's rule.

    Raises ``ValueError`` where two dimensions surely differ and neither is 1. A size against an ``int`` other than
    1 gives the ``int``: at run time the size is that or 1, or the operation raises. Two sizes of which it is not known that they are
    equal give a third one, computed when the program runs.
    """
    rank = max((len(s) for s in shapes), default=0)
    result: list[Dim] = [1] * rank
    for s in shapes:
        offset = rank - len(s)
        for i, d in enumerate(s):
            current = result[offset + i]
            if isinstance(d, int) and d == 1:
                continue
            if isinstance(current, int) and current == 1:
                result[offset + i] = d
                continue
            if equal(current, d) is True:
                continue
            if symbols.value_of(current) is not None and symbols.value_of(d) is not None:
                if equal(d, 1):
                    continue
                if equal(current, 1):
                    result[offset + i] = d
                    continue
                described = " ".join(show(x) for x in shapes)
                raise ValueError(
                    f"operands could not be broadcast together with shapes {described} "
                )  # as NumPy: a space
            if isinstance(d, int):
                result[offset + i] = d
            elif not isinstance(current, int) and not _is_several(current):
                wanted = (state.stored_in or ())[offset + i - rank :][:1]
                known = [x for x in (current, d) for w in wanted if equal(x, w) is True]
                result[offset + i] = known[0] if known else d if _is_several(d) else _other_than_one(current, d)
    return tuple(result)


def _is_several(a: NumberProxy) -> bool:
    """Whether a size is surely more than 1: what broadcasts with it has its size, or the program raises."""
    low, _ = intervals.bounds(a)
    return low is not None and low > 1


@contextmanager
def stored_in(shape: Sequence[Dim]) -> Iterator[None]:
    """What is computed inside is stored in an array of that shape: it is broadcast to nothing else, or the program raises."""
    before = state.stored_in
    state.stored_in = tuple(shape)
    try:
        yield
    finally:
        state.stored_in = before


def _other_than_one(a: NumberProxy, b: NumberProxy) -> NumberProxy:
    """The size that two sizes broadcast to: ``b`` where ``a`` is 1, else ``a``. Of two that do not fit the second is named as the wrong one."""
    result = cast("NumberProxy", (cast("Any", a) == 1) * (cast("Any", b) - a) + a)
    result.form = None
    result.low = 0
    result.bound = None if a.bound is None or b.bound is None else max(a.bound, b.bound)
    return result


def product(shape: Sequence[Dim]) -> Dim:
    """The number of elements; a size if a dimension is one."""
    result: Dim = 1
    for d in shape:
        result = result * d if isinstance(result, int) and isinstance(d, int) else _multiply(result, d)
    return result


def count(shape: Sequence[Dim]) -> Dim:
    """:func:`product` to compare with another, and not to compute with: of symbolic sizes, without operations in the trace."""
    if symbols.relations_of(*shape) is None:
        return product(shape)
    result: Dim = 1
    for d in shape:
        result = symbols.compute("mul", result, d)
    return result


def total(a: Dim, b: Dim) -> Dim:
    """The size of two dimensions one after the other."""
    return symbols.compute("add", a, b) if symbols.relations_of(a, b) is not None else a + b


def _multiply(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and a == 1:
        return b
    if isinstance(b, int) and b == 1:
        return a
    if (isinstance(a, int) and a == 0) or (isinstance(b, int) and b == 0):
        return 0
    if symbols.relations_of(a, b) is not None:
        return symbols.compute("mul", a, b)
    result: NumberProxy = cast("Any", a) * b
    try:
        result.bound = bound(a) * bound(b)
    except NeedsConcreteSize:
        result.bound = None
    return result


def normalize_shape(shape: Dim | Sequence[Dim]) -> Shape:
    """A shape argument (``3``, ``(2, 3)``) as a tuple of dimensions."""
    return tuple(shape) if isinstance(shape, (tuple, list)) else (cast("Dim", shape),)


def show(shape: Sequence[Dim]) -> str:
    """``(3,n0)``: the form in which NumPy's messages print shapes."""
    inner = ",".join(map(_shown, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def _shown(d: Dim) -> str:
    return d.name if not isinstance(d, int) and d.relations is None else str(symbols.value_of(d))
