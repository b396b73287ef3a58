"""``torch.compiler.is_compiling()`` while a function is traced: a process-wide flag that several threads may set at
once.
"""

from __future__ import annotations

import torch

from tnp.runtime import locks

__all__ = ["begin", "end"]

_lock = locks.lock()
#: traces that want it true, and what it was before the first of them
_count = 0
_before = False


def begin() -> None:
    """Has it say ``True``, as torch.export does, until :func:`end` was called as often."""
    global _count, _before
    with _lock:
        if not _count:
            _before = torch.compiler._is_compiling_flag
        torch.compiler._is_compiling_flag = True
        _count += 1


def end() -> None:
    """See :func:`begin`."""
    global _count
    with _lock:
        if _count == 1:
            torch.compiler._is_compiling_flag = _before
        _count = max(0, _count - 1)


@locks.in_child
def _after_fork_in_child() -> None:
    """Threads that were tracing are not here."""
    global _count
    if _count:
        torch.compiler._is_compiling_flag = _before
        _count = 0
