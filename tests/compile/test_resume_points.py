"""Functions with parts that cannot be captured: they run in parts, and do what they do eagerly."""

import copy
import functools
import logging
import threading

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

pytest.importorskip("scipy")

from scipy import linalg, ndimage, special

#: a function that is not captured: of a float for an integer
erf = functools.partial(special.expn, 1.0)
pytestmark = pytest.mark.filterwarnings("ignore:.* runs in parts")
X = np.linspace(0.1, 1, 4000)


def outcome(f, args):
    args = copy.deepcopy(args)
    try:
        result = f(*args)
    except Exception as error:
        result = type(error).__name__, str(error)
    return result, args


def points_of(jitted):
    return next(e.points for e in jitted._entries if e.points is not None)


def in_parts(f, *args, spans=None):
    """Calls the jitted ``f`` four times and compares it with eager. At the end, ``spans`` parts are compiled."""
    jitted = tnp.jit(f)
    for _ in range(4):
        expected, left = outcome(f, args)
        found, mine = outcome(jitted, args)
        assert_same(found, expected)
        for a, b in zip(mine, left):
            assert_same(vars(a) if hasattr(a, "__dict__") else a, vars(b) if hasattr(b, "__dict__") else b)
    points = points_of(jitted)
    assert points.has_parts()
    if spans is not None:
        assert len(points.parts) == spans, tnp.explain(jitted)
    return jitted


# Where foreign expressions stand


def test_an_expression_is_taken_out_of_its_statement():
    def f(x):
        a = np.sin(x) * 2
        y = np.cos(erf(2 * a)) + 1
        return y * y + a

    jitted = in_parts(f, X, spans=2)
    text = tnp.explain(jitted)
    assert "erf(2 * a)" in text and text.count("llvm 1") == 2
    with pytest.raises(tnp.TraceError, match="expn"):
        tnp.jit(f, strict=True)(X)


def test_several_in_one_statement_keep_their_order():
    order = []

    def said(k, x):
        order.append(k)
        return memoryview(x)[0] + x

    def f(x):
        return said(1, x * 2 + 1) * np.exp(x) + said(2, x - 1) / said(3, np.cos(x) + 2)

    in_parts(f, X)
    assert order == [1, 2, 3] * 8


def test_expressions_that_are_not_always_evaluated():
    def f(x, c):
        z = erf(x) if c else np.sin(x) * 2
        ok = (c and erf(x).sum() > 0) or x.sum() > 3
        z = z * 2 + ok
        q = [erf(t) for t in (x, z)]
        return z + q[0] * q[1], ok

    in_parts(f, X, True)
    in_parts(f, X, False)


def test_keywords_stars_and_unpacking():
    def f(x, *args, s=2, **more):
        y = erf(x * s + 1, out=np.zeros_like(x)) + sum(args) + more.get("q", 0)
        a, (b, *c) = erf(y)[:2], erf(*[y])[:5]
        d = a * 2 + b
        e, _ = d * 3 + 1, d - 1 * 2
        return {"e": e, "c": c, "z": [np.array(c) * 2 + b, s]}

    in_parts(f, X, 1, 2)


# Control flow


def test_a_loop_with_something_foreign_has_compiled_parts():
    def f(x, n):
        s = np.zeros_like(x)
        seen = []
        for i in range(n):
            x = np.sin(x) * 0.9 + 0.01 * i
            y = erf(x)
            s = s + y * y
            seen.append(float(s.sum()))
            if seen[-1] > 1e6:
                break
        else:
            s = s * 2 + 1
        return s, seen

    in_parts(f, X, 20, spans=3)


def test_a_loop_without_stays_native():
    def f(u):
        for _ in range(100):
            u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        return erf(u)

    jitted = in_parts(f, X, spans=1)
    assert "the whole for_loop is native" in tnp.explain(jitted)


def test_while_early_returns_and_nested_loops():
    def f(x, tol):
        if tol is None:
            return None
        it, err = 0, 1.0
        while err > tol and it < 50:
            new = erf(x * 0.9) + 0.1 * np.cos(x)
            err = np.abs(new - x).max()
            x = new
            it += 1
            for k in range(3):
                x = x + np.sin(x) * 1e-6 * k
                if erf(x[0]) > 5:
                    return x * 3 + 1
        return x * 2 + err, it

    in_parts(f, X, 1e-3)


