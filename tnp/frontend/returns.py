"""``return`` inside of loops: what it computes is computed when the loop has ended.

``for i in …: if c: y = f(i); return y, i`` is left on ``c``, and nothing happens between that and the block that ends in ``return``. So the
block need not be part of what the loop repeats: it may do anything (print, make arrays of any size, return values of any kind). Blocks in a
``with`` or a ``try`` have to run where they stand; what these return is bound to names of its own there (:func:`name_what_is_returned`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from tnp.frontend.liveness import own_nodes, read_names
from tnp.frontend.tree import blocks_of, statements_in, walk

__all__ = ["name_what_is_returned", "read_at_returns", "returns_at_end"]

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_GUARDS = (ast.With, ast.AsyncWith, ast.Try, getattr(ast, "TryStar", ast.Try))
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def returns_at_end(statements: Sequence[ast.stmt]) -> bool:
    """Whether a block in a loop ends in ``return``, and goes nowhere else."""
    return bool(statements) and isinstance(statements[-1], ast.Return) and not _continues(statements)


def _continues(statements: Iterable[ast.AST]) -> bool:
    """Whether statements have a ``break`` or ``continue`` of a loop outside."""
    for s in statements:
        if isinstance(s, (ast.Break, ast.Continue)):
            return True
        if not isinstance(s, _SCOPES) and _continues(s.orelse if isinstance(s, _LOOPS) else blocks_of(s)):
            return True
    return False


def read_at_returns(statements: Iterable[ast.AST]) -> set[str]:
    """The names that what loops return is made of, by the blocks that end in it."""
    found: set[str] = set()
    for loop in (n for n in own_nodes(statements) if isinstance(n, _LOOPS)):
        for n in own_nodes(loop.body):
            blocks = [b for b in (n.body, n.orelse) if returns_at_end(b)] if isinstance(n, ast.If) else []
            if isinstance(n, ast.Return):
                blocks = [[n]]
            for block in blocks:
                found |= read_names(block)
                found |= {
                    a.target.id for a in walk(block) if isinstance(a, ast.AugAssign) and isinstance(a.target, ast.Name)
                }
    return found


def name_what_is_returned(function: Any) -> None:
    """Binds what is returned in a loop and a ``with`` or ``try`` to names, in a function and those defined in it."""
    taken = {n.id for n in walk(function.body) if isinstance(n, ast.Name)}
    for f in (function, *(s for s in statements_in(function.body) if isinstance(s, _SCOPES[:2]))):
        _name_in(f.body, taken, in_loop=False, is_guarded=False)


def _name_in(statements: list[Any], taken: set[str], *, in_loop: bool, is_guarded: bool) -> None:
    for s in list(statements):
        if isinstance(s, _SCOPES):
            continue
        if isinstance(s, ast.Return) and in_loop and s.value is not None:
            binds = any(isinstance(n, ast.NamedExpr) for n in walk([s.value]))
            if is_guarded or binds:
                at = statements.index(s)
                statements[at : at + 1] = _named(s, taken)
            continue
        for name in ("body", "orelse", "finalbody"):
            block = getattr(s, name, None)
            if isinstance(block, list):
                inside = in_loop or (isinstance(s, _LOOPS) and name == "body")
                _name_in(block, taken, in_loop=inside, is_guarded=is_guarded or isinstance(s, _GUARDS))
        for part in (*getattr(s, "handlers", ()), *getattr(s, "cases", ())):
            _name_in(part.body, taken, in_loop=in_loop, is_guarded=is_guarded or isinstance(s, _GUARDS))


def _named(s: ast.Return, taken: set[str]) -> list[ast.stmt]:
    """``returned_0 = VALUE`` and ``return returned_0``; of a tuple so with each of its items."""
    assert s.value is not None
    is_tuple = isinstance(s.value, ast.Tuple) and not any(isinstance(x, ast.Starred) for x in s.value.elts)
    made: list[ast.stmt] = []
    names: list[ast.expr] = []
    for x in s.value.elts if isinstance(s.value, ast.Tuple) and is_tuple else [s.value]:
        name = next(n for k in range(len(taken) + 1) if (n := f"returned_{k}") not in taken)
        taken.add(name)
        made.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], x), s))
        names.append(ast.Name(name, ast.Load()))
    value = ast.Tuple(names, ast.Load()) if is_tuple else names[0]
    return [*made, ast.copy_location(ast.Return(ast.copy_location(value, s)), s)]
