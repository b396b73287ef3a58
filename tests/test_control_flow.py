"""Loops and branches: the prims, what passes do to their bodies, and how Python's statements become them."""

import array
import signal
import warnings

import numpy as np
import pytest
from programs import branches

import tnp
from tnp.core import dtypes, langs, prims
from tnp.core.bodies import Body
from tnp.core.check import check_trace
from tnp.core.errors import TraceCheckError
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.trace import Trace, tracing
from tnp.core.views import Path, Step, update
from tnp.frontend import acquire, control_flow
from tnp.lang import numpy as lnp
from tnp.testing import assert_same
from tnp.transforms.dce import common_subexpressions, dead_code

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
EXECUTORS = (["numpy"], ["numpy_prims"], ["torch"], None)


def source(jitted, which=-1):
    """The program without its comments."""
    lines = tnp.last_traces(jitted)[which].python().splitlines()
    return "\n".join(line.partition("  # ")[0].rstrip() for line in lines if not line.lstrip().startswith("#"))


def statements(jitted):
    return source(jitted).partition("def computation")[2].splitlines()[1:]


def same_as_eager(f, *calls, executors=(["numpy"],)):
    """Calls ``f`` compiled and as it is, and compares results, errors and arguments; gives the last one compiled."""
    for names in executors:
        jitted = tnp.jit(f, executors=names)
        for make in calls:
            expected_args, args = make(), make()
            try:
                expected = f(*expected_args)
            except Exception as error:
                with pytest.raises(type(error)) as caught:
                    jitted(*args)
                assert type(caught.value) is type(error)
                assert str(caught.value) == str(error)
            else:
                assert_same(jitted(*args), expected)
            assert_same(args, expected_args, what="arguments")
    return jitted


def eager_with_a_warning(f, make, match):
    jitted = tnp.jit(f)
    expected_args, args = make(), make()
    with pytest.warns(tnp.EagerFallbackWarning, match=match):
        assert_same(jitted(*args), f(*expected_args))
    assert_same(args, expected_args)


# The prims


class Building:
    """A trace made by hand, of an array ``A`` and a number ``n``."""

    def __enter__(self):
        self.trace = Trace()
        self._contexts = [tracing(self.trace), langs.language_context(lnp.language)]
        for c in self._contexts:
            c.__enter__()
        self.A = TensorProxy(self.trace.add_name("A"), shape=(6,), dtype=dtypes.float64)
        self.n = NumberProxy(self.trace.add_name("n"), int, 4)
        self.trace.args = [self.A, self.n]
        self.trace.bound_symbols += [prims.unpack_trivial.bind(output=p) for p in self.trace.args]
        return self

    def __exit__(self, *error):
        for c in reversed(self._contexts):
            c.__exit__(*error)

    def number(self, python_type=int):
        return NumberProxy(None, python_type)

    def body(self, args, make):
        scope = self.trace.push_body()
        results = make()
        self.trace.pop_body()
        return Body(args, scope, results)

    def finish(self, output):
        self.trace.output = output
        prims.python_return(output)
        check_trace(self.trace)
        return self.trace


def counting_loop(extra=lambda b, i: None):
    """``for i in range(n): s += A[i] * 2``, with what ``extra`` adds to the body."""
    with Building() as b:
        i, s = b.number(), TensorProxy("s", shape=(), dtype=dtypes.float64, scalar=True)

        def make():
            extra(b, i)
            return (lnp.add(s, lnp.multiply(lnp.getitem(b.A, i), 2.0)),)

        zero = lnp.getitem(b.A, 0)
        body = b.body((i, s), make)
        (out,) = prims.for_loop(0, b.n, 1, body, zero)
        return b.finish(out), body


def test_a_for_loop_prints_and_runs_as_python():
    trace, body = counting_loop()
    program = [line for line in trace.python().splitlines() if "#" not in line.lstrip()[:1]]
    assert any(line.startswith("  for n0 in range(n):") for line in program)
    assert any(line.startswith("    t1 = lnp.getitem(A, n0)") for line in program)
    assert program[-2:] == ["    s = t3", "  return s"]
    assert [p.name for p in body.captures] == ["A"]
    loop = trace.bound_symbols[-2]
    assert [p.name for p in loop.flat_inputs] == ["n", "A", "t0"]
    assert [p.name for p in loop.flat_outputs] == ["s"]


