"""Early exits of bodies, and their results as numbers that a loop can carry or a branch can return.

A value that is returned in one iteration, or on one side, needs a placeholder in the others. Numbers and NumPy scalars
have one (a scalar becomes the equal number), and so do tuples of them. A value that is equal on all paths need not be
carried. An array that a variable is bound to when the body ends is that variable's value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tnp.capture import active
from tnp.capture.libraries.numpy.operations import scalar_of
from tnp.capture.speculation.regions import Region, Variables
from tnp.capture.speculation.trials import (
    CONSTANTS,
    CONTINUE,
    ConditionalExit,
    ExitUnion,
    Failure,
    Returned,
    Returning,
    is_same_array,
    ways_of,
    without,
)
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import prims
from tnp.core.proxies import NumberProxy

__all__ = ["ExitPath", "Payload", "exits_of", "joined", "payload_of"]


class Payload:
    """A value taken apart: ``numbers`` (proxies and Python numbers), and a ``template`` of how to put it together.

    Values of equal templates can stand for each other.
    """

    def __init__(self, template: Any, numbers: list[Any]) -> None:
        self._template = template
        self.numbers = numbers

    @property
    def template(self) -> Any:
        """How the value is put together. Raises :class:`Failure` if it cannot be."""
        if _holds_unknown(self._template):
            raise Failure("it returns what it made from inside of a loop")
        return self._template

    @property
    def types(self) -> list[type]:
        return [n.python_type if isinstance(n, NumberProxy) else type(n) for n in self.numbers]

    def rebuilt(self, numbers: list[Any], variables: Variables) -> Returned:
        """The code of a return, of other numbers and of what ``variables`` are bound to. Raises :class:`Failure` if they cannot be
        put together."""
        parts = iter([TracedNumber(n) if isinstance(n, NumberProxy) else n for n in numbers])
        template = _bound(self.template, variables)
        return Returned(_rebuilt(template, parts), Payload(template, numbers))


@dataclass(frozen=True)
class ExitPath:
    """A way in which a body may end early: on a condition, by a code (``None`` for any), and what is returned then, taken apart."""

    condition: Any
    how: Any
    payload: Payload | None

    @property
    def key(self) -> Any:
        """The same for ways that are one."""
        return self.how.block.__code__ if isinstance(self.how, Returning) else "return" if self.payload else self.how

    @property
    def flag(self) -> Any:
        return self.condition.proxy if type(self.condition) is TracedNumber else self.condition

    @property
    def values(self) -> list[Any]:
        """The condition, and the numbers that are returned."""
        return [self.flag, *(() if self.payload is None else self.payload.numbers)]

    @property
    def types(self) -> list[type]:
        return [bool, *(() if self.payload is None else self.payload.types)]

    @property
    def template(self) -> Any:
        return None if self.payload is None else self.payload.template

    def rebuilt(self, values: list[Any], variables: Variables) -> tuple[Any, Any]:
        """The condition and the code, of other :attr:`values`."""
        how = self.how if self.payload is None else self.payload.rebuilt(values[1:], variables)
        return TracedNumber(values[0]), how


def joined(ways: list[tuple[Any, Any]]) -> ConditionalExit:
    """The code of a body that may have ended in some ways; if there are several, whether it has in any comes first."""
    return ConditionalExit(ways[0][0], ways[0][1] if len(ways) == 1 else ExitUnion(ways[1:]))


class _Same:
    """In a template: what is the same in each iteration."""

    def __init__(self, value: Any, key: Any) -> None:
        self.value = value
        self.key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.key == other.key


class _Variable:
    """In a template: the array that a variable is bound to when the body ends."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Variable) and self.name == other.name


def _same_array(x: TracedArray) -> _Same:
    return _Same(x, (id(x.storage), repr(x.path), x.shape_))


def _bound(template: Any, variables: Variables) -> Any:
    if type(template) is tuple:
        return tuple(_bound(t, variables) for t in template)
    return _same_array(variables[template.name]) if isinstance(template, _Variable) else template


def payload_of(code: Returned, region: Region, variables: Variables, names: Sequence[str]) -> Payload:
    """What is returned taken apart, at the end of ``region``, which binds ``names`` among ``variables``."""
    if code.payload is not None:
        numbers, template = code.payload.numbers, code.payload.template
    else:
        numbers = []
        template = _template(code.value, numbers)
    return Payload(_at_end(template, region, variables, names), numbers)


def _at_end(template: Any, region: Region, variables: Variables, names: Sequence[str]) -> Any:
    """A template with its arrays as what they are when the region ends: a variable's, or what was there before."""
    if type(template) is tuple:
        return tuple(_at_end(t, region, variables, names) for t in template)
    x = template.value if isinstance(template, _Same) else None
    if type(x) is not TracedArray:
        return template
    found = (n for n in names if is_same_array(variables[n], x))
    name = next(found, None)
    return _Variable(name) if name is not None else template if x.storage.serial < region.serial else _UNKNOWN


def _template(x: Any, numbers: list[Any]) -> Any:
    kind = type(x)
    if kind is tuple:
        return tuple(_template(y, numbers) for y in x)
    if kind is TracedNumber or kind in (bool, int, float, complex):
        numbers.append(x.proxy if kind is TracedNumber else x)
        return "number", x.proxy.python_type if kind is TracedNumber else kind
    if kind is TracedArray and x.scalar and x._element_type.kind in "biufc":
        numbers.append(active.current().call(prims.item, (x,), {}).proxy)
        return "scalar", x.dtype
    if kind is TracedEither:
        numbers.append(active.current().call(prims.item, (x.scalar,), {}).proxy)
        numbers.append(x.flag.proxy if type(x.flag) is TracedNumber else x.flag)
        return "either", *x.kinds
    if kind in CONSTANTS:
        return _Same(x, repr(x))
    if kind is TracedArray:
        return _same_array(x)
    return _UNKNOWN


#: in a template: what cannot be taken apart
_UNKNOWN = object()


def _holds_unknown(template: Any) -> bool:
    return template is _UNKNOWN or (isinstance(template, tuple) and any(map(_holds_unknown, template)))


def _rebuilt(template: Any, numbers: Iterator[Any]) -> Any:
    if isinstance(template, _Same):
        return template.value
    if template[:1] == ("number",):
        return next(numbers)
    if template[:1] in (("scalar",), ("either",)):
        scalar = scalar_of(template[1].type, next(numbers))
        return scalar if template[0] == "scalar" else TracedEither(scalar, next(numbers), template[2])
    return tuple(_rebuilt(t, numbers) for t in template)


def exits_of(code: Any, region: Region, variables: Variables, names: Sequence[str]) -> list[ExitPath]:
    """In which ways an iteration ends the loop; if there are several, whether it does in any comes first."""
    code = without(code, CONTINUE)
    if code is None:
        return []
    if not isinstance(code, ConditionalExit):
        raise Failure("it is left in each iteration")
    ways = [
        ExitPath(c, how, payload_of(how, region, variables, names) if type(how) is Returned else None)
        for c, how in ways_of(code)
    ]
    return ways if len(ways) == 1 else [ExitPath(code.condition, None, None), *ways]
