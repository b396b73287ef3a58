"""Elementwise functions of the core language: the prims of the table, with broadcasting.

Dtypes must be equal: the languages promote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, overload

from tnp.core import devices, prims, symbols
from tnp.core.clang.base import clangop
from tnp.core.clang.shape import broadcast
from tnp.core.devices import Device
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import ROWS, Row
from tnp.core.proxies import Number, NumberProxy, TensorProxy, is_number
from tnp.core.sizes import Dim, Shape

__all__ = ["arange", "arange_of_sizes", "convert", "full", "full_like", "where"]


if TYPE_CHECKING:

    class Elementwise(Protocol):
        """A function of a row: an array if an argument is one, else a number."""

        @overload
        def __call__(self, a: TensorProxy, b: Any = ..., /) -> TensorProxy: ...
        @overload
        def __call__(self, a: Number, b: TensorProxy, /) -> TensorProxy: ...
        @overload
        def __call__(self, a: Number, b: Number = ..., /) -> NumberProxy: ...

    #: The functions of the rows are made by a loop, which a type checker does not see.
    __getattr__: Callable[[str], Elementwise]


def _function_of(row: Row) -> Callable[..., Any]:
    prim = prims.registry[row.name]
    if row.nargs == 1:

        def unary(a: Any) -> Any:
            return prim(a)

        return unary

    def binary(a: Any, b: Any) -> Any:
        if isinstance(a, TensorProxy) and isinstance(b, TensorProxy):
            a, b = broadcast(a, b)
        return prim(a, b)

    return binary


for _row in ROWS:
    _function = _function_of(_row)
    _function.__name__ = _function.__qualname__ = _row.name
    _function.__doc__ = f"``prims.{_row.name}`` of arguments that broadcast."
    globals()[_row.name] = clangop(method_name=_row.name)(_function)
    __all__.append(_row.name)


@clangop(method_name="divmod")
def divmod(a: Any, b: Any) -> tuple[Any, Any]:
    """``a // b, a % b``."""
    return prims.floor_divide(a, b), prims.remainder(a, b)


def convert(a: TensorProxy | Number, dtype: DType) -> TensorProxy:
    """``a`` as ``dtype``: itself if it is that already; a number becomes a 0-d array."""
    if isinstance(a, TensorProxy) and a.dtype is dtype:
        return a
    if is_number(a) and not isinstance(a, NumberProxy):
        number: TensorProxy = prims.full((), a, device=devices.current(), dtype=dtype)
        return number
    return prims.convert_element_type(a, dtype)  # type: ignore[no-any-return]


def where(condition: TensorProxy, a: TensorProxy | Number, b: TensorProxy | Number) -> TensorProxy:
    """``a`` where ``condition``, else ``b``; all three broadcast. One of ``a`` and ``b`` is an array."""
    tensors = broadcast(*(x for x in (condition, a, b) if isinstance(x, TensorProxy)))
    rest = iter(tensors)
    return prims.where(*(next(rest) if isinstance(x, TensorProxy) else x for x in (condition, a, b)))  # type: ignore[no-any-return]


def full(shape: Shape, value: Number, *, dtype: DType, device: Device | None = None) -> TensorProxy:
    """An array of ``value``, by default on the current device."""
    shape = symbols.dimensions(shape)
    made: TensorProxy = prims.full(shape, value, device=devices.current() if device is None else device, dtype=dtype)
    return made


def full_like(a: TensorProxy, value: Number, *, dtype: DType | None = None) -> TensorProxy:
    """An array of ``value`` with the shape, device and (by default) dtype of ``a``."""
    return full(a.shape, value, dtype=a.dtype if dtype is None else dtype, device=a.device)


def arange(length: Dim, *, dtype: DType, device: Device | None = None) -> TensorProxy:
    """0, 1, … below ``length``, by default on the current device."""
    (length,) = symbols.dimensions((length,))
    made: TensorProxy = prims.iota(length, device=devices.current() if device is None else device, dtype=dtype)
    return made


def arange_of_sizes(start: Any, stop: Any, step: Any, dtype: DType) -> TensorProxy | None:
    """``start``, ``start + step``, … below ``stop``, of integers that may be symbolic sizes; ``None`` if the result depends on their
    values. ``dtype`` holds them exactly."""
    if type(step) is not int or not step or symbols.relations_of(start, stop) is None:
        return None
    first, last, by = (start, stop, step) if step > 0 else (stop, start, -step)
    length = symbols.compute("add", symbols.compute("sub", last, first), by - 1)
    length = symbols.as_dimension(symbols.compute("floor_divide", length, by))
    if dtype.kind == "f":
        start, step = float(start) if type(start) is int else start, float(step)
    length = max(length, 0) if isinstance(length, int) else length
    made: TensorProxy = prims.iota(length, start=start, step=step, device=devices.current(), dtype=dtype)
    return made
