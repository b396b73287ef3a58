"""Lengths that only the running program knows (of ``x[mask]``), and operations on arrays of such that fit for certain.

What a mask selects of two arrays has one length: elementwise operations, broadcasts and sums of these raise nothing. Others may,
where lengths turn out to differ, and passes keep their place.

>>> import numpy as np, tnp
>>> def f(x, y):
...     inside = x > 0
...     return np.sqrt(x[inside]) * y[inside]
>>> tnp.jit(f)(np.array([4.0, -1.0, 9.0]), np.arange(3.0))
array([0., 6.])
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from tnp.core import prims, sizes
from tnp.core.proxies import TensorProxy
from tnp.core.reduction_table import REDUCTIONS
from tnp.core.symbol import BoundSymbol, OpTags

__all__ = ["fits_surely", "takes_any"]

#: reductions that raise for no elements
_OF_SOME = frozenset(prims.registry[row.name] for row in REDUCTIONS if row.neutral is None)
#: operations to which lengths do not matter, or only whether there is an element
_OF_ANY_LENGTH = frozenset(
    (
        *(prims.registry[name] for row in REDUCTIONS for name in (row.name, row.scan) if name),
        *(prims.var, prims.nonzero, prims.take, prims.searchsorted, prims.transpose, prims.as_language, prims.clone),
    )
)


_INDEXING = (prims.take, prims.index_get)


def fits_surely(b: BoundSymbol) -> bool:
    """Whether the shapes of an operation's arrays fit, whatever their lengths are."""
    if b.subsymbols:
        masks = {p.name: s.args[0] for s in b.subsymbols if s.operation is prims.nonzero for p in s.output}
        return all(
            _selects(s, masks) if s.operation in _INDEXING and _reads(s, masks) else fits_surely(s)
            for s in b.subsymbols
        )
    operation = b.operation
    if operation is prims.broadcast_in_dim:
        a, shape, dims = b.args
        return all((type(n) is int and n == 1) or sizes.equal(n, shape[d]) is True for n, d in zip(a.shape, dims))
    if operation is prims.squeeze:
        return all(type(b.args[0].shape[d]) is int for d in b.args[1])
    if operation in _OF_ANY_LENGTH or _is_of_known_sizes(b):
        return True
    if operation is prims.index_get:
        return _are_alike(b.args[1])
    if operation is prims.concatenate:
        arrays, dim = b.args
        shapes = [[n for d, n in enumerate(a.shape) if d != dim] for a in arrays]
        return all(sizes.shapes_equal(shapes[0], shape) is True for shape in shapes[1:])
    return OpTags.ELEMENTWISE in b.sym.tags and _are_alike(b.flat_inputs)


def _is_of_known_sizes(b: BoundSymbol) -> bool:
    arrays = [p for p in (*b.flat_inputs, *b.flat_outputs) if isinstance(p, TensorProxy)]
    return bool(arrays) and all(type(n) is int for p in arrays for n in p.shape)


def _are_alike(values: Iterable[Any]) -> bool:
    """Whether arrays, which may have numbers between them, surely have one shape."""
    first, *others = [p.shape for p in values if isinstance(p, TensorProxy)] or [()]
    return all(sizes.shapes_equal(first, shape) is True for shape in others)


def takes_any(b: BoundSymbol) -> bool:
    """Whether an operation surely fits, and raises for no elements neither."""
    return fits_surely(b) and not _needs_elements(b)


def _needs_elements(b: BoundSymbol) -> bool:
    return b.operation in _OF_SOME or any(map(_needs_elements, b.subsymbols))


def _reads(b: BoundSymbol, names: Container[str]) -> bool:
    return any(p.name in names for p in b.flat_inputs)


def _selects(b: BoundSymbol, masks: Mapping[str, TensorProxy]) -> bool:
    """Whether an operation takes the elements of an array where a mask of its length is true. ``masks`` are those of arrays of positions."""
    if b.operation is prims.index_get:
        a, positions = b.args
        found = [masks.get(p.name) for p in positions]
        mask = found[0]
        is_one = mask is not None and len(found) == mask.ndim and all(m is mask for m in found)
        return is_one and mask is not None and sizes.shapes_equal(mask.shape, a.shape[: mask.ndim]) is True
    if b.operation is not prims.take:
        return False
    a, positions, dim = b.args
    mask = masks[positions.name]
    return mask.ndim == 1 and sizes.equal(mask.shape[0], a.shape[dim]) is True
