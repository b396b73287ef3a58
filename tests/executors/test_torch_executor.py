"""The torch executor, and how values cross between libraries."""

import concurrent.futures
import threading
import warnings

import numpy as np
import pytest

import tnp
from tnp.core import devices, dtypes, prims
from tnp.core.proxies import TensorProxy
from tnp.core.trace import Trace
from tnp.executors.base import OperatorExecutor
from tnp.testing import assert_same

X = np.arange(12.0).reshape(3, 4)


def names(f):
    """The operations that a compiled program runs, as it prints them."""
    return [b.sym.name for b in tnp.last_traces(f)[-1].body]


def executors_of(f):
    return [b.sym.executor.name for b in tnp.last_traces(f)[-1].body]


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def through_torch(f, *args):
    """Runs ``f`` eagerly and through the torch executor, twice, on copies; compares results and arguments."""
    jitted = tnp.jit(f, executors=["torch"])
    for _ in range(2):
        eager, compiled = [_copy(a) for a in args], [_copy(a) for a in args]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_same(jitted(*compiled), f(*eager))
        assert_same(compiled, eager)
    return jitted


def _copy(a):
    return _laid_out_as(a) if isinstance(a, np.ndarray) else a


def _laid_out_as(a):
    """A copy with the strides of ``a``, and writable if ``a`` is."""
    if any(s < 0 for s in a.strides):
        flip = tuple(slice(None, None, -1 if s < 0 else 1) for s in a.strides)
        return a[flip].copy()[flip]
    made = a.copy(order="K")
    made.flags.writeable = a.flags.writeable
    return made


def test_a_program_runs_in_torch(torch):
    f = through_torch(lambda x, y: np.exp(x) + y * 2, X, X)
    assert "torch" in executors_of(f)
    printed = str(tnp.last_traces(f)[-1])
    assert "import torch" in printed
    assert "torch.exp(" in printed
    assert "torch.add(" in printed


def test_one_conversion_a_value_and_direction(torch):
    f = through_torch(lambda x: (np.exp(x) + np.sin(x)) * x, X)
    assert names(f).count("to_tensor") == 1
    assert names(f).count("to_ndarray") == 1


def test_dtypes_that_torch_lacks_fall_through(torch):
    a = np.arange(5, dtype=np.uint32)
    f = through_torch(lambda a: (a + a, a == a), a)
    assert {"numpy", "torch"} <= set(executors_of(f))


@pytest.mark.parametrize(
    "a",
    [
        X[::-1], X[:, ::-1], X.T, X[::2, ::3], np.broadcast_to(np.arange(4.0), (3, 4)), np.float64(3.0), np.array(3.0),
        np.zeros((0, 4)), np.asfortranarray(X), np.uint16(3), np.array(2, np.uint64), 2.5, 7,
    ],
    ids=["negative", "negative2", "transposed", "strided", "broadcast", "scalar", "0d", "empty", "fortran", "u16", "u64",
         "float", "int"],
)  # fmt: skip
def test_arguments_of_every_layout(torch, a):
    through_torch(lambda a: (np.add(a, a), np.multiply(a, 3)), a)


def test_read_only_arguments_stay_as_they_are(torch):
    a = X.copy()
    a.flags.writeable = False

    def f(a):
        b = a * 2
        b[1] = 5
        b += a
        return b

    through_torch(f, a)
    assert_same(a, X)


@pytest.mark.parametrize("key", [slice(1, None), (slice(None), slice(None, None, -1)), (slice(None), 0), [0, 2, 2]])
@pytest.mark.parametrize("a", [X, X[::-1], X.T[:3, :3]], ids=["plain", "negative", "transposed"])
def test_writes_go_to_the_callers_memory(torch, a, key):
    def f(a):
        b = np.exp(a * 0.1)
        a[key] = b[key]
        a += 1
        return b, a * 2

    f(a.copy())
    jitted = tnp.jit(f, executors=["torch"])
    x, y = _copy(a), _copy(a)
    assert_same(jitted(x), f(y))
    assert_same(x, y)


