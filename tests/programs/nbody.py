"""Particles: forces by broadcasting, steps in place."""

from dataclasses import dataclass, field

import numpy as np

from .registry import call, program

G = 6.674e-3
SOFTENING = 0.05


def acceleration(pos, mass):
    d = pos[np.newaxis, :, :] - pos[:, np.newaxis, :]
    r2 = (d**2).sum(axis=-1) + SOFTENING**2
    inv_r3 = r2**-1.5
    return G * (d * inv_r3[:, :, np.newaxis]).transpose(0, 2, 1) @ mass


@program(lambda rng: call(rng.standard_normal((6, 3)), rng.standard_normal((6, 3)), rng.random(6), 0.01))
def gravity_step(pos, vel, mass, dt):
    vel += acceleration(pos, mass) * dt
    pos += vel * dt


@program(lambda rng: call(rng.standard_normal((5, 3)), rng.standard_normal((5, 3)), rng.random(5), 0.01, 3))
def leapfrog(pos, vel, mass, dt, steps):
    acc = acceleration(pos, mass)
    history = np.empty((steps, *pos.shape))
    for i in range(steps):
        vel += 0.5 * dt * acc
        pos += dt * vel
        acc = acceleration(pos, mass)
        vel += 0.5 * dt * acc
        history[i] = pos
    kinetic = 0.5 * np.sum(mass[:, None] * vel**2)
    return history, kinetic


@program(lambda rng: call(rng.random((6, 2)) * 3, 1.0, 1.0))
def lennard_jones(positions, epsilon, sigma, cutoff=2.5):
    delta = positions[:, None] - positions[None, :]
    r2 = np.sum(delta**2, axis=2)
    np.fill_diagonal(r2, np.inf)
    s6 = (sigma**2 / r2) ** 3
    s6[r2 > cutoff**2] = 0.0
    energy = 2 * epsilon * np.sum(s6 * (s6 - 1))
    force = np.sum((24 * epsilon * s6 * (2 * s6 - 1) / r2)[:, :, None] * delta, axis=1)
    return energy, force


@dataclass
class Box:
    positions: np.ndarray
    velocities: np.ndarray
    size: float = 1.0
    bounces: int = 0
    history: list = field(default_factory=list)

    def move(self, dt: float) -> None:
        self.positions += dt * self.velocities
        outside = (self.positions < 0) | (self.positions > self.size)
        self.velocities[outside] *= -1
        np.clip(self.positions, 0, self.size, out=self.positions)


@program(lambda rng: call(Box(rng.random((7, 2)), rng.standard_normal((7, 2)), size=1.5), 0.3))
def bouncing_box(box, dt):
    box.move(dt)
    box.move(dt)
    box.bounces += 2
    return box.velocities


@program(lambda rng: call(rng.random((8, 2)), rng.random((8, 2)) - 0.5))
def boids(position, velocity):
    """Rougier's "From Python to NumPy", section 5.2, without the random part."""
    distance = np.sqrt(((position[:, None] - position[None]) ** 2).sum(-1))
    near = (distance > 0) & (distance < 0.5)
    count = np.maximum(near.sum(axis=1), 1).reshape(-1, 1)
    alignment = near.astype(float) @ velocity / count
    norm = np.sqrt((alignment * alignment).sum(axis=1)).reshape(-1, 1)
    np.divide(alignment, norm, out=alignment, where=norm != 0)
    cohesion = np.dot(near, position) / count - position
    velocity += 0.1 * alignment + 0.05 * cohesion
    position += velocity
    position %= 1.0
    return near.any(axis=1)
