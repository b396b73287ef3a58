"""A plugin of pytest: each test function is jitted whole, and a file gets a line of JSON a test, which says what came of it.

    pytest -p jitted_tests --outcomes FILE …               # with --eagerly they are called as they are

A function that is parametrised is jitted once, so that its later calls meet the programs of the earlier ones. Tests that stand in FILE
already are left out, so that what a hang or a crash has ended goes on where it was.
"""

from __future__ import annotations

import functools
import inspect
import json
import sys
import time
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import tnp
from tnp.runtime import logs

#: what came of tests: passed where nothing of the others happened; a mark of pytest's is not tnp's
_BAD = ("failed", "error")


class Outcomes:
    """Writes the lines: one when a test begins, one when it has ended."""

    def __init__(self, file: Path) -> None:
        self.lines = file.open("a", buffering=1)
        self.began = 0.0
        self.outcome = self.error = ""
        #: the programs that were made and the calls that were found to run eagerly while the test ran
        self.events: list[logs.Event] = []
        self.jitted: Any = None
        self.hits = self.calls = 0

    def begin(self, test: str) -> None:
        self.outcome, self.error, self.events, self.jitted = "", "", [], None
        self.calls = _calls()
        self.began = time.perf_counter()
        self.write({"began": test})

    def end(self, test: str) -> None:
        seconds = round(time.perf_counter() - self.began, 3)
        found = {"test": test, "outcome": self.outcome or "passed", "seconds": seconds}
        if self.jitted is not None or _calls() > self.calls:
            found["path"], found["reason"] = self.path()
        if self.error:
            found["error"] = self.error
        self.write(found)

    def path(self) -> tuple[str, str]:
        """Whether the test function (or every jitted function that it called) ran compiled, and why it did not. It may have met the programs
        of a call before."""
        if self.jitted is None:
            reasons = [e.reason for e in self.events if e.kind == "eager"]
            return ("eager", reasons[0]) if reasons else ("compiled", "")
        if self.events:
            last = self.events[-1]
            return ("eager", last.reason) if last.kind == "eager" else ("compiled", "")
        if tnp.cache_info(self.jitted).hits > self.hits:
            first = self.jitted._entries[0] if self.jitted._entries else None
            reasons = [e.eager_reason for e in self.jitted._entries if e.eager_reason]
            return ("eager", reasons[0]) if first is not None and reasons else ("compiled", "")
        return "raised", ""

    def write(self, line: dict[str, Any]) -> None:
        self.lines.write(json.dumps(line) + "\n")


def _calls() -> int:
    """How many calls of functions of the jitted namespace there were."""
    namespace = sys.modules.get("jitted_namespace")
    return 0 if namespace is None else namespace.calls()


def done(file: Path) -> set[str]:
    """The tests that have begun: one that has not ended has ended its process."""
    lines = map(json.loads, file.read_text().splitlines()) if file.exists() else ()
    return {line["began"] for line in lines if "began" in line}


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--outcomes", type=Path, required=True)
    parser.addoption("--eagerly", action="store_true")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: Any) -> None:
    hypothesis.settings.register_profile(
        "jitted_tests", hypothesis.settings.default, suppress_health_check=list(hypothesis.HealthCheck)
    )
    hypothesis.settings.load_profile("jitted_tests")  # compiling takes longer than what it waits for
    before = done(config.getoption("outcomes"))
    config.pluginmanager.register(_Plugin(config.getoption("outcomes"), config.getoption("eagerly"), before))


class _Plugin:
    def __init__(self, file: Path, eagerly: bool, before: set[str]) -> None:
        self.before = before
        self.outcomes = Outcomes(file)
        self.eagerly = eagerly
        self.jitted: dict[Any, Any] = {}
        logs.listeners.append(self.listen)

    def listen(self, event: logs.Event) -> None:
        if event.kind != "native":
            self.outcomes.events.append(event)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.nodeid not in self.before]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.outcomes.begin(nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.outcomes.end(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        outcome = "error" if report.failed and report.when != "call" else report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if report.skipped else "xpassed"
        if outcome != "passed" and self.outcomes.outcome not in _BAD:
            self.outcomes.outcome = outcome
            self.outcomes.error = _last_line(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: Any) -> bool | None:
        if self.eagerly:
            return None
        test = pyfuncitem.obj
        names = pyfuncitem._fixtureinfo.argnames
        arguments = {name: pyfuncitem.funcargs[name] for name in names}
        if hasattr(test, "hypothesis"):  # it calls the function within for each example
            inner = getattr(test.hypothesis.inner_test, "__wrapped__", test.hypothesis.inner_test)
            jitted = self.note(self.jit(inner))
            test.hypothesis.inner_test = functools.wraps(inner)(lambda *args, **kwargs: jitted(*args, **kwargs))
            test.hypothesis.inner_test.__signature__ = inspect.signature(inner)
            test(**arguments)
        elif inspect.ismethod(test):
            self.note(self.jit(test.__func__))(test.__self__, **arguments)
        else:
            self.note(self.jit(test))(**arguments)
        return True

    def jit(self, function: Any) -> Any:
        if function not in self.jitted:
            self.jitted[function] = tnp.jit(function)
        return self.jitted[function]

    def note(self, jitted: Any) -> Any:
        self.outcomes.jitted, self.outcomes.hits = jitted, tnp.cache_info(jitted).hits
        return jitted


def _last_line(report: Any) -> str:
    """What was raised, and the line of the test that raised it."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[-1])
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)
    return text[:600]
