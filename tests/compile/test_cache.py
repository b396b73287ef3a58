"""Guards and the cache: when a program is used again, when not, and what explain says of it."""

import copy
import functools
import operator
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
import scipy.linalg

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.testing import assert_same

SCALE = 2.0
TABLE = np.arange(4.0)


def use_global(x):
    return x * SCALE + TABLE


@tnp.jit
def decorated(x):
    return x + 1


def in_a_thread(f, x):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(f, x).result()


def same(f, *args):
    """Calls ``f`` and its original; compares; returns the number of programs made so far."""
    expected = f.__tnp_function__(*args)
    actual = f(*args)
    np.testing.assert_array_equal(actual, expected)
    assert type(actual) is type(expected)
    return tnp.cache_info(f).misses


@pytest.mark.parametrize(
    ("first", "second", "programs"),
    [
        (np.ones(3), np.zeros(3), 1),
        (np.ones(3), np.ones(4), 2),
        (np.ones(3), np.ones((3, 1)), 2),
        (np.ones(3), np.ones(3, np.float32), 2),
        (np.ones((3, 2)), np.asfortranarray(np.ones((3, 2))), 2),
        (np.ones(6)[::2], np.ones(6)[::2], 1),
        (np.ones(6)[::2], np.ones(9)[::3], 2),
        (1, 7, 1),
        (1, 7.5, 2),
        (1, True, 2),
        (True, False, 2),
        (2.5, float("nan"), 1),
        (1j, 2j, 1),
        (np.float64(1), np.float64(2), 1),
        (np.float64(1), 1.0, 2),
        (np.float64(1), np.float32(1), 2),
        (np.float64(1), np.array(1.0), 2),
    ],
    ids=repr,
)
def test_what_makes_another_program(first, second, programs):
    f = tnp.jit(lambda x: np.add(x, x))
    same(f, first)
    assert same(f, second) == programs
    assert same(f, first) == programs


def test_a_number_becomes_a_guard_only_where_the_trace_had_to_know_it():
    f = tnp.jit(lambda x, a, n: x[:n] * a)
    x = np.arange(5.0)
    assert same(f, x, 2.0, 3) == 1
    assert same(f, x, -1.0, 3) == 1
    assert same(f, x, 2.0, 4) == 2
    assert same(f, x, 2.0, 3) == 2


def test_a_branch_guards_the_condition_not_the_number():
    f = tnp.jit(lambda x, a: x + a if a > 0 else x - a)
    x = np.arange(3.0)
    assert same(f, x, 1.0) == 1
    assert same(f, x, 99.0) == 1
    assert same(f, x, -1.0) == 2
    assert same(f, x, -5.0) == 2


def test_signed_zero_and_nan_are_told_apart_where_values_count():
    f = tnp.jit(lambda x, a: x * (1.0 if str(a) == "0.0" else 2.0))
    assert same(f, np.ones(2), 0.0) == 1
    assert same(f, np.ones(2), -0.0) == 2
    assert same(f, np.ones(2), float("nan")) == 3
    assert same(f, np.ones(2), float("nan")) == 3


def test_strings_and_none_are_guarded_by_value():
    def f(x, mode, y=None):
        z = x if y is None else x + y
        return z * 2 if mode == "double" else z

    f = tnp.jit(f)
    x = np.ones(3)
    assert same(f, x, "double") == 1
    assert same(f, x, "plain") == 2
    assert same(f, x, "double") == 2
    assert same(f, x, "plain", x) == 3


def test_containers_are_guarded_by_structure():
    f = tnp.jit(lambda p: p["a"] + p["b"][0] * p["b"][1])
    assert same(f, {"a": np.ones(2), "b": (np.ones(2), 3.0)}) == 1
    assert same(f, {"a": np.zeros(2), "b": (np.ones(2), 4.0)}) == 1
    assert same(f, {"b": (np.ones(2), 4.0), "a": np.zeros(2)}) == 2
    assert same(f, {"a": np.ones(2), "b": [np.ones(2), 3.0]}) == 3


def test_globals_and_closures_are_read_at_each_call(monkeypatch):
    f = tnp.jit(use_global)
    x = np.ones(4)
    assert same(f, x) == 1
    TABLE[0] = 17.0
    assert same(f, x) == 1
    monkeypatch.setitem(globals(), "TABLE", np.arange(4.0) * 5)
    assert same(f, x) == 1
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert same(f, x) == 1
    monkeypatch.setitem(globals(), "SCALE", 3)
    assert same(f, x) == 2

    weight = np.ones(4)

    def closes_over(x):
        return x * weight

    g = tnp.jit(closes_over)
    assert same(g, x) == 1
    weight = np.full(4, 2.0)
    assert same(g, x) == 1
    weight = np.full(1, 2.0)
    assert same(g, x) == 2


