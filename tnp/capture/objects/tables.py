"""Long lists and tuples of rows, which are lists or tuples (tables of a module, points, edges), or of strings (labels). A program with each
item of each row as an input would have guards on all, and hold for one number of rows. So they are foreign, and Python runs what does more
with them than to read rows at places that the program knows (:class:`~tnp.capture.objects.uneven_lists.LeftList`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnp.capture.guards.varying_values import LARGER, VaryingValues, is_of_call

__all__ = ["is_table"]

#: tables of fewer than ``LARGER`` rows are inputs, item by item: a loop over them is written out, and its operations are fused;
#: fewer of an argument's, which the caller may have made for the call; and fewer still if there were others before
LONG, VARYING = 500, 64

_ROWS, _STRINGS = frozenset((list, tuple)), frozenset((str,))


def is_table(items: Sequence[Any], name: str, varying: VaryingValues) -> bool:
    """Whether a list or tuple, which is called ``name``, has many rows; notes how many."""
    if type(items) not in _ROWS or len(items) < VARYING:
        return False
    kinds = next((kinds for kinds in (_ROWS, _STRINGS) if type(items[0]) in kinds), None)
    if kinds is None:
        return False
    least = LARGER
    if is_of_call(name):
        least = VARYING if varying.has_other_length(name, len(items)) else LONG
    return len(items) >= least and kinds.issuperset(map(type, items))
