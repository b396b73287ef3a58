"""Reverse-mode differentiation of traces: from a program, the program that pulls cotangents of results back to inputs.

:mod:`reverse` walks a program backwards. :data:`~rules.grad_rules`, a table keyed by symbol, has the rule of each
operation; one module per family fills it. Forward mode is reverse mode twice: a program that pulls cotangents back is
linear in them, and pulling back through it pushes tangents forward.
"""

import importlib

from tnp.transforms.autodiff.ops import times
from tnp.transforms.autodiff.reverse import Program, is_differentiable, zeros_for
from tnp.transforms.autodiff.rules import get_grad, grad_rules, put_grad, put_grads, register_grad

FAMILIES = (
    "elementwise",
    "shape",
    "reduction",
    "indexing",
    "linalg",
    "fft",
    "nn",
    "compositions",
    "control_flow",
    "torch_functions",
    "scipy_functions",
)

for _family in FAMILIES:
    importlib.import_module(f"{__name__}.{_family}")

__all__ = [
    "FAMILIES",
    "Program",
    "get_grad",
    "grad_rules",
    "is_differentiable",
    "put_grad",
    "put_grads",
    "register_grad",
    "times",
    "zeros_for",
]
