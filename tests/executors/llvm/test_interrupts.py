"""Ctrl-C ends what runs long, between two iterations of a loop; what looks for it changes nothing else."""

import os
import signal
import threading
import time
import warnings
from random import Random

import numpy as np
import pytest

import tnp
from tests.fuzzing import define
from tests.fuzzing.loops import compare_loops, random_loops
from tnp.executors.llvm import target
from tnp.executors.llvm.program import interrupts
from tnp.runtime import engine

try:
    engine.target()
except engine.Unavailable as unavailable:
    pytest.skip(str(unavailable), allow_module_level=True)

EVERYTHING = ["llvm[everything]", "numpy"]
#: iterations that nobody waits for
MANY = 10**13

needs_signals = pytest.mark.skipif(os.name == "nt", reason="signals cannot be sent to the process itself")


class Interrupted:
    """Ctrl-C after ``seconds`` of the process's time, if the system is not to be waited for. ``took``: how much of it goes by until it is heard."""

    def __init__(self, seconds=0.1):
        self.seconds = seconds

    def __enter__(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        self.before = signal.signal(signal.SIGPROF, interrupt)
        self.start = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, self.seconds)
        return self

    def __exit__(self, kind, *_):
        self.took = time.process_time() - self.start - self.seconds
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, self.before)
        assert kind is KeyboardInterrupt
        return True


def single(x, n):
    for _ in range(n):
        x[0] += 1
        x[1] += 1


def backwards(x, n):
    for _ in range(n, 0, -3):
        x[0] += 1
        x[1] += 1


def of_rows(x, n):
    for _ in range(n):
        x[:] = x + 1


def nested(x, n):
    for _ in range(n):
        for j in range(len(x)):
            x[j] += 1


def nested_unknown(x, n):
    m = int(x[-1]) % 7 + 3
    for i in range(n):
        for j in range(i % m):
            x[j] += 1


def of_loops_without_iterations(x, n):
    for i in range(n):
        x[0] += 1
        for j in range(i, i - 2):
            x[j] = 0


def counting(x, n):
    i = 0
    while i < n:
        x[0] += 1
        x[1] += 1
        i += 1


def with_a_branch(x, n):
    for i in range(n):
        if x[2] > i:
            x[0] += 2
        else:
            x[0] += 1
        x[1] += 1


@needs_signals
@pytest.mark.parametrize(
    "f, size",
    [
        (single, 4), (backwards, 4), (of_rows, 1000), (nested, 8), (nested, 200_000), (nested_unknown, 20), (of_loops_without_iterations, 4),
        (counting, 4), (with_a_branch, 4),
    ],
)  # fmt: skip
def test_loops_end_soon(f, size):
    jitted = tnp.jit(f, executors=EVERYTHING)
    jitted(np.zeros(size), 2)
    x = np.zeros(size)
    with Interrupted() as interrupted:
        jitted(x, MANY)
    assert interrupted.took < 0.5
    assert "for" not in _program(jitted) and "while" not in _program(jitted)
    assert x[0] > 0
    if f in (single, backwards, counting):
        assert x[0] == x[1] < MANY / 3
    if f in (nested, of_rows):
        assert set(np.unique(x)) <= {x[0], x[0] - 1}
        assert f is nested or len(np.unique(x)) == 1


def _program(jitted):
    return str(tnp.last_traces(jitted)[-1]).split("def computation", 1)[1].split("#", 1)[0]


@needs_signals
def test_iterations_on_several_threads_end_soon():
    def f(x, n):
        for i in range(x.shape[0]):
            s = 0.0
            for _ in range(n):
                s = s * 0.5 + x[i, 1]
            x[i, 0] = s

    jitted = tnp.jit(f, executors=EVERYTHING)
    jitted(np.ones((64, 2)), 2)
    x = np.ones((64, 2))
    with Interrupted() as interrupted:
        jitted(x, MANY)
    assert interrupted.took < 1  # of both threads
    assert (x == 1).all()


@needs_signals
def test_a_long_kernel_ends_soon(monkeypatch):
    def f(x):
        for _ in range(4):
            x = np.sin(x) * np.exp(-x) + np.log1p(x * x)
        return x.sum(), x

    monkeypatch.setattr(target, "POLLED_COST", 1 << 20)
    monkeypatch.setattr(target, "POLL_COST", 1 << 20)
    x = np.random.default_rng(0).random(1_000_000)
    jitted = tnp.jit(f)
    total, y = jitted(x)
    start = time.process_time()
    same = jitted(x)
    whole = time.process_time() - start
    assert same[0] == total and np.array_equal(same[1], y)
    assert np.allclose(y, f(x)[1])
    with Interrupted(whole / 8) as interrupted:
        for _ in range(20):
            jitted(x)
    assert interrupted.took < 0.5


