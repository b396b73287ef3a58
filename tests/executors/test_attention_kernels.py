"""Attention, layer norm and linear layers by named kernels: results and gradients are eager's, and unsupported cases have a reason.

torch's kernel for the CPU is run; those for CUDA, cuDNN and Transformer Engine have stand-ins with their signatures.
"""

import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

import tnp
from tnp.executors import registry

torch = pytest.importorskip("torch", exc_type=ImportError)

import torch.nn.functional as F  # noqa: E402

from tnp.core import dtypes  # noqa: E402
from tnp.core.devices import Device, DeviceType  # noqa: E402
from tnp.core.proxies import TensorProxy  # noqa: E402
from tnp.executors import sdpa  # noqa: E402
from tnp.executors.shared import attention as attention_calls  # noqa: E402
from tnp.executors.shared import device_errors  # noqa: E402
from tnp.testing import assert_same  # noqa: E402

STAND_INS = str(Path(__file__).parents[1] / "stand_ins")


def stand_in(name):
    """The package of that name, or the stand-in."""
    if importlib.util.find_spec(name) is None:
        sys.path.insert(0, STAND_INS)
        importlib.import_module(name)
        sys.path.remove(STAND_INS)
    module = importlib.import_module(name)
    if STAND_INS not in str(module.__file__):
        pytest.skip(f"{name} itself is installed: make test-gpu")
    return module


def names(f):
    return [b.sym.name for b in tnp.last_traces(f)[-1].bound_symbols]


def tensors(dtype, *shapes):
    torch.manual_seed(0)
    return [torch.randn(shape, dtype=torch.float64).to(dtype).requires_grad_() for shape in shapes]


def compare(function, args, executor, close=torch.testing.assert_close, **tolerances):
    """Compares results and gradients of ``function`` with eager's; the jitted function."""
    f = tnp.jit(function, executors=[executor])
    mine, eagers = f(*args), function(*args)
    close(mine, eagers, **tolerances)
    g = torch.randn_like(eagers)
    variables = [a for a in args if a.requires_grad]
    for a, b in zip(torch.autograd.grad(mine, variables, g), torch.autograd.grad(eagers, variables, g), strict=True):
        close(a, b, **tolerances)
    return f


def attention(query, key, value):
    return F.scaled_dot_product_attention(query, key, value)


def causal(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=0.3)


def masked(query, key, value):
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(2)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def biased(query, key, value, bias):
    return F.scaled_dot_product_attention(query, key, value, bias)


SAME = ((2, 3, 12, 16),) * 3
CROSS = (2, 3, 12, 16), (2, 3, 20, 16), (2, 3, 20, 16)
HALF = {"rtol": 2e-2, "atol": 2e-2}
CASES = [(attention, SAME), (attention, CROSS), (causal, SAME), (masked, SAME), (masked, CROSS)]


def ids(cases):
    return [f"{f.__name__}-{'same' if shapes is SAME else 'cross'}" for f, shapes in cases]


# torch's own


@pytest.mark.parametrize(("function", "shapes"), CASES, ids=ids(CASES))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_flash_attention_on_the_cpu(function, shapes, dtype):
    f = compare(function, tensors(dtype, *shapes), "sdpa", **(HALF if dtype is torch.bfloat16 else {}))
    assert "cpu_flash_attention" in names(f)


