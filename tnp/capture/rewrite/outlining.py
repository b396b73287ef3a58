"""Outlining: the statements of a function that can be compiled become functions of their own, between those that Python runs.

A statement is *foreign* if it cannot be captured: a call of C code, a change of an object of the caller's. Around
foreign statements a function is a chain ::

    def f(x):                            def f(x):
        a = np.sin(x) * 2                    a, t = span0(x)
        y = np.cos(erf(2 * a)) + 1    →      v = erf(t)
        return y * a                         return span1(a, v)

Each *span* takes the names that it reads and returns the names that are read later, so that real values pass between the
parts. Three steps lead there:

1. :class:`~tnp.capture.rewrite.foreign.Normalizer` puts foreign expressions into statements of their own.
2. Liveness and definite assignment are computed for the result.
3. :class:`_Outliner` makes spans of the longest runs of clean statements.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tnp.capture.control_flow.definite_assignment import bound_before, deleted_names, parameters_of
from tnp.capture.control_flow.liveness import PREFIX, Liveness, bound_names, own_nodes
from tnp.capture.rewrite.ast_utils import blocks_of, children, function_definition, walk, with_places
from tnp.capture.rewrite.foreign import (
    COMPREHENSIONS,
    LOOPS,
    SCOPES,
    CallsWrapped,
    Names,
    Normalizer,
    Place,
    calls,
    place_of,
    reads,
)

__all__ = ["IF_BOUND", "UNBOUND_NAME", "Span", "outline", "outline_whole"]

#: the names of :func:`if_bound` and of the sentinel that a span returns for an unbound variable
IF_BOUND, UNBOUND_NAME = f"{PREFIX}if_bound", f"{PREFIX}unbound"
_SPAN = f"{PREFIX}span"
_FOUND = f"{PREFIX}found"
#: what costs something; a span of fewer of them than this is not worth a call
_OPERATIONS = (ast.BinOp, ast.Call, ast.Compare, ast.AugAssign, ast.UnaryOp, ast.Subscript)
_LEAST_OPERATIONS = 2


@dataclass(frozen=True)
class Span:
    """Statements that become a function; ``places`` are those of the statements, and ``in_context`` says whether they stand in a ``with``
    that Python runs."""

    name: str
    tree: ast.FunctionDef
    places: frozenset[Place]
    in_context: bool


def outline(
    tree: ast.FunctionDef, foreign: frozenset[Place], free: frozenset[str] = frozenset()
) -> tuple[ast.FunctionDef, list[Span]]:
    """A function with calls of spans in it, which its variables ``span.name`` have; ``tree`` is used up. Spans take the closure
    variables ``free`` as parameters, so that they are the same for all functions of one code."""
    names = Names(tree, free)
    normalizer = Normalizer(foreign, names)
    body = normalizer.block(tree.body)
    made = function_definition(tree.name, tree.args, body)
    ast.copy_location(made, tree)
    outliner = _Outliner(made, names, normalizer, free)
    made.body = outliner.block(body, frozenset(), frozenset())
    lost = (names.local & set().union(*map(reads, made.body))) - bound_names(made.body) - parameters_of(made)
    if lost:  # only spans bind them
        made.body.append(_at(_keep_local(sorted(lost)), tree.body[-1]))
    return made, outliner.spans


def outline_whole(tree: ast.FunctionDef, free: frozenset[str]) -> tuple[ast.FunctionDef, list[Span]] | None:
    """A function that calls a single span with all that it does; ``tree`` is used up. ``None`` where there is none: Python runs a part
    of the function, or a function inside looks at closure variables."""
    for node in own_nodes(tree.body):
        if isinstance(node, (ast.Nonlocal, ast.Global, ast.Yield, ast.YieldFrom)):
            return None
        if isinstance(node, ast.Name) and node.id in ("super", "__class__"):
            return None
        if isinstance(node, SCOPES) and not isinstance(node, COMPREHENSIONS) and not free.isdisjoint(reads(node)):
            return None
    if _operations(tree.body) < _LEAST_OPERATIONS:
        return None
    name, at = f"{_SPAN}0", tree.body[0]
    local = bound_names(tree.body) | parameters_of(tree)
    parameters = sorted(parameters_of(tree) | (set().union(*map(reads, tree.body)) & free - local))
    inside = ast.arguments([], [ast.arg(n) for n in parameters], None, [], [], None, [])
    span = Span(name, _at(function_definition(name, inside, tree.body), at), frozenset(map(place_of, tree.body)), False)
    call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(n, ast.Load()) for n in parameters], [])
    made = function_definition(tree.name, tree.args, [_at(ast.Return(call), at)])
    return ast.copy_location(made, tree), [span]


class _Outliner:
    """Step 3: spans of the statements that Python need not run."""

    def __init__(self, function: ast.FunctionDef, names: Names, normalizer: Normalizer, free: frozenset[str]) -> None:
        self.free = free
        self.names, self.by_python = names, normalizer.by_python
        self.watched_in = normalizer.watched_in
        self.after = Liveness(function.body).after
        self.before = bound_before(function)
        self.spans: list[Span] = []
        self._contexts = 0

    def block(self, statements: Sequence[ast.stmt], watched: frozenset[str], proven: frozenset[str]) -> list[ast.stmt]:
        """Statements with spans in place of clean ones. A span ends where it binds one of ``watched``, names that the handlers around
        may read: they are to be bound when an error is raised behind. Of ``proven``, names that the analysis is not sure of, Python
        has read a value before."""
        out: list[ast.stmt] = []
        run: list[ast.stmt] = []
        bound: frozenset[str] = frozenset()  # where the run begins

        def end() -> None:
            out.extend(self._spanned(run, bound))
            run.clear()

        for s in statements:
            reads_now = _read_surely(s) & self.names.local
            if id(s) in self.by_python:
                end()
                out.append(self._inside(s, watched, proven))
                proven = (proven | reads_now) - (deleted_names(s) if isinstance(s, ast.Delete) else frozenset())
                continue
            unbound = (_entry([s]) & reads(s) & self.names.local) - self.before[id(s)] - proven
            if unbound and (blocks_of(s) or not unbound <= reads_now - _named_inside(s)):
                end()
                out.append(s)
                continue
            if unbound:
                end()
                out.append(_at(_by_python_if_unbound(s, sorted(unbound)), s))
                proven |= unbound
            if calls(run) and not self.names.rebound.isdisjoint(reads(s)):
                end()
            if not run:
                bound = self.before[id(s)] | proven
            run.append(s)
            if not watched.isdisjoint(bound_names([s])):
                end()
        end()
        return out

    def _inside(self, s: Any, watched: frozenset[str], proven: frozenset[str]) -> Any:
        """A statement that Python runs, with spans in its blocks."""
        if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return s
        proven |= _read_surely(s) & self.names.local
        self._contexts += isinstance(s, ast.With)
        behind = watched.union(*map(reads, getattr(s, "finalbody", ())))  # it runs after errors of other parts, too
        for name, inside in (
            ("body", watched | self.watched_in.get(id(s), frozenset())),
            ("orelse", behind),
            ("finalbody", watched),
        ):
            if getattr(s, name, None):
                setattr(s, name, self.block(getattr(s, name), inside, proven))
        for part in (*getattr(s, "handlers", ()), *getattr(s, "cases", ())):
            part.body = self.block(part.body, behind, proven)
        self._contexts -= isinstance(s, ast.With)
        return s

    def _spanned(self, run: list[ast.stmt], bound: frozenset[str]) -> list[ast.stmt]:
        """A run of clean statements, before which ``bound`` are bound, with the call of a span in place of those that are worth it."""
        first = next((i for i, s in enumerate(run) if _operations([s])), len(run))
        last = next((i for i in range(len(run), first, -1) if _operations([run[i - 1]])), first)
        chosen = run[first:last]
        if _operations(chosen) < _LEAST_OPERATIONS:
            return [s if blocks_of(s) else CallsWrapped().visit(s) for s in run]
        return [*run[:first], *self._call(chosen, bound | _surely_bound(run[:first])), *run[last:]]

    def _call(self, statements: list[ast.stmt], bound: frozenset[str]) -> list[ast.stmt]:
        """The call of a span."""
        at, name = statements[0], f"{_SPAN}{len(self.spans)}"
        results = sorted(bound_names(statements) & self.names.local & self.after[id(statements[-1])])
        unsure = set(results) - _surely_bound(statements)
        read = set().union(*map(reads, statements)) | unsure
        entry = _entry(statements)
        parameters = sorted(
            ((entry | unsure) & self.names.local & bound & read) | (self.free & read - self.names.local)
        )
        unsure -= bound

        def together(ctx: ast.expr_context, values: list[ast.expr]) -> ast.expr:
            return values[0] if len(values) == 1 else ast.Tuple(values, ctx)

        body = list(statements)
        if results:
            found: list[ast.expr] = [_if_bound(n) if n in unsure else ast.Name(n, ast.Load()) for n in results]
            body.append(_at(ast.Return(together(ast.Load(), found)), statements[-1]))
        arguments = [ast.arg(n) for n in parameters]
        tree = _at(function_definition(name, ast.arguments([], arguments, None, [], [], None, []), body), at)
        self.spans.append(Span(name, tree, frozenset(map(place_of, statements)), self._contexts > 0))
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(n, ast.Load()) for n in parameters], [])
        if not results:
            return [_at(ast.Expr(call), at)]
        given = {n: f"{_FOUND}_{n}" if n in unsure else n for n in results}
        targets = together(ast.Store(), [ast.Name(given[n], ast.Store()) for n in results])
        return [_at(ast.Assign([targets], call), at), *(_at(_bound_if_found(n, given[n]), at) for n in sorted(unsure))]


def _at(made: Any, place: Any) -> Any:
    """A new node, which stands where ``place`` does; what is in it without a place of its own stands there, too."""
    ast.copy_location(made, place)
    return with_places(made)


def _if_bound(name: str) -> ast.expr:
    """``name``, or what says that it is unbound."""
    nothing = ast.arguments([], [], None, [], [], None, [])
    return ast.Call(ast.Name(IF_BOUND, ast.Load()), [ast.Lambda(nothing, ast.Name(name, ast.Load()))], [])


def _by_python_if_unbound(s: ast.stmt, names: list[str]) -> ast.stmt:
    """Runs a statement that surely reads ``names`` if one of them is unbound: what comes first in it is done, and its error raised."""
    tests: list[ast.expr] = [ast.Compare(_if_bound(n), [ast.Is()], [ast.Name(UNBOUND_NAME, ast.Load())]) for n in names]
    return ast.If(tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests), [copy.deepcopy(s)], [])


def _keep_local(names: list[str]) -> ast.stmt:
    """A statement that makes names local to the function and does nothing."""
    bindings: list[ast.stmt] = [ast.Assign([ast.Name(n, ast.Store())], ast.Constant(None)) for n in names]
    return ast.If(ast.Constant(False), bindings, [])


def _bound_if_found(name: str, found: str) -> ast.stmt:
    """Binds ``name`` to a span's result, unless that is the sentinel: then the old binding stays."""
    test = ast.Compare(ast.Name(found, ast.Load()), [ast.IsNot()], [ast.Name(UNBOUND_NAME, ast.Load())])
    return ast.If(test, [ast.Assign([ast.Name(name, ast.Store())], ast.Name(found, ast.Load()))], [])


