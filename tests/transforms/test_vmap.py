"""``tnp.vmap``: every prim against a loop over the batch; branches, loops, gradients; errors."""

import numpy as np
import pytest

import tnp
import tnp.extend
from tests.transforms.test_gradient_rules import CASES, rng_of
from tnp.extend import TensorProxy
from tnp.lang import numpy as lnp
from tnp.testing import assert_same

RNG = np.random.default_rng(0)
M = RNG.normal(size=(4, 3))


def one_by_one(f, *args):
    return np.stack([f(*xs) for xs in zip(*args)])


#: operations whose results have lengths that depend on values
LENGTHS_DIFFER = {"compress", "mask"}
#: calls of NumPy that cannot be mapped
CALLS = {"logaddexp.reduce", "logaddexp2.reduce"}


@pytest.mark.parametrize("name", [n for n in CASES if n not in LENGTHS_DIFFER | CALLS])
def test_every_operation(name):
    """The functions that the gradient rules are tested with, on three arguments at once."""
    f, makers = CASES[name]
    rng = rng_of(name)
    batches = [np.stack([make(rng) for _ in range(3)]) for make in makers]
    eager = tnp.jit(f, executors=["numpy"])
    expected = one_by_one(eager, *batches)
    found = tnp.jit(tnp.vmap(f), executors=["numpy"])(*batches)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    if len(batches) > 1:  # one argument the same for all
        axes = (0,) + (None,) * (len(batches) - 1)
        expected = one_by_one(lambda x: eager(x, *(b[0] for b in batches[1:])), batches[0])
        found = tnp.jit(tnp.vmap(f, axes), executors=["numpy"])(batches[0], *(b[0] for b in batches[1:]))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_axes():
    f = lambda x, y: (x.sum() * y, x[0])  # noqa: E731
    total, first = tnp.vmap(f, (1, None), (1, 0))(M, np.array([1.0, 2.0]))
    np.testing.assert_allclose(total, M.sum(0) * np.array([[1.0], [2.0]]))
    np.testing.assert_array_equal(first, M[0])
    same = tnp.vmap(lambda x, y: (x, y * 2), (0, None), (0, None))(M, 3.0)
    assert same[1] == 6.0
    np.testing.assert_array_equal(tnp.vmap(lambda x: 1.5)(M), np.full(4, 1.5))


def test_containers_and_keywords():
    found = tnp.vmap(lambda p, k: {"a": p["x"] * p["y"][0], "b": [k.sum()]})({"x": M, "y": (M[:, 0],)}, k=M)
    np.testing.assert_allclose(found["a"], M * M[:, :1])
    np.testing.assert_allclose(found["b"][0], M.sum(1))


def branching(x):
    if x.sum() > 0:
        y = x * 2
        y[0] = 5.0
    else:
        y = -x
    return y if x[0] < 1 else y + 1.0


def looping(x, n):
    y = x.copy()
    s = 0.0
    for i in range(n):
        y[i % 3] = np.sin(y[(i + 1) % 3]) + s
        s = s + 0.1 * i
    return y


def test_branches_and_loops():
    np.testing.assert_allclose(tnp.vmap(branching)(M), one_by_one(branching, M))
    np.testing.assert_allclose(tnp.vmap(looping, (0, None))(M, 12), one_by_one(lambda x: looping(x, 12), M))
    trace = tnp.trace()(tnp.vmap(looping, (0, None)), M, 12)
    assert [b.sym.name for b in trace.bound_symbols].count("for_loop") == 1


def same_gradient_for_all(x, y):
    v = np.sqrt(x * y + 3.0)
    w = v * 1.0
    w[0] = np.sin(w[1])
    if y[0] > 0.2:
        u = y * w
    else:
        u = v + 0.5
    return u.sum()


def test_branches_whose_results_are_the_same_for_all():
    for y in (np.full(3, 0.5), np.zeros(3)):
        found = tnp.vmap(tnp.grad(same_gradient_for_all), (0, None))(M, y)
        expected = one_by_one(lambda x: tnp.grad(same_gradient_for_all)(x, y), M)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def reading_a_view_in_a_loop(x):
    v = x[1:]
    x[0] = 5.0
    for _ in range(9):
        s = np.sum(v * v)
    return s


