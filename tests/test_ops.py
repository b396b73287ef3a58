"""Every OpInfo, over every executor and dtype: the same type, dtype, shape, values and effects as the reference."""

import pytest

from tnp.core import dtypes
from tnp.testing import check_errors, check_op, opinfos, ops

#: what the llvm executor does with each dtype, test_llvm_scalars.py tests; here, how operations are put together
LLVM_DTYPES = {dtypes.bool8, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.complex128}

#: the executor that runs every sample with every dtype: its programs have most operations. With the main dtype the trace checker looks at
#: every pass
THOROUGH = "numpy_prims"


def enough(info, executor, dtype):
    return executor != "llvm" or dtype in LLVM_DTYPES or not LLVM_DTYPES.intersection(info.dtypes)


def main_dtype(info):
    """The dtype that runs every sample on every executor."""
    return dtypes.float64 if dtypes.float64 in info.dtypes else info.dtypes[0]


def enough_samples(info, executor, dtype):
    """All, or every third: what an executor makes of layouts and shapes does not depend on the dtype. Each dtype has another third."""
    if executor == THOROUGH or dtype is main_dtype(info):
        return None
    return range(info.dtypes.index(dtype) % 3, 1000, 3)


@ops(opinfos, where=enough)
def test_consistency(info, executor, device, dtype, monkeypatch):
    if executor != THOROUGH or dtype is not main_dtype(info):
        monkeypatch.setenv("TNP_CHECK", "0")
    check_op(info, executor, dtype, device=device, only=enough_samples(info, executor, dtype))


@pytest.mark.parametrize("info", [pytest.param(i, id=i.name) for i in opinfos if i.error_input_generator])
def test_errors(info):
    check_errors(info)
