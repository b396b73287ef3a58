"""Classes of installed packages: code of theirs that Python calls by itself, and data of theirs that change."""

import copy
import importlib.util
import sys
import warnings

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.testing import assert_same

X = np.ones(2)
SOURCE = """
class SetsItself:
    def __init__(self): self.v = 1.0
    def __setattr__(self, name, value): object.__setattr__(self, name, value * 2)
class Meta(type):
    @property
    def v(cls): return cls._v
    def __getattr__(cls, name): return cls._v
    def __getitem__(cls, k): return cls._v * k
    def __len__(cls): return int(cls._v)
    def __contains__(cls, x): return x == cls._v
    def __iter__(cls): return iter([cls._v])
    def __bool__(cls): return cls._v > 3
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.w = cls._v
        return made
class HasMeta(metaclass=Meta):
    _v = 2.0
class Descriptor:
    def __get__(self, instance, owner=None): return self if instance is None else instance.held
    def __set__(self, instance, value): instance.held = value * 2
class HasDescriptor:
    def __init__(self): self.held = 1.0
    v = Descriptor()
class Asked(type):
    answer = True
    def __instancecheck__(cls, x): return cls.answer
class Decides(metaclass=Asked): pass
def closures(n):
    def scaled(x): return x * n + 1
    def twice(x): return scaled(scaled(x))
    return twice, lambda x: x - n
class Counts:
    def __init__(self): self.calls, self.order, self.last = 0, 2, 0.0
    def evaluate(self, x):
        self.calls += 1
        self.last = float(x[0])
        return x ** self.order
class Plain:
    k = 2.0
    def __call__(self, x): return x * self.k
class Tools:
    factor = 3.0
    @staticmethod
    def doubled(x): return x * 2
    def scaled(self, x): return self.doubled(x) * self.factor
class MoreTools(Tools): pass
"""


