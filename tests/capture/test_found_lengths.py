"""Operations that need lengths of arrays which only the running program knows how long are: programs for any length."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.api import programs_of
from tnp.capture.speculation.value_specialization import Specializer
from tnp.compile.specialization import CallGuards
from tnp.testing import assert_same

integrate = pytest.importorskip("scipy.integrate")
ndimage = pytest.importorskip("scipy.ndimage")
signal = pytest.importorskip("scipy.signal")
stats = pytest.importorskip("scipy.stats")

#: what is computed of the elements above 0.3
FUNCTIONS = {
    "gradient": lambda v: np.gradient(v) * v,
    "pad": lambda v: np.pad(v, 2)[1:] + 1,
    "roll": lambda v: np.roll(v, 1) - v,
    "insert": lambda v: np.insert(v, 0, 1.0),
    "tile": lambda v: np.tile(v, 2).sum(),
    "repeat": lambda v: np.repeat(v, 3),
    "convolve": lambda v: np.convolve(v, [0.25, 0.5, 0.25], "same") + v,
    "fft": lambda v: np.abs(np.fft.rfft(v)),
    "integrals": lambda v: (integrate.cumulative_trapezoid(v, initial=0), integrate.trapezoid(v)),
    "moments": lambda v: (stats.skew(v), stats.kurtosis(v), stats.sem(v), stats.zscore(v)),
    "filter": lambda v: ndimage.gaussian_filter1d(v, 1.0) - v,
    "trend": lambda v: signal.detrend(v),
    "least squares": lambda v: np.linalg.lstsq(np.column_stack([v, np.ones(len(v))]), v * 2, rcond=None)[0],
    "polynomial": lambda v: np.polyfit(np.arange(len(v)) / len(v), v, 2),
    "differences": lambda v: (np.diff(v), v[1:] - v[:-1], v[::-1] * 2, np.append(v, 1.0)[1:] - v),
    "ends": lambda v: (v[-3:] * 2, v[-5:-1][::-1] - 1, v[1::3] + 1),
    "median": lambda v: (np.median(np.diff(v)), np.median(v[1:]), np.percentile(np.diff(v), [5, 95])),
    "view made before": lambda v: (lambda u: np.gradient(v)[1:] + u)(v[1:]),
}


def chosen(f):
    return lambda x: f(x[x > 0.3])


def vector(n):
    return np.random.default_rng(n).random(n)


def check(jitted, f, n):
    """The result, or the error, for a vector of ``n`` elements."""
    try:
        expected = f(vector(n))
    except ValueError as error:
        with pytest.raises(type(error)):
            jitted(vector(n))
    else:
        assert_same(jitted(vector(n)), expected, what=f"{n} elements")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_program_for_any_length(name):
    f = chosen(FUNCTIONS[name])
    jitted = tnp.jit(f, dynamic=True)
    for n in (60, 71, 82, 95, 60, 133):
        assert_same(jitted(vector(n)), f(vector(n)), what=f"{n} elements")
    assert len(programs_of(jitted)) == 1 and "eagerly" not in tnp.explain(jitted)


@pytest.mark.parametrize("name", ["gradient", "roll", "moments", "pad"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:.* runs in parts")
def test_lengths_that_a_program_is_not_for(name):
    f = chosen(FUNCTIONS[name])
    jitted = tnp.jit(f)
    for n in (60, 3, 1, 70, 0, 2, 80, 4, 5, 6, 90):
        check(jitted, f, n)


def test_arrays_that_are_written_afterwards():
    def f(x):
        v = x[x > 0.3]
        w, u = v, v[2:]
        slope = np.gradient(v)
        v[0] = 7.0
        w += slope
        u *= 2
        return v, w, u, slope, len(v)

    jitted = tnp.jit(f, dynamic=True)
    for n in (40, 51, 62):
        assert_same(jitted(vector(n)), f(vector(n)))


def test_what_is_asked_of_a_length():
    def f(x):
        v = np.roll(x[x > 0.3], 1)
        half = v[: len(v) // 2]
        return half.sum() if len(v) % 2 else half.sum() + v[-1], v.reshape(-1, 1) * 2

    jitted = tnp.jit(f)
    for n in range(40, 60):
        assert_same(jitted(vector(n)), f(vector(n)), what=f"{n} elements")


@pytest.mark.filterwarnings("ignore:.* runs in parts")
def test_arguments_are_written_once():
    """A call may start over only before it writes."""

    def f(x):
        x += 1
        v = x[x > 1.3]
        return np.gradient(v)

    jitted = tnp.jit(f)
    for n in (40, 3, 51, 4, 62):
        mine, theirs = vector(n), vector(n)
        try:
            expected = f(theirs)
        except ValueError:
            with pytest.raises(ValueError, match="too small"):
                jitted(mine)
        else:
            assert_same(jitted(mine), expected)
        assert_same(mine, theirs)


VALUES = {
    "a size": lambda v: np.zeros(int(np.diff(v).max() * 10) + 1) + v.sum(),
    "a string": lambda v: "steep" if np.gradient(v).max() > 0.2 else "flat",
    "a key": lambda v: {int(np.diff(v).sum() * 3): np.roll(v, 1)},
}


@pytest.mark.filterwarnings("ignore:.* runs ", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", VALUES)
def test_values_that_python_needs(name):
    """Value guards run what leads to a value: with the assertions on lengths."""
    f = chosen(VALUES[name])
    jitted = tnp.jit(f)
    for n in (50, 61, 72, 50, 20, 3, 9, 0, 1, 94, 2, 12):
        check(jitted, f, n)


def test_two_lengths():
    def f(x, y):
        a, b = np.roll(x[x > 0.3], 1), np.roll(y[y > 0.6], 1)
        return np.concatenate([a, b]), np.outer(a, b).sum(), a.sum() / b.sum()

    jitted = tnp.jit(f, dynamic=True)
    for n in (60, 71, 82):
        assert_same(jitted(vector(n), vector(n + 1)), f(vector(n), vector(n + 1)))
    assert len(programs_of(jitted)) == 1


def test_lengths_that_differ_are_eagers_error():
    def f(x, y):
        return np.gradient(x[x > 0.3]) + np.gradient(y[y > 0.6])

    jitted = tnp.jit(f)
    for n in (60, 71):
        with pytest.raises(ValueError, match="could not be broadcast"):
            jitted(vector(n), vector(n + 1))
    x = vector(50)
    assert_same(jitted(x, x[::-1] * 0 + np.where(x > 0.3, 0.7, 0.1)), f(x, np.where(x > 0.3, 0.7, 0.1)))


def test_inside_of_loops():
    def f(x, k):
        total = np.zeros(3)
        for i in range(k):
            v = x[x > 0.1 * i]
            total += np.roll(v, 1)[:3] + np.gradient(v)[:3]
        return total

    jitted = tnp.jit(f)
    for n in (60, 71, 82):
        assert_same(jitted(vector(n), 4), f(vector(n), 4))


def test_long_loops_that_are_written_out(monkeypatch):
    """Each length is found out by a program that computes what those before did: some are enough, and then Python runs the loop. It runs one
    over a known range at once."""
    asked = []

    def counted(self, wanted, once=CallGuards.once):
        asked.append(len(wanted.trace.body))
        return once(self, wanted)

    def while_some_are_left(x):
        left, i = np.ones(len(x)), 0
        while i < len(x) - 20:
            v = x[i : i + 20][left[i : i + 20] > 0]
            far = np.abs(np.polyfit(np.arange(len(v)), v, 1)[0] * np.gradient(v)) > 0.02
            left[i : i + 20][left[i : i + 20] > 0] -= far
            i += 1
        return left

    def over_a_range(x):
        left = np.ones(len(x))
        for i in range(len(x) - 20):
            v = x[i : i + 20][left[i : i + 20] > 0]
            far = np.abs(np.polyfit(np.arange(len(v)), v, 1)[0] * np.gradient(v)) > 0.02
            left[i : i + 20][left[i : i + 20] > 0] -= far
        return left

    monkeypatch.setattr(CallGuards, "once", counted)
    x = vector(90)
    for f, reason in ((while_some_are_left, "the value guards have"), (over_a_range, "needs the value of")):
        jitted = tnp.jit(f)
        with not_compiled_whole(reason):
            for _ in range(2):
                assert_same(jitted(x), f(x))
        if f is while_some_are_left:
            assert 0 < sum(asked) < 4 * Specializer.MOST_ASKED
            asked.clear()
    assert not asked


def test_slices_of_computed_lengths_that_passes_know_less_of():
    """Overlap and save, by Fourier transforms of frames."""

    def filtered(x, h, size):
        taps = len(h)
        x = np.hstack((np.zeros(taps - 1), x))
        step, n = size - taps + 1, len(x)
        frames = int(np.ceil(n / float(step)))
        x = np.hstack((x, np.zeros(frames * step - n)))
        y = np.zeros(int(frames * size))
        for k in range(frames):
            found = np.real(np.fft.ifft(np.fft.fft(h, size) * np.fft.fft(x[k * step : k * step + size], size)))
            y[k * step + taps - 1 : k * step + size] = found[taps - 1 :]
        return y[taps - 1 : n]

    jitted = tnp.jit(filtered, strict=True)
    for n in (60, 60, 80, 40, 1, 0, 2):
        rng = np.random.default_rng(n)
        args = rng.random(n), rng.random(9), 32
        assert_same(jitted(*args), filtered(*args), rtol=1e-9)
