"""Calls of functions with a cache (``functools.lru_cache``).

A library's function is called while tracing, and its result is a constant. With lengths that vary, the function behind the cache of
an installed package is traced, so that one program serves all lengths. A user's function is called by the prologue at each call of
the program, so that its cache is asked as often as eager asks it, and the result is an input: ``cache_clear()``, and what the
function looks at when its cache is empty, count as they do eagerly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tnp.capture import active
from tnp.capture.guards.lifting import Inputs
from tnp.capture.guards.prologue import Source
from tnp.capture.objects.shadows import is_stand_in, stored_attributes
from tnp.capture.purity import check_on_trial
from tnp.capture.rewrite.code_origin import is_followed, is_library_class, is_user_function
from tnp.capture.suspended import suspended
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.traced_values import TracedNumber
from tnp.core.errors import NeedsEager
from tnp.core.symbols import is_symbol

__all__ = ["call_cached"]

#: kinds of arguments that are the same at each call
_CONSTANTS = frozenset((bool, int, float, complex, str, bytes, type(None), type))


def call_cached(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``f`` gives for arguments that are known: it would keep a traced value for later calls."""
    tracer = active.current()
    wrapped = f.__wrapped__
    if is_followed(wrapped) and not is_user_function(wrapped) and _hold_lengths((*args, *kwargs.values())):
        return tracer.runtime.call(wrapped, *args, **kwargs)
    given: dict[Any, Any] = dict(enumerate(args))  # by position or by name
    given.update(kwargs)
    values = {k: tracer.known(v) for k, v in given.items()}
    if is_traced(tuple(values.values())) or any(map(is_stand_in, values.values())):
        raise NeedsEager(f"it calls {f.__name__}, which remembers what it gave")

    def call() -> Any:
        with suspended(tracer):  # its cache keeps what it gives
            return f(*(values[i] for i in range(len(args))), **{k: values[k] for k in kwargs})

    if not is_user_function(wrapped):
        return call()
    inputs: Inputs = tracer.inputs
    if not _are_constants(values.values()):
        raise NeedsEager(f"it calls {f.__name__}, which remembers what it gave, with what may change")

    def written(argument: Callable[[Any], str]) -> str:
        return ", ".join(f"{'' if type(k) is int else f'{k}='}{argument(k)}" for k in values)

    def fetched(k: Any) -> str:
        name = given[k].proxy.name if type(given[k]) is TracedNumber else ""
        return inputs.expressions.get(name) or inputs.prologue.constant(values[k])

    key = (id(f), written(lambda k: repr(values[k])))
    if key not in inputs.cached_calls:
        if _has_changed_objects(inputs):
            raise NeedsEager(f"it calls {f.__name__}, which remembers what it gave, after it has changed objects")
        if tracer.regions:  # behind a value that decides, the prologue asks it in those calls alone
            check_on_trial(f)
        called = Source(f"{inputs.prologue.constant(f, 'cached')}({written(fetched)})", f"{f.__name__}({key[1]})")
        inputs.cached_calls[key] = inputs.lift(call(), inputs.prologue.let(called))
    return inputs.cached_calls[key]


def _are_constants(values: Iterable[Any]) -> bool:
    return all(type(x) in _CONSTANTS or (_is_tuple(x) and _are_constants(x)) for x in values)


def _is_tuple(x: Any) -> bool:
    """Whether ``x`` is a plain tuple, or a library's, such as the shape of a tensor."""
    return type(x) is tuple or (isinstance(x, tuple) and is_library_class(type(x)) and not hasattr(x, "_fields"))


def _hold_lengths(values: Iterable[Any]) -> bool:
    """Whether there is a length among ``values``, or in tuples of them, that varies between the calls of a program."""
    return any(
        is_symbol(x.proxy) if type(x) is TracedNumber else isinstance(x, tuple) and _hold_lengths(x) for x in values
    )


def _has_changed_objects(inputs: Inputs) -> bool:
    """Whether the program has changed what a function of the user's may look at: the change is made when the program runs."""
    return (
        any(stored_attributes(s)[2] for s in inputs.shadows)
        or any(c.changed() for c in inputs.containers)
        or any(s.dirty for s in inputs.storages)
    )
