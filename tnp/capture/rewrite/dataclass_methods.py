"""The source of the methods that :func:`dataclasses.dataclass` writes, which no file has: it is told from their code.

A text made here is the method's only if it compiles to the same instructions (:mod:`~tnp.capture.rewrite.code_of_tree` compares).
"""

from __future__ import annotations

import ast
import dis
import types
from collections.abc import Iterator

__all__ = ["is_of_dataclass", "trees_of_dataclass_method"]

_OPERATORS = {"__eq__": "==", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
_VERBS = {"__setattr__": ("assign to", "name, value"), "__delattr__": ("delete", "name")}


def is_of_dataclass(code: types.CodeType) -> bool:
    """Whether a function is a method that :func:`dataclasses.dataclass` wrote."""
    return code.co_qualname.startswith("__create_fn__.")


def trees_of_dataclass_method(f: types.FunctionType) -> Iterator[ast.FunctionDef]:
    """What the ``def`` of a method of a dataclass may be."""
    code = f.__code__
    if not is_of_dataclass(code):
        return
    for body in _bodies(code):
        lines = "".join(f" {line}\n" for line in body)
        (statement,) = ast.parse(f"def {code.co_name}({_parameters(f)}):\n{lines}").body
        if isinstance(statement, ast.FunctionDef):
            yield statement


def _parameters(f: types.FunctionType) -> str:
    code, defaults, of_keywords = f.__code__, f.__defaults__ or (), f.__kwdefaults__ or {}
    count = code.co_argcount
    names = list(code.co_varnames[: count + code.co_kwonlyargcount])
    written = [
        name + ("=None" if count - len(defaults) <= i < count or name in of_keywords else "")
        for i, name in enumerate(names)
    ]
    if code.co_kwonlyargcount:
        written.insert(count, "*")
    return ", ".join(written)


def _bodies(code: types.CodeType) -> Iterator[list[str]]:
    """The statements of which the body may consist; versions of Python differ."""
    name, read = code.co_name, [i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_ATTR"]
    fields = list(dict.fromkeys(n for n in read if n not in ("__class__", "__setattr__", "__delattr__")))
    if name == "__init__":
        yield _init(code)
    elif name == "__hash__":
        yield [f"return hash({_tuple('self', fields)})"]
    elif name in _OPERATORS:
        head, operator, end = "if other.__class__ is self.__class__:", _OPERATORS[name], "return NotImplemented"
        yield [head, f" return {_tuple('self', fields)}{operator}{_tuple('other', fields)}", end]
        if name == "__eq__":  # of Python 3.13
            terms = " and ".join(f"self.{n}==other.{n}" for n in fields) or "True"
            yield ["if self is other:", " return True", head, f" return {terms}", end]
    elif name in _VERBS:
        verb, arguments = _VERBS[name]
        names = [c for c in code.co_consts if type(c) is tuple and all(type(n) is str for n in c)]
        error = next(
            (n for n in (*code.co_freevars, *code.co_names) if "FrozenInstanceError" in n), "FrozenInstanceError"
        )
        of_class = next(
            (n for n in code.co_freevars if n.strip("_").removeprefix("dataclass_") in ("cls", "type")), "cls"
        )
        for found in (*names, ()):
            listed = f"({''.join(f'{n!r},' for n in found)})"
            yield [
                f"if type(self) is {of_class} or name in {listed}:",
                f' raise {error}(f"cannot {verb} field {{name!r}}")',
                f"super({of_class}, self).{name}({arguments})",
            ]


def _tuple(owner: str, names: list[str]) -> str:
    return f"({''.join(f'{owner}.{n},' for n in names)})"


def _init(code: types.CodeType) -> list[str]:
    owner, *_ = code.co_varnames
    parameters = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    builtins = next((n for n in code.co_freevars if "builtins_object" in n), "")
    made = next((n for n in code.co_freevars if "HAS_DEFAULT_FACTORY" in n), "")
    instructions = list(dis.get_instructions(code))
    body = []

    def value(name: str) -> str:
        default = next((n for n in code.co_freevars if n in (f"_dflt_{name}", f"__dataclass_dflt_{name}__")), None)
        if default is None:
            return name
        if name in parameters:
            return f"{default}() if {name} is {made} else {name}"
        at = next(i for i, x in enumerate(instructions) if x.argval == default and x.opname.startswith("LOAD"))
        return f"{default}()" if instructions[at + 1].opname in ("PRECALL", "CALL") else default

    for at, i in enumerate(instructions):
        if i.opname == "STORE_ATTR":
            body.append(f"{owner}.{i.argval}={value(i.argval)}")
        elif builtins and i.opname == "LOAD_CONST" and type(i.argval) is str:
            body.append(f"{builtins}.__setattr__({owner},{i.argval!r},{value(i.argval)})")
        elif i.argval == "__post_init__":
            given = [x.argval for x in instructions[at + 1 :] if x.opname == "LOAD_FAST"]
            body.append(f"{owner}.__post_init__({','.join(given)})")
    return body or ["pass"]
