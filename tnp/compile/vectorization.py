"""``vmap``: maps a function over an axis of its arguments.

The function is traced once, on stand-ins for one element; then its program runs again on whole arrays
(:mod:`tnp.transforms.batching`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from tnp.capture.speculation.regions import Region, Retrace, Variables
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber
from tnp.capture.tracing.tracer import Tracer
from tnp.compile.transform_wrapper import (
    call,
    is_traced,
    leaves_of,
    mapped,
    own_handles,
    transformed,
    value_of,
)
from tnp.core import clang, languages, prims, sizes
from tnp.core.errors import BatchError, user_location
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.views import Path
from tnp.lang import numpy as lnp
from tnp.transforms.batching import Batched, run_batched

if TYPE_CHECKING:
    from tnp.compile.function_types import JittedFunction

P = ParamSpec("P")

__all__ = ["vmap"]


def vmap(function: Callable[P, Any], in_axes: Any = 0, out_axes: Any = 0) -> JittedFunction[P, Any]:
    """Maps a function over an axis of its arguments, all elements at once, and stacks the results along an axis.

    Args:
        function: a function that tnp compiles.
        in_axes: the axis of the arrays in each argument: an integer, ``None`` for an argument that is the same for all, or a tuple with
            one of these for each positional argument. Keyword arguments are mapped along their first axis.
        out_axes: the axis of the results along which they are stacked; a tuple for a function that returns one.

    Branches on values that differ run both ways. The function may not write to arrays that it does not make. Mapped and differentiated
    functions may be mapped and differentiated again.

    Raises:
        BatchError: for axes that do not fit, and operations whose results have lengths that differ (``x[x > 0]``).

    >>> import numpy as np, tnp
    >>> tnp.vmap(lambda x, y: x @ y, (0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    in_axes = tuple(in_axes) if isinstance(in_axes, (list, tuple)) else in_axes
    out_axes = tuple(out_axes) if isinstance(out_axes, (list, tuple)) else out_axes
    for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        if not all(x is None or type(x) is int for x in (axes if isinstance(axes, tuple) else (axes,))):
            raise _error(f"{name} takes integers, None, and tuples of these, not {axes!r}")

    def compute(tracer: Tracer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _Mapping(tracer, function, args, kwargs, in_axes).results(out_axes)

    made: Any = transformed(vmap, function, {"in_axes": in_axes, "out_axes": out_axes}, compute, BatchError)
    return made  # type: ignore[no-any-return]


class _Mapping:
    """One call: the arguments' elements, the program for one, and that for all."""

    def __init__(
        self, tracer: Tracer, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any
    ) -> None:
        self.tracer = tracer
        self.result: Any
        self.found: Sequence[TensorProxy | None]
        self.start: int
        self.length: sizes.Dim | None = None
        self.batched: dict[str, TensorProxy] = {}
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise _error(f"in_axes has {len(axes)} entries for {len(args)} arguments")
        elements = [
            mapped(functools.partial(self._element, axis, f"argument {i}"), a)
            for i, (a, axis) in enumerate(zip(args, axes))
        ]
        keywords = {k: mapped(functools.partial(self._element, 0, f"argument {k}"), a) for k, a in kwargs.items()}
        if self.length is None:
            raise _error("there is nothing to map over: every axis is None")
        region = Region(tracer, Variables())
        region.open()
        try:
            self.result = call(function, elements, keywords)
            values = [value_of(x) for x in leaves_of(self.result)]
            if region.assigned:
                raise _error(f"the function assigns {region.assigned[0][0]}, of an object that it did not make")
        except Retrace:
            region.undo()
            raise _error("the function writes to an array that it did not make; return it, or map over it") from None
        except BaseException:
            region.undo()
            raise
        program = region.close()
        self.start = len(tracer.trace.statements)
        self.found = run_batched(program, self.batched, self.length, values)

    def _element(self, axis: Any, argument: str, x: Any, path: str) -> Any:
        """What stands for one element of ``x``, at ``path`` in an argument, while the function is traced."""
        tracer, name = self.tracer, argument + path
        if axis is None or x is None:
            return x
        if isinstance(x, np.ndarray) and not is_traced(x):
            x = tracer.array_handle(x)
        if type(axis) is not int or type(x) is not TracedArray or not -x.ndim <= axis < x.ndim:
            raise _error(
                f"{name} has no axis {axis}: it is {_described(x)}; use None in in_axes for what is the same for all"
            )
        value = x.__tnp_value__()
        with languages.language_context(value.lang):
            whole = clang.moveaxis(value, (axis,), (0,))
            if self.length is None:
                self.length = whole.shape[0]
            elif sizes.equal(self.length, whole.shape[0]) is False:
                raise _error(f"{name} has {whole.shape[0]} elements along axis {axis}, others have {self.length}")
            # As iterating over an array does: an element of a 1-d array is a scalar.
            one = TensorProxy(like=value, shape=whole.shape[1:], scalar=whole.ndim == 1)
        self.batched[one.name] = whole
        return TracedArray(
            Storage(one, writable=not one.scalar), Path(), one, None if one.ndim > 1 else (1,) * one.ndim
        )

    def results(self, out_axes: Any) -> Any:
        if isinstance(out_axes, tuple) and not (isinstance(self.result, tuple) and len(self.result) == len(out_axes)):
            raise _error(f"out_axes has {len(out_axes)} entries, which is not what the function returns")
        axes: list[Any] = []
        parts = zip(self.result, out_axes) if isinstance(out_axes, tuple) else [(self.result, out_axes)]
        for part, axis in parts:
            axes += [axis] * len(leaves_of(part))
        arrays = [None if x is None else self._stacked(x, axis) for x, axis in zip(self.found, axes)]
        kept = [a for a in arrays if a is not None]
        handles = iter(own_handles(self.tracer, kept, [_array_like(a) for a in kept], self.start))
        made = iter([None if a is None else next(handles) for a in arrays])
        return mapped(lambda x, path: next(made), self.result)

    def _stacked(self, x: Any, axis: Any) -> TensorProxy:
        if axis is None:
            if isinstance(x, Batched):
                raise _error("a result that differs from element to element needs an axis in out_axes")
            return x if isinstance(x, TensorProxy) else clang.convert(x, lnp.as_array(x).dtype)
        if not isinstance(x, Batched):
            if not isinstance(x, Proxy) and not isinstance(x, (bool, int, float, complex, np.generic)):
                raise _error(f"the function returns a {type(x).__name__}, which has no axis to be stacked along")
            one = x if isinstance(x, TensorProxy) else lnp.as_array(x)
            x = Batched(prims.broadcast_in_dim(one, (self.length, *one.shape), tuple(range(1, one.ndim + 1))))
        if type(axis) is not int or not -x.array.ndim <= axis < x.array.ndim:
            raise _error(f"a result has no axis {axis}: with the batch it has {x.array.ndim} dimensions")
        return clang.moveaxis(x.array, (0,), (axis,))


def _array_like(a: TensorProxy) -> TensorProxy:
    return TensorProxy("", shape=a.shape, dtype=a.dtype, device=a.device, lang=a.lang)


def _described(x: Any) -> str:
    if type(x) is TracedArray:
        return f"an array of shape {sizes.show(x.shape_)}"
    return f"a {(x.__class__ if type(x) is TracedNumber else type(x)).__name__}"


def _error(text: str) -> BatchError:
    return BatchError(f"tnp.vmap: {text}", user_location())
