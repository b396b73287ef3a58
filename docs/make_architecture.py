"""Writes docs/architecture.md: the rooms of the package, who imports whom, and the way of one call. Run by ``make docs``.

:data:`ROOMS` is the architecture: ``tests/test_walls.py`` checks that no module imports what its room may not. The drawing has the imports
that there are.
"""

from __future__ import annotations

import ast
import functools
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parent.parent / "tnp"


class Room(NamedTuple):
    """A folder or a module of the package, what it holds, and the rooms that it may import, ``*`` for all. A room may import itself."""

    path: str
    holds: str
    imports: str


_OF_EXECUTORS = "core executors extend runtime"
_EXECUTORS = (
    ("numpy", "NumPy's functions"),
    ("python", "arithmetic on Python numbers"),
    ("llvm", "fused native code for the CPU"),
    ("torch", "PyTorch's functions"),
    ("sdpa", "attention by PyTorch's kernels and our own"),
    ("onednn", "products and convolutions by oneDNN"),
    ("triton", "fused kernels for the GPU"),
    ("nvfuser", "fused kernels by nvFuser"),
    ("cupy", "CuPy's functions and kernels"),
    ("cudnn", "attention and norms by cuDNN"),
    ("cudagraphs", "whole programs as CUDA graphs"),
    ("transformer_engine", "products in 8 bits"),
    ("apex", "cross entropy by Apex"),
    ("triton_cross_entropy", "cross entropy by Triton"),
)
#: in pipeline order; what is not named here by itself belongs to the longest path that it is under
ROOMS = (
    Room("__init__", "the public names", "api compile core executors inspect settings transforms"),
    Room("__main__", "`python -m tnp`", "__init__ compile executors/* runtime"),
    Room("settings", "`tnp.config` and `tnp.debug_nans`", "compile runtime"),
    Room("api", "what users call: `jit`, `explain`, `last_traces`, …", "capture compile core executors runtime"),
    Room("dynamo", "tnp as a backend of `torch.compile`", "api"),
    Room("thunder", "Lightning Thunder's names for all this", "*"),
    Room("testing", "OpInfos, and checks of executors against eager", "__init__ capture core inspect lang"),
    Room("inspect", "`explain`, `examine`, `profile`, `draw`", "api capture compile core lang transforms"),
    Room(
        "compile", "the driver, cache entries, derivatives, `vmap`, jitted modules",
        "capture core executors executors/cudagraphs executors/numpy lang runtime transforms",
    ),
    Room("capture", "a user's function becomes a trace: the driver, and the capture contract", "core runtime"),
    Room("capture/rewrite", "a function's source with hooks in it", "capture/control_flow core runtime"),
    Room("capture/tracing", "the tracer, traced values, views and aliasing, effects, hooks", "capture core runtime"),
    Room("capture/objects", "stand-ins for objects and classes of the user's: attributes, identity", "capture core"),
    Room("capture/control_flow", "loops and branches as operations", "capture core"),
    Room("capture/speculation", "tracing that may be rolled back, and specialization on values", "capture core runtime"),
    Room("capture/guards", "inputs, guards, and the prologue that checks them", "capture core"),
    Room("capture/libraries", "what tracing has to know of NumPy, PyTorch and CuPy", "capture core lang runtime"),
    Room("transforms", "trace to trace: derivatives, batching, fusion, claiming, buffers", "core runtime"),
    Room("lang", "what users write, in terms of the core: NumPy and PyTorch", "core runtime"),
    Room("extend", "the public interface of executors and operations", "core executors lang transforms"),
    Room("executors", "what an executor is, and the registry of them", "core runtime"),
    Room("executors/shared", "what several executors use: calls of attention, kernels for the CPU, errors of devices", _OF_EXECUTORS),
    *(
        Room(f"executors/{name}", holds, f"{_OF_EXECUTORS} executors/shared")
        for name, holds in _EXECUTORS
    ),
    Room("core", "the IR, knowing no array library", "runtime"),
    Room("runtime", "the process: compiled code, threads, memory, the disk cache, locks", "core/errors"),
    Room("core/errors", "exceptions and warnings", ""),
)  # fmt: skip
_PATHS = sorted((room.path for room in ROOMS), key=len, reverse=True)

#: the modules of ``core``, in layers: a module imports those of the layers before its own alone
LAYERS_OF_CORE = (
    "context devices dtypes elementwise_table errors graph_utils languages metadata reduction_table rendering",
    "array_kinds gradient_marks intervals number_operations tuples",
    "symbols",
    "sizes slice_bounds",
    "proxies",
    "check symbol",
    "printing subtraces trace_templates",
    "pytree trace",
    "prims.base",
    "prims.elementwise prims.fft prims.indexing prims.linalg prims.nn prims.program",
    "prims.control_flow prims.random prims.reduction prims.shape",
    "prims",
    "activity lengths trace_check views",
    "clang.base effects",
    "clang.shape",
    "clang.elementwise",
    "clang.indexing clang.einsum",
    "clang",
)

