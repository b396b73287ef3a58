"""Compiled programs as functions that torch's autograd can differentiate.

A program has a forward part, which computes results and saved values, and a backward part, which takes these and the
cotangents. :class:`_Function` presents both to autograd. For a gradient that is differentiated again
(``create_graph=True``), the backward part is such a function, too, and the values that it reads become results of the
forward part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, cast

import torch

__all__ = ["Differentiable", "in_inference_mode", "without_gradients"]


#: makes a function of a list of values, and the positions of what it returns
_Maker = Callable[[tuple[int, ...]], tuple[Callable[[list[Any]], Any], list[int]] | None]


class Differentiable:
    """A program whose results have a ``grad_fn``.

    ``forward(*inputs)`` returns the results that autograd differentiates, the others, and what is saved; ``finish(*results, *others)``
    makes of them what the program returns. ``make_backward(numbers)`` gives, for the numbers of those results of which there are
    cotangents, a function of a list, which it may empty, of what was saved and these cotangents, and the positions among the inputs of the
    cotangents that it returns; or ``None`` if it needs those of all results. ``inner`` are the numbers of those saved values that autograd sees as results
    behind the others, and ``make_differentiable`` is as ``make_backward``, for a function that autograd differentiates. There are ``count``
    inputs, and ``kinds`` are the shapes (``None``: those of the call) and dtypes of the results.
    """

    def __init__(
        self,
        forward: Callable[..., Any],
        finish: Callable[..., Any] | None,
        is_tensor: Sequence[bool],
        make_backward: _Maker,
        inner: Sequence[int],
        make_differentiable: _Maker,
        count: int,
        kinds: Sequence[tuple[Sequence[int] | None, torch.dtype]],
    ) -> None:
        self.forward = forward
        self.count = count
        self.kinds = tuple(kinds)
        self.has_own_shapes = any(shape is None for shape, _ in kinds)
        self.finish = finish
        self.is_tensor = tuple(is_tensor)
        self.all_tensors = all(is_tensor)
        self.make_backward = make_backward
        self.inner = tuple(inner)
        self.make_differentiable = make_differentiable
        self._made: dict[tuple[int, ...], Any] = {}
        self._differentiable: dict[tuple[int, ...], Any] = {}

    def __call__(self, *inputs: Any) -> Any:
        others: list[Any] = []
        results = _apply(self, others, *inputs)
        if self.finish is None:
            return results[0]
        if self.inner:
            results = results[: -len(self.inner)]
        return self.finish(*results, *others)

    def backward(self, saved: list[Any], cotangents: Sequence[Any], shapes: Sequence[Any] | None) -> list[Any]:
        """The cotangents of the inputs. Takes what is ``saved`` out of the list; ``shapes`` are those of the results in this call."""
        given = tuple(i for i, g in enumerate(cotangents) if g is not None)
        found: list[Any] = [None] * self.count
        if not given:
            return found
        again = torch.is_grad_enabled()  # the gradient is differentiated again
        known, make = (self._differentiable, self.make_differentiable) if again else (self._made, self.make_backward)
        if given not in known:
            known[given] = make(given)
        made = known[given]
        if made is None:
            results = len(cotangents) - len(self.inner)
            if given[-1] >= results or given == tuple(range(results)):
                raise RuntimeError(
                    "a program that tnp compiled computes no gradients of its gradients here (create_graph=True): the backward needs "
                    "more than was saved; use tnp.grad of tnp.grad, or call the function that was jitted"
                )
            given = tuple(range(results))
            if given not in known:
                known[given] = make(given)
            made = known[given]
            kinds = list(zip(shapes or [s for s, _ in self.kinds], [d for _, d in self.kinds]))
            cotangents = [torch.zeros(s, dtype=d) if g is None else g for g, (s, d) in zip(cotangents, kinds)]
        program, positions = made
        saved += [_plain(cotangents[i]) for i in given]
        results = program(saved)
        for i, g in zip(positions, results):
            found[i] = g
        return found


def without_gradients(program: Callable[..., Any]) -> Callable[..., Any]:
    """``program`` called while gradients are off: none of its results depends on what requires one."""

    def run(*inputs: Any) -> Any:
        with torch.no_grad():
            return program(*inputs)

    return run


def in_inference_mode(program: Callable[..., Any]) -> Callable[..., Any]:
    """``program`` called in inference mode: what it makes is no part of a graph of autograd's, now or later."""

    def run(*inputs: Any) -> Any:
        with torch.inference_mode():
            return program(*inputs)

    return run


