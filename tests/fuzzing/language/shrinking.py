"""Making a program that fails smaller, by leaving out statements and parts of expressions."""

from __future__ import annotations

import ast
import copy
import time
import warnings
from collections.abc import Callable, Iterator

__all__ = ["shrunk"]


def shrunk(source: str, fails: Callable[[str], bool], seconds: float = 60.0) -> str:
    """The smallest program found within a time that ``fails`` still says yes to."""
    until = time.monotonic() + seconds
    source = ast.unparse(ast.parse(source))
    needed = _needed(source)
    if fails(needed):
        source = needed
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(source):
            if time.monotonic() > until:
                return source
            if len(smaller) < len(source) and fails(smaller):
                source, changed = smaller, True
                break
    return source


def _needed(source: str) -> str:
    """The module without the definitions that its functions do not name."""
    tree = ast.parse(source)
    defined: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in _bound(statement):
            defined.setdefault(name, []).append(statement)
    wanted, left = set(), ["f", "arguments", "change"]
    while left:
        name = left.pop()
        if name not in wanted:
            wanted.add(name)
            left += [n.id for s in defined.get(name, ()) for n in ast.walk(s) if isinstance(n, ast.Name)]
    tree.body = [s for s in tree.body if not _bound(s) or wanted & set(_bound(s))]
    return ast.unparse(tree)


def _bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [a.asname or a.name for a in statement.names]
    return [t.id for t in getattr(statement, "targets", ()) if isinstance(t, ast.Name)]


def _smaller(source: str) -> Iterator[str]:
    """Programs with one thing less: large parts first."""
    tree = ast.parse(source)
    nodes = list(_own(tree))
    blocks = [(node, name) for node in nodes for name, value in ast.iter_fields(node) if _is_block(value)]
    for count in (8, 4, 2, 1):
        for node, name in blocks:
            block = getattr(node, name)
            for at in range(len(block) - count, -1, -1):
                kept = block[:at] + block[at + count :]
                yield from _with(
                    tree,
                    node,
                    name,
                    kept or ([] if name in ("orelse", "finalbody", "decorator_list") else [ast.Pass()]),
                )
    for node, name in blocks:  # a compound statement becomes its block
        block = getattr(node, name)
        for at, statement in enumerate(block):
            for inner in ("body", "orelse", "finalbody"):
                if isinstance(statement, (ast.If, ast.For, ast.While, ast.Try, ast.With)) and getattr(
                    statement, inner, None
                ):
                    yield from _with(tree, node, name, block[:at] + getattr(statement, inner) + block[at + 1 :])
    for node in nodes:
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                for part in _parts(value):
                    yield from _with(tree, node, name, part)
            elif (
                isinstance(value, list) and value and isinstance(value[0], (ast.expr, ast.keyword, ast.arg, ast.alias))
            ):
                for at, item in enumerate(value):
                    if not isinstance(node, (ast.Compare, ast.BoolOp, ast.Dict)) or len(value) > 1:
                        yield from _with(tree, node, name, value[:at] + value[at + 1 :])
                    if isinstance(item, ast.expr):
                        for part in _parts(item):
                            yield from _with(tree, node, name, value[:at] + [part] + value[at + 1 :])


def _own(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of what is written for one program. What the prelude defines stays as it is, or goes."""
    yield tree
    left = [
        s
        for s in tree.body
        if not isinstance(s, (ast.FunctionDef, ast.ClassDef)) or s.name in ("f", "arguments", "change")
    ]
    for statement in left:
        yield from ast.walk(statement)


def _is_block(value: object) -> bool:
    return (
        isinstance(value, list) and bool(value) and isinstance(value[0], (ast.stmt, ast.ExceptHandler, ast.match_case))
    )


def _parts(x: ast.expr) -> Iterator[ast.expr]:
    """Simpler expressions that may stand for one."""
    for child in ast.iter_child_nodes(x):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.keyword):
            yield child.value
    if not isinstance(x, (ast.Constant, ast.Name)):
        yield ast.Constant(1)
    if isinstance(x, ast.Constant) and isinstance(x.value, int) and x.value > 2:
        yield ast.Constant(2)


def _with(tree: ast.AST, node: ast.AST, name: str, value: object) -> Iterator[str]:
    """The source with a field of a node replaced, if that is Python."""
    before = getattr(node, name)
    setattr(node, name, copy.copy(value))
    try:
        text = ast.unparse(tree)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compile(text, "<smaller>", "exec")
        yield text
    except (SyntaxError, ValueError, AttributeError, TypeError):
        return
    finally:
        setattr(node, name, before)
