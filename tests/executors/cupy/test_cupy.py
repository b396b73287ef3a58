"""The cupy executor, and ``jit(device="cuda")``: on a stand-in for CuPy made of NumPy, so that what is called is checked anywhere."""

import importlib
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import tnp
from tnp.core import dtypes
from tnp.executors import registry
from tnp.testing import assert_same, check_sample, opinfos
from tnp.testing.opinfo import EXECUTORS

if importlib.util.find_spec("cupy") is None:
    sys.path.insert(0, str(Path(__file__).parents[2] / "cupy_stand_in"))

cupy = pytest.importorskip("cupy", exc_type=ImportError)

pytestmark = pytest.mark.skipif(cupy.__version__ != "0", reason="CuPy itself is installed; benchmarks/gpu.py runs it")


def jit(function):
    return tnp.jit(function, executors=["cupy"])


def operations(f):
    return [b.sym.name for b in tnp.last_traces(f)[-1].bound_symbols]


@pytest.mark.parametrize(
    "info", [i for i in opinfos if i.executors is None and i.torch_reference is None], ids=lambda i: i.name
)
def test_operations(info, monkeypatch):
    monkeypatch.setitem(EXECUTORS, "cupy", ("cupy",))
    monkeypatch.setenv("TNP_CHECK", "1")
    for dtype in (dtypes.float32, dtypes.int32, dtypes.bool8):
        if dtype in info.dtypes:
            sample = next(iter(info.samples(dtype)), None)
            if sample is not None:
                check_sample(info, sample, "cupy", dtype)
                break


def smooth(u, iterations):
    for _ in range(iterations):
        u[1:-1] = (u[:-2] + u[2:]) / 2
    return u.sum()


def test_writes_reach_the_callers_array_by_one_copy():
    f = jit(smooth)
    mine, eagers = np.arange(9.0) ** 2, np.arange(9.0) ** 2
    assert_same(f(mine, 3), smooth(eagers, 3))
    assert_same(mine, eagers, exact=True)
    assert operations(f).count("to_device") == 1


def test_each_array_moves_once():
    def f(a, b):
        c = a * b + a
        return c, c.sum(0), np.sqrt(abs(c))

    a, b = np.ones((3, 4)), np.full((3, 4), 2.0)
    jitted = jit(f)
    for mine, eagers in zip(jitted(a, b), f(a, b)):
        assert_same(mine, eagers)
        assert type(mine) is np.ndarray
    assert operations(jitted).count("to_device") == 2
    assert operations(jitted).count("to_host") == 3


def test_an_index_out_of_bounds_raises_though_cupy_wraps_it():
    def look(x, i):
        return x[i] + np.take(x, i)

    x = np.arange(4.0)
    assert_same(jit(look)(x, np.array([1, -4])), look(x, np.array([1, -4])))
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
        jit(look)(x, np.array([1, 4]))


def test_what_cupy_does_not_do_runs_on_the_host():
    def powers(a):
        return (a + 1) ** a - 1

    a = np.arange(5)
    jitted = jit(powers)
    assert_same(jitted(a), powers(a), exact=True)
    assert operations(jitted).count("to_host") >= 1


def test_device_names_the_executors():
    f = tnp.jit(smooth, device="cuda")
    assert_same(f(np.arange(9.0), 1), smooth(np.arange(9.0), 1))
    assert "to_device" in operations(f)
    with pytest.raises(ValueError, match="not both"):
        tnp.jit(smooth, device="cuda", executors=["numpy"])
    with pytest.raises(ValueError, match="device= is 'cpu' or 'cuda'"):
        tnp.jit(smooth, device="tpu")
    assert_same(tnp.jit(smooth, device="cpu")(np.arange(9.0), 1), smooth(np.arange(9.0), 1))


def test_no_cupy_is_said_at_once(monkeypatch):
    monkeypatch.setattr(registry.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(tnp.NoDeviceError, match=r"needs CuPy, which is not installed: pip install 'tnp\[cupy\]'"):
        tnp.jit(smooth, device="cuda")


@pytest.fixture
def no_driver(monkeypatch):
    from tnp.executors.cupy import kernels

    def fail():
        raise cupy.cuda.runtime.CUDARuntimeError("cudaErrorInsufficientDriver")

    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", fail)
    kernels.find_device.cache_clear()
    yield
    kernels.find_device.cache_clear()


def test_no_driver_is_a_clear_error_that_leaves_the_arguments(no_driver):
    u = np.arange(9.0)
    with pytest.raises(tnp.NoDeviceError, match="cannot use a CUDA device here: cudaErrorInsufficientDriver"):
        jit(smooth)(u, 1)
    assert_same(u, np.arange(9.0), exact=True)


def test_why_an_executor_cannot_run_is_known(no_driver):
    found = registry.availability()
    assert found["numpy"] == ""
    assert found["cupy"] == "CuPy cannot use a CUDA device here: cudaErrorInsufficientDriver"
    if "xentropy_cuda" not in sys.modules:  # where its stand-in is loaded, it is there
        assert found["apex"] == "the package xentropy_cuda is not installed"


def test_regions_are_triton_kernels_on_the_memory_of_cupys_arrays():
    pytest.importorskip("triton", reason="the extra 'triton' is not installed", exc_type=ImportError)

    def f(a, i):
        return np.sqrt(a * a + 1) / 2, a[i] * 2

    a, i = np.linspace(-1, 1, 12).reshape(3, 4), np.array([0, 2])
    jitted = tnp.jit(f, device="cuda")
    for mine, eagers in zip(jitted(a, i), f(a, i)):
        assert_same(mine, eagers)
    assert any("triton_cupy" in name for name in operations(jitted))
    with pytest.raises(IndexError, match="out of bounds"):
        jitted(a, np.array([0, 3]))


def test_the_benchmark_measures_and_compares(tmp_path, monkeypatch, capsys):
    pytest.importorskip("triton", reason="the extra 'triton' is not installed", exc_type=ImportError)
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    gpu = importlib.import_module("gpu")
    monkeypatch.setattr(gpu, "SECONDS", 0.0)
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--elements", "200", "--out", str(tmp_path / "gpu.md")])
    assert gpu.main() == 0
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in (tmp_path / "gpu.md").read_text().splitlines()]
    times = {r[0]: float(r[2]) for r in rows if len(r) == 6 and r[1] == "tnp"}
    assert times.keys() == gpu.PROGRAMS.keys()