def test_a_kernel_that_changes_an_argument_goes_on_to_its_end(monkeypatch):
    monkeypatch.setattr(target, "POLLED_COST", 1 << 10)
    texts = []
    compile_ir = engine.compile_ir
    monkeypatch.setattr(engine, "compile_ir", lambda ir, *args: texts.append(ir) or compile_ir(ir, *args))
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")

    def change(x):
        x += np.sin(x)

    def make(x):
        return x + np.sin(x)

    for f, polls in ((make, True), (change, False)):
        texts.clear()
        tnp.jit(f)(np.ones(100_000))
        assert any("@tnp_poll" in text for text in texts) == polls


@needs_signals
def test_another_thread_is_not_asked():
    """Only the main thread learns of signals; others run to their ends, without waiting for the interpreter."""
    jitted = tnp.jit(single, executors=EVERYTHING)
    jitted(np.zeros(4), 2)
    x = np.zeros(4)
    done = threading.Event()
    threading.Thread(target=lambda: (jitted(x, 200_000_000), done.set()), daemon=True).start()
    with Interrupted(0.05):
        while not done.wait(0.01):
            pass
        raise KeyboardInterrupt  # it was quick
    assert done.wait(60)
    assert x[0] == x[1] == 200_000_000


# What asks


@pytest.fixture
def asks_often(monkeypatch):
    """Nearly every loop is cut into stretches of a few iterations, or counts them."""
    monkeypatch.setattr(target, "POLL_INSTRUCTIONS", 12)
    monkeypatch.setattr(interrupts, "LATE", 0)


@pytest.mark.parametrize("seed", range(6))
def test_random_loops_that_ask_often(asks_often, seed):
    text = random_loops(Random(1000 + seed))
    program = define(text)
    jitted = tnp.jit(program, executors=EVERYTHING)
    compare_loops(program, jitted, seed, (5, 7, 0), text)


@pytest.mark.parametrize("step", [1, 2, 7, -1, -3])
@pytest.mark.parametrize("begin", [0, 5, -3, 2**40, -(2**40)])
def test_all_iterations_come(asks_often, begin, step):
    def f(x, n):
        total, iterations = x[0], 0
        for i in range(begin, n, step):
            total = total * 3 + i
            iterations += 1
            for _ in range(i % 3):
                total += 1
        return total, iterations

    def single(x, n):
        total = x[0]
        for i in range(begin, n, step):
            total = total * 3 + i
        return total

    for function in (f, single):
        jitted = tnp.jit(function, executors=EVERYTHING)
        for count in (0, 1, 2, 9, 10, 11, 40, 41):
            n = begin + step * count + (1 if count == 9 else 0)
            x = np.array([1], np.int64)
            with np.errstate(over="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                assert jitted(x, n) == function(x, n)


def test_loops_that_are_soon_over_do_not_ask():
    def text(f, *args):
        texts = []
        compile_ir = engine.compile_ir
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "compile_ir", lambda ir, *rest: texts.append(ir) or compile_ir(ir, *rest))
            patch.setenv("TNP_DISABLE_CACHE", "1")
            tnp.jit(f, executors=EVERYTHING)(*args)
        return "\n".join(texts)

    def known(x):
        for i in range(1, len(x)):
            for j in range(i):
                x[i] += x[j] * 0.5

    def unknown(x, n):
        for i in range(n):
            x[0] += x[1] * i

    assert "@tnp_poll" not in text(known, np.ones(300))
    asking = text(unknown, np.ones(300), 200)
    assert "@tnp_poll" in asking and "stretch" in asking


def test_loops_whose_lengths_nobody_knows_inside_of_others():
    """What the inner ones may come to is more than 64 bits count."""

    def f(m, k, n):
        s = 0.0
        for _ in range(2):
            for i in range(n):
                for _ in range(i):
                    s += m[k[i], 1]
        return s

    jitted = tnp.jit(f, executors=EVERYTHING)
    m, k = np.arange(49.0).reshape(7, 7), np.array([0, 3, 2, 3, 1, 1, 0])
    for n in (5, 0, 7, 1):
        assert jitted(m, k, n) == f(m, k, n)
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 7"):
        jitted(m, k, 8)
