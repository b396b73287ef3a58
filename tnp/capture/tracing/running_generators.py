"""Generators of the program's: their code is traced while something takes from them, where that is sure to happen once."""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from tnp.capture import active
from tnp.capture.rewrite.bytecode import handles_errors
from tnp.core.errors import NeedsEager

__all__ = ["RunningGenerator", "check_generator", "of_context"]

#: the function whose generator a context manager is being made of, which is left in time
of_context: ContextVar[Any] = ContextVar("of_context", default=None)


def check_generator(f: types.FunctionType) -> None:
    """Raises :class:`NeedsEager` for a function that is a coroutine, or a generator with a ``try`` or a ``with``, which would stand around
    what its caller does meanwhile."""
    if inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f):
        raise NeedsEager(f"{f.__name__} is a coroutine")
    if inspect.isgeneratorfunction(f) and handles_errors(f.__code__) and f is not of_context.get():
        raise NeedsEager(f"{f.__name__} is a generator with a try or a with statement")


class RunningGenerator:
    """A generator whose code has hooks. A loop or a branch that may be traced several times takes from those alone that it has made."""

    #: what ``type`` gives
    _tnp_twin_of = types.GeneratorType

    def __init__(self, generator: Iterator[Any], name: str) -> None:
        self._generator: Any = generator
        self._name = name
        self._regions = list(active.current().regions)

    @property  # type: ignore[misc]  # typeshed declares an attribute, and a property overrides it
    def __class__(self) -> type:
        return types.GeneratorType

    def __iter__(self) -> RunningGenerator:
        return self

    def __next__(self) -> Any:
        tracer = active.running()
        if tracer is None:
            raise NeedsEager(f"{self._name} is taken from behind the program")
        self._check_regions(tracer.regions, "takes from")
        return next(self._generator)

    def close(self) -> None:
        """Ends the code where it stands. Python calls this on the generator of a ``yield from`` when the outer one is closed."""
        tracer = active.running()
        if tracer is None:
            self.abandon()
        else:
            self._check_regions(tracer.regions, "closes")
            self._generator.close()

    def _check_regions(self, now: list[Any], does: str) -> None:
        if len(now) != len(self._regions) or any(a is not b for a, b in zip(now, self._regions)):
            raise NeedsEager(f"it {does} {self._name}, a generator, in a loop or a branch")

    def abandon(self) -> None:
        """Ends the code where it stands: the trace is given up, or an error is raised."""
        with contextlib.suppress(BaseException):
            self._generator.close()

    def __getattr__(self, name: str) -> Any:
        if not hasattr(types.GeneratorType, name):
            raise AttributeError(f"'generator' object has no attribute {name!r}")
        raise NeedsEager(f"it reads {name} of {self._name}, a generator")
