"""Lengths that only the running program knows, as symbols: ``np.gradient(x[mask])`` is part of a program for any length.

An operation that needs to know a length asks what it could ask of a symbolic size: whether it is even, or less than another. The
length that it has in the present call gives the answer, as it does for the sizes of arguments. Those are compared by guards before
the program begins. What is asked of a length that the program finds out is an assertion right behind the place where it does, and
a call for which one fails starts over, eagerly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from tnp.core import intervals, prims
from tnp.core.errors import NeedsEager
from tnp.core.prims.control_flow import START_OVER
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.subtraces import with_parts
from tnp.core.symbol import BoundSymbol
from tnp.core.symbols import LEAST, roots

if TYPE_CHECKING:
    from tnp.capture.tracing.traced_values import TracedArray
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["FoundLengths"]

#: shorter arrays are likely to be special: what is asked of their lengths does not hold for others
MANY = 8


class FoundLengths:
    """Those of one trace."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        #: whether a length is a symbol, by its name, of those that were to be one
        self._are_symbols: dict[str, bool] = {}
        #: by the name of a symbol, the statement that makes the first array of that length, or asserts something of it last
        self._last: dict[str, BoundSymbol] = {}
        #: by the name of a symbol, the statement that asks whether it is large enough
        self._least: dict[str, BoundSymbol] = {}
        #: how many statements are among those that were there
        self.inserted = 0

    def settled(self, a: TracedArray, what: str) -> TensorProxy:
        """The value of an array whose lengths tracing can ask: they are symbols, or those of this call, on which the trace depends then."""
        made = a.__tnp_value__()
        if not self.settles(a):
            value = self.tracer.specializer.value
            try:
                shape = tuple(value(n, what) if _is_counted(n) else int(n) for n in a.shape_)
            except NeedsEager as needed:
                needed.is_of_sizes = True
                raise
            made = prims.reshape(made, shape)
        return made

    def settle(self, made: Any) -> None:
        """Makes the lengths of a traced array, or of several, symbols where they can be. Raises ``NeedsValue`` if it is too early to ask."""
        specializer = self.tracer.specializer
        for a in made if isinstance(made, (tuple, list)) else (made,):
            for n in getattr(a, "shape_", ()):
                if _is_counted(n) and not self._is_symbol(n) and specializer.postponed():
                    specializer.value(n, "a gradient")

    def would_tell(self, result: TensorProxy, seen: Mapping[str, TracedArray], start: int) -> bool:
        """Whether the operation must be traced again. Its ``result``, which the statements from ``start`` on compute, has a length that
        nothing is known of. The lengths of its arguments are symbols now, so that the result's is computed of them."""
        if self.tracer.regions:
            return False
        counted = [a for a in seen.values() if any(map(_is_counted, a.shape_))]
        known = {n.name for a in counted for n in a.shape_ if isinstance(n, NumberProxy)}
        if not counted or all(not _is_counted(n) or n.name in known for n in result.shape):
            return False
        statements = self.tracer.trace.statements
        is_selected = any(b.operation is prims.nonzero for whole in statements[start:] for b in with_parts(whole))
        made = statements[start:]
        if is_selected or not all(map(self.settles, counted)):
            return False
        statements[:] = [b for b in statements if all(b is not other for other in made)]
        return True

    def close(self) -> None:
        """The program is traced: what is asked of its lengths from now on is not part of it."""
        if self._last:
            self.tracer.inputs.prologue.relations.settle = _too_late

    def settles(self, a: TracedArray) -> bool:
        """Makes the lengths of an array symbols, and gives whether they all are."""
        return all(self._is_symbol(n) for n in a.shape_ if _is_counted(n))

    def _is_symbol(self, n: NumberProxy) -> bool:
        if n.name not in self._are_symbols:
            self._are_symbols[n.name] = False  # the answer while this one is being found
            self._are_symbols[n.name] = self._becomes_symbol(n)
        return self._are_symbols[n.name]

    def _becomes_symbol(self, n: NumberProxy) -> bool:
        tracer = self.tracer
        relations = tracer.inputs.prologue.relations
        if tracer.regions or not tracer.may_start_over():
            return False
        self._turn_round(n)
        parts = [x for x, _ in n.form.terms.values()] if n.form is not None else []
        if not all(self._is_symbol(x) for x in parts if _is_counted(x)):
            return False
        maker = self._maker(n)
        present = None if maker is None else tracer.specializer.present(n)
        is_needed = tracer.gradients is not None and bool(tracer.gradients.roots)  # or the call runs eagerly
        if present is None or present < (LEAST if is_needed else MANY) or maker is None:
            return False
        tracer.expects_no_error()
        relations.settle = self._assert
        relations.found.append(n.name)
        n.relations, n.text, n.value = relations, n.name, present
        self._last[n.name] = maker
        self._assert("ge", n, LEAST)
        if n.form is None:
            n.low = max(n.low or 0, LEAST)
        return True

    def _maker(self, n: NumberProxy) -> BoundSymbol | None:
        """The statement of the program that makes the first array of a length."""
        statements = self.tracer.trace.bound_symbols
        return next((b for b in statements if any(_has(p, n) for p in b.flat_outputs)), None)

    def _turn_round(self, n: NumberProxy) -> None:
        """Writes the number that a mask selects in terms of the length ``n``, which is that, where no array is so long."""
        form = n.form
        terms = [] if form is None else list(form.terms.values())
        if form is None or len(terms) != 1 or terms[0][1] != 1 or not _is_counted(terms[0][0]):
            return
        part = terms[0][0]
        if self._maker(part) is None:
            n.low, n.bound = intervals.bounds(n)
            n.form = None
            part.form = intervals.Linear({n.name: (n, 1)}, -form.constant)

    def _assert(self, operation: str, a: Any, b: Any) -> None:
        """Asserts what the program relies on where it has found out the lengths."""
        least = _least(operation, a, b)
        if least is not None and least[0].name in self._least:
            self._raise_least(*least)
            return
        names = {root.name for x in (a, b) for part, _ in intervals.linear(x).terms.values() for root in roots(part)}
        statements = self.tracer.trace.bound_symbols
        places = {name: _place_of(last, statements) for name, last in self._last.items() if name in names}
        latest = max(places, key=places.__getitem__)
        at = places[latest]
        condition = NumberProxy(self.tracer.trace.make_name("n"), bool)
        asked = (
            prims.registry[operation].bind(a, b, output=condition) if least is None else _at_least(*least, condition)
        )
        self._last[latest] = prims.assert_.bind(condition, START_OVER, output=None)
        if least is not None:
            self._least[least[0].name] = asked
        for made in (asked, self._last[latest]):
            made.location = statements[at].location
        statements[at + 1 : at + 1] = [asked, self._last[latest]]
        self.inserted += 2

    def _raise_least(self, number: NumberProxy, least: int) -> None:
        """Replaces the assertion on the least value of a length by a stronger one."""
        before = self._least[number.name]
        if least > before.args[1]:
            statements = self.tracer.trace.bound_symbols
            made = self._least[number.name] = _at_least(number, least, before.output)
            made.location = before.location
            statements[_place_of(before, statements)] = made


