"""Decorated functions are compiled even where Python runs the wrapper: it has no source, or a function in parts calls it."""

import functools
import threading

import numpy as np
import pytest

import tnp
from tests.eager_checks import outcome
from tnp.compile.compiled_function import programs_behind

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:.* runs ")

SOURCE = """
def wrapper(*args, __function=function, __checked=checked, **kwargs):
    value = args[1] if len(args) > 1 else __function
    if value is not __function and not isinstance(value, __checked):
        raise TypeError(f"{type(value).__name__} for {__checked.__name__}")
    return __function(*args, **kwargs)
"""
checks = []


def checking(cls):
    """A decorator that writes its wrapper's code, as those do that check types."""

    def decorate(function):
        names = {"function": function, "checked": cls}
        exec(SOURCE, names)
        return functools.wraps(function)(names["wrapper"])

    return decorate


def counting(function):
    """A decorator whose wrapper Python runs."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        checks.append(threading.get_ident())
        return function(*args, **kwargs)

    return wrapper


class Checked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    @checking(torch.Tensor)
    def forward(self, x, scale=2.0):
        return torch.sin(self.linear(x)).exp() * scale + x


class Twice(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Checked()

    def forward(self, x):
        return self.inner(x) + self.inner(x + 1, scale=0.5)


@counting
@torch.no_grad()
def smooth(x):
    return torch.cos(x).exp() * 2 + x


def calls_it(x):
    checks.append("before")
    y = torch.sin(x) * 3 + 1
    return smooth(y) - y


def steps(model, x):
    """The result and the gradients of a call."""
    y = model(x)
    y.square().mean().backward()
    return [y.detach(), *(p.grad for p in model.parameters())]


def is_compiled(f, name):
    """Whether there is a program of the function of a name that a jitted function calls."""
    jitted = programs_behind(f)
    points = jitted._points
    inside = [] if points is None else [*points.functions, *(part for _, part in points.parts)]
    is_own = jitted.called == name and any(e.eager_reason is None for e in jitted._entries)
    return is_own or any(is_compiled(g, name) for g in inside if hasattr(g, "_entries"))


@pytest.mark.parametrize("cls", [Checked, Twice])
def test_modules(cls):
    torch.manual_seed(0)
    model = cls()
    torch.manual_seed(0)
    jitted = tnp.jit(cls())
    for n in (4, 4, 5, 6):
        x = torch.linspace(-1, 1, 3 * n).reshape(n, 3)
        torch.testing.assert_close(steps(jitted, x), steps(model, x))
    assert is_compiled(jitted, "Checked.forward")
    expected, _ = outcome(model, [3])
    assert expected == (TypeError, "int for Tensor")
    assert outcome(jitted, [3])[0] == expected


def test_functions():
    jitted = tnp.jit(calls_it)
    seen = []
    for f in (calls_it, jitted):
        checks.clear()
        for n in (4, 4, 5, 6):
            x = torch.linspace(-1, 1, n).requires_grad_()
            y = f(x)
            y.sum().backward()
            seen.append([y.detach(), x.grad, [*checks]])
    for found, expected in zip(seen[4:], seen[:4], strict=True):
        torch.testing.assert_close(found[:2], expected[:2])
        assert found[2] == expected[2]
    assert is_compiled(jitted, "smooth")


def doubled(function):
    @functools.wraps(function)
    def call(*args):
        return function(*args) * 2

    return call


@doubled
def shifted(x):
    return np.sin(x) + 1


def test_explain_of_a_decorated_function_that_python_calls():
    def f(x, path):
        with open(path) as file:
            return shifted(x) * len(file.read())

    jitted = tnp.jit(f)
    x = np.linspace(0, 1, 5000)
    for _ in range(3):
        np.testing.assert_allclose(jitted(x, __file__), f(x, __file__), rtol=1e-12)
    assert "Python runs" in str(tnp.explain(jitted))
