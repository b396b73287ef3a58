"""Grids updated in place: heat, waves, advection, relaxation, shallow water, the game of life."""

import numpy as np

from .registry import call, program


@program(lambda rng: call(rng.random((12, 14)), 0.1, 4))
def heat(u, alpha, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] += alpha * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])


@program(lambda rng: call(rng.random((10, 10)), np.zeros((10, 10)), 0.05, 3))
def heat_with_two_buffers(u, un, nu, steps):
    for _ in range(steps):
        un[:] = u
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            + nu * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2])
            + nu * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1])
        )
        u[0, :] = 1
        u[-1, :] = 1
        u[:, 0] = 1
        u[:, -1] = 1
    return u


def laplacian(field, dx=1.0):
    out = np.zeros_like(field)
    out[1:-1] = (field[2:] - 2 * field[1:-1] + field[:-2]) / dx**2
    return out


@program(lambda rng: call(rng.random(20), rng.random(20), c=0.5, dt=0.1, steps=3))
def wave(u, u_previous, c=1.0, dt=0.01, steps=10):
    """Leapfrog in time; the two buffers change places."""
    for _ in range(steps):
        u_next = 2 * u - u_previous + (c * dt) ** 2 * laplacian(u)
        u_previous, u = u, u_next
    energy = 0.5 * np.sum((u - u_previous) ** 2) / dt**2
    return u, energy


@program(lambda rng: call((rng.random((9, 11)) < 0.4).astype(np.uint8), 2))
def life_by_roll(board, generations):
    for _ in range(generations):
        neighbours = sum(
            np.roll(np.roll(board, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)
        )
        board = ((neighbours == 3) | ((board == 1) & (neighbours == 2))).astype(board.dtype)
    return board


@program(lambda rng: call((rng.random((8, 9)) < 0.5).astype(int)))
def life_by_slices(Z):
    """Rougier's "From Python to NumPy", section 4.1: births and survivors by masks."""
    N = np.zeros(Z.shape, dtype=int)
    N[1:-1, 1:-1] += (
        Z[:-2, :-2] + Z[:-2, 1:-1] + Z[:-2, 2:] + Z[1:-1, :-2] + Z[1:-1, 2:] + Z[2:, :-2] + Z[2:, 1:-1] + Z[2:, 2:]
    )
    birth = (N == 3)[1:-1, 1:-1] & (Z[1:-1, 1:-1] == 0)
    survive = ((N == 2) | (N == 3))[1:-1, 1:-1] & (Z[1:-1, 1:-1] == 1)
    Z[...] = 0
    Z[1:-1, 1:-1][birth | survive] = 1
    return Z


@program(lambda rng: call(rng.random((8, 8)), rng.random((8, 8))))
def jacobi_2d(A, B):
    for _ in range(1, 4):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])


@program(lambda rng: call(rng.random((10, 10)), rng.random((10, 10)), 1.5, 2))
def red_black_gauss_seidel(p, f, omega, sweeps):
    def relax(rows, cols):
        r, c = slice(rows, -1, 2), slice(cols, -1, 2)
        up = p[rows - 1 : -2 : 2, c]
        down = p[rows + 1 :: 2, c]
        left = p[r, cols - 1 : -2 : 2]
        right = p[r, cols + 1 :: 2]
        p[r, c] = (1 - omega) * p[r, c] + omega * 0.25 * (up + down + left + right - f[r, c])

    for _ in range(sweeps):
        relax(1, 1)
        relax(2, 2)
        relax(1, 2)
        relax(2, 1)
    return np.abs(p).max()


@program(lambda rng: call(rng.random(16), rng.standard_normal(16), 0.1, 1.0))
def upwind_advection(q, velocity, dt, dx):
    forward = np.empty_like(q)
    backward = np.empty_like(q)
    forward[:-1] = (q[1:] - q[:-1]) / dx
    forward[-1] = (q[0] - q[-1]) / dx
    backward[1:] = forward[:-1]
    backward[0] = forward[-1]
    q -= dt * (np.maximum(velocity, 0) * backward + np.minimum(velocity, 0) * forward)
    return q


class ShallowWater:
    """A periodic pond: height ``h`` and velocities ``u``, ``v``, stepped in place."""

    def __init__(self, h, u, v, g=9.81):
        self.h = h
        self.u = u
        self.v = v
        self.g = g
        self.steps = 0

    @staticmethod
    def ddx(a):
        return 0.5 * (np.roll(a, -1, axis=1) - np.roll(a, 1, axis=1))

    @staticmethod
    def ddy(a):
        return 0.5 * (np.roll(a, -1, axis=0) - np.roll(a, 1, axis=0))

    def step(self, dt):
        self.u -= dt * self.g * self.ddx(self.h)
        self.v -= dt * self.g * self.ddy(self.h)
        self.h = self.h - dt * (self.ddx(self.u * self.h) + self.ddy(self.v * self.h))
        self.steps += 1


@program(lambda rng: call(ShallowWater(1 + 0.1 * rng.random((6, 7)), np.zeros((6, 7)), np.zeros((6, 7))), 0.01))
def shallow_water(pond, dt):
    pond.step(dt)
    pond.step(dt)
    return pond.h.sum()


@program(lambda rng: call(rng.random((7, 7)), rng.random((7, 7)), 3))
def gray_scott(U, V, steps):
    F, k = 0.04, 0.06
    u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]
    for _ in range(steps):
        Lu = U[0:-2, 1:-1] + U[1:-1, 0:-2] - 4 * u + U[1:-1, 2:] + U[2:, 1:-1]
        Lv = V[0:-2, 1:-1] + V[1:-1, 0:-2] - 4 * v + V[1:-1, 2:] + V[2:, 1:-1]
        uvv = u * v * v
        u += 0.16 * Lu - uvv + F * (1 - u)
        v += 0.08 * Lv + uvv - (F + k) * v
    return v
