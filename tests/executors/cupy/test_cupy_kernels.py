"""Regions as CuPy's kernels: their C++ is compiled for the host, and computes what NumPy does; how many kernels, and what they read."""

import shutil

import numpy as np
import pytest

import tnp
from tnp.core import dtypes
from tnp.testing import assert_same

cupy = pytest.importorskip("tests.executors.cupy.test_cupy").cupy  # which finds the stand-in

from tnp.executors.cupy import scalars  # noqa: E402

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++ to compile the kernels with"),
    pytest.mark.skipif(cupy.__version__ != "0", reason="CuPy itself is installed; test_gpu.py runs it"),
]


def fusions(f):
    return [b.sym.fn for b in tnp.last_traces(f)[-1].body if "cupy_kernels" in b.sym.name]


def checked(function, *args, exact=False):
    """The regions of a program that computes what NumPy does."""
    f = tnp.jit(function, executors=["cupy"])
    with np.errstate(all="ignore"):
        assert_same(f(*args), function(*args), exact=exact)
    return fusions(f)


def chain(a, b):
    return np.sqrt(a * a + b) / (a + 2) - a * b


def test_a_chain_is_one_kernel_with_an_argument_per_input_and_is_numpys_to_the_bit():
    a, b = np.linspace(0.1, 3, 60, dtype=np.float32).reshape(6, 10), np.linspace(1, 9, 10, dtype=np.float32)
    (fused,) = checked(chain, a, b, exact=True)
    (program,) = fused.programs
    assert program.in_params(True) == "float32 in0, float32 in1"
    assert program.out_params == "float32 out0"
    assert program.operation.count("sqrt(") == 1


def test_a_reduction_computes_its_elements():
    def f(x, y):
        z = x * y + 1
        return z.sum(1), z.max(0), np.exp(z)

    x = np.sin(np.arange(12.0)).reshape(3, 4)
    (fused,) = checked(f, x, x.T.copy().T)
    assert [type(p).__name__ for p in fused.programs] == ["_Elementwise", "_Reduction", "_Reduction"]
    assert "_element(in0, in1)" in fused.programs[1].map


def test_views_of_what_is_computed_are_views_of_its_inputs():
    def f(x, y):
        z = np.sqrt(x * y + 1)
        return np.flip(z.T, 0) + z

    x = np.arange(16.0).reshape(4, 4)
    (fused,) = checked(f, x, x[0])
    steps = {tuple(s.name for s in leaf.steps) for leaf in fused.programs[0].leaves}
    assert ("transpose", "flip") in steps
    assert ("broadcast_in_dim", "transpose", "flip") in steps


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_a_softmax_is_three_regions_at_most():
    x = np.sin(np.arange(60.0)).reshape(4, 15)
    assert 1 <= len(checked(softmax, x)) <= 3


def test_reductions_of_special_values():
    def f(x, p):
        y = x * 1
        return y.max(0), y.min(1), y.sum(), (p & p).any(0), (p | p).all(1), (x + 0).prod(1)

    x = np.sin(np.arange(12.0, dtype=np.float32)).reshape(3, 4)
    for bad in (np.nan, np.inf, -np.inf):
        x[1, 2] = bad
        checked(f, x, x > 0)


def test_numbers_of_the_run_time_and_dtypes():
    def f(x, i, scale, n):
        return (x * scale + n) * x, np.where(i > n, i // 3, i % 5).astype(np.int16) + 1, (x > scale) & (i != 0)

    x, i = np.linspace(-3, 3, 7), np.arange(-3, 4)
    jitted = tnp.jit(f, executors=["cupy"])
    for scale, n in ((0.1, 2), (1e300, -1), (float("inf"), 0)):
        with np.errstate(all="ignore"):
            assert_same(jitted(x, i, scale, n), f(x, i, scale, n), exact=True)
    assert fusions(jitted)
    assert tnp.cache_info(jitted).size == 1


def test_a_number_that_does_not_fit_raises_as_numpy_does():
    def f(x, n):
        return x * x + n

    with pytest.raises(OverflowError, match="out of bounds"):
        tnp.jit(f, executors=["cupy"])(np.ones(3, np.uint8), 300)


def test_a_kernel_that_does_not_compile_is_reported_once_and_does_without(monkeypatch):
    monkeypatch.setitem(scalars.SPELLINGS["sqrt"], "f", "no_such_function({a})")
    f = tnp.jit(chain, executors=["cupy"])
    a = np.ones(3)
    with pytest.warns(RuntimeWarning, match=r"its CuPy kernels \(.*\) failed with .*CompileException"):
        assert_same(f(a, a), chain(a, a))
    assert_same(f(a, a), chain(a, a))


VALUES = {
    "f": [-2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, 1e30, np.inf, -np.inf, np.nan],
    "i": [-128, -127, -7, -1, 0, 1, 2, 7, 127],
    "u": [0, 1, 2, 7, 8, 200, 255],
    "b": [False, True],
}


@pytest.mark.parametrize("name", ["float64", "int8", "int64", "uint8", "bool"])
def test_every_spelling_is_numpys(name):
    """All prims of the table on all pairs of some values, as one kernel each dtype."""
    from tnp.core.elementwise_table import by_name

    dtype = dtypes.by_name(name)
    values = np.array(VALUES[dtype.kind]).astype(name)
    a, b = (np.ascontiguousarray(x) for x in np.broadcast_arrays(values[:, None], values))
    rows = [by_name[p] for p, kinds in scalars.SPELLINGS.items() if dtype.kind in kinds and by_name[p].numpy]
    rows = [
        r
        for r in rows
        if hasattr(np, r.numpy) and not (r.name == "nextafter" or (dtype.kind == "b" and r.name in ("sub", "neg")))
    ]

    def every(a, b):
        return [getattr(np, r.numpy)(*(a, b)[: r.nargs]) for r in rows]

    found = checked(every, a, b)
    assert sum(k.operations for k in found) >= len(rows) // 2


@pytest.mark.parametrize(
    ("shape", "is_fused"), [((3000,), False), ((2, 3000), False), ((2, 100), True), ((1500, 3000), True)]
)
def test_few_results_of_many_elements_are_left_to_cupys_functions(shape, is_fused):
    """A ``ReductionKernel`` has one block of threads for each result."""
    x = np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape)
    made = checked(lambda x: (np.sqrt(x) * 2 + x).sum(-1), x)
    assert any("sum" in fused.source for fused in made) == is_fused
