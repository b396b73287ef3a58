"""What the documentation shows is what happens: its examples run, and so do those of the docstrings."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import tnp
import tnp.testing

ROOT = Path(__file__).parent.parent


#: what cannot be imported without a library, or without a device's
NEED_A_LIBRARY = (".executors.torch", ".executors.cupy", ".executors.apex", ".executors.triton", ".thunder.executors.")


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


def squeezed(text):
    """Code without what a formatter may change, and without the brackets that make a row of a table a statement."""
    return re.sub(r"[\s,()]", "", text)


def test_what_contributing_quotes_is_the_code():
    code = squeezed("".join(path.read_text() for path in (ROOT / "tnp").rglob("*.py")))
    quoted = re.findall(r"^```python\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL | re.MULTILINE)
    assert len(quoted) > 5
    for block in quoted:
        assert squeezed(block.strip().strip("{}")) in code, block


@pytest.mark.parametrize(
    "path", ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
)
def test_files_and_targets_that_pages_name_exist(path):
    text = (ROOT / path).read_text()
    targets = re.findall(r"^\.PHONY: (.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)[0].split()
    assert not set(re.findall(r"(?:`|^)make ([\w-]+)", text, re.MULTILINE)) - set(targets)
    for link in re.findall(r"\]\((?!https?:)([^)#\s]+)", text):
        assert ((ROOT / path).parent / link).exists(), link
    for folder in ("benchmarks", "examples", "tests", "docs"):
        for name in re.findall(rf"`({folder}/[\w/]+\.(?:py|md))\b", text):
            assert (ROOT / name).exists(), name


def public_names():
    for module in (tnp, tnp.testing, tnp.extend):
        for name in module.__all__:
            yield pytest.param(module, name, id=f"{module.__name__}.{name}")


@pytest.mark.parametrize("module, name", list(public_names()))
def test_public_names_say_what_they_are(module, name):
    """A docstring of its own each, with an example, of methods without; ``tnp.extend`` has its examples in a page."""
    found = getattr(module, name)
    if inspect.ismodule(found) or isinstance(found, dict):
        return
    text = found.__doc__ if callable(found) else type(found).__doc__
    assert text and len(text) > 20, "no docstring"
    elsewhere = re.search(r"An\s+example is at :func:`(\w+)`", text)
    shows = getattr(module, elsewhere[1]).__doc__ if elsewhere else text
    assert module is tnp.extend or ">>>" in shows or "::\n" in shows, "no example"
    for member, value in vars(found).items() if inspect.isclass(found) else ():
        if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            assert inspect.getdoc(getattr(found, member)), f"{member} has no docstring"


def test_types_are_shipped():
    assert (Path(tnp.__file__).parent / "py.typed").exists()