def drawing_again(program: Callable[..., Any]) -> Callable[..., Any]:
    """``program``, which leaves PyTorch's generator as it was if it raises: the call starts over, and draws the same numbers."""

    def run(*inputs: Any) -> Any:
        state = torch.default_generator.get_state()
        try:
            return program(*inputs)
        except Exception:
            torch.default_generator.set_state(state)
            raise

    return run


def _plain(g: torch.Tensor) -> torch.Tensor:
    """A cotangent as programs take it: row-major, its elements as they stand in memory."""
    if g.layout is not torch.strided:
        g = g.to_dense()
    return g.resolve_conj().resolve_neg().contiguous()


class _Function(torch.autograd.Function):
    """What autograd calls of a :class:`Differentiable`, the first argument; the second takes what is not differentiated."""

    @staticmethod
    def forward(ctx: Any, program: Differentiable, others: list[Any], *inputs: Any) -> Any:
        results, rest, saved = program.forward(*inputs)
        if rest:
            others += rest
        if any(x._is_view() for x in results):
            results = _as_no_views(results, inputs)
        ctx.program = program
        ctx.shapes = [x.shape for x in results] if program.has_own_shapes else None
        ctx.set_materialize_grads(False)
        if program.all_tensors:
            ctx.save_for_backward(*saved)
        else:
            ctx.kept = [None if t else x for t, x in zip(program.is_tensor, saved)]
            ctx.save_for_backward(*(x for t, x in zip(program.is_tensor, saved) if t))
        return (*results, *(saved[i] for i in program.inner)) if program.inner else results

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        saved = list(ctx.saved_tensors)
        program = ctx.program
        if not program.all_tensors:
            tensors = iter(saved)
            saved = [next(tensors) if t else x for t, x in zip(program.is_tensor, ctx.kept)]
            del tensors
        ctx.maybe_clear_saved_tensors()  # unless the graph is kept: what was saved goes when the backward has read it
        if not program.all_tensors and _is_cleared(ctx):
            del ctx.kept
        on_cuda = torch.autocast("cuda", enabled=False) if torch.is_autocast_enabled("cuda") else nullcontext()
        on_cpu = torch.autocast("cpu", enabled=False) if torch.is_autocast_enabled("cpu") else nullcontext()
        with on_cpu, on_cuda:
            return (None, None, *program.backward(saved, cotangents, ctx.shapes))


def _as_no_views(results: Sequence[Any], inputs: Sequence[Any]) -> tuple[Any, ...]:
    """``results`` with views of temporaries detached from their bases: autograd refuses in-place changes of a function's views. A detached
    tensor shares the version counter of its base. Views of inputs or of other results stay views."""
    bases = [id(_base_of(x)) for x in results]
    held = Counter((*bases, *(id(_base_of(x)) for x in inputs if isinstance(x, torch.Tensor))))
    return tuple(x.detach() if x._is_view() and held[base] == 1 else x for x, base in zip(results, bases))


def _base_of(x: torch.Tensor) -> torch.Tensor:
    return cast("torch.Tensor", x._base) if x._is_view() else x


def _is_cleared(ctx: Any) -> bool:
    """Whether what was saved is gone."""
    try:
        return ctx.saved_tensors is None
    except RuntimeError:
        return True


#: ``_Function.apply`` without what it does where torch.func's transforms are at work: programs are guarded against these
_apply: Callable[..., Any] = super(torch.autograd.Function, _Function).apply
