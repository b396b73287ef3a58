"""The source rewriter: inserts hooks into user functions, where Python has no protocol to override.

A user function is parsed once and compiled again with these changes. Line numbers are kept:

- a call ``f(x)`` becomes ``__tnp__.call(f, x)``, so that ``np.zeros(3)`` makes a traced array, ``max(a, b)`` of traced
  values is an operation, and the user functions that it calls are rewritten too;
- a global or closure name ``G`` becomes ``__tnp__.load("G")``, so that arrays in it become inputs;
- an attribute ``m.N`` becomes ``__tnp__.attribute(m, "N")``, so that data of modules and classes become inputs too, and
  ``m.N = v`` becomes ``__tnp__.owner(m, "N").N = v``, which makes the call run eagerly while tracing;
- ``from m import N`` is followed by ``N = __tnp__.imported(N, "m", 0, "N")``, for the same reason;
- ``a is b`` becomes ``__tnp__.is_(a, b)``, which compares the real objects of stand-ins;
- ``globals()[k]`` becomes ``__tnp__.global_item(globals, k)``, which reads ``k`` as the global name that it is;
- ``locals()`` and its like, and other uses of ``globals()``, become ``__tnp__.of_frame(locals)()``, which makes the call run eagerly while tracing;
- a subscript ``o[k]`` becomes ``__tnp__.item(o, k)``, so that ``np.r_[a, b]`` makes a traced array;
- ``a += v`` and ``a[i] += v`` change ``__tnp__.written(a)``, in case ``a`` was not traced;
- a store ``a[i] = v`` becomes ``__tnp__.store(a, i, v)``, so that it may also go to an array that was not traced;
- a name ``n`` of the outside that a function assigns (``global n``) becomes ``__tnp__.outer("n").value``, which is bound when the program
  ends; where it is bound by other statements than assignments, ``__tnp__.assigns("n")`` makes the call run eagerly;
- ``a if c else b``, ``a and b``, ``not a``, ``a < b < c`` and ``assert a`` become hooks that take their
  lazily evaluated parts as functions, so that ``c`` and ``a`` may be run-time values;
- list comprehensions become loops, see :mod:`~tnp.capture.rewrite.comprehensions`;
- ``for``, ``while`` and ``if`` become hooks as well, see :mod:`~tnp.capture.rewrite.control_flow`.

Each construct is one visitor method of :class:`_Rewriter`.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import hashlib
import linecache
import marshal
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tnp.capture.control_flow.deferred_return import return_what_is_raised
from tnp.capture.control_flow.definite_assignment import hook_unsure_names
from tnp.capture.control_flow.liveness import COMPREHENSION, LAMBDA, PREFIX
from tnp.capture.rewrite.ast_utils import Transformer, as_list, walk, with_places
from tnp.capture.rewrite.code_of_tree import as_def, compiled, private_names, tree_of
from tnp.capture.rewrite.comprehensions import OF_ITEMS, Comprehensions
from tnp.capture.rewrite.control_flow import rewrite_flow, thunk
from tnp.capture.rewrite.outlining import IF_BOUND
from tnp.capture.rewrite.raising import mark_what_raises, move_into_else
from tnp.capture.rewrite.scopes import Names, only_assigned
from tnp.runtime import disk_cache, locks

__all__ = ["has_hooks", "rewrite"]

RUNTIME = "__tnp__"
#: the variable of what the patterns of a ``match`` statement name
_PATTERNS = f"{PREFIX}patterns"

#: functions that look at their caller's frame, which must stay the user's
_FRAME_FUNCTIONS = frozenset(("super", "locals", "globals", "vars", "eval", "exec", "dir", "breakpoint"))
#: of those, functions that other functions of the module may call instead
_OF_MODULE = frozenset(("globals",))
#: of those, functions that with an argument look at that, and not at the frame
_ASK_OBJECTS = frozenset(("vars", "dir"))


#: the hooks of comparisons whose operators call no method of the left side, or cannot give a traced value
_COMPARING = {ast.Is: "is_", ast.IsNot: "is_not", ast.In: "in_", ast.NotIn: "not_in"}


class _Rewriter(Transformer):
    """Puts the hooks in. ``local`` are names that the function binds, so that they are not loaded through a hook;
    ``outer`` are names of the outside that it binds, ``assigned`` those that only assignments bind; ``private`` maps ``__name`` to ``_Class__name``, as a class body
    would.

    It has many methods: one for each class of Python's syntax tree that gets hooks.
    """

    def __init__(self, local: set[str], outer: set[str], assigned: set[str], private: dict[str, str]) -> None:
        super().__init__()
        self.local = local
        self.outer = outer
        self.assigned = assigned
        self.private = private

    def _hook(self, name: str, node: ast.AST, *args: ast.expr) -> ast.Call:
        function = ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load())
        made = ast.Call(function, list(args), [])
        for n in (made, function, function.value):
            ast.copy_location(n, node)
        return made

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == IF_BOUND:
            return self._hook("if_bound", node, *node.args)
        if isinstance(node.func, ast.Name) and node.func.id.startswith(COMPREHENSION):
            node.args = [self.visit(a) for a in node.args]
            return node
        if isinstance(node.func, ast.Name) and node.func.id == OF_ITEMS:
            return self._hook("of_items", node, *(self.visit(a) for a in node.args))
        if isinstance(node.func, ast.Name) and node.func.id in _FRAME_FUNCTIONS:
            looks_at_caller = node.func.id != "super" and not (node.func.id in _ASK_OBJECTS and node.args)
            self.generic_visit(node)
            if looks_at_caller and node.func.id not in self.local:
                node.func = self._hook("of_frame", node.func, node.func)
            elif node.func.id in _ASK_OBJECTS and node.func.id not in self.local:
                node.args.insert(0, node.func)
                node.func = self._hook("call", node.func).func
            return node
        self.generic_visit(node)
        node.args = [self._as_text(a) for a in node.args]
        for keyword in node.keywords:
            keyword.value = self._as_text(keyword.value)
        made = self._hook("call", node, node.func, *node.args)
        made.keywords = node.keywords
        return made

    def _as_text(self, node: ast.expr) -> ast.expr:
        """An argument; a text made of values in parts (``f"{x}"``, ``"%g" % x``, ``"{}".format(x)``), so that it can be made when the
        program runs."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_text(node.left):
            return self._hook("text_by", node, ast.copy_location(ast.Constant("%"), node), node.left, node.right)
        if isinstance(node, ast.Call) and _is_hook(node, "call") and node.args:
            found = node.args[0]
            if isinstance(found, ast.Call) and _is_hook(found, "attribute") and _is_text(found.args[0]):
                name = found.args[1]
                if isinstance(name, ast.Constant) and name.value == "format":
                    made = self._hook("text_by", node, name, found.args[0], *node.args[1:])
                    made.keywords = node.keywords
                    return made
        if isinstance(node, ast.Call) and _is_hook(node, "joined"):
            return self._hook("text", node, *node.args)
        return self._in_parts("text", node) if isinstance(node, ast.JoinedStr) else node

    def _in_parts(self, hook: str, node: ast.JoinedStr) -> ast.Call:
        """An f-string as a call of a hook with its parts."""
        parts: list[ast.expr] = []
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                conversion = ast.Constant("" if value.conversion < 0 else chr(value.conversion))
                spec = value.format_spec or ast.Constant("")
                value = ast.Tuple([value.value, conversion, spec], ast.Load())
            parts.append(value)
        return self._hook(hook, node, *parts)

    def visit_List(self, node: ast.List) -> ast.AST:
        """A new list may become one whose items the program counts. Those of items that are not assigned to a name rarely are."""
        self.generic_visit(node)
        return self._new_list(node) if isinstance(node.ctx, ast.Load) and not node.elts else node

    def _new_list(self, node: ast.expr) -> ast.Call:
        places = [ast.copy_location(ast.Constant(n), node) for n in (node.lineno, node.col_offset)]
        return self._hook("new_list", node, node, *places)

    def _with_new_lists(self, x: ast.expr) -> ast.expr:
        """A concatenation of lists. Each operand may become a list that counts its items."""
        if isinstance(x, ast.BinOp) and isinstance(x.op, ast.Add):
            x.left, x.right = (
                self._new_list(self._with_new_lists(side)) if _is_list(side) else side for side in (x.left, x.right)
            )
        return x

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """A text that is passed on may be made at each call. One of calls is left: they may change what was written before."""
        is_plain = not any(isinstance(n, _CHANGING) for n in walk(node.values))
        self.generic_visit(node)
        if not is_plain or not any(isinstance(v, ast.FormattedValue) for v in node.values):
            return node
        return self._in_parts("joined", node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.assigned:
            holder = self._hook("outer", node, ast.copy_location(ast.Constant(node.id), node))
            return ast.copy_location(ast.Attribute(holder, "value", node.ctx), node)
        if not isinstance(node.ctx, ast.Load) or node.id in self.local:
            return node
        if node.id == "__class__" or node.id in _FRAME_FUNCTIONS or node.id == IF_BOUND:
            return node
        return self._hook("load", node, ast.copy_location(ast.Constant(node.id), node), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        node.attr = self.private.get(node.attr, node.attr)
        if isinstance(node.ctx, ast.Load):
            return self._hook("attribute", node, node.value, ast.copy_location(ast.Constant(node.attr), node))
        node.value = self._hook("owner", node, node.value, ast.copy_location(ast.Constant(node.attr), node))
        return node

    def visit_Global(self, node: Any) -> Any:
        refused = [name for name in node.names if name in self.outer and name not in self.assigned]
        node.names = [name for name in node.names if name not in self.assigned]
        made: list[Any] = [node] if node.names else [ast.copy_location(ast.Pass(), node)]
        if refused:
            names = [ast.copy_location(ast.Constant(name), node) for name in refused]
            made.append(ast.copy_location(ast.Expr(self._hook("assigns", node, *names)), node))
        return made

    visit_Nonlocal = visit_Global

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """What is imported may be data of the module."""
        if node.level or node.module is None or node.module == "__future__":
            return [node, *self._imported(node, None)]
        return [node, *self._imported(node, node.module)]

    def _imported(self, node: ast.ImportFrom, module: str | None) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for alias in node.names:
            name = alias.asname or alias.name
            load = ast.copy_location(ast.Name(name, ast.Load()), node)
            where = [ast.copy_location(ast.Constant(x), node) for x in (module, node.level, alias.name)]
            store = ast.copy_location(ast.Name(name, ast.Store()), node)
            made.append(ast.copy_location(ast.Assign([store], self._hook("imported", node, load, *where)), node))
        return made

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        of_module = _called_globals(node.value)
        if of_module is not None and isinstance(node.ctx, ast.Load) and "globals" not in self.local:
            return self._hook("global_item", node, of_module, self.visit(_key_expression(node.slice)))
        self.generic_visit(node)
        return (
            self._hook("item", node, node.value, _key_expression(node.slice))
            if isinstance(node.ctx, ast.Load)
            else node
        )

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        if isinstance(node.value, ast.Tuple):
            node.value.elts = [self._new_list(x) if _is_list(x) else x for x in node.value.elts]
        elif _is_list(node.value):
            node.value = self._new_list(self._with_new_lists(node.value))
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            target = node.targets[0]
            key = _key_expression(target.slice)
            # Python evaluates the value first, then the target, then the key; keep that order.
            made = self._hook("store", node, node.value, target.value, key)
            return ast.copy_location(ast.Expr(made), node)
        for assigned in node.targets:
            for part in walk([assigned]):
                if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
                    part.value = self._hook("written", part, part.value)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        can_move = _can_move(node.body, node.orelse)
        self.generic_visit(node)
        node.test = self._as_condition(node.test)
        return self._hook("if_exp", node, node.test, thunk(node.body), thunk(node.orelse)) if can_move else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        can_move = _can_move(*node.values[1:])  # the first one is always computed, where it stands
        self.generic_visit(node)
        if not can_move:
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return self._hook(name, node, node.values[0], *map(thunk, node.values[1:]))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._hook("not_", node, self._as_condition(node.operand)) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        can_move = _can_move(*node.comparators)
        self.generic_visit(node)
        hook = _COMPARING.get(type(node.ops[0])) if len(node.ops) == 1 else None
        if hook is not None:
            return self._hook(hook, node, node.left, *node.comparators)
        if len(node.ops) == 1 or not can_move:
            return node
        operators: Any = tuple(type(op).__name__ for op in node.ops)
        names = ast.copy_location(ast.Constant(operators), node)
        return self._hook("compare", node, names, node.left, *map(thunk, node.comparators))

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        can_move = node.msg is None or _can_move(node.msg)
        self.generic_visit(node)
        if not can_move:
            return node
        message = [] if node.msg is None else [thunk(node.msg)]
        return ast.copy_location(ast.Expr(self._hook("assert_", node, self._as_condition(node.test), *message)), node)

    def visit_If(self, node: ast.If | ast.While) -> ast.AST:
        self.generic_visit(node)
        node.test = self._as_condition(node.test)
        return node

    def visit_While(self, node: Any) -> ast.AST:
        """A condition that binds a name (``while (v := x[i]) > 0``) stands in the loop, where its names are the body's."""
        if not node.orelse and any(isinstance(n, ast.NamedExpr) for n in walk([node.test])):
            stop = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
            node.body.insert(0, with_places(ast.copy_location(stop, node.test)))
            node.test = ast.copy_location(ast.Constant(True), node.test)
        return self.visit_If(node)

    def _as_condition(self, test: ast.expr) -> ast.expr:
        """``test``, of which only the truth matters: hooks for ``and`` and ``or`` may give that alone."""
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and _is_runtime(test.func.value):
            if test.func.attr == "compare":
                test.func.attr = "compare_test"
            elif test.func.attr in ("and_", "or_"):
                test.func.attr += "test"
                test.args[0] = self._as_condition(test.args[0])
                for later in test.args[1:]:
                    assert isinstance(later, ast.Lambda)
                    later.body = self._as_condition(later.body)
        return test

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """What is changed in place may be an array that was not traced."""
        target = node.target
        self.generic_visit(node)
        if isinstance(target, ast.Subscript):
            if isinstance(target.value, ast.Name) and not isinstance(target.slice, (ast.Slice, ast.Tuple)):
                name = ast.copy_location(ast.Name(target.value.id, ast.Load()), target)
                target.slice = self._hook("position", target, name, target.slice)
            target.value = self._hook("written", target, target.value)
            return node
        if not isinstance(target, ast.Name) or target.id in self.assigned:
            return node
        name = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        before = ast.Assign(
            [ast.copy_location(ast.Name(target.id, ast.Store()), target)], self._hook("written", target, name)
        )
        if isinstance(node.op, ast.Add):
            node.value = self._hook("added", node, name, node.value)
        return [ast.copy_location(before, node), node]

    def visit_FunctionDef(self, node: Any) -> Any:
        node.decorator_list = [self._hook("decorator", d, self.visit(d)) for d in node.decorator_list]
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        node.body = [new for s in node.body for new in as_list(self.visit(s))]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Try(self, node: Any) -> Any:
        """What may raise when the program runs must not stand where the program catches it while it is traced."""
        goes_on = bool(node.finalbody)  # ``finally`` runs after errors in handlers and in ``else``, too
        is_read = any(h.name for h in node.handlers)
        self.generic_visit(node)
        node.body = self._caught(node.body, is_read)
        for handler in node.handlers if goes_on else ():
            handler.body = self._caught(handler.body, is_read)
        if goes_on and node.orelse:
            node.orelse = self._caught(node.orelse, is_read)
        if isinstance(node, ast.Try) and any(map(_catches_all, node.handlers)):
            first = node.handlers[0]
            own = ast.ExceptHandler(self._hook("own_signals", first), None, [ast.copy_location(ast.Raise(), first)])
            node.handlers.insert(0, ast.copy_location(own, first))
        return node

    def _caught(self, body: list[ast.stmt], is_read: bool) -> list[ast.stmt]:
        flag = ast.copy_location(ast.Constant(is_read), body[0])
        item = ast.withitem(self._hook("may_catch", body[0], flag), None)
        return [ast.copy_location(ast.With([item], body), body[0])]

    visit_TryStar = visit_Try

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        for item in node.items:
            item.context_expr = self._hook("context", item.context_expr, item.context_expr)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """As an assignment: a function's annotations are not evaluated, and rewritten code may hold the name for another function's. One
        without a value says that the name is the function's."""
        nothing = ast.copy_location(ast.Constant(None), node)
        made = ast.copy_location(ast.Assign([node.target], node.value or nothing), node)
        assign = self.visit_Assign(made)
        if node.value is not None:
            return assign
        never = ast.copy_location(ast.Constant(False), node)
        return ast.copy_location(
            ast.If(never, [assign] if isinstance(node.target, ast.Name) else [ast.Pass()], []), node
        )

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """The body of a class has no hooks. One that reads more than Python's own names is not traced."""
        bound = {n.id for n in walk([node]) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        read = {n.id for n in _at_class_level(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if read - bound - _NAMES_OF_CLASSES <= set(dir(builtins)):
            name = ast.copy_location(ast.Name(node.name, ast.Load()), node)
            return [node, ast.copy_location(ast.Expr(self._hook("made_class", node, name)), node)]
        refusal = self._hook("defines_class", node, ast.copy_location(ast.Constant(node.name), node))
        return [ast.copy_location(ast.Expr(refusal), node), node]

    def visit_Match(self, node: Any) -> Any:
        """A pattern may be ``True`` or ``False``, which no stand-in is. A pattern takes names and no calls, so what it names is looked up
        through the hooks of functions, attributes of an object made for them."""
        node.subject = self._hook("subject", node.subject, self.visit(node.subject))
        lookups: list[ast.expr] = []
        for case in node.cases:
            for part in walk([case.pattern]):
                if isinstance(part, ast.MatchClass):
                    part.cls = self._in_pattern(part.cls, lookups)
                elif isinstance(part, ast.MatchValue):
                    part.value = self._in_pattern(part.value, lookups)
                elif isinstance(part, ast.MatchMapping):
                    part.keys = [self._in_pattern(key, lookups) for key in part.keys]
            case.guard = case.guard and self.visit(case.guard)
            case.body = [new for s in case.body for new in as_list(self.visit(s))]
        if not lookups:
            return node
        names = ast.copy_location(ast.Name(_PATTERNS, ast.Store()), node)
        return [ast.copy_location(ast.Assign([names], self._hook("patterns", node, *lookups)), node), node]

    def _in_pattern(self, node: ast.expr, lookups: list[ast.expr]) -> ast.expr:
        """A name or an attribute that stands in a pattern; what looks it up goes to ``lookups``."""
        found = self.visit(node) if isinstance(node, (ast.Name, ast.Attribute)) else node
        if found is node:
            return node
        lookups.append(thunk(found))
        return ast.copy_location(
            ast.Attribute(ast.Name(_PATTERNS, ast.Load()), f"p{len(lookups) - 1}", ast.Load()), node
        )


#: expressions that may change values
_CHANGING = (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
#: decorators and bases that read nothing but the class
_NAMES_OF_CLASSES = frozenset(("dataclass", "dataclasses", "NamedTuple", "Enum", "enum", "typing", "Any"))


def _catches_all(handler: ast.ExceptHandler) -> bool:
    """Whether a handler may catch what is no ``Exception``."""
    kinds = [] if handler.type is None else [n.id for n in walk([handler.type]) if isinstance(n, ast.Name)]
    return handler.type is None or "BaseException" in kinds


def _at_class_level(node: ast.ClassDef) -> Iterator[ast.AST]:
    """The nodes that are evaluated when a class statement runs."""
    waiting: list[ast.AST] = [*node.decorator_list, *node.bases, *(k.value for k in node.keywords), *node.body]
    while waiting:
        n = waiting.pop()
        yield n
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)):
            waiting += [*n.decorator_list, *n.args.defaults, *(d for d in n.args.kw_defaults if d)]
        elif isinstance(n, ast.Lambda):
            waiting += [*n.args.defaults, *(d for d in n.args.kw_defaults if d)]
        else:
            waiting += ast.iter_child_nodes(n)


def _called_globals(x: ast.expr) -> ast.Name | None:
    """The name in ``globals()``; ``None`` for any other expression."""
    if not isinstance(x, ast.Call) or not isinstance(x.func, ast.Name) or x.args or x.keywords:
        return None
    return x.func if x.func.id == "globals" else None


def _is_text(x: ast.expr) -> bool:
    return isinstance(x, ast.Constant) and isinstance(x.value, str)


def _is_hook(x: ast.Call, name: str) -> bool:
    return isinstance(x.func, ast.Attribute) and x.func.attr == name and _is_runtime(x.func.value)


def _is_runtime(x: ast.expr) -> bool:
    return isinstance(x, ast.Name) and x.id == RUNTIME


def _can_move(*expressions: ast.expr) -> bool:
    """Whether expressions mean the same in functions of their own."""
    return not any(
        isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom))
        or (isinstance(n, ast.Name) and (n.id in _FRAME_FUNCTIONS - _OF_MODULE or n.id == "__class__"))
        for n in walk(expressions)
    )


def _key_expression(key: ast.expr) -> ast.expr:
    """A subscript's key as an expression of its own: ``1:3`` becomes ``slice(1, 3)``."""
    if isinstance(key, ast.Slice):
        nothing = ast.Constant(None)
        parts = [p if p is not None else nothing for p in (key.lower, key.upper, key.step)]
        made: ast.expr = ast.Call(ast.Attribute(ast.Name(RUNTIME, ast.Load()), "slice", ast.Load()), parts, [])
    elif isinstance(key, ast.Tuple):
        made = ast.Tuple([_key_expression(k) for k in key.elts], ast.Load())
    else:
        return key
    return ast.copy_location(made, key)


_cache: dict[types.CodeType, types.CodeType | None] = {}
#: by ``id``, the codes of functions that stand in rewritten ones, some of which have nothing to hook
_inside: dict[int, types.CodeType] = {}
_lock = locks.lock()


def has_hooks(f: types.FunctionType) -> bool:
    """Whether a function has the hooks that it needs already: it stands in one that was rewritten."""
    return RUNTIME in f.__code__.co_freevars or id(f.__code__) in _inside


def rewrite(f: types.FunctionType, runtime: Callable[[types.FunctionType], Any]) -> types.FunctionType | None:
    """``f`` with hooks into ``runtime(f)``; ``None`` if its source cannot be had or is not what was compiled."""
    if has_hooks(f):
        return f
    with _lock:
        if f.__code__ not in _cache:
            _cache[f.__code__] = _rewritten_code(f)
        code = _cache[f.__code__]
    if code is None:
        return None
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or ()))
    cells[RUNTIME] = types.CellType(runtime(f))
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, f.__globals__, f.__name__, f.__defaults__, closure)
    made.__kwdefaults__ = f.__kwdefaults__
    made.__dict__.update(f.__dict__)
    made.__qualname__ = f.__qualname__
    return made


