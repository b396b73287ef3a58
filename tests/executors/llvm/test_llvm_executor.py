"""The llvm executor as users meet it: what is fused, written in place and shared, and what happens where it cannot."""

import itertools
import subprocess
import sys
import threading

import numpy as np
import pytest

import tnp
from tests.sampling import one_of, some_of
from tnp.executors import llvm
from tnp.testing import assert_same

pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="no native code here")


def operations(f):
    return [b.sym.name for b in tnp.last_traces(f)[-1].body if b.sym.name not in ("python_del", "python_return")]


def loops(f):
    """What ``explain`` says of a function's regions, line by line."""
    text = str(tnp.explain(f)).splitlines()
    return [line.strip() for line in text if line.startswith("      ")]


def compare(f, *args, calls=2):
    """Compiles ``f`` and compares results and arguments with eager; the jitted function."""
    jitted = tnp.jit(f)
    for _ in range(calls):
        mine, eagers = [a.copy("K") for a in args], [a.copy("K") for a in args]
        expected, found = f(*eagers), jitted(*mine)
        assert_same(found, expected, exact=False)
        assert_same(mine, eagers, exact=False, what="arguments")
        for a, b in zip(_arrays(found), _arrays(expected)):
            assert a.strides == b.strides
    return jitted


def _arrays(x):
    return [y for y in (x if isinstance(x, tuple) else (x,)) if isinstance(y, np.ndarray)]


def test_a_chain_is_one_region_with_one_loop():
    x = np.linspace(0.1, 1, 30).reshape(5, 6)
    f = compare(lambda a, b: np.sqrt(a * b + 1) / (a + 1.0) - b * 0.5, x, x + 1)
    assert operations(f) == ["llvm_fusion0"]
    assert loops(f)[1:3] == ["for i0 in 0..5 parallel", "for i1 in 0..6 parallel"]
    assert len(loops(f)) == 4 and "= sub(div(sqrt(" in loops(f)[3]


def test_softmax_goes_through_rows_once():
    def softmax(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    f = compare(softmax, np.random.default_rng(0).normal(size=(7, 50)))
    assert operations(f) == ["llvm_fusion0"]
    assert [line for line in loops(f) if "for i0" in line] == ["for i0 in 0..7 parallel"]
    assert len([line for line in loops(f) if "for i1 in 0..50" in line]) == 3
    assert "row" in loops(f)[0] and "temporary" not in loops(f)[0]


def test_updates_are_written_to_the_caller():
    def step(u, v):
        v[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1])
        u += v

    rng = np.random.default_rng(0)
    f = compare(step, rng.normal(size=(9, 8)), rng.normal(size=(9, 8)))
    assert operations(f) == ["llvm_fusion0"]
    assert "f64[9, 8] inout, " in loops(f)[0] and "temporary" not in loops(f)[0].replace("u8[9] temporary", "")


def test_a_mask_is_written_in_place():
    def f(x):
        x[x > 0.5] = 0.0
        return x * 2

    assert operations(compare(f, np.random.default_rng(0).random((6, 7)))) == ["llvm_fusion0"]


def test_updates_that_read_what_they_write():
    def shift(x):
        x[1:] = x[:-1] + 1
        x[:, ::-1] = x[:, :] * 2
        x[::2] = x[1::2]
        x[0] = x[3]
        return x.sum(axis=0)

    compare(shift, np.arange(48.0).reshape(8, 6))


def test_what_is_read_later_is_kept():
    def f(x):
        doubled = x * 2
        view = x[1:4]
        x[2:5] = doubled[:3] + view
        return doubled, view + 0, x - doubled

    compare(f, np.arange(8.0))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_results_lie_in_memory_as_numpys(order, step):
    x = np.asarray(np.random.default_rng(0).random((6, 8)), order=order)[:, ::step]
    compare(lambda x: (x * 2 + 1, x.T * 2 + 1, (x + 1).sum(axis=0), np.exp(x).cumsum(axis=1)), x)


@pytest.mark.parametrize("shape", [(3, 4, 5), (50, 60, 70), (2, 3, 4, 5)], ids=str)
def test_results_lie_in_memory_as_numpys_in_any_order_of_axes(shape):
    x = np.random.default_rng(0).random(shape)
    for axes in itertools.permutations(range(len(shape))):
        f = compare(
            lambda x: (x * 2 + 1, x.sum(axis=1) - 1, x.reshape(-1) - 1, np.cumsum(x[..., ::-1] * 3, axis=0)),
            x.transpose(axes),
            calls=1,
        )
        assert "one by one" not in str(tnp.explain(f))


