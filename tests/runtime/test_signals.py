"""What a signal's handler raises is the caller's, wherever tnp was when it ran."""

import functools
import os
import signal

import numpy as np
import pytest

import tnp
from tnp.runtime import signals


class Late(BaseException):
    pass


class Handler:
    def __init__(self, kind):
        self.kind = kind

    def __call__(self, *_):
        raise self.kind("late")

    def method(self, *_):
        raise self.kind("late")


@pytest.fixture(params=[TimeoutError, Late])
def handler(request):
    """A class of errors, and a function that sends a signal whose handler raises one."""
    before = signal.signal(signal.SIGTERM, Handler(request.param))
    yield request.param
    signal.signal(signal.SIGTERM, before)


def send():
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.skipif(os.name == "nt", reason="signals cannot be sent to the process itself")
@pytest.mark.parametrize("place", ["tracing", "in a loop", "compiling"])
def test_while_a_call_is_compiled(handler, place, monkeypatch):
    sent = []

    def once(*args, original=None):
        if not sent:
            sent.append(place)
            send()
        return original(*args)

    name = {"tracing": "Tracer.call", "in a loop": "Tracer.operate"}.get(place)
    if name is not None:
        from tnp.capture.tracing.tracer import Tracer as owner

        method = name.split(".")[1]
    else:
        from tnp.compile import driver as owner

        method = "compile_trace"
    original = getattr(owner, method)
    monkeypatch.setattr(owner, method, lambda *a, **k: once(*a, original=functools.partial(original, **k)))

    @tnp.jit
    def f(x):
        first = x[0]
        for _ in range(1000):
            x = x * first
        return x

    with pytest.raises(handler, match="late"):
        f(np.ones(3))
    assert sent
    np.testing.assert_array_equal(f(np.ones(3)), np.ones(3))  # and nothing is kept of it
    assert tnp.cache_info(f).size == 1


@pytest.mark.parametrize("make", [lambda h: h, lambda h: h.method, lambda h: functools.partial(h.method, 1)])
def test_which_errors_are_a_handlers(make):
    handler = make(Handler(ValueError))
    before = signal.signal(signal.SIGTERM, handler)
    try:
        with pytest.raises(ValueError) as raised:
            handler(signal.SIGTERM, None)
        assert signals.of_handler(raised.value) is raised.value
        with pytest.raises(ValueError), signals.heard():
            raise RuntimeError from raised.value
        assert signals.of_handler(RuntimeError()) is None
    finally:
        signal.signal(signal.SIGTERM, before)
