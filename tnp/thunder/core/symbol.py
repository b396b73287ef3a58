"""``thunder.core.symbol``: :mod:`tnp.core.symbol`."""

from tnp.core.symbol import BoundSymbol, Symbol

__all__ = ["BoundSymbol", "Symbol"]
