"""List comprehensions, and generators that are summed up or the like, as functions with loops, which may become operations of the trace
as other loops do.

``[f(v) for v in x if v > 0]`` becomes the call ``__tnp_comp0(x)``, and before the statement that it stands in comes ::

    def __tnp_comp0(over):
        items = []
        for v in over:
            if v > 0:
                items.append(f(v))
        return items

A function has what a comprehension has: variables of its own, and the others of the function around. ``sum(v for v in x)`` becomes
``__tnp__.of_items(sum, __tnp_comp0, x, lambda over: (v for v in over))``, since the name may be bound to another function.
``max(map(f, x))`` becomes ``__tnp__.of_items(max, __tnp_comp0, None, None, map, f, x)``.
``list(itertools.product(x, y))`` and ``[*itertools.product(x, y)]`` are ``[v for v in itertools.product(x, y)]`` where that gives the
items one by one by their number.
"""

from __future__ import annotations

import ast
import copy
import itertools
from typing import Any

from tnp.capture.control_flow.liveness import COMPREHENSION, GENERATOR, LAMBDA, PREFIX
from tnp.capture.rewrite.ast_utils import Transformer, as_list, function_definition, walk

__all__ = ["OF_ITEMS", "Comprehensions"]

#: stands for the hook that is given a generator's items
OF_ITEMS = f"{PREFIX}of_items"
#: functions that go through a generator to its end; those that may end before
_CONSUMING, _ENDING = frozenset(("list", "max", "min", "sorted", "sum", "tuple", "fromiter")), frozenset(("all", "any"))
#: the arguments that some of them take besides the generator
_ARGUMENTS = {"sum": ("start",), "fromiter": ("dtype", "count")}
#: functions of :mod:`~tnp.capture.control_flow.products` whose items may be many
_PRODUCTS = frozenset(("product", "combinations", "combinations_with_replacement", "ndindex"))
_ITEMS, _OVER, _ITEM = f"{PREFIX}items", f"{PREFIX}over", f"{PREFIX}item"
#: what means something else in a function
_STAYING = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


