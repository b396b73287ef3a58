# %% [markdown]
# # Magnets with random numbers
#
# The Ising model: each magnet prefers to point as its neighbours do, and heat disturbs it. A NumPy generator is an argument. Its
# draws are those that NumPy would make, in the same order, so the results are the same for the same seed.

# %%
import matplotlib.pyplot as plt
import numpy as np

import tnp


def sweep(spins, temperature, rng, sweeps):
    rows, columns = np.indices(spins.shape)
    black = (rows + columns) % 2 == 0
    for _ in range(sweeps):
        for half in (black, ~black):
            around = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            chance = np.exp(-2.0 * spins * around / temperature)
            flips = half & (rng.random(spins.shape) < chance)
            spins[flips] *= -1
    return spins.mean()


# %%
fast = tnp.jit(sweep)
start = np.random.default_rng(0).choice([-1.0, 1.0], (150, 150))
spins, expected = start.copy(), start.copy()
found = fast(spins, 1.5, np.random.default_rng(7), 40)
print("equal:", found == sweep(expected, 1.5, np.random.default_rng(7), 40), np.array_equal(spins, expected))

# %%
figure, axes = plt.subplots(1, 3, figsize=(8, 3))
for ax, temperature in zip(axes, (1.5, 2.27, 4.0)):
    spins = start.copy()
    fast(spins, temperature, np.random.default_rng(7), 60)
    ax.imshow(spins, cmap="gray")
    ax.set_title(f"temperature {temperature}")
    ax.set_axis_off()
plt.show()
