"""Templates: uses of elementwise operations that are recorded like earlier ones on arguments of the same kinds."""

import itertools

import numpy as np
import pytest

import tnp
import tnp.lang.numpy as lnp
from tests.sampling import some_of
from tnp.lang.numpy.registry import by_id

SYMBOLS = sorted({f.symbol for f in by_id.values() if f.symbol.templates is not None}, key=lambda s: s.id)
DTYPES = ("bool", "int8", "int64", "uint8", "float16", "float32", "float64", "complex64")


def traced(symbol, args):
    """What is recorded of a call, or the error that it raises."""
    try:
        return tnp.trace()(lambda *xs: symbol(*xs), *args).python().partition("\n")[2]
    except (TypeError, ValueError, OverflowError) as error:
        return f"{type(error).__name__}: {error}"


def invalidate():
    for symbol in SYMBOLS:
        symbol.templates._made.clear()


def operands(count):
    """Arrays of each two neighbouring dtypes in shapes that broadcast, scalars, and numbers beside them."""
    arrays = [np.ones(shape, d) for d, shape in zip(DTYPES, itertools.cycle([(3,), (2, 1), (), (2, 3)]))]
    if count == 1:
        return [(a,) for a in arrays]
    pairs = list(itertools.pairwise(arrays)) + [(a, a) for a in arrays]
    return (
        pairs + [(a, n) for a in arrays for n in (2, -0.0, 300, True)] + [(0.0, arrays[-2]), (np.float64(1), arrays[5])]
    )


@pytest.mark.parametrize("symbol", SYMBOLS, ids=lambda s: s.name)
def test_like_the_meta(symbol):
    """With templates and without, the same is recorded, and the same is refused."""
    for args in some_of(operands(by_id[symbol.id].function.nin), SYMBOLS.index(symbol), 2):
        invalidate()
        first = traced(symbol, args)
        assert traced(symbol, args) == first, args


def test_what_tells_arguments_apart():
    invalidate()
    for number in (0.0, -0.0, 0, False, 1, True, 1.0):
        trace = tnp.trace()(eval(f"lambda x: np.copysign(x, {number!r})", {"np": np}), np.ones(3))
        (found,) = trace.body
        assert [repr(b.args[1]) for b in (found, *found.subsymbols)] == [repr(number)] * 2


def test_the_same_array_twice():
    for square_first in (True, False):
        invalidate()
        f = tnp.trace()(lambda x, y: (x * x, x * y) if square_first else (x * y, x * x), np.ones(3), np.ones(3))
        names = [[p.name for p in b.args] for b in f.body]
        assert names == ([["x", "x"], ["x", "y"]] if square_first else [["x", "y"], ["x", "x"]])
        assert names == [[p.name for p in b.subsymbols[0].args] for b in f.body]


def test_scalars_and_arrays_have_templates_of_their_own():
    invalidate()

    def f(x):
        return np.add(x, x[0]), np.add(x[0], x[0]), np.add(x[:1], x[:1]), np.add(x, x[0])

    for _ in range(2):
        kinds = [type(r) for r in tnp.jit(f)(np.ones(3))]
        assert kinds == [np.ndarray, np.float64, np.ndarray, np.ndarray]


def test_forgets_rather_than_grows(monkeypatch):
    monkeypatch.setattr("tnp.core.trace_templates.MOST", 10)
    invalidate()
    trace = tnp.trace()
    for n in range(25):
        trace(eval(f"lambda x: np.multiply(x, {n})", {"np": np}), np.ones(3))
    assert 0 < len(lnp.multiply.templates._made) <= 10
