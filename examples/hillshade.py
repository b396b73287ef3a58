"""Shaded relief of a real elevation model, under NumPy and under tnp.

The functions below are plain NumPy: slope, aspect and illumination of a digital elevation model, and a smoothing that
diffuses the terrain in place, through views. ``tnp.jit`` takes them as they are.

The data is the elevation model of the Jacksboro fault (344 × 403 points) that matplotlib ships.
"""

import argparse
import time
from pathlib import Path

import numpy as np

import tnp


def smooth(elevation, passes, strength):
    """Diffuses the interior ``passes`` times, in place; steep steps diffuse less (Perona and Malik, 1990)."""
    inner = elevation[1:-1, 1:-1]
    for _ in range(passes):
        north = elevation[:-2, 1:-1] - inner
        south = elevation[2:, 1:-1] - inner
        west = elevation[1:-1, :-2] - inner
        east = elevation[1:-1, 2:] - inner
        flow = np.zeros_like(inner)
        for step in (north, south, west, east):
            flow += step * np.exp(-((step / 30.0) ** 2))
        inner += strength * flow


def hillshade(elevation, dx, dy, azimuth, altitude, exaggeration):
    """Illumination in [0, 1], slope in degrees and aspect in degrees from north, of every point (Horn, 1981)."""
    z = np.pad(elevation * exaggeration, 1, mode="edge")
    dz_dx = ((z[:-2, 2:] + 2 * z[1:-1, 2:] + z[2:, 2:]) - (z[:-2, :-2] + 2 * z[1:-1, :-2] + z[2:, :-2])) / (8 * dx)
    dz_dy = ((z[2:, :-2] + 2 * z[2:, 1:-1] + z[2:, 2:]) - (z[:-2, :-2] + 2 * z[:-2, 1:-1] + z[:-2, 2:])) / (8 * dy)
    slope = np.arctan(np.hypot(dz_dx, dz_dy))
    aspect = np.arctan2(dz_dy, -dz_dx)
    zenith, direction = np.radians(90 - altitude), np.radians(360 - azimuth + 90)
    shade = np.cos(zenith) * np.cos(slope) + np.sin(zenith) * np.sin(slope) * np.cos(direction - aspect)
    np.clip(shade, 0, 1, out=shade)
    return shade, np.degrees(slope), np.degrees(np.pi / 2 - aspect) % 360


def relief(elevation, dx, dy):
    """A blend of three lights on the smoothed terrain. Smooths ``elevation`` in place."""
    smooth(elevation, 20, 0.15)
    shade, slope, aspect = hillshade(elevation, dx, dy, 315.0, 45.0, 2.0)
    for azimuth in (225.0, 0.0):
        shade += hillshade(elevation, dx, dy, azimuth, 45.0, 2.0)[0]
    shade /= 3
    shade[slope > 60] *= 0.8  # cliffs
    return shade, slope, aspect


def load():
    """The elevation model (m) and the distance between its points (m)."""
    from matplotlib.cbook import get_sample_data

    with get_sample_data("jacksboro_fault_dem.npz") as data:
        elevation = data["elevation"].astype(np.float64)
        metres_a_degree = 111_200.0
        dx = float(data["dx"]) * metres_a_degree * np.cos(np.radians(float(data["ymin"])))
        dy = float(data["dy"]) * metres_a_degree
    return elevation, float(dx), dy


def best_time(f, elevation, *rest, repeat=5):
    """The shortest of several runs, each on a fresh copy, in seconds."""
    best = float("inf")
    for _ in range(repeat):
        copy = elevation.copy()
        start = time.perf_counter()
        f(copy, *rest)
        best = min(best, time.perf_counter() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("hillshade.png"))
    out = parser.parse_args().out
    elevation, dx, dy = load()
    print(
        f"elevation model: {elevation.shape[0]} x {elevation.shape[1]} points, {elevation.min():.0f} to {elevation.max():.0f} m"
    )

    compiled = tnp.jit(relief)
    eager_elevation, compiled_elevation = elevation.copy(), elevation.copy()
    expected = relief(eager_elevation, dx, dy)
    start = time.perf_counter()
    result = compiled(compiled_elevation, dx, dy)
    cold = time.perf_counter() - start
    for name, a, b in zip(("shade", "slope", "aspect"), result, expected):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(compiled_elevation, eager_elevation, rtol=1e-12)
    print("NumPy and tnp agree on shade, slope, aspect and on the elevation smoothed in place")

    numpy_time = best_time(relief, elevation, dx, dy)
    tnp_time = best_time(compiled, elevation, dx, dy)
    print(
        f"NumPy {numpy_time * 1e3:.1f} ms, tnp {tnp_time * 1e3:.1f} ms ({numpy_time / tnp_time:.2f}x), first call {cold * 1e3:.0f} ms"
    )
    print(f"operations in the program: {len(tnp.last_traces(compiled)[-1].body)}")

    from matplotlib.image import imsave

    out.parent.mkdir(parents=True, exist_ok=True)
    imsave(out, result[0], cmap="gray", vmin=0, vmax=1)
    print(f"relief written to {out}")


if __name__ == "__main__":
    main()
