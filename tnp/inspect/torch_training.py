"""Programs whose results are differentiated, run both ways without torch's autograd, so that each way can be
measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tnp.compile.aot_autograd import Training, picking
from tnp.core.trace import Trace

__all__ = ["both_ways"]


def both_ways(training: Training, compiled: Callable[[str, Trace], Callable[..., Any]]) -> Callable[..., Any]:
    """A function of the forward program's inputs that runs it, and then the backward program with ones for cotangents; returns what the
    function returns. The cotangents of the arguments are dropped, so nobody's ``grad`` changes.

    ``compiled(phase, trace)`` makes a function of a program, ``phase`` being ``"forward"`` or ``"backward"``.
    """
    given, traces = training.way_back()
    finish = training.run.finish
    forward = compiled("forward", training.traces[-1])
    backward = picking(compiled("backward", traces[-1]), traces[-1], traces[0].args)

    def run(*inputs: Any) -> Any:
        with torch.no_grad():
            results, others, saved = forward(*inputs)
            backward(*saved, *(torch.ones_like(results[i]) for i in given))
            return results[0] if finish is None else finish(*results, *others)

    return run