def test_an_array_changed_between_calls_is_seen():
    x = np.ones(3)
    f = tnp.jit(lambda: x * 2)
    np.testing.assert_array_equal(f(), [2, 2, 2])
    x[0] = 5
    np.testing.assert_array_equal(f(), [10, 2, 2])
    assert tnp.cache_info(f).misses == 1


def test_binding_follows_the_signature():
    def f(a, /, b, *rest, c=1.0, **others):
        return a + b * c + sum(rest) + others.get("d", 0)

    g = tnp.jit(f)
    x = np.ones(2)
    for args, kwargs in (
        ((x, x), {}),
        ((x,), {"b": x}),
        ((x, x, 1.0, x), {"c": 3.0}),
        ((x, x), {"d": 4.0, "c": 1.5}),
    ):
        np.testing.assert_array_equal(g(*args, **kwargs), f(*args, **kwargs))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        g(x)


def test_explain_says_why_it_recompiled():
    f = tnp.jit(lambda x: x + 1)
    f(np.ones(3))
    f(np.ones(4))
    text = str(tnp.explain(f))
    assert "2 programs" in text
    assert "recompiled because not argument x has shape (3,)" in text
    assert "executors: llvm 1" in text or "executors: numpy 1" in text


def test_explain_lists_opaque_calls_with_the_users_line():
    def f(x):
        return np.packbits(x)

    f = tnp.jit(f)
    x = np.arange(5, dtype=np.uint8)
    assert_same(f(x), np.packbits(x))
    assert "opaque call: np.packbits at " in tnp.explain(f)
    assert "test_cache.py" in tnp.explain(f)
    with pytest.raises(tnp.TraceError, match="packbits"):
        tnp.jit(lambda x: np.packbits(x), strict=True)(x)


def test_the_number_of_programs_is_bounded():
    f = tnp.jit(lambda x: x + 1, dynamic=False)
    for n in range(64):
        f(np.ones(n))
    with pytest.warns(tnp.EagerFallbackWarning, match="the guard that failed most often: argument x has shape"):
        f(np.ones(64))
    for n in range(80):
        assert_same(f(np.ones(n)), np.ones(n) + 1)
    assert tnp.cache_info(f)[1:] == (64, 64)
    assert "calls that no program is valid for run eagerly" in tnp.explain(f)


def test_programs_make_room_where_nothing_may_run_eagerly():
    f = tnp.jit(lambda x: x + 1, strict=True, dynamic=False)
    for n in range(70):
        assert_same(f(np.ones(n)), np.ones(n) + 1)
    assert tnp.cache_info(f)[1:] == (70, 64)


def test_a_call_that_always_runs_eagerly_is_not_traced_for_ever():
    class Model:
        def __init__(self):
            self.history = set()

        @tnp.jit
        def step(self, x):
            self.history.add(len(self.history))
            return x * 2

    model = Model()
    with not_compiled_whole("it changes a set"):
        for _ in range(40):
            model.step(np.ones(3))
    assert model.history == set(range(40))
    assert tnp.cache_info(Model.step).misses <= 16


def test_threads_share_a_function():
    f = tnp.jit(lambda x, a: np.sqrt(x * a) + x[::-1])
    errors = []

    def work(seed):
        rng = np.random.default_rng(seed)
        try:
            for _ in range(50):
                x = rng.uniform(0, 1, rng.integers(1, 6))
                np.testing.assert_array_equal(f(x, 2.0), np.sqrt(x * 2.0) + x[::-1])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    # For one element, the first size, and any size; one that comes often may have its own besides.
    assert tnp.cache_info(f).misses in (2, 3)


def test_jitted_functions_pickle_by_reference_and_by_value():
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    f = tnp.jit(lambda x: x * 3)
    g = pickle.loads(cloudpickle.dumps(f))
    np.testing.assert_array_equal(g(np.ones(2)), [3, 3])


@dataclass
class State:
    u: np.ndarray
    t: float

    @tnp.jit
    def advance(self, dt):
        self.u += dt
        self.t += dt
        return self

    @tnp.jit
    def replaced(self):
        self.u = self.u * 2
        return self.t


