"""Exceptions raised by signal handlers. Python runs handlers between any two instructions, so no line of the program
raises them.
"""

from __future__ import annotations

import functools
import signal
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["heard", "of_handler"]

#: made once: each call would make members of an enumeration
_SIGNALS = tuple(signal.valid_signals())


def of_handler(error: BaseException) -> BaseException | None:
    """``error``, or what it was raised from, if a signal's handler raised it: an alarm's, say.

    >>> of_handler(ValueError("raised by nobody")) is None
    True
    """
    handlers = {code for n in _SIGNALS if (code := _code_of(signal.getsignal(n))) is not None}
    found: BaseException | None = error
    while found is not None and handlers:
        at = found.__traceback__
        while at is not None:
            if at.tb_frame.f_code in handlers:
                return found
            at = at.tb_next
        found = found.__cause__
    return None


@contextmanager
def heard() -> Iterator[None]:
    """Around what makes errors of tnp's own of others: what a signal's handler raises leaves as it is.

    >>> with heard():
    ...     "compile"
    'compile'
    """
    try:
        yield
    except BaseException as error:
        raised = of_handler(error)
        if raised is None or raised is error:
            raise
        raise raised from None


def _code_of(handler: Any) -> types.CodeType | None:
    while isinstance(handler, functools.partial):
        handler = handler.func
    if not callable(handler):
        return None
    function = getattr(handler, "__func__", handler)
    if not isinstance(function, types.FunctionType):
        function = type(handler).__call__  # of a callable: there is one
    return getattr(function, "__code__", None)
