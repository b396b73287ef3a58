"""The nvfuser executor on a stand-in for nvFuser, which takes the documented calls alone and computes what was defined by torch."""

import importlib.util
import os
import random
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import tnp
import tnp.testing.families
from tests import triton_regions as regions
from tests.fuzzing import first_failure, minimised, random_program
from tnp.core import dtypes, prims
from tnp.core.devices import Device
from tnp.core.proxies import TensorProxy
from tnp.core.trace import Trace, tracing
from tnp.executors import registry
from tnp.executors.shared import device_errors
from tnp.testing import assert_same, check_sample, opinfos
from tnp.testing.opinfo import EXECUTORS

torch = pytest.importorskip("torch", exc_type=ImportError)

if importlib.util.find_spec("nvfuser_direct") is None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "stand_ins"))
    import nvfuser_direct

    sys.path.pop(0)

import nvfuser_direct  # noqa: E402

from tnp.executors.nvfuser import launch, library  # noqa: E402

library.load.cache_clear()  # somebody may have looked for it before it was there

pytestmark = pytest.mark.skipif(
    not hasattr(nvfuser_direct, "DEVICE_TYPES"), reason="nvFuser itself is installed: make test-gpu"
)

#: programs of the random test
EXAMPLES = int(os.environ.get("TNP_FUZZ_EXAMPLES", "12"))
#: samples of each operation and dtype; unless it is set, one of one dtype of every fifth operation
SAMPLES = int(os.environ.get("TNP_NVFUSER_SAMPLES", "0"))


def jit(function, name="nvfuser[everything]"):
    return tnp.jit(function, executors=[name])


def fusions(f):
    return [b for b in tnp.last_traces(f)[-1].body if "nvfuser" in b.sym.name]


def source(f):
    return "\n".join(line for b in fusions(f) for line in b.sym.fn.describe())


#: shifted reads of many kinds are a region of Triton's
PROGRAMS = [(f, arguments) for f, arguments in regions.PROGRAMS if f is not regions.many_stencils]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16], ids=["float32", "float64", "float16"])
@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs(function, arguments, dtype):
    f = jit(function)
    assert_same(f(*arguments(dtype)), function(*arguments(dtype)))
    assert fusions(f), tnp.explain(f)


def test_what_is_written():
    def f(x, y, n):
        return (x * 2 + y) * n

    jitted = jit(f, "nvfuser")
    assert_same(
        jitted(regions.matrix(3, 4), regions.matrix(3, 4).T.copy().T, 0.5),
        f(regions.matrix(3, 4), regions.matrix(3, 4), 0.5),
    )
    assert source(jitted).splitlines() == [
        "def define(fd):",
        "    T0 = fd.define_tensor(shape=[3, 4], contiguity=[True, True], dtype=DataType.Float, stride_order=[1, 0])",
        "    T1 = fd.define_tensor(shape=[3, 4], contiguity=[True, True], dtype=DataType.Float, stride_order=[0, 1])",
        "    S2 = fd.define_scalar(dtype=DataType.Double)",
        "    S3 = fd.define_scalar(2.0, dtype=DataType.Float)",
        "    T4 = fd.ops.mul(T0, S3)",
        "    T5 = fd.ops.add(T4, T1)",
        "    T6 = fd.ops.cast(S2, DataType.Float)",
        "    T7 = fd.ops.mul(T5, T6)",
        "    fd.add_output(T7)",
    ]


def test_half_precision_rounds_each_operation():
    a, b = np.abs(regions.matrix(30, 40, np.float16)), np.abs(regions.matrix(30, 40, np.float16))
    f = jit(regions.chain)
    assert_same(f(a, b), regions.chain(a, b), exact=True)
    assert len(re.findall(r"cast\(T\d+, DataType.Half\)", source(f))) == 7