def test_try_and_finally_see_what_eager_leaves():
    def f(x, bad):
        a = 1
        try:
            a = x * 2 + 1
            b = linalg.solve(np.eye(len(bad)), bad) * 2 + 1
            a = a * 3 + 1
            c = b[100]
            a = a * 5 + 1
        except IndexError as error:
            return a.sum() + 1, str(error)
        finally:
            x[0] = np.sum(a[:2]) + 2
        return a * c + 1

    jitted = tnp.jit(f)
    for bad in (X[:5], X[:200], X[:5], X[:200]):
        expected, found = outcome(f, (X, bad)), outcome(jitted, (X, bad))
        assert_same(found, expected)


def test_with():
    def f(x):
        with np.errstate(all="ignore"):
            b = erf(x)
            y = b / (b - b) + 1
            y = np.where(np.isfinite(y), y, 0) + b * 2
        return y

    in_parts(f, X)


# Names


def test_names_that_may_be_unbound():
    def f(x, n):
        for i in range(n):
            t = x * 2 + i
            t = t + np.sin(t)
        erf(x)
        u = x * 3 + 1
        return t + u * 2

    in_parts(f, X, 3)
    in_parts(f, X, 0)


def test_functions_inside_see_variables_and_not_values():
    def f(x):
        k = 2.0

        def g(y):
            return erf(y * k) * k + 1

        z = g(x) * 2 + 1
        k = 3.0
        w = g(z) + np.sin(z) * 2
        del z
        return w * k + sum(v * k for v in w[:3])

    in_parts(f, X)


def test_super_and_attributes_of_self():
    class Base:
        def __init__(self):
            self.a, self.n, self.log = np.arange(4000.0), 0, {}

        def step(self, x):
            self.n += 1
            self.a = self.a * 0.5 + x * 2
            self.log[self.n] = erf(self.a)
            self.a += np.sin(self.log[self.n]) * 2
            return self.a.sum() * 2 + 1

    class Derived(Base):
        def step(self, x):
            y = super().step(x * 2 + 1)
            return erf(y) * 2 + np.sqrt(np.abs(y)) * x

        def forward(self, x, *more):
            return super().step(np.cos(x) * 2 + np.sin(x) * 3, *more)

    for method, owner in ((Base.step, Base()), (Derived.step, Derived()), (Derived.forward, Derived())):
        in_parts(method, owner, X)


def test_global_names_that_are_assigned():
    def f(x):
        global TOTAL
        TOTAL = x * 2 + 1
        TOTAL = np.sin(TOTAL) * 2 + 1
        y = TOTAL * 3 + x
        return y * y

    assert_same(tnp.jit(f, strict=True)(X), f(X))
    assert_same(TOTAL, np.sin(X * 2 + 1) * 2 + 1)


# Values between the parts


def test_views_and_writes():
    def f(x, y):
        v = x[1:]
        v *= 2
        v += np.sin(v) * 3
        ndimage.gaussian_filter(x, 1, output=y)
        y[:10] = y[:10] * 2 + x[:10]
        w = y[::2]
        w += erf(w)
        return v, w

    in_parts(f, X, X * 0)

    def same_object(x):
        y = x
        y[0] = np.sum(x) + 1
        erf(y)
        z = y * 2 + 1
        return y is x, z

    in_parts(same_object, X)


def test_errors_come_from_the_users_line():
    def f(x):
        y = x * 2 + 1
        z = erf(y)
        return z[:3] @ z[:4] + y * 2  # here

    jitted = in_parts(f, X)
    with pytest.raises(ValueError) as raised:
        jitted(X)
    lines = [e.lineno for e in raised.traceback if e.name == "f"]
    assert lines and set(lines) == {f.__code__.co_firstlineno + 2}


# Functions that foreign statements call


def helper(x, k):
    y = np.tanh(x) * k + 1
    z = erf(y)
    return z * z + np.sin(z)


def recursive(x, n):
    y = erf(x * 2 + 1) + np.sin(x) * 2 - x
    return recursive(y, n - 1) + np.cos(y) * 2 if n else y


def test_helpers_run_in_parts_of_their_own():
    def f(x):
        a = x * 2 + 1
        b = helper(a, 3) + helper(a * 2, k=4)
        return b * 2 + np.sqrt(np.abs(b))

    text = tnp.explain(in_parts(f, X))
    assert text.count("called by what Python runs") == 1
    in_parts(recursive, X, 4)


# What is learned


def test_what_is_too_little_to_compile_is_left_to_python():
    def f(x):
        n = 0
        for i in range(3):
            n = n + i * 2
            x = erf(x)
        return x * n + np.sin(x) * 2

    jitted = in_parts(f, X, spans=1)
    assert "less than a call" in tnp.explain(jitted)


