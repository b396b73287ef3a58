"""Claiming: every operation goes to the first executor that takes it, or is opened into what it is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tnp.core.bodies import is_control_flow, map_bodies, through
from tnp.core.errors import NoExecutorError
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags, Symbol, map_proxies
from tnp.core.trace import Trace, tracing
from tnp.transforms.bridge import kind_for_user
from tnp.transforms.dce import may_raise, unread

__all__ = ["Fusable", "FusedSymbol", "Update", "claim", "is_view"]


class Fusable(BoundSymbol):
    """A bound symbol that a fusing executor will take as part of a region."""

    __slots__ = ("fuser",)

    def remade(self, *fields: Any) -> BoundSymbol:
        made = Fusable(*fields)
        made.fuser = self.fuser
        return made


class FusedSymbol(Symbol):
    """A compiled region as an operation. ``updates``: which of its outputs are in the memory of which inputs."""

    updates: Mapping[int, int]
    #: tells in lines of text what was compiled
    describe: Callable[[], list[str]]


def claim(trace: Trace, executors: Sequence[Any]) -> Trace:
    """The trace in operations of executors only.

    Raises :class:`NoExecutorError`, naming the operation, its inputs and who refused it, if nobody runs one.
    """
    new = Trace.like(trace)
    shown = _views_shown(trace)
    dead = unread(trace)
    renamed: dict[str, Any] = {}
    strict: list[bool] = []
    for bsym in trace.bound_symbols:
        asked = _of_kind(executors, shown[id(bsym)]) if id(bsym) in shown and is_view(bsym) else executors
        if bsym.sym.name == "enter_errstate":
            strict.append(any(x not in ("ignore", "warn") for x in bsym.kwargs.values()))
        elif bsym.sym.name == "exit_errstate":
            strict.pop()
        elif any(strict):  # compiled code reports no floating-point errors
            asked = [e for e in asked if not hasattr(e, "can_fuse")]
        is_dead = not dead.isdisjoint(p.name for p in bsym.flat_outputs)
        if is_dead and may_raise(bsym) and not is_control_flow(bsym):
            asked = [e for e in asked if not hasattr(e, "can_fuse")]  # a region computes what is read
        _claim_one(bsym, asked, new, renamed)
    if renamed:
        new.output = map_proxies(lambda p: renamed.get(p.name, p), new.output)
    return new


def _views_shown(trace: Trace) -> dict[int, str]:
    """The views that the user gets, or that those look at, by ``id``, and the kind of array that they are to the user.

    They are taken by the library of their language, which looks at the very memory that it looks at in eager: another
    library may have to copy, as torch does to reverse an order.
    """
    shown: dict[int, str] = {}
    names: set[str] = set()
    for bsym in reversed(trace.bound_symbols):
        if bsym.sym.name in ("python_return", "set_attribute"):
            names.update(p.name for p in bsym.flat_inputs if isinstance(p, TensorProxy))
        elif OpTags.VIEW in bsym.sym.tags and any(p.name in names for p in bsym.flat_outputs):
            arrays = [p for p in bsym.flat_outputs if isinstance(p, TensorProxy)]
            shown[id(bsym)] = kind_for_user(arrays[0])
            names.update(p.name for p in bsym.flat_inputs)
    return shown


def _of_kind(executors: Sequence[Any], kind: str) -> list[Any]:
    return [e for e in executors if e.array_kind in (None, kind) and not hasattr(e, "can_fuse")]


def is_view(bsym: BoundSymbol) -> bool:
    """Whether all that a symbol does is to look at its argument's memory."""
    if bsym.sym.is_prim:
        return OpTags.VIEW in bsym.sym.tags
    # A store to all of an array, turned round, is made of nothing but views of the value.
    return bool(bsym.subsymbols) and OpTags.UPDATE not in bsym.sym.tags and all(map(is_view, bsym.subsymbols))


def _fusable(bsym: BoundSymbol, fuser: Any) -> Fusable:
    made = Fusable(bsym.sym, bsym.args, bsym.kwargs, bsym.output, bsym.subsymbols, bsym.location)
    made.fuser = fuser
    return made


