"""The programs that are timed: plain NumPy functions, and where a peer needs the program rewritten, the peer's version.

A kernel's ``arguments(n, dtype)`` makes about ``n`` elements. A peer that takes the NumPy function as it is (numba,
torch.compile) is given that; ``jax`` and ``numexpr`` hold the rewritten ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["KERNELS", "Kernel"]


@dataclass(frozen=True)
class Kernel:
    """A program: the function, its arguments, which of them it changes, and its versions for peers."""

    name: str
    function: Callable[..., Any]
    arguments: Callable[[int, Any], tuple[Any, ...]]
    changes: tuple[int, ...] = ()
    peers: dict[str, Callable[[], Callable[..., Any]]] = field(default_factory=dict)


def _uniform(*shape: int, dtype: Any, low: float = 0.1, high: float = 1.0, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def _side(n: int) -> int:
    return max(int(n**0.5), 4)


def chain(a, b, c):
    return np.sqrt(a * b + c) / (a + 1.0) - b * 0.5


def chain_jax():
    import jax.numpy as jnp

    return lambda a, b, c: jnp.sqrt(a * b + c) / (a + 1.0) - b * 0.5


def chain_numexpr():
    import numexpr

    return lambda a, b, c: numexpr.evaluate(
        "sqrt(a * b + c) / (a + 1.0) - b * 0.5", local_dict={"a": a, "b": b, "c": c}
    )


def exp_sin(a):
    return np.exp(np.sin(a))


def exp_sin_jax():
    import jax.numpy as jnp

    return lambda a: jnp.exp(jnp.sin(a))


def exp_sin_numexpr():
    import numexpr

    return lambda a: numexpr.evaluate("exp(sin(a))", local_dict={"a": a})


def great_circle(lat1, lon1, lat2, lon2):
    """Distances in km (haversine)."""
    h = np.sin((lat2 - lat1) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    return 2 * 6371.0 * np.arcsin(np.sqrt(h))


def great_circle_jax():
    import jax.numpy as jnp

    def f(lat1, lon1, lat2, lon2):
        h = jnp.sin((lat2 - lat1) / 2) ** 2 + jnp.cos(lat1) * jnp.cos(lat2) * jnp.sin((lon2 - lon1) / 2) ** 2
        return 2 * 6371.0 * jnp.arcsin(jnp.sqrt(h))

    return f


def heat(u, v):
    """One explicit step of the wave equation, in place."""
    lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    v[1:-1, 1:-1] += 0.1 * lap
    u += 0.1 * v


def heat_jax():
    def f(u, v):
        lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        v = v.at[1:-1, 1:-1].add(0.1 * lap)
        return u + 0.1 * v, v

    return f


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax_jax():
    import jax.numpy as jnp

    def f(x):
        e = jnp.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    return f


def standardize(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def standardize_jax():
    return lambda x: (x - x.mean(axis=0)) / x.std(axis=0)


def pairwise(x, y):
    """The distance from each point to the nearest of the others."""
    d = x[:, None, :] - y[None, :, :]
    return np.sqrt((d * d).sum(axis=2)).min(axis=1)


def pairwise_jax():
    import jax.numpy as jnp

    def f(x, y):
        d = x[:, None, :] - y[None, :, :]
        return jnp.sqrt((d * d).sum(axis=2)).min(axis=1)

    return f


def threshold(rgb):
    """An image to grey, to black and white."""
    grey = rgb[..., 0] * 0.299 + rgb[..., 1] * 0.587 + rgb[..., 2] * 0.114
    return np.where(grey > grey.mean(), 255, 0).astype(np.uint8)


def threshold_jax():
    import jax.numpy as jnp

    def f(rgb):
        grey = rgb[..., 0] * 0.299 + rgb[..., 1] * 0.587 + rgb[..., 2] * 0.114
        return jnp.where(grey > grey.mean(), 255, 0).astype(jnp.uint8)

    return f


def matmul_epilogue(a, b, bias):
    return np.maximum(a @ b + bias, 0)


def matmul_epilogue_jax():
    import jax.numpy as jnp

    return lambda a, b, bias: jnp.maximum(a @ b + bias, 0)


KERNELS = (
    Kernel(
        "elementwise chain",
        chain,
        lambda n, d: tuple(_uniform(n, dtype=d, seed=s) for s in range(3)),
        peers={"jax": chain_jax, "numexpr": chain_numexpr},
    ),
    Kernel(
        "exp(sin(x))",
        exp_sin,
        lambda n, d: (_uniform(n, dtype=d),),
        peers={"jax": exp_sin_jax, "numexpr": exp_sin_numexpr},
    ),
    Kernel(
        "great-circle distance",
        great_circle,
        lambda n, d: tuple(_uniform(n, dtype=d, seed=s) for s in range(4)),
        peers={"jax": great_circle_jax},
    ),
    Kernel(
        "5-point stencil in place",
        heat,
        lambda n, d: (_uniform(_side(n), _side(n), dtype=d), _uniform(_side(n), _side(n), dtype=d, seed=1)),
        changes=(0, 1),
        peers={"jax": heat_jax},
    ),
    Kernel("softmax", softmax, lambda n, d: (_uniform(_side(n), _side(n), dtype=d),), peers={"jax": softmax_jax}),
    Kernel(
        "standardize columns",
        standardize,
        lambda n, d: (_uniform(_side(n), _side(n), dtype=d),),
        peers={"jax": standardize_jax},
    ),
    Kernel(
        "pairwise distances + min",
        pairwise,
        lambda n, d: (_uniform(_side(n // 4), 4, dtype=d), _uniform(_side(n // 4), 4, dtype=d, seed=1)),
        peers={"jax": pairwise_jax},
    ),
    Kernel(
        "rgb to black and white",
        threshold,
        lambda n, d: (_uniform(_side(n // 3), _side(n // 3), 3, dtype=d),),
        peers={"jax": threshold_jax},
    ),
    Kernel(
        "matmul + epilogue",
        matmul_epilogue,
        lambda n, d: (
            _uniform(_side(n), _side(n), dtype=d),
            _uniform(_side(n), _side(n), dtype=d, seed=1),
            _uniform(_side(n), dtype=d, seed=2),
        ),
        peers={"jax": matmul_epilogue_jax},
    ),
)
