"""``tnp.extend.operation``: any callable as an operation of programs."""

import numpy as np
import pytest

import tnp
from tnp.extend import OpTags, TensorProxy, operation, operation_of
from tnp.testing import assert_same

X = np.linspace(0.1, 1, 6)


def opaque(a):
    """Reads memory, as functions in C do."""
    return np.asarray(memoryview(np.ascontiguousarray(a)))


def compiled(f, *args):
    jitted = tnp.jit(f, strict=True)
    for _ in range(2):
        assert_same(jitted(*args), f(*args))
    return jitted


def test_a_ufunc_needs_no_meta():
    special = pytest.importorskip("scipy.special")
    operation(special.ellipkm1, grad=lambda g, x: g * x)
    compiled(lambda x: special.ellipkm1(x) * 2 + 1, X)
    compiled(lambda x: special.ellipkm1(x.astype("f")), X)
    compiled(lambda x: special.ellipkm1(x[0]), X)
    compiled(lambda x: x * special.ellipkm1(0.5), X)
    assert_same(tnp.grad(lambda x: special.ellipkm1(x).sum())(X), X)
    with pytest.warns(tnp.EagerFallbackWarning, match="passes out"):
        tnp.jit(lambda x: special.ellipkm1(x, out=np.empty(6)))(X)


class Unhashable:
    __hash__ = None

    def __init__(self):
        self.calls = 0

    def __call__(self, a, b):
        self.calls += 1
        return opaque(a) + b, a.sum()


def test_an_object_with_several_results():
    f = operation(
        Unhashable(),
        meta=lambda a, b: (a, TensorProxy(like=a, shape=(), scalar=True)),
        grad=lambda g, a, b: (g[0] + g[1] * (a * 0 + 1), g[0]),
    )
    jitted = compiled(lambda x, b: f(x * 2, b)[0] * f(x, b)[1], X, 3.0)
    before = f.calls
    jitted(X, 4.0)
    assert f.calls == before + 2
    a, b = tnp.grad(lambda x, b: f(x, b)[0].sum() + f(x, b)[1], (0, 1))(X, np.ones(1))
    assert_same(a, np.full(6, 2.0))
    assert_same(b, np.array([6.0]))


def test_a_decorator_and_an_operation_in_its_gradient():
    @operation(meta=lambda a: a, grad=lambda g, a: operation_of(reverse)(g))
    def reverse(a):
        return opaque(a)[::-1]

    def f(x):
        return (reverse(np.sin(x)) * np.arange(6.0)).sum()

    compiled(f, X)
    assert_same(tnp.grad(f)(X), np.arange(6.0)[::-1] * np.cos(X))


def test_functions_of_the_libraries_in_a_gradient():
    special = pytest.importorskip("scipy.special")

    def f(x):
        return opaque(x)

    def slope(g, x):
        return g * operation_of(special.erf)(x) + operation_of(np.cumsum)(x)

    operation(f, meta=lambda x: x, grad=slope)
    got = tnp.grad(lambda x: f(x).sum())(X)
    np.testing.assert_allclose(got, special.erf(X) + np.cumsum(X), rtol=1e-14)
    assert operation_of(print) is None


def test_an_operation_that_is_registered_again():
    def f(x):
        return opaque(x)

    operation(f, meta=lambda x: x, grad=lambda g, x: g * 2)
    g = tnp.grad(lambda x: f(x).sum())
    assert g(X)[0] == 2
    operation(f, meta=lambda x: x, grad=lambda g, x: g * 3)
    assert g(X)[0] == 3


def test_a_batch_rule():
    def rows(a):
        return opaque(a).sum(axis=-1)

    operation(
        rows,
        meta=lambda a: TensorProxy(like=a, shape=a.shape[:-1]),
        vmap=lambda size, batched, a: operation_of(rows)(a),
    )
    table = np.arange(24.0).reshape(2, 3, 4)
    assert_same(tnp.jit(tnp.vmap(lambda a: rows(a * 2)))(table), table.sum(-1) * 2)


def test_an_effect_is_called_each_time():
    seen = []

    def note(a):
        seen.append(a.copy())
        return opaque(a) * 1

    operation(note, meta=lambda a: a, tags=[OpTags.EFFECT])
    jitted = tnp.jit(lambda x: note(x * 2) + 1)
    for _ in range(3):
        assert_same(jitted(X), X * 2 + 1)
    assert len(seen) == 3


def test_other_sizes_and_dtypes():
    double = operation(lambda a: opaque(a) * 2, meta=lambda a: a, name="double")
    jitted = tnp.jit(lambda x: double(x + 1), strict=True)
    for n in range(3, 9):
        assert_same(jitted(np.ones(n)), np.full(n, 4.0))
    assert_same(jitted(np.ones(3, "f")), np.full(3, 4.0, "f"))


def test_without_a_gradient():
    f = operation(lambda a: opaque(a) * 2, meta=lambda a: a)
    with pytest.raises(tnp.GradientError):
        tnp.grad(lambda x: f(x).sum())(X)


def test_bad_input():
    with pytest.raises(TypeError, match="takes a function"):
        operation(3, meta=lambda a: a)
    with pytest.raises(ValueError, match="needs meta="):
        operation(lambda a: a)
    f = operation(lambda a: opaque(a)[:2], meta=lambda a: a)
    with pytest.raises(tnp.extend.ExtensionError, match="meta promises"):
        tnp.jit(lambda x: f(x) + 1)(X)
