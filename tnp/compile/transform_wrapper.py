"""The base of function transforms: their results are traced like other functions, and compile themselves when called
outside of tracing.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

from tnp.capture import active
from tnp.capture.rewrite.code_origin import is_user_function
from tnp.capture.tracing.hooks import Runtime
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber
from tnp.capture.tracing.tracer import Tracer
from tnp.compile.compiled_function import Jitted, programs_behind
from tnp.compile.eager_calls import is_start_over
from tnp.core import languages, prims, pytree
from tnp.core.errors import GradientError, NeedsEager, TraceError, TransformError
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.subtraces import is_control_flow
from tnp.core.symbol import OpTags
from tnp.core.tuples import with_items
from tnp.core.views import Path
from tnp.lang import numpy as lnp
from tnp.transforms.autodiff import zeros_for

__all__ = ["Transformed", "call", "is_traced", "leaves_of", "mapped", "own_handles", "transformed", "value_of"]

#: transforms whose functions take the arguments of the function that they are made of
_CALLED_AS_THE_FUNCTION = frozenset(("grad", "value_and_grad", "all_grads", "jacobian", "vmap"))
#: those of them that call it once, with these arguments
_CALLED_ONCE = _CALLED_AS_THE_FUNCTION - {"vmap"}


class Transformed(Jitted):
    """A function that a transform made of another; called as that one, or as the transform says. Never runs eagerly.

    ``compute(tracer, args, kwargs)`` is what it does while it is traced, ``error`` what it raises where there is no trace.
    """

    runs_eagerly = False

    def __init__(
        self,
        transform: Callable[..., Any],
        function: Callable[..., Any],
        options: dict[str, Any],
        compute: Any,
        error: type[TransformError],
    ) -> None:
        self._made_by = transform, function, options
        self.calls_function = transform.__name__ in _CALLED_ONCE
        self._compute = compute
        self._error = error
        name = f"tnp.{transform.__name__}({getattr(function, '__qualname__', repr(function))})"

        def program(*args: Any, **kwargs: Any) -> Any:
            tracer = active.running()
            return self(*args, **kwargs) if tracer is None else compute(tracer, args, kwargs)

        program.__name__ = program.__qualname__ = name
        program.__doc__ = f"Made by ``tnp.{transform.__name__}``."
        if transform.__name__ in _CALLED_AS_THE_FUNCTION and is_user_function(
            getattr(function, "__tnp_function__", function)
        ):
            vars(program)["__signature__"] = inspect.signature(function)
        # A function made of a jitted one runs on the executors of that one.
        jitted = programs_behind(function)
        super().__init__(program, **jitted.options if jitted is not None else {})

    def _again(self) -> Transformed:
        return Transformed(*self._made_by, self._compute, self._error)

    def _refused(self, form: Any, prologue: Any, error: TraceError) -> Any:
        raise error

    def _eager_entry(self, form: Any, prologue: Any, reason: NeedsEager, warning: type[Warning] | None = None) -> Any:
        raise self._error(
            f"{self.__qualname__} needs a trace, and there is none: {reason.reason}; compute that outside, and pass it as an argument",
            reason.location,
        ) from None

    def _once_eagerly(
        self, form: Any, prologue: Any, error: BaseException, excuse: Any = None, *, keeps: bool = True
    ) -> Any:
        raise error

    def _after_error(self, form: Any, values: tuple[Any, ...], error: Exception) -> Any:
        if not is_start_over(error) or not self.calls_function:
            return super()._after_error(form, values, error)
        form.apply(self._made_by[1], values)
        raise self._error(
            f"{self.__qualname__}: a branch of the function raised, and does not raise when it is called"
        ) from None

    def _start_over(self, form: Any, values: tuple[Any, ...], failure: Any) -> Any:
        raise self._error(f"{self.__qualname__}: {failure}") from None

    def __reduce__(self) -> Any:
        transform, function, options = self._made_by
        return functools.partial(transform, **options), (function,)

    def __repr__(self) -> str:
        return f"<{self.__qualname__}>"


def transformed(
    transform: Callable[..., Any], function: Any, options: dict[str, Any], compute: Any,
    error: type[TransformError] = GradientError,
) -> Transformed:  # fmt: skip
    """The transformed function, the same one for the same function and options, so that it compiles once."""
    if not callable(function):
        raise TypeError(f"tnp.{transform.__name__} takes a function, not {type(function).__name__}")
    if not isinstance(function, (types.FunctionType, functools.partial)) and programs_behind(function) is None:
        # A bound method is another object each time, and its attributes are its function's.
        return Transformed(transform, function, options, compute, error)
    made: dict[Any, Transformed] = function.__dict__.setdefault("__tnp_derivatives__", {})
    key = transform.__name__, tuple(options.items())
    found = made.get(key)
    if (
        found is not None and found._made_by[1] is not function
    ):  # functools.wraps has given the function the attributes of another
        made = function.__dict__["__tnp_derivatives__"] = {}
        found = None
    if found is None:
        found = made[key] = Transformed(transform, function, options, compute, error)
    return found


def call(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    nobody: Any = _nothing
    return Runtime(nobody).call(function, *args, **kwargs)


def _nothing() -> None:
    """Whose globals and closure a runtime has that belongs to no function."""


def is_traced(x: Any) -> bool:
    """Whether ``x`` stands for an array that is being traced; ``isinstance`` says of such that they are ndarrays."""
    return type(x) is TracedArray


def value_of(x: Any) -> Any:
    """The proxy of a traced array or number; anything else as it is."""
    if type(x) is TracedEither:
        x = x.scalar
    return x.__tnp_value__() if type(x) in (TracedArray, TracedNumber) else x


def mapped(f: Callable[[Any, str], Any], x: Any, path: str = "") -> Any:
    """``x`` with ``f(leaf, path)`` in the place of each leaf of tuples, lists, dicts and what optree knows."""
    kind = type(x)
    if kind is tuple or kind is list:
        return kind(mapped(f, y, f"{path}[{i}]") for i, y in enumerate(x))
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return with_items(x, [mapped(f, y, f"{path}.{n}") for n, y in zip(x._fields, x)])
    if kind is dict:
        return {k: mapped(f, y, f"{path}[{k!r}]") for k, y in x.items()}
    if not isinstance(x, (TracedArray, TracedNumber, TracedEither)) and pytree.is_container(x):
        children, metadata, unflatten = pytree.flatten(x)
        return unflatten(metadata, [mapped(f, c, f"{path}[{i}]") for i, c in enumerate(children)])
    return f(x, path)


def leaves_of(x: Any) -> list[Any]:
    found: list[Any] = []
    mapped(lambda y, path: found.append(y), x)
    return found


def own_handles(tracer: Tracer, values: Sequence[TensorProxy | None], like: Sequence[Proxy], start: int) -> list[Any]:
    """Handles of results, zeros for ``None``: arrays that are nobody else's, and may be written to."""
    fresh = {
        p.name
        for b in tracer.trace.statements[start:]
        if OpTags.VIEW not in b.sym.tags
        for p in b.flat_outputs
        if all(p.name != q.name for q in b.flat_inputs)
    }
    carried = {p.name for b in tracer.trace.statements[start:] if is_control_flow(b) for p in b.flat_outputs}
    handles = []
    for g, p in zip(values, like):
        is_scalar = p.scalar if isinstance(p, TensorProxy) else True
        language = p.lang if isinstance(p, TensorProxy) else lnp.language
        with languages.language_context(language):
            if g is None:
                g = zeros_for(p)
            elif g.name not in fresh or (g.name in carried and g.scalar != is_scalar):
                g = prims.clone(g)
            if g.lang is not language:
                g = prims.as_language(g, language.name)
        fresh.discard(g.name)
        g.scalar = is_scalar
        handles.append(
            TracedArray(
                Storage(g, writable=not g.scalar), Path(), g, None if g.ndim > 1 else () if not g.ndim else (1,)
            )
        )
    return handles
