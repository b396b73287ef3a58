"""``tnp.extend`` from outside: lists of executors, installed ones, gradient rules of executors; what is wrong is said."""

import re
import sys
import types

import numpy as np
import pytest

import tnp
from tnp import extend
from tnp.__main__ import main
from tnp.core import prims
from tnp.extend import ExtensionError, OperatorExecutor, PrimIDs, TensorProxy, get_grad, put_grad, put_grads
from tnp.lang import numpy as lnp
from tnp.testing import assert_same

pytestmark = pytest.mark.usefixtures("executors_as_before")

X = np.arange(6.0).reshape(2, 3) + 1


def operations(f):
    """What the program that ``f`` compiled last runs."""
    return [b.sym.name for b in tnp.last_traces(f)[-1].body]


@pytest.fixture
def ex():
    return OperatorExecutor("mine", version="0.1")


def unary(ex, name, fn, **options):
    return ex.register_operator(name, meta=lambda a: TensorProxy(like=a), fn=fn, **options)


# Lists


def test_always_executors_stand_behind_all_others(ex):
    ex.register_implementation("numpy.sin", unary(ex, "my_sin", np.sin))
    extend.add_always_executor(ex)
    assert extend.get_always_executors(["numpy"]) == (ex, *map(extend.get_executor, ("python", "numpy")))
    f = tnp.jit(lambda x: np.sin(x), executors=[])
    assert_same(f(X), np.sin(X))
    assert operations(f) == ["my_sin"]
    extend.remove_always_executor("mine")
    assert ex not in extend.get_always_executors()
    g = tnp.jit(lambda x: np.sin(x), executors=["mine"] if extend.get_executor("mine") else [ex], always_executors=[])
    assert_same(g(X), np.sin(X))
    h = tnp.jit(lambda x: np.sin(x) + 1, executors=[ex], always_executors=["python"])
    with pytest.raises(tnp.NoExecutorError, match=r"bound symbol t1 = lnp.add\(t0, 1\)(.|\n)*asked: mine, python\n"):
        h(X)


def test_names_are_registered_once(ex):
    assert extend.register_executor(ex) is ex and extend.register_executor(ex) is ex
    other = OperatorExecutor("mine")
    with pytest.raises(ValueError, match="there is an executor 'mine' already; deregister_executor"):
        extend.register_executor(other)
    extend.register_executor(other, replace=True)
    assert extend.get_executor("mine") is other
    with pytest.raises(ValueError, match=r"'numpy' is the name of|there is an executor 'numpy' already"):
        extend.register_executor(OperatorExecutor("numpy"), replace=True)
    with pytest.raises(ValueError, match="'numpy' is one of tnp's own"):
        extend.deregister_executor("numpy")
    with pytest.raises(ValueError, match="already"):
        extend.add_operator_executor("mine", {})
    extend.deregister_executor("mine")
    assert extend.get_executor("mine") is None


@pytest.mark.parametrize(
    "wrong, error, message",
    [
        (["nobody"], ValueError, r"there is no executor 'nobody' here; known are apex, .*llvm, .*python"),
        ("numpy", TypeError, r"a list of executors or their names, not 'numpy'"),
        ([5], TypeError, r"an executor, or its name, was expected, not int 5"),
    ],
)
def test_unknown_executors(wrong, error, message):
    for use in (lambda: tnp.jit(np.sin, executors=wrong), lambda: extend.set_default_executors(wrong)):
        with pytest.raises(error, match=message):
            use()


def test_registering_what_is_no_executor():
    with pytest.raises(TypeError, match="register_executor takes an executor, not str"):
        extend.register_executor("mine")
    with pytest.raises(TypeError, match="an executor's name is a text, not None"):
        OperatorExecutor(None)
    with pytest.raises(ValueError, match=r"op_map\['numpy.sin'\] must be \(name, checker, implementation\)"):
        extend.add_operator_executor("mine", {"numpy.sin": np.sin})


