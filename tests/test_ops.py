"""Every OpInfo, over every executor and dtype: the same type, dtype, shape, values and effects as the reference."""

import os

import pytest

from tnp.core import dtypes
from tnp.testing import check_errors, check_op, opinfos, ops

#: what the llvm executor does with each dtype, test_llvm_scalars.py tests; here, how operations are put together
LLVM_DTYPES = {dtypes.bool8, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.complex128}

#: on which executor the trace checker looks at every pass, with the main dtype: the one whose programs have most operations
CHECKED = "numpy_prims"


def enough(info, executor, dtype):
    return executor != "llvm" or dtype in LLVM_DTYPES or not LLVM_DTYPES.intersection(info.dtypes)


def main_dtype(info):
    """The dtype that runs every sample on every executor."""
    return dtypes.float64 if dtypes.float64 in info.dtypes else info.dtypes[0]


#: with other dtypes than the main one, and on the torch executor, which NumPy programs are seldom run on: every so-manieth sample
PART = 1 if os.environ.get("TNP_EVERY_SAMPLE") else 8


def enough_samples(info, executor, dtype):
    """All, or a part. What an executor makes of layouts and shapes does not depend on the dtype, and what the language makes of a
    dtype not on the executor: each dtype has other samples on each executor. ``make test-ops`` runs every one."""
    if dtype is main_dtype(info) and executor != "torch":
        return None
    return range((3 * info.dtypes.index(dtype) + list(info.executor_lists()).index(executor)) % PART, 1000, PART)


@ops(opinfos, where=enough)
def test_consistency(info, executor, device, dtype, monkeypatch):
    if executor != CHECKED or dtype is not main_dtype(info):
        monkeypatch.setenv("TNP_CHECK", "0")
    only = enough_samples(info, executor, dtype)
    assert check_op(info, executor, dtype, device=device, only=only) or check_op(
        info, executor, dtype, device=device, only=[0]
    )


@pytest.mark.parametrize("info", [pytest.param(i, id=i.name) for i in opinfos if i.error_input_generator])
def test_errors(info):
    check_errors(info)
