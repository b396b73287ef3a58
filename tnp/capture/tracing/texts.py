"""Texts made of strings and numbers that vary: the program passes one on, and the prologue makes it at each call.

If the program reads the text, it is made while tracing, and its parts are guarded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tnp.capture import active
from tnp.capture.guards.prologue import Source
from tnp.capture.objects.foreign import Foreign, real_value, refuse, source_of
from tnp.capture.tracing.traced_values import TracedNumber
from tnp.core.symbols import is_symbol

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs

__all__ = ["formatted", "joined"]

#: the formats that every string or number takes that one takes of its type
_SPEC = re.compile(r"([<>=^]?[-+ ]?#?0?\d{0,3}[,_]?(\.\d{1,3})?[sdeEfFgGnxXob%]?)?")
_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}
_PLAIN = (str, int, float, bool, type(None))


def formatted(value: Any, conversion: str, spec: Any) -> str:
    """A value in an f-string."""
    if type(spec) is Foreign:
        refuse(spec, "formats with")
    return format(_CONVERSIONS[conversion](value) if conversion else value, spec)


def joined(*parts: Any) -> Any:
    """The f-string of ``parts``: texts, and tuples of a value, a conversion and a format."""
    tracer = active.running()
    if tracer is not None and any(type(p) is tuple and type(p[0]) in (Foreign, TracedNumber) for p in parts):
        found = _made_late(parts, tracer.inputs)
        if found is not None:
            return found
    return "".join(p if isinstance(p, str) else formatted(*p) for p in parts)


def _made_late(parts: tuple[Any, ...], inputs: Inputs) -> Foreign | None:
    """What stands for a text that the prologue makes; ``None`` if it cannot, or if the text has not varied."""
    value, expressions, template = "", [], ""
    varies = False
    for p in parts:
        if type(p) is str:
            value, template = value + p, template + p
            expressions.append(repr(p))
            continue
        x, conversion, spec = p
        found = _present(x, inputs)
        if found is None or type(spec) is not str or not _SPEC.fullmatch(spec):
            return None
        source, present = found
        varies = varies or type(x) is Foreign or (type(x) is TracedNumber and is_symbol(x.proxy))
        value += formatted(present, conversion, spec)
        converted = f"{_CONVERSIONS[conversion].__name__}({source.expression})" if conversion else source.expression
        expressions.append(f"format({converted}, {spec!r})")
        template += f"{{{source.description}{'!' if conversion else ''}{conversion}:{spec}}}"
    description = f"the text {template!r}"
    if not inputs.prologue.varying.is_any_text(description, value, varies):
        return None
    return Foreign(value, inputs.prologue.let(Source(f"''.join(({', '.join(expressions)},))", description)))


def _present(x: Any, inputs: Inputs) -> tuple[Source, Any] | None:
    """Where a part of a text comes from at each call, and what it is in this one."""
    if type(x) is Foreign and type(real_value(x)) is str:
        return source_of(x), real_value(x)
    if type(x) in _PLAIN:
        return Source(repr(x) if type(x) is not float else f"float({str(x)!r})", repr(x)), x
    if type(x) is not TracedNumber:
        return None
    proxy = x.proxy
    expression = proxy.text if is_symbol(proxy) else inputs.expressions.get(proxy.name)
    is_input = is_symbol(proxy) or any(p is proxy for p in inputs.proxies)
    if expression is None or proxy.value is None or not is_input or proxy.python_type not in (int, float):
        return None
    return Source(expression, proxy.name), proxy.value