# Installed packages


def install(folder, monkeypatch, package, entries, source):
    """A package as pip leaves it: the module, and beside it what it is called and its entry points."""
    folder.mkdir()
    (folder / f"{package}.py").write_text(source)
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[tnp.executors]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
    )
    monkeypatch.syspath_prepend(folder)


PACKAGE = """
import numpy as np
from tnp.extend import OperatorExecutor, TensorProxy, register_executor

ready = OperatorExecutor("ready")
sin = ready.register_operator("installed_sin", meta=lambda a: TensorProxy(like=a), fn=np.sin)
ready.register_implementation("numpy.sin", sin)

def make():
    return OperatorExecutor("made")

register_executor(OperatorExecutor("by_module"))

def fail():
    raise OSError("no such device")

nothing = None
"""


def test_installed_executors_are_found_by_name(tmp_path, monkeypatch):
    entries = {"ready": "one_package:ready", "made": "one_package:make", "by_module": "one_package"}
    install(tmp_path / "one", monkeypatch, "one_package", entries, PACKAGE)
    f = tnp.jit(lambda x: np.sin(x), executors=["ready", "made", "by_module"])
    assert_same(f(X), np.sin(X))
    assert operations(f) == ["installed_sin"]
    assert {"ready", "made", "by_module"} <= {e.name for e in tnp.get_all_executors()}


def test_installed_executors_that_cannot_be_loaded(tmp_path, monkeypatch):
    entries = {"broken": "two_package:fail", "other": "two_package:make", "empty": "two_package:nothing"}
    install(tmp_path / "two", monkeypatch, "two_package", entries, PACKAGE)
    with pytest.raises(ExtensionError, match=r"'broken' of two_package \(two_package:fail\) cannot be loaded: OSError"):
        tnp.jit(np.sin, executors=["broken"])
    with pytest.raises(
        ExtensionError, match=r"'other' of two_package .* is not an executor of that name, but <executor made>"
    ):
        tnp.jit(np.sin, executors=["other"])
    with pytest.warns(UserWarning) as said:
        found = extend.get_all_executors()
    assert len(said) == 3 and extend.get_executor("numpy") in found
    with pytest.raises(ValueError, match=r"known are .*broken"):
        tnp.jit(np.sin, executors=["nobody"])
    install(tmp_path / "three", monkeypatch, "three_package", {"broken": "three_package:make"}, PACKAGE)
    with pytest.raises(ExtensionError, match=r"two packages have an executor 'broken': t.*_package"):
        tnp.jit(np.sin, executors=["broken"])
    assert extend.get_executor("nobody") is None  # others are none the worse for it


def test_installed_executors_are_listed(tmp_path, monkeypatch, capsys):
    """With the package that has them, or the reason why they are not there; nothing of them is loaded before."""
    entries = {
        "ready": "four_package:ready",
        "broken": "four_package:fail",
        "gone": "four_package:missing",
        "leaves": "five_package",
    }
    install(tmp_path / "four", monkeypatch, "four_package", entries, PACKAGE)
    (tmp_path / "four" / "five_package.py").write_text("import sys\nsys.exit('no device')")
    entries = {"odd": "six_package:ex", "broken": "six_package:ex"}
    source = "from tnp.extend import OperatorExecutor\nclass Odd(OperatorExecutor):\n    def unavailable(self): 1 / 0\nex = Odd('odd')\n"
    install(tmp_path / "six", monkeypatch, "six_package", entries, source)
    assert tnp.jit(lambda x: x + 1)(1) == 2 and "four_package" not in sys.modules
    main(["info"])
    lines = dict(re.findall(r"^  (\w+): (.*)$", capsys.readouterr().out, re.MULTILINE))
    assert lines["ready"] == "available, from four_package 1.0"
    assert lines["numpy"] == "available; options: prims"
    assert lines["llvm"] == "available, by default; options: everything"
    assert re.match(r"not there: two packages have an executor 'broken': (four|six)_package", lines["broken"])
    assert re.search(r"'gone' of four_package \(.*\) cannot be loaded: AttributeError", lines["gone"])
    assert re.search(r"'leaves' of four_package .* SystemExit\('no device'\)", lines["leaves"])
    assert lines["odd"] == "not there: its availability check raised ZeroDivisionError('division by zero')"