def test_renaming_reaches_into_bodies():
    trace, _ = counting_loop()
    loop = trace.bound_symbols[-2]
    other = TensorProxy("B", shape=(6,), dtype=dtypes.float64)
    renamed = loop.substitute({"A": other})
    assert [p.name for p in renamed.flat_inputs] == ["n", "B", "t0"]
    assert "getitem(B, n0)" in str(renamed)
    assert "getitem(A, n0)" in str(loop)


def test_dead_code_goes_from_bodies_and_then_from_around_them():
    with_dead, _ = counting_loop(lambda b, i: lnp.exp(lnp.getitem(b.A, slice(1, 3))))
    plain, _ = counting_loop()
    assert "exp" in with_dead.python()
    assert "exp" not in dead_code(with_dead).python()
    assert len(dead_code(with_dead).bound_symbols) == len(plain.bound_symbols)


def test_repeats_in_a_body_are_merged():
    trace, _ = counting_loop(lambda b, i: lnp.getitem(b.A, i))
    inner = common_subexpressions(trace).bound_symbols[-2].args[3]
    assert [s.sym.name for s in inner.bound_symbols] == ["getitem", "multiply", "add"]


def test_a_loop_refuses_values_that_change_their_metadata():
    with Building() as b:
        i, s = b.number(), b.number(float)
        body = b.body((i, s), lambda: (1,))
        with pytest.raises(TypeError, match="becomes 1"):
            prims.for_loop(0, b.n, 1, body, 0.0)
        with pytest.raises(TypeError, match="begins as 0"):
            prims.for_loop(0, b.n, 1, b.body((i, s), lambda: (s,)), 0)
        with pytest.raises(ValueError, match="carries 1 values"):
            prims.for_loop(0, b.n, 1, body)
        with pytest.raises(TypeError, match="gives"):
            prims.cond(b.n, b.body((), lambda: (1,)), b.body((), lambda: (1.0,)))


def test_the_checker_looks_into_bodies():
    with Building() as b:
        i = b.number()
        stranger = TensorProxy("stranger", shape=(6,), dtype=dtypes.float64)
        prims.for_loop(0, b.n, 1, b.body((i,), lambda: (lnp.exp(stranger), ())[1]))
        with pytest.raises(TraceCheckError, match="stranger is used before it is defined"):
            b.finish(b.A)


def test_while_and_cond_print_and_run_as_python():
    with Building() as b:
        k = b.number()
        test = b.body((k,), lambda: (k < b.n,))
        (last,) = prims.while_loop(test, b.body((k,), lambda: (k + 2,)), 0)
        (big,) = prims.cond(last > 4, b.body((), lambda: (last * 10,)), b.body((), lambda: (last,)))
        trace = b.finish((last, big))
    lines = [line.partition("  #")[0] for line in trace.python().splitlines()]
    assert "  while True:" in lines
    assert "    if not n1: break" in lines
    assert "  else:" in lines
    from tnp.api import _backend
    from tnp.executors import registry
    from tnp.transforms.pipeline import compile_trace

    program = compile_trace(trace, _backend(registry.get_always_executors()))[-1]
    assert program.python_callable()(4) == (4, 4)
    assert program.python_callable()(5) == (6, 60)


def test_an_update_in_a_body_writes_to_the_memory_of_the_argument():
    with Building() as b:
        i, m = b.number(), TensorProxy("m", shape=(6,), dtype=dtypes.float64)

        def make():
            new = update(m, lnp.multiply(lnp.getitem(m, i), 2.0), Path([Step(lnp.getitem, (i,))]))
            return (prims.copy_(new, m),)

        (out,) = prims.for_loop(0, b.n, 1, b.body((i, m), make), b.A)
        prims.copy_(out, b.A)
        trace = b.finish(None)
    from tnp.api import _backend
    from tnp.executors import registry
    from tnp.transforms.pipeline import compile_trace

    program = compile_trace(trace, _backend(registry.get_always_executors()))[-1]
    assert "A[n0] = " in program.python()
    assert "m" not in [p.name for p in program.bound_symbols[2].flat_inputs]
    x = np.arange(6.0)
    program.python_callable()(x, 4)
    np.testing.assert_array_equal(x, [0, 2, 4, 6, 4, 5])


