"""What ``tnp.grad`` and its like take and give: structures, compositions with each other and with jit, errors."""

import collections
import functools
import inspect
import pickle
import warnings
from typing import NamedTuple

import numpy as np
import pytest

import tnp
from tnp.core import prims
from tnp.core.prims import make_prim
from tnp.core.proxies import TensorProxy
from tnp.testing import assert_same
from tnp.testing.gradients import check_gradients, check_jvp, numerical_gradient
from tnp.transforms.autodiff import grad_rules


def energy(x):
    return (np.sin(x) * x).sum()


def slope(x):
    return np.cos(x) * x + np.sin(x)


def curvature(x):
    return 2 * np.cos(x) - np.sin(x) * x


X = np.linspace(-1.0, 2.0, 5)


# Arguments and results


class Point(NamedTuple):
    x: np.ndarray
    y: float


def test_values_are_what_scipy_takes():
    value, gradient = tnp.value_and_grad(energy)(X)
    assert type(value) is np.float64 and type(gradient) is np.ndarray
    np.testing.assert_allclose(value, energy(X))
    np.testing.assert_allclose(gradient, slope(X))
    gradient += 1  # it is nobody else's


def test_argnums_in_any_order():
    def f(a, b, c):
        return (a * b).sum() * c

    a, b = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    found = tnp.grad(f, (2, 0))(a, b, 2.0)
    assert found[0] == 13.0 and type(found[0]) is np.float64
    np.testing.assert_array_equal(found[1], 2 * b)
    assert isinstance(tnp.grad(f, (1,))(a, b, 2.0), tuple)
    np.testing.assert_array_equal(tnp.grad(f, -2)(a, b, 2.0), 2 * a)
    np.testing.assert_array_equal(tnp.grad(f)(a, b, c=2.0), 2 * b)


def test_containers_keep_their_structure():
    def f(p):
        return (p["w"][0] @ p["x"].x).sum() * p["x"].y + p["b"][0][1] * p["o"]["k"].sum()

    k = np.array([1.0, 2.0])
    p = {
        "w": (np.eye(2) * 2, None), "x": Point(np.ones(2), 3.0), "b": [[1.0, 2.0]],
        "o": collections.OrderedDict(k=k),
    }  # fmt: skip
    g = tnp.grad(f)(p)
    assert list(g) == list(p) and type(g["x"]) is Point and type(g["o"]) is collections.OrderedDict
    assert g["w"][1] is None and g["b"] == [[0.0, 3.0]] and g["x"].y == 4.0
    np.testing.assert_array_equal(g["w"][0], np.full((2, 2), 3.0))
    np.testing.assert_array_equal(g["x"].x, [6.0, 6.0])
    np.testing.assert_array_equal(g["o"]["k"], [2.0, 2.0])


def test_has_aux():
    def f(x):
        return energy(x), {"x": x * 2, "n": 3}

    gradient, aux = tnp.grad(f, has_aux=True)(X)
    np.testing.assert_allclose(gradient, slope(X))
    np.testing.assert_array_equal(aux["x"], X * 2)
    (value, aux), _ = tnp.value_and_grad(f, has_aux=True)(X)
    assert aux["n"] == 3 and np.isclose(value, energy(X))


def test_dtypes_are_those_of_the_arguments():
    def f(a, b):
        return (a * b).sum() * 2.0

    for a, b in (("float32", "float64"), ("float16", "float32"), ("float32", "float32")):
        found = tnp.grad(f, (0, 1))(np.ones(3, a), np.ones(3, b))
        assert [g.dtype.name for g in found] == [a, b]
    assert type(tnp.grad(lambda x: x * x)(np.float32(2))) is np.float32
    zero_d = tnp.grad(lambda x: x * x)(np.array(3.0))
    assert type(zero_d) is np.ndarray and zero_d.shape == ()


def test_what_nothing_depends_on_has_a_gradient_of_zeros():
    gradients = tnp.grad(lambda x, y: 3.0, (0, 1))(X, 2.0)
    np.testing.assert_array_equal(gradients[0], np.zeros(5))
    assert gradients[1] == 0.0


