# %% [markdown]
# # The Mandelbrot set
#
# How many iterations does each point need to leave a disc of radius 2? The usual NumPy program keeps all points in arrays and masks
# those that have left. A loop over pixels, with a `while` in it, says the same more plainly. Python takes minutes for it; compiled it
# is native code.

# %%
import matplotlib.pyplot as plt
import numpy as np

import tnp


def escape_times(counts, left, bottom, step, limit):
    rows, columns = counts.shape
    for i in range(rows):
        for j in range(columns):
            cx, cy = left + step * j, bottom + step * i
            x = y = 0.0
            n = 0
            while n < limit and x * x + y * y < 4.0:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                n += 1
            counts[i, j] = n


fast = tnp.jit(escape_times)
counts = np.zeros((400, 600), dtype=np.int64)
fast(counts, -2.1, -1.0, 0.005, 200)

# %% [markdown]
# Python needs long, so we compare a part:

# %%
part, expected = np.zeros((30, 40), dtype=np.int64), np.zeros((30, 40), dtype=np.int64)
fast(part, -0.8, 0.0, 0.01, 50)
escape_times(expected, -0.8, 0.0, 0.01, 50)
print("equal:", np.array_equal(part, expected))

# %%
figure, ax = plt.subplots(figsize=(6, 4))
ax.imshow(np.log(counts), extent=(-2.1, 0.9, -1, 1), cmap="magma")
ax.set_title("Iterations until a point leaves")
plt.show()
