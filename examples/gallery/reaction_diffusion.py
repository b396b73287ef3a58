# %% [markdown]
# # Stripes that grow
#
# Two chemicals diffuse and react (Gray and Scott, 1983). `np.roll` makes the plane a torus. NumPy computes each roll, sum and
# product as an array; compiled, a step is one pass over the plane.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

import tnp


def spread(a):
    return np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a


def react(u, v, feed, kill, steps):
    for _ in range(steps):
        reaction = u * v * v
        u = u + 0.16 * spread(u) - reaction + feed * (1 - u)
        v = v + 0.08 * spread(v) + reaction - (feed + kill) * v
    return u, v


# %%
n = 128
u, v = np.ones((n, n)), np.zeros((n, n))
for row, column in np.random.default_rng(1).integers(10, n - 10, (12, 2)):
    u[row - 4 : row + 4, column - 4 : column + 4] = 0.5
    v[row - 4 : row + 4, column - 4 : column + 4] = 0.25

fast = tnp.jit(react)
fast(u, v, 0.035, 0.06, 2)  # compiles; the number of steps may differ in later calls
start = time.perf_counter()
found = fast(u, v, 0.035, 0.06, 300)
middle = time.perf_counter()
expected = react(u, v, 0.035, 0.06, 300)
numpy_seconds = time.perf_counter() - middle
print("equal:", np.allclose(found, expected))
print(f"tnp {middle - start:.3f} s, NumPy {numpy_seconds:.3f} s")

# %%
u, v = fast(u, v, 0.035, 0.06, 4000)
figure, ax = plt.subplots(figsize=(4, 4))
ax.imshow(v, cmap="viridis", interpolation="bilinear")
ax.set_title("The second chemical after 4,000 steps")
ax.set_axis_off()
plt.show()
