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

from collections.abc import Mapping

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
        *(prims.var, prims.nonzero, prims.transpose, prims.as_language, prims.clone),
    )
)


def fits_surely(b: BoundSymbol) -> bool:
    """Whether the shapes of an operation's arrays fit, whatever their lengths are."""
    if b.subsymbols:
        masks = {p.name: s.args[0] for s in b.subsymbols if s.operation is prims.nonzero for p in s.output}
        return all(fits_surely(s) or _selects(s, masks) for s in b.subsymbols)
    operation = b.operation
    if operation is prims.broadcast_in_dim:
        a, shape, dims = b.args
        return all((type(n) is int and n == 1) or sizes.equal(n, shape[d]) is True for n, d in zip(a.shape, dims))
    if operation is prims.squeeze:
        return all(type(b.args[0].shape[d]) is int for d in b.args[1])
    if operation in _OF_ANY_LENGTH:
        return True
    if OpTags.ELEMENTWISE not in b.sym.tags:
        return False
    shapes = [p.shape for p in b.flat_inputs if isinstance(p, TensorProxy)]
    return all(sizes.shapes_equal(shapes[0], s) is True for s in shapes[1:])


def takes_any(b: BoundSymbol) -> bool:
    """Whether an operation surely fits, and raises for no elements neither."""
    return fits_surely(b) and not _needs_elements(b)


def _needs_elements(b: BoundSymbol) -> bool:
    return b.operation in _OF_SOME or any(map(_needs_elements, b.subsymbols))


def _selects(b: BoundSymbol, masks: Mapping[str, TensorProxy]) -> bool:
    """Whether an operation takes the elements of an array where a mask of its length is true. ``masks`` are those of arrays of positions."""
    if b.operation is not prims.take:
        return False
    a, positions, dim = b.args
    mask = masks.get(positions.name)
    return mask is not None and mask.ndim == 1 and sizes.equal(mask.shape[0], a.shape[dim]) is True
