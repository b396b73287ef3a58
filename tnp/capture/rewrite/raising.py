"""Blocks that always raise: their error message is not part of the program.

``if (x < 0).any(): raise ValueError(f"negative: {x[x < 0]}")`` formats values that only the running program knows. Such a
branch is never traced to its end. So a block of simple statements that ends in ``raise`` runs in ``with runtime.raising:``,
which marks what tracing raises in it, and the branch counts as one that raises: a call that takes it starts over, eagerly.

A ``raise`` behind an ``if`` that returns is moved to its ``else``, so that it is such a branch, too.
"""

from __future__ import annotations

import ast
from typing import Any

__all__ = ["mark_what_raises", "move_into_else"]

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
_DECLARATIONS = (ast.Global, ast.Nonlocal)


def mark_what_raises(function: ast.FunctionDef | ast.AsyncFunctionDef, runtime: str) -> None:
    """Wraps the blocks of a function that always raise in that statement. Branches have become functions already."""
    for node in ast.walk(function):
        if isinstance(node, ast.FunctionDef) and node is not function:
            node.body = _marked(node.body, runtime)


def move_into_else(statements: list[Any]) -> None:
    """Moves a block that ends in ``raise`` and follows ``if c: return y`` into the ``else`` of that ``if``. Nested statements, too."""
    for s in statements:
        for field in ("body", "orelse", "finalbody"):
            if isinstance(getattr(s, field, None), list):
                move_into_else(getattr(s, field))
        for part in (*getattr(s, "handlers", ()), *getattr(s, "cases", ())):
            move_into_else(part.body)
    if not statements or not isinstance(statements[-1], ast.Raise):
        return
    for at in range(len(statements) - 2, -1, -1):
        last = _last_side(statements[at])
        if last is not None:
            last.orelse = statements[at + 1 :]
            del statements[at + 1 :]


def _last_side(s: ast.stmt) -> ast.If | None:
    """The last of some ``if`` and ``elif``, if each returns and there is no ``else``."""
    if not isinstance(s, ast.If) or isinstance(s.body[-1], ast.Raise) or not _leaves(s.body):
        return None
    return _last_side(s.orelse[0]) if len(s.orelse) == 1 else None if s.orelse else s


def _leaves(block: list[ast.stmt]) -> bool:
    """Whether a block ends in ``return`` or ``raise``, or in an ``if`` both of whose sides do."""
    last = block[-1] if block else None
    if isinstance(last, ast.If):
        return _leaves(last.body) and _leaves(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))


def _marked(body: list[ast.stmt], runtime: str) -> list[ast.stmt]:
    first = next((i for i, s in enumerate(body) if not isinstance(s, _DECLARATIONS)), len(body))
    *before, last = body[first:] or [ast.Pass()]
    if not isinstance(last, ast.Raise) or last.exc is None or not all(isinstance(s, _SIMPLE) for s in before):
        return body
    if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for s in before for n in ast.walk(s)):
        return body
    manager = ast.Attribute(ast.Name(runtime, ast.Load()), "raising", ast.Load())
    block = ast.copy_location(ast.With([ast.withitem(manager)], body[first:]), body[first])
    return [*body[:first], ast.fix_missing_locations(block)]
