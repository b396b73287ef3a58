"""The llvm executor's operations on elements: loops over them give what NumPy's loops give, special values included.

Each kernel runs over many elements, where vectors of them are computed, and over three, where one is at a time.
"""

import ctypes
import dataclasses
import math
import warnings
import zlib

import numpy as np
import pytest

from tnp.core import dtypes
from tnp.core.elementwise_table import ROWS
from tnp.executors.llvm.code import Code
from tnp.executors.numpy import kernels
from tnp.runtime import engine

try:
    engine.target()
except engine.Unavailable as unavailable:
    pytest.skip(str(unavailable), allow_module_level=True)

from tnp.executors.llvm import scalars, vectormath
from tnp.executors.llvm.scalars import conversions, elementary

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

ALL = [d for d in dtypes.ALL if d is not dtypes.bfloat16]
NUMPY = {d: np.dtype(d.name) for d in ALL} | {dtypes.bfloat16: np.dtype("uint16")}
FLOATS = [d for d in ALL if d.kind == "f"]

#: rows that are computed by other formulas than NumPy's: the units in the last place by which they may differ from the true value
ULPS = dict.fromkeys(vectormath.FUNCTIONS, 4) | {"rsqrt": 1.5}

#: rows whose error is not in proportion to the result: it is to the operands (or 1)
ABSOLUTE = ("digamma", "lgamma", "logaddexp", "logaddexp2")


@pytest.fixture(autouse=True)
def compile_anew(monkeypatch):
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")


# Kernels


def _element(code, slot, dtype):
    offset = code.op(f"mul nuw nsw i64 %i, {dtype.itemsize}")
    return code.op(f"getelementptr inbounds i8, ptr %p{slot}, i64 {offset}")


def loop(module, name, build, inputs, outputs):
    """The text of a function that stores ``build(code, values)`` for each element."""
    code = Code(module)
    slots = range(len(inputs) + len(outputs))
    for slot in slots:
        code.line(f"%s{slot} = getelementptr ptr, ptr %slots, i64 {slot}")
        code.line(f"%p{slot} = load ptr, ptr %s{slot}")
    code.line("%s = getelementptr ptr, ptr %slots, i64 " + str(len(slots)))
    code.line("%n = load i64, ptr %s")
    code.line("br label %loop")
    code.block("loop")
    code.line("%i = phi i64 [ 0, %entry ], [ %next, %loop ]")
    values = [
        scalars.load(code, _element(code, slot, d), d, "!alias.scope !1, !noalias !2") for slot, d in enumerate(inputs)
    ]
    for slot, (d, result) in enumerate(zip(outputs, build(code, values)), len(inputs)):
        scalars.store(code, result, _element(code, slot, d), d, "!alias.scope !2, !noalias !1")
    code.line("%next = add nuw nsw i64 %i, 1")
    code.line("%more = icmp ult i64 %next, %n")
    code.line("br i1 %more, label %loop, label %done")
    code.block("done")
    code.line("ret i64 0")
    width = f'"prefer-vector-width"="{engine.target().vector_bits}"'
    return f"define i64 @{name}(ptr noalias %slots) {width} {{\nentry:\n{code.text()}\n}}"


METADATA = """
!0 = distinct !{!0}
!1 = !{!3}
!2 = !{!4}
!3 = distinct !{!3, !0}
!4 = distinct !{!4, !0}
"""


class Module:
    """Loops that are compiled together."""

    def __init__(self):
        self.code = Code()
        self.texts = []
        self.compiled = None

    def add(self, build, inputs, outputs):
        """A loop; the function that it becomes, of arrays."""
        name = f"k{len(self.texts)}"
        self.texts.append(loop(self.code, name, build, inputs, outputs))

        def call(*arrays):
            if self.compiled is None:
                text = self.code.module_text() + "\n" + "\n".join(self.texts) + METADATA
                self.compiled = engine.compile_ir(text, "test")
            function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self.compiled.address(name))
            arrays = [np.ascontiguousarray(a) for a in arrays]
            whole = self._run(function, arrays, outputs)
            starts = range(0, min(len(arrays[0]), 90), 3)
            parts = [self._run(function, [a[i : i + 3] for a in arrays], outputs) for i in starts]
            for result, few, d in zip(whole, map(np.concatenate, zip(*parts)), outputs):
                assert_about_same(few, result[: len(few)], d)
                result[1 : len(few) : 2] = few[1::2]  # both are compared to what is right
            return whole if len(whole) > 1 else whole[0]

        return call

    @staticmethod
    def _run(function, arrays, outputs):
        n = len(arrays[0])
        made = [np.zeros(n, NUMPY[d]) for d in outputs]
        slots = [a.ctypes.data for a in (*arrays, *made)] + [n]
        function((ctypes.c_void_p * len(slots))(*slots))
        return made


