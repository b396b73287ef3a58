"""Every OpInfo, over every executor and dtype: the same type, dtype, shape, values and effects as the reference."""

import pytest

from tests.sampling import EVERYTHING
from tnp.core import dtypes
from tnp.testing import check_errors, check_op, opinfos, ops

#: what the llvm executor does with each dtype, test_llvm_scalars.py tests; here, how operations are put together
LLVM_DTYPES = {dtypes.bool8, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.complex128}

#: on which executor the trace checker looks at every pass, with the main dtype: the one whose programs have most operations
CHECKED = "numpy[prims]"

#: ``make test-ops`` runs every sample with every dtype on every executor. Else each operation has a number, which says which samples run.
NUMBERS = {info.name: number for number, info in enumerate(opinfos)}

#: of samples with other dtypes than the main one, and on the torch executor, which NumPy programs are seldom run on, one in this many
PART = 16

#: and of samples with the main dtype: those whose numbers have one of the remainders, divided by the first number. What decomposes
#: everything runs others than the llvm executor.
PARTS_OF_MAIN = {"llvm": (4, (0,)), "numpy[prims]": (4, (1,)), "numpy": (8, (2,))}


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
    """The numbers of the samples that run: others for each operation, and for each dtype, so that all kinds of samples run for some."""
    count = sum(1 for _ in info.samples(dtype))
    if EVERYTHING or not count:
        return range(count)
    if dtype is not main_dtype(info):
        return range(info.dtypes.index(dtype) % min(PART, count), count, PART)
    part, remainders = PARTS_OF_MAIN.get(executor, (PART, (0,)))
    first = NUMBERS[info.name]
    return {i for i in range(count) if (i - first) % part in remainders} or {first % count}


@ops(opinfos, where=lambda info, executor, dtype: executor in executors_for(info, dtype))
def test_consistency(info, executor, device, dtype, monkeypatch):
    if executor != CHECKED or dtype is not main_dtype(info):
        monkeypatch.setenv("TNP_CHECK", "0")
    assert check_op(info, executor, dtype, device=device, only=enough_samples(info, executor, dtype))


@pytest.mark.parametrize("info", [pytest.param(i, id=i.name) for i in opinfos if i.error_input_generator])
def test_errors(info):
    check_errors(info)
