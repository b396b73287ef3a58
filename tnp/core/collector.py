"""Python's collector of cyclic garbage, while a function is compiled.

Compiling makes some hundred thousand small objects, most of which go as soon as nothing refers to them. Python, counting them, would look
through all objects of the process at least once, torch's and NumPy's included: some 30 ms, a fifth of the time to compile a small program. So it
counts to more while a program is compiled, and what was made meanwhile is looked through when it next would collect anyway, not at once.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collected_rarely"]

#: how many times as many objects are made between two collections
TIMES = 20

_lock = threading.Lock()
#: compilations that are going on, and the thresholds outside of them
_depth = 0
_outside: tuple[int, int, int] = (0, 0, 0)
#: the thresholds that were set here last
_ours: tuple[int, ...] = ()
#: whether those are for the time from a compilation to the first collection behind it
_delays = False


@contextmanager
def collected_rarely() -> Iterator[None]:
    """Lets garbage be collected more rarely, as long as any thread is in such a context. The thresholds are what they were after the
    first collection behind it, which comes as many objects later as ever.

    >>> import gc
    >>> collected = gc.collect()
    >>> before = gc.get_threshold()
    >>> with collected_rarely():
    ...     gc.get_threshold()[0] == before[0] * TIMES
    True
    >>> collected = gc.collect()
    >>> gc.get_threshold() == before
    True
    """
    global _depth, _outside, _delays
    with _lock:
        if not _depth:
            if not _delays or gc.get_threshold() != _ours:
                _outside = gc.get_threshold()
            _delays = False
            _set(*(n * TIMES for n in _outside))
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            if _depth:
                _depth -= 1
                if not _depth:
                    _put_back()


def _set(*thresholds: int) -> None:
    global _ours
    _ours = thresholds
    gc.set_threshold(*thresholds)


def _put_back() -> None:
    """What has been made counts as made before: the next collection is due after as many objects more as outside."""
    global _delays
    if gc.get_threshold() != _ours:
        return  # the program has set them
    if _collecting not in gc.callbacks:
        gc.callbacks.append(_collecting)
    _delays = True
    _set(gc.get_count()[0] + _outside[0] if _outside[0] else 0, *_outside[1:])  # 0: there are no collections


def _collecting(phase: str, info: dict[str, int]) -> None:
    global _delays
    if phase == "stop" and _delays:
        _delays = False
        if gc.get_threshold() == _ours:
            gc.set_threshold(*_outside)


def _after_fork_in_child() -> None:
    """Threads that were compiling are not here."""
    global _lock, _depth
    _lock = threading.Lock()
    if _depth:
        _depth = 0
        _put_back()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
