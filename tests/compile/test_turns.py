"""Eager calls, made by a builtin or by Python. Every eighth one is timed."""

import gc
import threading
import traceback
import types
import weakref

import numpy as np
import pytest

import tnp
from tnp.compile import turns
from tnp.compile.faster_way import WATCHED, FasterWay
from tnp.runtime.engine import Unavailable


def unavailable(name):
    raise Unavailable("the test has none")


@pytest.fixture(params=["builtin", "Python"])
def way(request, monkeypatch):
    """Who takes turns. torch may have been imported by another test."""
    monkeypatch.setattr(turns, "sys", types.SimpleNamespace(modules={}))
    if request.param == "Python":
        monkeypatch.setattr(turns, "native_address", unavailable)
    else:
        pytest.importorskip("llvmlite")
    return request.param


@pytest.fixture
def eagerly(way, monkeypatch):
    """Makes a jitted function whose calls run eagerly."""

    def chosen(self, *values):
        self._choose(True)
        return self._eagerly(*values)

    def make(f, *args):
        with monkeypatch.context() as m:
            m.setattr(FasterWay, "_timed", chosen)
            m.setattr(FasterWay, "__init__", _without_warm_calls(FasterWay.__init__))
            jitted = tnp.jit(f)
            for _ in range(3):
                jitted(*args)
        assert "for now they run eagerly" in str(tnp.explain(jitted))
        is_builtin = isinstance(jitted.func, types.BuiltinFunctionType)
        assert is_builtin == (way == "builtin")
        return jitted

    return make


def _without_warm_calls(init):
    def made(self, *args, **kwargs):
        init(self, *args, **kwargs)
        self._left = 0

    return made


def calls_of(taken, n):
    return [(taken.call or next(taken.ways))() for _ in range(n)]


def test_one_call_in_so_many_is_timed(way):
    taken = turns.take_turns(lambda: "plain", lambda: "timed", 4)
    assert calls_of(taken, 9) == ["timed", *["plain"] * 3, "timed", *["plain"] * 3, "timed"]
    taken.time_every(1)
    assert calls_of(taken, 3) == ["timed"] * 3
    taken.time_every(3)
    assert calls_of(taken, 6) == ["plain", "plain", "timed"] * 2


def test_arguments_by_name_and_defaults(eagerly):
    def f(x, *rest, scale=2.0, **others):
        return x * scale, rest, sorted(others)

    f = eagerly(f, np.ones(3))
    x = np.arange(3.0)
    for _ in range(2 * WATCHED):
        found = f(x, 1, scale=3.0, b=1, a=2)
        assert (found[0] == x * 3).all()
        assert found[1:] == ((1,), ["a", "b"])
        assert (f(x)[0] == x * 2).all()


def test_calls_are_counted(eagerly):
    f = eagerly(lambda x: x + 1, np.ones(3))
    before = tnp.cache_info(f).hits
    for _ in range(20):
        f(np.ones(3))
    assert tnp.cache_info(f).hits == before + 20
    f.clear()
    assert tnp.cache_info(f).hits == 0
    f(np.ones(3))
    f(np.ones(3))
    assert tnp.cache_info(f).hits == 1


def test_errors_have_no_frames_of_tnp(eagerly):
    def f(x, n):
        return x.reshape(n)

    f = eagerly(f, np.ones(6), 6)
    for _ in range(2 * WATCHED):
        with pytest.raises(ValueError, match="cannot reshape") as caught:
            f(np.ones(6), 5)
        names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert names == ["test_errors_have_no_frames_of_tnp", "f"]
        with pytest.raises(TypeError, match=r"f\(\) missing 1 required positional argument: 'n'"):
            f(np.ones(6))


def test_a_jitted_function_that_runs_eagerly_can_be_freed(eagerly):
    class Held:
        pass

    def made():
        held = Held()

        def f(x):
            return x + (held is not None)

        f = eagerly(f, np.ones(3))
        f.__dict__["itself"] = [f]
        return weakref.ref(held)

    known = made()
    gc.collect()
    assert known() is None


def test_a_function_that_replaces_its_own_dispatcher(eagerly):
    def f(x):
        if x.size == 5:
            made[0].clear()
        return x + 1

    made = [eagerly(f, np.ones(3))]
    for _ in range(3):
        assert (made[0](np.ones(5)) == 2).all()


def test_calls_on_several_threads(eagerly):
    f = eagerly(lambda x: x + 1, np.ones(3))
    before, wrong = tnp.cache_info(f).hits, []

    def run():
        for i in range(500):
            if f(np.full(3, i))[0] != i + 1:
                wrong.append(i)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    if isinstance(f.func, types.BuiltinFunctionType):  # which runs without another thread in between
        assert tnp.cache_info(f).hits == before + 2000
