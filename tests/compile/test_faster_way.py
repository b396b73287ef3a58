"""Calls run in the way that takes less time."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import tnp
from tnp.capture.guards.prologue import MISS
from tnp.compile import faster_way
from tnp.compile.cache_entry import eager_ways
from tnp.compile.faster_way import ALONE, WATCHED, FasterWay, FasterWayOfAModule, GuardedWay, LeftOut
from tnp.testing import assert_same


class Clock:
    """Time that passes only when a call says so."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setenv("TNP_CHECK", "0")
    monkeypatch.setattr(faster_way, "time", made)
    return made


def ways(clock, compiled, eager, calls):
    """Two ways of calls that take so many seconds for an argument of 1, and note which of them ran."""

    def way(name, seconds):
        def run(size):
            calls.append(name)
            clock.now += seconds * size
            return name

        return run

    return way("compiled", compiled), way("eager", eager)


def eager_takes_less_time(self, *values):
    """A choice that no clock has a part in."""
    self._choose(True)
    return self._eagerly(*values)


def test_eager_that_takes_less_time_is_kept(clock):
    calls = []
    way = FasterWay(*ways(clock, 2e-5, 1e-5, calls), lambda: 0)
    for _ in range(60):
        way(1)
    assert way.is_eager
    assert set(calls[-30:]) == {"eager"}
    assert set(calls[: faster_way.WARM]) == {"compiled"}


def test_programs_that_take_less_time_are_kept(clock):
    calls = []
    way = FasterWay(*ways(clock, 1e-5, 1e-4, calls), lambda: 0)
    for _ in range(60):
        way(1)
    assert not way.is_eager
    assert calls.count("eager") <= faster_way.TIMED


def test_long_calls_are_never_tried_eagerly(clock):
    calls = []
    way = FasterWay(*ways(clock, 0.1, 1e-5, calls), lambda: 0)
    for _ in range(60):
        way(1)
    assert set(calls) == {"compiled"}


def test_one_long_eager_call_tells_enough(clock):
    calls = []
    way = FasterWay(*ways(clock, 1e-2, 1, calls), lambda: 0)
    for _ in range(60):
        way(1)
    assert calls.count("eager") == 1 and not way.is_eager


@pytest.mark.parametrize(
    ("compiled", "eager", "longer", "first"),
    [
        pytest.param(1e-3, 2e-4, 5e-3, 1, id="the process was stopped meanwhile"),
        pytest.param(1e-5, 5e-6, 2e-5, 2, id="caches and the interpreter did not know it yet"),
    ],
)
def test_first_eager_calls_that_take_longer_decide_nothing(clock, compiled, eager, longer, first):
    calls = []
    compiled, eagerly = ways(clock, compiled, eager, calls)

    def slow_at_first(size):
        clock.now += longer * (calls.count("eager") < first)
        return eagerly(size)

    way = FasterWay(compiled, slow_at_first, lambda: 0)
    for _ in range(60):
        way(1)
    assert way.is_eager


def test_eager_calls_that_become_longer_are_compiled_again(clock):
    calls = []
    way = FasterWay(*ways(clock, 2e-5, 1e-5, calls), lambda: 0)
    for _ in range(40):
        way(1)
    assert way.is_eager
    way(1000)
    way(1)  # one long call may be the machine's
    assert way.is_eager
    for _ in range(faster_way.SLOW):
        way(1000)
    assert not way.is_eager
    assert way(1000) == "compiled"


def test_other_parts_are_tried_anew(clock):
    calls, state = [], [0]
    way = FasterWay(*ways(clock, 2e-5, 1e-5, calls), lambda: state[0])
    for _ in range(40):
        way(1)
    assert way.is_eager
    state[0] = 1
    assert way(1) == "compiled"


def test_an_error_leaves_the_choice_as_it_was(clock):
    def fails(x):
        raise ValueError(x)

    way = FasterWay(fails, fails, lambda: 0)
    for _ in range(40):
        with pytest.raises(ValueError, match="3"):
            way(3)
    assert way._times == [math.inf, math.inf]


