"""Random numbers in Triton's kernels, which launches are best, and arrays beyond 31 bits: in the interpreter, on sources, and as PTX."""

import json

import numpy as np
import pytest

pytest.importorskip("triton", reason="the extra 'triton' is not installed", exc_type=ImportError)
torch = pytest.importorskip("torch", exc_type=ImportError)

import triton  # noqa: E402

import tnp  # noqa: E402
from tests import triton_regions as regions  # noqa: E402
from tests.executors.triton.test_triton import check_compiles, signature_of  # noqa: E402
from tnp.core import dtypes  # noqa: E402
from tnp.core.devices import Device  # noqa: E402
from tnp.core.languages import language_context  # noqa: E402
from tnp.core.proxies import TensorProxy  # noqa: E402
from tnp.executors.triton import emit, tuning  # noqa: E402
from tnp.executors.triton.graph import lower  # noqa: E402
from tnp.executors.triton.index import row_major  # noqa: E402
from tnp.runtime import disk_cache  # noqa: E402

interpreted = pytest.mark.skipif(not triton.knobs.runtime.interpret, reason="TRITON_INTERPRET is off")


def jit(function):
    return tnp.jit(function, executors=["triton[random]"])


def fusions(f):
    return [b for b in tnp.last_traces(f)[-1].body if "triton" in b.sym.name]


def philox(seed, places):
    """Philox 4x32-10, as its paper has it: the four words for each counter."""
    mask = 0xFFFFFFFF
    found = []
    for place in places:
        key = [seed & mask, (seed >> 32) & mask]
        c = [place & mask, place >> 32, 0, 0]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(b >> 32) ^ c[1] ^ key[0], b & mask, (a >> 32) ^ c[3] ^ key[1], a & mask]
            key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
        found.append(c)
    return np.array(found, np.uint64).T


def seeds(count):
    """The seeds that the next call draws."""
    return [int(s) for s in torch.randint(-(2**63), 2**63 - 1, (count,))]


@interpreted
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_the_stream_is_as_documented(dtype):
    def f(x):
        return torch.rand(3, 5, dtype=dtype) * 2 + x, torch.randn(3, 5, dtype=dtype) + x

    jitted, x = jit(f), torch.zeros(3, 5, dtype=dtype)
    jitted(x)
    torch.manual_seed(3)
    uniform, normal = jitted(x)
    torch.manual_seed(3)
    first, second = (philox(s % 2**64, range(15)) for s in seeds(2))
    assert len(fusions(jitted)) == 1

    def unit(a, b):
        return (a >> 8) * 2.0**-24 if dtype == torch.float32 else ((a << 32 | b) >> 11) * 2.0**-53

    np.testing.assert_allclose(uniform.flatten(), 2 * unit(first[0], first[1]), rtol=1e-6)
    radius, angle = unit(second[0], second[1]), unit(second[2], second[3])
    expected = np.sqrt(-2 * np.log(1 - radius)) * np.cos(2 * np.pi * angle)
    np.testing.assert_allclose(normal.flatten(), expected, rtol=2e-4, atol=2e-5)


@interpreted
@pytest.mark.parametrize("block", [16, 64, 1024])
def test_the_stream_is_the_same_for_any_grid(block, monkeypatch):
    monkeypatch.setattr(emit, "BLOCK", block)

    def f(x):
        r = torch.rand(10, 20)
        return r + x, (r + x).sum(0), r.t() * 2

    torch.manual_seed(0)
    a, total, turned = jit(f)(torch.zeros(10, 20))
    torch.manual_seed(0)
    expected = (philox(seeds(1)[0] % 2**64, range(200))[0] >> 8) * 2.0**-24
    np.testing.assert_array_equal(a.flatten(), expected.astype(np.float32))
    torch.testing.assert_close(total, a.sum(0))
    torch.testing.assert_close(turned, a.t() * 2, rtol=0, atol=0)


