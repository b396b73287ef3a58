"""What tnp refuses, and what the program itself gets wrong: the right error, with the user's line, and nothing lost."""

import asyncio
import re

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.testing.compare import assert_same


def raises_as_eager(f, *args):
    """Checks that the jitted function raises what eager raises, type and message, and returns the error."""
    with pytest.raises(BaseException) as eager:
        f(*args)
    with pytest.raises(type(eager.value)) as jitted:
        tnp.jit(f)(*args)
    assert type(jitted.value) is type(eager.value)
    assert str(jitted.value) == str(eager.value)
    return jitted.value


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (np.array([1, None]), "object"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64"),
        (np.zeros(2, [("a", float), ("b", int)]), "'a'"),
        (np.zeros(2, np.longdouble), "longdouble|float128"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), "MaskedArray"),
        (np.zeros((1, 1)).view(np.matrix), "matrix"),
    ],
    ids=["object", "datetime", "structured", "longdouble", "masked", "matrix"],
)
def test_kinds_of_array_that_run_eagerly(value, kind):
    def twice(x, y):
        y += 1
        return np.concatenate([x, x]), y

    jitted = tnp.jit(twice)
    with pytest.warns(tnp.EagerFallbackWarning, match=kind) as warned:
        assert_same(jitted(value, np.ones(2)), twice(value, np.ones(2)), exact=True)
    message = str(warned[0].message)
    assert "argument x" in message
    assert re.search(r"test_bad_input\.py:\d+ in twice", message)
    assert_same(jitted(value, np.ones(2)), twice(value, np.ones(2)), exact=True)
    assert tnp.cache_info(jitted) == (1, 1, 1)
    with pytest.raises(tnp.TraceError, match=kind):
        tnp.jit(twice, strict=True)(value, np.ones(2))


def test_arrays_that_are_not_compiled_may_be_passed_on():
    def f(x, names):
        return {"sum": x.sum(), "names": names}

    jitted, names = tnp.jit(f, strict=True), np.array(["a", "b"])
    for _ in range(2):
        assert jitted(np.ones(2), names)["names"] is names


def test_functions_that_are_refused():
    def generator(x):
        yield x

    async def coroutine(x):
        return x

    for f, kind in ((generator, "generator"), (coroutine, "coroutine"), (int, "class")):
        with pytest.raises(tnp.TraceError, match=f"is a {kind}"):
            tnp.jit(f)
    with pytest.raises(TypeError, match="takes a function, not int"):
        tnp.jit(3)
    assert asyncio.iscoroutinefunction(coroutine)


def test_shapes_that_do_not_fit():
    raises_as_eager(lambda x, y: x + y, np.ones(3), np.ones(4))
    raises_as_eager(lambda x, y: x @ y, np.ones((2, 3)), np.ones((2, 3)))
    raises_as_eager(lambda x: x.reshape(4, 2), np.ones(6))
    raises_as_eager(lambda x, y: np.concatenate([x, y]), np.ones((2, 3)), np.ones((2, 4)))


def test_broadcasting_into_a_smaller_place():
    def f(x, y):
        x[:2] = y

    raises_as_eager(f, np.ones(3), np.ones(3))

    def g(x, y):
        x += y

    raises_as_eager(g, np.ones(3), np.ones((2, 3)))


def test_dtypes_that_do_not_fit():
    def f(x):
        x += 0.5

    raises_as_eager(f, np.arange(3))
    raises_as_eager(lambda x: x & 1, np.ones(2))
    raises_as_eager(lambda x: -x, np.array([True]))
    raises_as_eager(lambda x: x - x, np.array([True]))
    raises_as_eager(lambda x: np.add(x, 1, dtype=np.int8), np.ones(2))


def test_indices_that_do_not_fit():
    raises_as_eager(lambda x: x[5], np.ones(3))
    raises_as_eager(lambda x: x[0, 0], np.ones(3))
    raises_as_eager(lambda x: x["a"], np.ones(3))
    raises_as_eager(lambda x: x[1.5], np.ones(3))
    raises_as_eager(lambda x, m: x[m], np.ones(3), np.ones(4, bool))

    def f(x):
        x[7] = 1

    raises_as_eager(f, np.ones(3))


def test_a_cached_program_checks_indices_too():
    f = tnp.jit(lambda x, i: x[i])
    x = np.arange(3.0)
    np.testing.assert_array_equal(f(x, np.array([0, 2])), [0, 2])
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        f(x, np.array([0, 3]))


def test_ragged_lists():
    raises_as_eager(lambda x: np.array([[1.0, 2.0], [3.0]]) + x, np.ones(2))


def test_allocations_that_are_too_large():
    f = tnp.jit(lambda x: np.zeros((10**9, 10**9)) + x)
    x = np.ones(1)
    with pytest.raises((MemoryError, ValueError)):
        f(x)
    assert x[0] == 1


def test_endless_recursion():
    def f(x):
        return f(x + 1)

    with pytest.raises(RecursionError):
        tnp.jit(f)(np.ones(2))


