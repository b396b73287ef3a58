"""Looking inside: what is told of a program is what it does, and telling costs nothing when nobody listens."""

import html
import json
import logging
import os
import re
import stat
import tomllib
from pathlib import Path

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.__main__ import main
from tnp.runtime import environment, logs

HERE = os.path.basename(__file__)


def smooth(x, n):
    y = np.sin(x) + 1
    for _ in range(n):
        y = np.sort(y, kind="stable") * 0.5
    x += y
    return y.sum()


def listing(x):
    z = np.i0(x)
    if x.reshape(2, -1).tolist()[0][0] > 3:
        return z
    return np.i0(z) + np.sinc(np.polyval([1.0, 2.0], z)) + np.sin(x)


# profile


def test_profile_times_each_statement():
    x = np.zeros(20)[::2]
    found = tnp.profile(smooth, x, n=3)
    assert (x == 0).all()
    by_name = {row.name: row for row in found.rows}
    assert by_name["sort"].calls == 3 * found.calls and by_name["sort"].depth == 1
    fused = next(row for row in found.rows if "sin" in row.operations)
    assert fused.executor == "llvm" and fused.calls == found.calls and fused.location.startswith(f"{HERE}:")
    loop = next(row for row in found.rows if row.statement.startswith("for "))
    inside = sum(row.seconds for row in found.rows if row.depth == 1)
    assert inside < loop.seconds < sum(row.seconds for row in found.rows if row.depth == 0) < found.seconds
    text = str(found)
    assert text.startswith(f"smooth: {found.calls} calls, ") and "np.sort(" in text and "guards, arguments" in text


def test_profile_of_what_is_differentiated():
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(3, 2)
    model = tnp.jit(torch.nn.Sequential(layer, torch.nn.Tanh()))
    x = torch.ones(4, 3, requires_grad=True)
    found = tnp.profile(model, x)
    phases = [row.phase for row in found.rows]
    assert phases == sorted(phases, reverse=True) and set(phases) == {"forward", "backward"}
    assert all(row.calls == found.calls for row in found.rows)
    assert 0 < sum(row.seconds for row in found.rows if row.phase == "backward") < found.seconds
    assert x.grad is None and layer.weight.grad is None
    text = str(found)
    assert text.index(" forward:\n") < text.index(" backward:\n") and "guards, arguments" in text
    names = {e["args"]["phase"] for e in found.chrome_trace()["traceEvents"] if e["cat"] != "call"}
    assert names == {"forward", "backward"}
    assert tnp.last_backward_traces(model)  # which is what was measured
    with torch.no_grad():
        assert {row.phase for row in tnp.profile(model, x).rows} == {""}


def test_profile_takes_the_way_back_that_was_asked_for():
    torch = pytest.importorskip("torch")
    f = tnp.jit(lambda x, y: (torch.sin(x), torch.cos(y)))
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    f(x, y)[1].sum().backward()
    profiled = {
        name for row in tnp.profile(f, x, y).rows if row.phase == "backward" for name in (row.name, *row.operations)
    }
    assert "sin" in profiled and "cos" not in profiled


def test_profile_as_a_chrome_trace(tmp_path):
    found = tnp.profile(tnp.jit(smooth), np.zeros(4), 2)
    found.save(tmp_path / "f.json")
    events = json.loads((tmp_path / "f.json").read_text())["traceEvents"]
    assert all(e["ph"] == "X" and e["ts"] >= 0 and e["dur"] >= 0 and e["pid"] == os.getpid() for e in events)
    calls = [e for e in events if e["cat"] == "call"]
    assert len(calls) == found.calls and {e["name"] for e in calls} == {"smooth"}
    first = calls[0]
    within = [e for e in events if e is not first and e["ts"] < first["ts"] + first["dur"]]
    assert len(within) == sum(row.calls for row in found.rows) / found.calls
    assert all(first["ts"] <= e["ts"] and e["ts"] + e["dur"] <= first["ts"] + first["dur"] for e in within)


def test_profile_of_what_runs_eagerly():
    with not_compiled_whole("tolist"):
        found = tnp.profile(listing, np.ones(2000))
    assert found.seconds > 0 and "tolist" in str(found)
    assert {row.executor for row in found.rows} == {"Python", "tnp"}
    with pytest.raises(ZeroDivisionError):
        tnp.profile(lambda n: 1 / n, 0)


# examine


def test_examine_counts_operations_and_opaque_calls():
    found = tnp.examine(lambda x: np.i0(np.i0(x)) + np.sin(x) + np.sin(2 * x), np.ones(3))
    assert found.compiles and found.operations["lnp.sin"] == 2
    (lines,) = found.unsupported.values()
    assert list(found.unsupported) == ["np.i0"] and len(lines) == 2 and all(HERE in line for line in lines)
    assert "np.i0: 2 calls" in str(found) and "(2 times)" in str(found) and "compiles" in str(found)


