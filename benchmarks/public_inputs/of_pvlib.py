"""Calls of pvlib's functions on data of the sizes that its users have."""

import numpy as np
import pvlib

rng = np.random.default_rng(0)


def sun(n):
    """Zenith and azimuth of the sun through days with a step of minutes, in degrees."""
    hour = np.linspace(0.0, 24.0 * n / 1440, n) % 24.0
    declination, latitude = np.radians(15.0), np.radians(40.0)
    angle = np.radians(15.0 * (hour - 12.0))
    cosine = np.sin(latitude) * np.sin(declination) + np.cos(latitude) * np.cos(declination) * np.cos(angle)
    azimuth = (
        np.degrees(np.arctan2(np.sin(angle), np.cos(angle) * np.sin(latitude) - np.tan(declination) * np.cos(latitude)))
        + 180.0
    ) % 360.0
    return np.degrees(np.arccos(cosine)), azimuth


def irradiance(n):
    """Zenith, azimuth, GHI, DNI, DHI of partly cloudy days."""
    zenith, azimuth = sun(n)
    cosine = np.maximum(np.cos(np.radians(zenith)), 0.0)
    clouds = rng.uniform(0.2, 1.0, n)
    dni = 900.0 * clouds * (cosine > 0)
    dhi = 120.0 * (1.2 - 0.5 * clouds) * (cosine > 0)
    return zenith, azimuth, dni * cosine + dhi, dni, dhi


def module_parameters(n):
    """Single-diode parameters of a module under n conditions."""
    poa = rng.uniform(100.0, 1100.0, n)
    cell = rng.uniform(0.0, 65.0, n)
    return pvlib.pvsystem.calcparams_desoto(poa, cell, 0.0045, 2.6373, 9.7, 1.2e-9, 457.0, 0.31)


def test_solar_position():
    for n in (1440, 2160):
        unixtime = 1.6e9 + 60.0 * np.arange(n)
        pvlib.spa.solar_position(unixtime, 39.7, -105.2, 1830.0, 820.0, 12.0, 67.0, 0.5667)


def test_solar_azimuth_analytical():
    for n in (100000, 150000):
        hour_angle = np.radians(np.linspace(-180.0, 180.0, n))
        declination = np.full(n, 0.2)
        zenith = pvlib.solarposition.solar_zenith_analytical(0.7, hour_angle, declination)
        pvlib.solarposition.solar_azimuth_analytical(0.7, hour_angle, declination, zenith)


def test_perez():
    for n in (30000, 45000):
        zenith, azimuth, _, dni, dhi = irradiance(n)
        airmass = np.minimum(1.0 / np.maximum(np.cos(np.radians(zenith)), 0.03), 30.0)
        pvlib.irradiance.perez(30.0, 180.0, dhi, dni, np.full(n, 1367.0), zenith, azimuth, airmass)


def test_get_total_irradiance():
    for n in (50000, 75000):
        zenith, azimuth, ghi, dni, dhi = irradiance(n)
        pvlib.irradiance.get_total_irradiance(
            25.0, 170.0, zenith, azimuth, dni, ghi, dhi, dni_extra=1367.0, albedo=0.2, model="reindl"
        )


def test_disc():
    for n in (50000, 75000):
        zenith, _, ghi, _, _ = irradiance(n)
        pvlib.irradiance.disc(ghi, zenith, np.full(n, 120))


def test_erbs():
    for n in (100000, 150000):
        zenith, _, ghi, _, _ = irradiance(n)
        pvlib.irradiance.erbs(ghi, zenith, np.full(n, 120))


def test_clearsky_ineichen():
    for n in (50000, 75000):
        zenith = np.minimum(sun(n)[0], 89.0)
        airmass = pvlib.atmosphere.get_relative_airmass(zenith)
        pvlib.clearsky.ineichen(zenith, airmass, 3.2, altitude=500.0, perez_enhancement=True)


def test_clearsky_bird():
    for n in (50000, 75000):
        zenith = sun(n)[0]
        airmass = pvlib.atmosphere.get_relative_airmass(np.minimum(zenith, 89.0))
        pvlib.clearsky.bird(zenith, airmass, 0.15, 0.1, 1.5)


def test_relative_airmass():
    for n in (100000, 150000):
        zenith = sun(n)[0]
        pvlib.atmosphere.get_relative_airmass(zenith, model="young1994")


def test_tracking_singleaxis():
    for n in (30000, 45000):
        zenith, azimuth = sun(n)
        pvlib.tracking.singleaxis(zenith, azimuth, axis_tilt=5.0, axis_azimuth=180.0, max_angle=60.0, gcr=0.4)


def test_bishop88_mpp():
    for n in (5000, 7500):
        pvlib.singlediode.bishop88_mpp(*module_parameters(n))


def test_i_from_v():
    for n in (20000, 30000):
        pvlib.pvsystem.i_from_v(rng.uniform(5.0, 40.0, n), *module_parameters(n), method="lambertw")


def test_calcparams_cec():
    for n in (50000, 75000):
        poa, cell = rng.uniform(0.0, 1100.0, n), rng.uniform(0.0, 65.0, n)
        pvlib.pvsystem.calcparams_cec(poa, cell, 0.0045, 2.6373, 9.7, 1.2e-9, 457.0, 0.31, 8.7)


def test_inverter_adr():
    inverter = {
        "Pnom": 5000.0,
        "Vnom": 400.0,
        "Pacmax": 4800.0,
        "Pnt": 0.5,
        "Vmax": 500.0,
        "Vmin": 250.0,
        "Vdcmax": 600.0,
        "MPPTHi": 480.0,
        "MPPTLow": 260.0,
        "ADRCoefficients": [0.01385, 0.0152, 0.00794, 0.00286, -0.01872, -0.01305, 0.0, 0.0, 0.0],
    }
    for n in (50000, 75000):
        pvlib.inverter.adr(rng.uniform(240.0, 520.0, n), rng.uniform(0.0, 5200.0, n), inverter)


def test_iam_physical():
    for n in (100000, 150000):
        pvlib.iam.physical(rng.uniform(0.0, 100.0, n), n_ar=1.29)


def test_spectrl2():
    zenith = np.linspace(10.0, 80.0, 300)
    airmass = pvlib.atmosphere.get_relative_airmass(zenith)
    pvlib.spectrum.spectrl2(
        zenith, zenith - 5.0, 30.0, 0.2, 101300.0, airmass, 1.4, 0.31, 0.1, dayofyear=np.full(300, 80)
    )


def test_infinite_sheds_view_factor():
    for n in (10000, 15000):
        rotation = np.linspace(-60.0, 60.0, n)
        pvlib.bifacial.utils.vf_ground_sky_2d_integ(rotation, 0.4, 1.5, 5.0, max_rows=5)


def test_scaling_wvm():
    x, y = np.meshgrid(np.arange(20) * 15.0, np.arange(15) * 15.0)
    positions = np.column_stack([x.ravel(), y.ravel()])
    clearsky_index = np.clip(0.8 + np.cumsum(rng.normal(0.0, 0.02, 3600)), 0.1, 1.2)
    pvlib.scaling.wvm(clearsky_index, positions, 12.0, dt=1.0)
