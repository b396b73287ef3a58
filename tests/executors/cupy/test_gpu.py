"""What needs a CUDA device: ``make test-gpu``. Everywhere else these tests are skipped."""

import os

import numpy as np
import pytest

import tnp
from tests import triton_regions as regions
from tnp.executors import registry
from tnp.runtime.device_allocator import share_with_torch
from tnp.testing import assert_same


def _why_not():
    if os.environ.get("TRITON_INTERPRET") == "1":
        return "TRITON_INTERPRET is on: make test-gpu turns it off"
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed"
    if cupy.__version__ == "0":
        return "CuPy is a stand-in here"
    try:
        return None if cupy.cuda.runtime.getDeviceCount() else "there is no CUDA device"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no CUDA device: {error}"


WHY_NOT = _why_not()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")]


def matrix(rows, columns, dtype):
    return (np.sin(np.arange(rows * columns)).reshape(rows, columns) * 9).astype(dtype)


CASES = [
    (regions.chain, lambda d: (abs(matrix(300, 40, d)), abs(matrix(300, 40, d)))),
    (regions.softmax, lambda d: (matrix(70, 333, d),)),
    (regions.softmax, lambda d: (matrix(3, 20_000, d),)),
    (regions.layer_norm, lambda d: (matrix(70, 333, d), matrix(1, 333, d)[0], matrix(1, 333, d)[0])),
    (regions.reductions, lambda d: (matrix(70, 13, d),)),
    (regions.reductions, lambda d: (matrix(700, 1300, d) % 1,)),
    (regions.with_numbers, lambda d: (matrix(3, 5, d), 0.1, 2)),
    (regions.lookups, lambda d: (matrix(6, 5, d), np.array([0, -1, 3, 3, 2, -6]))),
    (regions.stencil, lambda d: (matrix(90, 110, d),)),
    (regions.many_stencils, lambda d: (matrix(60, 61, d),)),
    (regions.joined, lambda d: (matrix(4, 5, d), matrix(4, 6, d))),
    (regions.positions, lambda d: (matrix(4, 5, d),)),
    (regions.transposed, lambda d: (matrix(40, 50, d), matrix(40, 50, d))),
    (regions.booleans, lambda d: (matrix(4, 5, d), -matrix(4, 5, d))),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(("function", "arguments"), CASES, ids=[f"{f.__name__}-{i}" for i, (f, _) in enumerate(CASES)])
def test_programs(function, arguments, dtype):
    f = tnp.jit(function, device="cuda")
    assert_same(f(*arguments(dtype)), function(*arguments(dtype)))


def test_a_chain_is_bitwise_that_of_numpy():
    a, b = abs(matrix(300, 400, np.float32)), abs(matrix(300, 400, np.float32))
    assert_same(tnp.jit(regions.chain, device="cuda")(a, b), regions.chain(a, b), exact=True)


def test_an_index_out_of_bounds():
    def look(x, i):
        return x[i] * 2 + 1

    f = tnp.jit(look, device="cuda")
    with pytest.raises(IndexError, match="out of bounds"):
        f(matrix(5, 2, np.float32), np.array([0, 5]))
    x, i = matrix(5, 2, np.float32), np.array([0, 4])
    assert_same(f(x, i), look(x, i))


# Executors of other packages, and torch's kernels by name: each is skipped, with its reason, where it cannot run


def needs(name):
    why_not = registry.availability()[name]
    if why_not:
        pytest.skip(f"{name}: {why_not}")


def names(f):
    return [b.sym.name for b in tnp.last_traces(f)[-1].bound_symbols]


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(("function", "arguments"), CASES, ids=[f"{f.__name__}-{i}" for i, (f, _) in enumerate(CASES)])
def test_programs_by_nvfuser(function, arguments, dtype):
    needs("nvfuser")
    f = tnp.jit(function, executors=["nvfuser[cupy]", "cupy"])
    assert_same(f(*arguments(dtype)), function(*arguments(dtype)))
    assert any("nvfuser" in name for name in names(f))


def test_a_chain_by_nvfuser_is_bitwise_that_of_numpy():
    needs("nvfuser")
    a, b = abs(matrix(300, 400, np.float32)), abs(matrix(300, 400, np.float32))
    f = tnp.jit(regions.chain, executors=["nvfuser[cupy]", "cupy"])
    assert_same(f(a, b), regions.chain(a, b), exact=True)


def attention(torch, **options):
    return lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)


