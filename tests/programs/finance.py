"""Prices and risks: closed formulas, trees, simulation, moving averages."""

from collections import namedtuple
from math import sqrt

import numpy as np

from .registry import call, program

Greeks = namedtuple("Greeks", ["delta", "gamma", "vega"])


def norm_cdf(x):
    """Abramowitz and Stegun 26.2.17."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi) * poly
    return np.where(x >= 0, 1.0 - tail, tail)


@program(lambda rng: call(rng.uniform(80, 120, 20), rng.uniform(80, 120, 20), rng.uniform(0.1, 2, 20), 0.03, 0.2))
def black_scholes(S, K, T, r, sigma):
    sqrt_t = np.sqrt(T)
    d1 = (np.log(S / K) + (r + 0.5 * sigma**2) * T) / (sigma * sqrt_t)
    d2 = d1 - sigma * sqrt_t
    discounted = K * np.exp(-r * T)
    call_price = S * norm_cdf(d1) - discounted * norm_cdf(d2)
    put_price = discounted * norm_cdf(-d2) - S * norm_cdf(-d1)
    return call_price, put_price


@program(lambda rng: call(rng.uniform(80, 120, 5), strike=100.0, sigma=0.3))
def greeks(S, strike=90.0, T=1.0, r=0.01, sigma=0.2):
    d1 = (np.log(S / strike) + (r + sigma**2 / 2) * T) / (sigma * sqrt(T))
    density = np.exp(-(d1**2) / 2) / sqrt(2 * np.pi)
    return Greeks(delta=norm_cdf(d1), gamma=density / (S * sigma * sqrt(T)), vega=S * density * sqrt(T))


@program(lambda rng: call(100.0, 95.0, 0.05, 0.2, 1.0, 12))
def binomial_american_put(S0, K, r, sigma, T, n):
    dt = T / n
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    discount = np.exp(-r * dt)
    prices = S0 * u ** np.arange(n, -n - 1, -2)
    values = np.maximum(K - prices, 0)
    for _ in range(n - 1, -1, -1):
        values = discount * (p * values[:-1] + (1 - p) * values[1:])
        prices = prices[:-1] * d
        values = np.maximum(values, K - prices)
    return values[0]


@program(lambda rng: call(100.0, 105.0, 0.02, 0.25, np.random.default_rng(rng.integers(1000)), 8, 50))
def monte_carlo_asian(S0, K, r, sigma, rng, steps, paths):
    dt = 1.0 / steps
    z = rng.standard_normal((paths, steps))
    increments = (r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z
    S = S0 * np.exp(np.cumsum(increments, axis=1))
    payoff = np.maximum(S.mean(axis=1) - K, 0.0)
    return np.exp(-r) * payoff.mean(), payoff.std() / np.sqrt(paths)


@program(lambda rng: call(rng.standard_normal((30, 4)) * 0.01, np.array([0.4, 0.3, 0.2, 0.1])))
def portfolio(returns, weights):
    covariance = np.cov(returns.T)
    variance = weights @ covariance @ weights
    mean = returns.mean(axis=0) @ weights
    contribution = weights * (covariance @ weights) / variance
    return {"variance": variance, "sharpe": mean / np.sqrt(variance), "contribution": contribution}


@program(lambda rng: call(rng.random(15), 4))
def exponential_moving_average(prices, span):
    alpha = 2 / (span + 1)
    ema = np.empty_like(prices)
    ema[0] = prices[0]
    for t in range(1, len(prices)):
        ema[t] = alpha * prices[t] + (1 - alpha) * ema[t - 1]
    return ema


@program(lambda rng: call(100 + np.cumsum(rng.standard_normal(25))))
def drawdown(prices):
    peak = np.maximum.accumulate(prices)
    drop = prices / peak - 1.0
    at = np.argmin(drop)
    return drop.min(), at, peak[at]


@program(lambda rng: call(rng.uniform(90, 110, (5, 12))))
def bollinger(prices, window=4, width=2.0):
    c = np.cumsum(np.insert(prices, 0, 0, axis=1), axis=1)
    mean = (c[:, window:] - c[:, :-window]) / window
    c2 = np.cumsum(np.insert(prices**2, 0, 0, axis=1), axis=1)
    std = np.sqrt(np.maximum((c2[:, window:] - c2[:, :-window]) / window - mean**2, 0))
    return mean - width * std, mean, mean + width * std
