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
#: what unbinds names, or binds them in the middle of a statement
_UNCLEAR = (ast.Delete, ast.NamedExpr, ast.Global, ast.Nonlocal, ast.Await, ast.Yield, ast.YieldFrom)


def spell_locals(tree: Any, f: types.FunctionType) -> None:
    """Replaces the calls ``locals()`` and ``vars()`` in the tree of ``f`` by displays of dicts, if it is clear which names each finds.

    A display is another dict for each call. Where a function keeps the dict of a call, and calls again, they stay.
    """
    if not _FUNCTIONS.intersection(f.__code__.co_names) or not isinstance(tree, ast.FunctionDef):
        return
    calls: list[Any] = [n for n in own_nodes(tree.body) if _is_call(n)]
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
    before, maybe = bound_before(tree), _Maybe(tree).before
    found: dict[int, ast.Dict] = {}
    for s in statements_in(tree.body):
        own: list[Any] = [
            n for child in children(s) if not _is_in_block(child, s) for n in own_nodes([child]) if _is_call(n)
        ]
        if own and maybe.get(id(s)) != before.get(id(s), ()):
            return
        for call in own:
            found[id(call)] = _display([n for n in order if n in before[id(s)]], call)
    if {id(c) for c in calls} == found.keys():
        tree.body = [_Replaced(found).visit(s) for s in tree.body]


def _is_builtin(f: Any) -> bool:
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


class _Maybe:
    """By the ``id`` of each statement of a function, the names that may be bound before it; of a ``while``, before its test."""

    def __init__(self, tree: ast.FunctionDef) -> None:
        self.before: dict[int, frozenset[str]] = {}
        self._block(tree.body, frozenset(parameters_of(tree)))

    def _block(self, statements: list[Any], names: frozenset[str]) -> frozenset[str]:
        """What may be bound behind statements; nothing if that is never reached."""
        for s in statements:
            names = self._statement(s, names)
        return names

    def _statement(self, s: Any, names: frozenset[str]) -> frozenset[str]:
        if isinstance(s, ast.While):
            names |= bound_names([s])
        self.before[id(s)] = names
        if isinstance(s, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            return frozenset()
        if isinstance(s, ast.If):
            return self._block(s.body, names) | self._block(s.orelse, names)
        bound = names | bound_names([s])
        if isinstance(s, (ast.With, ast.AsyncWith)):
            self._block(s.body, names | bound_names([i.optional_vars for i in s.items if i.optional_vars]))
        elif not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._block(blocks_of(s), bound)  # those of a loop come again, and what is caught may come from anywhere
        return bound


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
