"""The pipeline of passes, from a captured trace to the program that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any

from tnp.core import check, prims
from tnp.core.array_kinds import USER_KIND
from tnp.core.errors import TraceCheckError
from tnp.core.proxies import TensorProxy
from tnp.core.subtraces import bodies_of, is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags, map_proxies
from tnp.core.trace import Trace, timed_pass
from tnp.core.trace_check import check_trace
from tnp.transforms.batch_calls import batch_calls
from tnp.transforms.batch_matvec import batch_matvec
from tnp.transforms.bridge import Conversions, bridge
from tnp.transforms.bufferize import MemoryOperations, bufferize
from tnp.transforms.claim import FusedSymbol, claim
from tnp.transforms.dce import common_subexpressions, dead_code, with_arguments_used, without_aliases
from tnp.transforms.define_sizes import define_sizes
from tnp.transforms.del_last_used import del_last_used
from tnp.transforms.fuse import fuse
from tnp.transforms.licm import licm
from tnp.transforms.masks import masked_values
from tnp.transforms.memory_orders import without_reorders
from tnp.transforms.no_elements import without_elements
from tnp.transforms.own_results import own_results
from tnp.transforms.unroll_and_jam import unroll_and_jam

__all__ = ["Backend", "compile_trace"]


class Backend:
    """What the passes need from the executors: who they are, how memory of each kind is made, how results become
    0-d or scalars, and how arrays of one kind become those of another."""

    def __init__(
        self,
        executors: Sequence[Any],
        memory: Mapping[str, MemoryOperations],
        as_scalar: Any,
        as_array: Any,
        as_read_only: Any,
        as_frozen: Any,
        make_region: Callable[..., Any],
        conversions: Conversions,
        whole_functions_of: Any,
    ) -> None:
        self.executors = tuple(executors)
        self.memory = memory
        self.as_scalar = as_scalar
        self.as_array = as_array
        self.as_read_only = as_read_only
        self.as_frozen = as_frozen
        self.make_region = make_region
        self.conversions = conversions
        #: the executor that runs functions of the language as they are
        self.whole_functions_of = whole_functions_of
        #: whether the trace is a region of a program. Dead code has been eliminated there: an unread result is kept for its errors
        self.is_part = False

    def run_unfused(self, trace: Trace) -> Callable[..., Any]:
        """``trace`` compiled for the executors of single operations alone."""
        alone = copy(self)
        alone.executors = tuple(e for e in self.executors if not e.is_fusing)
        alone.is_part = True
        finished = compile_trace(trace, alone)[-1]
        program = finished.python_callable()
        vars(program)["__tnp_finished__"] = finished  # kept for tracebacks
        return program


def compile_trace(trace: Trace, backend: Backend) -> list[Trace]:
    """The trace after every pass, beginning with the captured one. The last one runs."""
    passes: list[tuple[str, Callable[[Trace], Trace]]] = [
        ("Library calls of iterations", lambda t: batch_calls(t, backend.executors)),
        ("Products of iterations", lambda t: batch_matvec(t, backend.executors)),
        ("Results of loops", lambda t: own_results(t, backend.executors)),
        ("Sizes", define_sizes),
        ("Arrays without elements", without_elements),
        ("Dead Code Elimination", dead_code),
        ("Loop-invariant code motion", licm),
        ("Common Subexpression Elimination", lambda t: common_subexpressions(without_aliases(t))),
        ("Masked values", lambda t: masked_values(t, backend.executors)),
        ("Iterations of loops together", lambda t: unroll_and_jam(t, backend.executors)),
        ("Groups of operations", lambda t: _grouped(t, backend.executors)),
        ("Transform for execution", lambda t: _claim(t, backend.executors)),
        ("Memory orders", without_reorders),
        ("Fusion", lambda t: _fuse(t, backend)),
        ("Dead Code Elimination", dead_code),
        ("Results as the language has them", lambda t: _finish_results(t, backend)),
        ("Bridges between array libraries", lambda t: bridge(t, backend.conversions)),
        ("In-place reuse", lambda t: bufferize(t, backend.memory, backend.executors)),
        ("Delete Last Used", lambda t: del_last_used(with_arguments_used(t))),
    ]
    traces = [trace]
    if check.enabled():
        check_trace(trace)
    for name, f in passes:
        if backend.is_part and f is dead_code:
            continue
        made = timed_pass(name, f, traces[-1])
        if made is not traces[-1]:
            traces.append(made)
            if check.enabled() and name != "In-place reuse" and name != "Delete Last Used":
                check_trace(made)
    if check.enabled():
        _check_claimed(traces[-1].bound_symbols)
    return traces


def _check_claimed(bsyms: Iterable[BoundSymbol]) -> None:
    """Raises :class:`TraceCheckError` if no executor runs an operation: called in a program, it would be compiled there alone."""
    for b in bsyms:
        if b.sym.is_prim and b.sym.executor is None and not is_control_flow(b) and OpTags.PROGRAM not in b.sym.tags:
            raise TraceCheckError(f"no executor has claimed\n{b}")
        for body in bodies_of(b):
            _check_claimed(body.bound_symbols)


def _grouped(trace: Trace, executors: Sequence[Any]) -> Trace:
    """The trace with groups of operations in the form that executors want them in."""
    for executor in executors:
        trace = executor.pattern_rewrite(trace, executors)
    return trace


def _claim(trace: Trace, executors: Sequence[Any]) -> Trace:
    """The trace in operations of executors, with definitions of the sizes that decomposed symbols had inside."""
    claimed = claim(trace, executors)
    sized = define_sizes(claimed)
    return claimed if sized is claimed else claim(sized, executors)


def _fuse(trace: Trace, backend: Backend) -> Trace:
    """The trace with its regions fused, with definitions of the sizes that declined regions had inside."""
    fused = fuse(trace, backend.executors, backend.make_region, backend.run_unfused)
    sized = define_sizes(fused)
    return fused if sized is fused else claim(sized, [e for e in backend.executors if not e.is_fusing])


def _viewed_by_results(trace: Trace) -> set[str]:
    """The 0-d arrays of which views are results, too: they are arrays before those are made, so that they share memory."""
    views: dict[str, str] = {}
    for bsym in trace.bound_symbols:
        a = bsym.args[0] if bsym.args and OpTags.VIEW in bsym.operation.tags else None
        if isinstance(a, TensorProxy) and not a.ndim and not a.scalar:
            views.update((p.name, a.name) for p in bsym.flat_outputs if p.name != a.name)
    roots = set()
    for p in trace.bound_symbols[-1].flat_inputs:
        name = p.name
        while name in views:
            name = views[name]
        if name != p.name:
            roots.add(name)
    return roots


def _finish_results(trace: Trace, backend: Backend) -> Trace:
    """Makes what is 0-d among results and stored attributes NumPy scalars or 0-d arrays, as the language says, and views that
    cannot be written through such."""
    finished = {p.name for p in trace.args}
    for bsym in trace.bound_symbols:
        made_right = isinstance(bsym.sym, FusedSymbol) or bsym.sym.executor is backend.whole_functions_of
        if bsym.subsymbols and made_right:
            finished.update(p.name for p in bsym.flat_outputs)  # the library's own function made them
    viewed = _viewed_by_results(trace) - finished
    new = Trace.like(trace)
    done: dict[str, Any] = {}

    def finish(p: Any) -> Any:
        if not isinstance(p, TensorProxy) or p.lang.name != "numpy" or USER_KIND.of(trace) != "numpy":
            return p  # CuPy has no scalars of its own
        is_frozen, is_read_only = p.name in trace.frozen, p.name in trace.read_only
        if not (is_frozen or is_read_only) and (p.ndim or p.name in finished):
            return p
        if p.name not in done:
            made = TensorProxy(new.make_name("t"), like=p, lang=p.lang, scalar=p.scalar)
            zero_dim = backend.as_scalar if p.scalar else backend.as_array
            op = backend.as_frozen if is_frozen else backend.as_read_only if is_read_only else zero_dim
            new.bound_symbols.append(op.bind(p, output=made))
            done[p.name] = made
        return done[p.name]

    for bsym in trace.bound_symbols:
        if bsym.operation is prims.python_return or OpTags.ASSIGNS in bsym.operation.tags:
            bsym = bsym.replace(args=map_proxies(finish, bsym.args))
        elif done:
            bsym = bsym.substitute(done)
        new.bound_symbols.append(bsym)
        for p in bsym.flat_outputs:
            if p.name in viewed:
                finish(p)
    return new
