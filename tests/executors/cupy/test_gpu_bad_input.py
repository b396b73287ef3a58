"""What goes wrong on a GPU: an error that says so, arguments as they were, and programs that work again. By stand-ins, and in the interpreter."""

import os

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

torch = pytest.importorskip("torch")

from tests.executors.cupy.test_cupy import cupy  # noqa: E402
from tests.stand_ins import cuda_graphs  # noqa: E402
from tnp.core.devices import DeviceType  # noqa: E402
from tnp.executors import cudagraphs  # noqa: E402

with_cupys_stand_in = pytest.mark.skipif(cupy.__version__ != "0", reason="CuPy itself is installed")


def chain(a, b):
    return np.sqrt(a * a + b) / (a + 2) - a * b


def failing_once(function, error):
    """``function``, the first call of which raises."""
    left = [error]

    def call(*args, **kwargs):
        if left:
            raise left.pop()
        return function(*args, **kwargs)

    return call


class NoMemory(MemoryError):
    """What CuPy raises: cupy.cuda.memory.OutOfMemoryError is one of these."""


@with_cupys_stand_in
def test_no_memory_on_cupys_device(monkeypatch):
    def write(a, b):
        a += b
        a[0] = np.sort(b)[0]
        return a.sum()

    a, b = np.arange(4.0), np.ones(4)
    expected = write(a.copy(), b)
    f = tnp.jit(write, device="cuda")
    f(a.copy(), b)
    monkeypatch.setattr(cupy, "asarray", failing_once(cupy.asarray, NoMemory("Out of memory allocating 32 bytes")))
    with pytest.raises(MemoryError, match="Out of memory allocating"):
        f(a, b)
    assert_same(a, np.arange(4.0), exact=True)
    assert_same(f(a.copy(), b), expected)
    assert tnp.cache_info(f).size == 1


@pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") != "1", reason="TRITON_INTERPRET is off")
@pytest.mark.parametrize(
    "error",
    [
        torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 4 GiB"),
        RuntimeError("Triton Error [CUDA]: unspecified launch failure"),
    ],
    ids=["memory", "device lost"],
)
def test_no_memory_and_a_lost_device_in_a_triton_region(error, monkeypatch, recwarn):
    pytest.importorskip("triton", exc_type=ImportError)
    f = tnp.jit(chain, executors=["triton[everything]"])
    a = np.ones(5)
    f(a, a)
    monkeypatch.setattr(torch, "empty", failing_once(torch.empty, error))
    with pytest.raises(type(error), match="CUDA"):
        f(a, a)
    assert_same(f(a, a), chain(a, a))
    assert not recwarn.list, "the kernels are not to blame"
    assert any("triton" in b.sym.name for b in tnp.last_traces(f)[-1].body)


def test_no_memory_while_a_graph_is_captured(monkeypatch):
    monkeypatch.setattr(cudagraphs, "DEVICES", frozenset((DeviceType.CPU,)))
    monkeypatch.setattr(cudagraphs, "_torch_cuda", lambda: cuda_graphs)
    monkeypatch.setattr(cudagraphs, "_pools", {})
    error = torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 4 GiB")
    monkeypatch.setattr(cuda_graphs.CUDAGraph, "capture_begin", failing_once(None, error))
    f = tnp.jit(lambda x: x * 2 + 1, executors=["torch"], cudagraphs=True)
    for _ in range(3):
        assert f(torch.ones(2)).tolist() == [3, 3]
    assert "capturing it failed with CUDA out of memory" in str(tnp.explain(f))


@with_cupys_stand_in
@pytest.mark.parametrize("dtype", ["float16", "complex64"])
def test_dtypes_that_kernels_do_not_take_are_taken_by_others(dtype):
    a = np.array([1, 2, 3]).astype(dtype)
    f = tnp.jit(lambda a: (a + a) * a - a, executors=["cupy"])
    assert_same(f(a), (a + a) * a - a)
    assert not any("kernels" in b.sym.name for b in tnp.last_traces(f)[-1].body)


def test_bfloat16_stays_with_torch():
    t = torch.ones(2, dtype=torch.bfloat16, device="meta")
    f = tnp.jit(lambda t: t * 2)
    assert f(t).dtype is torch.bfloat16
