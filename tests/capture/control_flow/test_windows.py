"""Loops over windows of a signal are native, with one program for all sizes. The caller gives the width and the step."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import compiled_whole
from tnp.testing import assert_same


def signal(n, seed=0):
    return np.random.default_rng(seed).normal(size=n)


def means(x, width=8, step=4):
    out = np.zeros(len(x))
    for i in range(0, len(x) - width + 1, step):
        out[i] = x[i : i + width].mean()
    return out


def rows_of_a_list(x, width=8, step=4):
    out = []
    for i in range(0, len(x) - width + 1, step):
        window = x[i : i + width]
        out.append([window.mean(), window.std(), window.max() - window.min()])
    return np.array(out)


def rows_of_an_array(x, width=8, step=4):
    out = np.zeros(((len(x) - width) // step + 1, 2))
    for k, i in enumerate(range(0, len(x) - width + 1, step)):
        window = x[i : i + width]
        out[k] = window.min(), window.max()
    return out


def root_mean_squares(x, frame=16, hop=8):
    count = 1 + (len(x) - frame) // hop
    out = np.empty(count)
    for k in range(count):
        out[k] = np.sqrt(np.mean(x[k * hop : k * hop + frame] ** 2))
    return out


def crossings(x, frame=16, hop=8):
    return np.array([np.sum(np.abs(np.diff(np.sign(x[i : i + frame])))) for i in range(0, len(x) - frame, hop)])


def added(x, width=16, hop=8):
    window, out = np.hanning(width), np.zeros(len(x))
    for s in range(0, len(x) - width + 1, hop):
        out[s : s + width] += window * x[s : s + width]
    return out


def two_ranges(x, hop=5):
    out = np.zeros(len(x))
    for a, b in zip(range(0, len(x) - hop, hop), range(hop, len(x), hop)):
        out[a:b] = x[a:b].mean()
    return out


def downwards(x, step=-2):
    out = []
    for i in range(len(x) - 1, 0, step):
        out.append(x[i] - x[i - 1])
    return np.array(out)


def downwards_by(x, by=2):
    total = 0.0
    for i in range(len(x) - 1, 0, -by):
        total = total * 0.9 + x[i]
    return total


def nested(x, by=1):
    total = 0.0
    for i in range(3, len(x) - 3, by):
        for j in range(i - 3, i + 4, by):
            total += x[i] * x[j]
    return total


def left_at(x, by=3):
    found = -1
    for i in range(0, len(x), by):
        if x[i] > 1.0:
            found = i
            break
    return found


def moving_medians(x, width=5, step=1):
    return np.array([np.median(x[i : i + width]) for i in range(0, len(x) - width + 1, step)])


def short_time_spectra(x, width=16, hop=8):
    out = np.zeros(((len(x) - width) // hop + 1, width // 2 + 1))
    for k in range(len(out)):
        out[k] = np.abs(np.fft.rfft(x[k * hop : k * hop + width] * np.hanning(width)))
    return out


WINDOWS = [
    moving_medians, short_time_spectra, means, rows_of_a_list, rows_of_an_array, root_mean_squares, crossings, added, two_ranges, downwards, downwards_by, nested, left_at,
]  # fmt: skip


@pytest.mark.parametrize("f", WINDOWS)
def test_one_program_for_all_sizes(f):
    jitted = tnp.jit(f)
    for n in (50, 51, 80, 333, 52):
        assert_same(jitted(signal(n)), f(signal(n)), rtol=1e-12)
    assert compiled_whole(jitted)
    assert tnp.cache_info(jitted).misses <= 2


def medians(x, k=5):
    return np.array([np.median(x[i : i + k]) for i in range(len(x) - k + 1)])


def smoothed(x, k=2):
    out = x.copy()
    for i in range(k, len(x) - k):
        out[i] = np.median(x[i - k : i + k + 1])
    return out


def spectra(x):
    frames = []
    for s in range(0, len(x) - 16 + 1, 8):
        frames.append(np.abs(np.fft.rfft(x[s : s + 16])))
    return np.array(frames)


def block_spectra(x):
    out = np.zeros((len(x) // 8, 5))
    for k in range(len(x) // 8):
        out[k] = np.abs(np.fft.rfft(x[8 * k : 8 * k + 8]))
    return out


def differences(x):
    values, places = [], []
    for i in range(1, len(x)):
        values.append(x[i] - x[i - 1])
        places.append(i)
    return np.array(values), np.array(places)


def doubled(x):
    out = []
    for v in x:
        out.append(v * 2)
    return out


@pytest.mark.parametrize("f", [medians, smoothed, spectra, block_spectra, differences, doubled])
def test_windows_inside_of_the_signal_have_a_known_length(f):
    jitted = tnp.jit(f)
    for n in (50, 51, 80, 333, 52):
        assert_same(jitted(signal(n)), f(signal(n)), rtol=1e-12)
    assert compiled_whole(jitted)
    assert tnp.cache_info(jitted).misses <= 2


@pytest.mark.parametrize("f", WINDOWS)
def test_other_widths_and_steps(f):
    jitted, names = tnp.jit(f), f.__code__.co_varnames[1 : f.__code__.co_argcount]
    sign = -1 if f is downwards else 1
    for n, width, step in ((50, 8, 4), (64, 8, 3), (90, 5, 1), (90, 20, 7), (40, 12, 40), (64, 3, 5)):
        options = dict(zip(names, (width, step * sign))) if len(names) == 2 else {names[0]: step * sign}
        assert_same(jitted(signal(n), **options), f(signal(n), **options), rtol=1e-12)
    assert compiled_whole(jitted)


def test_a_width_that_a_loop_needs_to_know():
    """The loop is one operation from the first call on: the program is for that width, and for any once it varies."""
    jitted = tnp.jit(moving_medians)
    assert_same(jitted(signal(3_000)), moving_medians(signal(3_000)))
    assert "the whole for_loop is native" in str(tnp.explain(jitted))
    for width in (5, 7, 9, 11):
        assert_same(jitted(signal(500), width), moving_medians(signal(500), width))
    assert compiled_whole(jitted)


@pytest.mark.parametrize("f", [means, downwards, downwards_by, nested])
def test_a_step_of_zero(f):
    jitted, name = tnp.jit(f), f.__code__.co_varnames[f.__code__.co_argcount - 1]
    jitted(signal(50))
    for _ in range(2):
        with pytest.raises(ValueError, match="arg 3 must not be zero"):
            jitted(signal(50), **{name: 0})


def test_a_step_of_the_other_sign():
    jitted = tnp.jit(downwards_by)
    for by in (2, 3, -2, -3, 2):
        assert_same(jitted(signal(50), by), downwards_by(signal(50), by), rtol=1e-12)


def test_a_long_loop_by_a_step_runs_on_all_threads():
    def f(x, by):
        out = np.zeros_like(x)
        for i in range(0, len(x) - 200, by):
            out[i] = np.sort(x[i : i + 200])[100] + x[i : i + 200].std()
        return out

    jitted = tnp.jit(f)
    for n in (4_000, 5_000):
        assert_same(jitted(signal(n), 3), f(signal(n), 3), rtol=1e-12)
    assert compiled_whole(jitted)


def test_steps_near_the_ends_of_integers():
    def f(x, by):
        total = 0.0
        for i in range(0, len(x), by):
            total += x[i]
        return total

    jitted = tnp.jit(f)
    for by in (1, 2**31, 2**62, 2**63 - 1, 2**64):
        assert_same(jitted(signal(50), by), f(signal(50), by), rtol=1e-12)


# Lists of windows, which are parts of the signal


def embedded(x, m=3):
    return np.array([x[i : i + m] for i in range(len(x) - m + 1)])


def embedded_in_a_list(x, m=3):
    out = []
    for i in range(len(x) - m + 1):
        out.append(x[i : i + m])
    out = np.asarray(out)
    return out.mean(axis=1), len(out)


def stacked(x, m=3):
    windows = [x[i : i + m] for i in range(len(x) - m + 1)]
    return np.stack(windows), np.vstack(windows)


def rows_of_blocks(x):
    blocks = x[: len(x) // 4 * 4].reshape(-1, 4)
    return np.array([row[1:] for row in blocks]), np.array([row[::-1] for row in blocks])


@pytest.mark.parametrize("f", [embedded, embedded_in_a_list, stacked, rows_of_blocks])
def test_arrays_of_windows(f):
    jitted = tnp.jit(f)
    for n in (50, 51, 80, 333, 52):
        assert_same(jitted(signal(n)), f(signal(n)))
    assert compiled_whole(jitted)
    assert tnp.cache_info(jitted).misses <= 2


def written_before(x):
    windows = [x[i : i + 3] for i in range(len(x) - 2)]
    x[:] = 0
    return np.array(windows)


def written_within(x):
    windows = []
    for i in range(len(x) - 2):
        windows.append(x[i : i + 3])
        x[i] += 1
    return np.array(windows)


def written_by_an_item(x):
    windows = [x[i : i + 3] for i in range(len(x) - 2)]
    windows[0][1] = 7
    return np.array(windows)


def written_by_each_item(x):
    windows = [x[i : i + 3] for i in range(len(x) - 2)]
    for w in windows:
        w[0] += 1
    return np.array(windows)


def some_replaced(x):
    windows = []
    for i in range(len(x) - 2):
        windows.append(x[i : i + 3])
        if x[i] > 0:
            windows[-1] = x[:3]
    return np.array(windows)


def returned(x):
    return [x[i : i + 3] for i in range(len(x) - 2)]


def taken_out(x):
    windows = [x[i : i + 3] for i in range(len(x) - 2)]
    return windows.pop(), windows[-1], np.array(windows)


def joined_with_others(x):
    windows = [x[i : i + 3] for i in range(len(x) - 2)]
    more = windows + [x[:3]]
    windows.extend(more[:2])
    return np.array(more), np.array(windows)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")  # what may change windows is not compiled whole
@pytest.mark.parametrize(
    "f",
    [
        written_before,
        written_within,
        written_by_an_item,
        written_by_each_item,
        some_replaced,
        returned,
        taken_out,
        joined_with_others,
    ],
)
def test_windows_share_the_memory_of_the_signal(f):
    jitted = tnp.jit(f)
    for n in (50, 51, 80, 52):
        mine, theirs = signal(n), signal(n)
        found = jitted(mine)
        assert_same(found, f(theirs))
        assert_same(mine, theirs)
        if f is returned:
            found[0][0] = 5
            assert mine[0] == 5


def without_a_trend(x, width):
    """As windows of Allan deviations are: the width is an integer of NumPy's, or a float."""
    width, total = int(width), 0.0
    for i in range(len(x) - 3 * width + 1):
        window = x[i : i + 3 * width]
        rest = [v - 0.5 * k for k, v in enumerate(window)]
        both = np.concatenate((rest[::-1], rest))
        total += both[0] * both[-2] + both.sum()
    return total


def every_few(x, width):
    return x[:: int(width)] * 2


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64, int])
@pytest.mark.parametrize("f", [without_a_trend, every_few])
def test_scalars_decide_the_width(f, kind):
    jitted = tnp.jit(f, strict=True)
    for n, width in ((50, 2), (51, 2), (60, 3), (50, 2)):
        assert_same(jitted(signal(n), kind(width)), f(signal(n), kind(width)), rtol=1e-12)
    assert tnp.cache_info(jitted).misses <= 4


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_scalars_that_have_many_values_have_no_programs_of_their_own():
    jitted = tnp.jit(without_a_trend)
    for width in range(1, 16):
        width = np.int64(width)
        assert_same(jitted(signal(60), width), without_a_trend(signal(60), width), rtol=1e-12)
    assert tnp.cache_info(jitted).misses <= 12