def test_other_dtypes_and_sizes():
    def f(x):
        y = erf(x * 2 + 1)
        return y * y + np.sin(y)

    jitted = tnp.jit(f)
    for x in (
        X,
        X[:0],
        X[:1],
        X.astype("f4"),
        X[::2],
        X.reshape(40, 100),
        np.float64(2.5),
        2.5,
    ):
        assert_same(outcome(jitted, (x,))[0], outcome(f, (x,))[0])
    for n in range(10, 60):
        assert_same(jitted(X[:n]), f(X[:n]))
    assert tnp.cache_info(jitted).misses <= 16


def test_nothing_to_compile_runs_eagerly_with_a_warning():
    def f(x):
        return erf(x)

    with pytest.warns(tnp.EagerFallbackWarning, match="expn"):
        assert_same(tnp.jit(f)(X), f(X))


def test_the_log_says_so(caplog):
    def f(x):
        return erf(x * 2 + 1) * 3 + x

    with caplog.at_level(logging.DEBUG, "tnp.compile"):
        tnp.jit(f)(X)
    assert any("runs in parts: " in r.getMessage() for r in caplog.records)


def test_threads():
    def f(x):
        for _ in range(5):
            x = np.sin(erf(x) * 2 + 1) + x
        return x * 2 + 1

    jitted, expected, found = tnp.jit(f), f(X), []

    def work():
        for _ in range(20):
            found.append(jitted(X))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 160
    for y in found:
        assert_same(y, expected)


# Found by random programs


def test_a_value_bound_before_stays_where_a_loop_does_not_run():
    def f(x):
        found = []
        for n in (2, 0, 1):
            erf(x)
            for i in range(n):
                t = x * (i + n) + 1
                t = t + np.sin(t)
            found.append(t)
        return found

    in_parts(f, X)


def test_a_variable_that_a_function_inside_assigns():
    def f(x):
        def assign(y):
            nonlocal x
            x = erf(y) * 2 + 1

        assign(x)
        return x * x + 1

    in_parts(f, X)


def test_an_error_in_a_compound_statement_leaves_names_bound():
    def f(x):
        x = erf(x)
        try:
            with np.errstate():
                v = np.sin(x) * 2 + 1
                linalg.norm(v)
                v &= v
        except TypeError:
            v = v * 2 + 1
        return v * x + 2

    in_parts(f, X)


def test_errors_that_a_context_makes_numpy_raise():
    def helper(x):
        return 1 / x + np.cos(x) * 2 + x

    def f(x):
        erf(x)
        with np.errstate(divide="raise"):
            v = np.arctanh(x * 2) * 3 + 1
            v -= v
            memoryview(helper(x))
        return v

    for x in (np.zeros(4), np.full(4, 0.5), np.full(4, 0.2)):
        in_parts(f, x)


def test_an_unbound_name_before_a_foreign_expression():
    """Eager reads the name first, so that its error is not that of the generator, nor behind the change of the list."""
    log = []

    def f(x, chosen):
        y = x * 2 + 1
        if chosen[0] > 0:
            v = x + 1
        return y * y + x, v, tuple(v for _ in range(erf(1.0).size)), log.append(1)

    jitted = tnp.jit(f)
    for chosen in (1, 0, 1, 0):
        expected, _ = outcome(f, (X, np.array([chosen])))
        count = len(log)
        found, _ = outcome(jitted, (X, np.array([chosen])))
        assert_same(found, expected)
        assert len(log) - count == chosen


# Functions of all kinds


def test_lambdas():
    in_parts(lambda x: np.cos(np.sin(x) * 2) + np.sin(x) * erf(x), X, spans=2)


