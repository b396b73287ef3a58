"""``tnp.config``, the switches, and the table of environment variables that they come from."""

import ast
import os
import re
import runpy
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.runtime import environment, logs, threads
from tnp.testing import assert_same

PACKAGE = Path(tnp.__file__).parent
DOCS = PACKAGE.parent / "docs"


def run(program, **variables):
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | variables, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


# The table


def _names_read(tree):
    """Names of environment variables that a module asks for, and whether by the functions of the table."""
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Call, ast.Subscript)):
            continue
        of = ast.unparse(node.func if isinstance(node, ast.Call) else node.value)
        if re.match(r"(os\.)?(environ|getenv)\b", of):
            yield from ((name, False) for name in re.findall(r"'([A-Z_0-9]+)'", ast.unparse(node))[:1])
        if isinstance(node, ast.Call) and re.fullmatch(r"environment\.(text|is_on|number|temporarily)", of):
            yield from ((name, True) for name in re.findall(r"'([A-Z_0-9]+)'", ast.unparse(node))[:1])


def test_the_package_reads_no_variable_that_is_not_in_the_table():
    found = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        if path.name != "environment.py" and re.search("environ|getenv", text):
            found |= set(_names_read(ast.parse(text)))
    assert {name for name, _ in found} <= environment.VARIABLES.keys()
    assert {name for name, by_table in found if not by_table} <= {"TRITON_INTERPRET"}  # of an extension
    assert len(found) >= 15


def test_each_variable_that_the_package_names_is_in_the_table():
    named = {name for path in PACKAGE.rglob("*.py") for name in re.findall(r"\bTNP_[A-Z_]+\b", path.read_text())}
    assert named == {v.name for v in environment.OWN}


def test_unknown_variables_are_refused():
    with pytest.raises(AssertionError, match="TNP_NOTHING is not in the table"):
        environment.text("TNP_NOTHING")


def test_the_page_is_up_to_date():
    made = runpy.run_path(str(DOCS / "make_environment.py"))["page"]()
    assert (DOCS / "environment.md").read_text() == made, "run `make docs`"


def test_counts_that_are_none_have_their_default(monkeypatch):
    monkeypatch.setenv("TNP_RECOMPILE_LIMIT", "many")
    with pytest.warns(RuntimeWarning, match=r"TNP_RECOMPILE_LIMIT='many' is no count; 64 is taken"):
        assert tnp.config.recompile_limit == 64


# tnp.config


def test_each_variable_is_a_setting_with_a_docstring():
    settings = tnp.settings._settings()
    assert {s.variable.name for s in settings.values()} == {v.name for v in environment.OWN}
    for name, setting in settings.items():
        assert setting.variable.attribute == name and setting.variable.name in setting.__doc__
    text = str(tnp.config)
    assert all(re.search(rf"^{name} ", text, re.M) for name in settings)
    assert max(map(len, text.splitlines())) <= 100


def test_settings_are_read_from_the_environment_and_assigned(monkeypatch):
    monkeypatch.setenv("TNP_CHECK", "0")
    assert tnp.config.check is False
    monkeypatch.setenv("TNP_CHECK", "1")
    assert tnp.config.check is True
    with tnp.config.set(check=False, cache_size=7):
        assert tnp.config.check is False and not tnp.core.check.enabled() and tnp.config.cache_size == 7
        assert re.search("^check +False +set ", str(tnp.config), re.M)
        with tnp.config.set(check=True):
            assert tnp.config.check
        assert not tnp.config.check
    assert tnp.config.check and tnp.core.check.enabled() and tnp.config.cache_size == 256
    assert "TNP_CHECK" not in environment.overrides


def test_settings_that_take_effect_at_once():
    before = tnp.get_num_threads()
    with tnp.config.set(num_threads=1):
        assert tnp.get_num_threads() == threads.get_num_threads() == tnp.config.num_threads == 1
    assert tnp.get_num_threads() == before
    with tnp.config.set(log="guards"):
        assert logs.on(logs.guards) and not logs.on(logs.compile)
    assert not logs.on(logs.guards)


def test_what_cannot_be_assigned_is_refused():
    with pytest.raises(AttributeError, match=r"cpu is read once.*TNP_CPU"):
        tnp.config.cpu = "native"
    with pytest.raises(AttributeError, match="has no setting fast; there are disable"):
        tnp.config.fast = True
    with pytest.raises(TypeError, match="check is a bool"):
        tnp.config.check = 2
    with pytest.raises(ValueError, match="recompile_limit is a count"):
        tnp.config.recompile_limit = -1
    before = tnp.config.cache_size
    with pytest.raises(AttributeError, match="cpu is read once"):
        tnp.config.set(cache_size=before + 1, cpu="native")
    with pytest.raises(AttributeError, match="no setting nothing"):
        tnp.config.set(cache_size=before + 1, nothing=1)
    assert tnp.config.cache_size == before


