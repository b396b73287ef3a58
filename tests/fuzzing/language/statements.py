"""Simple statements, written against the values that are there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from .calls import UPDATES
from .expressions import Expressions
from .outside import FLOATS, NUMBERS
from .scope import is_array

__all__ = ["RAISING", "Statements"]

#: statements that raise, or are likely to
RAISING = (
    "{a}[{big}]", "v9 = {a}[{big}]", "{a}[{big}] = 1", "v9 = {n} // ({n} - {n})", "v9 = 1 / ({n} - {n})", "v9 = {n} % 0", 'v9 = {a} + "text"', "v9 = {a} + None", "v9 = np.zeros(3) + np.zeros(4)",
    'v9 = {{"k": 1}}["missing"]', "v9 = {a}.missing", 'raise ValueError(f"bad {{{n}}}")', "raise TypeError", 'raise IndexError("by hand")', "assert {n} == {big}, 'asserted'", "v9 = {a}.reshape(7, 11)", 'v9 = int("q")',
    "v9 = len({n})", "v9 = np.concatenate([np.zeros((2, 2)), np.zeros(3)])", "v9 = [1, 2][{big}]", "v9 = np.zeros(3).max(axis=2)", "v9 = {a}[np.array([0, {big}])]", "v9 = np.zeros(0).max()", "a_missing + 1", "np.add({a}, 1, out=np.zeros((9, 9, 9, 9))[0, :2])",
    "v9 = np.linalg.inv(np.zeros((2, 2)))", "raise ZeroDivisionError", "a, b = {n}, 2, 3", "a, b = np.zeros(3)", "v9 = np.arange(3)[np.array([True, False])]", "np.zeros(2)[:] = np.zeros(3)", "v9 = (1, 2).append(3)", "if {a}.size != 1 and bool({a}): pass",
    "v9 = np.array([1, 2]).item()", "v9 = {a} @ np.zeros((9, 9, 9))[0, 0, :0]", "raise RuntimeError('by hand') from None", "next(iter([]))", "v9 = float(np.zeros(2))", "for _ in {n}: pass", "v9 = np.sum({a}, axis=9)", "v9 = np.int8(3) + 300", "np.zeros(3, int)[0] = 1j",
)  # fmt: skip


class Statements(Expressions):
    """Statements without clauses. ``fresh`` makes a name that is not taken; ``assignable`` are names of module state that may be bound."""

    def __init__(
        self, rng: Any, scope: Any, features: frozenset[str], fresh: Callable[[], str], assignable: tuple[str, ...] = ()
    ) -> None:  # fmt: skip
        super().__init__(rng, scope, features)
        self.fresh = fresh
        self.assignable = assignable

    def simple(self) -> str | None:
        rng = self.rng
        ways: list[tuple[float, str, Callable[[], str | None]]] = [
            (12, "", self.assignment),
            (8, "", self.update),
            (5, "", self.augmented),
            (2, "", self.unpacking),
            (4, "containers", self.on_container),
            (3, "containers", self.bound_anew),
            (4, "things", self.on_thing),
            (1.5, "prints", self.printed),
            (0.8, "deletes", self.deletion),
            (1.5, "state", self.on_state),
            (0.6, "functions", self.user_call),
            (1, "functions", self.function),
        ]
        ways = [w for w in ways if not w[1] or w[1] in self.features]
        for _ in range(5):
            text = rng.choices(ways, [w for w, *_ in ways])[0][2]()
            if text is not None:
                return text
        return self.assignment()

    def name(self) -> str:
        """A name to bind: a fresh one, or one that is bound already."""
        rng = self.rng
        known = self.names_of(lambda x: not callable(x) or hasattr(x, "shape"))
        if self.assignable and rng.random() < 0.15:
            return rng.choice(self.assignable)
        return rng.choice(known) if known and rng.random() < 0.2 else self.fresh()

    def names_of(self, wanted: Callable[[Any], bool]) -> list[str]:
        """Names that a statement may bind: not the counters, which end loops."""
        return [n for n, x in self.scope.names.items() if n[0] != "w" and wanted(x)]

    def assignment(self) -> str | None:
        text = self.anything()
        if text is None:
            return None
        roll = self.rng.random()
        if roll < 0.05:
            return f"{self.name()} = {self.name()} = {text}"
        if roll < 0.1:
            return f"{self.name()} = ({self.fresh()} := {text})"
        if roll < 0.15 and (second := self.anything()) is not None:
            return f"{self.name()}, {self.fresh()} = {text}, {second}"
        if roll < 0.2 and (known := self.names_of(is_array)):
            a, b = self.rng.choice(known), self.rng.choice(known)
            return f"{a}, {b} = {b}, {a}"
        if roll < 0.23:
            return f"{self.fresh()}: Any = {text}"  # a global may not be annotated
        return f"{self.name()} = {text}"

    def target(self) -> str | None:
        """An expression for an array that may be written to."""
        found = self.named_array(lambda x: x.flags.writeable)
        if found is not None and self.rng.random() < 0.2:
            value = self.scope.tried(found)
            view = found + self.subscript(value, fancy=False)
            if is_array(self.scope.tried(view)):
                return view
        return found

    def update(self) -> str | None:
        target = self.target()
        if target is None:
            return None
        if self.rng.random() < 0.35:
            value = self.scope.tried(target)
            at = self.subscript(value)
            inside = self.scope.tried(target + at)
            operator = self.rng.choice(("=", "=", "+=", "*=", "-=", "/=", "//=", "**=", "|="))
            right = self.beside(inside) if self.rng.random() < 0.6 else self.operation(0)
            return f"{target}{at} {operator} {right}"
        return self.filled(self.rng.choice(UPDATES), 0, target)

    def augmented(self) -> str | None:
        names = self.names_of(lambda x: is_array(x) or isinstance(x, (int, float, complex, list)))
        if not names:
            return None
        name = self.rng.choice(names)
        value = self.scope.names[name]
        operator = self.rng.choice("+ + - * // / ** % & | ^ << @".split())
        if isinstance(value, list):
            return f"{name} {self.rng.choice(('+=', '*='))} {self.rng.choice(('[1]', '2', '(3, 4)', self.array(0) or '[0]'))}"
        return f"{name} {operator}= {self.beside(value)}"

    def unpacking(self) -> str | None:
        rng = self.rng
        found = self.scope.pick(
            lambda x: (isinstance(x, (list, tuple, deque)) or (is_array(x) and x.ndim)) and 0 < len(x) < 6
        )
        if found is None:
            return None
        text, value = found
        a, b = self.fresh(), self.fresh()
        if rng.random() < 0.5:
            return rng.choice((f"{a}, *{b} = {text}", f"*{a}, {b} = {text}", f"[{a}, *{b}] = {text}"))
        names = [self.fresh() for _ in range(len(value))]
        return f"{', '.join(names)}{',' * (len(names) == 1)} = {text}"

    def bound_anew(self) -> str | None:
        """A name bound to another container of its kind: a variable that loops and branches carry part by part."""
        rng = self.rng
        names = self.names_of(lambda x: isinstance(x, (list, tuple, dict)) and 0 < len(x) < 5)
        if not names:
            return None
        name = rng.choice(names)
        value = self.scope.names[name]
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        items = [f"{name}[{k!r}]" for k in keys]
        at = rng.randrange(len(items))
        items[at] = rng.choice(
            (f"{items[at]} * {self.scalar()}", f"{items[at]} + 1", rng.choice(items), self.anything(1) or "0")
        )
        if rng.random() < 0.3:
            other = rng.randrange(len(items))
            items[at], items[other] = items[other], items[at]
        if isinstance(value, dict):
            return f"{name} = {{{', '.join(f'{k!r}: {x}' for k, x in zip(keys, items))}}}"
        if isinstance(value, list):
            return f"{name} = [{', '.join(items)}]"
        return f"{name} = ({', '.join(items)},)" if type(value) is tuple else None

    def on_container(self) -> str | None:
        rng = self.rng
        found = self.scope.pick(lambda x: isinstance(x, (list, dict, set, deque)))
        item = self.anything(1)
        if found is None or item is None:
            return None
        text, value = found
        if isinstance(value, list):
            ways = [
                f".append({item})",
                f".extend([{item}, {self.scalar()}])",
                f".insert(0, {item})",
                ".pop()",
                ".reverse()",
                f"[0] = {item}",
                f"[{rng.randint(-2, 2)}] = {item}",
                " += [1]",
                f"[1:] = [{item}]",
                ".clear()",
                ".pop(0)",
                f"[::2] = {text}[::2]",
            ]
        elif isinstance(value, dict):
            ways = [
                f'["x"] = {item}',
                f'["new"] = {item}',
                f".update(k={item})",
                f'.setdefault("k", {item})',
                '.pop("k", None)',
                f"[{self.scalar()}] = 1",
                ".popitem()",
                f'["k"] += {self.scalar()}',
                ".clear()",
                f"[len({text})] = {item}",
            ]
        elif isinstance(value, set):
            ways = [f".add({self.integer(0, 9)})", ".discard(1)", " |= {5}", ".update([2, 3])", ".clear()"]
        else:
            ways = [f".append({item})", f".appendleft({item})", ".popleft()", ".rotate(1)"]
        return text + rng.choice(ways)

    def on_thing(self) -> str | None:
        rng = self.rng
        found = self.scope.pick(lambda x: type(x).__name__ in ("Cell", "Box", "Small", "SimpleNamespace", "Frozen"))
        item = self.anything(1)
        if found is None or item is None:
            return None
        text, value = found
        names = list(vars(value))
        name = rng.choice(names)
        ways = [
            f"{text}.{name} = {item}",
            f"{text}.{name} += {self.scalar()}",
            f"{text}.extra = {item}",
            f'setattr({text}, "{name}", {item})',
        ]
        if type(value).__name__ in ("Box", "Small"):
            ways += [
                f"{text}.set({item})",
                f"{text}[0] = {self.scalar()}",
                f"{text}[...] = {self.scalar()}",
                f"{text}.level += 1",
                f"{text}.level = {self.scalar()}",
            ]
        elif type(value).__name__ == "Cell":
            ways += [
                f"{text}.bump()",
                f"{text}.bump(by={self.integer(0, 3)})",
                f"{text}.data = {text}.data * 2",
                f"{text}.data *= {self.scalar()}",
            ]
        return rng.choice(ways)

    def printed(self) -> str | None:
        a = self.rng.choice(self.scope.paths)[0] if self.scope.paths else "1"
        s = self.scalar()
        return self.rng.choice(
            (
                f"print({a})",
                f'print(f"{{{s}}} and {{{a}}}")',
                f'print("value", {s}, sep=":")',
                f'print("%s" % ({s},))',
                f"print(type({a}).__name__, {s})",
                f'print(f"{{{s}!r:>12}}")',
            )
        )

    def deletion(self) -> str | None:
        names = self.names_of(lambda x: True)
        if len(names) < 3:
            return None
        if self.rng.random() < 0.3:
            found = self.scope.pick(lambda x: isinstance(x, list) and len(x) > 0)
            return None if found is None else f"del {found[0]}[{self.rng.choice(('0', '-1', '1:'))}]"
        return f"del {self.rng.choice(names)}"

    def on_state(self) -> str | None:
        """A statement about what stands outside of the function."""
        found = [t for t, _ in self.scope.paths if t[0] in "GKDLO" and t[1:2] == "0"]
        if not found:
            return None
        text = self.rng.choice(found)
        if is_array(value := self.scope.tried(text)) and value.flags.writeable:
            return self.filled(self.rng.choice(UPDATES), 0, text)
        return f"{self.fresh()} = {text}"

    def function(self) -> str | None:
        """A function of the program: a lambda that reads what is around it."""
        inside = Expressions(self.rng, self.scope.with_names(q=self.scope.tried(self.array(0) or "1")), self.features)
        body = inside.choose(
            (2, lambda: inside.array(1)),
            (1, inside.number),
            (1, lambda: f"q {self.rng.choice('+-*')} {inside.scalar()}"),
        )
        if body is None:
            return None
        return f"{self.fresh()} = lambda q{self.rng.choice(('', f', r={self.scalar()}'))}: {body}"

    def raising(self) -> str:
        """A statement that raises, probably."""
        text = self.rng.choice(RAISING)
        integers = self.scope.having(lambda x: type(x) is int)
        n = self.rng.choice(integers)[0] if integers and self.rng.random() < 0.7 else self.rng.choice(NUMBERS)
        return text.format(
            a=self.named_array() or "np.zeros(2)", big=self.rng.choice((50, 99, -60)), n=n, x=self.rng.choice(FLOATS)
        )
