"""Every OpInfo, over every executor and dtype: the same type, dtype, shape, values and effects as the reference."""

import pytest

from tnp.core import dtypes
from tnp.testing import check_errors, check_op, opinfos, ops

#: what the llvm executor does with each dtype, test_llvm_scalars.py tests; here, how operations are put together
LLVM_DTYPES = {dtypes.bool8, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.complex128}

#: on which executor the trace checker looks at every pass: the one whose programs have most operations
CHECKED = "numpy_prims"


def enough(info, executor, dtype):
    return executor != "llvm" or dtype in LLVM_DTYPES or not LLVM_DTYPES.intersection(info.dtypes)


@ops(opinfos, where=enough)
def test_consistency(info, executor, device, dtype, monkeypatch):
    if executor != CHECKED:
        monkeypatch.setenv("TNP_CHECK", "0")
    check_op(info, executor, dtype, device=device)


@pytest.mark.parametrize("info", [pytest.param(i, id=i.name) for i in opinfos if i.error_input_generator])
def test_errors(info):
    check_errors(info)
