"""Where the inputs of a trace come from, and what must hold for the trace to be valid: the prologue.

A prologue is a generated function with the user's parameters. It checks guards, fetches what the program needs
(``p["k"]``, ``self.u``, a global), and hands that to the program; or it returns :data:`MISS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tnp.core.printing import compile_source

__all__ = ["MISS", "Guard", "Prologue", "Source", "disjoint"]


class _Miss:
    def __repr__(self) -> str:
        return "MISS"


#: what a compiled program returns for a call that it is not valid for
MISS = _Miss()


@dataclass(frozen=True)
class Source:
    """Where a value comes from at each call: a Python expression over the prologue's names.

    ``description`` is how messages name it (``argument x``, ``global N``).
    """

    expression: str
    description: str

    def item(self, key: Any) -> Source:
        return Source(f"{self.expression}[{key!r}]", f"{self.description}[{key!r}]")

    def attribute(self, name: str) -> Source:
        return Source(f"{self.expression}.{name}", f"{self.description}.{name}")


@dataclass(frozen=True)
class Guard:
    """A condition, as Python, and what to say when it fails."""

    condition: str
    description: str


def disjoint(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays surely share no memory (by their bounds)."""
    return not np.may_share_memory(a, b)


def same_float(x: float, y: float) -> bool:
    """Equality that tells 0.0 from -0.0 and finds NaN equal to itself."""
    if x != x or y != y:
        return x != x and y != y
    return x == y and math.copysign(1.0, x) == math.copysign(1.0, y)


class Prologue:
    """The guards and fetches of one trace, in the order in which they must run."""

    def __init__(self, parameters: list[str]) -> None:
        self.parameters = parameters
        self.steps: list[Guard | tuple[str, str]] = []
        self.context: dict[str, Any] = {
            "ndarray": np.ndarray,
            "MISS": MISS,
            "disjoint": disjoint,
            "same_float": same_float,
        }
        self._names: dict[int, str] = {}
        self._seen: set[str] = set()
        self._lets = 0

    def constant(self, value: Any, hint: str = "c") -> str:
        """A name for an object in the prologue's context."""
        name = self._names.get(id(value))
        if name is None:
            name = f"_{hint}{len(self._names)}"
            self._names[id(value)] = name
            self.context[name] = value
        return name

    def guard(self, condition: str, description: str) -> None:
        """Adds a condition, unless it is there already."""
        if condition not in self._seen:
            self._seen.add(condition)
            self.steps.append(Guard(condition, description))

    def let(self, source: Source) -> Source:
        """Fetches a value once; the source to use from then on is a local name."""
        if source.expression.isidentifier():
            return source
        name = f"_v{self._lets}"
        self._lets += 1
        self.steps.append((name, source.expression))
        return Source(name, source.description)

    @property
    def guards(self) -> list[Guard]:
        return [s for s in self.steps if isinstance(s, Guard)]

    def python(self, inputs: list[str]) -> str:
        """The prologue as source: returns the program's result, or ``MISS``."""
        lines = [f"def prologue({', '.join(self.parameters)}):"]
        body: list[str] = []
        pending: list[str] = []

        def flush() -> None:
            if pending:
                body.append(f"if not ({' and '.join(pending)}): return MISS")
                pending.clear()

        for step in self.steps:
            if isinstance(step, Guard):
                pending.append(step.condition)
            else:
                flush()
                body.append(f"{step[0]} = {step[1]}")
        flush()
        if body:
            lines.append("  try:")
            lines += [f"    {line}" for line in body]
            lines.append("  except (AttributeError, IndexError, KeyError, NameError, ValueError):")
            lines.append("    return MISS")
        lines.append(f"  return computation({', '.join(inputs)})")
        return "\n".join(lines) + "\n"

    def compile(self, inputs: list[str], computation: Callable[..., Any]) -> Callable[..., Any]:
        """The prologue as a function that calls ``computation`` when every guard holds."""
        return compile_source(self.python(inputs), "prologue", {**self.context, "computation": computation})

    def first_failure(self, values: tuple[Any, ...]) -> str | None:
        """The description of the first guard that fails for these arguments; ``None`` if all hold."""
        scope = dict(self.context)
        scope.update(zip(self.parameters, values))
        for step in self.steps:
            try:
                if isinstance(step, Guard):
                    if not eval(step.condition, scope):
                        return step.description
                else:
                    scope[step[0]] = eval(step[1], scope)
            except Exception as error:
                return f"{step.description if isinstance(step, Guard) else step[1]}: {error!r}"
        return None
