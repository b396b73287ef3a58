"""Predicates on arguments: whether they hold traced values, and whether an operation on them may raise at run time."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

from tnp.capture.objects.row_list import ListStandIn
from tnp.capture.tracing.growing import GrowingArray
from tnp.capture.tracing.optional_values import TracedOptional
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber, TracedObject, shapes_in
from tnp.core import intervals, sizes, symbols
from tnp.core.proxies import NumberProxy
from tnp.core.symbol import OpTags, Symbol

__all__ = [
    "PLAIN",
    "is_by_zero",
    "is_list_of_scalars",
    "is_negative_power",
    "is_traced",
    "may_fail_by_size",
    "stores_item",
    "surely_fits",
]

#: kinds of values that are surely no array library's
PLAIN = frozenset(
    (bool, int, float, complex, str, bytes, type(None), type(...), type, slice, TracedNumber, TracedObject)
)


_TRACED = (TracedArray, TracedNumber, TracedObject, TracedEither, TracedOptional, GrowingArray)


def is_traced(x: Any) -> bool:
    """Whether ``x`` is a traced value, or a list, tuple, dict or slice that holds one."""
    kind = type(x)
    if kind in _TRACED:
        return True
    if kind in (list, tuple) or issubclass(kind, (list, tuple)):
        return isinstance(x, ListStandIn) or any(is_traced(y) for y in x)
    if kind is dict:
        return any(is_traced(y) for y in x.values())
    if kind is slice:
        return is_traced((x.start, x.stop, x.step))
    return False


def may_fail_by_size(symbol: Symbol, args: Any) -> bool:
    """Whether an operation may raise because sizes that are known at run time only do not fit."""
    for a in args:
        kind = type(a)
        if kind is TracedArray:
            if not sizes.is_decided(a.shape_):
                break
        elif kind not in PLAIN and not all(map(sizes.is_decided, shapes_in(a))):
            break
        elif kind is tuple and _looks_otherwise(symbol) and TracedNumber in map(type, a):  # a shape that it may not fit
            break
    else:
        return False
    shapes = shapes_in(args)
    if OpTags.ELEMENTWISE in symbol.tags:
        return any(s and sizes.shapes_equal(s, shapes[0]) is not True for s in shapes)
    return OpTags.ANY_SIZE not in symbol.tags


def _looks_otherwise(symbol: Symbol) -> bool:
    return OpTags.VIEW in symbol.tags and OpTags.SUBSCRIPT not in symbol.tags


def is_negative_power(args: Any) -> bool:
    """Whether integers are raised to a power that may be negative, which NumPy refuses."""
    if len(args) < 2:
        return False
    base, exponent = args[:2]
    kinds = [_kind_of_elements(x) for x in (base, exponent)]
    return kinds[0] in "iub" and kinds[1] == "i" and not (type(exponent) is int and exponent >= 0)


def is_by_zero(args: Any) -> bool:
    """Whether an integer division may be by zero."""
    return all(_kind_of_elements(x) in "iub" for x in args[:2]) and not (type(args[-1]) is int and args[-1] != 0)


def _kind_of_elements(x: Any) -> str:
    """The kind of an operand's dtype. A list may hold integers, so its kind is ``"i"``."""
    if type(x) is TracedArray:
        return x._element_type.kind
    kind = x.proxy.python_type if type(x) is TracedNumber else type(x)
    known: Any = {bool: "b", int: "i", float: "f", complex: "c"}.get(kind)
    found: str = known or getattr(getattr(x, "dtype", None), "kind", "i")
    return found


def is_list_of_scalars(args: Any) -> bool:
    """Whether an array is made of a list in which there are scalars, which may not fit a dtype that it is given."""
    return bool(args) and isinstance(args[0], (list, tuple)) and is_traced(args[0])


def surely_fits(shape: Sequence[Any], parts: Sequence[Any]) -> bool:
    """Whether a subscript of numbers and slices is within bounds for all values that its numbers may have."""
    if len(parts) > len(shape):
        return False
    return all(_is_slice_of_integers(k) if type(k) is slice else _is_within(k, n) for k, n in zip(parts, shape))


def _is_slice_of_integers(key: slice) -> bool:
    """Whether a slice has ends that are integers, and a step that is known: it fits any length."""
    is_known = key.step is None or (type(key.step) is int and key.step != 0)
    return is_known and all(x is None or type(x) is int or _number_of(x) is not None for x in (key.start, key.stop))


def _is_within(key: Any, length: Any) -> bool:
    number = key if type(key) is int else _number_of(key)
    if number is None or (isinstance(length, NumberProxy) and symbols.value_of(length) is None):
        return False
    index = intervals.linear(number)
    low, _ = index.interval()
    room, _ = intervals.linear(length).plus(index, -1).interval()
    return low is not None and low >= 0 and room is not None and room >= 1


def _number_of(x: Any) -> NumberProxy | None:
    """The integer that is known when the program runs, if ``x`` is one."""
    is_one = type(x) is TracedNumber and x.proxy.python_type is int
    return x.proxy if is_one else None


def stores_item(f: Any, args: tuple[Any, ...]) -> bool:
    """Whether a call is ``super().__setitem__(key, value)`` of a class that inherits from ``dict``, or ``dict.__setitem__``."""
    if getattr(f, "__name__", "") != "__setitem__" or type(f) not in (
        types.MethodWrapperType,
        types.WrapperDescriptorType,
    ):
        return False
    is_bound = type(f) is types.MethodWrapperType
    owner = type(f.__self__) if is_bound else f.__objclass__
    return issubclass(owner, dict) and not is_traced(args[: 1 if is_bound else 2])
