"""Functions of all kinds that are called by what Python runs: they do what they do eagerly."""

import contextlib
import ctypes
import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.runtime import logs
from tnp.testing import assert_same

special = pytest.importorskip("scipy.special")
integrate = pytest.importorskip("scipy.integrate")

#: a function that is not captured: of a float for an integer
erf = functools.partial(special.expn, 1.0)
pytestmark = pytest.mark.filterwarnings("ignore:.* runs ")
X = np.linspace(0.1, 1, 300)
log = []
count = 0


def lambdas_of_a_comprehension(x):
    fs = [lambda y, k=k: np.sin(y) * k + erf(y) for k in range(3)]
    return sum(f(x) for f in fs)


def recursion(x):
    def rec(y, n):
        if n == 0:
            return erf(y)
        return rec(np.sin(y) * 2 + 1, n - 1) + n

    return rec(x, 3)


def functions_in_functions(x):
    def outer(a):
        def innermost(b):
            return np.cos(b) * a + erf(b)

        return innermost(x) + innermost(a)

    return outer(x * 2)


def a_generator_that_is_sent_to(x):
    out = []

    def gen(n):
        total = 0.0
        for i in range(n):
            got = yield np.sin(x) * i + erf(x)
            if got is not None:
                total += got
        return total

    g = gen(3)
    out.append(next(g))
    out.append(g.send(2.0))
    try:
        g.send(1.0)
        next(g)
    except StopIteration as e:
        out.append(e.value)
    return out


def a_generator_that_is_closed(x):
    def g():
        try:
            yield np.sin(x) * 2 + erf(x)
            yield np.cos(x) * 2 + 1
        finally:
            log.append(1)

    it = g()
    a = next(it)
    it.close()
    return a, len(log)


def all_kinds_of_arguments(x):
    def d(*args, scale=2.0, **kw):
        return args[0] * scale + erf(args[0]) + np.sin(kw["z"])

    return d(x, z=x) + d(x, 1, 2, scale=3.0, z=x * 2)


def a_class_inside(x):
    class Local:
        def __init__(s, k):
            s.k = k

        def run(s, y):
            return np.sin(y) * s.k + erf(y)

    return Local(2.0).run(x) + Local(3.0).run(x * 2)


def a_comprehension_inside(x):
    def f(y):
        return [np.sin(v) * 2 + erf(v) for v in (y, y * 2)]

    return f(x)


def a_variable_bound_anew(x):
    k = 1.0
    g = lambda y: np.sin(y) * k + erf(y)  # noqa: E731 (a lambda is meant)
    a = g(x)
    k = 2.0
    return a + g(x)


def a_global_that_is_assigned(x):
    def h(y):
        global count
        count = count + 1
        return np.sin(y) * 2 + erf(y) * count

    return h(x) + h(x)


def a_return_in_a_loop(x):
    def f(y):
        for i in range(5):
            if i == 3:
                return np.sin(y) * i + erf(y)
            y = y + 1
        return y

    return f(x) + f(x + 1)


def a_context_and_keywords(x):
    def f(y, /, *, k):
        with np.errstate(all="ignore"):
            z = np.log(y - 1) * k
            return np.nan_to_num(z) + erf(y)

    return f(x, k=2.0) * f(x * 3, k=1.0)


class Model:
    def __init__(self, k):
        self.k = k

    def fitted(self, y):
        self.error = erf(y)
        return self

    def of(self, y):
        z = np.sin(y) * self.k + np.cos(y)
        return z * z + self.error + erf(z)


def methods_of_an_object_that_it_makes(x):
    return Model(3.0).fitted(x).of(x)


