"""Languages: the semantics of methods, operators and attributes.

``x.size`` is a number in NumPy and a method in torch; ``x + y`` promotes differently in each. A :class:`Language` maps
method names to functions. A proxy uses the language of the operation that made it. If languages mix, the one with the
higher ``rank`` decides (torch over NumPy over the core language).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "BINARY_OPERATORS",
    "UNARY_OPERATORS",
    "Language",
    "core",
    "current",
    "get",
    "known_operation",
    "language_context",
]


class Language:
    """A table of methods and properties under a name.

    ``prefix`` is what its functions are printed under (``lnp.sum``), ``import_line`` what makes that prefix
    mean something.
    """

    def __init__(self, name: str, *, prefix: str, import_line: str, rank: int) -> None:
        self.name = name
        self.prefix = prefix
        self.import_line = import_line
        self.rank = rank
        self.methods: dict[str, Any] = {}
        self.properties: dict[str, Callable[[Any], Any]] = {}
        #: whether an id (``"numpy.sin"``) is that of a function that programs of the language may call
        self.knows: Callable[[str], bool] = lambda id: True
        #: what a write to an array raises that is not writable
        self.read_only: Callable[[], BaseException] = lambda: ValueError("assignment destination is read-only")
        #: capture's adapter of the array library of that name; ``None`` until it is imported
        self.library: Any = None
        _languages[name] = self

    def method(self, name: str) -> Any:
        """The function behind a method or an operator. Raises ``AttributeError`` if the language has none."""
        found = self.methods.get(name)
        if found is None:
            if self is not core and name in core.methods:
                return core.methods[name]
            raise AttributeError(f"the {self.name} language has no method {name!r}")
        return found

    def __repr__(self) -> str:
        return f"<language {self.name}>"


_languages: dict[str, Language] = {}
core = Language("core", prefix="clang", import_line="from tnp.core import clang", rank=0)


def get(name: str) -> Language:
    """The language of that name. Raises ``KeyError`` if it has not been imported."""
    return _languages[name]


class _Current(threading.local):
    language: Language = core


_current = _Current()


def known_operation(id: str) -> bool:
    """Whether an id may be one of an operation: a language has it, or it is none of a language that has been imported."""
    language = _languages.get(id.partition(".")[0])
    return language is None or language.knows(id)


def current() -> Language:
    """The language that the proxies being made now belong to."""
    return _current.language


def set_current(language: Language) -> Language:
    """Makes ``language`` current and returns the one before it."""
    before = _current.language
    _current.language = language
    return before


@contextmanager
def language_context(language: Language) -> Iterator[None]:
    """Proxies made inside belong to ``language``."""
    before = set_current(language)
    try:
        yield
    finally:
        set_current(before)


#: Python's operators and the method names that languages define for them.
BINARY_OPERATORS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "divmod": "divmod",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY_OPERATORS = {"neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not"}
