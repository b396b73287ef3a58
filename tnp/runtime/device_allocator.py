"""One pool of device memory for torch and CuPy.

Each library keeps memory that was freed for its next arrays. Where both are used, what one keeps is not there for the
other. CuPy can be given another allocator, and torch offers its own for that: CuPy's arrays are then memory of torch's
pool, seen in torch's statistics, and given back to it when they are freed.
"""

from __future__ import annotations

from typing import Any

from tnp.runtime import locks

__all__ = ["share_with_torch"]

_lock = locks.lock()
_allocators: list[Any] = []


def share_with_torch() -> bool:
    """Lets CuPy take memory from torch's pool from now on, in all threads; whether it does. Asking again changes nothing.

    Arrays that exist stay where they are, and an allocator that the user has given CuPy stays, too: only CuPy's own default pool is
    replaced. Raises ``ImportError`` where one of the libraries is missing.
    """
    import cupy
    import torch

    with _lock:
        if _allocators:
            return True
        if not torch.cuda.is_available() or not _is_default(cupy):
            return False
        allocator = cupy.cuda.PythonFunctionAllocator(_allocate, _free)
        cupy.cuda.set_allocator(allocator.malloc)
        _allocators.append(allocator)  # CuPy keeps its method alone
        return True


def _is_default(cupy: Any) -> bool:
    """Whether CuPy allocates from the pool that it has from the start."""
    current, default = cupy.cuda.get_allocator(), cupy.get_default_memory_pool()
    return getattr(current, "__self__", None) is default or current == default.malloc


def _allocate(size: int, device: int) -> int:
    """Memory for CuPy's current stream; torch's pool gives it to no other stream before it is freed. Raises CuPy's ``OutOfMemoryError``."""
    import cupy
    import torch

    if not size:
        return 0
    try:
        return int(torch.cuda.caching_allocator_alloc(size, device, cupy.cuda.get_current_stream().ptr))
    except torch.OutOfMemoryError as error:
        raise cupy.cuda.memory.OutOfMemoryError(size, torch.cuda.memory_allocated(device)) from error


def _free(pointer: int, device: int) -> None:
    import torch

    if pointer:
        torch.cuda.caching_allocator_delete(pointer)
