"""Lengths that integers among the arguments decide: ``x[i:i + width]`` is ``width`` long, which a loop may need to know, and
``range(n, len(x))`` is a symbol if ``n`` is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tnp.capture.guards.varying_values import KnowsIntegers
from tnp.core import prims
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.core.symbols import is_symbol

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["know_integers_beside_symbols", "know_integers_of"]


def know_integers_of(length: NumberProxy, tracer: Tracer) -> None:
    """Raises :class:`KnowsIntegers` if ``length`` is that of a slice whose ends are computed from integers among the arguments, which the
    trace does not know. NumPy's scalars among them count, too."""
    made = next((b for b in _slices(tracer.trace.open_statements()) if _has(b.output, length)), None)
    if made is None:
        return
    found, _ = _integers([x for x in made.args[2:4] if isinstance(x, NumberProxy)], tracer)
    if found:
        raise KnowsIntegers(found)


def know_integers_beside_symbols(length: NumberProxy, tracer: Tracer) -> None:
    """Raises :class:`KnowsIntegers` if ``length`` is computed from symbols and integers among the arguments, which the trace does not
    know."""
    found, has_symbols = _integers([length], tracer)
    if found and has_symbols:
        raise KnowsIntegers(found)


def _integers(left: list[Any], tracer: Tracer) -> tuple[set[str], bool]:
    """The integers among the arguments that numbers are computed from, if the trace does not know them; and whether they are computed
    from symbols, too."""
    inputs, is_known = tracer.inputs, tracer.inputs.prologue.varying.is_known
    found, seen, has_symbols = set[str](), set[str](), False
    while left:
        x = left.pop()
        if not isinstance(x, Proxy) or x.name in seen:
            continue
        seen.add(x.name)
        has_symbols = has_symbols or (isinstance(x, NumberProxy) and is_symbol(x))
        name, dim = inputs.dimensions.get(x.name, ("", None))
        if name and dim is None and not is_symbol(x) and not is_known(name):
            found.add(name)
        b = tracer.trace.number_definitions.get(x.name)
        left += () if b is None else b.args
    return found, has_symbols


def _slices(bsyms: Iterator[BoundSymbol]) -> Iterator[BoundSymbol]:
    for b in bsyms:
        if b.operation is prims.dynamic_slice:
            yield b
        yield from _slices(iter(b.subsymbols))


def _has(x: Any, length: NumberProxy) -> bool:
    """Whether a dimension of an array is ``length``."""
    return isinstance(x, TensorProxy) and any(isinstance(n, NumberProxy) and n.name == length.name for n in x.shape)
