"""Compound statements: headers and blocks, which :mod:`.writing` fills."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .drafts import Node
from .scope import is_array
from .statements import Statements

__all__ = ["Around", "compound", "jump"]


@dataclass(frozen=True)
class Around:
    """What a block stands in: how deep, whether in a loop, a function of the program's own, a ``try``."""

    depth: int = 0
    loop: bool = False
    function: bool = False
    guarded: bool = False
    helper: bool = False

    def deeper(self, **changes: Any) -> Around:
        return replace(self, depth=self.depth + 1, **changes)


@dataclass
class Compound:
    """A compound statement to be filled: what its blocks begin with, and what they stand in."""

    node: Node
    around: list[Around]
    #: a statement that must stand behind it, as a call of a function
    after: str | None = None
    #: how many statements may stand in its blocks, at most
    most: int = 4


def compound(s: Statements, around: Around) -> Compound | None:
    """A compound statement for a place, its blocks empty but for what they need."""
    kinds = [
        (5, "branches", _branch),
        (5, "loops", _for),
        (2, "loops", _while),
        (4, "tries", _try),
        (1, "tries", _suppress),
        (0.8, "", _errstate),
    ]
    if around.depth == 0:
        kinds += [(3, "functions", _function), (0.4, "branches", _match), (0.6, "things", _context)]
    kinds = [k for k in kinds if not k[1] or k[1] in s.features]
    return s.rng.choices(kinds, [w for w, *_ in kinds])[0][2](s, around)


def _branch(s: Statements, around: Around) -> Compound:
    inner = around.deeper()
    condition = s.condition()
    if s.rng.random() < 0.12:
        condition = f"({s.fresh()} := {s.scalar()}) {s.rng.choice(('>', '<', '!='))} {s.scalar()}"
    clauses: list[tuple[str, list[Node]]] = [(f"if {condition}:", [])]
    if s.rng.random() < 0.2:
        clauses.append((f"elif {s.condition()}:", []))
    if s.rng.random() < 0.5:
        clauses.append(("else:", []))
    return Compound(Node(clauses=clauses), [inner] * len(clauses), most=3)


def _for(s: Statements, around: Around) -> Compound:
    rng = s.rng
    i, e = s.fresh(), s.fresh()
    array = s.named_array(lambda x: x.ndim > 0 and 0 < len(x) < 10)
    headers = [
        f"for {i} in range({s.integer(1, 5)}):",
        f"for {i} in range({s.integer(1, 5)}):",
        f"for {i} in range({s.integer(0, 2)}, {s.integer(2, 6)}):",
        f"for {i} in range({s.integer(3, 6)}, {s.integer(0, 2)}, -1):",
        f"for {i} in ({s.scalar()}, {s.scalar()}):",
    ]
    if array is not None:
        headers += [
            f"for {i} in range(len({array})):",
            f"for {i} in range(1, len({array}) - 1):",
            f"for {i} in range(0, {array}.shape[0], 2):",
            f"for {e} in {array}:",
            f"for {i}, {e} in enumerate({array}):",
            f"for {i}, {e} in zip({array}, reversed({array})):",
            f"for {i} in reversed(range({array}.shape[-1])):",
            f"for {i} in np.ndindex({array}.shape):",
            f"for {e} in pieces({array}):",
            f"for {e} in {array}.flat:",
        ]
    container = s.scope.pick(lambda x: isinstance(x, (list, tuple)) and 0 < len(x) < 8)
    if container is not None:
        headers += [f"for {e} in {container[0]}:", f"for {i}, {e} in enumerate({container[0]}):"]
    mapping = s.scope.pick(lambda x: isinstance(x, dict) and len(x) > 0)
    if mapping is not None:
        headers += [f"for {i}, {e} in {mapping[0]}.items():", f"for {i} in list({mapping[0]}):"]
    clauses: list[tuple[str, list[Node]]] = [(rng.choice(headers), [])]
    inner = [around.deeper(loop=True)]
    if rng.random() < 0.12:
        clauses.append(("else:", []))
        inner.append(around.deeper())
    return Compound(Node(clauses=clauses), inner, most=4)


