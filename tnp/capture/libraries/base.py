"""The interface between capture and array libraries other than NumPy.

Capture handles NumPy's arrays itself. For each other library, one :class:`Library` says what its arrays look like to
Python, how their attributes and operators behave, how an array becomes an input, and which functions are captured. It
is imported when the first value of the library is met.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import CodeType
from typing import TYPE_CHECKING, Any

from tnp.core import languages
from tnp.core.proxies import TensorProxy
from tnp.runtime import locks

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs
    from tnp.capture.guards.prologue import Source
    from tnp.capture.tracing.traced_values import TracedArray
    from tnp.capture.tracing.tracer import Tracer
    from tnp.core.symbol import Symbol

__all__ = [
    "Library",
    "capturing",
    "left_alone",
    "library_of_function",
    "library_of_value",
    "loaded_libraries",
    "tell_dynamo",
    "uncaptured",
]

#: packages, and the modules that register their libraries
_MODULES = {"torch": "tnp.capture.libraries.torch"}
_libraries: dict[str, Library] = {}


class Library:
    """One array library; subclasses define every method. ``tracer`` is the one at work."""

    def __init__(self, language: languages.Language) -> None:
        self.language = language
        language.library = _libraries[language.name] = self

    def uncaptured(self) -> AbstractContextManager[Any]:
        """Around what is no part of the program that is being traced."""
        return nullcontext()

    # Functions

    def info(self, symbol: Symbol) -> Any:
        """What the language's registry knows of a symbol (``returns``, ``row_major``); ``None`` for other symbols."""
        raise NotImplementedError

    def call(self, tracer: Tracer, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One of the library's functions, called by the program."""
        raise NotImplementedError

    def opaque_call(self, tracer: Tracer, symbol: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that the language's definition ``symbol`` does not cover, run as itself."""
        raise NotImplementedError

    def lay_out(
        self, tracer: Tracer, symbol: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        """Says how the ``result`` of a symbol, called for these arguments, lies in memory, where that is not known."""
        raise NotImplementedError

    def capture(self, tracer: Tracer) -> AbstractContextManager[Any]:
        """Around a program being traced: the library's functions come to :meth:`call` from wherever they are called."""
        raise NotImplementedError

    def is_plain_context(self, manager: Any) -> bool:
        """Whether a context manager of the library catches nothing."""
        raise NotImplementedError

    # Values

    def lift(self, inputs: Inputs, value: Any, source: Source) -> Any:
        """A value of the library's types as an input, or as a constant that is guarded."""
        raise NotImplementedError

    def is_constant(self, value: Any) -> bool:
        """Whether a value can stand in a program as it is (a dtype)."""
        raise NotImplementedError

    # Arrays

    def array_class(self, a: TracedArray) -> type:
        """What ``type(a)`` is to the program."""
        raise NotImplementedError

    def attribute(self, tracer: Tracer, a: TracedArray, name: str) -> Any:
        """``a.name``."""
        raise NotImplementedError

    def set_attribute(self, tracer: Tracer, a: TracedArray, name: str, value: Any) -> None:
        """``a.name = value``."""
        raise NotImplementedError

    def operate(self, tracer: Tracer, method: str, *args: Any) -> Any:
        """A Python operator, of whose operands one is the library's."""
        raise NotImplementedError

    def in_place(self, tracer: Tracer, method: str, a: TracedArray, other: Any) -> Any:
        """``a += other`` and its like."""
        raise NotImplementedError

    def getitem(self, tracer: Tracer, a: TracedArray, key: Any) -> Any:
        """``a[key]``."""
        raise NotImplementedError

    def setitem(self, tracer: Tracer, a: TracedArray, key: Any, value: Any) -> None:
        """``a[key] = value``."""
        raise NotImplementedError

    def converted(self, tracer: Tracer, value: Any, a: TracedArray) -> TensorProxy:
        """``value``, a number or a proxy, as what a store into ``a`` takes."""
        raise NotImplementedError

    def written(self, value: TensorProxy) -> None:
        """Records what the library wants to know of an argument that the program has written, whose memory ``value`` is."""
        raise NotImplementedError

    def as_numpy(self, tracer: Tracer, a: TracedArray) -> TracedArray:
        """``a`` as an array of NumPy's on the same memory."""
        raise NotImplementedError


def library_of_value(value: Any) -> Library | None:
    """The library one of whose types ``value`` is an instance of."""
    for kind in type(value).__mro__:
        package = kind.__module__.partition(".")[0]
        if package in _MODULES:
            return _loaded(package)
    return None


def library_of_function(function: Any) -> Library | None:
    """The library that a function, a method or a class is part of."""
    module = getattr(function, "__module__", None)
    if module is None:  # of a method, its class knows
        owner = getattr(function, "__objclass__", None)
        module = getattr(owner, "__module__", None)
    package = module.partition(".")[0] if type(module) is str else ""
    return _loaded(package) if package in _MODULES else None


def capturing(tracer: Tracer) -> AbstractContextManager[Any]:
    """Around a program being traced, for the libraries that are imported."""
    for package in loaded_libraries():
        return _loaded(package).capture(tracer)
    return nullcontext()


def loaded_libraries() -> list[str]:
    """The names of the libraries beside NumPy that values may be of: those that are imported."""
    return [p for p in _MODULES if p in sys.modules and getattr(sys.modules[p], "__version__", None) is not None]


def uncaptured() -> AbstractContextManager[Any]:
    """In :func:`capturing`, around what is no part of the program."""
    for package in _MODULES:
        if package in _libraries:
            return _libraries[package].uncaptured()
    return nullcontext()


def left_alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, into which torch.compile does not look: neither into what it is made of, nor into what runs when it is called.
    Works by what torch._dynamo leaves at functions that ``torch.compiler.disable`` has made, and before torch is imported."""
    marked: Any = function
    marked._torchdynamo_disable = True
    marked._torchdynamo_disable_msg = "tnp compiles it"
    _to_be_left_alone.append(marked.__code__)
    return function


def tell_dynamo() -> None:
    """Tells torch, if it is imported, which frames it leaves alone, together with all that run inside of them."""
    frames: Any = sys.modules.get("torch._C._dynamo.eval_frame")
    if not _to_be_left_alone or frames is None:
        return
    skip = frames._FrameExecStrategy(frames._FrameAction.SKIP, frames._FrameAction.SKIP)
    while _to_be_left_alone:
        frames.set_code_exec_strategy(_to_be_left_alone.pop(), skip)


_to_be_left_alone: list[CodeType] = []


def _loaded(package: str) -> Library:
    if package not in _libraries:
        with locks.importing:
            importlib.import_module(_MODULES[package])
    return _libraries[package]
