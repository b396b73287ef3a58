"""Elementary functions of the llvm executor's own: their errors, special values, and that no bit depends on where an element stands.

Each is compared, with and without fused products, with the function of a wider type. The samples are the same each time.
"""

import ctypes
import dataclasses
import itertools
import math

import numpy as np
import pytest

import tnp
from tnp.core import dtypes
from tnp.runtime import engine

try:
    engine.target()
except engine.Unavailable as unavailable:
    pytest.skip(str(unavailable), allow_module_level=True)

from tests.executors.llvm.test_llvm_scalars import METADATA, NUMPY, loop
from tnp.executors.llvm import scalars, vectormath
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.scalars import elementary
from tnp.executors.llvm.scalars.registers import Register

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

DTYPES = [dtypes.float32, dtypes.float64]
#: where results are neither 0, infinite nor constant, by name and width
RANGES = {
    "cosh": {32: (-90, 90), 64: (-711, 711)},
    "erf": {32: (-4.5, 4.5), 64: (-6.5, 6.5)},
    "exp": {32: (-105, 90), 64: (-747, 711)},
    "exp2": {32: (-151, 129), 64: (-1077, 1025)},
    "expm1": {32: (-20, 90), 64: (-45, 711)},
    "sinh": {32: (-90, 90), 64: (-711, 711)},
    "tanh": {32: (-11, 11), 64: (-22, 22)},
}


@pytest.fixture(autouse=True)
def compile_anew(monkeypatch):
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")


@pytest.fixture(params=[True, False], ids=["fused", "unfused"])
def fused(request, monkeypatch):
    if request.param and not vectormath.has_fma():
        pytest.skip("this processor has no fused products")  # its tests without them run
    monkeypatch.setattr(vectormath, "has_fma", lambda: request.param)
    return request.param


def build(name, d):
    return lambda code, values: [elementary.inlined(name, *(Register(code, v, d) for v in values)).text]


def compiled(name, d):
    """The function of arrays that a loop over the elementary function is."""
    nargs = vectormath.FUNCTIONS[name]
    code = Code()
    text = loop(code, "k", build(name, d), [d] * nargs, [d])
    machine_code = engine.compile_ir(f"{code.module_text()}\n{text}{METADATA}", "test")
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(machine_code.address("k"))

    def call(*arrays):
        arrays = [np.ascontiguousarray(a) for a in arrays]
        made = np.zeros_like(arrays[0])
        slots = [a.ctypes.data for a in (*arrays, made)] + [len(made)]
        function((ctypes.c_void_p * len(slots))(*slots))
        return made

    call.machine_code = machine_code  # lives as long as the function
    return call


def wider(d):
    if d is dtypes.float32:
        return np.float64
    if np.finfo(np.longdouble).nmant < 63:
        # Windows, ARM: nothing to compare float64 with; float32 is compared with it
        pytest.skip("long double has no more bits than double here")
    return np.longdouble


def erf(x):
    """By the series of positive terms (Abramowitz & Stegun 7.1.6)."""
    y = np.clip(x, -7, 7)
    term = y.copy()
    total = term.copy()
    for n in range(1, 250):
        term = term * (2 * y * y / (2 * n + 1))
        total = total + term
    return 2 / np.sqrt(x.dtype.type(np.pi) + x.dtype.type(1.2246467991473532e-16)) * np.exp(-y * y) * total


def exactly(name, args, d):
    wide = [a.astype(wider(d)) for a in args]
    function = {"erf": erf, "pow": np.power}.get(name) or getattr(np, name)
    return function(*wide)


def edges(d):
    f = np.finfo(NUMPY[d])
    least = float(f.smallest_subnormal)
    numbers = [0, least, 3 * least, float(f.tiny), float(f.tiny) * (1 - float(f.eps)), 1e-9, 0.55, 1, 1 + float(f.eps), 2,
               math.log(2) / 2, math.pi / 4, math.pi / 2, 6, 10, float(f.max), math.inf, math.nan]  # fmt: skip
    return np.array([*numbers, *(-x for x in numbers)]).astype(NUMPY[d])


def sample(name, d, count=20_000):
    rng = np.random.default_rng(7)
    kind = NUMPY[d]
    bits = np.dtype(f"int{d.bits}")
    limits = np.iinfo(bits)
    every = rng.integers(limits.min, limits.max, count, dtype=bits, endpoint=True).view(kind)
    one = (1 + rng.uniform(-0.5, 1, count) * np.exp2(rng.uniform(-30, 0, count))).astype(kind)
    low, high = RANGES.get(name, {}).get(d.bits, (-20, 20))
    dense = rng.uniform(low, high, count).astype(kind)
    middle = rng.uniform(-2, 2, count).astype(kind)
    return np.concatenate([edges(d), every, one, dense, middle])