def _claim_one(bsym: BoundSymbol, executors: Sequence[Any], new: Trace, renamed: dict[str, Any]) -> None:
    """Claims ``bsym`` into ``new``. ``renamed`` are results that turned out to be other values, by name."""
    if renamed:
        bsym = bsym.substitute(renamed)
    if OpTags.PROGRAM in bsym.sym.tags or bsym.sym.executor is not None:
        new.bound_symbols.append(bsym)
        return
    if is_control_flow(bsym):
        for executor in executors:
            if hasattr(executor, "can_fuse") and executor.can_fuse(bsym):
                new.bound_symbols.append(_fusable(bsym, executor))
                return
        # No executor takes it whole: what is in it is claimed as any program is.
        new.bound_symbols.append(map_bodies(lambda body: through(lambda t: claim(t, executors), body, new), bsym))
        return
    refused: list[str] = []
    for executor in executors:
        can_fuse = getattr(executor, "can_fuse", None)
        if can_fuse is not None:
            if can_fuse(bsym):
                new.bound_symbols.append(_fusable(bsym, executor))
                return
            refused.append(executor.name)
            continue
        implementation = executor.implementation_of(bsym.sym)
        if implementation is None:
            continue
        if implementation.checker is not None and not implementation.checker(*bsym.args, **bsym.kwargs):
            refused.append(executor.name)
            continue
        if implementation.opens:
            break
        if implementation.execution_transform is not None:
            _transform(bsym, implementation.execution_transform, executors, new, renamed)
            return
        op = implementation.op or implementation.in_place
        if op is None:
            continue
        missing = bsym.sym.tags - op.tags - {OpTags.TAKES_OUT}
        if missing:
            op.tags = op.tags | missing  # what runs an effect has that effect
        claimed = bsym.replace(sym=op)
        if implementation.in_place is not None:
            claimed = Update(op, bsym.args, bsym.kwargs, bsym.output, bsym.subsymbols, bsym.location)
        new.bound_symbols.append(claimed)
        return
    if bsym.subsymbols:
        for sub in bsym.subsymbols:
            if sub.location is None:
                sub.location = bsym.location
            _claim_one(sub, executors, new, renamed)
        return
    inputs = {p.name for p in bsym.flat_inputs}
    if all(p.name in inputs for p in bsym.flat_outputs) and bsym.flat_outputs:
        return
    raise NoExecutorError(_message(bsym, executors, refused))


class Update(BoundSymbol):
    """A claimed update: ``sym`` changes its first argument's memory, and the output is that memory afterwards."""

    __slots__ = ()


def _transform(
    bsym: BoundSymbol, transform: Any, executors: Sequence[Any], new: Trace, renamed: dict[str, Any]
) -> None:
    """Runs an execution transform; what it records is claimed in its turn, and its results take the old names.

    A result that the transform did not make (an argument, a number) or returns twice stands for the old one from here on.
    """
    scratch = Trace.like(new)
    scratch.bound_symbols.clear()
    with tracing(scratch):
        result = transform(*bsym.args, **bsym.kwargs)
    new.take_names(scratch)
    names: dict[str, Any] = {}
    recorded_names = {p.name for b in scratch.bound_symbols for p in b.flat_outputs}
    recorded_names -= {p.name for p in bsym.flat_inputs}
    for made, old in zip(_flat(result), _flat(bsym.output)):
        if not isinstance(old, Proxy) or (isinstance(made, Proxy) and made.name == old.name):
            continue
        if isinstance(made, Proxy) and made.name in recorded_names and made.name not in names:
            names[made.name] = old
        else:
            renamed[old.name] = names.get(made.name, made) if isinstance(made, Proxy) else made
    recorded = [b.substitute(names) for b in scratch.bound_symbols]
    if recorded and not recorded[-1].subsymbols:
        recorded[-1] = recorded[-1].replace(subsymbols=bsym.subsymbols)
    for made in recorded:
        made.location = bsym.location
        if made.sym is bsym.sym:
            raise NoExecutorError(f"the execution transform of {bsym.sym.qualified_name} calls the operation itself")
        _claim_one(made, executors, new, renamed)


def _flat(x: Any) -> list[Any]:
    return [z for y in x for z in _flat(y)] if isinstance(x, (tuple, list)) else [x]


def _message(bsym: BoundSymbol, executors: Sequence[Any], refused: list[str]) -> str:
    inputs = ", ".join(f"{p.name}: {p.type_string()}" for p in bsym.flat_inputs if isinstance(p, TensorProxy))
    lines = [f"Could not find executor for bound symbol {bsym}"]
    lines.append(f"  inputs: {inputs or 'none'}")
    lines.append(f"  executors asked: {', '.join(e.name for e in executors)}")
    if refused:
        lines.append(f"  refused by their checkers: {', '.join(refused)}")
    if bsym.location is not None:
        lines.append(f"  at {bsym.location}")
    return "\n".join(lines)
