"""Calls of PyAbel's functions on data of the sizes that its users have."""

import abel
import abel.tools.analytical
import abel.tools.center
import abel.tools.circularize
import abel.tools.math
import abel.tools.polar
import abel.tools.polynomial
import abel.tools.symmetry
import abel.tools.vmi
import numpy as np

rng = np.random.default_rng(0)


def rings(n, shift=(0.0, 0.0)):
    """A noisy velocity-map image of n by n pixels with rings of different anisotropy."""
    y, x = np.mgrid[0:n, 0:n] - (n - 1) / 2
    y, x = y - shift[0], x - shift[1]
    r = np.hypot(x, y) + 1e-9
    cos2 = (y / r) ** 2
    image = np.zeros((n, n))
    for radius, beta, height in ((0.12, 2.0, 40.0), (0.25, -1.0, 100.0), (0.37, 0.5, 70.0)):
        image += height * np.exp(-(((r - radius * n) / (0.012 * n)) ** 2)) * (1 + beta * (1.5 * cos2 - 0.5))
    return image + rng.poisson(2.0, (n, n))


def half(rows, cols):
    """The right half of a smooth flame image."""
    r = np.arange(cols) / cols
    z = np.linspace(0.0, 1.0, rows)[:, None]
    return np.exp(-((r / (0.15 + 0.5 * z)) ** 2)) * (1 + 0.02 * rng.normal(size=(rows, cols)))


def test_hansenlaw_transform():
    image = half(512, 256)
    abel.hansenlaw.hansenlaw_transform(image, direction="inverse")
    abel.hansenlaw.hansenlaw_transform(half(768, 384), direction="forward", hold_order=1)


def test_direct_transform():
    image = half(100, 100)
    abel.direct.direct_transform(image, dr=0.1, direction="inverse", backend="Python")
    abel.direct.direct_transform(half(150, 150), dr=0.1, direction="forward", backend="Python")


def test_three_point_transform():
    for n in (200, 300):
        image = half(n, n)
        abel.dasch.three_point_transform(image, basis_dir=None)


def test_onion_peeling_transform():
    for n in (180, 270):
        image = half(n, n)
        abel.dasch.onion_peeling_transform(image, basis_dir=None)


def test_onion_bordas_transform():
    for n in (100, 150):
        image = half(n, n)
        abel.onion_bordas.onion_bordas_transform(image)


def test_daun_transform():
    for n in (96, 128):
        image = half(n, n)
        abel.daun.daun_transform(image, reg=1.0, degree=1, verbose=False)


def test_rbasex_transform():
    for n in (101, 141):
        image = rings(n)
        abel.rbasex.rbasex_transform(image, order=2, reg=("SVD", 0.1))


def test_linbasex_transform():
    image = rings(201)
    abel.linbasex.linbasex_transform_full(image, legendre_orders=[0, 2], proj_angles=[0, np.pi / 2], radial_step=4)


def test_reproject_image_into_polar():
    for n in (301, 451):
        image = rings(n)
        abel.tools.polar.reproject_image_into_polar(image, Jacobian=True)


def test_angular_integration():
    for n in (301, 451):
        image = rings(n)
        abel.tools.vmi.angular_integration_3D(image)


def test_radial_integration():
    image = rings(401)
    abel.tools.vmi.radial_integration(image, radial_ranges=[(40, 56), (92, 108), (140, 156)])


def test_harmonics():
    for n in (401, 601):
        image = rings(n)
        abel.tools.vmi.harmonics(image, origin="cc", order=4)


def test_to_pes():
    for n in (20000, 30000):
        radial = np.linspace(0.0, 500.0, n)
        intensity = np.exp(-(((radial - 300.0) / 4.0) ** 2)) + 0.01 * rng.random(n)
        abel.tools.vmi.toPES(radial, intensity, 1.2e-5, photon_energy=3.5, Vrep=-2200)


def test_center_image():
    for n in (400, 600):
        image = rings(n, shift=(4.3, -2.6))
        abel.tools.center.center_image(image, method="convolution", odd_size=True, square=True)


def test_find_origin_by_gaussian_fit():
    for n in (512, 768):
        image = rings(n, shift=(4.3, -2.6))
        abel.tools.center.find_origin(image, method="gaussian")


def test_circularize():
    image = rings(401)
    abel.tools.circularize.circularize(image, lambda angle: 1.0 + 0.02 * np.sin(2 * angle))


def test_image_quadrants():
    for n in (511, 767):
        image = rings(n)
        abel.tools.symmetry.get_image_quadrants(image, symmetry_axis=(0, 1))


def test_piecewise_polynomial():
    for n in (20000, 30000):
        r = np.linspace(0.0, 100.0, n)
        abel.tools.polynomial.PiecewisePolynomial(
            r,
            [
                (0, 20, [1.0, 0.0, -0.5], 0.0, 20.0),
                (20, 60, [0.5, 0.1, 0.3, -0.2], 40.0, 20.0),
                (60, 90, [0.0, 0.0, 0.4], 90.0, 30.0),
            ],
        )