def assert_about_same(a, b, dtype):
    """What single elements and vectors gave differ by rounding only."""
    if dtype is dtypes.bfloat16:
        np.testing.assert_allclose(from_bfloat16(a), from_bfloat16(b), rtol=2.0**-6)  # two units at most
    elif dtype.kind in "fc":
        np.testing.assert_allclose(a, b, rtol=64 * np.finfo(a.dtype).eps, atol=64 * np.finfo(a.dtype).eps)
    else:
        np.testing.assert_allclose(a.astype(float), b.astype(float), rtol=1e-2)


# Values


def values(d):
    """Numbers that are easy to get wrong, and random ones of several magnitudes."""
    rng = np.random.default_rng(zlib.crc32(d.name.encode()))
    kind = NUMPY[d]
    if d.kind == "b":
        return np.array([False, True] * 8)
    if d.kind in "iu":
        limits = np.iinfo(kind)
        special = [0, 1, 2, 3, 5, 7, 12, 30, limits.bits - 1, limits.bits, limits.max // 2]
        special += [limits.max, limits.max - 1, limits.min, limits.min + 1]
        special += [-1, -2, -3, -7, -12] if d.kind == "i" else []
        wide = rng.integers(limits.min, limits.max, 20, dtype=kind, endpoint=True)
        return np.concatenate([np.array(special, kind), wide, rng.integers(max(limits.min, -9), 9, 12).astype(kind)])
    if d.kind == "c":
        part = NUMPY[dtypes.real_counterpart(d)]
        edges = np.array([0.0, -0.0, 1, -1, 0.5, -2.5, 3, np.inf, -np.inf, np.nan, 1e-4, 100, -700, 30], part)
        grid = np.empty((len(edges), len(edges)), kind)
        grid.real, grid.imag = edges[:, None], edges
        return np.concatenate([grid.ravel(), (rng.normal(size=60) * 3 + 1j * rng.normal(size=60) * 3).astype(kind)])
    f = np.finfo(kind)
    least = f.smallest_subnormal
    edges = [0, 1, 0.5, 1.5, 2, 2.5, 3, 7, 10, 0.1, 88, 100, 709, 745, 1e4, 1e6, 1e15, math.pi / 2, math.pi, math.e]
    edges = np.array([*edges, f.max, f.tiny, f.eps, np.inf, 1 - f.eps], np.float64).astype(kind)
    edges = np.concatenate([edges, [least, least * 3, kind.type(np.nan)]]).astype(kind)
    random = [rng.normal(size=30), 10 * rng.normal(size=30), np.exp(8 * rng.normal(size=20))]
    return np.concatenate([edges, -edges, *(r.astype(kind) for r in random)])


def samples(nargs, d):
    v = values(d)
    if nargs == 1:
        return [np.resize(v, 1000 - 1000 % len(v))] if len(v) < 1000 else [v]
    if d.kind == "c":
        v = v[::3]
    return [np.repeat(v, len(v)), np.tile(v, len(v))]


# Comparisons


def assert_identical(got, expected):
    """Equal values, NaN being equal, zeros having one sign."""
    np.testing.assert_array_equal(got, expected)
    if expected.dtype.kind == "f":
        zero = expected == 0
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(expected[zero]))


def assert_within_ulps(got, expected, ulps, args):
    """``expected`` may be of a wider type."""
    rounded = expected.astype(got.dtype)
    odd = ~np.isfinite(rounded) | ~np.isfinite(got)
    largest = np.finfo(got.dtype).max
    # What rounds to infinity may come out as the largest number, and the other way round.
    clipped = [np.clip(x[odd], -largest, largest) for x in (got, rounded)]
    np.testing.assert_array_equal(*clipped, err_msg=str([a[odd] for a in args]))
    with np.errstate(all="ignore"):
        error = np.abs(got.astype(expected.dtype) - expected) / np.spacing(np.abs(rounded)).astype(expected.dtype)
    error[odd] = 0
    worst = int(np.argmax(error))
    assert error[worst] <= ulps, (
        f"{[a[worst] for a in args]}: {got[worst]!r} is {error[worst]} ulp off {rounded[worst]!r}"
    )


