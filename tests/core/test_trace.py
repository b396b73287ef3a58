"""Traces: what they hold, how they print, and that what they print runs; the trace checker; symbols by name."""

import pickle

import numpy as np
import pytest

import tnp
from tnp.core import devices, dtypes, prims, sizes, views
from tnp.core.errors import NeedsConcreteSize, TraceCheckError
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import OpTags
from tnp.core.trace import Trace, tracing
from tnp.core.trace_check import check_trace


def fun(a, b):
    return a + b * a


@pytest.fixture
def trace():
    return tnp.trace()(fun, np.ones((2, 2)), np.ones((2, 1)))


def test_bound_symbols_and_their_subsymbols(trace):
    found = [(str(b.sym.id), [str(s.sym.id) for s in b.subsymbols]) for b in trace.bound_symbols]
    assert found == [
        ("PrimIDs.UNPACK_TRIVIAL", []),
        ("PrimIDs.UNPACK_TRIVIAL", []),
        ("numpy.multiply", ["PrimIDs.BROADCAST_IN_DIM", "PrimIDs.MUL"]),
        ("numpy.add", ["PrimIDs.ADD"]),
        ("PrimIDs.PYTHON_RETURN", []),
    ]


def test_a_trace_prints_as_python(trace):
    lines = trace.python().splitlines()
    assert lines[0].startswith("# Constructed by Capture (took ") and lines[0].endswith(" milliseconds)")
    assert lines[1:] == [
        "import tnp.lang.numpy as lnp",
        "",
        "def computation(a, b):",
        '  # a: "cpu f64[2, 2]"',
        '  # b: "cpu f64[2, 1]"',
        '  t1 = lnp.multiply(b, a)  # t1: "cpu f64[2, 2]"',
        '    # t0 = prims.broadcast_in_dim(b, (2, 2), (0, 1))  # t0: "cpu f64[2, 2]"',
        '    # t1 = prims.mul(t0, a)  # t1: "cpu f64[2, 2]"',
        '  t2 = lnp.add(a, t1)  # t2: "cpu f64[2, 2]"',
        '    # t2 = prims.add(a, t1)  # t2: "cpu f64[2, 2]"',
        "  return t2",
    ]


def test_an_acquired_trace_runs_operation_by_operation(trace):
    a, b = np.arange(4.0).reshape(2, 2), np.array([[2.0], [3.0]])
    np.testing.assert_array_equal(trace.python_callable()(a, b), fun(a, b))


def test_every_stage_is_kept_with_its_provenance():
    f = tnp.jit(fun)
    f(np.ones((2, 2)), np.ones((2, 1)))
    names = [t.provenance.name for t in tnp.last_traces(f)]
    assert names[0] == "Capture" and names[-1] == "Delete Last Used"
    assert "Transform for execution" in names


@pytest.mark.parametrize(
    "constant",
    [True, 7, -0.0, float("inf"), float("nan"), 1 + 2j, complex(0, float("inf")), "a'b", b"x", None, ..., slice(1, None, 2),
     (1,), [], {"k": (1, 2)}, np.float32(0.1), np.dtype("f4"), np.int64, dtypes.bool8, dtypes.complex64, devices.Device("cuda:1")],
    ids=repr,
)  # fmt: skip
def test_constants_print_as_what_they_are(constant):
    trace = Trace()
    with tracing(trace):
        prims.python_return((constant,))
    (result,) = trace.python_callable()()
    assert repr(result) == repr(constant) and type(result) is type(constant)


def test_prims_are_reached_by_id_and_by_name():
    assert prims.PrimIDs.ADD is prims.add.id
    assert str(prims.PrimIDs.ADD) == "PrimIDs.ADD"
    assert prims.registry["unfold"] is prims.unfold
    with pytest.raises(AttributeError, match="no prim with the id NOTHING"):
        _ = prims.PrimIDs.NOTHING
    assert OpTags.SHAPE_OP in prims.unfold.tags


def test_ids_dtypes_devices_and_symbols_pickle_as_themselves():
    for x in (prims.PrimIDs.MUL, dtypes.float32, dtypes.bool8, devices.Device("cuda:3"), prims.add, tnp.lang.numpy.sin):
        assert pickle.loads(pickle.dumps(x)) is x


def test_devices_are_checked():
    assert devices.Device("cuda") is devices.Device("cuda:0")
    with pytest.raises(ValueError, match="no such device: 'gpu'"):
        devices.Device("gpu")