@pytest.mark.filterwarnings("ignore:.* runs in parts")
def test_a_jitted_function_gives_the_same_in_both_ways(monkeypatch):
    monkeypatch.setenv("TNP_CHECK", "0")
    log = []

    def f(x, n=2):
        log.append(memoryview(x).nbytes)
        return np.sin(x) * n + np.cos(x)

    jitted = tnp.jit(f)
    jitted(np.ones(2))
    for _ in range(50):
        np.testing.assert_allclose(jitted(np.ones(2)), f(np.ones(2)))
        np.testing.assert_allclose(jitted(np.ones(4), n=1), f(np.ones(4), 1))
    assert log == [16] + [16, 16, 32, 32] * 50
    with pytest.raises(TypeError):
        jitted([1])


def test_programs_that_depend_on_values_run_in_the_faster_way(monkeypatch):
    monkeypatch.setenv("TNP_CHECK", "0")

    def f(x, log):
        log.append(len(x))
        if (x > 100).any():
            log.append("large")
        if (x < -100).any():
            log.append("small")
        return np.maximum(x, 1.5)

    jitted = tnp.jit(f)
    log, expected = [], []
    for i in range(60):  # other values each time, so that they are asked for before the programs
        for x in (np.arange(4.0), np.arange(6.0) - (i % 2), np.arange(4.0, dtype=np.float32)):
            x = x + 200 * (i % 3 - 1)
            np.testing.assert_array_equal(jitted(x, log), f(x, expected))
    assert log == expected
    assert "which takes less time" in str(tnp.explain(jitted))


def test_calls_that_run_eagerly_ask_for_no_guards(clock):
    calls, chosen = [], []
    way = FasterWay(*ways(clock, 2e-5, 1e-5, calls), lambda: 0, chosen=lambda: chosen.append(way.is_eager))
    for _ in range(60):
        way(1)
    assert chosen == [True]
    run = way.direct()
    others = [100] * (WATCHED - 1)  # which are not timed
    for size in (1, *others, 100, 100, 1, *others, 100, 100):
        assert run(size) == "eager"
    assert way.is_eager  # three in a row are other arguments
    run(100)
    assert chosen == [True, False]
    assert way(100) == "compiled"


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_a_jitted_function_whose_calls_run_eagerly(monkeypatch):
    monkeypatch.setenv("TNP_CHECK", "0")
    monkeypatch.setattr(GuardedWay, "_timed", eager_takes_less_time)
    log = []

    def f(x, *, n=2):
        log.append(memoryview(x).nbytes)
        return np.sin(x) * n

    jitted = tnp.jit(f)
    for _ in range(60):
        np.testing.assert_allclose(jitted(np.ones(2)), f(np.ones(2)))
    assert "for now they run eagerly" in str(tnp.explain(jitted))
    misses = tnp.cache_info(jitted).misses
    for x in (np.ones(3), np.ones((2, 2), np.float32)):
        np.testing.assert_array_equal(jitted(x, n=3), f(x, n=3))
    assert tnp.cache_info(jitted).misses == misses
    with pytest.raises(TypeError, match="positional argument"):
        jitted(np.ones(2), 3)
    with pytest.raises(TypeError, match="bytes-like"):
        jitted([1])
    assert log == [16] * 120 + [24, 24, 16, 16]


@pytest.mark.parametrize("options", [{"strict": True}, {"executors": ["llvm"]}, {"cudagraphs": True}], ids=str)
def test_functions_whose_way_the_user_chose_always_run_compiled(options, monkeypatch):
    monkeypatch.setenv("TNP_CHECK", "0")
    monkeypatch.setattr(faster_way.FasterWay, "__call__", lambda self, *values: pytest.fail("there is no choice"))
    jitted = tnp.jit(lambda x: x + 1, **options)
    for _ in range(40):
        jitted(np.ones(2))
    assert tnp.cache_info(jitted).hits == 39


