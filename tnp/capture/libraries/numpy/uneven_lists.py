"""Lists of arrays of several lengths at the ends of a program: what its prologue makes of one, and how it returns one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tnp.capture.objects.uneven_lists import UnevenList
from tnp.core import prims
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.subtraces import bodies_of, with_parts
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.runtime.uneven_lists import measured, parted

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs

__all__ = ["UnevenArrays", "copy_no_rows"]


def copy_no_rows(inputs: Inputs, statements: Sequence[BoundSymbol], results: Iterable[Proxy]) -> None:
    """The prologue copies no rows of a list if the program asks for lengths alone."""
    for container in inputs.containers:
        x = container.made
        if type(x) is UnevenList and not _reads_elements(x.rows.storage.value.name, statements, results):
            measure = inputs.prologue.constant(measured, "measured")
            inputs.prologue.let_be(x.made, f"{measure}({x.source.expression})")


def _reads_elements(name: str, statements: Sequence[BoundSymbol], results: Iterable[Proxy]) -> bool:
    """Whether a program does more with an array than to ask for the lengths of its parts."""
    views = {name}

    def has_some(values: Any) -> bool:
        return any(isinstance(p, Proxy) and p.name in views for p in values)

    for b in (part for statement in statements for part in with_parts(statement)):
        if bodies := bodies_of(b):
            if has_some(b.args) or any(has_some(body.results) for body in bodies):
                return True
        elif not b.subsymbols and has_some(b.flat_inputs):
            if OpTags.VIEW in b.sym.tags:
                views.update(p.name for p in b.flat_outputs)
            elif b.sym is not prims.size:
                return True
    return has_some(results)


class UnevenArrays:
    """A list that the program returns, of arrays of several lengths, made at each call of the rows of one array."""

    __slots__ = ("offsets", "rows")

    def __init__(self, rows: TensorProxy, offsets: TensorProxy) -> None:
        self.rows, self.offsets = rows, offsets

    def __tnp_children__(self) -> list[Any]:
        return [self.rows, self.offsets]

    def __tnp_rebuild__(self, children: list[Any]) -> UnevenArrays:
        return UnevenArrays(*children)

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        from tnp.core.printing import literal

        context["_parted"] = parted
        return f"_parted({literal(self.rows, context)}, {literal(self.offsets, context)})"
