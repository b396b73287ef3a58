"""Logarithms, roots and powers of complex numbers, which native code computes in vectors: beside NumPy's, which are libm's."""

import warnings

import numpy as np
import pytest

import tnp

FUNCTIONS = {
    "log": np.log,
    "log10": np.log10,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "0.75": lambda z: z**0.75,
    "-0.3": lambda z: z**-0.3,
    "2.5": lambda z: np.power(z, 2.5),
}
CIRCULAR = {name: getattr(np, name) for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")}
PARTS = (0.0, -0.0, 1.0, -1.0, 3.5, np.inf, -np.inf, np.nan)


def jitted(f):
    return tnp.jit(lambda z: f(z) + 0, strict=True)  # with an addition, so that it is a kernel of its own


def numbers(dtype, count=3000):
    r = np.random.default_rng(0)
    z = r.normal(size=count) + 1j * r.normal(size=count)
    limit = 300 if dtype == "complex128" else 36
    z[::3] *= 10.0 ** r.uniform(-limit, limit, len(z[::3]))
    z[1::3] /= np.abs(z[1::3])
    z[1::3] *= 1 + r.normal(size=len(z[1::3])) * 10.0 ** r.uniform(-17, -1, len(z[1::3]))
    return z.astype(dtype)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_parts_are_within_a_few_ulp(name, dtype):
    f, z = FUNCTIONS[name], numbers(dtype)
    with warnings.catch_warnings(action="ignore"):
        got, expected = jitted(f)(z), f(z) + 0
    eps = np.finfo(dtype).eps
    # Of powers, the angle is rounded before it is multiplied, by NumPy, too: each part is as good as the number is long.
    length = np.abs(expected) if name not in ("log", "log10", "log2", "sqrt") else None
    factor = 900 if length is not None else 8
    for g, e in ((got.real, expected.real), (got.imag, expected.imag)):
        finite = np.isfinite(e)
        assert np.array_equal(finite, np.isfinite(g))
        size = (np.abs(e) if length is None else length)[finite]
        assert np.all(np.abs(g[finite] - e[finite]) <= factor * eps * size + np.finfo(dtype).tiny)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_special_numbers(name, dtype):
    f, z = FUNCTIONS[name], np.array([complex(a, b) for a in PARTS for b in PARTS], dtype=dtype)
    with warnings.catch_warnings(action="ignore"):
        got, expected = jitted(f)(z), f(z) + 0
    # A part of a power that is 0 but for the angle's rounding has that rounding's size and sign in NumPy.
    length = np.nan_to_num(np.abs(expected), nan=0, posinf=0) * (4 * np.finfo("f4").eps if dtype == "complex64" else 0)
    for g, e in ((got.real, expected.real), (got.imag, expected.imag)):
        is_rounding = (np.abs(e) <= length) & (e != 0)
        np.testing.assert_allclose(np.where(is_rounding, e, g), e, rtol=1e-5, atol=0)
        assert np.all(np.abs(g[is_rounding] - e[is_rounding]) <= length[is_rounding])
        known = ~np.isnan(e) & ~is_rounding
        np.testing.assert_array_equal(np.signbit(g)[known], np.signbit(e)[known])


def test_powers_of_complex64_are_exact():
    z = numbers("complex64")
    z = z[(np.abs(z) > 1e-3) & (np.abs(z) < 1e3)]
    for power in (6.1 - 0.6j, -3.25, 2.5 + 1j):
        exact = z.astype("complex128") ** np.complex64(power)
        found = jitted(lambda z, power=power: z**power)(z)
        assert found.dtype == z.dtype
        assert np.all(np.abs(found - exact) <= np.finfo("f4").eps * np.abs(exact))


@pytest.mark.parametrize("name", CIRCULAR)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_circular_and_hyperbolic_functions(name, dtype):
    f, r = CIRCULAR[name], np.random.default_rng(2)
    special = np.array([complex(a, b) for a in PARTS for b in PARTS], dtype=dtype)
    limit = 720 if dtype == "complex128" else 90
    z = np.concatenate([r.normal(size=1000) * 3, r.uniform(-limit, limit, 500), 10.0 ** r.uniform(-30, 1, 500)])
    z = (z + 1j * np.concatenate([r.normal(size=1500) * 3, 10.0 ** r.uniform(-30, 1, 500)])).astype(dtype)
    z = np.concatenate([special, z, z.imag + 1j * z.real]).astype(dtype)
    with warnings.catch_warnings(action="ignore"):
        got, expected = jitted(f)(z), f(z) + 0
    eps = np.finfo(dtype).eps
    for g, e in ((got.real, expected.real), (got.imag, expected.imag)):
        np.testing.assert_array_equal(np.isnan(g), np.isnan(e))
        infinite = np.isinf(e) | np.isinf(g)
        # C leaves the signs of some infinities open; a result on the brink of overflow is infinite or not.
        assert np.all(~infinite | ~np.isfinite(e) | (np.abs(e) > np.finfo(dtype).max / 4) | np.isnan(g))
        finite = np.isfinite(e) & np.isfinite(g)
        g, e = g[finite], e[finite]
        assert np.all(np.abs(g - e) <= 16 * eps * np.abs(e) + np.finfo(dtype).tiny)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_powers_of_two_arrays(dtype):
    """Whole exponents are multiplied, as by NumPy."""
    r = np.random.default_rng(1)
    z = (r.normal(size=4000) + 1j * r.normal(size=4000)).astype(dtype)
    w = (r.normal(size=4000) * 2 + 1j * r.normal(size=4000)).astype(dtype)
    w[::4] = r.integers(-9, 10, 1000)
    w[1::4].imag = 0
    special = np.array([complex(a, b) for a in PARTS for b in PARTS], dtype=dtype)
    z[:64], w[:64] = special, 1.5 - 0.5j
    z[64:128], w[64:128] = 0.5 + 2j, special
    jitted = tnp.jit(lambda z, w: z**w + 0)
    with warnings.catch_warnings(action="ignore"):
        got, expected = jitted(z, w), z**w + 0
    rtol = 2e-4 if dtype == "complex64" else 1e-13
    for g, e in ((got.real, expected.real), (got.imag, expected.imag)):
        np.testing.assert_array_equal(np.isnan(g), np.isnan(e))
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(g[np.isinf(e)], e[np.isinf(e)])
        assert np.all(np.abs(g[finite] - e[finite]) <= rtol * np.abs(expected[finite]) + np.finfo(dtype).tiny)


def test_loops_are_the_same():
    def f(z, n):
        made = np.zeros_like(z)
        for i in range(n):
            made[i] = np.sqrt(z[i]) + np.log(z[i]) * z[i] ** 0.75
        return made

    z = numbers("complex128", 300)[2::3]
    with warnings.catch_warnings(action="ignore"):
        got, expected = tnp.jit(f)(z, len(z)), f(z, len(z))
    np.testing.assert_allclose(got, expected, rtol=1e-12)
