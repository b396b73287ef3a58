"""Functions with hooks in them are found on the disk, by what was compiled and the source that stands there."""

import warnings

import numpy as np
import pytest

import tnp
from tnp.capture.rewrite import rewriter
from tnp.runtime import disk_cache

SOURCE = """
import numpy as np

def f(x):
    total = np.zeros_like(x)
    for k in range(3):
        if x.sum() > {limit}:
            total += (lambda v: v * k)(x)
    return total
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Makes ``f`` as another process would meet it: nothing is known of it but what is on the disk."""
    monkeypatch.setenv("TNP_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o700)

    def make(limit):
        file = tmp_path / "user.py"
        file.write_text(SOURCE.format(limit=limit))
        rewriter.linecache.checkcache(str(file))
        names = {"__name__": "user"}
        exec(compile(file.read_text(), str(file), "exec"), names)
        monkeypatch.setattr(rewriter, "_cache", {})
        return names["f"]

    return make


@pytest.fixture
def rewritten(monkeypatch):
    """The names of the functions whose source was rewritten."""
    found = []
    original = rewriter._rewritten_source
    monkeypatch.setattr(rewriter, "_rewritten_source", lambda f: found.append(f.__name__) or original(f))
    return found


X = np.ones(4)


def test_source_is_rewritten_once(load, rewritten):
    for _ in range(2):
        f = load(limit=2)
        np.testing.assert_array_equal(tnp.jit(f)(X), f(X))
    assert rewritten == ["f"]


def test_other_source_is_another_function(load, rewritten):
    for limit in (2, 5, 2):
        f = load(limit)
        np.testing.assert_array_equal(tnp.jit(f)(X), f(X))
    assert rewritten == ["f", "f"]


def test_what_is_damaged_is_made_again(load, rewritten):
    f = load(limit=2)
    tnp.jit(f)(X)
    for file in disk_cache.folder().glob("*.o"):
        file.write_bytes(file.read_bytes()[:-7])
    f = load(limit=2)
    np.testing.assert_array_equal(tnp.jit(f)(X), f(X))
    assert rewritten == ["f", "f"]


def test_without_a_cache(load, rewritten, monkeypatch):
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")
    for _ in range(2):
        f = load(limit=2)
        np.testing.assert_array_equal(tnp.jit(f)(X), f(X))
    assert rewritten == ["f", "f"]


@pytest.mark.parametrize(
    ("before", "after"), [("v * k", "v + k"), ("v * k", "k * v"), ("> 2", "< 2"), ("+= (", "-= (")]
)
def test_a_file_that_was_changed_behind_the_import_is_not_the_source(load, tmp_path, before, after):
    """The changed text has the same names and constants: the instructions tell."""
    f = load(limit=2)
    expected = f(X)
    file = tmp_path / "user.py"
    file.write_text(file.read_text().replace(before, after))
    rewriter.linecache.checkcache(str(file))
    with warnings.catch_warnings(action="ignore"):
        np.testing.assert_array_equal(tnp.jit(f)(X), expected)
