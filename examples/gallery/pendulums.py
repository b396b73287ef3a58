# %% [markdown]
# # A thousand pendulums
#
# One pendulum with friction is a short function: a loop of Runge–Kutta steps. `tnp.vmap` maps it over starts, and `tnp.grad` says how the
# end depends on the start. Neither needs the function to be rewritten.

# %%
import matplotlib.pyplot as plt
import numpy as np

import tnp


def rate(state):
    return np.array([state[1], -np.sin(state[0]) - 0.1 * state[1]])


def swing(start, steps):
    state = start.copy()
    for _ in range(steps):
        k1 = rate(state)
        k2 = rate(state + 0.05 * k1)
        k3 = rate(state + 0.05 * k2)
        k4 = rate(state + 0.1 * k3)
        state += 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


# %%
n = 60
angle, velocity = np.meshgrid(np.linspace(-np.pi, np.pi, n), np.linspace(-4, 4, n))
starts = np.stack([angle.ravel(), velocity.ravel()], axis=1)
many = tnp.jit(tnp.vmap(swing, in_axes=(0, None)))
ends = many(starts, 400)
print(ends.shape, np.allclose(ends[:5], [swing(s, 400) for s in starts[:5]]))

# %% [markdown]
# How far does the last angle move if the first does? Near the upper rest it does most.

# %%
last_angle = tnp.grad(lambda start: swing(start, 60)[0])
for start in (0.1, 3.0):
    print(f"from {start}: {last_angle(np.array([start, 0.0]))[0]:.2f}")

# %%
figure, ax = plt.subplots(figsize=(6, 4))
turns = np.round(ends[:, 0] / (2 * np.pi)).reshape(n, n)
ax.imshow(turns, extent=(-np.pi, np.pi, -4, 4), origin="lower", aspect="auto", cmap="coolwarm")
ax.set_title("Where each pendulum comes to rest")
ax.set_xlabel("first angle")
ax.set_ylabel("first velocity")
plt.show()
