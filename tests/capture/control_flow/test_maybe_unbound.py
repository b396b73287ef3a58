"""Names that a branch or a loop binds, or does not, and that are read behind it: bound, or Python's error."""

import contextlib
import warnings

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tests.flow_checks import EXECUTORS, same_as_eager, source
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")

LEVELS = (-9.0, 0.3, 0.95, 9.0)


def calls(*levels):
    return [lambda t=t: (np.random.default_rng(1).random(20), t) for t in levels]


def test_a_name_that_one_side_binds():
    def number(x, t):
        if x[0] > t:
            at = 3
        return at

    def array(x, t):
        if x.sum() > t:
            y = x * 2
        else:
            x[0] = 5
        x[1] = 7
        y[0] = 1
        return y

    def read_where_bound(x, t):
        found = x[0] > t
        if found:
            scale = x[1]
        if found:
            x *= scale
        return x

    def in_place(x, t):
        if x[0] > t:
            total = 1.0
        total += x[1]
        return total

    for f in (number, array, read_where_bound, in_place):
        jitted = same_as_eager(f, *calls(*LEVELS), executors=EXECUTORS)
        assert tnp.cache_info(jitted).size == 1
    jitted = tnp.jit(number)
    with pytest.raises(UnboundLocalError, match="cannot access local variable 'at' where"):
        jitted(np.zeros(3), 1.0)


def test_a_comprehension_reads_a_name_that_may_be_unbound():
    def in_the_element(x, t):
        if x[0] > t:
            at = x
        return [at * k for k in range(3)]

    def in_the_first_iterable(x, t):
        if x[0] > t:
            at = x
        return [row + 1 for row in at]

    def its_own_name(x, t):
        if x[0] > t:
            at = x
        return [at + 1 for at in at]

    def in_a_generator(x, t):
        if x[0] > t:
            at = x
        return sum(at * k for k in range(3))

    for f in (in_the_element, in_the_first_iterable, its_own_name, in_a_generator):
        same_as_eager(f, *calls(*LEVELS), executors=EXECUTORS)
    with pytest.raises(NameError, match="cannot access free variable 'at' where"):
        tnp.jit(in_a_generator)(np.zeros(3), 1.0)


def test_a_name_that_a_loop_binds_on_one_side():
    def largest(x, t):
        best = t
        for i in range(len(x)):
            if x[i] > best:
                best = x[i]
                at = i
        return at, best

    def if_found(x, t):
        found = False
        for i in range(len(x)):
            if x[i] > t:
                found = True
                at, value = i, x[i] * 2
        if found:
            return at, value
        return -1, 0.0

    def first_round(x, t):
        for i in range(12):
            if i == 0:
                before = x[i]
            else:
                x[i] = before * t
                before = x[i] + 1
        return x, before

    def across_iterations(x, t):
        for i in range(12):
            if x[i] > t:
                last = x[i]
            elif x[i] < t / 2:
                x[i] = last
        return x

    def arrays(x, t):
        for i in range(12):
            x[i] += 1
            if x[i] > 1 + t:
                kept = x * 2
        return kept

    same_as_eager(across_iterations, *calls(*LEVELS))
    for f in (largest, if_found, first_round, arrays):
        jitted = same_as_eager(f, *calls(*LEVELS), executors=EXECUTORS)
        assert source(jitted, 0).count("for ") == 1


def test_a_name_first_bound_in_a_loop_of_an_unknown_number_of_iterations():
    def ranged(x, n):
        for i in range(int(n[0])):
            z = x[i] * 2
        return z, i

    def conditional(x, n):
        while x.sum() > n[0]:
            half = x / 2
            x -= half
        return half

    def inside(x, n):
        for i in range(12):
            for _ in range(i % n[0]):
                y = x[i]
            x[i] = y + 1
        return x

    for f in (ranged, conditional, inside):
        jitted = same_as_eager(
            f, *[lambda n=n: (np.linspace(0, 1, 12), np.array([n])) for n in (5, 3, 1, 12)], executors=EXECUTORS
        )
        assert tnp.cache_info(jitted).size == 1


def test_names_that_other_things_bind():
    def handled(x, t):
        try:
            x[0] = x[30]
        except IndexError as error:
            text = str(error)
        return text, x

    def managed(x, t):
        with np.errstate(all="ignore"):
            y = x / 0
        return y

    def deleted(x, t):
        y = x * 2
        del x
        for i in range(2):
            z = y + i
        return z

    def walrus(x, t):
        if (n := len(x)) > 30:
            big = True
        return n if n < 30 else big

    def matched(x, t):
        match x.ndim:
            case 1:
                kind = "vector"
            case 2:
                kind = "matrix"
        return kind, x

    def endless(x, t):
        k = 0
        while True:
            k += 1
            found = x[k] * 2
            if k > 3:
                break
        return found

    def closure(x, t):
        def scaled():
            return factor * x

        factor = 2.0
        return scaled()

    for f in (handled, managed, deleted, walrus, matched, endless, closure):
        same_as_eager(f, *calls(0.5))


