"""Names that may be unbound where they are read, because only one side of a branch, or a loop without iterations, would
bind them.

A forward analysis, the mirror image of :mod:`liveness`. Each such read becomes a hook, ``__tnp__.bound(x, "x")``. If a
branch on a run-time value binds a name on one side only, the program raises Python's error at the read.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from typing import Any

from tnp.capture.control_flow.deferred_return import waits
from tnp.capture.control_flow.liveness import COMPREHENSION, GENERATOR, PREFIX, bound_names
from tnp.capture.rewrite.ast_utils import lets_errors_pass, parts_of, statements_in, walk

__all__ = ["bound_before", "deleted_names", "hook_unsure_names", "parameters_of"]

#: what is surely bound behind a statement that never gets there
_NOWHERE = None
_Names = frozenset[str] | None

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

#: comprehensions that are functions of their own; since Python 3.12, the others are part of the function around
_SCOPES = (ast.GeneratorExp,) if sys.version_info >= (3, 12) else _COMPREHENSIONS


def bound_before(function: Any) -> dict[int, frozenset[str]]:
    """By the ``id`` of each statement of a function, the names that are surely bound before it."""
    found = _Found()
    found.block(function.body, frozenset(parameters_of(function)))
    return found.before


def parameters_of(function: Any) -> set[str]:
    """The names of a function's parameters."""
    a = function.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
    return {x.arg for x in every if x is not None}


def deleted_names(s: ast.stmt) -> set[str]:
    """The names that a ``del`` statement unbinds."""
    return {n.id for n in walk([s]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)}


def hook_unsure_names(function: Any, runtime: str) -> None:
    """Puts hooks at the readings of local names of a function that may be unbound there."""
    parameters = parameters_of(function)
    outer = {n for s in statements_in([function]) if isinstance(s, (ast.Global, ast.Nonlocal)) for n in s.names}
    local = bound_names(function.body) - parameters - outer
    if local:
        _Hooks(runtime, local).block(function.body, frozenset())


def _both(a: _Names, b: _Names) -> _Names:
    return b if a is _NOWHERE else a if b is _NOWHERE else a & b


