"""Decorators that ask a function's signature once, and bind the arguments of each call to it."""

import functools
import inspect

import numpy as np
import pytest

import tnp
from tests.lang.outcomes import outcome
from tnp.testing import assert_same


def checked(**dimensions):
    """A decorator: arguments of these names have so many dimensions."""

    def decorator(f):
        signature = inspect.signature(f)

        @functools.wraps(f)
        def inner(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            for name, n in dimensions.items():
                if np.ndim(bound.arguments[name]) != n:
                    raise ValueError(f"{name} has not {n} dimensions")
            return f(*args, **kwargs)

        return inner

    return decorator


@checked(x=1, y=1)
def product(x, y, scale=2.0):
    return x * y * scale


def test_arguments_are_bound_while_tracing():
    jitted = tnp.jit(lambda x, y: product(x, y=y) + product(y, x, scale=3.0), strict=True)
    x, y = np.arange(3.0), np.ones(3)
    for _ in range(3):
        assert_same(jitted(x, y), 2 * x + 3 * x)


@pytest.mark.filterwarnings("ignore:.* runs :tnp.EagerFallbackWarning")
@pytest.mark.parametrize("args", [(np.ones((2, 2)), np.ones(2)), (np.ones(2),)])
def test_what_a_decorator_refuses(args):
    def f(*args):
        return product(*args) + 1

    expected, found = outcome(f, *args), outcome(tnp.jit(f), *args)
    assert type(found) is type(expected) and str(found) == str(expected)


class Layer:
    """A method whose arguments another function counts, as layers in chunks do."""

    def __init__(self, shift):
        self.shift = shift

    def chunk(self, x, y):
        return x * y + self.shift


def in_chunks(f, *arguments):
    if len(inspect.signature(f).parameters) != len(arguments):
        raise ValueError(f"{len(arguments)} arguments")
    return f(*arguments)


def test_signatures_of_methods():
    jitted = tnp.jit(lambda layer, x: in_chunks(layer.chunk, x, x), strict=True)
    for shift in (1.0, 2.5):
        layer, x = Layer(shift), np.arange(3.0)
        assert_same(jitted(layer, x), in_chunks(layer.chunk, x, x))
    Layer.chunk, chunk = (lambda self, x, y: x - y), Layer.chunk
    try:
        assert_same(jitted(layer, x), x - x)
    finally:
        Layer.chunk = chunk
