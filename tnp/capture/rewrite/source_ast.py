"""The syntax tree of a function, parsed from the lines of its file.

Only the function's lines are parsed, because parsing a whole file would take longer than tracing. If they do not parse
alone, and for lambdas, the file is parsed, once.
"""

from __future__ import annotations

import ast
import copy
import functools
import linecache
import types
from collections.abc import Sequence
from typing import Any

from tnp.runtime import locks
from tnp.runtime.quiet import quiet

__all__ = ["remember_source", "source_file", "tree_from_block", "tree_from_file"]

#: the texts of files that came with pickled functions, whose codes name no file
_pickled: dict[str, None] = {}


def source_file(f: types.FunctionType) -> str:
    """The text of the file of ``f``, which a pickle takes along; empty if it cannot be had."""
    return "".join(_lines_around(f))


def remember_source(text: str) -> None:
    """Finds the trees of functions in ``text`` whose own files cannot be had. Whether a tree is theirs, their code says."""
    if text:
        _pickled[text] = None


def _lines_around(f: types.FunctionType) -> Sequence[str]:
    code = f.__code__
    lines = linecache.getlines(code.co_filename, f.__globals__)
    if not lines and isinstance(source := f.__dict__.get("__source__"), str):  # as the package decorator leaves it
        return source.splitlines(keepends=True)
    if not lines:
        word = "lambda" if code.co_name == "<lambda>" else code.co_name
        for text in reversed(_pickled):
            found = text.splitlines(keepends=True)
            if any(word in line for line in found[code.co_firstlineno - 1 : code.co_firstlineno + _DECORATORS]):
                return found
    return lines


_parsing = locks.lock()


def _parse(text: str) -> ast.Module:
    """``ast.parse(text)``, in one thread at a time: Python 3.11 raises ``SystemError`` if the GIL goes to another parse in between."""
    with _parsing:
        return ast.parse(text)


#: lines from a function's first one, a decorator's, to that with its name
_DECORATORS = 20


def tree_from_block(f: types.FunctionType) -> ast.FunctionDef | None:
    """The ``def`` of ``f``, at its own lines and columns, parsed without the rest of its file; ``None`` if that fails.

    Where the block ends is told by indentation, which lines inside of strings and brackets may contradict: whether this is
    the function, its code says.
    """
    code = f.__code__
    lines = _lines_around(f)
    first = code.co_firstlineno
    if code.co_name == "<lambda>" or not 0 < first <= len(lines):
        return None
    block = _block(lines, first - 1)
    indented = lines[first - 1][:1] in (" ", "\t")
    before = "\n" * (first - 2) + "if 1:\n" if indented else "\n" * (first - 1)
    try:
        with quiet():  # Python gave the warnings when it first compiled the source
            (statement,) = _parse(before + "".join(block)).body
    except (SyntaxError, ValueError):
        return None
    if isinstance(statement, ast.If):
        if len(statement.body) != 1:
            return None
        (statement,) = statement.body
    return statement if isinstance(statement, ast.FunctionDef) and statement.name == code.co_name else None


def _block(lines: Sequence[str], first: int) -> Sequence[str]:
    """The lines from ``first`` on to the end of the definition that begins there, decorators included."""
    indent = _indent(lines[first])
    in_header = True
    for i in range(first, len(lines)):
        text = lines[i].strip()
        if in_header:
            # The header may go over several lines; it ends where a line ends with a colon.
            in_header = not text.partition("#")[0].rstrip().endswith(":") and not text.startswith("def ")
        elif text and not text.startswith(("#", ")")) and _indent(lines[i]) <= indent:
            return lines[first:i]
    return lines[first:]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def tree_from_file(f: types.FunctionType) -> Any:
    """The ``def`` or ``lambda`` of ``f``, at its own lines and columns; ``None`` if there is none or several could be it."""
    wanted = f.__code__
    functions, lambdas = _functions_of("".join(_lines_around(f)))
    if wanted.co_name == "<lambda>":
        # The innermost one in which all of the code stands; a conditional expression has no instruction of its own span.
        places = [p for p in map(_place, wanted.co_positions()) if p is not None]
        around = [(own, n) for own, n in lambdas if all(own[0] <= p[0] and p[1] <= own[1] for p in places)]
        found: list[Any] = [n for own, n in around if own[0] == max(o[0] for o, _ in around)]
    else:
        found = functions.get((wanted.co_name, wanted.co_firstlineno), [])
    return copy.deepcopy(found[0]) if len(found) == 1 else None


@functools.lru_cache(maxsize=32)
def _functions_of(source: str) -> tuple[dict[tuple[str, int], list[ast.FunctionDef]], list[tuple[Any, ast.Lambda]]]:
    """The functions of a file, by name and first line, and its lambdas, each with the place of its body; none if it does not parse."""
    functions: dict[tuple[str, int], list[ast.FunctionDef]] = {}
    lambdas = []
    try:
        with quiet():
            tree = _parse(source)
    except SyntaxError:
        return {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            lambdas.append((_place(_span(node.body)), node))
        elif isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            functions.setdefault((node.name, first), []).append(node)
    return functions, lambdas


def _place(span: tuple[Any, Any, Any, Any]) -> Any:
    """The first and the last line and column of a span; ``None`` for one of an instruction that stands for no code."""
    line, end_line, column, end_column = span
    return None if None in span or (column, end_column) == (0, 0) else ((line, column), (end_line, end_column))


def _span(node: ast.expr) -> tuple[Any, Any, int, Any]:
    """Where an expression stands, as :meth:`code.co_positions` says it."""
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
