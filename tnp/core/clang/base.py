"""How a core-language function becomes a method of proxies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tnp.core import langs

__all__ = ["clangop"]

F = TypeVar("F", bound=Callable[..., object])


def clangop(*, method_name: str | None = None) -> Callable[[F], F]:
    """Marks a function as part of the core language, and as the method ``method_name`` of core proxies."""

    def decorate(f: F) -> F:
        if method_name is not None:
            langs.core.methods[method_name] = f
        return f

    return decorate
