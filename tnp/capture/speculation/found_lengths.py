"""Lengths that only the running program knows, as symbols: ``np.gradient(x[mask])`` is part of a program for any length.

An operation that needs to know a length asks what it could ask of a symbolic size: whether it is even, or less than another. The
length that it has in the present call gives the answer, as it does for the sizes of arguments. Those are compared by guards before
the program begins. What is asked of a length that the program finds out is an assertion right behind the place where it does, and
a call for which one fails starts over, eagerly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tnp.core import intervals, languages, prims
from tnp.core.errors import NeedsEager
from tnp.core.prims.control_flow import START_OVER
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.subtraces import with_parts
from tnp.core.symbol import BoundSymbol
from tnp.core.symbols import LEAST, roots
from tnp.lang import numpy as lnp

if TYPE_CHECKING:
    from tnp.capture.tracing.traced_values import TracedArray
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["FoundLengths"]

#: shorter arrays are likely to be special: what is asked of their lengths does not hold for others
MANY = 8
#: operations whose results are as long as their arguments, or longer or shorter by a number
_OF_LENGTHS = frozenset(f"numpy.{name}" for name in ("append", "concatenate", "diff", "ediff1d", "hstack")) | {lnp.getitem.id}


class FoundLengths:
    """Those of one trace."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        #: by the name of a length, its symbol, or ``None`` if it has none
        self._symbols: dict[str, NumberProxy | None] = {}
        #: by the name of a symbol, the last statement that defines it, or asserts something of it, in the order of symbols
        self._last: dict[str, BoundSymbol] = {}
        #: by the name of a symbol, the statement that asks whether it is large enough
        self._least: dict[str, BoundSymbol] = {}

    def settled(self, a: TracedArray, what: str) -> TensorProxy:
        """The value of an array in a shape that tracing can ask: of symbols, or of the lengths in this call, on which the trace depends
        then."""
        made = self._sized(a)
        if made is None:
            value = self.tracer.specializer.value
            shape = (value(n, what) if isinstance(n, NumberProxy) and n.relations is None else int(n) for n in a.shape_)
            made = prims.reshape(a.__tnp_value__(), tuple(shape))
        return made

    def would_tell(self, symbol: Any, result: TensorProxy, seen: Mapping[str, TracedArray], start: int) -> bool:
        """Whether an operation is to be done again, now that lengths of its arguments are symbols: that of its ``result``, which statements
        from ``start`` on compute, would be one of its own. What is computed of such a length is not known to fit anything."""
        if symbol.id not in _OF_LENGTHS or self.tracer.regions:
            return False
        counted = [a for a in seen.values() if any(map(_is_counted, a.shape_))]
        known = {n.name for a in counted for n in a.shape_ if isinstance(n, NumberProxy)}
        if not counted or all(not _is_counted(n) or n.name in known for n in result.shape):
            return False
        statements = self.tracer.trace.statements
        made = statements[start:]
        is_selected = any(b.operation is prims.nonzero for whole in made for b in with_parts(whole))
        if is_selected or not all(map(_is_base, counted)):
            return False
        del statements[start:]
        with languages.language_context(counted[0].library.language):
            if None not in [self._sized(a) for a in counted]:
                return True
        statements += made
        return False

    def _sized(self, a: TracedArray) -> TensorProxy | None:
        """The value of an array as one whose lengths are symbols; ``None`` if they cannot be."""
        value = a.__tnp_value__()
        shape: list[Any] = []
        for dim, n in enumerate(value.shape):
            if _is_counted(n):
                found = self._symbol(value, dim, n)
                if found is None:
                    return None
                shape.append(found)
            else:
                shape.append(n)
        made: TensorProxy = prims.reshape(value, tuple(shape))
        if _is_base(a):
            # What is computed of it from here on has lengths that are known to be equal.
            a.storage.set_value(made)
            a.shape_ = made.shape
        return made

    def _symbol(self, value: TensorProxy, dim: int, n: NumberProxy) -> NumberProxy | None:
        if n.name not in self._symbols:
            self._symbols[n.name] = self._made(value, dim, n)
        return self._symbols[n.name]

    def _made(self, value: TensorProxy, dim: int, n: NumberProxy) -> NumberProxy | None:
        tracer = self.tracer
        relations = tracer.inputs.prologue.relations
        if tracer.regions or not tracer.may_start_over():
            return None
        present = tracer.specializer.present(n)
        if present is None or present < MANY:
            return None
        tracer.expects_no_error()
        relations.settle = self._assert
        made = NumberProxy(tracer.trace.make_name("n"), int, present, n.bound)
        made.relations, made.text = relations, made.name
        self._last[made.name] = prims.size.bind(value, dim, output=made)
        tracer.trace.record(self._last[made.name])
        relations.found.add(made.name)
        self._assert("ge", made, LEAST)
        made.low = LEAST
        return made

    def _assert(self, operation: str, a: Any, b: Any) -> None:
        """Asserts what the program relies on where it has found out the lengths."""
        names = {root.name for x in (a, b) for root in roots(x)}
        latest = [name for name in self._last if name in names][-1]
        least = _least(operation, a, b)
        if least is not None and latest in self._least:
            self._raise_least(latest, least[1])
            return
        statements = self.tracer.trace.bound_symbols
        at = _place_of(self._last[latest], statements)
        condition = NumberProxy(self.tracer.trace.make_name("n"), bool)
        asked = (
            prims.registry[operation].bind(a, b, output=condition) if least is None else _at_least(*least, condition)
        )
        self._last[latest] = prims.assert_.bind(condition, START_OVER, output=None)
        if least is not None:
            self._least[latest] = asked
        for made in (asked, self._last[latest]):
            made.location = statements[at].location
        statements[at + 1 : at + 1] = [asked, self._last[latest]]

    def _raise_least(self, name: str, least: int) -> None:
        """Asserts that a length is at least ``least`` in place of what is asserted already."""
        before = self._least[name]
        number, known = before.args
        if least > known:
            statements = self.tracer.trace.bound_symbols
            made = self._least[name] = _at_least(number, least, before.output)
            made.location = before.location
            statements[_place_of(before, statements)] = made


def _is_counted(n: Any) -> bool:
    return isinstance(n, NumberProxy) and n.relations is None


def _is_base(a: TracedArray) -> bool:
    """Whether an array is memory of the program's own, and not a view of it."""
    return not a.path and a.storage.origin is None


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
