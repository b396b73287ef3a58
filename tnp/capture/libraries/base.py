"""The interface between capture and the array libraries.

One :class:`Library` says what the arrays of a library look like to Python, how their attributes and operators behave, how
an array becomes an input, and which functions are captured. NumPy's is always there. Each other one is imported when the
first value of the library is met. In a program CuPy's arrays are NumPy's: only their lifting differs.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import CodeType
from typing import TYPE_CHECKING, Any

from tnp.capture import active
from tnp.core import languages
from tnp.core.errors import NeedsEager
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
    "register",
    "tell_dynamo",
    "uncaptured",
]

#: packages beside NumPy, and the modules that register their libraries
_MODULES = {"torch": "tnp.capture.libraries.torch"}
_libraries: dict[str, Library] = {}


class Library:
    """One array library. Subclasses define every method that raises ``NotImplementedError`` here. ``tracer`` is the one at work.

    It has many methods: one for each question that is answered differently from library to library.
    """

    #: by the ids of symbols, what the language's registry knows of them (``returns``, ``row_major``)
    functions: Mapping[str, Any]
    #: the ids of symbols on which more is to follow: those that warn of values
    followed: Container[str] = ()
    #: the ids of symbols whose results are as long as their arguments, or longer or shorter by a number
    of_lengths: Container[str] = ()
    #: the operation that a subscript is; one of a slice, on one of a slice, is recorded as one
    slicing: Symbol | None = None
    #: whether a function that ``returns`` "argument" gives the very argument where the two show the same; where not, its functions say
    #: themselves what they give
    gives_arguments = False
    #: whether writes to an array with repeated elements are allowed, with a warning
    repeats_writably = False
    #: whether arrays may be given attributes of any name
    has_dict = False

    def __init__(self, language: languages.Language) -> None:
        self.language = language

    def uncaptured(self) -> AbstractContextManager[Any]:
        """Around what is no part of the program that is being traced."""
        return nullcontext()

    # Functions

    def is_ufunc(self, info: Any) -> bool:
        """Whether the symbol with this ``info`` in :attr:`functions` is a ufunc. Ufuncs treat numbers and scalars of equal value alike."""
        return False

    def has_out(self, info: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call of a symbol passes ``out=``, by position or by keyword, which its definition has not."""
        return False

    def call_with_out(self, tracer: Tracer, symbol: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call of a symbol that :meth:`has_out`."""
        raise NeedsEager(f"it passes out= to {symbol.name}")

    def may_settle_sizes(self, info: Any) -> bool:
        """Whether a symbol that needs sizes to be known may be called with arrays of the sizes that they have in this call."""
        return False

    def before_update(self, symbol: Symbol, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Refuses a call of a function that writes to its first argument, where the library reads what it writes."""

    def after(self, tracer: Tracer, symbol: Symbol, args: list[Any], kwargs: dict[str, Any], result: Any) -> None:
        """Records what follows on a symbol of :attr:`followed` that gave ``result``, all in proxies."""

    def call(self, tracer: Tracer, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One of the library's functions, called by the program."""
        raise NotImplementedError

    def opaque_call(self, tracer: Tracer, symbol: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that the language's definition ``symbol`` does not cover, run as itself."""
        raise NotImplementedError

    def describe(
        self, tracer: Tracer, symbol: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any], seen: dict[str, TracedArray],
        made: Any,
    ) -> None:  # fmt: skip
        """Says what the handle ``made`` of a symbol's result cannot tell by itself: how it lies in memory, whether it is of a subclass.
        ``seen`` are the arrays among the arguments, by the names of their values."""
        raise NotImplementedError

    def fix_layout(self, a: TracedArray) -> None:
        """Gives an array that the program returns eager's layout, where executors may choose another one."""

    def ufunc(self, tracer: Tracer, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``__array_ufunc__``: a NumPy ufunc, or a method of one, is called with an array of the library."""
        raise NotImplementedError

    def capture(self, tracer: Tracer) -> AbstractContextManager[Any]:
        """Around a program being traced: the library's functions come to :meth:`call` from wherever they are called, and do nothing
        that others could see."""
        return nullcontext()

    def is_plain_context(self, manager: Any) -> bool:
        """Whether a context manager of the library catches nothing."""
        return False

    def method_called(self, value: Any) -> Any:
        """The bound method of Python's that a call of ``value`` comes down to now, hooks and all; ``None`` if there is none."""
        return None

    # Values

    @staticmethod
    def is_object(value: Any) -> bool:
        """Whether an object of a class that inherits from the library's is, to a program, as other objects are."""
        return False

    def lift(self, inputs: Inputs, value: Any, source: Source) -> Any:
        """A value of the library's types as an input, or as a constant that is guarded."""
        raise NotImplementedError

    def is_constant(self, value: Any) -> bool:
        """Whether a value can stand in a program as it is (a dtype)."""
        raise NotImplementedError

    def nothing_like(self, p: TensorProxy) -> TensorProxy | None:
        """An array that can stand where ``p`` is of no account; ``None`` if there is none."""
        return None

    # Arrays

    def array_class(self, a: TracedArray) -> type:
        """What ``type(a)`` is to the program."""
        raise NotImplementedError

    def attribute(self, tracer: Tracer, a: TracedArray, name: str) -> Any:
        """``a.name``: an attribute or a bound method."""
        raise NotImplementedError

    def shape(self, a: TracedArray) -> Any:
        """``a.shape``."""
        return self.attribute(active.current(), a, "shape")

    def dtype(self, a: TracedArray) -> Any:
        """``a.dtype``."""
        return self.attribute(active.current(), a, "dtype")

    def size(self, a: TracedArray) -> Any:
        """``a.size``."""
        return self.attribute(active.current(), a, "size")

    def set_attribute(self, tracer: Tracer, a: TracedArray, name: str, value: Any) -> None:
        """``a.name = value``."""
        raise NotImplementedError

    def operate(self, tracer: Tracer, method: str, *args: Any) -> Any:
        """A Python operator, of whose operands one is the library's. NumPy's are asked first: it leaves operators to other libraries."""
        raise NotImplementedError

    def in_place(self, tracer: Tracer, method: str, a: TracedArray, other: Any) -> Any:
        """In-place operators such as ``a += other``; ``other`` is an operand (:func:`~tnp.capture.tracing.operators.is_operand`)."""
        raise NotImplementedError

    def getitem(self, tracer: Tracer, a: TracedArray, key: Any) -> Any:
        """``a[key]``."""
        raise NotImplementedError

    def setitem(self, tracer: Tracer, a: TracedArray, key: Any, value: Any) -> None:
        """``a[key] = value``."""
        raise NotImplementedError

    def converted(self, tracer: Tracer, value: Any, a: TracedArray, *, by_element: bool = True) -> Any:
        """``value``, a number or a proxy, as what a store into ``a`` takes. ``by_element`` is false where NumPy converts scalars as
        it does arrays: under arrays as keys, and as ``out=``."""
        raise NotImplementedError

    def written(self, value: TensorProxy) -> None:
        """Records what the library wants to know of an argument that the program has written, whose memory ``value`` is."""

    def rounded(self, tracer: Tracer, a: TracedArray, digits: Any) -> Any:
        """``round(a, digits)``."""
        raise NotImplementedError

    def as_numpy(self, tracer: Tracer, a: TracedArray) -> TracedArray:
        """``a`` as an array of NumPy's on the same memory."""
        raise NotImplementedError

    # Values of arrays that Python asks for

    def element(self, a: TracedArray, value: Any) -> Any:
        """``value``, which the one element of ``a`` has, as what operations take for it."""
        return value

    def known_scalar(self, a: TracedArray, what: str) -> Any:
        """What the library has in place of a 0-d array, with the value that the trace is for."""
        raise a._needs_value(what)

    def is_single(self, a: TracedArray) -> bool:
        """Whether Python may take ``a`` for a number."""
        raise NotImplementedError

    def check_truth(self, a: TracedArray) -> None:
        """Raises what the library raises for an array that is neither true nor false."""

    def check_number(self, python_type: type, a: TracedArray) -> None:
        """Raises what the library raises for an array of this shape as a number."""
        raise NotImplementedError

    def hash_of(self, a: TracedArray) -> int:
        """``hash(a)``."""
        raise NotImplementedError


def register(library: Library) -> None:
    """Makes ``library`` what tracing asks of arrays of its language."""
    library.language.library = _libraries[library.language.name] = library


def library_of_value(value: Any) -> Library | None:
    """The library beside NumPy one of whose types ``value`` is an instance of."""
    kind: Any = type(value)
    package = _package_of(kind)
    return None if package is None else _loaded(package)


@functools.lru_cache(1_000)
def _package_of(kind: type) -> str | None:
    """The package of a library that defines a class, or a base of it."""
    packages = (str(c.__module__).partition(".")[0] for c in kind.__mro__)
    return next((package for package in packages if package in _MODULES), None)


def library_of_function(function: Any) -> Library | None:
    """The library beside NumPy that a function, a method or a class is part of."""
    module = getattr(function, "__module__", None)
    if module is None:  # of a method, its class knows
        owner = getattr(function, "__objclass__", None)
        module = getattr(owner, "__module__", None)
    package = module.partition(".")[0] if type(module) is str else ""
    return _loaded(package) if package in _MODULES else None


def capturing(tracer: Tracer) -> AbstractContextManager[Any]:
    """Around a program being traced, for the libraries beside NumPy that are imported."""
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
