"""The syntax tree of a function, checked against its code, and the code of a tree that was changed."""

from __future__ import annotations

import ast
import copy
import dis
import inspect
import itertools
import types
from typing import Any

from tnp.capture.control_flow.liveness import PREFIX
from tnp.capture.rewrite.ast_utils import function_definition, statements_in, walk, with_places
from tnp.capture.rewrite.code_names import FACTORY, with_users_names
from tnp.capture.rewrite.dataclass_methods import trees_of_dataclass_method
from tnp.capture.rewrite.frame_locals import spell_locals
from tnp.capture.rewrite.source_ast import tree_from_block, tree_from_file
from tnp.core.check import enabled
from tnp.core.errors import InternalError
from tnp.runtime.quiet import quiet

__all__ = ["compiled", "function_of", "plain_tree_of", "private_names", "tree_of"]


#: the trees of functions that were made of trees, by their codes
_made: dict[types.CodeType, ast.FunctionDef] = {}


def tree_of(f: types.FunctionType, private: dict[str, str]) -> Any:
    """The syntax tree of ``f``; ``None`` if its source cannot be had or has become another."""
    if f.__code__ in _made:
        return copy.deepcopy(_made[f.__code__])
    node = _tree_of_source(f, private)
    spell_locals(node, f)
    return node


def _tree_of_source(f: types.FunctionType, private: dict[str, str]) -> Any:
    for find in (tree_from_block, tree_from_file):
        node = _with_private_variables(find(f), f.__code__)
        if node is None:
            continue
        original = compiled(_with_private_variables(find(f), f.__code__), f, (), has_places=True)
        if original is None:
            continue
        # A test runner rewrites what is asserted: the code has more names then.
        asserts = any(isinstance(n, ast.Assert) for n in statements_in([node]))
        if _essence(original, private) == _essence(f.__code__, private) or (asserts and _is_part(original, f.__code__)):
            return node
    return _tree_of_dataclass_method(f)


def _tree_of_dataclass_method(f: types.FunctionType) -> Any:
    for node in trees_of_dataclass_method(f):
        made = compiled(copy.deepcopy(node), f, (), has_places=True)
        if made is not None and _instructions(made) == _instructions(f.__code__):
            return node
    return None


def _instructions(code: types.CodeType) -> tuple[Any, ...]:
    return code.co_code, code.co_consts, code.co_names, code.co_varnames, code.co_freevars


def plain_tree_of(f: types.FunctionType) -> Any:
    """The syntax tree of ``f`` as a ``def``, with private names as Python has mangled them; ``None`` if it cannot be had."""
    private = private_names(f.__code__)
    tree = tree_of(f, private)
    if isinstance(tree, ast.Lambda):
        tree = as_def(tree, f.__name__)
    if tree is not None and private:
        for node in walk([tree]):
            if isinstance(node, ast.Attribute):
                node.attr = private.get(node.attr, node.attr)
            elif isinstance(node, ast.Name):
                node.id = private.get(node.id, node.id)
    return tree


def as_def(tree: ast.Lambda, name: str) -> ast.FunctionDef:
    """A lambda as a ``def`` of a name."""
    body = ast.copy_location(ast.Return(tree.body), tree.body)
    return ast.copy_location(function_definition(name, tree.args, [body]), tree)


def function_of(
    node: ast.FunctionDef, f: types.FunctionType, cells: dict[str, types.CellType], *, is_part: bool = False
) -> types.FunctionType | None:
    """The function that ``node`` defines, a changed tree of ``f``, or one of a part of it, where ``f`` is; ``cells`` are closure
    variables that it has besides those of ``f``. ``None`` if it cannot be compiled."""
    tree = copy.deepcopy(node) if is_part else node
    code = compiled(node, f, tuple(cells), is_part=is_part)
    if code is None:
        return None
    every = dict(zip(f.__code__.co_freevars, f.__closure__ or ())) | cells
    closure = tuple(every[name] for name in code.co_freevars)
    made = types.FunctionType(code, f.__globals__, f.__name__, None if is_part else f.__defaults__, closure)
    made.__qualname__, made.__module__ = f.__qualname__, f.__module__
    if is_part:
        _made[code] = tree
    else:
        made.__kwdefaults__ = f.__kwdefaults__
    return made


def is_part(f: Any) -> bool:
    """Whether a function is a part of one, which :func:`function_of` made."""
    return type(f) is types.FunctionType and f.__code__ in _made


