"""Extending tnp from outside: operations, executors, gradient rules, and functions of the languages.

An *operation* is a :class:`Symbol`; an *executor* says how operations run. What tnp has itself is made by the functions
here, too. A package that offers an executor names it under the entry point group ``tnp.executors`` in its
``pyproject.toml``::

    [project.entry-points."tnp.executors"]
    my_executor = "my_package:executor"

and ``tnp.jit(f, executors=["my_executor"])`` finds it. docs/extending.md is the guide, and ``examples/extend`` such a
package.

>>> import numpy as np, tnp
>>> ex = OperatorExecutor("halves", version="1.0")
>>> halve = ex.register_operator("halve", like=lambda a: a / 2, fn=lambda a: np.multiply(a, 0.5))
>>> f = tnp.jit(lambda x: halve(x).sum(), executors=[ex])
>>> f(np.array([2.0, 4.0])), tnp.grad(f)(np.array([2.0, 4.0]))
(np.float64(3.0), array([0.5, 0.5]))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tnp.core import devices, dtypes
from tnp.core.clang.base import clangop
from tnp.core.errors import ExtensionError
from tnp.core.prims.base import PrimIDs, check, make_prim
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import BoundSymbol, Namespace, OpTags, Symbol
from tnp.executors.base import Executor, Fused, FusionExecutor, OperatorExecutor, Refusal, Region, value_of
from tnp.executors.registry import (
    add_always_executor,
    add_default_executor,
    add_operator_executor,
    deregister_executor,
    get_all_executors,
    get_always_executors,
    get_default_executors,
    get_executor,
    register_executor,
    remove_always_executor,
    remove_default_executor,
    set_always_executors,
    set_default_executors,
)
from tnp.lang.numpy.registry import npmethod, npproperty, npsymbol
from tnp.transforms.autodiff.rules import get_grad, put_grad, put_grads, register_grad
from tnp.transforms.batching import register_vmap

if TYPE_CHECKING:
    from tnp.lang.torch.registry import torchsymbol as torchsymbol

__all__ = [
    "BoundSymbol",
    "Executor",
    "ExtensionError",
    "Fused",
    "FusionExecutor",
    "Namespace",
    "NumberProxy",
    "OpTags",
    "OperatorExecutor",
    "PrimIDs",
    "Refusal",
    "Region",
    "Symbol",
    "TensorProxy",
    "add_always_executor",
    "add_default_executor",
    "add_operator_executor",
    "check",
    "clangop",
    "deregister_executor",
    "devices",
    "dtypes",
    "get_all_executors",
    "get_always_executors",
    "get_default_executors",
    "get_executor",
    "get_grad",
    "make_prim",
    "npmethod",
    "npproperty",
    "npsymbol",
    "put_grad",
    "put_grads",
    "register_executor",
    "register_grad",
    "register_vmap",
    "remove_always_executor",
    "remove_default_executor",
    "set_always_executors",
    "set_default_executors",
    "value_of",
]


def __getattr__(name: str) -> object:
    if name == "torchsymbol":  # which needs torch
        from tnp.lang.torch.registry import torchsymbol

        return torchsymbol
    raise AttributeError(f"module 'tnp.extend' has no attribute {name!r}")