class _Hooks:
    def __init__(self, runtime: str, local: set[str]) -> None:
        self.runtime, self.local = runtime, local
        #: comprehensions around that are scopes: the names are free variables there, which is another error
        self.scopes = 0
        #: loops around; what is returned in one is computed behind it, where it carries names that may be unbound
        self.loops = 0

    def block(self, statements: Sequence[ast.stmt], sure: _Names) -> _Names:
        """Hooks statements, before which ``sure`` are bound; gives what is behind them."""
        for s in statements:
            sure = self._statement(s, sure or frozenset()) if sure is not _NOWHERE else self._unreached(s)
        return sure

    def _unreached(self, s: ast.stmt) -> _Names:
        self._statement(s, frozenset())
        return _NOWHERE

    def _statement(self, s: Any, sure: frozenset[str]) -> _Names:
        if isinstance(s, ast.If):
            s.test = self._read(s.test, sure)
            return _both(self._side(s.body, sure), self._side(s.orelse, sure))
        if isinstance(s, (ast.For, ast.AsyncFor)):
            s.iter = self._read(s.iter, sure)
            s.target = self._read(s.target, sure)
            self._body(s.body, sure | bound_names([s.target]))
            self.block(s.orelse, sure)
            return sure
        if isinstance(s, ast.While):
            s.test = self._read(s.test, sure)
            self._body(s.body, sure)
            self.block(s.orelse, sure)
            always = isinstance(s.test, ast.Constant) and s.test.value and not _breaks(s.body)
            return _NOWHERE if always else sure
        if isinstance(s, (ast.With, ast.AsyncWith)):
            for item in s.items:
                item.context_expr = self._read(item.context_expr, sure)
                sure |= bound_names([item.optional_vars] if item.optional_vars is not None else [])
            inside = self.block(s.body, sure)
            return inside if all(map(lets_errors_pass, s.items)) else sure
        if isinstance(s, (ast.Try, getattr(ast, "TryStar", ast.Try))):
            return self._try(s, sure)
        if isinstance(s, ast.Match):
            s.subject = self._read(s.subject, sure)
            for case in s.cases:
                caught = sure | bound_names([case.pattern])
                if case.guard is not None:
                    case.guard = self._read(case.guard, caught)
                self.block(case.body, caught)
            return sure
        if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if not isinstance(s, ast.ClassDef):
                self._fields(s.args, sure)
                hook_unsure_names(s, self.runtime)
            if s.name.startswith(COMPREHENSION):
                self._comprehension_function(s, sure)
            return sure | {s.name}  # a name of this function that is read in it may be bound by the time it is called
        if isinstance(s, ast.Delete):
            return sure - deleted_names(s)
        if self._is_unsure(s, sure):
            self._fields(s, sure)
        if isinstance(s, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            return _NOWHERE
        if isinstance(s, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Import, ast.ImportFrom)):
            assigns = not isinstance(s, ast.AnnAssign) or s.value is not None
            return sure | bound_names([s]) if assigns else sure
        return sure

    def _body(self, statements: Sequence[ast.stmt], sure: frozenset[str]) -> None:
        """The body of a loop."""
        self.loops += 1
        self.block(statements, sure)
        self.loops -= 1

    def _side(self, statements: Sequence[ast.stmt], sure: frozenset[str]) -> _Names:
        """A side of a branch; one that returns may run behind the loop that it stands in."""
        return self.block(statements, frozenset() if self.loops and waits(statements) else sure)

    def _try(self, s: Any, sure: frozenset[str]) -> _Names:
        done = self.block(s.body, sure)
        done = self.block(s.orelse, done) if done is not _NOWHERE else self._dead(s.orelse)
        for h in s.handlers:
            done = _both(done, self.block(h.body, sure | ({h.name} if h.name else frozenset())))
        final = self.block(s.finalbody, sure)
        if final is _NOWHERE or done is _NOWHERE:
            return _NOWHERE
        return (done | final) - {h.name for h in s.handlers}

    def _dead(self, statements: Sequence[ast.stmt]) -> _Names:
        self.block(statements, frozenset())
        return _NOWHERE

    def _is_unsure(self, node: ast.AST, sure: frozenset[str]) -> bool:
        names = (n for n in walk([node]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
        return any(n.id in self.local and n.id not in sure for n in names)

    def _fields(self, node: Any, sure: frozenset[str]) -> None:
        for field, value in parts_of(node):
            if isinstance(value, list):
                setattr(node, field, [v if v is None else self._hooked_in(v, sure) for v in value])
            elif value is not None:
                setattr(node, field, self._hooked_in(value, sure))

    def _read(self, node: Any, sure: frozenset[str]) -> Any:
        """An expression with hooks in it."""
        return self._hooked_in(node, sure) if self._is_unsure(node, sure) else node

    def _hooked_in(self, node: Any, sure: frozenset[str]) -> Any:
        if isinstance(node, ast.Name):
            unsure = isinstance(node.ctx, ast.Load) and node.id in self.local and node.id not in sure
            return self._hooked(node) if unsure and not node.id.startswith(PREFIX) else node
        if isinstance(node, ast.Lambda) and not any(a.arg == PREFIX for a in node.args.args):
            self._fields(node.args, sure)  # its defaults are evaluated here
            return node
        if isinstance(node, _COMPREHENSIONS):
            self._comprehension(node, sure)
        else:
            self._fields(node, sure)
        return node

    def _comprehension(self, node: Any, sure: frozenset[str]) -> None:
        first = node.generators[0]
        around = self._hooked_in(first.iter, sure)  # evaluated in the scope around
        first.iter = ast.Constant(None)
        self.scopes += isinstance(node, _SCOPES)
        self._fields(node, sure | {n.id for g in node.generators for n in walk([g.target]) if isinstance(n, ast.Name)})
        self.scopes -= isinstance(node, _SCOPES)
        first.iter = around

    def _comprehension_function(self, s: Any, sure: frozenset[str]) -> None:
        """What a comprehension has become: it is called where it stands."""
        is_scope = sys.version_info < (3, 12) or s.name.startswith(GENERATOR)
        self.scopes += is_scope
        self.block(s.body, sure | parameters_of(s) | bound_names(s.body))
        self.scopes -= is_scope

    def _hooked(self, node: ast.Name) -> ast.expr:
        function = ast.Attribute(ast.Name(self.runtime, ast.Load()), "bound", ast.Load())
        is_free = [ast.Constant(True)] if self.scopes else []
        return ast.copy_location(ast.Call(function, [node, ast.Constant(node.id), *is_free], []), node)


class _Found(_Hooks):
    """The same analysis, which changes nothing."""

    def __init__(self) -> None:
        super().__init__("", set())
        self.before: dict[int, frozenset[str]] = {}

    def _statement(self, s: Any, sure: frozenset[str]) -> _Names:
        self.before[id(s)] = sure
        if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return sure | {s.name}
        return super()._statement(s, sure)

    def _is_unsure(self, node: ast.AST, sure: frozenset[str]) -> bool:
        return False


def _breaks(statements: Sequence[ast.stmt]) -> bool:
    return any(isinstance(n, ast.Break) for n in statements_in(statements))
