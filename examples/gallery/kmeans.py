# %% [markdown]
# # Clusters
#
# k-means with broadcasting, `argmin`, and centres that move in place. The distances of all pairs are one array of NumPy's. Compiled, they
# are never stored: each minimum is taken as they are computed.

# %%
import matplotlib.pyplot as plt
import numpy as np

import tnp


def lloyd(points, centres, iterations):
    k = len(centres)
    for _ in range(iterations):
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        belongs = (nearest[:, None] == np.arange(k)).astype(points.dtype)
        counts = belongs.sum(axis=0)
        centres[...] = (belongs.T @ points) / np.maximum(counts, 1)[:, None]
    return nearest


# %%
rng = np.random.default_rng(3)
middles = rng.uniform(-8, 8, (6, 2))
points = (middles[:, None, :] + rng.normal(size=(6, 300, 2))).reshape(-1, 2)
start = points[::300].copy()

fast = tnp.jit(lloyd)
centres, expected_centres = start.copy(), start.copy()
nearest = fast(points, centres, 15)
expected = lloyd(points, expected_centres, 15)
print("equal:", np.array_equal(nearest, expected), np.allclose(centres, expected_centres))

# %%
figure, ax = plt.subplots(figsize=(5, 4))
ax.scatter(*points.T, c=nearest, s=4, cmap="tab10")
ax.plot(*centres.T, "k+", markersize=14)
ax.set_title("Points, and the centres found")
plt.show()