def test_examine_finds_all_that_is_in_the_way():
    x = np.ones(2000)
    found = tnp.examine(listing, x)
    assert not found.compiles and "tolist" in found.eager_reason and (x == 1).all()
    assert {name: len(lines) for name, lines in found.unsupported.items()} == {"np.i0": 2}
    first, second = (int(re.search(rf"{HERE}:(\d+)", line)[1]) for line in found.unsupported["np.i0"])
    assert second == first + 3
    assert "runs eagerly" in str(found)


def test_examine_runs_nothing_that_can_be_traced():
    calls, seen = [], set()

    def f(x):
        x += 1
        seen.add(len(seen))
        return x

    def g(x):
        x += 1
        calls.append(len(calls))
        return np.sin(x)

    x = np.zeros(2)
    assert tnp.examine(g, x).compiles and (x == 0).all() and calls == []
    assert not tnp.examine(f, x).compiles and (x == 0).all()
    assert "raises ZeroDivisionError" in tnp.examine(lambda x: x.reshape(2, -1).tolist()[0][0] / 0, np.ones(2000)).error
    with pytest.raises(TypeError, match="argument"):
        tnp.examine(g)


# traces as HTML and as graphs


def test_html_shows_the_program():
    jitted = tnp.jit(smooth)
    jitted(np.zeros(3), 2)
    for trace in tnp.last_traces(jitted):
        shown = trace._repr_html_()
        assert html.unescape(re.sub("<[^>]*>", "", shown)) == str(trace)
    coloured = dict(re.findall(r'<span style="color: (#\w+)">([^<]*)</span>', shown)[::-1])
    assert len(coloured) >= 4 and "for" in re.findall(r'<span style="color: #b05cc2">(\w+)</span>', shown)


def test_draw_writes_boxes_for_fusions_and_loops(tmp_path):
    jitted = tnp.jit(smooth)
    jitted(np.zeros(3), 2)
    trace = tnp.last_traces(jitted)[-1]
    text = tnp.draw(trace, tmp_path / "f.dot")
    assert (tmp_path / "f.dot").read_text() == text
    labels = re.findall(r"subgraph cluster_\d+ {\n *label=\"([^\"]*)\"", text)
    assert "for i0 in range(n)" in labels and any(label.startswith("llvm_fusion") for label in labels)
    assert text.count("{") == text.count("}")
    nodes = re.findall(r"^ *(n\d+) \[", text, re.MULTILINE)
    assert len(nodes) == len(set(nodes))
    ends = re.findall(r"(n\d+) -> (n\d+)", text)
    assert ends and {n for pair in ends for n in pair} <= set(nodes)


FAKE_DOT = """#!/bin/sh
text=$(cat)
case "$1" in -Tsvg) echo "<svg>$(echo "$text" | wc -l)</svg>" > "$3" ;; *) echo "no format $1" >&2; exit 1 ;; esac
"""


def test_draw_calls_graphviz_where_it_is(tmp_path, monkeypatch):
    trace = tnp.trace()(smooth, np.zeros(3), 2)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.warns(UserWarning, match=r"dot is not installed; wrote .*f\.dot"):
        text = tnp.draw(trace, tmp_path / "f.svg")
    assert (tmp_path / "f.dot").read_text() == text and not (tmp_path / "f.svg").exists()
    program = tmp_path / "dot"
    program.write_text(FAKE_DOT)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    tnp.draw(trace, tmp_path / "f.svg")
    assert (tmp_path / "f.svg").read_text().startswith("<svg>")
    with pytest.raises(ValueError, match=r"dot cannot draw .*no format -Tnothing"):
        tnp.draw(trace, tmp_path / "f.nothing")


# explain


def test_errors_that_only_tracing_meets_are_found_once(monkeypatch):
    traced = []

    def fail(*args, **kwargs):
        traced.append(args)
        raise KeyError("first")

    monkeypatch.setattr(tnp.compile.driver, "capture_trace", fail)
    with pytest.raises(tnp.InternalError, match="tracing raised KeyError"):
        tnp.jit(lambda x: x + 1)(1)
    monkeypatch.setenv("TNP_CHECK", "0")
    jitted = tnp.jit(lambda x: x + 1)
    with pytest.warns(tnp.InternalErrorWarning, match="tracing raised KeyError.*please report it"):
        assert jitted(1) == 2
    assert jitted(2) == 3 and len(traced) == 2
    assert "tracing raised KeyError('first')" in tnp.explain(jitted)


# logging


@pytest.fixture
def loggers():
    before = [(logger, logger.level) for logger in logs.LOGGERS.values()]
    parent = logging.getLogger("tnp")
    handlers = list(parent.handlers)
    yield
    for logger, level in before:
        logger.setLevel(level)
    parent.handlers[:] = handlers


