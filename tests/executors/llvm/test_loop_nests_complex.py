"""Complex numbers of Python in loops that are compiled."""

import math

import numpy as np
import pytest

import tnp
from tests.flow_checks import same_as_eager, statements

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
EXECUTORS = (["llvm[everything]"],)


def native(f, *calls):
    jitted = same_as_eager(f, *calls, executors=EXECUTORS)
    assert not any(line.strip().startswith(("for ", "while ")) for line in statements(jitted))
    return jitted


def orbit(x, z, c, n):
    """How long it takes to leave the disc, and where it has been."""
    left = n
    for k in range(n):
        z = z * z + c
        x[k] = z
        if abs(z) > 2.0:
            left = k
            break
    return z, left


def test_an_orbit():
    starts = ((0j, -0.75 + 0.1j), (0.3 + 0.2j, 0.4 - 0.35j), (-0.0 - 0j, 1e308 + 1e308j), (0j, 0j))
    native(orbit, *(lambda z=z, c=c: (np.zeros(40, complex), z, c, 40) for z, c in starts[:2] + starts[3:]))
    args = np.zeros(4, complex), 0j, 1.5e308 + 1.5e308j, 4  # its size is none
    with pytest.raises(OverflowError):
        orbit(*args)
    with pytest.raises(OverflowError):
        tnp.jit(orbit, executors=EXECUTORS[0])(np.zeros(4, complex), 0j, 1.5e308 + 1.5e308j, 4)


def turns(x, w, n):
    z = 1 + 0j
    total = 0j
    for k in range(n):
        z *= w
        total += 2 * z - 1.5
        x[k] = -z - k
        if z == w or not total:
            total = +total - 1j
    return total, z != w


def test_sums_of_powers():
    for w in (complex(math.cos(0.3), math.sin(0.3)), -1j, complex(math.inf, -0.0), complex(math.nan, 1)):
        native(turns, lambda w=w: (np.zeros(12, complex), w, 12), lambda w=w: (np.zeros(12, complex), w, 0))


def squares(z, n):
    total = 0.0
    for _ in range(n):
        total += abs(z)
        z = z / 2
    return total


def test_other_arithmetic_is_pythons():
    same_as_eager(squares, lambda: (3 + 4j, 20), executors=EXECUTORS)
