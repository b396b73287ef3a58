"""Every pass of a test's compilation is checked by the trace checker (of the many tests of operators, on one executor); random tests are
the same at every run of CI."""

import datetime
import gc
import importlib.util
import os
import sys
import tempfile
import warnings
import zlib
from collections import Counter
from pathlib import Path

import pytest

from tests.sampling import EVERYTHING

os.environ.setdefault("TNP_CHECK", "1")
#: Triton's kernels run in its interpreter, on the CPU. It reads this when it is imported, which torch may do at any time.
os.environ.setdefault("TRITON_INTERPRET", "1")
#: Threads of OpenMP that wait for work sleep. By default they spin for milliseconds, in time that the other workers' tests need: torch's
#: training of a small network takes three times as long.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
#: compiled code of the tests, and the key that it is kept under, are there for the run, and not with the user's
_cache = tempfile.TemporaryDirectory(prefix="tnp-tests-")
os.environ.setdefault("TNP_CACHE_DIR", _cache.name)
if os.environ["TNP_CACHE_DIR"] == _cache.name:
    os.environ["XDG_STATE_HOME"] = os.path.join(_cache.name, "state")
if importlib.util.find_spec("hypothesis") is not None:  # machines with a GPU may have pytest alone
    from hypothesis import settings

    settings.register_profile("ci", derandomize=True)
    if os.environ.get("CI"):
        settings.load_profile("ci")


#: files whose tests wait for other processes, some for half a minute: they come first, so that no worker has one left when the others are done
LONG = {"test_adding.py", "test_examples.py", "test_types.py"}


#: Under ``TNP_SOME_CASES``, which ``make test`` sets, a part of the cases of tests with many runs, on the next day another part: by the
#: least number of cases, one in so many.
SHARES = {48: 14, 16: 12, 8: 7, 4: 3}


def pytest_collection_modifyitems(config, items):
    """Leaves cases out, and puts long tests first."""
    if os.environ.get("TNP_SOME_CASES"):
        counts = Counter(_family(item) for item in items)
        runs = {item: _runs(item, counts[_family(item)], datetime.date.today().toordinal()) for item in items}
        config.hook.pytest_deselected(items=[item for item in items if not runs[item]])
        items[:] = [item for item in items if runs[item]]
    items.sort(key=lambda item: item.path.name not in LONG)


def _family(item):
    return item.nodeid.partition("[")[0]


def _runs(item, count, today):
    one_in = next((share for least, share in SHARES.items() if count >= least), 1)
    return (zlib.crc32(item.nodeid.encode()) + today) % one_in == 0


def pytest_collection_finish():
    """What is there before the first test is no garbage: collections need not look through it. And they come more rarely than by default:
    most of a test's objects go without them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(7_000, 30, 30)


@pytest.fixture(autouse=True)
def parts_are_warned_of():
    """A call that runs in parts, which gives no warning, gives one in tests: warnings are errors there, unless the test expects it."""
    if "tnp" not in sys.modules:
        yield
        return
    from tnp.core.errors import EagerFallbackWarning
    from tnp.runtime import logs

    def tell(event):
        if event.kind == "parts":
            warnings.warn(event.reason, EagerFallbackWarning, stacklevel=2)

    logs.listeners.append(tell)
    yield
    logs.listeners.remove(tell)


#: folders and files whose tests cover what comes before code generation
FRONT = {
    "capture", "compile", "inspect", "lang", "testing", "test_docs.py", "test_found_by_numpys_tests.py", "test_identity_of_results.py", "thunder",
    "transforms", "whole_programs",
}  # fmt: skip

#: and those among them that compare how exact the code's sums are, or run whole programs on the llvm executor
OPTIMISED = {"test_fuse.py", "test_programs.py"}


@pytest.fixture(autouse=True)
def code_is_optimised_where_it_is_tested(request, monkeypatch):
    """LLVM does not optimise the programs of seven in eight tests in ``FRONT``, because that takes as long as all of tnp's work on a small
    program. A test's name decides. ``TNP_EVERY_SAMPLE`` optimises all programs."""
    path = request.path.relative_to(Path(__file__).parent)
    is_translated = path.parts[0] in FRONT and path.name not in OPTIMISED
    if not is_translated or EVERYTHING or "tnp" not in sys.modules or zlib.crc32(request.node.nodeid.encode()) % 8 == 0:
        return
    from tnp.runtime import engine

    made = engine._object
    monkeypatch.setattr(engine, "_object", lambda text, name, key, wanted, level: made(text, name, key, wanted, 0))
    monkeypatch.setattr(engine, "CACHE_VERSION", "not optimised")  # no other test finds the code


@pytest.fixture
def executors_as_before():
    """The executors that are known, and their lists, are after a test what they were before."""
    from tnp.executors import registry

    known, default, always = set(registry._executors), registry._default.copy(), registry._always.copy()
    yield
    registry._default[:], registry._always[:] = default, always
    registry._lists_changed("the test is over")
    for name in registry._executors.keys() - known - registry._OWN.keys():
        registry.deregister_executor(name)