# Operators and implementations


@pytest.mark.parametrize(
    "meta, error, message",
    [
        (lambda a: None, ExtensionError, "the meta of wrong returns NoneType None, where proxies"),
        (
            lambda a: (a, np.zeros(3)),
            ExtensionError,
            r"the meta of wrong returns ndarray array\(\[0., 0., 0.\]\), where",
        ),
        (lambda a: (), ExtensionError, r"the meta of wrong returns tuple \(\), where"),
        (
            lambda a: TensorProxy(like=a, dtype=np.float32),
            TypeError,
            r"one of tnp's \(tnp.extend.dtypes.float32, a.dtype\), not <class",
        ),
        (lambda a: TensorProxy(like=a, shape=a.shape[0]), TypeError, "shape is a tuple of integers, not 2"),
        (lambda a: TensorProxy(shape=(3,)), TypeError, "needs a shape and a dtype, or like="),
    ],
)
def test_metas_that_give_no_proxies(ex, meta, error, message):
    wrong = ex.register_operator("wrong", meta=meta, fn=np.sin)
    with pytest.raises(error, match=message):
        wrong(X)
    with pytest.raises(error, match=message):
        tnp.jit(lambda x: wrong(x), executors=[ex])(X)


def test_what_operators_must_be(ex):
    for wrong, error, message in (
        ({"like": lambda a, b: a + b, "fn": np.sin.__call__}, None, ""),  # C does not tell
        ({"like": lambda a, b: a + b, "fn": lambda a: a}, ValueError, r"like takes \(a, b\) and fn takes \(a\)"),
        ({"like": lambda a: a, "fn": lambda a, b: a}, ValueError, "must take the same arguments"),
        ({"like": lambda a, b: a + b, "fn": lambda a, c: a}, ValueError, "must take the same arguments"),
        ({"like": lambda a, *, k: a, "fn": lambda a: a}, ValueError, "must take the same arguments"),
        ({"like": lambda a, b=1: a, "fn": lambda a, b=2: a}, None, ""),
        ({"like": lambda a: a, "fn": lambda *args: args}, None, ""),
        ({"meta": lambda a: a, "fn": 5}, TypeError, "fn= takes a function, not int 5"),
    ):
        name = f"op_{len(ex.operators)}"
        if error is None:
            ex.register_operator(name, **wrong)
        else:
            with pytest.raises(error, match=message):
                ex.register_operator(name, **wrong)
    with pytest.raises(ValueError, match="must be a Python name"):
        unary(ex, "my sin", np.sin)
    for wrong in (np.sin, prims.sin):
        with pytest.raises(TypeError, match="op= takes an executor's operation"):
            ex.register_implementation("numpy.sin", wrong)
    for register in (
        lambda key: ex.register_implementation(key, execution_transform=np.sin),
        lambda key: extend.register_grad(key, np.sin),
        lambda key: extend.register_vmap(key, np.sin),
    ):
        with pytest.raises(
            TypeError, match=r"by a symbol \(tnp.lang.numpy.sin, .* or an id \('numpy.sin', .*not by <ufunc 'sin'>"
        ):
            register(np.sin)
        with pytest.raises(ValueError, match=r"there is no operation 'numpy.sinn': numpy has no function of that name"):
            register("numpy.sinn")
    with pytest.raises(TypeError, match="checker= takes a function, not bool"):
        ex.register_implementation("numpy.sin", unary(ex, "s", np.sin), checker=True)


