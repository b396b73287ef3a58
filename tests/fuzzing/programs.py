"""Random programs as text, and as functions."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arguments import layout, values

#: elements of an array that a program may make
MOST = 60_000


@dataclass
class Statement:
    """A line of a program (or a few), the names that it reads, the one that it defines or writes, and its kind.

    ``kind`` has a letter for each of: ``~`` results are rounded differently (``c``: complex ones, ``r``: and over many elements),
    ``d`` is discontinuous, ``s`` is steep, ``v`` gives a view, ``z`` leaves the sign of zeros open, ``m`` may be of more elements
    than are good to multiply.
    """

    text: str
    reads: tuple[str, ...]
    target: str
    kind: str = ""


@dataclass
class Program:
    names: list[str]
    calls: list[list[str]]  # for each call, a line an argument
    statements: list[Statement] = field(default_factory=list)
    result: list[str] = field(default_factory=list)

    def source(self) -> str:
        lines = [f"def program({', '.join(self.names)}):"]
        lines += [f"    {line}" for s in self.statements for line in s.text.splitlines()]
        return "\n".join([*lines, f"    return {', '.join(self.result)},"]) + "\n"

    def arguments_source(self, k: int) -> str:
        lines = [f"def arguments{k}():", *(f"    {line}" for line in self.calls[k])]
        return "\n".join([*lines, f"    return [{', '.join(self.names)}]"]) + "\n"

    def arguments(self, k: int) -> list[Any]:
        scope = {"np": np, "layout": layout, "values": values}
        exec(self.arguments_source(k), scope)
        return scope[f"arguments{k}"]()

    def script(self, executors: Sequence[str] | None = ("llvm[everything]",)) -> str:
        """The program as a file that compares itself; run with ``tests`` on the path."""
        parts = ["import numpy as np", "import tnp", "from tests.fuzzing import layout, values", "", self.source()]
        parts += [self.arguments_source(k) for k in range(len(self.calls))]
        parts.append(f"f = tnp.jit(program, executors={executors})")
        for k in range(len(self.calls)):
            parts += [f"x, y = arguments{k}(), arguments{k}()", "print(program(*x), f(*y), x, y, sep='\\n')"]
        return "\n".join(parts) + "\n"


def define(source: str, count: list[int] = [0]) -> Any:  # noqa: B006 — a counter
    """The function that a source defines, its lines findable as if they stood in a file."""
    count[0] += 1
    filename = f"<fuzzed program {count[0]}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope = {"np": np}
    exec(compile(source, filename, "exec"), scope)
    return scope["program"]
