"""The lid-driven cavity: a 2-D incompressible fluid, stepped in place, under NumPy and under tnp.

The standard test case of fluid solvers (Ghia, Ghia and Shin, 1982): a square of fluid whose lid moves. The solver is the
usual NumPy one (pressure by fixed Jacobi sweeps, velocities by explicit upwind differences), every update a write through a
view. The velocity on the centre line is compared with the published one.
"""

import argparse
import time

import numpy as np

import tnp

#: Ghia et al., table I, Reynolds number 100: height and horizontal velocity on the vertical centre line
GHIA_Y = np.array([0.0547, 0.0625, 0.0703, 0.1016, 0.1719, 0.2813, 0.4531, 0.5, 0.6172, 0.7344, 0.8516, 0.9531])
GHIA_U = np.array(
    [
        -0.03717,
        -0.04192,
        -0.04775,
        -0.06434,
        -0.10150,
        -0.15662,
        -0.21090,
        -0.20581,
        -0.13641,
        0.00332,
        0.23151,
        0.68717,
    ]
)


def pressure_source(b, u, v, dt, dx, dy):
    """The right-hand side of the pressure equation, into the interior of ``b``."""
    du_dx = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
    dv_dy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
    du_dy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy)
    dv_dx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
    b[1:-1, 1:-1] = (du_dx + dv_dy) / dt - du_dx**2 - 2 * du_dy * dv_dx - dv_dy**2


def relax_pressure(p, b, dx, dy, sweeps):
    """Jacobi sweeps, with zero gradient at the walls and zero pressure at the lid."""
    for _ in range(sweeps):
        p[1:-1, 1:-1] = (
            (p[1:-1, 2:] + p[1:-1, :-2]) * dy**2 + (p[2:, 1:-1] + p[:-2, 1:-1]) * dx**2 - b[1:-1, 1:-1] * dx**2 * dy**2
        ) / (2 * (dx**2 + dy**2))
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0


def step(u, v, p, b, dt, dx, dy, viscosity):
    """One time step of all fields, in place. Returns the largest speed."""
    pressure_source(b, u, v, dt, dx, dy)
    relax_pressure(p, b, dx, dy, 30)
    un, vn = u.copy(), v.copy()
    for new, old, gradient in (
        (u, un, (p[1:-1, 2:] - p[1:-1, :-2]) / (2 * dx)),
        (v, vn, (p[2:, 1:-1] - p[:-2, 1:-1]) / (2 * dy)),
    ):
        here = old[1:-1, 1:-1]
        new[1:-1, 1:-1] = (
            here
            - dt * un[1:-1, 1:-1] * (old[1:-1, 2:] - old[1:-1, :-2]) / (2 * dx)
            - dt * vn[1:-1, 1:-1] * (old[2:, 1:-1] - old[:-2, 1:-1]) / (2 * dy)
            - dt * gradient
            + viscosity * dt / dx**2 * (old[1:-1, 2:] - 2 * here + old[1:-1, :-2])
            + viscosity * dt / dy**2 * (old[2:, 1:-1] - 2 * here + old[:-2, 1:-1])
        )
    u[0, :] = u[:, 0] = u[:, -1] = 0
    u[-1, :] = 1
    v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0
    return np.sqrt(u**2 + v**2).max()


def simulate(step, n, steps):
    """Runs the cavity on an ``n`` × ``n`` grid; the fields, and seconds a step after the first."""
    u, v, p, b = (np.zeros((n, n)) for _ in range(4))
    u[-1, :] = 1
    d = 1 / (n - 1)
    arguments = (u, v, p, b, 0.002, d, d, 0.01)
    step(*arguments)
    start = time.perf_counter()
    for _ in range(steps - 1):
        step(*arguments)
    return u, v, p, (time.perf_counter() - start) / (steps - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=65)
    parser.add_argument("--steps", type=int, default=4000)
    chosen = parser.parse_args()
    compiled = tnp.jit(step)
    u, v, p, tnp_time = simulate(compiled, chosen.size, chosen.steps)
    eager_u, eager_v, eager_p, numpy_time = simulate(step, chosen.size, chosen.steps)
    for a, b in ((u, eager_u), (v, eager_v), (p, eager_p)):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    print(f"NumPy and tnp agree after {chosen.steps} steps on {chosen.size} x {chosen.size} points")
    print(f"a step: NumPy {numpy_time * 1e3:.2f} ms, tnp {tnp_time * 1e3:.2f} ms ({numpy_time / tnp_time:.2f}x)")
    line = np.interp(GHIA_Y, np.linspace(0, 1, chosen.size), u[:, chosen.size // 2])
    print(f"largest distance to Ghia et al. on the centre line: {abs(line - GHIA_U).max():.3f} of the lid's speed")


if __name__ == "__main__":
    main()
