"""Testing operations: what tnp tests its own with, for those who add more.

An :class:`OpInfo` describes an operation: sample inputs, inputs that must raise, and a reference. From OpInfos
:func:`make_tests` makes a test module's tests, :func:`ops` parametrises tests of one's own, :func:`check_op` runs the
samples anywhere: each sample through ``tnp.jit`` on an executor, compared with the reference on type, dtype, shape and
values, and on what became of the arguments. ``opinfos`` has those of tnp's own operations. ``python -m tnp.testing
NAME`` runs one operation's samples.
"""

from tnp.testing.arrays import as_dtype, make_array, make_tensor, special_values, variants
from tnp.testing.checks import check_error, check_errors, check_gradient, check_op, check_sample
from tnp.testing.compare import assert_same
from tnp.testing.opinfo import EXECUTORS, TORCH_EXECUTORS, DecorateInfo, OpInfo, SampleInput, opinfos
from tnp.testing.parametrize import make_tests, ops
from tnp.testing.samples import (
    elementwise_binary_generator,
    elementwise_generator,
    elementwise_unary_generator,
    shapes_generator,
)

__all__ = [
    "EXECUTORS",
    "TORCH_EXECUTORS",
    "DecorateInfo",
    "OpInfo",
    "SampleInput",
    "as_dtype",
    "assert_same",
    "check_error",
    "check_errors",
    "check_gradient",
    "check_op",
    "check_sample",
    "elementwise_binary_generator",
    "elementwise_generator",
    "elementwise_unary_generator",
    "make_array",
    "make_tensor",
    "make_tests",
    "opinfos",
    "ops",
    "shapes_generator",
    "special_values",
    "variants",
]
