"""What the documentation shows is what happens: its examples run, and so do those of the docstrings."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
import textwrap
from enum import Enum
from pathlib import Path

import pytest

import tnp
import tnp.core.clang
import tnp.inspect
import tnp.lang.numpy
import tnp.testing
import tnp.thunder

ROOT = Path(__file__).parent.parent

#: the pages whose lines end at 120: all but the tables of functions
WRITTEN = sorted(
    {ROOT / n for n in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")} | set((ROOT / "docs").rglob("*.md"))
)
WRITTEN = [p for p in WRITTEN if p.name not in ("numpy_coverage.md", "scipy_coverage.md")]

#: what cannot be imported without a library, or without a device's
NEED_A_LIBRARY = (
    ".executors.torch", ".executors.cupy", ".executors.apex", ".executors.triton", ".thunder.executors.", ".executors.shared.attention",
    ".executors.cudnn", ".executors.nvfuser", ".executors.sdpa", ".executors.transformer_engine",
)  # fmt: skip


def modules():
    for info in pkgutil.walk_packages(tnp.__path__, "tnp."):
        if not info.name.endswith("__main__") and not any(part in info.name for part in NEED_A_LIBRARY):
            yield info.name


@pytest.fixture
def parts_are_warned_of():
    """In place of the suite's: pages and docstrings show what users see, and they see no warning of a call that runs in parts."""


@pytest.mark.parametrize("name", ["tnp", *modules()])
def test_docstrings(name):
    module = importlib.import_module(name)
    # To look for examples in the objects of a module that has none takes as long as to run those of another.
    if ">>>" in Path(module.__file__).read_text():
        failures, _ = doctest.testmod(module)
        assert failures == 0


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

#: blocks that are no program by themselves, by a line of them
FRAGMENTS = {"gpu.md": "cudagraphs=True"}


def needs_torch(text):
    return re.search(r"\b(import torch|torch\.\w+\()", text) and importlib.util.find_spec("torch") is None


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_pages(path):
    if needs_torch(path.read_text()):
        pytest.skip("it uses PyTorch")
    failures, _ = doctest.testfile(str(path), module_relative=False)
    assert failures == 0


def programs(text):
    """A page's blocks of Python without prompts."""
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if not block.lstrip().startswith(">>>"):
            yield block


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_programs_of_pages(path):
    """Blocks of Python without prompts run in order, in one namespace for the page."""
    names = {"__name__": path.stem}
    for block in programs(path.read_text()):
        if not (path.name in FRAGMENTS and FRAGMENTS[path.name] in block):
            exec(compile(block, str(path), "exec"), names)


def test_the_check_of_programs_finds_them():
    assert list(programs("```python\nx = 1\n```\n\n```python\n>>> 1\n1\n```\n")) == ["x = 1\n"]


def commands(text):
    """The commands of a page's blocks for the shell."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            yield line.removeprefix("$ ").partition("  #")[0].strip()


@pytest.mark.parametrize("path", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_name_what_exists(path):
    for command in commands(path.read_text()):
        for module in re.findall(r"python -m (tnp[\w.]*)", command):
            assert importlib.util.find_spec(module) is not None, command
        for file in re.findall(r"python ((?:docs|examples|benchmarks|tools)/[\w/]+\.py)", command):
            assert (ROOT / file).exists(), command
        for extra in re.findall(r"pip install '?\.\[(\w+)\]", command):
            assert f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text(), command


@pytest.mark.parametrize(
    "path", ["README.md", "CONTRIBUTING.md", *(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
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
    for name in re.findall(r"`((?:\w+/)+\w+\.py)\b", text):
        assert (ROOT / name).exists() or any(str(p).endswith(f"/{name}") for p in (ROOT / "tnp").rglob("*.py")), name


def too_long(text):
    """The numbers of the lines that are longer than 120 characters, code blocks excepted."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and len(line) > 120:
            yield number


@pytest.mark.parametrize("path", WRITTEN, ids=lambda p: str(p.relative_to(ROOT)))
def test_lines_of_pages_end_at_120(path):
    assert not list(too_long(path.read_text()))