#: the way of one call: step, module, function
STEPS = (
    ("a call tries the first program, by a generated function", "compile/dispatch.py", "dispatcher"),
    ("if its guards do not hold, the others", "compile/compiled_function.py", "Jitted.call_others"),
    ("an entry's prologue, a generated function, checks its guards", "capture/guards/prologue.py", "Prologue.compile"),
    ("if none holds, the function is captured and compiled", "compile/compiled_function.py", "Jitted._compile"),
    ("**capture**", "compile/driver.py", "capture"),
    ("· the function runs once, on traced values", "capture/driver.py", "capture_trace"),
    ("· what it reads becomes an input of the trace", "capture/guards/lifting.py", "Inputs.lift"),
    ("· a PyTorch module gets a stand-in", "capture/libraries/torch/modules.py", "lift_module"),
    ("· its parameter becomes an input when first read", "capture/objects/shadows.py", "Shadowed.in_part"),
    ("· what the trace relies on becomes a guard", "capture/guards/prologue.py", "Prologue.guard"),
    ("· the function's source gets hooks", "capture/rewrite/rewriter.py", "rewrite"),
    ("· an operation is recorded", "capture/tracing/tracer.py", "Tracer.call"),
    (
        "· an in-place write makes a new value",
        "capture/tracing/traced_values.py",
        "TracedArray.__tnp_assign__",
    ),
    ("· a view shares its argument's storage", "capture/tracing/output_aliasing.py", "view_handle"),
    ("· a hook of a loop or an `if` decides what becomes of it", "capture/control_flow/selection.py", "ControlFlow"),
    ("· an `if` on a traced value becomes an operation", "capture/control_flow/trace_cond.py", "Branch.join"),
    ("· a loop becomes `for_loop` or `while_loop`", "capture/control_flow/trace_loop.py", "Loop.roll"),
    ("· assigned attributes are stored at the end", "capture/driver.py", "_finish"),
    ("· what cannot be captured runs eagerly, with a warning", "compile/eager_calls.py", "EagerCalls._eager_entry"),
    ("**transforms**", "transforms/pipeline.py", "compile_trace"),
    ("· each operation is claimed by an executor, or may be fused", "transforms/claim.py", "claim"),
    ("· operations are fused, each region by its executor", "transforms/fuse.py", "fuse"),
    ("·· regions are chosen", "transforms/fusion_regions.py", "find_regions"),
    ("· new values become writes to buffers", "transforms/bufferize.py", "bufferize"),
    ("**code**: a trace becomes a Python function", "core/trace.py", "Trace.python_callable"),
    ("· a region of the CPU becomes machine code, if not on disk", "runtime/engine.py", "compile_ir"),
    ("· machine code, and functions with hooks, are cached on disk", "runtime/disk_cache.py", "store"),
    ("**entry**: the program is put behind its guards", "compile/driver.py", "compile_captured"),
    ("· it is kept for calls to come", "compile/compiled_function.py", "Jitted._insert"),
)


def room_of(module: str) -> str:
    """The room of a module of tnp's (``tnp.capture.driver``)."""
    path = module.removeprefix("tnp").removeprefix(".").replace(".", "/") or "__init__"
    return next((p for p in _PATHS if path == p or path.startswith(f"{p}/")), "__init__")


def imports(*, for_types: bool = False) -> Iterator[tuple[str, str]]:
    """Each import of one module of tnp's by another, in functions, too: those that run, or those for type checkers alone."""
    return ((importer, imported) for importer, imported, is_for_types in _imports() if is_for_types is for_types)


@functools.cache
def _imports() -> list[tuple[str, str, bool]]:
    """Importer and imported module, and whether the import is for type checkers alone."""
    modules = {_name(path) for path in PACKAGE.rglob("*.py")}
    found: list[tuple[str, str, bool]] = []

    def visit(importer: str, nodes: list[ast.AST], is_for_types: bool) -> None:
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    target = full if full in modules else str(node.module)
                    if target in modules:
                        found.append((importer, target, is_for_types))
            elif isinstance(node, ast.Import):
                found.extend((importer, a.name, is_for_types) for a in node.names if a.name in modules)
            elif isinstance(node, ast.stmt):
                guarded = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
                inner = [n for n in ast.iter_child_nodes(node) if isinstance(n, _BLOCKS)]
                visit(importer, inner, is_for_types or guarded)
            else:
                visit(importer, [n for n in ast.iter_child_nodes(node) if isinstance(n, _BLOCKS)], is_for_types)

    for path in sorted(PACKAGE.rglob("*.py")):
        visit(_name(path), list(ast.parse(path.read_text()).body), False)
    return found


