"""Subclasses of ndarray that decide by ``__array_wrap__`` what becomes of the results of ufuncs."""

import typing
import warnings

import numpy as np
import pytest

import tnp
from tests.eager_checks import compiled_whole, not_compiled_whole
from tnp.testing import assert_same

X = np.arange(1.0, 6.0)


class Tracked(np.ndarray):
    """Knows whether it may have changed; results without dimensions are scalars."""

    def __array_finalize__(self, of):
        self.is_dirty = True
        if isinstance(of, type(self)):
            of.is_dirty = True

    def __array_wrap__(self, made, context=None, *args, **kwargs):
        if made.ndim:
            return np.ndarray.__array_wrap__(self, made, context, *args, **kwargs)
        return made[()]

    def __iadd__(self, other):
        self.is_dirty = True
        return super().__iadd__(other)


class Times(np.ndarray):
    """Comparisons give plain arrays."""

    def __array_finalize__(self, of):
        self.unit = getattr(of, "unit", "s")

    def __array_wrap__(self, made, context=None, return_scalar=False):
        if made.dtype == bool:
            made = np.asarray(made)
            return made[()] if return_scalar else made
        return super().__array_wrap__(made, context, return_scalar)


class Vector(np.ndarray):
    """Has one dimension; what has others is a plain array."""

    def __new__(cls, x):
        made = np.asarray(x).view(cls)
        if made.ndim != 1:
            raise ValueError("a vector has one dimension")
        return made

    def __array_wrap__(self, made, context=None, return_scalar=False):
        if return_scalar:
            return made[()]
        try:
            return type(self)(made)
        except ValueError:
            return made

    def norm(self):
        return np.linalg.norm(self)

    def unit(self):
        return self / self.norm()


class Counted(Times):
    """Counts the calls, and gives no arrays of the class at all."""

    calls = 0

    def __array_wrap__(self, made, context=None, return_scalar=False):
        self.unit = f"{self.unit}{'u' if context is not None else 'r'}{int(return_scalar)}"
        return np.asarray(made) * 2


class Plain(np.ndarray):
    pass


KINDS = [Tracked, Times, Vector, Counted, Plain]


def operators(a, b):
    return a + b, 2 - a, -a, a**2, a == b, a @ b, a[1:] - a[:-1], a.reshape(-1, 1) + 1, np.abs(a) / X


def functions(a, b):
    return np.sin(a) * 2, np.add(a, b), np.maximum(X, a), np.linalg.norm(a), np.where(a > 2, a, b)


def reductions(a, b):
    return a.sum(), np.max(b), (a * 2).min(), a.reshape(1, -1).sum(axis=0), (a > 2).any(), a.prod(0)


def in_place(a, b):
    a += 1
    a *= b
    b[1] = a[0]
    return a


def methods(a, b):
    c = a.copy()
    c[0] = 7.0
    return c, c.view(np.ndarray) + 1, a.astype("f4") * 2, a[0] + a[-1]


def parts(x):
    if isinstance(x, tuple):
        return [parts(y) for y in x]
    return type(x).__name__, np.array(x), dict(vars(x)) if type(x) in KINDS else None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("f", [operators, functions, reductions, in_place, methods], ids=lambda f: f.__name__)
def test_results_are_eagers(kind, f):
    def arguments(k):
        return (X * k).view(kind), (X[::-1] + k).view(kind)

    jitted = tnp.jit(f)
    for k in (1, 2, 3):
        mine, eagers = arguments(k), arguments(k)
        assert_same(parts(jitted(*mine)), parts(f(*eagers)))
        assert_same(parts(mine), parts(eagers), what="arguments")
    assert compiled_whole(jitted)


def test_methods():
    jitted = tnp.jit(Vector.unit)
    for x in (X, X[::-1].copy()):
        assert_same(parts(jitted(Vector(x))), parts(Vector(x).unit()))
    assert compiled_whole(jitted)