def test_a_result_that_is_returned_and_saved():
    """The returned tensor is a copy: autograd distinguishes it from the saved one by object identity."""

    def function(x):
        h = x.transpose(1, 2)
        return F.scaled_dot_product_attention(h, h, h)

    found = []
    for f in (function, tnp.jit(function)):
        x = torch.randn(2, 5, 2, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
        y = f(x)
        y.square().sum().backward()
        found.append((y.detach(), y.stride(), x.grad))
    assert_same(found[1], found[0], exact=False)


def test_a_model_is_trained_by_the_kernel():
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = torch.nn.Linear(16, 48), torch.nn.Linear(16, 16)

        def forward(self, x):
            query, key, value = (t.view(2, 5, 2, 8).transpose(1, 2) for t in self.inner(x).split(16, 2))
            y = F.scaled_dot_product_attention(query, key, value, is_causal=True)
            return x + self.outer(y.transpose(1, 2).reshape(2, 5, 16))

    layer = Layer()
    x = torch.randn(2, 5, 16)
    eager = torch.autograd.grad(layer(x).square().sum(), layer.parameters())
    model = tnp.jit(layer, executors=["sdpa"])
    found = torch.autograd.grad(model(x).square().sum(), layer.parameters())
    for a, b in zip(found, eager):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    assert "saved" in tnp.explain(model) and "cpu_flash_attention" in names(model)


def _flash(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    assert dropout_p == 0 and query.shape[3] % 8 == 0 and all(t.stride(3) == 1 for t in (query, key, value))
    out, rows = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, is_causal, scale=scale
    )
    state = torch.zeros(2, dtype=torch.uint64), torch.zeros((), dtype=torch.uint64)
    nothing = torch.empty(0, dtype=torch.int32)
    return out, rows, nothing, nothing, query.shape[2], key.shape[2], *state, torch.empty(0)


def _flash_backward(
    grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, philox_seed, philox_offset, *,
    scale=None,
):  # fmt: skip
    assert cum_seq_q is cum_seq_k is None and (max_q, max_k) == (query.shape[2], key.shape[2])
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
        grad_out, query, key, value, out, logsumexp, 0.0, is_causal, scale=scale
    )


def _scores(query, key, bias, is_causal, scale):
    scores = query.float() @ key.float().mT * scale + (0 if bias is None else bias.float())
    return scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf) if is_causal else scores


def _efficient(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None):
    assert compute_log_sumexp and dropout_p == 0
    assert attn_bias is None or (attn_bias.stride(2) % 16 == 0 and attn_bias.shape == (*query.shape[:3], key.shape[2]))
    scores = _scores(query, key, attn_bias, is_causal, scale)
    rows = torch.logsumexp(scores, -1)
    rows = F.pad(rows, (0, -rows.shape[2] % 32))
    out = (torch.softmax(scores, -1) @ value.float()).to(query.dtype)
    return out, rows, torch.zeros((), dtype=torch.int64), torch.zeros((), dtype=torch.int64)


def _efficient_backward(
    grad_out_, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p, grad_input_mask, is_causal=False, *,
    scale=None,
):  # fmt: skip
    p = torch.exp(_scores(query, key, attn_bias, is_causal, scale) - logsumexp[..., : query.shape[2], None])
    g = grad_out_.float()
    of_scores = p * (g @ value.float().mT - (g * out.float()).sum(-1, keepdim=True))
    found = of_scores @ key.float() * scale, of_scores.mT @ query.float() * scale, p.mT @ g
    of_bias = of_scores.to(query.dtype) if grad_input_mask[3] else None
    return *(x.to(query.dtype) for x in found), of_bias


@pytest.fixture
def kernels_for_cuda(monkeypatch):
    """The kernels for CUDA run on the CPU, where torch checks arguments and results against their schemas."""
    registered = torch.library.Library("aten", "IMPL", "CPU")
    for name, function in {
        "_scaled_dot_product_flash_attention": _flash,
        "_scaled_dot_product_flash_attention_backward": _flash_backward,
        "_scaled_dot_product_efficient_attention": _efficient,
        "_scaled_dot_product_efficient_attention_backward": _efficient_backward,
    }.items():
        registered.impl(name, function)
    monkeypatch.setattr(sdpa, "CUDA_KERNELS_ON", (DeviceType.CPU,))
    yield
    registered._destroy()


@pytest.mark.parametrize(
    ("function", "shapes", "kernel"),
    [
        (attention, SAME, "flash_attention"),
        (attention, ((2, 3, 12, 13),) * 3, "flash_attention"),
        (causal, SAME, "flash_attention"),
        (causal, CROSS, "efficient_attention"),
        (masked, CROSS, "efficient_attention"),
        (attention, (*CROSS[:2], (2, 3, 20, 24)), "efficient_attention"),
    ],
)
def test_kernels_for_cuda(function, shapes, kernel, kernels_for_cuda):
    f = compare(function, tensors(torch.float16, *shapes), "sdpa", **HALF)
    assert kernel in names(f)