# Loops of programs


def test_a_stencil_writes_in_place_and_copies_nothing():
    def f(u, v, n):
        for _ in range(n):
            v[1:-1] += 0.5 * u[2:]
            u[1:-1] += v[:-2]

    jitted = same_as_eager(f, lambda: (np.arange(8.0), np.arange(8.0), 12))
    assert next(line.strip() for line in statements(jitted)) == "for i0 in range(n):"
    assert "np.array" not in source(jitted)
    assert "[...]" not in source(jitted)
    assert source(jitted).count("out=") == 2


def test_an_array_of_the_program_is_copied_once_if_another_name_needs_it():
    def f(x):
        a = x * 2
        b = a + 0
        for i in range(12):
            a[i % 4] += b[0]
        return a, b

    jitted = same_as_eager(f, lambda: (np.arange(4.0),))
    assert "np.array" not in source(jitted)


def test_another_trip_count_runs_the_same_program():
    def f(x, n):
        for i in range(n):
            x[i] *= 2
        return x.sum()

    jitted = same_as_eager(f, *(lambda n=n: (np.arange(30.0), n) for n in (5, 12, 30, 1)))
    assert tnp.cache_info(jitted) == (3, 1, 1)
    same = np.arange(30.0)
    assert_same(jitted(same, 0), f(np.arange(30.0), 0))
    assert tnp.cache_info(jitted).size == 2, "an empty loop is another program"


def test_a_trip_count_that_is_a_value_of_an_array():
    def f(x, n):
        s = x[0] * 0
        for i in range(n[1]):
            s += x[i]
        return s

    jitted = same_as_eager(f, *(lambda k=k: (np.arange(9.0), np.array([1, k])) for k in (0, 4, 9)), executors=EXECUTORS)
    assert tnp.cache_info(jitted) == (2, 1, 1)


def test_variables_settle_after_a_round():
    def f(x):
        s = 0
        for i in range(x.shape[0]):
            s += x[i]
            last = s * 2
        return s, last

    jitted = same_as_eager(f, lambda: (np.arange(12.0),), executors=EXECUTORS)
    assert source(jitted).count("for ") == 1


def test_few_rounds_of_a_number_in_the_program_are_written_out():
    def f(x):
        for k in range(control_flow.UNROLLED):
            x += k

    def g(x):
        for k in range(20):
            x += k

    def deep(x):
        for a in range(2):
            for b in range(2):
                for c in range(2):
                    x += a * b * c

    assert "for " not in source(same_as_eager(f, lambda: (np.zeros(3),)))
    assert "for " in source(same_as_eager(g, lambda: (np.zeros(3),)))
    assert source(same_as_eager(deep, lambda: (np.zeros(3),))).count("for ") == 1


def test_indices_downward_by_steps_and_out_of_bounds():
    def f(x, start, stop, step):
        for i in range(start, stop, step):
            x[i] = i
        return x

    for bounds in ((0, 9, 2), (8, 0, -3), (-3, 3, 1), (5, 12, 1), (3, 3, 1)):
        same_as_eager(f, lambda bounds=bounds: (np.zeros(9), *bounds), executors=EXECUTORS)


def test_an_error_in_the_seventh_round_leaves_what_eager_leaves():
    def f(x, at):
        y = x[:]
        for i in range(12):
            x[0] += i
            y[at[i]] = i

    same_as_eager(f, lambda: (np.zeros(9), np.array([1, 2, 3, 4, 5, 6, 99, 1, 2, 3, 4, 5])), executors=EXECUTORS)


