"""``return`` and ``raise`` inside loops are deferred until the loop has ended.

``for i in …: if c: y = f(i); return y, i`` exits on ``c``, and nothing runs between the exit and the block that ends in
``return``. So the block can move behind the loop, where it may do anything: print, allocate arrays of any size, return
values of any kind. Blocks that use values which loops do not carry (tuples), and blocks in a ``with`` or a ``try``,
return in place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from tnp.capture.control_flow.liveness import PREFIX, read_names
from tnp.capture.rewrite.ast_utils import blocks_of, statements_in, walk

__all__ = ["names_of_tuples", "read_at_returns", "return_what_is_raised", "waits"]

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def waits(statements: Sequence[ast.stmt], tuples: frozenset[str] = frozenset()) -> bool:
    """Whether a block in a loop ends in ``return``, goes nowhere else, and can be run behind the loop: it reads none of ``tuples``."""
    if not statements or not isinstance(statements[-1], ast.Return) or _continues(statements):
        return False
    lambdas = (n for n in walk(statements) if isinstance(n, ast.Lambda))
    return tuples.isdisjoint(read_names(statements)) and all(any(a.arg == PREFIX for a in f.args.args) for f in lambdas)


def _continues(statements: Iterable[ast.AST]) -> bool:
    """Whether statements have a ``break`` or ``continue`` of a loop outside."""
    for s in statements:
        if isinstance(s, (ast.Break, ast.Continue)):
            return True
        if not isinstance(s, _SCOPES) and _continues(s.orelse if isinstance(s, _LOOPS) else blocks_of(s)):
            return True
    return False


def names_of_tuples(statements: Iterable[ast.AST]) -> frozenset[str]:
    """The names that are bound to tuples and lists in loops, as far as that can be seen."""
    found: set[str] = set()
    for s in statements_in(b for loop in statements_in(statements) if isinstance(loop, _LOOPS) for b in loop.body):
        if isinstance(s, ast.Assign):
            if isinstance(s.value, (ast.Tuple, ast.List)):
                found |= {t.id for t in s.targets if isinstance(t, ast.Name)}
            starred = (n.value for n in walk(s.targets) if isinstance(n, ast.Starred))
            found |= {n.id for n in starred if isinstance(n, ast.Name)}
    for loop in (s for s in statements_in(statements) if isinstance(s, ast.For)):
        # ``for pair in zip(x, y)``, ``for i, pair in enumerate(zip(x, y))``
        called = {n.id for n in walk([loop.iter]) if isinstance(n, ast.Name)} & {"enumerate", "zip"}
        target = loop.target
        if len(called) == 2 and isinstance(target, (ast.Tuple, ast.List)):
            target = target.elts[-1]
        if called and isinstance(target, ast.Name):
            found.add(target.id)
    return frozenset(found)


def read_at_returns(statements: Iterable[ast.AST], tuples: frozenset[str]) -> set[str]:
    """The names that blocks read that wait for the end of loops."""
    found: set[str] = set()
    for block in _waiting(statements, tuples, in_loop=False):
        found |= read_names(block)
        found |= {a.target.id for a in walk(block) if isinstance(a, ast.AugAssign) and isinstance(a.target, ast.Name)}
    return found


def _waiting(statements: Iterable[ast.AST], tuples: frozenset[str], *, in_loop: bool) -> Iterable[list[ast.stmt]]:
    for s in statements:
        if isinstance(s, _SCOPES):
            continue
        if isinstance(s, ast.If):
            for block in (s.body, s.orelse):
                if in_loop and waits(block, tuples):
                    yield block
                else:
                    yield from _waiting(block, tuples, in_loop=in_loop)
        elif isinstance(s, _LOOPS):
            yield from _waiting(s.body, tuples, in_loop=True)
            yield from _waiting(s.orelse, tuples, in_loop=in_loop)
        else:
            yield from _waiting(blocks_of(s), tuples, in_loop=in_loop)


def return_what_is_raised(function: Any, runtime: str) -> None:
    """Makes ``raise`` at the end of a branch in a loop a ``return`` of a hook that raises, in a function and those defined in it."""
    for f in (function, *(s for s in statements_in(function.body) if isinstance(s, _SCOPES[:2]))):
        _return_in(f.body, runtime, in_loop=False)


def _return_in(statements: list[Any], runtime: str, *, in_loop: bool) -> None:
    for s in statements:
        if isinstance(s, ast.If):
            for block in (s.body, s.orelse):
                _return_in(block, runtime, in_loop=in_loop)
                last = block[-1] if block else None
                if in_loop and isinstance(last, ast.Raise) and last.exc is not None:
                    what = [last.exc] if last.cause is None else [last.exc, last.cause]
                    call = ast.Call(ast.Attribute(ast.Name(runtime, ast.Load()), "raises", ast.Load()), what, [])
                    block[-1] = ast.copy_location(ast.Return(ast.copy_location(call, last)), last)
        elif isinstance(s, _LOOPS):
            _return_in(s.body, runtime, in_loop=True)
            _return_in(s.orelse, runtime, in_loop=in_loop)