def test_metas_refuse_what_does_not_fit():
    def array(*shape, dtype=dtypes.float64):
        return TensorProxy(shape=shape, dtype=dtype)

    for call, error, message in (
        (lambda: prims.add(array(2), array(3)), ValueError, "one shape"),
        (lambda: prims.add(array(2), array(2, dtype=dtypes.int64)), TypeError, "one dtype"),
        (lambda: prims.sin(array(2, dtype=dtypes.int64)), TypeError, "sin does not take int64"),
        (lambda: prims.reshape(array(6), (4,)), ValueError, "cannot reshape"),
        (lambda: prims.transpose(array(2, 3), (0, 0)), ValueError, "not a permutation"),
        (lambda: prims.unfold(array(8), 0, 10, 1), RuntimeError, "Maximum size for tensor at dimension 0 is 8 but size is 10"),
        (lambda: prims.unfold(array(8), 1, 2, 1), IndexError, r"Dimension out of range \(expected to be in range of \[-1, 0\]"),
        (lambda: prims.amax(array(0), (0,)), ValueError, "no identity"),
        (lambda: prims.cholesky(array(2, 3)), ValueError, "square"),
    ):  # fmt: skip
        with tracing(Trace()), pytest.raises(error, match=message):
            call()


def test_the_checker_finds_what_is_wrong():
    trace = Trace()
    with tracing(trace):
        a = TensorProxy("a", shape=(2,), dtype=dtypes.float64)
        b = prims.sin(a)
        prims.python_return(b)
    with pytest.raises(TraceCheckError, match="a is used before it is defined"):
        check_trace(trace)
    trace.args.append(a)
    check_trace(trace)
    trace.bound_symbols.insert(1, trace.bound_symbols[0])
    with pytest.raises(TraceCheckError, match="defined twice"):
        check_trace(trace)
    del trace.bound_symbols[1:]
    with pytest.raises(TraceCheckError, match="does not end with its return"):
        check_trace(trace)


def size(name, bound):
    return NumberProxy(name, int, bound=bound)


def test_sizes_answer_yes_no_or_not_known():
    n, m = size("n", 5), size("m", 7)
    assert sizes.equal(n, n) is True
    assert sizes.equal(n, size("n", 5)) is True
    assert sizes.equal(n, m) is None
    assert sizes.equal(n, 6) is False, "a size is never beyond its bound"
    assert sizes.equal(4, n) is None
    assert sizes.shapes_equal((n, 3), (n, 3)) is True
    assert sizes.shapes_equal((n, 3), (m, 4)) is False
    assert sizes.shapes_equal((n, 3), (m, 3)) is None
    assert sizes.broadcast((n, 1), (1, 4)) == (n, 4)
    assert sizes.broadcast((n,), (5,)) == (5,)
    assert sizes.broadcast((n,), (9,)) == sizes.broadcast((9,), (n,)) == (9,), "it may be 1"
    assert sizes.bound(n) == 5 and sizes.is_known((2, 3)) and not sizes.is_known((n,))
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(n,8\) \(9,\)"):
        sizes.broadcast((n, 8), (9,))
    with pytest.raises(NeedsConcreteSize, match=r"sorting needs sizes that are known before it runs, not \(n,2\)"):
        sizes.concrete((n, 2), "sorting")


def test_products_of_sizes_are_sizes():
    with tracing(Trace()):
        n = size("n", 5)
        assert sizes.product((2, 3)) == 6
        assert sizes.product((n,)) is n
        assert sizes.product((n, 0)) == 0
        assert sizes.bound(sizes.product((2, n, 3))) == 30


def test_programs_with_sizes_that_depend_on_values():
    def f(x, y):
        kept = x[x > 0]
        positions = np.nonzero(x > 0)[0]
        return kept * 2 + y[positions], kept.sum(), np.sort(kept)[::-1], len(kept), kept.shape

    jitted = tnp.jit(f)
    for seed in range(4):
        x, y = np.random.default_rng(seed).normal(size=(2, 9))
        for a, e in zip(jitted(x, y), f(x, y), strict=True):
            np.testing.assert_array_equal(a, e)
            assert type(a) is type(e)
    assert tnp.cache_info(jitted).misses == 1 and tnp.last_traces(jitted)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_what_an_executor_claims_stands_for_the_operation_and_has_its_tags(library):
    def f(x, y):
        x[0] = 2
        return y @ y

    array = getattr(pytest.importorskip(library), {"numpy": "asarray", "torch": "from_numpy"}[library])
    jitted = tnp.jit(f, executors=[library])
    x, y = (array(np.eye(3)) for _ in range(2))
    np.testing.assert_array_equal(jitted(x, y), np.eye(3))
    claimed = {b.operation: b.sym for b in tnp.last_traces(jitted)[-1].body if b.sym.executor is not None}
    store, product = claimed[views.update], next(s for s in claimed.values() if OpTags.PRODUCT in s.tags)
    assert store.implements is views.update and OpTags.UPDATE in store.tags
    assert product is not product.implements and OpTags.PRODUCT in product.implements.tags