@pytest.mark.parametrize("dtype", [np.int32, np.int64], ids=str)
def test_integers(dtype):
    limits = np.iinfo(dtype)
    a = np.array([limits.min, limits.min + 1, 0, 1, 2, 7, limits.max - 1, limits.max], dtype)[:, None]
    b = a[::-1].T.copy()
    with np.errstate(all="ignore"):
        expected = regions.integers(*np.broadcast_arrays(a, b))
        assert_same(jit(regions.integers)(*map(np.array, np.broadcast_arrays(a, b))), expected, exact=True)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_special_values_in_reductions(bad):
    x = regions.matrix(6, 9)
    x[2, 3] = x[2, 7] = x[4, 0] = bad
    with np.errstate(all="ignore"):
        assert_same(jit(regions.reductions)(x), regions.reductions(x))


@pytest.mark.parametrize("order", ["F", "stepped", "broadcast"])
def test_layouts(order):
    a = regions.matrix(12, 10)
    a = {"F": np.asfortranarray(a), "stepped": a[::2, ::3], "broadcast": np.broadcast_to(a[0], (12, 10))}[order]
    assert_same(jit(regions.softmax)(a), regions.softmax(a))


def test_layouts_take_turns_and_have_definitions_of_their_own():
    f = jit(regions.chain)
    a = np.abs(regions.matrix(8, 8))
    for x in (a, a.T, a, a[::2].repeat(2, 0)):
        assert_same(f(x, a), regions.chain(x, a))
    assert len({s for b in fusions(f) for s in b.sym.fn.sources.values()}) <= 2


def test_regions_of_one_text_share_a_definition():
    def f(x):
        return np.sqrt(x * x + 1)

    before = len(nvfuser_direct.compiled)
    x = np.full((3, 17), 2.0, np.float32)
    for _ in range(3):
        assert_same(jit(f)(x), f(x))
    assert len(nvfuser_direct.compiled) == before + 1


def test_results_share_no_memory():
    def f(x):
        y = x * 2 + 1
        return y, y.T, y.copy(), x.copy()

    x = regions.matrix(3, 3)
    *_, second, third, fourth = jit(f)(x)
    assert not np.shares_memory(second, third) and not np.shares_memory(fourth, x)


def test_an_integer_that_does_not_fit_raises_as_eager_does():
    def add(x, n):
        return x * x + n

    f = jit(add)
    x = np.ones(3, np.int32)
    assert_same(f(x, 7), add(x, 7))
    with pytest.raises(OverflowError, match="out of bounds"):
        f(x, 2**40)


def test_tensors():
    def f(x, y):
        return torch.softmax(x * 2 + y, -1), torch.nn.functional.gelu(x)

    jitted = jit(f)
    x, y = torch.linspace(-3, 3, 60).reshape(4, 15), torch.ones(15)
    for mine, eagers in zip(jitted(x, y), f(x, y)):
        torch.testing.assert_close(mine, eagers)
    assert fusions(jitted)


def test_gradients():
    def loss(x, w):
        return (torch.softmax(x * w + 1, -1) * torch.arange(5.0)).sum()

    torch.manual_seed(0)
    x, w = torch.randn(3, 5, requires_grad=True), torch.randn(5, requires_grad=True)
    f = jit(loss)
    found = torch.autograd.grad(f(x, w), (x, w))
    for mine, eagers in zip(found, torch.autograd.grad(loss(x, w), (x, w))):
        torch.testing.assert_close(mine, eagers)
    assert any("nvfuser" in b.sym.name for b in tnp.last_backward_traces(f)[-1].body)


# Who takes what


def test_what_it_does_not_take_is_refused_with_a_reason():
    def f(x, y):
        return x[::2] + 1, np.flip(y) * 2 + y, (x.astype(np.int8) + 1) * 2

    jitted = jit(f, "nvfuser")
    x = regions.matrix(4, 4)
    for mine, eagers in zip(jitted(x, x), f(x, x)):
        assert_same(mine, eagers)
    said = tnp.explain(jitted)
    assert re.search(r"nvfuser does not support \S*getitem: nvFuser slices by steps of 1 only at \S+:\d+", said)
    assert re.search(r"nvfuser does not support \S*flip: nvFuser has nothing for flip", said)
    assert "nvFuser does not compute in int8" in said


