"""Element by element: memory bounds the first, arithmetic the others."""

from __future__ import annotations

import numpy as np

from .base import Kernel, numexpr_evaluate, prange, uniform, with_numpy_as


def chain(a, b, c):
    return np.sqrt(a * b + c) / (a + 1.0) - b * 0.5


def chain_loops(a, b, c):
    out = np.empty_like(a)
    one, half = a.dtype.type(1.0), a.dtype.type(0.5)
    for i in prange(a.size):
        out[i] = np.sqrt(a[i] * b[i] + c[i]) / (a[i] + one) - b[i] * half
    return out


def exp_sin(x):
    return np.exp(np.sin(x))


def exp_sin_loops(x):
    out = np.empty_like(x)
    for i in prange(x.size):
        out[i] = np.exp(np.sin(x[i]))
    return out


def great_circle(lat1, lon1, lat2, lon2):
    """Distances in km (haversine)."""
    h = np.sin((lat2 - lat1) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    return 2 * 6371.0 * np.arcsin(np.sqrt(h))


def great_circle_loops(lat1, lon1, lat2, lon2):
    out = np.empty_like(lat1)
    half, diameter = lat1.dtype.type(0.5), lat1.dtype.type(2 * 6371.0)
    for i in prange(lat1.size):
        s = np.sin((lat2[i] - lat1[i]) * half)
        t = np.sin((lon2[i] - lon1[i]) * half)
        out[i] = diameter * np.arcsin(np.sqrt(s * s + np.cos(lat1[i]) * np.cos(lat2[i]) * t * t))
    return out


def black_scholes(price, strike, years, rate, volatility):
    """European call and put; the normal distribution as in Abramowitz and Stegun, 26.2.17."""

    def cdf(x):
        k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
        p = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        tail = 0.3989422804014327 * np.exp(-0.5 * x * x) * p
        return np.where(x > 0, 1.0 - tail, tail)

    deviation = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * np.exp(-rate * years)
    call = price * cdf(d1) - discounted * cdf(d2)
    return call, call - price + discounted


def black_scholes_loops(price, strike, years, rate, volatility):
    t = price.dtype.type
    call, put = np.empty_like(price), np.empty_like(price)
    r, v, drift = t(rate), t(volatility), t(rate + 0.5 * volatility * volatility)
    c0, c1, c2, c3, c4 = t(0.319381530), t(-0.356563782), t(1.781477937), t(-1.821255978), t(1.330274429)
    one, half, slope, density = t(1.0), t(0.5), t(0.2316419), t(0.3989422804014327)
    for i in prange(price.size):
        deviation = v * np.sqrt(years[i])
        d1 = (np.log(price[i] / strike[i]) + drift * years[i]) / deviation
        d2 = d1 - deviation
        discounted = strike[i] * np.exp(-r * years[i])
        k = one / (one + slope * abs(d1))
        n1 = density * np.exp(-half * d1 * d1) * k * (c0 + k * (c1 + k * (c2 + k * (c3 + k * c4))))
        n1 = one - n1 if d1 > 0 else n1
        k = one / (one + slope * abs(d2))
        n2 = density * np.exp(-half * d2 * d2) * k * (c0 + k * (c1 + k * (c2 + k * (c3 + k * c4))))
        n2 = one - n2 if d2 > 0 else n2
        call[i] = price[i] * n1 - discounted * n2
        put[i] = call[i] - price[i] + discounted
    return call, put


def black_scholes_numexpr():
    def cdf(x):
        k = numexpr_evaluate("1.0 / (1.0 + 0.2316419 * abs(x))", x=x)
        p = "k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))"
        tail = numexpr_evaluate(f"0.3989422804014327 * exp(-0.5 * x * x) * {p}", x=x, k=k)
        return numexpr_evaluate("where(x > 0, 1.0 - tail, tail)", x=x, tail=tail)

    def f(price, strike, years, rate, volatility):
        t = price.dtype.type
        drift, v, r = t(rate + 0.5 * volatility * volatility), t(volatility), t(rate)
        d1 = numexpr_evaluate("(log(p / s) + drift * y) / (v * sqrt(y))", p=price, s=strike, y=years, drift=drift, v=v)
        d2 = numexpr_evaluate("d1 - v * sqrt(y)", d1=d1, y=years, v=v)
        discounted = numexpr_evaluate("s * exp(-r * y)", s=strike, y=years, r=r)
        call = numexpr_evaluate("p * n1 - d * n2", p=price, n1=cdf(d1), d=discounted, n2=cdf(d2))
        return call, numexpr_evaluate("c - p + d", c=call, p=price, d=discounted)

    return f


def _angles(n, dtype):
    return tuple(uniform(n, dtype=dtype, seed=s) for s in range(4))


def _options(n, dtype):
    price = uniform(n, dtype=dtype, low=10, high=50)
    strike = uniform(n, dtype=dtype, low=10, high=50, seed=1)
    return price, strike, uniform(n, dtype=dtype, low=1, high=2, seed=2), 0.1, 0.2


KERNELS = (
    Kernel(
        "elementwise chain",
        chain,
        lambda n, d: tuple(uniform(n, dtype=d, seed=s) for s in range(3)),
        loops=chain_loops,
        jax=with_numpy_as("jax.numpy", chain),
        torch=with_numpy_as("torch", chain),
        numexpr=lambda: lambda a, b, c: numexpr_evaluate("sqrt(a * b + c) / (a + 1.0) - b * 0.5", a=a, b=b, c=c),
        memory_bound=True,
    ),
    Kernel(
        "exp(sin(x))",
        exp_sin,
        lambda n, d: (uniform(n, dtype=d, low=-10, high=10),),
        loops=exp_sin_loops,
        jax=with_numpy_as("jax.numpy", exp_sin),
        torch=with_numpy_as("torch", exp_sin),
        numexpr=lambda: lambda x: numexpr_evaluate("exp(sin(x))", x=x),
    ),
    Kernel(
        "great-circle distance",
        great_circle,
        _angles,
        loops=great_circle_loops,
        jax=with_numpy_as("jax.numpy", great_circle),
        torch=with_numpy_as("torch", great_circle),
        numexpr=lambda: lambda a, b, c, d: numexpr_evaluate(
            "12742.0 * arcsin(sqrt(sin((c - a) / 2) ** 2 + cos(a) * cos(c) * sin((d - b) / 2) ** 2))",
            a=a, b=b, c=c, d=d,
        ),
    ),
    Kernel(
        "Black–Scholes",
        black_scholes,
        _options,
        loops=black_scholes_loops,
        jax=with_numpy_as("jax.numpy", black_scholes),
        torch=with_numpy_as("torch", black_scholes),
        numexpr=black_scholes_numexpr,
    ),
)  # fmt: skip
