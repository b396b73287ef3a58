"""Blocks that always raise: their error message is not part of the program.

``if (x < 0).any(): raise ValueError(f"negative: {x[x < 0]}")`` formats values that only the running program knows. Such a
branch is never traced to its end. So a block of simple statements that ends in ``raise`` runs in ``with runtime.raising:``,
which marks what tracing raises in it, and the branch counts as one that raises: a call that takes it starts over, eagerly.
"""

from __future__ import annotations

import ast

__all__ = ["mark_what_raises"]

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
_DECLARATIONS = (ast.Global, ast.Nonlocal)


def mark_what_raises(function: ast.FunctionDef | ast.AsyncFunctionDef, runtime: str) -> None:
    """Wraps the blocks of a function that always raise in that statement. Branches have become functions already."""
    for node in ast.walk(function):
        if isinstance(node, ast.FunctionDef) and node is not function:
            node.body = _marked(node.body, runtime)


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
