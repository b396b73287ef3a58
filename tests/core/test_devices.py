"""Tensors on devices: programs are traced for the device of each tensor, on ``meta`` as on CUDA, of which fake tensors stand for some."""

import warnings

import numpy as np
import pytest

import tnp
from tnp.core.devices import Device, device_context

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode  # noqa: E402

from tests.models import MODELS, tensors_in  # noqa: E402
from tnp.capture.guards.prologue import Extent, disjoint  # noqa: E402
from tnp.capture.libraries.torch import lifting  # noqa: E402


def meta(*shape, **options):
    return torch.empty(shape, device="meta", **options)


def same_but_for_values(mine, eagers):
    assert type(mine) is type(eagers)
    if isinstance(mine, (tuple, list)):
        assert len(mine) == len(eagers)
        for a, b in zip(mine, eagers):
            same_but_for_values(a, b)
    elif isinstance(mine, torch.Tensor):
        kinds = [(t.shape, t.dtype, t.device, t.requires_grad) for t in (mine, eagers)]
        assert kinds[0] == kinds[1]
    else:
        assert mine == eagers


def operations(f):
    return [b.sym.name for b in tnp.last_traces(f)[-1].body]


def of_everything(x, w):
    y = torch.softmax(x @ w, -1) * 2 + torch.arange(3, device=x.device)
    y = y + torch.zeros(3, device=x.device) + x.new_ones(3) + torch.full_like(y, 0.5).tril()
    y[0] = 1
    z = torch.where(y > 0.5, y, 0.0).cumsum(0)
    return y.sum(), y.device, x.is_meta, x.is_cuda, x.is_cpu, x.get_device(), torch.cat([y, z]), z[:, [0, 2]]


def test_what_a_program_makes_is_where_its_arguments_are():
    x, w = meta(4, 5), meta(5, 3)
    jitted = tnp.jit(of_everything, strict=True)
    for _ in range(2):
        same_but_for_values(jitted(x, w), of_everything(x, w))
    assert tnp.cache_info(jitted) == (1, 1, 1)
    made = [p for b in tnp.last_traces(jitted)[-1].body for p in b.flat_outputs if hasattr(p, "device")]
    assert {str(p.device) for p in made} == {"meta"}


def test_the_device_is_guarded():
    @tnp.jit
    def f(x):
        return x * 2

    for x in (torch.ones(3), meta(3), torch.ones(3), meta(3)):
        assert f(x).device == x.device
    assert tnp.cache_info(f) == (2, 2, 2)
    assert "device" in tnp.last_prologue_traces(f)[0]


def moves(a, b):
    b.copy_(a)
    a += 1
    return a.to("meta") + b, a.to(b), a.to("meta", torch.float64), b.to("meta"), a.cpu()


def test_moves_between_devices():
    a, mine, eager = torch.zeros(4, 5), meta(4, 5), meta(4, 5)
    jitted = tnp.jit(moves, strict=True)
    same_but_for_values(jitted(a, mine), moves(torch.zeros(4, 5), eager))
    assert a.sum() == 20
    assert operations(jitted).count("to") >= 2


def test_a_number_of_the_cpu_takes_part_and_more_is_torchs_own_error():
    x = meta(4, 5)

    def add(x, y):
        return x + y

    jitted = tnp.jit(add)
    for y in (torch.tensor(2.0), 3.0, np.float32(1)):
        same_but_for_values(jitted(x, y), add(x, y))
    for y in (torch.ones(4, 5), torch.ones(1)):
        errors = []
        for f in (jitted, add):
            with pytest.raises(RuntimeError) as error:
                f(x, y)
            errors.append(str(error.value))
        assert errors[0] == errors[1]


def test_autocast_of_the_cpu_casts_what_is_there():
    def f(x, y):
        with torch.autocast("cpu", torch.bfloat16):
            return x @ x, y @ y

    args = meta(3, 3), torch.ones(3, 3)
    same_but_for_values(tnp.jit(f)(*args), f(*args))
    assert f(*args)[0].dtype is torch.float32


