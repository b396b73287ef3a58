"""What stands around a function: classes, helper functions, module state, arguments, and what changes between calls.

The prelude is the same in all programs; a program that is made smaller keeps what it needs of it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["CALLS", "PRELUDE", "Outside", "outside"]

#: calls of each program
CALLS = 3

PRELUDE = '''
import contextlib
import functools
import itertools
import math
import operator
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

Pair = namedtuple("Pair", "first second")


@dataclass
class Cell:
    data: Any
    scale: float = 2.0
    count: int = 0

    def bump(self, by=1):
        self.count += by
        return self.count

    def scaled(self, x):
        return x * self.scale

    @property
    def total(self):
        return self.data.sum() * self.scale


@dataclass(frozen=True)
class Frozen:
    data: Any
    order: int = 1


class Box:
    shared = 3

    def __init__(self, value, tag="a"):
        self.value = value
        self.tag = tag
        self._level = 1

    @property
    def level(self):
        return self._level

    @level.setter
    def level(self, new):
        self._level = new

    def set(self, value):
        self.value, before = value, self.value
        return before

    def __len__(self):
        return len(self.value)

    def __getitem__(self, key):
        return self.value[key]

    def __setitem__(self, key, value):
        self.value[key] = value

    def __call__(self, x):
        return x + self._level

    def __add__(self, other):
        return Box(self.value + other, self.tag)

    def __contains__(self, x):
        return x in (self.tag, self._level)

    def __enter__(self):
        self._level += 1
        return self

    def __exit__(self, *_):
        self._level -= 1
        return False

    @classmethod
    def made(cls, value):
        return cls(value, "made")

    @staticmethod
    def twice(x):
        return x + x


class Small(Box):
    shared = 5

    def set(self, value):
        return super().set(value * 2)


def make(dtype, shape, seed, layout="C"):
    """An array of small numbers, for some seeds with infinities, NaNs or extreme values."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=shape) * 3, 1)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        values = values > 0
    elif dtype.kind == "u":
        values = abs(values).round()
    elif dtype.kind == "i":
        values = values.round()
    elif dtype.kind == "c":
        values = values + 1j * np.round(rng.normal(size=shape), 1)
    values = np.asarray(values).astype(dtype)
    if seed % 11 == 5 and values.size and dtype.kind in "fc":
        values.flat[:: 3] = [np.nan, np.inf, -np.inf, -0.0][seed % 4]
    if seed % 11 == 6 and values.size and dtype.kind in "iu":
        values.flat[:: 2] = [np.iinfo(dtype).max, np.iinfo(dtype).min][seed % 2]
    if layout == "F":
        values = np.asfortranarray(values)
    elif layout == "strided":
        values = np.repeat(values, 2, axis=-1)[..., ::2] if values.ndim else values
    elif layout == "reversed":
        values = values[::-1].copy()[::-1] if values.ndim else values
    elif layout == "readonly":
        values.flags.writeable = False
    return values


def fact(n):
    return 1 if n <= 1 else n * fact(n - 1)


def total(first, *rest, weight=1):
    for r in rest:
        first = first + r * weight
    return first


def keyed(x, *, by=2, **others):
    return {"x": x, "by": x * by, **others}