def test_registering_an_implementation_again_replaces(ex):
    ex.register_implementation(lnp.sin, unary(ex, "first", np.sin))
    ex.register_implementation("numpy.sin", unary(ex, "second", np.sin))
    f = tnp.jit(lambda x: np.sin(x), executors=[ex])
    f(X)
    assert operations(f) == ["second"]


def test_an_executor_takes_an_operation_in_parts(ex):
    """All of them, or none: the order of executors decides, not what is largest."""
    add = ex.register_operator("my_add", meta=prims.add.meta, fn=np.add)
    ex.register_implementation(PrimIDs.ADD, add)
    f = tnp.jit(lambda x, y: x + y, executors=[ex, "numpy"])
    assert_same(f(X, X), X + X)
    assert operations(f) == ["my_add"]
    assert_same(f(X, X[0]), X + X[0])  # it broadcasts, too
    assert operations(f) == ["add"]
    first = tnp.jit(lambda x, y: x + y, executors=["numpy", ex])
    first(X, X)
    assert operations(first) == ["add"]


def test_gradients_are_claimed_as_the_functions_that_they_compute(ex):
    ex.register_implementation(lnp.multiply, ex.register_operator("my_multiply", meta=prims.mul.meta, fn=np.multiply))
    f = tnp.jit(lambda x, y: (x * y).sum(), executors=[ex])
    g = tnp.grad(f, (0, 1))
    for made, expected in zip(g(X, X + 1), (X + 1, X)):
        assert_same(made, expected)
    assert operations(g).count("my_multiply") == 2


def test_a_transform_of_the_same_arithmetic_ends(ex):
    """What it calls is part of the operation, and not the operation again."""
    ex.register_implementation("numpy.subtract", execution_transform=lambda a, b: prims.sub(a, b))
    f = tnp.jit(lambda x: x - x[::-1], executors=[ex])
    assert_same(f(X), X - X[::-1])
    ex.register_implementation("numpy.sin", execution_transform=lambda a: lnp.cos(a))
    ex.register_implementation("numpy.cos", execution_transform=lambda a: lnp.sin(a))
    with pytest.raises(tnp.NoExecutorError, match="calls the operation itself"):
        tnp.jit(lambda x: np.sin(x), executors=[ex])(X)


def test_an_executor_of_an_opaque_function(ex):
    ex.register_implementation("numpy.unwrap", unary(ex, "my_unwrap", np.unwrap))
    f = tnp.jit(lambda x: np.unwrap(x), executors=[ex])
    assert_same(f(X), np.unwrap(X))
    assert operations(f) == ["my_unwrap"]


def test_numbers_that_checkers_ask_for_are_guarded(ex):
    power = ex.register_operator("my_power", meta=lambda a, b: TensorProxy(like=a), fn=np.power)
    ex.register_implementation("numpy.power", power, checker=lambda a, b: b * 2 > 5)
    f = tnp.jit(lambda x, n: np.power(x, n), executors=[ex, "numpy"])
    for n, runs in ((3.0, "my_power"), (1.5, "power")):
        assert_same(f(X, n), X**n)
        assert operations(f) == [runs]
    assert_same(f(X, 7.0), X**7.0)  # the first program is for this one, too
    assert tnp.cache_info(f).misses == 2
    assert "gt(mul(n, 2), 5) == True" in tnp.explain(f)


def test_checkers_and_transforms_that_raise(ex):
    sin = unary(ex, "my_sin", np.sin)
    f = tnp.jit(lambda x: np.sin(x) + 1, executors=[ex])
    for options, message in (
        ({"checker": lambda a: 1 / 0}, r"the checker of the executor mine raised ZeroDivisionError(.|\n)*lnp.sin\(x\)(.|\n)*at .*test_extend"),
        ({"checker": lambda a: bool(a > 0)}, r"the checker of the executor mine reads a value that is known only when the program runs"),
        ({"checker": lambda: True}, r"the checker of the executor mine raised TypeError"),
        ({"execution_transform": lambda a: a.sheep}, r"the execution transform of the executor mine raised AttributeError"),
        ({"execution_transform": lambda a: a.sum()}, r'gives a "cpu f64\[\]" for t0 of'),
        ({"execution_transform": lambda a: (a, a)}, r"gives 2 results for the 1 of"),
    ):  # fmt: skip
        ex.register_implementation("numpy.sin", None if "execution_transform" in options else sin, **options)
        with pytest.raises(ExtensionError, match=message):
            f(X)


