"""The triton executor under Triton's interpreter: what its kernels compute is what eager computes, on the CPU."""

import importlib
import json
import os
import random
import subprocess
import sys
from collections import defaultdict

import numpy as np
import pytest

pytest.importorskip("triton", reason="the extra 'triton' is not installed", exc_type=ImportError)
torch = pytest.importorskip("torch", exc_type=ImportError)

import triton  # noqa: E402

import tnp  # noqa: E402
import tnp.testing.families  # noqa: E402
from tests import triton_regions as regions  # noqa: E402
from tests.fuzzing import first_failure, minimised, random_program  # noqa: E402
from tnp.core import dtypes  # noqa: E402
from tnp.executors.triton import emit, launch  # noqa: E402
from tnp.testing import assert_same, check_sample, opinfos  # noqa: E402
from tnp.testing.opinfo import EXECUTORS  # noqa: E402

pytestmark = pytest.mark.skipif(not triton.knobs.runtime.interpret, reason="TRITON_INTERPRET is off")

#: programs of the random test
EXAMPLES = int(os.environ.get("TNP_FUZZ_EXAMPLES", "40"))
#: samples of each operation and dtype
SAMPLES = int(os.environ.get("TNP_TRITON_SAMPLES", "3"))


def jit(function):
    return tnp.jit(function, executors=["triton[everything]"])


def fusions(f):
    return [b for b in tnp.last_traces(f)[-1].body if "triton" in b.sym.name]


@pytest.fixture(params=["as chosen", "loops", "small tiles"])
def schedules(request, monkeypatch):
    """Each schedule on arrays so small that only one of them would be chosen."""
    if request.param == "loops":
        monkeypatch.setattr(emit, "PERSISTENT_LIMIT", 0)
        monkeypatch.setattr(emit, "TILE", 64)
    if request.param == "small tiles":
        monkeypatch.setattr(emit, "TILE", 64)
        monkeypatch.setattr(emit, "BLOCK", 16)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(("function", "arguments"), regions.PROGRAMS, ids=[f.__name__ for f, _ in regions.PROGRAMS])
def test_programs(function, arguments, dtype, schedules):
    f = jit(function)
    assert_same(f(*arguments(dtype)), function(*arguments(dtype)))
    assert fusions(f)


def test_a_chain_is_bitwise_that_of_numpy():
    a, b = np.abs(regions.matrix(30, 40)), np.abs(regions.matrix(30, 40))
    assert_same(jit(regions.chain)(a, b), regions.chain(a, b), exact=True)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8], ids=str)
def test_integers(dtype):
    limits = np.iinfo(dtype)
    a = np.array([limits.min, limits.min + 1, 0, 1, 2, 7, limits.max - 1, limits.max], dtype)[:, None]
    b = a[::-1].T.copy()
    with np.errstate(all="ignore"):
        expected = regions.integers(*np.broadcast_arrays(a, b))
        assert_same(jit(regions.integers)(*map(np.array, np.broadcast_arrays(a, b))), expected, exact=True)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64", "int8", "uint8", "bool"])
def test_conversions(dtype):
    a = np.array([0, 1, 2, 100, 0.5, -0.0]).astype(dtype)
    assert_same(jit(regions.conversions)(a), regions.conversions(a), exact=True)


def test_half_precision_rounds_each_operation():
    a, b = np.abs(regions.matrix(30, 40, np.float16)), np.abs(regions.matrix(30, 40, np.float16))
    assert_same(jit(regions.chain)(a, b), regions.chain(a, b), exact=True)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_special_values_in_reductions(bad, schedules):
    x = regions.matrix(6, 9)
    x[2, 3] = x[2, 7] = x[4, 0] = bad
    with np.errstate(all="ignore"):
        assert_same(jit(regions.reductions)(x), regions.reductions(x))


@pytest.mark.parametrize("size", [64, 100, 7 * 13])
def test_reductions_in_parts(size, monkeypatch):
    graph = importlib.import_module("tnp.executors.triton.graph")
    monkeypatch.setattr(graph, "WORTH_PARTS", (32, 16))
    monkeypatch.setattr(graph, "SHORTEST", (4, 5))
    monkeypatch.setattr(graph, "PARTS", 8)

    def f(x, y):
        p = x > 0
        columns = y.reshape(-1, 6)
        apart = columns.sum(0), columns.max(0), columns.var(0), y.transpose(2, 1, 0).min((0, 1)), (columns > 2).any(0)
        rows = x.sum(), y.sum((0, 2)), x.max(), x.min(), x.prod(), p.any(), p.all(), y.var(), x.astype(np.float16).sum()
        return (*rows, *apart)

    x = np.sin(np.arange(size, dtype=np.float32)) + 2
    y = np.sin(np.arange(2 * size * 3.0)).reshape(2, 3, size)
    jitted = jit(f)
    assert_same(jitted(x, y), f(x, y))
    assert len(fusions(jitted)[0].sym.fn.kernels) > 4


