"""Results of loops that are arrays of their own.

``for …: if better: x = new`` may end with the array that ``x`` was before the loop, and a caller who has that array gets
the very object. Where nobody else has it, a copy is as good. Native code keeps what a loop carries in memory of its own,
so it can compile the loop then, and the copy is the store to that memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tnp.core import languages, prims
from tnp.core.prims.control_flow import stored
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.subtraces import Body, bodies_of, carried_with_inits
from tnp.core.symbol import BoundSymbol, OpTags, flat_proxies, leaves_of
from tnp.core.trace import Trace, tracing
from tnp.core.views import update
from tnp.transforms.claim import fuses

__all__ = ["own_results"]

_LOOPS = (prims.for_loop, prims.while_loop)


def own_results(trace: Trace, executors: Sequence[Any]) -> Trace:
    """``trace`` with copies at the end of the iterations of such loops, where an executor compiles them then."""
    fusers = [e for e in executors if e.is_fusing]
    if not fusers or not any(b.sym in _LOOPS for b in trace.bound_symbols):
        return trace
    last = {p.name: i for i, b in enumerate(trace.bound_symbols) for p in b.flat_inputs}
    own: set[str] = set()
    lines = []
    for i, b in enumerate(trace.bound_symbols):
        dying = {name for name in own if last.get(name) == i}
        copied = _with_copies(trace, b, dying) if b.sym in _LOOPS else b
        lines.append(copied if copied is not b and any(fuses(e, copied) for e in fusers) else b)
        made = {
            p.name for p in b.flat_outputs if _makes(b, p) or (b.sym is prims.cond and _is_own(p.name, (b,), dying))
        }
        if not made or len(made) < len(b.flat_outputs):  # others may have them now
            own.difference_update(p.name for p in b.flat_inputs)
        own |= made
    return trace if all(a is b for a, b in zip(lines, trace.bound_symbols)) else Trace.like(trace, lines)


def _makes(b: BoundSymbol, p: Proxy) -> bool:
    """Whether an operation makes the memory of an array."""
    if not isinstance(p, TensorProxy) or b.sym is update or any(p.name == q.name for q in b.flat_inputs):
        return False
    made = [leaf for leaf in leaves_of(b) if any(p.name == q.name for q in leaf.flat_outputs)]
    apart = (OpTags.VIEW, OpTags.CONTROL_FLOW, OpTags.PROGRAM, OpTags.UPDATE, OpTags.EFFECT)
    return bool(made) and made[-1].sym.is_prim and not any(made[-1].has_tag_inside(tag) for tag in apart)


def _with_copies(trace: Trace, loop: BoundSymbol, own: set[str]) -> BoundSymbol:
    """``loop`` with copies of what it carries, of what begins as one of the arrays ``own``, which nothing else has."""
    body: Body = bodies_of(loop)[-1]
    carried = carried_with_inits(loop)
    written = stored(loop)
    inits = Counter(init.name for _, init in carried if isinstance(init, Proxy))
    private = {
        p.name
        for p, init in carried
        if isinstance(init, TensorProxy) and init.name in own and inits[init.name] == 1 and p.name not in written
    }
    counts = Counter(p.name for p in flat_proxies(body.results))
    results, copies = list(body.results), []
    for k, (p, _) in enumerate(carried):
        r = results[k]
        if p.name not in private or not isinstance(r, TensorProxy) or not r.ndim or counts[r.name] > 1:
            continue
        made = next((b for b in body.bound_symbols if any(r.name == q.name for q in b.flat_outputs)), None)
        if made is None or made.sym is not prims.cond or not _is_own(r.name, body.bound_symbols, private):
            continue
        trace.push_body()
        with tracing(trace), languages.language_context(r.lang):
            results[k] = prims.clone(r)
        for line in trace.pop_body():
            line.location = loop.location
            copies.append(line)
    if not copies:
        return loop
    made_body = Body(body.args, (*body.bound_symbols, *copies), results)
    args = tuple(made_body if a is body else a for a in loop.args)
    return loop.remade(loop.sym, args, loop.kwargs, loop.output, loop.subsymbols, loop.location)


def _is_own(name: str, lines: Sequence[BoundSymbol], private: set[str]) -> bool:
    """Whether an array in the body of a loop is one of those that are private, or made there."""
    if name in private:
        return True
    made = next((b for b in lines if any(name == p.name for p in b.flat_outputs)), None)
    if made is None or made.sym is not prims.cond:
        return made is not None and any(p.name == name and _makes(made, p) for p in made.flat_outputs)
    bodies = bodies_of(made)
    k = next(k for k, p in enumerate(made.output) if p.name == name)
    inits = {p.name: init for p, init in carried_with_inits(made)}
    for body in bodies:
        known = {n for n, init in inits.items() if isinstance(init, Proxy) and _is_own(init.name, lines, private)}
        r = body.results[k]
        inside = isinstance(r, Proxy) and _is_own(r.name, body.bound_symbols, known)
        if not inside and not (isinstance(r, Proxy) and r.name not in inits and _is_own(r.name, lines, private)):
            return False
    return True
