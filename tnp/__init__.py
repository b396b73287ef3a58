"""tnp compiles array programs: put ``@tnp.jit`` on a NumPy function."""

from tnp.api import (
    CacheInfo,
    cache_info,
    explain,
    get_num_threads,
    jit,
    last_prologue_traces,
    last_traces,
    set_num_threads,
    trace,
)
from tnp.core.errors import EagerFallbackWarning, NoExecutorError, TraceError
from tnp.executors.registry import get_all_executors, get_default_executors, set_default_executors

__all__ = [
    "CacheInfo",
    "EagerFallbackWarning",
    "NoExecutorError",
    "TraceError",
    "cache_info",
    "explain",
    "get_all_executors",
    "get_default_executors",
    "get_num_threads",
    "jit",
    "last_prologue_traces",
    "last_traces",
    "set_default_executors",
    "set_num_threads",
    "trace",
]

__version__ = "0.1.0"
