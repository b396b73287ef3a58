"""Indexing by NumPy's rules, which are torch's too: basic, advanced, boolean, and mixtures.

A key is what stands between the brackets, arrays in it as proxies. :func:`parse_key` lays it out along the array's
dimensions; :func:`getitem` and :func:`setitem` work on what it found.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any

from tnp.core import dtypes, prims, sizes, views
from tnp.core.clang.base import clangop
from tnp.core.clang.elementwise import convert, where
from tnp.core.clang.shape import broadcast, broadcast_to, expand_dims, moveaxis, transpose
from tnp.core.errors import NeedsConcreteSize
from tnp.core.proxies import NumberProxy, TensorProxy, is_number

__all__ = ["basic_index", "getitem", "is_basic", "setitem"]


@dataclass
class Key:
    """A parsed key: one entry of ``items`` a dimension of the array or new axis, in order.

    An item is a ``slice``, an ``int`` or :class:`NumberProxy`, ``None`` for a new axis, or an integer array. Boolean
    arrays have become the integer arrays of their true positions.
    """

    items: list[Any]
    contiguous: bool

    @property
    def advanced(self) -> bool:
        return any(isinstance(x, TensorProxy) for x in self.items)


def _index(x: Any) -> Any:
    """A number of a key: an int where the value is known, else the proxy."""
    if isinstance(x, NumberProxy):
        return x if x.value is None else x.__index__()
    return x.__index__()


def _scalar_index(x: TensorProxy) -> Any:
    return prims.item(x)


def parse_key(a: TensorProxy, key: Any) -> Key:
    """``key`` laid out along the dimensions of ``a``.

    Raises ``IndexError`` for too many indices, several ellipses, a mask of another shape, or something that is no index.
    """
    parts = list(key) if isinstance(key, tuple) else [key]
    expanded: list[Any] = []
    consumed = 0
    for part in parts:
        if part is None or part is Ellipsis:
            expanded.append(part)
        elif isinstance(part, TensorProxy) and part.dtype.kind == "b":
            expanded.append(part)
            consumed += part.ndim
        elif type(part) is bool:
            raise NeedsConcreteSize("indexing with True or False is not compiled; index with None instead")
        else:
            expanded.append(part)
            consumed += 1
    if sum(p is Ellipsis for p in expanded) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if consumed > a.ndim:
        raise IndexError(f"too many indices for array: array is {a.ndim}-dimensional, but {consumed} were indexed")
    if not any(p is Ellipsis for p in expanded):
        expanded.append(Ellipsis)
    items: list[Any] = []
    kinds: list[str] = []  # what stood in the key: "a" for arrays and numbers, "s" for what separates them
    has_array = any(isinstance(p, TensorProxy) and (p.ndim > 0 or p.dtype.kind == "b") for p in expanded)
    dim = 0
    for part in expanded:
        if part is Ellipsis:
            rest = a.ndim - consumed
            items += [builtins.slice(None)] * rest
            kinds += ["s"] if part is not expanded[-1] or rest else []
            dim += rest
        elif part is None:
            items.append(None)
            kinds.append("s")
        elif isinstance(part, builtins.slice):
            items.append(part)
            kinds.append("s")
            dim += 1
        elif isinstance(part, TensorProxy) and part.dtype.kind == "b":
            own = a.shape[dim : dim + part.ndim]
            for at, (n, m) in enumerate(zip(own, part.shape)):
                if sizes.equal(n, m) is False:
                    raise IndexError(
                        f"boolean index did not match indexed array along axis {dim + at}; "
                        f"size of axis is {n} but size of corresponding boolean axis is {m}"
                    )
            items += prims.nonzero(part)
            kinds.append("a")
            dim += part.ndim
        elif isinstance(part, TensorProxy):
            if part.dtype.kind not in "iu":
                raise IndexError("arrays used as indices must be of integer (or boolean) type")
            items.append(_scalar_index(part) if part.ndim == 0 and not has_array else part)
            kinds.append("a")
            dim += 1
        else:
            try:
                items.append(_index(part))
            except (TypeError, AttributeError):
                raise IndexError(
                    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) "
                    "and integer or boolean arrays are valid indices"
                ) from None
            kinds.append("a")
            dim += 1
    joined = "".join(kinds).strip("s")
    return Key(items, "s" not in joined)


def is_basic(key: Any) -> bool:
    """Whether a key holds only numbers, slices, ``None`` and an ellipsis, so that it selects a view."""
    parts = key if isinstance(key, tuple) else (key,)
    return all(
        p is None or p is Ellipsis or isinstance(p, builtins.slice) or isinstance(p, NumberProxy)
        or type(p) is int or (isinstance(p, TensorProxy) and p.ndim == 0 and p.dtype.kind in "iu")
        or (hasattr(p, "__index__") and not isinstance(p, (bool, TensorProxy)) and getattr(p, "ndim", 0) == 0
            and getattr(getattr(p, "dtype", None), "kind", "i") in "iu")
        for p in parts
    )  # fmt: skip


def _slice_static(a: TensorProxy, items: list[Any]) -> TensorProxy:
    """The slices of ``items`` (one an array dimension) that are known now, as one ``prims.slice`` and one ``flip``."""
    starts, stops, strides = [0] * a.ndim, [sizes.bound(n) for n in a.shape], [1] * a.ndim
    flips = []
    for d, item in enumerate(items):
        if not isinstance(item, builtins.slice) or item == builtins.slice(None) or _is_dynamic(a, d, item):
            continue
        size = a.shape[d]
        assert type(size) is int
        start, stop, step = builtins.slice(*map(_maybe_index, (item.start, item.stop, item.step))).indices(size)
        length = len(range(start, stop, step))
        if step < 0:
            flips.append(d)
            start, step = start + (length - 1) * step, -step
        if length == 0:
            start, step = 0, 1
        starts[d], strides[d] = start, step
        stops[d] = start + (length - 1) * step + 1 if length else start
    unchanged = [0] * a.ndim, [sizes.bound(n) for n in a.shape], [1] * a.ndim
    if (starts, stops, strides) != unchanged:
        a = prims.slice(a, starts, stops, strides)
    return prims.flip(a, flips) if flips else a


def _maybe_index(x: Any) -> Any:
    if x is None:
        return None
    if isinstance(x, TensorProxy):
        if x.ndim or x.dtype.kind not in "iu":
            raise TypeError("slice indices must be integers or None or have an __index__ method")
        return prims.item(x)
    try:
        return _index(x)
    except AttributeError:
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None


def _unknown(x: Any) -> bool:
    return isinstance(x, TensorProxy) or (isinstance(x, NumberProxy) and x.value is None)


def _is_dynamic(a: TensorProxy, d: int, item: builtins.slice) -> bool:
    return type(a.shape[d]) is not int or any(_unknown(x) for x in (item.start, item.stop, item.step))


def basic_index(a: TensorProxy, items: list[Any]) -> TensorProxy:
    """``a`` at numbers, slices and new axes, one item an array dimension or new axis. A view."""
    along = [x for x in items if x is not None]
    a = _slice_static(a, along)
    for d, item in enumerate(along):
        if isinstance(item, builtins.slice) and item != builtins.slice(None) and _is_dynamic(a, d, item):
            start, stop, step = (_maybe_index(x) for x in (item.start, item.stop, item.step))
            if step is not None and type(step) is not int:
                raise NeedsConcreteSize("a slice needs a step that is known before it runs")
            a = prims.dynamic_slice(a, d, start, stop, 1 if step is None else step)
    for d in reversed(range(len(along))):
        if not isinstance(along[d], (builtins.slice, TensorProxy)):
            a = prims.select(a, d, along[d])
    kept = [x for x in items if x is None or isinstance(x, (builtins.slice, TensorProxy))]
    return expand_dims(a, [i for i, x in enumerate(kept) if x is None])


@clangop(method_name="getitem")
def getitem(a: TensorProxy, key: Any) -> TensorProxy:
    """``a[key]``. Raises ``IndexError`` as NumPy does, for index values at run time."""
    parsed = parse_key(a, key)
    if not parsed.advanced:
        return basic_index(a, parsed.items)
    base, indices, dims = _advanced_base(a, parsed)
    if len(dims) == 1:
        taken = prims.take(base, indices[0], dims[0])
        rank = indices[0].ndim
        if not parsed.contiguous:
            taken = moveaxis(taken, range(dims[0], dims[0] + rank), range(rank))
        return taken  # type: ignore[no-any-return]
    rest = [d for d in range(base.ndim) if d not in dims]
    result = prims.index_get(transpose(base, [*dims, *rest]), indices)
    rank = indices[0].ndim
    if parsed.contiguous:
        result = moveaxis(result, range(rank), range(dims[0], dims[0] + rank))
    return result  # type: ignore[no-any-return]


def _advanced_base(a: TensorProxy, parsed: Key) -> tuple[TensorProxy, list[TensorProxy], list[int]]:
    """The view that a mixed key's slices select, the index arrays (broadcast), and the dimensions they index."""
    basic = [x if isinstance(x, builtins.slice) or x is None else builtins.slice(None) for x in parsed.items]
    base = basic_index(a, basic)
    dims = [d for d, x in enumerate(parsed.items) if not isinstance(x, builtins.slice) and x is not None]
    arrays = []
    for d in dims:
        x = parsed.items[d]
        arrays.append(x if isinstance(x, TensorProxy) else convert(x, dtypes.int64))
    try:
        arrays = broadcast(*arrays)
    except ValueError:
        shapes = " ".join(sizes.show(x.shape) for x in arrays)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes}"
        ) from None
    return base, arrays, dims


