"""The first call of a long program takes time in proportion to its length, and shows its progress."""

import gc
import importlib.util
import io
import itertools
import re
import sys

import numpy as np
import pytest

import tnp
from tnp.executors import llvm
from tnp.executors.llvm.loop_ir import fixed_region as region
from tnp.runtime import engine, launcher, logs

#: llvmlite has no target for some processors; programs are NumPy's there
native = pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this processor")

X, Y = np.linspace(0.1, 1, 20), np.linspace(1, 2, 20)


@pytest.fixture
def program(tmp_path):
    """Makes a function of ``x`` and ``y`` whose lines are in a file."""
    numbers = itertools.count()

    def make(lines, result="x"):
        body = "".join(f"    {line}\n" for line in [*lines, f"return {result}"])
        file = tmp_path / f"program{next(numbers)}.py"
        file.write_text(f"import numpy as np\ndef f(x, y):\n{body}")
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.f

    return make


def calls_of_first(f):
    """How many calls of functions, Python's and C's, the first call of ``tnp.jit(f)`` makes."""
    counted = 0

    def count(frame, event, arg):
        nonlocal counted
        counted += event in ("call", "c_call")

    jitted = tnp.jit(f)
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        jitted(X, Y)
    finally:
        sys.setprofile(before)
    return counted


LINES = {
    "arithmetic": lambda i: ("x, y = np.sin(x) + y, x", "x = np.maximum(x, y) * 0.5")[i % 2],
    "rolls": lambda i: f"x = x * 0.5 + np.roll(x, {i % 5})",
    "writes to elements": lambda i: f"x[{i % 20}] = x[{i * 7 % 20}] + {i}.0",
    "calls of the library between regions": lambda i: "x = np.linalg.solve(np.eye(20), x) * 0.5 + y",
    "products": lambda i: "x = np.outer(x, y) @ x * 0.01",
    "parts of an array": lambda i: f"x = np.concatenate([x[1:], y[:1] + {i}.0])",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_four_times_the_lines_are_about_four_times_the_work(program, line):
    def work(n):
        return calls_of_first(program(["x = x.copy()", *map(line, range(n))]))

    work(2)  # what a process does once
    few = 90 if "sin" in line(0) else 20  # more than one region each, where all of them are fused
    assert work(4 * few) < 5 * work(few)


def test_many_arrays_and_calls_that_may_raise(program):
    def work(n):
        f = program([], "[np.linalg.inv(a) for a in x]")
        counted = 0

        def count(frame, event, arg):
            nonlocal counted
            counted += 1

        jitted = tnp.jit(f)
        sys.setprofile(count)
        try:
            jitted([np.eye(2) + i for i in range(n)], None)
        finally:
            sys.setprofile(None)
        return counted

    work(2)
    assert work(160) < 5 * work(40)


@native
def test_regions_that_do_the_same_share_their_code(program, monkeypatch):
    made = []
    compile_object = engine._object
    monkeypatch.setattr(engine, "_object", lambda *args: made.append(args) or compile_object(*args))
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")
    f = program(["x = np.linalg.solve(np.eye(20), np.sin(x) * 0.8125 + y)"] * 30)
    np.testing.assert_allclose(tnp.jit(f)(X, Y), f(X, Y))
    assert len(made) <= 3


@native
@pytest.mark.parametrize(
    "line, size, level",
    [
        ("x = x * 0.5 + np.roll(x, 1)", 20, 0),
        ("x = np.sin(x) * 0.5 + x[::-1]", 20, 0),
        ("x = x * 0.5 - x.sum() / 100", 20, 0),
        ("x = np.where(x > 0.5, x / 2, x * 2) + (x * 3).astype(int)", 20, 0),
        ("x = x * 0.5 + np.roll(x, 1)", 20_000, 1),  # there is enough to do
        ("x = x * 0.5 - x.sum() / 100", 2_000, 1),  # a sum is to be as accurate as NumPy's
    ],
)
def test_what_is_long_and_computes_little_is_only_translated(program, monkeypatch, line, size, level):
    levels = []
    compile_ir = engine.compile_ir
    monkeypatch.setattr(engine, "compile_ir", lambda *args: levels.extend(args[2:3]) or compile_ir(*args))
    monkeypatch.setattr(region, "LONG", 30)
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")
    f = program([line] * 16)
    x, y = np.linspace(0.1, 1, size), np.linspace(1, 2, size)
    np.testing.assert_allclose(tnp.jit(f)(x, y), f(x, y), rtol=1e-12)
    assert levels and set(levels) == {level}


@native
def test_the_text_of_a_kernel_is_as_long_as_the_kernel(program):
    """An expression that is used twice is shown once: the text of a chain does not double with each line."""
    f = tnp.jit(program(["x = np.where(x > 0.5, x / 2, x * 2) + y"] * 40))
    f(X, Y)
    assert len(tnp.explain(f)) < 30_000


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def at_once(monkeypatch):
    """Everything takes long."""
    monkeypatch.setattr(logs, "PATIENCE", 0.0)
    monkeypatch.setattr(logs, "EVERY", {"terminal": 0.0, "log": 0.0})


def test_a_terminal_shows_what_is_done_in_a_line_that_goes(at_once, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    tnp.jit(lambda x: np.sin(x) + 0.375)(X)
    shown = sys.stderr.getvalue()
    assert "compiles" in shown and re.search(r"Fusion, after \d+\.\d s", shown) and "\n" not in shown
    assert shown.endswith("\r\x1b[K")


def test_nobody_is_shown_what_is_done_at_once(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    tnp.jit(lambda x: np.sin(x) + 0.375)(X)
    assert sys.stderr.getvalue() == ""


def test_a_file_is_not_written_to(at_once, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    tnp.jit(lambda x: np.sin(x) + 0.375)(X)
    assert sys.stderr.getvalue() == ""


def test_the_log_has_the_steps(at_once, caplog, program):
    with caplog.at_level("DEBUG", logger="tnp.compile"):
        tnp.jit(program(["x = x + y"] * 600))(X, Y)
    steps = [record.message for record in caplog.records if ", after " in record.message]
    assert any("values" in step for step in steps) and any("Fusion" in step for step in steps)


@native
@pytest.mark.skipif(launcher._foreign() is not None, reason="the native launcher reads CPython's objects")
def test_the_collector_does_not_free_what_a_launcher_looks_at_when_it_goes():
    made = launcher.make_launcher("kept", lambda *args: None).function
    kept = gc.get_referents(made)[0]
    assert not any(isinstance(x, launcher._MethodDef) for x in kept)
