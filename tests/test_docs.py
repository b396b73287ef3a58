"""What the documentation shows is what happens: its examples run, and so do those of the docstrings."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import tnp

ROOT = Path(__file__).parent.parent


def modules():
    for info in pkgutil.walk_packages(tnp.__path__, "tnp."):
        if not info.name.endswith("__main__") and ".executors.torch" not in info.name:
            yield info.name


@pytest.mark.parametrize("name", ["tnp", *modules()])
def test_docstrings(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_pages(path):
    failures, _ = doctest.testfile(str(path), module_relative=False)
    assert failures == 0
