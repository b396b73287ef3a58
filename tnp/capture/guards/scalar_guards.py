"""Guards on the numbers that a trace depends on."""

from __future__ import annotations

from collections.abc import Callable, Collection
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

#: how many operations deep a message describes how a number is computed
DESCRIBED = 6


def guard_numbers(trace: Trace, numbers: Collection[NumberProxy], inputs: Inputs, *, given_up: bool = False) -> None:
    """Guards numbers that the program depends on, computed in the prologue from those that it is given.

    Of a trace that was ``given_up``, those are left out that are not known to be computed from other numbers.
    """
    producers = dict(trace.number_definitions)

    def collect(bsyms: Any) -> None:
        for b in bsyms:
            collect(b.subsymbols)
            for body in bodies_of(b):
                collect(body.bound_symbols)
            for p in b.flat_outputs:
                if isinstance(p, NumberProxy):
                    producers.setdefault(p.name, b)

    if numbers:
        collect([*trace.bound_symbols, *trace.asked_numbers])
    expressions = dict(inputs.expressions)

    def describe(x: Any, depth: int = DESCRIBED) -> str:
        if not isinstance(x, Proxy) or x.name in inputs.expressions:
            return x.name if isinstance(x, Proxy) else str(x)
        b = producers[x.name]
        return f"{b.sym.name}({', '.join(describe(a, depth - 1) for a in b.args) if depth else '...'})"

    def unwritten(x: Any) -> bool:
        return isinstance(x, Proxy) and x.name not in expressions

    def written(x: Any) -> str:
        if isinstance(x, Proxy):
            return expressions[x.name]
        return inputs.prologue.constant(x, "type") if isinstance(x, type) else literal(x, {})

    def expression(number: NumberProxy) -> str:
        left: list[Any] = [number]  # no recursion: loops make long chains of numbers
        while left:
            x = left[-1]
            b = producers[x.name] if unwritten(x) else None
            parts = [] if b is None else [a for a in b.args if unwritten(a)]
            if parts:
                left += parts
                continue
            left.pop()
            if b is not None:
                function = _number_function(b)
                assert function is not None
                name = inputs.prologue.constant(function, "number")
                text = f"{name}({', '.join(map(written, b.args))})"
                expressions[x.name] = inputs.prologue.let(Source(text, x.name)).expression
        return expressions[number.name]

    def is_known(number: NumberProxy) -> bool:
        left: list[Any] = [number]
        seen: set[str] = set()
        while left:
            x = left.pop()
            if not unwritten(x) or x.name in seen:
                continue
            seen.add(x.name)
            b = producers.get(x.name)
            if b is None or _number_function(b) is None:
                return False
            left += b.args
        return True

    numbers = [n for n in numbers if n.relations is None]  # what holds of symbolic sizes has been noted
    for number in filter(is_known, numbers) if given_up else numbers:
        inputs.number_guard(expression(number), describe(number), number)
    inputs.prologue.guard_relations()


def _number_function(b: BoundSymbol) -> Callable[..., Any] | None:
    """What an operation does with Python numbers; ``None`` if it takes others."""
    if b.operation is prims.convert_number:
        python_type = b.args[1]
        return lambda x, _: python_type(x)
    row = by_name.get(b.operation.name)
    return None if row is None else number_function(row)
