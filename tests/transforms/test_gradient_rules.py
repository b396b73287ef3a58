"""Every gradient rule against finite differences in float64 (first and second order, both modes) and complex128.

One case is run alone with ``pytest tests/transforms/test_gradient_rules.py -k NAME``.
"""

import zlib

import numpy as np
import pytest

import tnp
from tnp.core import prims
from tnp.core.elementwise_table import by_name
from tnp.testing.gradients import check_close, check_gradients, check_jvp, numerical_gradient
from tnp.transforms.autodiff import grad_rules
from tnp.transforms.autodiff.elementwise import DERIVATIVES, SINGULAR, ZERO
from tnp.transforms.autodiff.rules import without_derivative


def rng_of(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def weighted(f, shape_of=None):
    """``f`` summed with fixed weights, so that no element's derivative hides another's."""

    def value(*args):
        out = f(*args)
        weights = np.cos(np.arange(out.size) + 1.0).reshape(out.shape)
        if out.dtype.kind == "c":
            return (out.real * weights + out.imag * (weights + 0.5)).sum()
        return (out * weights).sum()

    return value


#: where operations are not smooth, or leave the reals, arguments keep away from there
DOMAINS = {
    "acosh": (1.2, 3), "atan2": (0.3, 2), "cbrt": (0.3, 3), "div": (0.5, 2), "hypot": (0.5, 2), "pow": (0.5, 2), "sqrt": (0.3, 3),
    "log1p": (-0.5, 2), "fmod": (1.1, 1.9), "remainder": (1.1, 1.9), "copysign": (0.3, 2), "acos": (-0.8, 0.8), "asin": (-0.8, 0.8),
    "abs": (0.2, 2), "erfinv": (-0.8, 0.8), "atanh": (-0.8, 0.8), "log": (0.3, 3), "log2": (0.3, 3), "log10": (0.3, 3),
    "reciprocal": (0.4, 2), "rsqrt": (0.4, 2), "lgamma": (0.5, 4), "digamma": (0.2, 4), "tan": (-1, 1),
}  # fmt: skip


def elementwise_arguments(name, dtype):
    rng = rng_of(name)
    low, high = DOMAINS.get(name, (-1.5, 1.5))
    args = [rng.uniform(low, high, 5) for _ in range(by_name[name].nargs)]
    if dtype == "complex128":
        args = [a + 1j * rng.uniform(0.3, 1, 5) for a in args]
    return args


def elementwise_cases():
    for name in [*DERIVATIVES, *SINGULAR, "div", "abs", "conj", "sign"]:
        for dtype in ("float64", "complex128"):
            if ("f" if dtype == "float64" else "c") in by_name[name].takes and not (
                dtype == "complex128" and name in ("maximum", "minimum", "fmax", "fmin", "nextafter", "copysign")
            ):
                yield pytest.param(name, dtype, id=f"{name}-{dtype}")


@pytest.mark.parametrize("name, dtype", list(elementwise_cases()))
def test_elementwise(name, dtype):
    operation = prims.registry[name]
    args = elementwise_arguments(name, dtype)

    def f(*xs):
        return operation(*xs)

    check_gradients(weighted(f), args, order=2 if dtype == "float64" else 1, rtol=2e-5)
    if dtype == "float64":
        check_jvp(tnp.jit(f, executors=["numpy"]), args, rtol=2e-5)


#: what stands beside an array of two elements, as the other operand
OPERANDS = {
    "a float": 1.65, "an int": 2, "a bool": True, "a scalar": np.float64(1.65), "a single scalar": np.float32(1.65),
    "an integer scalar": np.int64(2), "a 0-d array": np.array(1.65), "single precision": np.array([1.65, 2.2], np.float32),
    "integers": np.array([1, 2]), "a column": np.array([[1.65], [2.2]]), "a complex number": 1.6 + 0.2j, "complex": np.array([1.6 + 0.2j, 1.2 - 1j]),
}  # fmt: skip
OF_TWO = {
    **{f.__name__: f for f in (np.add, np.subtract, np.multiply, np.divide, np.arctan2, np.copysign, np.fmax, np.fmin, np.fmod, np.hypot,
                               np.logaddexp, np.logaddexp2, np.maximum, np.minimum, np.power, np.remainder, np.nextafter, np.outer)},
    "**": lambda a, b: a**b, "%": lambda a, b: a % b, "where": lambda a, b: np.where([True, False], a, b),
    "clip": lambda a, b: np.clip(a, 0.1, b), "where of where": lambda a, b: np.where([True, False], np.where([False, True], a, 1.5), b * a),
    "abs": lambda a, b: abs(a) * abs(b), "linspace": lambda a, b: np.linspace(a, b, 3), "heaviside": lambda a, b: np.heaviside(a, b) * a,
}  # fmt: skip
OF_COMPLEX = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "power",
    "outer",
    "**",
    "where",
    "where of where",
    "abs",
    "linspace",
)


