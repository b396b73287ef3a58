"""Parallel loops whose threads start late. The test stands in for an OpenMP runtime with two threads, and starts them itself."""

import ctypes
import time

import pytest

from tnp.runtime import threads

BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
NUMBER = ctypes.CFUNCTYPE(ctypes.c_int)
LOOP = ctypes.CFUNCTYPE(None, BODY, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Runtime:
    """What :mod:`tnp.runtime.threads` asks of a runtime. The second part of a loop begins before the first one, or ``late``: behind it."""

    def __init__(self):
        self.late = False
        self.number = 0
        self.parts = []
        self._functions = [
            PARALLEL(self._run),
            *(NUMBER(f) for f in (lambda: 2, lambda: 0, lambda: self.number, lambda: 2)),
        ]
        addresses = [ctypes.cast(f, ctypes.c_void_p).value for f in self._functions]
        self.entries = (ctypes.c_void_p * len(addresses))(*addresses)

    def _run(self, part, loop, count, flags):
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(part)
        for number in (0, 1) if self.late else (1, 0):
            self.number = number
            if number and self.late:
                time.sleep(0.001)
            run(loop)

    def _part(self, context, begin, end):
        self.parts.append((begin, end))

    def loop(self, n=10):
        """Runs a loop over ``n``. Says on how many threads."""
        self.parts.clear()
        LOOP(threads._compiled.address("tnp_parallel"))(BODY(self._part), None, n, 1)
        assert sorted(i for begin, end in self.parts for i in range(begin, end)) == list(range(n))
        return len(self.parts)


@pytest.fixture
def runtime():
    threads.ensure_runtime()
    state, made = threads._state, Runtime()
    before = [getattr(state, name) for name, _ in state._fields_]
    state.threads, state.running, state.runtime = 2, 0, ctypes.addressof(made.entries)
    state.alone = state.alone_before = 0
    yield made
    for (name, _), value in zip(state._fields_, before):
        setattr(state, name, value)


def test_threads_in_time_share_each_loop(runtime):
    assert [runtime.loop() for _ in range(6)] == [2] * 6


def test_loops_run_alone_after_threads_were_late(runtime):
    runtime.late = True
    assert [runtime.loop() for _ in range(15)] == [2, *[1] * 4, 2, *[1] * 8, 2]
    assert [runtime.loop(1_000) for _ in range(2)] == [2, 2]  # long ones are worth the wait


def test_threads_that_are_in_time_again(runtime):
    runtime.late = True
    assert runtime.loop() == 2
    runtime.late = False
    assert [runtime.loop() for _ in range(7)] == [*[1] * 4, 2, 2, 2]


def test_a_loop_alone_is_never_more_than_the_limit(runtime):
    threads._state.alone_before = threads.MOST_ALONE
    runtime.late = True
    runtime.loop()
    assert threads._state.alone == threads.MOST_ALONE