@pytest.mark.parametrize("order", ["F", "reversed", "stepped", "broadcast"])
def test_strides(order):
    a = regions.matrix(12, 10)
    a = {"F": np.asfortranarray(a), "reversed": a[::-1], "stepped": a[::2, ::3], "broadcast": np.broadcast_to(a[0], (12, 10))}[order]  # fmt: skip
    assert_same(jit(regions.softmax)(a), regions.softmax(a))


def test_layouts_take_turns():
    f = jit(regions.chain)
    a = np.abs(regions.matrix(8, 8))
    for x in (a, a.T, a):
        assert_same(f(x, a), regions.chain(x, a))


def padded(x, t):
    a = np.pad(x * 2, ((1, 2), (0, 3)), constant_values=7) + 1
    return a, torch.nn.functional.pad(t * 2, (1, -1, 2, 0), value=1.5) + 1


def test_padding_and_cutting():
    x, t = regions.matrix(3, 4), torch.ones(3, 4)
    f = jit(padded)
    for mine, eagers in zip(f(x, t), padded(x, t)):
        assert_same(mine, eagers, exact=True)
    assert fusions(f)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8], ids=str)
def test_integer_powers_and_shifts_by_numbers(dtype):
    def f(a):
        return (a + 1) ** 5, a**0 + a, (a << 3) + (a >> 1), a**2 + a**3

    a = np.array([-3, -1, 0, 1, 2, 5, 100]).astype(dtype)
    jitted = jit(f)
    assert_same(jitted(a), f(a), exact=True)
    assert fusions(jitted)


def scans(x):
    y = np.cumsum(x * 2, 1)
    return y + 1, np.cumsum(y, 0), np.cumprod(1 + x / 9, 1)[:, ::-1], np.cumsum(x[::-1].T) / 2, y.sum(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8], ids=str)
def test_scans(dtype):
    x = (abs(regions.matrix(6, 11)) % 3).astype(dtype)
    f = jit(scans)
    for mine, expected in zip(f(x), scans(x)):
        assert mine.dtype == expected.dtype
        np.testing.assert_allclose(mine, expected, rtol=2e-2 if dtype is np.float16 else 1e-5)
    assert len(fusions(f)) == 1


def test_numbers_are_not_rounded_to_float32():
    x = np.ones((2, 2))
    for number in (0.1, 1e300, -0.0, float("inf")):
        assert_same(jit(regions.with_numbers)(x, number, 2**40), regions.with_numbers(x, number, 2**40), exact=True)


def test_an_integer_that_does_not_fit_raises_as_eager_does():
    def add(x, n):
        return x * x + n

    f = jit(add)
    x = np.ones(3, np.uint8)
    assert_same(f(x, 7), add(x, 7))
    with pytest.raises(OverflowError, match="out of bounds"):
        f(x, 300)


def test_an_index_out_of_bounds_raises_as_eager_does():
    def look(x, i):
        return x[i] * 2 + 1

    f = jit(look)
    x = regions.matrix(5, 2)
    assert_same(f(x, np.array([4, -5])), look(x, np.array([4, -5])))
    for bad in (5, -6):
        with pytest.raises(IndexError, match="out of bounds"):
            f(x, np.array([0, bad]))
    assert_same(f(x, np.array([4, -5])), look(x, np.array([4, -5])))


def test_tensors():
    def f(x, y):
        return torch.softmax(x * 2 + y, -1), torch.nn.functional.gelu(x)

    jitted = jit(f)
    x, y = torch.linspace(-3, 3, 60).reshape(4, 15), torch.ones(15)
    for mine, eagers in zip(jitted(x, y), f(x, y)):
        torch.testing.assert_close(mine, eagers)
    assert fusions(jitted)


def test_a_kernel_that_does_not_compile_is_reported_once_and_does_without(monkeypatch):
    monkeypatch.setattr(launch, "load_source", lambda source: defaultdict(lambda: None))
    f = jit(regions.chain)
    a = np.abs(regions.matrix(3, 4))
    with pytest.warns(RuntimeWarning, match=r"its Triton kernels \(.*triton_\w+\.py\) failed"):
        assert_same(f(a, a), regions.chain(a, a))
    assert_same(f(a, a), regions.chain(a, a))


TAKEN = ("float32", "float16", "int32", "bool8")


def _operations():
    return [i for i in opinfos if i.executors is None and i.torch_reference is None]


