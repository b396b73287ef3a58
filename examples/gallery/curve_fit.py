# %% [markdown]
# # Fitting a curve with SciPy
#
# `scipy.optimize.minimize` finds the parameters of two peaks in noisy data. It takes a function and its gradient. `tnp.value_and_grad`
# returns both, of the NumPy function as it is: with a loop, a slice write and a mask.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import tnp


def model(parameters, x):
    y = np.full_like(x, parameters[0])
    for k in range(2):
        height, centre, width = parameters[1 + 3 * k : 4 + 3 * k]
        y += height * np.exp(-(((x - centre) / width) ** 2))
    return y


def misfit(parameters, x, measured):
    error = np.abs(model(parameters, x) - measured)
    error[error > 0.5] = 0.5  # outliers have no say
    return (error**2).mean()


# %%
rng = np.random.default_rng(0)
x = np.linspace(0, 10, 300)
truth = np.array([0.2, 1.0, 3.0, 0.8, 0.6, 6.5, 1.5])
measured = model(truth, x) + 0.05 * rng.normal(size=x.size)
measured[rng.integers(0, x.size, 12)] += 3

loss = tnp.value_and_grad(misfit)
start = np.array([0.0, 0.8, 2.5, 1.0, 0.8, 7.0, 1.0])
found = minimize(loss, start, args=(x, measured), jac=True, method="BFGS")
print("the parameters are within 0.1 of the truth:", np.allclose(found.x, truth, atol=0.1))

# %% [markdown]
# The gradient agrees with differences:

# %%
step = 1e-6 * np.eye(truth.size)
differences = [(misfit(start + s, x, measured) - misfit(start - s, x, measured)) / 2e-6 for s in step]
print("equal:", np.allclose(loss(start, x, measured)[1], differences, atol=1e-6))

# %%
figure, ax = plt.subplots(figsize=(6, 3.5))
ax.plot(x, measured, ".", markersize=3, label="measured")
ax.plot(x, model(start, x), "--", label="start")
ax.plot(x, model(found.x, x), label="found")
ax.set_ylim(-0.2, 2)
ax.set_title("Two peaks")
ax.legend()
plt.show()