def a_way_of_short_calls(clock, compiled, eager, calls, is_for=lambda values: True):
    chosen = []
    two = ways(clock, compiled, eager, calls)
    options = {"behind_guards": lambda f: lambda *v: f(*v) if is_for(v) else MISS, "too_long": lambda: faster_way.SHORT}
    way = GuardedWay(*two, lambda: None, lambda: chosen.append(True), **options)
    return way, chosen


def test_short_calls_of_a_whole_program_run_eagerly_if_that_takes_less_time(clock):
    calls = []
    way, chosen = a_way_of_short_calls(clock, 2e-5, 1e-5, calls)
    for _ in range(60):
        way(1)
    assert way.is_eager and chosen == [True]
    assert way.direct()(1) == "eager"


@pytest.mark.parametrize(("compiled", "eager"), [(2 * faster_way.SHORT, 1e-5), (1e-5, 2e-5), (1e-5, 1e-5)])
def test_other_calls_of_a_whole_program_run_compiled(clock, compiled, eager):
    calls = []
    way, chosen = a_way_of_short_calls(clock, compiled, eager, calls)
    for _ in range(90):
        way.beside_others()(1)
    assert not way.is_eager and chosen
    assert ("eager" in calls) == (compiled < faster_way.SHORT)
    assert set(calls[-30:]) == {"compiled"}


@pytest.mark.parametrize("better", [0, 3])
def test_a_better_program_is_waited_for_before_calls_run_eagerly(clock, better):
    calls, asked = [], []

    def has_better(eager):
        asked.append(eager)
        return len(asked) <= better

    def behind_guards(f):
        return f

    way = GuardedWay(
        *ways(clock, 2e-5, 1e-5, calls),
        lambda: 0,
        lambda: None,
        behind_guards=behind_guards,
        too_long=lambda: 1.0,
        has_better=has_better,
    )
    for _ in range(300):
        way(1)
    assert way.is_eager and len(asked) == better + 1
    assert asked == pytest.approx([1e-5] * len(asked))


@pytest.mark.parametrize("ratio", [0.5, 0.9, 1.1, 1.9])
def test_ways_that_take_about_as_long_are_timed_more_often(clock, ratio):
    calls = []
    way, _ = a_way_of_short_calls(clock, 1e-4, ratio * 1e-4, calls)
    while way._left >= 0 and not way.is_eager:
        way.beside_others()(1)
    assert way.is_eager == (ratio < 1)
    enough = faster_way.TIMED_IF_CLOSE if abs(ratio - 1) < 0.2 else faster_way.TIMED
    assert calls.count("eager") == enough


def test_eager_calls_beside_programs_of_values_are_timed_without_guards():
    """They need none."""
    jitted = tnp.jit(lambda x, names: x * len(f"{x.sum():.1f}") if names else x)
    for _ in range(3):
        assert_same(jitted(np.ones(3), "abc"), np.ones(3) * 3)
    (entry,) = (e for e in jitted._entries if e.guard is not None)
    assert type(entry.way) is GuardedWay and entry.way._eagerly is jitted.__tnp_function__


def test_calls_that_a_program_is_not_for_do_not_count(clock):
    calls = []
    way, _ = a_way_of_short_calls(clock, 2e-5, 1e-5, calls, is_for=lambda values: False)
    assert all(way(1) in ("compiled", MISS) for _ in range(60))
    assert not way.is_eager


def test_a_function_with_several_programs(monkeypatch):
    monkeypatch.setenv("TNP_CHECK", "0")
    monkeypatch.setattr(GuardedWay, "_timed", eager_takes_less_time)

    def f(x, *, n=2):
        return np.sin(x) * n

    jitted = tnp.jit(f)
    kinds = (np.ones(2), np.ones((2, 2), np.float32))
    for _ in range(60):
        for x in kinds:
            np.testing.assert_allclose(jitted(x, n=3), f(x, n=3), rtol=1e-6)
    assert str(tnp.explain(jitted)).count("for now they run eagerly") == 2
    info = tnp.cache_info(jitted)
    for x in kinds:
        np.testing.assert_array_equal(jitted(x=x), f(x))
        np.testing.assert_array_equal(jitted(x), f(x))
    np.testing.assert_array_equal(jitted(np.ones(3)), f(np.ones(3)))
    assert tnp.cache_info(jitted).misses == info.misses
    with pytest.raises(TypeError, match="positional argument"):
        jitted(np.ones(2), 3)


