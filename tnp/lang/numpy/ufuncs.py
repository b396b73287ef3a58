"""Ufuncs that are not one row of the elementwise table, and the methods of every ufunc.

The methods are symbols whose first argument is the ufunc (``np.add.reduce(x)`` is ``ufunc.reduce(np.add, x)``), except
``at``, whose first argument is the array that it changes. A method of a ufunc without a composition of prims is a NumPy
call (``ufunc_call.reduce``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import by_name
from tnp.core.errors import NeedsEager
from tnp.core.printing import name_of, register_printer
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy, is_number
from tnp.core.reduction_table import REDUCTIONS
from tnp.core.symbol import Namespace, OpTags, Symbol
from tnp.lang.numpy.dtypes import resolve_ufunc, result_of, to_numpy_dtype, weak_type
from tnp.lang.numpy.elementwise import only_where, ufunc_out
from tnp.lang.numpy.indexing import index_key
from tnp.lang.numpy.operands import as_array, as_item, as_mask, check_order, normalize_operand, static_axis, ufunc_axes
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.numpy.registry import IMPORT, Out, language, npsymbol, symbol_of

__all__ = ["accumulate", "at", "outer", "reduce", "reduceat"]


def _ufunc_literal(ufunc: np.ufunc, context: dict[str, Any]) -> str:
    public = getattr(np, ufunc.__name__, None) is ufunc
    return f"np.{ufunc.__name__}" if public else name_of(ufunc, context)


register_printer(np.ufunc, _ufunc_literal, "import numpy as np")


# Ufuncs made of others


def _modf(a: TensorProxy) -> tuple[TensorProxy, TensorProxy]:
    whole = clang.trunc(a)
    return clang.copysign(clang.where(clang.isinf(a), 0.0, clang.sub(a, whole)), a), whole


def _times_ratio(over: float, under: float) -> Callable[[TensorProxy], TensorProxy]:
    """A product with a quotient of two numbers, which NumPy makes in the precision that it computes in: single for half."""

    def compute(a: TensorProxy) -> TensorProxy:
        if a.dtype is dtypes.float64:
            return clang.mul(a, over / under)
        ratio = float(np.float32(over) / np.float32(under))
        return clang.convert(clang.mul(clang.convert(a, dtypes.float32), ratio), a.dtype)

    return compute


#: what each computes of arrays that are broadcast and in the dtypes of its loop
_COMPOSED: dict[str, Callable[..., Any]] = {
    "deg2rad": _times_ratio(math.pi, 180),
    "degrees": _times_ratio(180, math.pi),
    "divmod": lambda a, b: (clang.floor_divide(a, b), clang.remainder(a, b)),
    "fabs": lambda a: clang.abs(a),
    "float_power": lambda a, b: clang.pow(a, b),
    "frexp": lambda a: prims.frexp(a),
    "ldexp": lambda a, b: prims.ldexp(a, b),
    "modf": _modf,
    "rad2deg": _times_ratio(180, math.pi),
    "radians": _times_ratio(math.pi, 180),
}


def _composed(name: str, compute: Callable[..., Any]) -> Symbol:
    ufunc = getattr(np, name)

    def meta(*xs: Any, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None) -> Any:
        if len(xs) != ufunc.nin:
            raise TypeError(f"{name}() takes {ufunc.nin} positional arguments but {len(xs)} were given")
        check_order(order)
        operands = [normalize_operand(x) for x in xs]
        loop = resolve_ufunc(name, tuple(weak_type(x) for x in operands), dtype, casting)
        results = compute(*clang.broadcast(*(as_array(x, d) for x, d in zip(operands, loop))))
        if ufunc.nout == 1:
            results = (results,)
        made = tuple(clang.convert(r, d) for r, d in zip(results, loop[ufunc.nin :]))
        if where is not True:
            made = tuple(only_where(where, r) for r in made)
        return made[0] if ufunc.nout == 1 else made

    meta.__name__ = name
    meta.__doc__ = ufunc.__doc__
    method = name if name == "divmod" else ()
    return npsymbol(method=method, tags=(OpTags.ELEMENTWISE,), out=ufunc_out(ufunc.nin, ufunc.nout))(meta)


for _name, _compute in _COMPOSED.items():
    globals()[_name] = _composed(_name, _compute)
    __all__.append(_name)


@npsymbol()
def isnat(x: Any, /, **options: Any) -> TensorProxy:
    """Refuses every dtype that a trace holds, as NumPy does: times are none of them."""
    raise TypeError("ufunc 'isnat' is only defined for np.datetime64 and np.timedelta64.")


# Methods of ufuncs: what their results look like


@cache
def _probe(
    ufunc: np.ufunc, method: str, shape: tuple[int, ...], dtype: np.dtype[Any], rest: Any, options: Any
) -> DType:
    """The dtype that a method's result has, found on an array of ones. Raises what NumPy raises for the arguments."""
    with np.errstate(all="ignore"):
        result = getattr(ufunc, method)(np.ones(shape, dtype), *rest, **dict(options))
    if not isinstance(result, (np.ndarray, np.generic)):
        raise NeedsEager(f"{ufunc.__name__}.{method} gives a {type(result).__name__}")
    return result_of(result.dtype)


