"""Checks of derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tnp

__all__ = ["check_close", "check_gradients", "check_jvp", "numerical_gradient"]


def numerical_gradient(f: Callable[..., Any], args: list[Any], at: int, step: float = 1e-6) -> np.ndarray[Any, Any]:
    """The gradient of a real scalar function by central differences; ``df/dx + i df/dy`` for complex arguments."""
    x = np.asarray(args[at])
    result = np.zeros(x.shape, x.dtype)
    for k in np.ndindex(x.shape):
        for direction in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
            ends = []
            for sign in (1, -1):
                moved = x.copy()
                moved[k] += sign * step * direction
                ends.append(float(f(*args[:at], moved, *args[at + 1 :])))
            result[k] += direction * (ends[0] - ends[1]) / (2 * step)
    return result


def check_gradients(
    f: Callable[..., Any], args: list[Any], *, argnums: tuple[int, ...] | None = None, order: int = 2, rtol: float = 1e-5,
    step: float = 1e-6, compiled: bool = True, executors: Any = None,
) -> None:  # fmt: skip
    """Compares the gradient of a real scalar ``f``, and that of the gradient in a fixed direction, with differences.

    The first gradient runs as native code if ``compiled``, everything else call by call: that takes less time to compile; on
    ``executors``, if given, all of it. Raises ``AssertionError`` where they are further apart than ``rtol`` of the largest element.
    """
    if argnums is None:
        argnums = tuple(i for i, a in enumerate(args) if np.asarray(a).dtype.kind in "fc")
    gradient = tnp.grad(f, argnums)
    call_by_call = executors or ["numpy"]
    if executors or not compiled:
        gradient = tnp.jit(gradient, executors=call_by_call)
    found = gradient(*(np.copy(a) if isinstance(a, np.ndarray) else a for a in args))
    value = tnp.jit(f, executors=call_by_call)
    for i, g in zip(argnums, found):
        expected = numerical_gradient(lambda *xs: value(*(np.copy(x) for x in xs)), args, i, step)
        assert g.dtype == expected.dtype and g.shape == expected.shape, f"argument {i}: {g.dtype}{g.shape}"
        check_close(g, expected, rtol, f"argument {i}")
    if order > 1:
        rng = np.random.default_rng(1)
        weights = [_direction(rng, np.asarray(args[i])) for i in argnums]
        check_gradients(
            _Slope(f, argnums, weights),
            args,
            argnums=argnums,
            order=order - 1,
            rtol=rtol * 10,
            step=step,
            compiled=False,
            executors=executors,
        )


class _Slope:
    """The derivative of a function in a fixed direction, as a function."""

    def __init__(self, f: Callable[..., Any], argnums: tuple[int, ...], weights: list[Any]) -> None:
        self.f, self.argnums, self.weights = f, argnums, weights

    def __call__(self, *args: Any) -> Any:
        found = tnp.grad(self.f, self.argnums)(*args)
        total = 0.0
        for g, w in zip(found, self.weights):
            total = total + (np.conj(w) * g).real.sum()
        return total


def _direction(rng: np.random.Generator, a: np.ndarray[Any, Any]) -> Any:
    made = rng.normal(size=a.shape)
    return made + 1j * rng.normal(size=a.shape) if a.dtype.kind == "c" else made


def check_jvp(f: Callable[..., Any], args: list[Any], rtol: float = 1e-5, step: float = 1e-6) -> None:
    """Compares the derivative of ``f``, whose value is an array, in a fixed direction with differences."""
    rng = np.random.default_rng(2)
    tangents = tuple(_direction(rng, np.asarray(a)) for a in args)
    _, found = tnp.jit(lambda *xs: tnp.jvp(f, xs, tangents), executors=["numpy"])(*args)
    ends = [f(*(a + s * step * t for a, t in zip(args, tangents))) for s in (1, -1)]
    check_close(np.asarray(found), (np.asarray(ends[0]) - np.asarray(ends[1])) / (2 * step), rtol, "jvp")


def check_close(actual: Any, expected: Any, rtol: float, what: str) -> None:
    """Raises ``AssertionError`` where two arrays are further apart than ``rtol`` of the largest element (or of 1)."""
    scale = max(1.0, np.max(np.abs(expected), initial=0))
    error = np.max(np.abs(actual - expected), initial=0) / scale
    assert error <= rtol, f"{what}: {error:.2e} of the largest element\n{actual}\nis not\n{expected}"
