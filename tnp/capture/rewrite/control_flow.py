"""Control flow in rewritten functions: statements become calls of hooks, with local functions for their bodies.

``for i in x: BODY`` becomes ::

    def __tnp_body0(item):
        nonlocal i, s
        i = item
        BODY
    code = __tnp__.for_(x, __tnp_body0, (), ("s",), ("a",), ())

so the hook can run the body as Python does, or once for all iterations. The body shares the names that it binds with
the function (``nonlocal``), and the hook finds them in the body's closure. The arguments tell the hook which names are
read later, and which arrays have elements stored. ``break``, ``continue`` and ``return`` in a body become *codes* that
it returns, and the function acts on them. An ``if`` that may jump includes the rest of its block in a function of its
own, so a branch on a run-time value has both continuations in one place.

Statements that cannot move into a function of their own (``yield``, ``super()``, ``del name``) stay unchanged.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tnp.capture.control_flow.deferred_return import names_of_tuples, read_at_returns, waits
from tnp.capture.control_flow.liveness import PREFIX, Liveness, bound_names, has_jump, own_nodes
from tnp.capture.rewrite.ast_utils import blocks_of, function_definition, statements_in, walk

__all__ = ["ITEM", "rewrite_flow", "thunk"]

_CODE = f"{PREFIX}code"
#: the argument of the body of a ``for`` loop
ITEM = f"{PREFIX}item"


@dataclass(frozen=True)
class _Place:
    """Where statements stand: in a function made for a body (whose jumps become codes) or in the user's own; in a loop left
    to Python (``native``) or not; and ``tail``, if nothing of the function follows them, or (``side``) only what the ``if`` that
    they are a side of takes along."""

    in_body: bool = False
    native: bool = False
    tail: bool = True
    side: bool = False
    #: in the body of a loop; in a ``with`` or a ``try``
    in_loop: bool = False
    guarded: bool = False
    #: the names that are read once the block is done, in whichever way
    later: frozenset[str] = frozenset()


def rewrite_flow(
    function: ast.FunctionDef | ast.AsyncFunctionDef, runtime: str, frame_functions: frozenset[str]
) -> None:
    """Replaces the control flow of a function, and of the functions defined in it, by hooks of ``runtime``."""
    binds_unseen = any(isinstance(n, (ast.Global, ast.Nonlocal)) for n in statements_in([function]))
    for node in _functions_in(function.body):
        rewrite_flow(node, runtime, frame_functions)
    if binds_unseen:
        return  # names of the outside, or names of this function that one inside assigns
    if not any(map(blocks_of, function.body)):
        return  # it has no control flow, and the names that are read later need not be found
    flow = _Flow(function, runtime, frame_functions)
    body = flow.block(function.body, _Place())
    if flow.shared:
        targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in sorted(flow.shared)]
        # The statement never runs; with it the names are the function's, whichever body binds them.
        shared: ast.stmt = ast.If(ast.Constant(False), [ast.Assign(targets, ast.Constant(None))], [])
        body = [_at(shared, function.body[0]), *body]
    function.body = body


def _functions_in(statements: Sequence[ast.stmt]) -> list[Any]:
    """The functions that statements define, those in classes and other functions left out."""
    found: list[Any] = []
    for s in statements:
        if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append(s)
        elif not isinstance(s, ast.ClassDef):
            found += _functions_in(blocks_of(s))
    return found


class _Flow:
    def __init__(self, function: Any, runtime: str, frame_functions: frozenset[str]) -> None:
        self.runtime = runtime
        self.frame_functions = frame_functions
        self.live = Liveness(function.body)
        self.tuples = names_of_tuples(function.body)
        self.shared: set[str] = set()
        self.count = itertools.count()
        #: statements found to mean the same in a function of their own, by ``id``
        self.movable: dict[int, ast.stmt] = {}
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        self.parameters = {a.arg for a in every if a is not None}

    def block(self, statements: Sequence[ast.stmt], place: _Place) -> list[ast.stmt]:
        """Statements that stand one after the other, rewritten."""
        made: list[ast.stmt] = []
        for at, s in enumerate(statements):
            rest = statements[at + 1 :]
            if isinstance(s, ast.If) and self._moves(s):
                if has_jump([s]) and rest and self._can_move(rest):
                    return made + self._if(s, place, rest)
                made += self._if(s, replace(place, tail=place.tail and not rest), ())
            elif (
                isinstance(s, (ast.For, ast.While)) and has_jump([s]) and self._can_move([s, *rest]) and self._moves(s)
            ):
                return made + self._loop(s, replace(place, tail=False), rest, place)
            else:
                made += self._statement(s, replace(place, tail=place.tail and not rest))
        return made

    def _statement(self, s: Any, place: _Place) -> list[ast.stmt]:
        if isinstance(s, (ast.For, ast.While)):
            return self._loop(s, place) if self._moves(s) else [self._native_loop(s, place)]
        if isinstance(s, ast.Return) and place.in_body:
            value = s.value if s.value is not None else ast.Constant(None)
            s.value = self._hook("returned", value)
            return [_at(s, s)]
        if isinstance(s, (ast.Break, ast.Continue)) and place.in_body and not place.native:
            name = "BREAK" if isinstance(s, ast.Break) else "CONTINUE"
            return [_at(ast.Return(self._attribute(name)), s)]
        is_guard = isinstance(s, (ast.With, ast.AsyncWith)) or hasattr(s, "handlers")
        later = place.later | self.live.after[id(s)]
        inner = replace(place, tail=False, later=later, guarded=place.guarded or is_guard)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(s, field, None)
            if isinstance(block, list) and not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                setattr(s, field, self.block(block, inner))
        for part in (*getattr(s, "handlers", ()), *getattr(s, "cases", ())):
            part.body = self.block(part.body, inner)
        return [s]

    def _native_loop(self, s: ast.For | ast.AsyncFor | ast.While, place: _Place) -> ast.stmt:
        later = place.later | self.live.around[id(s)]
        s.body = self.block(s.body, replace(place, native=True, tail=False, later=later))
        s.orelse = self.block(s.orelse, replace(place, tail=False, later=later))
        return s

    def _moves(self, s: Any) -> bool:
        return self._can_move([s]) and not (
            isinstance(s, ast.For) and any(isinstance(n, (ast.Attribute, ast.Subscript)) for n in walk([s.target]))
        )

    def _can_move(self, statements: Sequence[ast.stmt]) -> bool:
        """Whether statements mean the same in a function of their own."""
        seen: dict[int, ast.stmt] = {}
        for s in statements:
            if isinstance(s, ast.While) and any(isinstance(n, ast.NamedExpr) for n in walk([s.test])):
                return False
        for n in own_nodes(s for s in statements if id(s) not in self.movable):
            if isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)):
                return False
            if isinstance(n, ast.Delete) and any(isinstance(t, ast.Name) for t in n.targets):
                return False
            if isinstance(n, (ast.Import, ast.ImportFrom)) and any(a.name == "*" for a in n.names):
                return False
            if isinstance(n, ast.Name) and (n.id in self.frame_functions or n.id == "__class__"):
                return False
            if isinstance(n, ast.stmt):
                seen[id(n)] = n
        self.movable.update(seen)
        return True

    def _loop(
        self, s: Any, place: _Place, rest: Sequence[ast.stmt] = (), leaving: _Place | None = None
    ) -> list[ast.stmt]:
        """A loop. One that may return (``leaving``: the place of it and of what follows) takes ``rest``, the rest of its block,
        along."""
        around = (
            self.live.around[id(s)]
            | (place.later if has_jump([s]) else frozenset())
            | read_at_returns([s], self.tuples)
        )
        inside = _Place(in_body=True, later=around | place.later, in_loop=True, guarded=place.guarded)
        is_for = isinstance(s, ast.For)
        bound = bound_names([*([s.target] if is_for else []), *s.body])
        stores = _stored_names(s.body)
        body = self.block(s.body, inside)
        if is_for:
            body.insert(0, _at(ast.Assign([s.target], ast.Name(ITEM, ast.Load())), s.target))
        made = [self._function("body", body, s, bound, (ITEM,) if is_for else ())]
        name = made[0].name
        orelse = _tuple(())
        if s.orelse:
            read_later = place.later | self.live.after[id(s)]
            bound_there = bound_names(s.orelse)
            described = [_tuple(bound_there & read_later), _tuple(_stored_names(s.orelse))]
            after_else = replace(place, in_body=True, native=False, tail=False, side=False, later=read_later)
            other = self._function("else", self.block(s.orelse, after_else), s.orelse[0], bound_there)
            made.append(other)
            orelse = ast.Tuple([ast.Name(other.name, ast.Load()), *described], ast.Load())
        head = s.iter if is_for else self._thunk(s.test)
        hook = "for_" if is_for else "while_"
        read_behind = self.live.after[id(s)] | self.live.always | place.later | read_at_returns([s], self.tuples)
        described = [_tuple(bound & around), _tuple(stores), _tuple((bound & around) - read_behind)]
        call = self._hook(hook, head, ast.Name(name, ast.Load()), orelse, *described)
        if leaving is None:
            # What follows cannot be taken along: it has to be known whether the loop returned.
            if has_jump([s]) and not place.in_body:
                call = self._hook("go_on", call, ast.Constant(None), _tuple(()), _tuple(()), ast.Constant(None))
            return [*made, *self._acting_on(call, s, place, has_jump([s]))]
        following: ast.expr = ast.Constant(None)
        if rest:
            where = replace(leaving, in_body=True, native=False)
            f = self._function("rest", self.block(rest, where), rest[0], bound_names(rest))
            made.append(f)
            following = ast.Name(f.name, ast.Load())
        described = [_tuple(bound_names(rest) & leaving.later), _tuple(_stored_names(rest)), self._tail(leaving)]
        return [*made, *self._acting_on(self._hook("go_on", call, following, *described), s, leaving, True)]

    def _tail(self, place: _Place) -> ast.expr:
        """What a hook is told of a statement's place: that nothing follows it in a body, a function, or a side of an ``if``."""
        kind = "side" if place.side else "body" if place.in_loop else "function"
        return ast.Constant(kind if place.tail and not place.native else None)

    def _if(self, s: ast.If, place: _Place, rest: Sequence[ast.stmt]) -> list[ast.stmt]:
        jumps = has_jump([s])
        returned = frozenset() if place.in_loop else frozenset(read_at_returns([s, *rest], self.tuples))
        later = place.later | self.live.after[id(s)] | returned
        after = place.later if rest or jumps else frozenset()
        after |= returned if rest else returned | later
        inner = replace(
            place, in_body=True, native=False, tail=place.tail or bool(rest), side=place.side or bool(rest), later=later
        )
        following = replace(place, in_body=True, native=False)
        made: list[ast.stmt] = []
        functions: list[ast.expr] = []
        sides = (("then", s.body), ("else", s.orelse), ("rest", rest))
        delayed = {k for k, x in sides[:2] if place.in_loop and not place.guarded and waits(x, self.tuples)}
        inside = [x for kind, statements in sides if kind not in delayed for x in statements]
        bound, stores = bound_names(inside), _stored_names(inside)
        for kind, statements in sides:
            if not statements:
                functions.append(ast.Constant(None))
            elif kind in delayed:
                f = self._leaving_function(statements)
                made.append(f)
                functions.append(
                    self._thunk(_at(self._hook("returning", ast.Name(f.name, ast.Load())), statements[-1]))
                )
            else:
                names = bound_names(statements)
                f = self._function(
                    kind, self.block(statements, following if kind == "rest" else inner), statements[0], names
                )
                made.append(f)
                functions.append(ast.Name(f.name, ast.Load()))
        call = self._hook("if_", s.test, *functions, _tuple(bound & after), _tuple(stores), self._tail(place))
        return [*made, *self._acting_on(call, s, place, jumps)]

    def _leaving_function(self, statements: Sequence[ast.stmt]) -> ast.FunctionDef:
        """What a block does that ends in ``return``, once the loop that it stands in has ended."""
        body = self.block(statements, _Place(in_body=True))
        return self._function("return", body, statements[0], bound_names(statements))

    def _acting_on(self, call: ast.expr, s: ast.stmt, place: _Place, jumps: bool) -> list[ast.stmt]:
        """The call of a hook, and the actions of its code."""
        if not jumps:
            return [_at(ast.Expr(call), s)]
        code = ast.Name(_CODE, ast.Load())
        leave: ast.stmt = ast.Return(code if place.in_body else ast.Attribute(code, "value", ast.Load()))
        if place.native:
            for name, jump in (("CONTINUE", ast.Continue()), ("BREAK", ast.Break())):
                leave = ast.If(ast.Compare(code, [ast.Is()], [self._attribute(name)]), [jump], [leave])
        some = ast.Compare(code, [ast.IsNot()], [ast.Constant(None)])
        return [_at(ast.Assign([ast.Name(_CODE, ast.Store())], call), s), _at(ast.If(some, [leave], []), s)]

    def _function(
        self, kind: str, body: list[ast.stmt], near: ast.AST, bound: set[str], args: Sequence[str] = ()
    ) -> ast.FunctionDef:
        own = sorted(n for n in bound if not n.startswith(PREFIX))
        self.shared |= set(own) - self.parameters
        if own:
            body = [_at(ast.Nonlocal(own), near), *body]
        arguments = ast.arguments([], [ast.arg(a) for a in args], None, [], [], None, [])
        return _at(function_definition(f"{PREFIX}{kind}{next(self.count)}", arguments, body), near)

    def _thunk(self, expression: ast.expr) -> ast.expr:
        return thunk(expression)

    def _attribute(self, name: str) -> ast.expr:
        return ast.Attribute(ast.Name(self.runtime, ast.Load()), name, ast.Load())

    def _hook(self, name: str, *args: ast.expr) -> ast.expr:
        return ast.Call(self._attribute(name), list(args), [])


