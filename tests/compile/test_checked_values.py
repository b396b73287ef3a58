"""Programs that check the values that they were compiled for: calls run them at once, while the values stay the same."""

import numpy as np
import pytest

import tnp
from tnp.capture.guards.prologue import MISS
from tnp.compile.specialization import ValueGuard
from tnp.testing import assert_same


@pytest.fixture
def evaluated(monkeypatch):
    """The value guards that were evaluated, by name, in order."""
    found = []
    evaluate = ValueGuard.evaluate

    def evaluate_and_note(self, values):
        value = evaluate(self, values)
        if value is not MISS:
            found.append(self.name)
        return value

    monkeypatch.setattr(ValueGuard, "evaluate", evaluate_and_note)
    return found


def scaled(x):
    """A dict or a list: which of them is decided by a value."""
    total = np.sum(x * x)
    if total > 5:
        return {"scaled": x / np.sqrt(total)}
    return [x * 2]


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        a, b = list(a.values()), list(b.values())
    if isinstance(a, str):
        assert a == b
    elif isinstance(a, (list, tuple)):
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        np.testing.assert_allclose(a, b)


LARGE, SMALL = np.arange(4.0), np.full(4, 0.1)


def test_guards_are_not_evaluated_while_values_stay(evaluated):
    jitted = tnp.jit(scaled)
    for _ in range(4):
        same(jitted(LARGE), scaled(LARGE))
    evaluated.clear()
    for k in range(10):
        same(jitted(LARGE + k), scaled(LARGE + k))
    assert not evaluated


def test_other_values_find_their_program(evaluated):
    jitted = tnp.jit(scaled)
    for k in range(60):
        x = SMALL if k % 7 == 3 or k in (20, 21, 22, 23) else LARGE
        same(jitted(x + k * 1e-3), scaled(x + k * 1e-3))
    assert tnp.cache_info(jitted).size == 2
    for _ in range(200):
        jitted(LARGE)
    evaluated.clear()
    jitted(LARGE)
    assert not evaluated


def several(x, limit):
    """The program asks for several values, one after another."""
    count = int(np.sum(x > 0))
    if count > limit:
        return str(count), np.cumsum(x)
    return str(np.all(x < 0)) if np.any(x < 0) else "none", x[:count] * 2


def test_several_values(evaluated):
    jitted = tnp.jit(several)
    for k in range(24):
        x = np.array([1.0, -2, 3, 0]) * (1 if k % 8 < 5 else -1)
        same(jitted(x, 1), several(x, 1))
    assert evaluated


def writes_behind(x, out, log):
    """Python needs the value before the first write."""
    total = x.sum()
    if total > 0:
        out[0] = total
        log.append("positive")
        return "positive"
    return "not"


def writes_before(x, out, log):
    """Its writes come later than the check, too: nothing else sees them before."""
    out[:] = out + 1
    return writes_behind(x, out[1:], log)


def test_programs_that_write(evaluated):
    for f in (writes_behind, writes_before):
        jitted = tnp.jit(f)
        given, expected = (np.zeros(3), []), (np.zeros(3), [])
        for k in range(24):
            if k == 9:
                assert not evaluated
            x = np.full(3, -1.0 if k in (9, 10, 15) else 1.0)
            assert jitted(x, *given) == f(x, *expected)
            np.testing.assert_array_equal(given[0], expected[0])
            assert given[1] == expected[1]
            if k == 7:
                evaluated.clear()


def test_errors_are_eagers():
    def f(x):
        if np.any(x > 10):
            return {"inverse": 1 / x}
        if np.any(x < -10):
            raise ValueError(f"{x.min()} is too small")
        return [x * 2]

    jitted = tnp.jit(f)
    for x in [[1.0, 2.0]] * 5 + [[20.0, 1.0], [1.0, 2.0], [-20.0, 0.0], [1.0, 2.0]]:
        outcomes = []
        for g in (jitted, f):
            try:
                outcomes.append(g(np.array(x)))
            except ValueError as error:
                outcomes.append(str(error))
        same(*outcomes)


def test_values_decide_how_often_a_loop_runs():
    """A program with a loop that might not end for other values asks first."""

    def f(x):
        if x.sum() > 0:
            y, n = x.copy(), 0
            while y.sum() > 1:
                y, n = y / 2, n + 1
            return str(n > 0), y
        return [x]

    jitted = tnp.jit(f)
    for k in (3.0, 3.0, 3.0, 3.0, -3.0, 5.0, -1.0):
        x = np.full(3, k)
        same(jitted(x), f(x)) if k < 0 else same(jitted(x)[1], f(x)[1])


def keyed(x):
    return {float(x.max() * 2): x + 1}


def test_floats_are_checked(evaluated):
    jitted = tnp.jit(keyed)
    for values in ([1.0, 2.0], [0.0, -1.0], [-0.0, -0.0], [1.0, 2.0]):
        for _ in range(8):
            assert repr(jitted(np.array(values))) == repr(keyed(np.array(values)))


def test_values_that_are_rounded_otherwise(monkeypatch):
    """A program that finds another value than the value guard is not used again."""
    evaluate = ValueGuard.evaluate
    monkeypatch.setattr(ValueGuard, "evaluate", lambda self, values: np.nextafter(evaluate(self, values), 9.0).item())
    jitted = tnp.jit(keyed)
    x = np.array([1.0, 2.0])
    for _ in range(6):
        ((key, value),) = jitted(x).items()
        assert key == pytest.approx(4.0)
        np.testing.assert_array_equal(value, x + 1)
    assert "starts over" not in tnp.explain(jitted)
    assert tnp.cache_info(jitted).size == 1


def narrowest(x, part=0.95):
    s = np.sort(x)
    k = np.ceil(part * len(s)).astype("int")
    widths = [0] * (len(s) - k)
    for i in np.arange(0, len(s) - k):
        widths[i] = s[i + k] - s[i]
    return s[widths.index(np.min(widths))], s[widths.index(np.min(widths)) + k]


@pytest.mark.parametrize(("before", "long"), [(20, 30), (0, 30), (4, 0)])
def test_a_call_that_starts_over_raises_the_program_s_own_error(before, long):
    jitted = tnp.jit(narrowest)
    rng = np.random.default_rng(0)
    for n in [(64, 150)[k % 2] for k in range(before)] + [500] * long:
        x = rng.standard_normal(n)
        assert jitted(x) == narrowest(x)
    x = rng.standard_normal(64)
    x[32] = np.nan
    for _ in range(3):
        with pytest.raises(ValueError, match="not in list") as found:
            jitted(x)
        assert found.value.__context__ is None


def test_a_call_that_starts_over_before_the_program_has_written():
    """A value is summed up in another order by the program than by the value guard; what it writes to stands behind the assertion."""

    def f(kept, x):
        kept[1] = 1
        mean = np.nanmean(x)
        return complex(0, mean)

    x = np.round(np.random.default_rng(2).normal(size=300) * 3, 1).astype("float32")
    jitted = tnp.jit(f)
    for _ in range(3):
        mine, theirs = np.zeros(3), np.zeros(3)
        assert_same(jitted(mine, x), f(theirs, x), rtol=1e-6)
        assert_same(mine, theirs)