def test_transposing_in_an_operation_gives_its_memory_order():
    f = compare(lambda x, y: (x.transpose(0, 2, 1) + 1, (x + y).swapaxes(0, 1) * 2), *np.random.default_rng(0).random((2, 4, 5, 6)))  # fmt: skip
    assert "one by one" not in str(tnp.explain(f))


def test_other_strides_compile_once_each_and_alternate():
    f = tnp.jit(lambda x: np.exp(x).sum(axis=0) * 2)
    x = np.random.default_rng(0).random((12, 12))
    for _, view in itertools.product(range(3), (x, x.T, x[::2, ::-1], x[:6])):
        np.testing.assert_allclose(f(view), np.exp(view).sum(axis=0) * 2)


def test_misaligned_arrays_run_singly():
    raw = np.zeros(8 * 10 + 1, np.uint8)
    x = raw[1:].view(np.float64)
    x[:] = np.arange(10.0)
    assert not x.flags.aligned

    def f(x):
        x += 1
        return x * 2 + 1

    jitted = tnp.jit(f)
    np.testing.assert_array_equal(jitted(x), np.arange(1.0, 11) * 2 + 1)
    np.testing.assert_array_equal(x, np.arange(1.0, 11))


def test_integers_beyond_64_bits_raise_as_numpy_does():
    f = tnp.jit(lambda x, n: (x + n) * 2)
    x = np.arange(3)
    assert_same(f(x, 5), (x + 5) * 2)
    with pytest.raises(OverflowError):
        f(x, 2**70)


def add_number(x, n):
    return x + n


def compare_number(x, n):
    return np.where(x > n, x * 2, x - 1)


def store_number(x, n):
    x[1:] = n
    return x * 2


@pytest.mark.parametrize("number", [300, -1, 255, -300])
@pytest.mark.parametrize("function", [add_number, compare_number, store_number])
def test_integers_beyond_the_arrays_dtype_do_what_they_do_in_numpy(function, number):
    f = tnp.jit(function)
    for n in (3, number, 4):
        mine, eagers = np.arange(4, dtype=np.uint8), np.arange(4, dtype=np.uint8)
        try:
            expected = function(eagers, n)
        except OverflowError as error:
            with pytest.raises(OverflowError, match=str(error)):
                f(mine, n)
        else:
            assert_same(f(mine, n), expected)
        assert_same(mine, eagers)


def test_an_index_out_of_bounds_writes_nothing():
    def f(x, i):
        y = x[i] * 2
        x += 1
        return y

    jitted = tnp.jit(f)
    x = np.arange(5.0)
    assert_same(jitted(x.copy(), np.array([0, -1])), x[[0, -1]] * 2)
    before = x.copy()
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 5"):
        jitted(x, np.array([0, 7]))
    assert_same(x, before)


def test_regions_read_arguments_before_they_are_overwritten():
    def f(a, b, i):
        before = b - 1
        b[[0]] = 5
        picked = (a * 3)[i]
        return np.concatenate([before, a]), picked

    compare(f, np.arange(4.0), np.arange(3.0), np.array([1, -1]))


def test_views_are_no_copies():
    f = tnp.jit(lambda x, y: ((x * 2).T, x[1:], (x + y).sum()))
    x = np.ones((3, 4))
    doubled, tail, _ = f(x, x)
    assert np.shares_memory(tail, x) and doubled.base is not None


def test_outputs_own_their_memory():
    x = np.ones(300_000)
    y = tnp.jit(lambda x: x * 2 + 1)(x)
    assert y.base is None and y.flags.owndata and y.flags.writeable
    del x
    y.resize(10, refcheck=False)
    assert_same(y, np.full(10, 3.0))


def test_errors_are_raised_where_errstate_asks():
    def f(x):
        y = x * 2 + 1
        with np.errstate(divide="raise"):
            z = 1 / (y - 1) * 2
        return np.sqrt(z) + 1

    jitted = tnp.jit(f)
    assert_same(jitted(np.ones(4)), f(np.ones(4)))
    with pytest.raises(FloatingPointError, match="divide by zero"):
        jitted(np.zeros(4))


def test_fastmath_is_by_name():
    def f(x):
        return (x + 1e30) - 1e30

    x = np.arange(1.0, 9)
    assert_same(tnp.jit(f)(x), f(x))
    assert_same(tnp.jit(f, fastmath=True)(x), x)
    assert_same(tnp.jit(f)(x), f(x))


