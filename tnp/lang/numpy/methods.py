"""ndarray's methods and attributes that are not a function of ``numpy`` with the same parameters."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from tnp.core import clang, prims
from tnp.core.errors import NeedsEager
from tnp.core.prims.base import check
from tnp.core.printing import literal, name_of, register_printer
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import OpTags
from tnp.lang.numpy import elementwise
from tnp.lang.numpy import shape as shapes
from tnp.lang.numpy.creation import laid_out
from tnp.lang.numpy.dtypes import dtype_argument, to_numpy_dtype
from tnp.lang.numpy.operands import check_order, check_real
from tnp.lang.numpy.registry import Out, npmethod, npproperty, npsymbol

__all__ = ["astype", "view"]

_IMPORT = "import numpy as np"


def _type_literal(kind: type, context: dict[str, Any]) -> str:
    public = issubclass(kind, np.generic) and getattr(np, kind.__name__, None) is kind
    return f"np.{kind.__name__}" if public else name_of(kind, context)


def _dtype_literal(d: np.dtype[Any], context: dict[str, Any]) -> str:
    """A dtype by its name, or by its character: there may be two of one name."""
    for name in (d.name, d.char) if d.isbuiltin == 1 else ():
        if np.dtype(name) is d:
            return f"np.dtype({name!r})"
    return name_of(d, context)


def _scalar_literal(x: np.generic, context: dict[str, Any]) -> str:
    is_number = x.dtype.kind in "biufc" and x.dtype.char not in "gG"  # a longdouble's item() is itself
    return f"{_type_literal(type(x), context)}({literal(x.item(), context)})" if is_number else name_of(x, context)


register_printer(type, _type_literal, _IMPORT)
register_printer(np.generic, _scalar_literal, _IMPORT)
register_printer(np.dtype, _dtype_literal, _IMPORT)


def _as_given(a: TensorProxy, result: TensorProxy) -> TensorProxy:
    """``result``, a NumPy scalar if ``a`` is one."""
    if result is not a and a.ndim == 0:
        result.scalar = a.scalar
    return result


def _in_order(a: TensorProxy, order: str) -> TensorProxy:
    """A copy in row-major order, column-major for ``"F"``; ``"K"`` and ``"A"`` of what tnp allocates are row-major."""
    check_order(order)
    if order in ("F", "f") and a.ndim > 1:
        return prims.stride_order(a, tuple(range(a.ndim)))
    return prims.clone(a)


#: the rules of casting that say by the dtypes alone what may be cast
_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


@npmethod("astype", returns="argument if contiguous", tags=(OpTags.ANY_SIZE,))
def astype(
    a: TensorProxy, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> TensorProxy:
    """The elements converted to another dtype; the array itself if it has it and ``copy`` is false."""
    wanted = dtype_argument(dtype)
    check_order(order)
    order = "K" if order is None else order.upper()
    check(casting in _CASTINGS, lambda: f"it casts by the rule {casting!r}", NeedsEager)
    if not np.can_cast(to_numpy_dtype(a.dtype), to_numpy_dtype(wanted), casting):
        raise TypeError(f"Cannot cast array data from {a.dtype} to {wanted} according to the rule {casting!r}")
    check_real(a, wanted)
    if type(copy) is np._CopyMode:
        raise ValueError("_CopyMode enum is not allowed for astype function. Use true/false instead.")
    if a.dtype is wanted:
        if copy:
            return _as_given(a, _in_order(a, order))
        check(order != "A", lambda: "whether order='A' takes a copy depends on the array's memory", NeedsEager)
        return a if a.scalar or order == "K" else laid_out(a, order)
    return _as_given(a, clang.convert(a if order in ("K", "A") else _in_order(a, order), wanted))


@npsymbol("astype", returns="argument", tags=(OpTags.ANY_SIZE,))
def _astype_function(x: TensorProxy, dtype: Any, /, *, copy: bool = True, device: Any = None) -> TensorProxy:
    """``x.astype(dtype)``."""
    return astype(x, dtype, copy=copy)


@npmethod("view", returns="view")
def view(a: TensorProxy, dtype: Any = np._NoValue, type: Any = None) -> TensorProxy:
    """The same bytes as another dtype of the same width."""
    if type is not None or (isinstance(dtype, builtins.type) and issubclass(dtype, np.ndarray)):
        raise NeedsEager("it views an array as another class")
    if dtype is np._NoValue:
        return a
    wanted = dtype_argument(dtype)
    if wanted.bits != a.dtype.bits:
        raise NeedsEager("it views an array as a dtype of another width")
    return a if wanted is a.dtype else _as_given(a, prims.bitcast(a, wanted))


@npmethod("copy", returns="view")
def _copy(a: TensorProxy, order: str = "C") -> TensorProxy:
    """The same elements in memory of their own."""
    return _as_given(a, _in_order(a, order))


def _conjugate_method(name: str) -> None:
    def conjugate(a: TensorProxy) -> TensorProxy:
        """The complex conjugates; of a real array, itself."""
        return elementwise.conjugate(a) if a.dtype.kind == "c" else a

    npsymbol(name, returns="argument", method=name, out=Out(1), id_prefix="numpy.ndarray")(conjugate)


for _name in ("conj", "conjugate"):
    _conjugate_method(_name)


@npmethod("flatten", returns="array")
def flatten(a: TensorProxy, order: str = "C") -> TensorProxy:
    """A 1-d copy of the elements."""
    return shapes.ravel(a, order)


def _one_or_many(args: tuple[Any, ...]) -> Any:
    """What ``f(*args)`` takes either as several arguments or as one sequence."""
    return args[0] if len(args) == 1 else args


@npmethod("reshape", returns="view")
def _reshape(a: TensorProxy, *shape: Any, order: str = "C", copy: bool | None = None) -> TensorProxy:
    """The elements in another shape: ``a.reshape(2, 3)`` or ``a.reshape((2, 3))``."""
    if not shape:
        raise TypeError("reshape() takes exactly 1 argument (0 given)")
    return shapes.reshape(a, _one_or_many(shape), order, copy=copy)


@npmethod("transpose", returns="view")
def _transpose(a: TensorProxy, *axes: Any) -> TensorProxy:
    """Dimensions reversed, or in another order: ``a.transpose(1, 0)`` or ``a.transpose((1, 0))``."""
    return shapes.transpose(a, _one_or_many(axes) if axes else None)


npproperty("mT")(lambda a: shapes.matrix_transpose(a))
