# %% [markdown]
# # Aligning two sequences
#
# Smith and Waterman's scores (1981) fill a table, each entry from three neighbours. No NumPy function computes that, so the program loops
# over entries. Such loops gain most from compilation.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

import tnp


def scores(a, b, match, mismatch, gap):
    table = np.zeros((len(a) + 1, len(b) + 1))
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            same = table[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch)
            table[i, j] = max(0.0, same, table[i - 1, j] + gap, table[i, j - 1] + gap)
    return table


# %%
rng = np.random.default_rng(0)
a = rng.integers(0, 4, 260)
b = np.concatenate([rng.integers(0, 4, 60), a[40:120], rng.integers(0, 4, 30), a[130:200]])
b[::17] = 0  # some mutations

fast = tnp.jit(scores)
fast(a, b, 2.0, -3.0, -4.0)  # compiles
start = time.perf_counter()
table = fast(a, b, 2.0, -3.0, -4.0)
middle = time.perf_counter()
expected = scores(a, b, 2.0, -3.0, -4.0)
end = time.perf_counter()
print("equal:", np.array_equal(table, expected))
print(f"tnp {middle - start:.4f} s, Python {end - middle:.4f} s")

# %%
figure, ax = plt.subplots(figsize=(5, 5))
ax.imshow(table, cmap="inferno")
ax.set_title("Scores: two stretches that both sequences have")
ax.set_xlabel("second sequence")
ax.set_ylabel("first sequence")
plt.show()
