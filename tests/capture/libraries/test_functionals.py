"""NumPy's functions that call a function of the user's: they give what they give eagerly, compiled."""

import functools
import math

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.testing import assert_same

X = np.linspace(0.1, 1, 50)
TABLE = X.reshape(5, 10)


def compiled(f, *args):
    """Compares the jitted ``f`` with eager, and checks that all of it is compiled."""
    jitted = tnp.jit(f)
    for _ in range(3):
        assert_same(jitted(*args), f(*args))
    assert "eager" not in str(tnp.explain(jitted)), tnp.explain(jitted)
    assert "in parts" not in str(tnp.explain(jitted)), tnp.explain(jitted)
    return jitted


def not_whole(f, *args):
    """Compares a call that Python runs with eager."""
    jitted = tnp.jit(f)
    with pytest.warns(tnp.EagerFallbackWarning):
        assert_same(jitted(*args), f(*args))


@np.vectorize
def clipped_difference(a, b):
    """The difference, if it is positive."""
    return a - b if a > b else 0.0


@np.vectorize
def stepped(a):
    return 1 if a > 0.5 else 0


def test_vectorize_of_a_global_function():
    compiled(lambda x: clipped_difference(x, 0.5) * 2, X)
    compiled(lambda x, y: clipped_difference(x, y), TABLE, np.arange(10.0) / 10)
    compiled(lambda x: stepped(x), X)


def test_vectorize_made_inside():
    def f(x, k):
        g = np.vectorize(lambda a, b: a * b + k if a > 0.5 else a)
        return g(x, np.arange(10.0)) * 2

    compiled(f, TABLE, 3.0)


def test_vectorize_as_a_decorator_inside():
    def f(x, k):
        @np.vectorize
        def g(a, b):
            return abs(a) ** 2 if b > 0.5 else k

        return g(x, np.arange(10.0)) * 2

    compiled(f, TABLE, 3.0)


def test_vectorize_gives_python_numbers_and_finds_the_dtype_with_the_first():
    compiled(lambda n: np.vectorize(lambda a: a * 2)(n), np.arange(5))
    not_whole(
        lambda n: np.vectorize(lambda a: a * 2)(n), np.arange(5, dtype=np.int32)
    )  # of Python's ints, which may be large
    compiled(lambda n: np.vectorize(lambda a: a / 3)(n), np.arange(5, dtype=np.float32))
    compiled(lambda n: np.vectorize(lambda a: a > 2)(n), np.arange(5))
    compiled(lambda n: np.vectorize(lambda a: np.sqrt(a) + 1j)(n), np.arange(5.0))


def test_vectorize_whose_first_result_has_another_kind():
    def f(x):
        return np.vectorize(lambda a: 1 if a < 0.2 else a)(x)

    not_whole(f, X)  # NumPy truncates the others


def test_vectorize_with_otypes_and_several_results():
    compiled(lambda x: np.vectorize(lambda a: 1.0 if a < 0.2 else a, otypes=[float])(x), X)
    compiled(lambda x: np.vectorize(lambda a: (a + 1, a < 0.5))(x), X)
    compiled(lambda x: np.vectorize(lambda a: a * 2, otypes="f")(x), np.zeros(0))
    compiled(lambda x: np.vectorize(math.sin)(x), X)
    compiled(lambda: np.vectorize(lambda a: a * 2)(3.0))


def test_vectorize_with_excluded_arguments_and_keywords():
    def poly(a, p, q=1.0):
        return np.polyval(p, a) * q

    def f(x):
        g = np.vectorize(poly, excluded=["p"])
        g.excluded.add(1)
        return g(x, [1.0, 2.0], q=x[0]), g(x, p=[1.0, 3.0])

    compiled(f, X)


def test_vectorize_with_a_signature():
    compiled(lambda x: np.vectorize(lambda a: a.sum(), signature="(n)->()")(x), TABLE)
    compiled(lambda x, y: np.vectorize(np.convolve, signature="(n),(m)->(k)")(x, y), TABLE, np.ones(3))
    compiled(lambda x: np.vectorize(lambda a: (a - a.mean(), a.max()), signature="(n)->(n),()")(x), TABLE)


def test_vectorize_of_nothing_raises():
    def f(x):
        return np.vectorize(lambda a: a * 2)(x)

    with pytest.raises(ValueError, match="size 0"):
        tnp.jit(f)(np.zeros(0))


def test_vectorize_of_what_changes():
    scale = [2.0]
    g = np.vectorize(lambda a: a * scale[0])

    @tnp.jit
    def f(x):
        return g(x)

    assert_same(f(X), X * 2)
    scale[0] = 3.0
    assert_same(f(X), X * 3)
    g.pyfunc = lambda a: a + 1
    assert_same(f(X), X + 1)
    g.otypes = "f"
    assert_same(f(X), (X + 1).astype("f"))


def test_apply_along_axis():
    compiled(lambda x: np.apply_along_axis(lambda r: r / r.sum(), 1, x), TABLE)
    compiled(lambda x: np.apply_along_axis(lambda r, k: r.max() - k, 0, x, 2.0), TABLE)
    compiled(lambda x: np.apply_along_axis(lambda r: np.outer(r, r), 1, x), TABLE.reshape(2, 5, 5))
    compiled(lambda x: np.apply_along_axis(lambda r: r[:2], -2, x), TABLE.reshape(2, 5, 5))
    compiled(lambda x: np.apply_along_axis(lambda r: r > 0.5, 0, x), X)
    compiled(lambda x, y: np.apply_along_axis(functools.partial(np.interp, y, y), 1, x), TABLE.T[:, :5], np.arange(5.0))
    compiled(lambda x, k: np.apply_along_axis(functools.partial(lambda r, by: r * by, by=k), 1, x), TABLE, 2.0)


