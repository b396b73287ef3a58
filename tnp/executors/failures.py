"""What executors of kernels say when kernels fail: on which device, with which source, and who runs the operations instead."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Any

from tnp.core.errors import NoDeviceError, user_stack_level

__all__ = ["raise_if_device_failed", "why_no_device", "without_kernels", "written"]

#: how the messages of errors begin, or what they hold, that no other kernel will do better on
_DEVICE_ERRORS = ("cuda error", "cuda_error", "cudnn_status_execution_failed", "device-side assert", "acceleratorerror")


def why_no_device() -> str | None:
    """Why torch can use no CUDA device, as the end of a sentence; ``None`` if it can."""
    import torch

    if torch.version.cuda is None:
        return "this torch is built without CUDA"
    with warnings.catch_warnings():  # of a driver that is too old it warns, and here that is the answer
        warnings.simplefilter("ignore")
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


def written(source: str, name: str) -> str:
    """The path of a file with ``source``, in the folder of the cache; where there is none, the name that tracebacks have."""
    from tnp.executors.llvm.cache import folder

    name = f"{name}_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    path = folder()
    if path is None:
        return f"<tnp {name}>"
    file = Path(path) / f"{name}.py"
    try:
        file.write_text(source)
    except OSError:
        return f"<tnp {name}>"
    return str(file)


def without_kernels(what: str, kernels: str, source: str, error: Exception) -> None:
    """Warns that ``what`` runs operation by operation, and says where the source is that failed."""
    library = kernels.partition("'")[0].partition(" ")[0].lower()
    path: Any = written(source, library)
    warnings.warn(
        f"{what} runs operation by operation: {kernels} ({path}) failed with {error!r}",
        RuntimeWarning,
        stacklevel=user_stack_level(),
    )
