"""What a function reads and changes beside its arguments: globals, modules, classes, generators, the world outside."""

import collections
import contextlib
import datetime
import gc
import io
import pickle
import random
import subprocess
import sys
import time
import types
import warnings

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tests.programs import misc
from tnp.capture import driver
from tnp.runtime import gc_tuning
from tnp.testing import assert_same

COUNT = 0
FILTERS: list = []
PICKLED = pickle.dumps(np.zeros(3))


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A user's module, imported from a file."""
    made = types.ModuleType("settings")
    made.__file__ = str(tmp_path / "settings.py")
    made.rate = 2.0
    made.table = np.arange(3.0)
    return made


def runs_eagerly(f, *args, reason):
    """The result of the jitted ``f``, which must run eagerly or in parts for ``reason``."""
    with not_compiled_whole(reason):
        return tnp.jit(f)(*args)


def test_without_the_compiler_and_the_package_for_containers():
    script = """
import sys
for name in ("optree", "llvmlite"):
    sys.modules[name] = None
import numpy as np, tnp
from tnp.executors import registry
assert tnp.jit(lambda x: np.exp(x) + 1)(np.zeros(2)).tolist() == [2, 2]
found = registry.availability()
assert found["numpy"] == "" and found["llvm"] == "the package llvmlite is not installed", found
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# Random numbers


def test_a_generator_made_inside_is_made_at_each_call():
    @tnp.jit
    def draw():
        return np.random.default_rng().random(3)

    assert not np.array_equal(draw(), draw())
    assert tnp.cache_info(draw).misses == 1


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_seeded_generator(make):
    @tnp.jit
    def draw(seed):
        rng = make(seed)
        return rng.normal(size=(2, 2)), rng.permutation(5)

    for seed in (3, 4, 4):
        rng = make(seed)
        assert_same(draw(seed), (rng.normal(size=(2, 2)), rng.permutation(5)))


def test_a_generator_that_is_an_attribute_of_a_class():
    class Sampler:
        rng = np.random.default_rng(5)

        def __init__(self):
            self.n = 3

        def draw(self):
            return Sampler.rng.random(self.n)

    sampler, draw = Sampler(), tnp.jit(Sampler.draw)
    actual = [draw(sampler), draw(sampler)]
    again = np.random.default_rng(5)
    assert_same(actual, [again.random(3), again.random(3)])


@pytest.mark.parametrize("shuffle", [lambda rng, x: rng.shuffle(x), lambda rng, x: np.random.shuffle(x)])
def test_shuffles_run_eagerly(shuffle):
    x, y = np.arange(9), np.arange(9)
    np.random.seed(1)
    shuffle(np.random.default_rng(1), y)
    np.random.seed(1)
    runs_eagerly(shuffle, np.random.default_rng(1), x, reason="shuffle")
    assert_same(x, y)


def test_drawing_into_an_array_runs_eagerly():
    x = np.zeros(4)
    runs_eagerly(lambda rng, out: rng.random(out=out), np.random.default_rng(2), x, reason="out=")
    assert_same(x, np.random.default_rng(2).random(4))


@pytest.mark.parametrize("f", [lambda x: x + random.random(), lambda x: x * datetime.datetime.now().microsecond])
def test_what_is_something_else_at_each_call_runs_eagerly(f):
    jitted = tnp.jit(f)
    with pytest.warns(tnp.EagerFallbackWarning, match="at each call"):
        first = jitted(np.ones(2))
    assert not np.array_equal(first, jitted(np.ones(2)))


def test_a_function_of_numpy_that_acts_on_what_it_is_given_is_not_tried_on_dummy_data(monkeypatch):
    tests = pytest.importorskip("numpy._core._multiarray_tests")
    met = []
    monkeypatch.setattr(sys, "unraisablehook", met.append)  # of a dummy array that was left corrupt

    def f(x):
        tests.corrupt_or_fix_bufferinfo(x)
        tests.corrupt_or_fix_bufferinfo(x)
        return x + 1

    x = np.ones(2)
    assert_same(runs_eagerly(f, x, reason="corrupt_or_fix_bufferinfo"), x + 1)
    gc.collect()
    assert not met


@pytest.mark.parametrize("filters", [lambda: warnings.filters, lambda: FILTERS])
def test_the_filters_of_warnings_are_eager_s(filters, monkeypatch):
    def f(x):
        return x + len(filters())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        monkeypatch.setitem(globals(), "FILTERS", warnings.filters)
        jitted = tnp.jit(f)
        for _ in range(2):
            assert_same(jitted(np.ones(2)), f(np.ones(2)))


# Data of modules and classes


def test_data_of_a_module_is_an_input(module):
    settings = module

    @tnp.jit
    def f(x):
        return x * settings.rate + settings.table

    assert_same(f(np.ones(3)), np.array([2.0, 3.0, 4.0]))
    settings.rate, settings.table = 3.0, np.zeros(3)
    assert_same(f(np.ones(3)), np.full(3, 3.0))
    settings.table += 1
    assert_same(f(np.ones(3)), np.full(3, 4.0))
    assert tnp.cache_info(f).misses == 1


def test_an_array_of_a_module_is_written_in_place(module):
    def f(x):
        module.table[1:] += x
        return module.table.sum()

    jitted, table = tnp.jit(f), module.table
    assert [jitted(1.0), jitted(2.0)] == [5.0, 9.0]
    assert_same(table, np.array([0.0, 4.0, 5.0]))


class Model:
    rate = 2.0
    mask = np.array([True, False])

    def __init__(self, state):
        self.state = state
        self.__seen = 0

    def step(self, x):
        self.state[Model.mask] += self.rate * x[self.mask]
        self.__seen += 1
        return self.__seen

    def seen(self):
        return self.__seen


def test_data_of_a_class_is_an_input(monkeypatch):
    model, step = Model(np.zeros(2)), tnp.jit(Model.step)
    assert step(model, np.ones(2)) == 1
    monkeypatch.setattr(Model, "rate", 5.0)
    assert step(model, np.ones(2)) == 2
    monkeypatch.setattr(Model, "mask", np.array([False, True]))
    assert step(model, np.ones(2)) == 3
    assert_same(model.state, np.array([7.0, 5.0]))
    assert model.seen() == 3
    assert tnp.cache_info(step).misses == 1


def test_a_global_of_another_module_is_an_input(monkeypatch):
    f = tnp.jit(lambda x: misc.EARTH_RADIUS * x)
    assert f(2.0) == 2 * 6371.0
    monkeypatch.setattr(misc, "EARTH_RADIUS", 1.0)
    assert f(2.0) == 2.0


# What others can see


def count_in_a_global(x):
    global COUNT
    COUNT += 1
    return x * COUNT


def test_assigning_a_global(monkeypatch):
    monkeypatch.setitem(globals(), "COUNT", 0)
    jitted = tnp.jit(count_in_a_global, strict=True)
    for n in range(1, 4):
        assert_same(jitted(np.ones(1)), np.full(1, float(n)))
    assert COUNT == 3 and type(COUNT) is int
    assert tnp.cache_info(jitted).misses == 1


def test_assigning_a_name_of_the_enclosing_function():
    total = 0.0

    def f(x):
        nonlocal total
        total = total + x.sum()
        return total

    jitted = tnp.jit(f, strict=True)
    assert jitted(np.ones(2)) == 2.0 and jitted(np.ones(3)) == 5.0
    assert total == 5.0 and type(total) is np.float64


def test_a_nonlocal_name_of_the_function_itself():
    @tnp.jit
    def f(x):
        n = 0

        def bump():
            nonlocal n
            n += 1
            return x * n

        return bump() + bump(), n

    for _ in range(2):
        assert_same(f(np.ones(2)), (np.full(2, 3.0), 2))


def test_assigning_attributes_of_classes_and_modules_runs_eagerly(module):
    class Counter:
        calls = 0

    def f(x):
        Counter.calls += 1
        module.last = x
        return x

    x = np.ones(2)
    assert runs_eagerly(f, x, reason="it assigns an attribute of Counter") is x
    assert Counter.calls == 1 and module.last is x


@pytest.mark.parametrize(
    "container",
    [collections.OrderedDict(a=1.0), collections.deque([1.0]), {1.0}, iter([1.0, 2.0])],
    ids=lambda c: type(c).__name__,
)
def test_containers_that_may_change_run_eagerly(container):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        f = tnp.jit(lambda x, c: [x, *c])
        first = list(f(0.0, container))
    if isinstance(container, collections.deque):
        container.append(2.0)
        assert f(0.0, container) == [0.0, 1.0, 2.0]
    assert len(first) >= 2


def test_writing_to_an_array_of_unknown_origin_runs_eagerly():
    def f(x):
        made = pickle.loads(PICKLED)
        made[1:] = x
        return made

    jitted = tnp.jit(f)
    with pytest.warns(tnp.EagerFallbackWarning, match="calls loads, of which tnp does not know"):
        assert_same(jitted(np.ones(2)), np.array([0.0, 1.0, 1.0]))
    assert_same(jitted(np.ones(2)), np.array([0.0, 1.0, 1.0]))


def test_constants_that_are_numpy_scalars_come_back_as_they_are():
    constants = (np.float64(2.5), np.float32(0.1), np.int16(3), np.complex64(1 - 2j), np.bool(True), np.float64("nan"))
    f = tnp.jit(lambda x: (x, *constants))
    for _ in range(2):
        assert_same(f(1.0), (1.0, *constants))


def test_numbers_reach_functions_of_numpy_that_take_no_arrays():
    f = tnp.jit(lambda x, n: x * np.hanning(n))
    for n in (4, 4, 5):
        assert_same(f(np.ones(n), n), np.hanning(n))
    assert tnp.cache_info(f).misses == 2


# Functions without source


def made_of(text, **scope):
    exec(text, scope)
    return scope["f"], scope


def test_a_number_that_a_function_without_source_reads_is_guarded():
    f, scope = made_of("def f(x):\n    return np.sin(x) * rate", np=np, rate=2.0)
    jitted = tnp.jit(f)
    assert_same(jitted(np.ones(2)), np.sin(np.ones(2)) * 2.0)
    scope["rate"] = 3.0
    assert_same(jitted(np.ones(2)), np.sin(np.ones(2)) * 3.0)
    assert tnp.cache_info(jitted).misses == 2


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return x + table",
        "def f(x):\n    return x + np.random.rand(2)",
        "def f(x):\n    return x + time()",
        "def f(x):\n    global rate\n    rate = rate + 1\n    return x + rate",
        "def f(x):\n    return x + g()",
    ],
)
def test_functions_without_source_that_need_hooks_run_eagerly(text):
    scope = {"np": np, "table": np.ones(2), "time": time.perf_counter, "rate": 1.0, "g": lambda: COUNT}
    f, _ = made_of(text, **scope)
    with pytest.warns(tnp.EagerFallbackWarning, match="its source cannot be had"):
        tnp.jit(f)(np.ones(2))


def test_the_right_one_of_several_lambdas_on_a_line():
    for f in (lambda x: x + COUNT, lambda x: x - COUNT), (lambda x: np.sin(x), lambda x: np.cos(x)):  # fmt: skip
        for g in f:
            assert_same(tnp.jit(g)(np.ones(2)), g(np.ones(2)))


def test_errors_that_the_program_catches_are_caught_when_it_runs():
    def f(x, a):
        try:
            return np.linalg.inv(a) @ x
        except np.linalg.LinAlgError:
            return x
        finally:
            x += 1

    g = tnp.jit(f, strict=True)
    np.testing.assert_array_equal(g(np.ones(2), np.eye(2)), np.ones(2))
    np.testing.assert_array_equal(g(np.ones(2), np.zeros((2, 2))), np.full(2, 2.0))


def test_errors_of_opaque_calls_that_the_program_catches_are_caught_when_it_runs():
    def f(x, w):
        try:
            return np.quantile(x, 0.5, weights=w, method="inverted_cdf")
        except ValueError:
            return -1.0

    g = tnp.jit(f)
    assert_same(g(np.arange(4.0), np.ones(4)), f(np.arange(4.0), np.ones(4)))
    assert g(np.arange(4.0), -np.ones(4)) == -1.0


def test_errors_that_are_caught_while_tracing_stay_caught():
    def f(x, y):
        try:
            return x + y
        except ValueError:
            return x

    g = tnp.jit(f)
    np.testing.assert_array_equal(g(np.ones(3), np.ones(3)), np.full(3, 2.0))
    assert len(tnp.last_traces(g)) > 1
    np.testing.assert_array_equal(g(np.ones(3), np.ones(2)), np.ones(3))


def test_a_bare_except_does_not_swallow_the_tracer_s_own():
    def f(x):
        try:
            if x.sum() > 0:
                np.savetxt(io.StringIO(), x)
                return x
        except:  # noqa: E722 — what is tested
            return None
        return -x

    g = tnp.jit(f)
    np.testing.assert_array_equal(g(-np.ones(3)), np.ones(3))
    with not_compiled_whole("after a value"):
        np.testing.assert_array_equal(g(np.ones(3)), np.ones(3))


def in_a_bare_try(x, t):
    places, found = np.where(x > t)[0], []
    for i in range(len(places) - 1):
        try:
            found.append(places[i] + 1)
        except:  # noqa: E722 — what is tested
            pass
    return found


def in_a_try_for_base_exceptions(x, t):
    places, found = np.where(x > t)[0], []
    for i in range(len(places) - 1):
        try:
            found.append(places[i] + 1)
        except (ValueError, BaseException):
            pass
    return found


def in_a_block_that_suppresses_all(x, t):
    places, found = np.where(x > t)[0], []
    for i in range(len(places) - 1):
        with contextlib.suppress(BaseException):
            found.append(places[i] + 1)
    return found


@pytest.mark.parametrize("f", [in_a_bare_try, in_a_try_for_base_exceptions, in_a_block_that_suppresses_all])
def test_what_catches_all_catches_no_request_to_trace_a_loop_again(f):
    g = tnp.jit(f)
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal(30 + seed)
        assert_same(g(x, 0.5), f(x, 0.5))


def test_a_numpy_integer_as_a_shape():
    f = tnp.jit(lambda n, x: np.zeros(n) + x[:n])
    np.testing.assert_array_equal(f(np.int64(2), np.arange(4.0)), [0, 1])
    np.testing.assert_array_equal(f(np.int64(3), np.arange(4.0)), [0, 1, 2])
    assert tnp.cache_info(f).misses == 2


def test_garbage_is_collected_rarely_while_compiling_and_as_before_afterwards(monkeypatch):
    before = gc.get_threshold()
    seen = []

    def acquired(*args, **options):
        seen.append(gc.get_threshold())
        return driver.capture_trace(*args, **options)

    monkeypatch.setattr(tnp.compile.driver, "capture_trace", acquired)
    tnp.jit(lambda x: np.sqrt(x))(np.ones(3))
    assert seen == [tuple(n * gc_tuning.TIMES for n in before)]
    assert gc.get_threshold() == before
    with gc_tuning.relaxed_gc(), gc_tuning.relaxed_gc():
        gc.set_threshold(1, 2, 3)  # what the program sets, stays
    assert gc.get_threshold() == (1, 2, 3)
    gc.set_threshold(*before)


def test_source_that_compilers_warn_of(tmp_path):
    """Python warned when the file was compiled; that tnp reads it again is not heard, and no error where warnings are errors."""
    file = tmp_path / "odd.py"
    file.write_text('def f(x):\n    while x.sum() < 9:\n        x = x * 2 if x is not 1 else "\\d"\n    return x\n')
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(file.read_text(), str(file), "exec"), names)
    f = tnp.jit(names["f"], strict=True)  # compiled, and so rewritten
    np.testing.assert_array_equal(f(np.ones(3)), np.full(3, 4.0))
    assert "while" in str(tnp.last_traces(f)[0])


def test_modules_that_have_no_text():
    class Loader:  # what Python asks of it for the text of a module is missing
        name = "backend"

    module = types.ModuleType("backend")
    module.__spec__ = Loader()
    module.sin = np.sin
    with pytest.raises(AttributeError):
        repr(module)
    namespace = {"backend": module}
    f = types.FunctionType((lambda x: backend.sin(x) * 2).__code__, namespace)  # noqa: F821
    x = np.arange(3.0)
    jitted = tnp.jit(f)
    for _ in range(2):
        assert_same(jitted(x), f(x))
    assert "eager" not in str(tnp.explain(jitted))
    module.sin = np.cos
    assert_same(jitted(x), f(x))


def test_modules_that_are_imported_by_their_names():
    """A module that is loaded is what it is; one that is not loaded is imported by Python."""

    def loaded(x):
        found = []
        for name in ("numpy.linalg", "math"):
            try:
                found.append(__import__(name))
            except ImportError:
                return x
        return x * found[1].pi + len(found)

    def missing(x):
        try:
            __import__("a_module_that_nobody_has")
        except ImportError:
            return x * 3
        return x

    x = np.arange(5.0)
    jitted = tnp.jit(loaded)
    assert_same(jitted(x), loaded(x))
    assert "eager" not in str(tnp.explain(jitted)) and "in parts" not in str(tnp.explain(jitted))
    with not_compiled_whole("not loaded"):
        assert_same(tnp.jit(missing)(x), missing(x))


GAIN = 2.0


def doubled(x, r):
    return x * 2 + r


def clipped(x, r):
    return np.minimum(x, r)


def by_name(x, name):
    return globals()[name.lower()](x, 0.5) * globals()["GAIN"], [globals()[n](x, 1.0) for n in ("doubled", "clipped")]


def test_functions_and_numbers_by_their_global_names(monkeypatch):
    """``globals()[name]`` is read as the name is: a number is an input, a function is guarded."""
    x = np.linspace(-2.0, 2.0, 9)
    with warnings.catch_warnings():
        warnings.simplefilter("error", tnp.EagerFallbackWarning)
        jitted = tnp.jit(by_name, strict=True)
        for name in ("Doubled", "Clipped"):
            for gain in (2.0, 3.0):
                monkeypatch.setitem(globals(), "GAIN", gain)
                assert_same(jitted(x, name), by_name(x, name))
        assert tnp.cache_info(jitted).misses == 2
        monkeypatch.setitem(globals(), "clipped", doubled)
        assert_same(jitted(x, "Clipped"), by_name(x, "Clipped"))
    with pytest.raises(KeyError, match="missing"):
        tnp.jit(by_name)(x, "Missing")


def test_a_global_name_that_is_not_there_yet(monkeypatch):
    def program(x):
        try:
            shift = globals()["SHIFT"]
        except KeyError:
            shift = -1.0
        return np.sin(x) + shift

    x, jitted = np.linspace(-2.0, 2.0, 9), tnp.jit(program)
    with not_compiled_whole("may catch an error"):
        assert_same(jitted(x), np.sin(x) - 1.0)
    monkeypatch.setitem(globals(), "SHIFT", 4.0)
    assert_same(jitted(x), np.sin(x) + 4.0)
    monkeypatch.delitem(globals(), "SHIFT")
    assert_same(jitted(x), np.sin(x) - 1.0)


def test_other_uses_of_globals_are_pythons():
    """Python looks into the dict of the module; what stands around is compiled."""

    def program(x, name, value):
        y = np.sin(x) + 1
        globals()[name] = value
        names = globals()
        z = np.cos(y) * names.get(name, 7.0) + names["GAIN"]
        return z - y, name in globals()

    def globals_of_another(x, globals):
        return np.sin(x) * globals()["GAIN"]

    x = np.linspace(-2.0, 2.0, 9)
    try:
        for value in (2.0, 3.0):
            assert_same(runs_eagerly(program, x, "MADE", value, reason="globals"), program(x, "MADE", value))
            assert GAIN == 2.0 and MADE == value  # noqa: F821
    finally:
        globals().pop("MADE", None)
    assert_same(tnp.jit(globals_of_another)(x, lambda: {"GAIN": 5.0}), np.sin(x) * 5.0)
