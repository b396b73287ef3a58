"""What Python tells apart beside values: bases of views, dtypes that are equal, NaNs as keys, objects that die, classes of memmaps."""

import ctypes
import gc
import importlib.machinery
import sys
import threading
import types
from fractions import Fraction

import numpy as np
import pytest

import tnp
from tnp.capture.rewrite.source_ast import tree_from_block
from tnp.testing import assert_same

NAN = np.nan
#: Python runs a part of it, or all
eagerly = pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")


def check(f, *args):
    """``f`` jitted and eager: two calls each."""
    jitted = tnp.jit(f)
    for _ in range(2):
        assert_same(jitted(*args), f(*args))


# Views and their bases


def a_copy_and_its_views(x):
    y = x.copy()
    return y[::-1], y.view(), y


def the_array_last():
    a = np.array([1, 2, 3])
    b = a[()]
    return b, a


def a_view_of_a_view(x):
    a = x + 1
    b = a[...]
    return b[...], b, a


def test_a_scalar_shares_no_memory():
    def f(x):
        a = x.sum()
        return np.shares_memory(a, a), np.may_share_memory(a, x), np.shares_memory(x, x)

    check(f, np.ones(3))


@pytest.mark.parametrize("shape", [(1, 3), (2, 3), (3,)])
@eagerly
def test_numpy_warns_of_writing_to_what_is_broadcast_of_a_written_array(shape):
    def f(x, y):
        y[1] *= x.size
        return np.broadcast_arrays(x, y)[1]

    x, y = np.ones(shape), np.ones(3)
    assert tnp.jit(f)(x, y).flags.num == f(x, y).flags.num


@pytest.mark.parametrize(
    ("function", "args"),
    [(a_copy_and_its_views, (np.ones((2, 3)),)), (the_array_last, ()), (a_view_of_a_view, (np.ones(3),))],
)
def test_results_are_based_on_the_array_that_was_made(function, args):
    def bases(results):
        return [[a.base is b for b in results] for a in results], [a.flags.owndata for a in results]

    assert bases(tnp.jit(function)(*args)) == bases(function(*args))


def test_matrices_in_columns():
    def f(n):
        return np.eye(3, 4, n, order="F"), np.eye(4, 3, -n, order="C")

    for made, wanted in zip(tnp.jit(f)(1), f(1)):
        assert_same(made, wanted)
        assert made.flags.f_contiguous == wanted.flags.f_contiguous


# Dtypes


def test_equal_dtypes_are_two_objects():
    long, long_long = np.dtype("l"), np.dtype("q")

    def f(x, a, b):
        return x + 1, a is b, a == b, np.dtype("l").char, np.dtype("q").char, [np.dtype("q") is np.dtype("l")]

    def given(x):
        return x, np.dtype("q"), {"of": np.dtype("l")}

    jitted = tnp.jit(f)
    for pair in ((long, long_long), (long, long), (long_long, long)):
        assert_same(jitted(np.ones(2), *pair), f(np.ones(2), *pair))
    results = tnp.jit(given)(np.ones(2))
    assert (results[1].char, results[2]["of"].char) == ("q", "l")


# Keys


@eagerly
@pytest.mark.parametrize(
    "function",
    [
        lambda a: {NAN: 1}.get(NAN),
        lambda a: ({a[0]: 1}.get(a[0], 7), a.sum() in {NAN: 2}),
        lambda a: (lambda s: ({s: 1}.get(s, 7), s in {s}))(a[0]),
    ],
)
def test_nans_as_keys(function):
    check(function, np.array([NAN, 1.0]))
    check(function, np.array([2.0, 1.0]))


@eagerly
def test_a_nan_that_is_given_as_a_key():
    table = {NAN: 1, 2.0: 5}
    jitted = tnp.jit(lambda x: (table.get(x), x + 1))
    for x in (NAN, 2.0, 3.0):
        assert_same(jitted(x), (table.get(x), x + 1))


# Objects


@eagerly
def test_objects_that_do_something_when_they_die():
    log = []

    class Dies:
        def __init__(self, k):
            self.k = k

        def __del__(self):
            log.append(self.k)

    def given(a, x):
        return x * a.k

    def made(x):
        a = Dies(3)
        y = x * a.k
        del a
        return y + 1

    kept = Dies(7)
    for f, args in ((given, (kept, np.ones(3))), (made, (np.ones(3),))):
        found = []
        for g in (f, tnp.jit(f)):
            log.clear()
            results = [g(*args) for _ in range(3)]
            gc.collect()
            found.append((repr(results), list(log)))
        assert found[0] == found[1]


class Made:
    n = 2

    def __init__(self, k):
        self.k = k

    @classmethod
    def of(cls, k):
        return cls(k + cls.n), cls.__name__, cls is Made

    def other(self, x):
        b, name, same = self.of(x)
        return b.k * self.k, name, same, type(b) is Made, isinstance(b, type(self))


