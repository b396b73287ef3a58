"""Three-dimensional fields: NPBench's heat_3d and horizontal diffusion."""

from __future__ import annotations

import numpy as np

from .base import Kernel, numexpr_evaluate, prange, side, uniform


def heat_3d(a, b):
    """A step from ``a`` to ``b`` and one back."""
    b[1:-1, 1:-1, 1:-1] = (
        0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
        + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
        + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
        + a[1:-1, 1:-1, 1:-1]
    )
    a[1:-1, 1:-1, 1:-1] = (
        0.125 * (b[2:, 1:-1, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[:-2, 1:-1, 1:-1])
        + 0.125 * (b[1:-1, 2:, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, :-2, 1:-1])
        + 0.125 * (b[1:-1, 1:-1, 2:] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, 1:-1, :-2])
        + b[1:-1, 1:-1, 1:-1]
    )


def heat_3d_loops(a, b):
    k, two = a.dtype.type(0.125), a.dtype.type(2.0)
    for i in prange(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            for m in range(1, a.shape[2] - 1):
                b[i, j, m] = (
                    k * (a[i + 1, j, m] - two * a[i, j, m] + a[i - 1, j, m])
                    + k * (a[i, j + 1, m] - two * a[i, j, m] + a[i, j - 1, m])
                    + k * (a[i, j, m + 1] - two * a[i, j, m] + a[i, j, m - 1])
                    + a[i, j, m]
                )
    for i in prange(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            for m in range(1, a.shape[2] - 1):
                a[i, j, m] = (
                    k * (b[i + 1, j, m] - two * b[i, j, m] + b[i - 1, j, m])
                    + k * (b[i, j + 1, m] - two * b[i, j, m] + b[i, j - 1, m])
                    + k * (b[i, j, m + 1] - two * b[i, j, m] + b[i, j, m - 1])
                    + b[i, j, m]
                )


def heat_3d_jax():
    def half(a, b):
        new = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
            + a[1:-1, 1:-1, 1:-1]
        )
        return b.at[1:-1, 1:-1, 1:-1].set(new)

    def f(a, b):
        b = half(a, b)
        return half(b, a), b

    return f


def heat_3d_numexpr():
    terms = " + ".join(f"0.125 * ({p} - 2.0 * c + {m})" for p, m in ("ab", "de", "fg"))

    def half(x, y):
        out = y[1:-1, 1:-1, 1:-1]
        numexpr_evaluate(
            f"{terms} + c",
            c=x[1:-1, 1:-1, 1:-1], a=x[2:, 1:-1, 1:-1], b=x[:-2, 1:-1, 1:-1], d=x[1:-1, 2:, 1:-1],
            e=x[1:-1, :-2, 1:-1], f=x[1:-1, 1:-1, 2:], g=x[1:-1, 1:-1, :-2], out=out,
        )  # fmt: skip

    def f(a, b):
        half(a, b)
        half(b, a)

    return f


def hdiff(field, out, coefficient):
    """Horizontal diffusion with a flux limiter; the field has a halo of 2 in the first two dimensions."""
    lap = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    d = lap[1:, 1:-1] - lap[:-1, 1:-1]
    fx = np.where(d * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0, d)
    d = lap[1:-1, 1:] - lap[1:-1, :-1]
    fy = np.where(d * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0, d)
    out[:] = field[2:-2, 2:-2] - coefficient * (fx[1:] - fx[:-1] + fy[:, 1:] - fy[:, :-1])


def hdiff_loops(field, out, coefficient):
    t = field.dtype.type
    zero, four = t(0.0), t(4.0)
    rows, columns, depth = out.shape
    lap = np.empty((rows + 2, columns + 2, depth), field.dtype)
    for i in prange(rows + 2):
        for j in range(columns + 2):
            for k in range(depth):
                lap[i, j, k] = four * field[i + 1, j + 1, k] - (
                    field[i + 2, j + 1, k] + field[i, j + 1, k] + field[i + 1, j + 2, k] + field[i + 1, j, k]
                )
    for i in prange(rows):
        for j in range(columns):
            for k in range(depth):
                here = field[i + 2, j + 2, k]
                x1 = lap[i + 2, j + 1, k] - lap[i + 1, j + 1, k]
                x1 = zero if x1 * (field[i + 3, j + 2, k] - here) > zero else x1
                x0 = lap[i + 1, j + 1, k] - lap[i, j + 1, k]
                x0 = zero if x0 * (here - field[i + 1, j + 2, k]) > zero else x0
                y1 = lap[i + 1, j + 2, k] - lap[i + 1, j + 1, k]
                y1 = zero if y1 * (field[i + 2, j + 3, k] - here) > zero else y1
                y0 = lap[i + 1, j + 1, k] - lap[i + 1, j, k]
                y0 = zero if y0 * (here - field[i + 2, j + 1, k]) > zero else y0
                out[i, j, k] = here - coefficient[i, j, k] * (x1 - x0 + y1 - y0)


def _hdiff_with(where):
    def f(field, out, coefficient):
        lap = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
        d = lap[1:, 1:-1] - lap[:-1, 1:-1]
        fx = where(d * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0, d)
        d = lap[1:-1, 1:] - lap[1:-1, :-1]
        fy = where(d * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0, d)
        return field[2:-2, 2:-2] - coefficient * (fx[1:] - fx[:-1] + fy[:, 1:] - fy[:, :-1])

    return f


def hdiff_jax():
    import jax.numpy as jnp

    return _hdiff_with(jnp.where)


def hdiff_torch():
    import torch

    new = _hdiff_with(torch.where)

    def f(field, out, coefficient):
        out[:] = new(field, out, coefficient)

    return f


def hdiff_numexpr():
    def limited(d, high, low):
        return numexpr_evaluate("where(d * (h - l) > 0, d - d, d)", d=d, h=high, l=low)

    def f(field, out, coefficient):
        lap = numexpr_evaluate(
            "4.0 * c - (n + s + e + w)",
            c=field[1:-1, 1:-1], n=field[2:, 1:-1], s=field[:-2, 1:-1], e=field[1:-1, 2:], w=field[1:-1, :-2],
        )  # fmt: skip
        d = numexpr_evaluate("a - b", a=lap[1:, 1:-1], b=lap[:-1, 1:-1])
        fx = limited(d, field[2:-1, 2:-2], field[1:-2, 2:-2])
        d = numexpr_evaluate("a - b", a=lap[1:-1, 1:], b=lap[1:-1, :-1])
        fy = limited(d, field[2:-2, 2:-1], field[2:-2, 1:-2])
        numexpr_evaluate(
            "c - k * (a - b + d - e)",
            c=field[2:-2, 2:-2], k=coefficient, a=fx[1:], b=fx[:-1], d=fy[:, 1:], e=fy[:, :-1], out=out,
        )  # fmt: skip

    return f


def _cubes(n, dtype):
    s = side(n, 3)
    return uniform(s, s, s, dtype=dtype), uniform(s, s, s, dtype=dtype, seed=1)


def _fields(n, dtype):
    """NPBench's proportions: a wide plane, fewer levels."""
    depth = max(round(0.75 * n ** (1 / 3)), 4)
    width = max(round((n / depth) ** 0.5), 4)
    field = uniform(width + 4, width + 4, depth, dtype=dtype)
    return field, np.zeros((width, width, depth), dtype), uniform(width, width, depth, dtype=dtype, seed=1)


KERNELS = (
    Kernel(
        "3-D heat, two steps",
        heat_3d,
        _cubes,
        changes=(0, 1),
        loops=heat_3d_loops,
        jax=heat_3d_jax,
        torch=lambda: heat_3d,
        numexpr=heat_3d_numexpr,
        memory_bound=True,
    ),
    Kernel(
        "horizontal diffusion",
        hdiff,
        _fields,
        changes=(1,),
        loops=hdiff_loops,
        jax=hdiff_jax,
        torch=hdiff_torch,
        numexpr=hdiff_numexpr,
        memory_bound=True,
        reads=(0, 2),
    ),
)