def test_gradients_do_not_share_memory():
    a, b = tnp.grad(lambda x, y: (x + y).sum(), (0, 1))(X, X.copy())
    assert not np.shares_memory(a, b) and a.flags.writeable and b.flags.writeable
    assert tnp.grad(lambda x: x.sum())(X).flags.writeable


def test_numbers():
    def f(a, b):
        return a**3 / b + np.sin(a) * b

    da, db = tnp.grad(f, (0, 1))(1.5, 2.0)
    assert np.isclose(da, 3 * 1.5**2 / 2 + np.cos(1.5) * 2) and np.isclose(db, -(1.5**3) / 4 + np.sin(1.5))

    def of_numbers_alone(a):
        import math

        return math.sin(a) * a if a > 0 else -a

    assert np.isclose(tnp.grad(of_numbers_alone)(1.0), np.cos(1) + np.sin(1))
    assert tnp.grad(of_numbers_alone)(-1.0) == -1.0


def test_a_number_multiplies_arrays():
    np.testing.assert_allclose(tnp.grad(lambda c, x: (np.sin(c * x) ** 2).sum())(0.5, X), (np.sin(X) * X).sum())
    assert tnp.grad(lambda c, x: (c * x).sum())(0.5, X.astype(np.float32)).dtype == np.float64


def test_other_values_of_arguments_run_the_same_program():
    g = tnp.grad(lambda x, c: (x * c).sum())
    for c in (1.0, 2.0, 3.0):
        np.testing.assert_array_equal(g(X, c), np.full(5, c))
    assert tnp.cache_info(g) == (2, 1, 1)
    assert tnp.grad(energy) is tnp.grad(energy)


class Model:
    def __init__(self, w):
        self.w = w

    def loss(self, x):
        return (self.w * x**2).sum()


def test_methods_are_of_their_objects():
    for w in (1.0, 3.0):
        np.testing.assert_array_equal(tnp.grad(Model(w).loss)(X), 2 * w * X)
    partial = functools.partial(lambda w, x: (w * x).sum(), 2.0)
    np.testing.assert_array_equal(tnp.grad(partial)(X), np.full(5, 2.0))


# Functions that write