def test_an_assert_in_a_loop():
    f = branches.asserted  # pytest changes what asserts say, but not there
    jitted = same_as_eager(f, lambda: (np.linspace(0, 2, 12),), lambda: (np.zeros(12),))
    assert "raise AssertionError('too large')" in source(jitted)


def test_a_read_only_array_is_refused_as_numpy_does():
    def f(x):
        for i in range(12):
            x[i] = i

    def make():
        x = np.zeros(12)
        x.flags.writeable = False
        return (x,)

    same_as_eager(f, make)


def test_division_by_zero_of_numbers_in_a_loop():
    def f(x, n):
        for i in range(n):
            x += i
            x[i] = 1 // (5 - i)
            x *= 2

    same_as_eager(f, lambda: (np.zeros(12), 9), executors=EXECUTORS)

    def g(x, n):
        try:
            for i in range(n):
                x[0] += 10 // (5 - i)
        except ZeroDivisionError:
            x[1] = -1

    same_as_eager(g, lambda: (np.zeros(3), 4), lambda: (np.zeros(3), 9))


def test_python_numbers_do_not_overflow_in_loops():
    def f(x, n):
        a = 1
        for i in range(n):
            a *= 1000
            x[i % 3] += 1
        return a

    jitted = same_as_eager(f, lambda: (np.zeros(3), 40), executors=EXECUTORS)
    assert jitted(np.zeros(3), 30) == 10**90


def test_nested_triangular_loops_roll():
    def f(A):
        for i in range(A.shape[0]):
            for j in range(i + 1, A.shape[0]):
                A[i, j] -= A[i, :i] @ A[:i, j]

    jitted = same_as_eager(f, lambda: (np.arange(100.0).reshape(10, 10) / 99,), executors=EXECUTORS)
    assert source(jitted).count("for ") == 2
    assert "np.array" not in source(jitted)


def test_views_made_before_a_loop_see_what_it_writes():
    def f(A):
        row, corner = A[2], A[1:, 1:]
        for i in range(12):
            A[i % 3] += i
            corner[0, i % 2] -= 1
        return row * 1, corner.sum()

    same_as_eager(f, lambda: (np.arange(12.0).reshape(3, 4),), executors=EXECUTORS)


def test_windows_at_a_loop_variable():
    def f(image, weights):
        n, k = image.shape[0] - weights.shape[0] + 1, weights.shape[0]
        out = np.empty((n, n))
        for i in range(n):
            for j in range(n):
                out[i, j] = np.sum(image[i : i + k, j : j + k, np.newaxis] * weights[:, :, np.newaxis])
        return np.maximum(out, 0)

    rng = np.random.default_rng(0)
    for names in EXECUTORS:
        image, weights = rng.random((61, 61)), rng.random((50, 50))
        jitted = tnp.jit(f, executors=names)
        assert_same(jitted(image, weights), f(image, weights))
        assert source(jitted).count("for ") == 2


def test_a_scalar_read_before_a_loop_keeps_its_value():
    def f(x):
        first, part = x[0], x[1:3] + 0
        for i in range(12):
            x[i % 4] += 1
        return first, part

    same_as_eager(f, lambda: (np.arange(4.0),), executors=EXECUTORS)


def test_loops_over_arrays_enumerate_zip_and_reversed():
    def f(x, rows):
        s = x[0] * 0
        for i, v in enumerate(x):
            s = s * 0.5 + v * i
        for a, row in zip(reversed(x), rows):
            row += a
        for v, k in zip(x[::-1], range(3, 30)):
            s -= v * k
        return s

    jitted = same_as_eager(f, lambda: (np.arange(12.0), np.ones((11, 2))), executors=EXECUTORS)
    assert source(jitted).count("for ") == 3


def test_what_enumerate_gives_is_run_through_once():
    def f(x):
        numbered = enumerate(x)
        first = next(numbered)[1] * 1
        for i, v in numbered:
            x[0] += v * i
        return first

    same_as_eager(f, lambda: (np.arange(12.0),))

    def g(x):
        pairs = zip(x, x)
        for a, b in pairs:
            x[0] += a * b
        for a, b in pairs:
            x[1] += a + b

    eager_with_a_warning(g, lambda: (np.arange(12.0),), "runs twice over")