HEADS = ((2, 3, 128, 64),) * 3
NORMS = ((64, 256), (256,), (256,))
#: name → (executor, the kernels that a device may choose among, dtype, shapes, function)
KERNELS = {
    "sdpa-flash": ("sdpa", "flash_attention torch_cudnn_attention", "bfloat16", HEADS, lambda t: attention(t)),
    "sdpa-flash-causal": (
        "sdpa", "flash_attention torch_cudnn_attention", "float16", HEADS, lambda t: attention(t, is_causal=True),
    ),
    "sdpa-flash-padded": ("sdpa", "flash_attention", "float16", ((2, 3, 128, 61),) * 3, lambda t: attention(t)),
    "sdpa-efficient": ("sdpa", "efficient_attention", "float32", HEADS, lambda t: attention(t)),
    "sdpa-efficient-masked": (
        "sdpa", "efficient_attention", "float32", HEADS,
        lambda t: attention(t, attn_mask=t.ones(128, 128, dtype=t.bool, device="cuda").tril()),
    ),
    "cudnn-attention": ("cudnn", "cudnn_attention", "bfloat16", HEADS, lambda t: attention(t)),
    "cudnn-attention-causal": ("cudnn", "cudnn_attention", "float16", HEADS, lambda t: attention(t, is_causal=True)),
    "cudnn-attention-masked": (
        "cudnn", "cudnn_attention", "bfloat16", HEADS,
        lambda t: attention(t, attn_mask=t.ones(128, 128, dtype=t.bool, device="cuda").tril()),
    ),
    "cudnn-norm": ("cudnn", "cudnn_layer_norm_training", "float32", NORMS, lambda t: lambda x, w, b: t.nn.functional.layer_norm(x, w.shape, w, b)),
    "cudnn-norm-half": ("cudnn", "cudnn_layer_norm_training", "bfloat16", NORMS, lambda t: lambda x, w, b: t.nn.functional.layer_norm(x, w.shape, w, b)),
    "linear": ("transformer_engine", "linear_fp8", "bfloat16", ((64, 128), (32, 128)), lambda t: t.nn.functional.linear),
    "cross_entropy-triton": (
        "triton_cross_entropy", "triton_crossentropy", "float32", ((64, 1000),),
        lambda t: lambda x: t.nn.functional.cross_entropy(x, t.arange(64, device="cuda")),
    ),
    "cross_entropy-apex": (
        "apex", "apex_cross_entropy", "bfloat16", ((64, 1000),),
        lambda t: lambda x: t.nn.functional.cross_entropy(x, t.arange(64, device="cuda")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", KERNELS)
def test_named_kernels_and_their_gradients(case):
    torch = pytest.importorskip("torch", exc_type=ImportError)
    executor, kernel, dtype, shapes, make = KERNELS[case]
    needs(executor)
    function = make(torch)
    torch.manual_seed(0)
    args = [torch.randn(s, device="cuda", dtype=getattr(torch, dtype)).requires_grad_() for s in shapes]
    f = tnp.jit(function, executors=[executor])
    mine, eagers = f(*args), function(*args)
    assert set(kernel.split()) & {*names(f)}
    g = torch.randn_like(eagers)
    pairs = [
        (mine, eagers),
        *zip(torch.autograd.grad(mine, args, g), torch.autograd.grad(eagers, args, g), strict=True),
    ]
    limit = 0.1 if executor == "transformer_engine" else 0.03 if dtype != "float32" else 1e-3
    for a, b in pairs:
        assert (a - b).float().norm() <= limit * b.float().norm()


def test_torch_and_cupy_share_a_pool():
    torch = pytest.importorskip("torch", exc_type=ImportError)
    cupy = pytest.importorskip("cupy")
    if not torch.cuda.is_available():
        pytest.skip("torch cannot use the device")
    assert share_with_torch()
    before = torch.cuda.memory_allocated()
    made = cupy.ones(1 << 20, cupy.float32)
    assert torch.cuda.memory_allocated() - before >= made.nbytes
    assert float(made.sum()) == 1 << 20
    del made
    assert torch.cuda.memory_allocated() == before


def test_memory_that_runs_out_leaves_the_program_of_use():
    torch = pytest.importorskip("torch", exc_type=ImportError)
    if not torch.cuda.is_available():
        pytest.skip("torch cannot use the device")

    def far_too_large(x):
        return np.sqrt(x * 2 + 1)[:, None, None] + np.zeros((1, 1 << 20, 1 << 20), np.float32)

    f = tnp.jit(far_too_large, device="cuda")
    with pytest.raises((MemoryError, RuntimeError), match=r"(?i)out of memory"):
        f(np.ones(1 << 10, np.float32))
    g = tnp.jit(regions.softmax, device="cuda")
    assert_same(g(matrix(70, 333, np.float32)), regions.softmax(matrix(70, 333, np.float32)))
