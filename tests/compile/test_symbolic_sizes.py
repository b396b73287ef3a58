"""Programs for sizes that differ from call to call: one program, the results of eager, and a new program where what it relies on fails."""

import numpy as np
import pytest

import tnp
from tnp.api import programs_of
from tnp.testing import assert_same

#: programs of a matrix with any number of rows and columns, from 2 on; none relies on more than that
ANY_SIZE = {
    "elementwise": lambda x: np.where(x > 0, np.sqrt(abs(x)), -x) * 2 + 1,
    "reductions": lambda x: (x.sum(), x.mean(axis=0), x.max(axis=1), x.std(axis=0), np.var(x), np.prod(x, axis=1), x.argmax()),
    "slices": lambda x: (x[1:], x[:-1] - x[1:], x[::2], x[:, ::-1], x[-1], x[1:, 1:]),
    "layout": lambda x: (x.T, x.reshape(-1), x.T.copy(), x.ravel()[1:], x[None], x[:, None] - x[None]),
    "products": lambda x: (x.T @ x, np.einsum("ij,ik->jk", x, x), np.outer(x[0], x[0])),
    "made alike": lambda x: (np.zeros_like(x), np.ones_like(x), np.full_like(x, 2), np.empty_like(x).shape),
    "joined": lambda x: (np.concatenate([x, x]), np.stack([x, x], 1), np.vstack([x, x])),
    "sorted": lambda x: (np.sort(x, axis=0), np.argsort(x, axis=1), np.cumsum(x), np.cumprod(x, axis=0)),
    "sizes": lambda x: (len(x), x.shape, x.size, x.shape[0] * 2.5, x.ndim),
}  # fmt: skip


def in_place(x):
    x[1:] += x[:-1]
    x *= 2
    return x[0] + len(x)


def loop(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i].sum() * i
    return total


def stencil(x):
    for _ in range(3):
        x[1:-1, 1:-1] = (x[:-2, 1:-1] + x[2:, 1:-1]) / 2
    return x


ANY_SIZE |= {f.__name__: f for f in (in_place, loop, stencil)}


def matrix(*shape):
    return np.random.default_rng(shape).normal(size=shape)


def check(f, *calls, programs):
    jitted = tnp.jit(f, dynamic=True, strict=True)
    for arguments in (*calls, calls[0]):
        mine, theirs = [a.copy() for a in arguments], [a.copy() for a in arguments]
        assert_same(jitted(*mine), f(*theirs), what=f"shapes {[a.shape for a in arguments]}")
        assert_same(mine, theirs, what="the arguments")
    assert len(programs_of(jitted)) == programs
    return jitted


@pytest.mark.parametrize("name", ANY_SIZE)
def test_one_program_for_all_sizes(name):
    check(ANY_SIZE[name], *((matrix(*shape),) for shape in ((7, 5), (4, 9), (20, 6), (33, 64))), programs=1)


def test_what_a_program_relies_on_is_a_guard():
    jitted = check(lambda x, y: x * y, (matrix(3, 4), matrix(3, 4)), (matrix(5, 6), matrix(5, 6)), programs=1)
    relations = [g for g in tnp.last_prologue_traces(jitted)[0].split(" and ") if "==" in g and g.count("shape") == 2]
    assert len(relations) == 2
    with pytest.raises(ValueError, match="broadcast"):
        jitted(matrix(3, 4), matrix(4, 3))


def test_a_branch_on_a_size_is_a_program_for_each_side():
    check(lambda x: x + 1 if x.shape[0] > 5 else x - 1, *((matrix(n),) for n in (4, 7, 3, 9, 2)), programs=2)


def test_sizes_of_0_and_1_have_programs_of_their_own():
    check(
        lambda x, y: x + y,
        *((matrix(n), matrix(4)) for n in (4, 1)),
        (matrix(6), matrix(6)),
        (matrix(0), matrix(1)),
        programs=3,
    )


def test_what_needs_a_size_is_compiled_for_it():
    check(lambda x: (x, list(range(len(x)))), *((matrix(n),) for n in (4, 6, 8)), programs=3)


