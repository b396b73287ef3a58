"""``thunder.core.langctxs``: :mod:`tnp.core.langs`."""

from tnp.core.langs import language_context

langctx = language_context

__all__ = ["langctx"]
