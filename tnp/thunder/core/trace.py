"""``thunder.core.trace``: :mod:`tnp.core.trace`."""

from tnp.core.trace import Trace, tracing

TraceCtx = Trace
tracectx = tracing

__all__ = ["TraceCtx", "tracectx"]
