"""``scipy.integrate``: rules for samples in compiled functions."""

import numpy as np
import pytest

from tests.lang.scipy.checks import compiled_as_eager, gradient_is_right, layouts, raises_as_eager

integrate = pytest.importorskip("scipy.integrate")

RNG = np.random.default_rng(0)
Y = RNG.normal(size=(5, 9)) * 9
X = np.sort(RNG.normal(size=9))

FUNCTIONS = {
    "trapezoid": lambda y, x: (integrate.trapezoid(y), integrate.trapezoid(y, x), integrate.trapezoid(y[0], dx=0.5)),
    "trapezoid of columns": lambda y, x: integrate.trapezoid(y, axis=0),
    "cumulative_trapezoid": lambda y, x: (integrate.cumulative_trapezoid(y, x), integrate.cumulative_trapezoid(y, axis=0, initial=0)),
    "simpson": lambda y, x: (integrate.simpson(y, x=x), integrate.simpson(y, dx=0.5), integrate.simpson(y[0])),
    "simpson of even numbers": lambda y, x: (integrate.simpson(y[:, :8], x=x[:8]), integrate.simpson(y[:4], axis=0), integrate.simpson(y[0, :8])),
    "simpson of two": lambda y, x: (integrate.simpson(y[:2], axis=0), integrate.simpson(y[0, :2], x=x[:2]), integrate.simpson(y[:, :1])),
    "simpson of each": lambda y, x: integrate.simpson(y, x=np.cumsum(np.abs(y) + 1, axis=1)),
    "romb": lambda y, x: (integrate.romb(y), integrate.romb(y, axis=0, dx=0.5), integrate.romb(y[0]), integrate.romb(y[:2], axis=0)),
    "cumulative_simpson": lambda y, x: integrate.cumulative_simpson(y, x=np.arange(9.0), initial=0),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name, dtype):
    y = Y.astype(dtype)
    x = X.astype(dtype) if dtype == "f4" else X
    if (name, dtype) == ("simpson of each", "c16"):
        return
    if dtype == "c16":
        y = y - 1j * y[::-1]
    compiled_as_eager(FUNCTIONS[name], y, x)


def test_memory_layouts():
    for y, x in zip(layouts(Y), layouts(X)):
        compiled_as_eager(FUNCTIONS["simpson"], y, x)
        compiled_as_eager(FUNCTIONS["cumulative_trapezoid"], y, x)


def test_equal_abscissas():
    x = X.copy()
    x[3] = x[4] = x[5]
    compiled_as_eager(FUNCTIONS["simpson"], Y, x)
    compiled_as_eager(FUNCTIONS["simpson of even numbers"], Y, x)


def test_masked_in_a_loop():
    def f(y, x, n):
        total = 0.0
        for i in range(n):
            y = np.where(y > i, y, 0.0)
            part = integrate.simpson(y, x=x)
            if part[0] > 1:
                total += integrate.trapezoid(part)
        return total, y

    for n in (0, 2, 30):
        compiled_as_eager(f, Y, X, n)


def test_errors():
    raised = {
        raises_as_eager(lambda y: integrate.simpson(y, x=np.arange(3.0)) + 1, Y),
        raises_as_eager(lambda y: integrate.romb(y[:4], axis=0) + 1, Y),
        raises_as_eager(lambda y: integrate.trapezoid(y, axis=7) + 1, Y),
        raises_as_eager(lambda y: integrate.cumulative_trapezoid(y, initial=2) + 1, Y),
        raises_as_eager(lambda y: integrate.cumulative_trapezoid(y[:0], axis=0) + 1, Y),
        raises_as_eager(lambda y: integrate.simpson(y[:0], axis=0) + 1, Y),
    }
    assert raised <= {ValueError, IndexError, np.exceptions.AxisError}


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "cumulative_simpson"])
def test_gradients(name):
    def f(y, x):
        found = FUNCTIONS[name](y, x)
        return sum((a**2).sum() for a in (found if isinstance(found, tuple) else (found,)))

    gradient_is_right(f, Y, X)
    if name not in ("romb", "simpson of each", "trapezoid of columns"):
        gradient_is_right(lambda x, y: f(y, x), X, Y)