def test_loggers_tell_of_programs_guards_and_claims(loggers, caplog):
    logs.turn_on("compile, guards,claims")
    jitted = tnp.jit(lambda x: np.argsort(np.sin(x)), executors=["numpy"])
    jitted(np.zeros(2))
    jitted(np.zeros(3))
    told = [(r.name, r.getMessage()) for r in caplog.records]
    assert any(n == "tnp.claims" and m.startswith("lnp.argsort: claimed by numpy") for n, m in told)
    assert any(n == "tnp.compile" and re.search(r"compiled .*<lambda> in [\d.]+ ms$", m) for n, m in told)
    assert any(n == "tnp.compile" and m.endswith("again: not argument x has shape (2,)") for n, m in told)
    assert any(n == "tnp.guards" and m.endswith("is compiled again: not argument x has shape (2,)") for n, m in told)
    assert any(n == "tnp.guards" and m.endswith("is valid for: dimension 0 of argument x >= 2") for n, m in told)


def test_opened_and_refused_operations_are_told(loggers, caplog):
    logs.turn_on("claims")
    tnp.jit(lambda x: np.argsort(x) + 1)(np.zeros(2))
    told = [r.getMessage() for r in caplog.records]
    assert any(m.startswith("lnp.argsort: claimed by numpy; not supported by llvm") for m in told)
    assert "lnp.add: claimed by llvm" in told and all(r.name == "tnp.claims" for r in caplog.records)


def test_nothing_is_written_down_when_nobody_listens(monkeypatch, caplog):
    monkeypatch.setattr(logs.Event, "__str__", lambda self: pytest.fail("made a message"))
    monkeypatch.setattr(logging.Logger, "handle", lambda self, record: pytest.fail("logged"))
    tnp.jit(lambda x: np.cos(x))(np.zeros(2))
    assert not caplog.records


def test_the_environment_is_read(loggers, capsys):
    with pytest.warns(UserWarning, match=r"names nothing; there are compile, guards, claims and all"):
        logs.turn_on("nothing")
    assert not any(map(logs.on, logs.LOGGERS.values()))
    logs.turn_on("all")
    assert all(map(logs.on, logs.LOGGERS.values()))
    root = logging.getLogger()
    handlers, root.handlers[:] = list(root.handlers), []
    try:
        logs.tell(logs.Event("program", "f", 0.5))
    finally:
        root.handlers[:] = handlers
    assert capsys.readouterr().err == "[tnp.compile] compiled f in 500.0 ms\n"
    logs.tell(logs.Event("program", "f", 0.5))  # the program's own logging has it
    assert capsys.readouterr().err == ""


# the command line


def test_info(capsys, monkeypatch):
    monkeypatch.setattr(tnp.executors.registry, "availability", lambda: {"llvm": "", "cupy": "cupy is not installed"})
    main(["info"])
    told = capsys.readouterr().out
    assert f"tnp {tnp.__version__}, Python" in told and f"numpy: {np.__version__}" in told
    assert "llvm: available, by default" in told and "cupy: not there: cupy is not installed" in told
    assert "cpu: " in told and "cuda" in told and "cache: " in told
    assert re.search("^  cudagraphs: (available|not there: .)", told, re.M)


SCRIPT = """
import sys
import numpy as np, tnp
f = tnp.jit(lambda x: np.sin(x))
for n in (2, 2, 3):
    f(np.zeros(n))
assert __name__ == "__main__"
print(sys.argv[1:])
{}
"""


@pytest.mark.parametrize("end, error", [("", None), ("sys.exit(3)", SystemExit), ("1 / 0", ZeroDivisionError)])
def test_run_reports_what_was_compiled(tmp_path, capsys, end, error):
    before = list(logs.listeners)
    script = tmp_path / "program.py"
    script.write_text(SCRIPT.format(end))
    if error is None:
        main(["run", str(script), "a", "--b"])
    else:
        with pytest.raises(error):
            main(["run", str(script), "a", "--b"])
    said = capsys.readouterr()
    assert said.out == "['a', '--b']\n"
    assert re.search(r"tnp: 2 programs and 2 regions of native code in \d+ ms, 1 recompilations, 0 findings", said.err)
    assert "recompiled <lambda>: not argument x has shape (2,)" in said.err
    assert logs.listeners == before


def test_run_refuses_what_is_no_file(tmp_path):
    with pytest.raises(SystemExit, match="there is no file"):
        main(["run", str(tmp_path / "nothing.py")])


