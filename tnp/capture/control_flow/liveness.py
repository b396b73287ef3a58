"""The names that a function binds and reads later: they become loop-carried values and results of branches.

The textbook backward analysis over the statements of one function. It is conservative: a doubtful name counts as live.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tnp.capture.rewrite.ast_utils import blocks_of, children, lets_errors_pass, walk

__all__ = [
    "COMPREHENSION",
    "GENERATOR",
    "LAMBDA",
    "PREFIX",
    "Liveness",
    "bound_names",
    "has_jump",
    "own_nodes",
    "read_names",
]

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


#: names of what the rewriter puts in begin with it; a lambda with an argument of this name only delays an expression
PREFIX = "__tnp_"
#: how the names of the functions begin that comprehensions become (:mod:`tnp.capture.rewrite.comprehensions`)
COMPREHENSION = f"{PREFIX}comp"
#: the same of generators
GENERATOR = f"{COMPREHENSION}_of_generator"
#: what the name begins with of a function that was a lambda
LAMBDA = f"{PREFIX}lambda"


def _is_scope(node: ast.AST) -> bool:
    is_thunk = isinstance(node, ast.Lambda) and any(a.arg == PREFIX for a in node.args.args)
    return isinstance(node, _SCOPES) and not is_thunk


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a function's statements, those of functions and classes in them left out, but not what defines these."""
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        yield node
        if not (isinstance(node, _SCOPES) and _is_scope(node)):
            stack += children(node)[::-1]


