"""The statements of a finished program, as :func:`explain` and :func:`profile` show them."""

from __future__ import annotations

import contextlib
import linecache
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tnp.core import prims
from tnp.core.errors import UserLocation
from tnp.core.printing import bound_symbol_lines, literal
from tnp.core.proxies import Proxy
from tnp.core.subtraces import bodies_of, is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.transforms.claim import FusedSymbol

__all__ = [
    "Statement",
    "bounds_of",
    "by_line",
    "counted",
    "is_fusion",
    "lines_of",
    "location_of",
    "operations_in",
    "statement_of",
    "statements_of",
    "time_text",
]


#: the functions that compare what an opaque call gives with what was found while it was traced
_CHECKED = re.compile(r"\bchecked\w*\(")


class Statement(NamedTuple):
    """A statement: how it reads, without what it is made of, the executor that runs it, and how deep in loops and branches it is."""

    bsym: BoundSymbol
    text: str
    executor: str
    depth: int


def is_fusion(b: BoundSymbol) -> bool:
    """Whether a statement is a region of operations that an executor has fused."""
    return isinstance(b.sym, FusedSymbol)


def statements_of(bsyms: Iterable[BoundSymbol], depth: int = 0) -> Iterator[Statement]:
    """The statements in order, those in loops and branches behind these, each once. ``del`` and ``return`` are none."""
    for b in bsyms:
        if OpTags.PROGRAM in b.sym.tags:
            continue
        yield statement_of(b, depth)
        for body in bodies_of(b):
            yield from statements_of(body.bound_symbols, depth + 1)


def statement_of(b: BoundSymbol, depth: int = 0) -> Statement:
    executor = "" if b.sym.executor is None else str(b.sym.executor.name)
    return Statement(b, _text(b), executor, depth)


def _text(b: BoundSymbol) -> str:
    lines = bound_symbol_lines(b, {}, comments=False)
    if b.sym is prims.while_loop:  # its condition may take statements, which stand in the loop
        return f"while {literal(bodies_of(b)[0].results[0], {})}:"
    if is_control_flow(b):  # before a loop stand its variables
        return next((line for line in lines if line.endswith(":")), lines[0])
    line = lines[-1]
    return _unchecked(b, line) if _CHECKED.search(line) else line


def _unchecked(b: BoundSymbol, line: str) -> str:
    """The call of an opaque function without what its results are compared with."""
    target, equals, _ = line.partition(" = ")
    if not equals or not isinstance(b.sym.id, str):
        return line
    given = ", ".join(literal(a, {}) for a in b.args if isinstance(a, (Proxy, int, float, str)))
    return f"{target} = {b.sym.qualified_name}({given})"


def operations_in(b: BoundSymbol) -> list[BoundSymbol]:
    """The operations of a fusion, a loop or a branch, those of loops and branches in it among them."""
    return list(_operations([b]))


def _operations(bsyms: Iterable[BoundSymbol]) -> Iterator[BoundSymbol]:
    for b in bsyms:
        if bodies_of(b):
            for body in bodies_of(b):
                yield from _operations(body.bound_symbols)
        elif is_fusion(b) or is_control_flow(b):
            yield from _operations(b.subsymbols)
        elif OpTags.PROGRAM not in b.sym.tags and b.sym is not prims.copy_:
            yield b


def location_of(b: BoundSymbol) -> UserLocation | None:
    """The user's line that a statement comes from."""
    if isinstance(b.location, UserLocation) and not is_fusion(b):
        return b.location
    return next((s.location for s in operations_in(b) if isinstance(s.location, UserLocation)), None) or (
        b.location if isinstance(b.location, UserLocation) else None
    )


def lines_of(b: BoundSymbol) -> str:
    """The user's lines that a statement comes from: ``demo.py:4`` or ``demo.py:4-6``."""
    if not is_fusion(b) and not is_control_flow(b):
        found = location_of(b)
        return "" if found is None else found.short
    places = [s.location for s in operations_in(b) if isinstance(s.location, UserLocation)]
    if not places:
        return ""
    same = [p.line for p in places if p.filename == places[0].filename]
    return (
        places[0].short if min(same) == max(same) else f"{places[0].short.rpartition(':')[0]}:{min(same)}-{max(same)}"
    )


def by_line(b: BoundSymbol) -> Iterator[tuple[str, str, list[str]]]:
    """The operations of a fusion by the user's line: its place, its text, the operations' names."""
    groups: dict[tuple[str, str], list[str]] = {}  # in the order of the operations
    for part in operations_in(b):
        where = part.location if isinstance(part.location, UserLocation) else None
        place = "" if where is None else where.short
        source = "" if where is None else linecache.getline(where.filename, where.line).strip()
        groups.setdefault((place, source), []).append(part.sym.name)
    for (place, source), names in groups.items():
        yield place, _without_comment(source).rstrip(":"), names


def _without_comment(source: str) -> str:
    """A line of code without the comment behind it."""
    with contextlib.suppress(tokenize.TokenError, SyntaxError):  # of a line that is not all of a statement
        for token in tokenize.generate_tokens(iter([source]).__next__):
            if token.type == tokenize.COMMENT:
                return source[: token.start[1]].rstrip()
    return source


def counted(names: Iterable[str]) -> str:
    """Names with how often they occur: ``getitem 5, add 3``."""
    return ", ".join(name if n == 1 else f"{name} {n}" for name, n in Counter(names).most_common())


def bounds_of(b: BoundSymbol) -> tuple[Any, ...] | None:
    """Start, stop and step of a ``for`` loop, or of the loop that a fusion is."""
    if b.sym is prims.for_loop:
        return tuple(b.args[:3])
    if is_fusion(b):
        inside = [part for s in b.subsymbols for part in ((s,) if bodies_of(s) else s.subsymbols)]
        loops = [s for s in inside if s.sym is prims.for_loop]
        known = {p.name for p in b.flat_inputs}
        if len(loops) == 1 and all(not isinstance(x, Proxy) or x.name in known for x in loops[0].args[:3]):
            return tuple(loops[0].args[:3])
    return None


def time_text(seconds: float) -> str:
    """A time with its unit, in three digits or so."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e6:.2f} µs"
