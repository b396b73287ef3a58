"""Calls of ahrs's functions on data of the sizes that its users have."""

import ahrs
import numpy as np
from ahrs.common.orientation import chiaverini, q_correct, slerp
from ahrs.common.quaternion import QuaternionArray
from ahrs.utils.metrics import chordal, qad

rng = np.random.default_rng(0)
GRAVITY = np.array([0.0, 0.0, 9.81])
FIELD = np.array([21.0, 1.0, 42.0])


def attitudes(n):
    """Slowly varying unit quaternions."""
    t = np.linspace(0, n / 100.0, n)
    angles = np.stack([0.4 * np.sin(0.7 * t), 0.3 * np.cos(0.5 * t), 0.2 * t], axis=1)
    half = 0.5 * angles.T
    (cr, cp, cy), (sr, sp, sy) = np.cos(half), np.sin(half)
    return np.stack(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ],
        axis=1,
    )


def rotations(n):
    """Rotation matrices of such attitudes."""
    w, x, y, z = attitudes(n).T
    return np.stack(
        [
            1 - 2 * (y * y + z * z),
            2 * (x * y - w * z),
            2 * (x * z + w * y),
            2 * (x * y + w * z),
            1 - 2 * (x * x + z * z),
            2 * (y * z - w * x),
            2 * (x * z - w * y),
            2 * (w * x + y * z),
            1 - 2 * (x * x + y * y),
        ],
        axis=1,
    ).reshape(n, 3, 3)


def sensors(n):
    """Readings of gyroscopes, accelerometers and magnetometers sampled at 100 Hz."""
    to_body = rotations(n).transpose(0, 2, 1)
    gyr = np.array([0.1, 0.05, 0.2]) + rng.normal(0, 0.02, (n, 3))
    return gyr, to_body @ GRAVITY + rng.normal(0, 0.1, (n, 3)), to_body @ FIELD + rng.normal(0, 0.3, (n, 3))


def test_madgwick():
    gyr, acc, mag = sensors(1000)
    ahrs.filters.Madgwick(gyr=gyr, acc=acc, mag=mag)


def test_mahony():
    gyr, acc, _mag = sensors(1500)
    ahrs.filters.Mahony(gyr=gyr, acc=acc)


def test_ekf():
    gyr, acc, mag = sensors(600)
    ahrs.filters.EKF(gyr=gyr, acc=acc, mag=mag)


def test_complementary():
    gyr, acc, mag = sensors(5000)
    ahrs.filters.Complementary(gyr=gyr, acc=acc, mag=mag)


def test_saam():
    _gyr, acc, mag = sensors(10_000)
    ahrs.filters.SAAM(acc=acc, mag=mag)
    ahrs.filters.SAAM(acc=acc[:6500], mag=mag[:6500])


def test_quest():
    _gyr, acc, mag = sensors(500)
    ahrs.filters.QUEST(acc=acc, mag=mag)


def test_tilt():
    _gyr, acc, mag = sensors(20_000)
    ahrs.filters.Tilt(acc=acc, mag=mag)
    ahrs.filters.Tilt(acc=acc[:13_000], mag=mag[:13_000])


def test_triad():
    _gyr, acc, mag = sensors(1000)
    ahrs.filters.TRIAD(acc, mag, v1=GRAVITY, v2=FIELD)


def test_quaternion_array_to_dcm():
    quaternions = QuaternionArray(attitudes(50_000))
    quaternions.to_DCM()


def test_quaternion_array_average():
    quaternions = QuaternionArray(attitudes(10_000))
    quaternions.average()


def test_quaternion_array_angular_velocities():
    quaternions = QuaternionArray(attitudes(50_000))
    quaternions.angular_velocities(0.01)


def test_slerp():
    q = attitudes(1000)
    slerp(q[0], q[600], np.linspace(0, 1, 10_000))
    slerp(q[100], q[800], np.linspace(0, 1, 15_000))


def test_chiaverini():
    matrices = rotations(20_000)
    chiaverini(matrices)


def test_quaternion_array_from_rpy():
    angles = rng.uniform(-1.5, 1.5, (50_000, 3))
    QuaternionArray().from_rpy(angles)
    QuaternionArray().from_rpy(angles[:33_000])


def test_q_correct():
    q = attitudes(50_000)
    q[20_000:30_000] *= -1
    q_correct(q)


def test_chordal():
    r = rotations(5000)
    chordal(r, np.roll(r, 10, axis=0))


def test_qad():
    q = attitudes(50_000)
    qad(q, np.roll(q, 10, axis=0))


def test_magnetic_field():
    wmm = ahrs.utils.WMM(date=2022.5)
    wmm.magnetic_field(52.5, 13.4, 0.1, date=None)
