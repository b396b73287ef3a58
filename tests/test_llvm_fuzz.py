"""Random programs under the llvm executor and under NumPy: the same results, arguments, aliasing and errors.

``make fuzz`` runs thousands (``TNP_FUZZ_EXAMPLES`` says how many, ``TNP_FUZZ_SEED`` which). What fails is printed as a script.
"""

import mmap
import os
import sys

import numpy as np
import pytest
from fuzzing import first_failure, random_program
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st

import tnp
from tnp.executors.registry import get_executor
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

if get_executor("llvm") is None:
    pytest.skip("llvmlite is not installed", allow_module_level=True)

EXAMPLES = int(os.environ.get("TNP_FUZZ_EXAMPLES", "100"))
SEED = os.environ.get("TNP_FUZZ_SEED")


def seeded(test):
    return test if SEED is None else seed(int(SEED))(test)


@pytest.mark.parametrize("executors", [("llvm_everything",), None], ids=["llvm_everything", "default"])
@seeded
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(st.randoms(use_true_random=False))
def test_random_program(executors, random):
    program = random_program(random)
    note(program.script())
    failure = first_failure(program, executors)
    assert failure is None, failure
