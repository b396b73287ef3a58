"""Calls of pymap3d's functions on data of the sizes that its users have."""

from datetime import datetime

import numpy as np
import pymap3d
import pymap3d.haversine
import pymap3d.karney
import pymap3d.los
import pymap3d.lox
import pymap3d.vincenty

rng = np.random.default_rng(0)


def points(n):
    """Latitudes and longitudes in degrees and heights in metres."""
    return rng.uniform(-85, 85, n), rng.uniform(-180, 180, n), rng.uniform(0, 12000, n)


def test_geodetic2ecef():
    lat, lon, alt = points(200_000)
    lat2, lon2, alt2 = points(300_000)
    pymap3d.geodetic2ecef(lat, lon, alt)
    pymap3d.geodetic2ecef(lat2, lon2, alt2)


def test_ecef2geodetic():
    n = 100_000
    lat, lon = np.radians(rng.uniform(-85, 85, n)), np.radians(rng.uniform(-180, 180, n))
    r = 6.371e6 + rng.uniform(20e3, 800e3, n)
    x, y, z = r * np.cos(lat) * np.cos(lon), r * np.cos(lat) * np.sin(lon), r * np.sin(lat)
    pymap3d.ecef2geodetic(x, y, z)
    pymap3d.ecef2geodetic(x[:66_000], y[:66_000], z[:66_000])


def test_geodetic2enu():
    lat0, lon0, h0 = 46.017, 7.750, 1673.0
    lat = lat0 + rng.uniform(-0.2, 0.2, (300, 400))
    lon = lon0 + rng.uniform(-0.2, 0.2, (300, 400))
    h = rng.uniform(500, 4500, (300, 400))
    pymap3d.geodetic2enu(lat, lon, h, lat0, lon0, h0)


def test_ecef2aer():
    n = 100_000
    lat, lon = np.radians(rng.uniform(30, 55, n)), np.radians(rng.uniform(-10, 25, n))
    r = 6.371e6 + rng.uniform(300e3, 800e3, n)
    x, y, z = r * np.cos(lat) * np.cos(lon), r * np.cos(lat) * np.sin(lon), r * np.sin(lat)
    pymap3d.ecef2aer(x, y, z, 47.4, 8.5, 400.0)
    pymap3d.ecef2aer(x[:50_000], y[:50_000], z[:50_000], -33.9, 151.2, 30.0)


def test_aer2geodetic():
    n = 60_000
    az, el, srange = rng.uniform(0, 360, n), rng.uniform(1, 80, n), rng.uniform(1e3, 250e3, n)
    pymap3d.aer2geodetic(az, el, srange, 42.0, -82.0, 200.0)


def test_ned2aer():
    n = 200_000
    north, east, down = rng.normal(0, 5e3, n), rng.normal(0, 5e3, n), -rng.uniform(10, 3e3, n)
    pymap3d.ned2aer(north, east, down)
    pymap3d.ned2aer(north[:100_000], east[:100_000], down[:100_000])


def test_eci2ecef():
    n = 50_000
    r = rng.normal(size=(3, n))
    x, y, z = 7.0e6 * r / np.linalg.norm(r, axis=0)
    pymap3d.eci2ecef(x, y, z, datetime(2023, 4, 5, 6, 7, 8))
    pymap3d.eci2ecef(x[:20_000], y[:20_000], z[:20_000], datetime(2024, 1, 1))


def test_geodesic_area():
    theta = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    radius = 3.0 + 0.2 * rng.normal(size=400)
    lats, lons = 47.0 + radius * np.sin(theta), 12.0 + 1.5 * radius * np.cos(theta)
    pymap3d.karney.geodesic_area(lats, lons)


def test_radec2azel():
    n = 100_000
    ra, dec = rng.uniform(0, 360, n), np.degrees(np.arcsin(rng.uniform(-1, 1, n)))
    pymap3d.radec2azel(ra, dec, 28.76, -17.88, datetime(2022, 11, 3, 23, 30))
    pymap3d.radec2azel(ra[:65_000], dec[:65_000], -24.6, -70.4, datetime(2022, 11, 4, 3, 30))


def test_geodetic2isometric():
    lat = rng.uniform(-89, 89, 150_000)
    pymap3d.geodetic2isometric(lat)


def test_geodetic2authalic():
    lat = rng.uniform(-90, 90, 200_000)
    pymap3d.geodetic2authalic(lat)
    pymap3d.geodetic2authalic(lat[:130_000])


def test_vdist():
    n = 10_000
    lat1, lon1, _ = points(n)
    lat2, lon2 = lat1 + rng.uniform(-4, 4, n), lon1 + rng.uniform(-20, 20, n)
    pymap3d.vincenty.vdist(lat1, lon1, lat2, lon2)
    pymap3d.vincenty.vdist(lat1[:6000], lon1[:6000], lat2[:6000], lon2[:6000])


def test_vreckon():
    n = 30_000
    lat, lon, _ = points(n)
    pymap3d.vincenty.vreckon(lat, lon, rng.uniform(1e3, 2e6, n), rng.uniform(0, 360, n))


def test_loxodrome_inverse():
    n = 30_000
    lat1, lon1, _ = points(n)
    lat2, lon2, _ = points(n)
    pymap3d.lox.loxodrome_inverse(lat1, lon1, lat2, lon2)


def test_meanm():
    lat, lon = rng.normal(48, 2, 100_000), rng.normal(11, 3, 100_000)
    pymap3d.lox.meanm(lat, lon)


def test_anglesep_meeus():
    ra, dec = rng.uniform(0, 360, 300), rng.uniform(-80, 80, 300)
    cat_ra, cat_dec = rng.uniform(0, 360, 500), rng.uniform(-80, 80, 500)
    pymap3d.haversine.anglesep_meeus(ra[:, None], dec[:, None], cat_ra, cat_dec)
    pymap3d.haversine.anglesep_meeus(ra[:200, None], dec[:200, None], cat_ra, cat_dec)


def test_look_at_spheroid():
    az, tilt = np.meshgrid(np.linspace(0, 359, 360), np.linspace(0, 75, 200))
    pymap3d.los.lookAtSpheroid(35.0, -110.0, 700e3, az, tilt)


def test_ecef2bodyv():
    n = 50_000
    x, y, z = rng.normal(0, 200, (3, n))
    yaw, pitch, roll = rng.uniform(0, 360, n), rng.normal(0, 10, n), rng.normal(0, 20, n)
    pymap3d.ecef2bodyv(x, y, z, 47.0, 8.0, yaw, pitch, roll)
