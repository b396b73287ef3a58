"""Foreign expressions and statements: where they stand, and the function with each of them in a statement of its own.

``y = np.cos(erf(2 * a)) + 1`` with a foreign ``erf`` becomes ``t = 2 * a``, ``v = erf(t)``, ``y = np.cos(v) + 1``. Whatever is
evaluated before a foreign expression is computed before it. What evaluates only some of its parts (``and``, a conditional
expression, a comprehension) is foreign as a whole. A compound statement with something foreign in it is *opened*: Python
runs it, and its blocks are treated in the same way.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tnp.capture.control_flow.definite_assignment import bound_before, parameters_of
from tnp.capture.control_flow.liveness import PREFIX, bound_names, has_jump, own_nodes
from tnp.capture.rewrite.ast_utils import Transformer, blocks_of, children, lets_errors_pass, statements_in, walk

__all__ = [
    "CALLEE",
    "COMPREHENSIONS",
    "LOOPS",
    "SCOPES",
    "CallsWrapped",
    "Names",
    "Normalizer",
    "Place",
    "calls",
    "can_outline",
    "find_foreign",
    "place_of",
    "reads",
    "results_at",
]

#: where a node begins and ends: line, column, last line, last column
Place = tuple[int, int, int, int]

#: the variable of the function through which foreign statements call functions
CALLEE = f"{PREFIX}callee"
_VALUE = f"{PREFIX}value"

#: functions that look at their caller's frame; ``super`` does so only in the statement that it stands in
_FRAME_FUNCTIONS = frozenset(("locals", "vars", "eval", "exec", "dir", "breakpoint"))
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
#: what is evaluated later, or by itself
SCOPES = (*_FUNCTIONS, ast.ClassDef, *COMPREHENSIONS)
LOOPS = (ast.For, ast.While)
_SUSPENDS = (ast.Await, ast.Yield, ast.YieldFrom)
#: statements that a span may have at its top
_CLEAN = (
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.Expr,
    ast.If,
    ast.For,
    ast.While,
    ast.Assert,
    ast.With,
    ast.Try,
    ast.Match,
)
#: expressions that evaluate all their parts, in tree order
_STRICT = (
    ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Attribute, ast.Tuple, ast.List, ast.Set, ast.Starred,
    ast.keyword, ast.Slice,
)  # fmt: skip


def place_of(node: Any) -> Place:
    """Where a node stands in its file."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def can_outline(tree: Any) -> bool:
    """Whether a function's statements may become functions: it is no coroutine, and looks at none of its own frames."""
    if not isinstance(tree, ast.FunctionDef):
        return False
    for node in own_nodes(tree.body):
        if isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith)):
            return False
        if isinstance(node, ast.Name) and node.id in _FRAME_FUNCTIONS:
            return False
    return True


def find_foreign(tree: ast.FunctionDef, place: tuple[Any, ...], known: frozenset[Place]) -> Place | None:
    """The place of the node that what happened at ``place`` makes foreign; ``None`` if there is none.

    In the body of a ``try`` or a ``with``, that statement is opened first: the operation may be foreign because of it alone.
    """
    line, column = place[:2]
    if line is None or column is None:
        return None
    path: list[Any] = []
    here: Sequence[Any] = tree.body
    while True:
        inside = [s for s in here if _holds(s, line, column)]
        if not inside:
            break
        path.append(inside[0])
        here = blocks_of(inside[0])
    if not path:
        return None
    for s in path[:-1]:
        if isinstance(s, (ast.Try, ast.With)) and place_of(s) not in known:
            return place_of(s)
    statement = path[-1]
    if isinstance(statement, ast.ExceptHandler):
        return place_of(path[-2])
    nodes = own_nodes(_header(statement) if blocks_of(statement) else [statement])
    around = [n for n in nodes if isinstance(n, ast.expr) and not _is_in_scope(statement, n) and _contains(n, place)]
    if not any(place_of(n) == place for n in around):
        return place_of(statement)
    computing = [n for n in around if not _is_trivial(n)]  # a variable by itself is passed on
    return place_of(computing[-1] if computing else statement)


def results_at(tree: ast.FunctionDef, which: int) -> set[Place]:
    """Where what a function returns is made, or the item ``which`` of a tuple that it returns."""
    found: set[Place] = set()
    for s in own_nodes(tree.body):
        if not isinstance(s, ast.Return) or s.value is None:
            continue
        e: Any = s.value
        if isinstance(e, ast.Tuple) and 0 <= which < len(e.elts):
            e = e.elts[which]
        found |= {place_of(e)} if not _is_trivial(e) else _made_at(tree, e.id) if isinstance(e, ast.Name) else set()
    return found