def recorded(prim, *args, **kwargs):
    """A bound symbol of a prim on proxies."""
    trace = Trace()
    with tracing(trace):
        prim(*args, **kwargs)
    return trace.bound_symbols[-1]


def on(*devices, dtype=dtypes.float32, shape=(3, 4)):
    with tracing(Trace()) as trace:
        return [TensorProxy(trace.make_name("a"), shape=shape, dtype=dtype, device=Device(d)) for d in devices]


def test_devices(monkeypatch):
    """Built for CUDA, it takes CUDA tensors, each region on one device."""
    monkeypatch.delattr(nvfuser_direct, "DEVICE_TYPES")
    library.load.cache_clear()
    try:
        executor = registry.get_executor("nvfuser")
        (first,), (second,), (host,) = on("cuda:0"), on("cuda:1"), on("cpu")
        here, there = recorded(prims.exp, first), recorded(prims.exp, second)
        assert executor.can_fuse(here) and executor.can_fuse(there)
        assert executor.region_key(here) is not executor.region_key(there)
        assert executor.can_fuse(recorded(prims.exp, host)).reason == "it takes tensors on cuda"
        assert executor.unavailable() == device_errors.why_no_device()
    finally:
        monkeypatch.undo()
        library.load.cache_clear()


@pytest.mark.parametrize(
    ("dtype", "shape", "reason"),
    [
        ("int8", (3,), "does not compute in int8"),
        ("uint16", (3,), "does not compute in uint16"),
        ("complex64", (3,), "does not compute in complex64"),
        ("float32", (3, 0), "an array without elements"),
        ("float32", (1,) * 9, "more than 8 dimensions"),
    ],
)
def test_arrays_that_are_refused(dtype, shape, reason):
    (a,) = on("cpu", dtype=getattr(dtypes, dtype), shape=shape)
    found = registry.get_executor("nvfuser").can_fuse(recorded(prims.mul, a, a))
    assert not found and reason in found.reason


@pytest.fixture
def another(monkeypatch):
    """Makes the installed nvFuser another version, without some operations."""

    def make(version, *missing):
        monkeypatch.setattr(nvfuser_direct, "__version__", version)
        for name in missing:
            monkeypatch.delattr(nvfuser_direct.ops, name)
        library.load.cache_clear()

    yield make
    library.load.cache_clear()


@pytest.mark.parametrize("version", ["0.2.34", "0.2.36+git81c4b22fd", "1.0.0"])
def test_versions_that_do(version, another):
    another(version)
    f = jit(regions.chain)
    x = np.abs(regions.matrix(3, 4))
    assert_same(f(x, x), regions.chain(x, x))
    assert fusions(f), tnp.explain(f)
    assert registry.availability()["nvfuser"] == ""


@pytest.mark.parametrize("version", ["0.2.33", "0.2.8", ""])
def test_older_versions_are_left_alone(version, another):
    another(version)
    f = jit(regions.chain)
    x = np.abs(regions.matrix(3, 4))
    assert_same(f(x, x), regions.chain(x, x))
    assert not fusions(f)
    assert "nvfuser_direct 0.2.34 or newer is needed" in registry.availability()["nvfuser"]
    assert "nvfuser_direct 0.2.34 or newer is needed" in tnp.explain(f)


def test_an_operation_that_a_version_lacks_goes_elsewhere(another):
    def f(x):
        return np.cumsum(np.sqrt(x * x + 1), 1) * 2 + 1

    x = regions.matrix(3, 4)
    with_it = jit(f)
    assert_same(with_it(x), f(x))
    assert "fd.ops.cumsum" in source(with_it)
    another("0.2.34", "cumsum")
    without = jit(f)
    assert_same(without(x), f(x))
    assert "cumsum" not in source(without) and len(fusions(without)) == 2
    assert "nvFuser 0.2.34 has no cumsum" in tnp.explain(without)


