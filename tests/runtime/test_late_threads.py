"""Parallel loops whose threads start late. The test stands in for an OpenMP runtime with two threads, and starts them itself."""

import ctypes
import time

import pytest

from tnp.runtime import threads

BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
NUMBER = ctypes.CFUNCTYPE(ctypes.c_int)
LOOP = ctypes.CFUNCTYPE(None, BODY, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)

#: milliseconds that one thread stays away
AWAY = 2


class Runtime:
    """What :mod:`tnp.runtime.threads` asks of a runtime. The threads work one after the other; the second is ``late`` or not."""

    def __init__(self):
        self.late = False
        self.number = 0
        self.calls = 0
        self._functions = [
            PARALLEL(self._run),
            *(NUMBER(f) for f in (lambda: 2, lambda: 0, lambda: self.number, lambda: 2)),
        ]
        addresses = [ctypes.cast(f, ctypes.c_void_p).value for f in self._functions]
        self.entries = (ctypes.c_void_p * len(addresses))(*addresses)

    def _run(self, work, loop, count, flags):
        self.calls += 1
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(work)
        for number in (0, 1) if self.late else (1, 0):
            self.number = number
            if number and self.late:
                time.sleep(AWAY * 1e-3)
            run(loop)

    def loop(self, n=10):
        """Runs a loop over ``n``. Says whether on several threads."""
        pieces, before = [], self.calls
        body = BODY(lambda context, begin, end: pieces.append((begin, end)))
        LOOP(threads._compiled.address("tnp_parallel"))(body, None, n, 1)
        assert sorted(i for begin, end in pieces for i in range(begin, end)) == list(range(n))
        return self.calls > before


@pytest.fixture
def runtime():
    threads.ensure_runtime()
    state, made = threads._state, Runtime()
    before = [getattr(state, name) for name, _ in state._fields_]
    state.threads, state.running, state.runtime = 2, 0, ctypes.addressof(made.entries)
    state.alone_until = 0
    yield made
    for (name, _), value in zip(state._fields_, before):
        setattr(state, name, value)


def seconds_alone():
    return max(threads._state.alone_until - time.monotonic_ns(), 0) * 1e-9


def test_threads_in_time_share_each_loop(runtime, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    runtime.late = True  # the calling thread takes everything before the other one comes, and nothing is lost
    for _ in range(6):
        threads._state.alone_until = 0  # as the test itself may be held up
        assert runtime.loop()


def test_loops_run_alone_after_threads_were_late(runtime):
    runtime.late = True
    assert runtime.loop()
    assert 0 < seconds_alone() <= threads.MOST_ALONE * 1e-9
    while seconds_alone() > 0.005:
        assert not runtime.loop()
    assert runtime.loop(1_000)  # long ones are worth the wait
    time.sleep(seconds_alone())
    assert runtime.loop()


def test_a_long_time_lost_is_no_longer_time_alone(runtime, monkeypatch):
    monkeypatch.setitem(globals(), "AWAY", 20)
    runtime.late = True
    runtime.loop()
    assert seconds_alone() <= threads.MOST_ALONE * 1e-9


def test_a_thread_takes_what_others_have_not_begun(runtime):
    """The second thread comes first here: it does its own part, and then the other one's."""
    for n in (2, 3, 10, 57, 511):
        threads._state.alone_until = 0
        assert runtime.loop(n)
