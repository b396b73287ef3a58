"""Large elementwise regions on the numpy executor, block by block: the same bits, warnings, errors and memory as eager."""

import threading
import warnings

import numpy as np
import pytest

import tnp
from tnp.executors.numpy import blocks
from tnp.testing import assert_same
from tnp.transforms.subtraces import in_bodies

N = 20 * blocks.BLOCK_BYTES // 8 + 12345  # some blocks of float64 and a part of one


def values(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).uniform(0.1, 4, shape).astype(dtype)


def calls(f):
    """The calls of regions in the program that runs."""
    found = []
    in_bodies(lambda t: found.extend(t.bound_symbols) or t, tnp.last_traces(f)[-1])
    found = [*found, *tnp.last_traces(f)[-1].body]
    return [b for b in found if b.sym.name.startswith("numpy_blocks")]


def regions(f):
    """The operations of each region that is computed in blocks."""
    return [[s.sym.name for s in b.subsymbols] for b in calls(f)]


def recorded(f, *args):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = f(*args)
    return result, [(w.category, str(w.message), w.filename, w.lineno) for w in found]


def check(f, *args, count=1, singly=False):
    """``f`` on the numpy executor against eager, in results, arguments and warnings, and that it has ``count`` regions.

    ``singly``: their operations are run one by one.
    """
    jitted = tnp.jit(f, executors=["numpy"])
    for _ in range(2):
        eager, mine = ([a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
        (expected, said), (got, mine_said) = recorded(f, *eager), recorded(jitted, *mine)
        assert_same(got, expected, exact=True)
        assert_same(mine, eager, exact=True)
        assert {w[:2] for w in mine_said} == {w[:2] for w in said}
    assert len(regions(jitted)) == count, tnp.explain(jitted)
    assert all((b.sym.fn._alone is not None) == singly for b in calls(jitted))
    return jitted


def chain(a, b, c):
    return np.sqrt(a * b + c) / (a + 1.0) - b * 0.5


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex64", "complex128"])
def test_a_chain_has_the_same_bits(dtype):
    jitted = check(chain, *(values(4 * N, seed=s, dtype=dtype) for s in range(3)))
    assert regions(jitted) == [["multiply", "add", "sqrt", "add", "true_divide", "multiply", "subtract"]]


def test_integers_and_bools():
    def f(a, b):
        return ((a ^ (b << 3)) & 255) + a * b, (a > b) & ~(a == 7)

    a = np.random.default_rng(0).integers(-1000, 1000, 2 * N)
    check(f, a, a[::-1].copy())
    check(lambda a: (a + 200) * 3, a.astype(np.uint8).repeat(8))


def test_scalars_dtypes_and_bounds():
    def f(a, b, s, t):
        return ((a * t > s) * 2.5).astype(np.float32) + a.clip(0, 1) + np.clip(b, s, None) ** 2

    check(f, values(N), values(N, seed=1), 1.5, np.float32(0.3))


@pytest.mark.parametrize(
    "shape, cut",
    [
        ((600, 700), np.s_[1:-1, 1:-1]),
        ((40, 50, 300), np.s_[1:-1, 1:-1, 1:-1]),
        ((2 * N,), np.s_[::-2]),
        ((900, 700), np.s_[:, ::2]),
    ],
)
def test_views(shape, cut):
    def f(x, y):
        return (x[cut] + y[cut]) * 2 - x[cut]

    check(f, values(*shape), values(*shape, seed=1))


def test_broadcast_operands():
    def f(x, row, column, one):
        return (x - row) * column + one / 2

    check(f, values(700, 500), values(500, seed=1), values(700, 1, seed=2), values(1, 1, seed=3))


def test_orders_that_are_not_c_are_run_singly():
    x, y = values(700, 500), values(500, 700, seed=1)

    def f(x, y):
        return x.T * y + 1

    jitted = check(f, x, y, singly=True)
    assert jitted(x, np.asfortranarray(y)).flags == f(x, np.asfortranarray(y)).flags
    check(lambda x: x * 2 + 1, np.asfortranarray(x), singly=True)
    check(lambda x: x.T * 2 + 1, x, singly=True)
    check(lambda x: x[:, ::-1] * 2 + 1, values(3, 2 * N), singly=True)


def test_updates_are_computed_in_place():
    def f(x, y):
        x[1:] += 2 * y[:-1] * y[1:]
        x *= 2
        y[...] = x * y + y

    jitted = check(f, values(N), values(N, seed=1), count=2)
    x, y = values(N), values(N, seed=1)
    address = x.ctypes.data
    jitted(x, y)
    assert x.ctypes.data == address


def test_overlapping_memory():
    def f(x):
        x += x[::-1] * 3 - 1
        x[1:] = x[:-1] * 2 + x[1:]
        x[:-1] = x[1:] * 2 + x[1:]

    check(f, values(N), count=3)


def test_several_results_of_one_region():
    def f(a, b):
        u = a * b + 1
        return u, np.sqrt(u) - a

    check(f, values(N), values(N, seed=1))


def test_what_is_not_connected_is_apart():
    check(lambda a, b: (a * 2 + 1, b * 3 - 1), values(N), values(N), count=2)


def test_only_what_pays():
    check(lambda a: np.sin(np.cos(a)), values(N), count=0)
    check(lambda a: a * 2, values(N), count=0)
    check(lambda a: a * 2 + 1, values(1000), count=0)
    check(lambda a: a**3 * 2, values(N), count=0)
    check(lambda a: np.where(a > 1, a, 0.5) * 2, values(N), count=0)


def faulty(a, b):
    c = np.log(a) * 2
    d = c / b
    return np.sqrt(d) + (a + 1e308) * 10


def test_warnings_are_numpys_once_an_operation_at_the_users_lines():
    a, b = values(N), values(N, seed=1)
    a[[5, N - 5]] = 0, -1
    b[[7, N // 2]] = 0
    jitted = tnp.jit(faulty, executors=["numpy"])
    recorded(jitted, a, b)
    got, messages = recorded(jitted, a, b)
    expected, wanted = recorded(faulty, a, b)
    assert_same(got, expected, exact=True)
    assert sorted(messages) == sorted(wanted) and len(wanted) == 5
    assert len(regions(jitted)) == 1


def test_a_warning_is_shown_once_where_the_filters_say_so():
    jitted = tnp.jit(faulty, executors=["numpy"])
    a = values(N)
    a[0] = 0
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            jitted(a, a)
    assert len({(str(w.message), w.lineno) for w in found}) == len(found) > 0


@pytest.mark.parametrize("state", [{"all": "ignore"}, {"all": "raise"}, {"divide": "raise"}, {"invalid": "ignore"}])
def test_the_callers_errstate(state):
    a = values(N)
    a[[0, N - 1]] = -1, 0
    jitted = tnp.jit(faulty, executors=["numpy"])
    recorded(jitted, a, a)

    def outcome(f):
        with np.errstate(**state):
            try:
                return recorded(f, a, a)[1]
            except FloatingPointError as error:
                return str(error)

    assert outcome(jitted) == outcome(faulty)


def test_an_error_handler_is_called_as_eager_calls_it():
    a = values(N)
    a[0] = 0
    jitted = tnp.jit(faulty, executors=["numpy"])
    recorded(jitted, a, a)
    calls = {jitted: [], faulty: []}
    for f, found in calls.items():
        with np.errstate(all="call", call=lambda *what: found.append(what)):
            f(a, a)
    assert calls[jitted] == calls[faulty] != []


def test_a_warning_that_is_an_error_leaves_arguments_as_eager_does():
    def f(x, y):
        x += 1
        y[...] = np.sqrt(y) * 2

    jitted = tnp.jit(f, executors=["numpy"])
    jitted(values(N), values(N))
    pairs = []
    for g in (f, jitted):
        x, y = values(N), values(N)
        y[N - 1] = -1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match="invalid value encountered in sqrt"):
                g(x, y)
        pairs.append((x, y))
    assert_same(*pairs)


def test_errstate_in_the_program():
    def f(a):
        with np.errstate(all="ignore"):
            return np.log(a) * 2 + 1

    a = values(N)
    a[0] = 0
    jitted = check(f, a)
    assert recorded(jitted, a)[1] == []


def test_loops_and_masks():
    def f(x, n):
        for _ in range(n):
            x = x * 0.5 + x[0]
        return x

    check(f, values(N), 12)

    def masked(x):
        x[x > 2] = np.log(x[x > 2]) * 3
        return x

    check(masked, values(N), count=0)


def test_threads_have_buffers_of_their_own():
    jitted = tnp.jit(chain, executors=["numpy"])
    inputs = [[values(N, seed=10 * k + s) for s in range(3)] for k in range(4)]
    expected = [chain(*args) for args in inputs]
    results = [[] for _ in inputs]
    jitted(*inputs[0])

    def work(k):
        results[k] += [jitted(*inputs[k]) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for found, wanted in zip(results, expected):
        for x in found:
            assert_same(x, wanted, exact=True)


def test_explain_shows_the_blocks():
    jitted = check(chain, *(values(N) for _ in range(3)))
    text = str(tnp.explain(jitted))
    assert "numpy_blocks_fusion0: 7 operations" in text and "np.sqrt(t0, out=t0)" in text
