"""Relaxed garbage collection while a function is compiled, and while executors are imported.

Compilation allocates some hundred thousand small objects, most of which are freed by reference counting. Their number
would trigger at least one full collection of the process, including torch's and NumPy's objects: some 30 ms, a fifth of
the time to compile a small program. So thresholds are raised during compilation, and at its end only the new objects
are collected.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from tnp.runtime import locks

__all__ = ["relaxed_gc"]

#: how many times as many objects are made between two collections
TIMES = 20

_lock = locks.lock()
#: compilations that are going on, and the thresholds outside of them
_depth = 0
_outside: tuple[int, int, int] = (0, 0, 0)


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """Lets garbage be collected more rarely, as long as any thread is in such a context.

    >>> import gc
    >>> collected = gc.collect()
    >>> before = gc.get_threshold()
    >>> with relaxed_gc():
    ...     gc.get_threshold()[0] == before[0] * TIMES
    True
    >>> gc.get_threshold() == before
    True
    """
    global _depth, _outside
    with _lock:
        if not _depth:
            _outside = gc.get_threshold()
            gc.set_threshold(*(n * TIMES for n in _outside))
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            if _depth:
                _depth -= 1
                if not _depth:
                    _put_back()


def _put_back() -> None:
    if gc.get_threshold() == tuple(n * TIMES for n in _outside):  # else the program has set them
        if _outside[0] and gc.isenabled():
            gc.collect(0)  # it is due; by itself Python might take the occasion to look through older objects, too
        gc.set_threshold(*_outside)


@locks.in_child
def _after_fork_in_child() -> None:
    """Threads that were compiling are not here."""
    global _depth
    if _depth:
        _depth = 0
        _put_back()
