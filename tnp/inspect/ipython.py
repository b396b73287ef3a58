"""The IPython extension, ``%load_ext tnp``: the magics ``%%tnp`` and ``%tnp_explain``. IPython is imported by those who load it."""

from __future__ import annotations

import ast
import shlex
from typing import Any

from tnp.api import jit, jitted_behind
from tnp.inspect.explain import Explanation, explain

__all__ = ["load_ipython_extension"]

#: what the decorator is called in a cell's code
_JIT = "__tnp_jit__"


def load_ipython_extension(shell: Any) -> None:
    """Gives an IPython ``shell`` the magics; ``%load_ext tnp`` calls it.

    ``%%tnp`` runs a cell with its functions jitted, those that it defines at its top and that are not decorated. Options stand behind it as
    arguments of :func:`tnp.jit` do: ``%%tnp strict=True, executors=["numpy"]``. ``%tnp_explain f`` shows :func:`tnp.explain` of ``f``;
    ``%tnp_explain f(x, n)`` measures that call.

    An example::

        %load_ext tnp
        %tnp_explain step(u, v, 0.1, 10)
    """

    def tnp(line: str, cell: str) -> None:
        _run_cell(shell, line, cell)

    def tnp_explain(line: str) -> Explanation:
        return _explained(shell, line)

    tnp.__doc__ = "%%tnp [options of tnp.jit]: runs a cell with the functions that it defines jitted."
    tnp_explain.__doc__ = "%tnp_explain f, or %tnp_explain f(arguments): what a jitted function was compiled to."
    shell.register_magic_function(tnp, "cell", "tnp")
    shell.register_magic_function(tnp_explain, "line", "tnp_explain")


def _run_cell(shell: Any, line: str, cell: str) -> None:
    """Runs a cell, in which functions get a decorator. The code is put where IPython finds the source of cells."""
    options: dict[str, Any] = shell.ev(f"dict({line})") if shlex.split(line) else {}
    text = "\n" + shell.transform_cell(cell)  # the magic is the first line
    running = max(getattr(shell.compile, "_filename_map", {}).values(), default=shell.execution_count)
    name = shell.compile.cache(text, running)
    tree = shell.compile.ast_parse(text, filename=name)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            node.decorator_list = [ast.copy_location(ast.Name(_JIT, ast.Load()), node)]
    shell.user_ns[_JIT] = jit(**options)
    try:
        _run(tree.body, name, shell.user_ns)
    finally:
        del shell.user_ns[_JIT]


def _run(statements: list[ast.stmt], name: str, scope: dict[str, Any]) -> None:
    """Runs statements, and shows the value of the last one if it is an expression."""
    shown = statements[-1:] if statements and isinstance(statements[-1], ast.Expr) else []
    before = statements[: len(statements) - len(shown)]
    exec(compile(ast.Module(before, []), name, "exec"), scope)
    exec(compile(ast.Interactive(list(shown)), name, "single"), scope)


def _explained(shell: Any, line: str) -> Explanation:
    """Of a function, or of a call that is measured."""
    tree = ast.parse(line.strip(), mode="eval").body
    if not isinstance(tree, ast.Call) or not _is_jitted(shell, tree.func):
        return explain(shell.ev(line))
    shell.user_ns[_JIT] = lambda *args, **kwargs: (args, kwargs)
    try:
        packed = ast.Call(ast.Name(_JIT, ast.Load()), tree.args, tree.keywords)
        args, kwargs = shell.ev(ast.unparse(packed))
    finally:
        del shell.user_ns[_JIT]
    return explain(shell.ev(ast.unparse(tree.func)), *args, **kwargs)


def _is_jitted(shell: Any, node: ast.expr) -> bool:
    """Whether an expression is a jitted function, and its call not something that gives one (``tnp.jit(f)``)."""
    try:
        jitted_behind(shell.ev(ast.unparse(node)))
    except TypeError:
        return False
    return True
