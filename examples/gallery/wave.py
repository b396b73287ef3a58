# %% [markdown]
# # A wave in a basin
#
# A drop falls into a basin with an island. The stencil writes into the caller's arrays, through slices, and a mask holds the
# island still. The function is NumPy's; `tnp.jit` compiles it with its loop.

# %%
import matplotlib.pyplot as plt
import numpy as np

import tnp


def simulate(u, v, island, steps):
    for _ in range(steps):
        lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        v[1:-1, 1:-1] += 0.25 * lap
        v[island] = 0.0
        u += v


# %%
n = 200
y, x = np.mgrid[:n, :n]
island = (x - 130) ** 2 + (y - 100) ** 2 < 20**2
u = np.exp(-((x - 60) ** 2 + (y - 90) ** 2) / 30.0)
v = np.zeros_like(u)
expected_u, expected_v = u.copy(), v.copy()

fast = tnp.jit(simulate)
fast(u, v, island, 180)  # u and v are changed in place

# %% [markdown]
# NumPy leads to the same wave:

# %%
simulate(expected_u, expected_v, island, 180)
print("equal:", np.allclose(u, expected_u, rtol=0, atol=1e-12))

# %%
figure, ax = plt.subplots(figsize=(5, 4))
ax.imshow(np.where(island, np.nan, u), cmap="RdBu", vmin=-0.15, vmax=0.15)
ax.set_title("The wave after 180 steps")
ax.set_axis_off()
plt.show()