PROGRAMS = [
    lambdas_of_a_comprehension, recursion, functions_in_functions, a_generator_that_is_sent_to, a_generator_that_is_closed, all_kinds_of_arguments, a_class_inside, a_comprehension_inside, a_variable_bound_anew, a_global_that_is_assigned, a_return_in_a_loop, a_context_and_keywords, methods_of_an_object_that_it_makes,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_is_as_in_eager(program):
    global count
    jitted = tnp.jit(program)
    for _ in range(4):
        left = []
        for f in (program, jitted):
            log.clear()
            count = 0
            left.append((f(X), count, len(log)))
        assert_same(left[1][0], left[0][0])
        assert left[1][1:] == left[0][1:]


def test_most_run_in_parts():
    in_parts = recursion, functions_in_functions, a_generator_that_is_sent_to, a_return_in_a_loop
    for program in (*in_parts, methods_of_an_object_that_it_makes):
        jitted = tnp.jit(program)
        for _ in range(3):
            jitted(X)
        assert "in parts" in str(tnp.explain(jitted)), program.__name__


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_a_name_that_a_later_call_rebinds_is_read_before():
    def f(x, log):
        factor, a = 1, x

        def update():
            nonlocal a
            a = factor
            log.append(a)
            return a

        update()
        for k in range(1):
            factor = k
        return [a, update(), a, a + update() * 2]

    found = []
    for g in (f, tnp.jit(f)):
        log = []
        found.append(([g(np.ones(3), log) for _ in range(3)], log))
    assert_same(found[1], found[0])


def test_a_context_manager_that_swallows_an_error_leaves_what_was_bound_before():
    def f(x, log):
        with contextlib.suppress(ValueError):
            a = np.sin(x) * 2 + 1
            b = a * 3
            np.concatenate([a, np.ones((2, 2))])
        with np.errstate(all="ignore"):
            c = a * 2 + 1
        log.append(memoryview(a))
        return b, c

    jitted = tnp.jit(f)
    with not_compiled_whole():
        for _ in range(3):
            assert_same(jitted(np.ones(2), []), f(np.ones(2), []))


def test_what_a_method_is_called_of_is_computed_before_the_arguments():
    def f(x, found):
        y = np.sin(x) * 2 + 1
        found.setdefault(len(found), []).append(memoryview(y).nbytes + len(found))
        return y

    mine, eagers = {}, {}
    jitted = tnp.jit(f)
    with not_compiled_whole():
        for _ in range(3):
            assert_same(jitted(np.ones(2), mine), f(np.ones(2), eagers))
    assert mine == eagers


def test_what_follows_a_context_manager_that_swallows_what_is_raised():
    def f(x, log):
        with contextlib.suppress(Exception):
            log.append(memoryview(x))
            raise ZeroDivisionError
        x = np.sin(x) / 2 + 1
        log.append(memoryview(x))
        return x

    jitted = tnp.jit(f)
    with not_compiled_whole():
        for _ in range(2):
            assert_same(jitted(np.ones(2), []), f(np.ones(2), []))


class Solver(integrate.ode):
    """Inherits from a class of SciPy's, whose methods pass what they hold to code in C."""

    def trajectory(self, start, step, n):
        self.set_initial_value(start, 0.0)
        self.set_integrator("dopri5")
        return self.steps(step, n)

    def steps(self, step, n):
        found = [self.y]
        while self.successful() and len(found) < n:
            self.integrate(self.t + step)
            found.append(self.y * 2)
        return np.array(found)


def decay(t, y):
    return -y


def test_a_class_of_scipy_s_with_code_in_c_that_refuses_what_is_traced():
    jitted = tnp.jit(Solver.trajectory)
    for _ in range(3):
        assert_same(jitted(Solver(decay), np.ones(2), 0.5, 4), Solver(decay).trajectory(np.ones(2), 0.5, 4))


def test_pointers_to_arrays_for_code_in_c():
    move = ctypes.memmove

    def f(x):
        y = np.sort(x) * 2
        move(y.ctypes.data_as(ctypes.c_void_p), x.ctypes.data_as(ctypes.c_void_p), 16)
        return y + x.sum(), y.ctypes.shape[0]

    jitted = tnp.jit(f)
    with not_compiled_whole():
        for n in (5, 6, 7):
            x = np.arange(float(n))[::-1].copy()
            assert_same(jitted(x), f(x))


def test_objects_in_parts_without_pytorch(tmp_path):
    """An object with a ``__call__`` may be a module, but PyTorch need not be installed."""
    program = """
import sys
sys.modules["torch"] = None  # as if it were not installed
import numpy as np, tnp

class Scaled:
    def __call__(self, x):
        y = x * 2
        return y + len(y.tobytes())

x, scaled = np.arange(5.0), tnp.jit(Scaled())
for _ in range(3):
    assert np.array_equal(scaled(x), x * 2 + 40)
assert "in parts" in str(tnp.explain(scaled)), tnp.explain(scaled)
"""
    path = tmp_path / "without_pytorch.py"
    path.write_text(program)
    environment = os.environ | {"PYTHONPATH": str(Path(tnp.__file__).parents[1])}
    subprocess.run([sys.executable, "-W", "ignore", path], env=environment, check=True)


def _text_of_bytes(x):
    y = np.cos(x) * 2
    return y + len(x.tobytes())


def _first(x):
    return np.sin(x) + _text_of_bytes(x * 2)


def _second(x):
    return np.exp(_first(x) + 1) + 1


def _third(x):
    return _second(x) * 2 + x


def test_what_is_foreign_deep_inside_is_found_once():
    """The functions between are not traced to find the same again."""
    traced, listeners = [], logs.listeners
    listeners.append(traced.append)
    try:
        jitted = tnp.jit(_third)
        for n in (5, 5, 7, 9):
            x = np.arange(float(n))
            assert_same(jitted(x), _third(x))
    finally:
        listeners.remove(traced.append)
    assert {e.name for e in traced if e.kind == "parts"} == {"_third", "_text_of_bytes"}