@pytest.mark.parametrize(
    "returned, said",
    [
        (lambda a: a.astype(np.float32), "a numpy array of float32 and shape \\(2, 3\\)"),
        (lambda a: a[:1], "a numpy array of float64 and shape \\(1, 3\\)"),
        (lambda a: a.tolist(), "\\[\\[1.0, 2.0, 3.0\\], "),
        (lambda a: None, "None"),
    ],
)
def test_implementations_that_contradict_their_meta(ex, returned, said, monkeypatch):
    """At the first call, and when they do so later; ``TNP_CHECK`` asks for checks of tnp's own operations."""
    monkeypatch.setenv("TNP_CHECK", "0")
    calls = []
    wrong = unary(ex, "wrong", returned)
    later = unary(ex, "later", lambda a: a * 1 if len(calls) < 2 else returned(a))
    with pytest.raises(ExtensionError, match=f"the operation wrong of the executor mine returned {said}"):
        tnp.jit(lambda x: wrong(x), executors=[ex])(X)
    f = tnp.jit(lambda x: later(x), executors=[ex])
    for _ in range(2):
        assert_same(f(X), X)
        calls.append(1)
    with pytest.raises(ExtensionError, match=f"the operation later of the executor mine returned {said}"):
        f(X)


def test_implementations_that_return_another_number_of_results(ex):
    pair = ex.register_operator("pair", like=lambda a: (a + 1, a + 2), fn=lambda a: (a + 1,))
    with pytest.raises(
        ExtensionError, match=r"the operation pair of the executor mine returned 1 results, where .* promises 2"
    ):
        tnp.jit(lambda x: pair(x), executors=[ex])(X)


class Adding(extend.FusionExecutor):
    """Compiles a store of a sum, and says what it does as it is told to."""

    def __init__(self, updates, returned=None):
        super().__init__("adding")
        self.updates, self.returned = updates, returned

    def can_fuse(self, bsym):
        return bsym.sym.name in ("add", "sum", "convert_element_type")

    def fuse(self, region, name):
        def run(x, *places):
            np.add(x, 1, out=places[0] if places else x)
            return self.returned

        return extend.Fused(run, self.updates)


@pytest.mark.parametrize(
    "methods, said",
    [
        ({}, r"can_fuse of the executor wrong raised NotImplementedError\(\) for\n  t0 = lnp.add\(x, 1\)"),
        ({"can_fuse": lambda self, bsym: False, "decomposes": lambda self, bsym: 1 / 0}, r"decomposes of the executor wrong raised ZeroDivisionError"),
        ({"can_fuse": lambda self, bsym: 1 / 0}, r"can_fuse of the executor wrong raised ZeroDivisionError(.|\n)*at .*test_extend"),
        ({"can_fuse": lambda self, bsym: True, "fuse": lambda self, region, name: {}[name]}, r"fuse of the executor wrong raised KeyError"),
        ({"can_fuse": lambda self, bsym: True, "fuse": lambda self, region, name: 5}, r"fuse of the executor wrong returns 5 for wrong_fusion0"),
    ],
)  # fmt: skip
def test_fusing_executors_that_do_not_what_they_must(methods, said):
    executor = type("Wrong", (extend.FusionExecutor,), {"__module__": __name__, **methods})("wrong")
    with pytest.raises(ExtensionError, match=said):
        tnp.jit(lambda x: x + 1, executors=[executor])(X)


