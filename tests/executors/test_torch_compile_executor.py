"""The torch_compile executor: regions as functions of torch, compiled by torch's own compiler."""

import os
import shutil

import numpy as np
import pytest

import tnp
from tests import triton_regions as regions
from tnp.testing import assert_same

torch = pytest.importorskip("torch", exc_type=ImportError)

# torch's compiler warns of its own use of parts of Python and NumPy that are going away
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def matrix(rows, columns, dtype=np.float32):
    return (np.sin(np.arange(rows * columns)).reshape(rows, columns) * 9).astype(dtype)


@pytest.fixture(scope="module")
def traced_only():
    """torch's compiler without code: its operations run one by one."""
    from tnp.executors.torch.compiled import TorchCompileExecutor

    return TorchCompileExecutor("torch_compile_traced", backend="aot_eager")


def regions_of(f):
    return [b for b in tnp.last_traces(f)[-1].body if b.sym.name.startswith("torch_compile")]


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (regions.chain, (abs(matrix(30, 40)), abs(matrix(30, 40)))),
        (regions.softmax, (matrix(5, 7),)),
        (regions.stencil, (matrix(9, 9),)),
        (regions.reductions, (matrix(5, 7),)),
        (regions.transposed, (matrix(4, 5), matrix(4, 5))),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_programs(function, args, traced_only):
    f = tnp.jit(function, executors=[traced_only])
    assert_same(f(*args), function(*args))
    assert len(regions_of(f)) == 1


def test_results_share_no_memory(traced_only):
    def f(x):
        y = x * 2 + 1
        return y, y.T, y.copy()

    first, second, third = tnp.jit(f, executors=[traced_only])(matrix(3, 3))
    third[0, 0] = 100
    assert_same(first, f(matrix(3, 3))[0])
    assert np.shares_memory(first, second)


def test_what_has_an_order_is_left_to_others(traced_only):
    def f(x, i):
        y = np.sqrt(x * x) + 1
        y[0] = 7
        return y[i] * 2

    jitted = tnp.jit(f, executors=[traced_only])
    x = np.ones(4)
    assert_same(jitted(x, np.array([0, 3])), f(x, np.array([0, 3])))
    with pytest.raises(IndexError, match="out of bounds"):
        jitted(x, np.array([0, 4]))


@pytest.mark.skipif(
    not os.environ.get("TNP_TEST_INDUCTOR"), reason="half a minute of CPU: make test-triton sets TNP_TEST_INDUCTOR=1"
)
@pytest.mark.skipif(shutil.which("g++") is None and shutil.which("clang++") is None, reason="Inductor needs a compiler")
def test_inductor(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    f = tnp.jit(regions.softmax, executors=["torch_compile"])
    assert_same(f(matrix(5, 7)), regions.softmax(matrix(5, 7)))
    assert len(regions_of(f)) == 1