def _made_at(tree: ast.FunctionDef, name: str) -> set[Place]:
    """The places of the expressions, or of the statements, that bind a name."""
    found: set[Place] = set()
    for s in tree.body:
        if name not in bound_names([s]):
            continue
        is_simple = isinstance(s, ast.Assign) and all(isinstance(t, ast.Name) for t in s.targets)
        found.add(place_of(s.value if is_simple and not _is_trivial(s.value) else s))  # type: ignore[attr-defined]  # it is an assignment
    return found


def _holds(s: Any, line: int, column: int) -> bool:
    return (
        (s.lineno, s.col_offset) <= (line, column) < (s.end_lineno, s.end_col_offset)
        if hasattr(s, "lineno")
        else any(_holds(x, line, column) for x in s.body)
    )


def _header(s: Any) -> list[Any]:
    """The expressions of a compound statement that are evaluated before its blocks."""
    return [x for x in (getattr(s, "test", None), getattr(s, "iter", None)) if x is not None]


def _contains(node: Any, place: tuple[Any, ...]) -> bool:
    line, column, last, end = place_of(node)
    return (line, column) <= place[:2] and place[2:] <= (last, end)


def _is_in_scope(statement: ast.stmt, node: ast.AST) -> bool:
    """Whether an expression stands in a comprehension or a function within the statement."""
    return any(node is not n and any(m is node for m in walk([n])) for n in walk([statement]) if isinstance(n, SCOPES))


class Names:
    """What the names of a function are: ``local`` ones, and those of them that only Python's statements may bind (``shared``) because
    a function inside looks at the variable, not at its value. ``free`` are closure variables that spans take as parameters."""

    def __init__(self, tree: ast.FunctionDef, free: frozenset[str] = frozenset()) -> None:
        declared = {n for s in own_nodes(tree.body) if isinstance(s, (ast.Global, ast.Nonlocal)) for n in s.names}
        inside = {n for s in statements_in(tree.body) if isinstance(s, ast.Nonlocal) for n in s.names}
        self._tree = tree
        #: by the ``id`` of each statement, the names that are surely bound before it
        self.bound = bound_before(tree)
        self.local = (bound_names(tree.body) | parameters_of(tree)) - declared
        self.shared: set[str] = declared | inside
        #: names that a call in a statement may bind anew: their values are not passed to a span, which may run the call
        self.rebound = inside & self.local
        count = _count_bindings(tree)
        for node in own_nodes(tree.body):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.shared |= reads(node) & self.local
            elif isinstance(node, (ast.Lambda, ast.GeneratorExp)):
                self.shared |= {n for n in reads(node) & self.local if count.get(n, 0) != 1}
        #: names that a lambda sees other values of, later: it stands where Python runs it
        self.changing = {n for n in self.local if count.get(n, 0) != 1} | free

    def read_outside(self, s: ast.stmt) -> set[str]:
        """The names that the function reads outside of one of its statements."""

        def read(node: Any) -> set[str]:
            if node is s:
                return set()
            blocks = blocks_of(node)
            if not blocks:
                return reads(node)
            own = (reads(n) for n in children(node) if not any(n is b for b in blocks))
            return set().union(*own, *map(read, blocks))

        return read(self._tree)


def _count_bindings(tree: ast.FunctionDef) -> dict[str, int]:
    """How often each name is bound; what a loop binds counts several times."""
    found: dict[str, int] = dict.fromkeys(parameters_of(tree), 1)

    def count(statements: Iterable[Any], times: int) -> None:
        for s in statements:
            inside = blocks_of(s)
            own = [n for n in children(s) if not any(n is b for b in inside)]
            bound = (
                bound_names([s]) if not inside or isinstance(s, (ast.FunctionDef, ast.ClassDef)) else bound_names(own)
            )
            weight = 2 if isinstance(s, (*LOOPS, ast.AsyncFor)) else times
            for name in bound:
                found[name] = found.get(name, 0) + weight
            if isinstance(s, ast.ExceptHandler) and s.name:
                found[s.name] = found.get(s.name, 0) + 2
            if not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                count(inside, weight)

    count(tree.body, 1)
    return found