def assert_near(got, expected, args, name):
    """Complex numbers whose distance is small to their magnitude, or to 1; those with NaN or infinite parts are equal."""
    least, units = (1 if name in ("expm1", "log1p") else 0), np.full(len(expected), 16.0)
    if name == "pow":  # NumPy, too, rounds the logarithm before it is multiplied
        with np.errstate(all="ignore"):
            units += 2 * np.nan_to_num(np.abs(args[1] * np.log(args[0])), posinf=0)
    odd = ~np.isfinite(expected)
    for part in ("real", "imag"):
        g, e = getattr(got, part)[odd], getattr(expected, part)[odd]
        if name == "pow":  # Beside an infinity, the other part may be short: finite, or of either sign.
            short = np.abs(g - e) <= units[odd] * np.finfo(got.dtype).eps * np.finfo(got.dtype).max
            g = np.where(short | (np.isinf(expected[odd].real) & np.isinf(g) & np.isinf(e)), e, g)
        np.testing.assert_array_equal(g, e)
    distance, size = np.abs(got - expected)[~odd], np.maximum(np.abs(expected)[~odd], least)
    bad = ~(distance <= units[~odd] * np.finfo(got.dtype).eps * size + np.finfo(got.dtype).tiny)
    assert not bad.any(), [(*(a[~odd][bad][0] for a in args), got[~odd][bad][0], expected[~odd][bad][0])]


def reference(row):
    return getattr(np, row.numpy) if row.numpy else getattr(kernels, row.name)


def compare(row, d, args, got):
    function = reference(row)
    if row.name == "popcount":
        assert_identical(got, function(*args).astype(got.dtype))
    elif d.kind == "c":
        expected = function(*args)
        fused = vectormath.has_fma() and row.name in ("mul", "square")  # as NumPy's loops do on such processors
        if (
            row.result == "bool"
            or fused
            or row.name in ("add", "sub", "neg", "conj", "positive", "maximum", "minimum", "fmax", "fmin")
        ):
            assert_identical(got, expected)
        else:
            assert_near(got, expected, args, row.name)
    elif row.name in ABSOLUTE:
        expected = function(*(a.astype(np.float64) for a in args))
        scale = np.maximum(
            1, np.max(np.abs([np.nan_to_num(a.astype(np.float64), posinf=0, neginf=0) for a in args]), 0)
        )
        scale = np.maximum(scale, np.nan_to_num(np.abs(expected), posinf=0))
        finite = np.isfinite(expected) & (scale <= np.finfo(got.dtype).max)
        tolerance = 16 * np.finfo(got.dtype).eps * scale
        assert (np.abs(got - expected) <= tolerance)[finite].all()
        assert_identical(got[np.isnan(expected)], expected[np.isnan(expected)].astype(got.dtype))
    elif d.kind == "f" and (row.name in ULPS or row.name == "erfinv"):
        wide = np.longdouble if d is dtypes.float64 and row.numpy else np.float64
        ulps = 1 if d is dtypes.float16 else ULPS.get(row.name, 64)
        assert_within_ulps(got, function(*(a.astype(wide) for a in args)), ulps, args)
    else:
        assert_identical(got, function(*args))


def result_dtype(row, d):
    return {"bool": dtypes.bool8, "real": dtypes.real_counterpart(d)}.get(row.result, d)


def accepted(row, d, args):
    """The samples that the comparison is meant for."""
    if row.name == "pow" and d.kind == "i":
        args = [args[0], np.maximum(args[1], 0)]  # the language refuses negative exponents before
    if row.name in ("maximum", "minimum", "fmax", "fmin") and d.kind in "f":
        keep = ~((args[0] == 0) & (args[1] == 0))  # which zero NumPy takes depends on the processor
        args = [a[keep] for a in args]
    if row.name == "digamma":
        args = [a[(a > 0.01) | (a == 0) | (np.abs(a) == np.inf) | ((a < -0.1) & (a > -100))] for a in args]
    if row.name == "lgamma":
        args = [a[~((a < 0) & (a > -1e3))] for a in args]
    return args


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_rows_are_numpys(row):
    module = Module()
    calls = {}
    for d in ALL:
        if d.kind in row.takes and scalars.supports(row.name, (d,) * row.nargs):
            build = lambda code, v, d=d: [scalars.emit(code, row.name, v, d)]  # noqa: E731
            calls[d] = module.add(build, [d] * row.nargs, [result_dtype(row, d)])
    assert calls
    for d, call in calls.items():
        args = accepted(row, d, samples(row.nargs, d))
        try:
            with np.errstate(all="ignore"):
                compare(row, d, args, call(*args))
        except AssertionError as error:
            error.add_note(f"{row.name} of {d}")
            raise


