"""Every OpInfo, over every executor and dtype: the same type, dtype, shape, values and effects as the reference."""

import os

import pytest

from tnp.core import dtypes
from tnp.testing import check_errors, check_op, opinfos, ops

#: what the llvm executor does with each dtype, test_llvm_scalars.py tests; here, how operations are put together
LLVM_DTYPES = {dtypes.bool8, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.complex128}

#: on which executor the trace checker looks at every pass, with the main dtype: the one whose programs have most operations
CHECKED = "numpy[prims]"


#: ``make test-ops`` runs every sample with every dtype on every executor
EVERYTHING = bool(os.environ.get("TNP_EVERY_SAMPLE"))

#: of samples with other dtypes than the main one, and on the torch executor, which NumPy programs are seldom run on, one in this many
PART = 1 if EVERYTHING else 8


#: and of samples with the main dtype: what decomposes everything runs all of them
PARTS_OF_MAIN = {} if EVERYTHING else {"llvm": 2, "numpy": 4, "torch": PART}


def main_dtype(info):
    """The dtype that runs most samples."""
    return dtypes.float64 if dtypes.float64 in info.dtypes else info.dtypes[0]


def executors_for(info, dtype):
    found = [
        e for e in info.executor_lists() if e != "llvm" or dtype in LLVM_DTYPES or not LLVM_DTYPES & {*info.dtypes}
    ]
    if EVERYTHING or dtype is main_dtype(info):
        return found
    # What an executor makes of layouts and shapes does not depend on the dtype, and what the language makes of a dtype not on the
    # executor: each dtype has one.
    return [found[info.dtypes.index(dtype) % len(found)]]


def enough_samples(info, executor, dtype):
    if dtype is main_dtype(info):
        part = PARTS_OF_MAIN.get(executor, 1)
        return range(len(info.name) % part, 1000, part)
    return range(info.dtypes.index(dtype) % PART, 1000, PART)


@ops(opinfos, where=lambda info, executor, dtype: executor in executors_for(info, dtype))
def test_consistency(info, executor, device, dtype, monkeypatch):
    if executor != CHECKED or dtype is not main_dtype(info):
        monkeypatch.setenv("TNP_CHECK", "0")
    only = enough_samples(info, executor, dtype)
    first = [0]  # of few samples none may be among those
    assert any(check_op(info, executor, dtype, device=device, only=chosen) for chosen in (only, first))


@pytest.mark.parametrize("info", [pytest.param(i, id=i.name) for i in opinfos if i.error_input_generator])
def test_errors(info):
    check_errors(info)
