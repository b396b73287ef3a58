"""Programs written to break capture: changes between calls, identity, effects that are visible outside."""

import contextlib
import dataclasses
import enum
import functools
import gc
import importlib
import linecache
import pickle
import sys
import warnings

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

PICKLED = pickle.dumps(np.arange(3.0))
SWITCH = None
TABLE = np.arange(3.0)


def ones(n=3):
    return np.ones(n)


def both(make):
    """What ``make(jit)`` gives eagerly and jitted; warnings that something ran eagerly are expected."""
    expected = make(lambda f: f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        actual = make(tnp.jit)
    assert_same(actual, expected)


def identities(objects):
    return [[a is b for a in objects] for b in objects]


# Code that is replaced between calls


def test_functions_that_are_redefined():
    def make(jit):
        helper, results = None, []
        f = jit(lambda x: helper(x))
        for helper in (lambda x: x + 1, lambda x: x + 2, np.exp, np.sin):  # noqa: B007 — f uses it
            results.append(f(ones()))
        return results

    both(make)


def test_cells_of_a_notebook_that_run_again():
    def run(scope, number, text):
        name = f"<cell {number} of {id(scope)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec"), scope)

    def make(jit):
        scope = {"np": np}
        run(scope, 1, "k = 2.0\ndef helper(x):\n    return x * k\n")
        run(scope, 2, "def f(x):\n    x[0] = 7\n    return helper(x)\n")
        f = jit(scope["f"])
        first = f(ones())
        run(scope, 3, "def helper(x):\n    return x - k\n")
        return first, f(ones())

    both(make)


@pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
def test_sums_that_are_longer_than_python_may_recurse():
    terms = " + ".join(f"x[{i % 3}]" if i % 2 else "y" for i in range(900))
    text = f"def program(x, y):\n    return {terms}\n"
    linecache.cache["<a long sum>"] = (len(text), None, text.splitlines(keepends=True), "<a long sum>")
    scope = {}
    exec(compile(text, "<a long sum>", "exec"), scope)
    x, y = np.array([1.0, 2.0, 4.0]), 0.5
    f = tnp.jit(scope["program"], executors=["numpy"])
    assert f(x, y) == scope["program"](x, y)
    assert len(tnp.last_traces(f)[0].body) > 900


def test_a_module_that_is_reloaded(tmp_path, monkeypatch):
    path = tmp_path / "reloaded.py"
    path.write_text("def helper(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = importlib.import_module("reloaded")
    f = tnp.jit(lambda x: module.helper(x))
    assert_same(f(ones()), np.full(3, 2.0))
    path.write_text("def helper(x):\n    return x + 10\n")
    importlib.reload(module)
    assert_same(f(ones()), np.full(3, 11.0))


def test_methods_that_are_replaced():
    def make(jit):
        class C:
            def m(self, x):
                return x + 1

            def __call__(self, x):
                return x

            @property
            def p(self):
                return 3.0

            @staticmethod
            def s(x):
                return x * 2

            @classmethod
            def c(cls, x):
                return x - 1

        c = C()
        f = jit(lambda c, x: (c.m(x), c(x), c.p, c.s(x), c.c(x), C.s(x), C.c(x)))
        results = [f(c, ones())]
        for name, value in [
            ("m", lambda self, x: x - 9),
            ("__call__", lambda self, x: x * 9),
            ("p", property(lambda self: 4.0)),
            ("s", staticmethod(lambda x: x * 5)),
            ("c", classmethod(lambda cls, x: x / 3)),
        ]:
            setattr(C, name, value)
            results.append(f(c, ones()))
        c.m = lambda x: x * 100
        results.append(f(c, ones()))
        del c.m
        return [*results, f(c, ones())]

    both(make)


def test_an_attribute_that_comes_into_being():
    class Lazy:
        def __getattr__(self, name):
            if name == "rate":
                return 42.0
            raise AttributeError(name)

    lazy, f = Lazy(), tnp.jit(lambda o, x: x * o.rate)
    assert_same(f(lazy, ones()), np.full(3, 42.0))
    lazy.rate = 2.0
    assert_same(f(lazy, ones()), np.full(3, 2.0))


def test_names_of_builtins_may_be_the_user_s():
    def make(jit):
        input, id = ones(), 2.0
        f = jit(lambda x: x + input * id)
        first = f(ones())
        id = 3.0
        input = np.zeros(3)
        return first, f(ones())

    both(make)


def test_a_global_that_is_none_at_first(monkeypatch):
    def f(x):
        return x if SWITCH is None else x + SWITCH

    g = tnp.jit(f)
    for value in (None, ones(), 2.0, None):
        monkeypatch.setitem(globals(), "SWITCH", value)
        assert_same(g(ones()), f(ones()))


def test_a_name_that_is_gone_raises_what_python_raises():
    rate = 2.0
    f = tnp.jit(lambda x: x * rate)  # noqa: F821 — what is tested
    f(ones())
    del rate
    with pytest.raises(NameError, match="rate"):
        f(ones())


def test_attributes_and_defaults_of_functions():
    def make(jit):
        def scaled(x):
            return x * scaled.rate

        def counted(x, seen=[], total=np.zeros(1)):  # noqa: B006, B008 — what is tested
            seen.append(1)
            total += 1
            return x + len(seen) + total

        def looked_up(x, *, table={"a": 1.0}):  # noqa: B006
            return x * table["a"]

        scaled.rate = 2.0
        f, g, h = jit(lambda x: scaled(x)), jit(lambda x: counted(x)), jit(lambda x: looked_up(x))
        first = f(ones()), g(ones()), h(ones())
        scaled.rate = 3.0
        looked_up.__kwdefaults__["table"]["a"] = 5.0
        return first, f(ones()), g(ones()), h(ones()), counted.__defaults__

    both(make)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, k: x + TABLE if k > 0 else x - TABLE,
        lambda x, k: k > 0 and x + TABLE,
        lambda x, k: (lambda y: y if k > 0 else y * TABLE)(x),
        lambda x, k: (lambda: x + TABLE)(),
    ],
)
def test_lambdas_are_found_by_their_place(f):
    jitted = tnp.jit(f)
    for k in (1, -1, 1):
        assert_same(jitted(ones(), k), f(ones(), k))