class Derived(Made):
    n = 5


@pytest.mark.parametrize("made", [Made(3), Derived(4)])
def test_class_methods_of_arguments(made):
    check(lambda a, x: (a.other(x), a.of(x)[0].k), made, np.ones(2))


@eagerly
def test_class_methods_of_a_librarys_objects():
    check(lambda a, x: (a == 1.5, a.from_float(2.5) + 1, x * 2, a < 2.5), Fraction(3, 2), np.ones(2))


class Index:
    def __index__(self):
        return 1


class Array:
    def __array__(self, dtype=None, copy=None):
        return np.array(0)


@eagerly
def test_objects_as_indices():
    def f(x, i, a):
        y = x + 1
        first = y[i, np.array(0)]
        y[i] = 5
        return first, y, y[i, a], y[:, i]

    check(f, np.arange(6.0).reshape(2, 3), Index(), Array())


def test_classes_of_parts_of_a_memmap(tmp_path):
    a = np.memmap(tmp_path / "array", dtype=np.float64, shape=(3, 4), mode="w+")
    a[:] = np.arange(12.0).reshape(3, 4)
    jitted = tnp.jit(lambda a: (a[1:].__class__, a[[0, 1]].__class__, (a + 1).__class__, a[[0, 1]], a.T.__class__))
    for _ in range(2):
        classes = jitted(a)
        assert classes[:3] == (np.memmap, np.ndarray, np.ndarray) and classes[4] is np.memmap
        assert_same(classes[3], np.asarray(a)[[0, 1]])


def test_docs_of_vectorized_functions():
    def shown(x):
        """What it does."""
        return x + 1

    check(lambda x: (np.vectorize(shown).__doc__, np.vectorize(shown, doc="Another.").__doc__, x * 2), np.ones(2))


@eagerly
def test_a_class_without_a_module():
    structure = type(ctypes.Structure)("Structure", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_int)]})
    made = structure(3)
    structure.__module__ = None
    check(lambda s, x: (x + 1, s.a), made, np.ones(2))


def test_a_module_that_another_thread_imports_is_not_there(monkeypatch):
    partial = types.ModuleType("numpy.random")
    partial.__spec__ = importlib.machinery.ModuleSpec("numpy.random", None)
    partial.__spec__._initializing = True
    monkeypatch.setitem(sys.modules, "numpy.random", partial)
    check(lambda x: np.sin(x) + 1, np.ones(3))


def test_functions_are_parsed_in_many_threads():
    """Python 3.11 raises SystemError if two threads parse at once and a finalizer runs in one of them."""
    errors = []

    class Dies:  # a finalizer in Python lets another thread run
        def __del__(self):
            sum(range(50))

    def run():
        try:
            for _ in range(60):
                kept = [Dies(), Dies()]
                kept.append(kept)
                del kept
                assert tree_from_block(test_objects_that_do_something_when_they_die) is not None
        except BaseException as error:
            errors.append(error)

    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    try:
        threads = [threading.Thread(target=run) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
    assert not errors


def test_a_loop_without_iterations_gives_the_argument_itself():
    def f(a, x):
        while a.sum():
            x = x * 2
            x[::2] = 4
            a = a - a
        return x

    def g(a, x):
        for _ in range(int(a.sum())):
            x = x * 2
            x[::2] = 4
        return x

    def h(a, x):
        while a.sum():
            x = x + 1
            a = a - a
        return x

    for function in (f, g, h):
        jitted = tnp.jit(function)
        for total in (0, 1, 0):
            for x in (np.arange(4), np.arange(6.0)[::2], np.arange(5), np.arange(7)):
                found = jitted(np.array([total]), x)
                assert (found is x) == (total == 0)
                np.testing.assert_array_equal(found, function(np.array([total]), x))


@eagerly
def test_views_of_one_array_among_which_a_branch_or_a_loop_chooses():
    def branch(a, c):
        first, second, _ = a
        if c.max():
            second = first
        return first, second

    def loop(a, c):
        first = best = a[0]
        for k in range(1, len(a)):
            if c[k] > 0:
                best = a[k]
        return first, best

    def one(a, c):
        best = a[0]
        for k in range(1, len(a)):
            if c[k] > 0:
                best = a[k]
        return best

    for f in (branch, loop):
        jitted = tnp.jit(f)
        for c in (np.zeros(3), np.ones(3)):
            a = np.arange(6.0).reshape(3, 2)
            (x, y), (u, v) = jitted(a, c), f(a, c)
            assert_same((x, y), (u, v))
            assert (x is y) == (u is v)
    assert_same(tnp.jit(one, strict=True)(np.eye(3), np.ones(3)), one(np.eye(3), np.ones(3)))
