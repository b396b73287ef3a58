"""CuPy's arrays as arguments: CuPy in, CuPy out, nothing moved, on the stand-in."""

import warnings

import numpy as np
import pytest

import tnp

cupy = pytest.importorskip("tests.executors.cupy.test_cupy").cupy  # which finds the stand-in

from tnp.capture.guards.prologue import disjoint  # noqa: E402
from tnp.capture.libraries.cupy import memory_of  # noqa: E402
from tnp.core import prims  # noqa: E402
from tnp.core.symbol import OpTags  # noqa: E402
from tnp.executors import registry  # noqa: E402

pytestmark = pytest.mark.skipif(cupy.__version__ != "0", reason="CuPy itself is installed; test_gpu.py runs it")


def operations(f):
    return [b.sym.name for b in tnp.last_traces(f)[-1].body]


def same(mine, expected):
    assert type(mine) is cupy.ndarray
    np.testing.assert_allclose(cupy.asnumpy(mine), expected, rtol=1e-6)


def chain(a, b):
    return np.sqrt(a * a + b) / (a + 2) - a * b


def test_cupy_in_cupy_out_and_nothing_moves():
    f = tnp.jit(chain)
    a, b = np.linspace(0.1, 1, 12).reshape(3, 4), np.linspace(1, 2, 4)
    for _ in range(2):
        same(f(cupy.asarray(a), cupy.asarray(b)), chain(a, b))
    assert not {"to_device", "to_host"} & set(operations(f))
    assert tnp.cache_info(f) == (1, 1, 1)


def test_numpy_arrays_are_another_program():
    f = tnp.jit(chain)
    a = np.linspace(0.1, 1, 12)
    same(f(cupy.asarray(a), cupy.asarray(a)), chain(a, a))
    assert type(f(a, a)) is np.ndarray
    assert tnp.cache_info(f).size == 2


def several(x, i):
    y = x * 2
    return y.sum(), y[0], x[1:, ::2], np.sort(y, 1), {"taken": x[i], "scalar": (y > 1).any()}, np.arange(3) + y[0, :3]


def test_results_are_cupys_those_of_no_dimension_too():
    x, i = np.sin(np.arange(12.0)).reshape(3, 4), np.array([0, -1])
    mine, expected = tnp.jit(several)(cupy.asarray(x), cupy.asarray(i)), several(x, i)
    for a, b in zip([*mine[:4], mine[5], *mine[4].values()], [*expected[:4], expected[5], *expected[4].values()]):
        same(a, b)
    assert mine[0].shape == ()


def test_a_view_that_is_returned_is_one_of_the_callers_memory():
    x = cupy.asarray(np.arange(6.0).reshape(2, 3))
    part = tnp.jit(lambda x: x[:, 1:])(x)
    part[...] = 7
    assert cupy.asnumpy(x).tolist() == [[0, 7, 7], [3, 7, 7]]


def test_every_view_can_be_one_of_the_callers_memory():
    views = {p for p in prims.registry.values() if OpTags.VIEW in p.tags}
    assert not {p.name for p in views if p.id not in registry.get_executor("cupy").implementations}


VIEWS = {
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, 1)[:, ::2],
    "windows of a transposed array": lambda x: np.lib.stride_tricks.sliding_window_view(x.T, (2, 2)),
    "other dtype": lambda x: x.view(np.int64),
    "checked": lambda x: x[:, x[0] > 0].max(0),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_taken_by_cupy(name):
    x = np.sin(np.arange(24.0)).reshape(4, 6)
    f, on_device = tnp.jit(VIEWS[name]), cupy.asarray(x)
    made = f(on_device)
    same(made, VIEWS[name](x))
    assert not {"to_device", "to_host"} & set(operations(f))
    assert name == "checked" or np.shares_memory(made, on_device)


def test_a_check_raises_what_numpy_raises():
    f = tnp.jit(lambda x: x[x > 0].max())
    same(f(cupy.asarray([1.0, -2.0, 3.0])), 3.0)
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum which has no identity"):
        f(cupy.asarray([-1.0, -2.0, -3.0]))


def smooth(u, iterations):
    for _ in range(iterations):
        u[1:-1] = (u[:-2] + u[2:]) / 2
    u[0] += 1
    return u.sum()


@pytest.mark.parametrize("layout", ["contiguous", "reversed", "stepped"])
def test_writes_are_in_the_callers_memory(layout):
    def part(a):
        return {"contiguous": a, "reversed": a[::-1], "stepped": a[::2]}[layout]

    mine, eagers = cupy.asarray(np.arange(18.0) ** 2), np.arange(18.0) ** 2
    f = tnp.jit(smooth)
    same(f(part(mine), 3), smooth(part(eagers), 3))
    same(mine, eagers)
    assert not {"to_device", "to_host"} & set(operations(f))


def test_what_cupy_does_not_do_runs_on_the_host_between_copies():
    def powers(a):
        return (a + 1) ** a - 1

    a = np.arange(5)
    f = tnp.jit(powers)
    same(f(cupy.asarray(a)), powers(a))
    assert {"to_device", "to_host"} <= set(operations(f))


@pytest.mark.parametrize("dtype", ["bool", "float16", "int8", "uint64", "complex64"])
def test_dtypes(dtype):
    a = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)

    def f(a):
        return a | a if a.dtype == bool else a + a, a.T

    for mine, expected in zip(tnp.jit(f)(cupy.asarray(a)), f(a)):
        same(mine, expected)
        assert mine.dtype == expected.dtype


def test_ndarrays_beside_them_move_only_where_that_is_asked_for():
    a, b = np.linspace(0.1, 1, 4), np.linspace(1, 2, 4)
    for args in ((cupy.asarray(a), b), (b, cupy.asarray(a))):
        with pytest.warns(tnp.EagerFallbackWarning, match="beside"):
            tnp.jit(chain)(*args)  # CuPy itself raises a TypeError here
    f = tnp.jit(chain, device="cuda")
    same(f(cupy.asarray(a), b), chain(a, b))
    assert operations(f).count("to_device") == 1

    def write(x, y):
        y += x
        x *= 2

    x, y = cupy.asarray(a), b.copy()
    tnp.jit(write, device="cuda")(x, y)
    np.testing.assert_allclose(y, a + b)
    same(x, a * 2)


def test_a_numpy_scalar_is_a_number():
    a = np.linspace(0.1, 1, 4)
    same(tnp.jit(lambda x, s: x * s)(cupy.asarray(a), np.float64(3)), a * 3)


def test_values_that_python_needs():
    def f(x):
        while x.max() > 1:
            x = x / 2
        return x if x[0] > 0 else -x

    a = np.array([8.0, 3.0])
    jitted = tnp.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        same(jitted(cupy.asarray(a)), f(a))


def test_overlapping_arrays_are_seen():
    base = cupy.asarray(np.arange(10.0))

    def f(x, y):
        x += y

    jitted = tnp.jit(f)
    jitted(base[:5], base[5:])
    with pytest.warns(tnp.EagerFallbackWarning, match="may overlap"):
        jitted(base[:6], base[4:])
    assert disjoint(memory_of(base[4::-1]), memory_of(base[5:]))
    assert not disjoint(memory_of(base[5::-1]), memory_of(base[5:]))


def test_other_devices_run_eagerly(monkeypatch):
    f, x = tnp.jit(lambda x: x + 1), cupy.asarray(np.ones(2))
    f(x)
    monkeypatch.setattr(cupy.cuda.runtime, "getDevice", lambda: 1)
    with pytest.warns(tnp.EagerFallbackWarning, match="on device 0, which is not the current one"):
        f(x)