def bound_names(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that statements bind in the function that they stand in. Of comprehensions, whose variables are their own, what ``:=``
    binds."""
    found: set[str] = set()
    stack: list[Any] = list(nodes)
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is ast.Name:  # by far the most
            if type(node.ctx) is ast.Store:
                found.add(node.id)
            continue
        if kind in _BINDING:
            found |= _BINDING[kind](node)
        if kind in _COMPREHENSIONS:
            found |= {n.target.id for n in walk([node]) if isinstance(n, ast.NamedExpr)}
        elif kind not in _SCOPES or not _is_scope(node):
            stack += children(node)
    return found


def _named(node: Any) -> set[str]:
    return {node.name} if node.name else set()


#: by kinds of nodes, the names that they bind themselves
_BINDING: dict[type, Callable[[Any], set[str]]] = {
    **dict.fromkeys(
        (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar), _named
    ),
    ast.alias: lambda node: {(node.asname or node.name).partition(".")[0]},
    ast.MatchMapping: lambda node: {node.rest} if node.rest else set(),
}


def read_names(nodes: Iterable[ast.AST], *, in_functions: bool = True) -> set[str]:
    """The names that are read anywhere in ``nodes``, by default in functions defined there, too."""
    found: set[str] = set()
    stack: list[Any] = list(nodes)
    while stack:
        node = stack.pop()
        if type(node) is ast.Name:
            if type(node.ctx) is not ast.Store:
                found.add(node.id)
        elif type(node) in _COMPREHENSIONS:  # its variables are its own
            first, *_ = node.generators
            parts = (*(n for n in children(node) if n is not first), first.target, *first.ifs)
            inside = read_names(parts, in_functions=in_functions)
            found |= inside - bound_names([g.target for g in node.generators])
            stack.append(first.iter)
        elif in_functions or not (isinstance(node, _SCOPES) and _is_scope(node)):
            stack += children(node)
    return found


def has_jump(nodes: Iterable[ast.AST]) -> bool:
    """Whether statements may leave what they stand in: by ``return``, or by a ``break`` or ``continue`` of a loop outside."""
    for node in nodes:
        if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
            return True
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, _LOOPS):
            if _returns(node.body) or has_jump(node.orelse):
                return True
        elif has_jump(blocks_of(node)):
            return True
    return False


def _returns(statements: Iterable[ast.AST]) -> bool:
    return any(isinstance(s, ast.Return) or (not isinstance(s, _SCOPES) and _returns(blocks_of(s))) for s in statements)


@dataclass(frozen=True)
class _Loop:
    after: frozenset[str]
    head: frozenset[str]


class Liveness:
    """Of each loop and branch of a function, the names that are read afterwards.

    ``after[id(statement)]``: names read once the statement is done. For a loop, ``around`` also has those that the next
    round reads.
    """

    def __init__(self, body: list[ast.stmt]) -> None:
        nested: list[Any] = [n for n in own_nodes(body) if _is_scope(n)]
        #: what comprehensions read, which are called in the statement behind them alone, by name
        self._comprehensions = {f.name: _free_names(f) for f in nested if _is_comprehension(f)}
        #: what functions inside read may be read whenever they are called
        self.always = frozenset().union(*(_free_names(f) for f in nested if not _is_comprehension(f)))
        self.after: dict[int, frozenset[str]] = {}
        self.around: dict[int, frozenset[str]] = {}
        self._loops: list[_Loop] = []
        #: what loops were found to read at their head: a loop around them looks at them again, with more behind them
        self._heads: dict[int, frozenset[str]] = {}
        #: the names that nodes read and bind, by ``id``
        self._reads: dict[int, frozenset[str]] = {}
        self._binds: dict[int, frozenset[str]] = {}
        #: what handlers read, which may be reached from any statement
        self._handlers: frozenset[str] = frozenset()
        #: the names that the statements may read before they bind them
        self.entry = self._block(body, frozenset())

    def _names(self, nodes: Iterable[ast.AST]) -> frozenset[str]:
        """The names that are read in ``nodes``, and in the comprehensions there."""
        found = read_names(nodes)
        called = found & self._comprehensions.keys()
        return frozenset(found.union(*(self._comprehensions[name] for name in called)))

    def _block(self, statements: Iterable[ast.stmt], after: frozenset[str]) -> frozenset[str]:
        """The names live before ``statements``, where ``after`` are those live behind them."""
        for s in reversed(list(statements)):
            after = self._statement(s, after) | self._handlers | self.always
        return after

    def _statement(self, s: Any, after: frozenset[str]) -> frozenset[str]:
        self.after[id(s)] = after
        if isinstance(s, (ast.For, ast.While, ast.AsyncFor)):
            return self._loop(s, after)
        if isinstance(s, ast.If):
            return self._read(s.test) | self._block(s.body, after) | self._block(s.orelse, after)
        if isinstance(s, (ast.With, ast.AsyncWith)):
            around = self._handlers
            if not all(map(lets_errors_pass, s.items)):  # any statement may be the last one
                self._handlers |= after
            inside = self._block(s.body, after)
            self._handlers = around
            bound = {v.id for i in s.items if isinstance(v := i.optional_vars, ast.Name)}
            return (inside - bound) | self._names(s.items)
        if isinstance(s, (ast.Try, getattr(ast, "TryStar", ast.Try))):
            return self._try(s, after)
        if isinstance(s, (ast.Return, ast.Raise)):
            return self._names([s])
        if isinstance(s, ast.Break):
            return self._loops[-1].after if self._loops else after
        if isinstance(s, ast.Continue):
            return self._loops[-1].head if self._loops else after
        if isinstance(s, ast.Match):
            inside = frozenset().union(*(self._block(case.body, after) for case in s.cases))
            return after | inside | self._names([s])
        kills = self._binds.get(id(s))
        if kills is None:
            kills = self._binds[id(s)] = frozenset(_surely_bound(s))
            self._reads[id(s)] = frozenset() if _is_comprehension(s) else self._names([s]) | _augmented(s)
        return (after - kills) | self._reads[id(s)]

    def _read(self, node: ast.AST) -> frozenset[str]:
        """The names that an expression reads."""
        found = self._reads.get(id(node))
        if found is None:
            found = self._reads[id(node)] = self._names([node])
        return found

    def _loop(self, s: Any, after: frozenset[str]) -> frozenset[str]:
        leaving = self._block(s.orelse, after)
        is_while = isinstance(s, ast.While)
        own = self._read(s.test if is_while else s.target)
        bound = frozenset() if is_while else frozenset(bound_names([s.target]))
        head = leaving | (own if is_while else frozenset()) | self._heads.get(id(s), frozenset())
        while True:
            self._loops.append(_Loop(after, head))
            inside = self._block(s.body, head)
            self._loops.pop()
            wider = head | own | (inside - bound)
            if wider == head:
                break
            head = wider
        self._heads[id(s)] = head
        self.around[id(s)] = head | after
        return head if is_while else head | self._read(s.iter)

    def _try(self, s: Any, after: frozenset[str]) -> frozenset[str]:
        before = self._handlers
        final = self._block(s.finalbody, frozenset()) | self._names(s.finalbody)  # on the way out
        after = self._block(s.finalbody, after) | final
        self._handlers = before | final
        handled = frozenset().union(*(self._block(h.body, after) | self._names([h]) for h in s.handlers), final)
        done = self._block(s.orelse, after)
        self._handlers = before | handled
        inside = self._block(s.body, done | handled)
        self._handlers = before
        return inside | handled


def _is_comprehension(f: Any) -> bool:
    return isinstance(f, ast.FunctionDef) and f.name.startswith(COMPREHENSION)


def _free_names(f: Any) -> frozenset[str]:
    """The names that a function, or a class, reads of the functions around it, or of its module."""
    inside = _inside(f)
    own = list(own_nodes(inside))
    read = read_names(inside, in_functions=False)
    read.update(*(_free_names(n) for n in own if _is_scope(n)))
    outer = {name for n in own if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
    bound = set() if isinstance(f, ast.ClassDef) else bound_names(inside) - outer
    return frozenset(read - bound - _parameters(f))


def _parameters(f: Any) -> set[str]:
    """The parameters of a function, which are no names of the function around. A class has none."""
    args = getattr(f, "args", None)
    if args is None:
        return set()
    found = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
    return {a.arg for a in found if a is not None}


def _inside(f: Any) -> list[ast.AST]:
    """What runs when a function is called, or a class made."""
    return [f.body] if isinstance(f, ast.Lambda) else list(f.body)


def _surely_bound(s: ast.stmt) -> set[str]:
    """The names that a simple statement binds whatever happens."""
    if isinstance(s, ast.Assign):
        return bound_names(s.targets)
    if isinstance(s, ast.AnnAssign) and s.value is not None:
        return bound_names([s.target])
    if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {s.name}
    return bound_names([s]) if isinstance(s, (ast.Import, ast.ImportFrom)) else set()


def _augmented(s: ast.stmt) -> set[str]:
    return bound_names([s.target]) if isinstance(s, ast.AugAssign) else set()
