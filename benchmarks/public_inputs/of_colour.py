"""Calls of colour's functions on data of the sizes that its users have."""

import colour
import numpy as np

rng = np.random.default_rng(0)


def image(n):
    """A linear RGB image of n by n pixels: gradients with some noise."""
    y, x = np.mgrid[0:n, 0:n] / n
    rgb = np.stack([0.2 + 0.6 * x, 0.3 + 0.5 * y, 0.5 + 0.4 * np.sin(6 * x * y)], axis=-1)
    return np.clip(rgb + rng.normal(0.0, 0.02, rgb.shape), 0.01, 0.99)


def xyz(n):
    """Tristimulus values of n samples."""
    rgb = rng.uniform(0.02, 0.98, (n, 3))
    return rgb @ np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]).T


def lab(n):
    return np.column_stack([rng.uniform(5.0, 95.0, n), rng.uniform(-80.0, 80.0, (n, 2))])


def reflectances(n):
    """Smooth spectra of n samples from 380 nm to 780 nm every 5 nm."""
    wavelengths = np.arange(380, 785, 5)
    centre, width = rng.uniform(400.0, 700.0, (n, 1)), rng.uniform(20.0, 120.0, (n, 1))
    return 0.05 + rng.uniform(0.3, 0.9, (n, 1)) * np.exp(-(((wavelengths - centre) / width) ** 2))


def test_xyz_to_lab():
    for n in (60000, 90000):
        colour.XYZ_to_Lab(xyz(n))


def test_xyz_to_luv():
    for n in (60000, 90000):
        colour.XYZ_to_Luv(xyz(n))


def test_delta_e_cie2000():
    for n in (30000, 45000):
        reference = lab(n)
        colour.difference.delta_E_CIE2000(reference, reference + rng.normal(0.0, 2.0, (n, 3)))


def test_delta_e_cmc():
    for n in (60000, 90000):
        reference = lab(n)
        colour.difference.delta_E_CMC(reference, reference + rng.normal(0.0, 2.0, (n, 3)))


def test_xyz_to_ciecam02():
    for n in (20000, 30000):
        colour.XYZ_to_CIECAM02(xyz(n) * 100.0, np.array([95.05, 100.0, 108.88]), 318.31, 20.0)


def test_cam16_to_xyz():
    n = 20000
    specification = colour.CAM_Specification_CAM16(
        J=rng.uniform(10.0, 90.0, n), C=rng.uniform(1.0, 60.0, n), h=rng.uniform(0.0, 360.0, n)
    )
    colour.CAM16_to_XYZ(specification, np.array([95.05, 100.0, 108.88]), 318.31, 20.0)


def test_rgb_to_hsv():
    for n in (256, 384):
        colour.RGB_to_HSV(image(n))


def test_hsl_to_rgb():
    for n in (256, 384):
        colour.HSL_to_RGB(image(n))


def test_rgb_to_rgb():
    for n in (256, 384):
        colour.RGB_to_RGB(image(n), colour.RGB_COLOURSPACES["sRGB"], colour.RGB_COLOURSPACES["ITU-R BT.2020"])


def test_eotf_inverse_srgb():
    for n in (256, 384):
        colour.models.eotf_inverse_sRGB(image(n))


def test_eotf_st2084():
    for n in (256, 384):
        colour.models.eotf_ST2084(image(n))


def test_chromatic_adaptation():
    for n in (60000, 90000):
        colour.adaptation.chromatic_adaptation_VonKries(
            xyz(n), np.array([0.9505, 1.0, 1.0888]), np.array([0.9642, 1.0, 0.8251]), transform="CAT02"
        )


def test_msds_to_xyz():
    shape = colour.SpectralShape(380, 780, 5)
    cmfs = colour.MSDS_CMFS["CIE 1931 2 Degree Standard Observer"].copy().align(shape)
    illuminant = colour.SDS_ILLUMINANTS["D65"].copy().align(shape)
    for n in (5000, 7500):
        colour.msds_to_XYZ(reflectances(n), cmfs, illuminant, method="Integration", shape=shape)


def test_planckian():
    for n in (50000, 75000):
        colour.colorimetry.planck_law(np.linspace(360e-9, 2500e-9, n), 6500.0)


def test_munsell_value():
    for n in (2000, 3000):
        colour.notation.munsell_value_ASTMD1535(rng.uniform(1.0, 99.0, n))


def test_polynomial_expansion():
    for n in (30000, 45000):
        colour.characterisation.polynomial_expansion_Finlayson2015(rng.uniform(0.0, 1.0, (n, 3)), degree=3)


def test_table_interpolation():
    table = colour.LUT3D(size=17).table ** 0.8
    for n in (100, 150):
        colour.algebra.table_interpolation_trilinear(image(n).reshape(-1, 3), table)


def test_sprague_interpolator():
    interpolator = colour.SpragueInterpolator(np.arange(380.0, 785.0, 5.0), reflectances(1)[0])
    for n in (10000, 15000):
        interpolator(np.linspace(380.0, 780.0, n))
