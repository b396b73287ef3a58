# %% [markdown]
# # NumPy inside a PyTorch loss
#
# A network is fitted to a noisy swing. Part of its loss is NumPy code that says how far the motion is from Newton's law. Eager PyTorch has
# no gradient of NumPy functions; tnp records both libraries in one program and differentiates it.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

import tnp

STEPS, DAMPING, STIFFNESS = 64, 0.4, 4.0
STEP = 4.0 / (STEPS - 1)


def residual(x):
    """How far NumPy samples of a motion are from solving x'' + c x' + k x = 0."""
    velocity = (x[2:] - x[:-2]) / (2 * STEP)
    return np.diff(x, 2) / STEP**2 + DAMPING * velocity + STIFFNESS * x[1:-1]


class Motion(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(1, 24), torch.nn.Tanh(), torch.nn.Linear(24, 1))

    def forward(self, t, measured):
        x = self.layers(t[:, None])[:, 0]
        physics = torch.as_tensor(residual(np.asarray(x)))
        return ((x[::6] - measured) ** 2).mean() + 0.01 * (physics**2).mean(), x


# %%
torch.manual_seed(1)
times = np.linspace(0, 4, STEPS, dtype=np.float32)
truth = np.exp(-DAMPING / 2 * times) * np.cos(np.sqrt(STIFFNESS - DAMPING**2 / 4) * times)
t = torch.from_numpy(times)
measured = torch.from_numpy(truth[::6]) + 0.05 * torch.randn(len(truth[::6]))
model = Motion()
fast = tnp.jit(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(600):
    optimizer.zero_grad()
    loss, x = fast(t, measured)
    loss.backward()
    optimizer.step()
print("within 0.15 of the true motion:", np.abs(x.detach().numpy() - truth).max() < 0.15)

# %%
figure, ax = plt.subplots(figsize=(6, 3.5))
ax.plot(times, truth, label="true motion")
ax.plot(times[::6], measured, "o", label="measured")
ax.plot(times, x.detach(), "--", label="network")
ax.set_title("Eleven measurements and a law")
ax.legend()
plt.show()