def test_what_a_loop_binds_last_is_there_afterwards():
    def f(x, n):
        for i in range(n):
            y = x * i
            y[0] = 5
        y[1] += 1
        return i, y

    jitted = same_as_eager(f, lambda: (np.arange(4.0), 12))
    assert source(jitted).count("for ") == 1


def test_variables_that_arrays_are_bound_to_anew():
    def f(A, x, n):
        y = x
        for _ in range(n):
            x = A @ x
            x = x / x.max()
        x[0] = 7
        return x, y

    same_as_eager(
        f, *(lambda n=n: (np.arange(1.0, 10).reshape(3, 3), np.ones(3), n) for n in (12, 1, 0)), executors=EXECUTORS
    )


def test_names_that_were_never_bound():
    def f(x, n):
        for i in range(n):
            y = x[i]
        return y

    same_as_eager(f, lambda: (np.ones(3), 0))

    def g(x):
        for i in range(20):
            if i > 0:
                z = x[i]
            x[0] = z
        return z

    same_as_eager(g, lambda: (np.ones(20),))


def test_loops_with_else_break_and_continue():
    def f(x, limit):
        kept = 0
        for i in range(x.shape[0]):
            if x[i] > limit:
                break
            if x[i] < 0.2:
                continue
            kept += 1
        else:
            x[0] = -1
        return kept

    rng = np.random.default_rng(0)
    values = rng.random(20)
    jitted = same_as_eager(f, lambda: (values.copy(), 0.9), lambda: (values.copy(), 2.0), executors=EXECUTORS)
    assert "break" in source(jitted)
    assert tnp.cache_info(jitted).size == 1


def test_a_while_loop_stops_when_it_is_interrupted():
    @tnp.jit
    def f(x):
        while x[0] > 0:
            x[1] += 1

    def interrupt(*args):
        raise KeyboardInterrupt

    stopped = np.zeros(2)
    f(stopped)
    before = signal.signal(signal.SIGALRM, interrupt)
    x = np.array([1.0, 0.0])
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            f(x)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert x[1] > 0


# Branches of programs


def test_a_branch_on_a_value_is_one_program():
    def f(x):
        if x.sum() > 0:
            y = x * 2
            x[0] = 9
        else:
            y = x - 1
        return y

    jitted = same_as_eager(f, lambda: (np.ones(3),), lambda: (-np.ones(3),), executors=EXECUTORS)
    assert tnp.cache_info(jitted) == (1, 1, 1)


def test_what_is_returned_is_the_array_that_eager_returns():
    def f(x, y):
        return x if x[0] > y[0] else y

    jitted = tnp.jit(f, executors=["numpy"])
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    assert jitted(a, b) is b
    assert jitted(b, a) is b


def test_a_write_to_one_of_two_arrays_runs_eagerly():
    def f(x, y):
        z = x if x[0] > y[0] else y
        z[1] = 5

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eager_with_a_warning(f, lambda: (np.array([1.0, 2]), np.array([3.0, 4])), "may or may not share memory")


def test_and_or_not_and_chains_of_values():
    def f(x):
        c = np.zeros(5)
        for v in x:
            c[0] += v > 0.2 and v < 0.9
            c[1] += v < 0.2 or v > 0.9
            if not v > 0.5 and not v < 0.1:
                c[2] += 1
            if 0.1 < v <= 0.6 != v:
                c[3] += 1
            c[4] += v if 0.3 < v else -v
        return c

    jitted = same_as_eager(f, lambda: (np.linspace(0, 1, 31),), executors=EXECUTORS)
    assert source(jitted).count("for ") == 1


def test_what_is_not_reached_is_not_evaluated():
    def f(x, n):
        hits = 0
        for i in range(n):
            if i < x.shape[0] and x[i] > 0.5:
                hits += 1
        return hits

    same_as_eager(f, lambda: (np.linspace(0, 1, 12), 20), executors=EXECUTORS)


