"""Indexing by NumPy's rules, which are torch's too: basic, advanced, boolean, and mixtures.

A key is the expression between the brackets, with proxies for arrays. :func:`parse_key` assigns its parts to the
array's dimensions; :func:`getitem`, :func:`setitem` and :func:`add_at` use the result.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tnp.core import dtypes, prims, sizes, symbols, views
from tnp.core.clang.base import clangop
from tnp.core.clang.elementwise import add, convert, full, where
from tnp.core.clang.shape import broadcast, broadcast_to, expand_dims, moveaxis, reshape, transpose
from tnp.core.proxies import NumberProxy, TensorProxy, is_number

__all__ = ["add_at", "basic_index", "getitem", "is_basic", "setitem"]

_ALL = builtins.slice(None)
_NOT_AN_INDEX = "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices"


@dataclass(frozen=True)
class TruthAxis:
    """A new axis that a 0-d boolean makes: length 1 where it is true, else 0, selected by the positions ``index``."""

    index: TensorProxy


@dataclass(frozen=True)
class Key:
    """A parsed key: one entry of ``items`` a dimension of the array or new axis, in order.

    An item is a ``slice``, an ``int`` or :class:`NumberProxy`, ``None`` for a new axis, an integer array, or a
    :class:`TruthAxis`. Boolean arrays have become the integer arrays of their true positions. ``contiguous`` says that the
    arrays stand side by side, so that their dimensions stay in their place; ``copies`` that the result is none of the
    array's memory even where all items are basic.
    """

    items: list[Any]
    contiguous: bool
    copies: bool

    @property
    def advanced(self) -> bool:
        return any(isinstance(x, (TensorProxy, TruthAxis)) for x in self.items)

    @property
    def basic_part(self) -> list[Any]:
        """The items with those that advanced indexing takes left whole."""
        return [
            None if isinstance(x, TruthAxis) else x if x is None or isinstance(x, builtins.slice) else _ALL
            for x in self.items
        ]


def _is_bool(x: Any) -> bool:
    if isinstance(x, TensorProxy):
        return x.dtype.kind == "b"
    return type(x) is bool or (isinstance(x, NumberProxy) and x.python_type is bool)


def _truth_axis(x: Any) -> TruthAxis:
    if isinstance(x, NumberProxy) and x.value is not None:
        x = bool(x)
    if type(x) is bool:
        return TruthAxis(full((int(x),), 0, dtype=dtypes.int64))
    mask = x if isinstance(x, TensorProxy) else convert(x, dtypes.bool8)
    return TruthAxis(prims.nonzero(reshape(mask, (1,)))[0])


def _index(x: Any) -> Any:
    """A number of a key: an int where the value is known, else the proxy. Raises ``IndexError`` for what is none."""
    if isinstance(x, NumberProxy) and x.python_type is int and (x.value is None or symbols.is_symbol(x)):
        return x
    try:
        return x.__index__()
    except (TypeError, AttributeError):
        raise IndexError(_NOT_AN_INDEX) from None


def _consumed(part: Any) -> int:
    """How many dimensions of the array a part of a key indexes."""
    if part is None or part is Ellipsis:
        return 0
    if _is_bool(part):
        return part.ndim if isinstance(part, TensorProxy) else 0
    return 1


def parse_key(a: TensorProxy, key: Any) -> Key:
    """``key`` laid out along the dimensions of ``a``.

    Raises ``IndexError`` for too many indices, several ellipses, a mask of another shape, or something that is no index.
    """
    parts = list(key) if isinstance(key, tuple) else [key]
    consumed = sum(map(_consumed, parts))
    if sum(p is Ellipsis for p in parts) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if consumed > a.ndim:
        raise IndexError(f"too many indices for array: array is {a.ndim}-dimensional, but {consumed} were indexed")
    if not any(p is Ellipsis for p in parts):
        parts.append(Ellipsis)
    has_array = any(_is_bool(p) or (isinstance(p, TensorProxy) and p.ndim > 0) for p in parts)
    copies = any(isinstance(p, TensorProxy) and not p.scalar for p in parts)
    items: list[Any] = []
    kinds = ""  # what stood in the key: "a" for arrays and numbers, "s" for what separates them
    dim = 0
    for part in parts:
        if part is Ellipsis:
            rest = a.ndim - consumed
            items += [_ALL] * rest
            dim += rest
        elif part is None or isinstance(part, builtins.slice):
            items.append(part)
            dim += part is not None
        elif _is_bool(part):
            items += _positions(a, part, dim)
            dim += _consumed(part)
        elif isinstance(part, TensorProxy):
            if part.dtype.kind not in "iu":
                raise IndexError("arrays used as indices must be of integer (or boolean) type")
            items.append(part if has_array else prims.item(part))
            dim += 1
        else:
            items.append(_index(part))
            dim += 1
        kinds += "s" if part is None or part is Ellipsis or isinstance(part, builtins.slice) else "a"
    return Key(items, "s" not in kinds.strip("s"), copies)


def _positions(a: TensorProxy, mask: Any, dim: int) -> list[Any]:
    """What a boolean in a key stands for, where it begins at dimension ``dim``."""
    if not isinstance(mask, TensorProxy) or mask.ndim == 0:
        return [_truth_axis(mask)]
    for at, (n, m) in enumerate(zip(a.shape[dim:], mask.shape), dim):
        fits = sizes.equal(n, m)
        empty_fits = a.lang.name == "numpy"  # NumPy compares no length with that of a mask that has none
        if empty_fits and type(m) is int and m == 0:
            continue
        message = f"boolean index did not match indexed array along axis {at}"
        if fits is False and (symbols.value_of(m) is not None or not empty_fits):
            raise IndexError(f"{message}; size of axis is {n} but size of corresponding boolean axis is {m}")
        if fits is not True:
            lengths = [
                x if symbols.value_of(x) is not None else prims.size(of, d)
                for x, of, d in ((n, a, at), (m, mask, at - dim))
            ]
            agrees = convert(prims.eq(*lengths), dtypes.bool8)
            if empty_fits:
                agrees = prims.bitwise_or(agrees, convert(prims.eq(lengths[1], 0), dtypes.bool8))
            mask = prims.require(mask, agrees, IndexError, message)
    return list(prims.nonzero(mask))


def is_basic(key: Any) -> bool:
    """Whether a key holds only numbers, slices, ``None`` and an ellipsis, so that it selects a view."""
    return all(
        p is None
        or p is Ellipsis
        or isinstance(p, builtins.slice)
        or type(p) is int
        or (isinstance(p, NumberProxy) and p.python_type is int)
        or (isinstance(p, TensorProxy) and p.scalar and p.dtype.kind in "iu")
        for p in (key if isinstance(key, tuple) else (key,))
    )


def _slice_static(a: TensorProxy, items: list[Any]) -> TensorProxy:
    """The slices of ``items`` (one an array dimension) that are known now, as one ``prims.slice`` and one ``flip``."""
    if not sizes.is_known(a.shape):
        return a
    starts, stops, strides = [0] * a.ndim, list(sizes.concrete(a.shape, "a slice")), [1] * a.ndim
    whole = list(starts), list(stops), list(strides)
    flips = []
    for d, item in enumerate(items):
        if not isinstance(item, builtins.slice) or item == _ALL or _is_dynamic(a, item):
            continue
        size = a.shape[d]
        assert type(size) is int
        start, stop, step = builtins.slice(*map(_bound_of_slice, (item.start, item.stop, item.step))).indices(size)
        length = len(range(start, stop, step))
        if step < 0:
            flips.append(d)
            start, step = start + (length - 1) * step, -step
        if length == 0:
            start, step = 0, 1
        starts[d], strides[d] = start, step
        stops[d] = start + (length - 1) * step + 1 if length else start
    if (starts, stops, strides) != whole:
        a = prims.slice(a, starts, stops, strides)
    return prims.flip(a, flips) if flips else a


def _bound_of_slice(x: Any) -> Any:
    """A start, stop or step: ``None``, an int, or a number known at run time. Raises ``TypeError`` for anything else."""
    if x is None:
        return None
    if isinstance(x, TensorProxy) and x.ndim == 0 and x.dtype.kind in "iu":
        return prims.item(x)
    if not isinstance(x, TensorProxy):
        try:
            return _index(x)
        except IndexError:
            pass
    raise TypeError("slice indices must be integers or None or have an __index__ method")


def _unknown(x: Any) -> bool:
    return isinstance(x, TensorProxy) or (isinstance(x, NumberProxy) and (x.value is None or symbols.is_symbol(x)))


def _is_dynamic(a: TensorProxy, item: builtins.slice) -> bool:
    return not sizes.is_known(a.shape) or any(_unknown(x) for x in (item.start, item.stop, item.step))


def basic_index(a: TensorProxy, items: list[Any]) -> TensorProxy:
    """``a`` at numbers, slices and new axes, one item an array dimension or new axis. A view."""
    along = [x for x in items if x is not None]
    # Asked before anything is sliced: an array that has been is of another shape, or of none that is known.
    dynamic = [isinstance(x, builtins.slice) and x != _ALL and _is_dynamic(a, x) for x in along]
    a = _slice_static(a, along)
    for d, item in enumerate(along):
        if dynamic[d]:
            start, stop, step = (_bound_of_slice(x) for x in (item.start, item.stop, item.step))
            if isinstance(step, NumberProxy):
                step = step.__index__()
            a = prims.dynamic_slice(a, d, start, stop, 1 if step is None else step)
    for d in reversed(range(len(along))):
        if not isinstance(along[d], builtins.slice):
            a = prims.select(a, d, along[d])
    kept = [x for x in items if x is None or isinstance(x, builtins.slice)]
    return expand_dims(a, [i for i, x in enumerate(kept) if x is None])


class _Advanced:
    """The advanced part of a key: ``arrays``, broadcast to one shape, index the dimensions ``dims`` of ``base``.

    ``base`` is what the key's slices and new axes select of the array, and ``at`` where the arrays' dimensions go in
    the result.
    """

    def __init__(self, a: TensorProxy, key: Key) -> None:
        self.base = basic_index(a, key.basic_part)
        found = list(_index_arrays(key))
        self.dims = [d for d, _ in found]
        try:
            self.arrays = broadcast(*(x for _, x in found))
        except ValueError:
            shapes = " ".join(sizes.show(x.shape) for _, x in found)
            raise IndexError(
                f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes}"
            ) from None
        self.at = self.dims[0] if key.contiguous else 0
        self.rank = self.arrays[0].ndim
        self.order = [*self.dims, *(d for d in range(self.base.ndim) if d not in self.dims)]

    @property
    def result_shape(self) -> list[sizes.Dim]:
        shape = [n for d, n in enumerate(self.base.shape) if d not in self.dims]
        shape[self.at : self.at] = self.arrays[0].shape
        return shape

    def read(self) -> TensorProxy:
        if len(self.dims) == 1:
            taken = prims.take(self.base, self.arrays[0], self.dims[0])
            source, target = self.dims[0], self.at
        else:
            taken = prims.index_get(transpose(self.base, self.order), self.arrays)
            source, target = 0, self.at
        return moveaxis(taken, range(source, source + self.rank), range(target, target + self.rank))

    def write(self, value: TensorProxy, accumulate: bool) -> TensorProxy:
        """``base`` with ``value``, which broadcasts, in the place of what is read, or added to it."""
        fitting = convert(views.fit(value, tuple(self.result_shape)), self.base.dtype)
        front = moveaxis(fitting, range(self.at, self.at + self.rank), range(self.rank))
        moved = prims.index_put(transpose(self.base, self.order), self.arrays, front, accumulate)
        return transpose(moved, [self.order.index(d) for d in range(self.base.ndim)])


def _index_arrays(key: Key) -> Iterator[tuple[int, TensorProxy]]:
    """The arrays of a key with advanced parts, numbers among them as 0-d arrays, and the dimensions that they index."""
    for d, x in enumerate(key.items):
        if isinstance(x, TruthAxis):
            yield d, x.index
        elif isinstance(x, TensorProxy):
            yield d, x
        elif x is not None and not isinstance(x, builtins.slice):
            yield d, convert(x, dtypes.int64)


@clangop(method_name="getitem")
def getitem(a: TensorProxy, key: Any) -> TensorProxy:
    """``a[key]``. Raises ``IndexError`` as NumPy does, for index values at run time."""
    parsed = parse_key(a, key)
    if parsed.advanced:
        return _Advanced(a, parsed).read()
    result = basic_index(a, parsed.items)
    return prims.clone(result) if parsed.copies else result


def setitem(a: TensorProxy, key: Any, value: Any) -> TensorProxy:
    """``a`` with ``value`` (a number, or an array that broadcasts) at ``key``; the last of equals wins. Of an array of
    another dtype only what is stored is converted: a NaN that is not stored raises nothing."""
    mask = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if isinstance(mask, TensorProxy) and mask.dtype.kind == "b" and (is_number(value) or value.ndim == 0):
        if sizes.shapes_equal(mask.shape, a.shape[: mask.ndim]):
            wide = broadcast_to(expand_dims(mask, range(mask.ndim, a.ndim)), a.shape)
            if isinstance(value, TensorProxy) and value.dtype is not a.dtype:
                value = convert(where(wide, value, 0), a.dtype)
            return where(wide, value, a)
    return _put(a, parse_key(a, key), value, accumulate=False)


def add_at(a: TensorProxy, key: Any, value: TensorProxy) -> TensorProxy:
    """``a`` with ``value`` added at ``key``, once for each time that an element is named."""
    return _put(a, parse_key(a, key), value, accumulate=True)


def _put(a: TensorProxy, key: Key, value: Any, *, accumulate: bool) -> TensorProxy:
    if not key.advanced:
        if accumulate:
            view = basic_index(a, key.items)
            value = add(view, views.fit(value, view.shape))
        elif isinstance(value, TensorProxy) and value.dtype is not a.dtype:
            value = convert(views.fit(value, basic_index(a, key.items).shape), a.dtype)
        return views.write(a, value, lambda x: basic_index(x, key.items))
    if is_number(value):
        value = convert(value, a.dtype)
    new = _Advanced(a, key).write(value, accumulate)
    return views.write(a, new, lambda x: basic_index(x, key.basic_part))
