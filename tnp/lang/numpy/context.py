"""Contexts of operations: the handling of floating-point errors."""

from __future__ import annotations

from typing import Any

from tnp.core.proxies import ObjectProxy, TensorProxy
from tnp.core.symbol import OpTags
from tnp.lang.numpy.registry import npsymbol

__all__ = ["enter_errstate", "exit_errstate", "scalar_or_number"]


@npsymbol(id_prefix="tnp", tags=(OpTags.EFFECT, OpTags.ENTERS_ERRSTATE))
def enter_errstate(**settings: Any) -> ObjectProxy:
    """Sets ``np.seterr(**settings)``; the result is what was set before."""
    return ObjectProxy(None, dict)


@npsymbol(id_prefix="tnp", tags=(OpTags.EFFECT, OpTags.EXITS_ERRSTATE))
def exit_errstate(before: ObjectProxy) -> None:
    """Sets what :func:`enter_errstate` returned."""


@npsymbol(id_prefix="tnp")
def scalar_or_number(a: TensorProxy, is_scalar: Any, python_type: type) -> ObjectProxy:
    """The value of a 0-d array: a NumPy scalar if ``is_scalar``, a bool that may be known only at run time, else a number of type
    ``python_type``."""
    return ObjectProxy(None, python_type)
