"""What type checkers find out of programs with tnp: nobody runs this file, ``tests/test_types.py`` has it checked.

Lines with ``# type: ignore`` are errors of the user's that a checker has to find.
"""

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import tnp

Array = npt.NDArray[np.float64]


@tnp.jit
def plain(x: Array, scale: float = 1.0) -> Array:
    return x * scale


@tnp.jit(strict=True, executors=["numpy"])
def with_options(x: Array, *, shift: int) -> float:
    return float((x + shift).sum())


def energy(x: Array, k: float) -> np.float64:
    return np.float64((x**2).sum() * k)


class Solver:
    @tnp.jit
    def step(self, u: Array, dt: float) -> Array:
        return u + dt


@tnp.extend.operation(meta=lambda x, by: x)
def shifted(x: Array, by: int) -> Array:
    return np.roll(x, by)


def calls(x: Array, solver: Solver) -> None:
    assert_type(plain(x, scale=2.0), Array)
    assert_type(shifted(x, 1), Array)
    shifted(x, "1")  # type: ignore[arg-type]  # a text is no int: the checker must say so
    assert_type(with_options(x, shift=1), float)
    assert_type(tnp.jit(energy)(x, 1.0), np.float64)
    assert_type(tnp.jit(energy, fastmath=True)(x, k=1.0), np.float64)
    assert_type(tnp.jit(lambda: 1)(), int)
    assert_type(solver.step(x, 0.1), Array)
    assert_type(solver.step(x, dt=0.1), Array)
    assert_type(Solver.step(solver, x, 0.1), Array)
    plain.clear()
    assert_type(plain.__name__, str)
    assert_type(plain.__wrapped__(x), Array)
    as_argument: Callable[[Array, float], Array] = plain
    as_argument(x, 1.0)


def derivatives(x: Array) -> None:
    assert_type(tnp.grad(energy)(x, 1.0), Array)
    assert_type(tnp.grad(energy)(x, k=1.0), Array)
    assert_type(tnp.grad(tnp.jit(energy))(x, 1.0), Array)
    assert_type(tnp.jit(tnp.grad(energy))(x, 1.0), Array)
    tnp.grad(energy, argnums=(0, 1))(x, k=1.0)
    assert_type(tnp.value_and_grad(energy)(x, 1.0), tuple[np.float64, Array])
    assert_type(tnp.value_and_grad(energy, 1)(x, 1.0), tuple[np.float64, Any])
    value, pull = tnp.vjp(energy, x, 1.0)
    assert_type(value, np.float64)
    assert_type(pull(value), tuple[Array, float])
    tnp.vjp(plain, x)
    assert_type(tnp.jvp(energy, (x, 1.0), (x, 0.0)), tuple[np.float64, np.float64])
    tnp.jacobian(plain)(x, scale=2.0)
    tnp.hessian(energy)(x, k=1.0)
    tnp.vmap(plain, (0, None))(x, scale=1.0)
    tnp.vmap(energy)(x, k=1.0)


def tools(x: Array) -> None:
    assert_type(tnp.trace()(energy, x, k=1.0).name, str)
    assert_type(tnp.profile(energy, x, k=1.0).seconds, float)
    assert_type(tnp.examine(energy, x, 1.0).compiles, bool)
    assert_type(tnp.cache_info(plain).hits, int)
    assert_type(tnp.config.check, bool)
    assert_type(tnp.config.num_threads, int)
    assert_type(tnp.config.log, str)
    tnp.config.recompile_limit = 3
    with tnp.config.set(check=True), tnp.debug_nans():
        plain(x)


def mistakes(x: Array, solver: Solver) -> None:
    plain(x, factor=2.0)  # type: ignore
    plain("a string")  # type: ignore
    with_options(x)  # type: ignore
    tnp.jit(energy)(x)  # type: ignore
    tnp.jit(energy, fast=True)  # type: ignore
    solver.step(x)  # type: ignore
    tnp.grad(energy)(x, 1.0, 2.0)  # type: ignore
    tnp.jacobian(plain)()  # type: ignore
    tnp.vmap(plain)(y=x)  # type: ignore
    tnp.profile(energy, x)  # type: ignore
    tnp.trace()(energy)  # type: ignore
    tnp.config.check = "yes"  # type: ignore
    tnp.config.no_such_setting = 1  # type: ignore
