"""Times of gradients: over those of the functions, for the programs of ``tests/programs``; and beside ``jax.grad``.

    python benchmarks/gradients.py            # both, as Markdown
    python benchmarks/gradients.py stencils   # the programs whose names have that in them

A program's function is the sum of all that it returns and leaves in its arguments, weighted. It is differentiated with respect to every
floating-point argument; both it and its gradient are compiled by tnp, and called in turns. Programs that tnp runs eagerly, and those that
have no floating-point arguments, are left out.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tnp

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.programs import programs


def weighted_sum(x: Any) -> Any:
    """All floating-point values in ``x`` summed, each array with weights of its own."""
    if isinstance(x, (list, tuple)):
        total = 0.0
        for y in x:
            total = total + weighted_sum(y)
        return total
    if isinstance(x, dict):
        return weighted_sum(list(x.values()))
    if isinstance(x, np.ndarray) or isinstance(x, np.generic):
        if x.dtype.kind == "f":
            return (x * np.cos(np.arange(x.size) + 1.0).reshape(x.shape)).sum()
        return (x.real + 2 * x.imag).sum() if x.dtype.kind == "c" else 0.0
    return x if isinstance(x, float) else 0.0


def as_scalar(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function with a scalar value that depends on all that ``f`` returns, and on what it writes."""

    def value(*args: Any, **kwargs: Any) -> Any:
        return weighted_sum(f(*args, **kwargs)) + weighted_sum(args)

    return value


def leaves(x: Any) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [z for y in x for z in leaves(y)]
    return [z for y in x.values() for z in leaves(y)] if isinstance(x, dict) else [x]


def differentiable(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Which arguments are floating-point arrays, or containers of them."""

    def fits(x: Any) -> bool:
        found = leaves(x)
        return bool(found) and all(isinstance(y, np.ndarray) and y.dtype.kind == "f" for y in found)

    return tuple(i for i, a in enumerate(args) if fits(a))


def seconds_in_turns(calls: list[Callable[[], Any]], seconds: float) -> list[float]:
    """The median time of each call, in turns."""
    times: list[list[float]] = [[] for _ in calls]
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline or len(times[0]) < 3:
        for call, found in zip(calls, times):
            start = time.perf_counter()
            call()
            found.append(time.perf_counter() - start)
    return [statistics.median(t) for t in times]


def of_programs(wanted: str, seconds: float) -> None:
    rows: list[tuple[str, float, float]] = []
    for name, program in programs.items():
        inputs = program.make_inputs(np.random.default_rng(0))
        argnums = differentiable(inputs.args)
        if wanted not in name or not argnums:
            continue
        f = as_scalar(program.make())
        forward, backward = tnp.jit(f), tnp.grad(f, argnums)
        args = copy.deepcopy(inputs.args)
        try:
            backward(*args, **inputs.kwargs)
            forward(*copy.deepcopy(args), **inputs.kwargs)
        except (tnp.TraceError, NameError) as error:
            print(f"{name}: {str(error).splitlines()[0][:120]}", file=sys.stderr)
            continue
        if not tnp.last_traces(forward):
            continue
        # The function changes its arguments, its gradient does not: both get a copy.
        times = seconds_in_turns(
            [lambda f=g: f(*copy.deepcopy(args), **inputs.kwargs) for g in (forward, backward)]
            + [lambda: copy.deepcopy(args)], seconds,
        )  # fmt: skip
        rows.append((name, times[0] - times[2], times[1] - times[2]))
    print("| program | function, µs | gradient, µs | ratio |\n| --- | --- | --- | --- |")
    for name, one, two in rows:
        print(f"| {name} | {one * 1e6:.1f} | {two * 1e6:.1f} | {two / one:.2f} |")
    if rows:
        ratios = sorted(two / one for _, one, two in rows)
        within = sum(r <= 4 for r in ratios)
        print(f"\n{len(rows)} programs: median ratio {statistics.median(ratios):.2f}, {within} within 4")


# Beside JAX: the same functions over both namespaces


def regression(xp: Any) -> Any:
    def loss(w: Any, x: Any, y: Any) -> Any:
        return xp.log(1 + xp.exp(-y * (x @ w))).mean() + 0.01 * (w * w).sum()

    return loss, lambda rng, n: (rng.normal(size=20), rng.normal(size=(n // 20, 20)), np.sign(rng.normal(size=n // 20)))


def network(xp: Any) -> Any:
    def loss(w1: Any, w2: Any, x: Any, y: Any) -> Any:
        return (((xp.tanh(x @ w1) @ w2) - y) ** 2).mean()

    return loss, lambda rng, n: (
        rng.normal(size=(16, 32)), rng.normal(size=(32, 4)), rng.normal(size=(n // 16, 16)), rng.normal(size=(n // 16, 4)),
    )  # fmt: skip


def rosenbrock(xp: Any) -> Any:
    def value(x: Any) -> Any:
        return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    return value, lambda rng, n: (rng.normal(size=n),)


def energy(xp: Any) -> Any:
    def value(u: Any) -> Any:
        dx, dy = u[1:, :] - u[:-1, :], u[:, 1:] - u[:, :-1]
        return (dx * dx).sum() + (dy * dy).sum() + (xp.sqrt(1 + u * u)).sum()

    return value, lambda rng, n: (rng.normal(size=(int(n**0.5), int(n**0.5))),)


def options(xp: Any) -> Any:
    def value(s: Any, k: Any, t: Any) -> Any:
        d = (xp.log(s / k) + 0.06 * t) / (0.2 * xp.sqrt(t))
        return (
            s / (1 + xp.exp(-1.702 * d)) - k * xp.exp(-0.04 * t) / (1 + xp.exp(-1.702 * (d - 0.2 * xp.sqrt(t))))
        ).sum()

    return value, lambda rng, n: tuple(rng.uniform(a, b, n) for a, b in ((50, 150), (50, 150), (0.1, 2)))


def beside_jax(sizes: tuple[int, ...], seconds: float) -> None:
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        print("\njax is not installed: nothing is compared with it")
        return
    jax.config.update("jax_enable_x64", True)
    print("\n| function | n | tnp function, ms | tnp gradient, ms | ratio | jax.grad, ms | jax / tnp |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for make in (regression, network, rosenbrock, energy, options):
        for n in sizes:
            f, make_args = make(np)
            args = make_args(np.random.default_rng(0), n)
            forward, ours = tnp.jit(f), tnp.grad(f)
            theirs = jax.jit(jax.grad(make(jnp)[0]))
            jax_args = tuple(jnp.asarray(a) for a in args)
            difference = np.max(np.abs(ours(*args) - np.asarray(theirs(*jax_args))))
            assert difference <= 1e-8 * max(1.0, np.max(np.abs(ours(*args)))), f"{make.__name__}: {difference}"
            forward(*args)
            one, two, three = seconds_in_turns(
                [lambda: forward(*args), lambda: ours(*args), lambda: theirs(*jax_args).block_until_ready()], seconds
            )
            print(
                f"| {make.__name__} | {n} | {one * 1e3:.3f} | {two * 1e3:.3f} | {two / one:.2f} | {three * 1e3:.3f} | {three / two:.2f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="?", default="", help="part of the names of the programs to time")
    parser.add_argument("--seconds", type=float, default=0.2, help="how long each is timed")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 1_000_000], help="elements, beside JAX")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    of_programs(given.programs, given.seconds)
    if not given.programs:
        beside_jax(tuple(given.sizes), given.seconds)


if __name__ == "__main__":
    main()
