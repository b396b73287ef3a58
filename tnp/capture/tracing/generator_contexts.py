"""Context managers that :func:`contextlib.contextmanager` makes of the user's generators, in ``with`` statements and as decorators."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any

from tnp.capture import active
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.tracing.context_managers import own_signals
from tnp.capture.tracing.running_generators import of_context
from tnp.core.errors import NeedsEager

__all__ = ["call_of_contextlib"]


def _code_of(f: Any) -> types.CodeType:
    code: types.CodeType = f.__code__
    return code


def _nothing() -> Iterator[None]:
    yield


#: the code of the functions that make such a manager, and of those that run under one
_MAKER = _code_of(contextlib.contextmanager(_nothing))
_DECORATED = _code_of(contextlib.contextmanager(_nothing)()(_code_of))


def call_of_contextlib(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``contextlib`` does for a function that it made of the user's; ``NotImplemented`` for any other."""
    if type(f) is not types.FunctionType or f.__code__ not in (_MAKER, _DECORATED):
        return NotImplemented
    cells = {n: c.cell_contents for n, c in zip(f.__code__.co_freevars, f.__closure__ or ())}
    function = cells["func"]
    if f.__code__ is _MAKER:
        return _Context(function, args, kwargs) if _is_traced_generator(function) else NotImplemented
    manager: Any = cells["self"]
    is_known = type(manager) is contextlib._GeneratorContextManager and not manager.args and not manager.kwds
    if not is_known or not is_followed(function) or not _is_traced_generator(manager.func):
        return NotImplemented
    runtime = active.current().runtime
    with runtime.context(_Context(manager.func, (), {})):
        return runtime.call(function, *args, **kwargs)


def _is_traced_generator(f: Any) -> bool:
    return is_followed(f) and bool(f.__code__.co_flags & 0x20)  # CO_GENERATOR


class _Context:
    """A context manager made of a generator, whose code is traced where it is entered and left."""

    def __init__(self, function: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._make: Callable[[], Any] = lambda: active.current().runtime.call(function, *args, **kwargs)
        self._function = function

    def __enter__(self) -> Any:
        before = of_context.set(self._function)
        try:
            self._generator = self._make()
        finally:
            of_context.reset(before)
        try:
            return next(self._generator)
        except StopIteration:
            raise RuntimeError("generator didn't yield") from None

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if error is not None:
            self._generator.abandon()
            if not isinstance(error, own_signals()):
                raise NeedsEager(f"an error leaves {self._function.__name__}, a context manager") from error
            return
        try:
            next(self._generator)
        except StopIteration:
            return
        self._generator.abandon()
        raise RuntimeError("generator didn't stop")