def test_a_loop_that_reads_a_view_of_what_was_written():
    expected = one_by_one(tnp.grad(reading_a_view_in_a_loop), M.copy())
    assert_same(tnp.vmap(tnp.grad(reading_a_view_in_a_loop))(M.copy()), expected)


def only_taken_raises(x, limit):
    s = x
    for i in range(4):
        if x.sum() > limit:
            s = s + x[[i]]
    return s


def test_a_side_that_no_element_takes_raises_nothing():
    limits = np.full(len(M), 1e3)
    np.testing.assert_array_equal(tnp.vmap(only_taken_raises)(M, limits), M)
    limits[1] = -1e3
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        tnp.vmap(only_taken_raises)(M, limits)


def roots(a, b):
    if a[0, 0] > 0.0:
        return np.linalg.cholesky(a)[0] * b
    return a[0] - b


def test_elements_that_do_not_take_a_side_raise_nothing():
    a = np.stack([k * np.eye(3) for k in (-1.0, 4.0, -2.0, 9.0)])
    np.testing.assert_array_equal(tnp.vmap(roots)(a, M), one_by_one(roots, a, M))
    into_a = tnp.grad(lambda a, b: roots(a, b).sum())
    np.testing.assert_allclose(tnp.vmap(into_a)(a, M), one_by_one(into_a, a, M))
    a[3, 1, 1] = -1.0
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        tnp.vmap(roots)(a, M)
    assert tnp.vmap(roots)(a[:0], M[:0]).shape == (0, 3)


def to_a_power(n, k):
    if k >= 0:
        return n**k
    return n - k


def test_integers_to_powers_that_one_side_refuses():
    n, k = np.arange(1, 13).reshape(4, 3), np.array([2, -1, 0, -3])
    np.testing.assert_array_equal(tnp.vmap(to_a_power)(n, k), one_by_one(to_a_power, n, k))


def test_positions_that_differ():
    at = np.array([2, 0, 1, 2])
    np.testing.assert_array_equal(tnp.vmap(lambda x, i: x[i])(M, at), M[np.arange(4), at])
    np.testing.assert_array_equal(tnp.vmap(lambda i: M[i], 0)(at[:3]), M[at[:3]])

    def stored(x, i):
        y = x * 1.0
        y[i] = 7.0
        return y

    np.testing.assert_array_equal(tnp.vmap(stored)(M, at), one_by_one(stored, M, at))


def test_with_gradients_and_itself():
    f = lambda x, w: np.tanh(x @ w).sum()  # noqa: E731
    w = RNG.normal(size=3)
    g = tnp.vmap(tnp.grad(f), (0, None))(M, w)
    np.testing.assert_allclose(g, one_by_one(lambda x: tnp.grad(f)(x, w), M))
    of_sum = tnp.grad(lambda w: tnp.vmap(f, (0, None))(M, w).sum())(w)
    np.testing.assert_allclose(of_sum, tnp.grad(lambda w: np.tanh(M @ w).sum())(w))
    table = tnp.vmap(tnp.vmap(lambda x, y: x * y, (None, 0)), (0, None))(M[:, 0], M[:, 1])
    np.testing.assert_allclose(table, np.outer(M[:, 0], M[:, 1]))
    jacobians = tnp.vmap(tnp.jacobian(np.sin))(M)
    np.testing.assert_allclose(jacobians, np.cos(M)[:, :, None] * np.eye(3))


def test_inside_a_jitted_function():
    @tnp.jit
    def f(x):
        return tnp.vmap(lambda row: row / np.linalg.norm(row))(x).sum(axis=0)

    np.testing.assert_allclose(f(M), (M / np.linalg.norm(M, axis=1, keepdims=True)).sum(axis=0))


def writes_outside(x, out):
    out[0] = x.sum()
    return out


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: tnp.vmap(np.sin)(2.0), "argument 0 has no axis 0: it is a float; use None"),
        (lambda: tnp.vmap(np.sin, 2)(M), r"no axis 2: it is an array of shape \(4,3\)"),
        (lambda: tnp.vmap(np.add)(M, M.T), "argument 1 has 3 elements along axis 0, others have 4"),
        (lambda: tnp.vmap(np.add, (0,))(M, M), "in_axes has 1 entries for 2 arguments"),
        (lambda: tnp.vmap(np.sin, {"x": 0})(M), "in_axes takes integers, None, and tuples of these"),
        (lambda: tnp.vmap(np.sin, None)(M), "nothing to map over"),
        (lambda: tnp.vmap(np.sin, 0, None)(M), "needs an axis in out_axes"),
        (lambda: tnp.vmap(lambda x: x[x > 0])(M), "lengths that differ"),
        (lambda: tnp.vmap(lambda x: np.packbits(x > 0))(M), "calls numpy.packbits, which is not compiled"),
        (lambda: tnp.vmap(writes_outside, (0, None))(M, np.zeros(3)), "writes to an array that it did not make"),
        (lambda: tnp.vmap(lambda x: "text")(M), "returns a str"),
    ],
)
def test_errors(call, message):
    with pytest.raises(tnp.BatchError, match=message) as caught:
        call()
    assert ".py:" in str(caught.value), "it names no line"


