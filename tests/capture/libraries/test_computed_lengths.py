"""Arrays whose lengths the program computes: after two values one program for all lengths, with the results and errors of eager."""

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

RNG = np.random.default_rng(0)


def one_program(f, *calls):
    """Compares the jitted ``f`` with eager for several calls, and checks that one program serves all but two."""
    jitted = tnp.jit(f)
    for args in calls:
        assert_same(jitted(*args), f(*args))
    text = str(tnp.explain(jitted))
    assert "eager" not in text and "in parts" not in text, text
    assert tnp.cache_info(jitted).size <= 3, text
    return jitted


def same_errors(f, *calls):
    jitted = tnp.jit(f)
    for args in calls:
        found = []
        for g in (jitted, f):
            try:
                found.append(g(*args))
            except Exception as error:
                found.append(f"{type(error).__name__}: {error}")
        if isinstance(found[1], str):
            assert found[0] == found[1]
        else:
            assert_same(*found)


def integers(*tops):
    made = [(RNG.integers(0, top, 20), RNG.random(70)) for top in (*tops, 11, 23)]
    return [*made, *made]


def numbers(*scales):
    made = [(RNG.random(30) * scale,) for scale in (*scales, 4)]
    return [*made, *made]


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.arange(a.min(), a.max() + 1e-9, 0.5),
        lambda a: np.arange(a.max(), a.min(), -0.25) * 2,
        lambda a: np.arange(0, a.max(), 0.01),
        lambda a: np.arange(float(a.max())),
        lambda a: np.arange(a.min(), a.max(), a.max() / 7),
        lambda a: np.arange(a.max(), a.min(), 0.5),
        lambda a: np.arange(int(a.min()), int(a.max()) + 1, 2),
        lambda a: np.arange(-int(a.max()), int(a.max()) + 1, dtype=float),
        lambda a: np.arange(a.max(), dtype=np.int32),
        lambda a: np.arange(0.5, a.max(), dtype=int),
        lambda a: np.arange(a.astype(np.float32).max()),
        lambda a: np.arange(stop=int(a.max()), start=1),
    ],
)
def test_arange(f):
    one_program(f, *numbers(3, 9, 5, 0.01))


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("dtype", [None, int, np.float32])
def test_linspace(endpoint, dtype):
    def f(a):
        n = int(a.max())
        y, step = np.linspace(a.min(), 7, n, endpoint=endpoint, retstep=True, dtype=dtype)
        return y, step, np.linspace(a[:2], 3, num=n, endpoint=endpoint), np.linspace(1, 1, n)

    one_program(f, *numbers(30, 9, 1.5, 0.5, 2.5))


def test_arrays_of_a_shape():
    def f(k, v):
        n = k.max()
        m = int(v.sum() / 10) + 2
        square = np.eye(n) + np.ones((n, n)) + np.identity(n)
        return square, np.zeros((3, n)), np.full((n, 2), 7), np.empty(m) * 0, np.eye(n, m, k=1), np.zeros(shape=n)

    one_program(f, *integers(9, 30, 14, 1))


def test_what_is_computed_of_such_arrays():
    def f(k, v):
        n = int(k.max())
        x, y = np.meshgrid(np.arange(n), np.arange(n))
        counts = np.zeros(n + 1)
        for i in range(len(k)):
            counts[k[i]] += 1
        w = np.ones(n) / n
        t = np.linspace(0, 1, n)
        return (
            x + y,
            counts / counts.sum(),
            w + t,
            v[:n] * w,
            np.diag(w),
            np.diag(t, -2),
            len(w) + w.size,
            t.reshape(-1, 1),
        )

    one_program(f, *integers(9, 30, 14))


def test_lengths_in_loops():
    def f(k, v):
        total = 0.0
        for i in range(len(k)):
            total += np.arange(k[i]).sum() + np.zeros(k[i] + 1).size
        return total

    def filled(k, v):
        n = int(k.max())
        out = np.empty((n, 2))
        for i in range(n):
            out[i, 0] = v[i]
            out[i, 1] = i
        return out

    one_program(f, *integers(9, 30))
    one_program(filled, *integers(9, 30))


@pytest.mark.parametrize(
    "f",
    [
        lambda k: np.zeros(k.min()),
        lambda k: np.ones((2, k.min())),
        lambda k: np.linspace(0, 1, k.min()),
        lambda k: np.eye(k.min()),
        lambda k: np.arange(k.min()),
        lambda k: np.arange(0, 1, k.min() / 3),
        lambda k: np.arange(np.float64(k.min()), 1, 1 / k.max()),
        lambda k: np.arange(0, 5, k.min()),
    ],
)
def test_negative_and_impossible_lengths(f):
    with np.errstate(all="ignore"):
        same_errors(
            f,
            (np.array([3, 5]),),
            (np.array([4, 5]),),
            (np.array([2, 5]),),
            (np.array([-3, 5]),),
            (np.array([0, 5]),),
            (np.array([0, 0]),),
        )


def test_arguments_that_were_written_keep_what_eager_wrote():
    def f(x, k):
        x[0] = 9.0
        y = np.zeros(k.min())
        x[1] = 8.0
        return y

    jitted = tnp.jit(f)
    for n in (3, 2, 4):
        jitted(np.ones(3), np.array([n]))
    x = np.ones(3)
    with pytest.raises(ValueError, match="negative dimensions"):
        jitted(x, np.array([-1]))
    assert x.tolist() == [9.0, 1.0, 1.0]


def test_differences_of_such_arrays():
    def f(a):
        t = np.arange(a.min(), a.max(), 0.1)
        u = a[a > 1]
        return np.diff(t), np.diff(u, n=2), np.diff(u, prepend=0), np.trapezoid(t**2, t), np.ediff1d(u), len(t[t > 1])

    one_program(f, *numbers(3, 9, 5, 4))


def test_a_reshape_needs_the_length():
    """Then each length has a program of its own."""

    def f(x):
        n = int(np.ceil((x.max() - x.min()) / 0.5))
        r = np.linspace(x.min(), x.max(), n, endpoint=False)
        grid, _ = np.meshgrid(r, np.arange(4.0))
        return grid.flatten().reshape((n, 4)) * 2

    jitted = tnp.jit(f, strict=True)
    for x in (np.array([0.0, 3.2]), np.array([0.0, 3.2]), np.array([1.0, 2.0])):
        assert_same(jitted(x), f(x))


def test_a_length_that_is_computed_twice_is_one():
    """The arrays that a function makes of it again are in one kernel with the first."""

    def again(x):
        n = np.arange(1, np.round(x) + 1)
        return np.sin(n + 0.5) + 1 / n

    def f(x):
        n = np.arange(1, np.round(x) + 1)
        return np.sum(n * n) + np.sum(again(x)), np.cos(n)

    def loops(x):
        n = np.arange(1, np.round(x) + 1)
        y = again(x)
        for _ in range(int(x) % 5 + 2):
            y = y * 0.5 + again(x)
        return y + n

    jitted = one_program(f, *((x,) for x in (10.3, 17.8, 4.2, 1.0)))
    assert "llvm 2, numpy 2" in str(tnp.explain(jitted))
    one_program(loops, *((x,) for x in (10.3, 17.8, 4.2)))
