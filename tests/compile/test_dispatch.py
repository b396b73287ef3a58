"""Dispatch: how arguments reach a program, and what is said where they do not."""

import copy
import functools
import inspect
import pickle

import numpy as np
import pytest

import tnp
from tests.eager_checks import whole
from tnp.compile.cache_entry import CALLS_OF_OTHERS
from tnp.compile.faster_way import GuardedWay
from tnp.testing import assert_same

X = np.arange(4.0)


def names_of_its_own(self, result, /, error, next=2.0, *values, MISS=3.0, **Exception):
    return self + result * error - next, values, MISS, Exception


def by_position_only(x, y=2.0, /):
    return x * y


def by_name_only(*, x, y=2.0):
    return x * y


def without_any():
    return np.arange(3) * 2


CALLS = [
    (names_of_its_own, (X, X + 1, 2.0), {}),
    (names_of_its_own, (X, X + 1), {"error": 3.0, "MISS": X}),
    (names_of_its_own, (X, X + 1, 2.0, 4.0, X, 7), {"self": X, "more": 2}),
    (by_position_only, (X,), {}),
    (by_position_only, (X, 3.0), {}),
    (by_name_only, (), {"x": X}),
    (by_name_only, (), {"y": X, "x": X}),
    (without_any, (), {}),
    (functools.partial(by_position_only, X), (), {}),
    (functools.partial(by_name_only, y=X), (), {"x": X}),
    (lambda x, by=2.0: x * by, (X,), {"by": 4.0}),
]


@pytest.fixture(params=[False, True], ids=["compiled", "eagerly"])
def runs_eagerly(request, monkeypatch):
    """Whether calls have been found to take less time eagerly."""

    def timed(self, *values):
        self._choose(True)
        return self._eagerly(*values)

    if request.param:
        monkeypatch.setenv("TNP_CHECK", "0")
        monkeypatch.setattr(GuardedWay, "_timed", timed)
    return request.param


@pytest.mark.parametrize(("f", "args", "kwargs"), CALLS)
def test_arguments_as_python_binds_them(f, args, kwargs, runs_eagerly):
    jitted = tnp.jit(f)
    for _ in range(20):
        assert_same(jitted(*args, **kwargs), f(*args, **kwargs))
    assert tnp.cache_info(jitted) == (19, 1, 1)
    is_tried = runs_eagerly and not isinstance(f, functools.partial)
    assert is_tried == ("for now they run eagerly" in str(tnp.explain(jitted)))


WRONG = [
    (by_position_only, (), {}),
    (by_position_only, (), {"x": X}),
    (by_position_only, (X, 1.0, 2.0), {}),
    (by_name_only, (X,), {}),
    (by_name_only, (), {}),
    (by_name_only, (), {"x": X, "z": 1}),
    (without_any, (1,), {}),
]


@pytest.mark.parametrize(("f", "args", "kwargs"), WRONG)
def test_wrong_arguments_are_pythons_errors(f, args, kwargs):
    with pytest.raises(TypeError) as expected:
        f(*args, **kwargs)
    with pytest.raises(TypeError) as found:
        tnp.jit(f)(*args, **kwargs)
    assert str(found.value) == str(expected.value)
    assert found.value.__traceback__.tb_next is None


def test_defaults_that_are_taken_away(runs_eagerly):
    def f(x, y=2.0, *, z=3.0):
        return x * y + z

    jitted = tnp.jit(f)
    for _ in range(20):
        assert_same(jitted(X), f(X))
    for defaults, keywords, args in (((), {"z": 3.0}, (X,)), ((2.0,), {}, (X,)), (None, None, (X, 2.0))):
        f.__defaults__, f.__kwdefaults__ = defaults, keywords
        with pytest.raises(TypeError) as expected:
            f(*args)
        with pytest.raises(TypeError) as found:
            jitted(*args)
        assert str(found.value) == str(expected.value)
    assert_same(jitted(X, 5.0, z=1.0), f(X, 5.0, z=1.0))


def test_no_method_stands_between_a_call_and_the_dispatcher():
    assert type(tnp.jit(by_name_only)).__call__ is functools.partial.__call__


def test_it_is_no_partial_to_what_is_made_of_it():
    jitted = tnp.jit(by_position_only)
    bound = functools.partial(jitted, X)
    assert bound.func is jitted
    assert_same([bound(2.0), bound(3.0), bound(X)], [X * 2, X * 3, X * X])
    assert inspect.signature(jitted) == inspect.signature(by_position_only)
    for other in (copy.copy(jitted), pickle.loads(pickle.dumps(jitted))):
        assert_same(other(X), by_position_only(X))


def test_a_jitted_function_within_another():
    inner = tnp.jit(by_position_only)
    whole(tnp.jit(lambda x: inner(x, 3.0) + inner(x)), X)


def test_a_program_that_calls_come_to_in_a_row_is_tried_first():
    def scaled(x, kind):
        return np.cumsum(x) * 2 + 1 if kind == "sum" else np.cumprod(x) * 3 - 1

    jitted = tnp.jit(scaled)
    first = {}
    for kind in ("sum", "product", "sum", "product"):
        assert_same(jitted(X, kind), scaled(X, kind))
        first[kind] = jitted.dispatch.first
    assert first["sum"] is first["product"]  # the latest program, as long as calls come to both
    for kind in ("sum", "product", "sum"):
        for _ in range(CALLS_OF_OTHERS + 1):
            assert_same(jitted(X, kind), scaled(X, kind))
        first[kind] = jitted.dispatch.first
    assert first["sum"] is not first["product"]
    assert tnp.cache_info(jitted).misses == 2
