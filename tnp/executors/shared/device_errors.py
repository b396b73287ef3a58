"""Missing and failing devices: the errors of executors of kernels."""

from __future__ import annotations

from tnp.core.errors import NoDeviceError
from tnp.runtime.quiet import quiet

__all__ = ["raise_if_device_failed", "why_no_device"]

#: how the messages of errors begin, or what they hold, that no other kernel will do better on
_DEVICE_ERRORS = ("cuda error", "cuda_error", "cudnn_status_execution_failed", "device-side assert", "acceleratorerror")


def why_no_device() -> str | None:
    """Why torch can use no CUDA device, as the end of a sentence; ``None`` if it can."""
    import torch

    if torch.version.cuda is None:
        return "this torch is built without CUDA"
    with quiet():  # of a driver that is too old it warns, and here that is the answer
        if torch.cuda.is_available():
            return None
        try:
            torch.cuda.init()
        except (RuntimeError, AssertionError) as error:
            return f"torch cannot use a CUDA device: {str(error).splitlines()[0]}"
    return "torch finds no CUDA device"


def raise_if_device_failed(error: Exception) -> None:
    """Raises what is no kernel's fault: memory that ran out as it is, a device that failed as :class:`NoDeviceError`.

    After such a failure every call to the device fails, so the operations of another executor would fail, too.
    """
    import torch

    if isinstance(error, torch.OutOfMemoryError):
        raise error
    text = f"{type(error).__name__}: {error}"
    if any(sign in text.lower() for sign in _DEVICE_ERRORS):
        raise NoDeviceError(
            f"the CUDA device failed or was lost ({text.splitlines()[0]}); what was on it is gone, and only a new process can use "
            "a device again"
        ) from error
