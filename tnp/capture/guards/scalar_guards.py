"""Guards on the numbers that a trace depends on."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable
from typing import Any

from tnp.capture.guards.lifting import Inputs
from tnp.capture.guards.prologue import Source
from tnp.core import prims
from tnp.core.elementwise_table import by_name
from tnp.core.prims.elementwise import number_function
from tnp.core.printing import literal
from tnp.core.proxies import NumberProxy, Proxy
from tnp.core.subtraces import bodies_of
from tnp.core.symbol import BoundSymbol
from tnp.core.trace import Trace

__all__ = ["guard_numbers"]

#: functions of Python numbers that are operators: a call takes longer
_INFIX = {
    operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=",
    operator.add: "+", operator.sub: "-", operator.mul: "*",
}  # fmt: skip
#: how many operations deep a message describes how a number is computed
DESCRIBED = 6


def guard_numbers(trace: Trace, numbers: Collection[NumberProxy], inputs: Inputs, *, given_up: bool = False) -> None:
    """Guards numbers that the program depends on, computed in the prologue from those that it is given.

    Of a trace that was ``given_up``, those are left out that are not known to be computed from other numbers.
    """
    numbers = [n for n in numbers if n.relations is None]  # what holds of symbolic sizes has been noted
    origins = _Origins(trace, inputs) if numbers else None
    for number in numbers:
        assert origins is not None
        if given_up and not origins.is_known(number):
            continue
        inputs.number_guard(origins.expression(number), origins.describe(number), number)
        if number.python_type is int:
            _note_length(origins.roots(number), inputs)
    inputs.prologue.guard_relations()


class _Origins:
    """How the numbers of a trace are computed from its inputs."""

    def __init__(self, trace: Trace, inputs: Inputs) -> None:
        self.inputs = inputs
        self.expressions = dict(inputs.expressions)
        #: by the name of a number, the operation that makes it
        self.producers = dict(trace.number_definitions)
        self._collect([*trace.bound_symbols, *trace.asked_numbers])

    def _collect(self, bsyms: Iterable[BoundSymbol]) -> None:
        for b in bsyms:
            self._collect(b.subsymbols)
            for body in bodies_of(b):
                self._collect(body.bound_symbols)
            for p in b.flat_outputs:
                if isinstance(p, NumberProxy):
                    self.producers.setdefault(p.name, b)

    def describe(self, x: Any, depth: int = DESCRIBED) -> str:
        """What messages say of a number."""
        if not isinstance(x, Proxy) or x.name in self.inputs.expressions:
            return x.name if isinstance(x, Proxy) else str(x)
        b = self.producers[x.name]
        return f"{b.sym.name}({', '.join(self.describe(a, depth - 1) for a in b.args) if depth else '...'})"

    def expression(self, number: NumberProxy) -> str:
        """A number as Python over the prologue's names."""
        left: list[Any] = [number]  # no recursion: loops make long chains of numbers
        while left:
            x = left[-1]
            b = self.producers[x.name] if self._is_unwritten(x) else None
            parts = [] if b is None else [a for a in b.args if self._is_unwritten(a)]
            if parts:
                left += parts
                continue
            left.pop()
            if b is not None:
                function = _number_function(b)
                assert function is not None
                written = [self._written(a) for a in b.args]
                if function in _INFIX and len(written) == 2:
                    text = f"({written[0]} {_INFIX[function]} {written[1]})"
                else:
                    text = f"{self.inputs.prologue.constant(function, 'number')}({', '.join(written)})"
                self.expressions[x.name] = self.inputs.prologue.let_once(Source(text, x.name)).expression
        return self.expressions[number.name]

    def _is_unwritten(self, x: Any) -> bool:
        return isinstance(x, Proxy) and x.name not in self.expressions

    def _written(self, x: Any) -> str:
        if isinstance(x, Proxy):
            return self.expressions[x.name]
        return self.inputs.prologue.constant(x, "type") if isinstance(x, type) else literal(x, {})

    def is_known(self, number: NumberProxy) -> bool:
        """Whether a number is computed from inputs that are numbers."""
        made = [b for x in self._behind(number) if x not in self.inputs.expressions for b in [self.producers.get(x)]]
        return all(b is not None and _number_function(b) is not None for b in made)

    def roots(self, number: NumberProxy) -> set[str]:
        """The inputs that a number is computed from."""
        return {x for x in self._behind(number) if x in self.inputs.expressions}

    def _behind(self, number: NumberProxy) -> set[str]:
        """The names of a number and of everything that it is computed from."""
        left: list[Any] = [number]
        seen: set[str] = set()
        while left:
            x = left.pop()
            if isinstance(x, Proxy) and x.name not in seen:
                seen.add(x.name)
                b = None if x.name in self.inputs.expressions else self.producers.get(x.name)
                left += () if b is None else b.args
        return seen


def _note_length(names: set[str], inputs: Inputs) -> None:
    """Makes integer arguments known if a length is computed from them and from symbols. The length then depends on symbols alone."""
    symbols = {n.name for n in inputs.prologue.relations.symbols}
    if names & symbols:
        integers = [inputs.dimensions[n][0] for n in names - symbols if n in inputs.dimensions]
        inputs.prologue.varying.known_integers.update(integers)


def _number_function(b: BoundSymbol) -> Callable[..., Any] | None:
    """What an operation does with Python numbers; ``None`` if it takes others."""
    if b.operation is prims.convert_number:
        python_type = b.args[1]
        return lambda x, _: python_type(x)
    row = by_name.get(b.operation.name)
    return None if row is None else number_function(row)
