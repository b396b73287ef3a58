"""What eager NumPy does at the edges: errors of operations whose results nobody reads, read-only memory, odd arguments, sizes
that depend on data, and code that is exchanged after a call. Each case is the eager call against the jitted one."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import EXECUTORS, check
from tnp.testing import assert_same

X = np.array([1.0, 2.0, 3.0])

# Operations that nothing reads


def reads(x, i):
    x[0] = 7
    x[i]
    x[1] = 8


def takes(x, i):
    np.take(x, i)
    return x + 1


def indirectly(x, i):
    y = x[i] * 2
    y + 1
    return x


def in_a_loop(x, i):
    for k in range(50):
        x[i + k]
        x[k % 3] += 1


@pytest.mark.parametrize("f", [reads, takes, indirectly, in_a_loop])
@pytest.mark.parametrize("i", [1, 7, -4])
def test_a_bad_index_that_nothing_reads(f, i):
    check(f, X, i, error=None if i == 1 and f is not in_a_loop else IndexError)


def test_indices_in_arrays_that_nothing_reads():
    check(lambda x, j: (x[j], x + 1)[1], X, np.array([0, 9]), error=IndexError)
    check(lambda x, j: (x[j], x + 1)[1], X, np.array([0, 2]))


def inverts(x):
    np.linalg.inv(x)
    x[0, 0] = 5
    return x


def factors(x):
    x[0, 1] = 4
    np.linalg.cholesky(x)
    x[0, 0] = 5


@pytest.mark.parametrize("f", [inverts, factors])
@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.eye(2)])
def test_matrices_that_have_no_decomposition(f, matrix):
    check(f, matrix, error=None if matrix[0, 0] else np.linalg.LinAlgError)


def divides(x, n):
    x[0] = 5
    1 / n
    x[1] = 6


def counts(x):
    np.bincount(x)
    return x


def of_nothing(x):
    x[x > 0].max()
    return x + 1


def test_other_errors_that_depend_on_values():
    check(divides, X, 0, error=ZeroDivisionError)
    check(divides, X, 2)
    check(counts, np.array([1, -2]), error=ValueError)
    check(of_nothing, -X, error=ValueError)
    check(of_nothing, X)


def test_what_cannot_raise_is_still_left_out():
    def f(x):
        x[0], x[1:].sum(), np.sin(x)
        return x + 1

    jitted = tnp.jit(f, executors=["numpy"])
    jitted(X)
    assert [b.sym.name for b in tnp.last_traces(jitted)[-1].body] == ["add"]


# Memory that cannot be written


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("store", ["a[...] = a", "a[:] = a[:]", "a[1:] = a[1:]", "a.T[...] = a.T", "a += 0"])
def test_a_store_of_an_array_into_itself_needs_it_writable(store, tmp_path):
    from importlib.util import module_from_spec, spec_from_file_location

    path = tmp_path / "stores.py"
    path.write_text(f"import numpy as np\n\n\ndef f(a):\n    {store}\n    return a.sum()\n")
    spec = spec_from_file_location("stores", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    for executor in EXECUTORS:
        jitted = tnp.jit(module.f, executors=[executor])
        assert jitted(X.copy()) == 6
        for _ in range(2):
            with pytest.raises(ValueError, match="read-only"):
                jitted(read_only(X))
        with pytest.raises(ValueError, match="read-only"):
            tnp.jit(module.f, executors=[executor])(read_only(X))


@pytest.mark.parametrize(
    "f",
    [
        np.diagonal, lambda x: x.diagonal(), np.diag, lambda x: np.broadcast_to(x, x.shape),
        lambda x: np.broadcast_to(x, (2, *x.shape))[1:], np.imag, lambda x: x.imag, lambda x: (x, x.diagonal()),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 0), np.real, lambda x: x.T,
    ],
)  # fmt: skip
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_views_are_writable_where_they_are_in_eager(f, executor, dtype):
    x = np.arange(9).reshape(3, 3).astype(dtype)
    expected, got = f(x), tnp.jit(f, executors=[executor])(x)
    assert_same(got, expected)
    pairs = zip(expected, got) if isinstance(expected, tuple) else [(expected, got)]
    assert all(a.flags.writeable == b.flags.writeable for a, b in pairs)


def test_a_read_only_array_of_no_dimensions():
    for executor in EXECUTORS:
        made = tnp.jit(lambda x: x.imag, executors=[executor])(np.array(2.0))
        assert_same(made, np.array(2.0).imag)
        assert not made.flags.writeable


def test_the_imaginary_part_of_a_real_array_cannot_be_written():
    def f(x):
        x.imag[0] = 1

    check(f, X, error=ValueError)
    check(f, X + 0j)


# Arguments that only some functions take

SQUARE = np.array([[1.0, 5.0], [3.0, 2.0]])


@pytest.mark.parametrize(
    "f",
    [
        np.sum, np.mean, np.max, np.cumsum, np.argmax, np.argsort, np.sort, np.flip, np.diff, np.median, np.add.reduce,
        np.count_nonzero, np.ptp, lambda x, axis: x.sum(axis=(True, False)), lambda x, axis: np.take(x, [0], axis=axis),
        lambda x, axis: np.concatenate([x, x], axis=axis), lambda x, axis: np.expand_dims(x, axis),
        lambda x, axis: np.repeat(x, 2, axis=axis), lambda x, axis: np.transpose(x, (axis, False)),
        lambda x, axis: np.stack([x, x], axis=axis), lambda x, axis: np.squeeze(x[None], axis=False),
    ],
)  # fmt: skip
def test_a_bool_as_an_axis(f):
    check(lambda x: f(x, axis=True), SQUARE)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.rollaxis([x, y], 1), lambda x, y: np.take_along_axis([x, y], np.zeros((2, 1), int), 1),
        lambda x, y: np.tril_indices_from([x, y]), lambda x, y: np.triu_indices_from([x, y]),
        lambda x, y: np.diag_indices_from([x, y]), lambda x, y: np.split([x, y], 2), lambda x, y: np.vsplit([x, y], 2),
        lambda x, y: np.hsplit([x, y], [1]), lambda x, y: np.unstack([x, y]),
    ],
)  # fmt: skip
def test_lists_where_numpy_asks_for_ndim(f):
    if "unstack" in f.__code__.co_names and not hasattr(np, "unstack"):
        pytest.skip("np.unstack came with NumPy 2.1")
    check(f, X[:2], X[:2], error=AttributeError)


def test_lists_where_numpy_does_not():
    check(lambda x, y: np.split([x, y], [1]), X, X)
    check(lambda x, y: np.array_split([x, y], 2), X, X)


def test_concatenate_with_dtype_and_out():
    check(lambda x: np.concatenate([x, x], dtype=np.float32, out=np.zeros(6)), X, error=TypeError)
    check(lambda x: np.concatenate([x, x], dtype=np.float32), X)
    check(lambda x: np.concatenate([x, x], out=np.zeros(6)), X)


# Code that is exchanged between calls


def classes():
    class Base:
        scale = 2.0

        def step(self, x):
            return x + 1

        @property
        def triple(self):
            return self.v * 3

    class Child(Base):
        def __init__(self, v):
            self.v = v

        def step(self, x):
            return super().step(x) * 2

        def __add__(self, other):
            return self.v + other

        def __neg__(self):
            return -self.v

        def __getitem__(self, i):
            return self.v[i]

        def __len__(self):
            return 3

    return Base, Child


def hundred(self, *args):
    return self.v * 100


USES = {
    "super": (0, "step", hundred, lambda o, x: o.step(x)),
    "method": (1, "step", hundred, lambda o, x: o.step(x)),
    "operator": (1, "__add__", hundred, lambda o, x: o + x),
    "unary": (1, "__neg__", hundred, lambda o, x: -o),
    "subscript": (1, "__getitem__", hundred, lambda o, x: o[1] + x),
    "length": (1, "__len__", lambda self: 7, lambda o, x: len(o) + x),
    "property": (0, "triple", property(hundred), lambda o, x: o.triple + x),
    "data": (0, "scale", 3.0, lambda o, x: o.scale * x),
    "new in the subclass": (1, "triple", property(hundred), lambda o, x: o.triple + x),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("made_inside", [False, True])
def test_what_a_class_has_is_looked_up_at_each_call(use, made_inside):
    which, name, new, f = USES[use]
    pair = classes()
    child = pair[1]

    def makes(x):
        return f(child(x), x)

    jitted = tnp.jit(makes if made_inside else f)
    args = (X,) if made_inside else (child(X), X)
    eager = makes if made_inside else f
    assert_same(jitted(*args), eager(*args))
    setattr(pair[which], name, new)
    assert_same(jitted(*args), eager(*args))
    misses = tnp.cache_info(jitted).misses
    jitted(*args)
    assert tnp.cache_info(jitted).misses == misses <= 2


def scaled(x, by=2.0, *, plus=1.0):
    return x * by + plus


def uses_helper(x):
    return scaled(x)


@pytest.mark.parametrize("f", [scaled, uses_helper])
def test_defaults_are_read_at_each_call(f):
    jitted = tnp.jit(f)
    before, keywords = scaled.__defaults__, scaled.__kwdefaults__
    try:
        assert_same(jitted(X), f(X))
        scaled.__defaults__ = (5.0,)
        assert_same(jitted(X), f(X))
        scaled.__kwdefaults__ = {"plus": 7.0}
        assert_same(jitted(X), f(X))
        scaled.__kwdefaults__["plus"] = 9.0
        assert_same(jitted(X), X * 5 + 9)
    finally:
        scaled.__defaults__, scaled.__kwdefaults__ = before, keywords


def replaced(x):
    return x + 1


def test_the_code_of_a_helper_may_be_exchanged():
    jitted = tnp.jit(lambda x: replaced(x))
    code = replaced.__code__
    assert_same(jitted(X), X + 1)
    try:
        replaced.__code__ = (lambda x: x * 50).__code__
        assert_same(jitted(X), X * 50)
    finally:
        replaced.__code__ = code


# Shapes that depend on data


def adds(x, m, k):
    a, b = x[m], x[k]
    x[0] = 9
    z = a + b
    x[1] = 7
    return z


def multiplies(x, m, k):
    a, b = x[m], x[k]
    x[0] = 9
    z = np.dot(a, b)
    x[1] = 7
    return z


def stacks(x, m, k):
    x[m] *= 2
    a, b = x[m], x[k]
    x[0] = 9
    z = np.stack([a, b])
    x[1] = 7
    return z


def reduces(x, m, k):
    a = x[m]
    x[0] = 9
    z = a.max()
    x[1] = 7
    return z


def reshapes(x, m, k):
    a = x[m]
    x[0] = 9
    z = a.reshape(2, 1)
    x[1] = 7
    return z


def updates(x, m, k):
    a, b = x[m], x[k]
    x[0] = 9
    a += b
    x[1] = 7
    return a


def stores_some(x, m, k):
    a, y = x[m], np.zeros(3)
    x[0] = 9
    y[:] = a
    x[1] = 7
    return y


def reads_nothing(x, m, k):
    a, b = x[m], x[k]
    x[0] = 9
    a - b
    x[1] = 7


@pytest.mark.parametrize("f", [adds, multiplies, stacks, reduces, reshapes, updates, stores_some, reads_nothing])
@pytest.mark.parametrize("counts", [(1, 2), (2, 2), (0, 2), (3, 2), (0, 0)])
def test_sizes_that_do_not_fit_leave_what_eager_leaves(f, counts):
    m, k = (np.arange(3) < n for n in counts)
    check(f, X, m, k[::-1].copy(), executors=("numpy", "llvm"))


def test_lists_that_are_too_deep():
    def one(x):
        x[0] = [[1.5]]

    def whole(x):
        x[...] = [[[1.5]]]

    def fits(x):
        x[:, 0] = [1.5, 2.5]
        x[0] = ([x[1, 0], 3.5],)[0]

    for f in (one, whole):
        check(f, SQUARE, error=ValueError)
    check(fits, SQUARE)


@pytest.mark.parametrize("value", [-5, 0, 2**62])
def test_numbers_that_a_dtype_does_not_hold_compare(value):
    def f(small, big):
        if big.any():
            if (small > big.item(0)).any():
                small[0] = 7
            else:
                small[1] = big[1] != small[0]
        return small == big.item(0)

    for dtype in ("uint8", "int16", "uint32", "uint64"):
        check(f, np.array([1, 2], dtype), np.array([value, 1]))


@pytest.mark.parametrize("value", [3, 2**63, 2**64 - 1])
def test_integers_of_uint64_as_arrays(value):
    check(lambda x: np.append(x, x.item()), np.array([value], "uint64"))
    check(lambda x: np.abs(x.item() + 1), np.array([value], "uint64"))


def test_views_of_what_is_not_written_stay_views():
    def f(a, b):
        _, columns = np.broadcast_arrays(a, b)
        np.negative(a, out=a)
        return columns

    a, b = np.ones((5, 1)), np.arange(4.0)
    assert np.shares_memory(tnp.jit(f, strict=True)(a, b), b)


def test_powers_in_place_that_are_refused():
    def f(a):
        a **= a

    check(f, np.array([3, 2, -1])[::-1], error=ValueError)


def test_integers_that_python_does_not_write_in_decimals():
    def f(x, n):
        n **= n
        return x[:3] if n % 2 else x

    jitted = tnp.jit(f)
    for n in (5001, 5002, 5001):
        assert_same(jitted(np.arange(5), n), f(np.arange(5), n))


def test_what_is_no_array_is_equal_to_nothing():
    def f(x):
        ragged = [(x, 1.0), (x, 2.0)]
        return np.array_equal(ragged, ragged), np.array_equiv(x, ragged), np.array_equal([x, x], [x, x])

    assert tnp.jit(f, strict=True)(X) == f(X) == (False, False, True)


@pytest.mark.parametrize("lengths", [np.zeros(0), np.zeros(0, int), np.zeros((0, 2))])
def test_no_lengths(lengths):
    check(lambda n: (np.zeros(n), np.full(n, 2), np.ones(1).reshape(n)), lengths)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
def test_clip_keeps_what_is_equal_to_a_bound(dtype):
    zeros = np.array([-0.0, 0.0, -1.0, 3.0, np.nan, np.inf] * 4, dtype)
    for f in (lambda x: np.clip(x, 0, 2), lambda x: x.clip(-2.0, -0.0), lambda x: np.clip(x[::-1], 0.0, 2.0)):
        got, expected = tnp.jit(f, strict=True)(zeros), f(zeros)
        assert_same(got, expected)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))
