"""Testing operations: what tnp tests its own with, for those who add more.

An :class:`OpInfo` describes an operation: sample inputs, inputs that must raise, and a reference. :func:`check_sample`
runs one sample through ``tnp.jit`` and compares with the reference on type, dtype, shape and values, and on what became of
the arguments. ``python -m tnp.testing NAME`` runs one operation's samples.
"""

from tnp.testing.arrays import make_array, special_values, variants
from tnp.testing.compare import assert_same
from tnp.testing.opinfo import DecorateInfo, OpInfo, SampleInput, check_error, check_sample, opinfos

__all__ = [
    "DecorateInfo",
    "OpInfo",
    "SampleInput",
    "assert_same",
    "check_error",
    "check_sample",
    "make_array",
    "opinfos",
    "special_values",
    "variants",
]
