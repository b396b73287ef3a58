"""What NumPy's functions that join arrays make of the rows of one array, which stand for a list of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["joined_rows"]

#: the functions of this kind that take an axis
_WITH_AXIS = (np.concatenate, np.stack)
#: The dimensions that the others make of arrays that have fewer, and the axis along which they join these. A row of a stack is a row, a
#: column, or a line of depth.
_LEAST = {np.vstack: (2, 0), np.hstack: (1, 1), np.column_stack: (2, 1), np.dstack: (3, 2)}


def joined_rows(function: Any, rows: Any, args: Sequence[Any] = (), kwargs: Any = ()) -> Any:
    """``function(list(rows), *args, **kwargs)`` as a new array in C order, of a traced array ``rows``; ``None`` if that is not known here."""
    options = dict(kwargs)
    axis = args[0] if len(args) == 1 and not options else options.pop("axis", 0)
    if options or len(args) > 1 or type(axis) is not int or (function not in _WITH_AXIS and (args or kwargs)):
        return None
    ndim = rows.ndim - 1
    if function is np.stack:
        return _stacked(rows, axis).copy() if -ndim - 1 <= axis <= ndim else None
    if function is np.concatenate:
        return _concatenated(rows, axis % ndim) if -ndim <= axis < ndim else None
    if function not in _LEAST:
        return None
    least, axis = _LEAST[function]
    if ndim >= least:
        return _concatenated(rows, min(axis, ndim - 1))
    if function is np.hstack or (function is np.vstack and ndim):
        return rows.copy()
    if not ndim:
        return rows.reshape((1,) * axis + (rows.shape[0], 1)[: least - axis]).copy()
    made = _stacked(rows, ndim)
    return (made if made.ndim == least else made[np.newaxis]).copy()


def _stacked(rows: Any, axis: int) -> Any:
    order = [*range(1, rows.ndim)]
    order.insert(axis % rows.ndim, 0)
    return rows.transpose(order)


def _concatenated(rows: Any, axis: int) -> Any:
    made = _stacked(rows, axis)
    *shape, n = made.shape[: axis + 1]
    return made.reshape((*shape, n * made.shape[axis + 1], *made.shape[axis + 2 :])).copy()