def test_everything_is_supported_here():
    refused = [
        (row.name, d.name)
        for row in ROWS
        for d in dtypes.ALL
        if d.kind in row.takes and not scalars.supports(row.name, (d,) * row.nargs)
    ]
    if engine.target().triple.startswith("x86_64"):
        assert refused == []
    assert not scalars.supports("sort", (dtypes.float64,))
    assert not scalars.supports("bitwise_and", (dtypes.float64, dtypes.float64))


# float16


@pytest.fixture(params=[True, False], ids=["converted by the processor", "converted by arithmetic"])
def converts_half(request, monkeypatch):
    """How float16 is converted."""
    if request.param and not engine.target().converts_half:
        pytest.skip("this processor has no instructions that convert float16 (F16C)")
    here = dataclasses.replace(engine.target(), has_f16c=request.param)
    monkeypatch.setattr(conversions, "processor", lambda: here)


@pytest.mark.parametrize("fast", [False, True])
def test_float16_is_converted_exactly(converts_half, fast):
    everything = np.arange(2**16, dtype=np.uint16).view(np.float16)
    nan = np.isnan(everything)
    singles = everything.astype(np.float32)
    rng = np.random.default_rng(0)
    bits = np.concatenate(
        [
            rng.integers(0, 2**32, 100_000, dtype=np.uint32),
            rng.integers(0x33000000, 0x47900000, 100_000, dtype=np.uint32),
        ]
    )
    # what lies between two numbers of float16, and next to that
    between = ((singles[:-1].astype(float) + singles[1:]) / 2).astype(np.float32)
    between = between[np.isfinite(between)]
    numbers = [
        bits.view(np.float32),
        between,
        np.nextafter(between, np.float32(np.inf)),
        np.nextafter(between, np.float32(-np.inf)),
        singles,
    ]
    given = np.concatenate(numbers)
    module = Module()
    module.code.fast = fast
    widened = module.add(
        lambda code, v: [scalars.convert(code, v[0], dtypes.float16, dtypes.float32)],
        [dtypes.float16],
        [dtypes.float32],
    )
    narrowed = module.add(
        lambda code, v: [scalars.convert(code, v[0], dtypes.float32, dtypes.float16)],
        [dtypes.float32],
        [dtypes.float16],
    )
    got = widened(everything)
    np.testing.assert_array_equal(got[~nan].view(np.uint32), singles[~nan].view(np.uint32))
    assert np.isnan(got[nan]).all()
    assert (np.signbit(got) == np.signbit(everything)).all()
    got = narrowed(given)
    with np.errstate(all="ignore"):
        expected = given.astype(np.float16)
    nan = np.isnan(given)
    np.testing.assert_array_equal(got[~nan].view(np.uint16), expected[~nan].view(np.uint16))
    assert np.isnan(got[nan]).all()


# bfloat16


def to_bfloat16(x):
    """Half to even, from float32."""
    bits = x.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(x), bits >> 16 | 0x40, rounded).astype(np.uint16)


def from_bfloat16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("row", [r for r in ROWS if "f" in r.takes], ids=lambda row: row.name)
def test_bfloat16_is_rounded_after_each_operation(row):
    args = [to_bfloat16(a) for a in samples(row.nargs, dtypes.float32)]
    wide = accepted(row, dtypes.float32, [from_bfloat16(a) for a in args])
    args = [to_bfloat16(a) for a in wide]
    module = Module()
    out = dtypes.bool8 if row.result == "bool" else dtypes.bfloat16
    call = module.add(
        lambda code, v: [scalars.emit(code, row.name, v, dtypes.bfloat16)], [dtypes.bfloat16] * row.nargs, [out]
    )
    got = call(*args)
    if row.name == "nextafter":
        ones = np.where(wide[0] == wide[1], args[0], args[0] + 1)
        up = (np.abs(wide[1]) > np.abs(wide[0])) & (wide[0] * wide[1] > 0)
        np.testing.assert_array_equal(got[up], ones[up])
    elif row.name == "spacing":
        assert from_bfloat16(got)[wide[0] == 1] == pytest.approx(2.0**-7)
    elif out is dtypes.bool8:
        np.testing.assert_array_equal(got, reference(row)(*wide))
    else:
        with np.errstate(all="ignore"):
            expected = to_bfloat16(reference(row)(*wide))
        nan = np.isnan(from_bfloat16(expected))
        np.testing.assert_array_equal(np.isnan(from_bfloat16(got)), nan)
        slack = 1 if row.name in ULPS or row.name in ("erfinv", *ABSOLUTE) else 0
        difference = np.abs(got.astype(int) - expected.astype(int))[~nan]
        assert (difference <= slack).all()


