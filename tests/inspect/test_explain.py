"""``explain``: loops and branches, times, and the parts of a function that Python runs."""

import html
import re

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole


def step(u, v, dt, n):
    for _ in range(n):
        lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        v[1:-1, 1:-1] += dt * lap  # in place
        u += dt * v
    return u.mean()


def branching(x, n):
    y = np.i0(x)
    for _ in range(n):
        y = np.argsort(y) * 0.5 + x
    if x.sum() > 100:
        y = np.argsort(y + 1)
    else:
        y = np.argsort(y - 1)
    return y.sum()


def in_parts(x, seen):
    y = np.sin(x) * 2 + 1
    for _ in range(3):
        seen.add(sum(range(2000)))
        y = y * 0.5 + np.sqrt(y) * 2 - 1
    y = np.cos(memoryview(y).obj * 2) + 1
    return y * y


def grid(n=200):
    return np.random.default_rng(0).normal(size=(n, n)), np.zeros((n, n))


def line_of(text, *words):
    """The one line that has all the words."""
    (found,) = [line for line in text.splitlines() if all(w in line for w in words)]
    return found


@pytest.mark.parametrize("n", [20, 200], ids=["a native loop", "a loop of native bodies"])
def test_loops_are_shown_with_the_users_lines(n):
    jitted = tnp.jit(step)
    jitted(*grid(n), 0.1, 2)
    text = str(tnp.explain(jitted))
    first = step.__code__.co_firstlineno
    assert f"test_explain.py:{first + 2}: lap = u[2:, 1:-1]" in text and "getitem 5, add 3, multiply, subtract" in text
    assert f"test_explain.py:{first + 3}: v[1:-1, 1:-1] += dt * lap: getitem, multiply, add, update" in text
    assert f"test_explain.py:{first + 5}: return u.mean(): mean" in text
    assert "executors: llvm 2" in text
    if n == 200:
        loop, body = line_of(text, "for i0 in range(n):"), line_of(text, "llvm_fusion0: 17 operations")
        assert len(body) - len(body.lstrip()) == len(loop) - len(loop.lstrip()) + 2
        assert loop.endswith(f"test_explain.py:{first + 2}-{first + 4}")


def test_branches_are_shown_and_counted():
    jitted = tnp.jit(branching)
    jitted(np.linspace(0, 1, 1000), 3)
    text = str(tnp.explain(jitted))
    assert "executors: numpy 7, llvm 2" in text
    lines = [line.strip() for line in text.splitlines()]
    at = lines.index("else:")
    before, behind = lines[at - 1], lines[at + 1]
    assert re.match(r"numpy: t\d+ = \w+.argsort\(", before) and re.match(r"numpy: t\d+ = np.subtract\(", behind)
    assert line_of(text, "np.i0(x)", "numpy:").strip().startswith("numpy: t0 = np.i0(x)  ")


def test_lines_are_cut():
    jitted = tnp.jit(step)
    jitted(*grid(), 0.1, 2)
    lines = tnp.explain(jitted).splitlines()
    assert max(len(line) for line in lines if not line.startswith(" " * 6)) <= 100  # but a kernel's are whole
    jitted = tnp.jit(lambda x: np.i0(x), executors=["numpy"])
    jitted(np.ones(3))
    assert "checked" not in tnp.explain(jitted)


def test_what_is_repeated_is_shown_once():
    @tnp.jit
    def f(x, seen):
        for k in range(60):
            x[1:-1] += 0.1 * (x[2:] - x[:-2])
            if k % 20 == 0:
                seen.append(x.copy())
        return x

    f(np.ones(5000), [])
    text = tnp.explain(f)
    assert "(these 4 lines: " in text
    assert len(text.splitlines()) < 120


def test_long_programs_end_with_a_count():
    def f(x):
        for _ in range(30):
            x = np.argsort(x) + 1
            x = np.argsort(x) - x
            x = np.argsort(np.flip(x))
        return x

    jitted = tnp.jit(f, executors=["numpy"], dynamic=False)
    assert jitted(np.ones(2)).shape == (2,)
    statements = len([b for b in tnp.last_traces(jitted)[-1].body if b.sym.executor is not None])
    text = str(tnp.explain(jitted))
    shown = len([line for line in text.splitlines() if line.startswith("  numpy: ")])
    assert statements == shown or f"  and {statements - shown} statements more" in text


@pytest.fixture
def patient(monkeypatch):
    """Eager calls are measured however busy the machine is."""
    monkeypatch.setitem(tnp.explain.__globals__, "LONGEST", 60.0)