# Callables that hold something


def test_bound_methods_and_objects_that_are_called_keep_their_state():
    def make(jit):
        class Model:
            def __init__(self):
                self.x, self.n = np.zeros(3), 0

            def __call__(self, k):
                self.x += k
                self.n += 1
                return self.x.sum()

        model = Model()
        apply = jit(lambda step, k: step(k))
        results = [f(2.0) for f in (jit(model.__call__), jit(model), jit(functools.partial(Model.__call__, model))) * 2]
        results += [apply(step, 1.0) for step in (model.__call__, model, functools.partial(model.__call__))]
        return results, model.x, model.n

    both(make)


def test_a_partial_whose_arguments_change():
    part = functools.partial(lambda rates, x: x * rates[0], [2.0])
    f = tnp.jit(lambda g, x: g(x))
    assert_same(f(part, ones()), np.full(3, 2.0))
    part.args[0][0] = 3.0
    assert_same(f(part, ones()), np.full(3, 3.0))


def test_caches_of_the_user_get_no_traced_numbers():
    def make(jit):
        @functools.lru_cache(None)
        def rate(n):
            return n * 2.5

        f = jit(lambda x, n: x * rate(n))
        return f(ones(), 3), f(ones(), 3.0), f(ones(), 4), rate(3), rate(4)

    both(make)


# Numbers of the user's classes


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Meters(float):
    def __add__(self, other):
        return Meters(float(self) + float(other) + 1000)

    __radd__ = __add__


@pytest.mark.parametrize("a", [1, 2.5, Level.HIGH, Meters(3)])
@pytest.mark.parametrize("b", [1, Level.LOW, Meters(3)])
def test_numbers_with_operators_of_their_own(a, b):
    both(lambda jit: jit(lambda a, b: (a + b, b + a, a * b, a == b, a < b))(a, b))


def test_matching_a_number_to_a_member_of_an_enum():
    def f(x, k):
        match k:
            case Level.LOW:
                return x + 1, Level.LOW
            case Level.HIGH:
                return x + 2, k
        return x, None

    for k in (1, Level.LOW, 2, Level.HIGH, 3):
        both(lambda jit, k=k: jit(f)(ones(), k))


@pytest.mark.filterwarnings("ignore:Conversion of an array with ndim:DeprecationWarning")
@pytest.mark.parametrize("kind", [int, float, bool, complex])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_conversions_refuse_the_shapes_that_numpy_refuses(kind, shape):
    def make(jit):
        try:
            return jit(lambda x: kind(x))(np.full(shape, 2.0))
        except TypeError as error:
            return type(error).__name__

    both(make)


# Who is whom


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
def test_views_of_whole_arrays_are_arrays_of_their_own():
    def f(x):
        y = x.reshape(6)
        y.shape = (2, 3)
        z = x.T
        z.shape = (3, 2)
        return x.shape, y, z, x.T is x, x[...] is x, x.real is x, np.asarray(x) is x, np.squeeze(x) is x

    x = np.arange(6.0)
    both(lambda jit: jit(f)(x))


