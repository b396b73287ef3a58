"""Python's operators on traced values: maps each to an operation of a language, or to the library of an operand."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.iterables import TracedRange
from tnp.capture.libraries.base import library_of_value
from tnp.capture.libraries.numpy import array_classes
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.libraries.numpy.list_of_rows import array_of_rows, element
from tnp.capture.libraries.numpy.operations import range_as_array
from tnp.capture.objects.array_classes import ArrayOfClass, elements, is_array_of_class
from tnp.capture.objects.row_list import ListStandIn, RepeatedList, is_repeated
from tnp.capture.tracing import scalar_kind
from tnp.capture.tracing.growing import GrowingArray, array_of
from tnp.capture.tracing.optional_values import TracedOptional, settled
from tnp.capture.tracing.predicates import surely_fits
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import dtypes, intervals, languages, prims, symbols
from tnp.core.errors import NeedsEager
from tnp.core.prims.elementwise import refuses_some

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["in_place", "is_operand", "item_of", "operate"]

#: by an operator's method, what it is on Python's numbers
_PYTHON_OPERATORS: dict[str, Callable[..., Any]] = {
    method: getattr(operator, f"__{dunder}__", divmod)
    for dunder, method in (
        *languages.BINARY_OPERATORS.items(),
        *languages.UNARY_OPERATORS.items(),
        *zip(languages.COMPARISONS, languages.COMPARISONS),
    )
}
#: operators that refuse some numbers on their right
_DIVISIONS = frozenset(("div", "floor_divide", "remainder", "divmod"))
#: operators that Python's complex numbers have
_COMPLEX = frozenset(("add", "sub", "mul", "div", "pow", "eq", "ne"))
_NUMBERS = frozenset((TracedNumber, bool, int, float, complex))
_OPERAND_TYPES = _NUMBERS | {TracedArray, TracedEither, TracedOptional, GrowingArray}


#: operators that NumPy's integer scalars do not watch for overflows; functions of arrays watch for none
_NEVER_OVERFLOWING = frozenset(
    ("eq", "ne", "lt", "le", "gt", "ge", "bitwise_and", "bitwise_or", "bitwise_xor", "invert")
)


#: the special method of the right operand, by the operator's method
_REFLECTED = {method: f"__r{dunder}__" for dunder, method in languages.BINARY_OPERATORS.items()} | {
    "eq": "__eq__", "ne": "__ne__", "lt": "__gt__", "le": "__ge__", "gt": "__lt__", "ge": "__le__",
}  # fmt: skip


def _is_integer(x: Any) -> bool:
    """Whether an operand is an integer, or a scalar of integers or bools."""
    if type(x) is TracedArray:
        return x.scalar and x._element_type.kind in "iub"
    kind = x.proxy.python_type if type(x) is TracedNumber else type(x)
    return issubclass(kind, (int, np.integer, np.bool))


def operate(tracer: Tracer, method: str, *args: Any) -> Any:
    """A Python operator on traced values, numbers and arrays."""
    kinds = set(map(type, args))
    if any(issubclass(kind, ArrayOfClass) for kind in kinds):
        return array_classes.operated(tracer, method, _REFLECTED[method], args)
    if any(issubclass(kind, ListStandIn) for kind in kinds):
        return operate(tracer, method, *(x.as_array() if isinstance(x, ListStandIn) else x for x in args))
    if TracedOptional in kinds or GrowingArray in kinds:
        return operate(tracer, method, *(array_of(settled(a)) for a in args))
    if (
        TracedRange in kinds
        and TracedArray in kinds
        and all(x.library is NUMPY for x in args if type(x) is TracedArray)
    ):
        return operate(tracer, method, *(range_as_array(x, None) if type(x) is TracedRange else x for x in args))
    if TracedEither in kinds:
        return scalar_kind.operate(method, *args)
    if method in _COMPLEX and _is_complex(args[0]):  # to Python's complex numbers a scalar of float64 is a float
        if type(args[1]) is np.float64:
            args = (args[0], float(args[1]))
            kinds = set(map(type, args))
        elif type(args[1]) is TracedArray and args[1].scalar and args[1]._element_type is dtypes.float64:
            args = (args[0], tracer.call(prims.item, (args[1],), {}))
            kinds = set(map(type, args))
    if kinds <= _NUMBERS:
        args = tuple(map(tracer.specializer.known, args))
        if not any(type(x) is TracedNumber for x in args):
            return _PYTHON_OPERATORS[method](*args)
        if method == "matmul":
            raise NeedsEager("it applies @ to numbers, which have no such operator")
        if method == "pow":
            args = _decide_kind_of_power(*args)
        if method in ("left_shift", "right_shift") and (found := _shifted(method, *args)) is not None:
            return found
        numbers = [x.proxy if type(x) is TracedNumber else x for x in args]
        if refuses_some(method, numbers) or (method in _DIVISIONS and not args[1]):
            tracer.before_raising()
        result = languages.core.method(method)(*numbers)
        return tracer.handle(result, {}, 0)
    if tracer.raising and method not in _NEVER_OVERFLOWING and all(map(_is_integer, args)):
        raise NeedsEager("it computes with integer scalars under np.errstate(…='raise'), where overflows are errors")
    return NUMPY.operate(tracer, method, *args)  # which leaves what takes another library's arrays to that


def _decide_kind_of_power(base: Any, exponent: Any) -> tuple[Any, Any]:
    """The operands of a power of Python numbers, of the kind of the result. Asks for the signs that decide it: an integer to a negative one
    is a float, and a negative number to one that is not whole is complex."""
    kinds = [x.proxy.python_type if type(x) is TracedNumber else type(x) for x in (base, exponent)]
    if complex in kinds or kinds[1] is bool:
        return base, exponent
    if float not in kinds:
        known = type(exponent) is not TracedNumber
        if exponent < 0 if known else _may_be_negative(exponent) and bool(operator.lt(exponent, 0)):
            return base * 1.0, exponent
    elif kinds[1] is float and not (type(exponent) is float and exponent.is_integer()):
        asks = type(base) is not TracedNumber or (base.proxy.value is not None and _may_be_negative(base))
        if asks and base < 0 and type(exponent) is TracedNumber:
            float(exponent)
    return base, exponent


def _shifted(method: str, number: Any, by: Any) -> Any:
    """A shift as a product with, or a quotient by, a power of two, which relations of sizes describe; ``None`` for other numbers."""
    sizes = [x for x in (number, by) if type(x) is TracedNumber]
    if not all(type(x) is int for x in (number, by) if type(x) is not TracedNumber):
        return None
    if not all(symbols.is_symbol(x.proxy) for x in sizes):
        return None
    if by < 0 if type(by) is not TracedNumber else _may_be_negative(by):
        return None
    return number * 2**by if method == "left_shift" else number // 2**by


def _may_be_negative(number: TracedNumber) -> bool:
    if number.proxy.python_type is float:
        return True
    least = intervals.linear(number.proxy).interval()[0]
    return least is None or least < 0


def in_place(tracer: Tracer, method: str, target: TracedArray, other: Any) -> Any:
    """``target += other`` and its like."""
    if not is_operand(other):
        return NotImplemented
    other = array_of(settled(other))
    if type(other) is TracedRange and target.library is NUMPY:
        other = range_as_array(other, None)
    if is_array_of_class(other):
        other = elements(other)
    if type(other) is TracedEither:
        other = other.beside(target.dtype)
    return target.library.in_place(tracer, method, target, other)


def is_operand(x: Any) -> bool:
    """Whether NumPy's operators take ``x`` for an array."""
    if type(x) in _OPERAND_TYPES or isinstance(x, (np.ndarray, np.generic, list, tuple, range)):
        return True
    return library_of_value(x) is not None


def _is_complex(x: Any) -> bool:
    """Whether ``x`` is, or stands for, a Python complex number."""
    return type(x) is complex or (type(x) is TracedNumber and x.proxy.python_type is complex)


def item_of(items: Any, key: Any) -> Any:
    """``items[key]``. A list of one object again and again, and one of an array's rows, take a position that no value guard holds for."""
    if type(items) is RepeatedList and type(key) is TracedNumber:
        if not surely_fits((items.times.proxy,), (key,)):
            # What is read is the same at each position; that there is one is checked when the program runs.
            NUMPY.call(active.current(), np.broadcast_to, (np.float64(0), (items.times,)), {})[key]
        return items.item
    if type(key) is TracedNumber and type(items) in (list, tuple) and surely_fits((len(items),), (key,)):
        if is_repeated(items):
            return items[0]
        rows = array_of_rows(items)
        if rows is not None:
            return element(rows, key, items)
    return items[key]
