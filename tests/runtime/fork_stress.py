"""Threads that compile and call, in a process that forks meanwhile; children compile and call, too. Run as a program: threads, seconds, how many children at most."""

import faulthandler
import os
import signal
import sys
import threading
import time

import numpy as np
import numpy.ma  # np.median imports it; a child that begins meanwhile would wait for ever, as Python keeps locks of imports
import numpy.testing  # it comes at its first use, too

import tnp

#: seconds after which who waits shows where, and ends
PATIENCE = 60
#: children that run at once
AT_ONCE = 4

X = np.linspace(0.1, 4.0, 50)


def chain(k):
    return lambda x: np.sqrt(x * k + 1) / (x + 1) - np.sin(x)


def loop(k):
    def f(x):
        y = x.copy()
        for i in range(1, len(y)):
            y[i] += y[i - 1] * (0.5 / k)
        return y

    return f


def searching(k):
    def f(x):
        n, total = 0, 0.0
        while total < k % 90:
            total += x[n]
            n += 1
        return total + n

    return f


def masked(k):
    def f(x):
        y = x.copy()
        y[y > 1] = k
        return y.sum(), np.median(y), np.argsort(y)[:3]

    return f


def gradient(k):
    return tnp.grad(lambda x: (np.cos(k * x) ** 2).sum())


MAKERS = (chain, loop, searching, masked, gradient)
#: what all threads, and the children, call
SHARED = [tnp.jit(make(3)) for make in MAKERS[:4]]


def check(k):
    """Compiles and calls a new function, and calls those that all share."""
    make = MAKERS[k % len(MAKERS)]
    f = make(k)
    if make is gradient:
        np.testing.assert_allclose(f(X), -2 * k * np.cos(k * X) * np.sin(k * X), atol=1e-9)
    else:
        same(tnp.jit(f)(X), f(X))
    for compiled, make in zip(SHARED, MAKERS):
        same(compiled(X), make(3)(X))


def same(found, wanted):
    for a, b in zip(found, wanted) if isinstance(wanted, tuple) else [(found, wanted)]:
        np.testing.assert_allclose(a, b, rtol=1e-12)


def child(k):
    """What a child does, which must end well within some seconds."""
    signal.alarm(PATIENCE)
    try:
        check(k)
        code = 0
    except BaseException as error:
        print("a child raised", repr(error), file=sys.stderr)
        code = 1
    finally:
        sys.stderr.flush()
        os._exit(code)


def fork(k):
    """The process id of a child."""
    return os.fork() or child(k)


def ended(pid):
    assert os.waitpid(pid, 0)[1] == 0, "a child failed"


def main(threads, seconds, children):
    faulthandler.register(signal.SIGALRM, chain=True)
    signal.alarm(int(seconds) + 2 * PATIENCE)
    end = time.monotonic() + seconds
    failures, checks = [], []

    def work(number):
        try:
            k = number
            while time.monotonic() < end:
                k += threads
                check(k)
                checks.append(k)
                if number == 1:  # not only the main thread forks
                    ended(fork(-k))
        except BaseException as error:
            failures.append(repr(error))
            raise

    workers = [threading.Thread(target=work, args=(i + 1,), daemon=True) for i in range(threads)]
    for worker in workers:
        worker.start()
    count, running = 0, []
    while time.monotonic() < end and count < children and not failures:
        running.append(fork(-1 - count))
        count += 1
        if len(running) > AT_ONCE:
            ended(running.pop(0))
    for pid in running:
        ended(pid)
    for worker in workers:
        worker.join()
    assert not failures, failures
    print(count, len(checks))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