def test_the_recompile_limit_counts_at_run_time():
    f = tnp.jit(lambda x: x + 1, dynamic=False)
    with tnp.config.set(recompile_limit=2), pytest.warns(tnp.EagerFallbackWarning, match="TNP_RECOMPILE_LIMIT"):
        for n in range(1, 6):
            assert f(np.ones(n)).shape == (n,)
    assert tnp.cache_info(f).size == 2


def test_the_number_of_threads_comes_from_the_environment():
    program = "import tnp; print(tnp.get_num_threads(), tnp.config.num_threads)"
    assert run(program, TNP_NUM_THREADS="3") == ["3", "3"]
    assert run(program, TNP_NUM_THREADS="3", OMP_NUM_THREADS="2") == ["3", "3"]


def test_importing_tnp_does_not_import_the_settings():
    program = (
        "import sys, tnp; print([m for m in sys.modules if m.startswith(('tnp.settings', 'tnp.inspect', 'IPython'))])"
    )
    assert run(program) == ["[]"]


# TNP_DISABLE


def doubled(x):
    x *= 2
    return x.sum()


def test_disabled_functions_run_eagerly_and_keep_their_attributes():
    f = tnp.jit(doubled)
    f(np.ones(3))
    with tnp.config.set(disable=True):
        g = tnp.jit(doubled)
        for jitted in (f, g):
            x = np.ones(3)
            assert_same(jitted(x), np.float64(6.0))
            assert x.tolist() == [2, 2, 2] and jitted.__name__ == "doubled" and jitted.__wrapped__ is doubled
        assert tnp.cache_info(f) == (0, 1, 1) and tnp.cache_info(g) == (0, 0, 0)
        with pytest.raises(RuntimeError, match="has not been called"):
            tnp.last_traces(g)
        np.testing.assert_array_equal(tnp.grad(lambda x: (x**2).sum())(np.ones(2)), [2, 2])  # there is no other way
    f(np.ones(3)), g(np.ones(3))
    assert tnp.cache_info(f) == (1, 1, 1) and tnp.cache_info(g) == (0, 1, 1)


def test_disabled_modules_run_eagerly():
    torch = pytest.importorskip("torch")
    model = tnp.jit(torch.nn.Linear(3, 2))
    with tnp.config.set(disable=True):
        model(torch.ones(1, 3)).sum().backward()
        assert model.bias.grad.tolist() == [1, 1] and tnp.cache_info(model).size == 0
    with torch.no_grad():
        assert model(torch.ones(1, 3)).shape == (1, 2) and tnp.cache_info(model).size == 1


def test_the_environment_disables():
    program = """
import numpy as np, tnp
f = tnp.jit(lambda x: x + 1)
print(f(np.ones(2)).sum(), tnp.cache_info(f).misses, f.__name__)
tnp.config.disable = False
print(f(np.ones(2)).sum(), tnp.cache_info(f).misses)
"""
    assert run(program, TNP_DISABLE="1") == ["4.0", "0", "<lambda>", "4.0", "1"]


# clear


def test_clear_forgets_programs():
    f = tnp.jit(lambda x: np.sin(x) + 1)
    for _ in range(2):
        f(np.ones(3)), f(np.ones(3)), f(np.ones(4, np.float32))
        assert tnp.cache_info(f) == (1, 2, 2) and "recompiled" in tnp.explain(f)
        f.clear()
        assert tnp.cache_info(f) == (0, 0, 0) and "recompiled" not in tnp.explain(f)
        with pytest.raises(RuntimeError, match="has not been called"):
            tnp.last_traces(f)


def test_clear_forgets_what_runs_eagerly_and_in_parts():
    def f(x):
        return float(memoryview(x)[0]) + np.sin(x) * 2 + 1

    jitted = tnp.jit(f)
    for _ in range(2):
        with not_compiled_whole("memoryview"):
            jitted(np.ones(3))
        tnp.clear(jitted)
        assert tnp.cache_info(jitted).size == 0


def test_clear_takes_methods_and_modules():
    class State:
        @tnp.jit
        def step(self, x):
            return x + 1

    s = State()
    s.step(np.ones(2))
    tnp.clear(s.step)
    assert tnp.cache_info(s.step).size == 0
    with pytest.raises(TypeError, match="not a jitted function"):
        tnp.clear(np.sin)
    torch = pytest.importorskip("torch")
    model = tnp.jit(torch.nn.Linear(3, 2))
    model(torch.ones(1, 3))
    tnp.clear(model)
    assert tnp.cache_info(model).size == 0 and model(torch.ones(1, 3)).shape == (1, 2)


# debug_nans


def ratio(x, y):
    z = x + 1
    return z / y


def in_place(x, n):
    for i in range(n):
        x[i] = x[i] / x[i + 1]
    return x