def test_a_package_that_cannot_be_imported_turns_it_off(monkeypatch):
    def fail(name):
        raise ImportError("libnvfuser.so: undefined symbol")

    library.load.cache_clear()
    monkeypatch.setattr(library.importlib, "import_module", fail)
    try:
        assert registry.get_executor("nvfuser").unavailable() == (
            "nvfuser_direct cannot be imported: libnvfuser.so: undefined symbol"
        )
    finally:
        monkeypatch.undo()
        library.load.cache_clear()


# When it fails


def test_a_definition_that_does_not_compile_is_reported_once_and_does_without():
    def f(x):
        return np.sqrt(x * x + 3)

    jitted = jit(f)
    x = regions.matrix(3, 4)
    nvfuser_direct.failures.append(RuntimeError("no schedule found"))
    with pytest.warns(RuntimeWarning, match=r"its nvFuser kernels \(.*\) failed with RuntimeError") as caught:
        assert_same(jitted(x), f(x))
    path = re.search(r"\((.*nvfuser_\w+\.py)\)", str(caught[0].message))[1]
    written = Path(path).read_text()
    assert written.startswith("from nvfuser_direct import") and "fd.ops.sqrt" in written
    exec(compile(written, path, "exec"), {})
    assert_same(jitted(x), f(x))


def test_out_of_memory_is_torchs_error_and_the_program_is_of_use_afterwards():
    def f(x):
        return np.sqrt(x * x + 4)

    jitted = jit(f)
    x = regions.matrix(3, 4)
    nvfuser_direct.failures.append(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB"))
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate"):
        jitted(x)
    assert_same(jitted(x), f(x))
    assert tnp.cache_info(jitted).misses == 1 and fusions(jitted)


def test_a_lost_device_is_said():
    def f(x):
        return np.sqrt(x * x + 5)

    x = regions.matrix(3, 4)
    jitted = jit(f)
    assert_same(jitted(x), f(x))
    nvfuser_direct.failures.append(RuntimeError("CUDA error: an illegal memory access was encountered"))
    with pytest.raises(tnp.NoDeviceError, match=r"failed or was lost .*only a new process"):
        jitted(x)


# Everything


OPERATIONS = [i for i in opinfos if i.executors is None and i.torch_reference is None]


@pytest.mark.parametrize("info", OPERATIONS if SAMPLES else OPERATIONS[::5], ids=lambda i: i.name)
def test_operations(info, monkeypatch):
    monkeypatch.setitem(EXECUTORS, "nvfuser", ("nvfuser[everything]",))
    monkeypatch.setenv("TNP_CHECK", "0")
    taken = [d for d in (dtypes.float32, dtypes.float16, dtypes.int64, dtypes.bool8) if d in info.dtypes]
    for dtype in taken if SAMPLES else taken[:1]:
        for sample, _ in zip(info.samples(dtype), range(SAMPLES or 1)):
            check_sample(info, sample, "nvfuser", dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_programs(monkeypatch):
    monkeypatch.setenv("TNP_CHECK", "0")
    launch.fusion.cache_clear()
    fused = len(nvfuser_direct.compiled)
    for seed in range(EXAMPLES):
        program = random_program(random.Random(seed))
        failure = first_failure(program, ("nvfuser[everything]",))
        if failure is not None:
            program, failure = minimised(program, failure, ("nvfuser[everything]",))
            pytest.fail(f"{failure}\n\n{program.script(('nvfuser[everything]',))}", pytrace=False)
    assert len(nvfuser_direct.compiled) - fused > EXAMPLES / 2


def test_regions_on_the_memory_of_cupys_arrays(monkeypatch):
    if importlib.util.find_spec("cupy") is None:
        monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "cupy_stand_in"))
    cupy = pytest.importorskip("cupy", exc_type=ImportError)
    if cupy.__version__ != "0":
        pytest.skip("CuPy itself is installed: make test-gpu")
    f = tnp.jit(regions.softmax, executors=["nvfuser[cupy]", "cupy"])
    x = regions.matrix(5, 7)
    assert_same(f(x), regions.softmax(x))
    assert [b.sym.name for b in tnp.last_traces(f)[-1].body] == ["to_device", "nvfuser_cupy_fusion0", "to_host"]
