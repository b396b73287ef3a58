"""Polynomials for tnp: ``horner(coefficients, x)``, run in blocks that stay in the cache, with a gradient of its own.

>>> import numpy as np, tnp, tnp_horner
>>> f = tnp.jit(lambda c, x: tnp_horner.horner(c, x), executors=["horner"])
>>> f(np.array([1.0, 0.0, -1.0]), np.array([2.0, 3.0]))
array([3., 8.])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.extend import OperatorExecutor, TensorProxy, get_grad, put_grads, register_grad

__all__ = ["executor", "horner"]

#: the entry point of pyproject.toml names this
executor = OperatorExecutor("horner", version="0.1.0")

#: elements of a block: what is computed on the way of it stays in the cache
BLOCK = 8192


def _like(coefficients: Any, x: Any) -> Any:
    """What ``horner`` computes, in operations that tnp has: what other executors run, and what ``vmap`` maps."""
    result = x * 0 + coefficients[0]
    for i in range(1, coefficients.shape[0]):
        result = result * x + coefficients[i]
    return result


def _in_blocks(coefficients: Any, x: Any) -> Any:
    """``horner`` of real arrays. The result has the memory layout of a fresh array."""
    result = np.empty(x.shape, x.dtype)
    places, values = np.ascontiguousarray(x).reshape(-1), result.reshape(-1)
    for start in range(0, places.size, BLOCK):
        at, out = places[start : start + BLOCK], values[start : start + BLOCK]
        out[...] = at * 0 + coefficients[0]
        for c in coefficients[1:]:
            np.multiply(out, at, out=out)
            np.add(out, c, out=out)
    return result


horner = executor.register_operator("horner", like=_like, fn=_in_blocks)


def _derivative(coefficients: Any, x: Any) -> Any:
    """The polynomial's derivative at ``x``; of a constant, zeros."""
    degree = coefficients.shape[0] - 1
    if degree == 0:
        return x * 0
    result = x * 0 + coefficients[0] * degree
    for i in range(1, degree):
        result = result * x + coefficients[i] * (degree - i)
    return result


def _horner_grad(coefficients: Any, x: Any) -> Any:
    fwd = horner(coefficients, x)
    g = get_grad(fwd)
    # By coefficient i, the sum of g · x^(n - 1 - i): one dot product each, from the last on.
    by_coefficient, power = [], g
    for _ in range(coefficients.shape[0]):
        by_coefficient.append(power.sum())
        power = power * x
    rows = [c.reshape((1,)) for c in reversed(by_coefficient)]
    put_grads((coefficients, x), (_joined(rows), g * _derivative(coefficients, x)))
    return fwd


def _joined(rows: list[Any]) -> Any:
    import tnp.lang.numpy as lnp

    return lnp.concatenate(rows)


register_grad(horner, _horner_grad)


# np.polyval runs as horner where this executor is in use.


def _takes(p: Any, x: Any) -> bool:
    """Real arrays of one dtype, the coefficients in one dimension whose length is known."""
    arrays = isinstance(p, TensorProxy) and isinstance(x, TensorProxy)
    return (
        arrays
        and p.ndim == 1
        and type(p.shape[0]) is int
        and p.shape[0] > 0
        and p.dtype is x.dtype
        and p.dtype.kind == "f"
    )


executor.register_implementation("numpy.polyval", checker=_takes, execution_transform=horner)