# Conversions


def unsafe_casts(source):
    v = np.resize(values(source), 4 * len(values(source)))
    if source.kind == "c":
        return v
    if source.kind == "f":
        far = np.array(
            [-300.7, 300.7, 3e9, -3e9, 1e10, -1e10, 1e19, -1e19, 1e20, 2.0**31, 2.0**63, -(2.0**63), 2.0**64]
        )
        with np.errstate(all="ignore"):
            v = np.concatenate([v, far.astype(NUMPY[source]), -v])
    return v


@pytest.mark.parametrize("source", ALL, ids=str)
def test_conversions_are_astype(source):
    module = Module()
    calls = {
        target: module.add(lambda code, v, t=target: [scalars.convert(code, v[0], source, t)], [source], [target])
        for target in ALL
        if scalars.supports("convert_element_type", (source, target))
    }
    v = unsafe_casts(source)
    for target, call in calls.items():
        x = v
        if source.kind in "fc" and target.kind in "iu" and not engine.target().triple.startswith("x86_64"):
            limits = np.iinfo(NUMPY[target])
            x = x[(x.real > limits.min) & (x.real < limits.max)]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            assert_identical(call(x), x.astype(NUMPY[target]))


def test_conversions_of_bfloat16():
    module = Module()
    b = dtypes.bfloat16
    narrow, wide = (module.add(lambda c, v, s=s, t=t: [scalars.convert(c, v[0], s, t)], [s], [t])
                    for s, t in ((dtypes.float32, b), (b, dtypes.float32)))  # fmt: skip
    x = np.resize(values(dtypes.float32), 1000)
    np.testing.assert_array_equal(narrow(x), to_bfloat16(x))
    np.testing.assert_array_equal(wide(to_bfloat16(x)), from_bfloat16(to_bfloat16(x)))


@pytest.mark.parametrize(("source", "target"), [
    (dtypes.float64, dtypes.int64), (dtypes.uint32, dtypes.float32), (dtypes.float16, dtypes.uint16),
    (dtypes.complex64, dtypes.float64), (dtypes.int64, dtypes.complex64), (dtypes.bool8, dtypes.uint8),
    (dtypes.int8, dtypes.uint8), (dtypes.uint8, dtypes.bool8),
], ids=str)  # fmt: skip
def test_bitcasts_keep_bytes(source, target):
    v = np.resize(values(source), 1000)
    if target is dtypes.bool8:
        v = v % 2
    got = Module().add(lambda c, x: [scalars.bitcast(c, x[0], source, target)], [source], [target])(v)
    np.testing.assert_array_equal(got.view(NUMPY[source]), v)


# Operations that are no rows


@pytest.mark.parametrize("d", FLOATS, ids=str)
def test_frexp_and_ldexp(d):
    module = Module()
    parts = module.add(lambda c, v: list(scalars.emit(c, "frexp", v, d)), [d], [d, dtypes.int32])
    whole = {
        n: module.add(lambda c, v, n=n: [scalars.emit_ldexp(c, *v, d, n)], [d, n], [d])
        for n in (dtypes.int32, dtypes.int64)
    }
    x = np.resize(values(d), 1000)
    for got, expected in zip(parts(x), np.frexp(x)):
        assert_identical(got, expected)
    exponents = np.array([0, 1, -1, 5, -10, 30, -52, 100, -126, -149, 1023, 1024, -1022, -1074, 2000, -2000, 2**31 - 1])
    a, n = np.repeat(x[:120], len(exponents)), np.tile(exponents, 120)
    with np.errstate(all="ignore"):
        for dtype, call in whole.items():
            n = n.astype(NUMPY[dtype])
            assert_identical(call(a, n), np.ldexp(a, n))