def reads(node: ast.AST) -> set[str]:
    """The names that a node reads of the function that it stands in: without the variables of comprehensions and functions in it."""
    if isinstance(node, ast.Name):
        return {node.id} if not isinstance(node.ctx, ast.Store) else set()
    found = _read_by(children(node))
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        found.add(node.target.id)
    if isinstance(node, COMPREHENSIONS):
        found -= {n.id for g in node.generators for n in walk([g.target]) if isinstance(n, ast.Name)}
        found |= reads(node.generators[0].iter)
    elif isinstance(node, ast.Lambda):
        found = reads(node.args) | (reads(node.body) - parameters_of(node))
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        outer = {n for s in statements_in(node.body) if isinstance(s, (ast.Global, ast.Nonlocal)) for n in s.names}
        inside = (_read_by(node.body) | outer) - ((parameters_of(node) | bound_names(node.body)) - outer)
        found = inside | _read_by(c for c in children(node) if not any(c is s for s in node.body))
    return found


def _read_by(nodes: Iterable[ast.AST]) -> set[str]:
    return set().union(*map(reads, nodes))


class Normalizer:
    """Step 1: foreign expressions in statements of their own; compound statements that hold foreign ones, or jump, are opened."""

    def __init__(self, foreign: frozenset[Place], names: Names) -> None:
        self.foreign = foreign
        self.names = names
        #: the statements that Python runs, by ``id``
        self.by_python: set[int] = set()
        #: by the ``id`` of each opened ``try``, the names that may be read after an error in its body
        self.watched_in: dict[int, frozenset[str]] = {}
        #: those of all that are around: what binds them has to bind them in the function itself
        self._watched: frozenset[str] = frozenset()
        self._out: list[ast.stmt] = []
        #: the names that are surely bound before the statement that is being changed
        self._bound: frozenset[str] = frozenset()
        self._wrap = CallsWrapped()

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        around, self._out = self._out, []
        for s in statements:
            self._statement(s)
        made, self._out = self._out, around
        return made

    def _is_foreign(self, node: Any) -> bool:
        return hasattr(node, "lineno") and place_of(node) in self.foreign

    def _has_foreign(self, node: Any) -> bool:
        return any(isinstance(n, (ast.expr, ast.stmt)) and place_of(n) in self.foreign for n in walk([node]))

    def _python(self, s: Any) -> None:
        """A statement as it is, for Python to run."""
        self.by_python.add(id(s))
        self._out.append(s)

    def _statement(self, s: Any) -> None:
        self._bound = self.names.bound[id(s)]
        if isinstance(s, ast.Return):
            self._return(s)
        elif not isinstance(s, _CLEAN) or self._must_stay(s):
            self._python(self._opened(s) if blocks_of(s) else s)
        elif not blocks_of(s) and _suspends(s):
            self._yield(s)
        elif blocks_of(s):
            if self._has_foreign(s) or _suspends(s) or has_jump([s]) or not self._watched.isdisjoint(bound_names([s])):
                self._python(self._opened(s))
            else:
                self._out.append(s)
        elif not self._has_foreign(s):
            self._clean(s)
        elif self._is_statement_foreign(s):
            self._python(self._wrap.visit(s))
        else:
            self._without_foreign(s)

    def _is_statement_foreign(self, s: Any) -> bool:
        """Whether a simple statement is foreign as a whole."""
        if isinstance(s, ast.Expr):
            return not _is_movable(s.value)
        is_whole = self._is_foreign(s) or not all(map(_is_movable, _expressions(s)))
        if isinstance(s, ast.AugAssign):
            return is_whole or not isinstance(s.target, ast.Name) or self._has_foreign(s.target)
        return is_whole or isinstance(s, ast.Assert) or any(map(self._has_foreign, getattr(s, "targets", ())))

    def _without_foreign(self, s: Any) -> None:
        """A simple statement after those that compute the foreign expressions in it."""
        value = s.value
        if (
            self._is_foreign(value)
            and isinstance(s, (ast.Assign, ast.Expr))
            and all(map(_is_name, getattr(s, "targets", ())))
        ):
            s.value = self._call_of(value)
            self._python(s)
            return
        s.value = self._lifted(value)
        self._clean(s)

    def _clean(self, s: ast.stmt) -> None:
        """A simple statement without foreign expressions. What a handler reads although the rest of the statement raises is bound
        by Python."""
        if self._watched.isdisjoint(_bound_midway(s)):
            self._out.append(s)
        else:
            self._python(self._wrap.visit(s))

    def _return(self, s: ast.Return) -> None:
        if s.value is None or _is_trivial(s.value) or self._is_foreign(s) or not _is_movable(s.value):
            self._python(self._wrap.visit(s))
            return
        if self._is_foreign(s.value):
            s.value = self._call_of(s.value)
        elif _stays(s.value, self.names):
            s.value = self._wrap.visit(s.value)
        else:
            s.value = self._named(self._lifted(s.value))
        self._python(s)

    def _yield(self, s: Any) -> None:
        """A simple statement that suspends a generator, which Python runs. What it yields is computed before, if that is all it does."""
        value: Any = getattr(s, "value", None)
        given = value.value if isinstance(value, ast.Yield) and isinstance(s, (ast.Expr, ast.Assign)) else None
        if given is not None and _is_movable(given) and not _stays(given, self.names):
            value.value = self._named(self._lifted(given))
        else:
            s = self._wrap.visit(s)
        self._python(s)

    def _must_stay(self, s: ast.stmt) -> bool:
        bound = bound_names([s])
        return not self.names.shared.isdisjoint(bound) or _stays(s, self.names)

    def _opened(self, s: Any) -> Any:
        """A compound statement that Python runs, with what becomes of its blocks."""
        if isinstance(s, ast.If):
            if self._has_foreign(s.test):
                s.test = (
                    self._lifted(s.test)
                    if _is_movable(s.test) and not self._is_foreign(s)
                    else self._wrap.visit(s.test)
                )
            elif (
                _is_movable(s.test)
                and not _stays(s.test, self.names)
                and any(isinstance(n, ast.Call) for n in walk([s.test]))
            ):
                s.test = self._named(s.test)
        elif isinstance(s, (ast.For, ast.While)):
            name = "iter" if isinstance(s, ast.For) else "test"
            setattr(s, name, self._wrap.visit(getattr(s, name)))
        elif isinstance(s, ast.With):
            for item in s.items:
                item.context_expr = self._wrap.visit(item.context_expr)
        elif not isinstance(s, (ast.Try, ast.Match)):
            return s
        around = self._watched
        if isinstance(s, ast.Try) or (isinstance(s, ast.With) and not all(map(lets_errors_pass, s.items))):
            self.watched_in[id(s)] = self._read_after_an_error(s)
            self._watched |= self.watched_in[id(s)]
        final = getattr(s, "finalbody", ())  # it runs after an error in a handler or in ``else``, too
        for name in ("body", "orelse", "finalbody"):
            if getattr(s, name, None):
                setattr(s, name, self.block(getattr(s, name)))
            self._watched = around if name == "orelse" else around.union(*map(reads, final))
        for part in (*getattr(s, "handlers", ()), *getattr(s, "cases", ())):
            part.body = self.block(part.body)
        self._watched = around
        return s

    def _read_after_an_error(self, s: ast.Try | ast.With) -> frozenset[str]:
        """The names that may be read after an error in the body of a ``try``, or of a ``with`` that may swallow it."""
        if isinstance(s, ast.With):
            return frozenset(self.names.read_outside(s))
        found = set().union(*map(reads, (*s.handlers, *s.finalbody)))
        if not all(isinstance(h.body[-1], (ast.Return, ast.Raise)) for h in s.handlers):
            found |= self.names.read_outside(s)
        return frozenset(found)

    def _named(self, e: Any) -> Any:
        """An expression as a variable, which a statement before has computed."""
        if _is_trivial(e) and not (isinstance(e, ast.Name) and e.id in self.names.rebound):
            if isinstance(e, ast.Name) and e.id in self.names.local - self._bound:  # an error comes in its turn
                self._python(ast.copy_location(ast.Expr(e), e))
            return e
        name = "_".join(map(str, (_VALUE, *place_of(e)[:2], e.end_col_offset)))
        self.names.local.add(name)
        self._out.append(ast.copy_location(ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), e)], e), e))
        if _stays(e, self.names) or (isinstance(e, ast.Name) and e.id in self.names.rebound):
            self.by_python.add(id(self._out[-1]))
        return ast.copy_location(ast.Name(name, ast.Load()), e)

    def _lifted(self, e: Any) -> Any:
        """An expression whose foreign parts are variables, which statements before have computed."""
        if not self._has_foreign(e):
            return e
        if self._is_foreign(e) or not isinstance(e, _STRICT) or (isinstance(e, ast.Compare) and len(e.ops) > 1):
            made = self._named(self._call_of(e))
            self.by_python.add(id(self._out[-1]))
            return made
        self._each_part(e, self._lifted, until_foreign=True)
        return e

    def _call_of(self, e: Any) -> Any:
        """A foreign expression of operands that statements before have computed."""
        if isinstance(e, _STRICT) and not (isinstance(e, ast.Compare) and len(e.ops) > 1):
            self._each_part(e, lambda part: self._named(self._lifted(part)), until_foreign=False)
        if isinstance(e, ast.Call):
            return self._wrap.called(e)
        return self._wrap.visit(e) if not isinstance(e, _STRICT) else e

    def _each_part(self, e: Any, change: Callable[[Any], Any], *, until_foreign: bool) -> None:
        """Changes the parts of an expression. With ``until_foreign``, those up to the last that has something foreign in it; those before
        it that have none are computed before it, too."""
        parts = list(_slots(e))
        foreign = [i for i, (_, _, x) in enumerate(parts) if self._has_foreign(x)]
        last = foreign[-1] if until_foreign else len(parts) - 1
        for i, (owner, key, x) in enumerate(parts[: last + 1]):
            is_function = isinstance(e, ast.Call) and i == 0
            if is_function and not self._has_foreign(x):
                computes = isinstance(x, ast.Attribute) and calls([x.value])
                if computes and not all(_is_trivial(y) for _, _, y in parts[1 : last + 1]):
                    x.value = self._named(x.value)
                continue
            if isinstance(x, (ast.Starred, ast.keyword)):
                x.value = change(x.value) if i in foreign or not until_foreign else self._named(x.value)
                continue
            if isinstance(x, (ast.Slice, ast.Tuple)) and isinstance(e, ast.Subscript):
                if i in foreign:
                    self._each_part(x, self._lifted, until_foreign=True)
                continue
            if isinstance(x, ast.Lambda):
                continue
            made = change(x) if i in foreign or not until_foreign else self._named(x)
            if isinstance(key, str):
                setattr(owner, key, made)
            else:
                owner[key] = made