def test_calls_of_a_module_with_gradients_and_without_are_not_one_choice(clock):
    torch = pytest.importorskip("torch")
    calls = []
    way = FasterWayOfAModule(*ways(clock, 2e-5, 1e-5, calls), lambda: 0)
    for _ in range(60):
        way(1)
    assert not way.is_eager  # the backward pass is not timed and may be faster
    with torch.no_grad():
        for _ in range(60):
            way(1)
        assert way.is_eager
        assert set(calls[-30:]) == {"eager"}
    way(1)
    assert calls[-1] == "compiled"
    slow = FasterWayOfAModule(*ways(clock, 1e-4, 1e-5, calls), lambda: 0)
    for _ in range(60):
        slow(1)
    assert slow.is_eager


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_a_module_whose_program_depends_on_values_runs_eagerly_if_that_takes_less_time(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("TNP_CHECK", "0")

    class Stops(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, x):
            for _ in range(8):
                x = self.linear(x)
                if x.abs().max().item() > 1e6:
                    break
            return x

    module, x = Stops(), torch.ones(2, 3)
    jitted = tnp.jit(module)
    for grad in (False, True):
        with torch.set_grad_enabled(grad):
            for _ in range(40):
                y = jitted(x)
                assert y.requires_grad is grad
                torch.testing.assert_close(y, module(x))


def test_calls_of_several_kinds_are_told_apart_by_guards(monkeypatch):
    monkeypatch.setenv("TNP_CHECK", "0")
    jitted = tnp.jit(lambda x: np.sqrt(x) + np.cos(x) * 2)
    kinds = (np.ones(2), np.ones((2, 2), np.float32), np.ones((3, 1, 2)))
    for x in kinds:
        jitted(x)
    ways_of_kinds = [(e.way, e) for e in jitted._entries]
    assert len(ways_of_kinds) == 3
    for way, entry in ways_of_kinds:
        valid = [way._is_for((x,)) for x in kinds]
        assert valid == [entry.prologue.first_failure((x,)) is None for x in kinds]
        assert sum(valid) == 1


def writes_and_may_raise(x):
    x += 1
    if x.min() <= -1:
        raise ValueError(f"{x.min()} is too low")
    x[0] = 7
    return x


def test_an_error_of_a_call_that_ran_eagerly_is_its_own(monkeypatch):
    """Such a call has written to its arguments, so it does not run again."""
    monkeypatch.setenv("TNP_CHECK", "0")
    jitted = tnp.jit(writes_and_may_raise)
    rng = np.random.default_rng(0)
    for k in range(60):
        x = rng.standard_normal(60 + k % 3)
        mine, found = x.copy(), []
        for function, array in ((writes_and_may_raise, x), (jitted, mine)):
            try:
                found.append(repr(function(array)))
            except ValueError as error:
                found.append(repr(error))
        assert found[0] == found[1]
        np.testing.assert_array_equal(mine, x)


#: what calls of one form have
FORM = SimpleNamespace(last_resort=None, left_out=LeftOut())


def test_a_program_for_one_size_that_few_calls_come_to_keeps_no_guards_alive():
    """Calls of all other sizes take less time eagerly."""
    entries = []
    for is_for_any_size, is_eager, is_measured in ((False, False, False), (True, True, True)):
        way = GuardedWay(None, None, lambda: None, lambda: None, behind_guards=lambda f: f, too_long=lambda: 1.0)
        way.is_eager, way.is_measured = is_eager, is_measured
        entries.append(SimpleNamespace(form=FORM, way=way, run=None, points=None, is_for_any_size=is_for_any_size))
    assert eager_ways(FORM, entries) == [entries[1].way]
    entries[0].way.is_measured = True
    assert eager_ways(FORM, entries) == []


def test_a_way_that_too_few_calls_come_to_is_not_measured(clock):
    calls = []

    def timed(name, seconds):
        def run(size):
            calls.append(name)
            clock.now += seconds
            return MISS if size == 0 else name

        return run

    way = GuardedWay(
        timed("compiled", 2.0), timed("eager", 1.0), lambda: None, lambda: calls.append("chosen"),
        behind_guards=lambda f: f, too_long=lambda: 10.0,
    )  # fmt: skip
    for _ in range(faster_way.WARM + faster_way.MISSES):
        way(0)
    assert not way.is_eager and not way.is_measured and calls[-1] == "chosen"


class ClockThatSteps:
    """Time that passes whenever somebody looks."""

    now = step = 0.0

    def perf_counter(self):
        self.now += self.step
        return self.now


def test_programs_that_no_call_comes_to_any_longer_keep_no_guards_alive(monkeypatch):
    """Calls of theirs that take longer are found by that."""
    clock = ClockThatSteps()
    monkeypatch.setenv("TNP_CHECK", "0")
    monkeypatch.setattr(faster_way, "time", clock)

    def timed(self, *values):
        self._limit = 1.0
        return eager_takes_less_time(self, *values)

    monkeypatch.setattr(GuardedWay, "_timed", timed)

    def f(x):
        return np.sin(x) * 2

    def misses_of(*args):
        before = tnp.cache_info(jitted).misses
        np.testing.assert_allclose(jitted(*args), f(*args), rtol=1e-6)
        return tnp.cache_info(jitted).misses - before

    jitted = tnp.jit(f)
    often, seldom = np.ones(2), np.ones((2, 2), np.float32)
    assert misses_of(seldom) == misses_of(often) == 1
    assert misses_of(1.5) == 1  # guards are asked
    for _ in range(faster_way.WARM + WATCHED * (ALONE + 1)):
        jitted(often)
    assert misses_of([2.5, 3.5]) == 0
    for _ in range(WATCHED):
        jitted(seldom)
    assert misses_of([2.5, 3.5]) == 0
    for _ in range(WATCHED):  # every WATCHED-th call is timed
        clock.step = 10.0
        jitted(seldom), jitted(seldom)
        clock.step = 0.0
        if misses_of([2.5, 3.5]):
            break
    else:
        pytest.fail("no guard is asked")
    for _ in range(WATCHED * 2 * (ALONE + 1)):
        jitted(often)
        jitted(seldom)
    assert misses_of([2.5]) == 0


def test_programs_that_calls_come_to_are_not_left_out():
    left_out = LeftOut()
    ways = [
        GuardedWay(lambda x: x, None, lambda: None, lambda: None, behind_guards=lambda f: f, too_long=lambda: 1.0)
        for _ in range(2)
    ]
    for way in ways:
        way.is_measured = False
    for k in range(3 * ALONE):
        ways[k % 2]._left -= 1
        assert not left_out.note(ways)
    assert [left_out.note(ways) for _ in range(ALONE - 1)] == [False] * (ALONE - 2) + [True]
    assert all(left_out.has(w) for w in ways) and not left_out.has(None)
    ways[0].is_measured = True
    assert not left_out.has(ways[0])
    left_out.forget()
    assert not left_out.has(ways[1])
    assert [left_out.note(ways) for _ in range(2 * ALONE)].index(True) == 2 * ALONE - 1


def test_a_program_that_calls_come_to_later_is_timed_after_all(clock):
    calls, chosen = [], []
    misses = True
    compiled, eager = ways(clock, 2e-5, 1e-5, calls)
    way = GuardedWay(
        lambda x: MISS if misses else compiled(x), eager, lambda: None, lambda: chosen.append(True),
        behind_guards=lambda f: lambda *v: MISS if misses else f(*v), too_long=lambda: 1.0,
    )  # fmt: skip
    while way._left >= 0:
        assert way(1) is MISS
    run = way.beside_others(noted=lambda: None)
    assert run(1) is MISS
    misses = False
    before = way.progress
    for _ in range(faster_way.WARM):
        assert run(1) == "compiled"
        assert way.progress != before
    for _ in range(60):
        way(1)
    assert way.is_eager and chosen


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_guards_before_calls_that_cannot_be_compiled_are_timed_as_well(monkeypatch):
    monkeypatch.setenv("TNP_CHECK", "0")
    monkeypatch.setattr(GuardedWay, "_timed", eager_takes_less_time)
    jitted = tnp.jit(lambda x: (id(x), x.sum())[1])
    for _ in range(faster_way.WARM + 2):
        assert jitted(np.ones(2)) == 2
    (entry,) = jitted._entries
    assert entry.eager_reason and entry.way.is_eager
    misses = tnp.cache_info(jitted).misses
    assert jitted(np.ones((2, 2), np.float32)) == 4
    assert tnp.cache_info(jitted).misses == misses


def test_a_call_that_takes_somewhat_longer_may_be_of_a_program_that_was_left_out(clock):
    asked = []

    def is_other(args, kwargs):
        asked.append(args)
        return args == (2.5,)

    way, _ = a_way_of_short_calls(clock, 2e-4, 1e-4, [])
    for _ in range(60):
        way(1)
    assert way.is_eager
    turns = way.turns(way._eagerly, is_other=is_other)
    run = turns.call or (lambda *values: next(turns.ways)(*values))
    for size in (1, 2, 2.5, 10):
        for _ in range(WATCHED * 2 * faster_way.SUSPECTED):
            run(size)
            if size != 10 and not way.is_eager:
                pytest.fail("such calls are no reason to compile")
    assert (1,) not in asked and asked.count((2,)) == faster_way.SUSPECTED and (2.5,) not in asked
    assert asked.count((10,)) >= faster_way.SLOW and not way.is_eager


def test_guards_before_eager_calls_are_compiled_once(clock):
    calls, compiled, noted = [], [], []
    way, _ = a_way_of_short_calls(clock, 2e-5, 1e-5, calls)
    way._behind_guards = lambda f: compiled.append(f) or f
    for _ in range(60):
        way(1)
    before = len(compiled)
    for k in range(3):
        run = way.beside_others(noted=lambda k=k: noted.append(k))
        for _ in range(WATCHED + 1):
            assert run(1) == "eager"
    assert len(compiled) == before + 1 and set(noted) == {0, 1, 2}
    way.beside_others()(1)
    way._start_over()
    assert way.beside_others() is way


def test_what_is_never_measured_costs_nothing(monkeypatch):
    """Calls go to the program itself, from the first one on."""
    monkeypatch.setenv("TNP_TRY_EAGER", "0")
    jitted = tnp.jit(lambda x: x * 2 + 1)
    jitted(np.ones(3))
    (form,) = jitted.forms()
    runs = form.runs
    assert runs == (jitted._entries[0].run,)
    for _ in range(3 * faster_way.WARM):
        jitted(np.ones(3))
    assert form.runs is runs


def test_slow_calls_in_a_row_are_asked_to_be_slower_each_time(clock):
    calls = []
    way = FasterWay(*ways(clock, 2e-5, 1e-5, calls), lambda: 0)
    limits = []
    for _ in range(3):
        for _ in range(60):
            way(1)
        assert way.is_eager
        limits.append(way.limit)
        for _ in range(3):
            way._was_slow()
        assert not way.is_eager
    assert limits == sorted(set(limits)), "the same slow calls would be found again and again"
    for _ in range(60):
        way(1)
    for _ in range(3):
        way._was_slow()
    for _ in range(60):
        way(1)
    assert not way.is_eager, "calls that are now short and now long run compiled"
