"""Pictures: filters by shifts, thresholds, histograms, morphology."""

import numpy as np

from .registry import call, program


def picture(rng, shape):
    return rng.integers(0, 256, shape, dtype=np.uint8)


@program(lambda rng: call(picture(rng, (10, 12))))
def sobel(img):
    a = img.astype(np.float32)
    gx = np.zeros_like(a)
    gy = np.zeros_like(a)
    gx[1:-1, 1:-1] = (a[:-2, 2:] + 2 * a[1:-1, 2:] + a[2:, 2:]) - (a[:-2, :-2] + 2 * a[1:-1, :-2] + a[2:, :-2])
    gy[1:-1, 1:-1] = (a[2:, :-2] + 2 * a[2:, 1:-1] + a[2:, 2:]) - (a[:-2, :-2] + 2 * a[:-2, 1:-1] + a[:-2, 2:])
    magnitude = np.hypot(gx, gy)
    magnitude *= 255.0 / magnitude.max()
    return np.rint(magnitude).astype(np.uint8), np.arctan2(gy, gx)


@program(lambda rng: call(rng.random((9, 9)), 1.2))
def gaussian_blur(img, sigma, radius=2):
    x = np.arange(-radius, radius + 1)
    kernel = np.exp(-(x**2) / (2 * sigma**2))
    kernel /= kernel.sum()
    padded = np.pad(img, radius, mode="edge")
    rows = sum(k * padded[i : i + img.shape[0], :] for i, k in enumerate(kernel))
    return sum(k * rows[:, i : i + img.shape[1]] for i, k in enumerate(kernel))


@program(lambda rng: call(picture(rng, (8, 8))))
def histogram_equalisation(img):
    histogram = np.bincount(img.ravel(), minlength=256)
    cdf = histogram.cumsum()
    lookup = np.round((cdf - cdf[0]) / (img.size - 1) * 255).astype(np.uint8)
    return lookup[img]


@program(lambda rng: call(picture(rng, (6, 7, 3)), 128))
def rgb_to_threshold(rgb, level):
    gray = np.dot(rgb[..., :3], [0.299, 0.587, 0.114])
    mask = gray > level
    out = rgb.copy()
    out[~mask] = 0
    out[mask, 0] = 255
    return mask, out


@program(lambda rng: call(rng.random((8, 8)) > 0.7))
def dilate_and_erode(mask):
    def dilate(m):
        out = m.copy()
        out[1:] |= m[:-1]
        out[:-1] |= m[1:]
        out[:, 1:] |= m[:, :-1]
        out[:, :-1] |= m[:, 1:]
        return out

    opened = dilate(~dilate(~mask))
    return opened, np.count_nonzero(opened)


@program(lambda rng: call(rng.random((10, 9)), 3))
def box_filter(img, k):
    integral = np.zeros((img.shape[0] + 1, img.shape[1] + 1))
    integral[1:, 1:] = img.cumsum(axis=0).cumsum(axis=1)
    return (integral[k:, k:] - integral[:-k, k:] - integral[k:, :-k] + integral[:-k, :-k]) / k**2


@program(lambda rng: call(rng.random((6, 8))))
def max_pool(x):
    h, w = x.shape
    return x.reshape(h // 2, 2, w // 2, 2).max(axis=(1, 3))


@program(lambda rng: call(rng.random((5, 6)), 0.25, 0.75))
def stretch_contrast(img, low, high):
    out = img.copy()
    np.subtract(out, low, out=out)
    np.divide(out, high - low, out=out)
    return np.clip(out, 0, 1, out=out)


@program(lambda rng: call(rng.random((5, 5))))
def bilinear_zoom(img, factor=2):
    n, m = img.shape
    y = np.linspace(0, n - 1, n * factor)
    x = np.linspace(0, m - 1, m * factor)
    y0 = np.floor(y).astype(int)
    x0 = np.floor(x).astype(int)
    y1 = np.minimum(y0 + 1, n - 1)
    x1 = np.minimum(x0 + 1, m - 1)
    wy = (y - y0)[:, None]
    wx = (x - x0)[None, :]
    top = (1 - wx) * img[np.ix_(y0, x0)] + wx * img[np.ix_(y0, x1)]
    bottom = (1 - wx) * img[np.ix_(y1, x0)] + wx * img[np.ix_(y1, x1)]
    return (1 - wy) * top + wy * bottom