def test_errors_of_the_program_itself():
    def f(x, flag):
        x[0] = 5
        if flag:
            raise KeyError("mine")
        assert x.shape == (3,), "three, please"
        return x

    x, e = np.zeros(3), np.zeros(3)
    g = tnp.jit(f)
    for run, a in ((f, e), (g, x)):
        with pytest.raises(KeyError, match="mine"):
            run(a, True)
    np.testing.assert_array_equal(x, e)
    raises_as_eager(f, np.zeros(4), False)


def test_the_traceback_shows_the_users_line():
    def f(x):
        y = x + 1
        return y[10]

    with pytest.raises(IndexError) as error:
        tnp.jit(f)(np.ones(3))
    entries = [e for e in error.traceback if str(e.path).endswith("test_bad_input.py")]
    assert "return y[10]" in str(entries[-1].statement)


def test_names_that_are_not_bound():
    def f(x):
        if x.shape[0] > 100:
            y = x
        return y

    raises_as_eager(f, np.ones(3))
    raises_as_eager(lambda x: x + undefined_name, np.ones(3))  # noqa: F821


def test_attributes_that_arrays_do_not_have():
    raises_as_eager(lambda x: x.nothing, np.ones(3))

    def f(x):
        x.nothing = 1

    raises_as_eager(f, np.ones(3))


def test_values_that_python_needs_run_eagerly_and_say_so_once():
    def f(x):
        if x.sum() > 0:
            str(x)
            return x
        return -x

    g = tnp.jit(f)
    with not_compiled_whole(r"needs the value of .*test_bad_input.py:\d+ in f"):
        np.testing.assert_array_equal(g(np.ones(2)), np.ones(2))
    np.testing.assert_array_equal(g(-np.ones(2)), np.ones(2))
    assert "needs the value" in tnp.explain(g)
    with pytest.raises(tnp.TraceError, match="strict=True"):
        tnp.jit(f, strict=True)(np.ones(2))


def test_a_list_argument_that_the_program_changes_is_changed():
    def f(x, log):
        log.append(x.shape)
        return x + 1

    log = []
    jitted = tnp.jit(f, strict=True)
    for n in (2, 3, 4):
        jitted(np.ones(n), log)
    assert log == [(2,), (3,), (4,)]
    assert all(type(n) is int for (n,) in log)


@pytest.mark.parametrize(
    ("function", "keyword", "value"),
    [
        (np.reshape, "copy", True),
        (np.reshape, "newshape", 4),
        (np.sort, "descending", True),
        (np.unique, "sorted", True),
    ],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
@pytest.mark.filterwarnings("ignore:`newshape`:DeprecationWarning", "ignore::tnp.EagerFallbackWarning")
def test_keywords_that_some_versions_of_numpy_have(function, keyword, value):
    def f(x):
        return function(x, **({"shape": 4} if function is np.reshape and keyword == "copy" else {}), **{keyword: value})

    x = np.array([3.0, 1.0, 2.0, 1.0])
    try:
        expected = f(x)
    except TypeError:
        raises_as_eager(f, x)
    else:
        for executors in ((), ("numpy[prims]",)):
            assert_same(tnp.jit(f, executors=executors)(x), expected)


def test_printing_happens_at_each_call(capsys):
    def f(x):
        print("called with", x.shape)
        return x

    g = tnp.jit(f)
    g(np.ones(2))
    g(np.ones(2))
    assert capsys.readouterr().out == "called with (2,)\n" * 2


def test_unknown_executors_are_named():
    with pytest.raises(ValueError, match="there is no executor 'nvidia' here; known are"):
        tnp.jit(lambda x: x, executors=["nvidia"])


def test_traced_arrays_do_not_outlive_their_trace():
    kept = []

    def f(x):
        kept.append(x)
        return x + 1

    given = np.ones(2)
    tnp.jit(f, strict=True)(given)
    assert kept[-1] is given


@pytest.mark.parametrize("executors", [None, ["llvm[everything]"], ["numpy[prims]"]], ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("name", ["less", "equal", "not_equal", "greater_equal", "add", "maximum", "floor_divide"])
def test_python_integers_beyond_a_dtype(name, dtype, executors):
    """NumPy compares by value, and refuses in arithmetic; also where an earlier call had a number that fitted."""
    function = getattr(np, name)
    a = np.array([0, 1, 100, 127], dtype)
    right = tnp.jit(lambda a, s: function(a, s), executors=executors)
    left = tnp.jit(lambda a, s: function(s, a), executors=executors)
    for number in (5, -2, 300, 255, -128, 2**31, 2**63, -(2**63) - 1, 2**70):
        for jitted, args in ((right, (a, number)), (left, (number, a))):
            with np.errstate(all="ignore"):
                expected, error = outcome_of(function, *args)
                found, raised = outcome_of(jitted, a, number)
            assert type(raised) is type(error) and str(raised) == str(error)
            if error is None:
                assert_same(found, expected, exact=True)


def outcome_of(f, *args):
    try:
        return f(*args), None
    except Exception as error:
        return None, error