@pytest.mark.parametrize("d", ALL, ids=str)
def test_where_chooses(d):
    x = np.resize(values(d), 1000)
    condition = np.random.default_rng(0).integers(0, 2, 1000).astype(bool)
    call = Module().add(lambda c, v: [scalars.emit(c, "where", v, d)], [dtypes.bool8, d, d], [d])
    assert_identical(call(condition, x, x[::-1]), np.where(condition, x, x[::-1]))


@pytest.mark.parametrize("d", [dtypes.complex64, dtypes.complex128], ids=str)
def test_parts_of_complex_numbers(d):
    part = dtypes.real_counterpart(d)
    x = values(d)
    module = Module()
    for name in ("real", "imag"):
        got = Module().add(lambda c, v, name=name: [scalars.emit(c, name, v, d)], [d], [part])(x)
        assert_identical(got, getattr(x, name))
    made = module.add(lambda c, v: [scalars.emit(c, "complex", v, part)], [part, part], [d])(x.real, x.imag)
    np.testing.assert_array_equal(made, x)


# Constants


@pytest.mark.parametrize("d", ALL, ids=str)
def test_constants(d):
    numbers = {"b": (True, False), "i": (0, -1, 127), "u": (0, 1, 255)}.get(
        d.kind, (0.0, -0.0, 1, 0.1, -2.5, math.inf, -math.inf, math.nan, 1e300)
    )
    module = Module()
    calls = [module.add(lambda c, v, x=x: [scalars.constant(x, d)], [dtypes.int8], [d]) for x in numbers]
    with np.errstate(all="ignore"):
        for x, call in zip(numbers, calls):
            assert_identical(call(np.zeros(20, np.int8)), np.full(20, x).astype(NUMPY[d]))


def test_integers_that_do_not_fit_are_numpys_error():
    for x, d in ((300, dtypes.uint8), (-1, dtypes.uint64), (2**63, dtypes.int64), (128, dtypes.int8)):
        with pytest.raises(OverflowError, match=f"Python integer {x} out of bounds for {d}"):
            scalars.constant(x, d)


@pytest.mark.parametrize("d", [d for d in ALL if d.kind in "iufc"], ids=str)
def test_constant_exponents_and_divisors(d):
    module = Module()
    checks = []
    exponents = (0, 1, 2, 3, 7, 64, 65) if d.kind in "iu" else (-1.0, 0.5, 1.0, 2.0, 3.0, 0.0, 2.5, -3.0)
    exponents = (*exponents, -1.0 + 0j, 1j) if d.kind == "c" else exponents
    divisors = () if d.kind == "c" else (1, 3, 8, 100) if d.kind == "u" else (1, -1, 3, -8, 100)
    x = np.resize(values(d), 1000)
    for name, numbers in (("pow", exponents), ("remainder", divisors), ("floor_divide", divisors), ("fmod", divisors)):
        for number in numbers:
            build = lambda c, v, n=name, k=number: [scalars.emit(c, n, [v[0], scalars.constant(k, d)], d)]  # noqa: E731
            checks.append((name, number, module.add(build, [d], [d])))
    for name, number, call in checks:
        y = np.full(len(x), number, NUMPY[d])
        with np.errstate(all="ignore"):
            row = next(r for r in ROWS if r.name == name)
            compare(row, d, [x, y], call(x))


# Reductions


def reduction(reducer, d):
    code = Code()
    parts = [reducer.identity] if isinstance(reducer.identity, str) else list(reducer.identity)
    accumulators = [f"%a{i}" for i in range(len(parts))]
    value = scalars.convert(code, scalars.load(code, _element(code, 0, d), d), d, reducer.dtype)
    result = reducer.combine(code, accumulators[0] if len(parts) == 1 else tuple(accumulators), value)
    results = [result] if isinstance(result, str) else result
    type_ = scalars.register_type(reducer.dtype)
    for accumulator, first, following in zip(accumulators, parts, results):
        code.lines.insert(0, f"  {accumulator} = phi {type_} [ {first}, %entry ], [ {following}, %loop ]")
    code.line("%next = add nuw nsw i64 %i, 1")
    code.line("%more = icmp ult i64 %next, %n")
    code.line("br i1 %more, label %loop, label %done")
    code.block("done")
    scalars.store(code, result, "%out", reducer.dtype)
    return f"""{code.module_text()}
define i64 @reduce(ptr noalias %p0, ptr noalias %out, i64 %n) "prefer-vector-width"="512" {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{code.text()}
  ret i64 0
}}"""


