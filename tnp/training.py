"""Programs of which arguments require gradients: compiled as two, a forward and a backward program, that torch's autograd calls.

The forward program is compiled with the call, a backward program when a gradient is first asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from tnp.core.errors import ExtensionError
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.trace import Trace
from tnp.transforms.pipeline import Backend, compile_trace
from tnp.transforms.split import Split

__all__ = ["Training", "without_gradients"]


class Training:
    """A trace that :func:`~tnp.transforms.split.split` cut in two, compiled for some executors.

    ``run`` takes the inputs named in ``names``, in that order.
    """

    def __init__(
        self, made: Split, backend_for: Callable[[Trace], Backend], runner: Callable[[Trace], Callable[..., Any]] = Trace.python_callable
    ) -> None:  # fmt: skip
        from tnp.executors.torch.autograd import Differentiable

        #: makes functions of finished programs
        self._runner = runner
        self.split = made
        self._backend_for = backend_for
        self._lock = threading.Lock()
        #: the traces of each backward program that was asked for, by the outputs whose cotangents it takes
        self._backward: dict[tuple[int, ...], list[Trace]] = {}
        self.traces = compile_trace(made.forward, backend_for(made.forward))
        program = self.traces[-1]
        self.names = [p.name for p in program.args]
        simple = len(made.outputs) == 1 and made.trace.output is made.outputs[0] and not made.others
        finish = None if simple else compile_trace(made.finish, backend_for(made.finish))[-1]
        self.run = Differentiable(
            runner(program),
            None if finish is None else _picking(finish, [*made.outputs, *made.others]),
            [isinstance(p, TensorProxy) and p.lang.name == "torch" for p in made.saved],
            self._make_backward,
        )

    def _make_backward(self, given: tuple[int, ...]) -> tuple[Callable[..., Any], list[int]] | None:
        traces = self.backward_traces(given)
        if traces is None:
            return None
        places = [self.names.index(self.split.inputs[i].name) for i in self.split.positions_of(given)]
        return _picking(traces[-1], traces[0].args, self._runner), places

    def backward_traces(self, given: tuple[int, ...] | None = None) -> list[Trace] | None:
        """The traces of a backward program after each pass; ``None`` if there is none for these outputs alone."""
        if given is None:
            given = next(iter(self._backward), tuple(range(len(self.split.outputs))))
        with self._lock:
            if given not in self._backward:
                trace = self.split.backward(given)
                if trace is None:
                    return None
                known = len(trace.value_guards)
                traces = compile_trace(trace, self._backend_for(trace))
                if len(trace.value_guards) > known:  # the forward program runs for other values, too
                    number = list(trace.value_guards)[-1]
                    raise ExtensionError(
                        f"a checker or a transform asks for the value of the number {number} in a backward program, which it may not; "
                        "let it ask in the forward program, or take all values"
                    )
                self._backward[given] = traces
            return self._backward[given]

    def describe(self) -> list[str]:
        """What is saved for the way back, in lines of text."""
        tensors = [p for p in self.split.saved if isinstance(p, TensorProxy)]
        arguments = {p.name for p in self.split.trace.args}
        made = [p for p in tensors if p.name not in arguments]
        lines = [f"saved for backward: {len(tensors)} arrays, of which {len(made)} ({_bytes(made)}) the program makes"]
        lines += [f"  {p.name}: {p.type_string()}" for p in made]
        return lines


def _bytes(arrays: Sequence[TensorProxy]) -> str:
    n = sum(p.numel * p.dtype.itemsize for p in arrays)
    for unit in ("bytes", "KiB", "MiB"):
        if n < 1024:
            return f"{n:.4g} {unit}"
        n /= 1024
    return f"{n:.4g} GiB"


def _picking(
    program: Trace, given: Sequence[Proxy], runner: Callable[[Trace], Callable[..., Any]] = Trace.python_callable
) -> Callable[..., Any]:
    """The compiled ``program`` as a function of values for ``given``, of which it takes some."""
    function = runner(program)
    places = {p.name: i for i, p in enumerate(given)}
    taken = [places[p.name] for p in program.args]
    if taken == list(range(len(given))):
        return function
    return lambda *values: function(*[values[i] for i in taken])


def without_gradients(program: Callable[..., Any]) -> Callable[..., Any]:
    """``program``, of which no result depends on what requires gradients, called while those are off."""
    from tnp.executors.torch import autograd

    return autograd.without_gradients(program)
