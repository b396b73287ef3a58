"""Functions with a cache (``functools.lru_cache``) that the program makes.

The cache is the program's: empty when it begins, and gone when it ends. Its keys are what is known while tracing, so each call that eager
makes of the function is traced once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any

from tnp.capture import active
from tnp.capture.objects.shadows import is_stand_in
from tnp.capture.tracing.predicates import is_traced
from tnp.core.errors import NeedsEager

__all__ = ["CACHES"]

#: how many results ``functools.lru_cache`` keeps by default
SIZE = 128


class Remembering:
    """``function``, and the last ``size`` results of its calls; all of them if that is ``None``. Attempts at loops and branches put back
    what ``results`` were."""

    def __init__(self, function: Callable[..., Any], size: int | None, typed: bool) -> None:
        self.__wrapped__ = function
        self.size = size
        self.typed = typed
        self.results: dict[Any, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tracer = active.current()
        values = tuple(map(tracer.known, (*args, *kwargs.values())))
        if is_traced(values) or any(map(is_stand_in, values)):
            raise NeedsEager(f"it calls {self.__wrapped__.__name__}, which remembers what it gave")
        key = self._key(values, kwargs)
        if key in self.results:
            result = self.results.pop(key)
        else:
            result = tracer.runtime.call(
                self.__wrapped__, *values[: len(args)], **dict(zip(kwargs, values[len(args) :]))
            )
        if self.size != 0:
            self.results[key] = result  # the last one is the one that was used last
        if self.size is not None and len(self.results) > self.size:
            del self.results[next(iter(self.results))]
        return result

    __tnp_call__ = __call__

    def _key(self, values: tuple[Any, ...], names: Collection[str]) -> Any:
        """What a call is told apart by, as ``functools.lru_cache`` does it: ``f(1)`` and ``f(True)`` are two, ``f(1.0)`` and ``f(True)`` one."""
        if self.typed:
            return (values, *names, *map(type, values))
        is_plain = len(values) == 1 and not names and type(values[0]) in (int, str)
        return values[0] if is_plain else (values, *names)

    def cache_clear(self) -> None:
        """See ``functools.lru_cache``."""
        self.results.clear()

    def cache_info(self) -> Any:
        """Refused: how often eager asks a cache is not counted."""
        raise NeedsEager(f"it asks how often {self.__wrapped__.__name__} was called")


class Remember:
    """What ``functools.lru_cache(maxsize, typed)`` gives: a decorator."""

    def __init__(self, size: int | None, typed: bool) -> None:
        self.size, self.typed = size, typed

    def __call__(self, function: Callable[..., Any]) -> Remembering:
        return Remembering(function, self.size, self.typed)

    __tnp_call__ = __call__


def _of_any_size(user_function: Callable[..., Any]) -> Remembering:
    """``functools.cache(user_function)``"""
    return Remembering(user_function, None, False)


def _of_size(maxsize: Any = SIZE, typed: Any = False) -> Remember | Remembering:
    """``functools.lru_cache(maxsize, typed)``"""
    if callable(maxsize):
        return Remembering(maxsize, SIZE, False)
    size = active.current().known(maxsize)
    if (size is not None and type(size) is not int) or is_traced(typed):
        raise NeedsEager(f"it makes a cache of {maxsize} results")
    return Remember(None if size is None else max(size, 0), bool(typed))


#: what makes such functions, and what tracing has in the place of it
CACHES: dict[Any, Callable[..., Any]] = {functools.cache: _of_any_size, functools.lru_cache: _of_size}
