"""Operations on numbers that are made of symbolic sizes: what they mean in Python, and how a prologue writes them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

__all__ = ["DECIDED", "DIVISIONS", "MATH", "NEUTRAL", "PYTHON", "SUMS", "WITH_EQUAL", "WRITTEN"]

#: the operations that shapes are computed with
PYTHON = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
}

#: what leaves a number as it is, on the right
NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "floor_divide": 1}

#: what raises for 0
DIVISIONS = frozenset(("floor_divide", "remainder", "div"))
#: comparisons that the bounds of ``a - b`` may decide
DECIDED = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
#: comparisons that a lower bound of 0 decides
WITH_EQUAL = frozenset(("lt", "ge"))

#: what the second number counts in a sum
SUMS = {"add": 1, "sub": -1}
#: how operations on numbers are written
WRITTEN = {
    "add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "div": "({} / {})", "floor_divide": "({} // {})",
    "remainder": "({} % {})", "pow": "({} ** {})", "neg": "(-{})", "int": "int({})", "float": "float({})",
    "minimum": "min({}, {})", "maximum": "max({}, {})", "eq": "({} == {})", "ne": "({} != {})",
    "lt": "({} < {})", "le": "({} <= {})", "gt": "({} > {})", "ge": "({} >= {})",
    "sqrt": "sqrt({})", "log": "log({})", "log2": "log2({})", "log10": "log10({})",
}  # fmt: skip
#: functions of :mod:`math` among these, which a prologue has by these names
MATH: dict[str, Callable[..., Any]] = {name: getattr(math, name) for name in ("sqrt", "log", "log2", "log10")}
