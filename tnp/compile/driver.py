"""The driver: from a call to a program behind guards.

:func:`capture` traces the function. :func:`compile_captured` runs the transforms (including claiming, fusion and code
generation) on the trace, and puts the program behind the guards of its prologue.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from tnp.capture.driver import Captured, capture_trace
from tnp.capture.guards.prologue import Prologue
from tnp.capture.libraries.base import loaded_libraries
from tnp.capture.speculation.value_specialization import GuardEvaluator, ValueProgram
from tnp.compile.aot_autograd import Training, drawing_again, in_inference_mode, without_autocast, without_gradients
from tnp.compile.executor_selection import ExecutorSelection
from tnp.core import prims
from tnp.core.effects import draws_again
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.symbol import OpTags
from tnp.core.trace import Trace
from tnp.executors import registry
from tnp.executors.base import Region
from tnp.transforms.autodiff.rules import grad_transforms_of
from tnp.transforms.bufferize import MemoryOperations
from tnp.transforms.claim import FusedSymbol
from tnp.transforms.partition_fw_bw import partition
from tnp.transforms.pipeline import Backend, compile_trace

__all__ = ["Compiled", "backend_of", "capture", "compile_captured"]


class Compiled(NamedTuple):
    """A program behind guards: ``run`` gives its result, or ``MISS``. ``traces`` are those after each pass, ``training`` is what
    differentiates it, if its arguments require gradients, and ``graphs`` are its CUDA graphs. ``program`` is what runs behind the
    guards. ``guarded(f)`` puts ``f`` behind the same guards; with ``with_sizes=True``, the first argument of ``f`` is the tuple of
    symbolic sizes; for ``in_turns`` see :meth:`~tnp.capture.guards.prologue.Prologue.compile`."""

    run: Callable[..., Any]
    traces: list[Trace]
    training: Training | None
    graphs: list[Any]
    program: Callable[..., Any]
    guarded: Callable[..., Any]


def capture(
    function: Callable[..., Any], parameters: list[str], call: Callable[..., Any], values: tuple[Any, ...], *,
    prologue: Prologue, executors: ExecutorSelection, evaluator: GuardEvaluator | None, strict: bool,
) -> Captured:  # fmt: skip
    """The function traced for a call. Raises :class:`~tnp.core.errors.NeedsEager` if there is no trace."""
    with grad_transforms_of(executors.of_gradients(loaded_libraries())):  # a program's values are of no other languages
        return capture_trace(
            function,
            parameters,
            call,
            values,
            prologue=prologue,
            strict=strict,
            differentiate=partition,
            evaluator=evaluator,
        )


def compile_captured(
    captured: Captured | ValueProgram, selection: ExecutorSelection, *, cudagraphs: bool,
    around: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None, checks_nans: bool = False,
) -> Compiled:  # fmt: skip
    """The program of a trace; ``around`` makes another function of what it computes. With ``checks_nans``, each operation is checked
    by itself, and none is fused."""
    selected = functools.partial(_unfused, selection) if checks_nans else selection.for_trace
    executors = selected(captured.trace)
    if isinstance(captured, ValueProgram) and captured.is_light:
        executors = [e for e in executors if not e.is_fusing]
    known = len(captured.trace.value_guards)
    graphs: list[Any] = []
    generate = functools.partial(_captured, graphs) if cudagraphs else _callable
    if checks_nans:
        from tnp.compile.nan_checks import checked_program as generate
    training = None
    program: Callable[..., Any]
    if isinstance(captured, Captured) and captured.differentiated is not None:
        training = Training(captured.differentiated, lambda t: backend_of(selected(t)), generate)
        traces, program = training.traces, training.run
    else:
        traces = compile_trace(captured.trace, backend_of(executors))
        program = generate(traces[-1])
    captured.guard_numbers(known)
    program = _in_modes(program, captured, is_differentiated=training is not None)
    if around is not None:
        program = around(program)
    elif any(b.has_tag_inside(OpTags.ENTERS_ERRSTATE) for b in traces[-1].bound_symbols):
        program = _keeping_errstate(program)
    inputs = [captured.expressions[p.name] for p in traces[-1].args]
    compile_guards = captured.prologue.compile

    def guarded(program: Callable[..., Any], *, with_sizes: bool = False, in_turns: bool = False) -> Callable[..., Any]:
        return compile_guards(inputs, program, executors[0].check_arrays, with_sizes=with_sizes, in_turns=in_turns)

    return Compiled(guarded(program), traces, training, graphs, program, guarded)


def _unfused(selection: ExecutorSelection, trace: Trace) -> list[Any]:
    """The executors that run operations one by one, behind them those that run everything."""
    found = [e for e in selection.for_trace(trace) if not e.is_fusing]
    languages = {p.lang.name for b in trace.bound_symbols for p in b.flat_outputs if isinstance(p, TensorProxy)}
    return [*found, *(e for e in registry.get_always_executors(languages) if e not in found)]


def backend_of(executors: Iterable[Any]) -> Backend:
    """What the passes know of the executors."""
    from tnp.executors.numpy import as_array, as_frozen, as_read_only, as_scalar, executor

    executors = tuple(executors)
    kinds = [
        registry.get_executor(k) for k in {"numpy": None} | {e.array_kind: None for e in executors if e.array_kind}
    ]
    memory = {e.name: MemoryOperations(*e.memory) for e in kinds if e is not None and e.memory is not None}
    conversions = {k: v for e in kinds if e is not None for k, v in e.conversions.items()}
    return Backend(executors, memory, as_scalar, as_array, as_read_only, as_frozen, Region, conversions, executor)


def _in_modes(
    program: Callable[..., Any], captured: Captured | ValueProgram, *, is_differentiated: bool
) -> Callable[..., Any]:
    """``program`` in the modes of PyTorch's that its operations were traced in."""
    if not is_differentiated:
        if captured.requires_gradients:
            program = without_gradients(program)
        gradients = captured.inputs.tracer.gradients
        if gradients is not None and gradients.infers:
            program = in_inference_mode(program)
    if draws_again(captured.trace):
        program = drawing_again(program)
    casts = captured.inputs.tracer.casts
    return without_autocast(program) if casts is not None and casts.began_dtype is not None else program


def _callable(trace: Trace) -> Callable[..., Any]:
    """A finished program as a function: one that only calls a region's function with its arguments is that function."""
    program = trace.python_callable()
    calls = [b for b in trace.body if b.sym is not prims.registry["python_del"]]
    if len(calls) != 1 or not isinstance(calls[0].sym, FusedSymbol) or calls[0].kwargs:
        return program
    (call,) = calls
    is_alone = isinstance(call.output, Proxy) and call.output is trace.output
    if is_alone and [getattr(a, "name", None) for a in call.args] == [p.name for p in trace.args]:
        functions: dict[str, Callable[..., Any]] = program.__globals__
        return functions.get(call.sym.name, program)
    return program


def _captured(graphs: list[Any], trace: Trace) -> Callable[..., Any]:
    """A finished program as a CUDA graph, which is appended to ``graphs``."""
    if "torch" not in sys.modules:  # there are no CUDA tensors
        return trace.python_callable()
    from tnp.executors.cudagraphs import Captured

    made = Captured(trace)
    graphs.append(made)
    return made


def _keeping_errstate(program: Callable[..., Any]) -> Callable[..., Any]:
    """``program``, which sets how floating-point errors are reported, leaving that as it was even if it raises."""

    def run(*inputs: Any) -> Any:
        with np.errstate():
            return program(*inputs)

    return run
