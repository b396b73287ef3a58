"""``scipy.integrate``: rules for samples."""

from __future__ import annotations

from typing import Any

from tnp.lang import numpy as lnp
from tnp.lang.scipy.registry import by_dry_run, scipysymbol

__all__ = ["trapezoid"]


@scipysymbol("integrate.trapezoid")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """The integral along ``axis`` by the trapezoidal rule."""
    return lnp.trapezoid(y, x, dx=dx, axis=axis)


by_dry_run("integrate", "romb cumulative_simpson")
