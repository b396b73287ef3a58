"""What one thread does without being heard: dry runs, whose warnings and logged errors are said by the real run, if at
all.

``warnings.catch_warnings`` puts the filters of the whole process aside: of two threads that overlap, the one that
leaves last would put back those of the other, and all would be silent from then on. Here there is one filter, which
asks the thread that warns.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import warnings
from collections.abc import Iterator

from tnp.runtime import locks

__all__ = ["quiet"]


class _Here(threading.local):
    depth = 0
    #: the classes of warnings that are dropped
    kinds: tuple[type[Warning], ...] = ()

    def __init__(self) -> None:
        #: the classes of warnings that were dropped
        self.said: list[type[Warning]] = []


_here = _Here()
_lock = locks.lock()
#: how many are quiet now, in all threads
_count = 0


class _OfThisThread(type):
    def __subclasscheck__(cls, category: type) -> bool:
        dropped = _here.depth > 0 and issubclass(category, _here.kinds)
        if dropped:
            _here.said.append(category)
        return dropped


class _Unheard(Warning, metaclass=_OfThisThread):
    """Every class of warnings, to a thread that is quiet, and none to others."""


def _is_heard(record: logging.LogRecord) -> bool:
    return not _here.depth


#: loggers of libraries that tell of errors in dry runs
_LOGGERS = ("torch._subclasses.fake_tensor",)


@contextlib.contextmanager
def quiet(*kinds: type[Warning]) -> Iterator[list[type[Warning]]]:
    """While this is open, this thread's warnings of those kinds are dropped, without any all of them, and what it logs to those loggers.
    Gives the classes of the warnings.

    >>> import warnings
    >>> with quiet() as said:
    ...     warnings.warn("nobody hears it")
    >>> said
    [<class 'UserWarning'>]
    """
    global _count
    with _lock:
        _count += 1
        warnings.simplefilter("ignore", _Unheard)  # once, in front of what may have been added
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(_is_heard)
    _here.depth += 1
    outer, _here.said = (_here.said, _here.kinds), []
    said = _here.said
    _here.kinds = kinds or (Warning,)
    try:
        yield said
    finally:
        _here.depth -= 1
        _here.said, _here.kinds = outer
        with _lock:
            _count -= 1
            if _count <= 0:
                _put_back()


@locks.in_child
def _put_back() -> None:
    global _count
    _count = _here.depth
    if not _count:
        # A program may have put the filters aside. The type stubs call them a sequence; they are a list.
        with contextlib.suppress(ValueError):
            warnings.filters.remove(("ignore", None, _Unheard, None, 0))  # type: ignore[attr-defined]
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(_is_heard)
