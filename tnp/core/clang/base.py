"""Registers a function of the core language as a method of proxies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tnp.core import languages

__all__ = ["clangop"]

F = TypeVar("F", bound=Callable[..., object])


def clangop(*, method_name: str | None = None) -> Callable[[F], F]:
    """Marks a function as part of the core language, and as the method ``method_name`` of proxies.

    A method of that name that a proxy's own language has goes first. The functions are inlined: a trace shows what they call. Raises
    ``ValueError`` if the core language has such a method.

    >>> from tnp.extend import clangop
    >>> @clangop(method_name="doc_doubled")
    ... def doubled(a):
    ...     return a + a
    >>> import numpy as np, tnp
    >>> ex = tnp.extend.OperatorExecutor("method_user")
    >>> twice = ex.register_operator("twice", like=lambda a: a.doc_doubled(), fn=lambda a: 2 * a)
    >>> twice(np.ones(2))
    array([2., 2.])
    """

    def decorate(f: F) -> F:
        if method_name is not None and languages.core.methods.setdefault(method_name, f) is not f:
            raise ValueError(f"the core language has a method {method_name!r} already")
        return f

    return decorate
