"""What needs a CUDA device, of torch's tensors and CuPy's arrays: ``make test-gpu``. Everywhere else these tests are skipped.

``test_devices.py``, ``test_cudagraphs.py``, ``test_cupy_arrays.py`` and ``test_triton_random.py`` have what can be seen without one.
"""

import numpy as np
import pytest

import tnp

torch = pytest.importorskip("torch")

from torch.utils._pytree import tree_map_only  # noqa: E402

from tests.executors.cupy.test_gpu import WHY_NOT  # noqa: E402
from tests.models import MODELS, compared, tensors_in  # noqa: E402

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")]

F = torch.nn.functional


def on_cuda(*shape, **options):
    generator = torch.Generator("cuda").manual_seed(0)
    return torch.randn(shape, device="cuda", generator=generator, **options)


def layer(x, w, b):
    return F.layer_norm(torch.relu(x @ w + b), (w.shape[1],)), (x * 2).sum(0)


@pytest.mark.parametrize("cudagraphs", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_function_of_tensors(dtype, cudagraphs):
    f = tnp.jit(layer, cudagraphs=cudagraphs, strict=True)
    w, b = on_cuda(30, 40, dtype=dtype), on_cuda(40, dtype=dtype)
    kept = []
    for i in range(5):
        x = on_cuda(20, 30, dtype=dtype) * (i + 1)
        kept.append((f(x, w, b), layer(x, w, b)))
    for mine, eager in kept:
        torch.testing.assert_close(mine, eager, rtol=2e-2 if dtype is torch.bfloat16 else 1e-4, atol=1e-3)
    assert tnp.cache_info(f) == (4, 1, 1)
    assert ("replayed" in str(tnp.explain(f))) == cudagraphs


def _trained(module, function, given, steps):
    # AdamW divides each gradient by its size, so that one that is nothing but roundings moves a parameter as far as others.
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-2, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = sum(t.float().square().mean() for t in tensors_in(function(**given)) if t.requires_grad)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": losses, "state": list(module.state_dict().values())}


@pytest.mark.parametrize("cudagraphs", [False, True])
@pytest.mark.parametrize("model", [m for m in MODELS if m.name in ("GPT", "U-Net")], ids=lambda m: m.name)
def test_models_train(model, cudagraphs):
    (eager, given), (mine, _) = model.made(training=True), model.made(training=True)
    given = tree_map_only(torch.Tensor, lambda t: t.cuda(), given)
    eager, mine = eager.cuda(), mine.cuda()
    jitted = tnp.jit(mine, strict=True, cudagraphs=cudagraphs)
    compared(_trained(mine, jitted, given, 4), _trained(eager, eager, given, 4), rtol=1e-3, atol=1e-3)
    assert any("triton" in b.sym.name for b in tnp.last_traces(jitted)[-1].body)


def test_random_numbers_in_a_graph_are_those_of_eager():
    def f(x):
        return F.dropout(x, 0.5), torch.rand(3, device="cuda")

    jitted, x = tnp.jit(f, cudagraphs=True), torch.ones(1000, device="cuda")
    torch.cuda.manual_seed(7)
    mine = [jitted(x) for _ in range(4)]
    torch.cuda.manual_seed(7)
    for a in mine:
        torch.testing.assert_close(a, f(x), rtol=0, atol=0)


def test_random_numbers_of_kernels():
    f = tnp.jit(lambda x: (torch.rand_like(x) + x, torch.randn_like(x) + x), executors=["triton[random]"])
    x = torch.zeros(1000, 1000, device="cuda")
    (u, n), (v, _) = f(x), f(x)
    assert not torch.equal(u, v)
    assert abs(u.mean().item() - 0.5) < 2e-3
    assert abs(n.std().item() - 1) < 5e-3
    assert 0 <= u.min().item() <= u.max().item() < 1


def test_arguments_are_written_and_graphs_see_it():
    def step(x, total):
        total += x
        x.mul_(2)
        return total.sum()

    jitted = tnp.jit(step, cudagraphs=True)
    mine, eager = (torch.ones(50, device="cuda"), torch.zeros(50, device="cuda")), (torch.ones(50), torch.zeros(50))
    for _ in range(4):
        torch.testing.assert_close(jitted(*mine).cpu(), step(*eager))
    for a, b in zip(mine, eager):
        torch.testing.assert_close(a.cpu(), b)


def test_on_a_stream_of_the_users():
    f = tnp.jit(layer)
    w, b, x = on_cuda(300, 400), on_cuda(400), on_cuda(200, 300)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        mine = [f(x, w, b) for _ in range(3)]
    stream.synchronize()
    for m in mine:
        torch.testing.assert_close(m, layer(x, w, b), rtol=1e-4, atol=1e-4)


def test_devices_do_not_mix():
    with pytest.raises(RuntimeError, match="same device"):
        tnp.jit(lambda x, y: x + y)(on_cuda(3), torch.ones(3))


def test_arrays_of_cupys():
    import cupy

    def chain(a, b):
        return np.sqrt(a * a + b) / (a + 2) - a * b

    f = tnp.jit(chain)
    a, b = cupy.linspace(0.1, 1, 1000, dtype=np.float32), cupy.linspace(1, 2, 1000, dtype=np.float32)
    for x, y in ((a, b), (a[::-1], b), (a, b[::-1])):
        made = f(x, y)
        assert type(made) is cupy.ndarray
        np.testing.assert_allclose(made.get(), chain(x.get(), y.get()), rtol=1e-6)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        made = f(a, b)
    stream.synchronize()
    np.testing.assert_allclose(made.get(), chain(a.get(), b.get()), rtol=1e-6)


def test_cupys_kernels():
    import cupy

    def f(x, y):
        z = x * y + 1
        return z.sum(1), z.max(0), np.exp(z), (x > 0) & (y > 0)

    x, y = (np.sin(np.arange(6000.0)).reshape(60, 100) + k for k in (0, 1))
    jitted = tnp.jit(f, executors=["cupy"])
    for mine, expected in zip(jitted(x, y), f(x, y)):
        np.testing.assert_allclose(mine, expected, rtol=1e-6)
    assert any("cupy_kernels" in b.sym.name for b in tnp.last_traces(jitted)[-1].body)
    assert cupy.__version__ != "0"


def test_no_memory_is_torchs_error_and_the_program_works_again():
    f = tnp.jit(lambda x, n: (x[:, None] * x[None] * n).sum())
    x = torch.ones(10, device="cuda")
    f(x, 2.0)
    g = tnp.jit(lambda x: (x[:, None, None] * x[None, :, None]).expand(-1, -1, 1_000_000).clone())
    with pytest.raises(torch.cuda.OutOfMemoryError):
        g(torch.ones(1000, device="cuda"))
    assert f(x, 2.0).item() == 200
