"""Expressions, written against the values that are there and kept if Python can evaluate them."""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from .calls import BINARY, CALLS, METHODS, OPERATORS, UNARY
from .outside import DTYPES, FLOATS, NUMBERS, SCALARS
from .scope import Scope, is_array

__all__ = ["Expressions"]

_HOLE = re.compile(r"\{(\w)\}")
KINDS = ("'fc'", "'iu'")
ATTRIBUTES = ("'shape'", "'scale'", "'u'", "'__len__'", "'__iter__'", "'__array__'", "'__float__'", "'__getitem__'")
_LOGICAL = ("logical_and", "logical_or", "bitwise_and", "bitwise_xor", "add", "multiply", "maximum", "minimum", "fmax")


def _is_scalar(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.generic))


def _broadcasts(a: Any, b: Any) -> bool:
    try:
        np.broadcast_shapes(np.shape(a), np.shape(b))
    except ValueError:
        return False
    return True


class Expressions:
    """What can be written at a place whose names and values are those of ``scope``, in a program that has ``features``."""

    def __init__(self, rng: random.Random, scope: Scope, features: frozenset[str]) -> None:
        self.rng = rng
        self.scope = scope
        self.features = features

    def choose(self, *ways: tuple[float, Callable[[], str | None]]) -> str | None:
        """What one of the ways gives, drawn by their weights; the others stand in where that has nothing."""
        left = list(ways)
        while left := [w for w in left if w[0]]:
            way = self.rng.choices(left, [w for w, _ in left])[0]
            text = way[1]()
            if text is not None and self.scope.tried(text) is not NotImplemented:
                return text
            left.remove(way)
        return None

    # Arrays

    def named_array(self, wanted: Callable[[Any], bool] = is_array) -> str | None:
        found = self.scope.pick(lambda x: is_array(x) and wanted(x))
        return None if found is None else found[0]

    def array(self, depth: int = 1, wanted: Callable[[Any], bool] = lambda x: True) -> str | None:
        """An expression for an array that is ``wanted``; ``depth`` bounds what it is made of."""
        for _ in range(4):
            roll = self.rng.random()
            if depth <= 0 or roll < 0.45:
                text = self.named_array(wanted)
                if text is not None and self.rng.random() < 0.25:
                    text = self.view(text) or text
            elif roll < 0.7:
                text = self.call(depth - 1)
            elif roll < 0.85:
                text = self.operation(depth - 1)
            else:
                text = self.method(depth - 1)
            if text is not None and is_array(value := self.scope.tried(text)) and wanted(value):
                return text
        return self.named_array(wanted)

    def view(self, text: str) -> str | None:
        """A view of the array that an expression reads, or the elements at places in it."""
        value = self.scope.tried(text)
        if not is_array(value):
            return None
        found = self.rng.choice(
            (
                self.subscript(value),
                self.subscript(value),
                ".T",
                ".reshape(-1)",
                ".real",
                "[None]",
                ".ravel()",
                "[...]",
                "[::-1]",
            )
        )
        return text + found if self.scope.tried(text + found) is not NotImplemented else None

    def subscript(self, value: Any, *, fancy: bool = True) -> str:
        """A subscript of an array of ``value``'s shape, in brackets."""
        rng = self.rng
        keys: list[str] = []
        for size in np.shape(value)[: rng.randint(1, max(1, np.ndim(value)))]:
            keys.append(self.key(size, fancy=fancy))
        if rng.random() < 0.1:
            keys.insert(rng.randint(0, len(keys)), rng.choice(("None", "...")))
        return f"[{', '.join(keys) or '...'}]"

    def key(self, size: int, *, fancy: bool = True) -> str:
        rng = self.rng
        roll = rng.random()
        if roll < 0.3 and size:
            return self.place(size)
        if roll < 0.8 or not fancy or not size:
            start, stop = self.bound(size), self.bound(size)
            return rng.choice(
                (
                    f"{start}:",
                    f":{stop}",
                    f"{start}:{stop}",
                    "::2",
                    "::-1",
                    ":",
                    f"{start}:{stop}:2",
                    f"{stop}:{start}:-1",
                    f"-{rng.randint(1, 3)}:",
                )
            )
        if roll < 0.9:
            return f"[{', '.join(self.place(size) for _ in range(rng.randint(1, 3)))}]"
        mask = self.scope.pick(lambda x: is_array(x) and x.dtype == bool and x.shape == (size,))
        return mask[0] if mask is not None else f"np.array([{self.place(size)}, {self.place(size)}])"

    def place(self, size: int) -> str:
        """An index into a dimension, now and then an integer of the program."""
        if self.rng.random() < 0.4:
            found = self.scope.pick(lambda x: type(x) in (int, np.int64) and -size <= x < size)
            if found is not None:
                return found[0]
        return str(self.rng.randrange(-size, size)) if size else "0"

    def bound(self, size: int) -> str:
        roll = self.rng.random()
        if roll < 0.25:
            found = self.scope.pick(lambda x: type(x) is int and abs(x) <= size + 2)
            if found is not None:
                return self.rng.choice((found[0], found[0], f"{found[0]} + 1", f"{found[0]} - 1", f"-{found[0]}"))
        if roll < 0.35:
            found = self.scope.pick(is_array)
            if found is not None and found[1].ndim:
                return self.rng.choice((f"len({found[0]})", f"{found[0]}.shape[0] // 2", f"{found[0]}.shape[-1] - 1"))
        return str(self.rng.randint(-2, size + 1))

    def operation(self, depth: int = 0) -> str | None:
        left = self.array(depth)
        if left is None:
            return None
        right = self.beside(self.scope.tried(left))
        operator = self.rng.choice(OPERATORS)
        if self.rng.random() < 0.3:
            left, right = right, left
        text = f"({left} {operator} {right})"
        if self.rng.random() < 0.1:
            text = self.rng.choice(("-", "+", "~", "abs")) + text
        return text

    def beside(self, value: Any) -> str:
        """An operand that broadcasts with ``value``."""
        rng = self.rng
        if rng.random() < 0.6:
            found = self.scope.pick(lambda x: (is_array(x) or isinstance(x, np.generic)) and _broadcasts(x, value))
            if found is not None:
                text = found[0]
                if is_array(found[1]) and found[1].shape == np.shape(value) and found[1].ndim and rng.random() < 0.1:
                    text += "[::-1]"
                return text
        return self.scalar()

    def scalar(self) -> str:
        rng = self.rng
        roll = rng.random()
        if roll < 0.5:
            found = self.scope.pick(_is_scalar)
            if found is not None:
                return found[0]
        if roll < 0.6:
            found = self.scope.pick(lambda x: is_array(x) and x.size > 0 and x.ndim > 0)
            if found is not None:
                text, x = found
                return rng.choice(
                    (
                        f"{text}.max()",
                        f"{text}[{', '.join('0' * x.ndim)}]",
                        f"{text}.flat[-1]",
                        f"{text}.sum()",
                        f"{text}.item(0)",
                    )
                )
        return rng.choice(rng.choice((NUMBERS, FLOATS, SCALARS)))

    def integer(self, low: int, high: int) -> str:
        """A Python integer between two bounds, ends included."""
        found = self.scope.pick(lambda x: type(x) is int and low <= x <= high)
        if found is not None and self.rng.random() < 0.6:
            return found[0]
        if self.rng.random() < 0.3:
            size = self.scope.pick(lambda x: is_array(x) and x.ndim > 0)
            if size is not None:
                text = self.rng.choice(
                    (f"len({size[0]})", f"{size[0]}.ndim", f"{size[0]}.shape[-1]", f"{size[0]}.size % 3")
                )
                if low <= self.scope.tried(text) <= high:
                    return text
        return str(self.rng.randint(low, high))

    def call(self, depth: int = 0, texts: tuple[str, ...] = CALLS, target: str | None = None) -> str | None:
        """A call of NumPy's, its holes filled."""
        for _ in range(4):
            text = self.filled(self.rng.choice(texts), depth, target)
            if text is not None and (target is not None or self.scope.tried(text) is not NotImplemented):
                return text
        return None

    def method(self, depth: int = 0) -> str | None:
        owner = self.array(depth)
        if owner is None:
            return None
        for _ in range(3):
            text = self.filled(self.rng.choice(METHODS), depth, owner)
            if text is not None and self.scope.tried(owner + text) is not NotImplemented:
                return owner + text
        return None

    def filled(self, template: str, depth: int, target: str | None = None) -> str | None:
        """A template with an expression in each hole, or ``None`` where there is nothing for one."""
        first = self.scope.tried(target) if target is not None else None
        parts: list[str] = []
        at = 0
        for hole in _HOLE.finditer(template):
            kind = hole[1]
            text = target if kind == "y" else self._hole(kind, depth, first)
            if text is None:
                return None
            if first is None and kind in "afrizvwq":
                first = self.scope.tried(text)
            parts += [template[at : hole.start()], text]
            at = hole.end()
        return "".join(parts) + template[at:]

    def _hole(self, kind: str, depth: int, first: Any) -> str | None:
        rng = self.rng
        kinds: dict[str, Callable[[Any], bool]] = {
            "a": lambda x: True, "f": lambda x: x.dtype.kind in "fc", "r": lambda x: x.dtype.kind in "fiu",
            "i": lambda x: x.dtype.kind in "iub", "z": lambda x: x.dtype.kind == "c", "v": lambda x: x.ndim == 1,
            "w": lambda x: x.ndim == 2, "q": lambda x: x.ndim >= 1,
        }  # fmt: skip
        if kind in kinds:
            return self.array(depth, kinds[kind])
        shape = np.shape(first)
        if kind == "c":
            return self.array(0, lambda x: x.shape == shape)
        if kind == "m":
            found = self.named_array(lambda x: x.dtype == bool and x.shape == shape)
            if found is None or rng.random() < 0.3:
                other = self.named_array(lambda x: x.shape == shape)
                found = None if other is None else f"({other} {rng.choice(('>', '<', '!=', '>='))} {self.scalar()})"
            return found
        simple: dict[str, Callable[[], str]] = {
            "b": lambda: self.beside(first),
            "s": self.scalar,
            "k": lambda: str(rng.randrange(-len(shape), len(shape))) if shape else "0",
            "n": lambda: self.integer(0, 5),
            "p": lambda: self.integer(1, 4),
            "x": lambda: rng.choice(FLOATS[:6]),
            "d": lambda: rng.choice(
                (
                    f"np.{self._dtype()}",
                    repr(self._dtype()),
                    f"np.dtype({self._dtype()!r})",
                    "float",
                    "int",
                    "bool",
                    "complex",
                )
            ),
            "u": lambda: rng.choice(UNARY),
            "t": lambda: rng.choice(BINARY),
            "g": lambda: rng.choice(_LOGICAL),
            "o": lambda: f"[{', '.join(self.place(shape[0] if shape else 1) for _ in range(rng.randint(1, 3)))}]",
        }
        return simple[kind]()

    def _dtype(self) -> str:
        return self.rng.choice(DTYPES)

    # Numbers, conditions, everything

    def number(self) -> str | None:
        """A Python number, or a scalar of NumPy's."""
        rng = self.rng
        found = self.scope.pick(lambda x: type(x) in (int, float, bool))
        n = found[0] if found is not None else rng.choice(NUMBERS)
        m = self.scalar()
        array = self.named_array(lambda x: x.size > 0) or "np.arange(3)"
        return self.choose(
            (3, lambda: f"{n} {rng.choice(('+', '-', '*', '//', '%', '/'))} {m}"),
            (1, lambda: f"{rng.choice(('min', 'max'))}({n}, {m})"),
            (1, lambda: f"abs({n} - {m})"),
            (0.5, lambda: f"divmod({n}, {self.integer(1, 4)})[{rng.randint(0, 1)}]"),
            (0.5, lambda: f"round({m}, {rng.randint(0, 2)})"),
            (1, lambda: f"len({array})"),
            (1, lambda: f"int({array}.flat[0])"),
            (1, lambda: f"float({array}.sum())"),
            (0.5, lambda: f"{array}.size // {self.integer(1, 3)}"),
            (0.5, lambda: f"pow({self.integer(1, 4)}, {self.integer(0, 5)})"),
            (0.3, lambda: f"math.{rng.choice(('sqrt', 'exp', 'floor', 'ceil', 'isnan', 'sin'))}({n})"),
            (0.3, lambda: f"math.hypot({n}, {m})"),
            (0.3, lambda: f"sum({array}.shape)"),
            (0.3, lambda: f"{n} << {self.integer(0, 3)} | 1"),
            (0.3, lambda: f"complex({n}, {m})"),
            (0.3, lambda: f"{array}.shape[0] - {self.integer(0, 2)}"),
            (0.4, lambda: f"sum({array}.ravel()[:3])"),
            (0.3, lambda: f"max({array}.ravel()[:3])"),
            (0.2, lambda: f"int({m})"),
            (0.2, lambda: f"bool({m})"),
            (0.2, lambda: f"operator.mul({n}, {m})"),
            (0.2, lambda: f"fact({self.integer(0, 5)})"),
        )

    def condition(self) -> str:
        rng = self.rng
        array = self.named_array() or "np.arange(3)"
        anything = rng.choice(self.scope.paths)[0] if self.scope.paths else "1"
        text = self.choose(
            (3, lambda: f"{self.scalar()} {rng.choice(('<', '>', '<=', '!=', '=='))} {self.scalar()}"),
            (2, lambda: f"{array}.{rng.choice(('any', 'all'))}()"),
            (2, lambda: f"({array} {rng.choice(('>', '<', '=='))} {self.scalar()}).{rng.choice(('any', 'all'))}()"),
            (2, lambda: f"{array}.sum() {rng.choice(('>', '<='))} {self.scalar()}"),
            (
                1,
                lambda: (
                    f"isinstance({anything}, {rng.choice(('np.ndarray', 'int', 'float', 'np.generic', '(list, tuple)', 'dict', 'Box', 'bool', 'np.floating'))})"
                ),
            ),
            (1, lambda: f"{anything} is {rng.choice(('', 'not '))}{rng.choice(('None', anything))}"),
            (
                0.7,
                lambda: (
                    f"type({anything}) is {rng.choice(('np.ndarray', 'int', 'float', 'np.float64', 'Cell', 'Box', 'list'))}"
                ),
            ),
            (1, lambda: f"{array}.ndim {rng.choice(('==', '>', '<'))} {rng.randint(0, 2)}"),
            (1, lambda: f"len({array}) {rng.choice(('>', '%'))} {rng.randint(1, 4)}"),
            (
                0.7,
                lambda: (
                    f"{array}.dtype {rng.choice(('==', '!=', 'is'))} {rng.choice(('np.float64', 'float', 'np.dtype(np.int64)', 'bool'))}"
                ),
            ),
            (0.7, lambda: f"{array}.dtype.kind in {rng.choice(KINDS)}"),
            (0.7, lambda: f"{rng.randint(0, 2)} < {self.scalar()} <= {rng.randint(1, 5)}"),
            (0.7, lambda: f"not {self.scalar()}"),
            (0.7, lambda: f"{self.scalar()} in {rng.choice(('(0, 1, 2)', '[1, 3]', '{2: 1}', '{1, 2}', 'range(4)'))}"),
            (0.5, lambda: f"hasattr({anything}, {rng.choice(ATTRIBUTES)})"),
            (
                0.7,
                lambda: (
                    f"np.{rng.choice(('array_equal', 'shares_memory', 'allclose'))}({array}, {self.named_array() or array})"
                ),
            ),
            (0.3, lambda: f"np.isfinite({array}).all()"),
        )
        text = text or "True"
        if rng.random() < 0.15:
            text = f"({text} {rng.choice(('and', 'or'))} {self.condition()})"
        return text

    def anything(self, depth: int = 2) -> str | None:
        """An expression of any kind."""
        rng = self.rng
        return self.choose(
            (10, lambda: self.array(depth)),
            (5, lambda: self.call(depth - 1)),
            (2, lambda: self.method(depth - 1)),
            (3, self.number),
            (3 * ("containers" in self.features), self.container),
            (1, lambda: f"({self.array(0)} if {self.condition()} else {self.array(0)})"),
            (2 * ("comprehensions" in self.features), self.comprehension),
            (0.7, self.condition),
            (2.5 * ("functions" in self.features), self.user_call),
            (0.4, lambda: f"({self.number()} if {self.condition()} else {self.scalar()})"),
            (0.4, lambda: self._path(lambda x: True)),
            (
                0.5 * ("prints" in self.features),
                lambda: f'f"{{{self.scalar()}}} {{{rng.choice(self.scope.paths)[0]}!r:.60}}"',
            ),
            (0.3, lambda: f"{self.scalar()} {rng.choice(('and', 'or'))} {self.scalar()}"),
            (0.3, lambda: f"type({rng.choice(self.scope.paths)[0]}).__name__"),
            (0.4, lambda: f"(lambda q, r=2: {self._inside('q', self.array(0))} * r)({self.array(0)})"),
        )

    def _inside(self, name: str, text: str | None) -> str:
        """An expression of a parameter that has the value of ``text``."""
        value = self.scope.tried(text or "1")
        inner = Expressions(self.rng, self.scope.with_names(**{name: value}), self.features)
        return inner.choose((2, lambda: inner.array(1)), (1, inner.number)) or name

    def _path(self, wanted: Callable[[Any], bool]) -> str | None:
        found = self.scope.pick(wanted)
        return None if found is None else found[0]

    def container(self) -> str | None:
        rng = self.rng
        a, b, s = self.array(1), self.array(0), self.scalar()
        if a is None or b is None:
            return None
        return self.choose(
            (3, lambda: f"[{a}, {b}]"),
            (3, lambda: f"({a}, {s})"),
            (2, lambda: f'{{"x": {a}, "k": {s}}}'),
            (1, lambda: f"Pair({a}, {b})"),
            (1.5, lambda: f"{rng.choice(('Cell', 'Box', 'Frozen', 'Box.made'))}({a})"),
            (0.7, lambda: f"SimpleNamespace(u={a}, t={s})"),
            (0.5, lambda: f"dict(x={a}, y={b})"),
            (0.5, lambda: f"{{{self.integer(0, 4)}, {self.integer(0, 4)}}}"),
            (0.5, lambda: f"list({self._path(lambda x: isinstance(x, (tuple, list, dict, set, deque))) or '()'})"),
            (0.5, lambda: f"[*{b}, {s}]"),
            (0.4, lambda: f"tuple({b})"),
            (0.4, lambda: f"list(zip({a}, {b}))"),
            (0.3, lambda: f"sorted([{s}, {self.scalar()}])"),
            (0.3, lambda: f"[{s}] * {self.integer(0, 3)}"),
            (0.3, lambda: f"list(map(lambda q: q + 1, {b}))"),
            (
                0.3,
                lambda: f"list(map({self.rng.choice(('type', 'len', 'float', 'np.sum', 'round'))}, [{a}, {b}, {s}]))",
            ),
            (0.2, lambda: f"[w1 := {a}, w1 + {s}]"),
            (0.2, lambda: f"np.unstack({a})"),
            (0.3, lambda: f"dict(enumerate({b}))"),
            (0.3, lambda: f"{{**{{'x': {a}}}, 'z': {s}}}"),
            (0.3, lambda: f"deque([{a}], maxlen=2)"),
            (0.3, lambda: f"list(pieces({b}))"),
            (0.2, lambda: f"np.unique({a}, return_index=True)"),
            (0.2, lambda: f"np.divmod({a}, {s})"),
            (0.2, lambda: f"list(itertools.accumulate({b}))"),
        )

    def comprehension(self) -> str | None:
        """A comprehension or a generator over something that there is."""
        rng = self.rng
        found = self.choose(
            (2, lambda: f"range({self.integer(0, 5)})"),
            (2, lambda: self.named_array(lambda x: x.ndim > 0 and len(x) < 12)),
            (1, lambda: f"enumerate({self.named_array(lambda x: x.ndim > 0 and len(x) < 12)})"),
            (1, lambda: self._path(lambda x: isinstance(x, (list, tuple, set)) and len(x) < 12)),
        )
        items = self.scope.tried(f"list({found})") if found is not None else NotImplemented
        if items is NotImplemented or not items:
            return None
        names, bound = ("e", {"e": items[0]})
        if found is not None and found.startswith("enumerate"):
            names, bound = "j, e", {"j": items[0][0], "e": items[0][1]}
        inner = Expressions(rng, self.scope.with_names(**bound), self.features)
        element = inner.choose(
            (2, lambda: inner.array(1)), (3, inner.number), (1, lambda: f"e {rng.choice('+-*')} {inner.scalar()}")
        )
        if element is None:
            return None
        where = f" if {inner.condition()}" if rng.random() < 0.3 else ""
        body = f"{element} for {names} in {found}{where}"
        return rng.choice(
            (
                f"[{body}]",
                f"[{body}]",
                f"sum({body})",
                f"tuple({body})",
                f"np.array([{body}])",
                f"{{k: {body}}}".replace("{k:", f"{{{names.split(',')[0]}:"),
                f"max([{body}], default=0)",
                f"any(({element}) is None for {names} in {found})",
            )
        )

    def user_call(self) -> str | None:
        """A call of a function or a method of the prelude, or of the program."""
        rng = self.rng
        a, s = self.array(0), self.scalar()
        ways: list[tuple[float, Callable[[], str | None]]] = [
            (1, lambda: f"total({a}, {self.array(0)}, {s})"),
            (1, lambda: f"total(*[{a}, {s}], weight={s})"),
            (0.7, lambda: f"keyed({a}, by={s}, z={s})"),
            (0.7, lambda: f"halves({self.named_array(lambda x: x.ndim == 1)})"),
            (0.5, lambda: f"swapped(({a}, {s}))"),
            (0.5, lambda: f"clear({self.named_array(lambda x: x.flags.writeable)}, {rng.choice(NUMBERS)})"),
            (0.5, lambda: f"shifted({a}, by={s})"),
            (0.3, lambda: f"functools.reduce(operator.add, [{a}, {s}, {s}])"),
            (0.3, lambda: f"functools.partial(np.add, {a})({s})"),
        ]
        for name, thing in self.scope.having(
            lambda x: type(x).__name__ in ("Cell", "Box", "Small", "Frozen", "Pair", "SimpleNamespace")
        ):
            kind = type(thing).__name__
            if kind == "Cell":
                ways += [
                    (1, lambda n=name: f"{n}.bump({self.integer(0, 3)})"),
                    (1, lambda n=name: f"{n}.scaled({a})"),
                    (1, lambda n=name: f"{n}.total"),
                ]
            elif kind in ("Box", "Small"):
                ways += [
                    (0.7, lambda n=name: f"{n}.set({a})"),
                    (0.7, lambda n=name: f"{n}({a})"),
                    (0.5, lambda n=name: f"len({n})"),
                    (0.7, lambda n=name: f"{n}[{rng.choice(('0', '1:', '...'))}]"),
                ]
                ways += [
                    (0.4, lambda n=name: f"({n} + {s}).value"),
                    (0.3, lambda n=name: f"{s} in {n}"),
                    (0.3, lambda n=name: f"{n}.twice({a})"),
                    (0.3, lambda n=name: f"{n}.shared"),
                    (0.3, lambda n=name: f"{n}.level"),
                ]
            elif kind in ("Frozen", "Cell"):
                ways += [(0.5, lambda n=name: f"replace({n}, data={a})")]
            elif kind == "Pair":
                ways += [(0.5, lambda n=name: f"{n}._replace(first={a})"), (0.3, lambda n=name: f"{n}[0]")]
            else:
                ways += [(0.5, lambda n=name: f"vars({n})"), (0.5, lambda n=name: f"getattr({n}, 'u', None)")]
        for name, function in self.scope.functions():
            count = function.__code__.co_argcount - len(function.__defaults__ or ())
            ways.append((2, lambda n=name, c=count: f"{n}({', '.join(self.array(0) or s for _ in range(c))})"))
        return self.choose(*ways)
