# %% [markdown]
# # Training a network
#
# `tnp.jit(model)` takes a PyTorch module. The forward and the backward pass are compiled, and the optimizer is PyTorch's. The
# parameters stay where they are: they belong to the model.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

import tnp

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(2, 24), torch.nn.GELU(), torch.nn.Linear(24, 24), torch.nn.GELU(), torch.nn.Linear(24, 1)
)
fast = tnp.jit(model)

rng = np.random.default_rng(0)
labels = rng.integers(0, 2, 400)
angle = rng.uniform(0, np.pi, 400)
moon = np.stack([np.cos(angle) + labels, (0.5 - labels) * 2 * np.sin(angle) + 0.5 * labels], axis=1)
points = moon + rng.normal(scale=0.12, size=moon.shape)
x, y = torch.tensor(points, dtype=torch.float32), torch.tensor(labels, dtype=torch.float32)

# %%
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for _ in range(150):
    optimizer.zero_grad()
    loss = torch.nn.functional.binary_cross_entropy_with_logits(fast(x)[:, 0], y)
    loss.backward()
    optimizer.step()
print("loss below 0.05:", loss.item() < 0.05)

# %% [markdown]
# The compiled model computes what the model computes:

# %%
with torch.no_grad():
    print("equal:", torch.allclose(fast(x), model(x), atol=1e-5))
    grid = np.stack(np.meshgrid(np.linspace(-1.5, 2.5, 120), np.linspace(-1, 1.5, 120)), axis=-1)
    chance = torch.sigmoid(fast(torch.tensor(grid.reshape(-1, 2), dtype=torch.float32))).numpy().reshape(120, 120)

# %%
figure, ax = plt.subplots(figsize=(5.5, 3.5))
ax.contourf(grid[..., 0], grid[..., 1], chance, levels=20, cmap="RdBu", alpha=0.7)
ax.scatter(*points.T, c=labels, s=6, cmap="RdBu", edgecolors="k", linewidths=0.2)
ax.set_title("Two moons, told apart")
plt.show()