def _expressions(s: Any) -> list[Any]:
    return [n for n in children(s) if isinstance(n, ast.expr)]


def _slots(e: Any) -> Iterable[tuple[Any, Any, Any]]:
    """The parts of a strict expression in the order of evaluation: what holds each, and where in that."""
    for name in (
        "func",
        "left",
        "operand",
        "value",
        "right",
        "comparators",
        "slice",
        "elts",
        "args",
        "keywords",
        "lower",
        "upper",
        "step",
    ):
        held = getattr(e, name, None)
        if isinstance(held, list):
            yield from ((held, i, x) for i, x in enumerate(held))
        elif isinstance(held, ast.AST):
            yield e, name, held


def _is_name(target: Any) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(_is_name, target.elts))
    return isinstance(target, ast.Name)


def _bound_midway(s: Any) -> set[str]:
    """The names that a simple statement binds before it does something that may raise."""
    found = {n.target.id for n in walk([s]) if isinstance(n, ast.NamedExpr)}
    targets = getattr(s, "targets", [])
    is_flat = len(targets) == 1 and all(isinstance(t, ast.Name) for t in getattr(targets[0], "elts", targets))
    return found if is_flat or all(isinstance(t, ast.Name) for t in targets) else found | bound_names(targets)


def _is_trivial(e: Any) -> bool:
    """Whether an expression computes nothing, and is the same whenever it is evaluated in the function."""
    return isinstance(e, (ast.Constant, ast.Name))