def test_autocast_of_cuda_runs_eagerly():
    def f(x):
        torch.set_autocast_enabled("cuda", True)
        try:
            return x @ x
        finally:
            torch.set_autocast_enabled("cuda", False)

    with pytest.warns(tnp.EagerFallbackWarning, match="autocast"):
        same_but_for_values(tnp.jit(f)(meta(3, 3)), f(meta(3, 3)))
    jitted, x = tnp.jit(lambda x: x @ x), meta(3, 3)
    jitted(x)
    torch.set_autocast_enabled("cuda", True)
    try:
        with pytest.warns(tnp.EagerFallbackWarning, match="mode of torch's"):
            jitted(x)
    finally:
        torch.set_autocast_enabled("cuda", False)


def test_what_only_the_host_does_is_torchs_own_error():
    for function in (lambda t: t.numpy(), lambda t: np.sin(t), lambda t: t.sum().item()):
        f = tnp.jit(function)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
            with pytest.raises((RuntimeError, TypeError, NotImplementedError)) as mine:
                f(meta(2))
        with pytest.raises(type(mine.value)):
            function(meta(2))


def _trained(module, function, given):
    loss = sum(t.square().mean() for t in tensors_in(function(**given)) if t.requires_grad)
    loss.backward()
    return loss.detach(), [p.grad for p in module.parameters()], list(module.state_dict().values())


@pytest.mark.parametrize("model", [m for m in MODELS if m.name in ("MLP", "GPT")], ids=lambda m: m.name)
def test_models_train_on_a_device(model):
    """On ``meta``, where all but the values is seen; test_gpu.py trains them on CUDA."""
    (eager, given), (mine, _) = model.made(training=True), model.made(training=True)
    given = torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t.to("meta"), given)
    eager, mine = eager.to("meta"), mine.to("meta")
    jitted = tnp.jit(mine, strict=True)
    same_but_for_values(_trained(mine, jitted, given), _trained(eager, eager, given))
    assert tnp.cache_info(jitted).size == 1


F = torch.nn.functional
OPERATORS = {
    "conv2d": lambda x: F.conv2d(x[None], torch.ones(2, 3, 2, 2, device=x.device)),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "cross_entropy": lambda x: F.cross_entropy(x[0], torch.arange(4, device=x.device) % 5, label_smoothing=0.1),
    "one_hot": lambda x: F.one_hot(torch.arange(4, device=x.device), 5) * x[0],
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "embedding": lambda x: F.embedding(torch.arange(3, device=x.device), x[0]),
    "threshold": lambda x: F.threshold(F.hardtanh(x), 0.1, 2.0),
    "indices": lambda x: (x[:, [0, 2]], x[torch.tensor([1, 2])], x.index_select(1, torch.arange(2, device=x.device)), x[x.shape[0] - 1, ..., -1]),
    "scatters": lambda x: x.scatter_add(1, torch.zeros(3, 4, 5, dtype=torch.int64, device=x.device), x) + x.index_fill(0, torch.arange(1, device=x.device), 2),
    "triangles": lambda x: (x.tril(1), x.triu(), torch.eye(3, device=x.device), x.diagonal(0, 1, 2), torch.block_diag(x[0], x[1])),
    "ranges": lambda x: (torch.linspace(0, 1, 5, device=x.device) + x, torch.meshgrid(x[0, 0], x[0, 1], indexing="ij")),
    "statistics": lambda x: (*torch.var_mean(x, -1), x.logsumexp(0), x.norm(), x.argmax(1)),
    "orders": lambda x: (*x.sort(), *x.topk(2), x.cummax(0)),
    "linalg": lambda x: (torch.linalg.inv(x @ x.mT), torch.linalg.matrix_norm(x), torch.kron(x[0], x[1])),
    "fft": lambda x: torch.fft.irfft(torch.fft.rfft(x)),
    "masks": lambda x: torch.where(x > 0, x, 1.5).masked_fill(x < 1, 0).roll(1, 0).flip(2),
    "opaque": lambda x: (torch.special.airy_ai(x), torch.cdist(x, x)),
    "factories": lambda x: (x.new_full((2,), 3), torch.rand_like(x), torch.empty_like(x) * 0, torch.tensor([1.0, 2.0], device=x.device), torch.as_tensor(2, device=x.device)),
}  # fmt: skip
WITH_OPAQUE_CALLS = ("scatters", "orders", "linalg", "fft", "opaque", "factories")


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    """What torch's functions are made of, and their gradients, is on their operands' device."""
    function = OPERATORS[name]
    jitted = tnp.jit(function, executors=["torch_functions[prims]"], strict=name not in WITH_OPAQUE_CALLS)
    x = meta(3, 4, 5)
    same_but_for_values(jitted(x), function(x))
    made = {str(p.device) for b in tnp.last_traces(jitted)[-1].body for p in b.flat_outputs if hasattr(p, "device")}
    assert made <= ({"meta", "cpu"} if name == "indices" else {"meta"})


