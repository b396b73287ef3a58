"""What a fusing executor says of a kernel that does not compile: where its source is, once; the region then runs
operation by operation.
"""

from __future__ import annotations

import hashlib
import warnings

from tnp.core.errors import user_stack_level

__all__ = ["report_failure", "written"]


def written(source: str, executor: str, suffix: str) -> str:
    """The path of a file with ``source``, in the folder of the cache; where there is none, a name for it."""
    from tnp.runtime import disk_cache

    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    path = disk_cache.folder()
    if path is not None:
        file = path / f"{executor}_{digest}{suffix}"
        if disk_cache.write(file, source.encode()):
            return str(file)
    return f"<tnp {executor} {digest}>"


def report_failure(region: str, kernels: str, path: str, error: Exception) -> None:
    """Warns that a region runs without its kernels."""
    warnings.warn(
        f"{region} runs operation by operation: its {kernels} kernels ({path}) failed with {error!r}",
        RuntimeWarning,
        stacklevel=user_stack_level(),
    )