def test_regions_that_update_their_inputs(ex):
    def f(x):
        x[:] = x + 1

    right = np.zeros(2)
    tnp.jit(f, executors=[Adding({0: 0})])(right)
    assert_same(right, np.ones(2))
    with pytest.raises(
        ExtensionError,
        match=r"adding_fusion0 of the executor adding returned 5, where all of its results are in its arg",
    ):
        tnp.jit(f, executors=[Adding({0: 0}, 5)])(np.zeros(2))
    with pytest.raises(
        ExtensionError, match="has its output 3 in the memory of its input 0, and there are 1 outputs and 1 inputs"
    ):
        tnp.jit(f, executors=[Adding({3: 0})])(np.zeros(2))

    def g(x):
        y = x + 1
        x[:] = y
        return y.sum()

    with pytest.raises(
        ExtensionError, match=r"adding_fusion0 of the executor adding returned None for t\d, .*f64\[\]\" of numpy"
    ):
        tnp.jit(g, executors=[Adding({0: 0})])(np.zeros(2))
    with pytest.raises(ExtensionError, match=r'a "cpu f64\[\]", in the memory of its input x, a "cpu f64\[2\]"'):
        tnp.jit(lambda x: x.sum(), executors=[Adding({0: 0})])(np.zeros(2))


def test_operators_of_one_name_and_values_of_an_operators_name(ex):
    other = OperatorExecutor("other")
    first, second = (unary(e, "half", lambda a, n=n: a / n) for e, n in ((ex, 2), (other, 4)))
    f = tnp.jit(lambda x: (first(x), second(x)), executors=[ex, other], strict=True)
    assert_same(f(X), (X / 2, X / 4))
    assert "half_1(x)" in str(tnp.last_traces(f)[-1])
    for name in ("t0", "float", "computation", "np"):
        op = unary(ex, name, lambda a: a * 3)
        assert_same(tnp.jit(lambda half: first(half) + op(half) + np.inf, executors=[ex], strict=True)(X), X + np.inf)
    with pytest.raises(ValueError, match="must be a Python name"):
        unary(ex, "lambda", np.sin)


def test_what_an_operator_runs_does_not_change_what_it_is_elsewhere(ex):
    """It has the tags of the operation that it runs, there alone."""
    twice = unary(ex, "twice", lambda a: a * 2)
    loud = extend.make_prim("test.loud", "loud", meta=lambda a: TensorProxy(like=a), tags=(extend.OpTags.EFFECT,))
    quiet = extend.make_prim("test.quiet", "quiet", meta=lambda a: TensorProxy(like=a))
    for prim in (loud, quiet):
        ex.register_implementation(prim, twice)

    def f(x):
        loud(x), quiet(x)
        return x

    jitted = tnp.jit(f, executors=[ex])
    for _ in range(2):
        jitted(X)
        claimed = [b.sym for b in tnp.last_traces(jitted)[-1].body]
        assert [extend.OpTags.EFFECT in s.tags for s in claimed] == [True]
        jitted.invalidate("for the test")
    assert claimed[0] is not twice and claimed[0].id == twice.id and not twice.tags


# Gradients


def scaled(ex, name="scaled"):
    """An opaque operation: its gradient has to be registered."""
    return ex.register_operator(name, meta=lambda a, b: TensorProxy(like=a), fn=lambda a, b: a * b * 2)


def test_an_opaque_operation_has_the_gradient_that_is_registered(ex):
    op = scaled(ex)
    with pytest.raises(tnp.GradientError, match="scaled has no gradient rule; register one"):
        tnp.grad(lambda a, b: op(a, b).sum())(X, X)

    def rule(a, b):
        fwd = op(a, b)
        g = get_grad(fwd)
        put_grads((a, b), (2 * b * g, 2 * a * g))
        return fwd

    extend.register_grad(op, rule)
    f = tnp.jit(lambda a, b: op(a, b).sum(), executors=[ex])
    for made, expected in zip(tnp.grad(f, (0, 1))(X, X + 1), (2 * (X + 1), 2 * X)):
        assert_same(made, expected)
    # Second derivatives of a rule in operations that have them.
    assert_same(tnp.grad(lambda a: tnp.grad(f)(a, a).sum())(X), np.zeros_like(X) + 2)


