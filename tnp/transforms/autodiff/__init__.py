"""Gradients of traces: a program and, from it, the program that computes cotangents of what went in from those of what
came out.

:mod:`reverse` walks a program backwards; what each operation does on the way stands in :data:`~rules.grad_rules`, a
table keyed by symbol that the modules by family fill. Forward mode is reverse mode twice: a program that pulls
cotangents back is linear in them, and pulling back through it pushes tangents forward.
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