def test_the_check_of_lines_finds_long_ones():
    assert list(too_long("x" * 120 + "\n" + "x" * 121 + "\n```\n" + "x" * 130 + "\n```\n" + "x" * 121)) == [2, 6]


# What every public name says of itself


def public_names():
    for module in (tnp, tnp.extend, tnp.testing, tnp.inspect, tnp.thunder):
        for name in module.__all__:
            if not inspect.ismodule(getattr(module, name)):
                yield pytest.param(module, name, id=f"{module.__name__}.{name}")
    if importlib.util.find_spec("torch") is not None:
        yield pytest.param(tnp.extend, "torchsymbol", id="tnp.extend.torchsymbol")


def parameters(function):
    if isinstance(function, type) and issubclass(function, (BaseException, Enum)):
        return []  # nobody but tnp makes those
    try:
        found = inspect.signature(function).parameters
    except ValueError:  # written in C
        return []
    return [n for n in found if n not in ("self", "args", "kwargs") and not n.startswith("_")]


def raised(function):
    """The errors that a function's own lines raise, by name."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    errors = [n.exc.func if isinstance(n.exc, ast.Call) else n.exc for n in ast.walk(tree) if isinstance(n, ast.Raise)]
    return {e.id for e in errors if isinstance(e, ast.Name) and e.id[0].isupper()}


def faults(function, text):
    """What a docstring should say and does not: arguments and errors by name."""
    missing = [f"the argument {n}" for n in parameters(function) if not re.search(rf"\b{n}\b", text)]
    if inspect.isfunction(function):
        missing += [f"the error {n}" for n in raised(function) if n not in text]
    return missing


def members(kind):
    """Public methods and properties that a class of ours defines."""
    for name, value in vars(kind).items() if kind.__module__.startswith("tnp.") else ():
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            yield name, value


@pytest.mark.parametrize("module, name", list(public_names()))
def test_public_names_say_what_they_are(module, name):
    """A docstring with each argument and each error that is raised there, and an example, or where one is; test_docstrings runs it."""
    found = getattr(module, name)
    if isinstance(found, dict):  # a table, which its comment explains
        return
    text = (found if callable(found) else type(found)).__doc__
    assert text and len(text) > 20, "no docstring"
    if callable(found):
        assert not faults(found, text)
    elsewhere = re.search(r"An\s+example is at\s+:\w+:`(\w+)`", text)
    shows = getattr(module, elsewhere[1]).__doc__ if elsewhere else text
    assert ">>>" in shows or "::\n" in shows, "no example"
    for member, value in members(found) if inspect.isclass(found) else ():
        said = inspect.getdoc(getattr(found, member))
        assert said, f"{member} has no docstring"
        assert not (inspect.isfunction(value) and faults(value, said)), member


def test_the_check_of_docstrings_finds_what_is_missing():
    def forgetful(number, other):
        """Takes a number."""
        raise ValueError(number)

    assert faults(forgetful, forgetful.__doc__) == ["the argument other", "the error ValueError"]


def test_operations_say_what_they_compute():
    """Symbols of the languages by their ids, which name the library's function, whose text NumPy's elementwise ones have; and prims."""
    symbols = [info.symbol for info in tnp.lang.numpy.registry.by_id.values()]
    if importlib.util.find_spec("torch") is not None:
        symbols += [info.symbol for info in importlib.import_module("tnp.lang.torch.registry").by_id.values()]
    symbols += tnp.core.prims.registry.values()
    own = [
        s for s in symbols if inspect.unwrap(s.meta).__code__.co_filename.startswith(tnp.__path__[0])
    ]  # not of examples
    assert len(own) > 900
    assert not [s.id for s in own if not (s.__doc__ or "").strip()]
    assert not [n for n in tnp.core.clang.__all__ if not (getattr(tnp.core.clang, n).__doc__ or "").strip()]


def test_types_are_shipped():
    assert (Path(tnp.__file__).parent / "py.typed").exists()