def test_rules_that_do_not_what_they_must(ex):
    op = scaled(ex)
    f = lambda a, b: op(a, b).sum()  # noqa: E731

    def forgets(a, b):
        fwd = op(a, b)
        put_grad(a, get_grad(fwd) * b)
        return fwd

    def returns_nothing(a, b):
        put_grads((a, b), (b, a))

    def returns_another_shape(a, b):
        put_grads((a, b), (b, a))
        return op(a, b).sum()

    def puts_too_few(a, b):
        put_grads((a, b), (b,))
        return op(a, b)

    for rule, error, message in (
        (forgets, tnp.GradientError, r"the gradient rule of scaled gives no cotangent for its argument .*f64\[2, 3\].*with None if"),
        (returns_nothing, ExtensionError, "the gradient rule of scaled returns nothing, where the operation returns cpu f64"),
        (returns_another_shape, ExtensionError, r"returns cpu f64\[\], where the operation returns cpu f64\[2, 3\]"),
        (puts_too_few, ValueError, "put_grads got 2 arguments and 1 cotangents"),
    ):  # fmt: skip
        extend.register_grad(op, rule)
        with pytest.raises(error, match=message):
            tnp.grad(f, (0, 1))(X, X)

    def says_none(a, b):
        fwd = op(a, b)
        put_grads((a, b), (get_grad(fwd), None))
        return fwd

    extend.register_grad(op, says_none)
    made = tnp.grad(tnp.jit(f, executors=[ex]), (0, 1))(X, X)
    assert_same(made, (np.ones_like(X), np.zeros_like(X)))
    extend.register_grad(op, forgets)  # who does not ask for the other is not bothered
    assert_same(tnp.grad(f)(X, X + 1), X + 1)
    with pytest.raises(TypeError, match="register_grad takes a function"):
        extend.register_grad(op, 5)
    with pytest.raises(RuntimeError, match="are for gradient rules"):
        get_grad(X)


def test_rules_of_executors(ex):
    def doubled(a):
        fwd = lnp.sin(a)
        put_grad(a, get_grad(fwd) * 2)
        return fwd

    f = lambda x: np.sin(x).sum()  # noqa: E731
    ex.register_implementation("numpy.sin", grad_transform=doubled, checker=lambda a: a.ndim == 2)
    assert_same(tnp.grad(tnp.jit(f, executors=[ex]))(X), np.full_like(X, 2))
    assert_same(tnp.grad(tnp.jit(f, executors=[ex]))(X[0]), np.cos(X[0]))
    assert_same(tnp.grad(f)(X), np.cos(X))


def test_operations_get_tensors_wherever_derivatives_come_from(ex):
    torch = pytest.importorskip("torch")
    from tnp.lang import torch as ltorch

    def multiplied(a, b):
        assert type(a) is type(b) is torch.Tensor
        return a * b

    op = ex.register_operator("op", like=lambda a, b: a * b, fn=multiplied)
    ex.register_implementation(ltorch.mul, op)
    x = torch.arange(1.0, 4.0)
    f = tnp.jit(lambda x: op(x, x).sum(), executors=[ex])
    torch.testing.assert_close(tnp.grad(f)(x), 2 * x)
    torch.testing.assert_close(tnp.hessian(f)(x), 2 * torch.eye(3))
    torch.testing.assert_close(tnp.jacobian(tnp.jit(lambda x: op(x, x), executors=[ex]))(x), torch.diag(2 * x))
    torch.testing.assert_close(tnp.vmap(tnp.grad(f))(torch.stack([x, x])), torch.stack([2 * x, 2 * x]))
    torch.testing.assert_close(tnp.jvp(f, (x,), (x,))[1], 2 * (x * x).sum())
    y = x.clone().requires_grad_()
    f(y).backward()
    torch.testing.assert_close(y.grad, 2 * x)