def _while(s: Statements, around: Around) -> Compound:
    """A loop that a counter ends, whatever else does."""
    rng = s.rng
    i = s.fresh().replace("v", "w")  # a name that no other statement binds
    most = rng.choice((2, 3, 5, 8))
    condition = rng.choice(
        (f"{i} < {most}", f"{i} < {most} and ({s.condition()})", f"({s.condition()}) and {i} < {most}", "True")
    )
    step = Node(f"{i} += 1")
    body = [step]
    if condition == "True":
        body.append(
            Node(
                clauses=[
                    (
                        f"if {i} > {most} or {s.condition()}:",
                        [Node(rng.choice(("break", "break", "break", f"return {i}")))],
                    )
                ]
            )
        )
    if rng.random() < 0.25:
        begin = [Node(clauses=[(f"while {condition}:", body), ("else:", [])])]
        inner = [around.deeper(loop=True), around.deeper()]
    else:
        begin = [Node(clauses=[(f"while {condition}:", body)])]
        inner = [around.deeper(loop=True)]
    found = Compound(begin[0], inner)
    found.node.text = f"{i} = 0"  # what must stand before it
    return found


def _try(s: Statements, around: Around) -> Compound:
    rng = s.rng
    clauses: list[tuple[str, list[Node]]] = [("try:", [])]
    inner = [around.deeper(guarded=True)]
    for caught in rng.choice(
        (
            ("except Exception as error:",),
            ("except IndexError:", "except (ValueError, TypeError) as error:"),
            ("except ZeroDivisionError:",),
            ("except Exception:",),
            (),
        )
    ):
        clauses.append(
            (caught, [Node("print(type(error).__name__)")] if "error" in caught and rng.random() < 0.5 else [])
        )
        inner.append(around.deeper())
    if len(clauses) > 1 and rng.random() < 0.3:
        clauses.append(("else:", []))
        inner.append(around.deeper())
    if len(clauses) == 1 or rng.random() < 0.25:
        clauses.append(("finally:", []))
        inner.append(around.deeper())
    return Compound(Node(clauses=clauses), inner, most=3)


def _suppress(s: Statements, around: Around) -> Compound:
    """A context manager that swallows errors, of a library's class or of one that the module defines."""
    manager = s.rng.choice(
        ("contextlib.suppress(Exception)", "contextlib.suppress(IndexError, ValueError)", "contextlib.nullcontext()")
    )
    return Compound(Node(clauses=[(f"with {manager}:", [])]), [around.deeper(guarded=True)], most=3)


def _errstate(s: Statements, around: Around) -> Compound:
    how = s.rng.choice(
        ('all="ignore"', 'divide="raise"', 'all="raise"', 'over="ignore", invalid="ignore"', 'invalid="raise"')
    )
    return Compound(Node(clauses=[(f"with np.errstate({how}):", [])]), [around.deeper()], most=3)


def _context(s: Statements, around: Around) -> Compound | None:
    found = s.scope.pick(lambda x: type(x).__name__ in ("Box", "Small"))
    if found is None:
        return None
    return Compound(Node(clauses=[(f"with {found[0]} as {s.fresh()}:", [])]), [around.deeper()], most=3)


def _match(s: Statements, around: Around) -> Compound | None:
    """A ``match`` is one clause with cases; here the cases are simple statements."""
    first, second, third = s.assignment(), s.assignment(), s.assignment()
    if None in (first, second, third):
        return None
    text = f"match {s.scalar()}:\n    case 0 | 1:\n        {first}\n    case float() as {s.fresh()}:\n        {second}\n    case _:\n        {third}"
    return Compound(Node(text), [])


def _function(s: Statements, around: Around) -> Compound | None:
    """A function of the program's own, called at once: its body is written for that call."""
    rng = s.rng
    name = s.fresh()
    array = s.array(0)
    if array is None:
        return None
    form, call = rng.choice(
        (
            ("p", f"{array}"),
            (f"p, r={rng.randint(0, 3)}", f"{array}"),
            ("p, *r", f"{array}, {s.scalar()}"),
            ("p, *, r=None", f"{array}, r={s.scalar()}"),
            ("p, **r", f"{array}, z={s.scalar()}"),
            ("", ""),
        )
    )
    body: list[Node] = []
    known = [n for n, x in s.scope.names.items() if is_array(x) or isinstance(x, (int, float, list))]
    if known and rng.random() < 0.35:
        body.append(Node(f"nonlocal {rng.choice(known)}"))
    node = Node(clauses=[(f"def {name}({form}):", body)])
    return Compound(node, [around.deeper(function=True)], after=f"{s.fresh()} = {name}({call})", most=4)


def jump(s: Statements, around: Around) -> Node | None:
    """A ``break``, ``continue``, ``return`` or ``raise``, mostly under a condition."""
    rng = s.rng
    ways = []
    if around.loop:
        ways += ["break", "break", "continue"]
    value = s.anything(1) or "None"
    ways += [f"return {value}", f"return {value}"]
    if rng.random() < 0.4:
        ways.append(s.raising().replace("v9", s.fresh()))
    text = rng.choice(ways)
    if rng.random() < 0.9:
        return Node(clauses=[(f"if {s.condition()}:", [Node(text)])])
    return Node(text)
