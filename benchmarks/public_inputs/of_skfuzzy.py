"""Calls of skfuzzy's functions on data of the sizes that its users have."""

import numpy as np
import skfuzzy as fuzz
from skfuzzy import control as ctrl

rng = np.random.default_rng(0)


def blobs(n):
    """Three clouds of points, one column a point."""
    centres = np.array([[4.0, 2.0], [1.0, 7.0], [5.0, 6.0]])
    return (centres[rng.integers(0, 3, n)] + rng.normal(0, 0.8, (n, 2))).T


def noisy_image(shape):
    """A smooth 8-bit image with salt-and-pepper noise."""
    rows, cols = np.mgrid[: shape[0], : shape[1]]
    image = (127 + 100 * np.sin(rows / 20.0) * np.cos(cols / 30.0)).astype(np.uint8)
    image[rng.random(shape) < 0.02] = 255
    image[rng.random(shape) < 0.02] = 0
    return image


def test_cmeans():
    data = blobs(5000)
    init = rng.random((3, 5000))
    fuzz.cmeans(data, 3, 2, error=0.005, maxiter=50, init=init / init.sum(axis=0))
    bigger = blobs(7500)
    init = rng.random((3, 7500))
    fuzz.cmeans(bigger, 3, 2, error=0.005, maxiter=50, init=init / init.sum(axis=0))


def test_cmeans_predict():
    centres = np.array([[4.1, 2.0], [1.1, 6.8], [5.0, 6.1]])
    data = blobs(20_000)
    fuzz.cmeans_predict(data, centres, 2, error=0.005, maxiter=100, seed=0)


def test_defuzz_centroid():
    x = np.linspace(0, 100, 2001)
    mf = np.fmax(np.fmin(0.4, fuzz.trimf(x, [0, 20, 50])), np.fmin(0.8, fuzz.trimf(x, [30, 60, 100])))
    fuzz.defuzz(x, mf, "centroid")
    fuzz.defuzz(x[::2], mf[::2], "centroid")


def test_defuzz_bisector():
    x = np.linspace(0, 100, 1001)
    mf = np.fmax(np.fmin(0.4, fuzz.gaussmf(x, 25, 8)), np.fmin(0.8, fuzz.gaussmf(x, 60, 10)))
    fuzz.defuzz(x, mf, "bisector")


def test_fire1d():
    signal = 0.5 * np.sin(np.linspace(0, 200, 50_000))
    signal[rng.integers(0, 50_000, 500)] = 1.0
    fuzz.fire1d(signal)
    fuzz.fire1d(signal[:30_000])


def test_fire2d():
    image = noisy_image((256, 256)).clip(5, 250)
    fuzz.fire2d(image)
    fuzz.fire2d(image[:160, :192])


def test_defocus_local_means():
    fuzz.defocus_local_means(noisy_image((512, 512)))
    fuzz.defocus_local_means(noisy_image((256, 384)))


def test_contrast():
    image = rng.random((512, 512))
    fuzz.contrast(image, amount=1.6, split=0.45)
    fuzz.contrast(image[:300, :400], amount=[0.7, 1.5])


def test_trimf():
    x = rng.uniform(0, 40, 100_000)
    fuzz.trimf(x, [10, 20, 32])
    fuzz.trimf(x[:60_000], [15, 25, 35])


def test_pimf():
    x = np.linspace(0, 10, 100_000)
    fuzz.pimf(x, 1.0, 3.0, 6.0, 9.0)


def test_gbellmf():
    x = rng.uniform(-10, 10, 200_000)
    fuzz.gbellmf(x, 2.0, 4.0, 1.0)
    fuzz.gbellmf(x[:130_000], 3.0, 2.0, 0.0)


def test_gauss2mf():
    x = np.linspace(-5, 5, 200_000)
    fuzz.gauss2mf(x, -1.0, 0.7, 2.0, 1.1)


def test_fuzzy_and():
    x, y = np.linspace(0, 10, 10_001), np.linspace(2, 14, 6001)
    mfx, mfy = fuzz.gaussmf(x, 5, 1.5), fuzz.trapmf(y, [3, 5, 9, 12])
    fuzz.fuzzy_and(x, mfx, y, mfy)


def test_fuzzy_add():
    x, y = np.arange(0, 41.0), np.arange(5, 61.0)
    mfx, mfy = fuzz.trimf(x, [2, 10, 20]), fuzz.trimf(y, [8, 20, 35])
    fuzz.fuzzy_add(x, mfx, y, mfy)
    fuzz.fuzzy_add(x[:26], mfx[:26], y[:36], mfy[:36])


def test_maxmin_composition():
    r, s = rng.random((80, 120)), rng.random((120, 60))
    fuzz.maxmin_composition(r, s)


def test_dsw_mult():
    x, y = np.linspace(0, 10, 1001), np.linspace(5, 25, 1001)
    mfx, mfy = fuzz.trimf(x, [2, 5, 8]), fuzz.trimf(y, [7, 14, 22])
    fuzz.dsw_mult(x, mfx, y, mfy, 50)
    fuzz.dsw_mult(x, mfx, y, mfy, 75)


def test_relation_product():
    a, b = fuzz.gaussmf(np.linspace(0, 10, 500), 5, 2), fuzz.gaussmf(np.linspace(0, 1, 700), 0.3, 0.2)
    fuzz.relation_product(a, b)


def test_control_system_compute():
    quality = ctrl.Antecedent(np.arange(0, 10.1, 0.1), "quality")
    service = ctrl.Antecedent(np.arange(0, 10.1, 0.1), "service")
    tip = ctrl.Consequent(np.arange(0, 25.1, 0.25), "tip")
    quality.automf(3)
    service.automf(3)
    tip["low"] = fuzz.trimf(tip.universe, [0, 0, 13])
    tip["medium"] = fuzz.trimf(tip.universe, [0, 13, 25])
    tip["high"] = fuzz.trimf(tip.universe, [13, 25, 25])
    rules = [
        ctrl.Rule(quality["poor"] | service["poor"], tip["low"]),
        ctrl.Rule(service["average"], tip["medium"]),
        ctrl.Rule(service["good"] | quality["good"], tip["high"]),
    ]
    tipping = ctrl.ControlSystemSimulation(ctrl.ControlSystem(rules), cache=False)
    tipping.input["quality"] = 6.5
    tipping.input["service"] = 9.8
    tipping.compute()
