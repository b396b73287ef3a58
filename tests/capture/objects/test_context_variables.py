"""Variables of ``contextvars`` are read in the context that calls; a program may set one for a while."""

import contextvars
import logging
import threading

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.testing import assert_same

scale: contextvars.ContextVar = contextvars.ContextVar("scale", default=1.0)
collected: contextvars.ContextVar = contextvars.ContextVar("collected")


logger = logging.getLogger(__name__)


def scaled(x):
    return np.sin(x) * scale.get()


def collecting(x):
    """Sets a variable around a call, as decorators do."""
    found = {"parts": []}
    token = collected.set(found)
    try:
        y = part(x) + part(2 * x)
    finally:
        collected.reset(token)
    return y, tuple(found["parts"])


def part(x):
    y = np.cos(x)
    found = collected.get(None)
    if found is not None:
        found["parts"].append(y)
    return y


def test_values_are_inputs():
    jitted, x = tnp.jit(scaled, strict=True), np.arange(5.0)
    assert_same(jitted(x), scaled(x))
    for value in (2.0, 3.5, -1.0):
        token = scale.set(value)
        assert_same(jitted(x), scaled(x))
        scale.reset(token)
    assert_same(jitted(x), scaled(x))
    assert tnp.cache_info(jitted).misses == 1
    contextvars.copy_context().run(lambda: (scale.set(7.0), assert_same(jitted(x), scaled(x))))
    found = []
    token = scale.set(5.0)
    thread = threading.Thread(target=lambda: found.append((jitted(x), scaled(x))))  # its context is an empty one
    thread.start()
    thread.join()
    assert_same(*found[0])
    assert_same(jitted(x), scaled(x))
    scale.reset(token)


def test_a_variable_that_is_set_for_a_while():
    jitted, x = tnp.jit(collecting, strict=True), np.arange(5.0)
    for _ in range(3):
        assert_same(jitted(x), collecting(x))
        assert collected.get(None) is None
    whole = tnp.jit(part, strict=True)
    assert_same(whole(x), part(x))


def test_variables_without_a_value():
    def f(x):
        try:
            value = collected.get()
        except LookupError as error:
            return x + collected.get(2.0) * len(error.args)
        return x * value

    jitted, x = tnp.jit(f, strict=True), np.arange(5.0)
    assert_same(jitted(x), f(x))
    token = collected.set(3.0)
    assert_same(jitted(x), f(x))
    collected.reset(token)
    assert_same(jitted(x), f(x))


def test_nested_and_in_loops():
    def f(x, n):
        outer = scale.set(2.0)
        y = x * scale.get()
        for i in range(n):
            inner = scale.set(scale.get() + 0.5)
            y = y + scale.get() * i
            scale.reset(inner)
        y = y * scale.get()
        scale.reset(outer)
        return y * scale.get()

    jitted, x = tnp.jit(f), np.arange(5.0)
    for n in (3, 40, 41):
        assert_same(jitted(x, n), f(x, n))


def left_set(x):
    scale.set(float(x.sum()))
    return x * scale.get()


def used_twice(x):
    token = scale.set(2.0)
    scale.reset(token)
    y = np.sin(x)
    try:
        scale.reset(token)
    except RuntimeError:
        return y
    return y + 1


def logs_inside(x):
    token = scale.set(2.0)
    logger.warning("inside")
    scale.reset(token)
    return np.sin(x) + 1


def test_what_logs_while_one_is_set_sees_it():
    def seen(record):
        found.append(scale.get())
        return False

    found, jitted = [], tnp.jit(logs_inside)
    logger.addFilter(seen)
    try:
        with not_compiled_whole("logs while"):
            for _ in range(3):
                assert_same(jitted(np.ones(3)), logs_inside(np.ones(3)))
    finally:
        logger.removeFilter(seen)
    assert found == [2.0] * 6


@pytest.mark.parametrize("f", [left_set, used_twice])
def test_python_runs_what_leaves_one_set(f):
    jitted, x = tnp.jit(f), np.arange(5.0)

    def both():
        assert_same(contextvars.copy_context().run(f, x), jitted(x))
        seen = scale.get()
        f(x)
        assert scale.get() == seen

    with not_compiled_whole():
        contextvars.copy_context().run(both)
