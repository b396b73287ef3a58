"""Library calls in the iterations of a loop: when they become one call, and that nothing else changes."""

import warnings

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")

RNG = np.random.default_rng(0)


def outcome(f, args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = f(*args)
        except Exception as error:
            result = type(error), str(error)
    return result, args, [(w.category, str(w.message)) for w in caught]


def check(f, make, sizes=(12, 17, 30), *, found=True, programs=2, rtol=1e-9):
    """Compares calls with eager; ``found``: whether calls are batched, in how many ``programs``."""
    jitted = tnp.jit(f)
    for n in (*sizes, sizes[0]):
        args, expected_args = make(n), make(n)
        mine, expected = outcome(jitted, args), outcome(f, expected_args)
        assert_same(mine[0], expected[0], rtol=rtol)
        assert_same(mine[1], expected[1], what="arguments", rtol=rtol)
        assert mine[2] == expected[2]
    passes = [str(t.provenance) for t in tnp.last_traces(jitted)]
    assert any("Library calls of iterations" in text for text in passes) is found
    assert tnp.cache_info(jitted).misses <= programs, tnp.explain(jitted)
    return jitted


def signals(n):
    return (np.random.default_rng(n).random((n, 16)),)


def matrices(n, k=3):
    a = np.random.default_rng(n).random((n, k, k))
    return (a @ a.transpose(0, 2, 1) + np.eye(k),)


def spectra(a):
    out = np.zeros((len(a), a.shape[1] // 2 + 1))
    for i in range(len(a)):
        out[i] = np.abs(np.fft.rfft(a[i])) ** 2
    return out


def columns(a):
    b = a.T.copy()
    out = np.zeros(b.shape, complex)
    for j in range(b.shape[1]):
        out[:, j] = np.fft.fft(b[:, j] - b[:, j].mean())
    return out


def eigenvalues(a):
    found, total = [], 0.0
    for m in a:
        w, v = np.linalg.eigh(m)
        found.append(w[-1] / w.sum())
        total += np.abs(v[:, 0]).max()
    return np.array(found), total


def factors(a):
    return np.array([np.linalg.qr(m)[1] for m in a]), [np.linalg.svd(m)[1].max() for m in a]


def selected(a):
    out = np.empty((len(a), 3))
    for i, row in enumerate(a):
        out[i] = np.sort(row)[[0, 5, -1]]
    return out


def medians(a):
    return np.array([np.median(row) for row in a])


def backwards(a):
    out = []
    for i in range(1, len(a)):
        out.append(np.fft.irfft(np.fft.rfft(a[len(a) - i]) * np.fft.rfft(a[i - 1])))
    return np.array(out)


@pytest.mark.parametrize("f", [spectra, columns, selected, medians, backwards])
def test_of_rows(f):
    check(f, signals)


@pytest.mark.parametrize("f", [eigenvalues, factors])
def test_of_matrices(f):
    check(f, matrices)


def test_a_loop_without_the_call_is_native():
    jitted = check(spectra, signals)
    assert "the whole for_loop is native" in tnp.explain(jitted)


def windows(x, w=16, step=4):
    window, total, count = np.hanning(w), np.zeros(w // 2 + 1), 0
    for s in range(0, len(x) - w + 1, step):
        segment = x[s : s + w]
        total += np.abs(np.fft.rfft((segment - segment.mean()) * window)) ** 2
        count += 1
    return total / count


def spread(x, w):
    y, t = np.cumsum(x - x.mean()), np.arange(w)
    found = []
    for s in range(0, len(y) - w + 1, w):
        slope = np.polyfit(t, y[s : s + w], 1)
        found.append(np.sqrt(np.mean((y[s : s + w] - np.polyval(slope, t)) ** 2)))
    return np.mean(found)


def test_of_windows():
    check(windows, lambda n: (np.random.default_rng(n).random(10 * n),))


def test_of_windows_that_are_too_few():
    jitted = check(windows, lambda n: (np.random.default_rng(n).random(n),), sizes=(300, 500, 20, 16), programs=4)
    x = np.random.default_rng(12).random(12)
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # of a division by no windows
        assert_same(jitted(x), windows(x))


def test_fits_of_windows():
    check(spread, lambda n: (np.random.default_rng(n).random(10 * n), 8))


def test_fits_warn_in_each_iteration():
    def f(x, t):
        found = np.zeros(len(x))
        for i in range(len(x)):
            found[i] = np.polyfit(t, x[i], 1)[0]
        return found

    check(f, lambda n: (*signals(n), np.ones(16)), rtol=1e-6)


def test_loops_in_loops():
    def f(a):
        n = len(a)
        out = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                out[i, j] = np.abs(np.fft.ifft(np.fft.fft(a[i]) * np.conj(np.fft.fft(a[j])))).max()
        return out

    check(f, signals, sizes=(9, 12), programs=2)


def test_with_steps_that_the_caller_gives():
    def f(x, start, step):
        out = []
        for s in range(start, len(x) - 8, step):
            out.append(np.sort(x[s : s + 8]))
        return np.array(out)

    jitted = tnp.jit(f)
    for n, start, step in ((200, 0, 3), (300, 5, 3), (250, 7, 4), (400, 1, 2)):
        x = np.random.default_rng(n).random(n)
        assert_same(jitted(x, start, step), f(x, start, step))


# Where it must not be


def test_not_behind_an_early_exit():
    def f(a):
        total = 0.0
        for i in range(len(a)):
            if total > 1e3:
                break
            total += np.abs(np.fft.fft(a[i])).sum()
        return total

    check(f, signals, found=False, programs=9)


def test_not_of_what_the_loop_changes():
    def f(a):
        b = a.copy()
        for i in range(1, len(b)):
            b[i] = np.sort(b[i - 1] + b[i])
        return b

    check(f, signals, found=False, programs=9)


def test_not_in_a_branch():
    def f(a):
        out = np.zeros(a.shape)
        for i in range(len(a)):
            if a[i, 0] > 0.5:
                out[i] = np.sort(a[i])
        return out

    check(f, signals, found=False, programs=9)


def test_a_singular_matrix_leaves_what_was_written():
    def f(a, out):
        for i in range(len(a)):
            out[i] = np.linalg.inv(a[i])

    def make(n):
        a = np.random.default_rng(n).random((n, 80, 80))
        a[n // 2] = 0
        return a, np.zeros_like(a)

    check(f, make, sizes=(9, 10), found=False, programs=9)


def test_a_singular_matrix_of_a_program_that_only_computes():
    def f(a):
        out = np.zeros_like(a)
        for i in range(len(a)):
            out[i] = np.linalg.inv(a[i])
        return out.sum(axis=0)

    def make(n):
        a = np.random.default_rng(n).random((n, 80, 80))
        if n == 10:
            a[n // 2] = 0
        return (a,)

    check(f, make, sizes=(9, 10, 11), programs=9)


def test_what_is_printed_before_an_error(capsys):
    def f(a):
        total = 0.0
        for i in range(len(a)):
            print("matrix", i)
            total += np.linalg.eigvalsh(a[i])[0]
        return total

    jitted = tnp.jit(f)
    (a,) = matrices(9)
    assert_same(jitted(a), f(a))
    said = capsys.readouterr().out.split("matrix 0\n")
    assert said[0] == "" and said[1] == said[2]


def test_errors_are_eagers():
    def f(x):
        found = np.zeros((len(x), 2))
        for i in range(len(x)):
            found[i] = np.polyfit(np.arange(x.shape[1]), x[i], 1)
        return found

    check(f, lambda n: (np.full((n, 4), np.nan if n == 12 else 1.0),), programs=9)


def test_factors_of_nan():
    def f(a):
        out = np.zeros_like(a)
        for i in range(len(a)):
            out[i] = np.linalg.cholesky(a[i])
        return out

    check(f, lambda n: (np.full((n, 3, 3), np.nan if n == 12 else 1.0) + np.eye(3),), found=False, programs=9)


def test_large_batches_are_not_made(monkeypatch):
    from tnp.transforms import batch_calls

    monkeypatch.setattr(batch_calls, "MOST_BYTES", 20_000)
    check(spectra, signals, sizes=(40, 41), programs=2)
    check(spectra, signals, sizes=(400, 500), found=False, programs=9)
    # A program for any size has a limit, beyond which another is made.
    check(spectra, signals, sizes=(30, 40, 4000), found=False, programs=9)


def test_gradients():
    def f(a):
        total = 0.0
        for i in range(len(a)):
            total = total + np.linalg.eigvalsh(a[i])[-1]
        return total

    (a,) = matrices(9)
    slope = tnp.grad(f)(a)
    h = np.zeros_like(a)
    h[3, 1, 1] = 1e-6
    assert abs((f(a + h) - f(a - h)) / 2e-6 - slope[3, 1, 1]) < 1e-6
