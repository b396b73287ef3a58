"""Writing a random program: one statement after the other, each against the values that Python has there."""

from __future__ import annotations

import random
from typing import Any

from .compounds import Around, Compound, compound, jump
from .drafts import Draft, Node, Place
from .outside import CALLS, PRELUDE, outside
from .scope import Scope, is_small
from .statements import Statements

__all__ = ["program"]

#: what a program may have, and how often one does: with few things in it, a program is more likely to come to the end of what is tried
FEATURES = {
    "state": 0.3, "containers": 0.4, "things": 0.3, "prints": 0.25, "deletes": 0.2, "functions": 0.4, "comprehensions": 0.4,
    "tries": 0.3, "loops": 0.7, "branches": 0.7, "raises": 0.25,
}  # fmt: skip

_prelude: dict[str, Any] = {}


def _names_of_prelude() -> dict[str, Any]:
    if not _prelude:
        _prelude["__name__"] = "prelude"
        import sys
        from types import ModuleType

        module = sys.modules["prelude"] = ModuleType("prelude")  # dataclasses look their module up
        exec(compile(PRELUDE, "<prelude>", "exec"), module.__dict__)
        _prelude.update(module.__dict__)
    return _prelude


def program(seed: int | str) -> str:
    """The source of a module: ``f``, what it needs, ``arguments(call)`` and ``change(call)`` for calls 0 to 2."""
    rng = random.Random(f"language {seed}")
    while True:
        found = _Writing(rng).program()
        if found is not None:
            return found


class _Writing:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.features = frozenset(name for name, share in FEATURES.items() if rng.random() < share)
        made = outside(rng, self.features)
        state = tuple(line.split(" = ")[0] for line in made.state.splitlines() if line)
        self.state = state
        self.draft = Draft(made.state, made.signature, made.arguments)
        self.assignable: tuple[str, ...] = ()
        if state and rng.random() < 0.3:
            self.assignable = (rng.choice(state),)
            self.draft.declared = [f"global {self.assignable[0]}"]
        self.module: dict[str, Any] = {}
        self.numbers = 0
        self.left = rng.choice((rng.randint(3, 8), rng.randint(3, 15), rng.randint(8, 25)))

    def fresh(self) -> str:
        self.numbers += 1
        return f"v{self.numbers}"

    def program(self) -> str | None:
        place = Place(self.draft.body)
        scope, _error = self.scope(place)
        if scope is None:
            return None
        ended = self.fill(place, scope, Around(), self.left)
        if not ended:
            scope, _error = self.scope(place)
            if scope is not None:
                self.draft.body.append(Node(f"return {self.result(scope)}"))
        if sum(node.count() for node in self.draft.body) < 3:
            return None
        return f"{PRELUDE.strip()}\n\n\n{self.draft.source()}\n"

    def scope(self, place: Place, around: dict[str, Any] | None = None) -> tuple[Scope | None, BaseException | None]:
        module: dict[str, Any] = {}
        names, error = self.draft.reach(place, _names_of_prelude(), module)
        if names is None:
            return None, error
        return Scope(self.rng, {**(around or {}), **names}, module, self.state), None

    def statements(self, scope: Scope) -> Statements:
        return Statements(self.rng, scope, self.features, self.fresh, self.assignable)

    def fill(self, place: Place, scope: Scope, around: Around, most: int) -> bool:
        """Writes up to ``most`` statements into a block; whether nothing that follows it would run."""
        wanted, failures = most, 0
        outer = scope.names if around.function else None
        while wanted > 0 and self.left > 0 and failures < 12:
            before = len(place.block)
            last = wanted == 1
            added = self.add(place, scope, around, last)
            if not added:
                failures += 1
                continue
            new, error = self.scope(place, outer)
            if new is None and (place.block[-1].is_jump or self.keeps(error, around)):
                return True
            if new is None or not all(map(is_small, new.names.values())):
                del place.block[before:]
                failures += 1
                continue
            scope = new
            used = sum(node.count() for node in place.block[before:])
            wanted -= 1
            self.left -= used
        return False

    def keeps(self, error: BaseException | None, around: Around) -> bool:
        """Whether a statement stays that nothing gets past."""
        if isinstance(error, Exception):
            return self.rng.random() < (0.5 if around.guarded else 0.1 * ("raises" in self.features))
        return error is None and self.rng.random() < 0.2

    def add(self, place: Place, scope: Scope, around: Around, last: bool) -> bool:
        """Appends a statement to a block; whether there is one."""
        rng = self.rng
        s = self.statements(scope)
        roll = rng.random()
        if around.depth and last and roll < 0.3:
            node = jump(s, around)
            if node is not None:
                place.block.append(node)
            return node is not None
        if around.guarded and roll < 0.35:
            place.block.append(Node(s.raising().replace("v9", self.fresh())))
            return True
        if around.depth < 3 and self.left > 2 and roll > (0.72 if around.depth == 0 else 0.82):
            made = compound(s, around)
            return made is not None and self.add_compound(place, scope, made)
        if roll < 0.01 and "raises" in self.features:
            place.block.append(Node(s.raising().replace("v9", self.fresh())))
            return True
        text = s.simple()
        if text is None:
            return False
        place.block.append(Node(text))
        return True

    def add_compound(self, place: Place, scope: Scope, made: Compound) -> bool:
        node = made.node
        if node.clauses and node.text:
            place.block.append(Node(node.text))
            node.text = ""
        place.block.append(node)
        if made.after is not None:
            place.block.append(Node(made.after))
        for k, around in enumerate(made.around):
            inner = place.inside(node, k)
            here, _ = self.scope(inner, scope.names if around.function else None)
            if here is None:
                continue
            if around.function:
                here.names.update({n: v for n, v in scope.names.items() if n not in here.names})
            ended = self.fill(inner, here, around, self.rng.randint(1, made.most))
            if around.function and not ended:
                self.end_function(inner, scope)
        return True

    def end_function(self, place: Place, outer: Scope) -> None:
        scope, _ = self.scope(place, outer.names)
        if scope is not None:
            text = self.statements(scope).anything(1)
            place.block.append(Node(f"return {text or None}"))

    def result(self, scope: Scope) -> str:
        """What the function returns: what it has made, arguments, containers of these."""
        rng = self.rng
        names = [n for n, x in scope.names.items() if is_small(x)]
        rng.shuffle(names)
        recent = sorted(names[: rng.randint(1, 5)], key=lambda n: (len(n), n))
        extra = self.statements(scope).anything(1)
        if extra is not None and rng.random() < 0.5:
            recent.append(extra)
        if not recent:
            return "None"
        form = rng.choice(("tuple", "tuple", "tuple", "one", "dict", "list", "nested"))
        if form == "one" or len(recent) == 1:
            return recent[-1]
        if form == "dict":
            return "{" + ", ".join(f"{chr(97 + i)!r}: {n}" for i, n in enumerate(recent)) + "}"
        if form == "list":
            return f"[{', '.join(recent)}]"
        if form == "nested":
            return f"({recent[0]}, [{', '.join(recent[1:])}])"
        return ", ".join(recent)


def calls() -> int:
    return CALLS
