"""Attributes of ``threading.local`` are those of the thread that calls."""

import threading

import numpy as np

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.testing import assert_same

settings = threading.local()


class Backends:
    local = threading.local()
    default = np

    @classmethod
    def now(cls):
        return cls.local.__dict__.get("backend", cls.default)


def scaled(x):
    return Backends.now().sin(x) * settings.scale + getattr(settings, "shift", 0.0)


def test_attributes_are_inputs():
    settings.__dict__.clear()
    settings.scale = 2.0
    jitted = tnp.jit(scaled, strict=True)
    x = np.arange(5.0)
    for name, value in (("scale", 2.0), ("scale", 3.5), ("shift", 1.0), ("scale", -1.0), ("shift", 2.5)):
        setattr(settings, name, value)
        assert_same(jitted(x), scaled(x))
    assert tnp.cache_info(jitted).misses == 2  # with a shift and without
    found = []

    def of_another_thread():
        settings.scale = 7.0
        found.append((jitted(x), scaled(x)))

    thread = threading.Thread(target=of_another_thread)
    thread.start()
    thread.join()
    assert_same(*found[0])
    assert_same(jitted(x), scaled(x))
    del settings.shift
    assert_same(jitted(x), scaled(x))


def test_attributes_that_are_missing():
    def f(x):
        try:
            return x * settings.missing
        except AttributeError as error:
            return x + len(error.name)

    settings.__dict__.clear()
    jitted = tnp.jit(f, strict=True)
    assert_same(jitted(np.ones(3)), f(np.ones(3)))
    settings.missing = 3.0
    assert_same(jitted(np.ones(3)), f(np.ones(3)))


def test_what_python_assigns():
    def f(x):
        y = np.sin(x) * 2 + 1
        settings.total = y.sum()
        return np.cos(y) * settings.total

    jitted = tnp.jit(f)
    with not_compiled_whole("assigns 'total'"):
        for k in range(3):
            assert_same(jitted(np.arange(4.0) + k), f(np.arange(4.0) + k))
            f(np.arange(4.0) - k)
            expected = settings.total
            jitted(np.arange(4.0) - k)
            assert_same(settings.total, expected)