def test_functions_with_early_returns():
    def kind(v):
        if v > 0.8:
            return 2
        if v > 0.4:
            return 1
        return 0

    def f(x):
        counts = np.zeros(3)
        for v in x:
            counts[kind(v)] += 1
        return counts

    same_as_eager(f, lambda: (np.linspace(0, 1, 31),), executors=EXECUTORS)


def test_python_decides_where_nothing_is_traced():
    def f(x, mode, options):
        if mode == "double" and options.get("on", True):
            x = x * 2
        for name in options:
            if name == "stop":
                break
            if name == "skip":
                continue
            x = x + len(name)
        else:
            x = -x
        while mode:
            mode = mode[1:]
            if mode == "ble":
                return x
        return x + 1

    for mode in ("double", "single"):
        for options in ({}, {"skip": 1, "abc": 2}, {"stop": 1}):
            jitted = same_as_eager(f, lambda mode=mode, options=options: (np.ones(3), mode, dict(options)))
            assert "for " not in source(jitted)


# What does not become one operation


def test_lists_that_loops_fill_are_filled():
    def f(x):
        out, seen = [], {}
        for i in range(12):
            out.append(x[i] * 2)
            seen[i] = len(out)
        return np.array(out), seen

    jitted = same_as_eager(f, lambda: (np.arange(12.0),))
    assert "for " not in source(jitted)
    assert sum(b.sym.name == "getitem" for b in tnp.last_traces(jitted)[0].bound_symbols) == 12, (
        "an attempt has left something behind"
    )


def test_an_attempt_leaves_no_trace():
    """The program of a loop that does not roll is the one that is traced if loops never roll."""

    def f(x, y):
        view = y[1:]
        out = []
        for i in range(12):
            y[0] += x[i]
            view[i % 3] *= 2
            out.append(y.sum())
        return out[-1] + view[0]

    jitted = same_as_eager(f, lambda: (np.arange(12.0), np.ones(4)))
    operations = [b.sym.name for b in tnp.last_traces(jitted)[0].body]
    limit = control_flow.PEELED
    try:
        control_flow.PEELED = -1
        plain = same_as_eager(f, lambda: (np.arange(12.0), np.ones(4)))
    finally:
        control_flow.PEELED = limit
    assert operations == [b.sym.name for b in tnp.last_traces(plain)[0].body]


def test_numbers_that_are_needed_after_a_loop_are_there():
    def f(x):
        k = 0
        for i in range(20):
            x[i] = i
            k += 2
        return np.zeros(k)

    assert "for " not in source(same_as_eager(f, lambda: (np.ones(20),)))
    assert acquire.ROUNDS_AGAIN >= 20


def test_numbers_that_a_while_loop_computes():
    def f(x, n):
        k = 1
        while k < n:
            k *= 2
        return np.zeros(k) + x

    def g(x, n):
        k = 1
        while k < n:
            x *= k
            k *= 2
        return np.ones(k)

    for function in (f, g):
        same_as_eager(function, lambda: (np.ones(1), 20), lambda: (np.ones(1), 60))


def test_a_condition_that_changes_an_object():
    class Countdown:
        def __init__(self, n):
            self.n = n

        def goes_on(self):
            self.n -= 1
            return self.n >= 0

    def f(x):
        c = Countdown(12)
        while c.goes_on():
            x[c.n] += c.n
        return c.n

    same_as_eager(f, lambda: (np.ones(12),))


def test_objects_that_loops_change():
    class Counter:
        def __init__(self):
            self.n = 0

        def add(self, k):
            self.n += k

    def f(x):
        c = Counter()
        for i in range(12):
            c.add(i)
            x[i] = c.n
        return x

    assert "for " not in source(same_as_eager(f, lambda: (np.ones(12),)))