def test_a_name_that_a_function_inside_reads():
    def f(x, t):
        if x[0] > t:
            factor = 2.0

        def scaled():
            return factor * x

        return scaled()

    def with_any_operator(x, t):
        if x[0] > t:
            factor = 7

        return (lambda y: divmod(factor, 2)[1] + factor // 3 + y)(x)

    for g in (f, with_any_operator):
        jitted = tnp.jit(g)
        with not_compiled_whole():
            np.testing.assert_array_equal(jitted(np.ones(2), 0.0), g(np.ones(2), 0.0))
        with pytest.raises(NameError, match="factor"):
            jitted(np.zeros(2), 0.5)


def test_what_follows_a_loop_that_may_return_deletes_a_name():
    def function(x, t):
        for _ in np.ndindex(3, 2):
            if (x > t).any():
                return 1
        other = 2
        del other
        return 3

    def unbound(x, t):
        for _ in range(3):
            if (x > t).any():
                return 1
        del other  # noqa: F821

    for f in (function, unbound):
        same_as_eager(f, *calls(*LEVELS), executors=EXECUTORS)


def test_the_default_of_a_parameter_is_read_where_the_function_is_made():
    def of_a_lambda(x, t):
        if x[0] > t:
            factor = 2.0
        scaled = lambda y, by=factor: y  # noqa: E731
        return scaled(x)

    def of_a_function(x, t):
        if x[0] > t:
            factor = 2.0

        def scaled(y, *, by=factor):
            return y * by

        return scaled(x)

    for g in (of_a_lambda, of_a_function):
        same_as_eager(g, *calls(*LEVELS))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_what_comes_before_an_unbound_name_is_done_in_parts():
    def f(x, log, n):
        if n > 1:
            found = np.zeros(4)
        try:
            log.append(bytes(str(n), "utf8"))
            y = np.sin(x) + [1, 2][n] * found[:2]
        finally:
            found[2] = log[n] == b"1"
        return y, found

    jitted = tnp.jit(f)
    for n in (0, 1, 2, 0, 5):
        outcomes = []
        for g in (f, jitted):
            log = []
            with pytest.raises((NameError, IndexError)) as caught:
                g(np.ones(2), log, n)
            outcomes.append((type(caught.value), str(caught.value), log))
        assert outcomes[0] == outcomes[1]


def test_a_name_that_only_a_part_binds_is_local():
    def f(x):
        global _kept
        _kept = x
        _levels.reverse()  # noqa: F823
        _levels += [np.sin(x) + 1]

    with pytest.raises(UnboundLocalError, match="_levels"):
        tnp.jit(f)(np.ones(3))
    assert _levels == [1, 2]


_kept, _levels = None, [1, 2]


def test_parts_with_defaults_that_have_the_names_of_parameters():
    kept = []

    def f(x, r):
        y = x + 1
        double = lambda v, r=r["factor"]: v * r  # noqa: E731
        found = np.sin(y) + max(-r for r in r["shifts"])
        kept.append(memoryview(found))
        return double(found), r

    with not_compiled_whole("memoryview"):
        got = tnp.jit(f)(np.ones(3), {"factor": 2.0, "shifts": [1.0]})
    assert_same(got[0], f(np.ones(3), {"factor": 2.0, "shifts": [1.0]})[0])


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_a_name_that_a_statement_binds_before_it_reads_it():
    kept = []

    def f(x):
        kept.append(memoryview(x))
        x = np.insert((w := x) + w[...], 0, 2) * 3
        kept.append(memoryview(x))
        return x, w

    with not_compiled_whole():
        assert_same(tnp.jit(f)(np.ones(3)), f(np.ones(3)))


def test_names_that_a_context_manager_may_leave_unbound():
    def f(x, log):
        with contextlib.suppress(ValueError):
            y = x.view("c16") * 2
        log.append(memoryview(x))
        x[[7]]
        return y

    for x in (np.ones(8), np.ones(3), np.ones(9)):
        outcomes = []
        for g in (tnp.jit(f), f):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
                try:
                    outcomes.append(g(x, []).tolist())
                except (IndexError, UnboundLocalError) as error:
                    outcomes.append(repr(error))
        assert outcomes[0] == outcomes[1]


def test_a_deleted_name_in_parts():
    def f(x, log):
        v = 1
        del v
        try:
            log.append(memoryview(x))
            log.append(float(x[0]) + 1)
            for _ in range(3):
                v  # noqa: B018
        except NameError:
            pass
        return x + 1, len(log)

    with not_compiled_whole():
        assert_same(tnp.jit(f)(np.ones(3), []), f(np.ones(3), []))