def test_arrays_of_several_classes():
    def f(a, b):
        return a + b, b - a, np.multiply(b, a), a * X, X - b

    jitted = tnp.jit(f)
    assert_same(parts(jitted(X.view(Times), X.view(Vector))), parts(f(X.view(Times), X.view(Vector))))
    assert compiled_whole(jitted)


class Asking(np.ndarray):
    def __array_wrap__(self, made, context=None, return_scalar=False):
        return made if context is None else np.asarray(made) + len(context[1])


class Keeping(np.ndarray):
    def __array_wrap__(self, made, context=None, return_scalar=False):
        made = np.ndarray.__array_wrap__(self, made, context, return_scalar)
        made.context = context
        return made


class Short(np.ndarray):
    def __array_wrap__(self, made, context=None):
        return np.asarray(made) + 1


def doubled(a):
    return a * 2


@pytest.mark.parametrize("kind", [Asking, Keeping, Short])
@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept")
def test_what_is_done_with_the_context_is_pythons(kind):
    jitted = tnp.jit(doubled)
    with not_compiled_whole():
        for _ in range(2):
            found, expected = jitted(X.view(kind)), doubled(X.view(kind))
            assert type(found) is type(expected)
            assert_same(np.array(found), np.array(expected))
            assert len(vars(found).get("context", ()) if kind is Keeping else ()) == (3 if kind is Keeping else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_means_are_eagers(kind):
    def f(a):
        return a.mean(), a.reshape(-1, 1).mean(axis=0), np.mean(a[:3]), a.reshape(1, -1).mean(1), np.sqrt(X) * 2 + X

    def of_others(a):
        return a.astype("f4").mean(), a.astype(int).mean(), a.reshape(1, -1).mean(axis=(0, 1)), np.sqrt(X) * 2 + X

    for program, is_whole in ((f, True), (of_others, kind is Plain)):
        with warnings.catch_warnings():
            warnings.simplefilter("error" if is_whole else "ignore", tnp.EagerFallbackWarning)
            jitted = tnp.jit(program)
            for k in (1, 2, 3):
                assert_same(parts(jitted((X * k).view(kind))), parts(program((X * k).view(kind))))


@pytest.mark.parametrize("kind", KINDS)
def test_products_by_dot(kind):
    def f(a, x):
        table = a.reshape(-1, 1)
        products = (
            a.dot(a),
            np.dot(x, a),
            np.dot(a, x),
            table.dot(np.ones((1, 2))),
            np.dot(x, np.concatenate([table, table], 1)),
        )
        return (*products, np.pad(a, (1, 2)), np.linalg.matrix_rank(table), np.dot(np.ones((2, 5)), a))

    def of_one_element(a, x):
        table = a.reshape(-1, 1)
        return np.dot(table, a[:1]), np.dot(x[:1], table.T), np.sqrt(x) * 2 + x

    for program, is_whole in ((f, True), (of_one_element, False)):
        with warnings.catch_warnings():
            warnings.simplefilter("error" if is_whole else "ignore", tnp.EagerFallbackWarning)
            jitted = tnp.jit(program)
            for k in (1, 2, 3):
                mine, eagers = (X * k).view(kind), (X * k).view(kind)
                assert_same(parts(jitted(mine, X)), parts(program(eagers, X)))
                assert_same(parts(mine), parts(eagers), what="arguments")


@pytest.mark.parametrize("kind", KINDS)
def test_any_arrays(kind):
    def f(a):
        b = np.asanyarray(a)
        b[0] = 3.0
        return b is a, np.asanyarray(a, dtype=float) is a, np.asanyarray(a, np.float32), typing.cast(np.ndarray, b) * 2

    jitted = tnp.jit(f)
    for k in (1, 2, 3):
        mine, eagers = (X * k).view(kind), (X * k).view(kind)
        assert_same(parts(jitted(mine)), parts(f(eagers)))
        assert_same(parts(mine), parts(eagers), what="arguments")
    assert compiled_whole(jitted)
