"""Faster traversals of syntax trees than those of :mod:`ast`, which would dominate the time of a rewrite."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = [
    "Transformer",
    "as_list",
    "blocks_of",
    "children",
    "function_definition",
    "lets_errors_pass",
    "parts_of",
    "statements_in",
    "walk",
    "with_places",
]


#: fields that hold no nodes, or contexts and operators, which have nothing in them
_PLAIN = frozenset(
    ("ctx", "op", "ops", "id", "attr", "name", "asname", "module", "level", "type_comment", "kind", "simple", "is_async", "conversion",
     "rest", "kwd_attrs", "arg")
)  # fmt: skip
_WITHOUT = (ast.Constant, ast.MatchSingleton, ast.Name, ast.Global, ast.Nonlocal)


class _Fields(dict[type, tuple[str, ...]]):
    """By a kind of nodes, the fields that may hold nodes with something in them."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        fields = () if kind in _WITHOUT else getattr(kind, "_fields", ())
        self[kind] = found = tuple(f for f in fields if f not in _PLAIN)
        return found


_FIELDS = _Fields()


def function_definition(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    """``def name(arguments): body``, without a place in a file."""
    if sys.version_info >= (3, 12):
        return ast.FunctionDef(name, arguments, body, [], type_params=[])
    return ast.FunctionDef(name, arguments, body, [])


def parts_of(node: ast.AST) -> list[tuple[str, Any]]:
    """The fields of a node that may hold nodes, and what they hold: a node, a list of nodes, or nothing."""
    return [(name, getattr(node, name, None)) for name in _FIELDS[type(node)]]


def children(node: ast.AST) -> list[ast.AST]:
    """What :func:`ast.iter_child_nodes` gives, but for contexts and operators."""
    found: list[ast.AST] = []
    own = vars(node)
    for name in _FIELDS[type(node)]:
        value = own.get(name)
        if type(value) is list:
            found += value if name not in _WITH_GAPS else [v for v in value if v is not None]
        elif value is not None:
            found.append(value)
    return found


#: lists that may have None in them: of keys that are unpacked, and of defaults that are not there
_WITH_GAPS = frozenset(("keys", "kw_defaults"))


def walk(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes in ``nodes``, in no particular order."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        stack += children(node)


def statements_in(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All statements in ``statements``, those of functions and classes in them included, and what handles exceptions and cases."""
    stack = list(statements)
    while stack:
        node = stack.pop()
        yield node
        stack += blocks_of(node)


def as_list(x: Any) -> list[Any]:
    """What a visitor makes of a statement, as a list of statements."""
    return x if isinstance(x, list) else [x]


def blocks_of(node: ast.AST) -> list[Any]:
    """The statements that stand in a statement, with its handlers of exceptions and its cases."""
    return [s for name in _BLOCKS[type(node)] for s in getattr(node, name)]


class _Blocks(dict[type, tuple[str, ...]]):
    """By a kind of statements, the fields that hold lists of statements."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        fields = getattr(kind, "_fields", ()) if issubclass(kind, (ast.stmt, ast.excepthandler, ast.match_case)) else ()
        self[kind] = found = tuple(f for f in fields if f in ("body", "orelse", "finalbody", "handlers", "cases"))
        return found


_BLOCKS = _Blocks()


class Transformer:
    """As :class:`ast.NodeTransformer`, for methods named after expressions and statements. A field keeps a node: none is removed."""

    def __init__(self) -> None:
        self._methods: dict[type, Callable[[Any], Any]] = {}

    def visit(self, node: Any) -> Any:
        """What becomes of a node; of a statement maybe a list."""
        method = self._methods.get(type(node))
        if method is None:
            method = getattr(self, f"visit_{type(node).__name__}", self.generic_visit)
            self._methods[type(node)] = method
        return method(node)

    def generic_visit(self, node: Any) -> Any:
        """The node, with what becomes of the nodes in it."""
        for name, value in parts_of(node):
            if type(value) is list:
                found: list[Any] = []
                for v in value:
                    made = v if v is None else self.visit(v)
                    if type(made) is list:
                        found += made
                    else:
                        found.append(made)
                value[:] = found
            elif value is not None:
                setattr(node, name, self.visit(value))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        """The operator, with what becomes of its operands. Sums written out are deeper to the left than Python may recurse."""
        chain = [node]
        while type(left := chain[-1].left) is ast.BinOp:
            chain.append(left)
        chain[-1].left = self.visit(chain[-1].left)
        for operator in reversed(chain):
            operator.right = self.visit(operator.right)
        return node


def with_places(node: Any) -> Any:
    """``node``, in which nodes without a place in the source have that of the node around them."""
    stack = [(node, (1, 0, 1, 0))]
    while stack:
        inside, place = stack.pop()
        own = vars(inside)
        if "lineno" in own:
            place = (
                own["lineno"],
                own["col_offset"],
                own.get("end_lineno", place[2]),
                own.get("end_col_offset", place[3]),
            )
        elif "lineno" in inside._attributes:
            inside.lineno, inside.col_offset, inside.end_lineno, inside.end_col_offset = place
        stack += [(child, place) for child in children(inside)]
    return node


#: names of context managers that swallow no errors
#: ``may_catch`` is the hook around the body of a ``try``
_LETTING_ERRORS_PASS = frozenset(
    "catch_warnings enable_grad errstate inference_mode may_catch no_grad nullcontext open printoptions".split()
)


def lets_errors_pass(item: ast.withitem) -> bool:
    """Whether a context manager is known not to swallow errors, judging by the name of the callable that makes it."""
    maker: Any = item.context_expr.func if isinstance(item.context_expr, ast.Call) else None
    if isinstance(maker, ast.Call) and maker.args:  # it is looked up
        maker = maker.args[0]
    return getattr(maker, "attr", getattr(maker, "id", None)) in _LETTING_ERRORS_PASS