def test_variables_are_no_operations(ex):
    """Gradients name what they differentiate by; where nothing is written that costs nothing, and results stay apart all the same."""
    f = tnp.jit(lambda x: (x * x).sum(), executors=["numpy"])
    tnp.grad(f)(X)
    assert "reshape" not in operations(tnp.grad(f))
    identity = tnp.grad(lambda x, y: (x * y).sum(), (0, 1))
    a, b = np.ones(3), np.zeros(3)
    by_a, by_b = identity(a, b)
    by_a += 5
    by_b += 7
    assert_same((a, b), (np.ones(3), np.zeros(3)))


# Prims and functions of languages


def test_duplicate_definitions():
    with pytest.raises(ValueError, match=r"PrimIDs.ADD is the id of prims.add"):
        extend.make_prim(PrimIDs.ADD, "add", meta=lambda a, b: a)
    with pytest.raises(ValueError, match="the core language has a method 'add' already"):
        extend.clangop(method_name="add")(lambda a, b: a)
    with pytest.raises(ValueError, match=r"numpy.sin is defined already"):
        extend.npsymbol("sin")(lambda x: x)
    with pytest.raises(TypeError, match="meta= takes a function"):
        extend.make_prim("test.none", "none", meta=None)


# Names of Thunder


def test_install_is_refused_where_the_real_package_is():
    import tnp.thunder

    sys.modules["thunder"] = types.ModuleType("thunder")
    try:
        with pytest.raises(RuntimeError, match="the package thunder is imported already"):
            tnp.thunder.install()
    finally:
        del sys.modules["thunder"]


# Results of operations


def passed_through(x):
    return x


def turned(x):
    return x[::-1]


def made_anew(x):
    return x[::-1].copy()


@pytest.mark.parametrize("function", [passed_through, turned])
def test_an_argument_that_an_operation_returns_is_copied(function):
    extend.operation(function, meta=lambda x: x)

    def f(x):
        y = x * 2
        z = function(y)
        y += 1
        z[0] = 9
        return y, z

    y, z = tnp.jit(f)(np.ones(3))
    assert_same((y, z), (np.full(3, 3.0), np.array([9.0, 2.0, 2.0])))
    x = np.ones(3)
    assert not np.shares_memory(tnp.jit(lambda x: function(x))(x), x)


def test_an_operation_returns_an_array_of_its_own():
    extend.operation(made_anew, meta=lambda x: x)
    assert_same(tnp.jit(lambda x: made_anew(x * 2))(np.arange(3.0)), np.array([4.0, 2.0, 0.0]))


def test_an_error_of_a_meta_is_not_called_a_fault_of_tnps():
    def tripled(x):
        return x * 3

    def wrong(x):
        return TensorProxy(like=x, dtype=np.float64)

    extend.operation(tripled, meta=wrong)
    with pytest.warns(
        tnp.EagerFallbackWarning, match="the meta of tripled raised TypeError.*which tripled itself does not"
    ):
        assert_same(tnp.jit(lambda x: tripled(x) + 1)(np.ones(2)), np.array([4.0, 4.0]))


def test_a_numpy_integer_that_a_shape_depends_on():
    def repeated(x, k):
        return np.repeat(x, k)

    extend.operation(
        repeated,
        meta=lambda x, k: TensorProxy(like=x, shape=(x.shape[0] * extend.value_of(k),)),
        grad=lambda g, x, k: (g[:3], None),
    )
    for f in (lambda x: repeated(x, np.int64(2)).sum(), lambda x: repeated(x, 2).sum()):
        assert_same(tnp.grad(f)(np.ones(3)), np.ones(3))