def _result_dtype(ufunc: np.ufunc, method: str, a: TensorProxy, rest: tuple[Any, ...] = (), **options: Any) -> DType:
    shape = tuple(min(1 if symbols.is_symbol(n) else sizes.bound(n), 1) for n in a.shape)
    dtype = options.get("dtype")
    if isinstance(dtype, DType):
        options["dtype"] = to_numpy_dtype(dtype)
    try:
        return _probe(ufunc, method, shape, to_numpy_dtype(a.dtype), rest, tuple(options.items()))
    except RuntimeError as error:  # reductions with a signature, ufuncs of several outputs
        raise NeedsEager(f"NumPy refuses {ufunc.__name__}.{method}: {error}") from None


def _axis_argument(axis: Any) -> Any:
    """An axis or a tuple of them as plain numbers, or ``None``."""
    if isinstance(axis, tuple):
        return tuple(static_axis(x) for x in axis)
    return None if axis is None else static_axis(axis)


def _reduce_meta(
    ufunc: np.ufunc, array: TensorProxy, /, axis: Any = 0, dtype: Any = None, keepdims: bool = False,
    initial: Any = np._NoValue, where: Any = True,
) -> TensorProxy:  # fmt: skip
    """``np.<ufunc>.reduce`` as a call of NumPy."""
    dims = ufunc_axes(array.ndim, axis)
    options = {"axis": axis, "dtype": dtype}
    if initial is not np._NoValue:
        options["initial"] = 1 if isinstance(initial, Proxy) else initial
    if where is not True:
        options["where"] = np.True_
    result = _result_dtype(ufunc, "reduce", array, **options)
    shape = tuple(1 if i in dims else n for i, n in enumerate(array.shape) if keepdims or i not in dims)
    return TensorProxy(like=array, shape=shape, dtype=result)


def _accumulate_meta(ufunc: np.ufunc, array: TensorProxy, /, axis: Any = 0, dtype: Any = None) -> TensorProxy:
    """``np.<ufunc>.accumulate`` as a call of NumPy."""
    return TensorProxy(like=array, dtype=_result_dtype(ufunc, "accumulate", array, axis=axis, dtype=dtype))


def _reduceat_meta(
    ufunc: np.ufunc, array: TensorProxy, indices: TensorProxy, /, axis: Any = 0, dtype: Any = None
) -> TensorProxy:
    """``np.<ufunc>.reduceat`` as a call of NumPy."""
    if indices.ndim != 1:
        raise ValueError("object too deep for desired array" if indices.ndim else "object of too small depth")
    if indices.dtype.kind not in "biu" or indices.dtype is dtypes.uint64:
        raise TypeError(f"Cannot cast array data from {indices.dtype} to int64 according to the rule 'safe'")
    at = one_axis(array.ndim, axis)
    empty = array.shape[at] == 0 if type(array.shape[at]) is int else False
    rest = ((0,),) if not empty else ((),)
    result = _result_dtype(ufunc, "reduceat", array, rest, axis=axis, dtype=dtype)
    shape = tuple(indices.shape[0] if i == at else n for i, n in enumerate(array.shape))
    return TensorProxy(like=array, shape=shape, dtype=result)


def _at_meta(a: TensorProxy, ufunc: np.ufunc, indices: Any, b: Any = None, /) -> TensorProxy:
    """``np.<ufunc>.at`` as a call of NumPy."""
    return TensorProxy(like=a)


