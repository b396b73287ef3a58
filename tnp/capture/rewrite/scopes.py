"""The names that a function binds, and in which scope."""

from __future__ import annotations

import ast
from typing import Any

from tnp.capture.control_flow.liveness import own_nodes
from tnp.capture.rewrite.ast_utils import walk

__all__ = ["Names", "only_assigned"]

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Names:
    """The names that a function binds, those of the functions and comprehensions in it included."""

    def __init__(self, function: ast.AST) -> None:
        self.bound: set[str] = set()
        self.outer: set[str] = set()
        self.global_: set[str] = set()
        for node in walk([function]):
            if isinstance(node, ast.Name):
                if not isinstance(node.ctx, ast.Load):
                    self.bound.add(node.id)
            elif isinstance(node, ast.arg):
                self.bound.add(node.arg)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.bound.add(node.name)
            elif isinstance(node, ast.alias):
                self.bound.add((node.asname or node.name).partition(".")[0])
            elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
                self.bound.add(node.name)
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                self.outer.update(node.names)
                self.global_.update(node.names if isinstance(node, ast.Global) else ())


def only_assigned(function: ast.AST) -> set[str]:
    """The names that a function declares as names of the outside, and binds by assignments alone, nowhere as a name of its own."""
    declared: set[str] = set()
    otherwise: set[str] = set()

    def look(scope: Any) -> None:
        own = list(own_nodes([scope.body] if isinstance(scope, ast.Lambda) else scope.body))
        here = {name for n in own if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
        declared.update(here)
        plain = {id(t) for n in own for target in _targets(n) for t in walk([target]) if isinstance(t, ast.Name)}
        for n in own:
            if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load):
                if n.id not in here or id(n) not in plain:
                    otherwise.add(n.id)
            elif isinstance(n, _SCOPES):
                otherwise.update({n.name} if not isinstance(n, ast.Lambda) else ())
                look(n)
            elif isinstance(n, (ast.alias, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
                otherwise.update(Names(n).bound)
        if hasattr(scope, "args"):
            otherwise.update(n.arg for n in walk([scope.args]) if isinstance(n, ast.arg))

    look(function)
    return declared - otherwise


def _targets(node: ast.AST) -> list[ast.expr]:
    """What a statement assigns."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AugAssign) else []
