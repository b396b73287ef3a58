"""``np.require``: arrays of the caller, views of them and arrays that the program makes, with and without the properties."""

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

REQUIREMENTS = (None, "W", ["C"], ["F"], "CW", ["W", "F"], ["O"], ["A", "O", "W", "C", "E"], ["ALIGNED"], "CF", ["Q"])


def unaligned():
    return np.zeros(33, np.uint8)[1:].view(np.float64)


def read_only():
    made = np.arange(4.0)
    made.flags.writeable = False
    return made


ARRAYS = [
    np.arange(4.0), read_only(), np.arange(8.0)[:4], np.arange(8.0)[::2], np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(3), unaligned(),
]  # fmt: skip


def required(x, requirements, dtype):
    given = np.require(x, dtype=dtype, requirements=requirements)
    return given, np.require(x * 2, dtype, requirements), np.require(x[1:], dtype, requirements), given is x


def written(x, requirements):
    y = np.require(x, requirements=requirements)
    y[0] = 5
    return x.sum(), y


def outcome(f, *args):
    try:
        return f(*args)
    except Exception as error:
        return repr(error)


@pytest.mark.parametrize("requirements", REQUIREMENTS, ids=str)
@pytest.mark.parametrize("dtype", [None, float, np.float32])
@pytest.mark.filterwarnings("ignore:.* runs ")
def test_require(requirements, dtype):
    jitted = tnp.jit(required)
    for x in (*ARRAYS, *ARRAYS):
        found, expected = (outcome(f, x, requirements, dtype) for f in (jitted, required))
        if isinstance(expected, str):
            assert found == expected
            continue
        assert found[3] == expected[3]
        for a, b in zip(found[:3], expected[:3]):
            assert_same(a, b)
            assert a.flags.writeable == b.flags.writeable
            assert np.shares_memory(a, x) == np.shares_memory(b, x)


@pytest.mark.parametrize("requirements", ["W", ["W", "O"], "WC"], ids=str)
def test_writes_to_what_is_required(requirements):
    jitted = tnp.jit(written, strict=True)
    for x in (x for x in ARRAYS if x.ndim == 1):
        mine, left = x.copy(), x.copy()
        mine.flags.writeable = left.flags.writeable = x.flags.writeable
        found, expected = jitted(mine, requirements), written(left, requirements)
        assert_same(found, expected)
        assert_same(mine, left)
        assert (found[1] is mine) == (expected[1] is left)
