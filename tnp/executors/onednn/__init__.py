"""The onednn executor: convolutions of a program without gradients, with weights that stay packed and channels that lie
last.

It replaces groups of operations (:mod:`tnp.executors.onednn.chains`) before others are asked for single ones. The
kernels are those that torch's own wheel brings along, called past the reorders that its functions make
(:mod:`tnp.executors.onednn.convolutions`).
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Sequence
from typing import Any

import torch

from tnp.core.gradient_marks import IS_TRAINING
from tnp.core.trace import Trace
from tnp.executors.base import OperatorExecutor
from tnp.executors.onednn.chains import chained, has_convolutions
from tnp.executors.onednn.fingerprints import fingerprint
from tnp.executors.registry import register_executor
from tnp.runtime.engine import Unavailable

__all__ = ["executor"]

#: what is called of torch's
_OPERATIONS = ("_convolution_pointwise", "_reorder_convolution_weight")


@functools.cache
def _missing() -> str | None:
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"packed weights were not tried on {platform.machine()}"
    if not torch.backends.mkldnn.is_available() or not all(hasattr(torch.ops.mkldnn, n) for n in _OPERATIONS):
        return "this torch comes without oneDNN's operations"
    try:
        fingerprint(torch.zeros(1))
    except Unavailable as error:
        return f"fingerprints of weights cannot be compiled: {error}"
    return None


class OneDNN(OperatorExecutor):
    """See :mod:`tnp.executors.onednn`."""

    array_kind = "torch"

    def unavailable(self) -> str | None:
        return _missing()

    def pattern_rewrite(self, trace: Trace, executors: Sequence[Any]) -> Trace:
        if IS_TRAINING.of(trace) or not has_convolutions(trace):
            return trace
        if not torch.backends.mkldnn.enabled or _missing() is not None:
            return trace
        return chained(trace, self)


executor = OneDNN("onednn", version=torch.__version__)
register_executor(executor)