def _entry(statements: list[ast.stmt]) -> frozenset[str]:
    """The names that statements may read before they bind them."""
    return Liveness(statements).entry


def _surely_bound(statements: list[ast.stmt]) -> frozenset[str]:
    """The names that statements bind, whatever happens."""
    end = ast.Pass()
    nothing = ast.arguments([], [], None, [], [], None, [])
    return bound_before(function_definition(_SPAN, nothing, [*statements, end]))[id(end)]


def _read_surely(s: Any) -> set[str]:
    """The names that a statement reads first, whatever happens."""
    first: list[Any]
    if isinstance(s, (ast.If, ast.While)):
        first = [s.test]
    elif isinstance(s, (ast.For, ast.With)):
        first = [s.iter] if isinstance(s, ast.For) else [s.items[0].context_expr]
    elif blocks_of(s):
        return set()
    else:
        first = [s]
    found: set[str] = set()
    while first:
        n = first.pop()
        if isinstance(n, (ast.IfExp, ast.BoolOp, *SCOPES, ast.Assert)) or (
            isinstance(n, ast.Compare) and len(n.ops) > 1
        ):
            continue
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
            found.add(n.id)
        elif isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
            found.add(n.target.id)
        first += children(n)
    return found


def _named_inside(s: ast.stmt) -> set[str]:
    """The names that ``:=`` binds in a statement."""
    return {n.target.id for n in walk([s]) if isinstance(n, ast.NamedExpr)}


def _operations(statements: Iterable[ast.AST]) -> int:
    """How much statements compute, about: what a loop has in it counts several times."""
    count = 0
    for s in statements:
        for n in walk([s]):
            count += isinstance(n, _OPERATIONS)
        count += 8 * sum(isinstance(n, (*LOOPS, ast.ListComp)) for n in walk([s]))
    return count