class Comprehensions(Transformer):
    """Rewrites the list comprehensions of a function. Those that use ``frame_functions``, which look at the frame, stay."""

    def __init__(self, frame_functions: frozenset[str]) -> None:
        super().__init__()
        self._frame_functions = frame_functions
        self._count = itertools.count()
        #: for each statement that is being rewritten, outermost first, the functions that come before it
        self._before: list[list[ast.stmt]] = []

    def block(self, statements: list[Any]) -> list[Any]:
        """Statements that stand one after the other, rewritten."""
        return [new for s in statements for new in as_list(self.visit(s))]

    def visit(self, node: Any) -> Any:
        if not isinstance(node, ast.stmt):
            return super().visit(node)
        self._before.append([])
        made = as_list(super().visit(node))
        return [*self._before.pop(), *made]

    def visit_FunctionDef(self, node: Any) -> Any:
        node.body = self.block(node.body)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def _left(self, node: Any) -> Any:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        """A lambda with comprehensions is a ``def`` before the statement: its body has statements of its own then."""
        has_some = any(isinstance(n, (ast.ListComp, ast.GeneratorExp)) for n in walk([node.body]))
        defaults = (*node.args.defaults, *(d for d in node.args.kw_defaults if d))
        if not has_some or defaults or not self._means_the_same(node):
            return node
        name = f"{LAMBDA}{next(self._count)}"
        body = self.block([ast.copy_location(ast.Return(node.body), node.body)])
        self._before[-1].append(ast.copy_location(function_definition(name, node.args, body), node))
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    #: no statement stands before what is in these
    visit_ClassDef = visit_GeneratorExp = visit_SetComp = visit_DictComp = _left

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        if not self._moves(node):
            return node
        over = self.visit(node.generators[0].iter)
        return ast.copy_location(ast.Call(self._list_function(node), [over], []), node)

    def visit_Call(self, node: ast.Call) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if isinstance(node.func, ast.Attribute) and node.func.attr == "fromiter":
            name = "fromiter"
        generator: Any
        generator, *more = _arguments(node, name) or (None,)
        if name == "list" and _is_product(generator):
            return self._listed(node, node.func, generator)
        if name in _CONSUMING and _is_map(generator) and not more:
            return self._of_map(node, generator)
        known = name in _CONSUMING or name in _ENDING
        if not known or not isinstance(generator, ast.GeneratorExp) or not self._moves(generator):
            return self.generic_visit(node)
        over = self.visit(generator.generators[0].iter)
        lazy = copy.deepcopy(generator)
        lazy.generators[0].iter = ast.Name(_OVER, ast.Load())
        by_python = ast.Lambda(_of_items(), lazy)
        made = self._list_function(generator) if name in _CONSUMING else self._test_function(generator, name == "any")
        hook = ast.Name(OF_ITEMS, ast.Load())
        arguments = [self.visit(node.func), made, over, by_python, *map(self.visit, more)]
        return ast.copy_location(ast.Call(hook, arguments, []), node)

    def visit_List(self, node: ast.List) -> Any:
        items = node.elts[0] if len(node.elts) == 1 else None
        if not isinstance(items, ast.Starred) or not _is_product(items.value):
            return self.generic_visit(node)
        return self._listed(node, ast.Constant(None), items.value)

    def _listed(self, node: ast.expr, function: ast.expr, product: Any) -> Any:
        """The list of the items of a product."""
        target = ast.copy_location(ast.Name(_ITEM, ast.Store()), node)
        generator = ast.comprehension(target, product, [], 0)
        listed = ast.copy_location(ast.ListComp(ast.Name(_ITEM, ast.Load()), [generator]), node)
        if not self._moves(listed):
            return self.generic_visit(node)
        over = self.visit(product)
        hook = ast.Name(OF_ITEMS, ast.Load())
        made = self._list_function(listed)
        return ast.copy_location(ast.Call(hook, [function, made, over, ast.Constant(None)], []), node)

    def _of_map(self, node: ast.Call, mapped: Any) -> Any:
        """A function of ``map(f, x)``: the items may be those of a loop."""
        target = ast.copy_location(ast.Name(_ITEM, ast.Store()), node)
        generator = ast.comprehension(target, mapped, [], 0)
        listed = ast.copy_location(ast.ListComp(ast.Name(_ITEM, ast.Load()), [generator]), node)
        if not self._moves(listed):
            return self.generic_visit(node)
        parts = [self.visit(x) for x in (mapped.func, *mapped.args)]
        nothing = ast.Constant(None)
        args = [node.func, self._list_function(listed), nothing, nothing, *parts]
        return ast.copy_location(ast.Call(ast.Name(OF_ITEMS, ast.Load()), args, []), node)

    def _list_function(self, node: ast.ListComp | ast.GeneratorExp) -> ast.Name:
        """The function that makes the list of the items."""
        append = ast.Attribute(ast.Name(_ITEMS, ast.Load()), "append", ast.Load())
        loop = _loop(node, ast.Expr(ast.Call(append, [node.elt], [])))
        begin = ast.Assign([ast.Name(_ITEMS, ast.Store())], ast.copy_location(ast.List([], ast.Load()), node))
        return self._function(node, [begin, loop, ast.Return(ast.Name(_ITEMS, ast.Load()))])

    def _test_function(self, node: ast.GeneratorExp, is_any: bool) -> ast.Name:
        """The function that tells whether any of the items is true, or all are."""
        test = node.elt if is_any else ast.UnaryOp(ast.Not(), node.elt)
        found = ast.If(test, [ast.Return(ast.Constant(is_any))], [])
        return self._function(node, [_loop(node, found), ast.Return(ast.Constant(not is_any))])

    def _function(self, node: ast.AST, body: list[ast.stmt]) -> ast.Name:
        """The name of a new function, which is defined before the statement."""
        kind = GENERATOR if isinstance(node, ast.GeneratorExp) else COMPREHENSION
        name = f"{kind}{next(self._count)}"
        function = function_definition(name, _of_items(), self.block(body))
        self._before[-1].append(ast.copy_location(function, node))
        return ast.Name(name, ast.Load())

    def _moves(self, node: ast.ListComp | ast.GeneratorExp) -> bool:
        """Whether a comprehension means the same in a function of its own."""
        return not any(g.is_async or not _binds_names(g.target) for g in node.generators) and self._means_the_same(node)

    def _means_the_same(self, node: ast.AST) -> bool:
        names = (*self._frame_functions, "__class__")
        return not any(isinstance(n, _STAYING) or (isinstance(n, ast.Name) and n.id in names) for n in walk([node]))


def _arguments(node: ast.Call, name: str | None) -> list[ast.expr] | None:
    """The arguments of a function of a generator, one after the other; ``None`` if there are others."""
    others = _ARGUMENTS.get(name or "", ())[max(len(node.args) - 1, 0) :]
    named = [k.arg for k in node.keywords]
    is_known = 1 <= len(node.args) <= 1 + len(_ARGUMENTS.get(name or "", ())) and named == [*others[: len(named)]]
    if not is_known or any(isinstance(a, ast.Starred) for a in node.args):
        return None
    return [*node.args, *(k.value for k in node.keywords)]


def _is_product(node: Any) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
    return name in _PRODUCTS


def _is_map(node: Any) -> bool:
    if not isinstance(node, ast.Call) or getattr(node.func, "id", None) != "map" or len(node.args) < 2 or node.keywords:
        return False
    return not any(isinstance(x, ast.Starred) for x in node.args)


def _of_items() -> ast.arguments:
    return ast.arguments([], [ast.arg(_OVER)], None, [], [], None, [])


def _loop(node: ast.ListComp | ast.GeneratorExp, statement: ast.stmt) -> ast.stmt:
    """The loops of a comprehension around a statement, over the function's argument."""
    node.generators[0].iter = ast.Name(_OVER, ast.Load())
    for generator in reversed(node.generators):
        for condition in reversed(generator.ifs):
            statement = ast.copy_location(ast.If(condition, [statement], []), condition)
        statement = ast.copy_location(ast.For(generator.target, generator.iter, [statement], []), generator.target)
    return statement


def _binds_names(target: ast.expr) -> bool:
    return all(isinstance(n, (ast.Name, ast.Tuple, ast.List, ast.Starred, ast.expr_context)) for n in ast.walk(target))