class Scaled:
    """An object that is called, with methods of all kinds."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        y = np.sin(x) * self.scale
        return np.cos(erf(y)) * 2 + y

    def __private(self, x):
        y = np.sin(x) * self.scale
        return np.cos(erf(y)) * 2 + y

    def mangled(self, x):
        y = self.__private(x * 2 + 1)
        return np.cos(erf(y)) * self.scale + y

    def each(self, x):
        for i in range(3):
            y = np.sin(x) * self.scale + i
            z = yield np.cos(erf(y)) * 2 + y
            assert z is None


def test_objects_that_are_called():
    in_parts(Scaled(3.0), X, spans=2)


def test_an_object_of_a_class_whose_call_changes(monkeypatch):
    made = Scaled(3.0)
    jitted = in_parts(made, X)
    monkeypatch.setattr(Scaled, "__call__", lambda self, x: x + 1)
    assert_same(jitted(X), X + 1)


def test_private_names():
    in_parts(Scaled(3.0).mangled, X)


def test_generators_that_python_runs():
    scaled = Scaled(2.0)

    def f(x):
        found = [np.sin(y) + 1 for y in scaled.each(x)]
        return sum(found) * 2

    jitted = in_parts(f, X)
    assert "compiled, called by what Python runs" in str(tnp.explain(jitted))

    def send(x):
        g = scaled.each(x)
        first = next(g) * 2 + 1
        g.close()
        return first * erf(first)

    in_parts(send, X)


def test_functions_inside_are_compiled_once_for_all_calls():
    def f(x, k):
        def g(y):
            z = np.sin(y) * k + 1
            return np.cos(erf(z)) * 2 + z

        return g(x) + g(x * 2)

    jitted = in_parts(f, X, 2.0)
    for k in (3.0, 4.0, 5.0):
        assert_same(jitted(X, k), f(X, k))
    points = points_of(jitted)
    (inside,) = points._by_code.values()
    assert len(inside.parts) == 2
    for _, span in inside.parts:
        assert tnp.cache_info(span).misses <= 2


def test_functions_inside_see_what_is_assigned_later():
    def f(x):
        count = 0
        scale = 1.0

        def g(y):
            nonlocal count
            count += 1
            z = np.sin(y) * scale + count
            return np.cos(erf(z)) * 2 + z

        a = g(x)
        scale = 2.0
        return a + g(x), count

    in_parts(f, X)


def test_a_function_inside_that_reads_what_is_not_there_yet():
    def f(x):
        def g(y):
            return np.sin(y) * 2 + erf(y) * later

        if len(x) < 3:
            later = 1.0
        try:
            return g(x)
        except NameError:
            return np.cos(erf(x)) * 2 + x

    in_parts(f, X)
    in_parts(f, X[:2])


def test_a_function_that_only_calls_others_runs_in_parts():
    def f(x):
        erf(x)
        return helper(x, 2.0)

    jitted = in_parts(f, X, spans=0)
    assert "compiled, called by what Python runs" in str(tnp.explain(jitted))


def test_what_cannot_be_returned_is_made_by_python():
    def f(x):
        y = np.sin(x) * 2 + 1
        made = Scaled(np.cos(y) * y + 2)
        z = y * y + np.cos(y)
        return made.scale + z, iter([made])

    jitted = tnp.jit(f)
    for _ in range(4):
        found, expected = jitted(X), f(X)
        assert_same(found[0], expected[0])
        (mine,), (others,) = found[1], expected[1]
        assert type(mine) is Scaled
        assert_same(vars(mine), vars(others))
    assert len(points_of(jitted).parts) == 1


def test_a_span_that_is_compiled_for_each_value_is_left_to_python():
    def f(x, n):
        for i in range(n):
            erf(x[:2])
            table = [str(v) for v in range(i)]
            x = np.sin(x) * 0.5 + len(table)
        return np.cos(x) * 2 + x

    jitted = in_parts(f, X[:20], 40)
    assert all(tnp.cache_info(span).misses < 20 for _, span in points_of(jitted).parts)


def test_solvers_call_compiled_functions():
    from scipy import optimize

    def f(x, scale):
        start = np.sin(x) * 2 + 1

        def rosenbrock(p):
            return np.sum(scale * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2)

        found = optimize.minimize(rosenbrock, start, method="BFGS", options={"maxiter": 5})
        return found.nfev, np.isfinite(found.x).all()

    jitted = tnp.jit(f)
    for _ in range(4):
        assert_same(jitted(X[:5], 100.0), f(X[:5], 100.0))
    (inside,) = points_of(jitted)._by_code.values()
    (span,) = (part for _, part in inside.parts)
    assert tnp.cache_info(span).hits > 20


def test_a_variable_that_a_call_in_the_same_span_assigns():
    def f(x):
        count = 1

        def tick(y):
            nonlocal count
            count += 1
            return erf(y) * 2 + y

        a = np.sin(x) * count
        b = tick(a)
        c = np.cos(b) * count
        return c + tick(x) + count, count

    in_parts(f, X)


def test_a_variable_that_another_function_inside_assigns():
    def f(x):
        count = 1

        def tick():
            nonlocal count
            count += 1
            return len(log)

        def g(y):
            n = tick()
            return np.sin(y) * count + n + erf(y)

        return g(x) + g(x * 2), count

    in_parts(f, X)


log = []


def test_functions_without_source_run_whole_however_often_they_are_found_eager():
    """Their tree cannot be had: nothing is around a point."""
    names = {"np": np}
    exec(
        "def f(x, k):\n    y = np.zeros(len(x))\n    for i in range(len(x)):\n        y[i] = x[i] * k\n    return y",
        names,
    )
    jitted = tnp.jit(names["f"])
    with pytest.warns(tnp.EagerFallbackWarning):
        for n in range(3, 20):
            assert_same(jitted(np.arange(float(n)), float(n)), names["f"](np.arange(float(n)), float(n)))