@pytest.mark.parametrize("name", OF_TWO)
def test_operands_of_other_kinds(name):
    """Gradients by an array and by numbers, scalars and arrays of other dtypes and shapes beside it, in either order."""
    function = OF_TWO[name]
    kinds = [k for k, x in OPERANDS.items() if not np.iscomplexobj(x) or name in OF_COMPLEX]

    def value(x, *operands):
        total = 0.0
        for k, operand in enumerate(operands):
            for weight, result in ((1 + k, function(x, operand)), (0.3 + k, function(operand, x))):
                total = total + weight * (result.real.sum() + 2 * result.imag.sum())
        return total

    args = [np.array([0.7, 2.9]), *(OPERANDS[k] for k in kinds)]
    argnums = tuple(i for i, a in enumerate(args) if np.asarray(a).dtype.kind in "fc")
    found = tnp.jit(tnp.grad(value, argnums), executors=["numpy"])(*args)
    wide = [a.astype(np.float64) if getattr(a, "dtype", None) == np.float32 else a for a in args]
    for i, g in zip(argnums, found, strict=True):
        expected = numerical_gradient(lambda *xs: value(*xs), wide, i)
        assert g.dtype == np.asarray(args[i]).dtype, ["the array", *kinds][i]
        check_close(g, expected, 1e-5, ["the array", *kinds][i])


@pytest.mark.parametrize("name", ZERO)
def test_steps_have_no_slope(name):
    operation = prims.registry[name]
    args = [np.linspace(0.3, 2.2, 4) for _ in range(by_name[name].nargs)]
    found = tnp.grad(lambda *xs: operation(*xs).sum(), tuple(range(len(args))))(*args)
    assert all((g == 0).all() for g in found)


@pytest.mark.parametrize("name", ("add", "sub", "mul", "div", "pow", "maximum", "atan2", "hypot"))
def test_elementwise_broadcasts(name):
    operation = getattr(np, by_name[name].numpy)
    rng = rng_of(name)
    args = [rng.uniform(0.5, 2, (3, 1)), rng.uniform(0.5, 2, 4)]
    check_gradients(weighted(lambda x, y: operation(x, y)), args)


I = np.array([[0, 2], [2, -1]])  # noqa: E741


def square(rng, n=3):
    return rng.normal(size=(n, n)) + 3 * np.eye(n)


def hermitian(a):
    return a @ a.conj().swapaxes(-1, -2) + np.eye(a.shape[-1])


def reals(*shape):
    return lambda rng: rng.normal(size=shape)


def complexes(*shape):
    return lambda rng: rng.normal(size=shape) + 1j * rng.normal(size=shape)


def stored(x, v):
    y = x * 1.0
    y[1:, ::2] = v
    y[0] *= 2.0
    y.T[1, 2] = v[0] * 3.0
    return y


def put_twice(x, v):
    y = x * 1.0
    y[np.array([0, 2, 0])] = v
    return y


def masked(x):
    y = x * x
    y[x > 0] = np.sin(x[x > 0])
    return y


def added_at(x, v):
    y = x * 1.0
    np.add.at(y, np.array([0, 2, 0]), v)
    return y


def signless_q(a):
    q, r = np.linalg.qr(a)
    return np.concatenate([(q**2).ravel(), (r**2).ravel()])