def test_arrays_that_are_not_contiguous_have_the_sizes_that_they_have():
    jitted = tnp.jit(lambda x: x * 2, dynamic=True)
    for n in (4, 6, 4):
        x = matrix(n, 4)[:, ::2]
        assert_same(jitted(x), x * 2)
    assert len(programs_of(jitted)) == 2


@pytest.mark.parametrize("executors", [None, ["numpy"]])
@pytest.mark.parametrize(
    "f",
    [
        lambda a: a[0, 3:] + np.arange(3).reshape(3, 1),
        lambda a: np.broadcast_to(a[0, 3:], (2, 5)) + 1,
        lambda a: np.where(a[0, 3:] > 0, a[0], 1),
        lambda a: a[0, 2:5:2] * a[0, :1],
    ],
)
def test_a_size_that_is_computed_may_be_one(f, executors):
    jitted = tnp.jit(f, dynamic=True, executors=executors)
    for n in (4, 7, 8, 5, 4):
        a = np.arange(n * 1.0).reshape(1, n)
        try:
            expected = f(a)
        except ValueError:
            with pytest.raises(ValueError):
                jitted(a)
        else:
            assert_same(jitted(a), expected, what=f"{n} columns")


def fibonacci(x, k):
    a = b = len(x)
    for _ in range(60):
        a, b = b, (a + b) % k
    return np.zeros(b % 5), x * b


def halved(x, k):
    n = len(x)
    for _ in range(400):
        n = n // 2 + k
    return n, x[: n % 3]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("f", [fibonacci, halved])
def test_numbers_whose_expressions_grow_are_specialized_on(f, dynamic):
    jitted = tnp.jit(f, dynamic=dynamic, strict=True)
    for n in (7, 12, 30, 12):
        x = matrix(n)
        assert_same(jitted(x, n + 3), f(x, n + 3), what=f"{n} elements")


def many_lines(x):
    for _ in range(30):
        x = np.concatenate([x[:1], (x[2:] + x[:-2]) * 0.5, x[-1:]])
        x = np.pad(x, 1)[2:, 1:-1] * 0.9
        x = x[: len(x) - 2 + 1]
        x = np.append(x, x[:1], axis=0)[: x.shape[0] + 1]
    return x, len(x) - 3 + 3


def test_polynomials_are_fitted_to_any_number_of_points():
    f = lambda x: np.polyfit(np.arange(len(x)) * 0.1, x, 2)  # noqa: E731
    jitted = tnp.jit(f, dynamic=True)
    for n in (20, 31, 12):
        assert_same(jitted(matrix(n)), f(matrix(n)))
    assert len(programs_of(jitted)) == 1


def test_an_array_of_either_branch_has_the_length_that_both_have():
    def f(x, y):
        v = np.exp(x)
        if x.mean() > 0.5:
            v = np.sqrt(abs(y))
        return np.roll(v, 2)

    vectors = [tuple(matrix(n, 2).T.copy() + k) for k, n in enumerate((7, 9, 8))]
    check(f, *vectors, programs=1)


def test_sizes_that_return_to_what_they_were_are_one_expression():
    jitted = check(many_lines, (matrix(9, 4),), (matrix(20, 5),), (matrix(7, 11),), programs=1)
    assert "for any x.shape[0], x.shape[1]" in tnp.explain(jitted)


def test_sizes_that_follow_from_those_of_other_arrays():
    # x and y have as many elements, in rows of other lengths.
    def f(x, y):
        flat = np.exp(x).ravel() + y.ravel()
        return np.sin(x * 2 + 1), flat.sum()

    shapes = ((4, 6), (6, 4)), ((3, 8), (12, 2)), ((5, 6), (10, 3))
    jitted = check(f, *([matrix(*a), matrix(*b)] for a, b in shapes), programs=1)
    assert "executors: llvm 1\n" in tnp.explain(jitted)


