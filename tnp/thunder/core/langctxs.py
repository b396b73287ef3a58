"""``thunder.core.langctxs``: :mod:`tnp.core.languages`."""

from tnp.core.languages import language_context

langctx = language_context

__all__ = ["langctx"]