def svd_parts(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.concatenate([((u * s) @ vh[:, :1]).ravel(), s**2, (u[:, :2] * vh[:2, :1].T).ravel()])


def complex_svd_parts(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (u[:, :1] @ vh[:1]).ravel() * s[0]


def eigh_parts(a):
    w, v = np.linalg.eigh(hermitian(a))
    return np.concatenate([w, (np.abs(v) ** 2).ravel()])


def eig_parts(a):
    w, v = prims.eig(a)
    return np.concatenate([w.real, w.imag**2, (np.abs(v) ** 2).ravel()])


def scattered(x, v):
    return prims.scatter(x * 1.0, I, v, 0)


#: name: the function and how its arguments are made
CASES = {
    "reshape": (lambda x: np.sin(x).reshape(4, 3) ** 2, [reals(3, 4)]),
    "transpose": (lambda x: np.sin(x).transpose(2, 0, 1), [reals(2, 3, 4)]),
    "squeeze": (lambda x: np.squeeze(np.sin(x), 1), [reals(3, 1, 2)]),
    "broadcast_to": (lambda x: np.broadcast_to(np.sin(x), (2, 3, 4)), [reals(3, 1)]),
    "slice": (lambda x: np.sin(x)[1:, ::-2] * x[:-1, :2], [reals(4, 4)]),
    "flip": (lambda x: x[::-1] * np.sin(x), [reals(4)]),
    "select": (lambda x: np.sin(x)[1] * x[:, -1], [reals(4, 4)]),
    "diagonal": (lambda x: np.sin(np.diagonal(x, 1)), [reals(3, 4)]),
    "unfold": (lambda x: prims.unfold(np.sin(x), 0, 3, 2), [reals(8)]),
    "pad": (lambda x: prims.pad(np.sin(x), 0.5, ((1, 2, 1), (-1, 0, 0))), [reals(3, 4)]),
    "clone": (lambda x: np.sin(x.copy()), [reals(3)]),
    "stride_order": (lambda x: np.asfortranarray(np.sin(x)), [reals(3, 2)]),
    "concatenate": (lambda x, y: np.concatenate([np.sin(x), y, x * 2], axis=1), [reals(2, 3), reals(2, 2)]),
    "stack": (lambda x, y: np.stack([x, y]) ** 2, [reals(3), reals(3)]),
    "tile": (lambda x: np.tile(np.sin(x), (2, 2)), [reals(2, 3)]),
    "where": (lambda x, y: np.where(x > 0, x * y, np.sin(y)), [reals(5), reals(5)]),
    "clip": (lambda x: np.clip(x, -0.5, 0.5) * x, [reals(6)]),
    "astype": (lambda x: np.sin(x.astype(complex)) * 1j, [reals(3)]),
    "real_imag": (lambda x: x.real * x.imag, [complexes(3)]),
    "angle": (lambda x: np.angle(x), [complexes(3)]),
    "complex": (lambda x, y: np.exp(prims.complex(x, y)), [reals(3), reals(3)]),
    "conj": (lambda x: np.conj(x) * x * x, [complexes(3)]),
    "ldexp": (lambda x: np.ldexp(np.sin(x), np.array([1, 2, 3])), [reals(3)]),
    "frexp": (lambda x: np.frexp(x)[0] ** 2, [reals(3)]),
    "sum": (lambda x: np.sin(x).sum(axis=1), [reals(3, 4)]),
    "mean": (lambda x: np.sin(x).mean(axis=0), [reals(3, 4)]),
    "prod": (lambda x: np.prod(x, axis=1), [reals(2, 4)]),
    "prod-complex": (lambda x: np.prod(x, axis=0), [complexes(3, 2)]),
    "max": (lambda x: np.sin(x).max(axis=0) * x.min(), [reals(3, 4)]),
    "var": (lambda x: np.var(x, axis=1, ddof=1), [reals(3, 4)]),
    "var-complex": (lambda x: np.var(x, axis=0), [complexes(3, 2)]),
    "std": (lambda x: np.std(x), [reals(5)]),
    "cumsum": (lambda x: np.cumsum(np.sin(x), axis=1), [reals(3, 4)]),
    "cumprod": (lambda x: np.cumprod(x, axis=0), [reals(5, 2)]),
    "cumprod-complex": (lambda x: np.cumprod(x), [complexes(4)]),
    "maximum.accumulate": (lambda x: np.maximum.accumulate(x, axis=1) ** 2, [reals(2, 5)]),
    "minimum.accumulate": (lambda x: np.minimum.accumulate(x) ** 2, [reals(6)]),
    "sort": (lambda x: np.sort(x, axis=0) ** 2, [reals(5, 2)]),
    "stack times matrix": (lambda a, b: np.matmul(a, b), [reals(2, 3, 4), reals(4, 2)]),
    "partition": (lambda x: np.partition(x, 2)[:3] ** 2, [reals(6)]),
    "topk": (lambda x: prims.topk(x * x, 2, 1)[0], [reals(2, 5)]),
    "median": (lambda x: np.median(x, axis=1), [reals(2, 5)]),
    "take": (lambda x: np.sin(x)[:, I], [reals(3, 4)]),
    "index_get": (lambda x: np.sin(x)[I, I.T], [reals(3, 4)]),
    "gather": (lambda x: np.take_along_axis(x * x, np.array([[0, 0], [2, 1]]), 0), [reals(3, 2)]),
    "scatter": (scattered, [reals(3, 2), reals(2, 2)]),
    "index_put": (put_twice, [reals(3), reals(3)]),
    "index_put-adding": (added_at, [reals(3), reals(3)]),
    "update": (stored, [reals(3, 4), reals(2)]),
    "mask": (masked, [reals(6)]),
    "compress": (lambda x: np.sin(x[x > 0]) * x[x > 0], [reals(6)]),
    "matmul": (lambda a, b: a @ b, [reals(3, 4), reals(4, 2)]),
    "matmul-complex": (lambda a, b: a @ b, [complexes(2, 3), complexes(3, 2)]),
    "matmul-vector": (lambda a, b: a @ b, [reals(2, 3, 4), reals(4)]),
    "einsum": (lambda a, b: np.einsum("bij,bjk->ik", a, b), [reals(2, 3, 4), reals(2, 4, 2)]),
    "tensordot": (lambda a, b: np.tensordot(a, b, ([1, 0], [0, 1])), [reals(3, 4, 2), reals(4, 3)]),
    "inv": (lambda a: np.linalg.inv(a), [square]),
    "det": (lambda a: np.linalg.det(a).reshape(1), [square]),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1].reshape(1), [square]),
    "slogdet-complex": (lambda a: (lambda made: (made[0] + made[1]).reshape(1))(np.linalg.slogdet(a)), [lambda rng: square(rng) + 1j * square(rng)]),
    "solve": (lambda a, b: np.linalg.solve(a, b), [square, reals(3, 2)]),
    "solve-complex": (lambda a, b: np.linalg.solve(a, b), [lambda rng: square(rng) + 1j * square(rng), complexes(3)]),
    "triangular_solve": (
        lambda a, b: prims.triangular_solve(a, b, upper=False) + prims.triangular_solve(a, b, upper=True, transpose=True),
        [square, reals(3, 2)],
    ),
    "triangular_solve-unit": (lambda a, b: prims.triangular_solve(a, b, upper=True, unit=True), [square, reals(3, 2)]),
    "cholesky": (lambda a: np.linalg.cholesky(hermitian(a)), [square]),
    "cholesky-complex": (lambda a: np.linalg.cholesky(hermitian(a)), [complexes(3, 3)]),
    "eigh": (eigh_parts, [square]),
    "eigh-complex": (eigh_parts, [complexes(3, 3)]),
    "eig": (eig_parts, [reals(3, 3)]),
    "eig-complex": (eig_parts, [complexes(2, 2)]),
    "convolution": (
        lambda a, w: prims.convolution(a, w, (1, 1), (1, 0), (1, 2), 1),
        [reals(2, 2, 3, 5), reals(2, 2, 2, 2)],
    ),
    "convolution-strided": (lambda a, w: prims.convolution(a, w, (2,), (1,), (1,), 2), [reals(1, 4, 6), reals(2, 2, 3)]),
    "svd": (svd_parts, [reals(4, 3)]),
    "svd-wide": (svd_parts, [reals(3, 4)]),
    "svd-complex": (complex_svd_parts, [complexes(3, 3)]),
    "svdvals": (lambda a: np.linalg.svd(a, compute_uv=False), [reals(3, 4)]),
    "pinv": (lambda a: np.linalg.pinv(a), [reals(4, 3)]),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b)[0], [reals(4, 2), reals(4)]),
    "qr": (signless_q, [reals(4, 3)]),
    "qr-wide": (signless_q, [reals(2, 4)]),
    "norm": (lambda x: np.linalg.norm(x, axis=1), [reals(3, 4)]),
    "norm-complex": (lambda x: np.linalg.norm(x, axis=(0, 1), keepdims=True), [complexes(3, 2)]),
    "norm-1": (lambda x: np.linalg.norm(x, 1, axis=1), [reals(3, 4)]),
    "norm-nuc": (lambda x: np.linalg.norm(x, "nuc").reshape(1), [reals(3, 4)]),
    "fft": (lambda x: np.fft.fft(x), [complexes(5)]),
    "fft-real": (lambda x: np.abs(np.fft.fft(x)) ** 2, [reals(5)]),
    "ifft2": (lambda x: np.fft.ifft2(x), [complexes(2, 3)]),
    "rfft": (lambda x: np.fft.rfft(x), [reals(3, 5)]),
    "rfft-even": (lambda x: np.fft.rfft(x, axis=0), [reals(4, 2)]),
    "irfft": (lambda x: np.fft.irfft(x), [complexes(4)]),
    "irfft-odd": (lambda x: np.fft.irfft(x, 5), [complexes(3)]),
    "convolve": (lambda x, y: np.convolve(x, y, "same"), [reals(6), reals(3)]),
    "interp": (lambda y: np.interp(np.array([0.3, 1.7]), np.array([0.0, 1.0, 2.0]), y), [reals(3)]),
    "trapezoid": (lambda y: np.trapezoid(y * y, dx=0.5).reshape(1), [reals(5)]),
    "diff": (lambda x: np.diff(x, 2) ** 2, [reals(6)]),
    "logaddexp.reduce": (lambda x: np.logaddexp.reduce(x, axis=0), [reals(3, 2)]),
    "logaddexp2.reduce": (lambda x: np.logaddexp2.reduce(x, axis=None, keepdims=True), [reals(3, 2)]),
    "multiply.reduce": (lambda x: np.multiply.reduce(x), [reals(4, 2)]),
    "cross": (lambda x, y: np.cross(x, y), [reals(2, 3), reals(2, 3)]),
    "kron": (lambda x, y: np.kron(x, y), [reals(2, 2), reals(2, 2)]),
    "quantile": (lambda x: np.quantile(x, 0.3).reshape(1), [reals(6)]),
    "average": (lambda x, w: np.average(x, weights=np.exp(w)).reshape(1), [reals(4), reals(4)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    f, makers = CASES[name]
    rng = rng_of(name)
    args = [make(rng) for make in makers]
    check_gradients(weighted(f), args, rtol=5e-5)
    check_jvp(tnp.jit(f, executors=["numpy"]), args, rtol=5e-5)


NARROW = (
    "cholesky-complex",
    "irfft",
    "var-complex",
    "std",
    "svd",
    "cumprod",
    "scatter",
    "norm",
    "median",
    "update",
    "digamma",
)


@pytest.mark.parametrize("name", NARROW)
def test_single_precision_stays(name):
    if name in CASES:
        f, makers = CASES[name]
        args = [make(rng_of(name)) for make in makers]
    else:
        f, args = prims.registry[name], elementwise_arguments(name, "float64")
    narrow = [a.astype(np.float32 if a.dtype.kind == "f" else np.complex64) for a in args]
    g = tnp.jit(tnp.grad(weighted(f), tuple(range(len(args)))), executors=["numpy"])
    for a, wide, found in zip(narrow, g(*args), g(*narrow)):
        assert found.dtype == a.dtype
        np.testing.assert_allclose(found, wide, rtol=0, atol=2e-3 * max(1, np.abs(wide).max()))


def test_every_rule_is_of_an_operation():
    ids = {p.id for p in prims.registry.values()}
    composed = {
        "core.update",
        "autodiff.times",
        "numpy.linalg.norm",
        "numpy.matmul",
        "numpy.partition",
        "ufunc_call.reduce",
    }
    # Those of torch's functions are compared with torch's own, and other tests register rules for operations of theirs.
    kinds = {name.partition(".")[0] for name in composed}
    own = {i for i in grad_rules if not isinstance(i, str) or i.partition(".")[0] in kinds}
    assert own - ids == composed
    assert not without_derivative & set(grad_rules)


def test_trigamma_where_it_is_known():
    import math

    x = np.array([1.0, 0.5, 2.0, -0.5])
    expected = [math.pi**2 / 6, math.pi**2 / 2, math.pi**2 / 6 - 1, math.pi**2 / 2 + 4]
    np.testing.assert_allclose(tnp.grad(lambda x: prims.digamma(x).sum())(x), expected, rtol=1e-13)