def assert_exact_within(got, expected, ulps, args):
    """Equal where either is NaN, infinite or 0 (zeros in sign, too, and one step away from infinity and 0), near elsewhere."""
    rounded = expected.astype(got.dtype)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(rounded))
    infinite = np.isinf(rounded) | np.isinf(got)
    largest = np.finfo(got.dtype).max
    np.testing.assert_array_equal(
        np.clip(got[infinite], -largest, largest), np.clip(rounded[infinite], -largest, largest)
    )
    zero = (rounded == 0) & (got == 0)
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(rounded[zero]))
    finite = np.isfinite(got) & np.isfinite(rounded)
    error = np.abs(got[finite].astype(expected.dtype) - expected[finite]) / np.spacing(np.abs(rounded[finite]))
    worst = int(np.argmax(error))
    assert error[worst] <= ulps, (
        f"{[a[finite][worst] for a in args]}: {got[finite][worst]!r} is {error[worst]} ulp off {expected[finite][worst]!r}"
    )


#: functions of one argument, with fused products and, where they do not need them, without
CASES = [
    (n, f)
    for n, own in elementary.OWN.items()
    for f in (True, False)
    if vectormath.FUNCTIONS[n] == 1 and (f or not own.needs_fma)
]


@pytest.mark.parametrize("d", DTYPES, ids=str)
@pytest.mark.parametrize(("name", "fused"), CASES, indirect=["fused"])
def test_errors_are_as_stated(name, d, fused):
    own = elementary.OWN[name]
    x = sample(name, d)
    assert_exact_within(compiled(name, d)(x), exactly(name, [x], d), own.ulps[d.bits], [x])


def powers(d, count=20_000):
    rng = np.random.default_rng(8)
    kind, top = NUMPY[d], {32: 150, 64: 1080}[d.bits]
    special = np.concatenate(
        [edges(d), np.array([3, -3, -2, 0.5, -0.5, 1.5, 2**23 - 1, 2**24 + 2, -1e15, 1 / 3], kind)]
    )
    bases = np.concatenate([np.exp2(rng.uniform(-120, 120, count)), 1 + rng.uniform(-0.4, 0.6, count) ** 5]).astype(
        kind
    )
    exponents = (rng.uniform(-top, top, 2 * count) / np.log2(bases.astype(np.longdouble))).astype(kind)
    negative = -rng.uniform(0.1, 40, count).astype(kind)
    whole = rng.integers(-60, 60, count).astype(kind)
    tiny = (np.finfo(kind).tiny * rng.uniform(0, 1, count)).astype(kind)
    fractions = rng.choice([0.5, 2, 3, -1, 1.5, -0.5, 0.25], count).astype(kind)
    pairs = np.array(list(itertools.product(special, special))).T
    return [np.concatenate([pairs[0], bases, negative, tiny]), np.concatenate([pairs[1], exponents, whole, fractions])]


@pytest.mark.parametrize("d", DTYPES, ids=str)
def test_errors_of_powers_are_as_stated(d, fused):
    args = powers(d)
    assert_exact_within(compiled("pow", d)(*args), exactly("pow", args, d), elementary.OWN["pow"].ulps[d.bits], args)


@pytest.mark.parametrize("d", DTYPES, ids=str)
def test_errors_of_hypotenuses_are_as_stated(d, fused):
    pairs = np.array(list(itertools.product(edges(d), edges(d)))).T
    x = sample("hypot", d)
    others = np.random.default_rng(10).permutation(x)
    near = (x * np.random.default_rng(11).uniform(0.5, 2, len(x))).astype(x.dtype)  # both count
    args = [np.concatenate([pairs[0], x, x]), np.concatenate([pairs[1], others, near])]
    assert_exact_within(
        compiled("hypot", d)(*args), exactly("hypot", args, d), elementary.OWN["hypot"].ulps[d.bits], args
    )