def compiled(
    node: Any, f: types.FunctionType, added: tuple[str, ...], *, has_places: bool = False, is_part: bool = False
) -> types.CodeType | None:
    """The code of ``node``, a tree of ``f`` that may have been changed, with the closure variables of ``f`` and those ``added``.
    ``has_places``: every node in it has its place in the source. ``is_part``: it has parameters of its own."""
    if isinstance(node, ast.Lambda):
        body: list[ast.stmt] = [ast.copy_location(ast.Return(node), node)]
    else:
        node.decorator_list = []
        node.returns = None
        for argument in walk([node.args]):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        # Defaults are taken from the original function; here only their number matters.
        none = ast.copy_location(ast.Constant(None), node)
        node.args.defaults = [none for _ in node.args.defaults]
        node.args.kw_defaults = [d and none for d in node.args.kw_defaults]
        node.name = f"{PREFIX}{node.name}"  # not to bind the name by which a recursive function calls itself
        body = [node]
    names = dict.fromkeys((*added, *f.__code__.co_freevars))  # a span of a span has variables that are added again
    free = [ast.arg(name, lineno=1, col_offset=0) for name in names]
    factory = function_definition(FACTORY, ast.arguments([], free, None, [], [], None, []), body)
    factory.lineno, factory.col_offset = 1, 0
    module = ast.Module([factory], [])
    if not has_places:
        with_places(module)
    flags = f.__code__.co_flags & _FUTURE_FLAGS
    try:
        with quiet(SyntaxWarning):  # Python has given it for the original
            whole = compile(module, f.__code__.co_filename, "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError, TypeError) as error:
        if enabled() and not has_places:
            raise InternalError(f"{f.__name__} cannot be compiled with hooks: {error}") from error
        return None
    outer = next(c for c in whole.co_consts if isinstance(c, types.CodeType))
    inner = next((c for c in outer.co_consts if isinstance(c, types.CodeType)), None)
    if inner is None or not set(inner.co_freevars) <= {*added, *f.__code__.co_freevars}:
        return None
    if not is_part and inner.co_varnames[: _count(inner)] != f.__code__.co_varnames[: _count(f.__code__)]:
        return None
    return with_users_names(inner, f.__code__.co_qualname).replace(
        co_name=f.__code__.co_name, co_qualname=f.__code__.co_qualname
    )


_FUTURE_FLAGS = 0
for _name in ("annotations", "division", "generator_stop"):
    _FUTURE_FLAGS |= getattr(__import__("__future__"), _name).compiler_flag


def _count(code: types.CodeType) -> int:
    varargs = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + varargs


def _is_part(code: types.CodeType, other: types.CodeType) -> bool:
    """Whether ``other`` takes what ``code`` takes, and has its names and more."""
    count = code.co_argcount + code.co_kwonlyargcount
    return (
        code.co_varnames[:count] == other.co_varnames[:count]
        and count == other.co_argcount + other.co_kwonlyargcount
        and set(code.co_varnames) <= set(other.co_varnames)
        and set(code.co_names) <= set(other.co_names)
    )


def _essence(code: types.CodeType, private: dict[str, str]) -> tuple[Any, ...]:
    """What codes of one source have in common, wherever it stands in a file."""
    constants = [
        _essence(c, private) if isinstance(c, types.CodeType) else _text_of(c).rpartition("<locals>.")[2]
        for c in code.co_consts
    ]
    names = [private.get(n, n) for n in code.co_names]
    return code.co_name, names, code.co_varnames, constants, _steps(code, private)


#: instructions that stand for nothing of the source, or are others where a module imports what is called
_OF_THE_COMPILER = frozenset(
    ("CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "PRECALL", "PUSH_NULL", "RESUME")
)
_OF_NAMES = frozenset(("LOAD_ATTR", "LOAD_GLOBAL", "LOAD_METHOD"))


def _steps(code: types.CodeType, private: dict[str, str]) -> list[tuple[str, Any]]:
    """The instructions of a code, without their places: they tell ``x + y`` from ``x - y``, and from ``y + x``."""
    found: list[tuple[str, Any]] = []
    for step in dis.get_instructions(code):
        name, value = step.opname, step.argval
        if name in _OF_THE_COMPILER:
            continue
        if name in _OF_NAMES:
            name = "LOAD"
        elif "JUMP" in name or name in _BLOCKS:
            value = None
        elif isinstance(value, types.CodeType) or name in ("LOAD_CONST", "RETURN_CONST", "KW_NAMES"):
            value = step.arg
        found.append((name, private.get(value, value) if isinstance(value, str) else value))
    return found


#: instructions whose argument is a place in the code
_BLOCKS = frozenset(dis.opname[op] for op in (*dis.hasjrel, *dis.hasjabs))


def _text_of(constant: Any) -> str:
    """A constant's text. Two sets of the same strings may give theirs in another order."""
    return repr(sorted(map(repr, constant))) if isinstance(constant, frozenset) else repr(constant)


def private_names(code: types.CodeType) -> dict[str, str]:
    """``__name`` → ``_Class__name``, for the names that Python has mangled in ``code``."""
    return _mangled(code, ("co_names",))


def _mangled(code: types.CodeType, tables: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in itertools.chain.from_iterable(getattr(code, t) for t in tables):
        cls, _, rest = name.partition("__")
        if cls.startswith("_") and len(cls) > 1 and rest and not rest.endswith("__"):
            found[f"__{rest}"] = name
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.update(_mangled(constant, tables))
    return found


def _with_private_variables(tree: Any, code: types.CodeType) -> Any:
    """A tree whose private variables and parameters are named as Python has mangled them in ``code``."""
    private = _mangled(code, ("co_varnames", "co_cellvars", "co_freevars"))
    for node in walk([tree]) if private and tree is not None else ():
        if isinstance(node, ast.arg):
            node.arg = private.get(node.arg, node.arg)
        elif isinstance(node, ast.Name):
            node.id = private.get(node.id, node.id)
    return tree