@pytest.fixture(scope="module", params=["site-packages", "code"])
def package(request, tmp_path_factory):
    """The module, installed and as the user's."""
    path = tmp_path_factory.mktemp("of_a_package") / request.param / "made_up_package.py"
    path.parent.mkdir()
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("made_up_package", path)
    module = sys.modules["made_up_package"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["made_up_package"]


def assigns(x, o, package):
    o.v = o.v + 1.0
    return x * o.v


def assigns_an_array(x, o, package):
    o.v = x
    return o.v + 1


def assigns_to_what_it_made(x, o, package):
    made = type(o)()
    made.v = 3.0
    return x * made.v


OF_OBJECTS = [assigns, assigns_an_array, assigns_to_what_it_made]
OF_CLASSES = {
    "property": lambda x, c, p: x * c.v,
    "missing name": lambda x, c, p: x * c.anything,
    "item": lambda x, c, p: x * c[3],
    "length": lambda x, c, p: x * len(c),
    "in": lambda x, c, p: x * (3.0 in c),
    "loop": lambda x, c, p: x * sum(c),
    "truth": lambda x, c, p: x * 2 if c else x * 3,
    "call": lambda x, c, p: x * c().w,
    "of the module": lambda x, c, p: x * p.HasMeta[2] * len(p.HasMeta),
    "class attribute": lambda x, c, p: x * p.HasMeta._v,
}


@pytest.mark.filterwarnings("ignore:.* runs ")
@pytest.mark.parametrize("f", OF_OBJECTS)
@pytest.mark.parametrize("kind", ["SetsItself", "HasDescriptor"])
def test_what_an_assignment_calls(package, f, kind):
    jitted, mine, left = tnp.jit(f), getattr(package, kind)(), getattr(package, kind)()
    for _ in range(3):
        assert_same(jitted(X, mine, package), f(X, left, package))
        assert_same(vars(mine), vars(left))


@pytest.mark.filterwarnings("ignore:.* runs ")
@pytest.mark.parametrize("name", OF_CLASSES)
def test_what_the_class_of_a_class_does(package, name, monkeypatch):
    f = OF_CLASSES[name]
    jitted = tnp.jit(f)
    for value in (2.0, 3.0, 4.0, 2.0):
        monkeypatch.setattr(package.HasMeta, "_v", value)
        assert_same(jitted(X, package.HasMeta, package), f(X, package.HasMeta, package))


@pytest.mark.filterwarnings("ignore:.* runs ")
def test_data_of_a_class_and_what_decides_on_instances(package, monkeypatch):
    def f(x):
        return x * package.Plain.k if isinstance(x, package.Decides) else package.Plain()(x) + 1

    jitted = tnp.jit(f)
    for k in (2.0, 3.0, 4.0):
        for answer in (True, False):
            monkeypatch.setattr(package.Plain, "k", k)
            monkeypatch.setattr(package.Asked, "answer", answer)
            assert_same(jitted(X), f(X))


CALLBACKS = """
import numpy as np
from scipy.optimize import newton
def model(v, a): return np.exp(v * a) - np.cos(v) * 3 + np.log1p(v * v)
def in_parts(x):
    y = np.sin(x) * 2 + np.cos(x) * x
    z = newton(lambda v, a: model(v, a) - v, y * 0 + 1.0, args=(y * y + 1,), maxiter=50)
    return z
"""


@pytest.mark.filterwarnings("ignore:in_parts runs:tnp.EagerFallbackWarning")
def test_functions_beside_one_that_runs_in_parts_are_compiled(tmp_path):
    path = tmp_path / "site-packages" / "package_with_callbacks.py"
    path.parent.mkdir()
    path.write_text(CALLBACKS)
    spec = importlib.util.spec_from_file_location("package_with_callbacks", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    jitted = tnp.jit(module.in_parts)
    x = np.linspace(0, 1, 50)
    for _ in range(3):
        assert_same(jitted(x), module.in_parts(x), rtol=1e-9)
    assert "in_parts.<locals>.<lambda>: 1 program" in str(tnp.explain(jitted))


def test_sources_that_functions_carry():
    """A decorator that makes functions of texts leaves the text as ``__source__``, as those of the package ``decorator`` do."""
    text = """def smooth(x, width, verbose=None):
    try:
        with divide(verbose) as scale:
            return inner(x, width) / scale
    except (NameError, KeyError):
        raise RuntimeError("no scale") from None
"""

    class Divide:
        def __init__(self, verbose):
            self.verbose = verbose

        def __enter__(self):
            if self.verbose == "unknown":
                raise KeyError(self.verbose)
            return 2.0

        def __exit__(self, *error):
            pass

    def inner(x, width):
        out = np.zeros_like(x)
        for i in range(len(x) - width):
            out[i] = x[i : i + width].mean()
        return out

    names = {"divide": Divide, "inner": inner}
    exec(compile(text, "<generated-7>", "single"), names)
    smooth = names["smooth"]
    x = np.arange(20.0) ** 1.5
    smooth.__source__ = text
    jitted = tnp.jit(lambda x, how: smooth(x, 3, how) + 1, strict=True)
    assert_same(jitted(x, None), smooth(x, 3) + 1)
    with pytest.raises(RuntimeError, match="no scale"):
        jitted(x, "unknown")
    exec(compile(text.replace("/ scale", "* scale"), "<generated-8>", "single"), names)
    other = names["smooth"]
    other.__source__ = text  # of another function, as its code says
    with not_compiled_whole("source cannot be had"), warnings.catch_warnings(action="ignore"):
        assert_same(tnp.jit(lambda x: other(x, 3) + 1)(x), other(x, 3) + 1)


def test_functions_that_are_others_at_each_call_are_guarded_by_their_code(package):
    def f(x, first, second):
        return first(x) * second(x)

    jitted = tnp.jit(f, strict=True)
    for n in (2.0, 3.0, 4.5, 5.0, 6.0):
        assert_same(jitted(X, *package.closures(n)), f(X, *package.closures(n)))
    assert tnp.cache_info(jitted).misses == 2


@pytest.mark.parametrize("k", [0, 5])
def test_numbers_that_an_object_counts_are_no_reason_to_compile_again(package, k):
    mine, left = package.Counts(), package.Counts()
    mine.calls = left.calls = k
    jitted = tnp.jit(mine.evaluate, strict=True)
    for n in range(6):
        assert_same(jitted(X + n), left.evaluate(X + n))
        assert_same(vars(mine), vars(left))
    assert tnp.cache_info(jitted).misses <= 2
    mine.order = left.order = 3
    assert_same(jitted(X + 1), left.evaluate(X + 1))


MODEL = """
import functools
import torch
@functools.lru_cache
def plan(pattern): return pattern.split()
@functools.lru_cache
def lengths(plan, shape): return [shape[0], len(plan), shape[1] // len(plan)]
class Split(torch.nn.Module):
    def __init__(self, pattern):
        super().__init__()
        self.pattern = pattern
    def forward(self, x): return x.reshape(lengths(tuple(plan(self.pattern)), x.shape)).permute(0, 2, 1)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 8)
        self.split = Split("a b c d")
        self.norm = torch.nn.BatchNorm1d(2)
    def halved(self, x): return torch.tanh(x) / 2
    def forward(self, x): return self.norm(self.halved(self.split(self.linear(x)))) + 1
"""


@pytest.mark.parametrize("folder", ["site-packages", "code"])
def test_models_of_installed_packages_are_compiled(tmp_path, folder):
    torch = pytest.importorskip("torch")
    path = tmp_path / folder / "package_with_a_model.py"
    path.parent.mkdir()
    path.write_text(MODEL)
    spec = importlib.util.spec_from_file_location("package_with_a_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    mine = module.Net()
    left = copy.deepcopy(mine)
    jitted = tnp.jit(mine, strict=True)
    for n in (3, 3, 5):
        x = torch.randn(n, 6)
        found, expected = jitted(x), left(x)
        assert_same(found.detach().numpy(), expected.detach().numpy(), rtol=1e-5)
        found.sum().backward()
        expected.sum().backward()
        for a, b in zip((*mine.parameters(), *mine.buffers()), (*left.parameters(), *left.buffers())):
            torch.testing.assert_close(a, b)
            if a.grad is not None:
                torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-5)


def uses(x, package):
    return package.Tools().scaled(x) + package.MoreTools.doubled(x), package.Plain()(x)


def keeps(x, package):
    made = package.MoreTools()
    made.total = x.sum()
    return made.total, type(made) is package.MoreTools, made is package.MoreTools(), vars(made)


def in_a_loop(x, package):
    for i in range(30):
        x = x + package.Tools().scaled(x) * 0.01 * i
    return x


@pytest.mark.parametrize("f", [uses, keeps, in_a_loop])
def test_objects_of_classes_that_make_them_as_object_does(package, f, monkeypatch):
    jitted = tnp.jit(f, strict=True)
    for x in (X, X * 2):
        assert_same(jitted(x, package), f(x, package))
    monkeypatch.setattr(package.Tools, "factor", 5.0)
    assert_same(jitted(X, package), f(X, package))