def test_cache_is_shown_and_cleared(tmp_path, monkeypatch, capsys):
    from tnp.runtime import disk_cache

    monkeypatch.setenv("TNP_CACHE_DIR", str(tmp_path / "cache"))
    disk_cache.store("a", b"x" * 5000)
    (tmp_path / "cache" / "mine.txt").write_text("kept")
    main(["cache"])
    assert re.search(r"cache: \S+cache, 1 objects, 0.0 MiB", capsys.readouterr().out)
    main(["cache", "--clear"])
    assert "removed 1 objects" in capsys.readouterr().out
    assert [f.name for f in (tmp_path / "cache").iterdir()] == ["mine.txt"]
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")
    main(["cache", "--clear"])
    assert "removed 0 objects\ncache: off" in capsys.readouterr().out


def test_version_and_console_script(capsys, monkeypatch):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"tnp {tnp.__version__}\n"
    for program, name in (("/usr/bin/tnp", "tnp"), ("/a/tnp/__main__.py", "python -m tnp")):
        monkeypatch.setattr("sys.argv", [program])
        with pytest.raises(SystemExit):
            main([])
        assert f"usage: {name} [-h]" in capsys.readouterr().err
    project = tomllib.loads((Path(tnp.__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"tnp": "tnp.__main__:main"}


EXPLAINED = """
import sys
import numpy as np, tnp
def make():
    return tnp.jit(lambda x: np.argsort(x))
@tnp.jit
def f(x):
    return np.sin(x)
@tnp.jit
def unused(x):
    return x
for n in (2, 3):
    f(np.zeros(n))
make()(np.ones(2))
{}
"""


@pytest.mark.parametrize("end, error", [("", None), ("1 / 0", ZeroDivisionError)])
def test_scripts_are_explained(tmp_path, capsys, end, error):
    script = tmp_path / "program.py"
    script.write_text(EXPLAINED.format(end))
    if error is None:
        main(["explain", str(script), "a"])
    else:
        with pytest.raises(error):
            main(["explain", str(script)])
    text = capsys.readouterr().out
    assert text.startswith("f: 2 programs, 0 hits, 2 misses\n") and "unused" not in text
    assert "program.py:8: return np.sin(x): sin" in text and "recompiled because not argument x has shape (2,)" in text
    assert "make.<locals>.<lambda>: 1 program" in text
    assert tnp.compile.compiled_function.recorded == []
    with pytest.raises(SystemExit, match="there is no file"):
        main(["explain", str(tmp_path / "nothing.py")])


def test_scripts_that_jit_nothing(tmp_path, capsys):
    (tmp_path / "program.py").write_text("print(1)")
    main(["explain", str(tmp_path / "program.py")])
    assert capsys.readouterr().out == "1\ntnp: the script called no jitted function\n"


def test_info_lists_the_environment(capsys, monkeypatch):
    monkeypatch.setenv("TNP_RECOMPILE_LIMIT", "7")
    main(["info"])
    text = capsys.readouterr().out
    assert "  TNP_RECOMPILE_LIMIT: 7\n" in text and "  TNP_CACHE_SIZE: not set, by default 256\n" in text
    assert all(f"  {name}: " in text for name in environment.VARIABLES)


def test_tables_have_100_columns_and_iterations():
    def f(x, n):
        for _ in range(n):
            x = np.sort(
                np.pad(x, ((1, 1),), constant_values=((0.5, 0.25),))[1:-1]
                + np.sin(x) * np.cos(x)
                - np.exp(-x)
                + np.sqrt(x * x + 1),
                kind="stable",
            )
        s = 0.0
        for i in range(n):
            s += x[i] * x[i]
        return x, s

    found = tnp.profile(f, np.ones(100), 4)
    text = str(found)
    assert max(map(len, text.splitlines())) <= 100 and "…" in text
    loop = next(row for row in found.rows if row.statement.startswith("for "))
    assert loop.iterations == 4 * found.calls and "# 4 iterations" in text
    native = [row for row in found.rows if row.iterations and row is not loop]
    assert len(native) == 1 and native[0].iterations in (3 * found.calls, 4 * found.calls)
    assert re.match(r"llvm_fusion\d: a loop of [34] iterations of ", native[0].described(found.calls))
    html_text = found._repr_html_()
    assert html_text.count("<tr>") == len(found.rows) + 2 and "np.sort" in html_text


def test_the_object_of_a_method_does_not_change():
    class Counter:
        def __init__(self):
            self.x, self.steps = np.zeros(10), 0

        @tnp.jit
        def step(self):
            self.x += 1.0
            self.steps += 1
            if self.steps % 10 == 0:
                self.x *= 2

        def plain(self):
            self.x += 1.0

    counter = Counter()
    counter.step()
    assert tnp.profile(counter.step).calls > 0
    assert tnp.profile(counter.plain).calls > 0
    assert (counter.x[0], counter.steps) == (1.0, 1)