@pytest.mark.parametrize("d", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_near_zeros_and_far_out(name, d):
    if not vectormath.has_fma():
        pytest.skip("without fused products libm computes it")  # so there is none of ours to test
    rng = np.random.default_rng(9)
    kind = NUMPY[d]
    multiples = np.concatenate([np.arange(1, 5000), np.exp2(rng.uniform(10, {32: 13, 64: 39}[d.bits], 5000)).round()])
    near = (
        multiples.astype(np.longdouble) * (np.longdouble(math.pi / 2) + np.longdouble(6.123233995736766e-17))
    ).astype(kind)
    far = np.exp2(rng.uniform(13, {32: 127, 64: 1023}[d.bits], 3000)).astype(kind)
    x = np.concatenate([near, np.nextafter(near, kind.type(0)), far, -far])
    got = compiled(name, d)(x)
    assert name == "tan" or np.abs(got).max() <= 1
    assert_exact_within(got, exactly(name, [x], d), elementary.OWN[name].ulps[d.bits], [x])


@pytest.mark.parametrize("d", DTYPES, ids=str)
@pytest.mark.parametrize("name", elementary.OWN)
def test_no_bit_depends_on_the_place(name, d):
    """What 45 elements give, in vectors and after them, they give one, two and three at a time."""
    own = elementary.OWN[name]
    if own.needs_fma and not vectormath.has_fma():
        pytest.skip("without fused products libm computes it")  # so there is none of ours to test
    rng = np.random.default_rng(3)
    args = [rng.uniform(0.1, 5, 45).astype(NUMPY[d]) for _ in range(vectormath.FUNCTIONS[name])]
    call = compiled(name, d)
    whole = call(*args)
    for size in (1, 2, 3):
        for start in range(0, 45 - size, 4):
            part = call(*(a[start : start + size] for a in args))
            np.testing.assert_array_equal(part, whole[start : start + size])


def test_ours_is_taken_where_it_is_faster_or_alone(monkeypatch):
    monkeypatch.setattr(vectormath, "has_fma", lambda: True)
    monkeypatch.setattr(vectormath, "is_vectorised", lambda name, d: True)
    for bits, expected in ((512, {"exp", "log", "erf"}), (256, {"exp", "log"}), (128, set())):
        here = dataclasses.replace(engine.target(), vector_bits=bits)
        monkeypatch.setattr(elementary, "target", lambda here=here: here)
        assert {name for name in ("exp", "log", "erf", "exp2") if elementary.is_own(name, dtypes.float64)} == expected
    monkeypatch.setattr(vectormath, "is_vectorised", lambda name, d: False)
    assert all(elementary.is_own(name, d) for name in elementary.OWN for d in DTYPES)
    assert not elementary.is_own("atan2", dtypes.float64)
    monkeypatch.setattr(vectormath, "has_fma", lambda: False)
    assert not elementary.is_own("sin", dtypes.float64)
    assert elementary.is_own("exp", dtypes.float64)


@pytest.mark.parametrize("name", elementary.OWN)
def test_nothing_in_them_is_fast(name):
    """``fast`` would let LLVM rearrange the sums by which errors are kept."""
    for d in DTYPES:
        code = Code(fast=True)
        text = loop(code, "k", build(name, d), [d] * vectormath.FUNCTIONS[name], [d])
        assert "fadd" in code.module_text() or "fma" in code.module_text()
        assert " fast " not in code.module_text() + text + METADATA


@pytest.mark.parametrize("name", [*elementary.OWN, "fmod"])
def test_loops_take_vectors_on_aarch64(name, monkeypatch):
    """Compiled for it, not run: there is no vector library, so all are ours, and no loop calls a function an element."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    triple = "aarch64-unknown-linux-gnu"
    try:
        machine = llvm.Target.from_triple(triple).create_target_machine(cpu="neoverse-n1", opt=3)
    except RuntimeError:
        pytest.skip("this llvmlite has no code generator for AArch64")
    here = dataclasses.replace(engine.target(), triple=triple, features="", vector_bits=128)
    for module in (engine, vectormath):
        monkeypatch.setattr(module, "target", lambda: here)
    monkeypatch.setattr(vectormath, "has_fma", lambda: True)
    monkeypatch.setattr(vectormath, "is_vectorised", lambda name, d: False)
    for d in DTYPES:
        code = Code()
        nargs = vectormath.FUNCTIONS.get(name, 2)
        text = loop(code, "k", lambda c, v, d=d: [scalars.emit(c, name, v, d)], [d] * nargs, [d])
        module = llvm.parse_assembly(f'target triple = "{triple}"\n{code.module_text()}\n{text}{METADATA}')
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
        builder.getModulePassManager().run(module, builder)
        assert "vector.body:" in str(module)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_powers_that_are_zero(dtype):
    def f(x):
        return np.exp(x), np.exp2(x), np.exp((x[:, None] - x[:3]) / x[3:6]).sum(axis=1)

    lowest = {"f4": -103.97, "f8": -745.13}[dtype]
    around = lowest + np.linspace(-2, 2, 41)
    x = np.concatenate([[1.0, 2, 3], [2, 3, 4], around, [-1e30, -np.inf, np.inf, np.nan, -0.0, -1075, -149.5]]).astype(
        dtype
    )
    with np.errstate(all="ignore"):
        for a, e in zip(tnp.jit(f, strict=True)(x), f(x)):
            tiny = np.finfo(dtype).smallest_subnormal
            np.testing.assert_allclose(a, e, rtol=1e-5 if dtype == "f4" else 1e-12, atol=2 * float(tiny))
            assert (a[e == 0] <= tiny).all() and (np.isnan(a) == np.isnan(e)).all()