@interpreted
def test_calls_draw_anew_and_moments_are_right():
    def f(x):
        return torch.randn_like(x) * 2 + 1, torch.rand_like(x) - x

    jitted, x = jit(f), torch.zeros(100, 100)
    (a, b), (c, d) = jitted(x), jitted(x)
    assert not torch.equal(a, c)
    assert not torch.equal(b, d)
    assert abs(a.mean() - 1) < 0.1
    assert abs(a.std() - 2) < 0.1
    assert abs(b.mean() - 0.5) < 0.02
    assert b.min() >= 0
    assert b.max() < 1


@interpreted
def test_dropout_and_its_gradient_keep_the_same_elements():
    f = jit(lambda x: torch.nn.functional.dropout(x * 2, 0.25) + 0.0)
    x = torch.ones(50, 50, requires_grad=True)
    y = f(x)
    y.sum().backward()
    kept = (y != 0).float().mean()
    assert abs(kept - 0.75) < 0.05
    torch.testing.assert_close(x.grad, y.detach())


def test_torchs_stream_is_left_alone_unless_asked_for():
    f = tnp.jit(lambda x: torch.rand(3) + x, executors=["triton[everything]"])
    torch.manual_seed(0)
    mine = f(torch.zeros(3))
    torch.manual_seed(0)
    assert torch.equal(mine, torch.rand(3))


# Tuning


