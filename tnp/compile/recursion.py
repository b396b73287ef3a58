"""Room for functions that call themselves.

Python allows some thousand calls in one another. A call of a jitted function that calls itself is several of these, as is a call that is
traced, so that there are to be more of them while one is under way.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tnp.runtime import locks

__all__ = ["deeper", "running_eagerly", "runs_eagerly"]

#: Python's calls in one another for one of the user's, at most
FRAMES = 6


_running = threading.local()


def runs_eagerly(jitted: object) -> bool:
    """Whether this thread is inside of an eager call of a jitted function that tracing has given up."""
    return id(jitted) in getattr(_running, "eager", ())


@contextmanager
def running_eagerly(jitted: object) -> Iterator[None]:
    """An eager call of a jitted function that tracing has given up. Calls of itself in it would be traced in vain, each as deep as it goes."""
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
    """Allows more calls in one another inside."""
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
