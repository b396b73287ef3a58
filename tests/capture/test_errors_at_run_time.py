"""Errors that a program raises when it runs: what it did before has happened, what comes after has not."""

import contextlib
import copy
import warnings

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same


class Cell:
    def __init__(self):
        self.count = 1
        self.memory = np.zeros(3)


class Slots:
    __slots__ = ("count", "memory")

    __init__ = Cell.__init__


def counted(cell, a, at):
    cell.count += 1
    return a[at[0]]


def constant_index(cell, a, at):
    cell.count += 1
    return a[14, []]


def written_before(cell, a, at):
    cell.memory[0] += 1
    cell.count += 1
    a[at[1]] = 2


def written_after(cell, a, at):
    cell.count += 1
    found = a[at[0]]
    cell.memory[0] = found.sum()


def in_a_loop(cell, a, at):
    for k in range(3):
        cell.count += 1
        a[at[k]] += cell.count


def before_a_loop(cell, a, at):
    cell.count += 1
    for k in range(3):
        a[at[k]] += 1


def read_in_a_loop(cell, a, at):
    cell.count += 1
    cell.memory = cell.memory + 1
    total = 0.0
    for k in range(3):
        total += a[at[k]].sum()
    cell.total = total


def twice(cell, a, at):
    cell.count += 1
    a[at[0]]
    cell.count += 1
    a[at[1]]
    cell.count += 1


def outcome(f, cell, a, at):
    try:
        result = f(cell, a, at)
    except Exception as error:
        result = type(error), str(error)
    names = cell.__slots__ if isinstance(cell, Slots) else cell.__dict__
    return result, {name: getattr(cell, name) for name in names}, a


@pytest.mark.parametrize("kind", [Cell, Slots])
@pytest.mark.parametrize(
    "f",
    [counted, constant_index, written_before, written_after, in_a_loop, before_a_loop, read_in_a_loop, twice],
    ids=lambda f: f.__name__,
)
def test_attributes_that_were_assigned_before_an_error_are_kept(f, kind):
    jitted = tnp.jit(f)
    for at in ([0, 1, 2], [0, 9, 1], [9, 0, 0], [0, 1, 2]):
        args = kind(), np.ones((3, 3)), np.array(at)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tnp.EagerFallbackWarning)  # some of these do
            assert_same(outcome(jitted, *copy.deepcopy(args)), outcome(f, *copy.deepcopy(args)))


@pytest.mark.parametrize("f", [counted, read_in_a_loop, twice], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
def test_programs_that_only_assign_attributes_are_compiled(f):
    jitted = tnp.jit(f)
    for at in ([0, 1, 2], [0, 9, 1]):
        outcome(jitted, Cell(), np.ones((3, 3)), np.array(at))
    assert tnp.cache_info(jitted).misses == 1


def refused_for_some(x, n):
    return memoryview(x).nbytes if n > 3 else x * n


def raises_for_some(x, n):
    return x[7] if n > 3 else x * n


@pytest.mark.parametrize("f", [refused_for_some, raises_for_some], ids=lambda f: f.__name__)
def test_what_is_found_for_some_numbers_holds_for_those_alone(f):
    jitted, x = tnp.jit(f), np.ones(2)

    def call(n):
        with warnings.catch_warnings(), contextlib.suppress(IndexError):
            warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
            return jitted(x, n)

    for _ in range(3):
        call(5)
        assert_same(call(2), x * 2)
    assert tnp.cache_info(jitted).misses == 2


def stored_after_an_index(a, b):
    b[np.argmax(b)] = 1
    a **= 2


def product_for_nothing(a, b):
    a + a.item(0) * a.item(0)


def large_product_for_nothing(a, b):
    a + a.item(0) * a.item(0)
    if (b == 3).any():
        b *= 2
    return b


def divided_for_nothing(a, b):
    if b.sum():
        int(b[0, 0]) % 0


def written_then_unknown_attribute(a, b):
    if a.item(0) > 2:
        v = -1.5
        a[:] = 0
    else:
        v = a
    return v.argsort()


@pytest.mark.parametrize(
    "f",
    [
        stored_after_an_index,
        product_for_nothing,
        large_product_for_nothing,
        divided_for_nothing,
        written_then_unknown_attribute,
    ],
)
def test_what_raises_raises_where_it_stands(f):
    jitted = tnp.jit(f)
    for first in (3, 1, 3, 2**62, 3):
        found = []
        for g in (f, jitted):
            a, b = np.array([first, 2]), np.arange(8.0).reshape(4, 2)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
                try:
                    outcome = g(a, b)
                except Exception as error:
                    outcome = repr(error)
            found.append(repr((outcome, a, b)))
        assert found[1] == found[0]


def at_indices(x, i, value):
    if x[0] > 0:
        x[np.array([i, 1])] = value
    return x


def at_an_index(x, i, value):
    if x[0] > 0:
        x[i] = value
    return x


def at_an_array_without_dimensions(x, i, value):
    if x[0] > 0:
        x[np.asarray(i)] = value
    return x


def at_two_indices(x, i, value):
    if x[0] > 0:
        x.reshape(5, 1)[i, np.array([0, 0])] = value
    return x


@pytest.mark.parametrize("f", [at_indices, at_an_index, at_an_array_without_dimensions, at_two_indices])
@pytest.mark.parametrize("dtype", [np.int16, np.int64, np.float64])
def test_the_first_of_two_errors_of_a_store(f, dtype):
    """NumPy looks at one array of indices when it has converted the value, at other indices before."""
    jitted = tnp.jit(f)
    for i in (2, -7, 7):
        for value in (3, 2.5, np.inf, np.nan, 2**40, np.float64(np.inf), np.int64(2**20)):
            found = []
            for g in (f, jitted):
                x = np.ones(5, dtype)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RuntimeWarning)
                    try:
                        outcome = g(x, i, value)
                    except Exception as error:
                        outcome = repr(error)
                found.append(repr((outcome, x)))
            assert found[1] == found[0]


def test_a_number_that_does_not_fit_what_is_overwritten():
    def function(x, y):
        x %= y.item(0)
        x.real = 0

    jitted = tnp.jit(function)
    for value in (3, -5, 2**20, 3):
        found = []
        for g in (function, jitted):
            x = np.arange(4, dtype=np.uint16)
            try:
                outcome = g(x, np.array([value, 1]))
            except Exception as error:
                outcome = repr(error)
            found.append(repr((outcome, x)))
        assert found[1] == found[0]


def test_an_error_behind_a_write_that_the_guards_read():
    def f(x, divisor):
        k = int(x[0])
        x %= divisor
        x[k] -= divisor
        return [divisor for _ in range(k)]

    for g in (f, tnp.jit(f)):
        x = np.array([6.0, 1, 2, 3, 4, 5])
        with np.errstate(invalid="ignore"), pytest.raises(IndexError, match="index 6 is out of bounds"):
            g(x, np.asarray(0.0))
        assert np.isnan(x).all()
