"""Arrays of objects as containers: of the caller's, and made by the program."""

import copy
import gc
import types
import weakref

import numpy as np
import pytest

import tnp
from tests.eager_checks import compiled_whole, not_compiled_whole
from tests.whole_programs.checks import EXECUTORS
from tnp.testing import assert_same

X = np.arange(5.0)


def as_lists(x):
    """``x`` with each array of objects replaced by its shape and its elements."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "OU":
        return ["array", x.shape, [as_lists(y) for y in x.ravel().tolist()]]
    if isinstance(x, (list, tuple)):
        return type(x)(map(as_lists, x))
    if isinstance(x, types.SimpleNamespace):
        return {k: as_lists(v) for k, v in vars(x).items()}
    return x


def filled(*items, shape=None):
    made = np.empty(len(items), dtype=object)
    for i, x in enumerate(items):
        made[i] = x
    return made if shape is None else made.reshape(shape)


class Responses:
    def __init__(self, rows, columns, degree):
        self.rows, self.columns = rows, columns
        self.polynomials = np.empty((rows, columns), dtype=object)
        for i, j in np.ndindex(rows, columns):
            self.polynomials[i, j] = np.arange(1.0, degree + i + j)

    def at(self, x):
        out = np.empty((self.rows, self.columns, len(x)))
        for i in range(self.rows):
            for j in range(self.columns):
                out[i][j] = np.polyval(self.polynomials[i, j], x)
        return out


def in_loops(x, n):
    made = np.empty((n, 2), dtype=object)
    for i in range(n):
        made[i, 0] = x * i
        made[i][1] = made[i, 0].sum()
    return made, made[-1, 1], made.T.copy()


def of_lists(x):
    some = np.array([[x, None]], dtype=object)
    some[0, 1] = np.array([len(x), None, 2.5, x.sum(), "a"], dtype=object)
    return (
        some,
        np.array([x, x[1:]], dtype=object),
        np.array([None] * 3),
        np.full((2, 1), None),
        np.zeros(2, dtype=tuple),
    )


def rows(x):
    made = np.empty((2, 2), dtype=object)
    made[0] = [x, 1.5]
    made[1] = None
    made[:, 1] = made[::-1, 1]
    first, second = made
    return first[0] is x, second[1], [v is None for v in made.ravel()], made.tolist()


def iterated(a):
    total = 0.0
    for i, v in enumerate(a):
        if v is not None:
            total = total + i * v.sum()
    return (
        total,
        len(a),
        a.shape,
        a.size,
        np.ndim(a),
        isinstance(a, np.ndarray),
        type(a) is np.ndarray,
        a.dtype == object,
    )


def written(a, x):
    a[0] = x * 2 if a[0] is None else a[0] + x
    a[1] = x.sum()
    return a[0]


def through_an_item(a):
    a[0][0] = 7.0
    return a[1].sum()


def through_a_view(a, x):
    a.reshape(2, -1)[0][1] = x
    return a[1].sum()


def kept(o, x):
    o.parts = np.empty(2, dtype=object)
    o.parts[0] = o.parts[1] = x + 1
    return o.parts


def views(a, x):
    made = np.empty((2, 2), dtype=object)
    made[0, 0], row, made[1, 1] = x, made[1], 3
    return (
        row,
        made,
        made.T,
        a[1:],
        a[::-1].reshape(-1, 1),
        np.array(["a", "b"])[1:],
        np.array([x.view(np.ndarray), None], dtype=object)[:1],
    )


def copies(a, x):
    one, other = a.copy(), copy.deepcopy(a)
    one[0] = x
    other[0][1] = 5.0
    return a[0], one, other


CASES = {
    in_loops: [(X, 3), (X, 2)],
    of_lists: [(X,), (X[1:],)],
    rows: [(X,)],
    iterated: [(filled(X, None, X[2:]),), (filled(X, X, X),), (filled(None),)],
    written: [(filled(None, None), X), (filled(X, None), X), (filled(X[1:], 3), X[1:])],
    through_an_item: [(filled(X, X),), (filled(X, X + 1),), (filled(X[::2], X),)],
    through_a_view: [(filled(None, None, X, None), X)],
    kept: [(types.SimpleNamespace(), X)],
    views: [(filled(X, 2.0, None), X)],
    copies: [(filled(X, [X, 2]), X)],
}


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_programs_do_what_eager_does(function, executors):
    jitted = tnp.jit(function, executors=executors, strict=True)
    for args in CASES[function] * 2:
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        assert_same(as_lists(jitted(*mine)), as_lists(function(*theirs)))
        assert_same(as_lists(mine), as_lists(theirs))


def test_of_an_object_it_is_an_attribute():
    jitted = tnp.jit(Responses.at, strict=True)
    for args in ((2, 2, 3), (2, 2, 3), (1, 3, 3), (2, 2, 5)):
        assert_same(jitted(Responses(*args), X), Responses(*args).at(X))


def test_one_that_is_passed_on_may_hold_anything():
    def f(o, x):
        o.kept = o.held
        return (x + 1 if o.held is not None else x), o.held

    jitted = tnp.jit(f, strict=True)
    for held in (filled(object()), filled({"a": X}, X), filled("b"), X):
        o = types.SimpleNamespace(held=held)
        result, again = jitted(o, X)
        assert o.kept is held is again
        assert_same(result, X + 1)
    assert tnp.cache_info(jitted).misses == 1


def test_the_elements_are_the_objects_of_the_caller():
    def f(a, b, x):
        a[0] = b
        a[1] = x
        return a, a[0], a[2]

    a, b, inner = filled(None, None, [1]), {}, None
    inner = a[2]
    found = tnp.jit(f, strict=True)(a, b, X)
    assert found[0] is a and found[1] is b is a[0] and found[2] is inner and a[1] is X


def test_arrays_that_share_their_memory():
    def f(a, b, x):
        a[0, 0] = x
        return b.ravel()[0] is None

    jitted = tnp.jit(f)
    mine = np.empty((2, 2), dtype=object)
    assert jitted(mine, np.empty((1, 2), dtype=object), X) and jitted(mine, np.empty((1, 2), dtype=object), X)
    assert mine[0, 0] is X
    with not_compiled_whole("may overlap"):
        mine = np.empty((2, 2), dtype=object)
        assert not jitted(mine, mine[:1], X)
    mine = np.empty((2, 2), dtype=object)
    assert not jitted(mine, mine, X)


def test_views_that_are_returned_share_their_memory():
    def f(a, x):
        made = np.empty(3, dtype=object)
        return made[1:], made[:2], a[1:], a, made

    jitted, a = tnp.jit(f, strict=True), filled(None, 1, 2)
    for _ in range(2):
        later, first, rest, again, made = jitted(a, X)
        later[0] = rest[0] = "x"
        assert first[1] == made[1] == "x" == a[1] and again is a
        a[1] = None


def test_a_read_only_array():
    def f(a, x):
        a[0] = x

    a = filled(None)
    jitted = tnp.jit(f)
    jitted(a, X)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        jitted(a, X + 1)
    assert a[0] is X


def test_in_a_loop_in_a_branch_on_a_value():
    def f(a, x):
        if x[0] > 0.5:
            for _ in range(20):
                a[:] = None
        return x + 1

    jitted = tnp.jit(f)
    for x in (X, X + 1, X):
        mine, theirs = filled(1, 2), filled(1, 2)
        assert_same(jitted(mine, x), f(theirs, x))
        assert as_lists(mine) == as_lists(theirs)


def test_in_a_branch_on_a_value():
    def f(a, x):
        if x.sum() > 3:
            a[0] = x
        return x + 1

    jitted = tnp.jit(f)
    for x in (X, X * 0, X):
        mine, theirs = filled(None), filled(None)
        assert_same(jitted(mine, x), f(theirs, x))
        assert (mine[0] is None) == (theirs[0] is None)


@pytest.mark.parametrize("use", [
    lambda a: a + 1, lambda a: np.add(a, 1), lambda a: np.sum(a), lambda a: a == 3, lambda a: a.astype(float), lambda a: np.array(a, dtype=float),
    lambda a: np.concatenate([a, a]), lambda a: a[a.astype(bool)],
])  # fmt: skip
def test_what_else_is_done_with_them_is_pythons(use):
    def f(a, x):
        y = np.sin(x) * 2 + x
        return use(a), y

    with not_compiled_whole("an array of objects"):
        jitted = tnp.jit(f)
        for _ in range(3):
            found, y = jitted(filled(3, 4.0), X)
            expected, z = f(filled(3, 4.0), X)
            assert_same(as_lists(found), as_lists(expected))
            assert_same(y, z)


def test_errors_are_numpys():
    def f(a, x):
        return a[3], x

    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 2"):
        tnp.jit(f)(filled(X, X), X)


@pytest.mark.parametrize("make", [lambda x: [x], lambda x: filled(x), lambda x: types.SimpleNamespace(a=filled(x))])
def test_programs_keep_nothing_of_the_callers(make):
    def f(held, x):
        return (held.a if isinstance(held, types.SimpleNamespace) else held)[0] + x

    jitted = tnp.jit(f, strict=True)
    inner = X.copy()
    held, seen = make(inner), weakref.ref(inner)
    jitted(held, X)
    del held, inner
    gc.collect()
    assert seen() is None


def test_a_global_is_looked_at_at_each_call():
    jitted = tnp.jit(lambda x: x + (0.0 if TABLE[0] is None else TABLE[0]))
    for first in (None, 2.0, X, None):
        TABLE[0] = first
        assert_same(jitted(X), X + (0.0 if first is None else first))
    assert compiled_whole(jitted)


TABLE = filled(None, "name")