def _too_late(operation: str, a: Any, b: Any) -> None:
    raise NeedsEager(f"a pass asks whether {a} is {operation} {b}, of lengths that the program finds out")


def _is_counted(n: Any) -> TypeGuard[NumberProxy]:
    return isinstance(n, NumberProxy) and n.relations is None


def _has(p: Any, n: NumberProxy) -> bool:
    """Whether ``n`` is a dimension of a value."""
    return isinstance(p, TensorProxy) and any(isinstance(m, NumberProxy) and m.name == n.name for m in p.shape)


def _least(operation: str, a: Any, b: Any) -> tuple[NumberProxy, int] | None:
    """The number and its least value, if that is all that a condition says."""
    if operation not in ("ge", "lt"):
        return None
    difference = intervals.linear(a).plus(intervals.linear(b), -1)
    form = difference if operation == "ge" else difference.times(-1).plus(intervals.linear(1), -1)
    terms = list(form.terms.values())
    return (terms[0][0], -form.constant) if len(terms) == 1 and terms[0][1] == 1 else None


def _at_least(number: NumberProxy, least: int, output: Any) -> BoundSymbol:
    return prims.ge.bind(number, least, output=output)


def _place_of(statement: BoundSymbol, statements: list[BoundSymbol]) -> int:
    found = next((i for i in reversed(range(len(statements))) if statements[i] is statement), None)
    if found is None:
        raise NeedsEager("it asks for a length that the program finds out elsewhere")
    return found