def launches_of(function, *args):
    trace = tnp.trace()(function, *args)
    graph = lower(trace.bound_symbols[1:-1], trace.args, [trace.output])
    strides = [tuple(s // a.itemsize for s in a.strides) for a in args]
    return regions.kernels_of(graph, strides)


def total(x):
    return (x * x).sum(1)


def doubled(x):
    return x * 2 + x


@pytest.fixture
def device(monkeypatch, tmp_path):
    """A device that takes the time that the test says, and an empty cache."""
    monkeypatch.setenv("TNP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tuning, "_device_name", lambda device: "a device of the test")
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    return torch.device("cuda")


def test_the_fastest_launch_is_taken_and_kept_on_the_disk(device, monkeypatch):
    _, (found,) = launches_of(doubled, np.ones((1024, 1024), np.float32))
    timed, started = [], []

    def seconds(start, variant, device):
        start(variant)
        timed.append(variant)
        return abs(variant.constants["XBLOCK"] - 512) + variant.num_warps

    monkeypatch.setattr(tuning, "seconds", seconds)
    best = tuning.best(found, started.append, device)
    assert best.constants == {"XBLOCK": 512}
    assert best.grid == (2048,)
    assert timed == started == tuning.variants(found)
    assert timed[0] is found
    assert tuning.best(found, started.append, device) == best
    assert len(timed) == len(started), "the second time the disk knows"
    (kept,) = [p for p in disk_cache.folder().iterdir() if p.name.startswith("tuned_")]
    kept.write_bytes(kept.read_bytes()[:-3] + b"999")
    assert tuning.best(found, started.append, device) == best
    assert len(timed) == 2 * len(tuning.variants(found)), "what was damaged is measured again"
    for wrong in (b"{}", b"[1]", json.dumps({"best": 77}).encode(), json.dumps({"best": True}).encode()):
        disk_cache.store(tuning._key(found, device), wrong)
        assert tuning._loaded(tuning._key(found, device), 6) is None
    disk_cache.folder().chmod(0o777)
    assert tuning._loaded(tuning._key(found, device), 6) is None, "anybody may have written it"


def test_small_kernels_the_cpu_and_graphs_are_not_tuned(device, monkeypatch):
    monkeypatch.setattr(tuning, "seconds", None)
    _, (small,) = launches_of(doubled, np.ones(10, np.float32))
    _, (large,) = launches_of(doubled, np.ones((1024, 1024), np.float32))
    assert tuning.best(small, None, device) is small
    assert tuning.best(large, None, torch.device("cpu")) is large
    monkeypatch.setenv("TNP_TRITON_TUNE", "0")
    assert tuning.best(large, None, device) is large
    monkeypatch.delenv("TNP_TRITON_TUNE")
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert tuning.best(large, None, device) is large


@interpreted
@pytest.mark.parametrize("function", [doubled, total], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(100, 60), (3, 9000)], ids=str)
def test_every_variant_computes_the_same(function, shape, monkeypatch):
    x = np.sin(np.arange(shape[0] * shape[1], dtype=np.float32)).reshape(shape)
    _, (found,) = launches_of(function, x)
    for i in range(len(tuning.variants(found))):
        monkeypatch.setattr(tuning, "best", lambda launch, start, device, i=i: tuning.variants(launch)[i])
        result = tnp.jit(function, executors=["triton[everything]"])(x)
        np.testing.assert_allclose(result, function(x), rtol=1e-5, atol=1e-5)


# Beyond 31 bits


def wide(function, *shapes):
    """The kernels of a function of arrays too large to be made."""
    with language_context(tnp.lang.numpy.language):
        arrays = [np.broadcast_to(np.float32(1), s) for s in shapes]
    trace = tnp.trace()(function, *arrays)
    graph = lower(trace.bound_symbols[len(shapes) : -1], trace.args, [trace.output])
    return regions.kernels_of(graph, [row_major(s) for s in shapes])


WIDE = {
    "elementwise": (doubled, (70_000, 70_000)),
    "rows": (total, (3_000_000, 1000)),
    "columns": (lambda x: (x * x).sum(0), (100_000, 50_000)),
    "more rows than programs": (total, (2**31 + 5, 3)),
    "one long row": (lambda x: x.max(), (2**31 + 2**20,)),
    "turned": (lambda x: x.T * 2 + x.T, (50_000, 60_000)),
}


@pytest.mark.parametrize("name", WIDE)
def test_large_arrays_are_indexed_by_64_bits(name):
    function, shape = WIDE[name]
    _, launches = wide(function, shape)
    text = launches[0].source
    assert "x = tl.program_id(0).to(tl.int64) * XBLOCK" in text
    for line in text.splitlines():
        if line.strip().startswith("r = "):
            assert line.endswith(".to(tl.int64)")
    assert all(v.grid[0] < 2**31 for k in launches for v in tuning.variants(k))


def test_large_arrays_compile_to_ptx_that_computes_addresses_in_64_bits(tmp_path):
    kernels = []
    for function, shape in WIDE.values():
        source, launches = wide(function, shape)
        kernels += [(source, k.name, signature_of(k), dict(k.constants), k.num_warps) for k in launches[:1]]
    language = tnp.lang.numpy.language
    x = TensorProxy("x", shape=(300,), dtype=dtypes.float32, device=Device("cuda"), lang=language)
    kernels += [_random_kernel(x)]
    check_compiles(kernels, tmp_path)


def _random_kernel(x):
    """A kernel that draws, and what compiles it."""
    from tnp.core import prims
    from tnp.core.trace import Trace, tracing

    trace = Trace()
    trace.args = [x]
    with tracing(trace), language_context(x.lang):
        a = prims.uniform((300,), 0.0, 1.0, device=x.device, dtype=dtypes.float32)
        b = prims.normal((300,), 0.0, 1.0, device=x.device, dtype=dtypes.float32)
        y = prims.add(prims.add(x, a), b)
    graph = lower(trace.bound_symbols, [x], [y])
    source, (made,) = regions.kernels_of(graph, [(1,)])
    assert made.has_seeds
    assert source.count("tl.philox(") == 1
    return source, made.name, {**signature_of(made), "seeds": "*i64"}, dict(made.constants), made.num_warps


def test_a_source_that_draws_is_readable():
    language = tnp.lang.numpy.language
    source, *_ = _random_kernel(
        TensorProxy("x", shape=(300,), dtype=dtypes.float32, device=Device("cuda"), lang=language)
    )
    assert "uniform_32(seeds + 0, x," in source
    assert "normal_32(seeds + 1, x," in source
