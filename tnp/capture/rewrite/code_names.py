"""Qualified names in rewritten code: those that the user wrote, without the functions that the rewriter adds."""

from __future__ import annotations

import re
import types
from typing import Any

from tnp.capture.control_flow.liveness import PREFIX

__all__ = ["FACTORY", "with_users_names"]

#: the function compiled around the user's; its parameters are the user function's free variables
FACTORY = f"{PREFIX}factory__"
_REWRITERS = re.compile(rf"{PREFIX}\w+\.<locals>\.")


def with_users_names(code: types.CodeType, outer: str) -> types.CodeType:
    """The code with the qualified names that functions and classes have in eager: in ``outer``, without the rewriter's functions."""

    def renamed(x: Any) -> Any:
        if type(x) is types.CodeType:
            return with_users_names(x, outer)
        return _in(x, outer) if type(x) is str else x

    return code.replace(co_consts=tuple(map(renamed, code.co_consts)), co_qualname=_in(code.co_qualname, outer))


def _in(name: str, outer: str) -> str:
    if not name.startswith(f"{FACTORY}.<locals>."):
        return name
    return f"{outer}.<locals>.{_REWRITERS.sub('', name)}"