def test_methods_read_and_write_attributes():
    s, e = State(np.zeros(3), 0.0), State(np.zeros(3), 0.0)
    u = s.u
    for _ in range(3):
        assert s.advance(0.5) is s
        State.advance.__tnp_function__(e, 0.5)
        np.testing.assert_array_equal(s.u, e.u)
        assert s.t == e.t and type(s.t) is float
    assert s.u is u
    assert tnp.cache_info(State.advance).misses == 1
    assert tnp.cache_info(s.advance) == tnp.cache_info(State.advance)
    assert "self is a State" in tnp.explain(s.advance)
    assert s.replaced() == 1.5
    assert s.u is not u
    np.testing.assert_array_equal(s.u, e.u * 2)


def test_partials_lambdas_nested_and_jitted_functions():
    def scale(x, a, b=1.0):
        def inner(y):
            return y * a

        return inner(x) + b

    x = np.arange(3.0)
    for f in (
        functools.partial(scale, a=3.0),
        lambda x: scale(x, 2.0, b=4.0),
        lambda x: tnp.jit(scale)(x, 2.0),
        lambda x: functools.reduce(operator.add, [x, x, x]),
    ):
        np.testing.assert_array_equal(tnp.jit(f)(x), f(x))


def test_functions_of_libraries():
    """Their defaults are not passed: those of functions written in C may mean something else than nothing."""
    x, mask = np.arange(3.0), np.array([True, False, True])
    for f, args, kwargs in (
        (np.add, (x, 2), {}),
        (np.exp, (x,), {"where": mask, "out": np.ones(3)}),
        (np.modf, (x,), {}),
        (np.where, (mask,), {}),
        (np.where, (mask, x, 1), {}),
        (np.array, ([1, 2],), {}),
        (np.sum, (x,), {"axis": 0}),
        (max, ([3, 4],), {}),
        (functools.partial(np.add, x), (x,), {}),
        (functools.partial(np.max, axis=0), (np.ones((2, 3)),), {}),
    ):
        expected = f(*args, **copy.deepcopy(kwargs))
        assert_same(tnp.jit(f, strict=True)(*args, **kwargs), expected, what=repr(f))
    with pytest.raises(TypeError, match=r"add\(\) takes from 2 to 3 positional arguments"):
        tnp.jit(np.add)(1)


def test_callables_without_a_name():
    zeros = functools.partial(lambda n, x: np.zeros(int(x[0]) + n), 1)
    f = tnp.jit(zeros, specialisations=2)
    with pytest.warns(tnp.EagerFallbackWarning, match="<lambda> runs eagerly: it is compiled for 2 values already"):
        assert [len(f(np.full(1, k))) for k in range(4)] == [1, 2, 3, 4]
    assert tnp.explain(f).startswith("test_callables_without_a_name.<locals>.<lambda>: 2 programs")
    threads = functools.partial(in_a_thread, operator.neg)
    with pytest.warns(tnp.EagerFallbackWarning, match="in_a_thread runs eagerly: it calls ThreadPoolExecutor"):
        np.testing.assert_array_equal(tnp.jit(threads)(np.ones(2)), [-1, -1])


def halved(x):
    """Reads a global of data, which takes the hooks that its source is for."""
    if len(x) == 1:
        return x * SCALE + TABLE[0]
    out = np.zeros(len(x))
    out[::2] = halved(x[::2])
    out[1::2] = halved(x[1::2])
    return out


def test_functions_that_call_themselves():
    x = np.arange(8.0)
    np.testing.assert_array_equal(tnp.jit(halved, strict=True)(x), halved(x))


def test_cloudpickle_takes_functions_of_the_main_program_by_value(tmp_path):
    """As it takes plain ones: another process has another ``__main__``."""
    path, kept = tmp_path / "program.py", tmp_path / "kept"
    path.write_text(
        "import sys, cloudpickle, pickle, numpy as np, tnp\n"
        "table = np.arange(3.0)\n"
        "@tnp.jit\n"
        "def f(x):\n"
        "    return f(x[1:]) if len(x) > 3 else x + table\n"
        "class Model:\n"
        "    rate = 2.0\n"
        "    @tnp.jit(executors=['numpy'])\n"
        "    def step(self, x):\n"
        "        return x * self.rate\n"
        "assert pickle.loads(pickle.dumps(f)) is f\n"
        "open(sys.argv[1], 'wb').write(cloudpickle.dumps((f, Model().step)))\n"
    )
    subprocess.run([sys.executable, path, kept], check=True)
    f, step = pickle.loads(kept.read_bytes())
    np.testing.assert_array_equal(f(np.ones(4)), [1, 2, 3])
    np.testing.assert_array_equal(step(np.ones(2)), [2, 2])
    assert step.func.options["executors"] == ("numpy",)


