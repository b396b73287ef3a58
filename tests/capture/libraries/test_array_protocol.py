"""Objects with an ``__array__``, which NumPy's functions ask for their arrays."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import check, whole
from tnp.testing import assert_same


class Cell:
    """Vectors, as an object that NumPy takes for an array."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)

    def __len__(self):
        return len(self.array)

    def lengths(self):
        return np.linalg.norm(self, axis=1)

    def sum(self):
        return "its own"


class Doubled(Cell):
    def __array__(self, dtype=None, copy=None):
        return self.array * 2


CELL = np.random.default_rng(0).random((3, 3)) + np.eye(3)
POINTS = np.random.default_rng(1).random((5, 3))


@pytest.mark.parametrize("cls", [Cell, Doubled])
@pytest.mark.parametrize(
    "f",
    [
        lambda c, x: c.lengths() * 2,
        lambda c, x: np.dot(x, c),
        lambda c, x: np.linalg.solve(np.transpose(c), x.T).T,
        lambda c, x: np.linalg.inv(c) @ np.asarray(c),
        lambda c, x: np.einsum("ij,kj->ki", c, x),
        lambda c, x: np.sin(c) + np.where(x[:3] > 0.5, c, 0.0),
        lambda c, x: np.add(x[0], c).max(axis=0) + np.shape(c)[0] + np.mean(c),
    ],
)
def test_functions_take_the_array(f, cls):
    whole(lambda array, x: f(cls(array), x), CELL, POINTS)
    cell, jitted = cls(CELL), tnp.jit(f)
    for _ in range(2):
        assert_same(jitted(cell, POINTS), f(cell, POINTS))
    assert "eager" not in str(tnp.explain(jitted)), tnp.explain(jitted)


def test_the_array_itself():
    def f(cell):
        np.asarray(cell)[0] = 7
        return np.asarray(cell) is cell.array

    cell, other = Cell(CELL.copy()), Cell(CELL.copy())
    assert_same(tnp.jit(f)(cell), f(other))
    assert_same(cell.array, other.array)


def test_another_method_later():
    class Changing(Cell):
        pass

    jitted = tnp.jit(lambda c: np.linalg.norm(c))
    cell = Changing(CELL)
    assert_same(jitted(cell), np.linalg.norm(CELL))
    Changing.__array__ = lambda self, dtype=None, copy=None: self.array * 3
    assert_same(jitted(cell), np.linalg.norm(CELL * 3))


@pytest.mark.parametrize(
    "f",
    [
        lambda array: np.sum(Cell(array)),
        lambda array: np.asarray(Cell(array), dtype=np.float32),
        lambda array: np.array(Cell(array)) + 1,
        lambda array: np.concatenate([Cell(array), array]),
        lambda array: np.vstack(Cell(array)),
        lambda array: np.sin(array, Cell(array)),
        lambda array: np.put(Cell(array), 0, 1),
        lambda array: np.fill_diagonal(Cell(array), 1),
        lambda array: np.unstack(Cell(array)) if hasattr(np, "unstack") else np.sum(Cell(array)),
    ],
)
def test_what_numpy_does_otherwise_is_pythons(f):
    check(f, CELL, executors=["llvm"])