@pytest.mark.parametrize("info", _operations(), ids=lambda i: i.name)
def test_operations(info, monkeypatch):
    monkeypatch.setitem(EXECUTORS, "triton", ("triton[everything]",))
    monkeypatch.setenv("TNP_CHECK", "0")
    for dtype in (d for d in info.dtypes if d in [getattr(dtypes, name) for name in TAKEN]):
        for sample, _ in zip(info.samples(dtype), range(SAMPLES)):
            check_sample(info, sample, "triton", dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_random_programs(seed, monkeypatch):
    monkeypatch.setenv("TNP_CHECK", "0")
    program = random_program(random.Random(seed))
    failure = first_failure(program, ("triton[everything]",))
    if failure is not None:
        program, failure = minimised(program, failure, ("triton[everything]",))
        pytest.fail(f"{failure}\n\n{program.script(('triton[everything]',))}", pytrace=False)


# Ahead of time, for GPUs that are not there

COMPILE = """
import json, sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from tnp.executors.triton.launch import load_source
kernels = json.load(sys.stdin)
for source, name, signature, constants, warps in kernels:
    function = load_source(source)[name]
    for capability in (80, 90):
        made = ASTSource(function, signature=signature, constexprs=constants)
        options = {"num_warps": warps, "enable_fp_fusion": False}
        ptx = triton.compile(made, target=GPUTarget("cuda", capability, 32), options=options).asm["ptx"]
        assert f".target sm_{capability}" in ptx
        print(name, capability, len(ptx))
"""
_POINTERS = {"b8": "i1", "f16": "fp16", "f32": "fp32", "f64": "fp64"}


def signature_of(launched):
    """The types of a kernel's parameters, as Triton names them."""
    types = ["*" + _POINTERS.get(n.dtype.shortname, n.dtype.shortname) for n in launched.loads]
    types += ["i64"] * len(launched.numbers)
    types += ["*" + _POINTERS.get(n.dtype.shortname, n.dtype.shortname) for n in launched.stores]
    types += ["*i32"] if launched.has_flag else []
    return dict(zip(launched.parameters, types)) | dict.fromkeys(launched.constants, "constexpr")


AHEAD = [
    (regions.chain, (np.ones((30, 40), np.float32), np.ones((30, 40), np.float32))),
    (regions.softmax, (np.ones((3, 20_000), np.float16),)),
    (regions.reductions, (np.ones((7, 13), np.float32),)),
    (regions.lookups, (np.ones((6, 5), np.float32), np.arange(6))),
    (regions.joined, (np.ones((4, 5)), np.ones((4, 6)))),
    (regions.integers, (np.ones((4, 5), np.int32), np.ones((4, 5), np.int32))),
    (regions.booleans, (np.ones((4, 5), np.float32), np.ones((4, 5), np.float32))),
    (regions.with_numbers, (np.ones((4, 5)), 0.5, 3)),
    (lambda x: np.cumsum(x * 2, 1) + 1, (np.ones((40, 50), np.float32),)),
]


def check_compiles(kernels, tmp_path):
    """Each kernel becomes PTX for both targets, in a process of its own, where nothing is interpreted."""
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE], input=json.dumps(kernels), capture_output=True, text=True, env=environment, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(done.stdout.splitlines()) == 2 * len(kernels)


def test_kernels_compile_to_ptx(tmp_path):
    kernels = []
    for function, args in AHEAD:
        for source, launches in regions.generated(function, *args):
            kernels += [(source, k.name, signature_of(k), dict(k.constants), k.num_warps) for k in launches]
    check_compiles(kernels, tmp_path)


def test_every_spelling_compiles_to_ptx(tmp_path):
    """All elementwise prims of the table, on float32, in a kernel for each ten."""
    scalars = importlib.import_module("tnp.executors.triton.scalars")
    kernels = []
    for dtype in (dtypes.float32, dtypes.float64, dtypes.int64, dtypes.uint8, dtypes.bool8):
        lines = []
        for name in scalars.SPELLINGS:
            if scalars.supports(name, dtype) and name not in ("left_shift", "right_shift"):
                made = dtypes.bool8 if name in ("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "signbit") or "logical" in name else dtype  # fmt: skip
                text = scalars.convert(f"({scalars.spell(name, dtype, made, ['a', 'b'])})", made, dtype)
                lines.append(f"    total = total {'|' if dtype.kind == 'b' else '+'} {text}\n")
        body = "".join(lines)
        own = scalars.triton_dtype(dtype)
        source = (
            emit.header([body], interpreted=False)
            + f"\n\n@triton.jit\ndef k(in0, in1, out0, XBLOCK: tl.constexpr):\n    x = tl.arange(0, XBLOCK)\n"
            f"    a = tl.load(in0 + x)\n    b = tl.load(in1 + x)\n    total = tl.full([1], 0, {own})\n{body}    tl.store(out0 + x, total)\n"
        )
        pointer = "*" + _POINTERS.get(dtype.shortname, dtype.shortname)
        signature = {"in0": pointer, "in1": pointer, "out0": pointer, "XBLOCK": "constexpr"}
        kernels.append((source, "k", signature, {"XBLOCK": 128}, 4))
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE], input=json.dumps(kernels), capture_output=True, text=True, env=environment, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
