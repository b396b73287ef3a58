"""``warnings.catch_warnings`` around code whose warnings are ignored is part of a program; the program gives none of these warnings."""

import re
import warnings

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("ignore:.* runs (eagerly|in parts):tnp.EagerFallbackWarning")

X = np.linspace(-1.0, 4.0, 24).reshape(4, 6)


def outcome(f, x):
    """What a call gives or raises, and the warnings that it gives."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        try:
            result = f(x)
        except Exception as error:
            result = type(error), str(error)
    return result, [(w.category, str(w.message)) for w in said]


def check(f, *xs, is_whole=True):
    """Compares results and warnings with eager's, and checks how it is compiled and that the filters are as before."""
    jitted = tnp.jit(f)
    for x in (*xs, *xs):
        before = list(warnings.filters)
        found, expected = outcome(jitted, x.copy()), outcome(f, x.copy())
        assert_same(found[0], expected[0])
        assert found[1] == expected[1]
        assert warnings.filters == before
    text = str(tnp.explain(jitted))
    assert is_whole == (not re.search("runs eagerly|in parts", text)), text


def ignored(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = np.log(x) + np.linalg.inv(np.sqrt(x[:4, :4]) + np.eye(4))[0, 0]
    return y * 2


def by_class(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=RuntimeWarning)
        warnings.warn("low", RuntimeWarning, stacklevel=1)
        warnings.warn("shown", stacklevel=1)
        y = np.nanmean(np.where(x > 0, np.nan, x), axis=1)
    return y


def by_text(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "mean of EMPTY")
        warnings.filterwarnings("ignore", message="gone", category=DeprecationWarning)
        warnings.warn("gone for good", DeprecationWarning, stacklevel=1)
        warnings.warn("gone for bad", UserWarning, stacklevel=1)
        y = np.nanmean(np.where(x > 0, np.nan, x), axis=1)
        z = np.nanmax(np.where(x > 0, np.nan, x), axis=1)
    return y, z


def by_option(x):
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        warnings.warn("ignored", stacklevel=1)
        warnings.warn("shown", FutureWarning, stacklevel=1)
    warnings.warn("shown, too", stacklevel=1)
    return x * 2


def nested(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            warnings.warn("one", stacklevel=1)
            warnings.warn("two", FutureWarning, stacklevel=1)
        warnings.warn("three", stacklevel=1)
        warnings.warn("four", FutureWarning, stacklevel=1)
    return x + 1


def helper(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.nanmean(np.where(x > 0, np.nan, x))


def in_loops_and_branches(x):
    total = 0.0
    for i in range(len(x)):
        total += helper(x[i] * 0 + 1) if x[i, 0] > 9 else 1.0
    if x.sum() > 3:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            total += np.sqrt(x).sum()
    return total, helper(x)


def empty(x):
    with warnings.catch_warnings():
        y = np.exp(x)
        warnings.warn("shown", stacklevel=1)
    return y


@pytest.mark.parametrize("f", [ignored, by_class, by_text, by_option, nested, helper, empty])
def test_compiled_whole(f):
    check(f, np.abs(X) + 0.5, X, np.abs(X) + 1)


def test_loops_and_branches():
    jitted = tnp.jit(in_loops_and_branches)
    for x in (X, X * 0, X):
        assert_same(outcome(jitted, x)[0], outcome(in_loops_and_branches, x)[0])


def recorded(x):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.warn("heard", stacklevel=1)
    return x * 2, len(said)


def raised(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.warn("an error", stacklevel=1)
    return x * 2


def set_for_good(x):
    warnings.filterwarnings("ignore", "nothing like this")
    return x * 2


def of_other_code(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = np.i0(x)
    return y * 2 + np.exp(y)


@pytest.mark.parametrize("f", [recorded, raised, of_other_code])
def test_left_to_python(f):
    check(f, X, is_whole=False)


def test_filters_outside_of_a_context():
    with warnings.catch_warnings():
        jitted = tnp.jit(set_for_good)
        for _ in range(3):
            assert_same(jitted(X), X * 2)
        assert any(f[1] is not None and f[1].pattern == "nothing like this" for f in warnings.filters)


def fails(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = np.linalg.inv(x[:4, :4])
        if y[0, 0] > 100:
            raise ValueError("large")
    return y


def test_errors_inside():
    check(fails, X[:4, :4] + np.eye(4), np.zeros((4, 4)), np.eye(4) / 1000)


def around_foreign_code(x, log):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = np.log(np.abs(x) + 1) * 2 + np.sqrt(np.abs(x))
        memoryview(log)
        z = np.exp(y) * 3 - np.sin(y) * y
    return z


def test_parts_in_a_context_that_ignores_warnings_run_compiled():
    jitted = tnp.jit(around_foreign_code)
    for _ in range(4):
        assert_same(jitted(X, b"x"), around_foreign_code(X, b"x"))
    text = str(tnp.explain(jitted))
    assert "in parts" in text
    assert re.search(r"\b1 program, [1-9]", text.split("compiled, lines")[1]), text
