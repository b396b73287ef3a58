"""Programs whose arguments require gradients: compiled as a forward and a backward program, which torch's autograd
calls.

The forward program is compiled at the call, the backward program when a gradient is first computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tnp.core import sizes
from tnp.core.errors import ExtensionError, GradientError, NeedsEager
from tnp.core.proxies import ObjectProxy, Proxy, TensorProxy
from tnp.core.trace import Trace
from tnp.runtime import locks
from tnp.transforms.partition_fw_bw import Partition, partition
from tnp.transforms.pipeline import Backend, compile_trace

__all__ = ["Training", "drawing_again", "in_inference_mode", "picking", "without_autocast", "without_gradients"]


class Training:
    """A trace that :func:`~tnp.transforms.partition_fw_bw.split` cut in two, compiled for some executors.

    ``run`` takes the inputs named in ``names``, in that order.
    """

    def __init__(
        self, made: Partition, backend_for: Callable[[Trace], Backend], runner: Callable[[Trace], Callable[..., Any]] = Trace.python_callable
    ) -> None:  # fmt: skip
        from tnp.compile.torch_autograd import Differentiable
        from tnp.lang.torch.dtypes import to_torch_dtype

        #: makes functions of finished programs
        self._runner = runner
        self.split = made
        self._backend_for = backend_for
        self._lock = locks.lock()
        #: the traces of each compiled backward program, by the outputs whose cotangents it takes
        self._backward: dict[tuple[int, ...], list[Trace]] = {}
        self.traces = compile_trace(made.forward, backend_for(made.forward))
        program = self.traces[-1]
        self.names = [p.name for p in program.args]
        names = [p.name for p in made.saved]
        simple = len(made.outputs) == 1 and made.trace.output is made.outputs[0] and not made.others
        finish = None if simple else compile_trace(made.finish, backend_for(made.finish))[-1]
        self.run = Differentiable(
            runner(program),
            None if finish is None else picking(finish.python_callable(), finish, [*made.outputs, *made.others]),
            [isinstance(p, TensorProxy) and p.lang.name == "torch" for p in made.saved],
            self._make_backward,
            [names.index(p.name) for p in made.inner],
            self._make_differentiable,
            len(self.names),
            [(p.shape if sizes.is_known(p.shape) else None, to_torch_dtype(p.dtype)) for p in made.outputs],
        )

    def _make_backward(self, given: tuple[int, ...]) -> tuple[Callable[[list[Any]], Any], list[int]] | None:
        traces = self.backward_traces(given)
        if traces is None:
            return None
        places = [self.names.index(self.split.inputs[i].name) for i in self.split.positions_of(given)]
        if self._runner is Trace.python_callable:
            return traces[-1].emptying_callable([p.name for p in traces[0].args]), places
        return _of_list(picking(self._runner(traces[-1]), traces[-1], traces[0].args)), places

    def way_back(self) -> tuple[tuple[int, ...], list[Trace]]:
        """The backward program that was compiled first, or, if there is none, the one for cotangents of all outputs: the numbers of its
        outputs, and its traces after each pass."""
        everything = tuple(range(len(self.split.outputs)))
        given = next(iter(self._backward), everything)
        traces = self.backward_traces(given)
        assert traces is not None, "of all outputs there is always one"
        return given, traces

    def _make_differentiable(self, given: tuple[int, ...]) -> tuple[Callable[[list[Any]], Any], list[int]] | None:
        """As :meth:`_make_backward`, of a program whose results can be differentiated. ``RuntimeError`` if there is none."""
        made = self.split
        reason = "" if made.is_differentiable_again else "what is saved for the backward is not seen by autograd"
        for once in (
            (True, False) if not reason else ()
        ):  # what is not differentiated again is faster, and need not have rules
            trace = made.backward(given, once=once)
            if trace is None:
                continue
            try:
                again = partition(trace, {p.name for p in (*made.dependent, *trace.args[len(made.saved) :])})
            except (GradientError, NeedsEager) as error:
                reason = error.reason
                continue
            places = [self.names.index(made.inputs[i].name) for i in made.positions_of(given)]
            if again is None:  # they do not depend on anything
                final = compile_trace(trace, self._backend_for(trace))[-1]
                return _of_list(picking(final.python_callable(), final, trace.args)), places
            training = Training(again, self._backend_for)
            position = {p.name: i for i, p in enumerate(trace.args)}
            taken = [position[name] for name in training.names]
            return lambda values: training.run(*[values[i] for i in taken]), places
        if not reason:
            return None
        raise RuntimeError(
            f"a program that tnp compiled computes no gradients of its gradients here (create_graph=True): {reason}; "
            "use tnp.grad of tnp.grad, or call the function that was jitted"
        )

    def backward_traces(self, given: tuple[int, ...] | None = None) -> list[Trace] | None:
        """The traces of a backward program after each pass; ``None`` if there is none for these outputs alone."""
        if given is None:
            return self.way_back()[1]
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
                        f"a checker or a transform reads the value of the number {number} in a backward program, which it may not; "
                        "let it ask in the forward program, or take all values"
                    )
                self._backward[given] = traces
            return self._backward[given]

    def describe(self) -> list[str]:
        """What is saved for the backward, in lines of text."""
        tensors = [p for p in self.split.saved if isinstance(p, TensorProxy)]
        arguments = {p.name for p in self.split.trace.args}
        made = [p for p in tensors if p.name not in arguments]
        lines = [f"saved for backward: {len(tensors)} arrays, of which {len(made)} ({_bytes(made)}) the program makes"]
        lines += [f"  {p.name}: {p.type_string()}" for p in made]
        records = sum(isinstance(p, ObjectProxy) for p in self.split.saved)
        if records:
            lines.append(f"  what torch's autograd remembers of {records} call{'s' if records > 1 else ''}")
        return lines


def _bytes(arrays: Sequence[TensorProxy]) -> str:
    n: float = sum((sizes.most(p.shape) or 0) * p.dtype.itemsize for p in arrays)
    for unit in ("bytes", "KiB", "MiB"):
        if n < 1024:
            return f"{n:.4g} {unit}"
        n /= 1024
    return f"{n:.4g} GiB"


def picking(function: Callable[..., Any], program: Trace, given: Sequence[Proxy]) -> Callable[..., Any]:
    """``function``, to which ``program`` is compiled, as a function of values for ``given``, of which it takes some."""
    places = {p.name: i for i, p in enumerate(given)}
    taken = [places[p.name] for p in program.args]
    if taken == list(range(len(given))):
        return function
    return lambda *values: function(*[values[i] for i in taken])


def _of_list(function: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    return lambda values: function(*values)


def without_gradients(program: Callable[..., Any]) -> Callable[..., Any]:
    """``program``, of which no result depends on what requires gradients, called while those are off."""
    from tnp.compile import torch_autograd

    return torch_autograd.without_gradients(program)


def in_inference_mode(program: Callable[..., Any]) -> Callable[..., Any]:
    """``program``, all of which the user's function computes in inference mode, called in that."""
    from tnp.compile import torch_autograd

    return torch_autograd.in_inference_mode(program)


def drawing_again(program: Callable[..., Any]) -> Callable[..., Any]:
    """``program``, after whose error the call starts over, and draws the same random numbers."""
    from tnp.compile import torch_autograd

    return torch_autograd.drawing_again(program)


def without_autocast(program: Callable[..., Any]) -> Callable[..., Any]:
    """``program``, which makes the casts of autocast itself, called while that is off."""
    from tnp.lang.torch.autocast import switched_off

    def run(*inputs: Any) -> Any:
        with switched_off():
            return program(*inputs)

    return run