@pytest.mark.parametrize("n", [5, 4096, 4097, 100_003, 1_000_003])
def test_sums_are_as_accurate_as_pairwise_and_the_same_for_any_number_of_threads(n):
    x = np.random.default_rng(n).normal(size=n).astype(np.float32) + 1000
    f = tnp.jit(lambda x: ((x * 1).sum(), (x * 1).max(), np.exp(x * 1e-3)))
    threads = tnp.get_num_threads()
    try:
        results = []
        for k in (1, 2, 3):
            tnp.set_num_threads(k)
            results += [f(x), f(x)]
    finally:
        tnp.set_num_threads(threads)
    for total, largest, e in results[1:]:
        assert total == results[0][0] and largest == results[0][1]
        np.testing.assert_array_equal(e, results[0][2])
    exact = x.astype(np.float64).sum()
    assert abs(results[0][0] - exact) <= 4 * np.finfo(np.float32).eps * exact


@pytest.mark.parametrize("shape", [(300, 700), (100_000, 3), (3, 100_000), (40, 50, 60)])
@pytest.mark.parametrize("function", [np.sum, np.max, np.argmin, np.var, np.cumsum])
def test_reductions_along_each_axis(shape, function):
    x = np.random.default_rng(0).normal(size=shape)
    for axis in range(len(shape)):
        compare(lambda x, axis=axis: function(x + 1, axis=axis), x, calls=1)


@pytest.mark.parametrize("scan", [np.cumsum, np.cumprod, np.maximum.accumulate])
def test_partial_results_of_as_many_rows_as_a_mask_selects(scan):
    x = np.arange(16.0).reshape(4, 4) - 3
    for selected in ([1], [], [0, 1, 3], [0, 1, 2, 3], [2]):
        mask = np.isin(np.arange(4), selected)
        compare(lambda x, mask: (scan(x[mask], axis=0), scan(x[mask].reshape(-1, 2, 2), axis=0)), x, mask)


def test_threads_may_call_at_once():
    f = tnp.jit(lambda x: np.sin(x).sum() + x * 2)
    x = np.random.default_rng(0).random(200_000)
    expected, wrong = f(x), []

    def work():
        for _ in range(20):
            if not np.array_equal(f(x), expected):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


_WITHOUT = """
import sys, numpy as np
LACKING
import tnp
f = tnp.jit(lambda x: np.exp(x) * 2 + 1)
np.testing.assert_allclose(f(np.ones(4)), np.exp(np.ones(4)) * 2 + 1)
print([b.sym.name for b in tnp.last_traces(f)[-1].body][0])
"""

#: what is missing, as it would be seen
_LACKING = {
    "llvmlite": 'sys.modules["llvmlite"] = None',
    "a code generator": """
import llvmlite.binding
def refuse(triple):
    raise RuntimeError("No available targets are compatible with triple")
llvmlite.binding.Target.from_triple = refuse""",
}


@pytest.mark.parametrize("lacking", _LACKING)
def test_without_native_code_numpy_runs_it(lacking):
    program = _WITHOUT.replace("LACKING", _LACKING[lacking])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "exp"


#: arrays whose elements lie in memory as nobody expects
_LAYOUTS = {
    "no elements": lambda x: x[:0],
    "no columns": lambda x: x[:, 2:2],
    "backwards": lambda x: x[::-1, ::-2],
    "the same row again": lambda x: np.broadcast_to(x[3], x.shape),
    "one element everywhere": lambda x: np.broadcast_to(x[0, 0], x.shape),
    "rows that overlap": lambda x: np.lib.stride_tricks.sliding_window_view(x[0], 5),
    "misaligned": lambda x: np.frombuffer(b"-" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape),
}


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_arrays_that_lie_in_memory_oddly(layout):
    def f(x):
        y = np.sqrt(x * x + 1) - x
        return y, y.sum(axis=0), np.cumsum(y, axis=1), y[::-1] * 2 > 1

    x = _LAYOUTS[layout](np.random.default_rng(8).uniform(-1, 1, (40, 30)))
    assert_same(tnp.jit(f)(x), f(x))


@pytest.mark.parametrize("shift", [1, -1])
def test_arguments_that_overlap(shift):
    def f(x, y):
        x *= 0.5
        x += 2 * y
        return x + y

    def views(a):
        return (a[1:], a[:-1]) if shift > 0 else (a[:-1], a[1:])

    mine, eagers = np.arange(100.0), np.arange(100.0)
    with pytest.warns(tnp.core.errors.EagerFallbackWarning, match="may overlap"):
        assert_same(tnp.jit(f)(*views(mine)), f(*views(eagers)))
    assert_same(mine, eagers)