@pytest.mark.parametrize(
    "name",
    ["conv2d", "layer_norm", "cross_entropy", "attention", "embedding", "scatters", "triangles", "fft", "orders"],
)
def test_gradients(name):
    found = []
    for function in (tnp.jit(OPERATORS[name], executors=["torch_functions[prims]"]), OPERATORS[name]):
        x = meta(3, 4, 5, requires_grad=True)
        sum(t.sum() for t in torch.utils._pytree.tree_leaves(function(x)) if t.requires_grad).backward()
        found.append(x.grad)
    same_but_for_values(*found)


# CUDA, by fake tensors


@pytest.fixture
def cuda(monkeypatch):
    """Makes fake tensors on a CUDA device, which programs take."""
    monkeypatch.setattr(lifting, "TENSORS", (*lifting.TENSORS, FakeTensor))
    mode = FakeTensorMode(allow_non_fake_inputs=True)

    def make(*shape, device="cuda"):
        with mode:
            return torch.empty(shape, device=device)

    return make


def on_cuda(x, w, half):
    y = torch.softmax(x @ w, -1) * half
    return torch.relu(y).sum().cpu(), y.device, y.is_cuda, y.get_device()


def test_programs_of_cuda_tensors_run_in_torch(cuda):
    f = tnp.jit(on_cuda, strict=True)
    total, device, is_cuda, number = f(cuda(4, 5), cuda(5, 3), torch.tensor(0.5))
    assert (total.device.type, device, is_cuda, number) == ("cpu", torch.device("cuda:0"), True, 0)
    printed = str(tnp.last_traces(f)[-1])
    assert '"cuda:0 f32[4, 3]"' in printed
    assert "llvm" not in printed


def test_another_cuda_device_is_another_program_and_two_do_not_mix(cuda):
    f = tnp.jit(lambda x, y: x * y)
    assert f(cuda(3), cuda(3)).device.index == 0
    assert f(cuda(3, device="cuda:1"), cuda(3, device="cuda:1")).device.index == 1
    assert tnp.cache_info(f).size == 2
    with pytest.raises(RuntimeError, match="same device"):
        f(cuda(3), cuda(3, device="cuda:1"))


def test_opaque_calls_on_cuda(cuda):
    f = tnp.jit(lambda x: torch.msort(x))
    assert f(cuda(4, 2)).device == torch.device("cuda:0")


def test_constants_are_made_where_operands_are():
    from tnp.core import clang, dtypes
    from tnp.core.trace import Trace, tracing

    with tracing(Trace()):
        assert str(clang.full((2,), 0, dtype=dtypes.float32).device) == "cpu"
        with device_context(Device("cuda:1")):
            assert str(clang.arange(2, dtype=dtypes.int64).device) == "cuda:1"
            assert str(clang.convert(2, dtypes.float32).device) == "cuda:1"


def test_memory_of_devices_is_told_apart():
    a = np.zeros(10)
    start = a.ctypes.data
    assert not disjoint(a, Extent(start + 72, start + 100))
    assert disjoint(a, Extent(start + 80, start + 100))
    assert disjoint(a, Extent(start, start + 80, space=7))
    assert not disjoint(Extent(0, 8, 7), Extent(4, 12, 7))
    assert disjoint(Extent(0, 8, 7), Extent(8, 12, 7))


def test_overlapping_arguments_on_a_device_are_seen():
    base = meta(10)

    def f(x, y):
        x += y

    jitted = tnp.jit(f)
    jitted(base[:5], base[5:])
    with pytest.warns(tnp.EagerFallbackWarning, match="may overlap"):
        jitted(base[:6], base[4:])
    assert tnp.cache_info(jitted).size == 2
