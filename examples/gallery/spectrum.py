# %% [markdown]
# # Removing stripes from a picture
#
# A Fourier transform, a mask over its frequencies, and the transform back. The FFT itself is NumPy's; what stands around it is compiled.

# %%
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cbook import get_sample_data

import tnp


def without_stripes(image, low, high):
    spectrum = np.fft.fft2(image)
    fy = np.fft.fftfreq(image.shape[0])[:, None]
    fx = np.fft.fftfreq(image.shape[1])[None, :]
    frequency = np.hypot(fx, fy)
    mean = spectrum[0, 0]
    spectrum[(frequency > low) & (frequency < high) & (np.abs(fx) > 3 * np.abs(fy))] = 0
    spectrum[0, 0] = mean
    clean = np.fft.ifft2(spectrum).real
    return np.clip(clean, 0, 1)


# %%
with get_sample_data("jacksboro_fault_dem.npz") as data:
    heights = data["elevation"].astype(float)
image = (heights - heights.min()) / np.ptp(heights)
striped = image + 0.15 * np.sin(2 * np.pi * 0.12 * np.arange(image.shape[1]))

fast = tnp.jit(without_stripes)
clean = fast(striped, 0.1, 0.14)
print("equal:", np.allclose(clean, without_stripes(striped, 0.1, 0.14)))
print("error before and after:", np.std(striped - image).round(3), np.std(clean - image).round(3))

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 3.5))
for ax, picture in zip(axes, (striped, clean)):
    ax.imshow(picture, cmap="gray", vmin=0, vmax=1)
    ax.set_axis_off()
axes[0].set_title("With stripes, and without")
plt.show()