def test_extremes_of_chosen_elements_are_vectors(monkeypatch, tmp_path):
    """LLVM would make of them what it cannot vectorise."""
    monkeypatch.setenv("TNP_DUMP", "opt")
    monkeypatch.setenv("TNP_DUMP_DIR", str(tmp_path))
    x = np.linspace(-1, 1, 5000)
    compare(lambda a: np.where(a > 0.25, a, -np.inf).max(), x)
    compare(lambda a: np.where(a < 0, np.inf, a).min(), x)
    optimised = [f.read_text() for f in tmp_path.glob("llvm_fusion0*.opt.ll")]
    assert len(optimised) == 2
    assert all(
        f"x double> @llvm.{name}.v" in text
        for name, text in zip(("maximum", "minimum"), sorted(optimised, key=lambda t: "minimum" in t))
    )


def test_extremes_of_chosen_elements_are_vectors_in_loops(monkeypatch, tmp_path):
    def f(a, limits):
        out = np.zeros((len(limits), 2))
        for i in range(len(limits)):
            out[i, 0] = a[a < limits[i]].max()
            out[i, 1] = a[a > limits[i]].min()
        return out

    monkeypatch.setenv("TNP_DUMP", "opt")
    monkeypatch.setenv("TNP_DUMP_DIR", str(tmp_path))
    compare(f, np.linspace(-1, 1, 300), np.linspace(-0.9, 0.9, 20))
    optimised = "".join(f.read_text() for f in tmp_path.glob("llvm_fusion*.opt.ll"))
    assert all(f"x double> @llvm.{name}.v" in optimised for name in ("maximum", "minimum"))


def test_what_reads_elements_far_apart_is_computed_once():
    def white(rgb):
        grey = rgb[..., 0] * 0.299 + rgb[..., 1] * 0.587 + rgb[..., 2] * 0.114
        return grey > grey.mean()

    f = compare(white, np.random.default_rng(0).random((20, 30, 3)))
    assert "f64[20, 30] temporary" in loops(f)[0]
    planes = compare(lambda x: white(np.moveaxis(x, 0, -1)), np.random.default_rng(0).random((3, 20, 30)))
    assert "f64[20, 30] temporary" not in loops(planes)[0]


@pytest.mark.parametrize("dtype", ["float64", "float16", "complex64", "int8", "bool"])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "any", "argmin"])
def test_reductions_of_one_element(name, dtype):
    """They are compiled too, where they are all of a program; and begin with 0 or 1, as NumPy's do."""

    def f(a):
        return getattr(a, name)()

    jitted = tnp.jit(f)
    for value in (-0.0, 3, np.nan):
        with np.errstate(invalid="ignore"):
            a = np.full((1, 1), value).astype(dtype)
        found, expected = jitted(a), f(a)
        assert found.tobytes() == expected.tobytes() and type(found) is type(expected)
    if dtype != "complex64" or name in ("sum", "prod", "any"):  # complex numbers are ordered by NumPy
        assert operations(jitted) == ["llvm_fusion0"]


KINDS_OF_NUMBERS = [
    *((dtype, kind) for dtype in ("?", "u1", "i2", "i8", "f2", "f4", "f8") for kind in ("numbers", "equal")),
    *((dtype, kind) for dtype in ("f2", "f4", "f8") for kind in ("nan", "zeros")),
]


@pytest.mark.parametrize(
    ("dtype", "kind", "shape"),
    [
        (*numbers, shape)
        for i, numbers in enumerate(KINDS_OF_NUMBERS)
        for shape in some_of([(1,), (3,), (1000,), (4, 7), (3, 130)], i // 2, 2)
    ],
)
def test_the_first_index_of_an_extreme(dtype, shape, kind):
    rng = np.random.default_rng(len(shape))
    x = abs(rng.normal(size=shape) * 3).round().astype(dtype)
    if kind == "equal":
        x[...] = x.flat[0]
    elif kind == "nan":
        x.flat[rng.integers(x.size)] = np.nan
    elif kind == "zeros":
        x[...] = rng.choice([0.0, -0.0], size=shape)

    def f(x):
        return x.argmax(), x.argmin(axis=-1), (x * x).argmax(axis=-1, keepdims=True), x.T.argmin(axis=0), x.max(axis=-1)

    jitted = tnp.jit(f)
    for a in (x, *one_of([x[::-1], np.concatenate([x, x])], x.size + len(kind))):
        assert_same(jitted(a), f(a), exact=True)
