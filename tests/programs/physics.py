"""Fractals, spins, fluids, fields."""

import numpy as np

from .registry import call, program


@program(lambda rng: call(-2.0, 0.5, -1.25, 1.25, 9, 7, maxiter=6))
def mandelbrot(xmin, xmax, ymin, ymax, xn, yn, maxiter, horizon=2.0):
    X = np.linspace(xmin, xmax, xn, dtype=np.float64)
    Y = np.linspace(ymin, ymax, yn, dtype=np.float64)
    C = X + Y[:, None] * 1j
    N = np.zeros(C.shape, dtype=np.int64)
    Z = np.zeros(C.shape, dtype=np.complex128)
    for n in range(maxiter):
        I = np.less(abs(Z), horizon)  # noqa: E741
        N[I] = n
        Z[I] = Z[I] ** 2 + C[I]
    N[N == maxiter - 1] = 0
    return Z, N


@program(lambda rng: call(rng.random((5, 6)) * 3 - 1.5, rng.random((5, 6)) * 2 - 1, 5))
def julia(x, y, iterations):
    z = x + 1j * y
    count = np.zeros(z.shape, int)
    alive = np.ones(z.shape, bool)
    for _ in range(iterations):
        z = np.where(alive, z * z - 0.4 + 0.6j, z)
        alive &= np.abs(z) <= 2
        count += alive
    return count


@program(
    lambda rng: call(rng.choice([-1, 1], (8, 8)), 0.44, np.random.default_rng(rng.integers(1000))),
)
def ising_checkerboard(spins, beta, rng):
    """One sweep: the spins of one colour have no neighbours of their own colour."""
    rows, cols = np.indices(spins.shape)
    for colour in (0, 1):
        neighbours = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
        flip = rng.random(spins.shape) < np.exp(-2 * beta * spins * neighbours)
        flip &= (rows + cols) % 2 == colour
        spins[flip] *= -1
    return spins.mean(), -np.sum(spins * (np.roll(spins, 1, 0) + np.roll(spins, 1, 1)))


# The nine velocities of the D2Q9 lattice and their weights.
VELOCITIES = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])
WEIGHTS = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)


def equilibrium(rho, u):
    cu = 3 * np.tensordot(VELOCITIES, u, axes=1)
    usq = 1.5 * (u[0] ** 2 + u[1] ** 2)
    return WEIGHTS[:, None, None] * rho * (1 + cu + 0.5 * cu**2 - usq)


@program(lambda rng: call(1 + 0.1 * rng.random((9, 5, 6)), 0.8))
def lattice_boltzmann(f, tau):
    for _ in range(2):
        rho = f.sum(axis=0)
        u = np.tensordot(VELOCITIES.T, f, axes=1) / rho
        f += (equilibrium(rho, u) - f) / tau
        for i in range(9):
            f[i] = np.roll(f[i], tuple(VELOCITIES[i]), axis=(0, 1))
    return rho


@program(lambda rng: call(rng.standard_normal(16) + 0j, np.linspace(-2, 2, 16), 0.01))
def split_step_schroedinger(psi, x, dt):
    dx = x[1] - x[0]
    k = 2 * np.pi * np.fft.fftfreq(len(x), d=dx)
    half_potential = np.exp(-0.5j * dt * 0.5 * x**2)
    psi *= half_potential
    psi[:] = np.fft.ifft(np.exp(-0.5j * dt * k**2) * np.fft.fft(psi))
    psi *= half_potential
    psi /= np.sqrt(np.sum(np.abs(psi) ** 2) * dx)
    return np.abs(psi) ** 2


def runge_kutta(f, y, t, dt):
    k1 = f(t, y)
    k2 = f(t + dt / 2, y + dt / 2 * k1)
    k3 = f(t + dt / 2, y + dt / 2 * k2)
    k4 = f(t + dt, y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@program(lambda rng: call(rng.random(3), 0.01))
def lorenz(state, dt, sigma=10.0, beta=8 / 3, rho=28.0):
    def derivative(t, s):
        x, y, z = s
        return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])

    trajectory = [state]
    for i in range(3):
        state = runge_kutta(derivative, state, i * dt, dt)
        trajectory.append(state)
    return np.array(trajectory)


@program(lambda rng: call(rng.random(20), np.zeros(19), np.zeros(20), 3))
def yee_1d(ez, hy, epsilon, steps):
    epsilon[:] = 1.0
    epsilon[10:] = 4.0
    for n in range(steps):
        hy += 0.5 * (ez[1:] - ez[:-1])
        ez[1:-1] += 0.5 / epsilon[1:-1] * (hy[1:] - hy[:-1])
        ez[0] = np.exp(-(((n - 5) / 2) ** 2))


class Pendulums:
    """Many pendulums; the energy is a property, the state two arrays written in place."""

    damping = 0.1

    def __init__(self, angle, speed):
        self.angle, self.speed = angle, speed

    @property
    def energy(self):
        return 0.5 * self.speed**2 + (1 - np.cos(self.angle))

    def __call__(self, dt):
        self.speed += dt * (-np.sin(self.angle) - self.damping * self.speed)
        self.angle += dt * self.speed
        return self


@program(lambda rng: call(Pendulums(rng.random(6), rng.random(6)), 0.05))
def pendulums(system, dt):
    before = system.energy
    system(dt)(dt)
    lost = before - system.energy
    system.last_loss = lost
    return lost.sum()