def thunk(expression: ast.expr) -> ast.expr:
    """``lambda: expression``, marked as made here by the name of an argument."""
    arguments = ast.arguments([], [ast.arg(PREFIX)], None, [], [], None, [ast.Constant(None)])
    return _at(ast.Lambda(arguments, expression), expression)


def _stored_names(statements: Sequence[ast.AST]) -> set[str]:
    """The names of arrays of which elements are stored, as the hooks that are in ``statements`` already say."""
    found: set[str] = set()
    for n in own_nodes(statements):
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in ("store", "written"):
            target = n.args[1 if n.func.attr == "store" else 0]
            while isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute) and target.args:
                if target.func.attr not in ("item", "written", "bound"):
                    break
                target = target.args[0]
            if isinstance(target, ast.Name):
                found.add(target.id)
    return found


def _tuple(names: Iterable[str]) -> ast.expr:
    value: Any = tuple(sorted(n for n in names if not n.startswith(PREFIX)))
    return ast.Constant(value)


Node = TypeVar("Node", bound=ast.AST)


def _at(node: Node, near: ast.AST) -> Node:
    """``node``, standing where ``near`` does if it has no place yet; so will its parts that have none, once all is put together."""
    if not hasattr(node, "lineno"):
        ast.copy_location(node, near)
    return node
