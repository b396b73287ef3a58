"""Random programs of loops and branches: elements and rows at loop variables, scalars that are carried, writes that overlap.

>>> from random import Random
>>> random_loops(Random(0)).startswith("def program(x, m, k, n):")
True
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

#: the length of every dimension
SIZE = 7


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.depth = 1
        self.loops: list[str] = []
        self.branches = 0

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    # Expressions

    def index(self) -> str:
        """An index in bounds: an error in what nothing reads is left out with it."""
        found = [str(self.random.randint(-SIZE, SIZE - 1)), "c % 7", "k[0]"]
        for i in self.loops:
            found += [i, i, f"{i} % 5", f"-1 - {i}", f"({i} * 2 + 1) % 7", f"k[{i}]"]
        return self.pick(*found)

    def bounds(self) -> str:
        """The bounds of a slice."""
        found = ["1:", ":-1", "::2", ":3", "", "2:5", "::-1"]
        for i in self.loops:
            found += [f":{i}", f"{i}:", f"{i} + 1:", f"{i}:{i} + 3", f":{i} - 2", f"::{self.random.randint(1, 3)}"]
        found = [b if ":" in b else ":" for b in found]
        return self.pick(*found)

    def element(self) -> str:
        return self.pick(f"x[{self.index()}]", f"m[{self.index()}, {self.index()}]", f"k[{self.index()}]", "y[2]")

    def row(self, bounds: str) -> str:
        return self.pick(f"x[{bounds}]", f"m[{self.index()}, {bounds}]", f"m[{bounds}, {self.index()}]", f"y[{bounds}]")

    def scalar(self) -> str:
        b = self.bounds()
        return self.pick(
            self.element(), self.element(), "s", "t", "c", "0.5", *self.loops,
            f"{self.row(b)}.sum()", f"np.dot({self.row(b)}, {self.row(b)})", f"({self.row(b)} * {self.row(b)}).sum()",
            f"m[{b}].sum(axis=0)[1]", "y.max()", "abs(x).min()", f"np.sqrt(abs({self.element()}))", "m.argmax()",
        )  # fmt: skip

    def number(self) -> str:
        a, b = self.scalar(), self.scalar()
        return self.pick(
            f"{a} * 0.5", f"{a} - {b}", f"np.clip({a} + {b}, -9, 9)", f"({a} if {self.condition()} else {b})",
            f"max({a}, 0.25)", f"min({a}, {b})", a,
        )  # fmt: skip

    def condition(self) -> str:
        a, b = self.scalar(), self.scalar()
        one = self.pick(f"{a} > {b}", f"{a} <= 0.3", "c % 2 == 0", f"not {a} < 0", f"{self.element()} != {b}")
        return self.pick(one, one, f"{one} and {a} < 5", f"{one} or {b} < -1", f"-2 < {a} < 3")

    # Statements

    def statement(self) -> None:
        kind = self.random.random()
        b = self.bounds()
        if kind < 0.3:
            target = self.pick(f"x[{self.index()}]", f"m[{self.index()}, {self.index()}]", f"y[{self.index()}]")
            self.line(f"{target} {self.pick('=', '+=', '-=')} {self.number()}")
        elif kind < 0.5:
            source = self.pick(
                self.number(), f"{self.row(b)} * 0.5", f"{self.row(b)} - {self.row(b)}", f"np.abs({self.row(b)})"
            )
            self.line(f"{self.row(b)} {self.pick('=', '+=')} {source}")
        elif kind < 0.55:
            self.line(f"m[{b}] {self.pick('=', '*=')} {self.pick('x', '0.5', f'm[{b}] * y')}")
        elif kind < 0.65:
            self.line(
                self.pick(f"s = s * 0.5 + {self.element()}", f"t -= {self.element()}", f"t = t * 0 + {self.number()}")
            )
        elif kind < 0.7:
            self.line(
                self.pick(
                    "c += 1", "c = c * 3 % 11", "c = (c >> 1) ^ 5", "c = c // 2 + 1", f"k[{self.index()}] = c % 7"
                )
            )
        elif kind < 0.75 and not self.branches:
            self.line(self.pick("y = y * 0.5 + x", "y = m @ x * 0.1", "y = np.minimum(y, x)", "y = np.zeros(7) + t"))
        elif kind < 0.85 and self.depth < 4:
            self.branches += 1
            self.line(f"if {self.condition()}:")
            self.block(2)
            if self.random.random() < 0.5:
                self.line("else:")
                self.block(2)
            self.branches -= 1
        elif self.depth < 4 and len(self.loops) < 3:
            self.loop()
        else:
            self.line(f"s = {self.number()} + x[0] * 0")

    def loop(self) -> None:
        i = f"i{len(self.lines)}"
        if self.random.random() < 0.2:
            self.line(f"{i} = 0")
            self.line(f"while ({self.condition()}) and {i} < 6:")
            self.depth += 1
            self.line(f"{i} += 1")
            self.depth -= 1
        else:
            outer = [f"range({j})" for j in self.loops] + [f"range({j} + 1, 7)" for j in self.loops]
            over = ["range(n)", "range(7)", "range(6, 0, -1)", "range(1, n)", "range(0, 7, 3)", *outer]
            self.line(f"for {i} in {self.pick(*over)}:")
        self.loops.append(i)
        self.block(3)
        if self.random.random() < 0.2 and not self.branches:
            self.depth += 1
            self.line(f"if {self.condition()}:")
            self.line(f"    {self.pick('break', 'continue')}")
            self.statement()
            self.depth -= 1
        self.loops.pop()

    def block(self, most: int) -> None:
        self.depth += 1
        for _ in range(self.random.randint(1, most)):
            self.statement()
        self.depth -= 1


def random_loops(random: Random) -> str:
    """The source of a function ``program(x, m, k, n)``."""
    w = _Writer(random)
    w.lines.append("def program(x, m, k, n):")
    w.line("s, t, c, y = x[0] * 0.5, m[1, 1] + 1.0, 3, x * 2")
    for _ in range(random.randint(1, 3)):
        w.statement()
    w.loop()
    w.line("return s, t, c, y")
    return "\n".join(w.lines) + "\n"


def loop_arguments(seed: int, n: int, more: int = 0) -> list[object]:
    """Arguments for such a program: values that are exact in sums, so that their order does not matter. ``more``: elements beyond those
    that the program needs."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-6, 7, SIZE + more) * 0.25
    m = rng.integers(-6, 7, (SIZE + more, SIZE + 2 * more)) * 0.5
    return [x, m, rng.integers(0, SIZE, SIZE + more), n]


def compare_loops(
    program: Callable[..., Any], jitted: Callable[..., Any], seed: int, lengths: Sequence[int], text: str
) -> None:
    """Compares results and changed arguments of a random program with eager's, for each length; ``text`` is shown if they differ."""
    for k, n in enumerate(lengths):
        expected_args, args = loop_arguments(seed + k, n), loop_arguments(seed + k, n)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expected = program(*expected_args)
            actual = jitted(*args)
        for a, b in zip((*args, *np.atleast_1d(actual[3])), (*expected_args, *np.atleast_1d(expected[3]))):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=text)
