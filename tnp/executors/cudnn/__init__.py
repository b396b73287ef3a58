"""The cudnn executor: attention and layer norm by cuDNN's graphs, with their own gradients, on CUDA tensors.

The package is ``nvidia-cudnn-frontend``, imported as ``cudnn``. What it has no kernel for is refused with its reason,
which ``tnp.explain`` shows, and run by others.
"""

from __future__ import annotations

from tnp.executors.cudnn import attention, graphs, norms
from tnp.executors.shared.attention import FUNCTION
from tnp.executors.shared.device_errors import why_no_device
from tnp.extend import OperatorExecutor, register_executor

__all__ = ["executor"]


class CudnnExecutor(OperatorExecutor):
    """Runs single operations as graphs of cuDNN."""

    array_kind = "torch"

    def unavailable(self) -> str | None:
        reason = graphs.why_not()
        if reason is not None or any(d.value == "cpu" for d in graphs.device_types()):
            return reason
        return why_no_device()


executor = CudnnExecutor("cudnn", version=None if graphs.why_not() else graphs.load().__version__)
attention.register(executor, FUNCTION)
norms.register(executor, "torch.nn.functional.layer_norm")
register_executor(executor)
