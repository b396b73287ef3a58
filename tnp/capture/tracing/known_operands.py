"""Operations that need to know values of their operands, or sizes, which the trace then depends on."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import languages, sizes
from tnp.core.errors import NeedsConcreteSize, NeedsEager, NeedsElements, NeedsValue
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import Symbol, flat_proxies, map_proxies

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["called_knowing", "other_operands"]

#: elements of an array that decides a shape
_MOST_KNOWN = 16


def called_knowing(
    tracer: Tracer, symbol: Symbol, args: list[Any], kwargs: dict[str, Any], seen: dict[str, TracedArray], needed: NeedsEager,
    may_settle_sizes: bool,
) -> Any:  # fmt: skip
    """``symbol`` called with what it needs to know, if that is values or sizes; ``may_settle_sizes``: it may know the latter.

    Raises ``needed``, or what it needs besides, if it cannot know it.
    """
    if isinstance(needed, NeedsValue):
        try:
            return _call_with_values(tracer, symbol, args, kwargs, seen, needed)
        except NeedsValue as another:  # of a number that is computed of a length
            needed = another
        may_settle_sizes = may_settle_sizes and not tracer.regions
    elif not isinstance(needed, NeedsConcreteSize):
        raise needed
    if not may_settle_sizes:
        raise needed
    return _call_with_sizes(tracer, symbol, args, kwargs, seen, needed)


def _call_with_values(
    tracer: Tracer,
    symbol: Symbol,
    args: list[Any],
    kwargs: dict[str, Any],
    seen: dict[str, TracedArray],
    needed: NeedsValue,
) -> Any:
    """``symbol`` called with integer scalars among its arguments as numbers, since it needs to know one of them: those that are
    made of sizes, as these; those that are inputs; and then those that the program computes, one by one."""
    known = {name: scalar for name, a in seen.items() if (scalar := _known_value(tracer, a)) is not None}
    wanted = [a for n, a in seen.items() if n not in known and not a.shape_ and a._element_type.kind in "iu"]
    if needed.array is not None:
        known[needed.array.name] = _known_elements(tracer, needed, needed.array, flat_proxies((args, kwargs)), seen)
    if not known and not wanted:
        raise needed
    while True:
        try:
            values = map_proxies(lambda p: known.get(p.name, p), (args, kwargs))
            return symbol(*values[0], **values[1])
        except NeedsValue as another:
            array = another.array
            if array is not None and array.name not in known:
                known[array.name] = _known_elements(tracer, another, array, flat_proxies((args, kwargs)), seen)
                continue
            if not wanted:
                raise
            a = wanted.pop(0)
            value = a._asked(f"{symbol.name}()")
        known[a.__tnp_value__().name] = a.library.element(a, value)


def _call_with_sizes(
    tracer: Tracer,
    symbol: Symbol,
    args: list[Any],
    kwargs: dict[str, Any],
    seen: dict[str, TracedArray],
    needed: NeedsEager,
) -> Any:
    """``symbol`` called with arrays of the sizes that they have in this call, since it needs to know one of them."""
    sized = {}
    for name, a in seen.items():
        if not sizes.is_known(a.shape_):
            with languages.language_context(a.library.language):
                sized[name] = tracer.found_lengths.settled(a, f"{symbol.name}()")
    if not sized:
        raise needed
    args, kwargs = map_proxies(lambda p: sized.get(p.name, p), (args, kwargs))
    return symbol(*args, **kwargs)


def other_operands(
    tracer: Tracer,
    symbol: Symbol,
    needed: NeedsEager,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    may_settle_sizes: bool,
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments with which an operation is called again that cannot be compiled as it is: numbers in place of arrays of sizes, or the
    same where a length was found to be large enough. ``None`` if there are none."""
    if isinstance(needed, NeedsElements):
        return (args, kwargs) if may_settle_sizes and tracer.specializer.has_elements(needed) else None
    if isinstance(needed, (NeedsValue, NeedsConcreteSize)):
        return None

    def as_numbers(x: Any, is_first: bool = False) -> Any:
        """Numbers in place of an array of sizes. The first operand, which a method is of, is an array if it has dimensions."""
        if type(x) is not TracedArray or x._element_type.kind not in "iu" or (is_first and (x.ndim or of_method)):
            return x
        found = tracer.size_arrays.elements(x.__tnp_value__())
        if found is None or not found.size:
            return x
        return found.tolist() if found.ndim else found.item()

    of_method = ".ndarray." in symbol.id
    changed = [as_numbers(x, not i) for i, x in enumerate(args)], {k: as_numbers(x) for k, x in kwargs.items()}
    is_same = all(map(operator.is_, (*changed[0], *changed[1].values()), (*args, *kwargs.values())))
    return None if is_same else (tuple(changed[0]), changed[1])


def _known_value(tracer: Tracer, a: TracedArray) -> Any:
    """A scalar that is made of sizes as a number, a real NumPy scalar that is an argument as itself; ``None`` for any other array."""
    if a._element_type.kind not in "iuf":
        return None
    if not a.shape_ and (number := tracer.size_arrays.number(a.__tnp_value__())) is not None:
        return number.proxy
    known = tracer.known_scalar(a) if a.scalar else None
    return None if known is None else a.dtype.type(known)


def _known_elements(
    tracer: Tracer, needed: NeedsValue, array: TensorProxy, operands: list[Any], seen: dict[str, TracedArray]
) -> Any:
    """The elements of a short array that an operation needs to know, where it is one of its operands, and once: a tuple, or
    a tuple of tuples."""
    a = seen.get(array.name)
    known = sizes.is_known(array.shape) and 0 < array.ndim <= 2 and array.numel <= _MOST_KNOWN
    if a is None or not known or sum(p is array for p in operands) != 1:
        raise needed
    found = tracer.size_arrays.elements(array)
    if found is not None:
        rows = found.tolist()
        return tuple(map(_proxy_of, rows)) if array.ndim == 1 else tuple(tuple(map(_proxy_of, row)) for row in rows)
    if array.ndim == 1:
        return tuple(int(a[i]) for i in range(array.shape[0]))
    return tuple(tuple(int(a[i, j]) for j in range(array.shape[1])) for i in range(array.shape[0]))


def _proxy_of(number: Any) -> Any:
    return number.proxy if type(number) is TracedNumber else number