def test_fromiter():
    compiled(lambda x: np.fromiter((v * 2 for v in x), float), X[:9])
    compiled(lambda x: np.fromiter([v * 2 for v in x], float, count=9), X[:9])
    compiled(lambda x: x * np.fromiter((i * 2 for i in range(9)), float), X[:9])


def test_map_with_functions_of_numpy():
    compiled(lambda x: list(map(np.array, [x, x * 2])), X)
    compiled(lambda x: sum(map(np.sum, [x, x * 2])), X)
    compiled(lambda x: list(map(np.add, [x, x * 2], [1, 2])), X)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.c_[[x, x * 2]].T,
        lambda x: np.r_[[x[0], 2], x],
        lambda x: np.c_[[x[0], x[1]], [1, 2]],
        lambda x: np.r_[[x, x + 1], [x]],
        lambda x: np.c_[[[x[0], 1], [2, 3]], [5, 6]],
    ],
)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_lists_in_the_subscripts_of_index_makers(make, dtype):
    compiled(make, (X * 10).astype(dtype))


def test_signatures_and_flat_iterators():
    compiled(lambda x: np.add(x, 1, sig="dd->d") + np.multiply(x, x, signature=("f", "f", "f"), casting="unsafe"), X)
    compiled(lambda x: (np.asarray(x.flat) + 1, np.sum(x.flat), np.sin(x.flat), np.stack([x.flat, x.flat])), TABLE)

    def write(x):
        y = x * 2
        np.asarray(y.flat)[1] = 7
        return y

    compiled(write, TABLE)
    not_whole(lambda x: np.asarray(x.T.flat) * 2, TABLE)  # a copy that may not be written
    not_whole(lambda x: np.add(x, 1, sig="dd->d", where=x > 0.5, out=np.zeros(50)) + np.less(x, 1, sig="dd->?"), X)


def test_vectorize_of_a_function_that_gives_a_named_tuple():
    def f(a):
        q, r = np.vectorize(np.linalg.qr, signature="(m,n)->(m,k),(k,n)")(a)
        return q @ r + 1, np.vectorize(np.linalg.slogdet, signature="(n,n)->(),()")(r)

    for shape in ((3, 2), (4, 3, 2), (2, 20, 3, 2)):
        compiled(f, np.random.default_rng(0).normal(size=shape))


@pytest.mark.parametrize(
    "function", [np.linalg.norm, np.ptp, lambda row: row.max() - row[0]], ids=["norm", "ptp", "own"]
)
def test_axes_among_the_arguments(function):
    """The program is for the axis, and for rows of any number."""

    def f(a, axis=-1):
        return np.apply_along_axis(function, axis, a)

    jitted = tnp.jit(f)
    for axis in ((), (0,), (1,)):
        for n in (5, 7, 9):
            a = np.random.default_rng(n).random((n, 4))
            assert_same(jitted(a, *axis), f(a, *axis))
    assert "eager" not in str(tnp.explain(jitted)) and "opaque" not in str(tnp.explain(jitted))
    assert tnp.cache_info(jitted).misses <= 6


def test_arrays_that_are_given_by_name():
    compiled(lambda a: np.apply_along_axis(lambda v: v.max() - v.min(), axis=-1, arr=a), TABLE)
    compiled(lambda a: np.apply_along_axis(func1d=lambda v: np.unique(v).size, axis=0, arr=a), TABLE)
    compiled(lambda a: np.delete(arr=a[0], obj=np.where(a[0] > 0.2)[0]), TABLE)
    compiled(lambda a: np.nan_to_num(x=a * 1.0, copy=False), TABLE)
    compiled(lambda a: np.linalg.eigvals(a=a[:, :5] + a[:, :5].T), TABLE)


def puts(a, v):
    b, c, d = a.copy(), a.copy(), a.copy()
    np.place(arr=b, mask=b > 0.5, vals=v)
    np.put(a=c, ind=np.array([1, 3]), v=v[0])
    np.copyto(src=v[1] + a, dst=d, where=a > 0.3)
    return b, c, d


def joins(a, v):
    return (
        np.append(arr=v, values=v),
        np.take(indices=[0, 2], a=v),
        np.interp(xp=v, fp=v, x=a),
        np.isscalar(element=v[0]),
        np.isscalar(element=v),
    )


@pytest.mark.parametrize("f", [puts, joins])
def test_what_functions_need_by_name(f):
    compiled(f, TABLE, np.array([1.0, 2.0, 3.0]))


def test_names_of_what_is_given_already():
    def f(a):
        return np.take(a, [0], a=a)

    for g in (f, tnp.jit(f)):
        with pytest.raises(TypeError):
            g(TABLE)


def nearest_power(x):
    """The power of 2 that is nearest, by steps that depend on the number."""
    if 1 <= x < 2:
        return [1.0, 2.0][round(x) - 1]
    return 2 * nearest_power(x / 2) if x >= 2 else 0.5 * nearest_power(x * 2)


def test_many_calls_are_not_written_out():
    """A function that is no loop's body for its branches is called by NumPy, and what stands around the call is compiled."""
    jitted = tnp.jit(lambda x: np.vectorize(nearest_power)(x * 3 + 1).sum())
    with not_compiled_whole("a library calls a function in a loop"):
        for _ in range(2):
            assert_same(jitted(X), np.vectorize(nearest_power)(X * 3 + 1).sum())