def test_functions_without_source():
    scope = {"np": np}
    exec("def f(x, n):\n    y = x\n    for i in range(n):\n        y = y + np.sin(x) * i\n    return y", scope)
    f = tnp.jit(scope["f"])
    x = np.arange(3.0)
    np.testing.assert_array_equal(f(x, 3), scope["f"](x, 3))
    assert tnp.cache_info(f).misses == 1


def test_random_numbers_are_drawn_at_each_call_in_order():
    def f(rng, x):
        a = rng.normal(size=3)
        b = np.random.rand(3)
        return x + a - b + rng.integers(0, 10, 3)

    g = tnp.jit(f)
    rng_a, rng_b = np.random.default_rng(1), np.random.default_rng(1)
    x = np.zeros(3)
    for _ in range(3):
        np.random.seed(3)
        actual = g(rng_a, x)
        np.random.seed(3)
        np.testing.assert_array_equal(actual, f(rng_b, x))
    assert tnp.cache_info(g).misses == 1
    assert rng_a.random() == rng_b.random()


def test_calling_a_symbol_outside_a_trace_runs_it():
    import tnp.lang.numpy as lnp

    x = np.arange(4.0)
    np.testing.assert_array_equal(lnp.sin(x), np.sin(x))
    np.testing.assert_array_equal(lnp.add(x, 1), x + 1)


def test_an_opaque_call_whose_result_depends_on_values_starts_over():
    g = tnp.jit(lambda x: scipy.linalg.null_space(x))
    same(g, np.eye(3))
    x = np.zeros((3, 3))
    with pytest.warns(tnp.EagerFallbackWarning, match="depends on values"):
        np.testing.assert_array_equal(g(x), scipy.linalg.null_space(x))
    np.testing.assert_array_equal(g(x), scipy.linalg.null_space(x))
    np.testing.assert_array_equal(g(np.eye(3)), scipy.linalg.null_space(np.eye(3)))


def test_an_opaque_call_after_an_effect_runs_eagerly():
    def f(rng, x):
        x += rng.normal(size=4)
        return np.packbits(x > 0)

    a, b = np.random.default_rng(0), np.random.default_rng(0)
    x, y = np.zeros(4), np.zeros(4)
    with not_compiled_whole("packbits, which is not compiled, after"):
        np.testing.assert_array_equal(tnp.jit(f)(a, x), f(b, y))
    np.testing.assert_array_equal(x, y)


def plain(x):
    return np.sin(x) * 2 + x


def test_what_is_unpickled_is_compiled_once():
    options = {"specialisations": 3}
    g = tnp.jit(plain, **options)  # under another name than the function's
    sent = pickle.dumps(g)
    first = pickle.loads(sent)
    assert first is g  # as a forked worker has it
    g(np.ones(3))
    for _ in range(3):
        again = pickle.loads(sent)
        assert again is first
        np.testing.assert_array_equal(again(np.ones(3)), plain(np.ones(3)))
    assert tnp.cache_info(again).misses == 1
    other = pickle.loads(pickle.dumps(tnp.jit(plain, specialisations=5)))
    assert other is not first and other.options["specialisations"] == 5
    assert pickle.loads(cloudpickle.dumps(g)) is g
    by_value = cloudpickle.dumps(tnp.jit(lambda x: x * 3))
    assert pickle.loads(by_value) is not pickle.loads(by_value)


def test_tasks_of_a_process_share_programs(tmp_path):
    """In a process that never had the function: only the first of its tasks compiles."""
    (tmp_path / "of_user.py").write_text(
        "import numpy as np, tnp\ndef f(x):\n    return np.sin(x) * 2 + x\ng = tnp.jit(f, strict=True)\n"
    )
    program = (
        "import gc, pickle, sys, numpy as np, tnp\n"
        "def task(sent):\n"
        "    g = pickle.loads(sent)\n"
        "    g(np.ones(3))\n"
        "    return tnp.cache_info(g).misses\n"
        "made, counts = pickle.loads(sys.stdin.buffer.read()), []\n"
        "for _ in range(3):\n"
        "    counts.append(task(made))\n"
        "    gc.collect()\n"
        "print(counts)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(tnp.__file__).parents[1])])}
    send = "import pickle, sys, of_user; sys.stdout.buffer.write(pickle.dumps(pickle.dumps(tnp.jit(of_user.f, strict=True))))"
    sent = subprocess.run(
        [sys.executable, "-c", "import tnp\n" + send], env=environment, capture_output=True, check=True
    ).stdout
    ran = subprocess.run([sys.executable, "-c", program], env=environment, input=sent, capture_output=True, check=True)
    assert ran.stdout.decode().strip() == "[1, 1, 1]"