def test_a_mask_of_numbers_has_a_gradient(kernels_for_cuda):
    args = tensors(torch.float32, *CROSS, (3, 1, 20))
    f = compare(biased, args, "sdpa")
    assert "efficient_attention" in names(f)


def test_numbers_of_the_program():
    class Attention(torch.nn.Module):
        dropout, scale = 0.0, 0.25

        def forward(self, query, key, value):
            return F.scaled_dot_product_attention(query, key, value, dropout_p=self.dropout, scale=self.scale)

    f = compare(Attention(), tensors(torch.float32, *SAME), "sdpa")
    assert "cpu_flash_attention" in names(f)


def test_what_no_kernel_takes_is_torchs():
    args = tensors(torch.float32, *CROSS, (12, 20))
    f = compare(biased, args, "sdpa")
    assert "cpu_flash_attention" not in names(f)
    assert "sdpa does not support" in tnp.explain(f) and "masks of bools" in tnp.explain(f)
    f = tnp.jit(attention, executors=["sdpa"])
    query, key, value = tensors(torch.float32, (12, 16), (12, 16), (12, 16))
    torch.testing.assert_close(f(query, key, value), attention(query, key, value))
    assert "it takes tensors of 4 dimensions" in tnp.explain(f)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
def test_kernels_for_cuda_on_fake_tensors(dtype, monkeypatch):
    """torch's own shape functions of its kernels for CUDA agree with what programs are told of them."""
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    from tnp.capture.libraries.torch import lifting

    with FakeTensorMode():
        query, key, value = (torch.empty(s, dtype=dtype, device="cuda") for s in SAME)
        mask = torch.empty(12, 12, dtype=dtype, device="cuda")
        g = torch.empty_like(query)
        if dtype is torch.float16:
            out, rows = sdpa._flash(query, key, value, True, 0.3)
            found = sdpa._flash_backward(g, query, key, value, out, rows, True, 0.3)
        else:
            out, rows = sdpa._efficient(query, key, value, mask, False, 0.3)
            *found, of_mask = sdpa._efficient_backward(g, query, key, value, mask, out, rows, False, 0.3, True)
            assert of_mask.shape == mask.shape
    meta, masks = (sdpa._flash_meta, ()) if dtype is torch.float16 else (sdpa._efficient_meta, (None,))
    kind = dtypes.by_name(str(dtype).removeprefix("torch."))
    p = TensorProxy("p", shape=SAME[0], dtype=kind, device=Device("cuda"))
    expected = meta(p, p, p, *masks, True, 0.3)
    assert [(tuple(t.shape), str(t.dtype), str(t.device)) for t in (out, rows)] == [
        (p.shape, f"torch.{p.dtype.name}", str(p.device)) for p in expected
    ]
    assert [(t.shape, t.dtype) for t in found] == [(query.shape, dtype)] * 3
    if dtype is torch.float32:  # torch without CUDA has no dry run of attention in half precision
        monkeypatch.setattr(lifting, "TENSORS", (*lifting.TENSORS, FakeTensor))
        f = tnp.jit(causal, executors=["sdpa"])
        assert f(query, key, value).device == torch.device("cuda:0")
        assert "efficient_attention" in names(f)


def test_tensors_of_several_devices_are_refused():
    def proxies(*devices):
        return [
            TensorProxy(f"t{i}", shape=(1, 1, 8, 8), dtype=dtypes.float16, device=Device(d))
            for i, d in enumerate(devices)
        ]

    assert attention_calls.refusal_of(attention_calls.Call(*proxies("cuda:0", "cuda:0", "cuda:0"))) is None
    refusal = attention_calls.refusal_of(attention_calls.Call(*proxies("cuda:0", "cuda:0", "cuda:1")))
    assert refusal.reason == "tensors of several devices"
    assert sdpa._choice(attention_calls.Call(*proxies(*["cuda:0"] * 3))) == "flash"


# cuDNN


@pytest.fixture
def cudnn(monkeypatch):
    module = stand_in("cudnn")
    from tnp.executors.cudnn import attention, graphs

    monkeypatch.setattr(attention, "capability", lambda device: (9, 0))
    graphs._graphs.clear()
    graphs.why_not.cache_clear()
    yield module
    graphs.why_not.cache_clear()


