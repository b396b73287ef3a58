"""Prims for the structure of programs: arguments, results, ``del``, and effects."""

from __future__ import annotations

from typing import Any

from tnp.core.prims.base import check, check_tensor, own_prim, prim
from tnp.core.printing import literal
from tnp.core.proxies import ObjectProxy, Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags

__all__ = [
    "add_items", "copy_", "python_del", "python_return", "require", "set_attribute", "set_items", "store_attribute", "unpack_trivial",
]  # fmt: skip


def _print_unpack(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    p = bsym.output
    return f'# {p.name}: "{p.type_string()}"'


def _print_return(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    return f"return {literal(bsym.args[0], context)}"


def _print_del(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    return "del " + ", ".join(p.name for p in bsym.args)


def _nothing(*args: Any) -> None:
    """Part of how a program is written; computes nothing."""


unpack_trivial = own_prim("unpack_trivial", _nothing, (OpTags.PROGRAM,), _print_unpack)
python_return = own_prim("python_return", _nothing, (OpTags.PROGRAM, OpTags.RETURNS), _print_return)
python_del = own_prim("python_del", _nothing, (OpTags.PROGRAM,), _print_del)


@prim(OpTags.EFFECT)
def copy_(source: TensorProxy, destination: TensorProxy, /) -> TensorProxy:
    """Stores ``source`` into the memory of ``destination``, an argument of the program, and returns that."""
    check_tensor(source, "copy_")
    check_tensor(destination, "copy_")
    check(source.dtype is destination.dtype, lambda: f"copy_ of {source.dtype} into {destination.dtype}", TypeError)
    return TensorProxy(like=destination, lang=destination.lang)


@prim(OpTags.EFFECT, OpTags.ASSIGNS)
def set_attribute(obj: Proxy, name: str, value: Any, /) -> None:
    """``obj.name = value``, on an object that was an argument of the program or reached from one."""


@prim(OpTags.EFFECT, OpTags.ASSIGNS)
def store_attribute(obj: Proxy, name: str, value: Any, /) -> None:
    """``object.__setattr__(obj, name, value)``, on such an object: the ``__setattr__`` of its class has been part of the program."""


@prim(OpTags.EFFECT, OpTags.ASSIGNS)
def add_items(container: ObjectProxy, items: Any, /) -> None:
    """``container.extend(items)`` of a list, ``container.update(items)`` of a dict, which were arguments or reached from one."""


@prim(OpTags.EFFECT, OpTags.ASSIGNS)
def set_items(container: ObjectProxy, items: Any, /) -> None:
    """A list or a dict, an argument or reached from one, holds ``items`` from now on, and nothing else. An array of objects holds ``items`` at
    the indices that are their keys."""


@prim(OpTags.VIEW, OpTags.MAY_RAISE)
def require(a: TensorProxy, condition: TensorProxy, error: type[Exception], message: str, /) -> TensorProxy:
    """``a`` itself; raises ``error(message)`` at run time unless every element of the bool array ``condition`` is true. If ``error`` is a
    class of warnings, it warns."""
    check_tensor(a, "require")
    check(condition.dtype.kind == "b", lambda: f"require takes a bool condition, not {condition.dtype}", TypeError)
    return TensorProxy(like=a, scalar=a.scalar)
