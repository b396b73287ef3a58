"""Python's operators on NumPy's arrays and scalars: which of NumPy's functions each is."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.libraries.base import Library
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core.errors import NeedsEager
from tnp.core.symbol import Symbol
from tnp.lang import numpy as lnp

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["Operators"]

_NUMBERS = frozenset((TracedNumber, bool, int, float, complex))


class Operators(Library):
    """Python's operators, of :class:`~tnp.capture.libraries.numpy.library.NumpyLibrary`."""

    def operate(self, tracer: Tracer, method: str, *args: Any) -> Any:
        scalar = other = False
        for x in args:
            if type(x) is TracedArray:
                if x.library is not self:
                    return x.library.operate(tracer, method, *args)
                if x.scalar:
                    scalar = True
                else:
                    other = True
            elif isinstance(x, np.generic):
                scalar = True
            elif type(x) not in _NUMBERS:
                other = True
        if method == "mul" and scalar and other and any(isinstance(x, (list, tuple)) for x in args):
            return _repeated(tracer, *args)
        if method == "pow":
            symbol, args = _power(args)
        else:
            symbol = lnp.language.method(method)
        return tracer.call(lnp.operator_of(symbol) if scalar and not other else symbol, args, {})

    def in_place(self, tracer: Tracer, method: str, a: TracedArray, other: Any) -> Any:
        if a.scalar:  # which is immutable: it is only computed
            return tracer.operate(method, a, other)
        if method == "pow":
            return tracer.call(*_power((a, other)), {"out": a})
        return tracer.call(lnp.language.method(method), (a, other), {"out": a})


def _repeated(tracer: Tracer, a: Any, b: Any) -> Any:
    """A list or a tuple times a scalar."""
    items, times = (a, b) if isinstance(a, (list, tuple)) else (b, a)
    is_whole = times.dtype.kind in "iu" if isinstance(times, np.generic) else times._element_type.kind in "iu"
    if not is_whole:
        raise NeedsEager("it multiplies a list by a scalar, which repeats it")
    found = tracer.repeated(items, times) if type(items) is list else NotImplemented
    return items * operator.index(times) if found is NotImplemented else found


def _power(args: tuple[Any, ...]) -> tuple[Symbol, tuple[Any, ...]]:
    """``a ** b``, which for a few exponents is a faster operation than a power."""
    base, exponent = args
    if type(exponent) is TracedNumber:
        if exponent.proxy.value in (2, 0.5, 1, -1):
            exponent = exponent._known()
        elif type(base) is TracedArray and not base.scalar:
            for other in lnp.powers_of_their_own(base._element_type.kind, exponent.proxy.python_type):
                if exponent == other:  # guards that it is not, if it is known
                    exponent = other
                    break
    if type(base) is TracedArray and not base.scalar:
        symbol = lnp.fast_power(base._element_type.kind, exponent)
        if symbol is not None:
            return symbol, (base,)
    return lnp.language.method("pow"), (base, exponent)
