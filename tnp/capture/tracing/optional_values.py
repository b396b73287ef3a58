"""Values of the program that are ``None`` or something else, which is known only when it runs.

``best = None``, a loop or a branch that may give it a value, and ``if best is None`` behind it. Such a value is what it is if it is not
``None``, and a flag. Tests for ``None`` give the flag. Any other use takes it for what it is: where it is ``None``, eager raises most
likely, so the call runs eagerly.

On the sides of a branch on a flag, and behind ``x is not None and``, the flag is known (:class:`Facts`).
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator
from typing import Any

from tnp.capture import active
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import languages, prims
from tnp.core.errors import NeedsEager
from tnp.core.prims.control_flow import START_OVER
from tnp.core.proxies import Proxy

__all__ = ["Facts", "TracedOptional", "is_none", "optional_output", "settled", "settled_if_known", "there"]


_BOOLS = (TracedNumber, TracedArray)


class Facts:
    """Which bools of the program are known at a place of the trace, by name, and what follows from others."""

    def __init__(self) -> None:
        #: what ``and`` or ``or`` has tested last
        self.tested: Any = None
        self._known: dict[str, bool] = {}
        self._follows: dict[tuple[str, bool], list[tuple[str, bool]]] = {}

    def get(self, name: str) -> bool | None:
        return self._known.get(name)

    def follows(self, x: Any, truth: bool, y: Any, is_true: bool) -> None:
        """Says that ``y`` is ``is_true`` where ``x`` is ``truth``."""
        if type(x) in _BOOLS and type(y) in _BOOLS:
            self._follows.setdefault((x.__tnp_value__().name, truth), []).append((y.__tnp_value__().name, is_true))

    @contextlib.contextmanager
    def assumed(self, condition: Any, truth: bool) -> Iterator[None]:
        """Where ``condition``, a proxy, is ``truth``."""
        before = dict(self._known)
        todo = [(condition.name, truth)] if isinstance(condition, Proxy) else []
        for name, value in todo:
            if name not in self._known:
                self._known[name] = value
                todo += self._follows.get((name, value), ())
        try:
            yield
        finally:
            self._known = before


class TracedOptional:
    """A value of the program that is ``value`` where ``flag``, a traced bool, and otherwise ``None``."""

    __slots__ = ("flag", "value")
    __array_priority__ = 1002.0

    def __init__(self, value: Any, flag: TracedNumber) -> None:
        self.value = value
        self.flag = flag

    def there(self) -> Any:
        """Whether it is not ``None``: a bool where that is known."""
        known = active.current().facts.get(self.flag.proxy.name)
        return self.flag if known is None else known

    def settled(self) -> Any:
        """What it is. Where that is not known, it is taken for its value; the call runs eagerly if it is ``None``."""
        known = self.there()
        if known is self.flag:
            tracer = active.current()
            try:
                tracer.expects_no_error()
            except NeedsEager:
                known = bool(self.flag)
            else:
                tracer.call(prims.assert_, (self.flag, START_OVER), {})
                return self.value
        return self.value if known else None

    def decided(self) -> Any:
        """What it is in this call, which the trace then is for."""
        return self.value if self.there() else None

    def truth(self) -> Any:
        """Its truth value, a traced bool."""
        x = self.value
        if type(x) is TracedArray and not x.scalar:
            return self.decided()
        is_filled = x != 0
        is_filled = is_filled.item() if type(is_filled) is TracedArray else is_filled
        known = self.there()
        return (known & is_filled if known is self.flag else is_filled) if known is not False else False

    def __eq__(self, other: object) -> Any:
        return is_none(self) if other is None and not _is_array(self.value) else operator.eq(self.settled(), other)

    def __ne__(self, other: object) -> Any:
        return there(self) if other is None and not _is_array(self.value) else operator.ne(self.settled(), other)

    def __hash__(self) -> int:
        raise NeedsEager("a key may be None, which is known only when the program runs")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.settled(), name)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return active.current().ufunc(ufunc, method, tuple(map(settled, inputs)), kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return active.current().numpy_function(function, tuple(map(settled, args)), kwargs)


def _is_array(x: Any) -> bool:
    return type(x) is TracedArray and not x.scalar


def there(x: Any) -> Any:
    """``x is not None``, of a :class:`TracedOptional`."""
    return x.there()


def is_none(x: Any) -> Any:
    """``x is None``, of a :class:`TracedOptional`."""
    known = x.there()
    if known is not x.flag:
        return not known
    made = TracedNumber(languages.core.method("logical_not")(x.flag.proxy))
    facts = active.current().facts
    facts.follows(made, True, x.flag, False)
    facts.follows(made, False, x.flag, True)
    return made


def settled(x: Any) -> Any:
    """``x``, or what it is if it may be ``None``."""
    return x.settled() if type(x) is TracedOptional else x


def settled_if_known(x: Any) -> Any:
    """``x``, or what it is if that is known at this place."""
    if type(x) is not TracedOptional or x.there() is x.flag:
        return x
    return x.decided()


def _unary(name: str) -> Callable[..., Any]:
    return lambda self, *args: getattr(operator, name)(self.settled(), *args)


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: getattr(operator, name)(other, self.settled())


def _as_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *args: function(self.decided(), *args)


for _name in (
    *languages.BINARY_OPERATORS,
    *languages.UNARY_OPERATORS,
    "lt",
    "le",
    "gt",
    "ge",
    "getitem",
    "setitem",
    "contains",
    "index",
):
    if hasattr(operator, f"__{_name}__"):
        setattr(TracedOptional, f"__{_name}__", _unary(f"__{_name}__"))
for _name in languages.BINARY_OPERATORS:
    if hasattr(operator, f"__{_name}__"):
        setattr(TracedOptional, f"__r{_name}__", _reflected(f"__{_name}__"))
        setattr(TracedOptional, f"__i{_name}__", _unary(f"__i{_name}__"))
for _function in (bool, int, float, complex, len, iter, str, repr, format, round):
    setattr(TracedOptional, f"__{_function.__name__}__", _as_is(_function))


def _made(value: Any, is_there: bool) -> Any:
    return value if is_there else None


class OptionalOutput:
    """A result that is ``value`` where ``flag``, and otherwise ``None``."""

    __slots__ = ("flag", "value")

    def __init__(self, value: Any, flag: Any) -> None:
        self.value, self.flag = value, flag

    def __tnp_children__(self) -> list[Any]:
        return [self.value, self.flag]

    def __tnp_rebuild__(self, children: list[Any]) -> OptionalOutput:
        return OptionalOutput(*children)

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        from tnp.core.printing import literal

        context["_optional"] = _made
        return f"_optional({literal(self.value, context)}, {literal(self.flag, context)})"


def optional_output(x: TracedOptional, output_of: Callable[[Any], Any]) -> Any:
    """What the program returns for ``x``."""
    return OptionalOutput(output_of(x.value), x.flag.proxy)
