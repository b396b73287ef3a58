"""The operation against NumPy on each executor and dtype, its errors, its gradient; and what is particular to this executor."""

import numpy as np
import tnp_horner
from tnp_horner.opinfos import horner_opinfo

import tnp
from tnp.testing import make_tests

test_horner = make_tests(horner_opinfo)


def test_polyval_runs_as_horner():
    c, x = np.array([1.0, -2.0, 3.0]), np.linspace(-1, 1, 20_000)
    f = tnp.jit(lambda c, x: np.polyval(c, x) + 1, executors=["horner"])
    np.testing.assert_allclose(f(c, x), np.polyval(c, x) + 1)
    assert next(b.sym.name for b in tnp.last_traces(f)[-1].body) == "horner"
    f(c.astype(np.float32), x)
    assert "horner" not in [b.sym.name for b in tnp.last_traces(f)[-1].body]


def test_the_gradient_is_the_rule():
    f = tnp.jit(lambda c, x: tnp_horner.horner(c, x).sum(), executors=["horner"])
    c, x = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0])
    by_c, by_x = tnp.grad(f, (0, 1))(c, x)
    np.testing.assert_allclose(by_c, [np.sum(x**2), np.sum(x), 2])
    np.testing.assert_allclose(by_x, 2 * x + 2)
