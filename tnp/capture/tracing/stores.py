"""What a program stores into arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tnp.capture.tracing.traced_values import TracedArray, shapes_in
from tnp.core import languages, sizes
from tnp.core.errors import NeedsEager
from tnp.core.proxies import TensorProxy
from tnp.core.views import Path, Step, converts_late, fit

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["store", "store_updated"]


def store(tracer: Tracer, target: TracedArray, value: Any, key: Step | None = None, *, by_element: bool = True) -> None:
    """``target[...] = value``, with assignment's conversion to the target's dtype."""
    if type(value) is TracedArray and value.storage is target.storage:
        path = target.path if key is None else target.path + Path([key])
        if value.path == path:  # the very elements: the second half of ``x[k] += v``
            if not target.storage.written:  # ``a[...] = a`` is an error where the array is read-only
                target.storage.replace(target.storage.value)
            return
    if tracer.gradients is not None:
        tracer.gradients.sync()
    seen: dict[str, TracedArray] = {}
    if not all(map(sizes.is_known, shapes_in((value, target)))):
        tracer.before_raising()
    new, start = tracer.value(value, seen), len(tracer.trace.statements)
    converted = _converted(tracer, new, target, key, by_element)
    if tracer.undoes_early(start):
        tracer.before_raising()
        converted = _converted(tracer, tracer.value(value, seen), target, key, by_element)
    target.__tnp_assign__(converted, key)


def _converted(tracer: Tracer, value: Any, target: TracedArray, key: Step | None, by_element: bool) -> Any:
    if converts_late(value, target._element_type):
        with languages.language_context(value.lang):
            stored = target.__tnp_value__()
            value = fit(value, (stored if key is None else key(stored)).shape)
    return target.library.converted(tracer, value, target, by_element=by_element)


def store_updated(target: Any, value: TensorProxy) -> None:
    """Takes ``value`` for what an array holds from now on."""
    if not isinstance(target, TracedArray) or type(target) is not TracedArray:
        raise NeedsEager("it writes into an object that is not an array of the program")
    if target.path:
        target.__tnp_assign__(value)
    else:
        target.storage.replace(value)
