"""Calls of skyfield's functions on data of the sizes that its users have."""

import numpy as np
from skyfield.api import EarthSatellite, load, load_constellation_map, position_of_radec, wgs84
from skyfield.constants import GM_SUN_Pitjeva_2005_km3_s2
from skyfield.earthlib import refract
from skyfield.elementslib import osculating_elements_of
from skyfield.functions import to_spherical
from skyfield.geometry import line_and_ellipsoid_intersection
from skyfield.keplerlib import propagate
from skyfield.nutationlib import iau2000a, iau2000b
from skyfield.precessionlib import compute_precession
from skyfield.projections import build_stereographic_projection
from skyfield.relativity import add_aberration
from skyfield.searchlib import find_maxima
from skyfield.timelib import calendar_tuple

rng = np.random.default_rng(0)
ts = load.timescale(builtin=True)
LINE1 = "1 25544U 98067A   14020.93268519  .00009878  00000-0  18200-3 0  5082"
LINE2 = "2 25544  51.6498 109.4756 0003572  55.9686 274.8005 15.49815350868473"


def stars(n):
    """Directions spread evenly over the sky."""
    return position_of_radec(rng.uniform(0, 24, n), np.degrees(np.arcsin(rng.uniform(-1, 1, n))))


def test_timescale_utc():
    minutes = np.arange(20_000)
    ts.utc(2014, 1, 20, 0, minutes)
    ts.utc(2014, 1, 20, 0, minutes[:13_000])


def test_calendar_tuple():
    jd = rng.uniform(2415000.0, 2460000.0, 30_000)
    calendar_tuple(jd)
    calendar_tuple(jd[:20_000], 0.25)


def test_iau2000a():
    jd = 2451545.0 + np.arange(600.0)
    iau2000a(jd)
    iau2000a(jd[:400])


def test_iau2000b():
    jd = 2451545.0 + np.arange(3000.0)
    iau2000b(jd)


def test_compute_precession():
    jd = 2451545.0 + 10 * np.arange(5000.0)
    compute_precession(jd)
    compute_precession(jd[:3000])


def test_satellite_at():
    satellite = EarthSatellite(LINE1, LINE2, "ISS (ZARYA)", ts)
    t = ts.utc(2014, 1, 20, 0, np.arange(1440))
    satellite.at(t)


def test_satellite_altaz():
    satellite = EarthSatellite(LINE1, LINE2, "ISS (ZARYA)", ts)
    place = wgs84.latlon(40.8939, -83.8917, 250.0)
    position = (satellite - place).at(ts.utc(2014, 1, 20, 0, np.arange(720)))
    position.altaz()


def test_geographic_position_of():
    satellite = EarthSatellite(LINE1, LINE2, "ISS (ZARYA)", ts)
    position = satellite.at(ts.utc(2014, 1, 20, 0, np.arange(1440)))
    wgs84.geographic_position_of(position)


def test_satellite_find_events():
    satellite = EarthSatellite(LINE1, LINE2, "ISS (ZARYA)", ts)
    place = wgs84.latlon(40.8939, -83.8917)
    satellite.find_events(place, ts.utc(2014, 1, 20), ts.utc(2014, 1, 21), altitude_degrees=20.0)


def test_osculating_elements_of():
    satellite = EarthSatellite(LINE1, LINE2, "ISS (ZARYA)", ts)
    position = satellite.at(ts.utc(2014, 1, 20, 0, np.arange(500)))
    assert osculating_elements_of(position).true_anomaly is not None


def test_propagate():
    position, velocity = np.array([1.2, -0.8, 0.1]), np.array([0.008, 0.011, 0.001])
    gm = GM_SUN_Pitjeva_2005_km3_s2 * 86400.0**2 / 149597870.7**3
    propagate(position, velocity, 2456658.5, 2456658.5 + np.arange(0.5, 365.0), gm)


def test_constellation_at():
    constellation_at = load_constellation_map()
    constellation_at(stars(10_000))


def test_to_spherical():
    xyz = rng.normal(size=(3, 100_000))
    to_spherical(xyz)
    to_spherical(xyz[:, :65_000])


def test_refract():
    altitude = rng.uniform(-5, 90, 50_000)
    refract(altitude, 10.0, 1010.0)


def test_line_and_ellipsoid_intersection():
    n = 50_000
    start = np.array([7000.0, 1500.0, 800.0])[:, None] + rng.normal(0, 50, (3, n))
    direction = -start + rng.normal(0, 2500, (3, n))
    line_and_ellipsoid_intersection(start, direction, np.array([6378.137, 6378.137, 6356.752]))


def test_stereographic_projection():
    project = build_stereographic_projection(position_of_radec(5.5, 0.0))
    project(stars(50_000))


def test_add_aberration():
    n = 50_000
    position = rng.normal(0, 30, (3, n))
    velocity = rng.normal(0, 0.01, (3, n))
    add_aberration(position, velocity, np.linalg.norm(position, axis=0) * 0.0057755)


def test_find_maxima():
    satellite = EarthSatellite(LINE1, LINE2, "ISS (ZARYA)", ts)

    def height(t):
        return wgs84.height_of(satellite.at(t)).km

    height.step_days = 0.02
    find_maxima(ts.utc(2014, 1, 20), ts.utc(2014, 1, 20, 12), height)