def in_branch(x):
    if x.sum() > 1:
        x = np.exp(x * 1000)
    return x


def masked(x):
    x[x == 0] = np.log(x[x == 0])
    return x


@pytest.mark.parametrize(
    "f, args, operation, line",
    [
        (ratio, (np.ones(3), np.array([1.0, 0, 2])), "true_divide", "return z / y"),
        (ratio, (np.ones(3, np.float32), np.zeros(3, np.float32)), "true_divide", "return z / y"),
        (ratio, (np.full(2, 1 + 1j), np.zeros(2)), "true_divide", "return z / y"),
        (in_place, (np.array([1.0, 2.0, 0.0]), 2), "divide", "x[i] = x[i] / x[i + 1]"),
        (in_branch, (np.ones(2),), "exp", "x = np.exp(x * 1000)"),
        (masked, (np.array([1.0, 0.0]),), "log", "x[x == 0] = np.log(x[x == 0])"),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_first_operation_that_makes_a_nan_is_named(f, args, operation, line):
    jitted = tnp.jit(f)
    with tnp.debug_nans(), pytest.raises(FloatingPointError) as info:
        jitted(*(a.copy() if isinstance(a, np.ndarray) else a for a in args))
    text = str(info.value)
    assert operation in text and text.endswith(f"in {f.__name__}: {line}") and "of finite values at" in text
    expected, found = (g(*(a.copy() if isinstance(a, np.ndarray) else a for a in args)) for g in (f, jitted))
    assert_same(found, expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_for_fusing_executors_alone_are_checked():
    jitted = tnp.jit(lambda x: np.log(x) + 1, executors=["llvm"], always_executors=[], strict=True)
    with tnp.debug_nans(), pytest.raises(FloatingPointError, match="log makes -inf"):
        jitted(np.zeros(3))


def test_values_that_were_not_finite_before_are_left_alone():
    def f(x, y):
        return np.where(np.isnan(x), y, x * 2) + np.full(3, np.inf)

    x = np.array([1.0, np.nan, np.inf])
    jitted = tnp.jit(f)
    with tnp.debug_nans():
        assert_same(jitted(x, np.ones(3)), f(x, np.ones(3)))
        assert_same(tnp.jit(lambda n: np.empty(n).shape)(3), (3,))
    assert tnp.cache_info(jitted).size == 0  # it has its own programs


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_derivatives_and_maps_are_checked():
    with tnp.debug_nans():
        with pytest.raises(FloatingPointError, match="divide makes inf"):
            tnp.grad(lambda x: np.sqrt(x).sum())(np.array([1.0, 0.0]))
        with pytest.raises(FloatingPointError, match="log makes -inf"):
            tnp.vmap(lambda x: np.log(x))(np.array([1.0, 0.0]))
        np.testing.assert_array_equal(tnp.grad(lambda x: np.sqrt(x).sum())(np.ones(2)), [0.5, 0.5])
    assert tnp.grad(lambda x: np.sqrt(x).sum())(np.zeros(1)) == np.inf


def test_tensors_are_checked():
    torch = pytest.importorskip("torch")
    with tnp.debug_nans():
        with pytest.raises(FloatingPointError, match=r"log makes -inf, in element \(1,\)"):
            tnp.jit(lambda t: torch.log(t) * 2)(torch.tensor([1.0, 0.0]))
        x = torch.tensor([0.0], requires_grad=True)
        y = tnp.jit(lambda t: (torch.sqrt(t) * 2).sum())(x)
        with pytest.raises(FloatingPointError, match="divide makes inf"):
            y.backward()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_in_parts_are_checked():
    def f(x):
        a = np.sin(x) * 2 + 1
        b = float(memoryview(x)[0]) + a
        return np.log(b * 0) + a

    jitted = tnp.jit(f)
    with tnp.debug_nans(), pytest.raises(FloatingPointError, match="log makes -inf"), not_compiled_whole("memoryview"):
        jitted(np.ones(3))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_it_is_turned_on_and_off_for_the_process():
    f = tnp.jit(lambda x: np.log(x))
    try:
        tnp.debug_nans()
        with pytest.raises(FloatingPointError):
            f(np.zeros(1))
        tnp.debug_nans(on=False)
        assert f(np.zeros(1)) == -np.inf
        tnp.config.debug_nans = True
        raised = []

        def call():
            try:
                f(np.zeros(1))
            except FloatingPointError as error:
                raised.append(error)

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        assert len(raised) == 1
    finally:
        tnp.config.debug_nans = False
        environment.overrides.pop("TNP_DEBUG_NANS", None)
    program = "import numpy as np, tnp\ntry: tnp.jit(np.log)(np.zeros(1))\nexcept FloatingPointError: print('found')"
    assert run(program, TNP_DEBUG_NANS="1") == ["found"]