@pytest.mark.parametrize(("function", "shapes"), CASES, ids=ids(CASES))
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_cudnn_attention(function, shapes, dtype, cudnn):
    f = compare(function, tensors(dtype, *shapes), "cudnn", **HALF)
    assert "cudnn_attention" in names(f), tnp.explain(f)


def test_cudnn_attention_of_other_layouts(cudnn):
    def across(x):
        query, key, value = x.view(2, 12, 3, 3, 16).permute((3, 0, 2, 1, 4))
        return F.scaled_dot_product_attention(query, key, value)

    f = compare(across, tensors(torch.bfloat16, (2, 12, 144)), "cudnn", **HALF)
    assert "cudnn_attention" in names(f), tnp.explain(f)


def test_cudnn_graphs_are_built_once_a_layout(cudnn):
    f = tnp.jit(attention, executors=["cudnn"])
    args = [t.detach() for t in tensors(torch.float16, *SAME)]
    f(*args)
    before = len(cudnn.built)
    f(*args)
    tnp.jit(attention, executors=["cudnn"])(*args)
    assert len(cudnn.built) == before


def layer_norm(x, weight, bias):
    return F.layer_norm(x, (6, 8), weight, bias, 1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_cudnn_layer_norm(dtype, cudnn):
    args = tensors(dtype, (5, 2, 6, 8), (6, 8), (6, 8))
    f = compare(layer_norm, args, "cudnn", **(HALF if dtype is not torch.float32 else {}))
    assert "cudnn_layer_norm_training" in names(f)
    inference = tnp.jit(layer_norm, executors=["cudnn"])
    with torch.no_grad():
        torch.testing.assert_close(inference(*args), layer_norm(*args))
    assert "cudnn_layer_norm" in names(inference)


@pytest.mark.parametrize(
    ("head", "of_values", "capability", "backend", "takes"),
    [
        (64, 64, (8, 0), 90000, True),
        (12, 12, (9, 0), 91300, False),
        (256, 256, (8, 0), 91300, False),
        (256, 256, (9, 0), 90000, True),
        (256, 256, (9, 0), 80900, False),
        (160, 128, (9, 0), 91100, False),
        (192, 128, (9, 0), 91100, True),
        (160, 128, (9, 0), 91300, True),
        (192, 128, (10, 0), 91100, True),
        (192, 192, (10, 0), 91300, False),
    ],
)
def test_heads_that_cudnn_takes(head, of_values, capability, backend, takes, cudnn):
    from tnp.executors.cudnn.attention import _heads_refused

    assert (_heads_refused(head, of_values, capability, backend) is None) is takes


def test_what_cudnn_refuses_is_run_by_others(cudnn, monkeypatch):
    args = tensors(torch.float32, *SAME)
    f = compare(attention, args, "cudnn")
    assert "it takes half precision, not float32" in tnp.explain(f)
    monkeypatch.setitem(cudnn.failures, "build", [cudnn.cudnnGraphNotSupportedError("no engine for this device")])
    args = tensors(torch.float16, (1, 1, 8, 8), (1, 1, 8, 8), (1, 1, 8, 8))
    f = compare(attention, args, "cudnn", **HALF)
    assert "cudnn_attention" not in names(f)
    assert "cudnn does not support" in tnp.explain(f) and "no engine for this device" in tnp.explain(f)


def test_cudnn_that_fails(cudnn):
    f = tnp.jit(attention, executors=["cudnn"])
    args = [t.detach() for t in tensors(torch.float16, *SAME)]
    cudnn.failures["execute"].append(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB"))
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate"):
        f(*args)
    torch.testing.assert_close(f(*args), attention(*args), **HALF)
    cudnn.failures["execute"].append(
        RuntimeError("CUDNN_STATUS_EXECUTION_FAILED: CUDA error: unspecified launch failure")
    )
    with pytest.raises(tnp.NoDeviceError, match="failed or was lost"):
        f(*args)


def test_an_old_cudnn_is_left_alone(cudnn, monkeypatch):
    from tnp.executors.cudnn import graphs

    monkeypatch.setattr(cudnn, "__version__", "1.4.0")
    graphs.why_not.cache_clear()
    assert registry.availability()["cudnn"] == "the cuDNN frontend 1.5.2 or newer is needed, and this is 1.4.0"
    f = tnp.jit(attention, executors=["cudnn"])
    args = [t.detach() for t in tensors(torch.float16, *SAME)]
    torch.testing.assert_close(f(*args), attention(*args))
    assert "cudnn_attention" not in names(f)


# Transformer Engine


@pytest.fixture
def engine():
    stand_in("transformer_engine")
    sys.path.insert(0, STAND_INS)
    quantization = importlib.import_module("transformer_engine.pytorch.quantization")
    recipe = importlib.import_module("transformer_engine.common.recipe")
    importlib.import_module("transformer_engine.pytorch.ops")
    sys.path.remove(STAND_INS)
    before = quantization.current[0]
    yield lambda name: quantization.current.__setitem__(0, getattr(recipe, name)())
    quantization.current[0] = before


def near(mine, eagers):
    """Of products of numbers of 8 bits: a tenth off, in the mean."""
    assert mine.dtype is eagers.dtype and mine.shape == eagers.shape
    assert (mine - eagers).float().norm() < 0.1 * eagers.float().norm()


@pytest.mark.parametrize("recipe", ["DelayedScaling", "Float8CurrentScaling", "MXFP8BlockScaling"])
@pytest.mark.parametrize("has_bias", [False, True], ids=["", "bias"])
def test_linear_in_fp8(recipe, has_bias, engine):
    engine(recipe)
    args = tensors(torch.bfloat16, (2, 16, 64), (32, 64), *([(32,)] if has_bias else []))
    f = compare(F.linear, args, "transformer_engine", near)
    assert "linear_fp8" in names(f)
    assert not torch.equal(f(*args), F.linear(*args))


def test_delayed_scaling_remembers_between_calls(engine):
    engine("DelayedScaling")
    args = [1e-3 * t.detach() for t in tensors(torch.bfloat16, (16, 64), (32, 64))]
    f = tnp.jit(F.linear, executors=["transformer_engine"])
    first = (f(*args) - F.linear(*args)).abs().max()
    second = (f(*args) - F.linear(*args)).abs().max()
    assert second < first / 2  # the first call did not know how small the numbers are


def test_lengths_that_8_bits_do_not_fit(engine):
    engine("DelayedScaling")
    args = tensors(torch.bfloat16, (6, 64), (32, 64))
    f = compare(F.linear, args, "transformer_engine", **HALF)
    assert "FP8 takes matrices of multiples of 8 and 16, and the input is 6 by 64" in tnp.explain(f)


# Apex


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_apex_cross_entropy(dtype, reduction):
    stand_in("xentropy_cuda")
    target = torch.tensor([0, 3, 39, 3, -1])

    def loss(x):
        return F.cross_entropy(x, target, ignore_index=-1, reduction=reduction)

    f = compare(loss, tensors(dtype, (5, 40)), "apex", **(HALF if dtype is not torch.float32 else {}))
    assert "apex_cross_entropy" in names(f)


@pytest.mark.parametrize(
    ("options", "classes", "reason"),
    [
        ({"label_smoothing": 0.1}, 40, "it knows neither weights nor smoothing"),
        ({"weight": torch.ones(40)}, 40, "it knows neither weights nor smoothing"),
        ({}, 7, "rows of 7 classes come out wrong"),
    ],
)
def test_what_apex_does_not_take_is_torchs(options, classes, reason):
    stand_in("xentropy_cuda")
    target = torch.tensor([0, 3, 5])
    f = compare(lambda x: F.cross_entropy(x, target, **options), tensors(torch.float32, (3, classes)), "apex")
    assert "apex_cross_entropy" not in names(f)
    assert f"apex does not support ltorch.nn.functional.cross_entropy: {reason}" in tnp.explain(f)


# Triton's cross entropy in half precision: what computes on blocks is a stand-in where Triton is not installed


@pytest.fixture
def triton_cross_entropy(monkeypatch):
    if importlib.util.find_spec("triton") is not None:
        return
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    sys.path.insert(0, STAND_INS)
    importlib.import_module("tnp.executors.triton_cross_entropy")
    sys.path.remove(STAND_INS)
    for name in [n for n in sys.modules if n.partition(".")[0] == "triton"]:
        del sys.modules[name]  # torch would take it for Triton


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("reduction", "weighted"), [("mean", False), ("none", True)])
def test_cross_entropy_by_triton_in_half_precision(dtype, reduction, weighted, triton_cross_entropy):
    (x,) = tensors(dtype, (4, 37))
    weight = torch.linspace(0.5, 1.5, 37, dtype=dtype) if weighted else None
    target = torch.tensor([0, 36, 2, 7])

    def loss(x, weight):
        return F.cross_entropy(x, target, weight, ignore_index=2, reduction=reduction, label_smoothing=0.1)

    f = tnp.jit(loss, executors=["triton_cross_entropy"])
    mine, eagers = f(x, weight), loss(x.float(), None if weight is None else weight.float())
    assert "triton_crossentropy" in names(f)
    torch.testing.assert_close(mine.float(), eagers, **HALF)
    (found,) = torch.autograd.grad(mine.sum(), x)
    (wanted,) = torch.autograd.grad(eagers.sum(), x)
    torch.testing.assert_close(found, wanted, **HALF)


# Where nothing is installed, or no device is there


def test_a_package_that_cannot_be_loaded_is_said(monkeypatch):
    monkeypatch.setitem(registry._OWN, "broken", registry._Own("tnp.executors.broken", "torch"))
    with pytest.raises(tnp.extend.ExtensionError, match="'broken' cannot be loaded: its package torch raised"):
        tnp.jit(attention, executors=["broken"])
    assert "cannot be loaded" in registry.availability()["broken"]


def test_a_missing_package_is_said_whether_its_executor_was_imported_or_not(monkeypatch):
    monkeypatch.setitem(registry._OWN, "absent", registry._Own("tnp.executors.absent", "no_such_package"))
    assert registry.availability()["absent"] == "the package no_such_package is not installed"
    monkeypatch.setitem(registry._executors, "absent", tnp.extend.OperatorExecutor("absent"))
    assert registry.availability()["absent"] == "the package no_such_package is not installed"


def test_each_says_why_it_cannot_run(monkeypatch):
    monkeypatch.setattr(torch.version, "cuda", None)
    assert device_errors.why_no_device() == "this torch is built without CUDA"
    monkeypatch.setattr(torch.version, "cuda", "12.8")

    def fail():
        raise RuntimeError("The NVIDIA driver on your system is too old (found version 11040)\nupdate it")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "init", fail)
    expected = "torch cannot use a CUDA device: The NVIDIA driver on your system is too old (found version 11040)"
    assert device_errors.why_no_device() == expected
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    assert device_errors.why_no_device() == "torch finds no CUDA device"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_errors.why_no_device() is None
    found = registry.availability()
    for name, package in (("cudnn", "cudnn"), ("transformer_engine", "transformer_engine"), ("apex", "xentropy_cuda")):
        if package not in sys.modules:
            assert found[name] == f"the package {package} is not installed"


def test_the_benchmark_of_kernels(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    benchmark = importlib.import_module("gpu_kernels")
    attention = ("attention", SAME, "float32", ("sdpa",), 1e-3)
    entropy = ("cross_entropy", ((4, 40),), "float32", ("apex",), 1e-3)
    monkeypatch.setattr(benchmark, "CASES", {"attention": attention, "losses": entropy})
    monkeypatch.setattr(torch, "compile", lambda function: function)

    def seconds(run, synchronize):
        run()
        return 1e-6

    why_not = registry.availability()["apex"]
    lines = benchmark.table(seconds, lambda run, synchronize: 2**20, lambda: None, "cpu")
    assert "| attention | tnp by sdpa | 1.0 | 1 | cpu_flash_attention |" in lines
    assert "| losses | torch | 1.0 | 1 |  |" in lines
    assert bool(why_not) != any("tnp by apex" in line for line in lines)