def test_with_arguments_a_call_is_measured(patient):
    jitted = tnp.jit(step)
    u, v = grid()
    jitted(u, v, 0.1, 2)
    before, info = u.copy(), tnp.cache_info(jitted)
    text = str(tnp.explain(jitted, u, v, 0.1, n=3))
    assert (u == before).all() and tnp.cache_info(jitted) == info
    assert re.search(r"a call takes [\d.]+ [mµ]s, an eager one [\d.]+ [mµ]s: [\d.e+]+ times eager's speed", text)
    assert re.search(r"\[[\d.]+ [mµ]?s, [\d.]+%, 3 iterations\]$", line_of(text, "for i0 in range(n):"))
    assert re.search(r"\[[\d.]+ [mµ]?s, [\d.]+%, 3 times\]$", line_of(text, "llvm_fusion0:"))
    assert "[" not in line_of(str(tnp.explain(jitted)), "llvm_fusion0:").split("operations")[1]


def test_a_call_that_is_not_compiled_yet_is_compiled_to_be_measured():
    jitted = tnp.jit(branching)
    text = str(tnp.explain(jitted, np.linspace(0, 1, 10), 2))
    assert "a call takes" in text and tnp.cache_info(jitted).size == 1
    assert ", 0 times]" in line_of(text, "np.subtract(") or ", 0 times]" in line_of(text, "np.add(")
    with pytest.raises(TypeError, match="not a jitted function"):
        tnp.explain(branching, np.ones(3), 2)


def test_only_the_program_of_the_call_has_times():
    jitted = tnp.jit(lambda x: np.sin(x) + 1)
    jitted(np.ones(3)), jitted(np.ones(3, np.float32))
    text = str(tnp.explain(jitted, np.ones(3, np.float32)))
    first, second = re.split(r"^program 1", text, flags=re.M)
    assert ("a call takes" in first) != ("a call takes" in second)


def test_slow_eager_calls_are_left_out(monkeypatch):
    monkeypatch.setitem(tnp.explain.__globals__, "LONGEST", 0.0)
    jitted = tnp.jit(branching)
    text = str(tnp.explain(jitted, np.linspace(0, 1, 10), 2))
    assert "a call takes" in text and "eager one" not in text


def test_derivatives_and_training_are_measured(patient):
    gradient = tnp.grad(lambda x: np.sin(x).sum())
    text = str(tnp.explain(gradient, np.ones(1000)))
    assert "a call takes" in text and "eager one" not in text  # there is no eager way
    torch = pytest.importorskip("torch")
    model = tnp.jit(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh()))
    text = str(tnp.explain(model, torch.ones(4, 3)))
    assert re.search(r"the backward program takes [\d.]+ µ?m?s", text) and "eager one" in text


def test_resume_points_have_their_costs(patient):
    jitted = tnp.jit(in_parts)
    with not_compiled_whole("a set"):
        for _ in range(4):
            jitted(np.ones(2000), set())
    text = str(tnp.explain(jitted))
    assert (
        "memoryview(y): it calls memoryview" in text and "[" not in line_of(text, "compiled, lines", "to").split(":")[1]
    )
    text = str(tnp.explain(jitted, np.ones(2000), set()))
    assert "a call takes" in text and "an eager one" in text
    costs = [line for line in text.splitlines() if re.search(r"\[[\d.]+ [mµ]s(, \d+ times)?\]$", line)]
    first = in_parts.__code__.co_firstlineno
    assert any(f":{first + 5}: memoryview(y)" in line for line in costs)
    assert any("compiled, lines" in line for line in costs)


DATA = bytes(1_000_000)


def slow(x):
    y = np.sin(x) * 2 + 1
    z = np.cos(y) * 2 + 1
    total = sum(memoryview(DATA))
    z = np.exp(-y) * z - total
    return z + np.sqrt(y * y)


def test_the_costs_are_those_of_the_lines():
    jitted = tnp.jit(slow)
    with not_compiled_whole("memoryview"):
        for _ in range(3):
            jitted(np.ones(1000))
    found = tnp.profile(jitted, np.ones(1000))
    by_text = {row.statement: row for row in found.rows}
    summing = next(row for text, row in by_text.items() if "memoryview" in text)
    compiled = [row for row in found.rows if row.executor == "tnp"]
    assert summing.executor == "Python" and summing.calls == found.calls
    assert compiled and summing.seconds > 2 * sum(row.seconds for row in compiled)
    assert summing.location == f"test_explain.py:{slow.__code__.co_firstlineno + 3}"


def test_notebooks_show_an_outline():
    jitted = tnp.jit(step)
    jitted(*grid(), 0.1, 2)
    found = tnp.explain(jitted)
    shown = found._repr_html_()
    text = html.unescape(re.sub("<[^>]*>", "\n", shown))
    assert [line.strip() for line in text.splitlines() if line.strip()] == [line.strip() for line in found.splitlines()]
    assert shown.count("<details") == shown.count("</details>") > 3
    assert "<details><summary>guards:</summary>" in shown and "<details open><summary>program 0" in shown