_CALLS = Namespace("lnp.ufunc_call", IMPORT)
_call = {
    name: Symbol(
        name, meta, id=f"ufunc_call.{name}", is_prim=True, tags=tags, namespace=_CALLS, language=language
    )
    for name, meta, tags in (
        ("reduce", _reduce_meta, (OpTags.MAY_RAISE,)),
        ("accumulate", _accumulate_meta, ()),
        ("reduceat", _reduceat_meta, (OpTags.MAY_RAISE,)),
        ("at", _at_meta, (OpTags.UPDATE, OpTags.MAY_RAISE)),
    )
}  # fmt: skip


# … and how they are computed


def _out_at(position: int, *after: str) -> Out:
    """How a method takes ``out=``: right behind ``dtype``, the ufunc being the first argument."""
    return Out(position, after, tuples=True, sets_dtype=True)


def _parity(a: TensorProxy, dims: tuple[int, ...]) -> TensorProxy:
    count = prims.sum(clang.convert(a, dtypes.int64), dims)
    return clang.ne(clang.bitwise_and(count, 1), 0)


#: of a ufunc: the reduction of an array in the result's dtype, the combination of two values, the neutral element
_REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Any]] = {
    **{
        by_name[row.combines].numpy: (prims.registry[row.name], getattr(clang, row.combines), row.neutral)
        for row in REDUCTIONS
    },
    "logical_xor": (_parity, clang.logical_xor, False),
}
#: the same, on bool arrays only
_BOOL_REDUCTIONS = {
    "bitwise_and": _REDUCTIONS["logical_and"],
    "bitwise_or": _REDUCTIONS["logical_or"],
    "bitwise_xor": _REDUCTIONS["logical_xor"],
}


@npsymbol("reduce", id_prefix="ufunc", tags=(OpTags.MAY_RAISE,), out=_out_at(4, "keepdims", "initial", "where"))
def reduce(
    ufunc: np.ufunc, array: Any, /, axis: Any = 0, dtype: Any = None, keepdims: bool = False,
    initial: Any = np._NoValue, where: Any = True,
) -> TensorProxy:  # fmt: skip
    """``np.<ufunc>.reduce``: the ufunc between all elements along axes. Raises as NumPy for an empty one without identity."""
    a, axis = as_array(array), _axis_argument(axis)
    options: dict[str, Any] = {"axis": axis, "dtype": dtype, "keepdims": keepdims}
    if initial is not np._NoValue:
        options["initial"] = initial
    if where is not True:
        options["where"] = where
    wanted = _reduce_meta(ufunc, a, **options).dtype
    rule = _REDUCTIONS.get(ufunc.__name__) if getattr(np, ufunc.__name__, None) is ufunc else None
    if rule is None and wanted.kind == "b" and a.dtype.kind == "b":
        rule = _BOOL_REDUCTIONS.get(ufunc.__name__)
    dims = ufunc_axes(a.ndim, axis)
    has_initial = initial is not np._NoValue and initial is not None
    if rule is None or (ufunc.__name__.startswith("logical") and dtype is not None) or not dims:
        return _call["reduce"](ufunc, a, **options)
    over, combine, neutral = rule
    a = clang.ne(a, 0) if wanted.kind == "b" and a.dtype.kind != "b" else clang.convert(a, wanted)
    first = as_item(initial, wanted) if has_initial else None
    if where is not True:
        mask = as_mask(where)
        if mask.ndim > a.ndim:
            raise ValueError("input operand has more dimensions than allowed by the axis remapping")
        mask, a = clang.broadcast(mask, a)
        a = clang.where(mask, a, clang.broadcast_to(first, a.shape) if neutral is None else neutral)
    if neutral is None and any(type(a.shape[d]) is int and a.shape[d] == 0 for d in dims):
        result = clang.broadcast_to(first, tuple(n for i, n in enumerate(a.shape) if i not in dims))
    else:
        result = over(a, dims)
        if first is not None:
            result = combine(result, first)
    return clang.expand_dims(result, dims) if keepdims else result


#: of a ufunc: its running value along a dimension
_SCANS = {
    **{by_name[row.combines].numpy: prims.registry[row.scan] for row in REDUCTIONS if row.scan},
    "logical_and": prims.cummin,
    "logical_or": prims.cummax,
}