#: what statements stand in
_BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)


def _name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def allowed(room: Room) -> set[str]:
    """The rooms that a room may import: itself, those named, and those inside of them; inside of ``executors`` only with ``executors/*``."""
    if room.imports == "*":
        return set(_PATHS)
    found: set[str] = set()
    for name in (room.path, *room.imports.split()):
        top = name.removesuffix("/*")
        found |= {p for p in _PATHS if p == top or (p.startswith(f"{top}/") and name != "executors")}
    return found


def drawing() -> str:
    """The rooms as a graph, with an arrow where one imports another; rooms of rooms are drawn as one."""
    edges: Counter[tuple[str, str]] = Counter()
    for importer, imported in imports():
        a, b = (room_of(m).partition("/")[0] for m in (importer, imported))
        if a != b and "thunder" not in (a, b) and "__init__" not in (a, b):
            edges[a, b] += 1
    tops = [room.path for room in ROOMS if "/" not in room.path and room.path not in ("thunder", "__init__")]
    lines = ["flowchart TD", *(f'    {name.strip("_")}["{name.strip("_")}"]' for name in tops)]
    lines += [f"    {a.strip('_')} --> {b.strip('_')}" for a, b in sorted(edges)]
    return "\n".join(lines)


def _rooms() -> str:
    return "\n".join(["| room | holds |", "| --- | --- |", *(f"| {_shown(r)} | {r.holds} |" for r in ROOMS)])


def _walls() -> str:
    rows = ["| room | may import |", "| --- | --- |"]
    executors = {f"executors/{name}" for name, _ in _EXECUTORS}
    for room in ROOMS:
        text = "all" if room.imports == "*" else " ".join(f"`{i}`" for i in room.imports.split()) or "–"
        if room.path not in executors:
            rows.append(f"| {_shown(room)} | {text} |")
        elif room.path == f"executors/{_EXECUTORS[0][0]}":
            rows.append(f"| each executor | {text} |")
    return "\n".join(rows)


def _layers() -> str:
    rows = ["| layer of `core` | modules |", "| --- | --- |"]
    return "\n".join(rows + [f"| {i} | `{names}` |" for i, names in enumerate(LAYERS_OF_CORE, 1)])


def _shown(room: Room) -> str:
    return f"`{room.path}/`" if (PACKAGE / room.path).is_dir() else f"`{room.path}.py`"


def _steps() -> str:
    rows = ["| step | file | function |", "| --- | --- | --- |"]
    return "\n".join(rows + [f"| {step} | `{file}` | `{function}` |" for step, file, function in STEPS])


def page() -> str:
    """The page, as Markdown."""
    return PAGE.format(drawing=drawing(), rooms=_rooms(), walls=_walls(), layers=_layers(), steps=_steps())


PAGE = textwrap.dedent("""\
    # Architecture

    *Made by `docs/make_architecture.py`. `tests/test_walls.py` checks it against the code.*

    A call of a jitted function runs a *program*. If no program is valid for the call, tnp *captures* the function as a
    *trace*, a list of operations that prints as Python. *Transforms* rewrite the trace. *Executors* claim its operations,
    one by one or fused. The compiled trace is a program behind *guards*, the conditions under which it is valid. A *cache
    entry* is a program with its guards.

    The package is divided into *rooms*: folders and modules. An arrow means that one room imports another. The drawing
    leaves out `thunder`, which imports all of them. `runtime` imports only the errors of `core`. Some executors use
    `extend`, the public interface.

    ```mermaid
    {drawing}
    ```

    ## One call

    {steps}

    [walkthrough.md](walkthrough.md) prints the output of each step for one function. [glossary.md](glossary.md) defines the
    terms.

    ## Rooms and walls

    {rooms}

    {walls}

    A room may import the rooms inside of those that are named, too. `executors` is the exception: it means the modules at
    its top (`base`, `options`, `registry`), and `executors/*` means all of it. Executors may import `executors/shared`,
    which imports none of them. No executor imports another. The rooms of `capture` import one another, because
    tracing handles a program, its objects, its control flow and its guards at once. Only `capture/libraries` imports
    `lang`: each array library is a `Library` (`capture/libraries/base.py`), and a traced array asks its own. Only
    `lang/torch`, `capture/libraries/torch`, the executors and a few modules that are loaded late import PyTorch, CuPy or
    Triton at module level.

    {layers}

    A module of `core` imports modules of the layers before its own alone. Only annotations name later ones.
    """)

if __name__ == "__main__":
    Path(__file__).with_name("architecture.md").write_text(page())
