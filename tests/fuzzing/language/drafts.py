"""Programs while they are written: a tree of statements that can be run as far as any place in it.

A statement is written against the values that are really there: :meth:`Draft.reach` runs what stands so far under Python, up to a place,
and gives the names and values at it. Conditions on the way are forced, so that both sides of a branch can be written.
"""

from __future__ import annotations

import contextlib
import io
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

__all__ = ["Draft", "Node", "Place", "TooLong", "quietly", "within"]

#: seconds that a program may take under Python
SECONDS = 2.0


class TooLong(BaseException):
    """A program takes too long under Python alone."""


class _Reached(BaseException):
    """The place that was asked for."""


@dataclass
class Node:
    """A statement: one line, or the clauses of a compound one, each a header and a block."""

    text: str = ""
    clauses: list[tuple[str, list[Node]]] = field(default_factory=list)

    @property
    def is_jump(self) -> bool:
        return self.text.split(" ")[0] in ("break", "continue", "return", "raise")

    def count(self) -> int:
        return 1 + sum(node.count() for _, block in self.clauses for node in block)


@dataclass(frozen=True)
class Place:
    """The end of a block, and the clauses that lead to it, from the outermost in."""

    block: list[Node]
    way: tuple[tuple[Node, int], ...] = ()

    def inside(self, node: Node, clause: int) -> Place:
        return Place(node.clauses[clause][1], (*self.way, (node, clause)))


@dataclass
class Draft:
    """A program's parts: module state, helper functions, ``f`` itself, and what makes its arguments."""

    state: str
    signature: str
    arguments: str
    helpers: list[Node] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)
    body: list[Node] = field(default_factory=list)

    def source(self, place: Place | None = None) -> str:
        """The text; with ``place``, one that stops there and gives the names by ``__probe__``."""
        function = Node(clauses=[(self.signature, [*map(Node, self.declared), *self.body])])
        if place is not None and place.block is self.body:
            function.clauses[0][1].append(Node("__probe__(locals())"))
            place = None
        nodes = [*self.helpers, function]
        text = "\n".join(line for node in nodes for line in _lines(node, "", place))
        return f"{self.state}\n{text}\n{self.arguments}"

    def reach(
        self, place: Place, prelude: dict[str, Any], globals_of: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any] | None, BaseException | None]:
        """The names at a place, or ``None``, and the error that the first call ended in before it came there.

        ``globals_of``, if given, gets the module's names.
        """
        found: list[dict[str, Any]] = []

        def probe(names: dict[str, Any]) -> None:
            found.append(dict(names))
            raise _Reached

        module = dict(prelude, __probe__=probe)
        error: BaseException | None = None
        with within(SECONDS), quietly():
            try:
                exec(_compiled(self.source(place)), module)
                args, kwargs = module["arguments"](0)
                module["f"](*args, **kwargs)
            except _Reached:
                pass
            except (Exception, TooLong) as raised:
                error = raised
        if globals_of is not None:
            globals_of.update(module)
        return (found[0], None) if found else (None, error)


def _compiled(source: str) -> CodeType:
    return compile(source, "<draft>", "exec")


def _lines(node: Node, indent: str, place: Place | None) -> Iterator[str]:
    if not node.clauses:
        yield from (indent + line for line in node.text.split("\n"))
        return
    forced = next((k for n, k in place.way if n is node), None) if place is not None else None
    for k, (header, block) in enumerate(node.clauses):
        yield indent + (header if forced is None else _forced(header, k, forced))
        inner = indent + "    "
        for child in block:
            yield from _lines(child, inner, place)
        if place is not None and place.block is block:
            yield inner + "__probe__(locals())"
        elif not block:
            yield inner + "pass"
        following = node.clauses[forced][0] if forced is not None else ""
        if forced is not None and k == 0 and header == "try:" and following.startswith("except"):
            yield f"{inner}raise {_caught(following)}"


def _forced(header: str, k: int, wanted: int) -> str:
    """A header whose condition is evaluated and then has the value that leads to the clause ``wanted``."""
    word, _, rest = header.partition(" ")
    if word not in ("if", "elif", "while") or (word == "while" and wanted == 1):
        return header
    return f"{word} [{rest.removesuffix(':')}, {k == wanted}][1]:"


def _caught(header: str) -> str:
    """The class of an error that a clause catches."""
    name = header.removeprefix("except").split(" as ")[0].strip(" :()").split(",")[0]
    return f"{name or 'ValueError'}('forced')"


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raises :class:`TooLong` in what takes longer. For the main thread."""

    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(
        signal.ITIMER_REAL, seconds, 0.5
    )  # again: a program may catch one, or leave its "finally" by a jump
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """No warnings and nothing printed."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


Writer = Callable[[Sequence[str]], str]
