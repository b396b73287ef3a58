"""A list of the caller's, of arrays of one kind, whose length varies: the program runs over the rows of one array that has them all.

The prologue makes that array at each call. Only a loop over the list, its length, and functions that take it for an array are compiled
so. Any other use is traced again, with a guard on the length, as is a program that writes to an array, which may be one of the list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.capture.guards.prologue import same_dtype
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.objects.growing_list import refuse_uses

__all__ = ["RowList", "rows_of"]


class RowList(list[Any]):
    """Stands for a list, called ``description``; ``rows`` is the traced array of its arrays."""

    def __init__(self, description: str, rows: Any) -> None:
        super().__init__()
        self.description = description
        self.rows = rows

    def given_to(self, function: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What ``function`` gives of the list and other arguments, made by ``call(function, args, kwargs)`` of the rows."""
        others = [*args, *kwargs.values()]
        if function in _OF_AN_ARRAY and not any(isinstance(x, (list, tuple)) for x in others):
            return call(function, (self.rows, *args), kwargs)
        if others or function not in (np.stack, np.concatenate):
            raise ReadsVarying(self.description)
        n, m, *rest = self.rows.shape
        made = call(np.array, (self.rows,), {})
        return made if function is np.stack else made.reshape((n * m, *rest))


#: functions that give a new array or a number, and take a list of arrays for one array
_OF_AN_ARRAY = (np.array, np.sum, np.mean, np.max, np.min, np.std, np.var, np.prod)

#: bytes of the arrays of a list in all: to copy what no cache holds takes longer than most loops over it
MOST_BYTES = 1 << 20

refuse_uses(RowList)


def rows_of(arrays: Any) -> Any:
    """The arrays of a list as the rows of one; ``None`` unless they are two or more of one kind, in C order, and small."""
    if type(arrays) is not list or len(arrays) < 2:
        return None
    first = arrays[0]
    if type(first) is not np.ndarray or not first.ndim or not 0 < first.nbytes * len(arrays) <= MOST_BYTES:
        return None
    shape, dtype = first.shape, first.dtype
    for a in arrays:
        if type(a) is not np.ndarray or a.shape != shape or not a.flags.c_contiguous or not same_dtype(a.dtype, dtype):
            return None
    made = np.empty((len(arrays), *shape), dtype)
    np.stack(arrays, out=made)
    made.flags.writeable = False
    return made