def test_results_that_are_views_are_views(torch):
    def f(x):
        t = x * 2
        return x[1:], x[::-1], x.T, t, t[:, 1]

    x = X.copy()
    jitted = tnp.jit(f, executors=["torch"])
    a, b, c, t, u = jitted(x)
    for view in (a, b, c):
        assert np.shares_memory(view, x)
    assert np.shares_memory(t, u)
    assert not np.shares_memory(t, x)
    x[:] = 0
    assert not a.any()
    assert not b.any()


def test_results_are_memory_of_their_own(torch):
    """torch returns the argument itself from some functions; NumPy never does."""

    def f(x):
        return np.positive(x), np.conjugate(x), np.abs(x), np.floor(x), np.real(x) + 0

    x = X.copy()
    jitted = tnp.jit(f, executors=["torch"])
    for result in jitted(x):
        assert not np.shares_memory(result, x)


def test_scalars_and_zero_dimensional_arrays_come_back_as_they_should(torch):
    through_torch(lambda x: (np.add(x[0, 0], 1), x[1, 1], np.exp(x[0, 0]) * x), X)


def test_object_attributes_are_arrays_of_the_language(torch):
    class Box:
        pass

    def f(box, x):
        box.value = np.exp(x) + 1
        box.first = np.exp(x[0, 0])
        return box.value * 2

    eager, compiled = Box(), Box()
    expected = f(eager, X)
    assert_same(tnp.jit(f, executors=["torch"])(compiled, X), expected)
    assert_same(compiled.value, eager.value)
    assert_same(compiled.first, eager.first)


def test_integers_that_a_dtype_does_not_hold(torch):
    f = tnp.jit(lambda x, n: x + n, executors=["torch"])
    a = np.arange(3, dtype=np.int8)
    assert_same(f(a, 5), a + 5)
    with pytest.raises(OverflowError, match="out of bounds for int8"):
        f(a, 300)
    with pytest.raises(OverflowError, match="out of bounds for int8"):
        tnp.jit(lambda x: x + 300, executors=["torch"])(a)


@pytest.mark.parametrize("function", ["floor_divide", "remainder", "fmod", "gcd", "lcm"])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8])
def test_integer_division_that_would_end_the_process(torch, function, dtype):
    limits = np.iinfo(dtype)
    a = np.array([limits.min, limits.max, 0, 7], dtype)
    b = np.array([0, 1, limits.max, 3] if dtype is np.uint8 else [0, -1, 1, limits.min], dtype)
    with np.errstate(all="ignore"):
        through_torch(lambda a, b: getattr(np, function)(a[:, None], b[None, :]), a, b)


def test_an_index_out_of_bounds_is_numpys_error(torch):
    f = tnp.jit(lambda x, i: x[i] * 2, executors=["torch"])
    assert_same(f(X, np.array([0, -1])), X[[0, -1]] * 2)
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        f(X, np.array([0, 3]))


def test_the_last_of_equal_positions_wins_in_many(torch):
    """Above the size from which torch writes on several threads."""
    rng = np.random.default_rng(0)
    at = rng.integers(0, 50, 200_000)
    values = rng.standard_normal(200_000)

    def f(at, values):
        a = np.zeros(50)
        a[at] = values
        return a

    through_torch(f, at, values)


def test_a_user_executor_between_torch_operations_gets_ndarrays(torch):
    executor = OperatorExecutor("plain")
    kinds = []

    def run(a):
        kinds.append(type(a))
        return a * 3

    triple = executor.register_operator("triple", meta=lambda a: TensorProxy(like=a), fn=run)
    f = tnp.jit(lambda x: np.exp(triple(np.sin(x))), executors=[executor, "torch"])
    assert_same(f(X), np.exp(np.sin(X) * 3))
    assert kinds == [np.ndarray]


def test_a_user_executor_of_tensors(torch):
    executor = OperatorExecutor("tensors")
    executor.array_kind = "torch"
    relu = executor.register_operator("relu", meta=lambda a: TensorProxy(like=a), fn=torch.relu)
    f = tnp.jit(lambda x: relu(x - 5) + 1, executors=[executor])
    assert_same(f(X), np.maximum(X - 5, 0) + 1)


