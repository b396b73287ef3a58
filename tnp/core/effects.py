"""Effects of programs: everything except computing results."""

from __future__ import annotations

from collections.abc import Iterable

from tnp.core import prims
from tnp.core.devices import DeviceType
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import bodies_of, carried_with_inits, is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.core.trace import Trace
from tnp.core.views import update

__all__ = ["acts_before", "acts_inside", "acts_on_the_outside", "draws_again"]


#: what is done at the end, and what is put back after an error
_HARMLESS = frozenset((OpTags.ASSIGNS, OpTags.ENTERS_ERRSTATE, OpTags.EXITS_ERRSTATE))
#: effects that raise, and do nothing else
_RAISING = (prims.assert_, prims.check_bound)


def acts_on_the_outside(trace: Trace, *, warnings: bool = True, draws: bool = True) -> bool:
    """Whether a program writes to the caller's memory, prints, or draws random numbers: after an error it may not run again. Attributes and
    items are assigned when nothing can raise any more, and so are arrays where the trace says so. ``warnings``: whether to warn counts;
    ``draws``: whether draws from PyTorch's generator do, which can be made again (:func:`draws_again`)."""
    lines: Iterable[BoundSymbol] = trace.bound_symbols
    if trace.writes_last:
        lines = (b for b in lines if b.sym is not prims.copy_ and OpTags.NOTES_WRITE not in b.sym.tags)
    if not draws:
        lines = (b for b in lines if not _is_drawn_again(b))
    return _any_acts(lines, set(), warnings)


def draws_again(trace: Trace) -> bool:
    """Whether a program that catches errors draws from PyTorch's generator: its state is put back where the call starts over."""
    return trace.catches and any(map(_is_drawn_again, trace.bound_symbols))


def _is_drawn_again(b: BoundSymbol) -> bool:
    """Whether an operation draws from PyTorch's own generator for the CPU, and does nothing else that is seen."""
    if OpTags.RANDOM not in b.sym.tags or not (isinstance(b.sym.id, str) and b.sym.id.startswith("torch_opaque.")):
        return False
    tensors = [p for p in (*b.flat_inputs, *b.flat_outputs) if not isinstance(p, NumberProxy)]
    return all(isinstance(p, TensorProxy) and p.device.devicetype is DeviceType.CPU for p in tensors)


def acts_before(trace: Trace, count: int) -> bool:
    """The same of the first operations of a trace."""
    return _any_acts(trace.bound_symbols[:count], set(), warnings=True)


def acts_inside(trace: Trace, operation: BoundSymbol) -> bool:
    """The same of an operation of a trace, except warnings."""
    own: set[str] = set()
    for b in trace.bound_symbols:
        acts = _acts(b, own, False)
        if b is operation:
            return acts
    raise AssertionError(f"not an operation of the trace: {operation}")


def _any_acts(bsyms: Iterable[BoundSymbol], own: set[str], warnings: bool) -> bool:
    """Whether one of some operations acts on the outside, where the program made the arrays ``own``; adds what these make."""
    return any(_acts(b, own, warnings) for b in bsyms)


def _acts(b: BoundSymbol, own: set[str], warnings: bool) -> bool:
    if not _HARMLESS.isdisjoint(b.operation.tags) or b.sym in _RAISING:
        return False
    if not warnings and OpTags.WARNS in b.operation.tags:
        return False
    if b.sym is prims.copy_:
        if b.args[1].name not in own:
            return True
    elif is_control_flow(b):
        carried = carried_with_inits(b)
        bodies = bodies_of(b)
        own.update(p.name for p, init in carried if isinstance(init, Proxy) and init.name in own)
        for body in bodies:  # a branch has other names for what it writes than for what it leaves
            inside = body.args[len(body.args) - len(carried) :] if carried else ()
            own.update(p.name for p, (_, x) in zip(inside, carried) if isinstance(x, Proxy) and x.name in own)
        return any(_any_acts(body.bound_symbols, own, warnings) for body in bodies)
    elif OpTags.EFFECT in b.operation.tags or OpTags.RANDOM in b.operation.tags:
        return True
    elif b.subsymbols and b.sym is not update:
        return _any_acts(b.subsymbols, own, warnings)
    if b.sym is not prims.unpack_trivial and OpTags.VIEW not in b.operation.tags:
        own.update(p.name for p in b.flat_outputs)
    return False
