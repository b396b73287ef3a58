"""Forked children have no locks that nobody will release, and nothing half-written; what threads do at once leaves nothing behind in the process."""

import gc
import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import tnp
from tnp.runtime import engine, locks
from tnp.runtime.gc_tuning import relaxed_gc
from tnp.runtime.quiet import quiet

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),  # Python 3.12, of forks
]


def in_child(function):
    """Whether ``function()`` is true in a forked child; a child that hangs is ended."""
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)
        try:
            os._exit(0 if function() else 1)
        finally:
            os._exit(2)
    return os.waitpid(pid, 0)[1] == 0


class Holding:
    """A thread that enters a context, and stays there until it is told to leave."""

    def __init__(self, context):
        self.entered, self.leave = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._hold, args=(context,), daemon=True)

    def _hold(self, context):
        with context:
            self.entered.set()
            assert self.leave.wait(60)

    def __enter__(self):
        self.thread.start()
        assert self.entered.wait(60)
        return self

    def __exit__(self, *_):
        self.leave.set()
        self.thread.join()


def test_a_lock_that_another_thread_holds_is_free_in_a_child():
    lock = locks.lock()
    with Holding(lock):
        assert not lock.acquire(blocking=False)
        assert in_child(lambda: lock.acquire(blocking=False))


def test_a_lock_that_the_forking_thread_holds_stays_its_own():
    lock, taken = locks.lock(), []

    def is_whole():
        other = threading.Thread(target=lambda: taken.append(lock.acquire(blocking=False)))
        other.start()
        other.join()
        lock.release()
        another = threading.Thread(target=lambda: taken.append(lock.acquire(blocking=False)))
        another.start()
        another.join()
        return taken == [False, True]

    lock.acquire()
    assert in_child(is_whole)
    lock.release()


def test_nobody_forks_while_another_thread_has_a_lock_of_forks(monkeypatch):
    monkeypatch.setattr(locks, "_of_forks", locks._of_forks.copy())
    lock, forked = locks.lock_of_forks(), []
    with Holding(lock):
        forking = threading.Thread(target=lambda: forked.append(in_child(lambda: lock.acquire(blocking=False))))
        forking.start()
        forking.join(0.2)
        assert forking.is_alive()
    forking.join(60)
    assert forked == [True]


def test_threads_may_fork_at_once():
    forked = []
    forking = [threading.Thread(target=lambda: forked.append(in_child(lambda: True)), daemon=True) for _ in range(8)]
    for thread in forking:
        thread.start()
    for thread in forking:
        thread.join(60)
    assert forked == [True] * 8


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")  # os.fork acts on the outside
def test_a_function_may_fork_while_it_is_traced():
    children = []

    class Forks:
        @property
        def factor(self):
            if not children:
                children.append(os.fork())
            return 2

    forks = Forks()

    @tnp.jit
    def f(x):
        return np.sin(x) * forks.factor

    x = np.ones(3)
    code = 1
    try:
        result = f(x)
        if children == [0]:
            signal.alarm(30)
            code = int(not (np.array_equal(result, np.sin(x) * 2) and np.array_equal(f(x), result)))
    finally:
        if children == [0]:
            os._exit(code)
    assert os.waitpid(children[0], 0)[1] == 0


def test_threads_compile_while_others_fork():
    """Also from the first call on, whose modules are imported then. By hand: ``python tests/fork_stress.py 16 300 100000``."""
    program = Path(__file__).with_name("fork_stress.py")
    environment = os.environ | {"TNP_DISABLE_CACHE": "1", "TNP_CHECK": "0"}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", str(program), "8", "1", "6"], env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    children, checks = map(int, ran.stdout.split())
    assert children and checks


# What is set for the whole process while threads do something


def test_a_child_collects_garbage_as_ever():
    before = gc.get_threshold()
    with Holding(relaxed_gc()):
        assert gc.get_threshold() != before
        assert in_child(lambda: gc.get_threshold() == before)
        with relaxed_gc():
            assert in_child(lambda: gc.get_threshold() == before)
    assert gc.get_threshold() == before


@pytest.mark.skipif(getattr(sys.flags, "context_aware_warnings", 0), reason="a thread's filters are its own")
def test_threads_that_are_quiet_leave_the_filters_as_they_were():
    before = list(warnings.filters)
    with Holding(quiet()) as first:
        with Holding(quiet()):
            with pytest.warns(UserWarning, match="heard"):
                warnings.warn("heard", stacklevel=1)
            with quiet():
                warnings.warn("not heard", stacklevel=1)
            first.leave.set()
            first.thread.join()
            assert in_child(lambda: warnings.filters == before)
            with pytest.warns(UserWarning, match="heard"):
                warnings.warn("heard", stacklevel=1)
        assert warnings.filters == before


def test_torch_compiles_only_while_threads_say_so():
    torch = pytest.importorskip("torch")
    from tnp.capture.libraries.torch import compiling

    class Saying:
        __enter__ = staticmethod(compiling.begin)

        def __exit__(self, *_):
            compiling.end()

    with Holding(Saying()) as first:
        with Holding(Saying()):
            first.leave.set()
            first.thread.join()
            assert torch.compiler.is_compiling()
            assert in_child(lambda: not torch.compiler.is_compiling())
        assert not torch.compiler.is_compiling()


def test_code_compiles_in_a_child_of_a_thread_that_has_llvm():
    made = 'define i64 @f() "tnp"="forked" {\n  ret i64 1\n}'
    with engine._lock:
        assert in_child(lambda: bool(engine.compile_ir(made, "forked").address("f")))
