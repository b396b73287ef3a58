"""Dispatch: the function that a call of a jitted function comes to.

A jitted function is a :class:`functools.partial` without arguments, so that a call of it is a call of another function from C. This is
generated for the signature: Python binds its parameters, and it passes them on. A class with a ``__call__`` would cost a call more than many a
short function takes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tnp.capture.guards.prologue import MISS
from tnp.capture.libraries.base import left_alone
from tnp.compile.call_signature import spelled
from tnp.compile.tracebacks import hide_own_frames
from tnp.compile.turns import Turns
from tnp.core.printing import compile_source

__all__ = ["ABSENT", "Dispatch", "dispatcher", "eager_dispatcher"]


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


#: the value of a parameter that is not passed and has a default
ABSENT = _Absent()


class Dispatch:
    """What the dispatcher of a function reads at each call: the program that is tried ``first``. It counts calls of programs; the
    ``turns`` of eager calls, if there are any, count theirs."""

    __slots__ = ("counted", "first", "turns")

    def __init__(self, first: Callable[..., Any]) -> None:
        self.first = first
        self.counted = 0
        self.turns: Turns | None = None

    @property
    def hits(self) -> int:
        """How many calls ran without compiling."""
        return self.counted + (0 if self.turns is None else self.turns.counted())

    @hits.setter
    def hits(self, value: int) -> None:
        self.counted = value - (0 if self.turns is None else self.turns.counted())

    def take(self, turns: Turns | None) -> None:
        """From now on calls go by turns, or by programs."""
        hits, self.turns = self.hits, turns
        self.hits = hits


#: what dispatchers call; their parameters are the user's, so all names of their own begin with ``_tnp_``
_CONTEXT = {
    "_tnp_MISS": MISS,
    "_tnp_ABSENT": ABSENT,
    "_tnp_next": next,
    "_tnp_Exception": Exception,
    "_tnp_hide_own_frames": hide_own_frames,
}

_DISPATCHER = """\
def {name}({parameters}):
  try:
    {defaults}_tnp_result = _tnp_dispatch.first({values})
    if _tnp_result is not _tnp_MISS:
      _tnp_dispatch.counted += 1
      return _tnp_result
    return _tnp_owner().call_others(({values}))
  except _tnp_Exception as _tnp_raised:
    _tnp_error = _tnp_raised
  try:
    return _tnp_owner().call_after_error(({values}), _tnp_error)
  except _tnp_Exception as _tnp_raised:
    _tnp_hide_own_frames(_tnp_raised)
    raise
"""

_EAGER_DISPATCHER = """\
def {name}({parameters}):
  try:
    {defaults}_tnp_dispatch.counted += 1
    return _tnp_next(_tnp_turns.ways)({passed})
  except _tnp_Exception as _tnp_raised:
    _tnp_error = _tnp_raised
  try:
    _tnp_owner().refuse_absent(({values}))
    raise _tnp_error
  except _tnp_Exception as _tnp_raised:
    _tnp_hide_own_frames(_tnp_raised)
    raise
"""


def dispatcher(
    signature: inspect.Signature, name: str, function: Any, owner: Callable[[], Any], dispatch: Dispatch
) -> Callable[..., Any]:
    """A function with ``signature`` that runs calls by programs. What no default is found for it leaves to ``owner()``, a jitted function.
    ``function`` has the defaults, which may be assigned anew; ``None`` if the signature has them."""
    return _made(_DISPATCHER, signature, name, function, owner, dispatch)


def eager_dispatcher(
    signature: inspect.Signature, name: str, function: Any, owner: Callable[[], Any], dispatch: Dispatch, turns: Turns
) -> Callable[..., Any]:
    """The same, which runs calls in ``turns``."""
    return _made(_EAGER_DISPATCHER, signature, name, function, owner, dispatch, _tnp_turns=turns)


def _made(
    text: str,
    signature: inspect.Signature,
    name: str,
    function: Any,
    owner: Callable[[], Any],
    dispatch: Dispatch,
    **own: Any,
) -> Callable[..., Any]:
    context: dict[str, Any] = {**_CONTEXT, "_tnp_dispatch": dispatch, "_tnp_owner": owner, "_tnp_function": function}
    context.update(own)
    fetched: list[str] = []
    if function is None:
        context.update((f"_tnp_default_{p.name}", p.default) for p in signature.parameters.values())
        parameters, passed = spelled(signature, lambda p: f"_tnp_default_{p.name}")
    else:
        parameters, passed = spelled(signature, lambda p: "_tnp_ABSENT")
        by_position = [
            p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        for i, p in enumerate(by_position, -len(by_position)):
            if p.default is not p.empty:
                fetched.append(_fetched(p.name, f"__defaults__[{i}]"))
        for p in signature.parameters.values():
            if p.kind is p.KEYWORD_ONLY and p.default is not p.empty:
                fetched.append(_fetched(p.name, f"__kwdefaults__[{p.name!r}]"))
    names = list(signature.parameters)
    source = text.format(
        name=name,
        parameters=parameters,
        defaults="".join(f"{line}\n    " for line in fetched),
        values="".join(f"{n}, " for n in names),
        passed=", ".join(how.format(n) for how, n in zip(passed, names)),
    )
    return left_alone(compile_source(source, name, context))


def _fetched(name: str, where: str) -> str:
    return f"if {name} is _tnp_ABSENT: {name} = _tnp_function.{where}"