def test_arguments_are_left_alone():
    def f(x):
        x[1:] *= x[:-1]
        x += 1
        return (x**2).sum()

    x = X.copy()
    expected = numerical_gradient(lambda x: f(x.copy()), [X], 0)
    np.testing.assert_allclose(tnp.grad(f)(x), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(x, X)


def test_vjp_and_jvp_leave_arguments_alone():
    def f(x):
        x *= x
        return x

    x = X.copy()
    value, pull = tnp.vjp(f, x)
    np.testing.assert_allclose(value, X**2)
    x[:] = 0  # the point stays what it was
    np.testing.assert_allclose(pull(np.ones(5))[0], 2 * X)
    x[:] = X
    np.testing.assert_allclose(tnp.jvp(f, (x,), (np.ones(5),))[1], 2 * X)
    np.testing.assert_array_equal(x, X)

    def traced(x):
        value, pull = tnp.vjp(f, x)
        return value, pull(value)[0], x

    value, cotangent, left = tnp.jit(traced)(x)
    np.testing.assert_allclose(cotangent, 2 * X**3)
    np.testing.assert_array_equal(left, X)


def test_other_arguments_are_written_as_ever():
    def f(x, out):
        np.sin(x, out=out)
        out[0] = 5.0
        return (out * x).sum()

    out = np.zeros(5)
    g = tnp.grad(f)(X, out)
    np.testing.assert_allclose(out, [5.0, *np.sin(X[1:])])
    np.testing.assert_allclose(g, np.where(np.arange(5) == 0, 5.0, np.sin(X) + np.cos(X) * X))


def through_views(x):
    table = np.zeros((3, 4))
    table[::2, 1:3] = x.reshape(2, 2)
    table.T[0] += table[:, 1] * 2
    row = table[0]
    row[1:] *= row[:-1]
    flat = table.reshape(-1)
    flat[5:7] = x[:2] * x[2:]
    table[table < 0] = 0.5
    return np.sqrt(table + 1).sum()


def test_writes_through_views():
    check_gradients(through_views, [np.array([0.5, 1.5, 0.7, 0.3])])


def test_reshaped_cotangents_are_written_in_any_layout():
    def f(x):
        y = x * 1.0
        y.reshape(-1)[3:5] = 2.0
        return (y.T @ np.array([1.0, 2.0])).sum()

    check_gradients(f, [np.arange(6.0).reshape(2, 3)])


# Compositions


def test_with_jit():
    np.testing.assert_allclose(tnp.jit(tnp.grad(energy))(X), slope(X))
    np.testing.assert_allclose(tnp.grad(tnp.jit(energy))(X), slope(X))
    np.testing.assert_allclose(tnp.jit(tnp.grad(tnp.jit(energy)), executors=["numpy"])(X), slope(X))


def descend(x, rate, steps):
    for _ in range(steps):
        x = x - rate * tnp.grad(energy)(x)
    return x


def test_inside_a_jitted_function():
    expected = X
    for _ in range(20):
        expected = expected - 0.1 * slope(expected)
    jitted = tnp.jit(descend)
    np.testing.assert_allclose(jitted(X, 0.1, 20), expected)
    assert any(b.sym.name == "for_loop" for b in tnp.last_traces(jitted)[0].bound_symbols)
    check_gradients(lambda x: (descend(x, 0.1, 12) ** 2).sum(), [X], order=1)


def test_higher_orders():
    twice = tnp.grad(lambda x: tnp.grad(energy)(x).sum())
    np.testing.assert_allclose(twice(X), curvature(X))
    g = lambda x: x**5  # noqa: E731
    for factor, power in ((5, 4), (20, 3), (60, 2), (120, 1)):
        g = tnp.grad(g)
        np.testing.assert_allclose(g(1.5), factor * 1.5**power)


def test_variables_of_different_gradients_are_not_confused():
    """The classic: d/dx (x * d/dy (x + y)) is 1, not 2."""
    assert tnp.grad(lambda x: x * tnp.grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert tnp.grad(lambda x: x * tnp.grad(lambda y: x * y)(x))(3.0) == 6.0


def test_second_derivatives_where_cotangents_vanish():
    h = tnp.hessian(lambda x: ((x / np.array([2.0, 4.0])) ** 2).sum())(np.zeros(2))
    np.testing.assert_allclose(h, np.diag([0.5, 0.125]))


def test_jvp_vjp_and_jacobians_agree():
    def f(x, y):
        return np.outer(np.sin(x), y) * x[0]

    x, y = X[:3], X[1:]
    jx, jy = tnp.jacobian(f, (0, 1))(x, y)
    assert jx.shape == (3, 4, 3) and jy.shape == (3, 4, 4)
    tx, ty = np.cos(x), np.cos(y)
    value, tangent = tnp.jvp(f, (x, y), (tx, ty))
    np.testing.assert_allclose(value, f(x, y))
    np.testing.assert_allclose(tangent, jx @ tx + jy @ ty)
    value, pull = tnp.vjp(f, x, y)
    seed = np.cos(value * 3)
    bx, by = pull(seed)
    np.testing.assert_allclose(bx, np.einsum("ij,ijk->k", seed, jx))
    np.testing.assert_allclose(by, np.einsum("ij,ijk->k", seed, jy))
    check_jvp(f, [x, y])


def test_jacobians_of_containers():
    def f(p):
        return {"sum": p["a"].sum() * p["b"], "all": (p["a"] ** 2, 3.0)}

    found = tnp.jacobian(f)({"a": np.array([1.0, 2.0]), "b": 3.0})
    np.testing.assert_array_equal(found["sum"]["a"], [3.0, 3.0])
    assert found["sum"]["b"] == 3.0
    np.testing.assert_array_equal(found["all"][0]["a"], np.diag([2.0, 4.0]))
    np.testing.assert_array_equal(found["all"][0]["b"], [0.0, 0.0])
    np.testing.assert_array_equal(found["all"][1]["a"], [0.0, 0.0])


def rosenbrock(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def test_hessian():
    from scipy.optimize import rosen_der, rosen_hess

    np.testing.assert_allclose(tnp.grad(rosenbrock)(X), rosen_der(X))
    for h in (tnp.hessian(rosenbrock), tnp.jit(tnp.hessian(rosenbrock)), tnp.jacobian(tnp.jacobian(rosenbrock))):
        np.testing.assert_allclose(h(X), rosen_hess(X))


def test_complex_step():
    """The derivative of an analytic function, exact to rounding: Im f(x + ih) / h."""

    def f(x):
        return np.exp(np.sin(x)) / (x**2 + 1) + np.sqrt(x + 2) * np.tanh(x)

    expected = f(X + 1e-30j).imag / 1e-30
    np.testing.assert_allclose(tnp.jvp(f, (X,), (np.ones(5),))[1], expected, rtol=1e-14)
    np.testing.assert_allclose(tnp.grad(lambda x: f(x).sum())(X), expected, rtol=1e-14)


# Complex numbers: torch's convention


def test_the_gradient_by_a_complex_array_is_the_direction_of_steepest_ascent():
    z = X + 0.5j * X[::-1]
    np.testing.assert_allclose(tnp.grad(lambda z: (np.abs(z) ** 2).sum())(z), 2 * z)
    np.testing.assert_allclose(tnp.grad(lambda z: (z * z).real.sum())(z), np.conj(2 * z))
    value, pull = tnp.vjp(lambda z: np.exp(z) * 2j, z)
    (g,) = pull(np.ones(5, complex))
    np.testing.assert_allclose(g, np.conj(value))


def test_real_arrays_in_complex_programs_have_real_gradients():
    g = tnp.grad(lambda x: (np.abs(np.fft.fft(x * 1j)) ** 2).sum())(X)
    assert g.dtype == np.float64
    np.testing.assert_allclose(g, 2 * X.size * X)


# No traps


def test_no_nan_comes_from_what_is_not_used():
    x = np.array([0.0, -1.0, 4.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        root = tnp.grad(lambda x: np.where(x > 0, np.sqrt(x), 0.0).sum())(x)
        log = tnp.grad(lambda x: np.where(x > 0, np.log(x), x).sum())(x)
        ratio = tnp.grad(lambda x: np.where(x != 0, 1 / x, x).sum())(x)
        power = tnp.grad(lambda x: np.where(x > 0, x**0.3, x).sum())(x)
    np.testing.assert_allclose(root, [0.0, 0.0, 0.25])
    np.testing.assert_allclose(log, [1.0, 1.0, 0.25])
    np.testing.assert_allclose(ratio, [1.0, -1.0, -1 / 16])
    np.testing.assert_allclose(power, [1.0, 1.0, 0.3 * 4**-0.7])


def test_the_norm_of_zeros_has_a_subgradient():
    np.testing.assert_array_equal(tnp.grad(np.linalg.norm)(np.zeros(3)), np.zeros(3))
    np.testing.assert_array_equal(tnp.hessian(lambda x: x @ x + np.linalg.norm(x))(np.zeros(2)), 2 * np.eye(2))


def test_products_with_zeros():
    x = np.array([2.0, 0.0, 3.0])
    np.testing.assert_array_equal(tnp.grad(np.prod)(x), [0.0, 6.0, 0.0])
    np.testing.assert_array_equal(tnp.grad(lambda x: np.cumprod(x).sum())(x), [1.0, 8.0, 0.0])
    np.testing.assert_array_equal(tnp.grad(np.prod)(np.zeros(2)), [0.0, 0.0])


def test_equals_share():
    np.testing.assert_array_equal(tnp.grad(np.max)(np.array([1.0, 3.0, 3.0])), [0.0, 0.5, 0.5])
    np.testing.assert_array_equal(tnp.grad(lambda x: np.maximum(x, 1.0).sum())(np.array([0.0, 1.0, 2.0])), [0, 0.5, 1])
    np.testing.assert_array_equal(tnp.grad(lambda x: np.abs(x).sum())(np.zeros(2)), [0.0, 0.0])


# Beside torch


def test_as_torch_autograd():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(4, 4)), rng.normal(size=(4, 3))
    z = a + 1j * rng.normal(size=(4, 4))
    h = a @ a.T + np.eye(4)
    pairs = [
        (lambda a, b: (np.tanh(a @ b) ** 2).sum(), lambda a, b: (torch.tanh(a @ b) ** 2).sum(), (a, b)),
        (lambda h: np.linalg.cholesky(h)[2].sum(), lambda h: torch.linalg.cholesky(h)[2].sum(), (h,)),
        (lambda a: np.linalg.svd(a)[1][1], lambda a: torch.linalg.svd(a)[1][1], (a,)),
        (lambda a: np.linalg.slogdet(a)[1], lambda a: torch.linalg.slogdet(a)[1], (a,)),
        (lambda a, b: np.linalg.solve(a, b).sum(), lambda a, b: torch.linalg.solve(a, b).sum(), (a, b)),
        (lambda z: np.abs(np.fft.fft(z) * z).sum(), lambda z: torch.abs(torch.fft.fft(z) * z).sum(), (z,)),
        (lambda z: np.linalg.inv(z).imag.sum(), lambda z: torch.linalg.inv(z).imag.sum(), (z,)),
        (lambda a: a.max() + np.cumprod(a).sum(), lambda a: a.max() + torch.cumprod(a.ravel(), 0).sum(), (a,)),
        (lambda z: (np.angle(z) * z.real).sum(), lambda z: (torch.angle(z) * z.real).sum(), (z,)),
        (lambda a: (a**3 / (1 + a * a)).std(), lambda a: (a**3 / (1 + a * a)).std(correction=0), (a,)),
    ]
    for ours, theirs, args in pairs:
        tensors = [torch.tensor(x, requires_grad=True) for x in args]
        theirs(*tensors).backward()
        found = tnp.grad(ours, tuple(range(len(args))))(*args)
        for g, t in zip(found, tensors):
            np.testing.assert_allclose(g, t.grad.numpy(), rtol=1e-9, atol=1e-12, err_msg=inspect.getsource(theirs))


# Rules of extensions


def test_a_rule_in_the_form_of_the_operation():
    softplus = make_prim("test.softplus", "softplus", meta=lambda a: TensorProxy(like=a))

    def softplus_grad(a):
        fwd = softplus(a)
        e = prims.exp(prims.neg(a))
        tnp.put_grads((a,), (prims.div(tnp.get_grad(fwd), prims.add(e, 1.0)),))
        return fwd

    tnp.register_grad(softplus, softplus_grad)
    try:
        trace = tnp.trace()(tnp.grad(lambda x: (softplus(x) * 2.0).sum()), X)
        assert [b.sym.name for b in trace.bound_symbols].count("softplus") == 1
        assert "exp" in str(trace)
    finally:
        del grad_rules["test.softplus"]


def test_a_rule_may_compute_the_result_with_more_beside_it():
    pair = make_prim("test.pair", "root_and_half", meta=lambda a: (TensorProxy(like=a), TensorProxy(like=a)))
    root = make_prim("test.root", "root", meta=lambda a: TensorProxy(like=a))

    def root_grad(a):
        fwd, half = pair(a)
        tnp.put_grad(a, prims.mul(tnp.get_grad(fwd), half))
        return fwd

    tnp.register_grad("test.root", root_grad)
    try:
        trace = tnp.trace()(tnp.value_and_grad(lambda x: root(x).sum()), X)
        names = [b.sym.name for b in trace.bound_symbols]
        assert "root" not in names and names.count("root_and_half") == 1
    finally:
        del grad_rules["test.root"]


def test_get_grad_is_for_rules():
    with pytest.raises(RuntimeError, match="for gradient rules"):
        tnp.get_grad(None)


# Traces


def test_traces_are_short():
    g = tnp.grad(lambda x: (np.exp(x) * x).sum())
    g(X)
    names = [b.sym.name for b in tnp.last_traces(g)[0].body]
    assert names.count("exp") <= 2  # computed, and looked up
    assert len(tnp.last_traces(g)[-1].body) <= 4  # one region, and a del


def test_derivatives_pickle():
    g = pickle.loads(pickle.dumps(tnp.grad(rosenbrock)))
    np.testing.assert_array_equal(g(X), tnp.grad(rosenbrock)(X))


def test_functions_that_were_differentiated_pickle():
    import cloudpickle  # of the test extra

    scale = 3.0
    f = lambda x: (x * scale).sum()  # noqa: E731
    tnp.grad(f)(X)
    again = pickle.loads(cloudpickle.dumps(f))
    np.testing.assert_array_equal(tnp.grad(again)(X), np.full(5, 3.0))
    assert tnp.grad(again) is not tnp.grad(f)


def test_a_function_that_wraps_another_has_a_derivative_of_its_own():
    def f(x):
        return (x * x).sum()

    tnp.grad(f)(X)

    @functools.wraps(f)
    def wrapping(x):
        return 3 * f(x)

    np.testing.assert_allclose(tnp.grad(wrapping)(X), 6 * X)
    assert tnp.grad(wrapping) is tnp.grad(wrapping)
    np.testing.assert_allclose(tnp.grad(f)(X), 2 * X)


def test_value_and_gradient_are_one_run():
    value, gradient = tnp.value_and_grad(lambda x, rng: (x * rng.normal(size=5)).sum())(X, np.random.default_rng(1))
    np.testing.assert_array_equal(gradient, np.random.default_rng(1).normal(size=5))
    np.testing.assert_allclose(value, (X * gradient).sum())


# Errors


def line_of(f, text):
    source, start = inspect.getsourcelines(f)
    return start + next(i for i, line in enumerate(source) if text in line)


def uses_opaque(x):
    y = x * 2
    return np.i0(y).sum()


def needs_value(x):
    return x.sum() * len(np.tile(x, int(abs(x.sum())) + 9))


def draws_in_a_loop(x, rng):
    for _ in range(12):
        x = x * rng.normal(size=5)
    return x.sum()


def specialised(x, n):
    return np.linalg.norm(x, n)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: tnp.grad(energy)(np.arange(3)), r"argument 0 is an array of int64; convert it with .astype"),
        (lambda: tnp.grad(lambda x: x * 2)(3), r"argument 0 is a Python int; pass a float"),
        (lambda: tnp.grad(lambda p: p["a"])({"a": True}), r"argument 0\['a'\] is a Python bool"),
        (lambda: tnp.grad(lambda x, s: x, 1)(1.0, "text"), r"arrays, numbers and containers of them, and argument 1 is a str"),
        (lambda: tnp.grad(np.sin)(X), r"this one has an array of shape \(5,\); sum it, or use tnp.jacobian or tnp.vjp"),
        (lambda: tnp.grad(lambda x: np.argmax(x))(X), r"real floating-point value, and this one's is int64"),
        (lambda: tnp.grad(lambda z: (z * z).sum())(X + 1j), r"real floating-point value, and this one's is complex128"),
        (lambda: tnp.grad(lambda x: [x.sum()])(X), r"a real scalar for its value, not a list"),
        (lambda: tnp.grad(lambda x: None)(X), r"a real scalar for its value, not a NoneType"),
        (lambda: tnp.grad(energy, 1)(X), r"no positional argument 1: there are 1"),
        (lambda: tnp.grad(energy, has_aux=True)(X), r"needs a function that returns a pair"),
        (lambda: tnp.vjp(np.sin, X)[1](np.ones(4)), r"an array of shape \(4,\) stands for one of \(5,\)"),
        (lambda: tnp.jvp(np.sin, (X,), (X, X)), r"needs 1 tangents, not 2"),
        (lambda: tnp.jacobian(lambda x: x * 1j)(X), r"real floating-point values"),
        (lambda: tnp.grad(uses_opaque)(X), r"np.i0 runs as an opaque call.*in uses_opaque"),
        (lambda: tnp.grad(needs_value)(X), r"there is none: .*in needs_value"),
        (lambda: tnp.grad(draws_in_a_loop)(X, np.random.default_rng(0)), r"the backward would run it again.*in draws_in_a_loop"),
        (lambda: tnp.grad(specialised, 1)(X, 3.0), r"present value of a number .*np.asarray"),
        (lambda: tnp.grad(lambda a, x: (x ** (a * 2)).sum())(1.0, X), r"present value of a number .*np.asarray"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(call, message):
    with pytest.raises(tnp.GradientError, match=f"(?s){message}") as caught:
        call()
    assert str(caught.value).count(".py:") == 1, "it names one line"


def test_an_operation_without_a_gradient_names_its_line():
    with pytest.raises(tnp.GradientError) as caught:
        tnp.grad(uses_opaque)(X)
    assert f"test_gradients.py:{line_of(uses_opaque, 'i0')} in uses_opaque" in str(caught.value)


def test_errors_of_the_program_are_its_own():
    with pytest.raises(ValueError, match="could not be broadcast"):
        tnp.grad(lambda x: (x + np.ones(3)).sum())(X)
    with pytest.raises(IndexError):
        tnp.grad(lambda x: x[7])(X)


def test_what_is_not_differentiated_may_do_anything():
    def f(x):
        return x.sum() * np.i0(np.floor(x)).sum()

    np.testing.assert_array_equal(tnp.grad(f)(X), np.full(5, np.i0(np.floor(X)).sum()))


def test_not_a_function():
    with pytest.raises(TypeError, match="takes a function, not float"):
        tnp.grad(1.0)


def test_rows_of_a_jacobian_at_once_or_in_turn(monkeypatch):
    def f(x):
        y = x * 1.0
        for i in range(9):
            y[1:] += np.sin(y[:-1]) * x[i % 5]
        return y

    at_once = tnp.jacobian(f)(X)
    monkeypatch.setattr("tnp.compile.jacobians.AT_ONCE", 0)
    in_turn = tnp.jit(tnp.jacobian(lambda x: f(x)))
    np.testing.assert_allclose(in_turn(X), at_once, atol=1e-14)
    assert any(b.sym.name == "for_loop" for b in tnp.trace()(in_turn, X).bound_symbols)
    check_jvp(f, [X])
    np.testing.assert_allclose(tnp.jvp(f, (X,), (np.eye(5)[1],))[1], at_once[:, 1])


def _residuals(p, t):
    return p[0] * np.exp(-p[1] * t) + p[2] * np.cos(t)


def _residuals_of_several(p, t):
    return np.stack([p[0] * t**2, np.where(t > p[1], t, p[1] * p[2])]), t * 2


def _residuals_without_one(p, t):
    return np.cumsum(t)[::-1] * p[0]


@pytest.mark.parametrize("function", [_residuals, _residuals_of_several, _residuals_without_one])
def test_columns_of_a_jacobian(function, monkeypatch):
    p, t = np.array([2.0, 0.5, 0.3]), np.linspace(0, 2, 40)
    columns = tnp.jacobian(function)
    found = columns(p, t)
    assert not any(b.sym.name == "for_loop" for b in tnp.trace()(tnp.jit(columns), p, t).bound_symbols)
    monkeypatch.setattr("tnp.compile.jacobians.ROWS_FOR_A_COLUMN", 10**6)
    assert_same(found, tnp.jacobian(lambda p, t: function(p, t))(p, t))
    both = tnp.jacobian(lambda p, t: function(p, t), (0, 1))(p, t)
    monkeypatch.undo()
    assert_same(tnp.jacobian(function, (0, 1))(p, t), both)
    several = tnp.vmap(tnp.jacobian(function), (0, None))(np.stack([p, 2 * p]), t)
    for got, expected in zip(*([x] if isinstance(x, np.ndarray) else x for x in (several, found))):
        np.testing.assert_allclose(got[0], expected)


def test_the_jacobian_of_what_can_be_differentiated_once():
    def f(x):
        return tnp_once(x) * np.ones(8)

    def tnp_once(x):
        return np.sort(x)[0] + x[1] ** 2

    np.testing.assert_allclose(tnp.jacobian(f)(np.array([3.0, 1.0])), np.tile([0.0, 3.0], (8, 1)))


def test_results_are_apart_where_the_gradient_is_a_value_of_the_program():
    def f(x, y):
        z = y - y.mean()
        return (x * z).sum(), z

    gradient, z = tnp.grad(f, has_aux=True)(X, X[::-1].copy())
    np.testing.assert_array_equal(gradient, z)
    assert not np.shares_memory(gradient, z)
