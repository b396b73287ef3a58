# %% [markdown]
# # Shaded relief
#
# Slope, aspect and light of a real elevation model, the Jacksboro fault, which matplotlib ships. The first function smooths the terrain
# in place; steep steps diffuse less (Perona and Malik, 1990). The second is Horn's formula (1981), with padding and a mask.

# %%
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cbook import get_sample_data

import tnp


def smooth(elevation, passes, strength):
    inner = elevation[1:-1, 1:-1]  # a view: writes to it are writes to elevation
    for _ in range(passes):
        flow = np.zeros_like(inner)
        for other in (elevation[:-2, 1:-1], elevation[2:, 1:-1], elevation[1:-1, :-2], elevation[1:-1, 2:]):
            step = other - inner
            flow += step * np.exp(-((step / 30.0) ** 2))
        inner += strength * flow


def relief(elevation, dx, azimuth, altitude):
    smooth(elevation, 20, 0.15)
    z = np.pad(2.0 * elevation, 1, mode="edge")
    dz_dx = ((z[:-2, 2:] + 2 * z[1:-1, 2:] + z[2:, 2:]) - (z[:-2, :-2] + 2 * z[1:-1, :-2] + z[2:, :-2])) / (8 * dx)
    dz_dy = ((z[2:, :-2] + 2 * z[2:, 1:-1] + z[2:, 2:]) - (z[:-2, :-2] + 2 * z[:-2, 1:-1] + z[:-2, 2:])) / (8 * dx)
    slope = np.arctan(np.hypot(dz_dx, dz_dy))
    aspect = np.arctan2(dz_dy, -dz_dx)
    zenith, direction = np.radians(90 - altitude), np.radians(450 - azimuth)
    shade = np.cos(zenith) * np.cos(slope) + np.sin(zenith) * np.sin(slope) * np.cos(direction - aspect)
    shade[slope > np.radians(60)] *= 0.8  # cliffs
    return np.clip(shade, 0, 1)


# %%
with get_sample_data("jacksboro_fault_dem.npz") as data:
    elevation = data["elevation"].astype(np.float64)

fast = tnp.jit(relief)
terrain, expected_terrain = elevation.copy(), elevation.copy()
shade = fast(terrain, 80.0, 315.0, 45.0)
print("equal:", np.allclose(shade, relief(expected_terrain, 80.0, 315.0, 45.0)))
print("smoothed in place, equally:", np.allclose(terrain, expected_terrain))

# %%
figure, ax = plt.subplots(figsize=(6, 5))
ax.imshow(shade, cmap="gray", vmin=0, vmax=1)
ax.set_title("The Jacksboro fault, lit from the north-west")
ax.set_axis_off()
plt.show()