@pytest.mark.parametrize("f", [lambda x: (x, x[...]), lambda x: (x.T, x.reshape(3)), lambda x: ((y := x + 1), y[:], y)])
def test_views_of_whole_arrays_are_returned_as_such(f):
    x = ones()
    for _ in range(2):
        expected, actual = f(x), tnp.jit(f)(x)
        assert_same(actual, expected)
        for results in (actual, expected):
            assert all(np.shares_memory(results[0], r) for r in results)
        assert identities((*actual, x)) == identities((*expected, x))


def test_a_tuple_that_was_passed_in_comes_back():
    t = (ones(), 2)
    assert tnp.jit(lambda t: t)(t) is t


def test_a_list_that_is_returned_twice_is_one_list():
    first, (second,) = tnp.jit(lambda x: ((y := [x]), (y,)), strict=True)(ones())
    assert first is second


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (v * 2 for v in x),
        lambda x: map(np.negative, x),
        lambda x: zip(x, x),
        lambda x: iter([1, 2]),
        lambda x: {1: x[0]}.items(),
        lambda x: bytearray(b"ab"),
    ],
)
def test_results_that_are_used_up_or_changed_are_made_at_each_call(f):
    def make(jit):
        g = jit(f)
        return list(g(ones())), list(g(ones()))

    both(make)


@pytest.mark.parametrize(
    "f",
    [
        lambda m, x: m,
        lambda m, x: m[1:],
        lambda m, x: m.fill(x) or m + 1,
        lambda m, x: np.add(m, x, out=m),
        lambda m, x: m + x,
    ],
)
def test_arrays_that_a_library_made_are_made_at_each_call(f):
    def make(jit):
        g = jit(lambda x: f(pickle.loads(PICKLED), x))
        first = g(2.0)
        kept = first.copy()
        first += 100
        return kept, g(2.0), g(3.0)

    both(make)


def test_updating_an_array_that_a_library_made():
    def f(x):
        made = pickle.loads(PICKLED)
        view = made[1:]
        made += x
        made[1:] += x
        view *= 2
        return made

    def make(jit):
        g = jit(f)
        return g(2.0), g(2.0), g(3.0)

    both(make)


# Errors and effects


def test_any_exception_of_the_program_leaves_what_eager_leaves():
    class Stop(BaseException):
        pass

    def f(x):
        x += 1
        raise Stop

    x = ones()
    with pytest.raises(Stop):
        tnp.jit(f)(x)
    assert_same(x, np.full(3, 2.0))


def test_context_managers_catch_what_their_body_raises():
    class Swallow:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            return True

    def make(jit):
        @jit
        def store(x, i):
            with contextlib.suppress(IndexError):
                x += 1
                x[i] = 5
            return x

        @jit
        def branch(x):
            with Swallow():
                if x.sum() > 2:
                    x += 1
            return x

        return [store(ones(), i) for i in (np.array([1]), np.array([77]), 1, 77)], branch(ones()), branch(np.zeros(3))

    both(make)


def test_an_inner_function_that_assigns_a_global(monkeypatch):
    def f(x):
        def bump():
            global SWITCH
            SWITCH += 1

        bump()
        return x * SWITCH

    def make(jit):
        monkeypatch.setitem(globals(), "SWITCH", 0)
        g = jit(f)
        return g(ones()), g(ones()), SWITCH

    both(make)


def test_messages_of_wrong_calls_and_shapes():
    def f(a, /, b):
        try:
            return a + b
        except ValueError as error:
            return str(error)

    with pytest.warns(
        tnp.EagerFallbackWarning, match=r"may catch an error of an operation \(.*test_adversarial.py:\d+ in f"
    ):
        assert tnp.jit(f)(ones(2), ones(3)) == f(ones(2), ones(3))
    with pytest.raises(TypeError) as expected:
        f(a=1, b=2)
    with pytest.raises(TypeError) as actual:
        tnp.jit(f)(a=1, b=2)
    assert str(actual.value) == str(expected.value)


@pytest.mark.parametrize("name", ["library", "path", "scalar", "storage", "nothing_of_the_kind"])
def test_names_of_handles_are_no_attributes_of_arrays(name):
    def f(a):
        b = a + 1
        setattr(b, name, None)
        return b

    with pytest.raises(AttributeError) as expected:
        f(ones(2))
    with pytest.raises(AttributeError) as actual, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tnp.jit(f)(ones(2))
    assert str(actual.value) == str(expected.value)


def test_arguments_are_let_go():
    @dataclasses.dataclass
    class State:
        x: np.ndarray

    gc.disable()
    try:
        x, state = ones(10_000), State(ones())
        before = sys.getrefcount(x), sys.getrefcount(state), sys.getrefcount(state.x)
        f = tnp.jit(lambda x, s: (x + 1) * 2 + s.x.sum())
        f(x, state), f(x, state)
        assert (sys.getrefcount(x), sys.getrefcount(state), sys.getrefcount(state.x)) == before
    finally:
        gc.enable()
