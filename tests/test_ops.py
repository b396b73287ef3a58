"""Every OpInfo, over every executor and dtype: the same type, dtype, shape, values and effects as the reference."""

import pytest

import tnp.testing.families
from tnp.core import dtypes
from tnp.testing import check_error, check_sample, opinfos
from tnp.testing.opinfo import EXECUTORS

assert tnp.testing.families


#: what the llvm executor does with each dtype, test_llvm_scalars.py tests; here, how operations are put together
LLVM_DTYPES = {dtypes.bool8, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.complex128}

#: on which executor the trace checker looks at every pass: the one whose programs have most operations
CHECKED = "numpy_prims"


def _cases(test_name):
    for info in opinfos:
        for executor in EXECUTORS:
            if not info.tests_executor(executor):
                continue
            few = executor == "llvm" and LLVM_DTYPES.intersection(info.dtypes)
            for dtype in [d for d in info.dtypes if not few or d in LLVM_DTYPES]:
                marks = [d.decorator for d in info.test_directives if d.applies(test_name, executor, dtype)]
                yield pytest.param(info, executor, dtype, id=f"{info.name}-{executor}-{dtype}", marks=marks)


@pytest.mark.parametrize(("info", "executor", "dtype"), list(_cases("test_consistency")))
def test_consistency(info, executor, dtype, monkeypatch):
    if executor != CHECKED:
        monkeypatch.setenv("TNP_CHECK", "0")
    for i, sample in enumerate(info.samples(dtype)):
        try:
            check_sample(info, sample, executor, dtype)
        except BaseException as error:
            command = f"python -m tnp.testing {info.name} --executor {executor} --dtype {dtype} --sample {i}"
            error.add_note(f"{sample}\nreproduce with: {command}")
            raise


@pytest.mark.parametrize("info", [pytest.param(i, id=i.name) for i in opinfos if i.error_input_generator])
def test_errors(info):
    for sample, error, pattern in info.errors():
        check_error(info, sample, error, pattern)
