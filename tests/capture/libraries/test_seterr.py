"""``np.seterr``: what it sets in a program is set where it runs, and the caller's settings are again as eager leaves them."""

import warnings

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

X = np.linspace(-1, 1, 11)


def around(x):
    before = np.seterr(invalid="ignore", divide="ignore")
    y = np.log(x) / x
    np.seterr(**before)
    return y * 2


def by_kind(x):
    total = 0.0
    for i in range(3):
        before = np.seterr(all="ignore")
        total = total + np.log(x + i)
        np.seterr(divide=before["divide"], over=before["over"], under=before["under"], invalid=before["invalid"])
    return total


def nested(x):
    outer = np.seterr(divide="ignore")
    y = np.log(x * 0)
    inner = np.seterr(invalid="ignore")
    y = y + np.sqrt(x)
    np.seterr(**inner)
    z = 1 / (x * 0)
    np.seterr(**outer)
    return y, z


def stays(x):
    np.seterr(all="ignore")
    return np.log(x)


def in_one_branch(x):
    before = np.seterr(all="ignore")
    y = np.log(x)
    if y[0] > 0:
        np.seterr(**before)
    return y


def gives_settings(x):
    before = np.seterr(all="ignore")
    y = np.log(x)
    np.seterr(**before)
    return y, before


def other_settings(x):
    before = np.seterr(divide="ignore", invalid="ignore")
    y = np.log(x)
    np.seterr(divide=before["divide"])
    return y


def called(f, x):
    """The result of a call, what it warned of, and the settings behind it."""
    with (
        np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"),
        warnings.catch_warnings(record=True) as said,
    ):
        warnings.simplefilter("always")
        result = f(x)
        return result, [str(w.message) for w in said if w.category is RuntimeWarning], np.geterr()


@pytest.mark.parametrize("f", [around, by_kind, nested])
def test_what_is_restored_is_compiled(f):
    jitted = tnp.jit(f)
    for x in (X, X + 2, X):
        assert_same(called(jitted, x), called(f, x))
    assert "in parts" not in str(tnp.explain(jitted)) and "runs eagerly:" not in str(tnp.explain(jitted))


@pytest.mark.parametrize("f", [stays, in_one_branch, gives_settings, other_settings])
@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_what_stays_set_is_as_in_eager(f):
    jitted = tnp.jit(f)
    for x in (X, X + 2, X):
        assert_same(called(jitted, x), called(f, x))
