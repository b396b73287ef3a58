"""Arithmetic on Python numbers, as Python does it."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import numpy as np

from tnp.core import prims
from tnp.core.elementwise_table import ROWS
from tnp.core.prims.control_flow import unbound_error
from tnp.core.prims.elementwise import number_function
from tnp.core.printing import literal, name_of
from tnp.core.proxies import is_number
from tnp.core.symbol import BoundSymbol
from tnp.executors.base import OperatorExecutor
from tnp.executors.registry import register_executor
from tnp.runtime.cells import set_elements

executor = OperatorExecutor("python", version="builtin")
register_executor(executor)

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floor_divide": "//", "remainder": "%", "pow": "**",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "left_shift": "<<", "right_shift": ">>",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_PREFIX = {"neg": "-", "positive": "+", "bitwise_not": "~", "logical_not": "not "}


def _numbers_only(*args: Any) -> bool:
    return all(is_number(a) for a in args)


def _printer(name: str) -> Any:
    def infix(bsym: BoundSymbol, context: dict[str, Any]) -> str:
        a, b = (literal(x, context) for x in bsym.args)
        left = f"({a})" if a.startswith("-") else a  # a power binds more tightly than a sign
        return f"{bsym.output.name} = {left} {_INFIX[name]} {b}"

    def prefix(bsym: BoundSymbol, context: dict[str, Any]) -> str:
        return f"{bsym.output.name} = {_PREFIX[name]}{literal(bsym.args[0], context)}"

    return infix if name in _INFIX else prefix if name in _PREFIX else None


for _row in ROWS:
    _function = number_function(_row)
    if _function is not None:
        _prim = prims.registry[_row.name]
        _name = _row.name if _printer(_row.name) else f"python_{_row.name}"
        _op = executor.register_operator(_name, meta=_prim.meta, fn=_function, printer=_printer(_row.name))
        executor.register_implementation(_prim, _op, checker=_numbers_only)


def _implement(name: str, function: Any, printer: Any) -> None:
    prim = prims.registry[name]
    op = executor.register_operator(name, meta=prim.meta, fn=function, tags=prim.tags, printer=printer)
    executor.register_implementation(prim, op)


def _print_conversion(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    number, python_type = bsym.args
    return f"{bsym.output.name} = {python_type.__name__}({literal(number, context)})"


_implement("convert_number", lambda a, python_type: python_type(a), _print_conversion)


def _print_size(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    a, dim = bsym.args
    return f"{bsym.output.name} = {literal(a, context)}.shape[{dim}]"


_implement("size", lambda a, dim: a.shape[dim], _print_size)


def _print_set_attribute(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    obj, name, value = bsym.args
    return f"{literal(obj, context)}.{name} = {literal(value, context)}"


_implement("set_attribute", setattr, _print_set_attribute)


def _print_store_attribute(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    obj, name, value = bsym.args
    return f"object.__setattr__({literal(obj, context)}, {name!r}, {literal(value, context)})"


_implement("store_attribute", object.__setattr__, _print_store_attribute)


def _add_items(container: Any, items: Any) -> None:
    if isinstance(container, (list, deque)):
        container.extend(items)
    elif isinstance(container, Counter):  # its own ``update`` adds up
        dict.update(container, items)
    else:
        container.update(items)


def _print_add_items(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    container, items = (literal(x, context) for x in bsym.args)
    kind = bsym.args[0].python_type
    if kind is Counter:
        return f"dict.update({container}, {items})"
    return f"{container}.{'extend' if kind in (list, deque) else 'update'}({items})"


_implement("add_items", _add_items, _print_add_items)


def _set_items(container: Any, items: Any) -> None:
    if isinstance(container, list):
        container[:] = items
    elif isinstance(container, np.ndarray):
        set_elements(container, items)
    else:
        container.clear()
        _add_items(container, items)


def _print_set_items(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    container, items = (literal(x, context) for x in bsym.args)
    if bsym.args[0].python_type is list:
        return f"{container}[:] = {items}"
    if bsym.args[0].python_type is np.ndarray:
        return f"{name_of(set_elements, context)}({container}, {items})"
    return f"{container}.clear(); {_print_add_items(bsym, context)}"


_implement("set_items", _set_items, _print_set_items)


def _print_assert(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    condition, *message = bsym.args
    said = ", ".join(literal(x, context) for x in message)
    return f"if not {literal(condition, context)}: raise AssertionError({said})"


_implement("assert_", lambda *args: None, _print_assert)


def _print_check_bound(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    is_bound, *read = bsym.args
    error = literal(unbound_error, context)
    return f"if not {literal(is_bound, context)}: raise {error}({', '.join(map(repr, read))})"


_check_bound = executor.register_operator(
    "check_bound",
    meta=prims.registry["check_bound"].meta,
    fn=lambda *args: None,
    tags=prims.registry["check_bound"].tags,
    printer=_print_check_bound,
)
executor.register_implementation(prims.registry["check_bound"], _check_bound)
