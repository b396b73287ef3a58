"""The table of lowering rules of a program's operations, by the name of the prim.

The modules of this folder fill it. A rule made with :func:`rule` takes the values of the operation's arguments and
returns the value of its output; a rule made with :func:`step` emits the whole operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tnp.core import prims
from tnp.core.symbol import BoundSymbol

if TYPE_CHECKING:
    from tnp.executors.llvm.program.lowering import Program

__all__ = ["RULES", "rule", "step"]

RULES: dict[str, Callable[[Program, BoundSymbol], None]] = {}


def step(*names: str) -> Callable[[Any], Any]:
    """Decorates ``f(program, bound_symbol)``, which writes the code of an operation and binds its outputs."""

    def decorate(f: Any) -> Any:
        for name in names:
            assert name in ("update", "block") or name in prims.registry
            RULES[name] = f
        return f

    return decorate


def rule(*names: str) -> Callable[[Any], Any]:
    """Decorates ``f(program, output, *args, **kwargs)``, which gives the value of ``output``."""

    def decorate(f: Any) -> Any:
        def run(p: Program, b: BoundSymbol) -> None:
            args = [p.resolve(a) for a in b.args]
            kwargs = {k: p.resolve(v) for k, v in b.kwargs.items()}
            p.bind(b.output, f(p, b.output, *args, **kwargs))

        step(*names)(run)
        return f

    return decorate
