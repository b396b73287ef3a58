"""The walls between the layers: who may import whom, and that importing tnp is light."""

import ast
import functools
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import tnp

ROOT = Path(tnp.__file__).parent
ARRAY_LIBRARIES = {"numpy", "torch", "cupy", "jax", "triton", "numba"}

DOCS = Path(__file__).parent.parent / "docs"
ARCHITECTURE = runpy.run_path(str(DOCS / "make_architecture.py"))
ROOMS = {room.path: room for room in ARCHITECTURE["ROOMS"]}


@functools.cache
def _imports(path):
    """(imported module, whether it stands at the module's level) of each import."""
    return list(_imports_of(path))


def _imports_of(path):
    tree = ast.parse(path.read_text())
    top = {id(n) for n in tree.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                yield a.name, id(node) in top
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module, id(node) in top
            if node.module == "tnp":
                for a in node.names:
                    yield f"tnp.{a.name}", id(node) in top


def test_rooms_import_only_what_they_may():
    for importer, imported in ARCHITECTURE["imports"]():
        room = ROOMS[ARCHITECTURE["room_of"](importer)]
        where = ARCHITECTURE["room_of"](imported)
        assert where in ARCHITECTURE["allowed"](room), f"{importer} ({room.path}) imports {imported} ({where})"


LAYER = {
    ("tnp.core." + name): layer for layer, names in enumerate(ARCHITECTURE["LAYERS_OF_CORE"]) for name in names.split()
}

#: what annotations in ``core`` name of the same layer or a later one
ONLY_IN_ANNOTATIONS = {
    ("context", "trace"),
    ("errors", "proxies"),
    ("intervals", "proxies"),
    ("metadata", "trace"),
    ("printing", "trace"),
    ("sizes", "proxies"),
    ("slice_bounds", "proxies"),
    ("symbols", "proxies"),
    ("symbol", "trace_templates"),
    ("trace_templates", "trace"),
}


def _upward(edges):
    """Those of ``edges`` from a module of ``core`` to one that is not in a layer before its own."""
    inside = ((a, b) for a, b in edges if a in LAYER and b in LAYER)
    return {(a.removeprefix("tnp.core."), b.removeprefix("tnp.core.")) for a, b in inside if LAYER[a] <= LAYER[b]}


def test_modules_of_core_import_those_of_earlier_layers():
    assert _upward(ARCHITECTURE["imports"]()) == set()
    assert _upward(ARCHITECTURE["imports"](for_types=True)) == ONLY_IN_ANNOTATIONS


def test_an_import_of_a_later_layer_is_found():
    edges = [
        ("tnp.core.sizes", "tnp.core.trace"),
        ("tnp.core.trace", "tnp.core.sizes"),
        ("tnp.core.check", "tnp.core.symbol"),
    ]
    assert _upward(edges) == {("sizes", "trace"), ("check", "symbol")}


def test_every_module_of_core_has_a_layer():
    modules = {
        ".".join(("tnp", *p.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for p in (ROOT / "core").rglob("*.py")
    }
    assert set(LAYER) == modules - {"tnp.core"}
    assert sum(len(names.split()) for names in ARCHITECTURE["LAYERS_OF_CORE"]) == len(LAYER)


def test_every_module_has_a_room_and_every_room_modules():
    rooms = {
        ARCHITECTURE["room_of"](".".join(("tnp", *p.relative_to(ROOT).with_suffix("").parts)))
        for p in ROOT.rglob("*.py")
    }
    assert rooms == set(ROOMS)


def test_the_page_of_the_architecture_is_up_to_date():
    assert (DOCS / "architecture.md").read_text() == ARCHITECTURE["page"](), "run `make docs`"


@pytest.mark.parametrize("step, file, function", ARCHITECTURE["STEPS"], ids=lambda x: x.replace(" ", "-"))
def test_the_way_of_a_call_names_what_is_there(step, file, function):
    tree = ast.parse((ROOT / file).read_text())
    for name in function.split("."):
        (tree,) = [n for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef)) and n.name == name]


def test_the_tracer_asks_libraries():
    """What NumPy's functions and PyTorch's mean is looked up in ``capture/libraries`` only, not by the tracer, nor for its types."""
    libraries = ROOT / "capture" / "libraries"
    for path in (ROOT / "capture").rglob("*.py"):
        for module, _ in _imports(path):
            assert libraries in path.parents or not f"{module}.".startswith("tnp.lang."), f"{path} imports {module}"


def test_core_imports_no_array_library():
    for path in (ROOT / "core").rglob("*.py"):
        for module, _ in _imports(path):
            assert module.partition(".")[0] not in ARRAY_LIBRARIES, f"{path} imports {module}"


#: what is imported when the library of its name is asked for
OF_A_LIBRARY = (
    "executors/shared/attention",
    "executors/cudagraphs",
    "executors/cudnn",
    "executors/cupy",
    "executors/nvfuser",
    "executors/onednn",
    "executors/sdpa",
    "executors/shared/unfused_fallback",
    "compile/torch_autograd",
    "executors/torch",
    "executors/transformer_engine",
    "executors/triton",
    "lang/torch",
    "capture/libraries/torch",
    "testing/torch",
    "inspect/torch",
)


def test_optional_libraries_are_imported_when_used():
    optional = ARRAY_LIBRARIES - {"numpy"}
    for path in ROOT.rglob("*.py"):
        if any(folder in path.as_posix() for folder in OF_A_LIBRARY):
            continue
        for module, at_module_level in _imports(path):
            assert not (at_module_level and module.partition(".")[0] in optional), f"{path} imports {module}"


def test_import_brings_in_no_optional_library():
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, tnp; print(*sys.modules)"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {m for m in loaded if m.partition(".")[0] in ARRAY_LIBRARIES - {"numpy"} | {"scipy", "matplotlib"}}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_files_are_one_sitting_long(path):
    """Modules have at most 600 lines, functions 80, classes 25 methods, or a sentence that says why they have more."""
    source = path.read_text()
    assert source.count("\n") <= 600
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < 80, node.name
        elif isinstance(node, ast.ClassDef) and sum(isinstance(x, ast.FunctionDef) for x in node.body) > 25:
            assert "It has many methods: " in (ast.get_docstring(node) or ""), node.name


@pytest.mark.parametrize("room", ["capture", "compile", "core", "inspect", "transforms"])
def test_operations_are_told_apart_by_tags_and_identity(room):
    names = re.compile(r"\b(?:sym|symbol|operation)\.name (?:==|!=|in|not in) ")
    assert not [p.name for p in (ROOT / room).rglob("*.py") if names.search(p.read_text())]


def test_locks_are_made_in_one_place():
    """``tnp.runtime.locks`` makes them anew in a forked child. Python 3.11's ``cached_property`` has one, too."""
    made = re.compile(r"threading\.(R?Lock|Condition|Semaphore)\b|from threading import|functools\.cached_property")
    for path in ROOT.rglob("*.py"):
        if path != ROOT / "runtime" / "locks.py":
            assert not made.search(path.read_text()), path