def _rewritten_code(f: types.FunctionType) -> types.CodeType | None:
    key = _key(f)
    code = _from_disk(key)
    if code is None:
        code = _rewritten_source(f)
        if code is None:
            return None
        if key is not None:
            with contextlib.suppress(ValueError):  # something in it has no such form
                disk_cache.store(key, marshal.dumps(code))
    return _renamed(code, code)


def _key(f: types.FunctionType) -> str | None:
    """The name on disk of what ``f`` is rewritten to: from its code and its source, which need not belong together."""
    sources = disk_cache.state_of_sources(Path(__file__).parents[1])
    if sources is None or disk_cache.folder() is None:
        return None
    try:
        code = marshal.dumps(f.__code__, 2)  # later versions write what else refers to an object, too
    except ValueError:
        return None
    lines = linecache.getlines(f.__code__.co_filename, f.__globals__)[
        f.__code__.co_firstlineno - 1 : _last_line(f.__code__)
    ]
    text = f"{sys.version} {sys.flags.optimize} {sources} {lines}"
    return hashlib.sha256(text.encode() + code).hexdigest()


def _last_line(code: types.CodeType) -> int:
    inside = [_last_line(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return max([code.co_firstlineno, *(line for _, _, line in code.co_lines() if line), *inside])


def _from_disk(key: str | None) -> types.CodeType | None:
    image = disk_cache.load(key) if key is not None else None
    return marshal.loads(image) if image is not None else None


def _rewritten_source(f: types.FunctionType) -> types.CodeType | None:
    private = private_names(f.__code__)
    node = tree_of(f, private)
    if node is None:
        return None
    if isinstance(node, ast.Lambda):  # comprehensions become statements
        node = as_def(node, f.__name__)
    node.body = Comprehensions(_FRAME_FUNCTIONS - _OF_MODULE).block(node.body)
    names = Names(node)
    # A nonlocal name of a function inside may be one of this function, which is no outside.
    outside = names.bound & (names.global_ | set(f.__code__.co_freevars))
    rewriter = _Rewriter(names.bound - names.outer, outside, outside & only_assigned(node), private)
    node.body = [new for s in node.body for new in as_list(rewriter.visit(s))]
    move_into_else(node.body)
    return_what_is_raised(node, RUNTIME)
    hook_unsure_names(node, RUNTIME)
    rewrite_flow(node, RUNTIME, _FRAME_FUNCTIONS - _OF_MODULE)
    mark_what_raises(node, RUNTIME)
    return compiled(node, f, (RUNTIME,))


def _renamed(code: types.CodeType, user: types.CodeType) -> types.CodeType:
    """``code`` with what the rewriter made in it named after the user's function that it is part of."""
    constants = []
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            if c.co_name.startswith(LAMBDA):
                c = c.replace(co_name="<lambda>", co_qualname=f"{user.co_qualname}.<locals>.<lambda>")
            is_made = c.co_name.startswith(PREFIX) or PREFIX in c.co_varnames[: c.co_argcount]
            c = _renamed(c, user if is_made else c)
        constants.append(c)
    _inside.update((id(c), c) for c in constants if isinstance(c, types.CodeType))
    changes: dict[str, Any] = {"co_name": user.co_name, "co_qualname": user.co_qualname} if code is not user else {}
    return code.replace(co_consts=tuple(constants), **changes)


def _is_list(x: ast.expr) -> bool:
    """Whether an expression is built from list displays: ``[a, b]``, ``[0] * n``, ``[a] + [0] * n``. The program may change its items."""
    if isinstance(x, ast.BinOp) and isinstance(x.op, ast.Mult):
        return any(isinstance(side, ast.List) and side.elts for side in (x.left, x.right))
    if isinstance(x, ast.BinOp) and isinstance(x.op, ast.Add):
        return _is_list(x.left) or _is_list(x.right)
    return isinstance(x, ast.List)
