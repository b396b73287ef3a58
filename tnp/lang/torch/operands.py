"""Operands of torch functions: tensors, Python numbers, dimensions, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tnp.core import clang, devices, prims, symbols
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsOpaque, NeedsValue
from tnp.core.prims.base import canonicalize_dim
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.core.sizes import Shape
from tnp.lang.torch.dtypes import default_dtype, number_dtype, result_dtype, to_torch_dtype

__all__ = [
    "as_tensor",
    "dimension",
    "dimensions",
    "float_dtype",
    "integers",
    "known",
    "on_device",
    "operands_in",
    "promote",
    "real_only",
    "shape_argument",
    "size_or_int",
    "static_int",
    "tensor_only",
]


def tensor_only(*xs: Any) -> None:
    """Leaves calls to torch whose arguments are not tensors, which it takes or refuses."""
    for x in xs:
        if not isinstance(x, TensorProxy):
            raise NeedsOpaque(f"an argument is a {type(x).__name__}")


def real_only(*xs: Any) -> None:
    """Leaves calls to torch that give it other than real numbers where it takes those: it reads tensors, or refuses them."""
    for x in xs:
        if getattr(x, "python_type", type(x)) not in (bool, int, float):
            raise NeedsOpaque(f"a number is a {type(x).__name__}")


def as_tensor(x: Any, dtype: DType | None = None) -> TensorProxy:
    """``x`` as a tensor: a number becomes a 0-d one."""
    if isinstance(x, TensorProxy):
        return x if dtype is None else clang.convert(x, dtype)
    if not is_number(x):
        raise NeedsOpaque(f"an argument is a {type(x).__name__}")
    return clang.convert(x, number_dtype(x) if dtype is None else dtype)


def on_device(x: TensorProxy, device: devices.Device) -> TensorProxy:
    """``x`` itself if it is on that device, else a copy there."""
    moved: TensorProxy = x if x.device is device else prims.device_put(x, device)
    return moved


def float_dtype(dtype: DType) -> DType:
    """``dtype``, or the default floating dtype for integers and bools."""
    return dtype if dtype.kind in "fc" else default_dtype()


def _as_operand(x: Any, dtype: DType) -> Any:
    """``x`` in ``dtype``; a number that the dtype holds stays one."""
    if isinstance(x, TensorProxy):
        if x.ndim == 0 and x.device is devices.cpu:  # torch takes it for a number
            x = on_device(x, devices.current())
        return clang.convert(x, dtype)
    kind = x.python_type if isinstance(x, NumberProxy) else type(x)
    stays = {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float)}.get(dtype.kind, (int, float, complex))
    if kind is int and dtype.kind in "iu":
        limits = torch.iinfo(to_torch_dtype(dtype))
        value = x.value if isinstance(x, NumberProxy) else x
        if value is not None and not limits.min <= value <= limits.max:
            raise NeedsOpaque(f"{value} is out of bounds for {dtype}")
    return x if kind in stays else clang.convert(x, dtype)


def operands_in(dtype: DType, *xs: Any) -> list[Any]:
    """Operands in the dtype that is computed in. Raises :class:`NeedsOpaque` if none is a tensor."""
    if not any(isinstance(x, TensorProxy) for x in xs):
        raise NeedsOpaque("no operand is a tensor")
    return [_as_operand(x, dtype) for x in xs]


def promote(*xs: Any, floating: bool = False) -> list[Any]:
    """The operands in the dtype that they promote to, a floating one if ``floating``; numbers that it holds stay numbers."""
    dtype = result_dtype(*xs)
    return operands_in(float_dtype(dtype) if floating else dtype, *xs)


def known(x: Any) -> Any:
    """A Python number as itself, which the trace then depends on; anything else as it is."""
    return x.known() if isinstance(x, NumberProxy) else x


def static_int(x: Any, what: str = "an integer") -> int:
    """``x`` as an int that the trace depends on. Raises ``TypeError`` if it is none."""
    if isinstance(x, TensorProxy):
        raise NeedsValue(f"{what} is a value that is known only when the program runs")
    if isinstance(x, float) or (isinstance(x, NumberProxy) and x.python_type is float):
        raise TypeError(f"{what} must be int, not float")
    try:
        return int(x.__index__())
    except AttributeError:
        raise TypeError(f"{what} must be int, not {type(x).__name__}") from None


def dimension(ndim: int, dim: Any) -> int:
    """One dimension in ``[0, ndim)``, 0 and -1 for 0-d tensors, too. Raises ``IndexError``."""
    return canonicalize_dim(ndim, static_int(dim, "dim"))


def dimensions(ndim: int, dim: Any) -> tuple[int, ...]:
    """Dimensions, ``None`` and ``()`` meaning all; of a 0-d tensor none. Raises ``RuntimeError`` for one named twice."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    found = [dimension(ndim, d) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    if len(set(found)) != len(found):
        raise RuntimeError(f"dim {found[0]} appears multiple times in the list of dims")
    return tuple(found) if ndim else ()


def size_or_int(x: Any, what: str = "an integer") -> Any:
    """``x`` where a length or a position is wanted: a symbolic size as it is, anything else as :func:`static_int` has it."""
    return x if symbols.is_symbol(x) else static_int(x, what)


def extent(x: Any, what: str = "an integer") -> Any:
    """A length or a position to compute with: an int, or an :class:`~tnp.core.symbols.Extent` for a symbolic size."""
    return symbols.extent(size_or_int(x, what))


def _flat(args: Sequence[Any]) -> Sequence[Any]:
    return args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args


def integers(args: Sequence[Any]) -> tuple[int, ...]:
    """Integers given one by one or as one sequence."""
    return tuple(static_int(n) for n in _flat(args))


def extents(args: Sequence[Any]) -> tuple[Any, ...]:
    """Lengths or positions given one by one or as one sequence, each as :func:`extent` has it."""
    return tuple(map(extent, _flat(args)))


def shape_argument(args: Sequence[Any]) -> Shape:
    """A shape given as several integers or as one sequence of them."""
    return tuple(symbols.as_dimension(size_or_int(n, "a size")) for n in _flat(args))
