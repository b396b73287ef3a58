"""The list of the programs, and how each gets its arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Call", "Program", "call", "program", "programs"]


@dataclass(frozen=True)
class Call:
    """The arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def call(*args: Any, **kwargs: Any) -> Call:
    """The arguments of one call, written as the call is."""
    return Call(args, kwargs)


@dataclass(frozen=True)
class Program:
    """A program: ``make()`` gives the function, fresh if it keeps state; ``make_inputs(rng)`` a call's arguments.

    The same state of ``rng`` gives equal arguments, another gives other values in arrays of the same shapes.
    """

    name: str
    make: Callable[[], Callable[..., Any]]
    make_inputs: Callable[[np.random.Generator], Call]


programs: dict[str, Program] = {}


def program(
    make_inputs: Callable[[np.random.Generator], Call], *, makes_function: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Lists a function, itself left as it is. With ``makes_function`` it is called for the function that is the program."""

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        name = f"{f.__module__.rpartition('.')[2]}.{f.__qualname__}"
        assert name not in programs, name
        programs[name] = Program(name, f if makes_function else lambda: f, make_inputs)
        return f

    return decorate
