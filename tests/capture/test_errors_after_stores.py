"""Errors that come between writes to arrays and assignments of attributes: eager leaves what was stored before them."""

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same


class Filter:
    def __init__(self):
        self.covariance = np.eye(3) * 2
        self.state = np.ones(3)
        self.count = 0
        self.log = []

    def update(self, noise, z):
        self.count = self.count + 1
        self.covariance += noise
        self.doubled = self.covariance * 2
        gain = np.linalg.inv(self.covariance)
        self.state[:] = gain @ z
        self.log.append(self.count)
        self.solved = np.linalg.solve(self.covariance, self.state)
        self.covariance -= 0.5
        return self.solved


def run(update, singular_at, errors):
    made, results = Filter(), []
    for i in range(4):
        noise = -made.covariance if i == singular_at else np.full((3, 3), 0.1 * i)
        try:
            results.append(update(made, noise, np.arange(3.0) + i).copy())
        except np.linalg.LinAlgError as error:
            errors.append(i)
            results.append(str(error))
    return results, vars(made)


@pytest.mark.parametrize("singular_at", [None, 0, 1, 3])
def test_methods_that_write_arrays_assign_attributes_and_may_raise(singular_at):
    jitted, errors = tnp.jit(Filter.update), []
    expected = run(Filter.update, singular_at, errors)
    assert errors[:1] == ([] if singular_at is None else [singular_at])
    assert_same(run(jitted, singular_at, []), expected)
    assert not any(e.eager_reason for e in jitted._entries)


def test_indices_that_are_out_of_bounds_after_a_store():
    class Table:
        def __init__(self):
            self.rows = np.zeros((4, 3))
            self.last = None

        def put(self, x, i):
            self.rows[0] += 1
            self.last = x * 2
            self.rows[i] = x
            self.sum = self.rows.sum(axis=0)
            return self.sum

    def calls(put):
        made, results = Table(), []
        for i in (np.array([1, 2]), np.array([3, 0]), np.array([1, 7]), np.array([2, 2])):
            try:
                results.append(put(made, np.arange(3.0), i))
            except IndexError as error:
                results.append(type(error))
        return results, vars(made)

    jitted = tnp.jit(Table.put)
    assert_same(calls(jitted), calls(Table.put))
    assert not any(e.eager_reason for e in jitted._entries)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_what_cannot_be_done_twice_runs_eagerly(capsys):
    class Told:
        def __init__(self):
            self.a = np.ones((2, 2))

        def step(self, x):
            self.a += x
            self.n = 1
            print("step")
            return np.linalg.inv(self.a)

    def outcome(step, x):
        made = Told()
        try:
            result = step(made, x)
        except np.linalg.LinAlgError:
            result = "singular"
        return result, vars(made), capsys.readouterr().out

    jitted = tnp.jit(Told.step)
    for x in (np.eye(2), np.zeros((2, 2)), np.eye(2)):
        assert_same(outcome(jitted, x), outcome(Told.step, x))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_a_branch_between_the_write_and_the_error():
    class Told:
        level = 1

    def f(a, k, told):
        told.level += 1
        np.add(a, 2.0, out=a)
        is_small = 1 < a.item(0) <= 4
        is_small <<= k
        return is_small

    def outcome(f, k):
        a, told = np.ones(4), Told()
        try:
            result = f(a, k, told)
        except ValueError as error:
            result = str(error)
        return result, a, told.level

    jitted = tnp.jit(f)
    for k in (-1, 2, -1):
        assert_same(outcome(jitted, k), outcome(f, k))
