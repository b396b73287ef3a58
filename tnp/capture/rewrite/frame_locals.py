"""``locals()`` as the dict of the names that are bound where it stands."""

from __future__ import annotations

import ast
import builtins
import types
from typing import Any

from tnp.capture.control_flow.definite_assignment import bound_before, parameters_of
from tnp.capture.control_flow.liveness import bound_names, own_nodes
from tnp.capture.rewrite.ast_utils import Transformer, blocks_of, children, statements_in

__all__ = ["spell_locals"]

_FUNCTIONS = frozenset(("locals", "vars"))
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
#: what unbinds names, or binds them in the middle of a statement
_UNCLEAR = (ast.Delete, ast.NamedExpr, ast.Global, ast.Nonlocal, ast.Await, ast.Yield, ast.YieldFrom)


def spell_locals(tree: Any, f: types.FunctionType) -> None:
    """Replaces the calls ``locals()`` and ``vars()`` in the tree of ``f`` by displays of dicts, if it is clear which names each finds.

    A display is another dict for each call. Where a function keeps the dict of a call, and calls again, they stay.
    """
    if not _FUNCTIONS.intersection(f.__code__.co_names) or not isinstance(tree, ast.FunctionDef):
        return
    calls = [n for n in own_nodes(tree.body) if _is_call(n)]
    code = f.__code__
    order = dict.fromkeys((*code.co_varnames, *code.co_cellvars))
    local = bound_names(tree.body) | parameters_of(tree)
    if not calls or not _is_builtin(f) or code.co_freevars or local != set(order):
        return
    nodes = list(own_nodes(tree.body))
    if any(isinstance(n, _UNCLEAR) for n in nodes) or (len(calls) > 1 and not all(_is_passed(c, nodes) for c in calls)):
        return
    if any(isinstance(n, ast.Subscript) and _is_call(n.value) and not isinstance(n.ctx, ast.Load) for n in nodes):
        return
    before = bound_before(tree)
    found: dict[int, ast.Dict] = {}
    for s, loops in _with_loops(tree.body, ()):
        own = [n for child in children(s) if not _is_in_block(child, s) for n in own_nodes([child]) if _is_call(n)]
        if not own:
            continue
        may_be_bound = _bound_until(tree, s) | bound_names(loops)
        if not isinstance(s, ast.stmt) or id(s) not in before or may_be_bound - before[id(s)]:
            return
        for call in own:
            found[id(call)] = _display([n for n in order if n in before[id(s)]], call)
    if {id(c) for c in calls} == found.keys():
        tree.body = [_Replaced(found).visit(s) for s in tree.body]


def _is_builtin(f: types.FunctionType) -> bool:
    return not any(n in f.__globals__ for n in _FUNCTIONS) and f.__builtins__ is builtins.__dict__


def _is_call(node: Any) -> bool:
    """Whether a node is ``locals()`` or ``vars()``."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
    return is_call and not node.args and not node.keywords


def _is_passed(call: ast.Call, nodes: list[ast.AST]) -> bool:
    """Whether what a call gives is an argument, an operand or subscripted, so that no variable holds it."""
    kinds = (ast.Call, ast.keyword, ast.BinOp, ast.Subscript)
    return any(isinstance(n, kinds) and any(c is call for c in children(n)) for n in nodes)


def _is_in_block(child: ast.AST, s: Any) -> bool:
    return any(child is b for b in blocks_of(s))


def _with_loops(statements: list[Any], loops: tuple[Any, ...]) -> list[tuple[Any, tuple[Any, ...]]]:
    """The statements of a function, each with the loops that it stands in; of a ``while``, the test does so, too."""
    found = []
    for s in statements:
        inside = (*loops, s) if isinstance(s, _LOOPS) else loops
        found.append((s, inside if isinstance(s, ast.While) else loops))
        if not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found += _with_loops(blocks_of(s), inside)
    return found


def _bound_until(tree: ast.FunctionDef, s: Any) -> set[str]:
    """The names that statements bind that begin before ``s`` does, or that hold it."""
    found = parameters_of(tree)
    for t in statements_in(tree.body):
        if isinstance(t, ast.match_case):  # it has no place
            found |= bound_names([t.pattern])
        elif (t.lineno, t.col_offset) < (s.lineno, s.col_offset):  # type: ignore[attr-defined]  # it is a statement
            inside = blocks_of(t)
            found |= bound_names([t] if not inside else [c for c in children(t) if not any(c is b for b in inside)])
            found |= {h.name for h in getattr(t, "handlers", ()) if h.name}
            if isinstance(t, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.add(t.name)
    return found


def _display(names: list[str], call: ast.Call) -> ast.Dict:
    keys: list[Any] = [ast.copy_location(ast.Constant(n), call) for n in names]
    values: list[Any] = [ast.copy_location(ast.Name(n, ast.Load()), call) for n in names]
    return ast.copy_location(ast.Dict(keys, values), call)


class _Replaced(Transformer):
    def __init__(self, found: dict[int, ast.Dict]) -> None:
        super().__init__()
        self._found = found

    def visit_Call(self, node: ast.Call) -> ast.AST:
        made = self._found.get(id(node))
        return made if made is not None else self.generic_visit(node)
