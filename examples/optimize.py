"""A soap film: the surface of least area over a square, with its boundary given, found by SciPy with tnp's gradient.

    python examples/optimize.py [--size 41]

The area is an ordinary NumPy function that writes the unknown heights into the middle of an array. ``tnp.value_and_grad`` of it is what
``scipy.optimize.minimize(..., jac=True)`` takes. The boundary is that of Scherk's surface ``z = log(cos x / cos y)``, which is
minimal, so the heights found are compared with it. SciPy comes with scikit-learn, of the extra ``examples``.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.optimize import approx_fprime, minimize

import tnp


def area(inside: np.ndarray, boundary: np.ndarray, h: float) -> float:
    """The area of the triangles over a grid of spacing ``h`` with heights ``boundary``, in whose middle stands ``inside``."""
    u = boundary.copy()
    u[1:-1, 1:-1] = inside.reshape(u.shape[0] - 2, u.shape[1] - 2)
    along_x, along_y = (u[1:] - u[:-1]) / h, (u[:, 1:] - u[:, :-1]) / h
    lower = np.sqrt(1 + along_x[:, :-1] ** 2 + along_y[:-1] ** 2)
    upper = np.sqrt(1 + along_x[:, 1:] ** 2 + along_y[1:] ** 2)
    return (lower + upper).sum() * h**2 / 2


def scherk(size: int) -> tuple[np.ndarray, float]:
    """Heights of Scherk's surface on a grid over [-1, 1]², and its spacing."""
    x = np.linspace(-1, 1, size)
    return np.log(np.cos(x)[:, None] / np.cos(x)[None, :]), x[1] - x[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=41, help="points along each side")
    size = parser.parse_args().size

    surface, h = scherk(size)
    boundary = surface.copy()
    boundary[1:-1, 1:-1] = 0
    start = np.zeros((size - 2) ** 2)

    gradient = tnp.value_and_grad(area)
    value, found = gradient(start, boundary, h)
    few = slice(0, min(start.size, 20))
    numerical = approx_fprime(start[few], lambda x: area(np.concatenate([x, start[few.stop :]]), boundary, h), 1e-7)
    assert np.allclose(found[few], numerical, atol=1e-6) and np.isclose(value, area(start, boundary, h))
    print(f"the gradient of {start.size} heights agrees with differences")

    options = {"maxiter": 5000, "maxfun": 10**7, "ftol": 1e-14, "gtol": 1e-9}
    begin = time.perf_counter()
    result = minimize(gradient, start, args=(boundary, h), jac=True, method="L-BFGS-B", options=options)
    seconds = time.perf_counter() - begin
    error = np.abs(result.x.reshape(size - 2, size - 2) - surface[1:-1, 1:-1]).max()
    print(f"area {result.fun:.6f} after {result.nit} steps in {seconds:.2f} s")
    print(f"at most {error:.1e} from Scherk's surface, of a spacing of {h:.3f}")
    assert error < 0.1 * h**2, "this is not the minimal surface"

    begin = time.perf_counter()
    for _ in range(5):
        area(start, boundary, h)
    print(f"SciPy's own differences would take {(time.perf_counter() - begin) / 5 * result.nfev * start.size:.1f} s")


if __name__ == "__main__":
    main()
