"""The capture contract: state that a program reads or writes is as in eager, however it is reached, and whatever changes between calls."""

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest

import tnp
from tests.capture_programs import PLACES, check_way
from tests.capture_states import WAYS
from tests.sampling import EVERYTHING
from tnp.capture.contract import ROWS
from tnp.testing import assert_same

#: every way from every place, read and written, under ``TNP_EVERY_SAMPLE``; otherwise each way from some places, all of them from the first
CASES = [
    (way, place, writes)
    for at, way in enumerate(WAYS)
    for (number, place), writes in itertools.product(enumerate(PLACES), (False, True))
    if (way.write or not writes) and (EVERYTHING or number == (at + writes) % len(PLACES))
]


@pytest.mark.parametrize(
    ("way", "place", "writes"), CASES, ids=[f"{w.name}-{p}-{'written' if x else 'read'}" for w, p, x in CASES]
)
def test_state_is_as_in_eager(way, place, writes, tmp_path):
    check_way(way, place, tmp_path, writes=writes)


COMPILED = (
    "SimpleNamespace", "plain object", "slots", "descriptor", "metaclass property", "class attribute", "list of a class", "operator's global",
    "property", "dataclass", "nested list", "set", "deque", "function's closure", "function's global", "key function", "partial",
    "hand-made module", "identity of objects", "object as a key", "array", "random generator", "singleton's class",
)  # fmt: skip


@pytest.mark.parametrize("name", COMPILED)
def test_what_is_captured_is_compiled(name, tmp_path):
    way = next(w for w in WAYS if w.name == name)
    assert check_way(way, "argument", tmp_path, writes=False).programs > 0


def test_the_page_has_the_table():
    page = (Path(__file__).parents[2] / "docs" / "capture.md").read_text()
    assert "\n".join(f"| {row.what} | {row.policy} |" for row in ROWS) in page


SCALAR = np.int64(3)


def test_a_scalar_of_the_outside_is_one_object_however_often_it_is_read():
    def f(a):
        x = SCALAR
        if SCALAR is not SCALAR:
            a = a + 1
        return a, x is SCALAR

    result, same = tnp.jit(f)(np.ones(2))
    assert same
    np.testing.assert_array_equal(result, np.ones(2))


LIBRARY = """
class Rows:
    def __init__(self, of):
        self.of = of

    def __getitem__(self, k):
        if not isinstance(k, int) or type(k).__module__ != "builtins":
            raise TypeError("a row is named by an integer")
        return self.of.values[k]


class Table:
    def __init__(self, values):
        self.values = values

    @property
    def rows(self):
        return Rows(self)
"""


def test_an_item_of_a_library_that_asks_what_its_subscript_is(tmp_path):
    """As tables of pandas are: what ``rows`` gives is made while the call is traced."""
    folder = tmp_path / "site-packages" / "pandas"
    folder.mkdir(parents=True)
    (folder / "table.py").write_text(LIBRARY)
    spec = importlib.util.spec_from_file_location("pandas.table", folder / "table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def f(table, x):
        k = len(x) - 1
        a = table.rows[k]
        return a * np.sin(x).sum() + table.rows[0]

    jitted = tnp.jit(f)
    for n in (4, 4, 5, 6, 7):
        x = np.linspace(1, 2, n)
        assert_same(jitted(module.Table(x.tolist()), x), f(module.Table(x.tolist()), x))
