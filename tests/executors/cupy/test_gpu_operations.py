"""Every operation, and random programs, on a CUDA device: ``make test-gpu``. Everywhere else these tests are skipped."""

import contextlib
import importlib.util
import os
import random

import pytest

import tnp  # noqa: F401
from tests.executors.cupy.test_gpu import WHY_NOT
from tests.fuzzing import first_failure, minimised, random_program
from tnp.core import dtypes
from tnp.testing import check_op, opinfos
from tnp.testing.checks import Refused
from tnp.testing.opinfo import EXECUTORS

# Machines without a CUDA device cannot run these tests; WHY_NOT says what is missing.
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")]

#: samples of each operation and dtype
SAMPLES = int(os.environ.get("TNP_GPU_SAMPLES", "3"))
#: random programs
EXAMPLES = int(os.environ.get("TNP_FUZZ_EXAMPLES", "40"))

#: what ``jit(device="cuda")`` runs programs of ndarrays with
EXECUTORS_OF_CUDA = ("triton[cupy]", "cupy")


@pytest.fixture(autouse=True)
def on_cuda(monkeypatch):
    monkeypatch.setitem(EXECUTORS, "cuda", EXECUTORS_OF_CUDA)
    monkeypatch.setenv("TNP_CHECK", "0")


def kinds(info):
    """The dtypes that an operation is tested with: floats as GPUs have them, the main ones, and bools."""
    wanted = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.bool8)
    return [d for d in wanted if d in info.dtypes] or list(info.dtypes[:1])


@pytest.mark.parametrize(
    "info", [i for i in opinfos if i.executors is None and i.torch_reference is None], ids=lambda i: i.name
)
def test_operations_of_numpy(info):
    for dtype in kinds(info):
        check_op(info, "cuda", dtype, only=range(SAMPLES))


def operations_of_torch():
    if WHY_NOT is not None or not importlib.util.find_spec("torch"):
        return ()
    return [i for i in opinfos.family("torch") if "sparse" not in i.name]  # samples that cannot be copied


@pytest.mark.parametrize("info", operations_of_torch(), ids=lambda i: i.name)
def test_operations_of_torch(info):
    for dtype in (dtypes.float32, dtypes.int64, dtypes.bfloat16):
        if dtype in info.dtypes:
            with contextlib.suppress(Refused):  # torch has fewer dtypes on CUDA
                check_op(info, "default", dtype, device="cuda", only=range(SAMPLES))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_random_programs(seed):
    program = random_program(random.Random(seed))
    failure = first_failure(program, EXECUTORS_OF_CUDA)
    if failure is not None:
        program, failure = minimised(program, failure, EXECUTORS_OF_CUDA)
        pytest.fail(f"{failure}\n\n{program.script(EXECUTORS_OF_CUDA)}", pytrace=False)