def _is_movable(e: Any) -> bool:
    """Whether an expression may be computed in several statements."""
    return not any(isinstance(n, (ast.NamedExpr, *_SUSPENDS)) for n in walk([e]))


def calls(nodes: Iterable[ast.AST]) -> bool:
    """Whether nodes call something."""
    return any(isinstance(n, ast.Call) for n in walk(nodes))


def _suspends(s: ast.stmt) -> bool:
    """Whether a statement, or one in it, suspends the function."""
    return any(isinstance(n, _SUSPENDS) for n in own_nodes([s]))


def _stays(node: ast.AST, names: Names) -> bool:
    """Whether Python must run a statement or an expression: it defines what looks at variables, or looks at the frame itself."""
    if calls([node]) and not names.rebound.isdisjoint(reads(node)):
        return True
    for n in own_nodes([node]):
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global)):
            return True
        if isinstance(n, (ast.Nonlocal, ast.Delete)) or (isinstance(n, ast.AnnAssign) and n.value is None):
            return True
        if isinstance(n, ast.Name) and n.id in ("super", "__class__"):
            return True
        if isinstance(n, (ast.Lambda, ast.GeneratorExp)) and not names.changing.isdisjoint(reads(n)):
            return True
    return False


class CallsWrapped(Transformer):
    """Replaces ``f(x)`` by ``CALLEE(f)(x)`` in statements that Python runs, so that user functions run compiled."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return self.called(node)

    def called(self, node: ast.Call) -> ast.Call:
        """The call, with its function asked for."""
        if not (isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id)):
            ask = ast.Call(ast.Name(CALLEE, ast.Load()), [node.func], [])
            for n in (ask, ask.func):
                ast.copy_location(n, node.func)
            node.func = ask
        return node

    def _same(self, node: Any) -> Any:
        return node

    visit_Lambda = visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _same