def setitem(a: TensorProxy, key: Any, value: Any) -> TensorProxy:
    """``a`` with ``value`` (a number, or an array of its dtype that broadcasts) at ``key``; the last of equals wins."""
    mask = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if isinstance(mask, TensorProxy) and mask.dtype.kind == "b" and (is_number(value) or value.ndim == 0):
        if sizes.shapes_equal(mask.shape, a.shape[: mask.ndim]):
            wide = expand_dims(mask, range(mask.ndim, a.ndim))
            return where(broadcast_to(wide, a.shape), value if is_number(value) else broadcast_to(value, a.shape), a)
    parsed = parse_key(a, key)
    if not parsed.advanced:
        return views.update(a, value, lambda x: basic_index(x, parsed.items))  # type: ignore[no-any-return]
    base, indices, dims = _advanced_base(a, parsed)
    rest = [d for d in range(base.ndim) if d not in dims]
    rank = indices[0].ndim
    at = dims[0] if parsed.contiguous else 0
    result_shape = [base.shape[d] for d in rest]
    result_shape[at:at] = indices[0].shape
    value = broadcast_to(_as_value(value, a), _drop_leading_ones(value, result_shape))
    value = moveaxis(value, range(at, at + rank), range(rank))
    moved = prims.index_put(transpose(base, [*dims, *rest]), indices, value, False)
    order = [*dims, *rest]
    new = transpose(moved, [order.index(d) for d in range(base.ndim)])
    basic = [x if isinstance(x, builtins.slice) or x is None else builtins.slice(None) for x in parsed.items]
    return views.update(a, new, lambda x: basic_index(x, basic))  # type: ignore[no-any-return]


def _as_value(value: Any, a: TensorProxy) -> TensorProxy:
    if is_number(value):
        return convert(value, a.dtype)
    while value.ndim > 0 and value.shape[0] == 1 and type(value.shape[0]) is int and value.ndim > a.ndim:
        value = prims.squeeze(value, (0,))
    return value  # type: ignore[no-any-return]


def _drop_leading_ones(value: Any, shape: list[Any]) -> tuple[Any, ...]:
    return tuple(shape)