def halves(x, depth=2):
    if depth == 0 or len(x) < 2:
        return x.sum()
    return halves(x[: len(x) // 2], depth - 1) + 2 * halves(x[len(x) // 2 :], depth=depth - 1)


def pieces(x, k=2):
    for i in range(0, len(x), k):
        yield x[i : i + k]


def clear(x, value=0):
    x[...] = value
    return x


def swapped(pair):
    a, b = pair
    return b, a


def counter():
    n = 0

    def count(by=1):
        nonlocal n
        n += by
        return n

    return count


def doubled(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs) * 2

    return call


@doubled
def shifted(x, by=1):
    return x + by
'''

DTYPES = (
    "float64", "float64", "float64", "float32", "float32", "float16", "int64", "int64", "int32", "int16", "int8", "uint8",
    "uint16", "uint32", "uint64", "bool", "complex128", "complex64",
)  # fmt: skip
LAYOUTS = ("C", "C", "C", "C", "F", "strided", "reversed", "readonly")
SIZES = (0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 6, 7, 8, 17)
NUMBERS = ("0", "1", "2", "3", "4", "-1", "-2", "5", "7")
FLOATS = ("0.5", "2.0", "-1.5", "0.0", "1e-3", "3.25", "-0.0", "float('inf')", "float('nan')")
SCALARS = (
    "np.float64(1.5)", "np.float32(0.1)", "np.int64(3)", "np.int8(100)", "np.uint8(200)", "np.bool_(True)",
    "np.complex64(1 + 2j)", "np.float16(0.3)", "np.int32(-2)",
)  # fmt: skip


@dataclass
class Outside:
    """The text of the module's state, of ``f``'s signature, of ``arguments(call)`` and ``change(call)``."""

    state: str
    signature: str
    arguments: str


class _Sizes:
    """The sizes that shapes are made of, others in the last call."""

    def __init__(self, rng: random.Random) -> None:
        self.of_call = [[rng.choice(SIZES) for _ in range(2)]] * (CALLS - 1) + [[rng.choice(SIZES) for _ in range(2)]]
        self.large = rng.random() < 0.03

    def shape(self, rng: random.Random, call: int, pattern: str) -> tuple[int, ...]:
        n, m = self.of_call[call]
        if self.large and pattern == "n":
            n = 300 + 40 * call
        shapes: dict[str, tuple[int, ...]] = {
            "": (), "n": (n,), "m": (m,), "nm": (n, m), "mn": (m, n), "nn": (n, n), "1n": (1, n), "n1": (n, 1),
            "2nm": (2, n, m), "n1m": (n, 1, m),
        }  # fmt: skip
        return shapes[pattern]


PATTERNS = ("", "n", "n", "n", "n", "m", "nm", "nm", "nm", "mn", "nn", "1n", "n1", "2nm", "n1m")


class _Parameters:
    """Makes the parameters of a function, and their values for each call."""

    def __init__(self, rng: random.Random, features: frozenset[str]) -> None:
        self.rng = rng
        self.features = features
        self.sizes = _Sizes(rng)
        self.base: list[str] | None = None

    def array(self) -> list[str]:
        rng = self.rng
        pattern, layout = rng.choice(PATTERNS), rng.choice(LAYOUTS)
        dtypes = [rng.choice(DTYPES)] * CALLS
        if rng.random() < 0.15:
            dtypes[-1] = rng.choice(DTYPES)
        seed = rng.randrange(1000)
        found = []
        for call in range(CALLS):
            shape = self.sizes.shape(rng, call, pattern)
            last = f', "{layout}"' if layout != "C" else ""
            found.append(f'make("{dtypes[call]}", {shape}, {seed + 100 * call}{last})')
        return found

    def overlapping(self) -> list[str]:
        """A part of the array that other arguments are parts of."""
        rng = self.rng
        if self.base is None:
            self.base = self.array()
            while "()" in self.base[0]:
                self.base = self.array()
        views = ("base", "base", "base[1:]", "base[:-1]", "base[::-1]", "base[::2]", "base.T", "base[..., 1:]")
        view = rng.choice(views)
        last = rng.choice([view, view, "base.copy()", rng.choice(views)])
        return [view, view, last]

    def number(self) -> list[str]:
        rng = self.rng
        choices = rng.choice((NUMBERS, NUMBERS, NUMBERS, FLOATS, FLOATS, SCALARS, ("True", "False"), ("1j", "2 - 1j")))
        first = rng.choice(choices)
        return [first, rng.choice((first, rng.choice(choices))), rng.choice(choices)]

    def word(self) -> list[str]:
        rng = self.rng
        words = ('"a"', '"b"', '"mean"', "None", "None")
        first = rng.choice(words)
        return [first, first, rng.choice(words)]

    def container(self) -> list[str]:
        rng = self.rng
        kind = rng.choice(
            ("[{0}, {1}]", "[{0}, {2}]", "({0}, {1})", "({0}, ({1}, {2}))", '{{"x": {0}, "k": {2}}}', "Pair({0}, {1})", "[{2}, {3}]",
             '{{"x": {0}, "y": [{1}]}}', "[[{2}], {0}]", "{{{2}, 7}}", "deque([{0}, {2}])", '{{1: {2}, "x": {0}}}')
        )  # fmt: skip
        parts = [self.array(), self.array(), self.small(), self.number()]
        return [kind.format(*(p[call] for p in parts)) for call in range(CALLS)]

    def small(self) -> list[str]:
        rng = self.rng
        first = rng.choice(NUMBERS)
        return [first, rng.choice((first, rng.choice(NUMBERS))), rng.choice(NUMBERS)]

    def thing(self) -> list[str]:
        rng = self.rng
        kind = rng.choice(
            ("Cell({0})", "Cell({0}, {1}, {2})", "Box({0})", 'Box({0}, "b")', "Small({0})", "SimpleNamespace(u={0}, t={2})",
             "Frozen({0}, {2})", "Box([{0}, {0}])")
        )  # fmt: skip
        parts = [self.array(), self.number(), self.small()]
        return [kind.format(*(p[call] for p in parts)) for call in range(CALLS)]

    def any(self) -> list[str]:
        rng = self.rng
        kinds = (self.array, self.overlapping, self.number, self.small, self.word, self.container, self.thing)
        containers, things = 6 * ("containers" in self.features), 6 * ("things" in self.features)
        return rng.choices(kinds, (10, 4, 4, 3, 1, containers, things))[0]()


def outside(rng: random.Random, features: frozenset[str]) -> Outside:
    """Module state, a signature and arguments, drawn by ``rng`` for a program of some features."""
    made = _Parameters(rng, features)
    positional = [made.array() if i == 0 else made.any() for i in range(rng.randint(1, 4))]
    names = [f"a{i}" for i in range(len(positional))]
    signature, keywords, stars = list(names), [], []
    if rng.random() < 0.2:
        signature.append(f"k0={rng.choice(NUMBERS)}")
        keywords.append(("k0", made.small()))
    if rng.random() < 0.1:
        signature.append("*rest")
        stars = [made.any() for _ in range(rng.randint(0, 2))]
    elif rng.random() < 0.15:
        signature.append("*")
    if signature[-1].startswith("*"):
        signature.append(f"k1={rng.choice(FLOATS)}")
        keywords.append(("k1", made.number()))
    if rng.random() < 0.08:
        signature.append("**named")
        keywords.append(("extra", made.any()))
    if stars and any(n == "k0" for n, _ in keywords):
        positional.append(next(v for n, v in keywords if n == "k0"))
        keywords = [(n, v) for n, v in keywords if n != "k0"]
    passed = [rng.random() < 0.7 for _ in keywords]
    lines = ["def arguments(call):"]
    for call in range(CALLS):
        lines.append(f"    if call == {call}:")
        if made.base is not None:
            lines.append(f"        base = {made.base[call]}")
        values = ", ".join([v[call] for v in positional] + [v[call] for v in stars])
        named = ", ".join(f'"{n}": {v[call]}' for p, (n, v) in zip(passed, keywords) if p)
        lines.append(f"        return ({values},), {{{named}}}")
    state, change = _state(rng, made)
    return Outside(state, f"def f({', '.join(signature)}):", "\n".join([*lines, "", *change]))


def _state(rng: random.Random, made: _Parameters) -> tuple[str, Sequence[str]]:
    """The text of the module's state, and of the function that changes it between calls."""
    parts: list[tuple[str, list[str], list[str]]] = []
    array = made.array()
    parts.append(("G0", array, ["G0 = {1}", "G0[...] = 2", "G0 = G0 + 1", "G0 = {2}"]))
    parts.append(("K0", made.number(), ["K0 = {1}", "K0 = {2}"]))
    number, inner = made.small(), made.array()
    mapping = [f'{{"k": {number[c]}, "x": {inner[c]}}}' for c in range(CALLS)]
    parts.append(
        ("D0", mapping, ['D0["k"] = {1}["k"]', 'D0["x"] = {2}["x"]', 'D0["new"] = 1', "D0 = {1}", 'D0["x"][...] = 1'])
    )
    items = [f"[{a}, {b}]" for a, b in zip(made.small(), made.array())]
    parts.append(("L0", items, ["L0.append(1)", "L0[0] = {2}[0]", "L0 = {1}", "L0[1] = L0[1] * 2"]))
    things = made.thing()
    parts.append(("O0", things, ["O0 = {1}", "O0.scale = 3.0", "O0.extra = 1", "O0 = {2}", "Box.shared = 4"]))
    chosen = [p for p in parts if "state" in made.features and rng.random() < 0.5]
    lines = [f"{name} = {values[0]}" for name, values, _ in chosen]
    change = ["def change(call):"]
    if chosen:
        change.append(f"    global {', '.join(name for name, *_ in chosen)}")
    for call in range(1, CALLS):
        change.append(f"    if call == {call}:")
        done = [rng.choice(ways).format(*values) for _, values, ways in chosen if rng.random() < 0.6]
        if any(line.startswith("O0.") and "Frozen" in v[0] for line in done for n, v, _ in chosen if n == "O0"):
            done = [line for line in done if not line.startswith("O0.")]
        for line in done or ["pass"]:
            if line.endswith("[...] = 2") or line.endswith("[...] = 1"):
                target = line.split("[...]")[0]
                change.append(f"        if {target}.flags.writeable:")
                line = "    " + line
            change.append(f"        {line}")
    return "\n".join([*lines, ""]), change
