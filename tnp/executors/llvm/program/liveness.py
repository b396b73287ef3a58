"""Liveness in a body: its operations in order, and the last read of each name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tnp.core import prims
from tnp.core.proxies import Proxy
from tnp.core.subtraces import bodies_of, is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags, flat_proxies
from tnp.core.views import update
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.rules.decompositions import has_other_signs

__all__ = ["Block", "steps_of"]


def steps_of(bsyms: Iterable[BoundSymbol]) -> Iterator[BoundSymbol]:
    """The prims that bound symbols are made of; updates, loops, branches and warnings stay what they are."""
    for b in bsyms:
        if b.sym is update or (b.sym.is_prim and prims.registry.get(b.sym.name) is b.sym):
            yield b
        elif b.subsymbols and not b.sym.is_prim:
            steps = list(steps_of(b.subsymbols))
            if has_other_signs(b, steps):
                raise Refused(f"{b.sym.qualified_name} gives vectors with other signs than the code here")
            yield from steps
        elif OpTags.WARNS in b.sym.tags:
            yield b
        elif b.flat_outputs and {p.name for p in b.flat_outputs} <= {p.name for p in b.flat_inputs}:
            pass  # it gives back its argument
        else:
            raise Refused(f"{b.sym.qualified_name} is no prim")


class Block:
    """A body whose code is being written. ``position`` is the step that it has come to."""

    def __init__(self, steps: Sequence[BoundSymbol], results: Any, *, repeats: bool) -> None:
        self.steps = steps
        #: it runs several times: what it reads from outside is needed until its end
        self.repeats = repeats
        self.position = -1
        self.last: dict[str, int] = {}
        self.count: dict[str, int] = {}
        #: names that bodies inside of it read, and those that views look at
        self.inside: set[str] = set()
        self.viewed: set[str] = set()
        for i, b in enumerate(steps):
            for p in _read(b):
                self._use(p, i)
            if OpTags.VIEW in b.sym.tags:
                self.viewed.update(p.name for p in b.flat_inputs)
            if is_control_flow(b):
                self.inside.update(p.name for body in bodies_of(b) for p in body.captures)
        for p in flat_proxies(results):
            self._use(p, len(steps))

    def _use(self, p: Proxy, position: int) -> None:
        self.last[p.name] = position
        self.count[p.name] = self.count.get(p.name, 0) + 1

    def needs_later(self, name: str) -> bool:
        """Whether a step to come, or the result, reads the name."""
        return self.last.get(name, -1) > self.position


def _read(b: BoundSymbol) -> list[Proxy]:
    """What a step reads the value of. Memory that a value is stored into is no value."""
    return flat_proxies(b.args[0]) if b.sym is prims.copy_ else list(b.flat_inputs)