# Rules of extensions


def registered(name, fn, meta, **options):
    ex = tnp.extend.OperatorExecutor(f"vmap_{name}")
    return tnp.extend.register_executor(ex, replace=True).register_operator(name, fn=fn, meta=meta, **options)


def row_sums(a, b, scale=1):
    return a.sum(axis=-1) * b * scale


def test_rules_that_extensions_register():
    calls = []
    like_sum = lambda a, b, scale=1: TensorProxy(like=a, shape=a.shape[:-1])  # noqa: E731
    op = registered("row_sums", row_sums, like_sum)
    put = registered("put", lambda items: items[0] + items[1], lambda items: TensorProxy(like=items[0]))

    def rule(size, batched, a, b, scale=1):
        calls.append((size, batched))
        a = a if batched[0] else lnp.broadcast_to(a, (size, *a.shape))
        b = lnp.expand_dims(b, tuple(range(b.ndim, a.ndim - 1))) if batched[1] else b
        scale = lnp.expand_dims(scale, tuple(range(1, a.ndim - 1))) if batched[2:] == (True,) else scale
        return op(a, lnp.broadcast_to(b, a.shape[:-1]), scale)

    tnp.extend.register_vmap(op, rule)
    tnp.extend.register_vmap(put, lambda size, batched, items: calls.append(batched) or put([items[0], items[1]]))
    executors = ["vmap_row_sums", "vmap_put"]
    a, b = np.arange(24.0).reshape(4, 2, 3), np.arange(4.0)

    f = tnp.jit(tnp.vmap(lambda a, b: op(a, b)), executors=executors)
    assert_same(f(a, b), np.stack([row_sums(x, y) for x, y in zip(a, b)]))
    assert [x.sym.name for x in tnp.last_traces(f)[-1].body if x.sym.executor.name == "vmap_row_sums"] == ["row_sums"]
    g = tnp.jit(tnp.vmap(lambda a, b: op(a, 2.0, scale=b), (None, 0)), executors=executors)
    assert_same(g(a[0], b), np.stack([row_sums(a[0], 2.0, y) for y in b]))
    assert calls == [(4, (True, True)), (4, (False, False, True))]
    twice = tnp.jit(tnp.vmap(tnp.vmap(lambda a, b: op(a, b), (0, None))), executors=executors)
    assert_same(twice(a, b), np.stack([np.stack([row_sums(z, y) for z in x]) for x, y in zip(a, b)]))
    calls.clear()
    h = tnp.jit(tnp.vmap(lambda x, y: put([x, y])), executors=executors)
    assert_same(h(b, 2 * b), 3 * b)
    assert calls == [([True, True],)]


@pytest.mark.parametrize(
    "rule, said",
    [
        (lambda size, batched, a: (a, a), "gives 2 results, and the operation has 1"),
        (lambda size, batched, a: a.sum(), r'gives a "cpu f64\[\]" for t\d+, of which a batch is an array of float64 and shape \(4,3\)'),
        (lambda size, batched, a: a > 0, r'gives a "cpu b8\[4, 3\]" for'),
        (lambda size, batched, a: 5, "gives 5 for"),
    ],
)  # fmt: skip
def test_rules_of_extensions_that_do_not_what_they_must(rule, said):
    op = registered("wrong", lambda a: a, lambda a: TensorProxy(like=a))
    tnp.extend.register_vmap(op, rule)
    with pytest.raises(tnp.ExtensionError, match=f"the vmap rule of wrong {said}"):
        tnp.vmap(lambda x: op(x))(np.ones((4, 3)))
    with pytest.raises(TypeError, match="register_vmap takes a function, not int 5"):
        tnp.extend.register_vmap(op, 5)