def test_updates_of_tensors_print_as_torch(torch):
    """A trace of a language whose arrays are tensors: nothing is converted, writes are torch's."""
    from tnp.core import views
    from tnp.core.trace import tracing
    from tnp.executors.torch import executor
    from tnp.lang.torch.registry import language
    from tnp.transforms.claim import claim

    a = TensorProxy("a", shape=(3, 4), dtype=dtypes.float64, lang=language)
    trace = Trace()
    trace.args = [a]
    with tracing(trace):
        path = views.Path([views.Step(prims.select, (0, 1)), views.Step(prims.slice, ([1], [3], None))])
        views.update(a, 7.0, path)
    claimed = claim(trace, [executor])
    printed = str(claimed)
    assert "a.select(0, 1)[1:3][...] = 7.0" in printed


@pytest.mark.parametrize("executor", ["numpy", "torch"])
@pytest.mark.parametrize(
    ("prim", "parameters", "mean", "std"), [("uniform", (2.0, 5.0), 3.5, 0.75**0.5), ("normal", (-1.0, 2.0), -1.0, 2.0)]
)
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
def test_random_prims_draw_anew_at_every_call(executor, prim, parameters, mean, std, dtype):
    if executor == "torch":
        pytest.importorskip("torch").manual_seed(0)
    np.random.seed(0)

    def f():
        return tnp.capture.active.running().call(
            prims.registry[prim], ((200, 100), *parameters), {"device": devices.cpu, "dtype": dtype}
        )

    jitted = tnp.jit(f, executors=[executor])
    first, second = jitted(), jitted()
    assert executors_of(jitted)[0] == executor
    assert first.shape == (200, 100) and first.dtype == np.dtype(dtype.name)
    assert not np.array_equal(first, second)
    np.testing.assert_allclose([first.mean(), first.std()], [mean, std], atol=0.07)
    if prim == "uniform":
        assert first.min() >= parameters[0] and first.max() < parameters[1] and first.max() > parameters[1] - 0.01


@pytest.mark.parametrize("layout", [np.s_[::-1], np.s_[::-2], np.s_[::2]])
def test_writes_to_what_torch_must_copy_show_in_the_argument(layout):
    pytest.importorskip("torch")

    def f(a, i):
        np.add.at(a, i, 1)
        a[i] *= 2

    a, b = np.arange(6.0)[layout], np.arange(6.0)[layout]
    f(a, [0, 0])
    tnp.jit(f, executors=["torch"])(b, [0, 0])
    np.testing.assert_array_equal(a, b)


def test_regions_that_are_run_singly_take_and_give_the_memory_of_tensors(torch, monkeypatch):
    def f(x, y, out):
        out += (x.tanh() * 2).sum(0)
        y.mul_(x.mean())
        return x.sin() + 1, x.sum(), np.cos(x.numpy())

    args = [torch.linspace(0, 1, 12).reshape(3, 4), torch.ones(5), torch.zeros(4)]
    ours = [a.clone() for a in args]
    monkeypatch.setattr("tnp.executors.llvm.region.SPECIALISATIONS", 0)
    jitted = tnp.jit(f)
    for mine, eager in zip((*jitted(*ours), *ours), (*f(*args), *args)):
        assert type(mine) is type(eager)
        np.testing.assert_allclose(mine, eager, rtol=1e-6)
    assert any("llvm_fusion" in name for name in names(jitted))


def test_threads_that_wait_for_native_code_run_it(torch, monkeypatch):
    def fail(self, *args):
        raise AssertionError("operations one by one")

    monkeypatch.setattr("tnp.executors.llvm.region.NativeRegion._run_singly", fail)
    jitted, x, together = tnp.jit(lambda x: x.exp() * 2), torch.ones(3), threading.Barrier(6)

    def work(i):
        together.wait()
        return jitted(x * i)

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for i, found in enumerate(pool.map(work, range(6))):
            torch.testing.assert_close(found, (x * i).exp() * 2)
