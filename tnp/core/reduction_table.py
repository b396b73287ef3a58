"""The table of reductions: one row a reduction, and its running form, of an elementwise operation between elements.

From a row are made its prims (:mod:`tnp.core.prims.reduction`), their batch rules, what runs ``np.<ufunc>.reduce`` and
``accumulate`` of the operation's ufunc, the numpy executor's kernels, LLVM's loops, and the OpInfos.

``combines`` is the prim of two arguments, a row of :mod:`~tnp.core.elementwise_table`, which must be associative and
commutative; ``takes`` lists the kinds of dtype that the prims accept, which are the results', too. ``neutral`` changes
nothing when it is combined with a value; where it is ``None``, nothing has no reduction. ``scan`` is the prim of the
results up to each element, ``scan_takes`` its kinds of dtype; the first result is the first element, so there
``neutral`` must leave its very bits.

To add a reduction, add a row: CONTRIBUTING.md has the steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["REDUCTIONS", "Reduction"]


@dataclass(frozen=True, slots=True)
class Reduction:
    """One reduction; the fields are described at the top of this module."""

    name: str
    combines: str
    takes: str
    neutral: int | bool | None
    says: str
    scan: str = ""
    scan_takes: str = ""


# fmt: off
REDUCTIONS: Final[tuple[Reduction, ...]] = (
    #         name    combines       takes    neutral  says                                     scan       takes
    Reduction("sum",  "add",         "biufc", 0,       "The sum, in the argument's dtype,",     "cumsum",  "iufc"),
    Reduction("prod", "mul",         "biufc", 1,       "The product, in the argument's dtype,", "cumprod", "iufc"),
    Reduction("amax", "maximum",     "biufc", None,    "The largest element, NaN if there is one,",  "cummax", "biufc"),
    Reduction("amin", "minimum",     "biufc", None,    "The smallest element, NaN if there is one,", "cummin", "biufc"),
    Reduction("any",  "logical_or",  "b",     False,   "Whether any element is true"),
    Reduction("all",  "logical_and", "b",     True,    "Whether all elements are true"),
)
# fmt: on