def test_a_length_computed_with_a_float_may_be_specialized_on():
    def f(x):
        return x[: int(len(x) * 0.5)] * 2, [0] * int(len(x) * 0.3)

    jitted = tnp.jit(f, strict=True)
    for n in (7, 12, 30, 12):
        assert_same(jitted(matrix(n)), f(matrix(n)), what=f"{n} elements")


def signed(x, k):
    y = np.zeros(17)
    y[:k] = 2
    return y, y[:k] if k >= 0 else -y


def test_a_negative_integer_that_bounds_a_slice_stays_negative():
    jitted = tnp.jit(signed, strict=True)
    for k in (4, 11, -1, -3, 5):
        assert_same(jitted(matrix(3), k), signed(matrix(3), k), what=f"k = {k}")


def test_sizes_of_nested_branches_are_defined_once():
    def function(a):
        if a.any() or (a.flat[1] or a.flat[2]):
            for row in a:
                return row
        return a.sum()

    jitted = tnp.jit(function)
    for shape in ((4, 1, 2), (2, 1, 4), (3, 1, 5), (2, 1, 4)):
        for value in (0, 1):
            a = np.full(shape, value)
            assert_same(jitted(a), function(a))


def test_masks_of_symbolic_sizes():
    def function(x, y):
        chosen = x.reshape(-1).compress([False, True])
        return np.bitwise_or.reduce(chosen), x[x].size, y[x[0]].sum(), y[y > 1].max(initial=0.0)

    jitted = tnp.jit(function)
    for n in (4, 2, 5, 9):
        x, y = np.ones((1, n), bool), np.arange(float(n))
        assert_same(jitted(x, y), function(x, y))


def test_halves_of_equal_length():
    """``n // 2 == n - n // 2``, so ``n`` is twice what is computed of it."""

    def f(x):
        n = len(x)
        return x[: n // 2] + x[n // 2 :]

    def thirds(x):
        m = len(x) // 3
        return x[:m] * x[m : 2 * m] + x[2 * m :]

    for g in (f, thirds):
        jitted = tnp.jit(g)
        for n in (12, 18, 600, 24, 3, 13, 0, 36):
            x = np.random.default_rng(n).random((n, 3))
            try:
                expected = g(x)
            except ValueError as error:
                with pytest.raises(ValueError) as caught:
                    jitted(x)
                assert str(caught.value) == str(error)
            else:
                assert_same(jitted(x), expected)


def test_results_of_loops_that_are_stored_after_a_check():
    """The kernel that stores them has the caller's array as an input that no operation reads."""

    def f(x, s):
        for k in range(len(x) - 2, -1, -1):
            x[k + 1] = x[k] + s
        x[0] = s * 2
        if not x[1] > 0:
            raise ValueError("negative")
        return x.sum()

    jitted = tnp.jit(f, strict=True)
    for n in (64, 100, 120, 7):
        x, y = np.ones(n), np.ones(n)
        assert_same(jitted(x, 5.0), f(y, 5.0))
        assert_same(x, y)
    with pytest.raises(ValueError, match="negative"):
        jitted(-np.ones(9), -5.0)


def test_equal_dimensions_of_many_arrays_are_looked_at_together():
    """The last line of the prologue, what is asked of every call, asks for no size."""

    @tnp.jit
    def f(a, b, c, d):
        return a * b + c - d

    for n in (5, 6, 7):
        args = [np.arange(float(n)) + k for k in range(4)]
        np.testing.assert_array_equal(f(*args), args[0] * args[1] + args[2] - args[3])
    asked = [line for line in tnp.last_prologue_traces(f)[0].splitlines() if "fits0" not in line]
    assert not any(".shape" in line for line in asked if "if not" in line)
    for k in range(4):
        args = [np.arange(7.0) for _ in range(4)]
        args[k] = np.arange(8.0)
        with pytest.raises(ValueError, match="broadcast"):
            f(*args)
    args = [np.arange(7.0), np.arange(1.0), np.arange(7.0), np.arange(1.0)]
    np.testing.assert_array_equal(f(*args), args[0] * args[1] + args[2] - args[3])
