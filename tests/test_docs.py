"""What the documentation shows is what happens: its examples run, and so do those of the docstrings."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import tnp

ROOT = Path(__file__).parent.parent


#: what cannot be imported without a library, or without a device's
NEED_A_LIBRARY = (".executors.torch", ".executors.apex", ".executors.triton", ".thunder.executors.")


def modules():
    for info in pkgutil.walk_packages(tnp.__path__, "tnp."):
        if not info.name.endswith("__main__") and not any(part in info.name for part in NEED_A_LIBRARY):
            yield info.name


@pytest.mark.parametrize("name", ["tnp", *modules()])
def test_docstrings(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_pages(path):
    failures, _ = doctest.testfile(str(path), module_relative=False)
    assert failures == 0
