"""Results of loops that are arrays of their own.

``for …: if better: x = new`` may end with the array that ``x`` was before the loop, and a caller who has that array gets
the very object. Where nobody else has it, a copy is as good. Where somebody may have it, such as an argument, the loop
tells whether ``x`` was bound to another one, and is followed by the choice. Native code keeps what a loop carries in
memory of its own, so it can compile the loop then, and the copy is the store to that memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tnp.core import languages, prims, symbols
from tnp.core.prims.control_flow import stored
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
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
    lines: list[BoundSymbol] = []
    chosen: dict[str, Proxy] = {}
    for i, line in enumerate(trace.bound_symbols):
        b = line.substitute(chosen) if chosen else line
        dying = {name for name in own if last.get(name) == i}
        copied, choices = _with_copies(trace, b, dying) if b.sym in _LOOPS else (b, [])
        if copied is not b and any(fuses(e, copied) for e in fusers):
            lines += [copied, *choices]
            chosen.update((c.args[1].results[0].name, c.output[0]) for c in choices)
        else:
            lines.append(b)
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


def _with_copies(trace: Trace, loop: BoundSymbol, own: set[str]) -> tuple[BoundSymbol, list[BoundSymbol]]:
    """``loop`` with copies of the arrays that it carries, and the choices that follow it. An array of ``own`` has no other owner and needs no
    choice."""
    body: Body = bodies_of(loop)[-1]
    carried = carried_with_inits(loop)
    written = stored(loop)
    inits = Counter(init.name for _, init in carried if isinstance(init, Proxy))
    arrays = {p.name for p, init in carried if isinstance(init, TensorProxy) and p.name not in written}
    private = {p.name for p, init in carried if p.name in arrays and init.name in own and inits[init.name] == 1}
    # What becomes shorter is compacted, and the choice would read it again.
    arrays -= {p.name for p, _ in carried if p.name in arrays - private and symbols.extents(p.shape) is None}
    counts = Counter(p.name for p in flat_proxies(body.results))
    results, copies, flags = list(body.results), list[BoundSymbol](), list[tuple[Any, Any, NumberProxy, Any]]()
    for k, (p, init) in enumerate(carried):
        r = results[k]
        if p.name not in arrays or not isinstance(r, TensorProxy) or not r.ndim or counts[r.name] > 1:
            continue
        made = next((b for b in body.bound_symbols if any(r.name == q.name for q in b.flat_outputs)), None)
        if made is None or made.sym is not prims.cond:
            continue
        if not _is_own(r.name, body.bound_symbols, {*private, p.name}):
            continue
        with _recorded(trace, loop, r, copies):
            if p.name not in private:
                flag = NumberProxy(trace.make_name("n"), bool)
                flags.append((p, init, flag, _is_new(made, r, p, flag)))
            results[k] = prims.clone(r)
    if not copies or any(is_new is None for *_, is_new in flags):
        return loop, []
    more = [flag for _, _, flag, _ in flags]
    n = len(carried)
    results[n:n] = [is_new for *_, is_new in flags]
    made_body = Body([*body.args, *more], (*body.bound_symbols, *copies), results)
    bodies = {id(body): made_body}
    if len(bodies_of(loop)) > 1:
        test: Body = bodies_of(loop)[0]
        bodies[id(test)] = Body([*test.args, *more], test.bound_symbols, test.results)
    args = tuple(bodies.get(id(a), a) for a in loop.args) + (False,) * len(more)
    output = (*loop.output, *more)
    choices: list[BoundSymbol] = []
    for p, init, flag, _ in flags:
        with _recorded(trace, loop, p, choices):
            prims.cond(flag, Body([], [], [p]), Body([], [], [init]))
    return loop.remade(loop.sym, args, loop.kwargs, output, loop.subsymbols, loop.location), choices


@contextmanager
def _recorded(trace: Trace, loop: BoundSymbol, like: TensorProxy, lines: list[BoundSymbol]) -> Iterator[None]:
    """Adds the operations that are called inside to ``lines``, as ones of the loop's, in the language of ``like``."""
    trace.push_body()
    with tracing(trace), languages.language_context(like.lang):
        yield
    for line in trace.pop_body():
        line.location = loop.location
        lines.append(line)


def _is_new(made: BoundSymbol, r: Proxy, p: Proxy, flag: NumberProxy) -> Any:
    """Whether ``r``, which a branch gives, is another array than ``p`` was at first, if ``flag`` says that of ``p``; ``None`` if that is known in
    a branch of the branch only."""
    k = next(k for k, q in enumerate(made.output) if q.name == r.name)
    names = {q.name: init for q, init in carried_with_inits(made)}
    found: list[Any] = []
    for side in bodies_of(made):
        x = side.results[k]
        x = names.get(x.name, x)
        if any(b.sym is prims.cond and any(x.name == q.name for q in b.flat_outputs) for b in side.bound_symbols):
            return None
        found.append(flag if x.name == p.name else True)
    if found[0] is found[1]:
        return found[0]
    return prims.cond(made.args[0], *(Body([], [], [x]) for x in found))[0]


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