def test_what_a_library_does_on_one_side_is_not_done_on_trial():
    kept = array.array("d", [0.0])

    def f(x):
        if x[0] > 0:
            kept.append(1.0)
        return x + len(kept)

    def g(x):
        for _ in range(12):
            kept.append(2.0)
            x = x + 1
        return x

    with pytest.warns(tnp.EagerFallbackWarning, match="a condition needs the value"):
        tnp.jit(f)(-np.ones(2))
    assert kept.tolist() == [0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(tnp.jit(g)(np.ones(2)), np.full(2, 13.0))
    assert kept.tolist() == [0.0] + [2.0] * 12


def test_iterators_that_loops_take_from():
    def f(x):
        it = iter(range(100))
        for i in range(12):
            x[i] = next(it)
        return x

    same_as_eager(f, lambda: (np.ones(12),))


def test_a_long_unrolling_says_so():
    def f(x, n):
        out = []
        for i in range(n):
            out.append(x[i % 3])
        return out[-1] + i

    n = control_flow.WARN_ROUNDS + 1
    jitted = tnp.jit(f, executors=["numpy"])
    with pytest.warns(tnp.EagerFallbackWarning, match=r"over 1,000 rounds.*changes a list"):
        assert jitted(np.ones(3), n) == n


def test_a_loop_that_would_unroll_too_far_runs_eagerly():
    def f(x, n):
        out = []
        for _ in range(n):
            out.append(x[0])
        return sum(out)

    n = control_flow.MAX_ROUNDS + 1
    eager_with_a_warning(f, lambda: (np.ones(3), n), "more than 10,000 rounds")


def test_a_print_in_a_loop_runs_eagerly(capsys):
    def f(x):
        for i in range(12):
            x[i] += 1
            print(i, end=" ")

    eager_with_a_warning(f, lambda: (np.ones(12),), "prints")


def test_changes_of_type_on_one_side_run_eagerly():
    def f(x):
        s = 0
        for i in range(12):
            if x[i] > 0.5:
                s = s + x[i]
        return s

    eager_with_a_warning(f, lambda: (np.linspace(0, 1, 12),), "a condition needs the value")


def test_errors_that_the_program_catches():
    def f(x):
        for i in range(12):
            try:
                x[i] = x[i + 5]
            except IndexError:
                x[i] = -1

    same_as_eager(f, lambda: (np.arange(12.0),))


def test_arrays_of_the_outside_that_loops_write():
    kept = np.zeros(4)

    def f(x):
        for i in range(12):
            kept[i % 4] += x[i]
        return x + kept[0]

    jitted = tnp.jit(f)
    expected = np.zeros(4)
    for _ in range(2):
        jitted(np.arange(12.0))
        for i in range(12):
            expected[i % 4] += i
        np.testing.assert_array_equal(kept, expected)


def test_two_buffers_that_take_turns():
    def f(u, v, n):
        for _ in range(n):
            v[1:-1] = 0.5 * (u[2:] + u[:-2])
            u, v = v, u
        return u

    same_as_eager(f, lambda: (np.arange(9.0), np.zeros(9), 12), lambda: (np.arange(9.0), np.zeros(9), 11))


def test_closures_and_comprehensions_in_loops():
    def f(x, n):
        total = x * 0
        for i in range(n):
            scale = lambda v: v * i  # noqa: E731
            total = total + scale(x) + sum(x[k] for k in range(3)) + np.array([v * 2 for v in (i, 1, 2)])
        return total

    same_as_eager(f, lambda: (np.arange(3.0), 12))


def test_random_draws_in_a_loop_are_made_in_order():
    def f(rng, n):
        path = np.zeros(n)
        for i in range(n):
            if rng.random() > 0.5:
                path[i] = rng.standard_normal()
        return path

    jitted = tnp.jit(f, executors=["numpy"])
    for seed in range(3):
        a, b = np.random.default_rng(seed), np.random.default_rng(seed)
        assert_same(jitted(a, 20), f(b, 20))
        assert a.random() == b.random()
    assert "for " in source(jitted)


STEPS = 3


def test_few_rounds_by_a_global_are_written_out(monkeypatch):
    def f(x):
        for _ in range(STEPS):
            x = x * 2 + 1
        return x

    g = tnp.jit(f)
    x = np.arange(4.0) / 2**500
    for steps, misses in ((3, 1), (2, 2), (500, 3), (501, 3)):
        monkeypatch.setitem(globals(), "STEPS", steps)
        assert_same(g(x), f(x))
        assert tnp.cache_info(g).misses == misses
