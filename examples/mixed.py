"""NumPy physics in the loss of a torch network: the spring and the damper that a measured swing was made by.

    python examples/mixed.py

A network is fitted to noisy samples of a damped oscillation ``x(t)`` while NumPy says how far it is from the equation of motion
``x'' + c x' + k x = 0``, by finite differences on a grid, and ``c`` and ``k`` are found with it. Eager torch refuses NumPy's functions on tensors
that require gradients; jitted, one program holds both libraries, and the gradient goes through both. It is checked against the same loss written in
torch, at the beginning and at the end.
"""

import argparse
import math

import numpy as np
import torch

import tnp

DAMPING, STIFFNESS = 0.4, 4.0
STEPS = 64
STEP = 4.0 / (STEPS - 1)


def swing(t):
    """The solution that begins at rest at 1."""
    w = math.sqrt(STIFFNESS - DAMPING**2 / 4)
    return np.exp(-DAMPING / 2 * t) * (np.cos(w * t) + DAMPING / (2 * w) * np.sin(w * t))


def residual(x, damping, stiffness):
    """How far NumPy's samples ``x`` of a motion are from solving the equation of motion, at each inner time."""
    velocity = (x[2:] - x[:-2]) / (2 * STEP)
    acceleration = np.diff(x, 2) / STEP**2
    return acceleration + damping * velocity + stiffness * x[1:-1]


class Motion(torch.nn.Module):
    """``x(t)`` as a small network, and the two numbers of the equation."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(1, 24), torch.nn.Tanh(), torch.nn.Linear(24, 24), torch.nn.Tanh(), torch.nn.Linear(24, 1)
        )
        self.constants = torch.nn.Parameter(torch.tensor([1.0, 2.0]))

    def forward(self, t, measured):
        x = self.layers(t[:, None])[:, 0]
        physics = torch.as_tensor(residual(np.asarray(x), *np.asarray(self.constants)))
        return torch.mean((x - measured) ** 2) + 0.02 * torch.mean(physics**2)


def in_torch(model, t, measured):
    """The same loss, NumPy's part rewritten."""
    x = model.layers(t[:, None])[:, 0]
    damping, stiffness = model.constants
    physics = torch.diff(x, 2) / STEP**2 + damping * (x[2:] - x[:-2]) / (2 * STEP) + stiffness * x[1:-1]
    return torch.mean((x - measured) ** 2) + 0.02 * torch.mean(physics**2)


def largest_difference(jitted, model, t, measured):
    """Between the gradients of the jitted loss and of the one in torch, relative to the largest."""
    parameters = list(model.parameters())
    mine = torch.autograd.grad(jitted(t, measured), parameters)
    eager = torch.autograd.grad(in_torch(model, t, measured), parameters)
    scale = max(g.abs().max() for g in eager)
    return max((a - b).abs().max() / scale for a, b in zip(mine, eager)).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=1500)
    iterations = parser.parse_args().iterations
    torch.manual_seed(0)
    times = np.linspace(0.0, 4.0, STEPS)
    noise = 0.02 * np.random.default_rng(0).standard_normal(STEPS)
    t, measured = (torch.from_numpy(a.astype(np.float32)) for a in (times, swing(times) + noise))
    model = Motion()
    jitted = tnp.jit(model)
    before = largest_difference(jitted, model, t, measured)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, iterations)
    for _ in range(iterations):
        optimizer.zero_grad()
        loss = jitted(t, measured)
        loss.backward()
        optimizer.step()
        schedule.step()
    after = largest_difference(jitted, model, t, measured)
    damping, stiffness = model.constants.tolist()
    print(f"loss {loss.item():.5f}; damping {damping:.3f} (of {DAMPING}), stiffness {stiffness:.3f} (of {STIFFNESS})")
    print(f"gradients differ from eager torch's by {before:.1e} and {after:.1e}")
    assert max(before, after) < 0.01, "jitted and eager gradients differ"
    assert loss.item() < 0.002, "it has not learnt the motion; more iterations are needed"
    print("reached a loss of 0.002")


if __name__ == "__main__":
    main()
