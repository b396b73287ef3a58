"""``torch.utils.checkpoint``: functions whose values are not saved, but recomputed in the backward pass.

The function is traced like any other. :data:`tnp.core.gradient_marks.RECOMPUTABLE` marks its values as recomputable and
its results as saved, for the partition. Random draws are saved; torch gets the same effect by resetting the generator.
In eager, the recomputation would repeat side effects (a moving average, a counter), but a program has them once, so
such functions run eagerly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential, noop_context_fn

from tnp.capture import active
from tnp.capture.objects.shadows import stored_attributes
from tnp.core.errors import NeedsEager
from tnp.core.gradient_marks import RECOMPUTABLE
from tnp.core.symbol import BoundSymbol, OpTags

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["CHECKPOINTS"]


def _checkpoint(
    function: Any, *args: Any, use_reentrant: Any = None, context_fn: Any = noop_context_fn, determinism_check: Any = "default",
    debug: Any = False, early_stop: Any = True, preserve_rng_state: Any = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """``torch.utils.checkpoint.checkpoint``, of the kind that is not reentrant."""
    if use_reentrant is not False:
        raise NeedsEager("it checkpoints a function by torch's reentrant way (use_reentrant=False is compiled)")
    if context_fn is not noop_context_fn or debug or determinism_check not in ("default", "none"):
        raise NeedsEager("it checkpoints a function under contexts of its own, or to debug it")
    tracer = active.current()
    if not torch.is_grad_enabled() or not tracer.gradients.tracks:
        return tracer.runtime.call(function, *args, **kwargs)
    statements = tracer.trace.statements
    start = len(statements)
    with _storing_nothing(tracer):
        result = tracer.runtime.call(function, *args, **kwargs)
    made = statements[start:]
    leaves = list(_leaves(made))
    if any(OpTags.EFFECT in b.sym.tags and OpTags.RANDOM not in b.sym.tags for b in leaves):
        raise NeedsEager("it checkpoints a function that does more than to compute")
    if not preserve_rng_state and any(OpTags.RANDOM in b.sym.tags for b in leaves):
        raise NeedsEager("it checkpoints a function that draws other numbers when it runs again")
    names = {p.name for b in (*made, *_inside(made)) for p in b.flat_outputs}
    results: dict[str, Any] = {}
    tracer.value(result, results)
    RECOMPUTABLE.of(tracer.trace).update((name, name not in results) for name in names)
    return result


def _checkpoint_sequential(
    functions: Any, segments: Any, input: Any, use_reentrant: Any = None, preserve_rng_state: Any = True
) -> Any:
    """``torch.utils.checkpoint.checkpoint_sequential``: all ``segments`` but the last are checkpointed."""
    steps = list(functions.children()) if isinstance(functions, torch.nn.Sequential) else functions
    call = active.current().runtime.call

    def run(first: int, stop: int) -> Any:
        def segment(value: Any) -> Any:
            for step in steps[first:stop]:
                value = call(step, value)
            return value

        return segment

    size = len(steps) // segments
    last = size * (segments - 1)
    for first in range(0, last, size):
        input = _checkpoint(
            run(first, first + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state
        )
    return run(last, len(steps))(input)


@contextmanager
def _storing_nothing(tracer: Tracer) -> Iterator[None]:
    """Raises :class:`NeedsEager` if what is traced meanwhile writes to tensors that were there before, or stores attributes."""
    before = {id(x): dict(stored_attributes(x)[2]) for x in tracer.inputs.shadows}
    with tracer.gradients.repeating():
        yield
    for x in tracer.inputs.shadows:
        stored, known = stored_attributes(x)[2], before.get(id(x), {})
        if len(stored) != len(known) or any(stored[k] is not v for k, v in known.items()):
            raise NeedsEager("it checkpoints a function that stores attributes")


def _inside(bsyms: Iterable[BoundSymbol]) -> Iterator[BoundSymbol]:
    """All that statements are made of."""
    for b in bsyms:
        yield from b.subsymbols
        yield from _inside(b.subsymbols)


def _leaves(bsyms: Iterable[BoundSymbol]) -> Iterator[BoundSymbol]:
    """What statements are made of in the end."""
    return (b for b in (*bsyms, *_inside(bsyms)) if not b.subsymbols)


#: functions of torch's, and what stands for them in a program
CHECKPOINTS: dict[Any, Any] = {checkpoint: _checkpoint, checkpoint_sequential: _checkpoint_sequential}