def _one_axis_argument(method: str, a: TensorProxy, axis: Any) -> Any:
    """The axis of a method that takes one axis; ``None`` means the only axis of a 1-d array. Raises ``ValueError`` if there are several."""
    if axis is not None or a.ndim == 0:
        return _axis_argument(axis)
    if a.ndim > 1:
        raise ValueError(f"{method} does not allow multiple axes")
    return 0


@npsymbol("accumulate", id_prefix="ufunc", out=_out_at(4))
def accumulate(ufunc: np.ufunc, array: Any, /, axis: Any = 0, dtype: Any = None) -> TensorProxy:
    """``np.<ufunc>.accumulate``: the running result along an axis."""
    a = as_array(array)
    axis = _one_axis_argument("accumulate", a, axis)
    wanted = _accumulate_meta(ufunc, a, axis, dtype).dtype
    scan = _SCANS.get(ufunc.__name__) if getattr(np, ufunc.__name__, None) is ufunc else None
    sums_bools = wanted.kind == "b" and scan in (prims.cumsum, prims.cumprod)
    if scan is None or sums_bools or (ufunc.__name__.startswith("logical") and a.dtype.kind != "b"):
        return _call["accumulate"](ufunc, a, axis, dtype)
    return scan(clang.convert(a, wanted), one_axis(a.ndim, axis))


@npsymbol("reduceat", id_prefix="ufunc", tags=(OpTags.MAY_RAISE,), out=_out_at(5))
def reduceat(ufunc: np.ufunc, array: Any, indices: Any, /, axis: Any = 0, dtype: Any = None) -> TensorProxy:
    """``np.<ufunc>.reduceat``: reductions over the slices between indices."""
    nothing = isinstance(indices, (list, tuple)) and not indices
    positions = as_array(indices, dtypes.int64 if nothing else None)
    a = as_array(array)
    return _call["reduceat"](ufunc, a, positions, _one_axis_argument("reduceat", a, axis), dtype)


@npsymbol("outer", id_prefix="ufunc", tags=(OpTags.PRODUCT,), out=Out(tuples=True))
def outer(ufunc: np.ufunc, a: Any, b: Any, /, **options: Any) -> Any:
    """``np.<ufunc>.outer``: the ufunc of all pairs of elements."""
    if ufunc.nin != 2:
        raise ValueError("outer product only supported for binary functions")
    symbol = symbol_of(ufunc)
    if symbol is None or ufunc.signature is not None:
        raise NeedsEager(f"{ufunc.__name__}.outer is not compiled")
    left, right = as_array(a), as_array(b)
    return symbol(clang.expand_dims(left, range(left.ndim, left.ndim + right.ndim)), right, **options)


@npsymbol("at", id_prefix="ufunc", returns="update", tags=(OpTags.MAY_RAISE, OpTags.MAY_TAKE_READ_ONLY))
def at(a: TensorProxy, ufunc: np.ufunc, indices: Any, b: Any = None, /) -> TensorProxy:
    """``np.<ufunc>.at(a, indices, b)``: the ufunc applied in place at indices, once for each time that one is named."""
    operands = [normalize_operand(x) for x in ((a,) if ufunc.nin == 1 else (a, b))]
    name = ufunc.__name__
    if getattr(np, name, None) is not ufunc:
        return _call["at"](a, ufunc, indices, b)
    if name in ("add", "subtract") and a.dtype.kind in "iufc" and _adds_in_own_dtype(name, a, operands[1]):
        value = clang.convert(as_array(operands[1]), a.dtype)  # also of an integer that the dtype does not hold
        return clang.add_at(a, index_key(indices), value if name == "add" else clang.neg(value))
    return _call["at"](a, ufunc, indices, *operands[1:])


def _adds_in_own_dtype(name: str, a: TensorProxy, b: Any) -> bool:
    """Whether what ``at`` adds to elements of ``a`` is what adding in its dtype gives. NumPy takes Python's numbers for arrays there, and
    casts back what the loop gives."""
    own = to_numpy_dtype(a.dtype)
    kind = np.dtype(b.python_type if isinstance(b, NumberProxy) else type(b)) if is_number(b) else weak_type(b)
    loop = resolve_ufunc(name, (own, kind), None, "unsafe")
    if all(d is a.dtype for d in loop):
        return True
    if own.kind in "iu":
        return all(d.kind in "iu" for d in loop)
    return type(b) in (bool, int, float) and bool(own.type(b) == b)
