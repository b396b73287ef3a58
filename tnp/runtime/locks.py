"""Locks, and what becomes of them when the process is forked.

A forked child has the thread that forked, and no other. A lock that another thread held would never come free there,
and what it was writing stays as it was at that moment. So all locks are made here, and are of two kinds.

- :func:`lock` is free in a child, unless the thread that forked holds it: that goes on holding it. So what is done
  under such a lock is of use wherever it stops: the write that makes the rest known is the last one. (Python's objects
  are whole, as a thread loses the interpreter between two operations only.) What cannot be written in such an order is
  put right by a function that :func:`in_child` was given.
- :func:`lock_of_forks` is for what nobody can put right: the state of libraries in C++, modules that are half imported.
  Nobody forks while another thread holds one, so nothing is done under it that runs the user's code or waits for a
  thread that may fork.

All of them may be taken again by the thread that has them.

Python 3.11's ``functools.cached_property`` has a lock, too, one for all objects, which a child would wait for;
:class:`cached_property` has none.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar, overload

__all__ = ["cached_property", "importing", "in_child", "lock", "lock_of_forks"]

F = TypeVar("F", bound=Callable[[], Any])
T = TypeVar("T")

_locks: weakref.WeakSet[Any] = weakref.WeakSet()
#: those that a fork takes, in the order in which it does; who holds one takes none that stands before it
_of_forks: list[AbstractContextManager[Any]] = []
#: what forks that are going on have taken; a list of lists, as a finalizer may fork while its thread does
_taken: list[list[AbstractContextManager[Any]]] = []
_in_child: list[Callable[[], Any]] = []


def lock() -> Any:
    """A lock that is free in a forked child, unless the thread that forked holds it.

    >>> with (held := lock()), held:
    ...     print("twice")
    twice
    """
    made = threading.RLock()
    _locks.add(made)
    return made


def lock_of_forks(lock: AbstractContextManager[Any] | None = None) -> AbstractContextManager[Any]:
    """A lock, or ``lock`` itself, that no other thread holds while this one forks. To be made once, by a module: it is kept for ever."""
    made = threading.RLock() if lock is None else lock
    _of_forks.append(made)
    return made


def in_child(function: F) -> F:
    """Has ``function()`` called in each forked child, once the locks are free there. To be called once, by a module."""
    _in_child.append(function)
    return function


#: held while modules of tnp's are imported that are not needed before: in a child, a module would stay as far as another thread had come with it
importing = lock_of_forks()


class cached_property(Generic[T]):
    """As ``functools.cached_property``, for what several threads may compute at once."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        return vars(instance).setdefault(self.name, self.function(instance))


def _before() -> None:
    taken = []
    for wanted in _of_forks:
        wanted.__enter__()
        taken.append(wanted)
    _taken.append(taken)  # only now is it this thread alone that forks


def _after() -> None:
    for held in reversed(_taken.pop()):
        held.__exit__(None, None, None)


def _after_in_child() -> None:
    for made in _locks:
        if not made._is_owned():
            made._at_fork_reinit()
    _after()
    for function in _in_child:
        function()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