@pytest.mark.parametrize("d", ALL, ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "any", "all"])
def test_reductions(name, d, tmp_path, monkeypatch):
    monkeypatch.setenv("TNP_DUMP", "opt")
    monkeypatch.setenv("TNP_DUMP_DIR", str(tmp_path))
    reducer = scalars.reducer(name, d)
    compiled = engine.compile_ir(reduction(reducer, d), "reduction")
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
        compiled.address("reduce")
    )

    def reduce(x):
        out = np.zeros(1, NUMPY[reducer.dtype])
        function(x.ctypes.data, out.ctypes.data, len(x))
        return out[0]

    rng = np.random.default_rng(0)
    for n in (1, 3, 1000):
        x = rng.integers(0, 3, n).astype(NUMPY[d])
        if d.kind in "fc":
            x = (1 + 0.01 * rng.normal(size=n)).astype(NUMPY[d])
        if name in ("any", "all"):
            x = np.full(n, name == "all").astype(NUMPY[d])
            assert reduce(x) == getattr(np, name)(x)
            x[n // 2 : n // 2 + 1] = name == "any"
            assert reduce(x) == getattr(np, name)(x)
        elif name in ("sum", "prod"):
            expected = getattr(np, name)(x, dtype=NUMPY[reducer.dtype])
            np.testing.assert_allclose(
                reduce(x), expected, rtol=1e-4 if d.bits <= 32 or d is dtypes.complex64 else 1e-12
            )
        else:
            assert reduce(x) == getattr(np, name)(x)
            if d.kind in "fc":
                x[n // 2] = np.nan
                assert np.isnan(reduce(x))
    (dump,) = tmp_path.iterdir()
    # A product of floats is in order.
    in_order = (name == "prod" and d.kind in "fc") or (d.kind == "c" and name in ("amax", "amin"))
    assert "vector.body" in dump.read_text() or in_order


# Speed is that loops over functions take vectors


@pytest.mark.parametrize("d", [dtypes.float32, dtypes.float64], ids=str)
@pytest.mark.parametrize("name", ["exp", "sin", "log", "pow", "exp2", "fmod", "remainder", "erfinv", "digamma"])
def test_loops_over_functions_take_vectors(name, d, tmp_path, monkeypatch):
    if not vectormath.is_vectorised("tan", d):
        pytest.skip("this machine's libmvec has six functions, or there is none")
    monkeypatch.setenv("TNP_DUMP", "opt")
    monkeypatch.setenv("TNP_DUMP_DIR", str(tmp_path))
    row = next(r for r in ROWS if r.name == name)
    call = Module().add(lambda c, v: [scalars.emit(c, name, v, d)], [d] * row.nargs, [d])
    call(*[np.ones(4, NUMPY[d])] * row.nargs)
    (dump,) = tmp_path.iterdir()
    assert "vector.body" in dump.read_text()
    calls = [
        line for line in dump.read_text().splitlines() if line.lstrip().startswith(("%", "tail")) and "call" in line
    ]
    only_log = name == "erfinv" and elementary.is_own("log", dtypes.float64)
    if name in ("fmod", "remainder") and not vectormath.has_fma():
        assert "frem" in dump.read_text()  # there is no quicker way than libm's
    elif elementary.is_own(name, d) or only_log:
        assert not any("@" in line and "@llvm." not in line for line in calls)
    else:
        assert any("@_ZGV" in line for line in calls)


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "unfused"])
@pytest.mark.parametrize("name", [*elementary.OWN, "erfinv", "logaddexp", "logaddexp2"])
def test_rows_without_libmvec(name, fused, monkeypatch):
    if fused and not vectormath.has_fma():
        pytest.skip("this processor has no fused products")
    monkeypatch.setattr(vectormath, "has_fma", lambda: fused)
    monkeypatch.setattr(vectormath, "is_vectorised", lambda name, dtype: False)
    test_rows_are_numpys(next(r for r in ROWS if r.name == name))


def test_fast_math_is_asked_for():
    assert "fast" not in emitted(Code())
    assert "fadd fast double" in emitted(Code(fast=True))


def emitted(code):
    scalars.emit(code, "add", ["%a", "%b"], dtypes.float64)
    return code.text()
