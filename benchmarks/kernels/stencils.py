"""Stencils that write into the arrays that they are given."""

from __future__ import annotations

from .base import Kernel, numexpr_evaluate, prange, side, uniform


def wave(u, v):
    """One explicit step of the wave equation on a 5-point stencil, in place."""
    lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    v[1:-1, 1:-1] += 0.1 * lap
    u += 0.1 * v


def wave_loops(u, v):
    k = u.dtype.type(0.1)
    for i in prange(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            v[i, j] += k * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4 * u[i, j])
    for i in prange(u.shape[0]):
        for j in range(u.shape[1]):
            u[i, j] += k * v[i, j]


def wave_jax():
    def f(u, v):
        lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        v = v.at[1:-1, 1:-1].add(0.1 * lap)
        return u + 0.1 * v, v

    return f


def wave_numexpr():
    def f(u, v):
        inner = v[1:-1, 1:-1]
        numexpr_evaluate(
            "v + 0.1 * (a + b + c + d - 4 * e)",
            v=inner, a=u[2:, 1:-1], b=u[:-2, 1:-1], c=u[1:-1, 2:], d=u[1:-1, :-2], e=u[1:-1, 1:-1], out=inner,
        )  # fmt: skip
        numexpr_evaluate("u + 0.1 * v", u=u, v=v, out=u)

    return f


def fourth_order(u, p):
    """A step of the acoustic wave equation, fourth order in space: 13 points in three dimensions, ``p`` in place."""
    c = u[2:-2, 2:-2, 2:-2]
    near = (
        u[3:-1, 2:-2, 2:-2] + u[1:-3, 2:-2, 2:-2] + u[2:-2, 3:-1, 2:-2]
        + u[2:-2, 1:-3, 2:-2] + u[2:-2, 2:-2, 3:-1] + u[2:-2, 2:-2, 1:-3]
    )  # fmt: skip
    far = (
        u[4:, 2:-2, 2:-2] + u[:-4, 2:-2, 2:-2] + u[2:-2, 4:, 2:-2]
        + u[2:-2, :-4, 2:-2] + u[2:-2, 2:-2, 4:] + u[2:-2, 2:-2, :-4]
    )  # fmt: skip
    p[2:-2, 2:-2, 2:-2] = 2 * c - p[2:-2, 2:-2, 2:-2] + 0.1 * (1.25 * near - 0.075 * far - 7.05 * c)


def fourth_order_loops(u, p):
    t = u.dtype.type
    k, a, b, m = t(0.1), t(1.25), t(0.075), t(7.05)
    for i in prange(2, u.shape[0] - 2):
        for j in range(2, u.shape[1] - 2):
            for l in range(2, u.shape[2] - 2):  # noqa: E741
                near = (
                    u[i + 1, j, l] + u[i - 1, j, l] + u[i, j + 1, l]
                    + u[i, j - 1, l] + u[i, j, l + 1] + u[i, j, l - 1]
                )  # fmt: skip
                far = (
                    u[i + 2, j, l] + u[i - 2, j, l] + u[i, j + 2, l]
                    + u[i, j - 2, l] + u[i, j, l + 2] + u[i, j, l - 2]
                )  # fmt: skip
                p[i, j, l] = 2 * u[i, j, l] - p[i, j, l] + k * (a * near - b * far - m * u[i, j, l])


def fourth_order_jax():
    def f(u, p):
        c = u[2:-2, 2:-2, 2:-2]
        near = (
            u[3:-1, 2:-2, 2:-2] + u[1:-3, 2:-2, 2:-2] + u[2:-2, 3:-1, 2:-2]
            + u[2:-2, 1:-3, 2:-2] + u[2:-2, 2:-2, 3:-1] + u[2:-2, 2:-2, 1:-3]
        )  # fmt: skip
        far = (
            u[4:, 2:-2, 2:-2] + u[:-4, 2:-2, 2:-2] + u[2:-2, 4:, 2:-2]
            + u[2:-2, :-4, 2:-2] + u[2:-2, 2:-2, 4:] + u[2:-2, 2:-2, :-4]
        )  # fmt: skip
        new = 2 * c - p[2:-2, 2:-2, 2:-2] + 0.1 * (1.25 * near - 0.075 * far - 7.05 * c)
        return p.at[2:-2, 2:-2, 2:-2].set(new)

    return f


def fourth_order_numexpr():
    new = "2 * c - p + 0.1 * (1.25 * (a0 + a1 + a2 + a3 + a4 + a5) - 0.075 * (b0 + b1 + b2 + b3 + b4 + b5) - 7.05 * c)"

    def f(u, p):
        inner = slice(2, -2)
        shifted = {
            f"{letter}{2 * axis + (step < 0)}": u[
                tuple(slice(2 + step, u.shape[0] - 2 + step) if k == axis else inner for k in range(3))
            ]
            for letter, distance in (("a", 1), ("b", 2))
            for axis in range(3)
            for step in (distance, -distance)
        }
        target = p[inner, inner, inner]
        numexpr_evaluate(new, c=u[inner, inner, inner], p=target, out=target, **shifted)

    return f


def _square(n, dtype):
    s = side(n)
    return uniform(s, s, dtype=dtype), uniform(s, s, dtype=dtype, seed=1)


def _cube(n, dtype):
    s = max(side(n, 3), 6)
    return uniform(s, s, s, dtype=dtype), uniform(s, s, s, dtype=dtype, seed=1)


KERNELS = (
    Kernel(
        "5-point stencil in place",
        wave,
        _square,
        changes=(0, 1),
        loops=wave_loops,
        jax=wave_jax,
        torch=lambda: wave,
        numexpr=wave_numexpr,
        memory_bound=True,
    ),
    Kernel(
        "13-point stencil in place",
        fourth_order,
        _cube,
        changes=(1,),
        loops=fourth_order_loops,
        jax=fourth_order_jax,
        torch=lambda: fourth_order,
        numexpr=fourth_order_numexpr,
        memory_bound=True,
    ),
)
