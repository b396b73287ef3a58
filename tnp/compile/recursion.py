"""Room for functions that call themselves.

Python limits how deep calls are nested. A recursive call of a jitted function takes several frames, traced or eager, where eager code takes
one. So the limit is higher while a call is compiled or has no program.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tnp.runtime import locks

__all__ = ["deeper", "running_eagerly", "runs_eagerly"]

#: frames of a recursive call, at most
FRAMES = 6

_running = threading.local()


def runs_eagerly(jitted: object) -> bool:
    """Whether this thread is in :func:`running_eagerly` of a jitted function."""
    return id(jitted) in getattr(_running, "eager", ())


@contextmanager
def running_eagerly(jitted: object) -> Iterator[None]:
    """Around an eager call of a jitted function that could not be traced. Its recursive calls are not traced: each attempt would fail, too."""
    before: frozenset[int] = getattr(_running, "eager", frozenset())
    _running.eager = before | {id(jitted)}
    try:
        yield
    finally:
        _running.eager = before


_lock = locks.lock()
_calls = _usual = 0


@contextmanager
def deeper() -> Iterator[None]:
    """Raises Python's limit for all threads until the last of them leaves."""
    global _calls, _usual
    with _lock:
        if not _calls:
            _usual = sys.getrecursionlimit()
            sys.setrecursionlimit(FRAMES * _usual)
        _calls += 1
    try:
        yield
    finally:
        with _lock:
            _calls -= 1
            if not _calls and sys.getrecursionlimit() == FRAMES * _usual:  # nobody has set another
                sys.setrecursionlimit(_usual)
